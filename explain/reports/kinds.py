"""Each kind of answer as a part of a page, and the answers that files hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import read_text, why_unreadable
from mmaproof.explain import Picture
from mmaproof.explain.answers.answer import ABSENT, read_as
from mmaproof.explain.answers.listings import JudgedAnswer
from mmaproof.explain.answers.parts import Lemma, Run
from mmaproof.explain.answers.products import AlgorithmRun, ErrorsCompared, PlanRun, PlansCompared
from mmaproof.explain.answers.surveys import (
    Covered,
    DisputesAnswer,
    FingerprintAnswer,
    Identified,
    MatrixAnswer,
    Nearest,
    Pair,
    PlacesCompared,
    Returned,
    SuiteAnswer,
)
from mmaproof.explain.answers.verdicts import Checked, Compared, Net, NetlistProved, RunAnswer, Simulated
from mmaproof.explain.reports.page import (
    Cell,
    Find,
    Markup,
    code,
    document,
    facts,
    fold,
    heading,
    paragraph,
    pictures_html,
    table,
    witness_html,
)

COMMANDS = (
    "matrix, suite, fingerprint, disputes, identify, cover, judge, compare, check, run, gemm run, gemm compare and "
    "rtl prove"
)

_FACTS = (
    *("verdict", "when", "property", "design", "designs", "unit", "units", "algorithm", "algorithms", "plan", "plans"),
    *("k", "where", "by", "value", "reason", "origin", "seconds", "cells", "registers", "latency"),
    *("a", "b", "c", "scale_a", "scale_b", "d", "exact", "error", "ulps", "assumptions"),
    *("solver", "certified_by", "certificate_covers"),
)
_PATTERNS = ("c", "d", "design", "designs", "unit", "units", "plan", "plans")


def read_answer(path: Path) -> Any:
    """Return the answer that a command printed into a file. Raises InputError for what is none."""
    try:
        text = read_text(path)
        held = json.loads(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {why_unreadable(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON; give what a command printed with --json") from error
    if not isinstance(held, dict):
        raise InputError(f"{path}: not a JSON object; give what a command printed with --json")
    for kind in (*_SURVEYS, *_ANSWERS):
        known = {x.name: x.default is not ABSENT for x in fields(kind)}
        if held.keys() <= known.keys() and {name for name, needed in known.items() if needed} <= held.keys():
            return read_as(kind, text, str(path))
    raise InputError(f"{path}: not what a command prints with --json; a report is made of {COMMANDS}")


def report(
    answers: Sequence[Any], find: Find, title: str = "", pictures: Sequence[tuple[str, Picture]] | None = None
) -> str:
    """Return one document about one or more answers. The pictures are those given, or drawn from the operands."""
    parts = [(title_of(x), _body(x, find, pictures)) for x in answers]
    if len(parts) == 1:
        name, body = parts[0]
        return document(title or name, body)
    return document(title or "mmaproof", "".join(f"<section>{heading(name)}{body}</section>" for name, body in parts))


def title_of(answer: Any) -> str:
    """Return an answer in a line."""
    if type(answer) in _SURVEYS:
        return _SURVEYS[type(answer)][0]
    named = [getattr(answer, x, None) for x in ("unit", "algorithm", "plan", "property", "design")]
    names = [x for x in named if x] or getattr(answer, "designs", None) or getattr(answer, "plans", None)
    names = names or answer.algorithms
    verdict = getattr(answer, "verdict", "")
    if getattr(answer, "when", ()):
        verdict = f"{verdict.removesuffix('-when')} when {' and '.join(answer.when)}"
    of = f"{names[0]} on {names[1]}" if hasattr(answer, "property") else " and ".join(names)
    return f"{verdict}: {of}" if verdict else of


def _body(answer: Any, find: Find, pictures: Sequence[tuple[str, Picture]] | None) -> Markup:
    if type(answer) in _SURVEYS:
        written: Markup = _SURVEYS[type(answer)][1](answer, find)
        return written
    parts: list[str] = [facts({x.replace("_", " "): _fact(x, getattr(answer, x, None)) for x in _FACTS})]
    witness = getattr(answer, "witness", None)
    if pictures is not None:
        parts += [heading("Picture"), pictures_html(pictures)] if pictures else []
    elif witness:
        of_runs = hasattr(witness, "runs")
        shown = runs_html(witness.runs, find) if of_runs else witness_html(witness, witness.outputs, find)
        parts += [heading("Witness"), shown]
    elif isinstance(answer, RunAnswer):
        parts += [heading("Picture"), witness_html(answer, {answer.design: answer.d}, find)]
    if isinstance(answer, NetlistProved) and answer.witness:
        parts.append(_nets(answer.witness.nets, answer.witness.simulator))
    if getattr(answer, "lemmas", ()):
        parts.append(lemmas_html(answer.lemmas))
    return Markup("".join(parts))


def _fact(name: str, value: Any) -> Cell:
    if not value and value != 0:
        return ""
    if name in ("a", "b", "scale_a", "scale_b"):
        return code(",".join(value))
    text = (
        ("; " if name == "assumptions" else ", ").join(map(str, value))
        if isinstance(value, list | tuple)
        else str(value)
    )
    return code(text) if name in _PATTERNS else text


def runs_html(runs: Sequence[Run], find: Find) -> Markup:
    """Return the runs that show what a property says."""
    parts = []
    for number, run in enumerate(runs, start=1):
        of_step = ", one step of the instruction" if run.step else ""
        parts.append(paragraph(f"run {number}{of_step}"))
        parts.append(witness_html(run, {run.design: run.d}, find))
    return Markup("".join(parts))


def _nets(nets: Sequence[Net], simulated: Simulated | None) -> Markup:
    """Return the nets of RTL that differ from the model, and what a simulator returned."""
    rows: list[list[Cell]] = [
        [x.net, x.place or "", x.signal, code(x.model), code(x.rtl), ", ".join(x.cone)] for x in nets
    ]
    heads = ["net", "driven at", "signal of the model", "model", "RTL", "what leads to it, from nets that are right"]
    parts: list[str] = [heading("Nets that differ"), table("nets that differ", heads, rows)] if rows else []
    if simulated is not None:
        result = simulated.reason if simulated.d is None else f"{simulated.name}: d = {simulated.d}"
        parts.append(paragraph(f"replayed on the sources: {result}"))
    return Markup("".join(parts))


def lemmas_html(lemmas: Sequence[Lemma]) -> Markup:
    """Return the lemmas behind an answer, folded."""
    rows: list[list[Cell]] = [
        [x.name, x.stage or "", x.status, x.seconds, "" if x.solver is None else str(x.solver)] for x in lemmas
    ]
    caption = f"{len(lemmas)} lemmas, {sum(x.status == 'proved' for x in lemmas)} proved"
    return fold(caption, table(caption, ["lemma", "stage", "status", "seconds", "solver"], rows))


def _letters(number: int) -> str:
    return chr(ord("A") + number % 26) * (number // 26 + 1)


def _matrix(answer: MatrixAnswer, find: Find) -> Markup:
    """Return the classes of each kind of designs, and how each two classes differ."""
    pairs = {(x.first, x.second): x for x in answer.pairs}
    counts = {word: sum(x.verdict == word for x in answer.pairs) for word in ("equivalent", "different", "unknown")}
    counted = ", ".join(f"{n} {word}" for word, n in counts.items())
    parts: list[str] = [paragraph(f"{len(pairs)} comparable pairs: {counted}")]
    for group in answer.classes:
        classes = group.classes
        parts += [heading(f"{group.formats}: {len(classes)} classes"), _members(classes)]
        rows: list[list[Cell]] = []
        for i, first in enumerate(classes):
            for j, second in enumerate(classes[i + 1 :], start=i + 1):
                found = [pairs[p] for x in first for y in second for p in ((x, y), (y, x)) if p in pairs]
                if found:
                    rows.append([f"{_letters(i)}, {_letters(j)}", *_between(found, find)])
        if rows:
            parts.append(table("pairs of classes", ["classes", "verdict", "k", "witness"], rows))
    undecided = [[x.first, x.second, x.reason or ""] for x in answer.pairs if x.verdict == "unknown"]
    if undecided:
        parts += [heading("Unknown"), table("pairs that are not decided", ["first", "second", "reason"], undecided)]
    return Markup("".join(parts))


def _between(found: Sequence[Pair], find: Find) -> list[Cell]:
    """Return the verdict on two classes, and a witness where they differ: that of the shortest dot product."""
    verdicts = ", ".join(sorted({x.verdict for x in found}))
    shown = [(x.k, i, x, x.witness) for i, x in enumerate(found) if x.witness]
    if not shown:
        return [verdicts, "", ""]
    k, _, pair, witness = min(shown, key=lambda x: x[:2])
    return [verdicts, k, fold(f"{pair.first} and {pair.second}", witness_html(witness, witness.outputs, find))]


def _places(answer: PlacesCompared, _: Find) -> Markup:
    rows: list[list[Cell]] = []
    for x in answer.pairs:
        differ = ", ".join(f"{name} {' / '.join(values)}" for name, values in x.differences.items())
        units = [code(f"{name.partition('/')[2]}, {k}") for name, k in zip(x.designs, x.k, strict=True)]
        rows.append([code(x.interface), *units, differ or ("the same arithmetic" if x.same else "the same, but not K")])
    heads = ["formats", *(f"{x}, K" for x in answer.architectures), "parameters"]
    return table("units of the same formats", heads, rows)


def _members(classes: Sequence[Sequence[str]]) -> Markup:
    rows = [[_letters(i), name] for i, names in enumerate(classes) for name in names]
    return table("classes", ["class", "design"], rows)


def _suite(answer: SuiteAnswer, find: Find) -> Markup:
    parts: list[str] = [facts({"vectors": answer.vectors, "seconds": answer.seconds})]
    for kind in answer.kinds:
        parts += [heading(f"{kind.formats}: {len(kind.classes)} classes"), _members(kind.classes)]
        rows: list[list[Cell]] = []
        for number, x in enumerate(kind.vectors, start=1):
            shown = fold(f"{len(set(x.outputs.values()))} results", witness_html(x, x.outputs, find))
            rows.append([number, x.k, x.origin, shown])
        if rows:
            parts.append(table("vectors", ["vector", "k", "origin", "results"], rows))
        left = [[x.first, x.second, x.reason or ""] for x in kind.left]
        if left:
            parts.append(table("pairs that no vector separates", ["first", "second", "reason"], left))
    return Markup("".join(parts))


def _fingerprint(answer: FingerprintAnswer, find: Find) -> Markup:
    letters = [_letters(i) for i in range(len(answer.designs))]
    rows: list[list[Cell]] = []
    for feature in answer.features:
        cells: list[Cell] = []
        for found in (feature.results[name] for name in answer.designs):
            word = {"holds": "yes", "violated": "no"}.get(found.verdict, found.verdict)
            text = word if found.value is None else f"{word}: {found.value}"
            cells.append(fold(text, runs_html(found.runs, find)) if found.runs else text)
        rows.append([feature.property, feature.feature, *cells])
    named = table("designs", ["column", "design"], list(zip(letters, answer.designs, strict=True)))
    return Markup(named + table("features", ["property", "feature", *letters], rows))


def _disputes(answer: DisputesAnswer, find: Find) -> Markup:
    rows: list[list[Cell]] = []
    for x in answer.disputes:
        witness: Cell = x.reason or ""
        if x.witness and x.predictions:
            said = facts({f"predicted by {name}": code(d) for name, d in x.predictions.items()})
            with_others = facts({"other points": str(x.context)})
            witness = fold("operands", said + with_others + witness_html(x.witness, x.witness.outputs, find))
        point = fold(f"{x.point}. {x.title}", facts(x.readings))
        rows.append([x.design, point, " against ".join(x.pair), x.status, witness])
    return table("disputes", ["design", "open point", "readings", "status", "witness"], rows)


_LATE = "time or batches ran out before a design was found: another run may end at another nearest setting"


def _identify(answer: Identified, find: Find) -> Markup:
    named: dict[str, Cell] = {
        "interface": answer.interface,
        "k": answer.k,
        "identified": "yes" if answer.identified else "no",
        "matches": ", ".join(answer.matches),
        "asked": f"{answer.operands} operand sets in {answer.batches} batches",
        "validated with": answer.validated,
        "ended": _LATE if answer.late and not answer.parameters else "",
        "nearest": "" if answer.neighbour is None else code(_changed(answer.neighbour)),
        "rows that disagree with it": "" if answer.neighbour is None else _wrong(answer.neighbour),
        "nearest setting": ", ".join(f"{name} = {value}" for name, value in (answer.nearest or {}).items()),
        "problem": answer.problem or "",
    }
    parts: list[str] = [facts(named)]
    rows: list[list[Cell]] = []
    for name, value in answer.parameters.items():
        row = answer.decided_by.get(name)
        decided = "" if row is None else fold("operands", _asked(row, answer, find))
        others = (("unobservable", answer.unobservable), ("undecided", answer.undecided))
        open_values = "; ".join(f"{kind}: {', '.join(held[name])}" for kind, held in others if name in held)
        rows.append([name, value, open_values, decided])
    if rows:
        heads = ["parameter", "value", "other values", "decided by"]
        parts += [heading("Parameters"), table("parameters", heads, rows)]
    if answer.contradiction is not None:
        parts += [heading("Contradiction"), _asked(answer.contradiction, answer, find)]
    return Markup("".join(parts))


def _changed(near: Nearest) -> str:
    """Return the nearest design as a name that commands take."""
    changes = ",".join(f"{name}={value}" for name, value in near.changes.items())
    return f"{near.design}@{changes}" if changes else near.design


def _wrong(near: Nearest) -> str:
    """Return how many rows disagree with the design of the catalogue."""
    held = near.disagreements
    return f"of {near.design}: " + ", ".join(f"{x.wrong} of {x.rows} with {name}" for name, x in held.items() if x.rows)


def _asked(row: Returned, answer: Identified, find: Find) -> Markup:
    """Return operands that were asked; drawn on the first design that was found."""
    names = (answer.matches or answer.fitting)[:1]
    if names:
        return witness_html(row, {names[0]: row.d}, find)
    return facts({"a": code(",".join(row.a)), "b": code(",".join(row.b)), "c": code(row.c), "d": code(row.d)})


def _cover(answer: Covered, _: Find) -> Markup:
    words = ("design", "vectors", "complete", "seed", "seconds", "unit", "wrong")
    named = {name: getattr(answer, name) for name in words}
    rows: list[list[Cell]] = [[x.event, x.value, x.status, x.hits, x.baseline_hits] for x in answer.bins]
    heads = ["event", "value", "status", "hits", f"hits of {answer.baseline}"]
    return Markup(facts({n: str(x) for n, x in named.items() if x is not ABSENT}) + table("bins", heads, rows))


def _judged(answer: JudgedAnswer, _: Find) -> Markup:
    judged = f"{answer.rows} of {answer.shape[0]} rows of {answer.shape[1]} elements, k = {answer.k}"
    named: dict[str, Cell] = {"verdict": answer.verdict, "judged": judged, "rests on": answer.rests_on}
    parts: list[str] = [facts(named), table("plans that were asked", ["plan"], [[code(x)] for x in answer.plans])]
    if answer.exact:
        parts.append(table("plans that have all bits", ["plan"], [[code(x)] for x in answer.exact]))
    if answer.parts:
        rows: list[list[Cell]] = [[x.where, code(x.plan), x.elements] for x in answer.parts]
        parts.append(table("parts of a mixed result", ["where", "plan", "elements"], rows))
    if (far := answer.element) is not None:
        place: dict[str, Cell] = {"row": far.row, "column": far.column, "returned": code(far.pattern)}
        parts.append(heading("Farthest beyond every bound"))
        parts.append(facts(place | {"value": far.value, "exact": far.exact, "bound": far.bound}))
    parts += [paragraph(f"what fits: {x}") for x in answer.fits]
    if answer.missed:
        odds: list[list[Cell]] = [[x, p] for x, p in answer.missed.items()]
        parts.append(table("a fault that no judged row has", ["fraction of faulty rows", "probability"], odds))
    return Markup("".join(parts))


_SURVEYS: dict[Any, tuple[str, Any]] = {
    PlacesCompared: ("What two architectures have in common", _places),
    MatrixAnswer: ("Which units are the same", _matrix),
    SuiteAnswer: ("Vectors that tell units apart", _suite),
    FingerprintAnswer: ("Features of units", _fingerprint),
    DisputesAnswer: ("Points on which publications disagree", _disputes),
    Identified: ("What unit this is", _identify),
    Covered: ("Events that vectors cross", _cover),
    JudgedAnswer: ("Whose bits a product has", _judged),
}
"""Kinds with pages of their own: the title of each, and what writes it."""
_ANSWERS: tuple[Any, ...] = (
    *(Compared, Checked, NetlistProved, RunAnswer, AlgorithmRun, PlanRun, ErrorsCompared, PlansCompared),
)
"""Answers to one question."""
