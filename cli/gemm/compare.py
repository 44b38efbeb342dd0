"""`mmaproof gemm compare`: two plans bit for bit, or by their errors against the exact result."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from mmaproof.cli.gemm.options import AlgorithmName, Unit
from mmaproof.cli.gemm.run import error_fields
from mmaproof.cli.operands import operand_lines
from mmaproof.cli.options import QUESTION, SOLVING, QuestionOptions, SolvingOptions, option, with_backend, with_options
from mmaproof.cli.output import EXIT_STATUS, assumed_names, progress, say, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import asked, decided, say_decided, say_witness, witness_fields

if TYPE_CHECKING:
    from mmaproof.designs.element import Operands
    from mmaproof.explain.answers.verdicts import ErrorsCompared, PlansCompared
    from mmaproof.gemm.answers.compare import ErrorComparison, PlanComparison
    from mmaproof.gemm.programs import Plan
    from mmaproof.generators.vectors import Vector

MOST_DIGITS = 40
"""Characters of a factor."""


@with_backend
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
        str | None, option("--second-unit DESIGN", "That of the second algorithm, if it is another.")
    ] = None,
    question: QuestionOptions = QUESTION,
    by: Annotated[
        str, option("--by FACTOR", "Ask whether the error can be at least FACTOR times larger: 8, 3/2.")
    ] = "1",
    errors: Annotated[
        bool, option("--errors", "Of plans: ask for the larger error, not whether their bits are equal.")
    ] = False,
    options: SolvingOptions = SOLVING,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Ask whether two plans return the same bits, or whether the FIRST ever has a larger error than the SECOND.

    Two plans are compared bit for bit; with --errors, and algorithms always, by their absolute errors against the exact
    result. An algorithm and a plan of narrower operands are compared by their errors, too: the plan gets the operands
    rounded to nearest. For errors operands are finite and their exact result is not larger than the largest number of
    the result's format. Exit status 1: they differ, or the error of the first is larger, on the operands shown; 0:
    equal, or never larger (proved); 3: unknown or vacuous.
    """
    from mmaproof.cli.gemm.options import find_plan, find_plans, require_no_unit
    from mmaproof.designs.errors import InputError
    from mmaproof.gemm.answers.compare import compare_errors
    from mmaproof.gemm.programs.named import is_plan

    factor = parse_factor(by)
    where = question.preconditions()
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
        return compare_bits((left, right), question, options, showing)
    if showing.bundle is not None:
        raise InputError("--bundle is for plans that are compared bit for bit: a bundle has no proofs about errors")
    given = options.means
    showing.ready(options.keep_lemmas)
    with progress(f"comparing {left.label} and {right.label}"):
        done = compare_errors(left, right, k=question.k, where=where, by=factor, **given)
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
    from mmaproof.explain.answers.verdicts import ErrorOf, ErrorsCompared, ErrorsWitness

    question, witness = done.question, None
    if done.answer.witness is not None:
        outputs = {x.plan.label: x.d for x in done.outcomes}
        witness = ErrorsWitness(
            **witness_fields(question, done.answer.witness, outputs, done.outcomes[0].plan.formats[3]),
            exact=str(done.outcomes[0].exact),
            errors={x.plan.label: ErrorOf(**error_fields(x)) for x in done.outcomes},
        )
    units = [x.unit for x in question.plans]
    return ErrorsCompared.taken(
        done,
        algorithms=[x.label for x in question.plans],
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
    first, second = done.question.plans
    return Vector(
        done.answer.witness,
        (*done.question.formats, first.formats[3]),
        {f"{x.plan.label} on {x.plan.unit.name}": x.d for x in done.outcomes},
        why=f"{first.label} has a larger error than {second.label}",
        origin=done.answer.origin,
        version=tool_version(),
    )


def print_comparison(done: ErrorComparison, answer: ErrorsCompared, explain: bool) -> None:
    """Print the answer for a person."""
    from mmaproof.explain.values import exact, pattern_value

    first, second = done.question.plans
    factor = "" if done.question.by == 1 else f", {done.question.by} times as large at least"
    own = first.label if first.unit == second.unit else first.title
    say(f"{done.verdict}: the error of {own} against that of {second.title}{factor}")
    say_decided(answer, [first.unit, second.unit], f"the error of {first.label} is not larger", whole=explain)
    if not answer.witness:
        return
    for line in operand_lines(answer.witness):
        say(f"  {line}")
    say(f"  exact = {exact(done.outcomes[0].exact)}")
    for x in done.outcomes:
        fmt = x.plan.formats[3]
        say(f"  d = {fmt.hex(x.d)} = {pattern_value(fmt, x.d)}, error {x.error_text}: {x.plan.label}")
    print_operations(done.operands if explain else [])


def print_operations(operands: Iterable[tuple[Plan, Operands]]) -> None:
    """Print every operation of plans on their operands."""
    from mmaproof.gemm.answers.run import explanation
    from mmaproof.gemm.programs.evaluate import trace

    for plan, given in operands:
        say(f"\n{plan.label}")
        for line in explanation(trace(plan, given)):
            say(f"  {line}")


def compare_bits(
    plans: tuple[Plan, Plan],
    question: QuestionOptions,
    options: SolvingOptions,
    showing: ShowingOptions,
) -> int:
    """Compare two plans bit by bit, print the verdict, and return the exit status."""
    from mmaproof.designs.errors import InputError
    from mmaproof.explain.answers.verdicts import PlansCompared
    from mmaproof.gemm.answers.compare import compare_plans
    from mmaproof.gemm.questions.finite_operands import shaped_for

    given = options.means
    if any(x.random_bits for x in plans) and showing.bundle is not None:
        raise InputError("--bundle: a bundle has no random bits; state them, such as out=e4m3:sr8@0x80")
    showing.ready(options.keep_lemmas)
    with progress(f"comparing {plans[0].name} and {plans[1].name}"):
        done = compare_plans(*plans, k=question.k, where=question.preconditions(), **given)
    units = [y for x in plans for y in x.units]
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
    showing.show(answer, lambda: print_bits(done, answer, showing.explain), vectors=lambda: bits_vectors(done))
    return status


def bits_vectors(done: PlanComparison) -> list[Vector]:
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
    from mmaproof.explain.answers.answer import ABSENT, Witness

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


def print_bits(done: PlanComparison, answer: PlansCompared, explain: bool) -> None:
    """Print the verdict for a person."""
    question, witness = done.question, done.answer.witness
    say(f"{done.verdict}: {question.plans[0].name}")
    say(f"  and {question.plans[1].name}")
    say_decided(answer, [y for x in question.plans for y in x.units], "", whole=explain)
    if witness is None:
        return
    say_witness(answer.witness, question.d_format)
    print_operations([(_drawn(x, witness), witness) for x in question.plans] if explain else [])


def _drawn(plan: Plan, witness: Operands) -> Plan:
    """Return a plan with the random bits of a witness, where it takes some."""
    return plan.drawn(witness.random[0]) if plan.random_bits else plan
