"""`mmaproof gemm compare`: two algorithms by their errors against the exact result."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.gemm.options import AlgorithmName, Unit
from mmaproof.cli.gemm.run import error_fields
from mmaproof.cli.operands import operand_lines
from mmaproof.cli.options import QUESTION, SOLVING, QuestionOptions, SolvingOptions, with_backend, with_options
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    assumed_names,
    progress,
    say,
)
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import asked, decided, say_decided, witness_fields
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from mmaproof.algorithms.algorithm import Program
    from mmaproof.explain.answers.products import ErrorsCompared
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


@with_options(
    without="nan_codes ignore_zero_signs simplify picture html svg figure junit",
    keeps=True,
    helps={"explain": "Show the splits, each call of the unit, each addition outside it."},
)
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
    question: QuestionOptions = QUESTION,
    by: Annotated[
        str, typer.Option("--by", metavar="FACTOR", help="Ask for an error at least so many times as large: 8, 3/2.")
    ] = "1",
    errors: Annotated[
        bool, typer.Option("--errors", help="Of plans: ask for the larger error, not whether their bits are equal.")
    ] = False,
    options: SolvingOptions = SOLVING,
    showing: ShowingOptions = SHOWING,
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
    from mmaproof.verification.gemm.compare import compare_errors

    factor = parse_factor(by)
    where = question.preconditions()
    if is_plan(first) and is_plan(second):
        require_no_unit(first, unit or second_unit)
    if (is_plan(first) or is_plan(second)) and not errors and factor == 1:
        plans = find_plan(first, unit), find_plan(second, second_unit or unit)
        return compare_bits(plans, question, options, showing)
    if showing.bundle is not None:
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
    given = options.means
    showing.ready(options.keep_lemmas)
    with progress(f"comparing {programs[0].name} and {programs[1].name}"):
        done = compare_errors(
            programs[0], programs[1], designs[0], k=question.k, where=where, by=factor, second_unit=designs[1], **given
        )
    answer = compared(done)
    showing.show(
        answer,
        lambda: print_comparison(done, answer, showing.explain),
        vectors=lambda: [] if done.answer.witness is None else [witness_vector(done)],
    )
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


def compared(done: ErrorComparison) -> ErrorsCompared:
    """Return the answer."""
    from mmaproof.explain.answers.answer import ABSENT
    from mmaproof.explain.answers.products import ErrorOf, ErrorsCompared, ErrorsWitness

    question, witness = done.question, None
    if done.answer.witness is not None:
        outputs = {x.algorithm.name: x.d for x in done.outcomes}
        witness = ErrorsWitness(
            **witness_fields(question, done.answer.witness, outputs, done.outcomes[0].algorithm.interface[3]),
            exact=str(done.outcomes[0].exact),
            errors={x.algorithm.name: ErrorOf(**error_fields(x)) for x in done.outcomes},
        )
    units = [unit for _, unit in question.runs]
    return ErrorsCompared.taken(
        done,
        algorithms=[x.name for x, _ in question.runs],
        units=[x.name for x in units],
        **asked(question),
        by=str(question.by),
        **decided(done.answer),
        witness=witness or ABSENT,
        assumed=assumed_names(units),
    )


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


def print_comparison(done: ErrorComparison, answer: ErrorsCompared, explain: bool) -> None:
    """Print the answer for a person."""
    from mmaproof.explain.values import exact, pattern_value

    (first, unit), (second, other) = done.question.runs
    factor = "" if done.question.by == 1 else f", {done.question.by} times as large at least"
    own = "" if unit == other else f" on {unit.name}"
    say(f"{done.verdict}: the error of {first.name}{own} against that of {second.name} on {other.name}{factor}")
    say_decided(answer, [unit, other], f"the error of {first.name} is no larger", whole=explain)
    if not answer.witness:
        return
    for line in operand_lines(answer.witness):
        say(f"  {line}")
    say(f"  exact = {exact(done.outcomes[0].exact)}")
    for x in done.outcomes:
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
