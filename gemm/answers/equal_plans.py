"""The comparison of two plans: operands for which they return different bits, a proof that none exist, or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.lengths import telling_k
from mmaproof.gemm.programs.named import find_programs
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.questions.finite_operands import shaped_for
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence
from mmaproof.properties.preconditions import Conditions, Precondition, preconditions_of
from mmaproof.properties.property import QuestionVerdict
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.answer import answer
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS, WORDS
from mmaproof.verification.means import Means
from mmaproof.verification.search import Budget

SIMPLIFIED = 1
"""The number of witnesses that are simplified. Every attempt runs both plans on integers."""
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
