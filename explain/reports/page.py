"""Tables, parts that fold open, and documents that need no other file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, MmaproofError
from mmaproof.explain import Picture, explain
from mmaproof.explain.answers.parts import OperandSet
from mmaproof.explain.html import STYLE, picture_html
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


def fold(summary: Cell, body: str, *, is_open: bool = False) -> Markup:
    """Return a part that folds open."""
    return Markup(f"<details{' open' * is_open}><summary>{shown(summary)}</summary>{body}</details>")


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


def pictures_html(pictures: Sequence[tuple[str, Picture]]) -> Markup:
    """Return pictures with their names."""
    return Markup("".join((paragraph(name) if name else "") + picture_html(picture) for name, picture in pictures))


def _listed(name: str, patterns: str | list[str]) -> str:
    """Return patterns; of many only those that are not zero, with their places."""
    if isinstance(patterns, str):
        return patterns
    if len(patterns) <= LONGEST:
        return ",".join(patterns)
    set_bits = [f"{name}[{i}] = {x}" for i, x in enumerate(patterns) if x.strip("0x")]
    return f"{len(patterns)} elements; all but {', '.join(set_bits)} are zero"
