"""What a unit or a plan computes: whole products, and independent rows."""

from __future__ import annotations

from mmaproof.designs.arrays import array_of, patterns_of
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.evaluate import rows as rows_of_schedule
from mmaproof.gemm.programs.schedule import Call, Multiply, MultiplyAdd, Operand, Schedule
from mmaproof.hardware_replay.emulation import matmul


def product(
    plan: Design | Plan,
    a: Patterns,
    b: Patterns,
    c: Patterns | None,
    scales: tuple[Patterns | None, Patterns | None] = (None, None),
    jobs: int = 2,
    factors: Patterns | None = None,
) -> Patterns:
    """Return the patterns of d of matrices of patterns. Raises as ``mmaproof.matmul``."""
    if isinstance(plan, Plan):
        return multiply_plan(plan, a, b, c, *scales, factors=factors, jobs=jobs)
    a_format, b_format, c_format, d_format = plan.formats
    start = None if c is None else array_of(c, c_format)
    found = matmul(plan, array_of(a, a_format), array_of(b, b_format), start, *scales, jobs=jobs)
    return patterns_of(found, d_format)


def schedule_of(plan: Design | Plan, k: int) -> Schedule:
    """Return the operations of a plan; those of a unit are one chain of its instructions."""
    if isinstance(plan, Design):
        return Schedule(k, plan.formats, (Operand(plan.c_format), Call(plan, tuple(range(k)), 0)))
    return plan.schedule(k)


def rows(plan: Design | Plan, batch: OperandBatch) -> Patterns:
    """Return the patterns of d of independent rows."""
    return rows_of_schedule(schedule_of(plan, batch.k), batch)


def adds_products_alone(schedule: Schedule) -> bool:
    """Return whether the exact result is ``c`` plus the products, none of them multiplied with a constant."""
    return not any(isinstance(x, Multiply | MultiplyAdd) for x in schedule.operations)
