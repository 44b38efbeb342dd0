"""Stage 3: the largest exponent, and every term cut to some fraction bits below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mmaproof.designs.readings import Alignment, Comparator
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.words import nearest_rounds_up
from mmaproof.smt.semantics.terms import Term, drop_low_jam


@dataclass(frozen=True, slots=True)
class Cut:
    """How many fraction bits below the largest exponent are kept, and what happens to the others."""

    fraction_bits: int
    alignment: Alignment = Alignment.TRUNCATE

    @classmethod
    def jammed(cls, fraction_bits: int) -> Cut:
        """Return a cut that sets the last kept bit where anything was lost."""
        return cls(fraction_bits, Alignment.JAM)

    def bound(self, largest: int, fraction_bits: int) -> int:
        """Return a bound of the magnitude of a cut significand that is at most ``largest``.

        Its exponent is at most the one aligned at, so it only moves down. Truncation keeps the whole part;
        rounding towards minus infinity adds one unit to a negative magnitude, inverting instead of negating adds one to
        a magnitude that opposes c, jamming at most sets the last bit.
        Rounding to nearest keeps the order of magnitudes, so the largest becomes the largest.
        """
        units = Fraction(largest << self.fraction_bits, 1 << fraction_bits)
        if self.alignment is Alignment.NEAREST:
            return round(units)  # ties to even
        whole = int(units)
        return whole if self.alignment is Alignment.TRUNCATE else whole + 1

    @property
    def truncates(self) -> bool:
        """Whether bits of the magnitude are dropped, so that a cut moves a term towards zero."""
        return self.alignment is Alignment.TRUNCATE

    @property
    def rounds_to_nearest(self) -> bool:
        """Whether a cut moves a term by at most half of its last bit."""
        return self.alignment is Alignment.NEAREST

    @property
    def jams(self) -> bool:
        """Whether the last kept bit tells that something was lost."""
        return self.alignment is Alignment.JAM

    @property
    def rounds_down(self) -> bool:
        """Whether a cut moves a term towards minus infinity."""
        return self.alignment is Alignment.FLOOR

    @property
    def inverts(self) -> bool:
        """Whether a term whose sign is not c's is moved one unit further from c."""
        return self.alignment is Alignment.COMPLEMENT


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
    exponents = [ite(t.present, t.exponent, least) for t in terms]
    if floor is not None:
        exponents.append(algebra.signed(floor))
    return algebra.maximum(exponents) if comparator is Comparator.TREE else algebra.maximum_in_turn(exponents)


def align(algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D], cut: Cut) -> Word[D]:
    """Return the signed multiple of ``2**(e_max - F)`` that ``term`` is cut to; e_max is at least its exponent.

    Bits further than F below e_max are lost however far down they are, so dropping the fixed surplus of a
    significand with more than F fraction bits before the variable shift loses the same bits. Rounding to nearest
    looks at two bits more: the first one that is lost, and whether anything lies below it. In the sign of c, a term of
    magnitude m that opposes it is added as the inverted bits of m, which stand for -m - 1: a magnitude of m + 1.
    """
    distance = e_max - term.exponent
    amount = ite(term.present, distance, 0).narrow_to_unsigned(distance.width - 1)
    surplus = term.fraction_bits - cut.fraction_bits - (2 if cut.alignment is Alignment.NEAREST else 0)
    significand = term.significand << max(-surplus, 0)
    match cut.alignment:
        case Alignment.FLOOR:
            value = _drop_low(significand.negated_where(term.negative), surplus).shift_right(amount)
        case Alignment.JAM:
            value = drop_low_jam(significand, surplus).shift_right_jam(amount).negated_where(term.negative)
        case Alignment.NEAREST:
            jammed = drop_low_jam(significand, surplus).shift_right_jam(amount)
            value = _round_to_even(jammed).negated_where(term.negative)
        case Alignment.TRUNCATE:
            value = _drop_low(significand, surplus).shift_right(amount).negated_where(term.negative)
        case Alignment.COMPLEMENT:
            kept = _drop_low(significand, surplus).shift_right(amount)
            value = (kept + _opposes(term).as_bit()).negated_where(term.negative)
    return value.narrow(cut.bound(term.largest, term.fraction_bits).bit_length() + 1)


def loses_bits(algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D], cut: Cut) -> Truth[T]:
    """Return whether any nonzero bit of ``term`` lies below the last one that ``cut`` keeps.

    So the cut is inexact, whatever the alignment does about it; e_max is at least the term's exponent. Jammed at one
    more fraction bit, the lowest bit is that first one below the cut, set as well where anything lower is lost: it is
    zero only where every bit below the cut is. Negation does not change the lowest bit, and a term that is not present
    is zero and loses none. A term that is inverted instead of negated is never exact.
    """
    lost = align(algebra, term, e_max, Cut(cut.fraction_bits + 1, Alignment.JAM)).bit(0)
    return lost | _opposes(term) if cut.inverts else lost


def _opposes(term: Term[D, T]) -> Truth[T]:
    """Return whether the bits of a term are inverted. Raises TypeError if nothing says against which sign."""
    if term.opposes is None:
        raise TypeError("a term is to be inverted where it opposes c, and no c is added with it")
    return term.opposes


def _round_to_even(x: Word[D]) -> Word[D]:
    """Return a magnitude with a round bit and a sticky bit below its last kept one, rounded to nearest."""
    x = x.extend(max(x.width, 3))
    return x.drop_low(2) + nearest_rounds_up(x).as_bit()


def _drop_low(x: Word[D], places: int) -> Word[D]:
    """Return ``x`` without its lowest bits, one bit wide at least (the sign of a signed word stays)."""
    return x.extend(max(x.width, places + 1)).drop_low(max(places, 0))
