"""`mmaproof run`: one dot product on one design; `mmaproof serve`: a design as a process that runs operands."""

from __future__ import annotations

import sys
from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.operands import OperandOptions, operands_record
from mmaproof.cli.output import Exit, assumed_names, results, say, say_assumed, say_open_points
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.designs.errors import InputError


@opt.with_options(without="picture output junit bundle", helps={"explain": "Draw what happens, bit by bit."})
def run(
    design: opt.DesignName,
    given: OperandOptions,
    k: opt.Length = None,
    decimal: opt.Decimal = False,
    metadata: Annotated[
        str | None,
        opt.option("--metadata HEX", "Of a 2:4 sparse a: which two of each four elements of b are multiplied."),
    ] = None,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Compute d = c + sum a[k]*b[k] as a design does."""
    found = opt.named_design(design)
    operands = given.of(found, k, metadata)
    showing.ready()
    result, rests_on = lib.trace.evaluate(found, operands), lib.evaluate.open_points(found, operands)
    answer = lib.verdicts.RunAnswer(
        design=found.name,
        k=len(operands),
        **operands_record(found.formats, operands, found.scale_format),
        d=found.d_format.hex(result),
        number=lib.element.decimal_of(result, found.d_format),
        open_points=lib.answer.RestsOn.of(rests_on),
        assumed=assumed_names([found]),
    )

    def pictures() -> list[tuple[str, lib.explain.Picture]]:
        return [("", lib.explain.explain([found], operands))]

    def text() -> None:
        if showing.explain:
            results().print(lib.text.Drawing(lib.explain.explain([found], operands)))
        else:
            value = answer.number if decimal else lib.values.pattern_value(found.d_format, result)
            say(f"{answer.d} = {value}")
        say_assumed([found])
        say_open_points(rests_on)

    showing.show(answer, text, pictures)
    return Exit.HOLDS


@opt.with_backend
def serve(design: opt.DesignName, decimal: opt.Decimal = False) -> int:
    """Answer operands on stdin with d on stdout, one JSON object a line.

    The first line is {"design": NAME or null, "a_format": ..., "b_format": ..., "c_format": ..., "d_format": ...,
    "k": N}, each other one {"a": [TEXT, ...], "b": [TEXT, ...], "c": TEXT}, with "scale_a" and "scale_b" where the
    design has scales; a TEXT is a bit pattern (0x3c00) or a number (1.5, 2^-3). The answer to it is {"d": HEX}, or with
    --decimal {"d": NUMBER}.
    Exit status 0 at the end of the input; 2 after a line that is malformed or does not fit the design.
    """
    if sys.stdin is None:
        raise InputError("serve reads stdin, which is closed")
    try:
        lib.process.serve(opt.named_design(design), sys.stdin.fileno(), sys.stdout.fileno(), decimal=decimal)
    except BrokenPipeError:  # the client went away; typer would make it status 1
        return Exit.BROKEN_PIPE
    return Exit.HOLDS
