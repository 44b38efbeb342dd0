"""Number formats: what a bit pattern of each means.

Names in short form are those of the command line (``fp16``, ``e4m3``); ``ml_dtypes_name`` is the name of the
same format in ml_dtypes or NumPy where there is one; ``isa_name`` is the spelling inside instruction names.
A format is sign, exponent field, fraction field, and ``ignored_bits`` below them that hardware does not read
(tf32 lives in a 32-bit word).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mmaproof.designs.errors import InputError


class Specials(StrEnum):
    """Which patterns are infinities and NaNs."""

    IEEE = "ieee"
    """exponent field all ones: fraction 0 is an infinity, anything else a NaN"""
    NAN_ONLY = "nan-only"
    """no infinity; exponent and fraction all ones is NaN (OCP FP8 E4M3)"""


@dataclass(frozen=True, slots=True)
class Format:
    """One binary floating-point format; all sizes are in bits.

    A value is ``significand * 2**(exponent - fraction_bits)``; subnormals read the exponent ``e_min``.
    """

    name: str
    isa_name: str
    ml_dtypes_name: str | None
    exponent_bits: int
    fraction_bits: int
    specials: Specials
    source: str
    ignored_bits: int = 0

    @property
    def bits(self) -> int:
        """Width of a bit pattern, ignored low bits included."""
        return 1 + self.exponent_bits + self.fraction_bits + self.ignored_bits

    @property
    def hex_digits(self) -> int:
        """Number of digits of a pattern as a person sees it."""
        return -(-self.bits // 4)

    @property
    def precision(self) -> int:
        """Bits of the significand, the integer bit included."""
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        """What is taken from the exponent field; IEEE 754's for every format so far."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def e_min(self) -> int:
        """Exponent of the smallest normal number, and of every subnormal."""
        return 1 - self.bias

    @property
    def e_max(self) -> int:
        """Exponent of the largest finite number."""
        top_field = (1 << self.exponent_bits) - 1
        return top_field - self.bias - (1 if self.specials is Specials.IEEE else 0)

    @property
    def max_significand(self) -> int:
        """Largest significand that occurs at any exponent, an integer of ``precision`` bits.

        With NAN_ONLY the all-ones significand is a NaN at the top exponent only, so it does occur below.
        """
        return (1 << self.precision) - 1

    @property
    def sign_position(self) -> int:
        """Index of the sign bit in the pattern."""
        return self.bits - 1

    @property
    def infinity(self) -> int | None:
        """Pattern of +infinity, None where the format has none."""
        if self.specials is not Specials.IEEE:
            return None
        return ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.ignored_bits)

    @property
    def max_finite(self) -> int:
        """Pattern of the largest finite number (ignored bits zero)."""
        top = (1 << (self.exponent_bits + self.fraction_bits)) - 1
        below = top - (1 << self.fraction_bits) if self.specials is Specials.IEEE else top - 1
        return below << self.ignored_bits

    @property
    def quiet_nan(self) -> int:
        """Pattern of the positive quiet NaN with no payload (the only positive one where there is but one)."""
        exponent = ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.ignored_bits)
        if self.specials is Specials.NAN_ONLY:
            return exponent | ((1 << self.fraction_bits) - 1) << self.ignored_bits
        return exponent | 1 << (self.fraction_bits - 1 + self.ignored_bits)

    def hex(self, pattern: int) -> str:
        """Return ``pattern`` as fixed-width lower-case hexadecimal."""
        return f"0x{pattern:0{self.hex_digits}x}"

    def parse(self, text: str) -> int:
        """Return the pattern that the hexadecimal ``text`` spells (leading zeros may be missing).

        Raises InputError where it is not hexadecimal with 0x or does not fit the format's width.
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


_IEEE = "IEEE 754-2019, table 3.5"
_OCP8 = "OCP 8-bit floating point specification 1.0"

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("fp64", "f64", "float64", 11, 52, Specials.IEEE, _IEEE),
        Format("fp32", "f32", "float32", 8, 23, Specials.IEEE, _IEEE),
        Format("tf32", "tf32", None, 8, 10, Specials.IEEE, "PTX ISA, alternate formats", ignored_bits=13),
        Format("bf16", "bf16", "bfloat16", 8, 7, Specials.IEEE, "PTX ISA, alternate formats"),
        Format("fp16", "f16", "float16", 5, 10, Specials.IEEE, _IEEE),
        Format("e5m2", "e5m2", "float8_e5m2", 5, 2, Specials.IEEE, _OCP8),
        Format("e4m3", "e4m3", "float8_e4m3fn", 4, 3, Specials.NAN_ONLY, _OCP8),
    )
}


def find_format(name: str) -> Format:
    """Return the format called ``name`` (short form); InputError lists the known ones."""
    try:
        return FORMATS[name]
    except KeyError:
        raise InputError(f"unknown format {name!r}: one of {', '.join(FORMATS)}") from None
