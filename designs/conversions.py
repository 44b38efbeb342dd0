"""Conversions rho: how the sum of a step becomes a number of the output format (Xie et al. 2026, table 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format, find_format, float_format, integer_format


class Rounding(StrEnum):
    """The rounding of a conversion, by the names of SMT-LIB and of the papers.

    All but RZ and RTO are those of IEEE 754, overflow included. The papers' RZ truncates the magnitude and leaves open
    what an overflow gives. If ``overflow`` is largest-finite, it is IEEE 754's rounding towards zero (SMT-LIB's RTZ).
    If ``overflow`` is infinity, it is not. RTO is the rounding to odd of Arm's pseudo-code and of RISC-V's drafts; it
    leaves the same open. RNE is IEEE 754's if ``overflow`` is infinity. If it is largest-finite, RNE saturates, as
    units with 8-bit formats can.
    """

    RZ = "rz"
    """towards zero"""
    RNE = "rne"
    """to nearest, ties to even"""
    RNA = "rna"
    """to nearest, ties away from zero"""
    RTN = "rtn"
    """towards minus infinity"""
    RTP = "rtp"
    """towards plus infinity"""
    RTO = "rto"
    """to odd: truncated, and the last kept bit is set where anything was lost"""

    @property
    def leaves_overflow_open(self) -> bool:
        """Whether it does not say itself what a number beyond the largest finite one becomes."""
        return self in (Rounding.RZ, Rounding.RTO, Rounding.RNE)

    @property
    def truncates(self) -> bool:
        """Whether a rounded number keeps the exponent of the exact one, because its magnitude is never carried up."""
        return self in (Rounding.RZ, Rounding.RTO)


class Draw(StrEnum):
    """How N random bits R decide a rounding of the fraction f of a unit that is left (IEEE P3109, RoundToPrecision)."""

    A = "a"
    """away from zero where floor(f 2^N) + R is 2^N or more: R is added to the bits that are dropped"""
    B = "b"
    """where floor(f 2^(N + 1)) + 2 R + 1 is 2^(N + 1) or more"""
    C = "c"
    """where f 2^N, to nearest and ties to even, plus R is 2^N or more"""


@dataclass(frozen=True, slots=True)
class Stochastic:
    """Stochastic rounding of a conversion outside units with N random ``bits``; ``drawn`` None: they are an operand."""

    draw: Draw
    bits: int
    drawn: int | None = None

    MOST: ClassVar[int] = 32
    ALLOWED: ClassVar[str] = f"srN, srNb or srNc with N random bits, 1 to {MOST}, and @0xR where they are a constant"

    truncates: ClassVar[bool] = False
    leaves_overflow_open: ClassVar[bool] = False

    @classmethod
    def parse(cls, text: str) -> Stochastic:
        """Return what ``text`` spells: sr8, sr8b or sr8c, and sr8@0x5a for constant bits. Raises ValueError."""
        found = re.fullmatch(r"sr([1-9][0-9]?)([abc]?)(?:@(0x[0-9a-f]{1,8}))?", text)
        if found is None:
            raise ValueError(text)
        bits, drawn = int(found[1]), None if found[3] is None else int(found[3], 16)
        if bits > cls.MOST or (drawn is not None and drawn >> bits):
            raise ValueError(text)
        return cls(Draw(found[2] or "a"), bits, drawn)

    def __str__(self) -> str:
        kind = "" if self.draw is Draw.A else self.draw
        return f"sr{self.bits}{kind}" + ("" if self.drawn is None else f"@{self.drawn:#x}")


class Beyond(StrEnum):
    """What a conversion outside a unit makes of a number beyond the largest one of its format, or of an infinity."""

    SATURATE = "saturate"
    """the largest finite number, with its sign"""
    INFINITY = "infinity"
    """an infinity"""
    NAN = "nan"
    """NaN"""
    OVFINF = "ovfinf"
    """the largest finite number where the rounding is away from the infinity of its sign (IEEE 754-2019, clause 7.4),
    else an infinity, or NaN where the format has none"""


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """What becomes of finite numbers that round to one beyond the largest, and what of infinities.

    OCP's and CUDA's saturating conversions are ``saturate`` for both. ONNX saturates numbers to e4m3fnuz and makes NaN
    of infinities. A format without infinities, if nothing saturates, has NaN for both (OCP, ml_dtypes).
    IEEE P3109's saturation modes are words, too: SatFinite is ``saturate``, SatPropagate ``saturate/infinity`` (of a
    format without infinities ``saturate``), and OvfInf, SatNone in later drafts, ``ovfinf``.
    """

    numbers: Beyond
    infinities: Beyond

    ALLOWED: ClassVar[str] = (
        "saturate, infinity, nan, saturate/infinity or saturate/nan (of numbers / of infinities), or SatFinite, "
        "SatPropagate, OvfInf or SatNone (IEEE P3109)"
    )

    @classmethod
    def parse(cls, text: str, fmt: Format) -> OutOfRange:
        """Return what ``text`` spells for a format: one word for numbers and infinities, or two.

        Raises ValueError otherwise.
        """
        text = text.lower()
        propagated = "saturate" if fmt.infinity is None else "saturate/infinity"
        text = {"satfinite": "saturate", "satpropagate": propagated, "satnone": "ovfinf"}.get(text, text)
        numbers, slash, infinities = text.partition("/")
        found = cls(Beyond(numbers), Beyond(infinities if slash else numbers))
        alone = Beyond.OVFINF in (found.numbers, found.infinities) or found.numbers is not Beyond.SATURATE
        if found.numbers is not found.infinities and alone:
            raise ValueError(text)
        return found

    def __str__(self) -> str:
        return self.numbers if self.numbers is self.infinities else f"{self.numbers}/{self.infinities}"

    def misfit(self, fmt: Format) -> str | None:
        """Return what ``fmt`` lacks for it, None where it lacks nothing."""
        used = (self.numbers, self.infinities)
        if Beyond.INFINITY in used and fmt.infinity is None:
            return f"{fmt.name} has no infinity"
        needs_nan = Beyond.NAN in used or (Beyond.OVFINF in used and fmt.infinity is None)
        return f"{fmt.name} has no NaN" if needs_nan and fmt.quiet_nan is None else None


@dataclass(frozen=True, slots=True)
class Conversion:
    """rho: how ``S * 2**e_max`` becomes a number of ``target`` that uses ``fraction_bits`` of its fraction bits.

    With ``via`` it becomes a number of that wider format first, whose low bits are dropped; ``rounding`` is that of the
    second rounding. Both formats have the same exponents.
    """

    rounding: Rounding | Stochastic
    target: Format
    fraction_bits: int
    via: Conversion | None = None

    @property
    def first(self) -> Conversion:
        """The conversion of the sum itself."""
        return self if self.via is None else self.via

    @property
    def leaves_range_open(self) -> bool:
        """Whether the parameter ``out_of_range`` says what numbers beyond the largest one, and infinities, become."""
        return not self.target.is_integer and self.target.infinity is None

    @property
    def leaves_overflow_open(self) -> bool:
        """Whether the parameter ``overflow`` says what a number beyond the largest finite one becomes."""
        return self.first.rounding.leaves_overflow_open and not self.leaves_range_open


def _each_rounding(target: str) -> dict[str, Conversion]:
    fmt = FORMATS[target]
    return {f"{rounding}-{target}": Conversion(rounding, fmt, fmt.fraction_bits) for rounding in Rounding}


_PACKED = "packed-"
"""What stands before a format eXmY in the name of a conversion: ``rz-e8m13`` is of fp32, with 13 fraction bits."""


def rounding_to(rounding: Rounding | Stochastic, fmt: Format) -> str:
    """Return the name of the conversion that rounds to ``fmt``, all of whose fraction bits it uses."""
    return f"{rounding}-{fmt.name}" if float_format(fmt.name) is None else f"{rounding}-{_PACKED}{fmt.name}"


def _named(name: str) -> Conversion | str:
    """Return the conversion to an integer register, or to a format of floats, that is found by name; else why not."""
    whole = integer_format(name)
    if whole is not None:
        called = f"it is called {whole.name}"
        return Conversion(Rounding.RZ, whole, whole.fraction_bits) if whole.name == name else called
    rounding, _, target = name.partition("-")
    try:
        fmt = find_format(target.removeprefix(_PACKED))
    except InputError:
        return ""
    if rounding not in list(Rounding) or fmt.is_integer or not fmt.signed:
        return f"{fmt.name} has no sign" if not fmt.signed else f"it is called {fmt.name}" if fmt.is_integer else ""
    called = rounding_to(Rounding(rounding), fmt)
    return Conversion(Rounding(rounding), fmt, fmt.fraction_bits) if name == called else f"it is called {called}"


class _Conversions(dict[str, Conversion]):
    """Conversions by name. Those that units have are listed; others (rne-e4m3, int20) are found by name."""

    def __missing__(self, name: str) -> Conversion:
        found = _named(name)
        if isinstance(found, str):
            raise KeyError(name)
        return found


def conversions_to(fmt: Format) -> tuple[str, ...]:
    """Return the names of the conversions to a format: those that are listed, else one for each rounding."""
    listed = tuple(name for name, rho in RHO.items() if rho.target is fmt)
    names = [fmt.name] if fmt.is_integer else [rounding_to(x, fmt) for x in Rounding]
    return listed or tuple(name for name in names if isinstance(_named(name), Conversion))


class WithFloats(tuple[str, ...]):
    """Names of conversions, among them, without being listed, those to any integer and any format of elements."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and isinstance(_named(name), Conversion))

    @property
    def text(self) -> str:
        """All of them for a person: roundings and formats, then the names that are not made of both."""
        others = [x for x in self if x != rounding_to(RHO[x].rounding, RHO[x].target)]
        return f"{', '.join(Rounding)} to a format with a sign (rne-fp32, rto-bf16, rz-e4m3); {', '.join(others)}"

    def why_not(self, name: object) -> str:
        """Return why a conversion is not among them: it has no format with a sign, or another name. Else nothing."""
        found = _named(str(name))
        return f"{found}; " if isinstance(found, str) and found else ""


class WithIntegers(tuple[str, ...]):
    """Names of conversions, among them, without being listed, the registers of integers of any width."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        fmt = integer_format(name) if isinstance(name, str) else None
        return (fmt is not None and fmt.name == name) or super().__contains__(name)


RHO: dict[str, Conversion] = _Conversions(
    {
        **_each_rounding("fp32"),
        "rz-e8m13": Conversion(Rounding.RZ, FORMATS["fp32"], 13),
        **_each_rounding("fp16"),
        **_each_rounding("bf16"),
        "rz-bf16-of-rne-fp32": Conversion(
            Rounding.RZ, FORMATS["bf16"], 7, via=Conversion(Rounding.RNE, FORMATS["fp32"], 23)
        ),
        **_each_rounding("fp64"),
        **_each_rounding("e5m2"),
        **_each_rounding("tf32"),
        **{x: y for fmt in ("e4m3b3", "e4m3b7", "e4m3b11", "e4m3b15") for x, y in _each_rounding(fmt).items()},
        "int32": Conversion(Rounding.RZ, FORMATS["int32"], 31),
        "uint32": Conversion(Rounding.RZ, FORMATS["uint32"], 32),
        "int16": Conversion(Rounding.RZ, FORMATS["int16"], 15),
        "int64": Conversion(Rounding.RZ, FORMATS["int64"], 63),
    }
)
"""Conversions by name. Published units use rz, rne and rto, and on Arm whichever the control register chooses.

A sum is rounded once to fp64, fp32, tf32, bf16, fp16, e5m2 or an e4m3 with infinities (e4m3b7). ``rne-e4m3``,
``rz-binary8p4se`` and their like are found by name, for every format of elements. Where the format has no infinity, the
parameter ``out_of_range`` says what takes its place. ``rz-bf16-of-rne-fp32`` is two roundings.

``int32``, ``uint32``, ``int16`` and ``int64``, and integers of any other width, are the registers of integer units. The
parameter ``integer_overflow`` decides what their overflow gives.
"""
