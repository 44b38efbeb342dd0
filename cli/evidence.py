"""`mmaproof evidence`: what no recording decides of the catalogue, and the vectors that would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import MARK, Exit, assumed_names, complain, counted, say, say_wrapped, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.designs.errors import InputError


@opt.with_backend
@opt.with_options(
    without="search picture explain html svg figure junit bundle",
    timeout="2m",
    timeout_of="Limit for the questions about each row, in CPU seconds: 10s, 2m.",
    helps={"output": "Write the vectors as a vector file: the file to run."},
)
def evidence(
    architecture: opt.Architecture = None,
    recordings: Annotated[
        list[Path] | None,
        opt.option(
            "--recording FILE",
            "A recording (.npz), or a folder of them, that counts besides those of the project. Repeatable.",
        ),
    ] = None,
    options: opt.SolvingOptions = opt.SOLVING,
    dask: opt.Dask = None,
    decided: Annotated[
        bool, opt.option("--decided", "List what recordings decide instead; -o writes it as the catalogue's TOML file.")
    ] = False,
    vectors: Annotated[
        bool, opt.option("--vectors/--no-vectors", "Find the vectors, or only list what is not decided.")
    ] = True,
    showing: ShowingOptions = SHOWING,
) -> int:
    """List what no recording decides, for each row of the catalogue, with the vectors that would decide it.

    A row is one entry of the catalogue, with all instructions that it stands for. Each vector separates the row from
    designs in which one parameter has another value, or from other readings of open points. Run the file on a unit with
    `mmaproof record`, and name the recording with --recording. Vectors are looked for among random operands first, and
    what cannot be told apart is proved so, as far as --timeout allows. Exit status 0, whatever is left open.

    With --decided: which parameters of which rows recordings decide; with --recording, of the rows that those are of. A
    parameter is decided if every other value of it, with the other parameters as they are, contradicts some recorded
    row. Exit status 1 if a row of the catalogue is not what was recorded.
    """
    from mmaproof.cli.record import show_decided

    if architecture is not None:
        architecture = lib.catalogue.load_catalogue().architecture(architecture)
    if decided:
        return show_decided(recordings or [], architecture, showing.output, showing.json)
    if showing.output is not None and not vectors:
        raise InputError(f"--no-vectors leaves nothing to write to {showing.output}: leave one of them out")
    asked = lib.open_values.tasks(
        architecture,
        _recorded(recordings or [], architecture),
        solving=options.solving,
        limits=options.limits_of_each,
        version=tool_version(),
        seed=options.seed,
        vectors=vectors,
    )
    showing.ready(read=recordings or [])
    found: list[lib.open_values.OpenRow] = []
    with opt.runner(dask, options.solving) as run:
        for row in counted(run(lib.open_values.open_row, asked), "rows", len(asked)):
            if not showing.json:
                print_row(row, sum(len(x.vectors) for x in found))
            found.append(row)
    held = [x for row in found for x in row.vectors]
    written = showing.output if held else None
    showing.show(lambda: evidence_of(found, written), lambda: print_advice(held, showing.output), vectors=lambda: held)
    return Exit.HOLDS


def evidence_of(found: list[lib.open_values.OpenRow], written: Path | None) -> lib.listings.EvidenceAnswer:
    """Return the rows as an answer, with the file into which their vectors were ``written``."""
    return lib.listings.EvidenceAnswer(
        rows=list(_rows(found)),
        vectors=sum(len(x.vectors) for x in found),
        file=None if written is None else str(written),
        assumed=assumed_names(x.task.design for x in found),
    )


def _recorded(recordings: list[Path], architecture: str | None) -> Mapping[str, lib.open_points.RecordedRow]:
    """Return what the project's recordings say, together with those that the user names."""
    known = dict(lib.open_points.load_recorded())
    named = [y for x in recordings for y in (lib.decided.recordings_in(x) if x.is_dir() else [x])]
    decisions = lib.decided.decide(named)
    if named and not any(architecture in (None, row.partition("/")[0]) for row in decisions):
        complain(f"note: the recordings are of no row that is listed; they are of {', '.join(decisions) or 'none'}")
    for row, decision in decisions.items():
        recorded = decision.recorded()
        if recorded is None:
            complain(
                f"note: {decision.wrong} of {decision.rows} rows of {', '.join(decision.recordings)} are not what "
                f"{row} has: they decide nothing"
            )
        else:
            known[row] = recorded.merged(known[row]) if row in known else recorded
    return known


def _rows(found: list[lib.open_values.OpenRow]) -> Iterator[lib.listings.EvidenceRow]:
    """Yield the rows as parts of an answer. Vectors are numbered from 1, as the lines of the file are."""
    before = 0
    for row in found:
        design = row.task.design
        yield lib.listings.EvidenceRow(
            row=str(design.evidence.row),
            designs=list(row.task.names),
            design=design.name,
            assumed=design.is_assumed,
            recorded={name: x.source for name, x in row.recorded.items()},
            open={
                x.name: lib.listings.OpenParameter.taken(
                    x,
                    x.evidence,
                    others=[lib.listings.OpenValue.taken(v, **_shown(v, before)) for v in x.values],
                )
                for x in row.parameters
            },
            readings=[
                lib.listings.OpenReading.taken(y, points=list(x.points), settings=x.texts, **_shown(y, before))
                for x, y in row.readings
            ],
        )
        before += len(row.vectors)


def _shown(value: lib.open_values.OpenValue, before: int) -> dict[str, Any]:
    """Return what is shown of a value or of a reading, with the numbers of its vectors."""
    return {
        "value": value.text,
        "under": value.under or None,
        "vectors": [before + n + 1 for n in value.vectors],
    }


def print_row(row: lib.open_values.OpenRow, before: int) -> None:
    """Print what is open in a row for a person; ``before`` vectors are those of the rows before it."""
    design = row.task.design
    more = f" and {len(row.task.names) - 1} more" if len(row.task.names) > 1 else ""
    mark = f", {MARK}: no source describes the unit" if design.is_assumed else ""
    say(f"\n{design.name}{more}{mark}")
    if row.recorded:
        sources = ", ".join(dict.fromkeys(x.source.partition(": every")[0] for x in row.recorded.values()))
        say_wrapped(f"{', '.join(row.recorded)} ({sources})", "  recorded: ")
    for x in row.parameters:
        if x.values:
            reason = f" ({x.evidence.source})" if x.evidence.source != design.source else ""
            others = "; ".join(_outcomes(x.values, before, row.task.vectors))
            say_wrapped(f"{x.evidence.level}{reason}; {others}", f"  {x.name} = {x.value}: ")
    # of readings of several points that vectors exclude the number is enough
    shown = [x for reading, x in row.readings if len(reading.points) == 1 or not x.vectors]
    for outcome in (y for x in shown for y in _outcomes([x], before, row.task.vectors)):
        say_wrapped(outcome, "  reading: ")
    if len(shown) < len(row.readings):
        say(f"  vectors exclude {len(row.readings) - len(shown)} more readings, of several open points together")


def _outcomes(values: Sequence[lib.open_values.OpenValue], before: int, looked: bool) -> Iterator[str]:
    """Yield what is known of other values of a parameter, or readings, those with the same outcome together."""
    together: dict[tuple[str, str], list[str]] = {}
    for x in values:
        if x.vectors:
            outcome = f"vector {before + x.vectors[0] + 1} excludes"
        elif x.same:
            outcome = "cannot be told apart (proved):"
        elif looked:
            outcome = f"no vector found ({x.reason}):"
        else:
            outcome = "not excluded:"
        together.setdefault((outcome, x.under), []).append(x.text)
    for (outcome, under), texts in together.items():
        yield f"{outcome} {', '.join(texts)}" + (f" (under {under})" if under else "")


def print_advice(held: list[lib.vectors.Vector], output: Path | None) -> None:
    """Print how the vectors are run, if there are any."""
    if not held:
        return
    where = "FILE.jsonl" if output is None else str(output)
    say("")
    if output is None:
        say(f"{len(held)} vectors: write them with -o {where}")
    else:
        say(f"{len(held)} vectors written to {where}")
    say(f"run them with: mmaproof record TARGET {where} --design DESIGN -o RECORDING.npz")
    say("and see what they decide with: mmaproof evidence --decided --recording RECORDING.npz")
