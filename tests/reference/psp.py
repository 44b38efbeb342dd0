"""Sony PSP, vdot: the model of hrydgard/ppsspp (issue 21070, pull requests 21798 and 21820), in words of Fractions.

It shares no code with the package. Products of single precision keep 2 bits more than the format has, rounded to odd,
and are truncated where they are aligned. The sum is exact. It loses the 2 bits, and is rounded to nearest, or by the
conversion that is named. How many bits are kept, and lost, may be others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from reference.exact import read
from reference.families import ieee_add
from reference.formats import FORMATS, Number, convert, decode

NAN, INFINITY = 0x7FC00000, 0x7F800000
UNBOUNDED: dict[str, Any] = {"flush": True, "tininess": "unbounded"}
"""A result counts as subnormal when it was rounded, whatever its exponent."""


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


def vdot(
    a: Sequence[int],
    b: Sequence[int],
    *,
    product_bits: int | None = 25,
    fraction_bits: int = 25,
    dropped_bits: int = 2,
    d_format: str = "fp32",
    rho: str = "rne-fp32",
    nan_code: int = NAN,
) -> int:
    """The dot product of four elements. No ``product_bits`` is all of them."""
    layout = FORMATS[d_format]
    pairs = [tuple(read(x, "fp32", True, "kept") for x in pair) for pair in zip(a, b, strict=True)]
    infinite = set()
    invalid = False
    for x, y in pairs:
        kinds = {x.kind, y.kind}
        invalid |= "nan" in kinds or kinds == {"inf", "zero"}
        if "inf" in kinds:
            infinite.add(x.sign ^ y.sign)
    if invalid or len(infinite) == 2:
        return nan_code
    if infinite:
        return layout.of_infinity(infinite.pop())
    terms = []
    for x, y in pairs:
        if "zero" not in (x.kind, y.kind):
            exponent = x.exponent + y.exponent
            product = x.magnitude * y.magnitude
            if product_bits is not None:
                product = to_odd(product, Fraction(2) ** (exponent - product_bits))
            terms.append((x.sign ^ y.sign, exponent, product))
    if not terms:
        return 0
    largest = max(e for _, e, _ in terms)
    unit = Fraction(2) ** (largest - fraction_bits)
    total = sum((-1) ** sign * math.floor(x / unit) for sign, _, x in terms)
    kept = abs(total) >> dropped_bits
    if rho == "rne-fp32":
        magnitude = kept * (unit * 2**dropped_bits)
        return pattern(nearest(magnitude) if magnitude else magnitude, total < 0)
    if kept == 0:
        return layout.signed(int(total < 0), 0) << layout.ignored_bits
    return convert(
        -kept if total < 0 else kept, largest - fraction_bits + dropped_bits, rho, negative_zero="B", **UNBOUNDED
    )


def vdot_and_vadd(a: Sequence[int], b: Sequence[int], c: int, **to: Any) -> int:
    """That, and c added to it, rounded to nearest: four elements at a time. ``to`` is what ``vdot`` takes."""
    d_format, nan_code = to.get("d_format", "fp32"), to.get("nan_code", NAN)
    for i in range(0, len(a), 4):
        of_c: Number = read(c, d_format, True, "kept")
        products = decode(vdot(a[i : i + 4], b[i : i + 4], **to), d_format)
        c = ieee_add(products, of_c, d_format, nan_code, **UNBOUNDED)
    return c
