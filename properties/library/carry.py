"""Carry bits: how many integer bits the register of the sum needs above those of one product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library.special_case import RepeatedProducts
from mmaproof.properties.property import (
    Ask,
    Property,
    PropertyVerdict,
    QuestionVerdict,
    first_reason,
    is_aligned,
    why_not_aligned,
)
from mmaproof.properties.question import Argument, RunQuestion, SameResults, Scope, SpecialCase, of_one_step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves, prove_sum_within, within
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, dot_product_accumulate
from mmaproof.smt.semantics.datapath import is_of_products, sum_widths
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.solving.verdict import Status


class SumFits(RunQuestion):
    """For finite operands, the sum of the aligned terms fits a register with N carry bits.

    Every cut term is within the bound that its significand allows. So is each partial sum, within the sum of the bounds
    of its terms, and all of them add up to what the register holds.
    """

    def __init__(self, design: Design, scope: Scope, carry_bits: int) -> None:
        super().__init__(with_carry_bits(design, None), scope)
        self.register = sum_widths(with_carry_bits(design, carry_bits)).register

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, operands)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether every sum of products is a number of the register."""
        return self._fit(algebra, [total.total for total in registers(results[0].steps[0])])

    def _fit(self, algebra: Algebra[D, T], totals: Sequence[Word[D]]) -> Truth[T]:
        fits = []
        for total in totals:
            low, high = (algebra.signed(x) for x in (-(1 << (self.register - 1)), (1 << (self.register - 1)) - 1))
            fits += [algebra.negation(algebra.less(total, low)), algebra.negation(algebra.less(high, total))]
        return algebra.all_of(fits)

    def special_case(self) -> SpecialCase:
        """Return the question about products that are all the same: a solver sees at once whether a sum fits."""
        return RepeatedProducts(self, 0).as_case()

    def argument(self) -> Argument:
        """Return what the class describes."""
        return self._within_bounds

    @property
    def decides_by_argument(self) -> bool:
        """Whether the bounds of the terms add up to less than the register holds."""
        return all(total.largest < 1 << (self.register - 1) for total in registers(self.symbolic_step()))

    def _within_bounds(self, kernel: Kernel) -> None:
        algebra, laws = TermAlgebra(kernel.environment), LawsInUse(kernel)
        steps = dot_product_accumulate(self.asked(self.design), algebra, self.symbols(algebra)).steps
        totals = registers(steps[0])
        bounds = [prove_sum_within(laws, algebra, total) for total in totals]
        leaves = Leaves(algebra)
        words = [leaves.word(total.total) for total in totals]
        known = [within(x, bound) for x, bound in zip(words, bounds, strict=True)]
        leaves.use(laws, self._fit(algebra, words), known, "sums within their bounds fit")


class _SameWith(SameResults):
    """d is the same with one number of carry bits and with another."""

    def __init__(self, design: Design, scope: Scope, fewer: int, more: int) -> None:
        super().__init__(design, scope)
        self.pair = (with_carry_bits(design, fewer), with_carry_bits(design, more))

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return a run with the fewer bits and one with the more."""
        return [(design, operands) for design in self.pair]


def registers(step: StepSignals[D, T]) -> list[FusedSum[D, T]]:
    """Return the sums of a step whose terms are products. The carry bits of a design are those of their registers."""
    return [s for s in step.sums if is_of_products(s.labels[0])]


def with_carry_bits(design: Design, carry_bits: int | None) -> Design:
    """Return the design with a register of N carry bits (None: as many as are needed)."""
    if design.settings["carry_bits"] == carry_bits:
        return design
    changed = design.change(carry_bits=carry_bits)
    if carry_bits is None and "carry_bits" not in design.changed:
        # the register of a question about the sum itself: the design keeps its name
        return replace(changed, changed=design.changed)
    return changed


class CarryBits(Property):
    """The register is wide enough for every sum. The value is the least number of carry bits with which it is."""

    name = "carry-bits"
    feature = "carry bits needed"
    statement = (
        "the least n for which no sum of the aligned terms of finite operands wraps in a register of n carry bits; "
        "holds where the design has as many, so that d is the same with any number above"
    )
    witness = "operands whose sum needs more bits than the design has: with n carry bits d is another"
    limit = "operands whose sum needs all n bits: with one fewer d is another"
    source = "Fasi et al. 2021, Extra bits for carry out; Valpey et al. 2025, section 4.3 and table 4"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def why_not(self, design: Design) -> str | None:
        """Return that there is no register of aligned terms."""
        return None if is_aligned(design) else why_not_aligned(design)

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask at the computed number and at one fewer, then at still fewer as long as these suffice."""
        scope = of_one_step(self.name, design, scope)
        answers: dict[str, QuestionVerdict] = {}

        def fits(bits: int) -> QuestionVerdict:
            what = f"{bits} carry bits suffice"
            answers[what] = ask(SumFits(design, scope, bits), what)
            return answers[what]

        needed = sum_widths(design).sufficient_carry_bits
        enough = fits(needed)
        if enough.status is Status.VACUOUS:
            return PropertyVerdict(Status.VACUOUS, answers=answers)
        if enough.status is not Status.PROVED:
            return PropertyVerdict(Status.UNKNOWN, reason=first_reason([enough]), answers=answers)
        fewer = enough
        while needed > 0:
            fewer = fits(needed - 1)
            if fewer.status is not Status.PROVED:
                break
            needed -= 1
        overflowing = fewer.witness
        if needed > 0 and overflowing is None:
            return PropertyVerdict(Status.UNKNOWN, reason=first_reason([fewer]), answers=answers)
        own = design.settings["carry_bits"]
        wraps = own is not None and own < needed
        if overflowing is None:
            return PropertyVerdict(Status.PROVED, needed, answers=answers)
        same = _SameWith(design, scope, own if wraps and own is not None else needed - 1, needed)
        if not same.is_refuted_by(overflowing):
            # the sum wraps, and d is the same nevertheless: look for another witness
            answers["d is the same with fewer"] = ask(same, "d is the same with fewer")
            overflowing = answers["d is the same with fewer"].witness
        if overflowing is None:
            return PropertyVerdict(Status.UNKNOWN, needed, reason=first_reason([*answers.values()]), answers=answers)
        runs = same.witness_runs(overflowing)
        return PropertyVerdict(Status.REFUTED if wraps else Status.PROVED, needed, runs, answers=answers)

    def mutant(self, design: Design) -> Design:
        """Return a design with one bit too few. DesignError where no register adds aligned terms."""
        if not is_aligned(design):
            raise DesignError(f"{design.name}: {why_not_aligned(design)}")
        return design.change(carry_bits=sum_widths(design).sufficient_carry_bits - 1)
