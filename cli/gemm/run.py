"""`mmaproof gemm run`: one element of the result as an algorithm computes it."""

from __future__ import annotations

from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.gemm.options import AlgorithmName, Unit
from mmaproof.cli.operands import OperandOptions, operands_record, parse_patterns
from mmaproof.cli.output import Exit, assumed_names, say, say_assumed, say_open_points
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.designs.errors import InputError, OperandError


@opt.with_options(
    without="picture output junit bundle",
    c="0x0",
    helps={"explain": "Show the splits, each call of the unit, each addition outside it."},
)
def run(
    algorithm: AlgorithmName,
    given: OperandOptions,
    factors: Annotated[
        str | None, opt.option("--factors LIST", "Of a plan with rescale=N:operand: patterns of fp32, in order.")
    ] = None,
    random: Annotated[
        str | None, opt.option("--random HEX", "Random bits of a plan that takes some: out=e4m3:sr8.")
    ] = None,
    unit: Unit = None,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Compute d = c + sum a[k]*b[k] as an algorithm does with fp32 numbers on a unit, or as a plan does; and its error.

    Operands of an algorithm are patterns of fp32, those of a plan are of its own formats.
    """
    from mmaproof.cli.gemm.options import find_plan, require_no_unit

    named = lib.named.is_plan(algorithm)
    if named:
        require_no_unit(algorithm, unit)
    plan = find_plan(algorithm, unit)
    scales = given.scale_a, given.scale_b
    texts = given.a, given.b, given.c or "", *(x or "" for x in (*scales, factors))
    if not named and (scales != (None, None) or factors is not None):
        raise InputError(f"--scale-a, --scale-b and --factors are operands of plans, and {algorithm} is an algorithm")
    scale, fp32 = plan.scale_format, lib.formats.find_format("fp32")
    if scale is None and scales != (None, None):
        raise OperandError(f"{plan.name} has no scales: leave --scale-a and --scale-b out")
    of_columns = *plan.formats[:3], scale or fp32, scale or fp32, fp32
    names = "a", "b", "c", "scale-a", "scale-b", "factors"
    columns = [parse_patterns(*x) for x in zip(names, texts, of_columns, strict=True)]
    operands = lib.element.Operands(columns[0], columns[1], only_c(columns[2]), columns[3], columns[4])
    showing.ready()
    done = lib.gemm_run.run_gemm(plan, operands, factors=columns[5], random=random_bits(random))
    element = element_fields(done, operands_record(plan.formats[:3], operands, scale))
    answer: lib.verdicts.AlgorithmRun | lib.verdicts.PlanRun
    if named:
        factors_read = [fp32.hex(x) for x in columns[5]] if plan.has_factors else lib.answer.ABSENT
        answer = lib.verdicts.PlanRun(plan=done.plan.name, **element, factors=factors_read)
    else:
        ulps = None if done.ulps is None else float(done.ulps)
        answer = lib.verdicts.AlgorithmRun(algorithm=plan.label, unit=plan.unit.name, **element, ulps=ulps)
    showing.show(answer, lambda: print_run(done, showing.explain), done.pictures)
    return Exit.HOLDS


def random_bits(text: str | None) -> int | None:
    """Return the random bits that a text spells. Raises OperandError where they are not hexadecimal."""
    if text is None:
        return None
    try:
        return int(text.removeprefix("0x"), 16)
    except ValueError:
        raise OperandError(f"--random {text}: a hexadecimal number is needed, such as 0x5a") from None


def only_c(patterns: tuple[int, ...]) -> int:
    """Return the one pattern of c. Raises OperandError for none or several."""
    if len(patterns) != 1:
        raise OperandError(f"c has {len(patterns)} elements: it is one pattern")
    return patterns[0]


def element_fields(done: lib.gemm_run.GemmRun, operands: dict[str, Any]) -> dict[str, Any]:
    """Return what an algorithm or a plan computes as fields."""
    return {
        **operands,
        "k": len(operands["a"]),
        "d": done.d_format.hex(done.d),
        "exact": None if done.exact is None else str(done.exact),
        "error": None if done.exact is None else error_fields(done)["error"],
        "open_points": lib.answer.RestsOn.of(done.open_points),
        "assumed": assumed_names(done.plan.units),
    }


def print_run(done: lib.gemm_run.GemmRun, explain: bool) -> None:
    """Print a run for a person."""
    for line in done.operations if explain else ():
        say(line)
    say(f"d = {done.d_format.hex(done.d)} = {lib.values.pattern_value(done.d_format, done.d)}")
    if done.exact is not None:
        say(f"exact {lib.values.exact(done.exact)}, error {done.error_text}")
    say_assumed(done.plan.units)
    say_open_points(done.open_points)


def error_fields(outcome: lib.gemm_compare.Returned | lib.gemm_run.GemmRun) -> dict[str, Any]:
    """Return the error of a result as fields: a rational number, and about how many ulps it is."""
    infinite = outcome.error is None
    return {
        "error": "infinite" if infinite else str(outcome.error),
        "ulps": None if outcome.ulps is None else float(outcome.ulps),
    }
