"""More fraction bits than are needed, as steps: a step whose c is zero returns what it returns with more of them.

Both steps have the same terms, and so the same e_max. No exponent is above a bound, so e_max is within it. There no
term loses a bit: this is a lemma about one term. What loses nothing is, with more bits, the same moved up, and so is
the sum, term by term. ``ConvertedAlike`` says that both are converted to the same number.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth
from mmaproof.smt.bundles.close_terms_steps import CloseTermsSteps
from mmaproof.smt.bundles.converted_alike import Case
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.term_facts import at_most, claim_of_operands, prove_largest_exponent
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align, largest_exponent, loses_bits
from mmaproof.smt.semantics.terms import Term


class EnoughBitsSteps(CloseTermsSteps):
    """Proves that a step and one with more fraction bits return the same. Raises NotComposedError.

    ``highest`` is a bound of all exponents, and ``assumed`` holds of the operands.
    """

    def __init__(
        self,
        kernel: Kernel,
        signals: StepSignals[FNode, FNode],
        wide: StepSignals[FNode, FNode],
        highest: int,
        assumed: Sequence[Truth[FNode]],
    ) -> None:
        super().__init__(kernel, signals, wide, (), ())
        self._highest, self._assumed = highest, assumed
        if self._sum.e_max.data is not self._wide.e_max.data:
            raise NotComposedError("the largest exponents differ")

    def prove(self) -> None:
        """Add the steps."""
        for total in (self._sum, self._wide):
            prove_largest_exponent(self._laws, self._algebra, total)
        self._bounded()
        for i, term in enumerate(self._sum.terms):
            self._loses_nothing(i, term)
        self._converted([Case(self._algebra.truth(True), self._more)])

    def _bounded(self) -> None:
        """Prove that e_max is within the bound."""
        path, why = self._sum.path, "no exponent is above the bound"
        for t in self._sum.terms:
            claim_of_operands(self._laws, ~t.present | (t.exponent <= self._highest), self._assumed, why)
        leaves = Leaves(self._algebra)
        own = [leaves.term(t) for t in self._sum.terms]
        known = [~t.present | (t.exponent <= self._highest) for t in own]
        top = largest_exponent(self._algebra, own, path.floor, path.comparator)
        leaves.use(self._laws, top <= self._highest, known, why)

    def _loses_nothing(self, i: int, term: Term[FNode, FNode]) -> None:
        """Prove that a term loses no bit at any exponent within the bound."""
        e, symbols_of = self._sum.e_max, self._laws.environment.fvo.get_free_variables
        symbols = symbols_of(term.significand.data) | symbols_of(term.exponent.data)
        known = [e <= self._highest, ~term.present | (term.exponent <= e)]
        known += [x for x in self._assumed if symbols_of(x.data) <= symbols]
        kept = ~loses_bits(self._algebra, term, e, self._sum.path.cuts[i])
        Leaves(self._algebra).parts(e).use_of(self._laws, kept, known, "no term loses a bit")

    def _aligned(self, case: Case) -> None:
        """Prove that each aligned term is moved up where there are more bits."""
        cuts = (self._sum.path.cuts, self._wide.path.cuts)
        for x, cut, finer in zip(self._sum.terms, *cuts, strict=True):
            leaves = Leaves(self._algebra)
            own, e = leaves.term(x), leaves.word(self._sum.e_max)
            known = [~loses_bits(self._algebra, own, e, cut), ~own.present | (own.exponent <= e)]
            known.append(at_most(own.significand, own.largest))
            claim = case.of_sums(align(self._algebra, own, e, finer), align(self._algebra, own, e, cut))
            leaves.use(self._laws, claim, known, "what loses no bit is moved up")
