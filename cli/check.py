"""`mmaproof check`: does a design have a property, and if not, which runs show that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.bundle import BundleFolder, bundled, require_bundle, say_bundle
from mmaproof.cli.conditions import conditional, conditions_of, in_words, with_conditions
from mmaproof.cli.explain import lemma_record, print_lemmas
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import (
    SOLVING,
    DesignName,
    Explained,
    Json,
    Output,
    Simplify,
    SolvingOptions,
    Where,
    askable,
    with_backend,
    with_solving,
)
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    complain,
    print_json,
    progress,
    results,
    say,
    say_asked,
    say_wrapped,
    solver_record,
)
from mmaproof.cli.pictures import Figure, Html, PictureFiles, Svg
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mmaproof.generators.vectors import Vector
    from mmaproof.properties.property import QuestionVerdict
    from mmaproof.properties.run_question import Run
    from mmaproof.verification.check import Check

EXIT_STATUS = {
    "holds": EXIT_HOLDS,
    "violated": EXIT_REFUTED,
    "unknown": EXIT_UNKNOWN,
    "vacuous": EXIT_UNKNOWN,
}

STEP = "d is that of one step: the other steps of the instruction would change it, though their products are zero"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("check")(with_backend(check))


@with_solving(keeps=True)
def check(
    asked: Annotated[
        str,
        typer.Argument(metavar="PROPERTY", help="A name that `mmaproof properties` lists.", show_default=False),
    ],
    design: DesignName,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="N",
            min=1,
            callback=askable,
            help="Length of the dot product; default one step of the design, for properties of chains the "
            "instruction's K.",
        ),
    ] = None,
    where: Where = None,
    options: SolvingOptions = SOLVING,
    simplify: Simplify = "5s",
    picture: Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the runs bit by bit.")] = True,
    explained: Explained = False,
    output: Output = None,
    html: Html = None,
    svg: Svg = None,
    figure: Figure = None,
    bundle: BundleFolder = None,
    json: Json = False,
) -> int:
    """Decide whether a design has a property, for all operands.

    Exit status 0: it holds (proved); 1: it is violated (the runs that show it are printed); 3: unknown or vacuous, or
    proved in a way that --bundle cannot write.
    """
    from mmaproof.designs.files import make_way
    from mmaproof.properties.library import find_property
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.rtl.meant import named_design
    from mmaproof.smt.solving.limits import parse_seconds
    from mmaproof.verification.check import check as decide

    found, unit = find_property(asked), named_design(design)
    files = PictureFiles(html, svg, figure)
    require_bundle(bundle, [output, options.keep_lemmas, *files.paths])
    files.require()
    solving, limits, simplifying = options.solving, options.limits, parse_seconds(simplify)
    meant = [parse_precondition(w) for w in where or ()]
    make_way(output, *files.paths)
    with progress(f"checking {found.name} on {unit.name}") as told:
        done = decide(
            found,
            unit,
            solver=solving,
            limits=limits,
            k=k,
            where=meant,
            budget=options.budget,
            seed=options.seed,
            simplifying=simplifying,
            told=told,
        )
    claim = with_conditions(f"{unit.name}: {done.claimed}", conditions_of([unit]))
    status, record = bundled(bundle, done.finding.answers or {}, claim, [unit], options, EXIT_STATUS[done.verdict])
    report(done, picture=picture, explained=explained, output=output, files=files, json=json, record=record)
    return status


def report(
    done: Check,
    *,
    picture: bool,
    explained: bool,
    output: Path | None,
    files: PictureFiles,
    json: bool,
    record: Mapping[str, Any] | None = None,
) -> None:
    """Print the answer, and write its runs to a file where one is named. ``record`` is what is known of its bundle."""
    from mmaproof.generators.vectors import write_vectors

    files.write({**check_record(done), **(record or {})}, done.pictures)
    if json:
        print_json({**check_record(done), **(record or {})}, [done.design])
        if not all(run.whole for run in done.finding.runs):
            complain(f"note: where a run says step, {STEP}")
    else:
        print_check(done, picture, explained)
        say_bundle(record or {})
    if output is not None:
        vectors = run_vectors(done)
        left_out = len(done.finding.runs) - len(vectors)
        if vectors:
            write_vectors(output, vectors)
        if left_out:
            complain(f"note: {left_out} of {len(done.finding.runs)} runs are not written to {output}: {STEP}")
        elif not vectors:
            complain(f"note: {output} is not written: no runs were found")


def check_record(done: Check) -> dict[str, Any]:
    """Return the answer as the JSON object of the command-line contract."""
    finding = done.finding
    return {
        **conditional(done.verdict, conditions_of([done.design])),
        "property": done.asked.name,
        "design": done.design.name,
        "k": done.k,
        "where": [str(p) for p in done.scope.where],
        "seconds": round(done.seconds, 3),
        "solver": solver_record(done.solver),
        "certified_by": solver_record(done.certified_by),
        "certificate_covers": done.certificate_covers,
        "reason": finding.reason,
        "value": finding.value,
        "witness": {"runs": [run_record(r) for r in finding.runs], "value": finding.value} if finding.runs else None,
        "lemmas": [lemma_record(x) for answer in done.answers for x in answer.lemmas],
        "questions": [
            {"what": what, "verdict": _word(answer), "origin": answer.origin}
            for what, answer in (finding.answers or {}).items()
        ],
    }


def _word(answer: QuestionVerdict) -> str:
    from mmaproof.verification.check import WORDS

    return WORDS[answer.status]


def value_text(value: float | str) -> str:
    """Return the answer of a property that has a number or a word."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def run_record(run: Run) -> dict[str, Any]:
    """Return a run as JSON data; ``step`` marks one whose d only a step of the instruction returns."""
    design = run.design
    record = {
        "design": design.name,
        **operands_record(design.formats, run.operands, design.scale_format),
        "d": design.d_format.hex(run.d),
    }
    return record if run.whole else {**record, "step": True}


def run_vectors(done: Check) -> list[Vector]:
    """Return the runs that an instruction returns as vectors for a file."""
    from mmaproof.generators.vectors import Vector

    origins = [a.origin for a in done.answers if a.witness is not None] or [a.origin for a in done.answers]
    return [
        Vector(
            run.operands,
            run.design.formats,
            {run.design.name: run.d},
            why=f"{done.asked.name}: {done.verdict} for {done.design.name}, run {number}",
            origin="; ".join(origins),
            version=tool_version(),
            scale_format=run.design.scale_format,
        )
        for number, run in enumerate(done.finding.runs, start=1)
        if run.whole
    ]


def print_check(done: Check, picture: bool, explained: bool) -> None:
    """Print the answer for a person."""
    finding = done.finding
    say(f"{in_words(done.verdict, conditions_of([done.design]))}: {done.asked.name} on {done.design.name}")
    say_wrapped(done.claimed, "  ")
    if finding.value is not None:
        say(f"  {done.asked.feature}: {value_text(finding.value)}")
    print_answers(done, explained)
    say_assumed([done.design])
    if finding.reason is not None:
        say(f"  reason: {finding.reason}")
    if done.verdict == "vacuous":
        say("  no operands satisfy the preconditions")
    if not finding.runs:
        return
    say_wrapped(f"{done.asked.shown_by(finding.status)}:", "  ")
    print_runs(finding.runs)
    if picture:
        draw(done)


def print_answers(done: Check, explained: bool) -> None:
    """Print what was asked on the way and how it was answered; lemmas as a tree where ``explained``."""
    asked = [f"k = {done.k}", *(f"where {p}" for p in done.scope.where)]
    questions = (done.finding.answers or {}).items()
    by = done.answers[0].origin if len(questions) == 1 else f"{len(questions)} questions"
    say_asked(asked, by if questions else None, done.seconds)
    for what, answer in questions:
        if len(questions) > 1:
            say(f"    {what}: {_word(answer)} by {answer.origin}, {answer.seconds:.2f} s")
        print_lemmas(answer.lemmas, what if len(questions) > 1 else done.claimed, whole=explained)


def print_runs(runs: tuple[Run, ...]) -> None:
    """Print runs as lines that the options of `mmaproof run` take."""
    from mmaproof.explain.values import pattern_value

    for number, run in enumerate(runs, start=1):
        design, length = run.design, len(run.operands)
        named = design.name if length == design.k else f"{design.name} with --k {length}"
        say(f"  {number}. {named if run.whole else f'one step of {design.name}'}")
        for line in operand_lines(operands_record(design.formats, run.operands, design.scale_format)):
            say(f"     {line}")
        say(f"     d = {design.d_format.hex(run.d)} = {pattern_value(design.d_format, run.d)}")
        if not run.whole:
            say(f"     {STEP}")


def draw(done: Check) -> None:
    """Draw the runs bit by bit."""
    from mmaproof.explain.text import Drawing

    for name, picture in done.pictures():
        say(f"\n{name}" if name else "")
        results().print(Drawing(picture))
