"""Tables, parts that fold open, and documents that need no other file.

Each kind of answer as a part of a page, and the answers that files hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, MmaproofError
from mmaproof.designs.files import read_text, why_unreadable
from mmaproof.explain import Picture, explain
from mmaproof.explain.answers import surveys, verdicts
from mmaproof.explain.answers.answer import ABSENT, Lemma, OperandSet, Run, made, read_as
from mmaproof.explain.answers.listings import JudgedAnswer
from mmaproof.explain.figure import STYLE, picture_html
from mmaproof.smt.trace import evaluate

Cell = str | int | float
"""What stands in a cell: text, which is escaped, or a number."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


_PAGE_STYLE = """
body{margin:0 auto;max-width:80rem;padding:1rem;font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem}
a{color:var(--mp-value)}
.mp-table{overflow-x:auto}
table.mp-sorted{border-collapse:collapse;margin:.5em 0}
.mp-sorted :is(th,td){border-bottom:1px solid var(--mp-rule);padding:.25em .7em .25em 0;text-align:left;
vertical-align:top}
.mp-sorted thead th{border-bottom:2px solid var(--mp-rule);white-space:nowrap}
.mp-sorted button{font:inherit;font-weight:bold;color:inherit;background:none;border:0;padding:0;cursor:pointer}
.mp-sorted th[aria-sort=ascending] button::after{content:" \\2191"}
.mp-sorted th[aria-sort=descending] button::after{content:" \\2193"}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em}dt{color:var(--mp-faint)}dd{margin:0;min-width:0}
.mp-sorted dl{display:block}
@media (max-width:40rem){dl{display:block}dd{margin-bottom:.3em}}
details{margin:.3em 0}summary{cursor:pointer}
details>:not(summary){margin-left:1rem}
:is(a,button,summary):focus-visible{outline:2px solid var(--mp-value);outline-offset:2px}
h1,h2,h3,h4{overflow-wrap:anywhere}
code{font-size:13px;overflow-wrap:anywhere}
@media print{body{max-width:none;padding:0}.mp-table{overflow:visible}}
"""

# headings become buttons only where this runs, so that nothing is there that does nothing
_SORT = """
for (const table of document.querySelectorAll("table.mp-sorted")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      const key = ({cells}) => (cells[column].querySelector("summary") ?? cells[column]).innerText;
      const order = new Intl.Collator("en", {numeric: true});
      const rows = [...body.rows].sort((x, y) => (up ? 1 : -1) * order.compare(key(x), key(y)));
      body.append(...rows);
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    });
  });
}
const opened = [];
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details:not([open])")) { fold.open = true; opened.push(fold); }
});
addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
"""


def document(title: str, body: str) -> str:
    """Return a document in which nothing from outside is allowed."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{_PAGE_STYLE}</style>\n</head>\n"
        f'<body class="mmaproof">\n<main>\n<h1>{escape(title)}</h1>\n{body}\n</main>\n<script>{_SORT}</script>\n'
        "</body>\n</html>\n"
    )


_NAME = re.compile(r"[\w@=+-]+(?:[/.][\w@=+-]+){2,}")
"""A name with several slashes and dots, as names of designs are."""


def shown(cell: Cell) -> str:
    """Return what stands in a cell as HTML; a name may break behind its slashes and dots."""
    if isinstance(cell, Markup):
        return cell
    return _NAME.sub(lambda x: re.sub(r"([/.])", r"\1<wbr>", x[0]), escape(str(cell)))


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Markup:
    """Return a table that a script can sort; its first column names the rows."""
    head = "".join(f'<th scope="col">{escape(x)}</th>' for x in heads)
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td>{shown(x)}</td>" for x in others)
        lines.append(f'<tr><th scope="row">{shown(first)}</th>{cells}</tr>')
    return Markup(
        f'<div class="mp-table" tabindex="0" role="group" aria-label="{escape(caption)}">'
        f'<table class="mp-sorted"><caption class="mp-hidden">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def facts(named: Mapping[str, Cell]) -> Markup:
    """Return what is known as a list of names and values; what is empty is left out."""
    lines = (f"<dt>{escape(k)}</dt><dd>{shown(v)}</dd>" for k, v in named.items() if v != "")
    return Markup(f"<dl>{''.join(lines)}</dl>")


def fold(summary: Cell, body: str) -> Markup:
    """Return a part that folds open."""
    return Markup(f"<details><summary>{shown(summary)}</summary>{body}</details>")


def heading(text: str) -> Markup:
    """Return the heading of a part of a page."""
    return Markup(f"<h2>{escape(text)}</h2>")


def paragraph(text: str) -> Markup:
    """Return a paragraph."""
    return Markup(f"<p>{escape(text)}</p>")


def code(text: str) -> Markup:
    """Return names or bit patterns in a fixed pitch."""
    return Markup(f"<code>{escape(text)}</code>")


Find = Callable[[str], Design]
"""Returns the design of a name. Raises InputError (DesignError) where there is none."""

LONGEST = 64
"""Products up to which a witness is drawn with all of its operands listed."""
MOST = 2
"""Designs in one picture."""


def witness_html(held: OperandSet, outputs: Mapping[str, str], find: Find) -> Markup:
    """Return operands, what each design returns for them, and the picture of the first two designs."""
    names = [name for name in ("a", "b", "c", "scale_a", "scale_b") if getattr(held, name)]
    named = {name: code(_listed(name, getattr(held, name))) for name in names}
    results = {f"d on {name}": code(d) for name, d in outputs.items()}
    parts: list[str] = [facts({**named, **results})]
    designs, operands, problems = _drawn(held, outputs, find)
    if designs and operands is not None:
        parts.append(picture_html(explain(_apart(designs, operands), operands)))
    parts += [paragraph(f"no picture: {x}") for x in problems]
    return Markup("".join(parts))


def _apart(designs: Sequence[Design], operands: Operands) -> list[Design]:
    """Return a design, and one with another result where there is one."""
    first = designs[0]
    d = evaluate(first, operands)
    other = next((x for x in designs[1:] if evaluate(x, operands) != d), None)
    return [first, *([other] if other is not None else designs[1:MOST])]


def _drawn(held: OperandSet, outputs: Mapping[str, str], find: Find) -> tuple[list[Design], Operands | None, list[str]]:
    """Return the designs that can be drawn, the operands, and why others cannot be drawn."""
    designs: list[Design] = []
    operands: Operands | None = None
    problems: list[str] = []
    for name, d in outputs.items():
        try:
            design = find(name)
            operands = operands_of(held, design)
            designs.append(replayed(design, operands, d))
        except MmaproofError as problem:
            problems.append(f"{name}: {problem}")
    return designs, operands, problems


def operands_of(held: OperandSet, design: Design) -> Operands:
    """Return the operands that an answer spells, for a design. Raises InputError."""
    a, b, c, _ = design.formats
    scale = design.scale_format
    scales: list[tuple[int, ...]] = [
        () if scale is None else tuple(map(scale.parse, patterns or ())) for patterns in (held.scale_a, held.scale_b)
    ]
    return Operands(tuple(map(a.parse, held.a)), tuple(map(b.parse, held.b)), c.parse(held.c), *scales)


def replayed(design: Design, operands: Operands, d: str) -> Design:
    """Return the design, or one step of it, that returns ``d`` for the operands. Raises InputError if neither does."""
    fmt = design.d_format
    wanted = fmt.parse(d)
    steps = [design] if len(operands) != design.step.L or design.k == design.step.L else [design, design.one_step()]
    for some in steps:
        found = evaluate(some, operands)
        if found == wanted or (fmt.is_nan(found) and fmt.is_nan(wanted)):
            return some
    raise InputError(f"this version of the model returns {fmt.hex(evaluate(design, operands))}, not {d}")


def _listed(name: str, patterns: str | list[str]) -> str:
    """Return patterns; of many only those that are not zero, with their places."""
    if isinstance(patterns, str):
        return patterns
    if len(patterns) <= LONGEST:
        return ",".join(patterns)
    set_bits = [f"{name}[{i}] = {x}" for i, x in enumerate(patterns) if x.strip("0x")]
    return f"{len(patterns)} elements; all but {', '.join(set_bits)} are zero"


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
        known = {x.name: x.default is not ABSENT for x in fields(made(kind))}
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
        drawn = [(paragraph(name) if name else "") + picture_html(picture) for name, picture in pictures]
        parts += [heading("Picture"), *drawn] if drawn else []
    elif witness:
        of_runs = hasattr(witness, "runs")
        shown = runs_html(witness.runs, find) if of_runs else witness_html(witness, witness.outputs, find)
        parts += [heading("Witness"), shown]
    elif isinstance(answer, verdicts.RunAnswer):
        parts += [heading("Picture"), witness_html(answer, {answer.design: answer.d}, find)]
    if isinstance(answer, verdicts.NetlistProved) and answer.witness:
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


def _nets(nets: Sequence[verdicts.Net], simulated: verdicts.Simulated | None) -> Markup:
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


def _matrix(answer: surveys.MatrixAnswer, find: Find) -> Markup:
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


def _between(found: Sequence[surveys.Pair], find: Find) -> list[Cell]:
    """Return the verdict on two classes, and a witness where they differ: that of the shortest dot product."""
    words = ", ".join(sorted({x.verdict for x in found}))
    shown = [(x.k, i, x, x.witness) for i, x in enumerate(found) if x.witness]
    if not shown:
        return [words, "", ""]
    k, _, pair, witness = min(shown, key=lambda x: x[:2])
    return [words, k, fold(f"{pair.first} and {pair.second}", witness_html(witness, witness.outputs, find))]


def _places(answer: surveys.PlacesCompared, _: Find) -> Markup:
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


def _suite(answer: surveys.SuiteAnswer, find: Find) -> Markup:
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


def _fingerprint(answer: surveys.FingerprintAnswer, find: Find) -> Markup:
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


def _disputes(answer: surveys.DisputesAnswer, find: Find) -> Markup:
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


def _identify(answer: surveys.Identified, find: Find) -> Markup:
    named: dict[str, Cell] = {
        "interface": answer.interface,
        "k": answer.k,
        "all is said where": "" if answer.where is ABSENT else ", ".join(answer.where),
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


def _changed(near: surveys.Nearest) -> str:
    """Return the nearest design as a name that commands take."""
    changes = ",".join(f"{name}={value}" for name, value in near.changes.items())
    return f"{near.design}@{changes}" if changes else near.design


def _wrong(near: surveys.Nearest) -> str:
    """Return how many rows disagree with the design of the catalogue."""
    held = near.disagreements
    return f"of {near.design}: " + ", ".join(f"{x.wrong} of {x.rows} with {name}" for name, x in held.items() if x.rows)


def _asked(row: surveys.Returned, answer: surveys.Identified, find: Find) -> Markup:
    """Return operands that were asked; drawn on the first design that was found."""
    names = (answer.matches or answer.fitting)[:1]
    if names:
        return witness_html(row, {names[0]: row.d}, find)
    return facts({"a": code(",".join(row.a)), "b": code(",".join(row.b)), "c": code(row.c), "d": code(row.d)})


def _cover(answer: surveys.Covered, _: Find) -> Markup:
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
    surveys.PlacesCompared: ("What two architectures have in common", _places),
    surveys.MatrixAnswer: ("Which units are the same", _matrix),
    surveys.SuiteAnswer: ("Vectors that tell units apart", _suite),
    surveys.FingerprintAnswer: ("Features of units", _fingerprint),
    surveys.DisputesAnswer: ("Points on which publications disagree", _disputes),
    surveys.Identified: ("What unit this is", _identify),
    surveys.Covered: ("Events that vectors cross", _cover),
    JudgedAnswer: ("Whose bits a product has", _judged),
}
"""Kinds with pages of their own: the title of each, and what writes it."""
_ANSWERS: tuple[Any, ...] = (
    *(
        verdicts.Compared,
        verdicts.Checked,
        verdicts.NetlistProved,
        verdicts.RunAnswer,
        verdicts.AlgorithmRun,
        verdicts.PlanRun,
        verdicts.ErrorsCompared,
        verdicts.PlansCompared,
    ),
)
"""Answers to one question."""
