"""Named questions about plans: whether results depend on what a caller does not choose.

``order``: on the order of additions that nobody determines, such as that of atomic additions. ``batch-invariance``: on
the plan that a library chooses for the other sizes M and N.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mmaproof.designs.errors import DesignError, InputError
from mmaproof.gemm.answers.compare import PlanComparison, compare_by
from mmaproof.gemm.programs.normal_form import shortest_k, telling_k
from mmaproof.gemm.programs.parts import ASCENDING, Order
from mmaproof.gemm.programs.plan import PartSum, Plan
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.solving.limits import worked
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.search import Means

PLAN_QUESTIONS = {
    "order": "does every order of the additions that a plan leaves open (atomic ones) give the same bits",
    "batch-invariance": "do plans that a library chooses by M and N give a row the same bits",
}
"""The questions by name."""

MOST_PERMUTED = 4
"""Parts of which all orders are compared. Of more parts some orders are, which may refute but not prove."""


@dataclass(frozen=True)
class PlanCheck:
    """The verdict on a question about plans for one K.

    PROVED: all results are the same. REFUTED: ``comparison`` has operands for which two of them differ.
    """

    question: str
    plans: tuple[Plan, ...]
    k: int
    status: Status
    conclusion: str
    comparisons: tuple[PlanComparison, ...]
    seconds: float
    reason: str | None = None

    @property
    def comparison(self) -> PlanComparison | None:
        """The comparison that found a difference."""
        return next((x for x in self.comparisons if x.answer.status is Status.REFUTED), None)


def check_plans(
    question: str, plans: Sequence[Plan], means: Means, *, k: int | None = None, where: Sequence[Precondition] = ()
) -> PlanCheck:
    """Answer one of ``PLAN_QUESTIONS``. ``k`` is by default the least one at which all parts of the plans occur.

    Raises InputError for an unknown question and for a wrong number of plans, DesignError for plans of which it cannot
    be asked, and what ``compare_by`` raises.
    """
    match question:
        case "order":
            if len(plans) != 1:
                raise InputError(f"order is asked of one plan, and {len(plans)} are given")
            return _check_order(plans[0], means, k, where)
        case "batch-invariance":
            if len(plans) < 2:
                raise InputError("batch-invariance is asked of two plans or more: those chosen for different M and N")
            return _check_batch_invariance(plans, means, k, where)
        case _:
            raise InputError(f"unknown question {question!r} about plans: one of {', '.join(PLAN_QUESTIONS)}")


def _check_order(plan: Plan, means: Means, k: int | None, where: Sequence[Precondition]) -> PlanCheck:
    open_levels = [x for x in plan.levels if isinstance(x, PartSum) and x.order.is_open]
    if not open_levels:
        raise DesignError(f"{plan.name}: every order of additions is determined: ask of a plan with the order any")
    if len(open_levels) > 1:
        raise DesignError(f"{plan.name}: the order of more than one level is open: state all but one of them")
    length = shortest_k((plan,), 3) if k is None else k
    count = _parts_of(plan, length, open_levels[0])
    orders = [ASCENDING, *map(Order.stated, _permutations(count))]
    started, means = worked(), means.begun()
    status, done = _all_equal([plan.with_open_orders(x) for x in orders], length, where, means)
    conclusion, reason = "not every order is settled", done[-1].answer.reason
    if status is Status.REFUTED:
        conclusion = "the result depends on the order of the additions"
    elif status is Status.PROVED and (count <= MOST_PERMUTED or plan.unit.d_format.is_integer):
        # sums of integers modulo a power of two are the same in any order, whatever the units return
        conclusion = f"all orders of {count} parts give the same bits"
    elif status is Status.PROVED:
        status = Status.UNKNOWN
        reason = f"{len(done)} orders of {count} parts were compared with the ascending one, which is not all"
    return PlanCheck("order", (plan,), length, status, conclusion, done, worked() - started, reason)


def _check_batch_invariance(
    plans: Sequence[Plan], means: Means, k: int | None, where: Sequence[Precondition]
) -> PlanCheck:
    for plan in plans:
        if plan.has_open_order:
            raise DesignError(f"{plan.name}: an order of additions is open: ask `mmaproof gemm check order` first")
    length = telling_k(plans) if k is None else k
    started, means = worked(), means.begun()
    status, done = _all_equal(plans, length, where, means)
    conclusions = {
        Status.PROVED: "a row has the same bits under each of these plans, so they do not depend on M and N",
        Status.REFUTED: "the bits of a row depend on the plan that is chosen",
    }
    conclusion = conclusions.get(status, "whether the bits of a row depend on the plan is not settled")
    seconds, reason = worked() - started, done[-1].answer.reason
    return PlanCheck("batch-invariance", tuple(plans), length, status, conclusion, done, seconds, reason)


def _all_equal(
    plans: Sequence[Plan], k: int, where: Sequence[Precondition], means: Means
) -> tuple[Status, tuple[PlanComparison, ...]]:
    """Compare every plan with the first one, until one of them is not proved to be equal."""
    done: list[PlanComparison] = []
    for other in plans[1:]:
        spent = sum(x.answer.seconds for x in done)
        left = Means(means.solving, means.limits.after(spent, "other comparisons"), means.budget, means.seed)
        done.append(compare_by(left, plans[0], other, k=k, where=where))
        if done[-1].answer.status is not Status.PROVED:
            break
    return done[-1].answer.status, tuple(done)


def _permutations(count: int) -> list[tuple[int, ...]]:
    """Return orders to compare with the ascending one: the most different ones first; all of them if they are few."""
    ascending = tuple(range(count))
    some: Iterable[tuple[int, ...]] = [ascending[::-1], (*ascending[1:], 0), (*ascending[:-2], *ascending[:-3:-1])]
    if count <= MOST_PERMUTED:
        some = [*some, *itertools.permutations(range(count))]
    return [x for x in dict.fromkeys(some) if x != ascending]


def _parts_of(plan: Plan, k: int, level: PartSum) -> int:
    """Return how many parts a level makes. Raises DesignError if that is one, or differs from use to use."""
    counts: set[int] = set()
    ks: list[Sequence[int]] = [range(k)]
    for x in reversed(plan.levels):
        parts = [x.parts.divide(part, plan.k_tile) for part in ks]
        if x is level:
            counts = set(map(len, parts))
        ks = [part for found in parts for part in found]
    if len(counts) != 1 or counts == {1}:
        made = ", ".join(map(str, sorted(counts)))
        raise DesignError(f"{plan.name}: {level.key} makes {made} parts of k = {k}: two or more are needed")
    return counts.pop()
