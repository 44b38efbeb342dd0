"""No operation of an algorithm overflows."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.designs.design import Design
from mmaproof.properties.gemm.split import all_finite
from mmaproof.properties.preconditions import Exponents, Precondition
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.unpack import unpack


class NoOverflow(Question):
    """Nothing that the algorithm makes of finite fp32 operands is infinite or NaN: words, sums of the unit, results."""

    def __init__(
        self, algorithm: Algorithm, unit: Design, *, k: int | None = None, where: Sequence[Precondition] = ()
    ) -> None:
        algorithm.require(unit)
        self.algorithm = algorithm
        self.unit = unit
        self.k = unit.k if k is None else k
        unit.padded_length(self.k)
        self.formats = (OPERANDS, OPERANDS, OPERANDS)
        self.scale_format, self.blocks = None, 0
        self.where = tuple(where)

    @property
    def span(self) -> Span:
        """Where the bits of every operand lie."""
        span = Span.of_format(OPERANDS)
        for p in self.where:
            if isinstance(p, Exponents):
                least, most = max(span.least, p.low - OPERANDS.fraction_bits), min(span.most, p.high + 1)
                span = Span(min(least, most), most)
        return span

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether every number on the way is finite."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra, record=True)
        a, b, (c,) = (
            [Number(OPERANDS, w, self.span) for w in words] for words in (operands.a, operands.b, (operands.c,))
        )
        self.algorithm.run(arithmetic, self.unit, a, b, c)
        return all_finite(arithmetic)

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite and satisfy the preconditions."""
        values = [unpack(algebra, OPERANDS, x) for x in (*operands.a, *operands.b, operands.c)]
        finite = algebra.negation(algebra.any_of([t for v in values for t in (v.infinite, v.nan)]))
        return algebra.all_of([finite, super().precondition(algebra, operands)])
