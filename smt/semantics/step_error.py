"""The error of one step and its bound, as words: what a step returns, its exact sum, one unit and one ulp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from mmaproof.designs.conversions import Conversion, Rounding
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.patterns import Unpacked
from mmaproof.smt.semantics.terms import Term


@dataclass(frozen=True, slots=True)
class Returned(Generic[D, T]):
    """A result d and one ulp of it, or half of one. ``fits`` says whether d is as small as a sum can be."""

    fits: Truth[T]
    value: Word[D]
    ulp: Word[D]


@dataclass(frozen=True, slots=True)
class StepError:
    """The sides of ``|d - exact| < units * 2**(e_max - F) + u``, as multiples of ``2**(e - places)``.

    e is e_max or ``least``, whichever is larger: the e_min of d, or a smaller exponent of terms. N ``places`` below it
    lie all bits of every term, of d, of a unit and of an ulp. Every term is below ``2**(e + above - 3)``, and so is
    their sum. A d of ``2**(e + above + 1)`` or more is further away than the bound, which is less than half of it; a d
    of exponent e_min lies within ``above`` of any e. u is one ulp in the precision of ``rho``, or half of one where it
    rounds to nearest.
    """

    rho: Conversion
    kept_bits: int
    """F"""
    units: int
    above: int
    places: int
    least: int

    @classmethod
    def of(
        cls, terms: Sequence[Term[D, T]], rho: Conversion, *, kept_bits: int, cut_terms: int, places: int, least: int
    ) -> StepError:
        """Return the sides for the terms of a step, N of which are cut beside c.

        ``places`` are as many as all bits of any term need below the largest exponent that any term or d may have.
        ``least`` is an exponent that no term is below unless it is zero.
        """
        above = sum((t.largest >> t.fraction_bits) + 1 for t in terms).bit_length() + 3
        least = min(least, rho.target.e_min)
        return cls(rho, kept_bits, cut_terms + 1, above + rho.target.e_min - least, places, least)

    @property
    def half(self) -> bool:
        """Whether u is half an ulp."""
        return self.rho.rounding in (Rounding.RNE, Rounding.RNA)

    @property
    def _cut(self) -> Cut:
        return Cut(self.places)

    def exponent(self, algebra: Algebra[D, T], e_max: Word[D]) -> Word[D]:
        """Return e."""
        return algebra.maximum([e_max, algebra.signed(self.least)])

    def exact(self, algebra: Algebra[D, T], term: Term[D, T], e: Word[D]) -> Word[D]:
        """Return a term, of which nothing is lost."""
        return align(algebra, term, e, self._cut)

    def total(self, algebra: Algebra[D, T], exact: Sequence[Word[D]]) -> Word[D]:
        """Return the exact sum of the terms."""
        return algebra.bounded_sum(exact, self.total_width(exact))

    def total_width(self, exact: Sequence[Word[D]]) -> int:
        """Return the width of the exact sum."""
        return max(x.width for x in exact) + len(exact).bit_length()

    def bound_of_terms(self, algebra: Algebra[D, T], e_max: Word[D], e: Word[D]) -> Word[D]:
        """Return N units."""
        largest = algebra.unsigned(self.units, self.units.bit_length())
        return self._number(algebra, self.kept_bits, e_max, largest, self.units, e)

    def returned(self, algebra: Algebra[D, T], d: Unpacked[D, T], e: Word[D]) -> Returned[D, T]:
        """Return a finite result and its ulp."""
        lowered = d.exponent - self.above
        fits = lowered <= e
        exponent = ite(fits, lowered, e)
        significand, largest = d.significand << self.above, d.largest << self.above
        term = Term(d.fraction_bits, d.negative, exponent, significand, algebra.truth(True), largest)
        one = algebra.unsigned(1 << self.above, self.above + 1)
        ulp = self._number(algebra, self.rho.fraction_bits + self.half, exponent, one, 1 << self.above, e)
        return Returned(fits, align(algebra, term, e, self._cut), ulp)

    def _number(
        self,
        algebra: Algebra[D, T],
        fraction_bits: int,
        exponent: Word[D],
        significand: Word[D],
        largest: int,
        e: Word[D],
    ) -> Word[D]:
        term = Term(fraction_bits, algebra.truth(False), exponent, significand, algebra.truth(True), largest)
        return align(algebra, term, e, self._cut).magnitude()

    def sides(self, returned: Returned[D, T], total: Word[D], bound_of_terms: Word[D]) -> tuple[Word[D], Word[D]]:
        """Return the error and its bound."""
        return (returned.value - total).magnitude(), bound_of_terms + returned.ulp

    def within(
        self, algebra: Algebra[D, T], d: Unpacked[D, T], returned: Returned[D, T], total: Word[D], bound: Word[D]
    ) -> Truth[T]:
        """Return whether the error is below its bound, which ``bound`` is without the ulp, or d is not finite."""
        error, whole = self.sides(returned, total, bound)
        return algebra.any_of([d.infinite, d.nan, returned.fits & (error < whole)])
