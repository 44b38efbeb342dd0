"""The outputs of `matrix`, `suite`, `fingerprint`, `disputes`, `identify` and `cover` as parts of a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mmaproof.designs.errors import InputError
from mmaproof.explain.reports.answers import answer_html, answer_title, is_answer, runs_html
from mmaproof.explain.reports.page import Cell, Markup, code, document, facts, fold, heading, paragraph, table
from mmaproof.explain.reports.record import Record
from mmaproof.explain.reports.witnesses import Find, witness_html

COMMANDS = "matrix, suite, fingerprint, disputes, identify, cover, compare, check, run, gemm run and rtl prove"


def report(records: Sequence[Record], find: Find, title: str = "") -> str:
    """Return one document about the outputs of one or more commands. Raises InputError for what is none of them."""
    parts = [_part(record, find) for record in records]
    if len(parts) == 1:
        name, body = parts[0]
        return document(title or name, body)
    return document(title or "mmaproof", "".join(f"<section>{heading(name)}{body}</section>" for name, body in parts))


def _part(record: Record, find: Find) -> tuple[str, Markup]:
    for names, name, write in _KINDS:
        if record.has(*names):
            return name, write(record, find)
    if is_answer(record):
        return answer_title(record), answer_html(record, find)
    raise InputError(f"{record.where}: not what a command prints with --json; a report is made of {COMMANDS}")


def _outputs(record: Record) -> dict[str, str]:
    outputs = record.record("outputs")
    return {name: outputs.text(name) for name in outputs}


def _letters(number: int) -> str:
    return chr(ord("A") + number % 26) * (number // 26 + 1)


def _matrix(record: Record, find: Find) -> Markup:
    """Return the classes of each kind of designs, and how each two classes differ."""
    pairs = {(x.text("first"), x.text("second")): x for x in record.records("pairs")}
    parts: list[str] = [_counted(list(pairs.values()))]
    for group in record.records("classes"):
        classes = _classes(group)
        parts += [heading(f"{group.text('formats')}: {len(classes)} classes"), _members(classes)]
        rows: list[list[Cell]] = []
        for i, first in enumerate(classes):
            for j, second in enumerate(classes[i + 1 :], start=i + 1):
                found = [pairs[p] for x in first for y in second for p in ((x, y), (y, x)) if p in pairs]
                if found:
                    rows.append([f"{_letters(i)}, {_letters(j)}", *_between(found, find)])
        if rows:
            parts.append(table("pairs of classes", ["classes", "verdict", "k", "witness"], rows))
    undecided = [x for x in pairs.values() if x.text("verdict") == "unknown"]
    if undecided:
        rows = [[x.text("first"), x.text("second"), x.text("reason", "")] for x in undecided]
        parts += [heading("Unknown"), table("pairs that are not decided", ["first", "second", "reason"], rows)]
    return Markup("".join(parts))


def _counted(pairs: Sequence[Record]) -> Markup:
    words = ("equivalent", "different", "unknown")
    counts = {word: sum(x.text("verdict") == word for x in pairs) for word in words}
    return paragraph(f"{len(pairs)} comparable pairs: " + ", ".join(f"{n} {word}" for word, n in counts.items()))


def _between(found: Sequence[Record], find: Find) -> list[Cell]:
    """Return the verdict on two classes, and a witness where they differ: that of the shortest dot product."""
    verdicts = sorted({x.text("verdict") for x in found})
    different = [x for x in found if "witness" in x]
    if not different:
        return [", ".join(verdicts), "", ""]
    pair = min(different, key=lambda x: x.number("k"))
    witness = pair.record("witness")
    first, second = pair.text("first"), pair.text("second")
    body = witness_html(witness, _outputs(witness), find)
    return [", ".join(verdicts), pair.number("k"), fold(f"{first} and {second}", body)]


def _classes(group: Record) -> list[list[str]]:
    classes = group.held.get("classes")
    if not isinstance(classes, list) or not all(isinstance(c, list) for c in classes):
        raise InputError(f"{group.where}: 'classes' is something else: lists of names were expected")
    return [[str(name) for name in c] for c in classes]


def _members(classes: Sequence[Sequence[str]]) -> Markup:
    rows = [[_letters(i), name] for i, names in enumerate(classes) for name in names]
    return table("classes", ["class", "design"], rows)


def _suite(record: Record, find: Find) -> Markup:
    parts: list[str] = [facts({"vectors": record.number("vectors"), "seconds": record.text("seconds")})]
    for kind in record.records("kinds"):
        classes = _classes(kind)
        parts += [heading(f"{kind.text('formats')}: {len(classes)} classes"), _members(classes)]
        rows: list[list[Cell]] = []
        for number, vector in enumerate(kind.records("vectors"), start=1):
            outputs = _outputs(vector)
            shown = f"{len(set(outputs.values()))} results"
            body = witness_html(vector, outputs, find)
            rows.append([number, vector.number("k"), vector.text("origin"), fold(shown, body)])
        if rows:
            parts.append(table("vectors", ["vector", "k", "origin", "results"], rows))
        left = [[x.text("first"), x.text("second"), x.text("reason", "")] for x in kind.records("left")]
        if left:
            parts.append(table("pairs that no vector separates", ["first", "second", "reason"], left))
    return Markup("".join(parts))


_ANSWERS = {"holds": "yes", "violated": "no"}


def _fingerprint(record: Record, find: Find) -> Markup:
    designs = record.texts("designs")
    letters = [_letters(i) for i in range(len(designs))]
    rows: list[list[Cell]] = []
    for feature in record.records("features"):
        results = feature.record("results")
        cells: list[Cell] = []
        for name in designs:
            found = results.record(name)
            word = _ANSWERS.get(found.text("verdict"), found.text("verdict"))
            text = f"{word}: {found.text('value')}" if "value" in found else word
            runs = found.records("runs")
            cells.append(fold(text, runs_html(runs, find)) if runs else text)
        rows.append([feature.text("property"), feature.text("feature"), *cells])
    named = table("designs", ["column", "design"], list(zip(letters, designs, strict=True)))
    return Markup(named + table("features", ["property", "feature", *letters], rows))


def _disputes(record: Record, find: Find) -> Markup:
    rows: list[list[Cell]] = []
    for x in record.records("disputes"):
        witness: Cell = x.text("reason", "")
        if "witness" in x:
            held = x.record("witness")
            predicted = x.record("predictions")
            said = facts({f"predicted by {name}": code(predicted.text(name)) for name in predicted})
            with_others = facts({"other points": x.text("context")})
            witness = fold("operands", said + with_others + witness_html(held, _outputs(held), find))
        readings = x.record("readings")
        held_by = facts({name: readings.text(name) for name in readings})
        point = f"{x.text('point')}. {x.text('title')}"
        pair = " against ".join(x.texts("pair"))
        rows.append([x.text("design"), fold(point, held_by), pair, x.text("status"), witness])
    return table("disputes", ["design", "open point", "readings", "status", "witness"], rows)


def _identify(record: Record, find: Find) -> Markup:
    named: dict[str, Cell] = {
        "interface": record.text("interface"),
        "k": record.number("k"),
        "identified": "yes" if record.held.get("identified") else "no",
        "matches": ", ".join(record.texts("matches")),
        "asked": f"{record.text('operands')} operand sets in {record.text('batches')} batches",
        "validated with": record.text("validated", ""),
        "nearest": record.text("nearest", ""),
        "problem": record.text("problem", ""),
    }
    parts: list[str] = [facts(named)]
    values, by = record.record("parameters"), record.record("decided_by")
    rows: list[list[Cell]] = []
    for name in values:
        decided: Cell = ""
        if name in by:
            row = by.record(name)
            decided = fold("operands", _asked(row, record, find))
        others = [(kind, record.record(kind)) for kind in ("unobservable", "undecided")]
        open_values = "; ".join(f"{kind}: {', '.join(held.texts(name))}" for kind, held in others if name in held)
        rows.append([name, values.text(name), open_values, decided])
    if rows:
        parts += [
            heading("Parameters"),
            table("parameters", ["parameter", "value", "other values", "decided by"], rows),
        ]
    if "contradiction" in record:
        parts += [heading("Contradiction"), _asked(record.record("contradiction"), record, find)]
    return Markup("".join(parts))


def _asked(row: Record, record: Record, find: Find) -> Markup:
    """Return operands that were asked; drawn on the first design that was found."""
    names = record.texts("matches")[:1] or record.texts("fitting")[:1]
    if names:
        return witness_html(row, {names[0]: row.text("d")}, find)
    return facts({name: code(",".join(row.texts(name)) if name in "ab" else row.text(name)) for name in "abcd"})


def _cover(record: Record, find: Find) -> Markup:
    words = ("design", "vectors", "complete", "seed", "seconds", "unit", "wrong")
    rows: list[list[Cell]] = [
        [x.text("event"), x.text("value"), x.text("status"), x.number("hits"), x.number("baseline_hits")]
        for x in record.records("bins")
    ]
    heads = ["event", "value", "status", "hits", f"hits of {record.text('baseline')}"]
    return Markup(facts({name: record.text(name) for name in words if name in record}) + table("bins", heads, rows))


_KINDS: tuple[tuple[tuple[str, ...], str, Callable[[Record, Find], Markup]], ...] = (
    (("pairs", "classes", "designs"), "Which units are the same", _matrix),
    (("kinds", "vectors", "left"), "Vectors that tell units apart", _suite),
    (("features", "designs"), "Features of units", _fingerprint),
    (("disputes",), "Points on which publications disagree", _disputes),
    (("target", "parameters", "interface"), "What unit this is", _identify),
    (("bins", "baseline"), "Events that vectors cross", _cover),
)
"""By which names a record is recognised, the title of its part, and what writes it."""
