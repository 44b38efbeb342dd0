"""Stage 1: a bit pattern becomes sign, exponent, significand and class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from mmaproof.designs.formats import Format, Specials
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word


@dataclass(frozen=True, slots=True)
class Unpacked(Generic[D, T]):
    """A number taken apart: ``(-1)**negative * significand * 2**(exponent - fraction_bits)``.

    The significand is un-normalised for subnormals, whose exponent reads e_min. Where ``infinite`` holds,
    exponent and significand read as 2**(e_max + 1); where ``nan`` holds they mean nothing.
    """

    fraction_bits: int
    negative: Truth[T]
    exponent: Word[D]
    significand: Word[D]
    zero: Truth[T]
    subnormal: Truth[T]
    infinite: Truth[T]
    nan: Truth[T]


def unpack(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Unpacked[D, T]:
    """Take ``pattern`` (``fmt.bits`` wide, unsigned) apart."""
    f, low = fmt.fraction_bits, fmt.ignored_bits
    fraction = algebra.extract(pattern, low + f - 1, low)
    field = algebra.extract(pattern, fmt.sign_position - 1, low + f)
    no_fraction = algebra.is_value(fraction, 0)
    low_field = algebra.is_value(field, 0)
    top_field = algebra.is_value(field, (1 << fmt.exponent_bits) - 1)
    integer_bit = algebra.ite(low_field, algebra.unsigned(0, 1), algebra.unsigned(1, 1))
    read_field = algebra.ite(low_field, algebra.unsigned(1, fmt.exponent_bits), field)
    if fmt.specials is Specials.IEEE:
        infinite = algebra.all_of([top_field, no_fraction])
        nan = algebra.all_of([top_field, algebra.negation(no_fraction)])
    else:
        infinite = algebra.truth(False)
        nan = algebra.all_of([top_field, algebra.is_value(fraction, (1 << f) - 1)])
    return Unpacked(
        fraction_bits=f,
        negative=algebra.is_bit_set(pattern, fmt.sign_position),
        exponent=algebra.subtract(read_field, algebra.unsigned(fmt.bias, fmt.exponent_bits)),
        significand=algebra.concatenate(integer_bit, fraction),
        zero=algebra.all_of([low_field, no_fraction]),
        subnormal=algebra.all_of([low_field, algebra.negation(no_fraction)]),
        infinite=infinite,
        nan=nan,
    )
