"""`mmaproof replay`: run the rows of a file on a target and compare with what the file holds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import (
    QUESTION,
    Instruction,
    InterfaceOfFile,
    Json,
    LengthOfFile,
    QuestionOptions,
    ReadAs,
    Silence,
    TargetName,
    argument,
    option,
    target_of,
    with_backend,
    with_options,
)
from mmaproof.cli.output import Exit, assumed_names, complain, print_json, results, say, say_assumed, say_open_points
from mmaproof.cli.verdicts import bit_lines

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.listings import MismatchAnswer, Replayed
    from mmaproof.hardware_replay.replay import Mismatch, Replay
    from mmaproof.hardware_replay.tables.reading import Wanted
    from mmaproof.hardware_replay.target import Answers, Target
    from mmaproof.properties.preconditions import Precondition


@with_backend
@with_options(without="k ignore_zero_signs simplify")
def replay(
    source: Annotated[
        str,
        argument(
            "SOURCE",
            "A vector file, a recording, or operands and results in CSV, TSV, JSON, JSON Lines, .npy, .npz, .pt "
            "or safetensors; - is stdin.",
        ),
    ],
    target: TargetName,
    expect: Annotated[str | None, option("--expect DESIGN", "Whose outputs of a vector file to compare with.")] = None,
    design: Instruction = None,
    interface: InterfaceOfFile = None,
    k: LengthOfFile = None,
    read_as: ReadAs = None,
    timeout: Silence = "30s",
    question: QuestionOptions = QUESTION,
    json: Json = False,
) -> int:
    """Run the operands of SOURCE on TARGET and compare with the outputs that SOURCE holds.

    What a file does not say of itself is given with --interface and --k; a target with one design says the formats.
    Of the rows that differ the simplest are shown. Exit status 0: every row is equal; 1: some differ; 2: SOURCE is
    malformed, and nothing was run; 3: TARGET is not there, or rows were not answered, or there are none.
    """
    from mmaproof.designs.errors import InputError, TargetUnavailable
    from mmaproof.hardware_replay.replay import replay as run_all
    from mmaproof.hardware_replay.tables.reading import Wanted

    try:
        runner = target_of(target, timeout, design)
    except TargetUnavailable:
        if source != "-" and not Path(source.partition(",")[0]).is_file():  # the nearer mistake
            raise InputError(f"{source}: no such file") from None
        raise
    known = runner.designs[0] if len(runner.designs) == 1 else None
    rows = read_source(source, expect, runner, Wanted.of(interface, k, tuple(read_as or ()), known))
    meant = question.preconditions()
    if rows.problems:
        more = f" (and {len(rows.problems) - 1} more lines like it)" if len(rows.problems) > 1 else ""
        raise InputError(f"{rows.problems[0]}{more}: nothing was run")
    if meant:
        rows = rows.where(meant)
    report = run_all(rows.answers, runner, nan_codes=question.nan_codes, open_points=True)
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


def _designs(answers: list[Answers], target: Target) -> list[Design]:
    """Return the designs that were run, and those whose outputs were expected, as far as they are known."""
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import DesignError

    found = [x for part in answers if (x := target.design_of(part)) is not None]
    for name in {part.design for part in answers} - {None}:
        with suppress(DesignError):  # a name that is not in this catalogue
            found.append(find_design(str(name)))
    return found


@dataclass(frozen=True)
class Rows:
    """What is to be run, a message for each malformed line, and how many vectors hold no output of the design."""

    answers: list[Answers]
    problems: list[str]
    left_out: int

    def where(self, preconditions: Sequence[Precondition]) -> Rows:
        """Return the rows that satisfy every precondition. Raises InputError if there is none."""
        from mmaproof.designs.errors import InputError
        from mmaproof.properties.question import meant_rows

        held = [x.select(meant_rows(x.formats, x.batch, preconditions)) for x in self.answers]
        held = [x for x in held if len(x.batch)]
        if not held:
            raise InputError(f"no row satisfies --where {' --where '.join(map(str, preconditions))}")
        return replace(self, answers=held)


def read_source(source: str, expect: str | None, target: Target, wanted: Wanted) -> Rows:
    """Return the rows of a vector file, a recording, or other files of operands and results."""
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError
    from mmaproof.generators.vectors import answers_of, base_of, is_vector_file, read_vectors
    from mmaproof.hardware_replay.tables.reading import read_answers

    if not is_vector_file(source):
        if expect is not None:
            raise InputError("--expect chooses among the outputs of a vector file; this one holds one output a row")
        return Rows([read_answers(source, wanted)], [], 0)
    file = read_vectors(Path(source))
    names = [x.name for x in target.designs] if expect is None else [find_design(expect).name]
    found = answers_of(file, names, chosen=expect is not None)
    if found.left_out:
        of = names[0] if len(names) == 1 else target.name
        complain(f"note: {found.left_out} of {len(file.vectors)} vectors hold no output of {of}: left out")
    others = {x.design for x in found.answers if x.design is not None and base_of(x.design) not in map(base_of, names)}
    if names and others:
        complain(f"note: {source} holds outputs of {', '.join(sorted(others))}: they are what is expected")
    return Rows(found.answers, file.problems, found.left_out)


def replayed(source: str, target: Target, report: Replay, rows: Rows, about: Sequence[Design]) -> Replayed:
    """Return the report as an answer."""
    from mmaproof.explain.answers.listings import Counts, Replayed, RestsOnOf

    return Replayed.taken(
        report,
        rows,
        source=source,
        target=target.name,
        expectations={name: Counts(rows=n, mismatches=m) for name, (n, m) in report.expectations.items()},
        examples=[_example(x) for x in report.examples],
        open_points=[RestsOnOf(design=x.name, **RestsOnOf.fields_of(found)) for x, found in report.open_points],
        assumed=assumed_names(about),
    )


def _example(x: Mismatch) -> MismatchAnswer:
    from mmaproof.explain.answers.listings import MismatchAnswer

    expected, returned = (x.formats[3].hex(d) for d in (x.expected, x.returned))
    operands = operands_record(x.formats, x.operands, x.scale_format)
    return MismatchAnswer(row=x.label, **operands, expected=expected, returned=returned)


def print_replay(source: str, target: Target, report: Replay) -> None:
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
        from mmaproof.explain import explain
        from mmaproof.explain.text import Drawing

        say("")
        results().print(Drawing(explain(designs, report.examples[0].operands)))


def _drawn(x: Mismatch) -> list[Design]:
    """Return the design whose d was expected, and the one that was run, where they are known and take the operands."""
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError

    designs = [] if x.returned_by is None else [x.returned_by]
    try:
        expected = find_design(x.expected_of or "")
        x.operands.check(expected)
    except InputError:
        return designs
    return designs if expected in designs else [expected, *designs]
