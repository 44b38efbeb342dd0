"""`mmaproof check`: does a design have a property, and if not, which runs show that."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from mmaproof.cli import lib, verdicts
from mmaproof.cli import options as opt
from mmaproof.cli import output as out
from mmaproof.cli.operands import operand_lines
from mmaproof.cli.showing import SHOWING, ShowingOptions, draw

PropertyName = Annotated[
    str,
    opt.argument("PROPERTY", "A name that `mmaproof list properties` lists.", autocompletion=opt.complete_properties),
]


@opt.with_backend
@opt.with_options(
    without="nan_codes ignore_zero_signs",
    keeps=True,
    helps={
        "k": "Length of the dot product; default one step of the design, for properties of chains the instruction's K.",
        "picture": "Draw the runs bit by bit.",
    },
)
def check(
    asked: PropertyName,
    design: opt.DesignName,
    question: opt.QuestionOptions = opt.QUESTION,
    options: opt.SolvingOptions = opt.SOLVING,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Decide whether a design has a property, for all operands.

    Of user RTL (rtl:UNIT.toml) the netlist is asked. If that gives no answer, and the unit is proved to be the design
    that its file names, bit for bit, the design is asked.

    Exit status 0: it holds (proved); 1: it is violated (the runs that show it are printed); 3: unknown or vacuous, or
    proved in a way that --bundle cannot write.
    """
    found = lib.library.find_property(asked)
    given = {**options.means, "simplifying": question.simplifying}
    showing.ready(options.keep_lemmas, read=read_by(design))
    done = decided_about(found, design, question, given, alone=showing.bundle is not None)
    unit = done.design
    claim = verdicts.with_conditions(f"{unit.name}: {done.claimed}", verdicts.conditions_of([unit]))
    answers, status = done.finding.answers or {}, out.EXIT_STATUS[done.verdict]
    status, bundle = showing.bundled(answers, claim, [unit], options, status)
    report(done, showing, bundle)
    if showing.junit is not None:
        verdicts.write_junit(showing.junit, [_case(done)])
    return status


def read_by(name: str) -> list[Path]:
    """Return the files that the name of a design is read from."""
    return [Path(name.removeprefix(opt.RTL))] if name.startswith(opt.RTL) else []


def decided_about(
    asked: lib.property.Property, name: str, question: opt.QuestionOptions, given: dict[str, Any], *, alone: bool
) -> lib.check.Check:
    """Ask whether the design called ``name`` has a property; ``given`` is how it is decided. Raises as ``check``.

    A netlist that is asked ``alone`` is not compared with the design that its file names: a bundle has no such step.
    """
    files = read_by(name)
    if not files:
        design, where = lib.catalogue.find_design(name), question.preconditions()
        with out.progress(f"checking {asked.name} on {design.name}") as told:
            return lib.check.check(asked, design, k=question.k, where=where, **given, told=told)
    began = time.monotonic()
    with out.progress(f"elaborating {files[0]}"):
        unit, meant = lib.meant.read_rtl(files[0])
    given["limits"] = given["limits"].after(time.monotonic() - began, "elaborating")
    model = None if meant is None or alone else lib.meant.in_one_pass(unit.design, meant)
    where = question.preconditions(unit.where)
    with out.progress(f"checking {asked.name} on {unit.design.name}") as told:
        return lib.check.check_netlist(asked, unit.design, model, k=question.k, where=where, **given, told=told)


def _case(done: lib.check.Check) -> verdicts.Case:
    lines = [] if done.finding.reason is None else [done.finding.reason]
    for number, run in enumerate(map(verdicts.run_of, done.finding.runs), start=1):
        lines += [f"run {number} of {run.design}", *operand_lines(run, whole=True), f"d = {run.d}"]
    name = verdicts.with_conditions(f"{done.asked.name} of {done.design.name}", verdicts.conditions_of([done.design]))
    return verdicts.Case("mmaproof.check", name, done.seconds, done.verdict, done.verdict == "holds", tuple(lines))


def report(done: lib.check.Check, showing: ShowingOptions, bundle: Any) -> None:
    """Print the answer, and write its runs to a file where one is named."""
    answer, runs = checked(done, bundle), done.finding.runs
    steps = sum(not run.whole for run in runs)
    showing.show(
        answer,
        lambda: print_check(done, answer, showing),
        done.pictures,
        lambda: run_vectors(done),
        left_out=(f"{steps} of {len(runs)} runs are", verdicts.STEP) if steps else None,
        what="no runs were found",
    )
    if showing.json and steps:
        out.complain(f"note: where a run says step, {verdicts.STEP}")


def checked(done: lib.check.Check, bundle: Any) -> lib.verdicts.Checked:
    """Return the answer."""
    finding = done.finding
    shown = lib.verdicts.Shown(runs=[verdicts.run_of(x) for x in finding.runs], value=finding.value)
    questions = finding.answers or {}
    return lib.verdicts.Checked.taken(
        done,
        finding,
        **verdicts.conditional(done.verdict, verdicts.conditions_of([done.design])),
        property=done.asked.name,
        design=done.design.name,
        where=[str(x) for x in done.scope.where],
        origin=done.answers[0].origin if len(questions) == 1 else f"{len(questions)} questions" if questions else "",
        **verdicts.solvers_of(done),
        witness=shown if finding.runs else None,
        lemmas=[verdicts.lemma_of(x) for answer in done.answers for x in answer.lemmas],
        questions=[lib.verdicts.Asked(what=what, verdict=_word(x), origin=x.origin) for what, x in questions.items()],
        assumed=out.assumed_names([done.design]),
        bundle=bundle,
    )


def _word(answer: lib.property.QuestionVerdict) -> str:
    return lib.check.WORDS[answer.status]


def value_text(value: float | str) -> str:
    """Return the answer of a property that has a number or a word."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def run_vectors(done: lib.check.Check) -> list[lib.vectors.Vector]:
    """Return the runs that an instruction returns as vectors for a file."""
    origins = [a.origin for a in done.answers if a.witness is not None] or [a.origin for a in done.answers]
    return [
        lib.vectors.Vector(
            run.operands,
            run.design.formats,
            {run.design.name: run.d},
            why=f"{done.asked.name}: {done.verdict} for {done.design.name}, run {number}",
            origin="; ".join(origins),
            version=out.tool_version(),
            scale_format=run.design.scale_format,
        )
        for number, run in enumerate(done.finding.runs, start=1)
        if run.whole
    ]


def print_check(done: lib.check.Check, answer: lib.verdicts.Checked, showing: ShowingOptions) -> None:
    """Print the answer for a person."""
    finding = done.finding
    out.say(f"{verdicts.in_words(answer)}: {done.asked.name} on {done.design.name}")
    out.say_wrapped(done.claimed, "  ")
    if finding.value is not None:
        out.say(f"  {done.asked.feature}: {value_text(finding.value)}")
    out.say_asked(verdicts.asked_words(answer), answer.origin, answer.seconds)
    questions = (finding.answers or {}).items()
    for what, x in questions:
        if len(questions) > 1:
            out.say(f"    {what}: {_word(x)} by {x.origin}, {x.seconds:.2f} s")
        lemmas = [verdicts.lemma_of(lemma) for lemma in x.lemmas]
        verdicts.print_lemmas(lemmas, what if len(questions) > 1 else done.claimed, whole=showing.explain)
    out.say_assumed([done.design])
    verdicts.say_reason(answer)
    if not finding.runs:
        return
    out.say_wrapped(f"{done.asked.shown_by(finding.status)}:", "  ")
    verdicts.print_runs(finding.runs)
    if showing.picture:
        draw(done.pictures())
