"""`mmaproof gemm run`: one element of the result as an algorithm computes it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.gemm.options import AlgorithmName, Unit
from mmaproof.cli.operands import operands_record, parse_patterns
from mmaproof.cli.options import Json
from mmaproof.cli.output import print_json, say
from mmaproof.cli.pictures import Figure, Html, PictureFiles, Svg

if TYPE_CHECKING:
    from mmaproof.algorithms.evaluate import Trace
    from mmaproof.explain import Picture
    from mmaproof.verification.gemm.compare import Returned


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("run")(run)


_PATTERNS = "bit patterns in hexadecimal, separated by commas: 0x3f800000,0x00000000,..."


def run(
    algorithm: AlgorithmName,
    a: Annotated[str, typer.Option("--a", metavar="LIST", help=f"Elements of a, {_PATTERNS}")],
    b: Annotated[str, typer.Option("--b", metavar="LIST", help="Elements of b, likewise.")],
    c: Annotated[str, typer.Option("--c", metavar="HEX", help="The accumulator.")] = "0x0",
    scale_a: Annotated[
        str | None, typer.Option("--scale-a", metavar="LIST", help="Of a plan with scales: those of the blocks of a.")
    ] = None,
    scale_b: Annotated[str | None, typer.Option("--scale-b", metavar="LIST", help="Those of b.")] = None,
    factors: Annotated[
        str | None,
        typer.Option("--factors", metavar="LIST", help="Of a plan with rescale=N:operand: patterns of fp32, in order."),
    ] = None,
    unit: Unit = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the splits, each call of the unit, each addition outside it.")
    ] = False,
    html: Html = None,
    svg: Svg = None,
    figure: Figure = None,
    json: Json = False,
) -> None:
    """Compute d = c + sum a[k]*b[k] as an algorithm does with fp32 numbers on a unit, or as a plan does; and its error.

    Operands of an algorithm are patterns of fp32, those of a plan are of its own formats.
    """
    from mmaproof.cli.gemm.planned import is_plan, require_no_unit, require_unit

    files = PictureFiles(html, svg, figure)
    files.require()
    if is_plan(algorithm):
        require_no_unit(algorithm, unit)
        run_plan(algorithm, (a, b, c), (scale_a, scale_b, factors), explain, files, json)
        return
    unit = require_unit(algorithm, unit)
    if scale_a is not None or scale_b is not None or factors is not None:
        from mmaproof.designs.errors import InputError

        raise InputError(f"--scale-a, --scale-b and --factors are operands of plans, and {algorithm} is an algorithm")
    from mmaproof.algorithms.algorithm import OPERANDS
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.algorithms.evaluate import trace
    from mmaproof.cli.gemm.explain import explanation
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.element import Operands
    from mmaproof.designs.errors import OperandError
    from mmaproof.designs.files import make_way
    from mmaproof.verification.gemm.compare import outcomes

    found, design = find_algorithm(algorithm), find_design(unit)
    columns = [parse_patterns(*x) for x in (("a", a, OPERANDS), ("b", b, OPERANDS), ("c", c, OPERANDS))]
    if len(columns[2]) != 1:
        raise OperandError(f"c has {len(columns[2])} elements: it is one pattern")
    operands = Operands(columns[0], columns[1], columns[2][0])
    make_way(*files.paths)
    done = trace(found, design, operands)
    finite = all(not OPERANDS.is_nan(x) and x & 0x7FFFFFFF != OPERANDS.infinity for x in sum(columns, ()))
    outcome = outcomes([(found, design)], operands)[0] if finite else None
    record: dict[str, Any] = {
        "algorithm": found.name,
        "unit": design.name,
        "k": len(operands),
        **operands_record((OPERANDS,) * 3, operands, None),
        "d": OPERANDS.hex(done.d),
    }
    if outcome is None:
        record |= {"exact": None, "error": None, "ulps": None}
    else:
        record |= {"exact": str(outcome.exact), **error_record(outcome)}
    files.write(record, lambda: pictures_of(done))
    if json:
        print_json(record, [design])
        return
    if explain:
        for line in explanation(done):
            say(line)
    from mmaproof.explain.values import exact, pattern_value

    say(f"d = {OPERANDS.hex(done.d)} = {pattern_value(OPERANDS, done.d)}")
    if outcome is not None:
        say(f"exact {exact(outcome.exact)}, error {error_text(outcome)}")
    say_assumed([design])


def run_plan(
    text: str,
    abc: tuple[str, str, str],
    others: tuple[str | None, str | None, str | None],
    explain: bool,
    files: PictureFiles,
    json: bool,
) -> None:
    """Compute one element as a plan does, and print it. ``others`` are the scales of a and of b, and factors."""
    from mmaproof.algorithms.plans.evaluate import trace
    from mmaproof.algorithms.plans.linear import exact_result
    from mmaproof.cli.gemm.explain import explanation
    from mmaproof.cli.gemm.planned import find_plan
    from mmaproof.designs.element import Operands
    from mmaproof.designs.errors import OperandError
    from mmaproof.designs.files import make_way
    from mmaproof.designs.formats import find_format
    from mmaproof.explain.values import exact, is_finite, pattern_number, pattern_value
    from mmaproof.verification.gemm.compare import ulp

    plan = find_plan(text, None)
    formats = plan.formats
    scale, fp32 = plan.scale_format, find_format("fp32")
    if scale is None and (others[0] is not None or others[1] is not None):
        raise OperandError(f"{plan.name} has no scales: leave --scale-a and --scale-b out")
    of_columns = *formats[:3], scale or fp32, scale or fp32, fp32
    names = "a", "b", "c", "scale-a", "scale-b", "factors"
    given = zip(names, (*abc, *(x or "" for x in others)), of_columns, strict=True)
    columns = [parse_patterns(name, column, fmt) for name, column, fmt in given]
    if len(columns[2]) != 1:
        raise OperandError(f"c has {len(columns[2])} elements: it is one pattern")
    operands = Operands(columns[0], columns[1], columns[2][0], columns[3], columns[4])
    make_way(*files.paths)
    done, d_format = trace(plan, operands, columns[5]), formats[3]
    meant, error = None, None
    if not d_format.is_integer and all(is_finite(f, x) for f, xs in zip(of_columns, columns, strict=True) for x in xs):
        numbers = [[pattern_number(f, x) for x in xs] for f, xs in zip(of_columns, columns, strict=True)]
        if scale is not None:
            size = plan.unit.block or 1
            numbers[:2] = [
                [x * of[i // size] for i, x in enumerate(xs)] for xs, of in zip(numbers, numbers[3:5], strict=False)
            ]
        meant = exact_result(plan.schedule(len(operands)), numbers[0], numbers[1], numbers[2][0], numbers[5])
        if is_finite(d_format, done.d):
            error = pattern_number(d_format, done.d) - meant
    record: dict[str, Any] = {
        "plan": plan.name,
        "k": len(operands),
        **operands_record(formats[:3], operands, scale),
        **({"factors": [fp32.hex(x) for x in columns[5]]} if plan.has_factors else {}),
        "d": d_format.hex(done.d),
        "exact": None if meant is None else str(meant),
        "error": None if error is None else str(error),
    }
    files.write(record, lambda: pictures_of(done))
    if json:
        print_json(record, [plan.unit])
        return
    if explain:
        for line in explanation(done):
            say(line)
    say(f"d = {d_format.hex(done.d)} = {pattern_value(d_format, done.d)}")
    if meant is not None:
        shown = "infinite"
        if error is not None:
            ulps = ulps_text(error / ulp(meant, d_format))
            shown = f"{exact(error)} = {ulps} ulp of {d_format.name}" if error else "0"
        say(f"exact {exact(meant)}, error {shown}")
    say_assumed([plan.unit])


def pictures_of(done: Trace) -> list[tuple[str, Picture]]:
    """Return the picture of each call of the unit, in order."""
    from mmaproof.designs.element import Operands
    from mmaproof.explain import explain

    found = []
    for step in done.steps:
        if step.unit is not None:
            a, b, (c,), *scales = (tuple(x.word.data for x in column) for column in step.operands)
            found.append((step.label, explain([step.unit], Operands(a, b, c, *scales))))
    return found


def error_record(outcome: Returned) -> dict[str, Any]:
    """Return the error of a result as JSON data: a rational number, and about how many ulps it is."""
    infinite = outcome.error is None
    return {
        "error": "infinite" if infinite else str(outcome.error),
        "ulps": None if outcome.ulps is None else float(outcome.ulps),
    }


def error_text(outcome: Returned) -> str:
    """Return the error of a result for a person: exact, and in units in the last place of the exact result."""
    from mmaproof.explain.values import exact

    if outcome.error is None or outcome.ulps is None:
        return "infinite"
    if not outcome.error:
        return "0"
    return f"{exact(outcome.error)} = {ulps_text(outcome.ulps)} ulp"


def ulps_text(ulps: Fraction) -> str:
    """Return a number of ulps to four digits."""
    return f"{float(ulps):+.4g}"
