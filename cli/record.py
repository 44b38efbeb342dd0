"""`mmaproof record`: run operands on a target and keep what it returns."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.options import (
    Instruction,
    InterfaceOfFile,
    Json,
    LengthOfFile,
    ReadAs,
    Seed,
    Silence,
    TargetName,
    argument,
    option,
    target_of,
    with_backend,
)
from mmaproof.cli.output import Exit, assumed_names, complain, print_json, say
from mmaproof.cli.standard import record_standard

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.hardware_replay.answers import Rows
    from mmaproof.hardware_replay.tables.reading import Wanted
    from mmaproof.hardware_replay.target import Target
    from mmaproof.hardware_replay.targets import RecordingTarget


@with_backend
def record(
    target: TargetName,
    source: Annotated[
        str | None,
        argument(
            "[SOURCE]",
            "A recording (.npz), a vector file (.jsonl), or a distribution of random operands "
            "(normal, uniform-bits, edges, with-zeros, subnormal, aligned, cancelling, ties).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option("-o --output FILE", "The recording (.npz); with --standard, a new folder."),
    ] = None,
    standard: Annotated[
        bool, option("--standard", "Run everything that a unit is checked on, on each of its instructions.")
    ] = False,
    questions: Annotated[
        bool,
        option(
            "--questions/--no-questions",
            "With --standard, also run the vectors of disputes and published queries, which takes up to an hour.",
        ),
    ] = True,
    design: Instruction = None,
    interface: InterfaceOfFile = None,
    k: LengthOfFile = None,
    read_as: ReadAs = None,
    rows: Annotated[
        int | None,
        option("--rows N", "Random operand sets (1000; with --standard 1000000 each).", min=1),
    ] = None,
    seed: Seed = 0,
    timeout: Silence = "30s",
    json: Json = False,
) -> int:
    """Run the operands of SOURCE on TARGET, and write operands, results and provenance as a recording.

    With --standard, and no SOURCE: on each instruction of TARGET, or on the one of --design, random operands of every
    distribution, the vectors that settle what publications dispute, and those of the published queries; all results are
    compared with the model, and a table says what came of it. What is written is small: of the random operands a few
    of each distribution and those that differ, and a digest of all.

    If TARGET is FILE with operands and results (CSV, TSV, JSON, JSON Lines, .npy, .npz, .pt, safetensors, - for stdin),
    its own rows become the recording, and no SOURCE is needed. What the file does not say is given with --interface and
    --k.

    Exit status 0: every row was answered; 3: some were not (what was answered is written), or TARGET is not there.
    """
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import make_way
    from mmaproof.generators.sources import read_rows
    from mmaproof.hardware_replay.tables.reading import Wanted
    from mmaproof.hardware_replay.targets import RecordingTarget

    if output is None:
        raise InputError("nowhere to record to: name a file, or with --standard a folder, with -o")
    named = None if design is None else find_design(design)
    runner = _target(target, timeout, named, Wanted.of(interface, k, tuple(read_as or ()), named))
    if isinstance(runner.target, RecordingTarget) and source is None and not standard:
        return _import(runner.target, named, output, json)
    if standard is (source is not None):
        raise InputError("either a SOURCE of operands or --standard: one of them is needed, and not both")
    if source is None:
        if k is not None:
            raise InputError("--standard runs every instruction at its own K: leave --k out")
        return record_standard(runner.target, runner.designs, output, rows, seed, questions=questions, json=json)
    if output.suffix != ".npz":
        raise InputError(f"{output}: a recording ends in .npz")
    groups = read_rows(source, runner.designs, k=k, rows=rows, seed=seed)
    if len(groups) != 1:
        held = ", ".join(f"{len(x.batch)} for {x.design}" for x in groups)
        raise InputError(f"{source}: {held}: one recording is of one instruction, choose it with --design NAME")
    make_way(output, read=[Path(source)])
    return _record_source(runner, groups[0], output, json)


@dataclasses.dataclass(frozen=True)
class _Runner:
    """A target, and the designs whose operands it is given."""

    target: Target
    designs: tuple[Design, ...]


def _import(target: RecordingTarget, design: Design | None, output: Path, json: bool) -> int:
    """Write the rows of a file as a recording, and print what it is."""
    from mmaproof.cli.recordings import print_recording
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import make_way
    from mmaproof.hardware_replay.provenance import Provenance
    from mmaproof.hardware_replay.recordings import is_recording, write_recording

    if is_recording(Path(target.source)):
        raise InputError(f"{target.source} is a recording already: name a SOURCE of operands to run on it")
    if output.suffix != ".npz":
        raise InputError(f"{output}: a recording ends in .npz")
    make_way(output, read=[Path(x) for x in target.source.split(",")])
    answers = target.answers
    if design is not None:
        answers.check_formats(design)
        answers = dataclasses.replace(answers, design=design.name)
    about = Provenance.of(answers, target="", device="", instruction="", operands={"source": answers.whence})
    write_recording(output, answers, about)
    print_recording(output, about, json)
    return Exit.HOLDS


def _target(text: str, timeout: str, design: Design | None, wanted: Wanted) -> _Runner:
    """Return the target; its one instruction, or the operands of a process, are as ``design`` says."""
    from mmaproof.hardware_replay.targets import InstructionTarget

    target = target_of(text, timeout, None, wanted)
    if design is None:
        return _Runner(target, target.designs)
    if isinstance(target, InstructionTarget):
        target = target.only(design)
    return _Runner(target, (design,))


def _record_source(runner: _Runner, rows: Rows, output: Path, json: bool) -> int:
    from mmaproof.explain.answers.listings import Recorded, UnitOfTarget
    from mmaproof.hardware_replay.recorder import answered, provenance
    from mmaproof.hardware_replay.recordings import write_recording

    target = runner.target
    found = target.design_of(rows) or (runner.designs[0] if runner.designs else None)
    ran = target.run(rows)
    if ran.problem is not None:
        complain(f"error: {ran.problem}")
    held = int(ran.answered.sum())
    if held:
        answers = answered(rows, ran.d, ran.answered, None if found is None else found.name)
        made = {"source": rows.whence} if rows.seed is None else {"source": rows.whence, "seed": rows.seed}
        write_recording(output, answers, provenance(target, answers, made))
    else:
        complain(f"note: {output} is not written: no row was answered")
    if json:
        print_json(
            Recorded(
                target=target.name,
                unit=UnitOfTarget.taken(target.unit),
                design=None if found is None else found.name,
                file=str(output) if held else None,
                rows=held,
                unanswered=len(rows.batch) - held,
                problem=ran.problem,
                assumed=assumed_names([] if found is None else [found]),
            )
        )
    else:
        say(f"{target.name}: {held} rows of {rows.whence} recorded" + (f" in {output}" if held else ""))
        if held < len(rows.batch):
            say(f"  {len(rows.batch) - held} rows not answered by the target")
        say_assumed([] if found is None else [found], "the name of the unit")
    return Exit.HOLDS if held == len(rows.batch) and ran.problem is None else Exit.UNKNOWN
