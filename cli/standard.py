"""The standard recording: everything that a unit is checked on, run on each of its instructions."""

from __future__ import annotations

import dataclasses
from json import dumps
from typing import TYPE_CHECKING, Any

from rich.table import Table

from mmaproof.cli.output import EXIT_HOLDS, EXIT_UNKNOWN, complain, counted, print_json, results, say
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mmaproof.designs.design import Design
    from mmaproof.generators.standard import Probed, Sampled
    from mmaproof.hardware_replay.target import Target

QUESTION_SECONDS = 10.0
QUESTION_MEMORY = 4 << 30
"""Limits of each question whose vectors a standard recording runs: seconds, and bytes of the solver."""


def record_standard(
    target: Target, designs: Sequence[Design], folder: Path, rows: int | None, seed: int, json: bool
) -> int:
    """Run ``rows`` random operand sets and all questions on each design, write it all to ``folder``, print a summary.

    Returns the exit status: 0, or 3 where something was not answered.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import write_atomically
    from mmaproof.generators.answer import Means
    from mmaproof.generators.fingerprint import SEARCH
    from mmaproof.generators.standard import ROWS, ask_target, probes, sample
    from mmaproof.generators.vectors import write_vectors
    from mmaproof.hardware_replay.recorder import provenance
    from mmaproof.hardware_replay.recordings import write_recording
    from mmaproof.smt.solving.limits import Limits
    from mmaproof.smt.solving.solving import Solving

    if not designs:
        raise InputError(f"which instruction is {target.name}? name a design with --design")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty: a standard recording is a folder of its own")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error
    sampled = []
    for design in counted(designs, "instructions"):
        done = sample(target, design, ROWS if rows is None else rows, seed)
        sampled.append(done)
        if len(done.kept.batch):
            about = provenance(target, done.kept, {"source": "standard", "seed": seed})
            write_recording(folder / _file_of(design), done.kept, about)
        complain(f"{design.name}: {_of(done, 'rows')} rows run, {_of(done, 'differ')} differ from the model")
    means = Means(Solving.of("bitwuzla"), Limits(QUESTION_SECONDS, QUESTION_MEMORY), SEARCH, seed)
    probed, unanswered = [], []
    for probe in counted(probes(designs, means), "questions"):
        answer = ask_target(target, probe)
        if isinstance(answer, str):
            unanswered.append(f"{probe.why} of {probe.design.name}: {answer}")
        else:
            probed.append(answer)
    write_vectors(folder / "questions.jsonl", [x.vector(tool_version()) for x in probed])
    summary = {
        "version": tool_version(),
        "target": target.name,
        **dataclasses.asdict(target.unit),
        "seed": seed,
        "instructions": [_instruction_record(x) for x in sampled],
        "questions": [_probed_record(x) for x in probed],
        "unanswered": unanswered,
    }
    write_atomically(folder / "summary.json", dumps(summary, indent=2) + "\n")
    if json:
        print_json(summary)
    else:
        _print_summary(folder, target, sampled, probed)
    problems = [f"{x.design.name}, {t.distribution}: {p}" for x in sampled for t in x.tallies for p in t.problems]
    for problem in (*problems, *unanswered):
        complain(f"error: {problem}")
    return EXIT_UNKNOWN if problems or unanswered or any(_of(x, "unanswered") for x in sampled) else EXIT_HOLDS


def _file_of(design: Design) -> str:
    return design.name.replace("/", "-") + ".npz"


def _of(sampled: Sampled, count: str) -> int:
    """Return the sum of a count over the distributions."""
    return sum(getattr(tally, count) for tally in sampled.tallies)


def _instruction_record(sampled: Sampled) -> dict[str, Any]:
    tallies = [dataclasses.asdict(tally) for tally in sampled.tallies]
    return {"design": sampled.design.name, "file": _file_of(sampled.design), "distributions": tallies}


def _probed_record(x: Probed) -> dict[str, Any]:
    fmt = x.probe.design.d_format
    return {
        "design": x.probe.design.name,
        "why": x.probe.why,
        "d": fmt.hex(x.d),
        "predictions": {who: fmt.hex(d) for who, d in x.probe.predictions.items()},
        "right": x.right,
        "wrong": x.wrong,
    }


def _print_summary(folder: Path, target: Target, sampled: Sequence[Sampled], probed: Sequence[Probed]) -> None:
    unit = target.unit
    say(f"{target.name}: {', '.join(x for x in (unit.device, unit.version, unit.driver) if x)}, recorded in {folder}")
    table = Table("instruction", "rows", "unanswered", "differ from the model", "in NaN codes only", box=None)
    for x in sampled:
        counts = (str(_of(x, name)) for name in ("rows", "unanswered", "differ", "nan_codes"))
        table.add_row(x.design.name, *counts)
    results().print(table)
    published = [x for x in probed if "model" in x.probe.predictions]
    say(f"published queries: {len(published)} vectors, {sum(bool(x.wrong) for x in published)} differ from the model")
    say("disputes: what was returned, and who predicted it")
    for answer in probed:
        if answer not in published:
            d = answer.probe.design.d_format.hex(answer.d)
            who = f"{', '.join(answer.right) or 'nobody'}; not {', '.join(answer.wrong) or 'nobody'}"
            say(f"  {answer.probe.design.name}, {answer.probe.why}: {d} as {who}")
