"""`mmaproof gemm check`: what is exact, what overflows and what is lost in an algorithm on a unit, with proofs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.explain import lemma_record, print_lemmas
from mmaproof.cli.options import SOLVING, Explained, Json, Length, SolvingOptions, Where, with_backend, with_solving
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_INPUT,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    complain,
    print_json,
    progress,
    say,
    say_wrapped,
)

if TYPE_CHECKING:
    from mmaproof.verification.gemm.check import GemmCheck
    from mmaproof.verification.gemm.verdict import Witness

EXIT_STATUS = {
    "holds": EXIT_HOLDS,
    "violated": EXIT_REFUTED,
    "unknown": EXIT_UNKNOWN,
    "vacuous": EXIT_UNKNOWN,
}


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("check")(with_backend(check))


@with_solving(timeout="2m")
def check(
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="What to ask; without it the questions are listed."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Argument(
            metavar="[ALGORITHM]",
            help="A name that `mmaproof gemm algorithms` lists, with @parameter=value,... to change it.",
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
    """Find out what is exact, what overflows and what is lost in an algorithm on a unit.

    Exit status 0: found and proved; 1: what was stated (--where, --below) is violated, with a witness; 3: unknown.
    """
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.designs.catalogue import find_design
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.verification.gemm.check import QUESTIONS, check_algorithm

    if question is None:
        if json:
            print_json({"questions": QUESTIONS})
        else:
            for name, what in QUESTIONS.items():
                say_wrapped(what, f"{name:<16}")
        return EXIT_HOLDS
    if algorithm is None or unit is None:
        missing = "an ALGORITHM" if algorithm is None else "--unit DESIGN"
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
            where=[parse_precondition(w) for w in where or ()],
            below=below,
            budget=options.budget,
            seed=options.seed,
        )
    if json:
        print_json(check_record(done), [design])
    else:
        print_check(done, explained)
        say_assumed([design])
    return EXIT_STATUS[verdict_of(done)]


def verdict_of(done: GemmCheck) -> str:
    """Return the answer in the word of the command line."""
    from mmaproof.verification.check import WORDS

    return WORDS[done.finding.status]


def check_record(done: GemmCheck) -> dict[str, Any]:
    """Return the answer as the JSON object of the command-line contract."""
    finding = done.finding
    return {
        "verdict": verdict_of(done),
        "question": done.question,
        "algorithm": done.algorithm.name,
        "unit": done.unit.name,
        "where": [str(p) for p in done.where],
        "seconds": round(done.seconds, 3),
        "conclusion": finding.conclusion,
        "values": dict(finding.values),
        "witnesses": [witness_record(w) for w in finding.witnesses],
        "reason": finding.reason,
        "lemmas": [lemma_record(x) for x in finding.lemmas],
    }


def witness_record(witness: Witness) -> dict[str, Any]:
    """Return a witness as JSON data."""
    return {
        "shows": witness.shows,
        "numbers": [{"name": n.name, "format": n.fmt.name, "pattern": n.fmt.hex(n.pattern)} for n in witness.numbers],
    }


def print_check(done: GemmCheck, explained: bool) -> None:
    """Print the answer for a person."""
    from mmaproof.explain.values import pattern_value

    finding = done.finding
    say(f"{verdict_of(done)}: {done.question} of {done.algorithm.name} on {done.unit.name}")
    say_wrapped(finding.conclusion, "  ")
    where = "".join(f"where {p}; " for p in done.where)
    say(f"  {where}{done.seconds:.2f} s in all")
    for line in finding.details:
        say(f"  {line}")
    print_lemmas(finding.lemmas, finding.conclusion, whole=explained)
    if finding.reason is not None:
        say(f"  reason: {finding.reason}")
    for witness in finding.witnesses:
        say(f"  {witness.shows}:")
        width = max(len(n.name) for n in witness.numbers)
        for n in witness.numbers:
            say(f"    {n.name:<{width}} = {n.fmt.hex(n.pattern)} = {pattern_value(n.fmt, n.pattern)}")
