"""`mmaproof gemm compare` of two plans: whether they return the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmaproof.cli.compare import EXIT_STATUS
from mmaproof.cli.output import assumed_names, progress, say
from mmaproof.cli.verdicts import asked, decided, say_decided, say_witness, witness_fields
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from mmaproof.cli.options import QuestionOptions, SolvingOptions
    from mmaproof.cli.showing import ShowingOptions
    from mmaproof.explain.answers.products import PlansCompared
    from mmaproof.gemm.answers.compare import PlanComparison
    from mmaproof.gemm.programs import Plan
    from mmaproof.generators.vectors import Vector


def compare_bits(
    plans: tuple[Plan, Plan],
    question: QuestionOptions,
    options: SolvingOptions,
    showing: ShowingOptions,
) -> int:
    """Compare two plans bit by bit, print the verdict, and return the exit status."""
    from mmaproof.explain.answers.products import PlansCompared
    from mmaproof.gemm.answers.compare import compare_plans
    from mmaproof.gemm.questions.finite_operands import shaped_for

    given = options.means
    showing.ready(options.keep_lemmas)
    with progress(f"comparing {plans[0].name} and {plans[1].name}"):
        done = compare_plans(*plans, k=question.k, where=question.preconditions(), **given)
    units = [x.unit for x in plans]
    claim = f"{plans[0].name} and {plans[1].name} return the same bits"
    status, bundle = showing.bundled(
        {claim: done.answer},
        claim,
        units,
        options,
        EXIT_STATUS[done.verdict],
        shaped_for(plans[0], plans[0].formats[:3]),
    )
    answer = PlansCompared(**pair_fields(done), assumed=assumed_names(units), bundle=bundle)
    showing.show(answer, lambda: print_comparison(done, answer, showing.explain), vectors=lambda: vectors_of(done))
    return status


def vectors_of(done: PlanComparison) -> list[Vector]:
    """Return the witness as a vector for a file, if there is one."""
    from mmaproof.generators.vectors import Vector

    first, second = done.question.plans
    if done.answer.witness is None:
        return []
    return [
        Vector(
            done.answer.witness,
            first.formats,
            {plan.name: d for plan, d in done.outputs},
            scale_format=done.question.scale_format,
            why=f"{first.name} and {second.name} return different bits",
            origin=done.answer.origin,
            version=tool_version(),
        )
    ]


def pair_fields(done: PlanComparison) -> dict[str, Any]:
    """Return the verdict on two plans as fields."""
    from mmaproof.explain.answers.answer import ABSENT
    from mmaproof.explain.answers.parts import Witness

    question, answer = done.question, done.answer
    outputs = {plan.name: d for plan, d in done.outputs}
    shown = None if answer.witness is None else witness_fields(question, answer.witness, outputs, question.d_format)
    return {
        "verdict": done.verdict,
        "plans": [x.name for x in question.plans],
        **asked(question),
        **decided(answer),
        "witness": ABSENT if shown is None else Witness(**shown),
    }


def print_comparison(done: PlanComparison, answer: PlansCompared, explain: bool) -> None:
    """Print the verdict for a person."""
    from mmaproof.gemm.answers.run import explanation
    from mmaproof.gemm.programs.evaluate import trace

    question, witness = done.question, done.answer.witness
    say(f"{done.verdict}: {question.plans[0].name}")
    say(f"  and {question.plans[1].name}")
    say_decided(answer, [x.unit for x in question.plans], "", whole=explain)
    if witness is None:
        return
    say_witness(answer.witness, question.d_format)
    for plan in question.plans if explain else ():
        say(f"\n{plan.name}")
        for line in explanation(trace(plan, witness)):
            say(f"  {line}")
