"""The a-priori bound on the error of one step, and how closely it is reached (Xie et al. 2026, table 9)."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
import numpy.typing as npt

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.property import Ask, Property, PropertyVerdict, has_single_sum, kept_bits, why_not_aligned
from mmaproof.properties.run_question import RunQuestion, Scope, of_one_step
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.proving.conversions import conversion_errors
from mmaproof.smt.proving.cuts import cut_bounds, cut_errors
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import unpack
from mmaproof.smt.solving.verdict import Status

_ARRAYS = ArrayAlgebra()


class WithinBound(RunQuestion):
    """For finite operands and d: ``|d - exact| < (L + 1) * 2**(e_max - F) + u``.

    e_max is as the design computes it. u is one ulp (half an ulp for rounding to nearest) in the precision p of rho,
    and an ulp is ``2**(max(e_d, e_min) - p)``. If products are cut in parts, L is the number of these.

    The lemmas add up to the claim as follows. The cut moves each of the L + 1 terms by less than ``2**(e_max - F)``.
    The register holds the sum of the cut terms. rho moves that sum by at most u.
    """

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, operands)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the error is below the bound, or d is not finite."""
        d = unpack(algebra, self.design.d_format, results[0].d)
        fits, error, bound = self.error_and_bound(algebra, results[0])
        return algebra.any_of([d.infinite, d.nan, fits & algebra.less(error, bound)])

    def error_and_bound(self, algebra: Algebra[D, T], result: DotProduct[D, T]) -> tuple[Truth[T], Word[D], Word[D]]:
        """Return whether d is so small that it can be within the bound, and then both sides of the claim.

        They are multiples of ``2**(e - K)``, where e is e_max or the e_min of d, whichever is larger, and K is so large
        that this divides every term, unit and ulp. Every term is below ``2**(e + g - 3)``, and so is their sum. A d of
        ``2**(e + g + 1)`` or more is further away than the bound, which is less than half of it.
        """
        (step,) = result.steps
        terms, rho, fmt = step.terms, self.design.step.conversion, self.design.d_format
        d = unpack(algebra, fmt, result.d)
        no, yes = algebra.truth(False), algebra.truth(True)
        half = rho.rounding in (Rounding.RNE, Rounding.RNA)
        above = sum((t.largest >> t.fraction_bits) + 1 for t in terms).bit_length() + 3
        top = algebra.maximum([step.e_max, algebra.signed(fmt.e_min)])
        lowered = d.exponent - above
        fits = lowered <= top
        exponent = ite(fits, lowered, top)
        count = self.design.step.cut_terms + 1
        unit = Term(kept_bits(self.design), no, step.e_max, algebra.unsigned(count, count.bit_length()), yes, count)
        one = algebra.unsigned(1 << above, above + 1)
        ulp = Term(rho.fraction_bits + half, no, exponent, one, yes, 1 << above)
        significand, largest = d.significand << above, d.largest << above
        returned = Term(d.fraction_bits, d.negative, exponent, significand, yes, largest)
        width = max(x.width for x in (top, exponent, *(t.exponent for t in terms)))
        cut = Cut((1 << width) + max(t.fraction_bits for t in (*terms, unit, ulp, returned)))
        exact = [align(algebra, t, top, cut) for t in terms]
        total = algebra.bounded_sum(exact, max(x.width for x in exact) + len(exact).bit_length())
        error = algebra.subtract(align(algebra, returned, top, cut), total)
        bound = algebra.add(*(algebra.magnitude(align(algebra, t, top, cut)) for t in (unit, ulp)))
        return fits, algebra.magnitude(error), bound

    def lemmas(self) -> Sequence[Lemma]:
        """Return what the class describes, unless the register may wrap."""
        if not has_single_sum(self.design) or not self.design.guarantees(Guarantee.EXACT_SUM) or not self.is_one_step:
            return ()
        (total,) = self.symbolic_step().sums
        return [*cut_errors(total), *cut_bounds(total), *conversion_errors(self.design, total)]

    def tightness(self, batch: OperandBatch) -> npt.NDArray[np.float64]:
        """Return error / bound of each row, 0 where the row is not meant; shape (rows,)."""
        words = self.array_words(batch)
        result = dot_product_accumulate(self.asked(self.design), _ARRAYS, words)
        _, error, bound = self.error_and_bound(_ARRAYS, result)
        d = unpack(_ARRAYS, self.design.d_format, result.d)
        meant = _ARRAYS.all_of(
            [self.precondition(_ARRAYS, words), _ARRAYS.negation(_ARRAYS.any_of([d.infinite, d.nan]))]
        )
        ratios = [
            e / b if m else 0.0
            for e, b, m in np.broadcast(error.data.astype(object), bound.data.astype(object), meant.data)
        ]
        return np.array(ratios)


class ErrorBound(Property):
    """The error of one step is within the bound of Xie et al., table 9."""

    name = "error-bound"
    feature = "error below (L + 1) 2^(e_max - F) + ulp; largest found, as a part of it"
    statement = (
        "|d - exact| < (L + 1) * 2^(e_max - F) + u for all finite operands with finite d; u = one ulp of d in rho's "
        "precision (RZ) or half of one (RNE); L counts the parts where products are cut in parts; the value is the "
        "largest |d - exact| found, divided by the bound"
    )
    witness = "operands for which the error is at least the bound"
    limit = "operands with the largest error found, which is below the bound"
    source = "Xie et al. 2026, section 6.1, table 9"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def why_not(self, design: Design) -> str | None:
        """Return that the bound is of a single fused sum of products that are multiplied with nothing else."""
        return super().why_not(design) if has_single_sum(design) else why_not_aligned(design)

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask whether the bound holds. Then look for the largest error."""
        longer = f"; of long sums: mmaproof tolerance '{design.name}' --k {scope.k} shows the proved bound"
        question = WithinBound(design, of_one_step(self.name, design, scope, longer))
        answer = ask(question, "the bound holds")
        answers = {"the bound holds": answer}
        if answer.witness is not None:
            return PropertyVerdict(answer.status, runs=question.witness_runs(answer.witness), answers=answers)
        if answer.status is not Status.PROVED:
            return PropertyVerdict(answer.status, reason=answer.reason, answers=answers)
        ratio, operands = ask.largest(question, question.tightness)
        # rounded down: the bound itself is never reached
        return PropertyVerdict(
            answer.status, floor(ratio * 1000) / 1000, question.witness_runs(operands), answers=answers
        )

    def mutant(self, design: Design) -> Design:
        """Return a design whose register is too narrow."""
        return design.change(carry_bits=0)
