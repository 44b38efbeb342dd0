"""What recordings say of themselves (`mmaproof show`), and what they decide (`mmaproof evidence --decided`)."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mmaproof.cli.output import Exit, print_json, say, say_wrapped

if TYPE_CHECKING:
    from mmaproof.explain.answers.listings import RecordingAnswer
    from mmaproof.hardware_replay.decided import RowDecision
    from mmaproof.hardware_replay.provenance import Provenance


def show_recordings(files: Sequence[Path], json: bool) -> None:
    """Print what each recording holds: formats, length, rows, what returned its d, and whence its operands are.

    Each is read in full and checked. What an index.json beside a file says is taken where the file itself says nothing.
    """
    from mmaproof.hardware_replay.recordings import read_provenance, read_recording

    found = []
    for file in files:
        read_recording(file)
        found.append((file, read_provenance(file)))
    if json:
        from mmaproof.explain.answers.listings import Recordings

        print_json(Recordings(recordings=[_recording_of(file, about) for file, about in found]))
    else:
        for file, about in found:
            _print(file, about)


def print_recording(file: Path, about: Provenance, json: bool) -> None:
    """Print what a recording that was just written holds."""
    if json:
        print_json(_recording_of(file, about))
    else:
        _print(file, about)


def show_decided(named: Sequence[Path], architecture: str | None, output: Path | None, json: bool) -> int:
    """Print which parameters recordings decide, those of the project and ``named`` ones; return the exit status.

    Where some are named, the rows that these are of are printed. A parameter is decided if every other value of it,
    with the other parameters as they are, contradicts some recorded row. Of other parameters the values that are left
    are listed. All of it is written to ``output``, as the catalogue's file of evidence.
    """
    from mmaproof.designs.files import require_writable, write_atomically
    from mmaproof.explain.answers.listings import Decision, Decisions
    from mmaproof.hardware_replay.decided import decide, recorded_text, recordings_in, recordings_of_the_project
    from mmaproof.hardware_replay.npz import open_npz

    if output is not None:
        require_writable(output)
    files = [y for x in named for y in (recordings_in(x) if x.is_dir() else [x])]
    for file in files:  # a wrong name is said before work starts
        with open_npz(file):
            pass
    found = decide([*recordings_of_the_project(), *files])
    if output is not None:
        write_atomically(output, recorded_text(found))
    if files:
        concerned = decide(files)
        found = {row: decision for row, decision in found.items() if row in concerned}
    found = {row: x for row, x in found.items() if architecture in (None, row.partition("/")[0])}
    if json:
        print_json(Decisions(rows=[Decision.taken(x, left=_left(x)) for x in found.values()]))
    else:
        for decision in found.values():
            print_decision(decision)
    return Exit.REFUTED if any(x.wrong for x in found.values()) else Exit.HOLDS


def _left(decision: RowDecision) -> dict[str, list[str]]:
    return {name: list(left) for name in decision.refuting if (left := decision.left(name))}


def print_decision(decision: RowDecision) -> None:
    """Print what recordings say of a row of the catalogue for a person."""
    say(f"{decision.row}: {decision.rows} rows of {', '.join(decision.recordings)}")
    if decision.wrong:
        say(f"  {decision.wrong} rows are not what the catalogue has: nothing is decided")
        return
    decided = ", ".join(f"{name} ({count})" for name, count in decision.decided.items())
    say_wrapped(f"{decided or 'nothing'} (fewest rows against another value)", "  decided: ")
    for name, left in _left(decision).items():
        say_wrapped(", ".join(left), f"  {name} may also be: ")


def _recording_of(file: Path, about: Provenance) -> RecordingAnswer:
    return cast("RecordingAnswer", {"file": str(file), **about.record()})


def _print(file: Path, about: Provenance) -> None:
    """Print what a recording says of itself for a person. Nothing is printed for what is not known."""
    a, b, c, d = (fmt.name for fmt in about.formats)
    scales = f", scales {about.scale_format}" if about.scale_format else ""
    say(f"{file}: {about.rows} rows of k = {about.k}, {a} * {b} + {c} -> {d}{scales}")
    record: dict[str, Any] = {
        "design": about.design or "not known",
        "instruction": about.instruction,
        "device": about.device,
        "device version": about.device_version,
        "driver": about.driver,
        "target": about.target,
        "date": about.date,
        "written by": about.version and f"mmaproof {about.version}",
        **{f"operands: {name}": value for name, value in about.operands.items()},
        **about.further,
    }
    for name, value in record.items():
        if value not in ("", None):
            say(f"  {_printable(name)}: {_printable(value)}")


def _printable(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else json_text.dumps(value)
