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

if TYPE_CHECKING:
    from mmaproof.verification.gemm.compare import Returned


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("run")(run)


_PATTERNS = "fp32 bit patterns in hexadecimal, separated by commas: 0x3f800000,0x00000000,..."


def run(
    algorithm: AlgorithmName,
    unit: Unit,
    a: Annotated[str, typer.Option("--a", metavar="LIST", help=f"Elements of a, {_PATTERNS}")],
    b: Annotated[str, typer.Option("--b", metavar="LIST", help="Elements of b, likewise.")],
    c: Annotated[str, typer.Option("--c", metavar="HEX", help="The accumulator.")] = "0x00000000",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the splits, each call of the unit, each addition outside it.")
    ] = False,
    json: Json = False,
) -> None:
    """Compute d = c + sum a[k]*b[k] of fp32 numbers as an algorithm does on a unit, and its error."""
    from mmaproof.algorithms.algorithm import OPERANDS
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.algorithms.evaluate import trace
    from mmaproof.cli.gemm.explain import explanation
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import OperandError
    from mmaproof.designs.operands import Operands
    from mmaproof.verification.gemm.compare import outcomes

    found, design = find_algorithm(algorithm), find_design(unit)
    columns = [parse_patterns(*x) for x in (("a", a, OPERANDS), ("b", b, OPERANDS), ("c", c, OPERANDS))]
    if len(columns[2]) != 1:
        raise OperandError(f"c has {len(columns[2])} elements: it is one pattern")
    operands = Operands(columns[0], columns[1], columns[2][0])
    done = trace(found, design, operands)
    finite = all(not OPERANDS.is_nan(x) and x & 0x7FFFFFFF != OPERANDS.infinity for x in sum(columns, ()))
    outcome = outcomes([(found, design)], operands)[0] if finite else None
    if json:
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
