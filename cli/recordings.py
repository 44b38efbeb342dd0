"""`mmaproof recordings`: what recordings say of themselves, and recordings made out of files of any kind."""

from __future__ import annotations

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mmaproof.cli.options import InterfaceOfFile, Json, LengthOfFile, ReadAs
from mmaproof.cli.output import EXIT_HOLDS, EXIT_REFUTED, print_json, say, say_wrapped

if TYPE_CHECKING:
    from mmaproof.explain.answers.listings import RecordingAnswer
    from mmaproof.hardware_replay.decided import RowDecision
    from mmaproof.hardware_replay.provenance import Provenance

commands = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(
        commands,
        name="recordings",
        help="Show recordings, say what they decide, and make them out of files of any kind.",
    )


@commands.command()
def show(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Recordings (.npz).", show_default=False)],
    json: Json = False,
) -> int:
    """Say what each recording holds: formats, length, rows, what returned its d, and whence its operands are.

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
    return EXIT_HOLDS


@commands.command()
def decide(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Recordings (.npz), or folders of them; those of the project itself count always.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE.toml",
            help="Write it as the catalogue's file of evidence.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Say which parameters of which rows of the catalogue recordings decide.

    Where recordings are named, the rows that these are of are printed. A parameter is decided if every other value of
    it, with the other parameters as they are, contradicts some recorded row. Of other parameters the values that are
    left are listed. Exit status 1 if a row of the catalogue is not what was recorded.
    """
    from mmaproof.designs.files import require_writable, write_atomically
    from mmaproof.explain.answers.listings import Decision, Decisions
    from mmaproof.hardware_replay.decided import decide as decided_by
    from mmaproof.hardware_replay.decided import recorded_text, recordings_in, recordings_of_the_project
    from mmaproof.hardware_replay.npz import open_npz

    if output is not None:
        require_writable(output)
    named = [y for x in files or [] for y in (recordings_in(x) if x.is_dir() else [x])]
    for file in named:  # a wrong name is said before work starts
        with open_npz(file):
            pass
    found = decided_by([*recordings_of_the_project(), *named])
    if output is not None:
        write_atomically(output, recorded_text(found))
    if named:
        concerned = decided_by(named)
        found = {row: decision for row, decision in found.items() if row in concerned}
    if json:
        print_json(Decisions(rows=[Decision.taken(x, left=_left(x)) for x in found.values()]))
    else:
        for decision in found.values():
            print_decision(decision)
    return EXIT_REFUTED if any(x.wrong for x in found.values()) else EXIT_HOLDS


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


@commands.command("import")
def import_files(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Operands and results: CSV, TSV, JSON, JSON Lines, .npy, .npz, .pt, safetensors, or - for stdin. Or a "
            "folder GPU/FORMAT of MATLAB-tensor-core, or its files a_GPU_FORMAT.txt, b_..., c_..., d_....",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.npz", help="The recording to write.", show_default=False)
    ],
    interface: InterfaceOfFile = None,
    k: LengthOfFile = None,
    read_as: ReadAs = None,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--output-format",
            metavar="FORMAT",
            help="Which d is meant, where a folder of MATLAB-tensor-core has fp16 and fp32.",
        ),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option("--design", metavar="DESIGN", help="The design that was run; the rows must be rows of it."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="TEXT", help="What ran it; default the GPU that file names of MATLAB-tensor-core have."
        ),
    ] = None,
    zero_c: Annotated[
        bool | None,
        typer.Option("--zero-c/--read-c", help="c was zero, whatever its file says; or as it says (the default)."),
    ] = None,
    json: Json = False,
) -> int:
    """Make a recording out of operands and results in files of any kind.

    What a file does not say is asked for: the formats with --interface, the length with --k. Text files of
    MATLAB-tensor-core (Khattak and Mikaitis, model_validation) say both in their names; their c is rounded to nearest
    even where d is fp16, as the program that made the data did.
    """
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import make_way
    from mmaproof.hardware_replay.khattak_mikaitis import (
        are_text_files,
        find_text_files,
        provenance_of_text_files,
        read_text_files,
    )
    from mmaproof.hardware_replay.provenance import Provenance
    from mmaproof.hardware_replay.recordings import write_recording
    from mmaproof.hardware_replay.tables.reading import Wanted, read_answers

    if output.suffix != ".npz":
        raise InputError(f"{output}: a recording ends in .npz")
    make_way(output)
    named = None if design is None else find_design(design)
    if are_text_files(sources):
        said = {"--interface": interface, "--k": k, "--read-as": read_as}
        if odd := [option for option, value in said.items() if value is not None]:
            raise InputError(f"{odd[0]}: the names of files of MATLAB-tensor-core say what they hold: leave it out")
        found = find_text_files([Path(x) for x in sources], output_format)
        answers = read_text_files(found, zero_c=zero_c, design=named)
        about = provenance_of_text_files(found, answers, device=device, zero_c=zero_c)
    else:
        if output_format is not None or zero_c is not None:
            raise InputError(
                "--output-format, --zero-c and --read-c are for files of MATLAB-tensor-core: leave them out"
            )
        source = ",".join(sources)
        answers = read_answers(source, Wanted.of(interface, k, tuple(read_as or ()), named))
        if named is not None:
            answers.check_formats(named)
            answers = replace(answers, design=named.name)
        about = Provenance.of(
            answers, target="", device=device or "", instruction="", operands={"source": answers.whence}
        )
    write_recording(output, answers, about)
    if json:
        print_json(_recording_of(output, about))
    else:
        _print(output, about)
    return EXIT_HOLDS


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
