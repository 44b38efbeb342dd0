"""Number formats: what their bit patterns mean.

Short names are those of the command line (``fp16``, ``e4m3``). ``ml_dtypes_name`` is the name of the same format in
ml_dtypes or NumPy, if it has one there. ``isa_name`` is the spelling in the names of instructions.
A format consists of a sign, an exponent field and a fraction field. Below them there may be ``ignored_bits``, which the
hardware does not read (tf32 is held in a 32-bit word). Integers have no exponent field. All of their bits except the
sign are fraction bits, and the pattern is two's complement.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache

from mmaproof.designs.errors import InputError


class Specials(StrEnum):
    """Which patterns are infinities and NaNs."""

    IEEE = "ieee"
    """exponent field all ones: fraction 0 is an infinity, anything else a NaN"""
    NAN_ONLY = "nan-only"
    """no infinity; exponent and fraction all ones is NaN (OCP FP8 E4M3, E8M0)"""
    FNUZ = "fnuz"
    """no infinity and no negative zero; its pattern is the only NaN, and the bias is one larger than IEEE 754's"""
    EXTENDED = "extended"
    """no negative zero: its pattern is NaN, and the largest magnitude is an infinity; without a sign, the last pattern
    is NaN and the one before it the infinity (IEEE P3109, extended formats)"""
    NONE = "none"
    """neither infinity nor NaN (OCP MX FP4, FP6)"""
    INTEGER = "integer"
    """an integer"""


@dataclass(frozen=True, slots=True)
class Format:
    """One binary floating-point or integer format. All sizes are in bits.

    A value is ``significand * 2**(exponent - fraction_bits)``. Subnormals have the exponent ``e_min``. If there are no
    fraction bits (E8M0), every pattern except NaN is a power of two, and there is no zero.
    """

    name: str
    isa_name: str
    ml_dtypes_name: str | None
    exponent_bits: int
    fraction_bits: int
    specials: Specials
    source: str
    ignored_bits: int = 0
    """low bits that are not read"""
    signed: bool = True
    """whether there is a sign that is read"""
    ignored_sign: bool = False
    """whether there is a sign bit that is not read (UE4M3)"""
    chosen_bias: int | None = None
    """the bias of the exponent field, if it is not the one that follows from the other fields"""
    zero_field: bool = False
    """whether exponent field 0 is zero where there are no fraction bits (P3109, P = 1); E8M0 has no zero"""

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], Format], tuple[str]]:
        """Pickle the name only. Formats are compared by identity, and another process has its own objects."""
        return find_format, (self.name,)

    @property
    def bits(self) -> int:
        """Width of a bit pattern, ignored bits included."""
        return (self.signed or self.ignored_sign) + self.exponent_bits + self.fraction_bits + self.ignored_bits

    @property
    def is_integer(self) -> bool:
        """Whether patterns are two's complement (or unsigned) integers."""
        return self.specials is Specials.INTEGER

    @property
    def is_of_scales(self) -> bool:
        """Whether blocks may have scales of this format. Such numbers have no sign and at most 8 bits."""
        return not self.signed and not self.is_integer

    @property
    def hex_digits(self) -> int:
        """Number of hexadecimal digits of a pattern."""
        return -(-self.bits // 4)

    @property
    def has_zero(self) -> bool:
        """Whether exponent field 0 means zero and subnormals, and not one more power of two (E8M0)."""
        return bool(self.fraction_bits) or self.zero_field

    @property
    def nan_is_minus_zero(self) -> bool:
        """Whether the pattern that would be a negative zero is the only NaN."""
        return self.signed and self.specials in (Specials.FNUZ, Specials.EXTENDED)

    @property
    def precision(self) -> int:
        """Bits of the significand, the integer bit included."""
        return self.fraction_bits + 1

    def holds(self, other: Format) -> bool:
        """Return whether this format has every finite number of ``other``; both are of floating-point numbers."""
        least, others = self.e_min - self.fraction_bits, other.e_min - other.fraction_bits
        return self.precision >= other.precision and self.e_max >= other.e_max and least <= others

    @property
    def bias(self) -> int:
        """The bias of the exponent field; 0 for integers."""
        if self.is_integer:
            return 0
        if self.chosen_bias is not None:
            return self.chosen_bias
        larger_by_one = self.specials in (Specials.FNUZ, Specials.EXTENDED)
        return (1 << (self.exponent_bits - 1)) - (0 if larger_by_one else 1)

    @property
    def e_min(self) -> int:
        """Exponent of the smallest normal number, and of every subnormal."""
        return (1 if self.has_zero else 0) - self.bias

    @property
    def e_max(self) -> int:
        """Exponent of the largest finite number."""
        if self.specials is Specials.EXTENDED or self.zero_field:
            return (self.max_finite >> self.fraction_bits) - self.bias
        top_field = (1 << self.exponent_bits) - 1
        top_is_special = self.specials is Specials.IEEE or not self.fraction_bits
        return top_field - self.bias - (1 if top_is_special else 0)

    @property
    def max_significand(self) -> int:
        """Largest significand that occurs at some exponent, an integer of ``precision`` bits.

        With NAN_ONLY the all-ones significand is a NaN at the top exponent only. It occurs at lower exponents.
        """
        return (1 << self.precision) - 1

    @property
    def sign_position(self) -> int:
        """Index of the sign bit in the pattern."""
        return self.bits - 1

    @property
    def infinity(self) -> int | None:
        """Pattern of +infinity; None if the format has none."""
        if self.specials is Specials.EXTENDED:
            return (1 << (self.exponent_bits + self.fraction_bits)) - (1 if self.signed else 2)
        if self.specials is not Specials.IEEE:
            return None
        return ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.ignored_bits)

    @property
    def max_finite(self) -> int:
        """Pattern of the largest finite number (ignored bits zero)."""
        top = (1 << (self.exponent_bits + self.fraction_bits)) - 1
        extended = 1 if self.signed else 2
        special = {Specials.IEEE: 1 << self.fraction_bits, Specials.NAN_ONLY: 1, Specials.EXTENDED: extended}
        return (top - special.get(self.specials, 0)) << self.ignored_bits

    @property
    def largest(self) -> Fraction:
        """Largest finite number."""
        pattern = self.max_finite >> self.ignored_bits
        if self.is_integer:
            return Fraction(pattern)
        fraction = pattern & ((1 << self.fraction_bits) - 1)
        return (fraction + (1 << self.fraction_bits)) * Fraction(2) ** (self.e_max - self.fraction_bits)

    @property
    def one(self) -> int:
        """Pattern of 1, or of the largest power of two where that is smaller (e4m3 with a bias of 15)."""
        return self.encode(1 if self.is_integer else Fraction(2) ** min(self.e_max, 0))

    @property
    def quiet_nan(self) -> int | None:
        """Pattern of the positive quiet NaN without payload, or of the only NaN; None if the format has no NaN."""
        exponent = ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.ignored_bits)
        match self.specials:
            case Specials.NAN_ONLY:
                return exponent | ((1 << self.fraction_bits) - 1) << self.ignored_bits
            case Specials.FNUZ | Specials.EXTENDED:
                return 1 << self.sign_position if self.signed else (1 << self.bits) - 1
            case Specials.IEEE:
                return exponent | 1 << (self.fraction_bits - 1 + self.ignored_bits)
            case _:
                return None

    def is_nan(self, pattern: int) -> bool:
        """Return whether ``pattern`` is a NaN."""
        magnitude = pattern & ((1 << (self.exponent_bits + self.fraction_bits + self.ignored_bits)) - 1)
        match self.specials:
            case Specials.IEEE:
                return magnitude >> self.ignored_bits > (self.infinity or 0) >> self.ignored_bits
            case Specials.NAN_ONLY:
                return magnitude == self.quiet_nan
            case Specials.FNUZ | Specials.EXTENDED:
                return pattern == self.quiet_nan
            case _:
                return False

    def hex(self, pattern: int) -> str:
        """Return ``pattern`` as fixed-width lower-case hexadecimal."""
        return f"0x{pattern:0{self.hex_digits}x}"

    def parse(self, text: str) -> int:
        """Return the pattern that the hexadecimal ``text`` spells. Leading zeros may be missing.

        Raises InputError if it is not hexadecimal with 0x, or does not fit the width of the format.
        """
        digits = text.strip().lower()
        if not digits.startswith("0x") or not digits[2:] or set(digits[2:]) - set("0123456789abcdef"):
            raise InputError(
                f"{text!r} is not a bit pattern: write {self.name} as 0x and up to {self.hex_digits} "
                f"hexadecimal digits, for example {self.hex(self.max_finite)}"
            )
        pattern = int(digits[2:], 16)
        if pattern >> self.bits:
            raise InputError(
                f"{text} is too wide for {self.name}: {self.bits} bits, at most {self.hex((1 << self.bits) - 1)}"
            )
        return pattern

    def encode(self, value: int | float | Fraction) -> int:
        """Return the pattern of exactly ``value``. Nothing is rounded, and ignored bits are zero.

        NaN gives the positive quiet NaN, and the float -0.0 gives negative zero. Raises InputError if the format does
        not have the value. The text then gives the numbers next to it, with their patterns.
        """
        if isinstance(value, float) and not math.isfinite(value):
            return self._encode_special(value)
        negative = value < 0 or (isinstance(value, float) and math.copysign(1, value) < 0)
        if negative and not value and (not self.signed or self.is_integer or self.nan_is_minus_zero):
            raise InputError(f"{self.name} has no negative zero")
        if negative and not self.signed:
            raise InputError(f"{_spell(value)} is not representable in {self.name}: it has no negative numbers")
        magnitude = abs(Fraction(value))
        below, exact = self._integer_below(magnitude, negative) if self.is_integer else self._float_below(magnitude)
        if below is None:
            problem = f"its smallest number is {self.hex(0)} = 2**{self.e_min}"
        elif exact:
            return self._with_sign(below, negative)
        else:
            problem = self._next_to(below, negative)
        raise InputError(f"{_spell(value)} is not representable in {self.name}: {problem}")

    def exponent_of(self, x: Fraction) -> int:
        """Return the exponent of numbers at the magnitude of ``x``, at least that of subnormals."""
        return max(floor_log2(abs(x)), self.e_min) if x else self.e_min

    def ulp(self, x: Fraction) -> Fraction:
        """Return the distance of numbers at the magnitude of ``x``, at least that of subnormals."""
        return Fraction(2) ** (self.exponent_of(x) - self.fraction_bits)

    def nearest(self, value: Fraction) -> int:
        """Return the pattern of the number nearest to ``value``, of two the one with an even significand.

        It has the sign of ``value``, and what lies beyond the largest number is that number or an infinity, as IEEE 754
        rounds. Raises InputError for an integer format that does not have the value, for a negative value where there
        is not a sign, and where an infinity is missing.
        """
        if self.is_integer:
            return self.encode(value)
        below, is_exact = self._float_below(abs(value))
        if below is None or is_exact or (value < 0 and not self.signed):
            return self.encode(value) if below is not None else self._with_sign(0, value < 0)
        ulp = self.ulp(value)
        rest = abs(value) / ulp - math.floor(abs(value) / ulp)
        if below == self.max_finite and abs(value) >= self.largest:
            if abs(value) < self.largest + Fraction(2) ** (self.e_max - self.fraction_bits) / 2:
                return self._with_sign(below, value < 0)
            if self.infinity is None:
                limit = f"at most {_spell(self.largest)} ({self.hex(self.max_finite)}) in magnitude"
                raise InputError(f"{_spell(value)} is too large for {self.name}: {limit}, and it has no infinity")
            return self._with_sign(self.infinity, value < 0)
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and bool(below >> self.ignored_bits & 1))
        return self._with_sign(below + (up << self.ignored_bits), value < 0)

    def _encode_special(self, value: float) -> int:
        """Return the pattern of NaN or an infinity. Raises InputError if the format has none."""
        if math.isnan(value):
            if self.quiet_nan is None:
                raise InputError(f"{self.name} has no NaN")
            return self.quiet_nan
        if self.infinity is None:
            nan = f" and {self.hex(self.quiet_nan)} is NaN" if self.quiet_nan is not None else ""
            others = ", ".join(f.name for f in FORMATS.values() if f.infinity is not None)
            raise InputError(
                f"{self.name} has no infinity: {self.hex(self.max_finite)} is its largest number{nan}; "
                f"formats with infinities are {others}"
            )
        return self._with_sign(self.infinity, value < 0)

    def _next_to(self, below: int, negative: bool) -> str:
        """Return the numbers next to one that is not there, above the magnitude ``below``, for a person."""
        last = (1 << self.fraction_bits if negative else self.max_finite) if self.is_integer else self.max_finite
        held = [below] if below == last else [below, below + (1 << self.ignored_bits)]
        signed = [self._with_sign(x, negative) for x in held]
        spelled = [
            f"{self.hex(y)} = {'-' * (x != y)}{_spell(self.magnitude_of(x))}" for x, y in zip(held, signed, strict=True)
        ]
        side = "least" if negative else "largest"
        return f"its {side} number is {spelled[0]}" if len(held) == 1 else f"its neighbours are {' and '.join(spelled)}"

    def magnitude_of(self, pattern: int) -> int | float | Fraction:
        """Return the number of a pattern without a sign; as a float where that is exact and short."""
        raw = pattern >> self.ignored_bits
        if self.is_integer:
            return raw
        field, fraction = raw >> self.fraction_bits, raw & ((1 << self.fraction_bits) - 1)
        significand = fraction + (((field > 0) or not self.has_zero) << self.fraction_bits)
        exponent = max(field, 1 if self.has_zero else 0) - self.bias
        exact = significand * Fraction(2) ** (exponent - self.fraction_bits)
        return int(exact) if exact.denominator == 1 and exact < 1 << 64 else float(exact)

    def _with_sign(self, magnitude: int, negative: bool) -> int:
        """Return the pattern ``magnitude`` with its sign set if ``negative`` holds."""
        if not negative or (self.nan_is_minus_zero and not magnitude):
            return magnitude
        if self.is_integer:
            return -magnitude & ((1 << self.bits) - 1)
        return magnitude | 1 << self.sign_position

    def _integer_below(self, magnitude: Fraction, negative: bool) -> tuple[int, bool]:
        """Return the largest magnitude of an integer of this sign up to ``magnitude``, and whether it is equal."""
        below = min(math.floor(magnitude), 1 << self.fraction_bits if negative else self.max_finite)
        return below, below == magnitude

    def _float_below(self, magnitude: Fraction) -> tuple[int | None, bool]:
        """Return the positive pattern of the largest number at most ``magnitude``, and whether it is equal.

        The pattern is None where every number is larger (E8M0 has no zero).
        """
        exponent = self.exponent_of(magnitude)
        units = magnitude / Fraction(2) ** (exponent - self.fraction_bits)
        # where there is a zero, field 0 means subnormals, and field 1 has the same exponent
        pattern = math.floor(units) + ((exponent - self.e_min) << self.fraction_bits) - (not self.has_zero)
        if pattern < 0:
            return None, False
        pattern <<= self.ignored_bits
        if pattern > self.max_finite:
            return self.max_finite, False
        return pattern, units.denominator == 1


def floor_log2(x: Fraction) -> int:
    """Return floor(log2(x)) of a positive number."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= x else exponent - 1


def _spell(value: int | float | Fraction) -> str:
    """Return ``value`` as text of bounded length."""
    exact = Fraction(value)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) <= 128 or isinstance(value, float):
        return str(value)
    return f"{'-' if exact < 0 else ''}2**{floor_log2(abs(exact))} (about)"


_IEEE = "IEEE 754-2019, table 3.5"
_OCP8 = "OCP 8-bit floating point specification 1.0"
_OCPMX = "OCP microscaling formats (MX) specification 1.0"
_PTX = "PTX ISA, alternate formats"
_FNUZ = "AMD CDNA3 instruction set"
_GAUDI = "HabanaAI/Intel_Gaudi3_Software, mme/mme_reference/data_types/fp8.h: FP8 143 with a bias of 3, 7, 11 or 15"
_MODES = "HabanaAI/Intel_Gaudi3_Software, coral-sim, fp8_to_fp32: Inf/NaN mode "
_BLOCKS = "OCP MX 1.0, INT8, and Xilinx/mlir-aie, bfp16: 64ths from -127 to 127 with sign and magnitude"
_TENSIX = "tenstorrent/tt-isa-documentation, FloatBitPatterns.md: tf32, bf16 and fp16 without infinities and NaNs"
_IS_IEEE, _NAN_ONLY, _NONE, _INTEGER = Specials.IEEE, Specials.NAN_ONLY, Specials.NONE, Specials.INTEGER


class _Formats(dict[str, Format]):
    """Formats by name. Integers of any width from 2 to 64, and eXmY, are found by name; what units have is listed."""

    def __missing__(self, name: str) -> Format:
        found = integer_format(name) or float_format(name)
        if found is None:
            raise KeyError(name)
        return found


@cache
def integer_format(name: str) -> Format | None:
    """Return the format of integers with this name: intN or uintN, sN or uN, with N from 2 to 64. None for others."""
    found = re.fullmatch(r"(?:(?P<unsigned>u)(?:int)?|int|s)(?P<bits>[1-9]\d?)", name)
    bits = 0 if found is None else int(found["bits"])
    if found is None or not 2 <= bits <= 64:
        return None
    signed = found["unsigned"] is None
    whole, isa = (f"int{bits}", f"s{bits}") if signed else (f"uint{bits}", f"u{bits}")
    if name != whole or name in FORMATS:
        return FORMATS[whole]
    meaning = "two's complement" if signed else "unsigned"
    return Format(whole, isa, None, 0, bits - signed, Specials.INTEGER, meaning, signed=signed)


EXPONENT_BITS, FRACTION_BITS = range(2, 12), range(1, 53)
"""X and Y of the formats eXmY: no wider than those of fp64."""


@cache
def float_format(name: str) -> Format | None:
    """Return the format eXmY of X exponent and Y fraction bits that accumulators have inside a unit, as e8m13.

    It has a sign, subnormals, infinities and NaNs, as IEEE 754 lays them out. None for another name, and for one of the
    list, which may mean something else (e4m3 and e8m7 have no infinities).
    """
    found = re.fullmatch(r"e([1-9]\d?)m([1-9]\d?)", name)
    sizes = (0, 0) if found is None else (int(found[1]), int(found[2]))
    if name in FORMATS or sizes[0] not in EXPONENT_BITS or sizes[1] not in FRACTION_BITS:
        return None
    return Format(name, name, None, *sizes, Specials.IEEE, f"{_IEEE}, of other sizes")


FORMATS: dict[str, Format] = _Formats(
    (f.name, f)
    for f in (
        Format("fp64", "f64", "float64", 11, 52, _IS_IEEE, _IEEE),
        Format("fp32", "f32", "float32", 8, 23, _IS_IEEE, _IEEE),
        Format("tf32", "tf32", None, 8, 10, _IS_IEEE, _PTX, ignored_bits=13),
        Format("bf16", "bf16", "bfloat16", 8, 7, _IS_IEEE, _PTX),
        Format("fp16", "f16", "float16", 5, 10, _IS_IEEE, _IEEE),
        Format("e5m2", "e5m2", "float8_e5m2", 5, 2, _IS_IEEE, _OCP8),
        Format("e4m3", "e4m3", "float8_e4m3fn", 4, 3, _NAN_ONLY, _OCP8),
        Format("e4m3b3", "e4m3b3", None, 4, 3, _IS_IEEE, _GAUDI, chosen_bias=3),
        Format("e4m3b7", "e4m3b7", "float8_e4m3", 4, 3, _IS_IEEE, _GAUDI),
        Format("e4m3b11", "e4m3b11", None, 4, 3, _IS_IEEE, _GAUDI, chosen_bias=11),
        Format("e4m3b15", "e4m3b15", None, 4, 3, _IS_IEEE, _GAUDI, chosen_bias=15),
        Format("e4m3b3f", "e4m3b3f", None, 4, 3, _NONE, _MODES + "1", chosen_bias=3),
        Format("e4m3f", "e4m3f", None, 4, 3, _NONE, _MODES + "1"),
        Format("e4m3b11f", "e4m3b11f", None, 4, 3, _NONE, _MODES + "1", chosen_bias=11),
        Format("e4m3b15f", "e4m3b15f", None, 4, 3, _NONE, _MODES + "1", chosen_bias=15),
        Format("e5m2f", "e5m2f", None, 5, 2, _NONE, _MODES + "1"),
        Format("e4m3b3fn", "e4m3b3fn", None, 4, 3, _NAN_ONLY, _MODES + "2", chosen_bias=3),
        Format("e4m3b11fn", "e4m3b11fn", None, 4, 3, _NAN_ONLY, _MODES + "2", chosen_bias=11),
        Format("e4m3b15fn", "e4m3b15fn", None, 4, 3, _NAN_ONLY, _MODES + "2", chosen_bias=15),
        Format("e5m2fn", "e5m2fn", None, 5, 2, _NAN_ONLY, _MODES + "2"),
        Format("e5m2fnuz", "bf8", "float8_e5m2fnuz", 5, 2, Specials.FNUZ, _FNUZ),
        Format("e4m3fnuz", "fp8", "float8_e4m3fnuz", 4, 3, Specials.FNUZ, _FNUZ),
        Format("e8m10", "e8m10", None, 8, 10, _NONE, _TENSIX, ignored_bits=13),
        Format("e8m7", "e8m7", None, 8, 7, _NONE, _TENSIX),
        Format("e5m10", "e5m10", None, 5, 10, _NONE, _TENSIX),
        Format("e3m2", "e3m2", "float6_e3m2fn", 3, 2, _NONE, _OCPMX),
        Format("e2m3", "e2m3", "float6_e2m3fn", 2, 3, _NONE, _OCPMX),
        Format("e2m1", "e2m1", "float4_e2m1fn", 2, 1, _NONE, _OCPMX),
        Format("e1m6", "e1m6", None, 1, 6, _NONE, _BLOCKS, chosen_bias=1),
        Format("e8m0", "ue8m0", "float8_e8m0fnu", 8, 0, _NAN_ONLY, _OCPMX, signed=False),
        Format("ue4m3", "ue4m3", "float8_e4m3fn", 4, 3, _NAN_ONLY, "PTX ISA", signed=False, ignored_sign=True),
        Format("int64", "s64", "int64", 0, 63, _INTEGER, "two's complement"),
        Format("int32", "s32", "int32", 0, 31, _INTEGER, "two's complement"),
        Format("uint32", "u32", "uint32", 0, 32, _INTEGER, "unsigned", signed=False),
        Format("int16", "s16", "int16", 0, 15, _INTEGER, "two's complement"),
        Format("uint16", "u16", "uint16", 0, 16, _INTEGER, "unsigned", signed=False),
        Format("int8", "s8", "int8", 0, 7, _INTEGER, "two's complement"),
        Format("uint8", "u8", "uint8", 0, 8, _INTEGER, "unsigned", signed=False),
        Format("int4", "s4", "int4", 0, 3, _INTEGER, "two's complement"),
        Format("uint1", "b1", None, 0, 1, _INTEGER, "PTX ISA, .b1", signed=False),
    )
)


def _aliases() -> dict[str, str]:
    """Return the names of instruction sets, of ml_dtypes and NumPy, those without float8_ and its like, and MLIR's.

    A name that means something else already is left out.
    """
    found: dict[str, str] = {}
    for fmt in FORMATS.values():
        whole = fmt.ml_dtypes_name or ""
        for name in (fmt.isa_name, whole, whole.partition("_")[2], re.sub(r"^float(\d)_", r"f\1", whole)):
            if name and name not in FORMATS and name not in ("fp8", "bf8"):  # of CDNA3, and of OCP's formats elsewhere
                found.setdefault(name, fmt.name)
    return found


ALIASES = _aliases()
"""Other names of formats: float8_e4m3fn, f8e4m3fn and e4m3fn mean e4m3; float8_e4m3 is e4m3b7, which has infinities."""


def find_format(name: str) -> Format:
    """Return the format with the short form ``name``, or with its name in instructions, ml_dtypes or NumPy.

    Raises InputError, which lists the known names.

    >>> import mmaproof
    >>> mmaproof.find_format("e4m3").bits
    8
    """
    if (parameters := _P3109.fullmatch(name)) is not None:
        width, precision, sign, domain, *others = parameters.groups()
        width, precision, sign, domain = (width, precision, sign, domain) if width else others
        return p3109(int(width), int(precision), sign[0] == "s", domain[0] == "e")
    try:
        return FORMATS[ALIASES.get(name, name)]
    except KeyError:
        more = "intN or uintN with N from 2 to 64, eXmY (e8m13), or a format of IEEE P3109 (binary8p4se)"
        raise InputError(f"unknown format {name!r}: one of {', '.join(FORMATS)}, {more}") from None


_P3109 = re.compile(
    r"binary([1-9][0-9]?)p([1-9][0-9]?)([su])([ef])"
    r"|p3109\(([1-9][0-9]?), ?([1-9][0-9]?), ?(signed|unsigned), ?(extended|finite)\)"
)
P3109_WIDTHS = range(3, 17)
"""K of the formats of IEEE P3109 that are read; its value tables have these."""


@cache
def p3109(width: int, precision: int, signed: bool, extended: bool) -> Format:
    """Return the format of IEEE P3109 of ``width`` bits K and ``precision`` P: binary8p4se is (8, 4, True, True).

    The finite formats with a sign are laid out as FNUZ (binary8p4sf is e4m3fnuz, another name of the same patterns).
    Without a sign there is one exponent bit more. Raises InputError where there is no such format.
    """
    most = width - 1 if signed else width
    name = f"binary{width}p{precision}{'s' if signed else 'u'}{'e' if extended else 'f'}"
    if width not in P3109_WIDTHS or not 1 <= precision <= most:
        raise InputError(
            f"{name}: K is {P3109_WIDTHS[0]} to {P3109_WIDTHS[-1]} bits, and P 1 to K - 1 with a sign, to K without"
        )
    exponent_bits = width - precision + (not signed)
    finite = Specials.FNUZ if signed else Specials.NAN_ONLY
    specials = Specials.EXTENDED if extended else finite
    source = "IEEE P3109 interim report (2026), section 4"
    bias = 1 << (exponent_bits - 1)
    sizes = (exponent_bits, precision - 1)
    return Format(
        name, name, None, *sizes, specials, source, signed=signed, chosen_bias=bias, zero_field=precision == 1
    )
