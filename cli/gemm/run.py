"""`mmaproof gemm run`: one element of the result as an algorithm computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.assumed import say_assumed, say_open_points
from mmaproof.cli.gemm.options import AlgorithmName, Unit
from mmaproof.cli.operands import operands_record, parse_patterns
from mmaproof.cli.options import with_options
from mmaproof.cli.output import EXIT_HOLDS, assumed_names, say
from mmaproof.cli.showing import SHOWING, ShowingOptions

if TYPE_CHECKING:
    from mmaproof.explain.answers.products import AlgorithmRun, PlanRun
    from mmaproof.verification.gemm.compare import Returned
    from mmaproof.verification.gemm.run import GemmRun


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("run")(run)


_PATTERNS = "numbers or bit patterns, separated by commas: 1.5,2^-3,0x3f800000,..."


@with_options(
    without="picture output junit bundle",
    helps={"explain": "Show the splits, each call of the unit, each addition outside it."},
)
def run(
    algorithm: AlgorithmName,
    a: Annotated[str, typer.Option("--a", metavar="LIST", help=f"Elements of a, {_PATTERNS}")],
    b: Annotated[str, typer.Option("--b", metavar="LIST", help="Elements of b, likewise.")],
    c: Annotated[str, typer.Option("--c", metavar="NUMBER", help="The accumulator.")] = "0x0",
    scale_a: Annotated[
        str | None, typer.Option("--scale-a", metavar="LIST", help="Of a plan with scales: those of the blocks of a.")
    ] = None,
    scale_b: Annotated[str | None, typer.Option("--scale-b", metavar="LIST", help="Those of b.")] = None,
    factors: Annotated[
        str | None,
        typer.Option("--factors", metavar="LIST", help="Of a plan with rescale=N:operand: patterns of fp32, in order."),
    ] = None,
    unit: Unit = None,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Compute d = c + sum a[k]*b[k] as an algorithm does with fp32 numbers on a unit, or as a plan does; and its error.

    Operands of an algorithm are patterns of fp32, those of a plan are of its own formats.
    """
    from mmaproof.algorithms.plans.named import is_plan
    from mmaproof.cli.gemm.planned import require_no_unit, require_unit

    if is_plan(algorithm):
        require_no_unit(algorithm, unit)
        return run_plan(algorithm, (a, b, c), (scale_a, scale_b, factors), showing)
    unit = require_unit(algorithm, unit)
    if scale_a is not None or scale_b is not None or factors is not None:
        from mmaproof.designs.errors import InputError

        raise InputError(f"--scale-a, --scale-b and --factors are operands of plans, and {algorithm} is an algorithm")
    from mmaproof.algorithms.algorithm import OPERANDS
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.element import Operands
    from mmaproof.explain.answers.products import AlgorithmRun
    from mmaproof.verification.gemm.run import run_gemm

    found, design = find_algorithm(algorithm), find_design(unit)
    columns = [parse_patterns(*x) for x in (("a", a, OPERANDS), ("b", b, OPERANDS), ("c", c, OPERANDS))]
    operands = Operands(columns[0], columns[1], only_c(columns[2]))
    showing.ready()
    done = run_gemm(found, operands, design)
    answer = AlgorithmRun(
        algorithm=found.name,
        unit=design.name,
        **element_fields(done, operands_record((OPERANDS,) * 3, operands, None)),
        ulps=None if done.ulps is None else float(done.ulps),
    )
    return show(done, answer, showing)


def run_plan(
    text: str,
    abc: tuple[str, str, str],
    others: tuple[str | None, str | None, str | None],
    showing: ShowingOptions,
) -> int:
    """Compute one element as a plan does, and print it. ``others`` are the scales of a and of b, and factors."""
    from mmaproof.cli.gemm.planned import find_plan
    from mmaproof.designs.element import Operands
    from mmaproof.designs.errors import OperandError
    from mmaproof.designs.formats import find_format
    from mmaproof.explain.answers.answer import ABSENT
    from mmaproof.explain.answers.products import PlanRun
    from mmaproof.verification.gemm.run import run_gemm

    plan = find_plan(text, None)
    scale, fp32 = plan.scale_format, find_format("fp32")
    if scale is None and (others[0] is not None or others[1] is not None):
        raise OperandError(f"{plan.name} has no scales: leave --scale-a and --scale-b out")
    of_columns = *plan.formats[:3], scale or fp32, scale or fp32, fp32
    names = "a", "b", "c", "scale-a", "scale-b", "factors"
    given = zip(names, (*abc, *(x or "" for x in others)), of_columns, strict=True)
    columns = [parse_patterns(name, column, fmt) for name, column, fmt in given]
    operands = Operands(columns[0], columns[1], only_c(columns[2]), columns[3], columns[4])
    showing.ready()
    done = run_gemm(plan, operands, factors=columns[5])
    answer = PlanRun(
        plan=plan.name,
        **element_fields(done, operands_record(plan.formats[:3], operands, scale)),
        factors=[fp32.hex(x) for x in columns[5]] if plan.has_factors else ABSENT,
    )
    return show(done, answer, showing)


def only_c(patterns: tuple[int, ...]) -> int:
    """Return the one pattern of c. Raises OperandError for none or several."""
    from mmaproof.designs.errors import OperandError

    if len(patterns) != 1:
        raise OperandError(f"c has {len(patterns)} elements: it is one pattern")
    return patterns[0]


def element_fields(done: GemmRun, operands: dict[str, Any]) -> dict[str, Any]:
    """Return what an algorithm or a plan computes as fields."""
    from mmaproof.explain.answers.parts import RestsOn

    return {
        **operands,
        "k": len(operands["a"]),
        "d": done.d_format.hex(done.d),
        "exact": None if done.exact is None else str(done.exact),
        "error": None if done.exact is None else error_fields(done)["error"],
        "open_points": RestsOn.of(done.open_points),
        "assumed": assumed_names([done.unit]),
    }


def show(done: GemmRun, answer: AlgorithmRun | PlanRun, showing: ShowingOptions) -> int:
    """Write the pictures of a run, print it, and return the exit status."""
    showing.show(answer, lambda: print_run(done, showing.explain), done.pictures)
    return EXIT_HOLDS


def print_run(done: GemmRun, explain: bool) -> None:
    """Print a run for a person."""
    from mmaproof.explain.values import exact, pattern_value

    for line in done.operations if explain else ():
        say(line)
    say(f"d = {done.d_format.hex(done.d)} = {pattern_value(done.d_format, done.d)}")
    if done.exact is not None:
        say(f"exact {exact(done.exact)}, error {done.error_text}")
    say_assumed([done.unit])
    say_open_points(done.open_points)


def error_fields(outcome: Returned | GemmRun) -> dict[str, Any]:
    """Return the error of a result as fields: a rational number, and about how many ulps it is."""
    infinite = outcome.error is None
    return {
        "error": "infinite" if infinite else str(outcome.error),
        "ulps": None if outcome.ulps is None else float(outcome.ulps),
    }
