"""Qualcomm HMX, fp16: the vendor's emulator (quic/qemu, target/hexagon/hmx, 2019 and 2020) in words of Fractions.

It shares no code with the package. A product is rounded to a multiple of 2^-``places``, ties to even. The register has
18 integer bits, two's complement. Products outside it are kept as infinities. The bias has 21 bits. The sum is rounded
once, to fp16, or by the conversion that is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from reference.formats import FORMATS, convert

INFINITY, NAN = 0x7C00, 0x7FFF
RANGE = 1 << 17


@dataclass(frozen=True)
class Value:
    """A number, or an infinity or NaN: then ``number`` is its sign, or 0."""

    number: Fraction
    special: bool = False

    @property
    def is_nan(self) -> bool:
        """Whether it is NaN."""
        return self.special and self.number == 0


def decode(pattern: int, fraction_bits: int) -> Value:
    """A number of five exponent bits, biased by 15."""
    one = 1 << fraction_bits
    sign = -1 if pattern // (32 * one) else 1
    field, fraction = pattern // one % 32, pattern % one
    if field == 31:
        return Value(Fraction(0 if fraction else sign), special=True)
    significand = Fraction(fraction + (one if field else 0), one)
    return Value(sign * significand * Fraction(2) ** (max(field, 1) - 15))


def encode(x: Fraction) -> int:
    """The nearest number of fp16, ties to even; what is zero keeps the sign of x."""
    sign, x = (0x8000 if x < 0 else 0), abs(x)
    exponent = -14
    while x >= Fraction(2) ** (exponent + 1):
        exponent += 1
    # of a rounded significand of 2048 the carry goes into the field
    pattern = round(x / Fraction(2) ** (exponent - 10)) + (exponent + 14) * 1024
    return sign + min(pattern, INFINITY)


def dot(
    a: Sequence[int],
    b: Sequence[int],
    bias: int,
    *,
    places: int = 46,
    wraps: bool = True,
    d_format: str = "fp16",
    rho: str = "rne-fp16",
    nan_code: int = NAN,
) -> int:
    """The dot product of fp16 numbers with a bias; NaN is 7fff here and ffff in the emulator."""
    unit = Fraction(1, 1 << places)
    total, infinite = Fraction(0), set()
    for x, y in zip((decode(p, 10) for p in a), (decode(p, 10) for p in b), strict=True):
        if x.is_nan or y.is_nan:
            return nan_code
        if x.special or y.special:
            if x.number * y.number == 0:
                return nan_code
            infinite.add(x.number * y.number > 0)
            continue
        product = round(x.number * y.number / unit) * unit
        if not -RANGE <= product < RANGE:
            infinite.add(product > 0)
        total += product
    c = decode(bias, 15)
    if c.is_nan:
        return nan_code
    if c.special:
        infinite.add(c.number > 0)
    if infinite:
        return nan_code if len(infinite) == 2 else FORMATS[d_format].of_infinity(0 if infinite.pop() else 1)
    total += c.number
    if wraps:
        total = (total + RANGE) % (2 * RANGE) - RANGE
    if rho == "rne-fp16":
        return encode(total)
    return convert(total.numerator, 1 - total.denominator.bit_length(), rho, negative_zero="B")
