"""`mmaproof rtl check`: does a unit have a property, for all operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from mmaproof.cli.check import EXIT_STATUS, PropertyName, report
from mmaproof.cli.operands import operand_lines
from mmaproof.cli.options import QUESTION, SOLVING, QuestionOptions, SolvingOptions, with_backend, with_options
from mmaproof.cli.output import progress
from mmaproof.cli.rtl.junit import Case, write_junit
from mmaproof.cli.rtl.options import UnitPath
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import conditions_of, run_of, with_conditions

if TYPE_CHECKING:
    from mmaproof.verification.check import Check


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("check")(with_backend(check))


@with_options(
    without="nan_codes ignore_zero_signs simplify bundle",
    keeps=True,
    helps={"picture": "Draw the runs."},
    timeout="10m",
    picture=False,
)
def check(
    path: UnitPath,
    asked: PropertyName,
    question: QuestionOptions = QUESTION,
    options: SolvingOptions = SOLVING,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Decide whether a unit has a property, for all operands.

    If the netlist itself gives no answer, and the unit is proved to be the design that its file names, bit for bit, the
    design is asked.

    Exit status 0: it holds (proved); 1: it is violated (the runs that show it are printed); 3: unknown or vacuous.
    """
    from mmaproof.explain.answers.answer import ABSENT
    from mmaproof.properties.library import find_property
    from mmaproof.rtl.meant import in_one_pass, read_rtl
    from mmaproof.verification.netlist_properties import check_netlist

    found, given = find_property(asked), options.means
    showing.ready(read=[path])
    with progress(f"elaborating {path}"):
        unit, meant = read_rtl(path)
    with progress(f"checking {found.name} on {unit.design.name}"):
        done = check_netlist(
            found,
            unit.design,
            None if meant is None else in_one_pass(unit.design, meant),
            k=question.k,
            where=question.preconditions(unit.where),
            **given,
        )
    report(done, showing, ABSENT)
    if showing.junit is not None:
        write_junit(showing.junit, [_case(done)])
    return EXIT_STATUS[done.verdict]


def _case(done: Check) -> Case:
    lines = [] if done.finding.reason is None else [done.finding.reason]
    for number, run in enumerate(map(run_of, done.finding.runs), start=1):
        lines += [f"run {number} of {run.design}", *operand_lines(run, whole=True), f"d = {run.d}"]
    name = with_conditions(f"{done.asked.name} of {done.design.name}", conditions_of([done.design]))
    return Case("mmaproof.rtl.check", name, done.seconds, done.verdict, done.verdict == "holds", tuple(lines))
