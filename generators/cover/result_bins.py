"""Bins of what is rounded to a number: ties and near-ties, overflow and underflow, classes of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic

from mmaproof.designs.conversions import Conversion
from mmaproof.designs.formats import Format
from mmaproof.generators.cover.bins import Bins, is_nonzero
from mmaproof.smt.algebra.magnitudes import with_top_exponent
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.integer_step import integer_range
from mmaproof.smt.semantics.unpack import unpack


@dataclass(frozen=True, slots=True)
class Exact(Generic[D]):
    """The magnitude of what is rounded: ``magnitude * 2**(exponent - fraction_bits)``, unsigned."""

    magnitude: Word[D]
    exponent: Word[D]
    fraction_bits: int

    @classmethod
    def of_sum(cls, algebra: Algebra[D, T], total: FusedSum[D, T]) -> Exact[D]:
        """Return the magnitude of a fused sum."""
        return cls(algebra.magnitude(total.total), total.e_max, total.fraction_bits)


def add_rounding(bins: Bins[D, T], name: str, given: Truth[T], exact: Exact[D], rho: Conversion) -> None:
    """Add how the bits that a nonzero magnitude loses compare with half a unit in the last place.

    Just above and just below half are one unit of ``magnitude`` away from it.
    """
    algebra, event = bins.algebra, f"rounding of {name}"
    width = exact.magnitude.width
    there = algebra.all_of([given, is_nonzero(algebra, exact.magnitude)])
    one = algebra.unsigned(1, 1)
    above = algebra.add(exact.magnitude, one)
    below = algebra.extract(algebra.subtract(exact.magnitude, one), width - 1, 0)
    sticky, half, odd = _cut_bits(algebra, exact, exact.magnitude, rho)
    not_sticky, not_half = algebra.negation(sticky), algebra.negation(half)
    is_below, is_above = algebra.all_of([sticky, not_half]), algebra.all_of([sticky, half])
    is_tie = algebra.all_of([half, not_sticky])
    bins.add(event, "exact", there, partial(algebra.all_of, [not_sticky, not_half]))
    bins.add(event, "below half", there, lambda: is_below)
    bins.add(event, "just below half", there, lambda: algebra.all_of([is_below, _ties(algebra, exact, above, rho)]))
    bins.add(event, "tie, last kept bit 0", there, lambda: algebra.all_of([is_tie, algebra.negation(odd)]))
    bins.add(event, "tie, last kept bit 1", there, partial(algebra.all_of, [is_tie, odd]))
    # taken for a tie, it would be rounded down
    is_above_even = algebra.all_of([is_above, algebra.negation(odd)])
    just_above = partial(_ties, algebra, exact, below, rho)
    bins.add(event, "just above half", there, lambda: algebra.all_of([is_above, just_above()]))
    even = "just above half, last kept bit 0"
    bins.add(event, even, there, lambda: algebra.all_of([is_above_even, just_above()]))
    bins.add(event, "above half", there, lambda: is_above)
    if rho.rounding.truncates:
        return
    _, top_exponent = with_top_exponent(exact.magnitude, exact.exponent, exact.fraction_bits)
    small = algebra.all_of([there, algebra.less(top_exponent, algebra.signed(rho.target.e_min))])
    event = f"rounding of subnormal {name}"
    bins.add(event, "below half", small, lambda: is_below)
    bins.add(event, "tie, last kept bit 0", small, lambda: algebra.all_of([is_tie, algebra.negation(odd)]))
    bins.add(event, "tie, last kept bit 1", small, partial(algebra.all_of, [is_tie, odd]))
    bins.add(event, "above half, last kept bit 0", small, lambda: is_above_even)


def add_result(
    bins: Bins[D, T], name: str, given: Truth[T], pattern: Word[D], rho: Conversion, exact: Exact[D] | None
) -> None:
    """Add the class of a rounded result, and where its exact magnitude is known, how it got there."""
    algebra, fmt, event = bins.algebra, rho.target, f"result of {name}"
    x = unpack(algebra, fmt, pattern)
    normal = algebra.negation(algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan]))
    unused = fmt.ignored_bits + fmt.fraction_bits - rho.fraction_bits
    magnitude = algebra.extract(pattern, fmt.sign_position - 1, 0)
    bins.add(event, "subnormal", given, lambda: x.subnormal)
    bins.add(event, "normal", given, lambda: normal)
    bins.add(event, "largest finite", given, lambda: algebra.is_value(magnitude, fmt.max_finite >> unused << unused))
    if exact is None:
        bins.add(event, "zero", given, lambda: x.zero)
        bins.add(event, "overflow", given, lambda: x.infinite)
        return
    nonzero = is_nonzero(algebra, exact.magnitude)
    _, top_exponent = with_top_exponent(exact.magnitude, exact.exponent, exact.fraction_bits)
    beyond = algebra.all_of([nonzero, algebra.less(algebra.signed(fmt.e_max), top_exponent)])
    bins.add(event, "exactly zero", given, partial(algebra.all_of, [x.zero, algebra.negation(nonzero)]))
    bins.add(event, "underflow to zero", given, partial(algebra.all_of, [x.zero, nonzero]))
    bins.add(event, "beyond the largest exponent", given, lambda: beyond)
    bins.add(event, "rounds up to infinity", given, partial(algebra.all_of, [x.infinite, algebra.negation(beyond)]))
    if rho.rounding.truncates:
        return
    carries = algebra.all_of([nonzero, normal, algebra.less(top_exponent, x.exponent)])
    small = algebra.less(top_exponent, algebra.signed(fmt.e_min))
    carry = partial(algebra.all_of, [carries, algebra.negation(small)])
    bins.add(event, "rounding carries into the next binade", given, carry)
    bins.add(event, "rounds up to the smallest normal number", given, partial(algebra.all_of, [carries, small]))


def add_classes(bins: Bins[D, T], role: str, fmt: Format, words: Sequence[Word[D]]) -> None:
    """Add the classes of numbers that the format of an operand has; any of the words is meant."""
    algebra, event, always = bins.algebra, f"class of {role}", bins.algebra.truth(True)
    for word in words:
        if fmt.is_integer:
            value = algebra.twos_complement(word) if fmt.signed else algebra.as_signed(word)
            _add_integer_classes(bins, event, always, value, fmt)
            continue
        x = unpack(algebra, fmt, word)
        if fmt.fraction_bits:
            bins.add(event, "zero", always, partial(algebra.all_of, [x.zero]))
            bins.add(event, "subnormal", always, partial(algebra.all_of, [x.subnormal]))
        others = algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan])
        bins.add(event, "normal", always, partial(algebra.negation, others))
        if fmt.infinity is not None:
            bins.add(event, "infinity", always, partial(algebra.all_of, [x.infinite]))
        if fmt.quiet_nan is not None:
            bins.add(event, "NaN", always, partial(algebra.all_of, [x.nan]))


def _add_integer_classes(bins: Bins[D, T], event: str, given: Truth[T], x: Word[D], fmt: Format) -> None:
    algebra = bins.algebra
    low, high = integer_range(fmt)
    bins.add(event, "zero", given, partial(algebra.is_value, x, 0))
    bins.add(event, "positive", given, partial(algebra.less, algebra.signed(0), x))
    bins.add(event, "largest", given, partial(algebra.is_value, x, high))
    if low:
        bins.add(event, "negative", given, partial(algebra.less, x, algebra.signed(0)))
        bins.add(event, "least", given, partial(algebra.is_value, x, low))


def _cut_bits(algebra: Algebra[D, T], exact: Exact[D], magnitude: Word[D], rho: Conversion) -> tuple[Truth[T], ...]:
    """Return whether any bit below the first lost one is set, that one, and the last kept one, of another magnitude.

    A number has the precision of the conversion, and less where its exponent is below e_min (gradual underflow).
    """
    precision = rho.fraction_bits + 1
    top, exponent = with_top_exponent(magnitude, exact.exponent, exact.fraction_bits)
    below_min = algebra.subtract(algebra.signed(rho.target.e_min), exponent)
    down = algebra.maximum([below_min, algebra.signed(0)])
    top = algebra.shift_left(top, max(precision + 2 - top.width, 0))
    surplus = top.width - precision - 2
    if surplus:
        top = algebra.shift_right_jam(top, algebra.unsigned(surplus, surplus.bit_length()))
        top = algebra.narrow(top, precision + 2)
    moved = algebra.shift_right_jam(top, algebra.narrow_to_unsigned(down, down.width - 1))
    return tuple(algebra.is_bit_set(moved, i) for i in range(3))


def _ties(algebra: Algebra[D, T], exact: Exact[D], magnitude: Word[D], rho: Conversion) -> Truth[T]:
    """Return whether a magnitude next to the exact one lies half way between two numbers."""
    sticky, half, _ = _cut_bits(algebra, exact, magnitude, rho)
    return algebra.all_of([half, algebra.negation(sticky)])
