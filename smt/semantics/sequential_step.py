"""A step that adds its terms one after the other into one accumulator, as Fasi et al. 2021 describe tensor cores.

The accumulator is a signed multiple of ``2**(exponent - W)``, of which the F highest fraction bits are in use; those
below them hold what a truncation of the partial sum needs to know of an addend that is not cut itself (jammed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, assert_never

from mmaproof.designs.design import Design
from mmaproof.designs.readings import First, Normalises, Truncates, ZeroSum
from mmaproof.designs.steps import SequentialStep, Step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import largest_exponent
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import StepPath
from mmaproof.smt.semantics.labels import Addend
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import choose_special, special_result
from mmaproof.smt.semantics.terms import Factors, Term, accumulator_term, product_term
from mmaproof.smt.semantics.unpack import Unpacked

GUARD_BITS = 3
"""Bits below F at which an addend is jammed: truncating the sum at F sees it as the exact one (see ``add``)."""


@dataclass(frozen=True, slots=True)
class Accumulator(Generic[D, T]):
    """The sum so far: ``value * 2**(exponent - fraction)``; where it is not ``present`` it is nothing yet."""

    value: Word[D]
    exponent: Word[D]
    present: Truth[T]


def sequential_step(
    design: Design,
    step: SequentialStep,
    algebra: Algebra[D, T],
    path: StepPath,
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
) -> StepSignals[D, T]:
    """Return the result of one step, whose partial sums are not among the signals."""
    terms = [product_term(algebra, step, x) for x in products] + [accumulator_term(algebra, step, c)]
    chosen = _first(step, algebra, terms)
    fraction = fraction_of(step, terms)
    state = cut_at(step, algebra, start(algebra, terms, chosen, fraction), fraction)
    for term, taken in zip(terms, chosen, strict=True):
        rest = algebra.all_of([term.present, algebra.negation(taken)])
        state = add(step, algebra, state, term, rest, fraction)
    rules, zero_negative = Rules.of(step), algebra.truth(False)
    if step.zero_sum is ZeroSum.IEEE:
        zero_negative = rules.sign_of_zero(algebra, [t.negative for t in terms])
    converted, overflowed = convert(algebra, rules, state.value, state.exponent, fraction, zero_negative)
    special = special_result(algebra, products, (c,), step)
    d = choose_special(algebra, design.d_format, step.nan_code, special, converted)
    in_turn = tuple(zip((*path.terms, Addend.C), terms, strict=True))
    return StepSignals(path, (), (), converted, overflowed, special, d, in_turn)


def sequential(step: Step) -> SequentialStep:
    """Return a step that is known to be of this kind. Raises TypeError for another one."""
    if not isinstance(step, SequentialStep):
        raise TypeError(f"{type(step).__name__} adds no terms in turn")
    return step


def fraction_of(step: SequentialStep, terms: Sequence[Term[D, T]]) -> int:
    """Return the fraction bits of the accumulator, guard bits included."""
    return max(step.fraction_bits, *(t.fraction_bits for t in terms)) + GUARD_BITS


def _first(step: SequentialStep, algebra: Algebra[D, T], terms: Sequence[Term[D, T]]) -> list[Truth[T]]:
    """Return for each term whether the sum starts with it: the first of the largest present ones."""
    match step.first:
        case First.INDEX:
            return first_of(algebra, [t.present for t in terms])
        case First.EXPONENT:
            return with_exponent(algebra, terms, largest_exponent(algebra, terms))
        case First.MAGNITUDE:
            return _with_magnitude(algebra, terms)
        case _:
            assert_never(step.first)


def _with_magnitude(algebra: Algebra[D, T], terms: Sequence[Term[D, T]]) -> list[Truth[T]]:
    """Return for each term whether it is the first present one of the largest magnitude."""
    keys = [_magnitude_key(algebra, terms, t) for t in terms]
    largest = []
    for i, term in enumerate(terms):
        beaten = [
            algebra.all_of([other.present, _precedes(algebra, keys[i], keys[j])])
            for j, other in enumerate(terms)
            if j != i
        ]
        largest.append(algebra.all_of([term.present, algebra.negation(algebra.any_of(beaten))]))
    return first_of(algebra, largest)


def with_exponent(algebra: Algebra[D, T], terms: Sequence[Term[D, T]], exponent: Word[D]) -> list[Truth[T]]:
    """Return for each term whether it is the first present one of this exponent."""
    return first_of(algebra, [algebra.all_of([t.present, algebra.equal(t.exponent, exponent)]) for t in terms])


def first_of(algebra: Algebra[D, T], candidates: Sequence[Truth[T]]) -> list[Truth[T]]:
    """Return for each candidate whether it is the first that holds."""
    before = algebra.truth(False)
    chosen = []
    for candidate in candidates:
        chosen.append(algebra.all_of([candidate, algebra.negation(before)]))
        before = algebra.any_of([before, candidate])
    return chosen


def _magnitude_key(algebra: Algebra[D, T], terms: Sequence[Term[D, T]], term: Term[D, T]) -> tuple[Word[D], ...]:
    """Return what orders magnitudes: exponent of the top bit, then the significand below it; a zero is least."""
    width = max(t.significand.width for t in terms)
    significand, places = algebra.normalise(term.significand)
    top_weight = algebra.signed(term.significand.width - 1 - term.fraction_bits)
    exponent = algebra.subtract(algebra.add(term.exponent, top_weight), algebra.as_signed(places))
    zero = algebra.is_value(term.significand, 0)
    least = algebra.signed(-(1 << (exponent.width - 1)), exponent.width)
    return algebra.ite(zero, least, exponent), algebra.shift_left(significand, width - term.significand.width)


def _precedes(algebra: Algebra[D, T], mine: tuple[Word[D], ...], other: tuple[Word[D], ...]) -> Truth[T]:
    """Return whether ``other`` is larger than ``mine``, compared part by part."""
    larger = algebra.less(mine[-1], other[-1])
    for x, y in reversed(list(zip(mine[:-1], other[:-1], strict=True))):
        larger = algebra.any_of([algebra.less(x, y), algebra.all_of([algebra.equal(x, y), larger])])
    return larger


def start(
    algebra: Algebra[D, T], terms: Sequence[Term[D, T]], chosen: Sequence[Truth[T]], fraction: int
) -> Accumulator[D, T]:
    """Return the term that is ``chosen`` as the accumulator, uncut."""
    value, exponent = algebra.signed(0), algebra.signed(0)
    for term, taken in zip(terms, chosen, strict=True):
        exact = algebra.shift_left(term.significand, fraction - term.fraction_bits)
        value = algebra.ite(taken, algebra.conditional_negate(term.negative, exact), value)
        exponent = algebra.ite(taken, term.exponent, exponent)
    return Accumulator(value, exponent, algebra.any_of(list(chosen)))


def cut_at(step: SequentialStep, algebra: Algebra[D, T], state: Accumulator[D, T], fraction: int) -> Accumulator[D, T]:
    """Return the accumulator with the magnitude truncated to F fraction bits."""
    lost = fraction - step.fraction_bits
    negative = algebra.less(state.value, algebra.signed(0))
    magnitude = algebra.magnitude(state.value)
    magnitude = algebra.shift_left(
        algebra.drop_low(algebra.extend(magnitude, max(magnitude.width, lost + 1)), lost), lost
    )
    return Accumulator(algebra.conditional_negate(negative, magnitude), state.exponent, state.present)


def add(
    step: SequentialStep,
    algebra: Algebra[D, T],
    state: Accumulator[D, T],
    term: Term[D, T],
    taken: Truth[T],
    fraction: int,
) -> Accumulator[D, T]:
    """Return the accumulator after ``term``, unchanged where the term is not ``taken``.

    Whichever of the two lies lower is moved down and jammed at GUARD_BITS or more below F; the other keeps every bit.
    The jammed value lies strictly between the same multiples of 2**-(F + 2) as the exact one, and so does the sum, so
    cutting it at F gives the same. Where addends are cut, both are multiples of 2**-F before they are added.
    """
    # after a sum that cancelled to nothing, the next nonzero term is a start: not normalised itself
    nonzero = algebra.negation(algebra.is_value(term.significand, 0))
    taken = algebra.all_of([taken, algebra.any_of([state.present, nonzero])])
    starts = algebra.all_of([taken, algebra.negation(state.present)])
    exponent = algebra.ite(starts, term.exponent, state.exponent)
    if step.normalises is Normalises.YES:
        exponent = algebra.maximum([exponent, algebra.ite(taken, term.exponent, exponent)])
    significand = algebra.shift_left(term.significand, fraction - term.fraction_bits)
    distance = algebra.ite(taken, algebra.subtract(exponent, term.exponent), algebra.signed(0))
    addend = _moved(
        algebra, significand, distance, may_rise=step.normalises is Normalises.NO and step.first is not First.EXPONENT
    )
    if step.truncates is Truncates.ADDEND:
        addend = _truncated(algebra, addend, fraction - step.fraction_bits)
    value = state.value
    if step.normalises is Normalises.YES:
        value = _lowered(step, algebra, state, exponent, fraction)
    total = algebra.add(value, algebra.conditional_negate(term.negative, addend))
    after = Accumulator(total, exponent, algebra.any_of([state.present, taken]))
    after = cut_at(step, algebra, after, fraction)
    if step.normalises is Normalises.YES:
        after = _choose(algebra, starts, after, _normalised(step, algebra, after, fraction))
    return _choose(algebra, taken, after, state)


def _choose(
    algebra: Algebra[D, T], condition: Truth[T], x: Accumulator[D, T], y: Accumulator[D, T]
) -> Accumulator[D, T]:
    present = [algebra.all_of([condition, x.present]), algebra.all_of([algebra.negation(condition), y.present])]
    return Accumulator(
        algebra.ite(condition, x.value, y.value),
        algebra.ite(condition, x.exponent, y.exponent),
        algebra.any_of(present),
    )


def _lowered(
    step: SequentialStep, algebra: Algebra[D, T], state: Accumulator[D, T], exponent: Word[D], fraction: int
) -> Word[D]:
    """Return the accumulator's value in units of a higher exponent."""
    distance = algebra.ite(state.present, algebra.subtract(exponent, state.exponent), algebra.signed(0))
    negative = algebra.less(state.value, algebra.signed(0))
    magnitude = _moved(algebra, algebra.magnitude(state.value), distance, may_rise=False)
    if step.truncates is Truncates.ADDEND:
        magnitude = _truncated(algebra, magnitude, fraction - step.fraction_bits)
    return algebra.conditional_negate(negative, magnitude)


def _truncated(algebra: Algebra[D, T], magnitude: Word[D], places: int) -> Word[D]:
    magnitude = algebra.extend(magnitude, max(magnitude.width, places + 1))
    return algebra.shift_left(algebra.drop_low(magnitude, places), places)


def _moved(algebra: Algebra[D, T], magnitude: Word[D], distance: Word[D], *, may_rise: bool) -> Word[D]:
    """Return ``magnitude / 2**distance``, jammed; a negative distance moves it up, where that can be."""
    down = algebra.narrow_to_unsigned(algebra.maximum([distance, algebra.signed(0)]), distance.width - 1)
    moved = algebra.shift_right_jam(magnitude, down)
    if not may_rise:
        return moved
    up = algebra.narrow_to_unsigned(algebra.maximum([algebra.negate(distance), algebra.signed(0)]), distance.width)
    return algebra.shift_left_by(moved, up)


def _normalised(
    step: SequentialStep, algebra: Algebra[D, T], state: Accumulator[D, T], fraction: int
) -> Accumulator[D, T]:
    """Return the accumulator with its top bit at its exponent, cut to F fraction bits; a zero is not present."""
    negative = algebra.less(state.value, algebra.signed(0))
    magnitude = algebra.magnitude(state.value)
    zero = algebra.is_value(magnitude, 0)
    top, places = algebra.normalise(magnitude)
    top_weight = algebra.signed(top.width - 1 - fraction)
    exponent = algebra.subtract(algebra.add(state.exponent, top_weight), algebra.as_signed(places))
    surplus = top.width - 1 - fraction
    value = algebra.drop_low(top, surplus) if surplus > 0 else algebra.shift_left(top, -surplus)
    value = _truncated(algebra, value, fraction - step.fraction_bits)
    present = algebra.all_of([state.present, algebra.negation(zero)])
    return Accumulator(algebra.conditional_negate(negative, value), exponent, present)
