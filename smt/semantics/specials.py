"""Infinities and NaNs of a step, decided from the classes of the operands (Xie et al. 2026, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, assert_never

from mmaproof.designs.conversions import Beyond
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import NanCode, ProductInfinity, ProductRange, ZeroSum
from mmaproof.designs.steps.aligned import AlignedStep
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.words import Signal, SignalKind, normalised
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.patterns import Unpacked
from mmaproof.smt.semantics.terms import Factors, product_sign


@dataclass(frozen=True, slots=True)
class SpecialResult(Generic[T]):
    """Which special value a step returns instead of the converted sum."""

    nan: Truth[T]
    infinite: Truth[T]
    negative: Truth[T]


def special_result(
    algebra: Algebra[D, T],
    products: Sequence[Factors[D, T]],
    addends: Sequence[Unpacked[D, T]],
    step: AlignedStep | None = None,
) -> SpecialResult[T]:
    """Return which special value a step gives.

    It is NaN for a NaN operand, for infinity times zero, and for infinities of both signs; it is an infinity for
    infinities of one sign.

    ``addends`` are the accumulator, or both operands of an addition. With ``step``, a product at or beyond
    2**product_limit is an infinity too; ``product_infinity`` says what one does beside an infinite operand.
    """
    nans = [x.nan for x in addends]
    infinities = [(x.infinite, x.negative) for x in addends]
    operand_infinite = algebra.any_of([x.infinite for x in (*addends, *(f for x in products for f in (x.a, x.b)))])
    for x in products:
        a, b = x.a, x.b
        nans += [a.nan, b.nan, *(s.nan for s in x.scales)]
        nans += [a.infinite & b.zero, a.zero & b.infinite]
        infinities.append((a.infinite | b.infinite, product_sign(x)))
        if step is not None and step.product_limit is not None:
            beyond = _beyond(x, step.product_limit, step.product_range)
            if step.product_infinity is ProductInfinity.OPERAND:
                beyond = beyond & ~operand_infinite
            infinities.append((beyond, product_sign(x)))
    positive = algebra.any_of([i & ~n for i, n in infinities])
    negative = algebra.any_of([i & n for i, n in infinities])
    nan = algebra.any_of([*nans, positive & negative])
    infinite = algebra.signal_truth(Signal(SignalKind.INFINITY), positive | negative)
    nan = algebra.signal_truth(Signal(SignalKind.NAN), nan)
    sign = algebra.signal_truth(Signal(SignalKind.INFINITY_SIGN), negative, lambda: infinite & ~nan)
    return SpecialResult(nan, infinite, sign)


def _beyond(x: Factors[D, T], limit: int, of: ProductRange) -> Truth[T]:
    """Return whether the finite product of two elements has a magnitude of ``2**limit`` or more.

    In two's complement it does not count where it is ``-2**limit``: normalised, its significand is the top bit alone.
    """
    significand, exponent = normalised(x.a.significand * x.b.significand, x.a.exponent + x.b.exponent)
    top_weight = significand.width - 1 - x.a.fraction_bits - x.b.fraction_bits
    special = significand.algebra.any_of([x.a.zero, x.b.zero, x.a.infinite, x.b.infinite])
    beyond = (exponent >= limit - top_weight) & ~special
    if of is ProductRange.MAGNITUDE:
        return beyond
    least = significand.is_value(1 << (significand.width - 1)) & (exponent == limit - top_weight)
    return beyond & ~(least & product_sign(x))


def choose_special(
    algebra: Algebra[D, T], fmt: Format, nan_code: NanCode, special: SpecialResult[T], finite: Word[D]
) -> Word[D]:
    """Return ``finite``, or the special value that takes its place."""
    result = finite
    if fmt.infinity is not None:
        minus = algebra.unsigned(fmt.infinity | 1 << fmt.sign_position, fmt.bits)
        infinity = ite(special.negative, minus, algebra.unsigned(fmt.infinity, fmt.bits))
        result = ite(special.infinite, infinity, result)
    d = ite(special.nan, algebra.unsigned(nan_code.pattern(fmt), fmt.bits), result)
    return algebra.signal(Signal(SignalKind.D), d)


def finish(
    algebra: Algebra[D, T],
    rules: Rules,
    nan_code: NanCode,
    special: SpecialResult[T],
    converted: Word[D],
    beyond: Truth[T],
) -> Word[D]:
    """Return d: a converted sum, a special value, or what the rules state for those that the format does not have.

    ``beyond`` says that the sum lies beyond the largest number and does not become that number.
    """
    fmt, stated = rules.rho.target, rules.out_of_range
    if fmt.infinity is None if stated is None else stated.infinities is Beyond.SATURATE:
        largest = special.negative.as_bit().concatenate(algebra.unsigned(fmt.max_finite, fmt.bits - 1))
        converted = ite(special.infinite, largest, converted)
    if stated is None:
        return choose_special(algebra, fmt, nan_code, special, converted)
    nans = [special.nan]
    without = stated.numbers is Beyond.OVFINF and fmt.infinity is None
    if without or stated.numbers is Beyond.NAN:
        nans.append(beyond & ~special.infinite)
    if without or stated.infinities is Beyond.NAN:
        nans.append(special.infinite)
    infinite = special.infinite
    if stated.infinities not in (Beyond.INFINITY, Beyond.OVFINF):
        infinite = algebra.truth(False)
    chosen = SpecialResult(algebra.any_of(nans), infinite, special.negative)
    return choose_special(algebra, fmt, nan_code, chosen, converted)


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
