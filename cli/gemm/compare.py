"""`mmaproof gemm compare`: two plans bit for bit, or by their errors against the exact result."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.gemm.options import AlgorithmName, Unit
from mmaproof.cli.gemm.run import error_fields
from mmaproof.cli.operands import operand_lines
from mmaproof.cli.output import EXIT_STATUS, assumed_names, progress, say, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import asked, decided, say_decided, say_witness, witness_fields
from mmaproof.designs.errors import InputError

MOST_DIGITS = 40
"""Characters of a factor."""


@opt.with_backend
@opt.with_options(
    without="nan_codes ignore_zero_signs simplify picture html svg figure junit",
    keeps=True,
    helps={"explain": "Show the splits, each call of the unit, each addition outside it."},
)
def compare(
    first: AlgorithmName,
    second: AlgorithmName,
    unit: Unit = None,
    second_unit: Annotated[
        str | None, opt.option("--second-unit DESIGN", "That of the second algorithm, if it is another.")
    ] = None,
    question: opt.QuestionOptions = opt.QUESTION,
    by: Annotated[
        str, opt.option("--by FACTOR", "Ask whether the error can be at least FACTOR times larger: 8, 3/2.")
    ] = "1",
    errors: Annotated[
        bool, opt.option("--errors", "Of plans: ask for the larger error, not whether their bits are equal.")
    ] = False,
    options: opt.SolvingOptions = opt.SOLVING,
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

    factor = parse_factor(by)
    where = question.preconditions()
    named = [lib.named.is_plan(x) for x in (first, second)]
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
        done = lib.gemm_compare.compare_errors(left, right, k=question.k, where=where, by=factor, **given)
    answer = compared(done)
    showing.show(
        answer,
        lambda: print_comparison(done, answer, showing.explain),
        vectors=lambda: [] if done.answer.witness is None else [witness_vector(done)],
    )
    return EXIT_STATUS[done.verdict]


def parse_factor(text: str) -> Fraction:
    """Return the factor that ``text`` spells; InputError where it is none, or below 1."""
    try:
        # no exponents: a short text would spell a number of gigabytes
        factor = Fraction(text) if len(text) <= MOST_DIGITS and "e" not in text.lower() else Fraction(0)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if factor < 1:
        raise InputError(f"--by {text[:MOST_DIGITS]}: a number of at least 1 is needed, such as 8, 1.5 or 3/2")
    return factor


def compared(done: lib.gemm_compare.ErrorComparison) -> lib.verdicts.ErrorsCompared:
    """Return the answer."""
    question, witness = done.question, None
    if done.answer.witness is not None:
        outputs = {x.plan.label: x.d for x in done.outcomes}
        witness = lib.verdicts.ErrorsWitness(
            **witness_fields(question, done.answer.witness, outputs, done.outcomes[0].plan.formats[3]),
            exact=str(done.outcomes[0].exact),
            errors={x.plan.label: lib.verdicts.ErrorOf(**error_fields(x)) for x in done.outcomes},
        )
    units = [x.unit for x in question.plans]
    return lib.verdicts.ErrorsCompared.taken(
        done,
        algorithms=[x.label for x in question.plans],
        units=[x.name for x in units],
        **asked(question),
        by=str(question.by),
        **decided(done.answer),
        witness=witness or lib.answer.ABSENT,
        assumed=assumed_names(units),
    )


def witness_vector(done: lib.gemm_compare.ErrorComparison) -> lib.vectors.Vector:
    """Return the witness as a vector for a file."""
    if done.answer.witness is None:
        raise ValueError("there is no witness to write as a vector")
    first, second = done.question.plans
    return lib.vectors.Vector(
        done.answer.witness,
        (*done.question.formats, first.formats[3]),
        {f"{x.plan.label} on {x.plan.unit.name}": x.d for x in done.outcomes},
        why=f"{first.label} has a larger error than {second.label}",
        origin=done.answer.origin,
        version=tool_version(),
    )


def print_comparison(
    done: lib.gemm_compare.ErrorComparison, answer: lib.verdicts.ErrorsCompared, explain: bool
) -> None:
    """Print the answer for a person."""
    first, second = done.question.plans
    factor = "" if done.question.by == 1 else f", {done.question.by} times as large at least"
    own = first.label if first.unit == second.unit else first.title
    say(f"{done.verdict}: the error of {own} against that of {second.title}{factor}")
    say_decided(answer, [first.unit, second.unit], f"the error of {first.label} is not larger", whole=explain)
    if not answer.witness:
        return
    for line in operand_lines(answer.witness):
        say(f"  {line}")
    say(f"  exact = {lib.values.exact(done.outcomes[0].exact)}")
    for x in done.outcomes:
        fmt = x.plan.formats[3]
        say(f"  d = {fmt.hex(x.d)} = {lib.values.pattern_value(fmt, x.d)}, error {x.error_text}: {x.plan.label}")
    print_operations(done.operands if explain else [])


def print_operations(operands: Iterable[tuple[lib.programs.Plan, lib.element.Operands]]) -> None:
    """Print every operation of plans on their operands."""
    for plan, given in operands:
        say(f"\n{plan.label}")
        for line in lib.gemm_run.explanation(lib.gemm_evaluate.trace(plan, given)):
            say(f"  {line}")


def compare_bits(
    plans: tuple[lib.programs.Plan, lib.programs.Plan],
    question: opt.QuestionOptions,
    options: opt.SolvingOptions,
    showing: ShowingOptions,
) -> int:
    """Compare two plans bit by bit, print the verdict, and return the exit status."""
    given = options.means
    if any(x.random_bits for x in plans) and showing.bundle is not None:
        raise InputError("--bundle: a bundle has no random bits; state them, such as out=e4m3:sr8@0x80")
    showing.ready(options.keep_lemmas)
    with progress(f"comparing {plans[0].name} and {plans[1].name}"):
        done = lib.gemm_compare.compare_plans(*plans, k=question.k, where=question.preconditions(), **given)
    units = [y for x in plans for y in x.units]
    claim = f"{plans[0].name} and {plans[1].name} return the same bits"
    status, bundle = showing.bundled(
        {claim: done.answer},
        claim,
        units,
        options,
        EXIT_STATUS[done.verdict],
        lib.finite_operands.shaped_for(plans[0], plans[0].formats[:3]),
    )
    answer = lib.verdicts.PlansCompared(**pair_fields(done), assumed=assumed_names(units), bundle=bundle)
    showing.show(answer, lambda: print_bits(done, answer, showing.explain), vectors=lambda: bits_vectors(done))
    return status


def bits_vectors(done: lib.gemm_compare.PlanComparison) -> list[lib.vectors.Vector]:
    """Return the witness as a vector for a file, if there is one."""
    first, second = done.question.plans
    if done.answer.witness is None:
        return []
    return [
        lib.vectors.Vector(
            done.answer.witness,
            first.formats,
            {plan.name: d for plan, d in done.outputs},
            scale_format=done.question.scale_format,
            why=f"{first.name} and {second.name} return different bits",
            origin=done.answer.origin,
            version=tool_version(),
        )
    ]


def pair_fields(done: lib.gemm_compare.PlanComparison) -> dict[str, Any]:
    """Return the verdict on two plans as fields."""
    question, answer = done.question, done.answer
    outputs = {plan.name: d for plan, d in done.outputs}
    shown = None if answer.witness is None else witness_fields(question, answer.witness, outputs, question.d_format)
    return {
        "verdict": done.verdict,
        "plans": [x.name for x in question.plans],
        **asked(question),
        **decided(answer),
        "witness": lib.answer.ABSENT if shown is None else lib.answer.Witness(**shown),
    }


def print_bits(done: lib.gemm_compare.PlanComparison, answer: lib.verdicts.PlansCompared, explain: bool) -> None:
    """Print the verdict for a person."""
    question, witness = done.question, done.answer.witness
    say(f"{done.verdict}: {question.plans[0].name}")
    say(f"  and {question.plans[1].name}")
    say_decided(answer, [y for x in question.plans for y in x.units], "", whole=explain)
    if witness is None:
        return
    say_witness(answer.witness, question.d_format)
    print_operations([(_drawn(x, witness), witness) for x in question.plans] if explain else [])


def _drawn(plan: lib.programs.Plan, witness: lib.element.Operands) -> lib.programs.Plan:
    """Return a plan with the random bits of a witness, where it takes some."""
    return plan.drawn(witness.random[0]) if plan.random_bits else plan
