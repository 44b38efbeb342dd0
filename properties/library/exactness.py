"""How far apart the terms of a step may lie so that nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.against_exact import product_bits
from mmaproof.properties.property import (
    Ask,
    Property,
    PropertyVerdict,
    QuestionVerdict,
    first_reason,
    has_single_sum,
    kept_bits,
    why_not_aligned,
)
from mmaproof.properties.question import Argument, RunQuestion, SameResults, Scope, of_one_step
from mmaproof.properties.settings import exact_twin, whole_range
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.close_terms_steps import CloseTermsSteps
from mmaproof.smt.bundles.leaves import use_equal_results
from mmaproof.smt.proving.cuts import ConversionOfValue, CutIsExact, cut_bounds, cut_terms, kind_of
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, dot_product_accumulate, equal_results
from mmaproof.smt.solving.verdict import Status

_SUM_OF_NUMBERS = (
    *(Guarantee.EXACT_SUM, Guarantee.FINITE_PRODUCTS, Guarantee.CONVERTED_BY_RHO),
    *(Guarantee.SUBNORMAL_OPERANDS, Guarantee.SUBNORMAL_RESULTS),
)
"""What a step must guarantee for its terms to be the operands' products and c, and for rho of its sum to be d."""


class WithinSpread(SameResults):
    """Where nonzero products lie at most ``products`` below e_max, and c at most ``c``, d is rho of the exact sum.

    None means that those terms are zero. e_max is as the design computes it, exponents are un-normalised, and operands
    are finite.

    No term loses anything in its cut then, so the sum is the exact one (``CloseTermsSteps``). Where the exact design
    has other products, lemmas say so: the sum of the cut terms is within the bound of its register, and rho of it
    depends only on its value, so it is the rho of the exact sum that a wider design computes.
    """

    def __init__(self, design: Design, scope: Scope, products: int | None, c: int | None) -> None:
        super().__init__(design, scope)
        self.spreads = {"products": products, "c": c}
        whole = exact_twin(design)
        if design.step.group_size is None:
            enough = max(_lowest_bit(design, kind) + (spread or 0) for kind, spread in self.spreads.items())
            if not design.guarantees(Guarantee.SUMMED_EXPONENTS):
                # the exact design does not normalise products: its e_max is up to so much higher
                enough += product_bits(design)
            if not design.guarantees(Guarantee.UNCHANGED_OPERANDS):
                # nor does it convert subnormal elements: likewise
                enough += design.a_format.fraction_bits + design.b_format.fraction_bits
            whole = exact_twin(design, min(max(enough, 1), kept_bits(whole)))
        self.exact = whole

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the design, and one that keeps every bit of terms so close together."""
        return (self.design, operands), (self.exact, operands)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite and the terms lie within the spreads."""
        step = dot_product_accumulate(self.asked(self.design), algebra, operands).steps[0]
        return algebra.all_of([self.finite(algebra, operands), _near(algebra, step, self.spreads)])

    def lemmas(self) -> Sequence[Lemma]:
        """Return what the class describes, unless the register may wrap or a term or result is another number."""
        design = self.design
        if not has_single_sum(design) or not design.guarantees(*_SUM_OF_NUMBERS) or not self.is_one_step:
            return ()
        (total,) = self.symbolic_step().sums
        kinds = cut_terms(total)
        exact = [CutIsExact(k, *kinds[k], s) for k, s in self.spreads.items() if s is not None]
        return [*exact, *cut_bounds(total), ConversionOfValue(design, total)]

    @property
    def decides_by_argument(self) -> bool:
        """Whether there are lemmas, and the exact design has the same products: neither normalised nor widened."""
        same = self.design.guarantees(Guarantee.SUMMED_EXPONENTS, Guarantee.UNCHANGED_OPERANDS)
        return same and bool(self.lemmas())

    def argument(self) -> Argument:
        """Return that the step returns what its exact twin does, because no term loses anything."""
        return self._lose_nothing

    def _lose_nothing(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        runs = self.runs(algebra, self.symbols(algebra))
        found = [dot_product_accumulate(self.asked(design), algebra, operands) for design, operands in runs]
        if any(len(x.steps) != 1 or len(x.steps[0].sums) != 1 for x in found):
            raise NotComposedError("terms that pass through several sums")
        ((step,), (wide,)) = (x.steps for x in found)
        kinds, (a, b, c) = [kind_of(label) for label in step.sums[-1].labels], self.formats
        least = {"products": a.e_min + b.e_min, "c": c.e_min}
        CloseTermsSteps(kernel, step, wide, [self.spreads[k] for k in kinds], [least[k] for k in kinds]).prove()
        use_equal_results(kernel, found[0].d, partial(equal_results, algebra, self.design.d_format))


class NeverFurther(RunQuestion):
    """No nonzero term of one kind lies further than ``spread`` below e_max, whatever the finite operands."""

    def __init__(self, design: Design, scope: Scope, kind: str, spread: int) -> None:
        super().__init__(design, scope)
        self.spreads = {kind: spread}

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, operands)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether every such term lies within the spread."""
        return _near(algebra, results[0].steps[0], self.spreads)


def _near(algebra: Algebra[D, T], step: StepSignals[D, T], spreads: Mapping[str, int | None]) -> Truth[T]:
    """Return whether the nonzero terms of each kind lie at most its spread below e_max (None: are zero)."""
    (total,) = step.sums
    kinds = map(kind_of, total.labels)
    near = [t.lies_near(total.e_max, spreads[k]) for t, k in zip(total.terms, kinds, strict=True) if k in spreads]
    return algebra.all_of(near)


def _lowest_bit(design: Design, kind: str) -> int:
    """Return how far below its exponent the lowest bit of a product, or of c, lies."""
    return product_bits(design) if kind == "products" else design.c_format.fraction_bits


class _Exactness(Property):
    """The largest spread of terms of one kind for which d = rho(exact sum), with the other kind within its own."""

    kind: ClassVar[str]
    other: ClassVar[str]
    witness = "terms at spread 0 for which d is not rho of the exact sum"
    limit = "terms one further apart than the value, for which d is not rho of the exact sum"
    source = "Xie et al. 2026, section 6.1; Fasi et al. 2021, Accuracy of the dot products"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def why_not(self, design: Design) -> str | None:
        """Return that terms pass through more than one sum, or none, or are multiplied with a power of two."""
        return super().why_not(design) if has_single_sum(design) else why_not_aligned(design)

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask at the spread for which F leaves room, then one further. Step on if that was not the largest."""
        scope = of_one_step(self.name, design, scope)
        answers: dict[str, QuestionVerdict] = {}

        def within(spread: int) -> tuple[RunQuestion, QuestionVerdict]:
            spreads = {self.kind: spread, self.other: self._expected(design, self.other)}
            question = WithinSpread(design, scope, spreads["products"], spreads["c"])
            what = f"{self.kind} at most {spread} below e_max"
            answers[what] = ask(question, what)
            return question, answers[what]

        most = whole_range(design)
        spread = min(max(self._expected(design, self.kind) or 0, 0), most)
        question, answer = within(spread)
        while answer.status is Status.REFUTED and spread > 0:
            spread -= 1
            question, answer = within(spread)
        if answer.status is Status.REFUTED:
            runs = question.witness_runs(answer.witness) if answer.witness else ()
            return PropertyVerdict(Status.REFUTED, "none", runs, answers=answers)
        if answer.status is Status.PROVED:
            beyond = f"no {self.kind} further than {spread} below e_max"
            answers[beyond] = ask(NeverFurther(design, scope, self.kind, spread), beyond)
            if answers[beyond].status is Status.PROVED:
                return PropertyVerdict(Status.PROVED, "any", answers=answers)
            question, answer = within(min(spread + 1, most))
        if answer.status is Status.PROVED and spread + 1 < most:
            _, anywhere = within(most)
            if anywhere.status is Status.PROVED:
                return PropertyVerdict(Status.PROVED, "any", answers=answers)
        while answer.status is Status.PROVED and spread + 1 < most:
            spread += 1
            question, answer = within(spread + 1)
        if answer.status is Status.REFUTED and answer.witness is not None:
            return PropertyVerdict(Status.PROVED, spread, question.witness_runs(answer.witness), answers=answers)
        if answer.status is Status.PROVED:
            return PropertyVerdict(Status.PROVED, "any", answers=answers)
        return PropertyVerdict(answer.status, reason=first_reason(list(answers.values())), answers=answers)

    @staticmethod
    def _expected(design: Design, kind: str) -> int | None:
        """Return the spread at which the lowest bit of a term is the last one kept; None below zero."""
        spread = kept_bits(design) - _lowest_bit(design, kind)
        return spread if spread >= 0 else None

    def mutant(self, design: Design) -> Design:
        """Return a design with too few fraction bits for any term: there is no such spread."""
        return design.change(fraction_bits=1)


class ExactnessOfProducts(_Exactness):
    """Products that lie within the value below e_max lose nothing."""

    name = "exactness-of-products"
    feature = "products are exact up to this far below e_max"
    statement = (
        "the largest s with d = rho(exact sum) for all finite operands with e_max - e_k <= s for every nonzero product "
        "and e_max - e_c <= s_c for a nonzero c (s_c as exactness-of-c; c = 0 where that is none)"
    )
    kind, other = "products", "c"


class ExactnessOfC(_Exactness):
    """An accumulator that lies within the value below e_max loses nothing."""

    name = "exactness-of-c"
    feature = "c is exact up to this far below e_max"
    statement = (
        "the largest s with d = rho(exact sum) for all finite operands where e_max - e_c <= s for a nonzero c, "
        "and e_max - e_k <= s_p for every nonzero product (s_p as exactness-of-products; all 0 where it is none)"
    )
    kind, other = "c", "products"
