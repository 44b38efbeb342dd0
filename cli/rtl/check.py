"""`mmaproof rtl check`: does a unit have a property, whatever design it is meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.check import EXIT_STATUS, report
from mmaproof.cli.conditions import conditions_of, with_conditions
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import (
    SOLVING,
    Explained,
    Json,
    Length,
    Output,
    SolvingOptions,
    Where,
    with_backend,
    with_solving,
)
from mmaproof.cli.output import progress
from mmaproof.cli.pictures import Figure, Html, PictureFiles, Svg
from mmaproof.cli.rtl.junit import Case, write_junit
from mmaproof.cli.rtl.options import Junit, UnitPath

if TYPE_CHECKING:
    from mmaproof.verification.check import Check


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("check")(with_backend(check))


@with_solving(timeout="10m", keeps=True)
def check(
    path: UnitPath,
    asked: Annotated[
        str,
        typer.Argument(metavar="PROPERTY", help="A name that `mmaproof properties` lists.", show_default=False),
    ],
    k: Length = None,
    where: Where = None,
    options: SolvingOptions = SOLVING,
    picture: Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the runs.")] = False,
    explained: Explained = False,
    output: Output = None,
    html: Html = None,
    svg: Svg = None,
    figure: Figure = None,
    junit: Junit = None,
    json: Json = False,
) -> int:
    """Decide whether a unit has a property, for all operands.

    If the netlist itself gives no answer, and the unit is proved to be the design that its file names, bit for bit, the
    design is asked.

    Exit status 0: it holds (proved); 1: it is violated (the runs that show it are printed); 3: unknown or vacuous.
    """
    from mmaproof.designs.files import make_way
    from mmaproof.properties.library import find_property
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.rtl.meant import in_one_pass, read_rtl
    from mmaproof.verification.netlist_properties import check_netlist

    found = find_property(asked)
    files = PictureFiles(html, svg, figure)
    files.require()
    solving, limits = options.solving, options.limits
    make_way(output, junit, *files.paths, read=[path])
    with progress(f"elaborating {path}"):
        unit, meant = read_rtl(path)
    with progress(f"checking {found.name} on {unit.design.name}"):
        done = check_netlist(
            found,
            unit.design,
            None if meant is None else in_one_pass(unit.design, meant),
            solver=solving,
            limits=limits,
            k=k,
            where=[parse_precondition(w) for w in (*unit.where, *(where or ()))],
            budget=options.budget,
            seed=options.seed,
        )
    report(done, picture=picture, explained=explained, output=output, files=files, json=json)
    if junit is not None:
        write_junit(junit, [_case(done)])
    return EXIT_STATUS[done.verdict]


def _case(done: Check) -> Case:
    lines = [] if done.finding.reason is None else [done.finding.reason]
    for number, run in enumerate(done.finding.runs, start=1):
        lines.append(f"run {number} of {run.design.name}")
        lines += operand_lines(operands_record(run.design.formats, run.operands, run.design.scale_format), whole=True)
        lines.append(f"d = {run.design.d_format.hex(run.d)}")
    name = with_conditions(f"{done.asked.name} of {done.design.name}", conditions_of([done.design]))
    return Case("mmaproof.rtl.check", name, done.seconds, done.verdict, done.verdict == "holds", tuple(lines))
