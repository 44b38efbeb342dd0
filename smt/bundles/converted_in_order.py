"""A conversion keeps the order of two sums with exponents of their own, as steps of a bundle.

* If the first sum is positive, so is the second one, and its magnitude is not smaller. If the second sum is negative,
  so is the first one, whose magnitude is not smaller then. In each case of exponents (``order_sums``) this follows
  from the order of the sums.
* The top bit of the larger magnitude has an exponent that is not lower. If both exponents are equal, the normalised
  magnitude is not smaller. Where exponents are two and more apart, both magnitudes are normalised words moved down.
* The rest of the conversion sees only these, the signs, and whether a sum is zero. It keeps their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import with_top_exponent
from mmaproof.smt.bundles.converted_alike import Converted
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.order_sums import Case
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.monotone import at_most
from mmaproof.smt.semantics.patterns import order_key

_Word = Word[FNode]
_Truth = Truth[FNode]
_Part = _Word | _Truth


class ConvertedInOrder:
    """Proves that the first sum is not converted to a larger number than the second. Raises NotComposedError.

    Known to hold are that one of the cases does, and of each case that the first sum is at most the second if it does.
    """

    def __init__(
        self, algebra: TermAlgebra, laws: LawsInUse, first: Converted, second: Converted, target: Format
    ) -> None:
        self._algebra, self._laws, self._target = algebra, laws, target
        self._first, self._second = first, second
        self._negative = first.total < 0, second.total < 0
        self._magnitude = first.total.magnitude(), second.total.magnitude()
        self._zero = self._magnitude[0].is_value(0), self._magnitude[1].is_value(0)
        self._top = self._top_of(first), self._top_of(second)

    def _top_of(self, x: Converted) -> tuple[_Word, _Word]:
        """Return the exponent of the top bit of a magnitude, and the normalised magnitude."""
        top, exponent = with_top_exponent(x.total.magnitude(), x.e_max, x.fraction_bits)
        return exponent, top

    def in_order(self, first: _Word, second: _Word) -> _Truth:
        """Return whether one pattern is at most another, by value."""
        x, y = (order_key(self._algebra, self._target, p) for p in (first, second))
        return ~(y < x)

    def prove(self, cases: Sequence[Case]) -> None:
        """Add the steps."""
        for magnitude in self._magnitude:
            top, _ = self._algebra.normalise(magnitude)
            claim = magnitude.is_value(0) | top.bit(top.width - 1)
            self._use(claim, (), [magnitude], "a normalised word has its top bit")
        for x, claim in zip((self._first, self._second), self._no_negative_zero(), strict=True):
            self._use(claim, (), [x.total], "a negative sum is not zero")
        for case in cases:
            self._magnitudes(case)
            for ends in ((0, 1), (1, 0)):
                if case.apart > 1:
                    self._moved(case if ends == (0, 1) else case.turned, ends)
                self._tops(case if ends == (0, 1) else case.turned, ends)
            self._of_case(case)
        self._in_all(cases)
        self._rounded()

    def _use(self, claim: _Truth, assumptions: Sequence[_Truth], parts: Sequence[_Part], why: str) -> None:
        Leaves(self._algebra).parts(*parts).use_of(self._laws, claim, assumptions, why)

    def _exponents(self, ends: tuple[int, int]) -> list[_Word]:
        both = (self._first.e_max, self._second.e_max)
        return [both[i] for i in ends]

    # --- magnitudes ---------------------------------------------------------------------------------------------

    def _smaller(self, case: Case, ends: tuple[int, int]) -> _Truth:
        """Return whether the magnitude of one sum is at most that of the other in a case."""
        x, y = (self._magnitude[i].as_signed() for i in ends)
        return case.at_most(x, y, case.places(*self._exponents(ends)))

    def _of_case_magnitudes(self, case: Case) -> Sequence[_Truth]:
        """Return how signs and magnitudes of sums in order are related in a case."""
        (negative, is_negative), (zero, is_zero) = self._negative, self._zero
        return (
            negative | zero | ~(is_negative | is_zero),
            ~is_negative | negative,
            negative | zero | self._smaller(case, (0, 1)),
            ~is_negative | self._smaller(case.turned, (1, 0)),
        )

    def _magnitudes(self, case: Case) -> None:
        """Prove in a case how signs and magnitudes are related."""
        x, y = self._first, self._second
        at, places = case.at(x.e_max, y.e_max), case.places(x.e_max, y.e_max)
        known = [~at | case.at_most(x.total, y.total, places)]
        parts: list[_Part] = [at, x.total, y.total, *([places] if case.apart > 1 else [])]
        for claim in self._of_case_magnitudes(case):
            self._use(~at | claim, known, parts, "sums in order have signs and magnitudes in order")

    # --- normalised magnitudes ----------------------------------------------------------------------------------

    def _lower(self, ends: tuple[int, int]) -> _Truth:
        """Return whether one magnitude has the lower top, or the same one and a normalised word not larger."""
        return at_most(self._algebra, *(self._top[i] for i in ends))

    def _tops(self, case: Case, ends: tuple[int, int]) -> None:
        """Prove in a case that a smaller magnitude has a lower top."""
        exponents, magnitudes = self._exponents(ends), [self._magnitude[i] for i in ends]
        zeros, smaller = [m.is_value(0) for m in magnitudes], self._smaller(case, ends)
        known: list[_Truth] = []
        parts: list[_Part] = [*magnitudes, *exponents]
        if case.apart > 1:
            known = [self._algebra.any_of([*zeros, ~smaller, self._moved_less(case, ends)])]
            parts = [*zeros, smaller, *exponents, *(w for m in magnitudes for w in self._algebra.normalise(m))]
        claim = self._algebra.any_of([~case.at(*exponents), *zeros, ~smaller, self._lower(ends)])
        self._use(claim, known, parts, "a smaller magnitude has a lower top")

    def _moved_less(self, case: Case, ends: tuple[int, int]) -> _Truth:
        """Return whether the smaller magnitude is a normalised word moved down further, or as far and no larger."""
        (x, down), (y, other) = (self._algebra.normalise(self._magnitude[i]) for i in ends)
        places = case.places(*self._exponents(ends))
        down, other = (down + places, other) if case.rises else (down, other + places)
        return (other < down) | ((down == other) & (x <= y))

    def _moved(self, case: Case, ends: tuple[int, int]) -> None:
        """Prove where exponents are far apart that a smaller magnitude is a normalised word moved down further."""
        low, high = ends if case.rises else ends[::-1]
        apart = case.places(*self._exponents(ends))
        for i in ends:
            m = self._magnitude[i]
            top, places = self._algebra.normalise(m)
            x, y = top.as_signed(), m.as_signed()
            for claim in (x.shift_right(places) == y, (-x).shift_right(places) == -y):
                self._use(claim, (), [m], "a magnitude is its normalised word, moved down")
        top, places = self._algebra.normalise(self._magnitude[low])
        x = -top.as_signed() if case.rises else top.as_signed()
        twice = x.shift_right(places).shift_right(apart) == x.shift_right(places + apart)
        self._use(twice, (), [top, places, apart], "a word moved down twice is moved down by both")
        other, down = self._algebra.normalise(self._magnitude[high])
        there = self._magnitude[high].as_signed()
        rounded = case.rounded(top.as_signed(), places + apart)
        known = [other.as_signed().shift_right(down) == there, (-other.as_signed()).shift_right(down) == -there]
        zeros = [self._zero[i] for i in ends]
        known += [self._zero[low] | top.bit(top.width - 1), self._zero[high] | other.bit(other.width - 1)]
        smaller = rounded <= there if case.rises else there <= rounded
        claim = self._algebra.any_of([*zeros, ~smaller, self._moved_less(case, ends)])
        parts: list[_Part] = [*zeros, top, places, apart, other, down, self._magnitude[high]]
        self._use(claim, known, parts, "a smaller magnitude is moved down further")

    # --- all cases ----------------------------------------------------------------------------------------------

    def _no_negative_zero(self) -> list[_Truth]:
        return [~(negative & zero) for negative, zero in zip(self._negative, self._zero, strict=True)]

    def _in_order_by_tops(self) -> Sequence[_Truth]:
        """Return what the conversion sees of two sums in order."""
        (negative, is_negative), (zero, is_zero) = self._negative, self._zero
        return (
            negative | zero | (~(is_negative | is_zero) & self._lower((0, 1))),
            ~is_negative | (negative & self._lower((1, 0))),
        )

    def _of_case(self, case: Case) -> None:
        at = case.at(self._first.e_max, self._second.e_max)
        related = [~at | x for x in self._of_case_magnitudes(case)]
        for i, claim in enumerate(self._in_order_by_tops()):
            ends = (1, 0) if i else (0, 1)
            smaller, lower = self._smaller(case.turned if i else case, ends), self._lower(ends)
            known = [
                related[i],
                related[i + 2],
                self._algebra.any_of([~at, *(self._zero[j] for j in ends), ~smaller, lower]),
            ]
            known += self._no_negative_zero()
            parts: list[_Part] = [at, smaller, lower, *self._negative, *self._zero]
            self._use(~at | claim, known, parts, "sums in order have tops in order")

    def _in_all(self, cases: Sequence[Case]) -> None:
        """Prove what holds in each case, without the cases."""
        found = [case.at(self._first.e_max, self._second.e_max) for case in cases]
        for claim in self._in_order_by_tops():
            known = [self._algebra.any_of(found), *(~at | claim for at in found)]
            self._use(claim, known, [*found, claim], "sums in order have tops in order")

    def _rounded(self) -> None:
        """Prove that the conversions are in order."""
        in_order = self.in_order(self._first.pattern, self._second.pattern)
        (negative, is_negative), (zero, _) = self._negative, self._zero
        tops = [w for pair in self._top for w in pair]
        known = [*self._in_order_by_tops(), *self._no_negative_zero()]
        for zeros, (_, top) in zip(self._zero, self._top, strict=True):
            known.append(zeros | top.bit(top.width - 1))
        parts: list[_Part] = [*self._negative, *self._zero, *tops]
        why = "sums with tops in order are rounded in order"
        wheres = [~negative & ~zero, is_negative, (negative | zero) & ~is_negative]
        for where in wheres:
            self._use(~where | in_order, known, parts, why)
        self._use(in_order, [~where | in_order for where in wheres], [*self._negative, *self._zero, in_order], why)
