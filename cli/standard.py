"""The standard recording: everything that a unit is checked on, run on each of its instructions."""

from __future__ import annotations

import dataclasses
from importlib.metadata import version
from json import dumps
from typing import TYPE_CHECKING

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.output import Exit, assumed_names, complain, counted, print_json, say
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.listings import InstructionAnswer, ProbeAnswer, StandardRecorded
    from mmaproof.generators.standard import Probed, Sampled
    from mmaproof.hardware_replay.target import Target

QUESTION_SECONDS = 3.0
QUESTION_MEMORY = 4 << 30
"""Limits of each question whose vectors a standard recording runs: seconds, and bytes of the solver."""


def record_standard(
    target: Target, designs: Sequence[Design], folder: Path, rows: int | None, seed: int, *, questions: bool, json: bool
) -> int:
    """Run ``rows`` random operand sets and the questions on each design, write all to ``folder``, print a summary.

    Results so far are written before the questions begin, and when the target fails. Returns the exit status: 0, or 3
    if something was not answered.
    """
    from mmaproof.designs.errors import InputError, TargetUnavailable
    from mmaproof.hardware_replay.provenance import now

    if not designs:
        raise InputError(f"which instruction is {target.name}? name a design with --design")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty: a standard recording is a folder of its own")
    except OSError as error:
        what = "it is not a folder" if folder.exists() and not folder.is_dir() else error.strerror
        raise InputError(f"{folder}: cannot be written: {what}") from error
    made = _Made(target, folder, seed, now())
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

    target: Target
    folder: Path
    seed: int
    date: str
    sampled: list[Sampled] = dataclasses.field(default_factory=list)
    probed: list[Probed] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def sample(self, design: Design, rows: int | None) -> None:
        """Run random operands on one design; TargetUnavailable where the target fails."""
        from mmaproof.generators.standard import ROWS, sample
        from mmaproof.hardware_replay.recorder import provenance
        from mmaproof.hardware_replay.recordings import write_recording

        done = sample(self.target, design, ROWS if rows is None else rows, self.seed)
        self.sampled.append(done)
        self.problems += [f"{design.name}, {t.distribution}: {p}" for t in done.tallies for p in t.problems]
        if len(done.kept.batch):
            about = provenance(self.target, done.kept, {"source": "standard", "seed": self.seed})
            write_recording(self.folder / _file_of(design), done.kept, about)
        complain(f"{design.name}: {_of(done, 'rows')} rows run, {_of(done, 'differ')} differ from the model")

    def ask(self, designs: Sequence[Design]) -> None:
        """Run the vectors of disputes and published queries; TargetUnavailable where the target fails."""
        from mmaproof.generators.standard import ask_target, probes
        from mmaproof.smt.solving.limits import Limits
        from mmaproof.smt.solving.solving import Solving
        from mmaproof.verification.fingerprint import SEARCH
        from mmaproof.verification.means import Means

        means = Means(Solving.of("bitwuzla"), Limits(QUESTION_SECONDS, QUESTION_MEMORY), SEARCH, self.seed)
        before = None
        for probe in counted(probes(designs, means), "questions"):
            if probe.design is not before:
                before = probe.design
                complain(f"{before.name}: vectors of what is disputed and published")
            answer = ask_target(self.target, probe)
            if isinstance(answer, str):
                self.problems.append(f"{probe.why} of {probe.design.name}: {answer}")
            else:
                self.probed.append(answer)

    def answer(self) -> StandardRecorded:
        """Return everything as an answer."""
        from mmaproof.explain.answers.listings import StandardRecorded, UnitOfTarget

        return StandardRecorded.taken(
            self,
            version=tool_version(),
            numpy=version("numpy"),
            target=self.target.name,
            unit=UnitOfTarget.taken(self.target.unit),
            instructions=[_instruction_of(x) for x in self.sampled],
            questions=[_probe_of(x) for x in self.probed],
            assumed=assumed_names(x.design for x in self.sampled),
        )

    def write(self) -> None:
        """Write the summary, and the vectors of questions if there are any."""
        from mmaproof.designs.files import write_atomically
        from mmaproof.explain.answers.answer import plain
        from mmaproof.generators.vectors import write_vectors

        if self.probed:
            write_vectors(self.folder / "questions.jsonl", [x.vector(tool_version()) for x in self.probed])
        write_atomically(self.folder / "summary.json", dumps(plain(self.answer()), indent=2) + "\n")

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


def _file_of(design: Design) -> str:
    return design.name.replace("/", "-") + ".npz"


def _of(sampled: Sampled, count: str) -> int:
    """Return the sum of a count over the distributions."""
    return sum(getattr(tally, count) for tally in sampled.tallies)


def _instruction_of(sampled: Sampled) -> InstructionAnswer:
    from mmaproof.explain.answers.listings import InstructionAnswer, TallyAnswer

    tallies = [TallyAnswer.taken(x) for x in sampled.tallies]
    return InstructionAnswer(design=sampled.design.name, file=_file_of(sampled.design), distributions=tallies)


def _probe_of(x: Probed) -> ProbeAnswer:
    from mmaproof.explain.answers.listings import ProbeAnswer

    fmt = x.probe.design.d_format
    predictions = {who: fmt.hex(d) for who, d in x.probe.predictions.items()}
    return ProbeAnswer.taken(x, x.probe, design=x.probe.design.name, d=fmt.hex(x.d), predictions=predictions)
