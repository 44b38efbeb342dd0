"""No operation of an algorithm overflows."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.algorithms.algorithm import Algorithm
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.designs.design import Design
from mmaproof.properties.gemm.fp32_question import Fp32Question
from mmaproof.properties.gemm.split import all_finite
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords


class NoOverflow(Fp32Question):
    """Nothing that the algorithm makes of finite fp32 operands overflows: words, sums of the unit, results."""

    def __init__(
        self, algorithm: Algorithm, unit: Design, *, k: int | None = None, where: Sequence[Precondition] = ()
    ) -> None:
        super().__init__(((algorithm, unit),), k, where)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether every number on the way is finite."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra, record=True)
        ((algorithm, unit),) = self.runs
        algorithm.run(arithmetic, unit, *self.numbers(operands))
        return all_finite(arithmetic)
