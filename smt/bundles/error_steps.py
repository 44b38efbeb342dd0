"""The bound of the error of one step as the steps of a bundle.

All words are multiples of ``2**(e - K)`` as in ``StepError``, and one unit of the register is ``2**low`` of them. With
S the register and Q the exact sum:

* e is e_max, because no e_max lies below the smallest exponent of d;
* Q is less than so many units away from S as there are terms (``ExactSumSteps``);
* d is S, or it differs from S by at most one ulp, and both are whole units then. Each place of the last bit of d is
  a case;
* the claim follows from the last two, whatever the words are.
"""

from __future__ import annotations

from dataclasses import replace

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.exact_sum_steps import Apart, ExactSumSteps
from mmaproof.smt.bundles.laws_in_use import LawsInUse
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.term_facts import prove_largest_exponent, whole_and_rest, within
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.walk import substituted
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import largest_exponent
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
        self._e_max = signals.e_max
        self._e = sides.exponent(self._algebra, self._e_max)

    def prove(self) -> None:
        """Add the steps."""
        algebra, total, sides = self._algebra, self._sum, self._sides
        if any(not cut.truncates or cut.fraction_bits != total.fraction_bits for cut in total.path.cuts):
            raise NotComposedError("an error of terms that are not truncated in one place")
        if self._low < 1:
            raise NotComposedError("an error of terms of which nothing is lost")
        self._exponents()
        sums = ExactSumSteps(algebra, self._laws, total, sides, self._e)
        apart = sums.prove()
        d = unpack(algebra, sides.rho.target, self._signals.d)
        returned = sides.returned(algebra, d, self._e)
        self._no_special()
        self._converted()
        self._within(sums, apart, returned)

    # --- the exponents ------------------------------------------------------------------------------------------

    def _exponents(self) -> None:
        """Prove that e is e_max, and that no exponent is above it."""
        algebra, terms = self._algebra, self._sum.terms
        least = self._sides.rho.target.e_min
        lowest = [t for t in terms if t.present.data.is_true()][-1:]
        for term in lowest:
            claim = term.exponent >= least
            self._laws.claim(claim.data, (), {}, "an exponent is not below the smallest one")
        prove_largest_exponent(self._laws, algebra, self._sum)
        leaves = Leaves(algebra)
        for term in lowest:
            x, top = leaves.word(term.exponent), leaves.word(self._e_max)
            known = [x >= least, x <= top]
            leaves.use(self._laws, self._sides.exponent(algebra, top) == top, known, "e is e_max")
            leaves.use(self._laws, top >= least, known, "e_max is not below the smallest exponent")
            leaves.use(self._laws, self._sides.exponent(algebra, top) >= least, known, "e is not below it")
        for term in terms:
            claim = ~term.present | (term.exponent <= self._highest)
            self._laws.claim(claim.data, (), {}, "an exponent is not above the largest one")
        leaves = Leaves(algebra)
        own = [leaves.term(t) for t in terms]
        top = largest_exponent(algebra, own, self._sum.path.floor, self._sum.path.comparator)
        known = [~t.present | (t.exponent <= self._highest) for t in own]
        leaves.use(self._laws, top <= self._highest, known, "e_max is not above the largest exponent")
        leaves = Leaves(algebra)
        top, e = leaves.word(self._e_max), leaves.word(self._e)
        leaves.use(self._laws, e <= self._highest, [top <= self._highest, e == top], "e is not above it")

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
        d = self._result(total, self._e_max)
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

    def _result(self, total: _Word, e_max: _Word) -> Unpacked[FNode, FNode]:
        """Return the converted sum, taken apart, with words in the place of the register and of e_max."""
        converted = self._signals.converted
        places = {self._sum.total.data: total.data, self._e_max.data: e_max.data}
        pattern = substituted(self._algebra.environment, converted.data, places)
        return unpack(self._algebra, self._sides.rho.target, Word(pattern, converted.width, False, self._algebra))

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

    def _meant(self, leaves: Leaves) -> tuple[_Word, _Word, _Word, list[_Truth]]:
        """Return the register, e_max and e, and what is known of them."""
        s, top, e = (leaves.word(x) for x in (self._sum.total, self._e_max, self._e))
        least = self._sides.rho.target.e_min
        return s, top, e, [e == top, top >= least, top <= self._highest, within(s, self._sum.largest)]

    def _zero(self) -> None:
        leaves = Leaves(self._algebra)
        s, top, e, known = self._meant(leaves)
        returned = self._sides.returned(self._algebra, self._result(s, top), e)
        claim = ~s.is_value(0) | (returned.fits & self._near(s, returned))
        leaves.use(self._laws, claim, known, "the register is zero")

    def _bounded_places(self, cases: range) -> None:
        leaves = Leaves(self._algebra)
        s, top, e, known = self._meant(leaves)
        d = self._result(s, top)
        places = self._places(d, e)
        within = [places == x for x in cases]
        claim = self._algebra.any_of([d.infinite, d.nan, s.is_value(0), *within])
        leaves.use(self._laws, claim, known, "the last bit of d")

    def _rounded(self, places: int) -> None:
        """Prove what d is of the register where its last bit lies so many places higher."""
        leaves = Leaves(self._algebra)
        s, top, e, known = self._meant(leaves)
        d = self._result(s, top)
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
        leaves, why = Leaves(algebra), "the bound is as wide as the units"
        top, e = leaves.word(self._e_max), leaves.word(self._e)
        bound = sides.bound_of_terms(algebra, top, e)
        units = algebra.unsigned(sides.units << self._low, bound.width)
        leaves.use(self._laws, bound == units, [e == top], why)
        d = unpack(algebra, sides.rho.target, self._signals.d)
        leaves = Leaves(algebra)
        own = Returned(leaves.truth(returned.fits), leaves.word(returned.value), leaves.word(returned.ulp))
        s, q = leaves.word(self._sum.total), Apart(leaves.word(apart.exact), leaves.word(apart.units))
        b = leaves.word(sides.bound_of_terms(algebra, self._e_max, self._e))
        infinite, nan = leaves.truth(d.infinite), leaves.truth(d.nan)
        known = [
            algebra.any_of([infinite, nan, own.fits & self._near(s, own)]),
            *sums.facts(s, q),
            within(s, self._sum.largest),
            b == units,
        ]
        error, both = sides.sides(own, q.exact, b)
        claim = algebra.any_of([infinite, nan, own.fits & (error < both)])
        leaves.use(self._laws, claim, known, "the error is within its bound")
