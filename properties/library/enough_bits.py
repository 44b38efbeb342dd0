"""How many fraction bits are enough: the least number with which no operands give another result.

Two designs that differ only in their number of fraction bits return the same where no term loses a bit with the fewer
of them (``EnoughBitsSteps``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mmaproof.designs.arithmetic import differing_parameters, same_chain
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.against_exact import product_bits
from mmaproof.properties.library.special_case import NothingBesideC
from mmaproof.properties.preconditions import Exponents, Precondition, ZeroAccumulator
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
from mmaproof.properties.question import Argument, Question, SameResults, Scope, SpecialCase, of_one_step
from mmaproof.properties.settings import whole_range
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.close_terms_steps import EnoughBitsSteps
from mmaproof.smt.bundles.leaves import use_equal_results
from mmaproof.smt.proving.cuts import kind_of
from mmaproof.smt.proving.kernel import Kernel, conjuncts
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.patterns import is_finite
from mmaproof.smt.solving.verdict import Status

_SAME_NUMBERS = (Guarantee.EXACT_SUM, Guarantee.OWN_CUTS)
"""The guarantees by which terms that lose nothing are the same numbers, and so is their sum."""
ENOUGH_TERMS = 2
"""Products of a step beside which every term loses what it loses in a step of more products."""


def argument_of_bits(question: Question, first: Design, second: Design) -> Argument | None:
    """Return that no term loses a bit, and what follows, as steps; None where the designs are not so alike."""
    if differing_parameters(first, second) != {"fraction_bits"} or not same_chain(first, second, question.k):
        return None
    fewer, more = sorted((first, second), key=kept_bits)
    if not has_single_sum(fewer) or not fewer.guarantees(*_SAME_NUMBERS):
        return None

    def argument(kernel: Kernel) -> None:
        algebra, assumed = TermAlgebra(kernel.environment), question.formula.precondition
        operands = question.symbols(algebra)
        few, wide = (dot_product_accumulate(x, algebra, operands) for x in (fewer, more))
        known = [Truth(x, algebra) for x in ([] if assumed is None else conjuncts(assumed))]
        columns = zip(question.formats[:2], (operands.a, operands.b), strict=True)
        words = [(f, x) for f, column in columns for x in column]
        if question.scale_format is not None:
            words += [(question.scale_format, x) for x in (*operands.scale_a, *operands.scale_b)]
        numbers = [(x, is_finite(algebra, f, x)) for f, x in words]
        for pair in zip(few.steps, wide.steps, strict=True):
            c = [operands.c, operands.c]
            source, of_c = pair[0].path.c.step, fewer.c_format
            if source is not None:
                c, of_c = [x.steps[source].d for x in (few, wide)], fewer.d_format
            bounds = _highest(fewer, of_c, question.where if source is None else ())
            highest = [bounds[kind_of(label)] for label in pair[0].sums[-1].labels]
            every = [*numbers, (c[0], is_finite(algebra, of_c, c[0]))]
            floor = bounds["floor"]
            EnoughBitsSteps(kernel, pair, every, highest, floor, (c[0], c[1]), known).prove()
        use_equal_results(kernel, few.d, partial(equal_results, algebra, first.d_format))

    return argument


def _highest(design: Design, of_c: Format, where: Sequence[Precondition]) -> dict[str, int]:
    """Return bounds of the exponents of terms by their kind, and what e_max may be at most besides. They are proved."""
    a, b, c = (_range(f, where)[1] for f in (design.a_format, design.b_format, of_c))
    scale = 0 if design.scale_format is None else 2 * design.scale_format.e_max
    products = (scale if design.step.has_scaled_groups else a + b + scale) + (
        0 if design.guarantees(Guarantee.SUMMED_EXPONENTS) else 1
    )
    read = max(design.step.other_exponents(design.c_format, design.d_format) or (products,))
    return {"products": products, "c": products if ZeroAccumulator() in where else c, "floor": read}


class SameWithBits(SameResults):
    """d with N fraction bits is d with enough of them for every bit of every term."""

    def __init__(self, design: Design, scope: Scope, fraction_bits: int) -> None:
        super().__init__(design, scope)
        every_bit = whole_range(design) + product_bits(design)
        self.pair = with_bits(design, fraction_bits), with_bits(design, max(every_bit, fraction_bits + 1))

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return a run with these bits, and one with enough."""
        return [(design, operands) for design in self.pair]

    def special_case(self) -> SpecialCase:
        """Return the question about few products: a witness of more is simplified to them."""
        return NothingBesideC(self, min(ENOUGH_TERMS, self.k)).as_case()

    def argument(self) -> Argument | None:
        """Return that no term loses a bit, as steps."""
        return argument_of_bits(self, *map(self.asked, self.pair))

    @property
    def decides_by_argument(self) -> bool:
        """Whether all terms are in one sum, which its register holds."""
        return self.argument() is not None


def with_bits(design: Design, fraction_bits: int) -> Design:
    """Return the design with N fraction bits: itself if it has as many."""
    return design if kept_bits(design) == fraction_bits else design.change(fraction_bits=fraction_bits)


class FractionBitsSufficient(Property):
    """The design keeps as many fraction bits as can be observed. The value is the least number that is enough."""

    name = "fraction-bits-sufficient"
    feature = "fraction bits that would be enough"
    statement = (
        "the least F with which d(a, b, c) is that of the design with enough fraction bits for every bit of every "
        "term; holds where d of the design is that"
    )
    witness = "operands for which more fraction bits than the design has give another d"
    limit = "operands for which one fraction bit fewer than the value gives another d"
    source = "DeepSeek-AI 2024, DeepSeek-V3, 3.5.2: at least 34 bits for 32 products of fp8 (of e4m3, where c = 0)"
    specimen = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3@fraction_bits=165,L=2"

    def why_not(self, design: Design) -> str | None:
        """Return that terms pass through more than one sum, or none."""
        return super().why_not(design) or (None if has_single_sum(design) else why_not_aligned(design))

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask at F, then at the number that the ranges of exponents suggest and at those beside it."""
        scope = of_one_step(self.name, design, scope)
        answers: dict[str, QuestionVerdict] = {}
        found: dict[int, QuestionVerdict] = {}
        witnesses: dict[int, Operands] = {}

        def enough(bits: int) -> Status:
            if bits in found:
                return found[bits].status
            what = f"F = {bits} is enough"
            found[bits] = answers[what] = answer = ask(SameWithBits(design, scope, bits), what)
            if answer.witness is not None:
                witnesses[bits] = answer.witness
            return answer.status

        own = kept_bits(design)
        status = enough(own)
        if status not in (Status.PROVED, Status.REFUTED):
            return PropertyVerdict(status, reason=first_reason(list(found.values())), answers=answers)
        least = max(expected_bits(design, scope.where), 1)
        while enough(least) is Status.REFUTED:
            least += 1
        while least > 1 and enough(least) is enough(least - 1) is Status.PROVED:
            least -= 1
        known = enough(least) is Status.PROVED and (least == 1 or enough(least - 1) is Status.REFUTED)
        if status is Status.PROVED and not known:
            return PropertyVerdict(Status.UNKNOWN, reason=first_reason(list(found.values())), answers=answers)
        shown = own if status is Status.REFUTED else least - 1
        runs = SameWithBits(design, scope, shown).witness_runs(witnesses[shown]) if shown in witnesses else ()
        return PropertyVerdict(status, least if known else None, runs, answers=answers)

    def mutant(self, design: Design) -> Design:
        """Return the design with one bit, or with enough for every bit if it has no more."""
        return with_bits(design, 1 if kept_bits(design) > 1 else whole_range(design) + product_bits(design))


def expected_bits(design: Design, where: Sequence[Precondition]) -> int:
    """Return the distance from the highest exponent of a term to the lowest bit of another one.

    It is where questions start, and proves nothing. Preconditions that are not about exponents, or c = 0, are ignored.
    """
    a, b, c = (_range(f, where) for f in design.formats[:3])
    products = a[0] + b[0], a[1] + b[1]
    if design.scale_format is not None:
        scale = _range(design.scale_format, ())
        products = products[0] + 2 * scale[0], products[1] + 2 * scale[1]
    distances = [product_bits(design)]
    if design.step.L > 1:
        distances.append(products[1] - products[0])
    if ZeroAccumulator() not in where:
        distances += [products[1] - c[0], c[1] - products[0], design.c_format.fraction_bits]
    return max(distances)


def _range(fmt: Format, where: Sequence[Precondition]) -> tuple[int, int]:
    """Return the exponents of the lowest bit and of the highest one that a number of a format has."""
    windows = [x for x in where if isinstance(x, Exponents)]
    low = max([fmt.e_min, *(x.low for x in windows)]) - fmt.fraction_bits
    return low, min([fmt.e_max, *(x.high for x in windows)])
