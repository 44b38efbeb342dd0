"""No operation of a plan overflows."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.program import run
from mmaproof.designs.plans.plan import Plan
from mmaproof.properties.gemm.fp32_question import FiniteOperands
from mmaproof.properties.gemm.split import all_finite
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords


class NoOverflow(FiniteOperands):
    """Nothing that a plan makes of finite operands overflows: words, sums of the unit, results."""

    def __init__(self, plan: Plan, *, k: int | None = None, where: Sequence[Precondition] = ()) -> None:
        super().__init__((plan,), k, where)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether every number on the way is finite."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra, record=True)
        (schedule,) = self.schedules
        run(arithmetic, schedule, self.numbers(operands))
        return all_finite(arithmetic)
