"""`mmaproof run`: one dot product on one design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.assumed import say_assumed, say_open_points
from mmaproof.cli.operands import operands_record, parse_operands
from mmaproof.cli.options import DesignName, Length, with_options
from mmaproof.cli.output import EXIT_HOLDS, assumed_names, results, say
from mmaproof.cli.showing import SHOWING, ShowingOptions

if TYPE_CHECKING:
    from mmaproof.explain import Picture


_PATTERNS = "numbers or bit patterns, separated by commas: 1.5,2^-3,0x3c00,..."


@with_options(without="picture output junit bundle", helps={"explain": "Draw what happens, bit by bit."})
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
    showing: ShowingOptions = SHOWING,
) -> int:
    """Compute d = c + sum a[k]*b[k] as a design does."""
    from mmaproof.explain import explain
    from mmaproof.explain.answers.parts import RestsOn
    from mmaproof.explain.answers.verdicts import RunAnswer
    from mmaproof.explain.text import Drawing
    from mmaproof.explain.values import pattern_value
    from mmaproof.rtl.meant import named_design
    from mmaproof.smt.open_points import open_points
    from mmaproof.smt.trace import evaluate

    found = named_design(design)
    operands = parse_operands(found, a, b, c, k, scale_a, scale_b)
    showing.ready()
    result, rests_on = evaluate(found, operands), open_points(found, operands)
    answer = RunAnswer(
        design=found.name,
        k=len(operands),
        **operands_record(found.formats, operands, found.scale_format),
        d=found.d_format.hex(result),
        open_points=RestsOn.of(rests_on),
        assumed=assumed_names([found]),
    )

    def pictures() -> list[tuple[str, Picture]]:
        return [("", explain([found], operands))]

    def text() -> None:
        if showing.explain:
            results().print(Drawing(explain([found], operands)))
        else:
            say(f"{answer.d} = {pattern_value(found.d_format, result)}")
        say_assumed([found])
        say_open_points(rests_on)

    showing.show(answer, text, pictures)
    return EXIT_HOLDS
