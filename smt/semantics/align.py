"""Stage 3: the largest exponent, and every term cut to some fraction bits below it."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.readings import Alignment, Comparator
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.terms import Term


def largest_exponent(
    algebra: Algebra[D, T],
    terms: Sequence[Term[D, T]],
    floor: int | None = None,
    comparator: Comparator = Comparator.TREE,
) -> Word[D]:
    """Return e_max (signed): the largest exponent of the terms that are present, and at least ``floor``.

    Where no term is present it is the least value of the word: every term is zero then.
    """
    width = max(t.exponent.width for t in terms)
    least = algebra.signed(-(1 << (width - 1)), width)
    exponents = [algebra.ite(t.present, t.exponent, least) for t in terms]
    if floor is not None:
        exponents.append(algebra.signed(floor))
    return algebra.maximum(exponents) if comparator is Comparator.TREE else algebra.maximum_in_turn(exponents)


def align(algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D], cut: Cut) -> Word[D]:
    """Return the signed multiple of ``2**(e_max - F)`` that ``term`` is cut to; e_max is at least its exponent.

    Bits further than F below e_max are lost however far down they are, so dropping the fixed surplus of a
    significand with more than F fraction bits before the variable shift loses the same bits. Rounding to nearest
    looks at two bits more: the first one that is lost, and whether anything lies below it.
    """
    distance = algebra.subtract(e_max, term.exponent)
    amount = algebra.narrow_to_unsigned(algebra.ite(term.present, distance, algebra.signed(0)), distance.width - 1)
    surplus = term.fraction_bits - cut.fraction_bits - (2 if cut.alignment is Alignment.NEAREST else 0)
    significand = algebra.shift_left(term.significand, max(-surplus, 0))
    width = cut.bound(term.largest, term.fraction_bits).bit_length() + 1
    match cut.alignment:
        case Alignment.FLOOR:
            value = algebra.conditional_negate(term.negative, significand)
            value = algebra.shift_right(_drop_low(algebra, value, surplus), amount)
        case Alignment.JAM:
            magnitude = algebra.shift_right_jam(_drop_low_jam(algebra, significand, surplus), amount)
            value = algebra.conditional_negate(term.negative, magnitude)
        case Alignment.NEAREST:
            magnitude = algebra.shift_right_jam(_drop_low_jam(algebra, significand, surplus), amount)
            value = algebra.conditional_negate(term.negative, _round_to_even(algebra, magnitude))
        case Alignment.TRUNCATE:
            magnitude = algebra.shift_right(_drop_low(algebra, significand, surplus), amount)
            value = algebra.conditional_negate(term.negative, magnitude)
    return algebra.narrow(value, width)


def loses_bits(algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D], cut: Cut) -> Truth[T]:
    """Return whether any nonzero bit of ``term`` lies below the last one that ``cut`` keeps.

    So the cut is inexact, whatever the alignment does about it; e_max is at least the term's exponent. Jammed at one
    more fraction bit, the lowest bit is that first one below the cut, set as well where anything lower is lost: it is
    zero only where every bit below the cut is. Negation does not change the lowest bit, and a term that is not present
    is zero and loses none.
    """
    jammed = align(algebra, term, e_max, Cut(cut.fraction_bits + 1, Alignment.JAM))
    return algebra.is_bit_set(jammed, 0)


def _round_to_even(algebra: Algebra[D, T], x: Word[D]) -> Word[D]:
    """Return a magnitude with a round bit and a sticky bit below its last kept one, rounded to nearest."""
    x = algebra.extend(x, max(x.width, 3))
    sticky, half, odd = (algebra.is_bit_set(x, i) for i in range(3))
    up = algebra.all_of([half, algebra.any_of([sticky, odd])])
    return algebra.add(algebra.drop_low(x, 2), algebra.ite(up, algebra.unsigned(1, 1), algebra.unsigned(0, 1)))


def _drop_low(algebra: Algebra[D, T], x: Word[D], places: int) -> Word[D]:
    """Return ``x`` without its lowest bits, one bit wide at least (the sign of a signed word stays)."""
    return algebra.drop_low(algebra.extend(x, max(x.width, places + 1)), max(places, 0))


def _drop_low_jam(algebra: Algebra[D, T], x: Word[D], places: int) -> Word[D]:
    if places <= 0:
        return x
    x = algebra.extend(x, max(x.width, places + 1))
    amount = algebra.unsigned(places, places.bit_length())
    return algebra.narrow(algebra.shift_right_jam(x, amount), x.width - places)
