"""`mmaproof cover`: vectors that cross the events of a datapath, and which events no operands can reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.output import Exit, assumed_names, complain, progress, say, say_table, say_wrapped, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import solvers_of
from mmaproof.designs.errors import InputError

STATUSES = {"hit": "hit", "not_hit": "reachable", "unreachable": "unreachable", "unknown": "unknown"}
"""What ``--json`` counts, and the status of the bins that it counts."""
HEADINGS = ("event", "bins", "hit", "{}", "reachable", "unreachable", "unknown")
LISTED = 12
"""Values of an event that are listed if they are unreachable, unknown or left out; of more, only the number is."""


@opt.with_backend
@opt.with_options(
    without="search picture explain svg figure junit bundle",
    timeout="10s",
    timeout_of="Limit for each question to a solver, in CPU seconds: 30s, 2m.",
)
def cover(
    design: opt.DesignName,
    n: Annotated[int, opt.option("-n N", "Vectors to choose.", min=1, max=10_000)] = 200,
    hits: Annotated[int, opt.option("--hits N", "Vectors that hit each bin, while vectors last.", min=1)] = 1,
    options: opt.SolvingOptions = opt.SOLVING,
    dask: opt.Dask = None,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Choose vectors that cross the events of a datapath: shifts, lost bits, carries, ties, overflow and others.

    Of rtl:UNIT.toml the events are those of the design that the unit is meant to be, and the unit runs the vectors.

    Exit status 0: every bin is hit, or proved unreachable; 1: a unit returns something else for some vectors; 3: some
    bins are unknown, or N vectors were too few.
    """
    netlist, unit = _covered(design)
    given: dict[str, Any] = {
        "solver": options.solving,
        "limits": options.limits_of_each,
        "seed": options.seed,
        "version": tool_version(),
    }
    showing.ready()
    with progress(f"covering {unit.name}"), opt.runner(dask, options.solving) as run:
        done = lib.coverage.cover(unit, n, hits=hits, run=None if dask is None else run, **given)
    if done.unasked:
        complain(f"note: not asked: {done.unasked}")
    wrong = [] if netlist is None else wrong_vectors(netlist, done)
    of_unit = {} if netlist is None else {"unit": netlist.name, "wrong": len(wrong)}

    def text() -> None:
        print_coverage(done)
        if netlist is not None:
            print_wrong(netlist, done, wrong)

    showing.show(
        lambda: coverage_of(done, of_unit),
        text,
        vectors=lambda: list(done.vectors),
        about=[unit],
    )
    if wrong:
        return Exit.REFUTED
    return Exit.HOLDS if done.is_complete else Exit.UNKNOWN


def _covered(name: str) -> tuple[lib.design.Design | None, lib.design.Design]:
    """Return the netlist if one is named, and the design whose events are covered."""
    if not name.startswith(opt.RTL):
        return None, lib.catalogue.find_design(name)
    unit, meant = lib.meant.read_whole(name.removeprefix(opt.RTL))
    if meant is None:
        raise InputError(f"{name}: the events of which datapath? Say what it is meant to be: design = ... in the file")
    return unit.design, lib.meant.in_one_pass(unit.design, meant)


def wrong_vectors(netlist: lib.design.Design, done: lib.coverage.Coverage) -> list[lib.vectors.Vector]:
    """Return the vectors for which a netlist returns something else than the design that they were made for."""
    if not done.vectors:
        return []
    batch = lib.operands.OperandBatch.of_rows(done.design.formats, [x.operands for x in done.vectors])
    d, wanted = (lib.evaluate.evaluate_batch(x, batch) for x in (netlist, done.design))
    equal = lib.evaluate.equal_patterns(done.design.d_format, d, wanted, nan_codes=False)
    return [x for x, is_equal in zip(done.vectors, equal.tolist(), strict=True) if not is_equal]


def coverage_of(done: lib.coverage.Coverage, of_unit: dict[str, Any]) -> lib.surveys.Covered:
    """Return the coverage as an answer."""
    return lib.surveys.Covered.taken(
        done,
        design=done.design.name,
        complete=done.is_complete,
        vectors=len(done.vectors),
        baseline=lib.coverage.BASELINE,
        **{name: done.count(status) for name, status in STATUSES.items()},
        bins=[_bin_of(x) for x in done.bins],
        **of_unit,
        assumed=assumed_names([done.design]),
    )


def _bin_of(x: lib.coverage.Covered) -> lib.surveys.Bin:
    solvers = {"solver": None, "certified_by": None} if x.verdict is None else solvers_of(x.verdict)
    reason = None if x.verdict is None else x.verdict.reason
    return lib.surveys.Bin.taken(x, x.bin, baseline_hits=x.baseline, reason=reason, **solvers)


def print_wrong(netlist: lib.design.Design, done: lib.coverage.Coverage, wrong: Sequence[lib.vectors.Vector]) -> None:
    """Print for how many vectors a netlist returns something else, and one of them."""
    say(f"{netlist.name} returns something else for {len(wrong)} of {len(done.vectors)} vectors")
    for vector in wrong[:1]:
        for line in operand_lines(operands_record(done.design.formats, vector.operands, done.design.scale_format)):
            say(f"  {line}")


def print_coverage(done: lib.coverage.Coverage) -> None:
    """Print the coverage for a person: a row for each event, then the values that no vector hits."""
    from rich.table import Table

    say(f"{len(done.vectors)} vectors for {done.design.name}, seed {done.seed}, {done.seconds:.1f} s")
    by_event: dict[str, list[lib.coverage.Covered]] = {}
    for x in done.bins:
        by_event.setdefault(x.bin.event, []).append(x)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, heading in enumerate(HEADINGS):
        table.add_column(heading.format(lib.coverage.BASELINE), justify="right" if i else "left", no_wrap=i > 0)
    for event, some in by_event.items():
        table.add_row(event, *map(str, _counts(some)))
    table.add_row("all", *map(str, _counts(done.bins)), style="bold")
    say_table(table)
    say_wrapped(
        f"by these vectors; {lib.coverage.BASELINE}: by as many of that distribution; "
        "unreachable: proved for all operands",
        "hit: ",
    )
    for status, what in (
        ("unreachable", "proved unreachable"),
        ("unknown", "unknown: raise --timeout"),
        ("reachable", "reachable, but not hit by so few vectors: raise -n"),
    ):
        lists = {event: [x.bin.value for x in some if x.status == status] for event, some in by_event.items()}
        if any(lists.values()):
            say(f"{what}:")
        for event, values in lists.items():
            if values:
                say_wrapped(_listed(values), f"  {event}: ")
    if done.solver is not None:
        say(f"proofs by {done.solver}")


def _counts(some: Sequence[lib.coverage.Covered]) -> tuple[int, ...]:
    """Return the numbers of bins: all, hit, hit by the baseline, reachable (hit or not), unreachable, unknown."""
    return (
        len(some),
        sum(x.hits > 0 for x in some),
        sum(x.baseline > 0 for x in some),
        sum(x.reached for x in some),
        sum(x.status == "unreachable" for x in some),
        sum(x.status == "unknown" for x in some),
    )


def _listed(values: Sequence[str]) -> str:
    """Return values as text; of many values the first and the last."""
    some = [*values[: LISTED - 1], f"... ({len(values) - LISTED} more)", values[-1]]
    return "; ".join(values if len(values) <= LISTED else some)
