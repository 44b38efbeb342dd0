"""Scaling by a power of two: the whole datapath moves with the exponents, as long as nothing leaves the range."""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.properties.property import SimpleProperty
from mmaproof.properties.question import Argument, RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.scaled_steps import ScaledSteps, doubled, is_inside, may_move, stays_normal
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.patterns import unpack


class _Doubled(RunQuestion):
    """d of 2a, b, 2c is twice d of a, b, c."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run as given, and with a and c doubled."""
        a = [doubled(algebra, self.formats[0], x) for x in operands.a]
        c = doubled(algebra, self.formats[2], operands.c)
        twice = OperandWords(a, operands.b, c, operands.scale_a, operands.scale_b)
        return (self.design, operands), (self.design, twice)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether all operands are normal, a and c stay so when doubled, and d is inside the normal range.

        A d that is zero says nothing. A nonzero sum may round to zero while its double does not.
        """
        a, b, c = self.formats
        d, fmt = dot_product_accumulate(self.asked(self.design), algebra, operands).d, self.design.d_format
        inside = [stays_normal(algebra, a, x) for x in operands.a]
        for x in operands.b:
            y = unpack(algebra, b, x)
            inside.append(algebra.negation(algebra.any_of([y.zero, y.subnormal])))
        inside.append(stays_normal(algebra, c, operands.c))
        inside.append(is_inside(algebra, fmt, d))
        return algebra.all_of([self.finite(algebra, operands), *inside])

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the second result is twice the first."""
        return algebra.equal(results[1].d, doubled(algebra, self.design.d_format, results[0].d))

    @property
    def decides_by_argument(self) -> bool:
        """Whether one step may move as a whole. Elements that fill up a step are zeros, whose exponents stay."""
        return self.is_one_step and self.k >= self.design.step.L and may_move(self.design)

    def argument(self) -> Argument | None:
        """Return why every stage of one step moves with the exponents."""
        return self._moves if self.decides_by_argument else None

    def _moves(self, kernel: Kernel) -> None:
        algebra, assumed = TermAlgebra(kernel.environment), self.formula.precondition
        operands = self.symbols(algebra)
        runs = [(y, dot_product_accumulate(self.asked(x), algebra, y)) for x, y in self.runs(algebra, operands)]
        if assumed is None:
            raise NotComposedError("nothing is assumed of the operands")

        def claim(d: Word[FNode], e: Word[FNode]) -> Truth[FNode]:
            return self.relation(algebra, operands, [DotProduct(x, ()) for x in (d, e)])

        ScaledSteps(kernel, self.design, [(x, y.steps[0]) for x, y in runs], assumed).prove(claim)


class Scaling(SimpleProperty):
    """Doubling a and c doubles d."""

    name = "scaling"
    feature = "scaling a and c by two scales d"
    statement = (
        "d(2a, b, 2c) = 2 d(a, b, c) for normal operands where twice every a_k and c is normal too, "
        "|d| >= 2^(e_min + 1) and 2d finite"
    )
    witness = (
        "operands, and the same with a and c doubled, whose result is not doubled: something in the unit does not move "
        "with the exponents (a floor, a product that underflows)"
    )
    source = "Fasi et al. 2021 adapt their inputs so; Xie et al. 2026, algorithm 7 aligns relative to e_max"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a design whose e_max has a floor."""
        return design.change(floor=0)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that doubling doubles."""
        return _Doubled(design, scope)
