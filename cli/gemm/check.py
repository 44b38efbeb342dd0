"""`mmaproof gemm check`: what is exact, what overflows, what is lost, and what bits depend on, with proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.gemm.compare import pair_fields
from mmaproof.cli.gemm.options import Unit, find_plan, numbers_of, print_witnesses, require_no_unit
from mmaproof.cli.output import EXIT_STATUS, Exit, assumed_names, progress, say, say_assumed, say_table, say_wrapped
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import lemma_of, print_lemmas, say_reason, say_witness
from mmaproof.designs.errors import InputError, did_you_mean

CATALOGUE = "catalogue"
"""The name of all units of the catalogue."""


@opt.with_backend
@opt.with_options(
    without="nan_codes ignore_zero_signs simplify picture output html svg figure junit bundle",
    keeps=True,
    timeout="2m",
)
def check(
    question: Annotated[
        str | None, opt.argument("[QUESTION]", "What to ask; without it the questions are listed.")
    ] = None,
    names: Annotated[
        list[str] | None,
        opt.argument(
            "[ALGORITHM|PLAN...]",
            "A name that `mmaproof list algorithms` lists, with @parameter=value,... to change it; or plans.",
        ),
    ] = None,
    unit: Unit = None,
    asked: opt.QuestionOptions = opt.QUESTION,
    below: Annotated[
        int | None, opt.option("--below Q", "Ask `dropped` whether 2**-Q is a bound.", min=0, max=200)
    ] = None,
    options: opt.SolvingOptions = opt.SOLVING,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Find out what is exact, what overflows and what is lost in an algorithm on a unit, or what a plan depends on.

    The questions order and batch-invariance are about plans. Of the others, overflow takes a plan and needs --where
    exponents=LO..HI, split and dropped are of the plan's algorithm, and exact-operands and slices take a plan that is
    an algorithm alone. Exit status 0: found and proved; 1: it does not hold, or
    what was stated (--where, --below) is violated, with a witness; 3: unknown.
    """
    questions, named = lib.gemm_check.QUESTIONS | lib.gemm_compare.PLAN_QUESTIONS, names or []
    if question is None:
        showing.show(lib.verdicts.Questions(questions=questions), lambda: print_questions(questions))
        return Exit.HOLDS
    if question not in questions:
        known = list(questions)
        raise InputError(f"unknown question {question!r}: one of {', '.join(known)}{did_you_mean(question, known)}")
    if question in lib.gemm_compare.PLAN_QUESTIONS:
        if below is not None:
            raise InputError(f"--below means nothing to {question}")
        if question == "batch-invariance" and len(named) == 1 and named[0].startswith(("python:", "process:")):
            return check_kernel(named[0], unit, asked, options, showing)
        return check_plans(question, named, unit, asked, options, showing)
    if question == "slices" and unit is None and is_of_units(named):
        if asked.k is not None or asked.where or below is not None:
            raise InputError("slices of units take none of --k, --where and --below")
        return check_slices(named, options, showing)
    return check_program(question, named, unit, below, asked, options, showing)


def print_questions(questions: Mapping[str, str]) -> None:
    """Print what can be asked."""
    for name, what in questions.items():
        say_wrapped(what, f"{name:<16}  ")


def check_program(
    question: str,
    names: Sequence[str],
    unit: str | None,
    below: int | None,
    asked: opt.QuestionOptions,
    options: opt.SolvingOptions,
    showing: ShowingOptions,
) -> int:
    """Answer a question about an algorithm or the plan of one, print the answer, and return the exit status."""
    where = asked.preconditions()
    program = names[0] if len(names) == 1 else None
    if program is not None and lib.named.is_plan(program):
        require_no_unit(program, unit)
    elif program is None or unit is None:
        missing = "one ALGORITHM" if program is None else "--unit DESIGN"
        raise InputError(f"{missing} is missing: mmaproof gemm check {question} ALGORITHM --unit DESIGN")
    plan = find_plan(program, unit)
    with progress(f"checking {question} of {plan.title}"):
        done = lib.gemm_check.check_algorithm(question, plan, **options.means, k=asked.k, where=where, below=below)
    answer = checked(done)
    where_text = "".join(f"where {p}; " for p in done.where)
    lines = [f"{where_text}{done.seconds:.2f} s in all", *done.finding.details]
    head = f"{done.verdict}: {done.question} of {done.plan.title}"
    showing.show(answer, lambda: print_found(head, done.finding, answer, lines, [done.unit], showing))
    return EXIT_STATUS[done.verdict]


def checked(done: lib.gemm_check.GemmCheck) -> lib.verdicts.GemmChecked:
    """Return the answer."""
    return lib.verdicts.GemmChecked.taken(
        done,
        done.finding,
        algorithm=done.plan.label,
        unit=done.unit.name,
        where=[str(p) for p in done.where],
        **shown_fields(done.finding),
        assumed=assumed_names([done.unit]),
    )


def shown_fields(verdict: lib.gemm_verdict.AlgorithmVerdict) -> dict[str, Any]:
    """Return witnesses and lemmas as fields."""
    return {
        "witnesses": [numbers_of(w) for w in verdict.witnesses],
        "lemmas": [lemma_of(x) for x in verdict.lemmas],
    }


def print_found(
    head: str,
    verdict: lib.gemm_verdict.AlgorithmVerdict,
    answer: Any,
    lines: Sequence[str],
    units: Sequence[lib.design.Design],
    showing: ShowingOptions,
) -> None:
    """Print a verdict for a person: a first line, the conclusion, ``lines``, lemmas and witnesses."""
    say(head)
    say_wrapped(verdict.conclusion, "  ")
    for line in lines:
        say_wrapped(line, "  ")
    print_lemmas(answer.lemmas, verdict.conclusion, whole=showing.explain)
    say_reason(answer)
    print_witnesses(verdict.witnesses)
    say_assumed(units)


def check_plans(
    question: str,
    names: Sequence[str],
    unit: str | None,
    asked: opt.QuestionOptions,
    options: opt.SolvingOptions,
    showing: ShowingOptions,
) -> int:
    """Answer a question about plans, or all plans of a selection, print the answer, and return the exit status."""
    if not names:
        raise InputError(f"a PLAN is missing: mmaproof gemm check {question} PLAN")
    where, selections = asked.preconditions(), lib.spelling.load_selections()
    expanded = [[plan for _, plan in selections[x].plans] if x in selections else [x] for x in names]
    plans = [find_plan(x, unit) for held in expanded for x in held]
    means = lib.search.Means(options.solving, options.limits, options.budget, options.seed)
    with progress(f"checking {question}"):
        done = lib.gemm_compare.check_plans(question, plans, means, k=asked.k, where=where)
    answer = plans_checked(done)
    showing.show(answer, lambda: print_plans(done, answer, showing))
    return EXIT_STATUS[answer.verdict]


def check_kernel(
    name: str, unit: str | None, asked: opt.QuestionOptions, options: opt.SolvingOptions, showing: ShowingOptions
) -> int:
    """Run a kernel on batches of rows, print what their bits depend on, and return the exit status."""
    if unit is None or asked.where:
        raise InputError(f"--unit DESIGN, whose formats {name} takes, is needed, and no --where")
    with progress(f"running batches of {name}"):
        done = lib.matrix_targets.check_batch_invariance(name, unit, k=asked.k or 1024, seed=options.seed)
    witness = None
    if (x := done.witness) is not None:
        witness = lib.verdicts.BatchDifferenceFound.taken(
            x, a=[hex(y) for y in x.a], b=[hex(y) for y in x.b], alone=hex(x.alone), other=hex(x.other)
        )
    answer = lib.verdicts.BatchesChecked.taken(
        done, question="batch-invariance", changes=list(done.changes), witness=witness
    )
    showing.show(answer, lambda: print_batches(answer))
    return Exit.HOLDS if done.invariant else Exit.REFUTED


def print_batches(answer: lib.verdicts.BatchesChecked) -> None:
    """Print what the bits of a row depend on."""
    say(f"{'no difference found' if answer.invariant else 'violated'}: batch-invariance of {answer.name}")
    say_wrapped(f"{answer.formats}, k = {answer.k}, n = {answer.n}, 1 to {answer.most} rows, {answer.runs} runs", "  ")
    say_wrapped("deterministic" if answer.deterministic else "not deterministic: a run again gives other bits", "  ")
    if answer.changes:
        say_wrapped(f"the bits of a row change at M = {', '.join(map(str, answer.changes))}", "  ")
    if (x := answer.witness) is not None:
        say_wrapped(f"M = {x.m}, {x.how}: d[{x.row}, {x.column}] = {x.other}, and {x.alone} before", "  ")
        say_wrapped(",".join(x.a), "  a = ")
        say_wrapped(",".join(x.b), "  b = ")


def plans_checked(done: lib.gemm_compare.PlanCheck) -> lib.verdicts.PlansChecked:
    """Return the answer about plans."""
    return lib.verdicts.PlansChecked.taken(
        done,
        verdict=lib.check.WORDS[done.status],
        plans=[x.name for x in done.plans],
        comparisons=[lib.verdicts.PlansPair(**pair_fields(x)) for x in done.comparisons],
        assumed=assumed_names(y for x in done.plans for y in x.units),
    )


def print_plans(done: lib.gemm_compare.PlanCheck, answer: lib.verdicts.PlansChecked, showing: ShowingOptions) -> None:
    """Print the answer about plans for a person."""
    say(f"{answer.verdict}: {done.question}")
    for name in answer.plans:
        say(f"  {name}")
    say_wrapped(f"{done.conclusion} (k = {done.k}, {done.seconds:.2f} s in all)", "  ")
    for x in done.comparisons if showing.explain else ():
        say_wrapped(f"{x.verdict}: {x.question.plans[1].name}, by {x.answer.origin}", "    ")
    say_reason(answer)
    if done.comparison is not None:
        say_witness(pair_fields(done.comparison)["witness"], done.comparison.question.d_format)
    say_assumed(y for x in done.plans for y in x.units)


def is_of_units(names: Sequence[str]) -> bool:
    """Return whether names are those of units, or of all of the catalogue."""
    return bool(names) and all((lib.design.is_unit_name(x) or x == CATALOGUE) and "|" not in x for x in names)


def check_slices(names: Sequence[str], options: opt.SolvingOptions, showing: ShowingOptions) -> int:
    """Find the slices of some units, print them, and return the exit status."""
    found: list[tuple[lib.design.Design, lib.gemm_verdict.AlgorithmVerdict]] = []
    known: dict[Any, lib.gemm_verdict.AlgorithmVerdict] = {}
    solving = options.solving
    for unit in _units(names):
        # units of several architectures add alike
        alike = (unit.signature, unit.chain, unit.step, unit.k)
        if alike not in known:
            with progress(f"slices of {unit.name}"):
                means = lib.search.Means(solving, options.limits, options.budget, options.seed)
                known[alike] = lib.unit_slices.check_unit_slices(unit, lib.gemm_verdict.Asked(means))
        found.append((unit, known[alike]))
    showing.show(lambda: slices_checked(found), lambda: print_slices(found, showing))
    return Exit.HOLDS if all(x.status is lib.verdict.Status.PROVED for _, x in found) else Exit.UNKNOWN


def _units(names: Sequence[str]) -> list[lib.design.Design]:
    """Return the units; of the catalogue those that differ in what they add."""
    if CATALOGUE not in names:
        return [lib.catalogue.find_design(x) for x in names]
    found: dict[Any, lib.design.Design] = {}
    for unit in lib.catalogue.load_catalogue().designs.values():
        found.setdefault((unit.architecture, unit.signature, unit.chain, unit.step), unit)
    return list(found.values())


def slices_checked(
    found: Sequence[tuple[lib.design.Design, lib.gemm_verdict.AlgorithmVerdict]],
) -> lib.verdicts.SlicesChecked:
    """Return the slices of units as an answer."""
    units = [_found(*x) for x in found]
    return lib.verdicts.SlicesChecked(question="slices", units=units, assumed=assumed_names(x for x, _ in found))


def _found(unit: lib.design.Design, verdict: lib.gemm_verdict.AlgorithmVerdict) -> lib.verdicts.Found:
    return lib.verdicts.Found.taken(
        verdict, unit=unit.name, verdict=lib.check.WORDS[verdict.status], **shown_fields(verdict)
    )


def print_slices(
    found: Sequence[tuple[lib.design.Design, lib.gemm_verdict.AlgorithmVerdict]], showing: ShowingOptions
) -> None:
    """Print the slices of one unit in full, of several as a table."""
    if len(found) > 1:
        _print_table(found)
        say_assumed(x for x, _ in found)
        return
    for unit, verdict in found:
        answer = _found(unit, verdict)
        print_found(f"{answer.verdict}: slices of {unit.name}", verdict, answer, verdict.details, [unit], showing)


def _print_table(found: Sequence[tuple[lib.design.Design, lib.gemm_verdict.AlgorithmVerdict]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("unit", "exact up to", "bits", "K", "inexact at K"):
        table.add_column(column, justify="left" if column == "unit" else "right", no_wrap=column == "unit")
    for unit, verdict in found:
        values = verdict.values
        cells = ["-", "-", "-", verdict.reason or ""]
        if values:
            bits = str(values["bits"])
            cells = [str(values["most"]), bits, str(values["longest"][bits]), str(values["inexact_at"][bits])]
        table.add_row(*map(Text, (unit.name, *cells)))
    say_table(table)
