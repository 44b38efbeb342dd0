"""The a-priori bound on the error of one step, and how closely it is reached (Xie et al. 2026, table 9)."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.property import Ask, Property, PropertyVerdict, has_single_sum, kept_bits, why_not_aligned
from mmaproof.properties.question import Argument, RunQuestion, Scope, of_one_step
from mmaproof.properties.settings import places_of_terms
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.error_steps import ErrorSteps
from mmaproof.smt.proving.cuts import WIDE, conversion_errors, cut_bounds, cut_errors
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, dot_product_accumulate
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.step_error import Returned, StepError
from mmaproof.smt.semantics.terms import ZERO_EXPONENT, Term
from mmaproof.smt.solving.verdict import Status

_ARRAYS = ArrayAlgebra()
SPARE_PLACES = 8
"""Places more than numbers have: a product that is normalised first may have a larger exponent, by two at most."""


class WithinBound(RunQuestion):
    """For finite operands and d: ``|d - exact| < (L + 1) * 2**(e_max - F) + u``.

    e_max is as the design computes it. u is one ulp (half an ulp for rounding to nearest) in the precision p of rho,
    and an ulp is ``2**(max(e_d, e_min) - p)``. If products are cut in parts, L is the number of these.
    """

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, operands)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the error is below the bound, or d is not finite."""
        d = unpack(algebra, self.design.d_format, results[0].d)
        (step,) = results[0].steps
        sides = self.step_error(step.terms)
        return sides.within(algebra, d, *self._words(algebra, sides, step, d))

    def step_error(self, terms: Sequence[Term[D, T]]) -> StepError:
        """Return what the two sides of the claim are, for the terms of a step."""
        design, scale = self.design, self.design.scale_format
        return StepError.of(
            terms,
            design.step.conversion,
            kept_bits=kept_bits(design),
            cut_terms=design.step.cut_terms,
            places=self._places(),
            least=design.a_format.e_min + design.b_format.e_min + (0 if scale is None else 2 * scale.e_min),
        )

    def _places(self) -> int:
        """Return N places that all bits of terms and of d, a unit and an ulp lie in them, whatever zeros read."""
        design = self.design
        highest, lowest = places_of_terms(design)
        read = (ZERO_EXPONENT, *(design.step.other_exponents(design.c_format, design.d_format) or ()))
        return max(highest, *read) - min(lowest, *read) + kept_bits(design) + SPARE_PLACES

    def _words(
        self, algebra: Algebra[D, T], sides: StepError, step: StepSignals[D, T], d: Unpacked[D, T]
    ) -> tuple[Returned[D, T], Word[D], Word[D]]:
        """Return d, the exact sum, and the bound without the ulp."""
        e = sides.exponent(algebra, step.e_max)
        total = sides.total(algebra, [sides.exact(algebra, t, e) for t in step.terms])
        return sides.returned(algebra, d, e), total, sides.bound_of_terms(algebra, step.e_max, e)

    @property
    def _is_asked(self) -> bool:
        """Whether one step is one sum that its register holds, and results are not flushed, which u leaves out."""
        needed = (Guarantee.EXACT_SUM, Guarantee.SUBNORMAL_RESULTS)
        return has_single_sum(self.design) and self.design.guarantees(*needed) and self.is_one_step

    @property
    def decides_by_argument(self) -> bool:
        """Whether the sum is so narrow that the error of its conversion is one lemma."""
        return self._is_asked and self.symbolic_step().sums[0].total.width <= WIDE

    def argument(self) -> Argument | None:
        """Return why cuts and the conversion move a sum by less than the bound; None if they may move it by more."""
        return self._bounded if self.decides_by_argument else None

    def lemmas(self) -> Sequence[Lemma]:
        """Return lemmas of a wide sum: a cut moves each term by less than a unit, and rho their sum by at most u."""
        if not self._is_asked or self.decides_by_argument:
            return ()
        (total,) = self.symbolic_step().sums
        return [*cut_errors(total), *cut_bounds(total), *conversion_errors(self.design, total)]

    def _bounded(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        steps = dot_product_accumulate(self.asked(self.design), algebra, self.symbols(algebra)).steps
        if len(steps) != 1 or len(steps[0].sums) != 1:
            raise NotComposedError("terms that pass through several sums")
        ErrorSteps(kernel, steps[0], self.step_error(steps[0].terms), self.formula.precondition).prove()

    def tightness(self, batch: OperandBatch) -> npt.NDArray[np.float64]:
        """Return error / bound of each row, 0 where the row is not meant; shape (rows,)."""
        words = self.array_words(batch)
        result = dot_product_accumulate(self.asked(self.design), _ARRAYS, words)
        (step,) = result.steps
        d = unpack(_ARRAYS, self.design.d_format, result.d)
        sides = self.step_error(step.terms)
        error, bound = sides.sides(*self._words(_ARRAYS, sides, step, d))
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
