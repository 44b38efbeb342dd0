"""`mmaproof gemm compare`: two algorithms by their errors against the exact result."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.bundle import BundleFolder, require_bundle
from mmaproof.cli.explain import lemma_record
from mmaproof.cli.gemm.options import AlgorithmName, Unit
from mmaproof.cli.gemm.run import error_record
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import SOLVING, Json, Length, Output, SolvingOptions, Where, with_backend, with_solving
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    complain,
    print_json,
    progress,
    say,
    say_asked,
    solver_record,
)
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from mmaproof.gemm.answers.compare import ErrorComparison
    from mmaproof.generators.vectors import Vector

MOST_DIGITS = 40
"""Characters of a factor."""

EXIT_STATUS = {
    "never larger": EXIT_HOLDS,
    "larger": EXIT_REFUTED,
    "unknown": EXIT_UNKNOWN,
    "vacuous": EXIT_UNKNOWN,
}


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("compare")(with_backend(compare))


@with_solving(keeps=True)
def compare(
    first: AlgorithmName,
    second: AlgorithmName,
    unit: Unit = None,
    second_unit: Annotated[
        str | None,
        typer.Option(
            "--second-unit",
            metavar="DESIGN",
            help="That of the second algorithm, if it is another.",
            show_default=False,
        ),
    ] = None,
    k: Length = None,
    where: Where = None,
    by: Annotated[
        str, typer.Option("--by", metavar="FACTOR", help="Ask for an error at least so many times as large: 8, 3/2.")
    ] = "1",
    errors: Annotated[
        bool, typer.Option("--errors", help="Of plans: ask for the larger error, not whether their bits are equal.")
    ] = False,
    options: SolvingOptions = SOLVING,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the splits, each call of the unit, each addition outside it.")
    ] = False,
    output: Output = None,
    bundle: BundleFolder = None,
    json: Json = False,
) -> int:
    """Ask whether two plans return the same bits, or whether the FIRST ever has a larger error than the SECOND.

    Two plans are compared bit for bit; with --errors, and algorithms always, by their absolute errors against the exact
    result. An algorithm and a plan of narrower operands are compared by their errors, too: the plan gets the operands
    rounded to nearest. For errors operands are finite and their exact result is no larger than the largest number of
    the result's format. Exit status 1: they differ, or the error of the first is larger, on the operands shown; 0:
    equal, or never larger (proved); 3: unknown or vacuous.
    """
    from mmaproof.cli.gemm.compare_plans import compare_bits
    from mmaproof.cli.gemm.options import find_plan, find_plans, require_no_unit
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import make_way
    from mmaproof.gemm.answers.compare import compare_errors
    from mmaproof.gemm.programs.named import is_plan
    from mmaproof.generators.vectors import write_vectors
    from mmaproof.properties.preconditions import parse_precondition

    factor = parse_factor(by)
    meant = [parse_precondition(w) for w in where or ()]
    named = [is_plan(x) for x in (first, second)]
    if all(named):
        require_no_unit(first, unit or second_unit)
    if second_unit is not None and not named[1]:
        plans = [*find_plans([first], unit), find_plan(second, second_unit)]
    else:
        plans = find_plans([first, second], unit)
    left, right = plans
    same_operands = all(named) or left.formats[:2] == right.formats[:2]
    if any(named) and same_operands and not errors and factor == 1:
        require_bundle(bundle, [output, options.keep_lemmas])
        return compare_bits((left, right), k, meant, options, explain, output, bundle, json)
    if bundle is not None:
        raise InputError("--bundle is for plans that are compared bit for bit: a bundle has no proofs about errors")
    make_way(output)
    with progress(f"comparing {left.label} and {right.label}"):
        done = compare_errors(
            left,
            right,
            solver=options.solving,
            limits=options.limits,
            k=k,
            where=meant,
            by=factor,
            budget=options.budget,
            seed=options.seed,
        )
    units = [x.unit for x in plans]
    if json:
        print_json(comparison_record(done), units)
    else:
        print_comparison(done, explain)
        say_assumed(units)
    if output is not None and done.answer.witness is not None:
        write_vectors(output, [witness_vector(done)])
    elif output is not None:
        complain(f"note: {output} is not written: no vector was found")
    return EXIT_STATUS[done.verdict]


def parse_factor(text: str) -> Fraction:
    """Return the factor that ``text`` spells; InputError where it is none, or below 1."""
    from mmaproof.designs.errors import InputError

    try:
        # no exponents: a short text would spell a number of gigabytes
        factor = Fraction(text) if len(text) <= MOST_DIGITS and "e" not in text.lower() else Fraction(0)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if factor < 1:
        raise InputError(f"--by {text[:MOST_DIGITS]}: a number of at least 1 is needed, such as 8, 1.5 or 3/2")
    return factor


def comparison_record(done: ErrorComparison) -> dict[str, Any]:
    """Return the answer as a JSON object."""
    question, answer = done.question, done.answer
    record: dict[str, Any] = {
        "verdict": done.verdict,
        "algorithms": [x.label for x in question.plans],
        "units": [x.unit.name for x in question.plans],
        "k": question.k,
        "where": [str(p) for p in question.where],
        "by": str(question.by),
        "seconds": round(answer.seconds, 3),
        "solver": solver_record(answer.solver),
        "certified_by": solver_record(answer.certified_by),
        "certificate_covers": answer.certificate_covers,
        "reason": answer.reason,
        "origin": answer.origin,
        "lemmas": [lemma_record(x) for x in answer.lemmas],
    }
    if answer.witness is not None:
        outcomes = done.outcomes
        record["witness"] = {
            **operands_record(question.formats, answer.witness, None),
            "exact": str(outcomes[0].exact),
            "outputs": {x.plan.label: x.plan.formats[3].hex(x.d) for x in outcomes},
            "errors": {x.plan.label: error_record(x) for x in outcomes},
        }
    return record


def witness_vector(done: ErrorComparison) -> Vector:
    """Return the witness as a vector for a file."""
    from mmaproof.generators.vectors import Vector

    if done.answer.witness is None:
        raise ValueError("there is no witness to write as a vector")
    first, second = done.question.plans
    return Vector(
        done.answer.witness,
        (*done.question.formats, first.formats[3]),
        {f"{x.plan.label} on {x.plan.unit.name}": x.d for x in done.outcomes},
        why=f"{first.label} has a larger error than {second.label}",
        origin=done.answer.origin,
        version=tool_version(),
    )


def print_comparison(done: ErrorComparison, explain: bool = False) -> None:
    """Print the answer for a person."""
    from mmaproof.explain.values import exact, pattern_value

    question, answer = done.question, done.answer
    first, second = question.plans
    factor = "" if question.by == 1 else f", {question.by} times as large at least"
    own = first.label if first.unit == second.unit else first.title
    say(f"{done.verdict}: the error of {own} against that of {second.title}{factor}")
    asked = [f"k = {question.k}", *(f"where {p}" for p in question.where)]
    say_asked(asked, answer.origin, answer.seconds)
    if answer.reason is not None:
        say(f"  reason: {answer.reason}")
    if done.verdict == "vacuous":
        say("  no operands satisfy the preconditions")
    if answer.witness is None:
        return
    for line in operand_lines(operands_record(question.formats, answer.witness, None)):
        say(f"  {line}")
    outcomes = done.outcomes
    say(f"  exact = {exact(outcomes[0].exact)}")
    for x in outcomes:
        fmt = x.plan.formats[3]
        say(f"  d = {fmt.hex(x.d)} = {pattern_value(fmt, x.d)}, error {x.error_text}: {x.plan.label}")
    if explain:
        print_explanations(done)


def print_explanations(done: ErrorComparison) -> None:
    """Print every operation of both plans on the witness."""
    from mmaproof.gemm.answers.run import explanation
    from mmaproof.gemm.programs.evaluate import trace

    for plan, operands in done.operands:
        say("")
        say(plan.label)
        for line in explanation(trace(plan, operands)):
            say(f"  {line}")
