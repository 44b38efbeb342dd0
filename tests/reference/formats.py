"""Number formats: what bit patterns stand for, and the conversions that round to them.

Plain integers and fractions, written from the formats' definitions; the names of the formats are those of
ml_dtypes, shortened. Operands are bit patterns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Format:
    """Sign, exponent field, fraction field and, below them, bits that are ignored.

    ``special`` says which patterns are reserved, in ml_dtypes' words: "ieee" (infinities and NaNs in the
    highest exponent), "fn" (no infinity, NaN is all ones below the sign), "fnuz" (NaN in the place of -0),
    "extended" (as "fnuz", and the largest magnitude is an infinity), "none". ``end`` says what takes the place of an
    infinity in results of a format that has none: "saturate", "saturate/nan" (of numbers and of infinities) or "nan".
    """

    exponent_bits: int
    fraction_bits: int
    bias: int
    special: str = "ieee"
    ignored_bits: int = 0
    end: str = "saturate"

    @property
    def width(self) -> int:
        """Bits of a stored pattern."""
        return 1 + self.exponent_bits + self.fraction_bits + self.ignored_bits

    @property
    def e_min(self) -> int:
        """Exponent of the smallest normal number and of all subnormal numbers."""
        return 1 - self.bias

    @property
    def e_infinity(self) -> int:
        """One above the largest exponent (of an "ieee" format): 128 for fp32."""
        return (1 << self.exponent_bits) - 1 - self.bias

    @property
    def infinity(self) -> int:
        """Pattern of +infinity (of an "ieee" or "extended" format)."""
        if self.special == "extended":
            return (1 << (self.exponent_bits + self.fraction_bits)) - 1
        return ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.ignored_bits)

    @property
    def above_largest(self) -> int:
        """The pattern after that of the largest number, without the ignored bits."""
        everything = 1 << (self.exponent_bits + self.fraction_bits)
        taken = {"ieee": 1 << self.fraction_bits, "fn": 1, "extended": 1}.get(self.special, 0)
        return everything - taken

    @property
    def one_nan(self) -> int | None:
        """The pattern of NaN of a format that has one of them, without ignored bits."""
        magnitude = 1 << (self.exponent_bits + self.fraction_bits)
        return {"fn": magnitude - 1, "fnuz": magnitude, "extended": magnitude}.get(self.special)

    def of_infinity(self, sign: int) -> int:
        """What a result is where it would be an infinity of this sign."""
        if self.special in ("ieee", "extended"):
            return self.infinity | sign << (self.width - 1)
        if self.end == "saturate":
            return self.signed(sign, self.above_largest - 1) << self.ignored_bits
        if self.one_nan is None:
            raise ValueError("the format has no NaN")
        return self.one_nan

    def signed(self, sign: int, magnitude: int) -> int:
        """A pattern without ignored bits; where NaN takes the place of -0, there is one zero."""
        if self.special in ("fnuz", "extended") and magnitude == 0:
            return 0
        return magnitude | sign << (self.exponent_bits + self.fraction_bits)


FP8 = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), **{f"e4m3b{bias}": (4, 3, bias) for bias in (3, 11, 15)}}
"""FP8 of Gaudi 3 by its name without infinities: bits of exponent and fraction, and bias."""
FORMATS = {
    "fp64": Format(11, 52, 1023),
    "fp32": Format(8, 23, 127),
    "tf32": Format(8, 10, 127, ignored_bits=13),
    "bf16": Format(8, 7, 127),
    "fp16": Format(5, 10, 15),
    "e5m2": Format(5, 2, 15),
    "e4m3": Format(4, 3, 7, "fn"),
    "e5m2fnuz": Format(5, 2, 16, "fnuz"),
    "e4m3fnuz": Format(4, 3, 8, "fnuz"),
    **{f"e4m3b{bias}": Format(4, 3, bias) for bias in (3, 7, 11, 15)},
    **{f"{name}f": Format(x, y, bias, "none") for name, (x, y, bias) in FP8.items()},
    **{f"{name}fn": Format(x, y, bias, "fn") for name, (x, y, bias) in FP8.items() if name != "e4m3"},
    "e8m10": Format(8, 10, 127, "none", ignored_bits=13),
    "e8m7": Format(8, 7, 127, "none"),
    "e5m10": Format(5, 10, 15, "none"),
    "e3m2": Format(3, 2, 3, "none"),
    "e2m3": Format(2, 3, 1, "none"),
    "e2m1": Format(2, 1, 1, "none"),
    "e1m6": Format(1, 6, 1, "none"),
}


FORMATS |= {
    "binary8p4se": Format(4, 3, 8, "extended"),
    "binary8p3se": Format(5, 2, 16, "extended"),
    "binary6p2se": Format(4, 1, 8, "extended"),
    "binary5p3sf": Format(2, 2, 2, "fnuz"),
}
ENDLESS = tuple(name for name, x in FORMATS.items() if x.special in ("fn", "fnuz", "none"))
ENDS = ("saturate", "saturate/nan", "nan")
FORMATS |= {f"{name}~{end}": replace(FORMATS[name], end=end) for name in ENDLESS for end in ENDS}
"""A format without infinities and what a result of it is in their place: e4m3~nan."""

STORED = ("fp64", "fp32", "tf32", "bf16", "fp16", "e5m2", "e4m3b3", "e4m3b7", "e4m3b11", "e4m3b15")
OF_END = tuple(x for x in FORMATS if "~" in x) + tuple(x for x in FORMATS if x.endswith("se"))
DIRECTIONS = ("rz", "rne", "rna", "rtn", "rtp", "rto")


@dataclass(frozen=True)
class Conversion:
    """Where a result is stored, how many fraction bits it keeps, and the direction of its rounding.

    "rz" and "rne" are those of Xie, table 2; "rne", "rna", "rtn" and "rtp" are roundTiesToEven, roundTiesToAway,
    roundTowardNegative and roundTowardPositive of IEEE 754-2019, clause 4.3; "rz" is its roundTowardZero under 6B.
    "rto" is FPRounding_ODD of Arm's pseudo-code: where inexact, the neighbour whose significand is odd.
    """

    format: str
    fraction_bits: int
    direction: str


CONVERSIONS = {
    f"{x}-{y}": Conversion(y, FORMATS[y].fraction_bits, x) for x in DIRECTIONS for y in (*STORED, *OF_END)
} | {
    "rz-e8m13": Conversion("fp32", 13, "rz"),
    "rz-bf16-of-rne-fp32": Conversion("bf16", 7, "rz"),
}


@dataclass(frozen=True)
class Number:
    """A decoded operand: kind "nan", "inf", "zero" or "finite" and ``(-1)**sign * integer * 2**scale``.

    ``exponent`` is Exp(x) of Xie, algorithm 7: that of the field, for subnormal numbers e_min. It means
    nothing for NaN and infinity. For zero it is e_min too, unless a reading of points 1 and 2 takes its place.
    """

    kind: str
    sign: int
    integer: int
    scale: int
    exponent: int

    @property
    def signed(self) -> int:
        """The integer with its sign."""
        return -self.integer if self.sign else self.integer

    @property
    def magnitude(self) -> Fraction:
        """The absolute value."""
        return Fraction(self.integer) * Fraction(2) ** self.scale


def decode(pattern: int, format: str) -> Number:
    """What a bit pattern stands for; besides FORMATS, one of the two formats of scale factors.

    "e8m0" is the power of two 2**(x - 127), with NaN in the place of 2**128. "ue4m3" is e4m3 with its sign
    bit ignored.
    """
    if format == "ue4m3":
        return decode(pattern & ~0x80, "e4m3")
    if format == "e8m0":
        if not 0 <= pattern <= 0xFF:
            raise ValueError(f"{pattern:#x} does not fit the 8 bits of e8m0")
        exponent = pattern - 127
        return Number("nan", 0, 0, 0, 0) if pattern == 0xFF else Number("finite", 0, 1, exponent, exponent)
    layout = FORMATS[format]
    if not 0 <= pattern < 1 << layout.width:
        raise ValueError(f"{pattern:#x} does not fit the {layout.width} bits of {format}")
    bits = pattern >> layout.ignored_bits
    highest_field = (1 << layout.exponent_bits) - 1
    highest_fraction = (1 << layout.fraction_bits) - 1
    fraction = bits & highest_fraction
    field = bits >> layout.fraction_bits & highest_field
    sign = bits >> (layout.fraction_bits + layout.exponent_bits)
    if layout.special == "ieee" and field == highest_field:
        return Number("nan" if fraction else "inf", sign, 0, 0, 0)
    if layout.special in ("fnuz", "extended") and sign == 1 and field == 0 and fraction == 0:
        return Number("nan", sign, 0, 0, 0)
    if layout.special in ("fn", "extended") and field == highest_field and fraction == highest_fraction:
        return Number("nan" if layout.special == "fn" else "inf", sign, 0, 0, 0)
    if field == 0:
        exponent, integer = layout.e_min, fraction
    else:
        exponent, integer = field - layout.bias, fraction + (1 << layout.fraction_bits)
    return Number("finite" if integer else "zero", sign, integer, exponent - layout.fraction_bits, exponent)


INTEGERS = {
    "uint1": (1, False),
    "int4": (4, True),
    "int8": (8, True),
    "uint8": (8, False),
    "int16": (16, True),
    "uint16": (16, False),
    "int32": (32, True),
    "uint32": (32, False),
    "int64": (64, True),
}
"""Bits, counted from the lowest of a pattern, and whether they are two's complement."""


def decode_integer(pattern: int, format: str) -> int:
    """The integer of the lowest bits of a pattern: of int4, a nibble of a byte."""
    width, two_s_complement = INTEGERS[format]
    if not 0 <= pattern < 1 << max(width, 8):
        raise ValueError(f"{pattern:#x} does not fit the {max(width, 8)} bits of {format}")
    bits = pattern % (1 << width)
    return bits - (1 << width) if two_s_complement and bits >> (width - 1) else bits


def floor_log2(integer: int, scale: int) -> int:
    """Floor of log2 of ``|integer| * 2**scale``, which is not zero."""
    return abs(integer).bit_length() - 1 + scale


def is_subnormal(x: Number, format: str) -> bool:
    """Whether a number of a format has no leading one in its significand, zero excepted."""
    return x.kind == "finite" and x.integer.bit_length() <= FORMATS[format].fraction_bits


def candidates(total: int, scale: int, fraction_bits: int, e_min: int) -> tuple[int, int, int, bool | None]:
    """The numbers next to a positive ``total * 2**scale``, the range having no upper end (IEEE 754, clause 4.3).

    As significands: the nearest not above it, the nearest not below it, and the exponent of their unit; and whether
    the first is nearer than the second, None in the middle (or where both are the same).
    """
    unit = max(floor_log2(total, scale), e_min) - fraction_bits
    exact = Fraction(total) * Fraction(2) ** (scale - unit)
    below, above = math.floor(exact), math.ceil(exact)
    nearer_below = None if exact - below == above - exact else exact - below < above - exact
    return below, above, unit, nearer_below


def significand(total: int, scale: int, conversion: Conversion, e_min: int) -> tuple[int, int]:
    """The magnitude of ``total * 2**scale``, not zero, rounded: an integer, and the exponent of its unit."""
    negative = total < 0
    below, above, unit, nearer_below = candidates(abs(total), scale, conversion.fraction_bits, e_min)
    match conversion.direction:
        case "rz":
            kept = below
        case "rto":
            kept = below if below % 2 == 1 or below == above else above
        case "rtn":
            kept = above if negative else below
        case "rtp":
            kept = below if negative else above
        case nearest:
            in_the_middle = above if nearest == "rna" or below % 2 == 1 else below
            kept = in_the_middle if nearer_below is None else below if nearer_below else above
    return kept, unit


def convert(
    total: int,
    scale: int,
    rho: str,
    *,
    overflow: str = "A",
    negative_zero: str = "A",
    flush: bool = False,
    tininess: str = "rounded",
) -> int:
    """Xie, table 2, and IEEE 754: ``total * 2**scale`` rounded once, with gradual underflow, to its bit pattern.

    RZ, RTO and RNE overflow to infinity or, under 6B, to the largest finite number; the others as in IEEE 754, clause
    7.4. A zero is +0; a negative number that rounds to zero is +0 or, under 7B, -0. With ``flush``, a result that is
    subnormal becomes a zero of its sign; with ``tininess`` "unbounded" one that is below the smallest normal number
    when it is rounded as though the range had no lower end (IEEE 754, clause 7.5, after rounding), with "exact" one
    that is below it before it is rounded (the same clause, before rounding).
    """
    first = rho.partition("-of-")[2]
    chosen: dict[str, Any] = {
        "overflow": overflow,
        "negative_zero": negative_zero,
        "flush": flush,
        "tininess": tininess,
    }
    if first:
        return rounded_once(total, scale, first, **chosen) >> 16
    once = rounded_once if FORMATS[CONVERSIONS[rho].format].special == "ieee" else rounded_to_another_end
    return once(total, scale, rho, **chosen) << FORMATS[CONVERSIONS[rho].format].ignored_bits


def rounded_once(
    total: int, scale: int, rho: str, *, overflow: str, negative_zero: str, flush: bool, tininess: str
) -> int:
    """The conversion to one format, as ``convert`` describes it, without the bits that are ignored."""
    conversion = CONVERSIONS[rho]
    layout = FORMATS[conversion.format]
    if total == 0:
        return 0
    negative = total < 0
    kept, unit = significand(total, scale, conversion, layout.e_min)
    sign = int(negative) << (layout.width - layout.ignored_bits - 1)
    unstored = layout.fraction_bits - conversion.fraction_bits
    if kept and floor_log2(kept, unit) >= layout.e_infinity:
        # 7.4: what is rounded away from infinity stays at the largest finite number
        finite = {"rna": False, "rtn": not negative, "rtp": negative}.get(conversion.direction, overflow == "B")
        infinity = layout.infinity >> layout.ignored_bits
        return sign | (infinity - (1 << unstored) if finite else infinity)
    if kept == 0:
        return sign if negative_zero == "B" else 0
    without_end = significand(total, scale, conversion, floor_log2(total, scale))
    tiny = {"unbounded": floor_log2(*without_end), "exact": floor_log2(total, scale)}.get(tininess, layout.e_min)
    if flush and tiny < layout.e_min:
        return sign
    if floor_log2(kept, unit) < layout.e_min:
        return sign if flush else sign | kept << unstored
    # A carry into the next binade leaves a significand of one bit more, whose lowest bit is zero.
    field = floor_log2(kept, unit) - layout.e_min + 1
    fraction = Fraction(kept) * Fraction(2) ** (unit - floor_log2(kept, unit) + layout.fraction_bits)
    return sign | field << layout.fraction_bits | int(fraction) - (1 << layout.fraction_bits)


def rounded_to_another_end(
    total: int, scale: int, rho: str, *, overflow: str, negative_zero: str, flush: bool, tininess: str
) -> int:
    """The conversion to a format whose largest numbers share their exponent field with an infinity or with NaN.

    Such numbers are found by their order: the patterns of magnitudes are ordered as these.
    """
    conversion = CONVERSIONS[rho]
    layout, negative = FORMATS[conversion.format], total < 0
    (kept, unit), f = significand(total, scale, conversion, layout.e_min), layout.fraction_bits
    if kept == 0:
        return layout.signed(int(negative and negative_zero == "B"), 0)
    exponent = floor_log2(kept, unit)
    before = significand(total, scale, conversion, floor_log2(total, scale))
    tiny = {"rounded": exponent, "unbounded": floor_log2(*before), "exact": floor_log2(total, scale)}[tininess]
    if flush and tiny < layout.e_min:
        return layout.signed(int(negative), 0)
    if exponent < layout.e_min:
        return layout.signed(int(negative), kept)
    whole = int(Fraction(kept) * Fraction(2) ** (unit - exponent + f))
    magnitude = (exponent - layout.e_min + 1 << f) + whole - (1 << f)
    if magnitude < layout.above_largest:
        return layout.signed(int(negative), magnitude)
    if layout.special == "extended":
        finite = {"rna": False, "rtn": not negative, "rtp": negative}.get(conversion.direction, overflow == "B")
    else:
        finite = layout.end != "nan"
    if finite:
        return layout.signed(int(negative), layout.above_largest - 1)
    return layout.of_infinity(int(negative)) >> layout.ignored_bits
