"""What a unit or a plan computes: whole products, and independent rows."""

from __future__ import annotations

from mmaproof.designs.arrays import array_of, patterns_of
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.evaluate import rows as rows_of_schedule
from mmaproof.gemm.programs.schedule import Multiply, MultiplyAdd
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.smt.evaluate import evaluate_batch


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


def rows(plan: Design | Plan, batch: OperandBatch) -> Patterns:
    """Return the patterns of d of independent rows."""
    if isinstance(plan, Design):
        return evaluate_batch(plan, batch)
    return rows_of_schedule(plan.schedule(batch.k), batch)


def adds_products_alone(plan: Design | Plan, k: int) -> bool:
    """Return whether the exact result is ``c`` plus the products, none of them multiplied with a constant."""
    if isinstance(plan, Design):
        return True
    return not any(isinstance(x, Multiply | MultiplyAdd) for x in plan.schedule(k).operations)
