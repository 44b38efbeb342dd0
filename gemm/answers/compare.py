"""The comparison of two plans, by their bits or by their errors: operands that tell, a proof of none, or unknown.

Named questions about plans: whether results depend on what a caller does not choose.

``order``: on the order of additions that nobody determines, such as that of atomic additions. ``batch-invariance``: on
the plan that a library chooses for the other sizes M and N.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.explain.values import exact
from mmaproof.gemm.programs.algorithm import OPERANDS, Algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number
from mmaproof.gemm.programs.named import find_gemm, find_programs
from mmaproof.gemm.programs.normal_form import shortest_k, telling_k
from mmaproof.gemm.programs.parts import ASCENDING, Order
from mmaproof.gemm.programs.plan import PartSum, Plan
from mmaproof.gemm.questions.finite_operands import LargerError, operands_of, shaped_for
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence
from mmaproof.properties.preconditions import Conditions, Precondition, preconditions_of
from mmaproof.properties.property import QuestionVerdict
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS, WORDS
from mmaproof.verification.search import Budget, Means
from mmaproof.verification.strategies import answer

_INTEGERS = IntegerAlgebra()

ERROR_WORDS = {
    Status.PROVED: "never larger",
    Status.REFUTED: "larger",
    Status.UNKNOWN: "unknown",
    Status.VACUOUS: "vacuous",
}
SIMPLIFIED = 1
"""The number of witnesses that are simplified. Every attempt runs both plans and the exact sum."""

SHAPED_FOR = "cpu/vfmadd231ps"
"""The design of the random operands of algorithms: a chain of fp32 operations, which they imitate."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The pattern ``d`` that a plan returned, the exact result, and the error d - exact; None if not finite."""

    plan: Plan
    d: int
    exact: Fraction
    error: Fraction | None

    @property
    def ulps(self) -> Fraction | None:
        """The error in units in the last place of the exact result, in the format of d."""
        return None if self.error is None else self.error / self.plan.formats[3].ulp(self.exact)

    @property
    def error_text(self) -> str:
        """The error for a person."""
        return error_text(self.error, self.ulps)

    def __repr__(self) -> str:
        return f"<{self.plan.label}: d = {self.plan.formats[3].hex(self.d)}, error {self.error_text}>"


@dataclass(frozen=True)
class ErrorComparison:
    """The verdict. ``answer.witness`` are operands for which the first plan has the larger error."""

    question: LargerError
    answer: QuestionVerdict

    def __repr__(self) -> str:
        runs = " and ".join(x.title for x in self.question.plans)
        return f"<{self.verdict}: errors of {runs}, k = {self.question.k}>"

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return ERROR_WORDS[self.answer.status]

    @property
    def operands(self) -> Sequence[tuple[Plan, Operands]]:
        """The operands that each plan gets of the witness, rounded to its formats; none without a witness."""
        witness, question = self.answer.witness, self.question
        if witness is None:
            return ()
        given, arithmetic = question.numbers(question.integer_words(witness)), Arithmetic(_INTEGERS)
        found = [(x, operands_of(x, arithmetic, given)) for x in question.plans]
        return [(x, Operands(_patterns(g.a), _patterns(g.b), g.c.word.data)) for x, g in found]

    @property
    def outcomes(self) -> Sequence[Returned]:
        """The results of both plans for the witness, in their order; none without a witness."""
        witness, question = self.answer.witness, self.question
        if witness is None:
            return ()
        found = question.errors(_INTEGERS, question.integer_words(witness))
        unit_of_all = Fraction(2) ** found.least
        exact = found.exact.data * unit_of_all
        results = zip(question.plans, found.results, found.errors, found.infinite, strict=True)
        return [Returned(x, d.data, exact, None if inf.data else e.data * unit_of_all) for x, d, e, inf in results]


def compare_errors(
    first: Algorithm | Plan | str,
    second: Algorithm | Plan | str,
    unit: Design | str | None = None,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    k: int | None = None,
    where: Conditions = (),
    by: Fraction = Fraction(1),
    second_unit: Design | str | None = None,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
) -> ErrorComparison:
    """Find out whether ``first`` ever has a larger error than ``second``, or one that is ``by`` times as large.

    Both are algorithms or plans, or spelled so. An algorithm runs on ``unit``, the second one on ``second_unit`` where
    that is given, and without a unit on that of the other plan. Operands are of the wider formats of both: a plan of
    narrower ones gets them rounded to nearest. ``limits`` may be seconds, and conditions are as ``--where`` spells
    them. The search comes first. ``budget`` None switches it off. Raises DesignError if an algorithm does not run on
    its unit or ``k`` does not fit, InputError for names that are not known, and what ``answer`` raises.

    >>> import mmaproof
    >>> str(mmaproof.compare_errors("plain", "bf16x3", "ampere/m16n8k16.f32.bf16.bf16.f32", k=16).verdict)
    'larger'
    """
    if second_unit is not None:
        second = find_gemm(second, second_unit)
    left, right = find_programs((first, second), unit)
    question = LargerError(left, right, k=k, where=preconditions_of(where), by=by)
    means = Means(Solving.of(solver), Limits.of(limits), budget, seed, SIMPLIFIED)
    of_fp32 = left.is_algorithm and question.formats[0] is OPERANDS
    shape = find_design(SHAPED_FOR) if of_fp32 else shaped_for(left, question.formats)
    return ErrorComparison(question, answer(question, shape, means))


def _patterns(numbers: Sequence[Number[int]]) -> tuple[int, ...]:
    return tuple(x.word.data for x in numbers)


def error_text(error: Fraction | None, ulps: Fraction | None) -> str:
    """Return an error for a person: exact, and in units in the last place of the exact result."""
    if error is None or ulps is None:
        return "infinite"
    return f"{exact(error)} = {float(ulps):+.4g} ulp" if error else "0"


SEARCHING = 12.0
"""Seconds of the search at least: solvers seldom decide a question about many calls of a unit, and units are slow."""
SIMPLIFYING = 5.0
"""Seconds for that: an attempt on a long chain takes as long as the chain."""


@dataclass(frozen=True)
class PlanComparison:
    """The verdict. ``answer.witness`` are operands for which the plans return different bits."""

    question: PlanEquivalence
    answer: QuestionVerdict

    def __repr__(self) -> str:
        return f"<{self.verdict}: {' and '.join(x.name for x in self.question.plans)}, k = {self.question.k}>"

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return WORDS[self.answer.status]

    @property
    def outputs(self) -> Sequence[tuple[Plan, int]]:
        """Each plan with the d that it returns for the witness, computed on integers; none without a witness."""
        witness, question = self.answer.witness, self.question
        if witness is None:
            return ()
        found = question.results(IntegerAlgebra(), question.integer_words(witness))
        return [(plan, d.data) for plan, d in zip(question.plans, found, strict=True)]


def compare_plans(
    first: Algorithm | Plan | str,
    second: Algorithm | Plan | str,
    *,
    k: int | None = None,
    where: Conditions = (),
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
) -> PlanComparison:
    """Find out whether two plans, or texts that spell them, return the same bits for all operands of length ``k``.

    An algorithm runs on the unit of the other plan.

    Without ``k`` it is ``telling_k``. ``limits`` may be seconds, and ``where`` conditions as ``--where`` spells them.

    ``budget`` None switches the search off. Raises DesignError if the plans cannot be compared or ``k`` does not fit,
    and what ``answer`` raises.

    >>> import mmaproof
    >>> unit = "hopper/wgmma.f32.f16.f16"
    >>> found = mmaproof.compare_plans(f"{unit} | c=none", f"{unit} | split-k=2 | c=none", k=32)
    >>> str(found.verdict)
    'different'
    """
    left, right = find_programs((first, second))
    length = telling_k((left, right)) if k is None else k
    return compare_by(
        Means(Solving.of(solver), Limits.of(limits), budget, seed), left, right, k=length, where=preconditions_of(where)
    )


def compare_by(
    means: Means, first: Plan, second: Plan, *, k: int, where: Sequence[Precondition] = ()
) -> PlanComparison:
    """Find out whether two plans return the same bits for operands of length ``k``. Raises as ``compare_plans``."""
    question = PlanEquivalence(first, second, k=k, where=where)
    budget = means.budget and replace(means.budget, seconds=max(means.budget.seconds, SEARCHING))
    means = replace(means, budget=budget, simplified=SIMPLIFIED, simplifying=SIMPLIFYING)
    return PlanComparison(question, answer(question, shaped_for(first, first.formats[:3]), means))


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
