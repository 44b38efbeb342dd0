"""`mmaproof gemm check`: what is exact, what overflows and what is lost in an algorithm on a unit, with proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.gemm.options import numbers_of, print_witnesses
from mmaproof.cli.options import SOLVING, Explained, Json, Length, SolvingOptions, Where, with_backend, with_options
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_INPUT,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    assumed_names,
    complain,
    print_json,
    progress,
    say,
    say_wrapped,
)
from mmaproof.cli.verdicts import lemma_of, print_lemmas, say_reason

if TYPE_CHECKING:
    from mmaproof.explain.answers.products import GemmChecked
    from mmaproof.gemm.tolerances.check import GemmCheck

EXIT_STATUS = {
    "holds": EXIT_HOLDS,
    "violated": EXIT_REFUTED,
    "unknown": EXIT_UNKNOWN,
    "vacuous": EXIT_UNKNOWN,
}


@with_backend
@with_options(keeps=True, timeout="2m")
def check(
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="What to ask; without it the questions are listed."),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ALGORITHM|PLAN...]",
            help="A name that `mmaproof list algorithms` lists, with @parameter=value,... to change it; or plans.",
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="DESIGN", help="The unit that the algorithm calls.")
    ] = None,
    k: Length = None,
    where: Where = None,
    below: Annotated[
        int | None,
        typer.Option("--below", metavar="Q", min=0, max=200, help="Ask `dropped` whether 2**-Q is a bound."),
    ] = None,
    options: SolvingOptions = SOLVING,
    explained: Explained = False,
    json: Json = False,
) -> int:
    """Find out what is exact, what overflows and what is lost in an algorithm on a unit, or what a plan depends on.

    The questions order and batch-invariance are about plans. Of the others, overflow takes a plan and needs --where
    exponents=LO..HI, split and dropped are of the plan's algorithm, and exact-operands and slices take a plan that is
    an algorithm alone. Exit status 0: found and proved; 1: it does not hold, or
    what was stated (--where, --below) is violated, with a witness; 3: unknown.
    """
    from mmaproof.cli.gemm.check_plans import check_plan_question
    from mmaproof.cli.gemm.check_slices import check_slices_of_units, is_of_units
    from mmaproof.cli.gemm.options import find_plan, require_no_unit
    from mmaproof.designs.errors import InputError, did_you_mean
    from mmaproof.explain.answers.products import Questions
    from mmaproof.gemm.answers.plan_questions import PLAN_QUESTIONS
    from mmaproof.gemm.programs.named import is_plan
    from mmaproof.gemm.tolerances.check import QUESTIONS, check_algorithm
    from mmaproof.properties.preconditions import parse_precondition

    questions = QUESTIONS | PLAN_QUESTIONS
    if question is None:
        if json:
            print_json(Questions(questions=questions))
        else:
            for name, what in questions.items():
                say_wrapped(what, f"{name:<16}  ")
        return EXIT_HOLDS
    if question not in questions:
        known = list(questions)
        raise InputError(f"unknown question {question!r}: one of {', '.join(known)}{did_you_mean(question, known)}")
    meant = [parse_precondition(w) for w in where or ()]
    if question in PLAN_QUESTIONS:
        return check_plan_question(question, names or [], unit, k, meant, below, options, explained, json)
    if question == "slices" and unit is None and is_of_units(names or []) and not any("|" in x for x in names or ()):
        if k is not None or meant or below is not None:
            raise InputError("slices of units take none of --k, --where and --below")
        return check_slices_of_units(names or [], options, explained, json)
    program = names[0] if names and len(names) == 1 else None
    if program is not None and is_plan(program):
        require_no_unit(program, unit)
    elif program is None or unit is None:
        missing = "one ALGORITHM" if program is None else "--unit DESIGN"
        complain(f"error: {missing} is missing: mmaproof gemm check {question} ALGORITHM --unit DESIGN")
        return EXIT_INPUT
    plan = find_plan(program, unit)
    with progress(f"checking {question} of {plan.title}"):
        done = check_algorithm(
            question,
            plan,
            solver=options.solving,
            limits=options.limits,
            k=k,
            where=meant,
            below=below,
            budget=options.budget,
            seed=options.seed,
        )
    return _shown(done, explained, json)


def _shown(done: GemmCheck, explained: bool, json: bool) -> int:
    """Print an answer and return the exit status."""
    answer = checked(done)
    if json:
        print_json(answer)
    else:
        print_check(done, answer, explained)
        say_assumed([done.unit])
    return EXIT_STATUS[done.verdict]


def checked(done: GemmCheck) -> GemmChecked:
    """Return the answer."""
    from mmaproof.explain.answers.products import GemmChecked

    return GemmChecked.taken(
        done,
        done.finding,
        algorithm=done.plan.label,
        unit=done.unit.name,
        where=[str(p) for p in done.where],
        witnesses=[numbers_of(w) for w in done.finding.witnesses],
        lemmas=[lemma_of(x) for x in done.finding.lemmas],
        assumed=assumed_names([done.unit]),
    )


def print_check(done: GemmCheck, answer: GemmChecked, explained: bool) -> None:
    """Print the answer for a person."""
    finding = done.finding
    say(f"{done.verdict}: {done.question} of {done.plan.title}")
    say_wrapped(finding.conclusion, "  ")
    where = "".join(f"where {p}; " for p in done.where)
    say(f"  {where}{done.seconds:.2f} s in all")
    for line in finding.details:
        say(f"  {line}")
    print_lemmas(answer.lemmas, finding.conclusion, whole=explained)
    say_reason(answer)
    print_witnesses(finding.witnesses)
