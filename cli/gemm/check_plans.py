"""`mmaproof gemm check` of questions about plans: what their bits depend on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.gemm.compare_plans import pair_fields
from mmaproof.cli.gemm.options import find_plan
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    assumed_names,
    print_json,
    progress,
    say,
    say_wrapped,
)
from mmaproof.cli.verdicts import say_reason, say_witness

if TYPE_CHECKING:
    from mmaproof.cli.options import SolvingOptions
    from mmaproof.explain.answers.products import PlansChecked
    from mmaproof.gemm.answers.plan_questions import PlanCheck
    from mmaproof.properties.preconditions import Precondition


def check_plan_question(
    question: str,
    names: Sequence[str],
    unit: str | None,
    k: int | None,
    where: Sequence[Precondition],
    below: int | None,
    options: SolvingOptions,
    explained: bool,
    json: bool,
) -> int:
    """Answer a question about plans, print the verdict, and return the exit status."""
    from mmaproof.designs.errors import InputError
    from mmaproof.gemm.answers.plan_questions import check_plans
    from mmaproof.gemm.programs.presets import load_selections
    from mmaproof.smt.solving.solving import Solving
    from mmaproof.smt.solving.verdict import Status
    from mmaproof.verification.means import Means

    if below is not None:
        raise InputError(f"--below means nothing to {question}")
    if not names:
        raise InputError(f"a PLAN is missing: mmaproof gemm check {question} PLAN")
    selections = load_selections()
    spelled = [text for name in names for text in _expanded(selections.get(name), name)]
    plans = [find_plan(x, unit) for x in spelled]
    means = Means(Solving.of(options.solving), options.limits, options.budget, options.seed)
    with progress(f"checking {question}"):
        done = check_plans(question, plans, means, k=k, where=where)
    answer = _checked(done)
    if json:
        print_json(answer)
    else:
        _print(done, answer, explained)
        say_assumed([x.unit for x in plans])
    return {Status.PROVED: EXIT_HOLDS, Status.REFUTED: EXIT_REFUTED}.get(done.status, EXIT_UNKNOWN)


def _expanded(selection: Any, name: str) -> list[str]:
    return [name] if selection is None else [plan for _, plan in selection.plans]


def _word(done: PlanCheck) -> str:
    from mmaproof.verification.check import WORDS

    return WORDS[done.status]


def _checked(done: PlanCheck) -> PlansChecked:
    from mmaproof.explain.answers.products import PlansChecked, PlansPair

    return PlansChecked.taken(
        done,
        verdict=_word(done),
        plans=[x.name for x in done.plans],
        comparisons=[PlansPair(**pair_fields(x)) for x in done.comparisons],
        assumed=assumed_names(x.unit for x in done.plans),
    )


def _print(done: PlanCheck, answer: PlansChecked, explained: bool) -> None:
    say(f"{answer.verdict}: {done.question}")
    for name in answer.plans:
        say(f"  {name}")
    say_wrapped(f"{done.conclusion} (k = {done.k}, {done.seconds:.2f} s in all)", "  ")
    for x in done.comparisons if explained else ():
        say_wrapped(f"{x.verdict}: {x.question.plans[1].name}, by {x.answer.origin}", "    ")
    say_reason(answer)
    if done.comparison is not None:
        say_witness(pair_fields(done.comparison)["witness"], done.comparison.question.d_format)
