"""A step that adds its terms one after the other into one accumulator, as Fasi et al. 2021 describe tensor cores.

The accumulator is a signed multiple of ``2**(exponent - W)``, of which the F highest fraction bits are in use. An
addend that is not cut itself is jammed into the bits below them, which tell the truncation of the partial sum what it
needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, assert_never

from mmaproof.designs.design import Design
from mmaproof.designs.readings import First, Normalises, Truncates
from mmaproof.designs.steps import SequentialStep, Step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.words import with_top_exponent
from mmaproof.smt.semantics.align import largest_exponent
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Addend, StepPath
from mmaproof.smt.semantics.patterns import Unpacked
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import finish, sign_of_zero_sum, special_result
from mmaproof.smt.semantics.terms import Factors, Term, accumulator_term, product_term

GUARD_BITS = 3
"""Bits below F at which an addend is jammed: truncating the sum at F sees it as the exact one (see ``add``)."""


@dataclass(frozen=True, slots=True)
class Accumulator(Generic[D, T]):
    """The sum so far: ``value * 2**(exponent - fraction)``; where it is not ``present``, it holds nothing."""

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
    for term in terms:
        algebra.check(term, term.valid)
    chosen = _first(step, algebra, terms)
    fraction = fraction_of(step, terms)
    state = cut_at(step, start(algebra, terms, chosen, fraction), fraction)
    for term, taken in zip(terms, chosen, strict=True):
        state = add(step, algebra, state, term, term.present & ~taken, fraction)
    zero_negative = sign_of_zero_sum(algebra, step, products, terms[-1].negative)
    rules = Rules.of(step)
    converted, overflowed = convert(algebra, rules, state.value, state.exponent, fraction, zero_negative)
    special = special_result(algebra, products, (c,), step)
    d = finish(algebra, rules, step.nan_code, special, converted, overflowed)
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
    width = max(t.significand.width for t in terms)
    keys = [_magnitude_key(t, width) for t in terms]
    largest = []
    for i, term in enumerate(terms):
        beaten = [other.present & _precedes(keys[i], keys[j]) for j, other in enumerate(terms) if j != i]
        largest.append(term.present & ~algebra.any_of(beaten))
    return first_of(algebra, largest)


def with_exponent(algebra: Algebra[D, T], terms: Sequence[Term[D, T]], exponent: Word[D]) -> list[Truth[T]]:
    """Return for each term whether it is the first present one of this exponent."""
    return first_of(algebra, [t.present & (t.exponent == exponent) for t in terms])


def first_of(algebra: Algebra[D, T], candidates: Sequence[Truth[T]]) -> list[Truth[T]]:
    """Return for each candidate whether it is the first that holds."""
    before = algebra.truth(False)
    chosen = []
    for candidate in candidates:
        chosen.append(candidate & ~before)
        before = before | candidate
    return chosen


def _magnitude_key(term: Term[D, T], width: int) -> tuple[Word[D], Word[D]]:
    """Return what orders magnitudes: exponent of the top bit, then the significand below it; a zero is least."""
    top, exponent = with_top_exponent(term.significand, term.exponent, term.fraction_bits)
    least = -(1 << (exponent.width - 1))
    return ite(term.significand.is_value(0), least, exponent), top << (width - top.width)


def _precedes(mine: tuple[Word[D], Word[D]], other: tuple[Word[D], Word[D]]) -> Truth[Any]:
    """Return whether ``other`` is larger than ``mine``: its exponent is, or its significand at the same exponent."""
    (exponent, top), (other_exponent, other_top) = mine, other
    return (exponent < other_exponent) | ((exponent == other_exponent) & (top < other_top))


def start(
    algebra: Algebra[D, T], terms: Sequence[Term[D, T]], chosen: Sequence[Truth[T]], fraction: int
) -> Accumulator[D, T]:
    """Return the term that is ``chosen`` as the accumulator, uncut."""
    value, exponent = algebra.signed(0), algebra.signed(0)
    for term, taken in zip(terms, chosen, strict=True):
        exact = term.significand << (fraction - term.fraction_bits)
        value = ite(taken, exact.negated_where(term.negative), value)
        exponent = ite(taken, term.exponent, exponent)
    return Accumulator(value, exponent, algebra.any_of(list(chosen)))


def cut_at(step: SequentialStep, state: Accumulator[D, T], fraction: int) -> Accumulator[D, T]:
    """Return the accumulator with the magnitude truncated to F fraction bits."""
    magnitude = _truncated(state.value.magnitude(), fraction - step.fraction_bits)
    return replace(state, value=magnitude.negated_where(state.value < 0))


def add(
    step: SequentialStep,
    algebra: Algebra[D, T],
    state: Accumulator[D, T],
    term: Term[D, T],
    taken: Truth[T],
    fraction: int,
) -> Accumulator[D, T]:
    """Return the accumulator after ``term``, unchanged where the term is not ``taken``."""
    return with_addend(step, state, addend_of(step, algebra, state, term, taken, fraction), fraction)


@dataclass(frozen=True, slots=True)
class MovedTerm(Generic[D, T]):
    """What a term adds to an accumulator where it is ``taken``, moved to the exponent of the sum.

    Where it ``starts``, the accumulator held nothing.
    """

    value: Word[D]
    exponent: Word[D]
    taken: Truth[T]
    starts: Truth[T]


def addend_of(
    step: SequentialStep,
    algebra: Algebra[D, T],
    state: Accumulator[D, T],
    term: Term[D, T],
    taken: Truth[T],
    fraction: int,
) -> MovedTerm[D, T]:
    """Return what ``term`` adds to the accumulator.

    Whichever of the two lies lower is moved down and jammed at GUARD_BITS or more below F; the other keeps every bit.
    The jammed value lies strictly between the same multiples of 2**-(F + 2) as the exact one, and so does the sum, so
    cutting it at F gives the same. Where addends are cut, both are multiples of 2**-F before they are added.
    """
    normalises = step.normalises is Normalises.YES
    # after a sum that cancelled to nothing, the next nonzero term is a start: not normalised itself
    taken = taken & (state.present | ~term.significand.is_value(0))
    starts = taken & ~state.present
    exponent = ite(starts, term.exponent, state.exponent)
    if normalises:
        exponent = algebra.maximum([exponent, ite(taken, term.exponent, exponent)])
    significand = term.significand << (fraction - term.fraction_bits)
    distance = ite(taken, exponent - term.exponent, 0)
    moved = _moved(significand, distance, may_rise=not normalises and step.first is not First.EXPONENT)
    if step.truncates is Truncates.ADDEND:
        moved = _truncated(moved, fraction - step.fraction_bits)
    return MovedTerm(moved.negated_where(term.negative), exponent, taken, starts)


def with_addend(
    step: SequentialStep, state: Accumulator[D, T], addend: MovedTerm[D, T], fraction: int
) -> Accumulator[D, T]:
    """Return the accumulator after an addend, unchanged where that is not taken."""
    normalises, exponent = step.normalises is Normalises.YES, addend.exponent
    value = _lowered(step, state, exponent, fraction) if normalises else state.value
    after = Accumulator(value + addend.value, exponent, state.present | addend.taken)
    after = cut_at(step, after, fraction)
    if normalises:
        after = _choose(addend.starts, after, _normalised(step, after, fraction))
    return _choose(addend.taken, after, state)


def _choose(condition: Truth[T], x: Accumulator[D, T], y: Accumulator[D, T]) -> Accumulator[D, T]:
    return Accumulator(
        ite(condition, x.value, y.value),
        ite(condition, x.exponent, y.exponent),
        (condition & x.present) | (~condition & y.present),
    )


def _lowered(step: SequentialStep, state: Accumulator[D, T], exponent: Word[D], fraction: int) -> Word[D]:
    """Return the accumulator's value in units of a higher exponent."""
    distance = ite(state.present, exponent - state.exponent, 0)
    magnitude = _moved(state.value.magnitude(), distance, may_rise=False)
    if step.truncates is Truncates.ADDEND:
        magnitude = _truncated(magnitude, fraction - step.fraction_bits)
    return magnitude.negated_where(state.value < 0)


def _truncated(magnitude: Word[D], places: int) -> Word[D]:
    """Return a magnitude with zeros in its lowest places."""
    return magnitude.extend(max(magnitude.width, places + 1)).drop_low(places) << places


def _moved(magnitude: Word[D], distance: Word[D], *, may_rise: bool) -> Word[D]:
    """Return ``magnitude / 2**distance``, jammed; a negative distance moves it up, where that can be."""
    algebra, zero = distance.algebra, distance.constant(0)
    moved = magnitude.shift_right_jam(algebra.maximum([distance, zero]).narrow_to_unsigned(distance.width - 1))
    if not may_rise:
        return moved
    return moved.shift_left_by(algebra.maximum([-distance, zero]).narrow_to_unsigned(distance.width))


def _normalised(step: SequentialStep, state: Accumulator[D, T], fraction: int) -> Accumulator[D, T]:
    """Return the accumulator with its top bit at its exponent, cut to F fraction bits; a zero is not present."""
    magnitude = state.value.magnitude()
    top, exponent = with_top_exponent(magnitude, state.exponent, fraction)
    surplus = top.width - 1 - fraction
    value = top.drop_low(surplus) if surplus > 0 else top << -surplus
    value = _truncated(value, fraction - step.fraction_bits)
    present = state.present & ~magnitude.is_value(0)
    return Accumulator(value.negated_where(state.value < 0), exponent, present)
