"""Two sums of the same value are converted to the same number, as steps of a bundle.

A *wide* sum counts the same value in smaller units: it is the other one, moved up by some places. Places that depend
on operands are told apart by cases, in each of which both are constants: the places, and the difference of exponents.

* Both sums have one sign, both are zero or none, and the magnitude of the wide one is that of the other, moved up.
* Both magnitudes, unless they are zero, have the same bits from their highest one on, which has the same exponent.
* The rest of a conversion sees nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import with_top_exponent
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.walk import Substitution

_Word = Word[FNode]
_Truth = Truth[FNode]


@dataclass(frozen=True)
class Converted:
    """A sum ``total * 2**(e_max - fraction_bits)``, and what it is converted to."""

    total: Word[FNode]
    e_max: Word[FNode]
    fraction_bits: int
    pattern: Word[FNode]
    overflowed: Truth[FNode]


@dataclass(frozen=True)
class Case:
    """Where ``at`` holds, the wide sum is the other one moved up by ``places``. Without places, both are zero.

    It is moved up ``further`` by a number of places that depends on operands, where one is given.
    """

    at: Truth[FNode]
    places: int | None
    further: Word[FNode] | None = None

    def of_sums(self, wide: Word[FNode], total: Word[FNode]) -> Truth[FNode]:
        """Return whether two sums are related so."""
        if self.places is None:
            return wide.is_value(0) & total.is_value(0)
        return is_moved(wide, total, self.places, self.further)

    def over(self, leaves: Leaves) -> Case:
        """Return the case over symbols of a lemma."""
        further = None if self.further is None else leaves.word(self.further)
        return Case(leaves.truth(self.at), self.places, further)


def is_moved(wide: Word[FNode], x: Word[FNode], places: int, further: Word[FNode] | None = None) -> Truth[FNode]:
    """Return whether a word is another one moved up by some places, and nothing is cut off."""
    whole = x << places if further is None else (x << places).shift_left_by(further)
    width = max(wide.width, whole.width)
    return wide.extend(width) == whole.extend(width)


def alike(x: Truth[FNode], y: Truth[FNode]) -> Truth[FNode]:
    """Return whether two truth values are the same."""
    return ~(x ^ y)


class ConvertedAlike:
    """Proves that two sums are converted to the same number. Raises NotComposedError.

    Known to hold are that ``at`` of one of the cases does, that the sums are related as each case says where it holds,
    and that the exponents differ as they must then.
    """

    def __init__(self, algebra: TermAlgebra, laws: LawsInUse, wide: Converted, other: Converted) -> None:
        self._algebra, self._laws, self._wide, self._other = algebra, laws, wide, other

    def exponents(self, case: Case, wide: _Word, other: _Word) -> _Truth:
        """Return whether exponents in the place of those of the sums differ as they do in a case."""
        if case.places is None:
            return self._algebra.truth(True)
        higher = case.places - (self._wide.fraction_bits - self._other.fraction_bits)
        moved = wide + higher if higher else wide
        return other == (moved if case.further is None else moved + case.further.as_signed())

    def prove(self, cases: Sequence[Case]) -> None:
        """Add the steps."""
        for case in cases:
            self._same_magnitude(case)
            self._same_top_of_case(case)
        self._in_all(cases)
        self._rounded()

    def _truths(self, x: _Word) -> tuple[_Truth, _Truth]:
        """Return whether a sum is negative, and whether it is zero."""
        return x < 0, x.magnitude().is_value(0)

    def _same_magnitude(self, case: Case) -> None:
        leaves, why = Leaves(self._algebra), "a sum in smaller units has the same sign and magnitude"
        w, t, own = leaves.word(self._wide.total), leaves.word(self._other.total), case.over(leaves)
        known = [~own.at | own.of_sums(w, t)]
        for x, y in zip(self._truths(w), self._truths(t), strict=True):
            leaves.use(self._laws, ~own.at | alike(x, y), known, why)
        same = self._truths(t)[1] if case.places is None else own.of_sums(w.magnitude(), t.magnitude())
        leaves.use(self._laws, ~own.at | same, known, why)

    def _same_top_of_case(self, case: Case) -> None:
        if case.places is None:
            return
        wide, other = self._wide, self._other
        leaves = Leaves(self._algebra)
        w, e, m, f = map(leaves.word, (wide.total.magnitude(), wide.e_max, other.total.magnitude(), other.e_max))
        own, why = case.over(leaves), "a sum in smaller units is normalised to the same number"
        known = [~own.at | own.of_sums(w, m), ~own.at | self.exponents(own, e, f)]
        claim = self._algebra.any_of([~own.at, m.is_value(0), self._same_top(w, e, m, f)])
        leaves.use(self._laws, claim, known, why)

    def _same_top(self, wide: _Word, e: _Word, magnitude: _Word, f: _Word) -> _Truth:
        """Return whether magnitudes have the same bits from the highest one on, and that bit the same exponent."""
        top, exponent = with_top_exponent(wide, e, self._wide.fraction_bits)
        other, at = with_top_exponent(magnitude, f, self._other.fraction_bits)
        return self._same_number(top, exponent, other, at)

    def _same_number(self, top: _Word, exponent: _Word, other: _Word, at: _Word) -> _Truth:
        longest = max(top.width, other.width)
        x, y = (w << (longest - w.width) for w in (top, other))
        return (x == y) & (exponent == at)

    def _in_all(self, cases: Sequence[Case]) -> None:
        """Prove what holds in each case, without the cases."""
        wide, other = self._wide, self._other
        of_wide, of_other = self._truths(wide.total), self._truths(other.total)
        same = self._same_top(wide.total.magnitude(), wide.e_max, other.total.magnitude(), other.e_max)
        why = "a sum in smaller units has the same value"
        for x, y in zip(of_wide, of_other, strict=True):
            leaves = Leaves(self._algebra)
            p, q, found = leaves.truth(x), leaves.truth(y), [leaves.truth(c.at) for c in cases]
            known = [self._algebra.any_of(found), *(~at | alike(p, q) for at in found)]
            leaves.use(self._laws, alike(p, q), known, why)
        leaves = Leaves(self._algebra)
        m, q = leaves.word(other.total.magnitude()), leaves.truth(same)
        zero, found = m.is_value(0), [leaves.truth(c.at) for c in cases]
        known = [self._algebra.any_of(found)]
        for case, at in zip(cases, found, strict=True):
            known.append(self._algebra.any_of([~at, zero, *([] if case.places is None else [q])]))
        leaves.use(self._laws, zero | q, known, why)

    def _rounded(self) -> None:
        """Prove that both magnitudes are rounded alike, whatever they are normalised to."""
        algebra, wide, other = self._algebra, self._wide, self._other
        numbers = [w for s in (wide, other) for w in with_top_exponent(s.total.magnitude(), s.e_max, s.fraction_bits)]
        truths = [t for s in (wide, other) for t in self._truths(s.total)]
        leaves = Leaves(algebra)
        own, signs = [leaves.word(x) for x in numbers], [leaves.truth(x) for x in truths]
        places = {x.data: y.data for x, y in zip(numbers, own, strict=True)}
        places |= {x.data: y.data for x, y in zip(truths, signs, strict=True)}
        negative, zero, is_negative, is_zero = signs
        known = [is_zero | self._same_number(*own), alike(negative, is_negative), alike(zero, is_zero)]
        substitute = Substitution(algebra.environment, places)
        terms = algebra.environment.formula_manager
        for x, y in ((wide.pattern.data, other.pattern.data), (wide.overflowed.data, other.overflowed.data)):
            equal = Truth(terms.EqualsOrIff(substitute(x), substitute(y)), algebra)
            leaves.use(self._laws, equal, known, "the same value is rounded to the same number")
