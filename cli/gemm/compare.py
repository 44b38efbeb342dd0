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
    from mmaproof.algorithms.algorithm import Program
    from mmaproof.generators.vectors import Vector
    from mmaproof.verification.gemm.compare import ErrorComparison

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
    result. For errors operands are finite and their exact result is no larger than the largest number of the result's
    format. Exit status 1: they differ, or the error of the first is larger, on the operands shown; 0: equal, or never
    larger (proved); 3: unknown or vacuous.
    """
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.algorithms.plans.named import is_plan
    from mmaproof.algorithms.plans.program import PlanProgram
    from mmaproof.cli.gemm.compare_plans import compare_bits
    from mmaproof.cli.gemm.planned import find_plan, require_no_unit, require_unit
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import make_way
    from mmaproof.generators.vectors import write_vectors
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.verification.gemm.compare import compare_errors

    factor = parse_factor(by)
    meant = [parse_precondition(w) for w in where or ()]
    if is_plan(first) and is_plan(second):
        require_no_unit(first, unit or second_unit)
    if (is_plan(first) or is_plan(second)) and not errors and factor == 1:
        plans = find_plan(first, unit), find_plan(second, second_unit or unit)
        require_bundle(bundle, [output, options.keep_lemmas])
        return compare_bits(plans, k, meant, options, explain, output, bundle, json)
    if bundle is not None:
        raise InputError("--bundle is for plans that are compared bit for bit: a bundle has no proofs about errors")
    programs: list[Program] = []
    designs = []
    for text, name in ((first, unit), (second, second_unit or unit)):
        if is_plan(text):
            plan = find_plan(text, name)
            programs.append(PlanProgram(plan))
            designs.append(plan.unit)
        else:
            programs.append(find_algorithm(text))
            designs.append(find_design(require_unit(text, name)))
    solving, limits = options.solving, options.limits
    make_way(output)
    with progress(f"comparing {programs[0].name} and {programs[1].name}"):
        done = compare_errors(
            programs[0],
            programs[1],
            designs[0],
            solver=solving,
            limits=limits,
            k=k,
            where=meant,
            by=factor,
            second_unit=designs[1],
            budget=options.budget,
            seed=options.seed,
        )
    if json:
        print_json(comparison_record(done), designs)
    else:
        print_comparison(done, explain)
        say_assumed(designs)
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
        "algorithms": [x.name for x, _ in question.runs],
        "units": [x.name for _, x in question.runs],
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
            "outputs": {x.algorithm.name: x.algorithm.interface[3].hex(x.d) for x in outcomes},
            "errors": {x.algorithm.name: error_record(x) for x in outcomes},
        }
    return record


def witness_vector(done: ErrorComparison) -> Vector:
    """Return the witness as a vector for a file."""
    from mmaproof.generators.vectors import Vector

    if done.answer.witness is None:
        raise ValueError("there is no witness to write as a vector")
    (first, _), (second, _) = done.question.runs
    return Vector(
        done.answer.witness,
        first.interface,
        {f"{x.algorithm.name} on {x.unit.name}": x.d for x in done.outcomes},
        why=f"{first.name} has a larger error than {second.name}",
        origin=done.answer.origin,
        version=tool_version(),
    )


def print_comparison(done: ErrorComparison, explain: bool = False) -> None:
    """Print the answer for a person."""
    from mmaproof.explain.values import exact, pattern_value

    question, answer = done.question, done.answer
    (first, unit), (second, other) = question.runs
    factor = "" if question.by == 1 else f", {question.by} times as large at least"
    own = "" if unit == other else f" on {unit.name}"
    say(f"{done.verdict}: the error of {first.name}{own} against that of {second.name} on {other.name}{factor}")
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
        fmt = x.algorithm.interface[3]
        say(f"  d = {fmt.hex(x.d)} = {pattern_value(fmt, x.d)}, error {x.error_text}: {x.algorithm.name}")
    if explain:
        print_explanations(done)


def print_explanations(done: ErrorComparison) -> None:
    """Print every operation of both algorithms on the witness."""
    from mmaproof.algorithms.algorithm import Algorithm
    from mmaproof.algorithms.evaluate import trace
    from mmaproof.algorithms.plans.evaluate import trace as trace_of_plan
    from mmaproof.algorithms.plans.program import PlanProgram
    from mmaproof.verification.gemm.explanation import explanation

    if done.answer.witness is None:
        raise ValueError("there is no witness to explain")
    for program, unit in done.question.runs:
        say("")
        say(program.name)
        if isinstance(program, Algorithm):
            traced = trace(program, unit, done.answer.witness)
        elif isinstance(program, PlanProgram):
            traced = trace_of_plan(program.plan, done.answer.witness)
        else:
            raise TypeError(f"{program.name} is neither an algorithm nor a plan")
        for line in explanation(traced):
            say(f"  {line}")
