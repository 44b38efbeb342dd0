"""`mmaproof gemm check`: what is exact, what overflows and what is lost in an algorithm on a unit, with proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.gemm.witnesses import numbers_of, print_witnesses
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
    from collections.abc import Sequence

    from mmaproof.designs.plans import Plan
    from mmaproof.explain.answers.products import GemmChecked
    from mmaproof.properties.preconditions import Precondition
    from mmaproof.verification.gemm.check import GemmCheck

EXIT_STATUS = {
    "holds": EXIT_HOLDS,
    "violated": EXIT_REFUTED,
    "unknown": EXIT_UNKNOWN,
    "vacuous": EXIT_UNKNOWN,
}


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("check")(with_backend(check))


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
            help="A name that `mmaproof gemm algorithms` lists, with @parameter=value,... to change it; or plans.",
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
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.algorithms.plans.named import is_plan
    from mmaproof.cli.gemm.check_plans import check_plan_question
    from mmaproof.cli.gemm.check_slices import check_slices_of_units, is_of_units
    from mmaproof.cli.gemm.planned import find_plan, require_no_unit
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError, did_you_mean
    from mmaproof.explain.answers.products import Questions
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.verification.gemm.check import QUESTIONS, check_algorithm
    from mmaproof.verification.gemm.plan_questions import PLAN_QUESTIONS

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
    algorithm = names[0] if names and len(names) == 1 else None
    if algorithm is not None and is_plan(algorithm):
        require_no_unit(algorithm, unit)
        return check_of_plan(question, find_plan(algorithm, None), k, meant, below, options, explained, json)
    if algorithm is None or unit is None:
        missing = "one ALGORITHM" if algorithm is None else "--unit DESIGN"
        complain(f"error: {missing} is missing: mmaproof gemm check {question} ALGORITHM --unit DESIGN")
        return EXIT_INPUT
    found, design = find_algorithm(algorithm), find_design(unit)
    solving = options.solving
    with progress(f"checking {question} of {found.name} on {design.name}"):
        done = check_algorithm(
            question,
            found,
            design,
            solver=solving,
            limits=options.limits,
            k=k,
            where=meant,
            below=below,
            budget=options.budget,
            seed=options.seed,
        )
    return _shown(done, explained, json)


def check_of_plan(
    question: str,
    plan: Plan,
    k: int | None,
    where: Sequence[Precondition],
    below: int | None,
    options: SolvingOptions,
    explained: bool,
    json: bool,
) -> int:
    """Ask a question about algorithms of a plan, print the answer, and return the exit status."""
    from mmaproof.smt.solving.solving import Solving
    from mmaproof.tolerances.plan_check import check_plan
    from mmaproof.verification.means import Means

    means = Means(Solving.of(options.solving), options.limits, options.budget, options.seed)
    with progress(f"checking {question} of {plan.name}"):
        done = check_plan(question, plan, means, k=k, where=where, below=below)
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
        algorithm=done.algorithm.name,
        unit=done.unit.name,
        where=[str(p) for p in done.where],
        witnesses=[numbers_of(w) for w in done.finding.witnesses],
        lemmas=[lemma_of(x) for x in done.finding.lemmas],
        assumed=assumed_names([done.unit]),
    )


def print_check(done: GemmCheck, answer: GemmChecked, explained: bool) -> None:
    """Print the answer for a person."""
    finding = done.finding
    say(f"{done.verdict}: {done.question} of {done.subject}")
    say_wrapped(finding.conclusion, "  ")
    where = "".join(f"where {p}; " for p in done.where)
    say(f"  {where}{done.seconds:.2f} s in all")
    for line in finding.details:
        say(f"  {line}")
    print_lemmas(answer.lemmas, finding.conclusion, whole=explained)
    say_reason(answer)
    print_witnesses(finding.witnesses)
