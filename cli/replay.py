"""`mmaproof replay`: run the rows of a file on a target and compare with what the file holds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.output import Exit, assumed_names, complain, print_json, results, say, say_assumed, say_open_points
from mmaproof.cli.verdicts import bit_lines
from mmaproof.designs.errors import DesignError, InputError, TargetUnavailable


@opt.with_backend
@opt.with_options(without="k ignore_zero_signs simplify")
def replay(
    source: Annotated[
        str,
        opt.argument(
            "SOURCE",
            "A vector file, a recording, or operands and results in CSV, TSV, JSON, JSON Lines, .npy, .npz, .pt "
            "or safetensors; - is stdin.",
        ),
    ],
    target: opt.TargetName,
    expect: Annotated[
        str | None, opt.option("--expect DESIGN", "Whose outputs of a vector file to compare with.")
    ] = None,
    design: opt.Instruction = None,
    interface: opt.InterfaceOfFile = None,
    k: opt.LengthOfFile = None,
    read_as: opt.ReadAs = None,
    timeout: opt.Silence = "30s",
    question: opt.QuestionOptions = opt.QUESTION,
    json: opt.Json = False,
) -> int:
    """Run the operands of SOURCE on TARGET and compare with the outputs that SOURCE holds.

    What a file does not say of itself is given with --interface and --k; a target with one design says the formats.
    Of the rows that differ the simplest are shown. Exit status 0: every row is equal; 1: some differ; 2: SOURCE is
    malformed, and nothing was run; 3: TARGET is not there, or rows were not answered, or there are none.
    """
    try:
        runner = opt.target_of(target, timeout, design)
    except TargetUnavailable:
        if source != "-" and not Path(source.partition(",")[0]).is_file():  # the nearer mistake
            raise InputError(f"{source}: no such file") from None
        raise
    known = runner.designs[0] if len(runner.designs) == 1 else None
    rows = read_source(source, expect, runner, lib.reading.Wanted.of(interface, k, tuple(read_as or ()), known))
    meant = question.preconditions()
    if rows.problems:
        more = f" (and {len(rows.problems) - 1} more lines like it)" if len(rows.problems) > 1 else ""
        raise InputError(f"{rows.problems[0]}{more}: nothing was run")
    if meant:
        rows = rows.where(meant)
    report = lib.replay.replay(rows.answers, runner, nan_codes=question.nan_codes, open_points=True)
    for problem in report.problems:
        complain(f"error: {problem}")
    about = _designs(rows.answers, runner)
    if json:
        print_json(replayed(source, runner, report, rows, about))
    else:
        print_replay(source, runner, report)
        say_assumed(about, "the model that was run or expected")
    if report.mismatches:
        return Exit.REFUTED
    return Exit.UNKNOWN if report.unanswered or report.problems or not report.rows else Exit.HOLDS


def _designs(answers: list[lib.target.Answers], target: lib.target.Target) -> list[lib.design.Design]:
    """Return the designs that were run, and those whose outputs were expected, as far as they are known."""
    found = [x for part in answers if (x := target.design_of(part)) is not None]
    for name in {part.design for part in answers} - {None}:
        with suppress(DesignError):  # a name that is not in this catalogue
            found.append(lib.catalogue.find_design(str(name)))
    return found


@dataclass(frozen=True)
class Rows:
    """What is to be run, a message for each malformed line, and how many vectors hold no output of the design."""

    answers: list[lib.target.Answers]
    problems: list[str]
    left_out: int

    def where(self, preconditions: Sequence[lib.preconditions.Precondition]) -> Rows:
        """Return the rows that satisfy every precondition. Raises InputError if there is none."""
        held = [x.select(lib.question.meant_rows(x.formats, x.batch, preconditions)) for x in self.answers]
        held = [x for x in held if len(x.batch)]
        if not held:
            raise InputError(f"no row satisfies --where {' --where '.join(map(str, preconditions))}")
        return replace(self, answers=held)


def read_source(source: str, expect: str | None, target: lib.target.Target, wanted: lib.reading.Wanted) -> Rows:
    """Return the rows of a vector file, a recording, or other files of operands and results."""
    if not lib.vectors.is_vector_file(source):
        if expect is not None:
            raise InputError("--expect chooses among the outputs of a vector file; this one holds one output a row")
        return Rows([lib.reading.read_answers(source, wanted)], [], 0)
    file = lib.vectors.read_vectors(Path(source))
    names = [x.name for x in target.designs] if expect is None else [lib.catalogue.find_design(expect).name]
    found = lib.vectors.answers_of(file, names, chosen=expect is not None)
    if found.left_out:
        of = names[0] if len(names) == 1 else target.name
        complain(f"note: {found.left_out} of {len(file.vectors)} vectors hold no output of {of}: left out")
    others = {
        x.design
        for x in found.answers
        if x.design is not None and lib.vectors.base_of(x.design) not in map(lib.vectors.base_of, names)
    }
    if names and others:
        complain(f"note: {source} holds outputs of {', '.join(sorted(others))}: they are what is expected")
    return Rows(found.answers, file.problems, found.left_out)


def replayed(
    source: str, target: lib.target.Target, report: lib.replay.Replay, rows: Rows, about: Sequence[lib.design.Design]
) -> lib.listings.Replayed:
    """Return the report as an answer."""
    return lib.listings.Replayed.taken(
        report,
        rows,
        source=source,
        target=target.name,
        expectations={name: lib.listings.Counts(rows=n, mismatches=m) for name, (n, m) in report.expectations.items()},
        examples=[_example(x) for x in report.examples],
        open_points=[
            lib.listings.RestsOnOf(design=x.name, **lib.listings.RestsOnOf.fields_of(found))
            for x, found in report.open_points
        ],
        assumed=assumed_names(about),
    )


def _example(x: lib.replay.Mismatch) -> lib.listings.MismatchAnswer:
    expected, returned = (x.formats[3].hex(d) for d in (x.expected, x.returned))
    operands = operands_record(x.formats, x.operands, x.scale_format)
    return lib.listings.MismatchAnswer(row=x.label, **operands, expected=expected, returned=returned)


def print_replay(source: str, target: lib.target.Target, report: lib.replay.Replay) -> None:
    """Print the report for a person. The simplest mismatch is drawn on each of the two designs that is known."""
    say(f"{source} on {target.name}")
    say(f"  {report.rows} rows run, {report.mismatches} differ")
    if len(report.expectations) > 1:
        for name, (count, differ) in report.expectations.items():
            say(f"    of {name}: {count} rows, {differ} differ")
    if report.other_nan_codes:
        say(f"  {report.other_nan_codes} of the others have a NaN of another code: --nan-codes compares them")
    if report.unanswered:
        say(f"  {report.unanswered} rows not answered by the target")
    for design, found in report.open_points:
        say_open_points(found, design.name)
    for x in report.examples:
        shown = _example(x)
        say(f"  {x.label}: expected {shown.expected}, returned {shown.returned}")
        for line in bit_lines(x.formats[3], {"expected": x.expected, "returned": x.returned}):
            say(f"    {line}")
        for line in operand_lines(shown):
            say(f"    {line}")
    if report.mismatches > len(report.examples):
        say(f"  these are the simplest of {report.mismatches} rows")
    if report.examples and (designs := _drawn(report.examples[0])):
        say("")
        results().print(lib.text.Drawing(lib.explain.explain(designs, report.examples[0].operands)))


def _drawn(x: lib.replay.Mismatch) -> list[lib.design.Design]:
    """Return the design whose d was expected, and the one that was run, where they are known and take the operands."""
    designs = [] if x.returned_by is None else [x.returned_by]
    try:
        expected = lib.catalogue.find_design(x.expected_of or "")
        x.operands.check(expected)
    except InputError:
        return designs
    return designs if expected in designs else [expected, *designs]
