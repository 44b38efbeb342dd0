"""Sony PSP, vdot: the model of hrydgard/ppsspp (issue 21070, pull requests 21798 and 21820), in words of Fractions.

It shares no code with the package. Products of single precision keep 2 bits more than the format has, rounded to odd,
and are truncated where they are aligned. The sum is exact. It loses the 2 bits, and is rounded to nearest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reference.exact import read
from reference.families import ieee_add
from reference.formats import Number, decode

EXTRA = 2
NAN, INFINITY = 0x7FC00000, 0x7F800000


def to_odd(x: Fraction, unit: Fraction) -> Fraction:
    """Round a magnitude down to a multiple of ``unit``, and up to the next one if that was even and inexact."""
    count = math.floor(x / unit)
    return (count | (count * unit != x)) * unit


def nearest(x: Fraction) -> Fraction:
    """Round a magnitude to 24 bits, ties to even, whatever its exponent."""
    top = x.numerator.bit_length() - x.denominator.bit_length()
    top -= Fraction(2) ** top > x
    unit = Fraction(2) ** (top - 23)
    return round(x / unit) * unit


def pattern(x: Fraction, negative: bool) -> int:
    """A magnitude of 24 bits as a pattern: subnormal numbers are zeros, and what is too large is an infinity."""
    sign = int(negative) << 31
    if x < Fraction(2) ** -126:
        return sign
    if x >= Fraction(2) ** 128:
        return sign | INFINITY
    top = x.numerator.bit_length() - x.denominator.bit_length()
    top -= Fraction(2) ** top > x
    return sign | (top + 127) << 23 | int(x / Fraction(2) ** (top - 23)) - (1 << 23)


def vdot(a: Sequence[int], b: Sequence[int]) -> int:
    """The dot product of four elements."""
    pairs = [tuple(read(x, "fp32", True, "kept") for x in pair) for pair in zip(a, b, strict=True)]
    infinite = set()
    for x, y in pairs:
        kinds = {x.kind, y.kind}
        if "nan" in kinds or kinds == {"inf", "zero"}:
            return NAN
        if "inf" in kinds:
            infinite.add(x.sign ^ y.sign)
    if len(infinite) == 2:
        return NAN
    if infinite:
        return infinite.pop() << 31 | INFINITY
    terms = []
    for x, y in pairs:
        if "zero" not in (x.kind, y.kind):
            exponent = x.exponent + y.exponent
            kept = to_odd(x.magnitude * y.magnitude, Fraction(2) ** (exponent - 23 - EXTRA))
            terms.append((x.sign ^ y.sign, exponent, kept))
    if not terms:
        return 0
    largest = max(e for _, e, _ in terms)
    unit = Fraction(2) ** (largest - 23 - EXTRA)
    total = sum((-1) ** sign * math.floor(x / unit) for sign, _, x in terms)
    magnitude = (abs(total) >> EXTRA) * (unit * 2**EXTRA)
    return pattern(nearest(magnitude) if magnitude else magnitude, total < 0)


def vdot_and_vadd(a: Sequence[int], b: Sequence[int], c: int) -> int:
    """That, and c added to it: four elements at a time."""
    for i in range(0, len(a), 4):
        of_c: Number = read(c, "fp32", True, "kept")
        c = ieee_add(
            decode(vdot(a[i : i + 4], b[i : i + 4]), "fp32"), of_c, "fp32", NAN, flush=True, tininess="unbounded"
        )
    return c
