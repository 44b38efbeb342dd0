"""Stage 2: products and the accumulator become terms, each a signed significand with an exponent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from mmaproof.designs.parameters import Parameters, ProductExponent, SubnormalC, ZeroC, ZeroProduct
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.shifts import normalise
from mmaproof.smt.semantics.unpack import Unpacked

ZERO_EXPONENT = -126
"""What the exponent of a zero reads under reading A of open points 1 and 2, whatever the format."""


@dataclass(frozen=True, slots=True)
class Term(Generic[D, T]):
    """``(-1)**negative * significand * 2**(exponent - fraction_bits)``, to be aligned.

    A term that is not ``present`` takes no part in e_max; it is zero.
    """

    fraction_bits: int
    negative: Truth[T]
    exponent: Word[D]
    significand: Word[D]
    present: Truth[T]


def product_term(algebra: Algebra[D, T], parameters: Parameters, a: Unpacked[D, T], b: Unpacked[D, T]) -> Term[D, T]:
    """Return the exact product of two numbers.

    Its exponent is the sum of both unless ``product_exponent`` says that the product is normalised first.
    """
    zero = algebra.any_of([a.zero, b.zero])
    present = algebra.truth(True)
    exponents = [a.exponent, b.exponent]
    if parameters.zero_product is ZeroProduct.OPERAND_MINUS_126:
        exponents = [algebra.ite(x.zero, algebra.signed(ZERO_EXPONENT), x.exponent) for x in (a, b)]
    exponent = algebra.add(*exponents)
    if parameters.zero_product is ZeroProduct.E_ZERO:
        exponent = algebra.ite(zero, algebra.signed(parameters.e_zero), exponent)
    elif parameters.zero_product is ZeroProduct.ABSENT:
        present = algebra.negation(zero)
    significand = algebra.multiply(a.significand, b.significand)
    fraction_bits = a.fraction_bits + b.fraction_bits
    if parameters.product_exponent is ProductExponent.NORMALISED:
        significand, places = normalise(algebra, significand)
        # the top bit of the product has weight 2: normalised, it is the integer bit of exponent + 1
        up = algebra.subtract(algebra.unsigned(1, places.width), places)
        exponent = algebra.ite(zero, exponent, algebra.add(exponent, up))
        fraction_bits += 1
    return Term(fraction_bits, algebra.exclusive_or(a.negative, b.negative), exponent, significand, present)


def accumulator_term(algebra: Algebra[D, T], parameters: Parameters, c: Unpacked[D, T]) -> Term[D, T]:
    """Return the accumulator as a term."""
    exponent, significand = c.exponent, c.significand
    if parameters.c_subnormal is SubnormalC.NORMALISED:
        significand, places = normalise(algebra, significand)
        exponent = algebra.subtract(exponent, algebra.as_signed(places))
    present = algebra.truth(True)
    match parameters.zero_c:
        case ZeroC.MINUS_126:
            exponent = algebra.ite(c.zero, algebra.signed(ZERO_EXPONENT), exponent)
        case ZeroC.E_ZERO:
            exponent = algebra.ite(c.zero, algebra.signed(parameters.e_zero), exponent)
        case ZeroC.ABSENT:
            present = algebra.negation(c.zero)
    return Term(c.fraction_bits, c.negative, exponent, significand, present)
