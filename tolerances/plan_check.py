"""The questions about algorithms, asked of a plan: what each of them means there, and which have no meaning."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from mmaproof.algorithms.catalogue import find_algorithm
from mmaproof.designs.errors import DesignError
from mmaproof.designs.plans import Plan
from mmaproof.designs.plans.lengths import shortest_k
from mmaproof.designs.plans.plan import Epilogue, JoinsC
from mmaproof.properties.preconditions import Precondition
from mmaproof.tolerances.overflow import check_plan_overflow
from mmaproof.verification.gemm.check import GemmCheck, check_algorithm, require_options
from mmaproof.verification.means import Means

_OF_WORDS = ("split", "dropped")
"""Questions about the words of the operands, which nothing around the algorithm changes."""


def check_plan(
    question: str, plan: Plan, means: Means, *, k: int | None, where: Sequence[Precondition], below: int | None
) -> GemmCheck:
    """Answer a question of ``verification.gemm.check`` about a plan.

    Without a ``k``, overflow is asked for the least K at which all parts of the plan occur. Raises DesignError where
    the question has no meaning for the plan, and what ``check_algorithm`` and ``check_plan_overflow`` raise.
    """
    require_options(question, k is not None, bool(where), below is not None)
    alone = plan.algorithm is not None and not plan.levels and plan.epilogue == Epilogue() and plan.tile is None
    if plan.algorithm is not None and (alone or question in _OF_WORDS):
        found = check_algorithm(
            question,
            find_algorithm(plan.algorithm),
            plan.unit,
            solver=means.solving,
            limits=means.limits,
            k=k,
            where=where,
            below=below,
            budget=means.budget,
            seed=means.seed,
        )
        return replace(found, algorithm=plan)
    if question == "overflow":
        started, length = time.monotonic(), shortest_k((plan,)) if k is None else k
        verdict = check_plan_overflow(plan, length, where, means)
        return GemmCheck(question, plan, plan.unit, tuple(where), verdict, time.monotonic() - started)
    raise DesignError(f"{question} cannot be asked of {plan.name}: {_why_not(question, plan)}")


def _why_not(question: str, plan: Plan) -> str:
    """Return why a question has no meaning for a plan, and what to ask instead."""
    if question == "slices":
        return (
            "sums are exact up to the same K in each chain of the unit, whatever is done around it. Ask of the unit, "
            f"`mmaproof gemm check slices {plan.unit.name}`, and keep a chain that short with promote=N"
        )
    if plan.algorithm is None:
        return "its operands are in the unit's formats, so nothing is split, dropped or left over"
    joins = "where c is added" if plan.epilogue.c is not JoinsC.FIRST else "its parts and its epilogue"
    return (
        f"the answer is an identity of the algorithm alone, and {joins} would change it. Ask "
        f"`mmaproof gemm check {question} {plan.algorithm} --unit {plan.unit.name}`"
    )
