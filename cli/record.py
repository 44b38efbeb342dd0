"""`mmaproof record`: run operands on a target and keep what it returns.

What recordings say of themselves (`mmaproof show`), and what they decide (`mmaproof evidence --decided`).
"""

from __future__ import annotations

import dataclasses
import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import (
    Exit,
    assumed_names,
    complain,
    counted,
    print_json,
    say,
    say_assumed,
    say_wrapped,
    tool_version,
)
from mmaproof.designs.errors import InputError, TargetUnavailable


@opt.with_backend
def record(
    target: opt.TargetName,
    source: Annotated[
        str | None,
        opt.argument(
            "[SOURCE]",
            "A recording (.npz), a vector file (.jsonl), or a distribution of random operands "
            "(normal, uniform-bits, edges, with-zeros, subnormal, aligned, cancelling, ties).",
        ),
    ] = None,
    output: Annotated[
        Path | None, opt.option("-o --output FILE", "The recording (.npz); with --standard, a new folder.")
    ] = None,
    standard: Annotated[
        bool, opt.option("--standard", "Run everything that a unit is checked on, on each of its instructions.")
    ] = False,
    questions: Annotated[
        bool,
        opt.option(
            "--questions/--no-questions",
            "With --standard, also run the vectors of disputes and published queries, which takes up to an hour.",
        ),
    ] = True,
    design: opt.Instruction = None,
    interface: opt.InterfaceOfFile = None,
    k: opt.LengthOfFile = None,
    read_as: opt.ReadAs = None,
    rows: Annotated[
        int | None, opt.option("--rows N", "Random operand sets (1000; with --standard 1000000 each).", min=1)
    ] = None,
    seed: opt.Seed = 0,
    timeout: opt.Silence = "30s",
    json: opt.Json = False,
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
    if output is None:
        raise InputError("nowhere to record to: name a file, or with --standard a folder, with -o")
    named = None if design is None else lib.catalogue.find_design(design)
    runner = _target(target, timeout, named, lib.reading.Wanted.of(interface, k, tuple(read_as or ()), named))
    if isinstance(runner.target, lib.targets.RecordingTarget) and source is None and not standard:
        return _import(runner.target, named, output, json)
    if standard is (source is not None):
        raise InputError("either a SOURCE of operands or --standard: one of them is needed, and not both")
    if source is None:
        if k is not None:
            raise InputError("--standard runs every instruction at its own K: leave --k out")
        return record_standard(runner.target, runner.designs, output, rows, seed, questions=questions, json=json)
    if output.suffix != ".npz":
        raise InputError(f"{output}: a recording ends in .npz")
    groups = lib.vectors.read_rows(source, runner.designs, k=k, rows=rows, seed=seed)
    if len(groups) != 1:
        held = ", ".join(f"{len(x.batch)} for {x.design}" for x in groups)
        raise InputError(f"{source}: {held}: one recording is of one instruction, choose it with --design NAME")
    lib.files.make_way(output, read=[Path(source)])
    return _record_source(runner, groups[0], output, json)


@dataclasses.dataclass(frozen=True)
class _Runner:
    """A target, and the designs whose operands it is given."""

    target: lib.target.Target
    designs: tuple[lib.design.Design, ...]


def _import(target: lib.targets.RecordingTarget, design: lib.design.Design | None, output: Path, json: bool) -> int:
    """Write the rows of a file as a recording, and print what it is."""
    if lib.recordings.is_recording(Path(target.source)):
        raise InputError(f"{target.source} is a recording already: name a SOURCE of operands to run on it")
    if output.suffix != ".npz":
        raise InputError(f"{output}: a recording ends in .npz")
    lib.files.make_way(output, read=[Path(x) for x in target.source.split(",")])
    answers = target.answers
    if design is not None:
        answers.check_formats(design)
        answers = dataclasses.replace(answers, design=design.name)
    about = lib.recordings.Provenance.of(
        answers, target="", device="", instruction="", operands={"source": answers.whence}
    )
    lib.recordings.write_recording(output, answers, about)
    print_recording(output, about, json)
    return Exit.HOLDS


def _target(text: str, timeout: str, design: lib.design.Design | None, wanted: lib.reading.Wanted) -> _Runner:
    """Return the target; its one instruction, or the operands of a process, are as ``design`` says."""
    target = opt.target_of(text, timeout, None, wanted)
    if design is None:
        return _Runner(target, target.designs)
    if isinstance(target, lib.targets.InstructionTarget):
        target = target.only(design)
    return _Runner(target, (design,))


def _record_source(runner: _Runner, rows: lib.target.Rows, output: Path, json: bool) -> int:
    target = runner.target
    found = target.design_of(rows) or (runner.designs[0] if runner.designs else None)
    ran = target.run(rows)
    if ran.problem is not None:
        complain(f"error: {ran.problem}")
    held = int(ran.answered.sum())
    if held:
        answers = lib.recordings.answered(rows, ran.d, ran.answered, None if found is None else found.name)
        made = {"source": rows.whence} if rows.seed is None else {"source": rows.whence, "seed": rows.seed}
        lib.recordings.write_recording(output, answers, lib.recordings.provenance(target, answers, made))
    else:
        complain(f"note: {output} is not written: no row was answered")
    if json:
        print_json(
            lib.listings.Recorded(
                target=target.name,
                unit=lib.listings.UnitOfTarget.taken(target.unit),
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


QUESTION_SECONDS = 3.0
QUESTION_MEMORY = 4 << 30
"""Limits of each question whose vectors a standard recording runs: seconds, and bytes of the solver."""


def record_standard(
    target: lib.target.Target,
    designs: Sequence[lib.design.Design],
    folder: Path,
    rows: int | None,
    seed: int,
    *,
    questions: bool,
    json: bool,
) -> int:
    """Run ``rows`` random operand sets and the questions on each design, write all to ``folder``, print a summary.

    Results so far are written before the questions begin, and when the target fails. Returns the exit status: 0, or 3
    if something was not answered.
    """
    if not designs:
        raise InputError(f"which instruction is {target.name}? name a design with --design")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty: a standard recording is a folder of its own")
    except OSError as error:
        what = "it is not a folder" if folder.exists() and not folder.is_dir() else error.strerror
        raise InputError(f"{folder}: cannot be written: {what}") from error
    made = _Made(target, folder, seed, lib.recordings.now())
    try:
        for design in counted(designs, "instructions"):
            made.sample(design, rows)
        made.write()
        if questions:
            made.ask(designs)
    except TargetUnavailable as error:
        made.problems.append(str(error))
    except KeyboardInterrupt:
        made.problems.append("interrupted")
        made.write()
        raise
    made.write()
    if json:
        print_json(made.answer())
    else:
        made.print()
        say_assumed([x.design for x in made.sampled], "the model", indent="")
    for problem in made.problems:
        complain(f"error: {problem}")
    return Exit.UNKNOWN if made.problems or any(_of(x, "unanswered") for x in made.sampled) else Exit.HOLDS


@dataclasses.dataclass
class _Made:
    """What has been recorded of ``target`` in ``folder`` so far, and what went wrong."""

    target: lib.target.Target
    folder: Path
    seed: int
    date: str
    sampled: list[lib.standard.Sampled] = dataclasses.field(default_factory=list)
    probed: list[lib.standard.Probed] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def sample(self, design: lib.design.Design, rows: int | None) -> None:
        """Run random operands on one design; TargetUnavailable where the target fails."""
        done = lib.standard.sample(self.target, design, lib.standard.ROWS if rows is None else rows, self.seed)
        self.sampled.append(done)
        self.problems += [f"{design.name}, {t.distribution}: {p}" for t in done.tallies for p in t.problems]
        if len(done.kept.batch):
            about = lib.recordings.provenance(self.target, done.kept, {"source": "standard", "seed": self.seed})
            lib.recordings.write_recording(self.folder / _file_of(design), done.kept, about)
        complain(f"{design.name}: {_of(done, 'rows')} rows run, {_of(done, 'differ')} differ from the model")

    def ask(self, designs: Sequence[lib.design.Design]) -> None:
        """Run the vectors of disputes and published queries; TargetUnavailable where the target fails."""
        means = lib.search.Means(
            lib.solving.Solving.of("bitwuzla"),
            lib.limits.Limits(QUESTION_SECONDS, QUESTION_MEMORY),
            lib.check.SEARCH,
            self.seed,
        )
        before = None
        for probe in counted(lib.standard.probes(designs, means), "questions"):
            if probe.design is not before:
                before = probe.design
                complain(f"{before.name}: vectors of what is disputed and published")
            answer = lib.standard.ask_target(self.target, probe)
            if isinstance(answer, str):
                self.problems.append(f"{probe.why} of {probe.design.name}: {answer}")
            else:
                self.probed.append(answer)

    def answer(self) -> lib.listings.StandardRecorded:
        """Return everything as an answer."""
        from importlib.metadata import version

        return lib.listings.StandardRecorded.taken(
            self,
            version=tool_version(),
            numpy=version("numpy"),
            target=self.target.name,
            unit=lib.listings.UnitOfTarget.taken(self.target.unit),
            instructions=[_instruction_of(x) for x in self.sampled],
            questions=[_probe_of(x) for x in self.probed],
            assumed=assumed_names(x.design for x in self.sampled),
        )

    def write(self) -> None:
        """Write the summary, and the vectors of questions if there are any."""
        if self.probed:
            lib.vectors.write_vectors(self.folder / "questions.jsonl", [x.vector(tool_version()) for x in self.probed])
        lib.files.write_atomically(self.folder / "summary.json", lib.answer.as_json(self.answer()) + "\n")

    def print(self) -> None:
        """Print a table of the instructions, and who predicted what was returned for disputes."""
        unit = self.target.unit
        about = ", ".join(x for x in (unit.device, unit.version, unit.driver) if x)
        say(f"{self.target.name}: {about}, recorded in {self.folder}")
        width = max((len(x.design.name) for x in self.sampled), default=0)
        for x in self.sampled:
            rows, unanswered, differ, codes = (_of(x, n) for n in ("rows", "unanswered", "differ", "nan_codes"))
            text = f"  {x.design.name:<{width}} {rows:>9} rows, {differ} differ from the model"
            text += f", {codes} in the code of a NaN only" if codes else ""
            say(text + (f", {unanswered} not answered" if unanswered else ""))
        published = [x for x in self.probed if "model" in x.probe.predictions]
        if self.probed:
            differ = sum(bool(x.wrong) for x in published)
            say(f"published queries: {len(published)} vectors, {differ} differ from the model")
            say("disputes: what was returned, and who predicted it")
        for answer in self.probed:
            if answer not in published:
                d = answer.probe.design.d_format.hex(answer.d)
                who = f"{', '.join(answer.right) or 'nobody'}; not {', '.join(answer.wrong) or 'nobody'}"
                say(f"  {answer.probe.design.name}, {answer.probe.why}: {d} as {who}")


def _file_of(design: lib.design.Design) -> str:
    return design.name.replace("/", "-") + ".npz"


def _of(sampled: lib.standard.Sampled, count: str) -> int:
    """Return the sum of a count over the distributions."""
    return sum(getattr(tally, count) for tally in sampled.tallies)


def _instruction_of(sampled: lib.standard.Sampled) -> lib.listings.InstructionAnswer:
    tallies = [lib.listings.TallyAnswer.taken(x) for x in sampled.tallies]
    return lib.listings.InstructionAnswer(
        design=sampled.design.name, file=_file_of(sampled.design), distributions=tallies
    )


def _probe_of(x: lib.standard.Probed) -> lib.listings.ProbeAnswer:
    fmt = x.probe.design.d_format
    predictions = {who: fmt.hex(d) for who, d in x.probe.predictions.items()}
    return lib.listings.ProbeAnswer.taken(
        x, x.probe, design=x.probe.design.name, d=fmt.hex(x.d), predictions=predictions
    )


def show_recordings(files: Sequence[Path], json: bool) -> None:
    """Print what each recording holds: formats, length, rows, what returned its d, and whence its operands are.

    Each is read in full and checked. What an index.json beside a file says is taken where the file itself says nothing.
    """
    found = []
    for file in files:
        lib.recordings.read_recording(file)
        found.append((file, lib.recordings.read_provenance(file)))
    if json:
        print_json(lib.listings.Recordings(recordings=[_recording_of(file, about) for file, about in found]))
    else:
        for file, about in found:
            _print(file, about)


def print_recording(file: Path, about: lib.recordings.Provenance, json: bool) -> None:
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
    if output is not None:
        lib.files.require_writable(output)
    files = [y for x in named for y in (lib.decided.recordings_in(x) if x.is_dir() else [x])]
    for file in files:  # a wrong name is said before work starts
        with lib.npz.open_npz(file):
            pass
    found = lib.decided.decide([*lib.decided.recordings_of_the_project(), *files])
    if output is not None:
        lib.files.write_atomically(output, lib.decided.recorded_text(found))
    if files:
        concerned = lib.decided.decide(files)
        found = {row: decision for row, decision in found.items() if row in concerned}
    found = {row: x for row, x in found.items() if architecture in (None, row.partition("/")[0])}
    if json:
        print_json(lib.listings.Decisions(rows=[lib.listings.Decision.taken(x, left=_left(x)) for x in found.values()]))
    else:
        for decision in found.values():
            print_decision(decision)
    return Exit.REFUTED if any(x.wrong for x in found.values()) else Exit.HOLDS


def _left(decision: lib.decided.RowDecision) -> dict[str, list[str]]:
    return {name: list(left) for name in decision.refuting if (left := decision.left(name))}


def print_decision(decision: lib.decided.RowDecision) -> None:
    """Print what recordings say of a row of the catalogue for a person."""
    say(f"{decision.row}: {decision.rows} rows of {', '.join(decision.recordings)}")
    if decision.wrong:
        say(f"  {decision.wrong} rows are not what the catalogue has: nothing is decided")
        return
    decided = ", ".join(f"{name} ({count})" for name, count in decision.decided.items())
    say_wrapped(f"{decided or 'nothing'} (fewest rows against another value)", "  decided: ")
    for name, left in _left(decision).items():
        say_wrapped(", ".join(left), f"  {name} may also be: ")


def _recording_of(file: Path, about: lib.recordings.Provenance) -> lib.listings.RecordingAnswer:
    return cast("lib.listings.RecordingAnswer", {"file": str(file), **about.record()})


def _print(file: Path, about: lib.recordings.Provenance) -> None:
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
