"""What was found out about a kernel: its tree, the plans that return what it did, and the evidence against others.

Plans that agree with a target as well as the one that was found: proved equal, told apart, or left open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.kernels.fit import Answer, Mask
from mmaproof.gemm.kernels.tree import Tree, are_same, filled_length
from mmaproof.gemm.programs import JoinsC, Plan
from mmaproof.gemm.programs.plan import ONE
from mmaproof.gemm.questions.finite_operands import shaped_for
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence, never_minus_zero
from mmaproof.hardware_replay.matrix_targets import Product
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status, combine
from mmaproof.verification.compare import DEFAULT_LIMITS
from mmaproof.verification.search import Budget, Means
from mmaproof.verification.strategies import answer

SEARCH = Budget(seconds=2.0)
"""Random operands are tried for a moment only: both plans agreed on many."""
LEAST_SECONDS = 1.0
"""With less time left nothing is asked."""


class Verdict(StrEnum):
    """What is known about a rival and the plan that was found."""

    EQUAL = "equal"
    """the same bits for all operands of this length"""
    DIFFERENT = "different"
    """other bits for some operands"""
    OPEN = "open"


@dataclass(frozen=True)
class Rival:
    """A plan that agrees as well, and what is known about it; ``how`` says what proved it, or why nothing did."""

    plan: Plan
    verdict: Verdict
    how: str
    witness: Operands | None = None
    """operands of one element for which it differs from the plan that was found"""


def rival(found: Plan, other: Plan, product: Product, seconds: float, seed: int = 0) -> Rival:
    """Compare a plan with the one that was found, as ``gemm compare`` does, for at most N seconds.

    Both start from +0, as a target of products does.
    """
    first, second = (_from_zero(x) for x in (found, other))
    if first is None or second is None:
        return Rival(other, Verdict.OPEN, "one of them reads a c that is not the start of its sum")
    exact = _exact_integers(first, second, product)
    if exact is not None:
        return Rival(other, Verdict.EQUAL, exact)
    length = filled_length(first, product.k)
    if length != filled_length(second, product.k) or seconds < LEAST_SECONDS:
        late = seconds < LEAST_SECONDS
        why = "there was no time to compare them" if late else f"one of them needs a longer K than {product.k}"
        return Rival(other, Verdict.OPEN, why)
    return _asked(first, second, other, length, seconds, seed)


def _asked(first: Plan, second: Plan, other: Plan, k: int, seconds: float, seed: int) -> Rival:
    """Return what identity, a search or a solver finds out about two plans that start from +0."""
    means = Means(Solving.of(DEFAULT_SOLVER), Limits(seconds, DEFAULT_LIMITS.memory_bytes), SEARCH, seed)
    proved = _same_but_for_zeros(first, second, k, means)
    if proved is not None:
        return Rival(other, Verdict.EQUAL, proved)
    try:
        found_out = answer(PlanEquivalence(first, second, k=k), shaped_for(first, first.formats[:3]), means)
    except DesignError as problem:
        return Rival(other, Verdict.OPEN, str(problem))
    verdict = {Status.PROVED: Verdict.EQUAL, Status.REFUTED: Verdict.DIFFERENT}.get(found_out.status, Verdict.OPEN)
    how = found_out.origin if verdict is not Verdict.OPEN else found_out.reason or found_out.origin
    return Rival(other, verdict, how, found_out.witness)


def _exact_integers(first: Plan, second: Plan, product: Product) -> str | None:
    """Return why two sums of integers are equal: none of them leaves the register, whether it wraps or saturates."""
    if not product.d.is_integer or not product.d.signed:
        return None
    if not all(x.unit.guarantees(Guarantee.EXACT_INTEGERS) for x in (first, second)):
        return None
    most = product.k
    for fmt in (product.a, product.b):
        most *= 1 << (fmt.bits - 1) if fmt.signed else int(fmt.largest)
    if most > int(product.d.largest):
        return None
    return f"no sum of {product.k} products leaves the register: it is at most {most} in magnitude"


def _same_but_for_zeros(first: Plan, second: Plan, k: int, means: Means) -> str | None:
    """Return what proves that two plans are one computation but for +0 that is added to what is never -0."""
    units: dict[Arithmetic, Design] = {}

    def noted(unit: Design) -> bool:
        units.setdefault(Arithmetic.of(unit), unit)
        return not unit.d_format.is_integer

    if not are_same(first, second, k, noted):
        return None
    proofs = []
    for unit in units.values():
        asked = [answer(x, x.design, means) for x in never_minus_zero(unit)]
        if not asked or combine(x.status for x in asked) is not Status.PROVED:
            return None
        proofs.append(f"{unit.name} never returns -0 ({'; '.join(x.origin for x in asked)})")
    return "identity of the operations" + "".join(f"; {x}" for x in proofs)


def everywhere(witness: Operands, product: Product) -> tuple[Patterns, Patterns] | None:
    """Return operands of a product each of whose elements is that of the witness; None where it is longer than k."""
    if any((*witness.a[product.k :], *witness.b[product.k :])):
        return None
    rows, columns = (
        np.array(x[: product.k], dtype=pattern_dtype(f)) for x, f in ((witness.a, product.a), (witness.b, product.b))
    )
    a = np.broadcast_to(rows, (product.m, product.k))
    b = np.broadcast_to(columns[:, None], (product.k, product.n))
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


def _from_zero(plan: Plan) -> Plan | None:
    """Return the plan with +0 for its c; None where c is more than what the sum starts from."""
    epilogue = plan.epilogue
    if epilogue.c is JoinsC.NONE:
        return plan
    if epilogue.c is JoinsC.LAST or epilogue.beta != ONE:
        return None
    return replace(plan, epilogue=replace(epilogue, c=JoinsC.NONE, c_format=None))


@dataclass(frozen=True)
class Difference:
    """An element of a product that a plan does not return."""

    answer: Answer
    row: int
    column: int
    expected: int
    """what the plan returns"""
    count: int
    """differing elements of this product"""
    of: int
    """its elements"""

    @property
    def returned(self) -> int:
        """What the target returned."""
        return int(self.answer.d[self.row, self.column])


@dataclass
class Finding:
    """What was found about the elements of d that ``where`` has; None for all."""

    where: Mask | None
    tree: Tree | None = None
    no_tree: str | None = None
    """why there is no tree"""
    pairs: int = 0
    """pairs of products that were asked about"""
    plan: Plan | None = None
    """the simplest plan that returns everything that the target did"""
    units: list[str] = field(default_factory=list)
    """the names of the designs that are this plan's unit"""
    same: list[Plan] = field(default_factory=list)
    """plans that are proved to return the same"""
    rivals: list[Rival] = field(default_factory=list)
    """other plans that returned the same, and whether they are proved equal"""
    validated: int = 0
    """outputs of the validation"""
    tried: int = 0
    """plans that were compared"""
    nearest: Plan | None = None
    """where no plan was found: the one that differs least"""
    difference: Difference | None = None
    """what the nearest plan does not return"""
    flushes: bool = False
    """whether the target differs from the nearest plan only in that subnormal results of it are zeros"""


@dataclass
class Outcome:
    """What was found about a target of one product."""

    target: str
    product: Product
    findings: list[Finding]
    calls: int
    seconds: float
    problem: str | None = None
    """why nothing could be found out"""
    recorded: bool = False
    """whether the target only has recorded answers"""
    late: bool = False
    """whether time ran out, before plans were found or before the validation was done"""

    @property
    def found(self) -> bool:
        """Whether a plan was found for every element."""
        return bool(self.findings) and all(x.plan is not None for x in self.findings)
