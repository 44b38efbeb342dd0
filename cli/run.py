"""`mmaproof run`: one dot product on one design."""

from __future__ import annotations

from typing import Annotated

import typer

from mmaproof.cli.assumed import say_assumed, say_open_points
from mmaproof.cli.operands import operands_record, parse_operands
from mmaproof.cli.options import DesignName, Json, Length
from mmaproof.cli.output import print_json, results, say
from mmaproof.cli.pictures import Figure, Html, PictureFiles, Svg


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("run")(run)


_PATTERNS = "numbers or bit patterns, separated by commas: 1.5,2^-3,0x3c00,..."


def run(
    design: DesignName,
    a: Annotated[str, typer.Option("--a", metavar="LIST", help=f"Elements of a, {_PATTERNS}")],
    b: Annotated[str, typer.Option("--b", metavar="LIST", help="Elements of b, likewise.")],
    c: Annotated[str, typer.Option("--c", metavar="NUMBER", help="The accumulator.")],
    scale_a: Annotated[
        str | None,
        typer.Option("--scale-a", metavar="LIST", help="Scales of the blocks of a, for designs with scales."),
    ] = None,
    scale_b: Annotated[str | None, typer.Option("--scale-b", metavar="LIST", help="Those of b.")] = None,
    k: Length = None,
    explain: Annotated[bool, typer.Option("--explain", help="Draw what happens, bit by bit.")] = False,
    html: Html = None,
    svg: Svg = None,
    figure: Figure = None,
    json: Json = False,
) -> None:
    """Compute d = c + sum a[k]*b[k] as a design does."""
    from mmaproof.designs.files import make_way
    from mmaproof.explain import explain as explained
    from mmaproof.explain.text import Drawing
    from mmaproof.explain.values import pattern_value
    from mmaproof.rtl.meant import named_design
    from mmaproof.smt.open_points import open_points
    from mmaproof.smt.trace import evaluate

    files = PictureFiles(html, svg, figure)
    files.require()
    found = named_design(design)
    operands = parse_operands(found, a, b, c, k, scale_a, scale_b)
    make_way(*files.paths)
    result = evaluate(found, operands)
    rests_on = open_points(found, operands)
    d = found.d_format.hex(result)
    record = {
        "design": found.name,
        "k": len(operands),
        **operands_record(found.formats, operands, found.scale_format),
        "d": d,
        "open_points": rests_on.record(),
    }
    files.write(record, lambda: [("", explained([found], operands))])
    if json:
        print_json(record, [found])
        return
    if explain:
        results().print(Drawing(explained([found], operands)))
    else:
        say(f"{d} = {pattern_value(found.d_format, result)}")
    say_assumed([found])
    say_open_points(rests_on)
