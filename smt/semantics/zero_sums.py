"""The sign of a sum that is exactly zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from mmaproof.designs.readings import ZeroSum
from mmaproof.designs.steps.aligned import AlignedStep
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, ite
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.terms import Factors, product_sign


def sign_of_zero_sum(
    algebra: Algebra[D, T], step: AlignedStep, products: Sequence[Factors[D, T]], c_negative: Truth[T]
) -> Truth[T]:
    """Return whether a sum of these products and c gives -0 where it is exactly zero.

    A c that is added to the converted sum is not a term of it.
    """
    match step.zero_sum:
        case ZeroSum.POSITIVE:
            return algebra.truth(False)
        case ZeroSum.IEEE:
            signs = [product_sign(x) for x in products]
            return Rules.of(step).sign_of_zero(algebra, signs if step.adds_c_last else [*signs, c_negative])
        case ZeroSum.MAJORITY:
            return _most_are_negative_zeros(algebra, products)
        case _:
            assert_never(step.zero_sum)


def _most_are_negative_zeros(algebra: Algebra[D, T], products: Sequence[Factors[D, T]]) -> Truth[T]:
    """Return whether every product is zero and more of them are negative than positive."""
    zeros = [algebra.any_of([f.zero for f in (x.a, x.b, *x.scales)]) for x in products]
    one = algebra.signed(1)
    votes = [ite(product_sign(x), -one, one) for x in products]
    balance = algebra.bounded_sum(votes, len(votes).bit_length() + 1)
    return algebra.all_of([*zeros, balance < 0])
