"""Properties made for tests: their answers are known beforehand."""

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.properties.property import Ask, Property, PropertyVerdict, SimpleProperty
from mmaproof.properties.question import RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.solving.verdict import Status

BF16 = "ampere/mma.m16n8k16.f32.bf16.bf16.f32"
HALF_STEP = f"{BF16}@negative_zero=B"
"""A step of it returns -0, which the next step of the instruction makes +0."""


class _Differs(RunQuestion):
    """d differs from a pattern, in two runs: the design and a design of another name that is the same."""

    def __init__(self, design: Design, scope: Scope, pattern: int, nothing_assumed: bool = True) -> None:
        super().__init__(design, scope)
        self.pattern, self.nothing_assumed = pattern, nothing_assumed

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        return [(self.design, operands), (self.design.change(L=self.design.step.L), operands)]

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        return algebra.truth(self.nothing_assumed)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        pattern = algebra.unsigned(self.pattern, self.design.d_format.bits)
        return algebra.all_of([algebra.negation(algebra.equal(x.d, pattern)) for x in results])


class Never(SimpleProperty):
    """d is never a certain pattern of fp32."""

    feature = "[never]"
    statement = "d(a, b, c) != [pattern] for all operands of one step"
    witness = "operands with d = [pattern]"
    source = "made up"
    specimen = BF16

    name = "never"
    pattern = 0x80000000

    def why_not(self, design: Design) -> str | None:
        return "its d is not fp32" if design.d_format.name != "fp32" else None

    def mutant(self, design: Design) -> Design:
        return design.change(negative_zero="negative")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        return _Differs(design, scope, self.pattern)


class Assuming(Never):
    """The same, assuming what no operands satisfy."""

    name = "assuming"

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        return _Differs(design, scope, self.pattern, nothing_assumed=False)


class Valued(Never):
    """The largest of some patterns that d never is, asked one by one; the value is L."""

    name = "valued"
    feature = "a value"

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        answers = {f"d is never {p:#x}": ask(_Differs(design, scope, p), "") for p in (0x80000000, 0x3F800000)}
        never, one = answers.values()
        assert (never.status, one.status) == (Status.PROVED, Status.REFUTED)
        assert one.witness is not None
        runs = _Differs(design, scope, 0x3F800000).witness_runs(one.witness)
        return PropertyVerdict(Status.PROVED, design.step.L, runs, None, answers)


class Undecided(Property):
    """Nobody knows."""

    name, feature, statement, witness, source, specimen = "undecided", "?", "?", "?", "made up", BF16

    def mutant(self, design: Design) -> Design:
        return design

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        return PropertyVerdict(Status.UNKNOWN, reason="timeout: made up")
