"""Verdicts and witnesses, as every command that decides a question gives them: their fields and their text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmaproof.cli import lib
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.output import results, say, say_asked, say_assumed, say_wrapped
from mmaproof.designs.errors import InputError

if TYPE_CHECKING:
    from rich.tree import Tree


PROVED = ("equal", "equivalent", "holds")
"""Verdicts that hold for all operands, or only when some conditions do."""

STEP = "d is that of one step: the other steps of the instruction would change it, though their products are zero"

GROUPS = (
    ("operands taken apart", (": sign", ": exponent", ": significand")),
    ("terms", ("sign of p", "sign of c", "sign of x", "sign of y", "exponent of", "significand of", "presence of")),
    ("largest exponent", ("maximum", "e_max")),
    ("aligned terms", ("aligned", "moved")),
    ("sum", ("factor", "product", "partial sum", "sum")),
    ("conversion", ("magnitude", "normalised", "places", "converted", "overflow")),
    ("special values", ("NaN", "infinity")),
    ("results of steps", ("d",)),
    ("laws of the operations", ("laws",)),
)
"""Which signals belong to which stage of a unit, by parts of their names. The first match counts."""

CLAIM = "the claim, from the last cuts"
OTHERS = "lemmas"
WIDTH = 240


def conditions_of(designs: Iterable[lib.design.Design]) -> list[str]:
    """Return when these designs are what their units compute, each condition once."""
    return list(dict.fromkeys(text for x in designs for text in x.conditions))


def with_conditions(claim: str, when: Sequence[str]) -> str:
    """Return a claim and when it holds, as text."""
    return claim if not when else f"{claim} when {' and '.join(when)}"


def say_conditions(designs: Iterable[lib.design.Design]) -> None:
    """Print of each design when its unit computes it, if not always."""
    for x in designs:
        if x.conditions:
            say_wrapped(f"what is said of {x.name} holds when {' and '.join(x.conditions)}", "  ")


def conditional(verdict: str, when: Sequence[str]) -> dict[str, Any]:
    """Return a verdict and its conditions as fields; one that has some is another word than one that has none."""
    held = verdict in PROVED and bool(when)
    return {"verdict": f"{verdict}-when" if held else verdict, "when": list(when) if held else []}


def in_words(answer: Any) -> str:
    """Return a verdict as the first line of an answer says it: "equal when operands are held for 3 clock cycles"."""
    return with_conditions(answer.verdict.removesuffix("-when"), answer.when)


def solver_of(solver: lib.verdict.SolverIdentity | None) -> lib.answer.Solver | None:
    """Return a solver as a part of an answer."""
    return None if solver is None else lib.answer.Solver(name=solver.name, version=solver.version)


def solvers_of(verdict: Any) -> dict[str, lib.answer.Solver | None]:
    """Return who answered and who confirmed it, as fields."""
    return {"solver": solver_of(verdict.solver), "certified_by": solver_of(verdict.certified_by)}


def lemma_of(x: lib.property.LemmaVerdict) -> lib.answer.Lemma:
    """Return a lemma as a part of an answer."""
    return lib.answer.Lemma.taken(
        x, stage=x.stage or None, status=x.status.value, reason=x.reason or lib.answer.ABSENT, **solvers_of(x)
    )


def decided(verdict: Any) -> dict[str, Any]:
    """Return what is known of every question that was decided, as fields."""
    return {
        "seconds": round(verdict.seconds, 3),
        **solvers_of(verdict),
        "certificate_covers": verdict.certificate_covers,
        "reason": verdict.reason,
        "origin": verdict.origin,
        "lemmas": [lemma_of(x) for x in verdict.lemmas],
    }


def asked(question: Any) -> dict[str, Any]:
    """Return what a question is about, as fields."""
    return {"k": question.k, "where": [str(x) for x in question.where]}


def witness_fields(question: Any, operands: Any, outputs: Mapping[str, int], fmt: lib.formats.Format) -> dict[str, Any]:
    """Return operands and what is returned for them, as fields."""
    record = operands_record(question.formats, operands, question.scale_format)
    return {**record, "outputs": {name: fmt.hex(d) for name, d in outputs.items()}}


def run_of(run: lib.question.Run) -> lib.answer.Run:
    """Return a run as a part of an answer."""
    design = run.design
    return lib.answer.Run(
        design=design.name,
        **operands_record(design.formats, run.operands, design.scale_format),
        d=design.d_format.hex(run.d),
        step=lib.answer.ABSENT if run.whole else True,
    )


def asked_words(answer: Any) -> list[str]:
    """Return what was asked for in words."""
    return [f"k = {answer.k}", *(f"where {x}" for x in answer.where)]


def say_decided(
    answer: lib.answer.Decided,
    designs: Iterable[lib.design.Design],
    claim: str,
    *,
    whole: bool,
    between: Sequence[str] = (),
) -> None:
    """Print below the first line what every verdict has; ``between`` are lines about what was asked."""
    say_asked(asked_words(answer), answer.origin, answer.seconds)
    for line in between:
        say_wrapped(line, "  ")
    say_assumed(designs)
    print_lemmas(answer.lemmas, claim, whole=whole)
    say_reason(answer)


def say_reason(answer: Any) -> None:
    """Print why nothing is known, or that nothing was asked."""
    if answer.reason is not None:
        say_wrapped(answer.reason, "  reason: ")
    if answer.verdict == "vacuous":
        say("  no operands satisfy the preconditions")


def say_witness(witness: Any, fmt: lib.formats.Format, between: Sequence[str] = ()) -> None:
    """Print operands, and what designs return for them; ``between`` stands before."""
    for line in operand_lines(witness):
        say(f"  {line}")
    for line in between:
        say_wrapped(line, "  ")
    for name, d in witness.outputs.items():
        say(f"  d = {d} = {lib.values.pattern_value(fmt, int(d, 16))} on {name}")
    if getattr(witness, "difference", None) is not None:
        say(f"  they {witness.difference.words}")


def print_runs(runs: Sequence[lib.question.Run]) -> None:
    """Print runs as lines that the options of `mmaproof run` take."""
    for number, run in enumerate(runs, start=1):
        design, length = run.design, len(run.operands)
        named = design.name if length == design.k else f"{design.name} with --k {length}"
        say(f"  {number}. {named if run.whole else f'one step of {design.name}'}")
        for line in operand_lines(run_of(run)):
            say(f"     {line}")
        say(f"     d = {design.d_format.hex(run.d)} = {lib.values.pattern_value(design.d_format, run.d)}")
        if not run.whole:
            say(f"     {STEP}")


def group_of(lemma: lib.answer.Lemma) -> str:
    """Return the stage of a unit that a lemma is about."""
    stage = lemma.stage
    if not stage:
        return OTHERS
    if stage == "result":
        return CLAIM
    return next((group for group, parts in GROUPS if any(p in stage for p in parts)), OTHERS)


def summary(lemmas: Sequence[lib.answer.Lemma]) -> str:
    """Return how many lemmas have each status, in one line."""
    counts = {status: sum(x.status == status for x in lemmas) for status in ("proved", "refuted", "unknown")}
    words = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
    return f"{len(lemmas)} lemmas ({words}), {sum(x.seconds for x in lemmas):.2f} s; --explain lists them"


def print_lemmas(lemmas: Sequence[lib.answer.Lemma], claim: str, *, whole: bool) -> None:
    """Print the lemmas tried for ``claim``: in one line, or as a ``whole`` tree."""
    if not lemmas:
        return
    if not whole:
        say(f"  {summary(lemmas)}")
        return
    # a lemma stays on its line, however narrow the terminal
    results(WIDTH).print(tree(lemmas, claim))


def tree(lemmas: Sequence[lib.answer.Lemma], claim: str) -> Tree:
    """Return the lemmas as a tree of stages under ``claim``."""
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text(claim))
    groups = {lemma_group: [x for x in lemmas if group_of(x) == lemma_group] for lemma_group in map(group_of, lemmas)}
    order = [OTHERS, *(group for group, _ in GROUPS), CLAIM]
    for group in sorted(groups, key=order.index):
        branch = root.add(Text(group))
        for x in groups[group]:
            by = str(x.solver) + (f", certified by {x.certified_by}" if x.certified_by is not None else "")
            what = f"{x.stage}: {x.name}" if x.stage and x.stage not in ("laws", "result") else x.name
            reason = f" ({x.reason})" if x.reason else ""
            branch.add(Text(f"{x.status:8} {x.seconds:6.2f} s  {what}  [{by}]{reason}"))
    return root


def difference(fmt: lib.formats.Format, results: Sequence[int]) -> lib.answer.Difference | None:
    """Return how far two patterns of ``fmt`` are apart; None if one of them is an infinity or a NaN, or is missing."""
    return _difference(fmt, *results) if len(results) == 2 else None


@lru_cache(maxsize=1 << 12)
def _difference(fmt: lib.formats.Format, x: int, y: int) -> lib.answer.Difference | None:
    """Return the same of two patterns. Many pairs of a matrix have one witness."""
    if not (lib.values.is_finite(fmt, x) and lib.values.is_finite(fmt, y)):
        return None
    first, second = lib.values.pattern_number(fmt, x), lib.values.pattern_number(fmt, y)
    apart = abs(first - second)
    ulps = None if fmt.is_integer else float(apart / fmt.ulp(max(abs(first), abs(second))))
    return lib.answer.Difference(absolute=str(apart), ulps=ulps)


def bit_lines(fmt: lib.formats.Format, results: Mapping[str, int]) -> list[str]:
    """Return two results in binary below each other, in sign, exponent and fraction, and marks below what differs."""
    width, columns = max(map(len, results)), _columns(fmt)
    lines = [f"{name:<{width}}  {_spaced(f'{x:0{fmt.bits}b}', columns)}" for name, x in results.items()]
    first, second = results.values()
    marks = f"{first ^ second:0{fmt.bits}b}".replace("0", " ").replace("1", "^")
    return [*lines, f"{'':<{width}}  {_spaced(marks, columns)}".rstrip()]


def _columns(fmt: lib.formats.Format) -> list[int]:
    """Return the places before which a blank stands: where exponent and fraction begin; of integers there are none."""
    if fmt.is_integer:
        return []
    fraction = fmt.bits - fmt.fraction_bits - fmt.ignored_bits
    return sorted({fraction - fmt.exponent_bits, fraction} - {0})


def _spaced(bits: str, columns: Sequence[int]) -> str:
    places = [0, *columns, len(bits)]
    return " ".join(bits[i:j] for i, j in itertools.pairwise(places))


REFUTED = ("different", "violated")
"""Verdicts that are failures; the other ones that do not pass are errors: nothing was decided."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its verdict, whether that passes, and what there is to say if it does not."""

    group: str
    name: str
    seconds: float
    verdict: str
    passes: bool
    lines: tuple[str, ...]


def write_junit(path: Path, cases: Sequence[Case]) -> None:
    """Write test cases as a file. Raises InputError if it cannot be written."""
    from xml.etree import ElementTree

    failures = sum(x.verdict in REFUTED for x in cases)
    errors = sum(not x.passes for x in cases) - failures
    suite = ElementTree.Element(
        "testsuite",
        name="mmaproof",
        tests=str(len(cases)),
        failures=str(failures),
        errors=str(errors),
        time=f"{sum(x.seconds for x in cases):.3f}",
    )
    for x in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=x.group, name=x.name, time=f"{x.seconds:.3f}")
        if not x.passes:
            kind = "failure" if x.verdict in REFUTED else "error"
            said = ElementTree.SubElement(case, kind, type=x.verdict, message=f"{x.verdict}: {x.name}")
            said.text = "\n".join(x.lines)
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from problem
