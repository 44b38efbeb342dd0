"""Special values: NaN, infinities, overflow and the signs of zeros (Xie et al. 2026, section 4.2)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.readings import NanCode
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.property import (
    INTEGER,
    UNSTATED,
    Ask,
    Property,
    PropertyVerdict,
    SimpleProperty,
    is_aligned,
)
from mmaproof.properties.question import RunQuestion, Scope
from mmaproof.properties.settings import with_other_value
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.algebra.words import with_top_exponent
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, dot_product_accumulate
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.trace import evaluate

NO_SUMS = "each of its operations rounds: no sum of aligned terms is converted"


class _OfClasses(RunQuestion):
    """A question about d where the classes of the operands are of some kind."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the classes of the operands are those that are meant."""
        a, b = (
            [unpack(algebra, f, x) for x in column]
            for f, column in zip(self.formats[:2], (operands.a, operands.b), strict=True)
        )
        c = unpack(algebra, self.formats[2], operands.c)
        scales: list[Unpacked[D, T]] = []
        if self.scale_format is not None:
            scales = [unpack(algebra, self.scale_format, x) for x in (*operands.scale_a, *operands.scale_b)]
        return self.meant(algebra, list(zip(a, b, strict=True)), c, scales)

    @abstractmethod
    def meant(
        self,
        algebra: Algebra[D, T],
        products: Sequence[tuple[Unpacked[D, T], Unpacked[D, T]]],
        c: Unpacked[D, T],
        scales: Sequence[Unpacked[D, T]],
    ) -> Truth[T]:
        """Return whether the question is about operands of these classes."""

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is NaN."""
        return unpack(algebra, self.design.d_format, results[0].d).nan


class _AnyNan(_OfClasses):
    def meant(
        self,
        algebra: Algebra[D, T],
        products: Sequence[tuple[Unpacked[D, T], Unpacked[D, T]]],
        c: Unpacked[D, T],
        scales: Sequence[Unpacked[D, T]],
    ) -> Truth[T]:
        """Return whether any operand is NaN."""
        return algebra.any_of([x.nan for x in (*(f for pair in products for f in pair), c, *scales)])


class _InvalidProduct(_OfClasses):
    def meant(
        self,
        algebra: Algebra[D, T],
        products: Sequence[tuple[Unpacked[D, T], Unpacked[D, T]]],
        c: Unpacked[D, T],
        scales: Sequence[Unpacked[D, T]],
    ) -> Truth[T]:
        """Return whether no operand is NaN and some product is infinity times zero."""
        invalid = [algebra.all_of([x.infinite, y.zero]) for a, b in products for x, y in ((a, b), (b, a))]
        nans = [x.nan for x in (*(f for pair in products for f in pair), c, *scales)]
        return algebra.all_of([algebra.any_of(invalid), algebra.negation(algebra.any_of(nans))])


class _OppositeInfinities(_OfClasses):
    def meant(
        self,
        algebra: Algebra[D, T],
        products: Sequence[tuple[Unpacked[D, T], Unpacked[D, T]]],
        c: Unpacked[D, T],
        scales: Sequence[Unpacked[D, T]],
    ) -> Truth[T]:
        """Return whether there are infinities of both signs among the products of no NaN and no zero, and c."""
        elements = [f for pair in products for f in pair]
        nans = algebra.any_of([x.nan for x in (*elements, c, *scales)])
        zeros = algebra.any_of([x.zero for x in elements])
        infinities = [(c.infinite, c.negative)]
        for a, b in products:
            infinities.append((algebra.any_of([a.infinite, b.infinite]), algebra.exclusive_or(a.negative, b.negative)))
        positive = algebra.any_of([algebra.all_of([i, algebra.negation(n)]) for i, n in infinities])
        negative = algebra.any_of([algebra.all_of([i, n]) for i, n in infinities])
        return algebra.all_of([positive, negative, algebra.negation(algebra.any_of([nans, zeros]))])


class _GivesNan(SimpleProperty):
    """Some operands give NaN."""

    witness = "such operands, whose d is not a NaN"
    source = "Xie et al. 2026, section 4.2"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a design that has no NaN."""
        return design.change(nan_code="largest-finite")


class NanPropagates(_GivesNan):
    """A NaN operand gives NaN."""

    name = "nan-propagates"
    feature = "NaN operands give NaN"
    statement = "d is NaN for all operands of which one is NaN"

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that it does."""
        return _AnyNan(design, scope)


class InvalidProducts(_GivesNan):
    """Infinity times zero gives NaN."""

    name = "invalid-products"
    feature = "infinity times zero gives NaN"
    statement = "d is NaN for all operands without NaN of which one product is an infinity times a zero"

    def why_not(self, design: Design) -> str | None:
        """Return that no element is infinite."""
        return super().why_not(design) or _no_infinite_element(design)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that it does."""
        return _InvalidProduct(design, scope)


class OppositeInfinities(_GivesNan):
    """Infinities of both signs give NaN."""

    name = "opposite-infinities"
    feature = "infinities of both signs give NaN"
    statement = (
        "d is NaN for all operands without NaN and without zero elements of a and b, with infinities of both signs "
        "among the products and c"
    )

    def why_not(self, design: Design) -> str | None:
        """Return that no element is infinite."""
        return super().why_not(design) or _no_infinite_element(design)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that they do."""
        return _OppositeInfinities(design, scope)


def _no_infinite_element(design: Design) -> str | None:
    if design.a_format.infinity is None and design.b_format.infinity is None:
        return f"{design.a_format.name} and {design.b_format.name} have no infinity"
    return None


class FiniteGivesNumbers(SimpleProperty):
    """Finite operands never give NaN."""

    name = "finite-operands-give-numbers"
    feature = "finite operands never give NaN"
    statement = "d is not a NaN for all finite operands of one step"
    witness = "finite operands whose d is NaN"
    source = "Xie et al. 2026, section 4.2 (products of 2^128 and more on CDNA3)"
    specimen = "cdna3/v_mfma_f32_32x32x4_2b_bf16"

    def mutant(self, design: Design) -> Design:
        """Return a design whose large products are infinities, or are not."""
        return with_other_value(design, "product_limit", "none", "128")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that they do not."""
        return _FiniteIsNumber(design, scope)


class _FiniteIsNumber(RunQuestion):
    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, operands)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is a number."""
        return algebra.negation(unpack(algebra, self.design.d_format, results[0].d).nan)


class _OneCode(RunQuestion):
    """Every NaN result has one code."""

    def __init__(self, design: Design, scope: Scope, code: int) -> None:
        super().__init__(design, scope)
        self.code = code

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is not NaN or has the code."""
        d = results[0].d
        nan = unpack(algebra, self.design.d_format, d).nan
        return algebra.any_of([algebra.negation(nan), algebra.is_value(d, self.code)])


class NanCodes(Property):
    """Every NaN result is NVIDIA's code, all ones except the sign. The value is the design's code."""

    name = "nan-code"
    feature = "NaN results are 0x7fff...; what a NaN c gives"
    statement = (
        "d is NaN only as the pattern of all ones but the sign; the value is the code that a NaN c gives, or a NaN "
        "element where the format of c has none; no value where no operand can be NaN"
    )
    witness = "operands whose d is another NaN"
    source = "Xie et al. 2026, section 4.2"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a design with another code."""
        return with_other_value(design, "nan_code", "all-ones", "quiet")

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask whether every NaN is all ones, and look at what a NaN operand gives."""
        fmt, operands = design.d_format, _with_nan(design)
        code = None if operands is None else fmt.hex(evaluate(design.one_step(), operands))
        question = _OneCode(design, scope, NanCode.ALL_ONES.pattern(fmt))
        answer = ask(question, self.feature)
        runs = () if answer.witness is None else question.witness_runs(answer.witness)
        return PropertyVerdict(answer.status, code, runs, answer.reason, {self.feature: answer})


def _with_nan(design: Design) -> Operands | None:
    """Return operands of one step that are +0, with scales of one, and c a NaN, or an element; None if none can be."""
    step = design.one_step()
    zeros = (0,) * step.k
    blocks = step.blocks(step.k)
    scales = () if step.scale_format is None else (step.scale_format.encode(1),) * blocks
    nans = [f.quiet_nan if f.infinity is None else NanCode.ALL_ONES.pattern(f) for f in design.formats[:3]]
    of_a, of_b, of_c = (0 if x is None else x for x in nans)
    if of_c:
        return Operands(zeros, zeros, of_c, scales, scales)
    return Operands((of_a, *zeros[1:]), (of_b, *zeros[1:]), 0, scales, scales) if of_a or of_b else None


class _OfSum(RunQuestion):
    """A question about what a sum of finite operands is converted to."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite and their sum is one that is meant."""
        step = dot_product_accumulate(self.asked(self.design), algebra, operands).steps[-1]
        special = algebra.any_of([step.special.nan, step.special.infinite])
        finite = self.finite(algebra, operands)
        return algebra.all_of([finite, algebra.negation(special), self.meant(algebra, step)])

    @abstractmethod
    def meant(self, algebra: Algebra[D, T], step: StepSignals[D, T]) -> Truth[T]:
        """Return whether the question is about this sum."""

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is +0."""
        return algebra.is_value(results[0].d, 0)


class _ZeroSum(_OfSum):
    def meant(self, algebra: Algebra[D, T], step: StepSignals[D, T]) -> Truth[T]:
        """Return whether the sum is exactly zero."""
        return algebra.is_value(step.total, 0)


class _NegativeToZero(_OfSum):
    def meant(self, algebra: Algebra[D, T], step: StepSignals[D, T]) -> Truth[T]:
        """Return whether the sum is negative and d a zero."""
        negative = algebra.less(step.total, algebra.signed(0))
        return algebra.all_of([negative, unpack(algebra, self.design.d_format, step.d).zero])


class _Overflow(_OfSum):
    def meant(self, algebra: Algebra[D, T], step: StepSignals[D, T]) -> Truth[T]:
        """Return whether the sum has a magnitude of 2**(e_max + 1) of d's format or more."""
        _, exponent = with_top_exponent(algebra.magnitude(step.total), step.e_max, step.sums[-1].fraction_bits)
        nonzero = algebra.negation(algebra.is_value(step.total, 0))
        return algebra.all_of([nonzero, algebra.less(algebra.signed(self.design.d_format.e_max), exponent)])

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is the infinity of the sum's sign."""
        result, fmt = results[0], self.design.d_format
        negative: Truth[T] = algebra.less(result.steps[-1].total, algebra.signed(0))
        d = unpack(algebra, fmt, result.d)
        same_sign = algebra.negation(algebra.exclusive_or(d.negative, negative))
        return algebra.all_of([d.infinite, same_sign])


class _Converted(SimpleProperty):
    """What rho makes of some sums."""

    specimen = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"

    def why_not(self, design: Design) -> str | None:
        """Return that no sum is converted to the result."""
        if design.d_format.is_integer:
            return INTEGER
        if is_aligned(design):
            return NO_SUMS if design.adds_c_last else None
        return NO_SUMS if design.guarantees(Guarantee.CONVERTED_BY_RHO) else UNSTATED


class OverflowToInfinity(_Converted):
    """A sum beyond the output format becomes an infinity."""

    name = "overflow-to-infinity"
    feature = "overflow gives infinity"
    statement = "d is the infinity of the sum's sign where |sum| >= 2^(e_max + 1) of d's format, for finite operands"
    witness = "finite operands whose sum is beyond the format, and whose d is not such an infinity"
    source = "Xie et al. 2026, section 4.2; open point 6"

    def why_not(self, design: Design) -> str | None:
        """Return that d has no infinities, or that no sum is converted to it."""
        fmt = design.d_format
        return f"{fmt.name} has no infinity" if fmt.infinity is None and not fmt.is_integer else super().why_not(design)

    def mutant(self, design: Design) -> Design:
        """Return a design that saturates."""
        return design.change(overflow="largest-finite")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that it does."""
        return _Overflow(design, scope)


class ZeroSumPositive(_Converted):
    """An exactly zero sum is +0."""

    name = "zero-sum-positive"
    feature = "a sum of exactly zero is +0"
    statement = "d = +0 where the sum of the aligned terms is zero, for finite operands"
    witness = "finite operands whose sum is zero and whose d is not +0"
    source = "Xie et al. 2026, section 4.2; IEEE 754 for FMA chains"

    def mutant(self, design: Design) -> Design:
        """Return a design with the other sign of a sum of negative zeros."""
        return with_other_value(design, "zero_sum", "positive", "ieee")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that it is."""
        return _ZeroSum(design, scope)


class UnderflowSign(_Converted):
    """A negative sum that converts to zero is +0."""

    name = "underflow-sign"
    feature = "a negative sum that converts to zero is +0"
    statement = "d = +0 where the sum is negative and d a zero, for finite operands"
    witness = "finite operands whose sum is negative and whose d is -0"
    source = "open point 7: publications disagree"

    def mutant(self, design: Design) -> Design:
        """Return a design of the other reading."""
        return with_other_value(design, "negative_zero", "negative", "positive")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that it is."""
        return _NegativeToZero(design, scope)
