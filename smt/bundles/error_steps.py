"""The bound of the error of one step as the steps of a bundle.

All words are multiples of ``2**(e - K)`` as in ``StepError``, and one unit of the register is ``2**low`` of them. With
S the register and Q the exact sum:

* e is e_max, or e_max lies below the smallest exponent of d, and all terms are zero then: the aligned terms and the
  result are those at e;
* Q is less than N units away from S as there are terms (``ExactSumSteps``);
* d is S, or it differs from S by at most one ulp, and both are whole units then. Each place of the last bit of d is
  a case;
* the claim follows from the last two, whatever the words are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.exact_sum_steps import Apart, ExactSumSteps
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.term_facts import (
    prove_largest_exponent,
    prove_where_not_zero,
    whole_and_rest,
    within,
)
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.proving.walk import substituted
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.step_error import Returned, StepError
from mmaproof.smt.semantics.unpack import Unpacked, unpack

_Word = Word[FNode]
_Truth = Truth[FNode]
_AN_ULP = "d is at most one ulp from the register"


class ErrorSteps:
    """Proves that the error of one step is within its bound. Raises NotComposedError."""

    def __init__(
        self,
        kernel: Kernel,
        signals: StepSignals[FNode, FNode],
        sides: StepError,
        assumed: FNode | None,
    ) -> None:
        self._algebra = TermAlgebra(kernel.environment)
        self._laws = LawsInUse(kernel)
        self._signals, self._sides, self._assumed = signals, sides, assumed
        (self._sum,) = signals.sums
        fmt = sides.rho.target
        self._highest = sides.places + fmt.e_min - fmt.fraction_bits - 1
        self._low = sides.places - self._sum.fraction_bits
        self._e = sides.exponent(self._algebra, signals.e_max)
        if self._e.width != signals.e_max.width:
            raise NotComposedError("an e_max of fewer bits than the exponents of d have")

    def prove(self) -> None:
        """Add the steps."""
        algebra, total, sides = self._algebra, self._sum, self._sides
        if any(not cut.truncates or cut.fraction_bits != total.fraction_bits for cut in total.path.cuts):
            raise NotComposedError("an error of terms that are not truncated in one place")
        if self._low < 1:
            raise NotComposedError("an error of terms of which nothing is lost")
        self._exponents()
        self._aligned_at_e()
        terms = zip(total.terms, total.path.cuts, strict=True)
        self._sum = replace(total, e_max=self._e, aligned=tuple(align(algebra, t, self._e, cut) for t, cut in terms))
        sums = ExactSumSteps(algebra, self._laws, self._sum, sides, self._e)
        apart = sums.prove()
        d = unpack(algebra, sides.rho.target, self._signals.d)
        returned = sides.returned(algebra, d, self._e)
        self._no_special()
        self._converted()
        self._within(sums, apart, returned)

    # --- the exponents ------------------------------------------------------------------------------------------

    def _exponents(self) -> None:
        """Prove that e lies within limits, and that no exponent is above it."""
        algebra, terms, least = self._algebra, self._sum.terms, self._sides.rho.target.e_min
        prove_largest_exponent(self._laws, algebra, self._sum)
        for term in terms:
            claim = ~term.present | (term.exponent <= self._highest)
            self._laws.claim(claim.data, (), {}, "an exponent is not above the largest one")
        leaves = Leaves(algebra)
        own = [leaves.term(t) for t in terms]
        top = largest_exponent(algebra, own, self._sum.path.floor, self._sum.path.comparator)
        known = [~t.present | (t.exponent <= self._highest) for t in own]
        leaves.use(self._laws, top <= self._highest, known, "e_max is not above the largest exponent")
        leaves = Leaves(algebra)
        top = leaves.word(self._sum.e_max)
        e, known = self._sides.exponent(algebra, top), [top <= self._highest]
        for claim in (e <= self._highest, e >= least, self._sides.exponent(algebra, e) == e):
            leaves.use(self._laws, claim, known, "e lies within the exponents of d and of terms")
        for term in terms:
            leaves = Leaves(algebra)
            x, top = leaves.term(term), leaves.word(self._sum.e_max)
            claim = ~x.present | (x.exponent <= self._sides.exponent(algebra, top))
            leaves.use(self._laws, claim, [~x.present | (x.exponent <= top)], "no exponent is above e")

    def _aligned_at_e(self) -> None:
        """Prove that the aligned terms, and what their sum is converted to, are those at e."""
        algebra, total, least = self._algebra, self._sum, self._sides.rho.target.e_min
        why = "a term below the smallest exponent of d is zero"
        for term, cut in zip(total.terms, total.path.cuts, strict=True):
            claim = term.present & (term.exponent >= least)
            prove_where_not_zero(self._laws, algebra, term.significand, claim, why)
            leaves = Leaves(algebra)
            own, top = leaves.term(term), leaves.word(total.e_max)
            known = [algebra.any_of([own.present & (own.exponent >= least), own.significand.is_value(0)])]
            known.append(~own.present | (own.exponent <= top))
            aligned, e = align(algebra, own, top, cut), self._sides.exponent(algebra, top)
            leaves.use(self._laws, ~(top < least) | aligned.is_value(0), known, why)
            leaves.use(self._laws, aligned == align(algebra, own, e, cut), known, "a term is aligned at e")
            exact = self._sides.exact(algebra, own, e)
            leaves.use(self._laws, ~(top < least) | exact.is_value(0), known, why)
        exact_terms = [self._sides.exact(algebra, t, self._e) for t in total.terms]
        for words, add in ((total.aligned, self._added_up), (exact_terms, self._sides.total)):
            leaves = Leaves(algebra)
            own_words, low = [leaves.word(x) for x in words], leaves.truth(total.e_max < least)
            known = [~low | x.is_value(0) for x in own_words]
            leaves.use(self._laws, ~low | add(algebra, own_words).is_value(0), known, "a sum of zeros is zero")
        leaves = Leaves(algebra)
        s, top = leaves.word(total.total), leaves.word(total.e_max)
        known = [~(top < least) | s.is_value(0)]
        both = [self._pattern(s, x) for x in (top, self._sides.exponent(algebra, top))]
        leaves.use(self._laws, both[0] == both[1], known, "a sum is converted at e")

    def _added_up(self, algebra: TermAlgebra, words: Sequence[_Word]) -> _Word:
        return algebra.modular_sum(words, self._sum.total.width)

    # --- the result ---------------------------------------------------------------------------------------------

    def _no_special(self) -> None:
        """Prove that d is the sum, converted, of the operands that are meant."""
        algebra, signals = self._algebra, self._signals
        leaves = Leaves(algebra)
        converted = leaves.word(signals.converted)
        of_word = substituted(algebra.environment, signals.d.data, {signals.converted.data: converted.data})
        d = Word(of_word, converted.width, False, algebra)
        assumed = [] if self._assumed is None else [Truth(self._assumed, algebra)]
        leaves.use(self._laws, d == converted, assumed, "finite operands give no special result")

    def _converted(self) -> None:
        """Prove that the result is the register, or at most one ulp away from it.

        One case for each place of the last bit of the result above the last bit of the register, and one for zero.
        """
        algebra, total = self._algebra, self._sum.total
        d = self._result(total, self._e)
        places = self._places(d, self._e)
        precision = self._sides.rho.fraction_bits
        cases = range(-precision, self._sum.largest.bit_length() - precision + 1)
        returned = self._sides.returned(algebra, d, self._e)
        near = returned.fits & self._near(total, returned)
        leaves = Leaves(algebra)
        infinite, nan, is_near, zero = map(leaves.truth, (d.infinite, d.nan, near, total.is_value(0)))
        known = [~zero | is_near]
        found = [zero]
        self._zero()
        self._bounded_places(cases)
        for case in cases:
            self._rounded(case)
            self._placed(case, d)
            at, rounded = (leaves.truth(x) for x in (places == case, self._is_rounded(case, d, total)))
            known += [algebra.any_of([infinite, nan, ~at | rounded]), ~at | ~rounded | is_near]
            found.append(at)
        known.append(algebra.any_of([infinite, nan, *found]))
        leaves.use(self._laws, algebra.any_of([infinite, nan, is_near]), known, _AN_ULP)

    def _result(self, total: _Word, e: _Word) -> Unpacked[FNode, FNode]:
        """Return the sum converted at e, taken apart, with words in the place of the register and of e."""
        return unpack(self._algebra, self._sides.rho.target, self._pattern(total, e))

    def _pattern(self, total: _Word, e: _Word) -> _Word:
        """Return the converted sum with words in the place of the register and of e_max."""
        converted = self._signals.converted
        places = {self._sum.total.data: total.data, self._signals.e_max.data: e.data}
        found = substituted(self._algebra.environment, converted.data, places)
        return Word(found, converted.width, False, self._algebra)

    def _places(self, d: Unpacked[FNode, FNode], e: _Word) -> _Word:
        """Return how many places the last bit of d, as precise as rho, lies above that of the register."""
        return d.exponent - e + (self._sum.fraction_bits - self._sides.rho.fraction_bits)

    def _is_rounded(self, places: int, d: Unpacked[FNode, FNode], total: _Word) -> _Truth:
        """Return whether d is the register, or at most one ulp away from it where its last bit lies higher."""
        algebra, sides = self._algebra, self._sides
        unused = sides.rho.target.fraction_bits - sides.rho.fraction_bits
        kept = d.significand.drop_low(unused).negated_where(d.negative)
        fits = d.significand.extract(unused - 1, 0).is_value(0) if unused else algebra.truth(True)
        if places <= 0:
            return fits & (kept == total << -places)
        ulp = 1 << (places - sides.half)
        return fits & (((kept << places) - total).magnitude() <= algebra.unsigned(ulp, places + 1))

    def _meant(self, leaves: Leaves) -> tuple[_Word, _Word, list[_Truth]]:
        """Return the register and e, and what is known of them."""
        s, e = leaves.word(self._sum.total), leaves.word(self._e)
        least = self._sides.rho.target.e_min
        return s, e, [e >= least, e <= self._highest, within(s, self._sum.largest)]

    def _zero(self) -> None:
        leaves = Leaves(self._algebra)
        s, e, known = self._meant(leaves)
        returned = self._sides.returned(self._algebra, self._result(s, e), e)
        nothing = returned.value.is_value(0) & ~returned.ulp.is_value(0)
        for claim in (returned.fits & self._near(s, returned), nothing):
            leaves.use(self._laws, ~s.is_value(0) | claim, known, "the register is zero")

    def _bounded_places(self, cases: range) -> None:
        leaves = Leaves(self._algebra)
        s, e, known = self._meant(leaves)
        d = self._result(s, e)
        places = self._places(d, e)
        within = [places == x for x in cases]
        claim = self._algebra.any_of([d.infinite, d.nan, s.is_value(0), *within])
        leaves.use(self._laws, claim, known, "the last bit of d")

    def _rounded(self, places: int) -> None:
        """Prove what d is of the register where its last bit lies N places higher."""
        leaves = Leaves(self._algebra)
        s, e, known = self._meant(leaves)
        d = self._result(s, e)
        there = self._places(d, e) == places
        claim = self._algebra.any_of([d.infinite, d.nan, ~there | self._is_rounded(places, d, s)])
        leaves.use(self._laws, claim, known, "d is the register, rounded")

    def _placed(self, places: int, d: Unpacked[FNode, FNode]) -> None:
        """Prove the same of the words that the claim is about."""
        leaves = Leaves(self._algebra)
        negative, exponent, significand = leaves.truth(d.negative), leaves.word(d.exponent), leaves.word(d.significand)
        x = replace(d, negative=negative, exponent=exponent, significand=significand)
        e = leaves.word(self._e)
        known = [e >= self._sides.rho.target.e_min, e <= self._highest]
        returned, elsewhere = self._sides.returned(self._algebra, x, e), ~(self._places(x, e) == places)
        for fact in (returned.fits, *self._are_placed(places, x, returned)):
            leaves.use(self._laws, elsewhere | fact, known, "d and its ulp in units of the claim")
        leaves = Leaves(self._algebra)
        x = replace(d, negative=leaves.truth(d.negative), significand=leaves.word(d.significand))
        whole = self._sides.returned(self._algebra, d, self._e)
        returned = Returned(leaves.truth(whole.fits), leaves.word(whole.value), leaves.word(whole.ulp))
        there, s = leaves.truth(self._places(d, self._e) == places), leaves.word(self._sum.total)
        known = [~there | fact for fact in (returned.fits, *self._are_placed(places, x, returned))]
        near = returned.fits & self._near(s, returned)
        leaves.use(self._laws, ~there | ~self._is_rounded(places, x, s) | near, known, _AN_ULP)

    def _are_placed(
        self, places: int, d: Unpacked[FNode, FNode], returned: Returned[FNode, FNode]
    ) -> tuple[_Truth, _Truth]:
        """Return what d and its ulp are in units of the claim."""
        algebra, rho = self._algebra, self._sides.rho
        last = self._low + places
        significand = d.significand.negated_where(d.negative) << (last - (rho.target.fraction_bits - rho.fraction_bits))
        ulp = algebra.unsigned(1 << (last - self._sides.half), last + 1)
        return returned.value == significand, returned.ulp == ulp

    def _near(self, register: _Word, returned: Returned[FNode, FNode]) -> _Truth:
        value, rest = whole_and_rest(returned.value, self._low)
        ulp, rest_of_ulp = whole_and_rest(returned.ulp, self._low)
        exact = (value == register) & ~rest
        return exact | (~rest & ~rest_of_ulp & ((value - register).magnitude() <= ulp))

    def _within(self, sums: ExactSumSteps, apart: Apart, returned: Returned[FNode, FNode]) -> None:
        """Prove the claim."""
        algebra, sides = self._algebra, self._sides
        least, e_max = sides.rho.target.e_min, self._signals.e_max
        leaves, why = Leaves(algebra), "the bound is as wide as the units"
        top = leaves.word(e_max)
        bound = sides.bound_of_terms(algebra, top, sides.exponent(algebra, top))
        units = algebra.unsigned(sides.units << self._low, bound.width)
        leaves.use(self._laws, (top < least) | (bound == units), (), why)
        d = unpack(algebra, sides.rho.target, self._signals.d)
        leaves = Leaves(algebra)
        own = Returned(leaves.truth(returned.fits), leaves.word(returned.value), leaves.word(returned.ulp))
        s, q = leaves.word(self._sum.total), Apart(leaves.word(apart.exact), leaves.word(apart.units))
        b, at = leaves.word(sides.bound_of_terms(algebra, e_max, self._e)), leaves.truth(e_max < least)
        infinite, nan = leaves.truth(d.infinite), leaves.truth(d.nan)
        nothing = own.value.is_value(0) & ~own.ulp.is_value(0)
        known = [
            algebra.any_of([infinite, nan, own.fits & self._near(s, own)]),
            *sums.facts(s, q),
            within(s, self._sum.largest),
            at | (b == units),
            ~at | s.is_value(0),
            ~at | q.exact.is_value(0),
            ~s.is_value(0) | nothing,
        ]
        error, both = sides.sides(own, q.exact, b)
        claim = algebra.any_of([infinite, nan, own.fits & (error < both)])
        leaves.use(self._laws, claim, known, "the error is within its bound")
