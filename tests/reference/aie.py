"""bfp16ebs8 of AMD's AIE-ML v2: blocks as Xilinx/mlir-aie writes them (block_datatypes/helper.h), in Fractions.

It shares no code with the package. A block is a byte with the exponent, biased by 127, and eight bytes in two's
complement, of which six bits are below the point. It is assumed that the sum of a block and the accumulator are added
exactly and rounded once, to nearest, that subnormal accumulators and results are zeros, and that exponent ff is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

BLOCK = 8
NAN = 0x7FC00000


def mantissa(x: Fraction) -> int:
    """The byte of a number in -2..2 that is a multiple of 1/64."""
    return int(x * 64) % 256


def element(byte: int) -> Fraction:
    """The number of a byte."""
    return Fraction(byte - 256 if byte > 127 else byte, 64)


def accumulate(a: Sequence[int], exponent_a: int, b: Sequence[int], exponent_b: int, c: int) -> int:
    """One block of a times one of b, added to an fp32 accumulator."""
    if 255 in (exponent_a, exponent_b):
        return NAN
    field, fraction = c >> 23 & 255, c % (1 << 23)
    if field == 255:
        return NAN if fraction else c
    total = Fraction(fraction + (1 << 23)) * Fraction(2) ** (field - 150) if field else Fraction(0)
    total = -total if c >> 31 else total
    scale = Fraction(2) ** (exponent_a + exponent_b - 254)
    return encode(total + scale * sum(element(x) * element(y) for x, y in zip(a, b, strict=True)))


def encode(x: Fraction) -> int:
    """The nearest fp32 number, ties to even; what is subnormal then is a zero of its sign."""
    sign, x = int(x < 0) << 31, abs(x)
    exponent = -126
    while x >= Fraction(2) ** (exponent + 1):
        exponent += 1
    # of a rounded significand of 2^24 the carry goes into the field
    pattern = round(x / Fraction(2) ** (exponent - 23)) + (exponent + 126 << 23)
    return sign if pattern < 1 << 23 else sign | min(pattern, 0x7F800000)


def dot(a: Sequence[int], b: Sequence[int], c: int, exponents_a: Sequence[int], exponents_b: Sequence[int]) -> int:
    """A dot product of bytes, block by block; a result NaN stays one."""
    for i, (x, y) in enumerate(zip(exponents_a, exponents_b, strict=True)):
        part = slice(i * BLOCK, (i + 1) * BLOCK)
        c = accumulate(a[part], x, b[part], y, c)
    return c
