"""Arm's multiply-accumulate instructions in exact rationals, written from Arm's pseudo-code alone.

Source: Arm Architecture Reference Manual for A-profile, shared pseudo-code (section J1.3 "shared"; the names below are
those of its functions: BFDotAdd, BFMulH, FPAdd_BF16, BFRound, BFUnpack; FPDot, FPDotAdd, FPAdd, FPMulAdd, FPRoundBase,
FPUnpackBase; FPMatMulAdd; FP8DotAddFP) and the descriptions of FPCR and FPMR. Exceptions and their flags are left out,
and so are payloads of NaNs: the NaN is what the caller says.

A number is (kind, sign, value): kind is "nan", "inf", "zero" or "number", and value a Fraction with its sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

LAYOUT = {"fp64": (11, 52), "fp32": (8, 23), "fp16": (5, 10), "bf16": (8, 7), "e5m2": (5, 2), "e4m3": (4, 3)}
"""Bits of the exponent and of the fraction."""

Real = tuple[str, int, Fraction]


@dataclass(frozen=True)
class Control:
    """The fields of FPCR and FPMR that are read. ``rmode`` is "rne", "rtp", "rtn" or "rz"."""

    nan: int
    rmode: str = "rne"
    fz: bool = False
    fz16: bool = False
    fiz: bool = False
    ah: bool = False
    osm: bool = False
    lscale: int = 0


def pow2(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def fp_zero(sign: int, fmt: str) -> int:
    return sign << sum(LAYOUT[fmt])


def fp_infinity(sign: int, fmt: str) -> int:
    e, f = LAYOUT[fmt]
    return fp_zero(sign, fmt) | ((1 << e) - 1) << f


def unpack(pattern: int, fmt: str, flush: bool) -> Real:
    """BFUnpack (where it flushes), FP8Unpack and the cases of FPUnpackBase."""
    e, f = LAYOUT[fmt]
    sign, field, fraction = pattern >> (e + f), pattern >> f & ((1 << e) - 1), pattern & ((1 << f) - 1)
    bias = (1 << (e - 1)) - 1
    if field == 0:
        if fraction == 0 or flush:
            return "zero", sign, Fraction(0)
        value = fraction * pow2(1 - bias - f)
    elif fmt == "e4m3" and field == 15 and fraction == 7:
        return "nan", sign, Fraction(0)
    elif fmt != "e4m3" and field == (1 << e) - 1:
        return ("nan" if fraction else "inf"), sign, Fraction(0)
    else:
        value = (1 + fraction * pow2(-f)) * pow2(field - bias)
    return "number", sign, -value if sign else value


def fp_unpack(pattern: int, fmt: str, control: Control) -> Real:
    """FPUnpackBase: with FPCR.AH, FPCR.FZ is about results alone."""
    fz = control.fz16 if fmt == "fp16" else control.fiz or (control.fz and not control.ah)
    return unpack(pattern, fmt, fz)


def normalize(magnitude: Fraction) -> tuple[Fraction, int]:
    """NormalizeReal: a number of [1, 2) and an exponent."""
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if pow2(exponent) > magnitude:
        exponent -= 1
    return magnitude / pow2(exponent), exponent


def bf_round(op: Fraction) -> int:
    """BFRound: to odd in single precision; what is too large is an infinity, what is too small a zero."""
    sign = int(op < 0)
    mantissa, exponent = normalize(abs(op))
    if exponent < -126:
        return fp_zero(sign, "fp32")
    scaled = mantissa * (1 << 23)
    integer = math.floor(scaled)
    if scaled != integer and integer % 2 == 0:
        integer += 1
    biased = exponent + 127
    if biased >= 255:
        return fp_infinity(sign, "fp32")
    return sign << 31 | biased << 23 | integer % (1 << 23)


def round_up(rmode: str, sign: int, integer: int, error: Fraction) -> bool:
    match rmode:
        case "rne":
            return error > Fraction(1, 2) or (error == Fraction(1, 2) and integer % 2 == 1)
        case "rtp":
            return error != 0 and sign == 0
        case "rtn":
            return error != 0 and sign == 1
        case "rz":
            return False
    raise ValueError(f"no rounding mode {rmode}")


def fp_round(op: Fraction, fmt: str, control: Control, *, satoflo: bool = False) -> int:
    """FPRoundBase of a number that is not zero."""
    e, f = LAYOUT[fmt]
    minimum = 2 - (1 << (e - 1))
    flush = control.fz16 if fmt == "fp16" else control.fz
    sign = int(op < 0)
    mantissa, exponent = normalize(abs(op))
    if not control.ah and flush and exponent < minimum:
        return fp_zero(sign, fmt)
    unconstrained = exponent - minimum + 1
    integer_unconstrained = math.floor(mantissa * (1 << f))
    error_unconstrained = mantissa * (1 << f) - integer_unconstrained
    biased = max(exponent - minimum + 1, 0)
    if biased == 0:
        mantissa /= pow2(minimum - exponent)
    integer = math.floor(mantissa * (1 << f))
    error = mantissa * (1 << f) - integer
    if control.ah:
        if round_up(control.rmode, sign, integer_unconstrained, error_unconstrained):
            integer_unconstrained += 1
            if integer_unconstrained == 1 << (f + 1):
                unconstrained += 1
        if unconstrained < 1 and flush:
            return fp_zero(sign, fmt)
    if round_up(control.rmode, sign, integer, error):
        integer += 1
        if integer == 1 << f:
            biased = 1
        if integer == 1 << (f + 1):
            biased, integer = biased + 1, integer // 2
    if biased >= (1 << e) - 1:
        infinite = {"rne": not satoflo, "rtp": sign == 0, "rtn": sign == 1, "rz": False}[control.rmode]
        return fp_infinity(sign, fmt) - (not infinite)
    return sign << (e + f) | biased << f | integer % (1 << f)


Rounds = Callable[[Fraction], int]


def exact_zero_sign(rmode: str) -> int:
    return int(rmode == "rtn")


def sum_of_products(
    pairs: Sequence[tuple[Real, Real]],
    addend: Real | None,
    fmt: str,
    nan: int,
    negative: int,
    rounds: Rounds,
    scale: int,
) -> int:
    """The cases that FPMul, FPAdd, FPDot, FPMulAdd and FP8DotAddFP have in common; ``negative`` is the sign of x - x.

    The products are multiplied by ``2**-scale``; an addend that is None is none.
    """
    signs, infinities, value = set(), set(), Fraction(0)
    all_zero = True
    if addend is not None and addend[0] == "nan":
        return nan
    for x, y in pairs:
        kinds = {x[0], y[0]}
        if "nan" in kinds or kinds == {"inf", "zero"}:
            return nan
        sign = x[1] ^ y[1]
        signs.add(sign)
        if "inf" in kinds:
            infinities.add(sign)
        all_zero = all_zero and "zero" in kinds
        value += x[2] * y[2]
    value *= pow2(-scale)
    if addend is not None:
        signs.add(addend[1])
        if addend[0] == "inf":
            infinities.add(addend[1])
        all_zero = all_zero and addend[0] == "zero"
        value += addend[2]
    if len(infinities) == 2:
        return nan
    if infinities:
        return fp_infinity(infinities.pop(), fmt)
    if all_zero and len(signs) == 1:
        return fp_zero(signs.pop(), fmt)
    return rounds(value) if value else fp_zero(negative, fmt)


ONE: Real = ("number", 0, Fraction(1))


def bf_mul_h(x: int, y: int, control: Control) -> int:
    """BFMulH."""
    pair = unpack(x, "bf16", flush=True), unpack(y, "bf16", flush=True)
    return sum_of_products([pair], None, "fp32", control.nan, 0, bf_round, 0)


def fp_add_bf16(x: int, y: int, control: Control) -> int:
    """FPAdd_BF16."""
    one, addend = unpack(y, "fp32", flush=True), unpack(x, "fp32", flush=True)
    return sum_of_products([(one, ONE)], addend, "fp32", control.nan, 0, bf_round, 0)


def rounding(fmt: str, control: Control) -> Rounds:
    return lambda value: fp_round(value, fmt, control)


def fp_mul(x: int, y: int, fmt: str, control: Control) -> int:
    """FPMul."""
    pair = fp_unpack(x, fmt, control), fp_unpack(y, fmt, control)
    return sum_of_products([pair], None, fmt, control.nan, 0, rounding(fmt, control), 0)


def fp_add(x: int, y: int, fmt: str, control: Control) -> int:
    """FPAdd."""
    one, addend = fp_unpack(y, fmt, control), fp_unpack(x, fmt, control)
    negative = exact_zero_sign(control.rmode)
    return sum_of_products([(one, ONE)], addend, fmt, control.nan, negative, rounding(fmt, control), 0)


def fp_dot(pairs: Sequence[tuple[int, int]], formats: tuple[str, str], control: Control, fmt: str = "fp32") -> int:
    """FPDot: single precision, or another that is named."""
    unpacked = [(fp_unpack(x, formats[0], control), fp_unpack(y, formats[1], control)) for x, y in pairs]
    negative = exact_zero_sign(control.rmode)
    return sum_of_products(unpacked, None, fmt, control.nan, negative, rounding(fmt, control), 0)


# --- one element of the destination: c, and the pairs that one instruction adds to it in one go

Pairs = Sequence[tuple[int, int]]
Formats = tuple[str, str, str]
"""Of a, b and c, which d has too."""


def bf_dot_add(c: int, pairs: Pairs, formats: Formats, control: Control) -> int:
    """BFDotAdd with FPCR.EBF = 0: of two pairs."""
    first, second = pairs
    prod = fp_add_bf16(bf_mul_h(*first, control), bf_mul_h(*second, control), control)
    return fp_add_bf16(c, prod, control)


def fp_dot_add(c: int, pairs: Pairs, formats: Formats, control: Control) -> int:
    """FPDotAdd, FPDotAdd_ZA, and BFDotAdd with FPCR.EBF = 1: of two pairs."""
    *narrow, fmt = formats
    return fp_add(c, fp_dot(pairs, (narrow[0], narrow[1]), control, fmt), fmt, control)


def fp_mat_mul_add(c: int, pairs: Pairs, formats: Formats, control: Control) -> int:
    """An element of FPMatMulAdd, of two pairs in one format, or of FPMatMulAddH, of four in a narrower one."""
    *narrow, fmt = formats
    if len(pairs) == 2:
        first, second = (fp_mul(x, y, fmt, control) for x, y in pairs)
    else:
        first, second = (fp_dot(x, (narrow[0], narrow[1]), control, fmt) for x in (pairs[:2], pairs[2:]))
    return fp_add(c, fp_add(first, second, fmt, control), fmt, control)


def fp_mul_add(c: int, pairs: Pairs, formats: Formats, control: Control) -> int:
    """FPMulAdd, FPMulAddH and BFMulAddH: of one pair, whose formats may be narrower than that of c."""
    a, b, fmt = formats
    unpacked = [(fp_unpack(x, a, control), fp_unpack(y, b, control)) for x, y in pairs]
    negative, addend = exact_zero_sign(control.rmode), fp_unpack(c, fmt, control)
    return sum_of_products(unpacked, addend, fmt, control.nan, negative, rounding(fmt, control), 0)


def fp8_dot_add(c: int, pairs: Pairs, formats: Formats, control: Control) -> int:
    """FP8DotAddFP: of any number of pairs. FPCR is not read; half precision reads four bits of FPMR.LSCALE."""
    a, b, fmt = formats
    scale = control.lscale % (128 if fmt == "fp32" else 16)
    unpacked = [(unpack(x, a, flush=False), unpack(y, b, flush=False)) for x, y in pairs]
    nearest = Control(control.nan)
    return sum_of_products(
        unpacked,
        unpack(c, fmt, flush=False),
        fmt,
        control.nan,
        0,
        lambda value: fp_round(value, fmt, nearest, satoflo=control.osm),
        scale,
    )


def chain(
    function: Callable[[int, Pairs, Formats, Control], int],
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    length: int,
    formats: Formats,
    control: Control,
) -> int:
    """One element of D by a chain of ``function``, each of ``length`` pairs: as BFMatMulAddH has it, and a program."""
    if len(a) != len(b) or not a or len(a) % length:
        raise ValueError(f"{len(a)} and {len(b)} operands are not steps of {length}")
    pairs = list(zip(a, b, strict=True))
    for first in range(0, len(pairs), length):
        c = function(c, pairs[first : first + length], formats, control)
    return c
