"""A page for each unit of the catalogue, that is for each arithmetic that its instructions have.

What is known of the units of the catalogue: features of each, and pairs that no example of the explorer tells apart.

``python -m mmaproof.explain.pages.units FILE`` writes it (``make site-data``). Answers of FILE are kept as long as the
arithmetic of their units stays as it was, and what was never asked is asked. Texts after FILE have what is unknown
asked once more, of the units whose names begin with one of them ("" for all): a later version may need less than the 15
CPU seconds. All of it takes hours, the run after a change of the catalogue minutes. An interrupted run goes on where it
was.

A page that says for each architecture what silicon decides, what sources state, and what rests on nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmaproof.designs.arithmetic import Arithmetic, differing_parameters
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design, Level
from mmaproof.designs.element import Operands
from mmaproof.designs.files import write_atomically
from mmaproof.designs.names import PRODUCTS
from mmaproof.designs.open_points import levels_of, load_recorded
from mmaproof.designs.parameters import DEFINITIONS, complete_settings, format_settings
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.signature import Signature
from mmaproof.explain.pages.markdown import Page, anchor, anchored, code, escaped, fenced, slug, table
from mmaproof.explain.values import pattern_value
from mmaproof.generators.examples import example, kinds
from mmaproof.properties.library import PROPERTIES
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import NOT_ASKED, feature_of
from mmaproof.verification.compare import compare
from mmaproof.verification.executors import finished, local_pool
from mmaproof.verification.matrix import pairs_of
from mmaproof.verification.search import Budget, Means

MEMORY = 4 << 30
BY_THE_CLOCK = 30
"""A question may take N times as long by the clock as it may compute: a busy machine makes nothing unknown."""
OF_A_FEATURE = Limits(15, MEMORY, wall=15 * BY_THE_CLOCK)
"""The work for a property of a unit. Less than the command takes: pages are a survey, and say what is unknown."""
OF_A_PAIR = Limits(60, MEMORY, wall=60 * BY_THE_CLOCK)
SEARCH = Budget(rows=20_000, seconds=float("inf"))
SAVED_EVERY = 20
"""Answers after which the file is written, so that an interruption loses little."""


@dataclass
class Facts:
    """What is known. ``made_of`` has a checksum of the arithmetic of each unit, ``features`` the verdicts by property.

    ``pairs`` has, for two names, what `compare` says of them: a verdict, the length k, and operands that differ.
    """

    made_of: dict[str, str] = field(default_factory=dict)
    features: dict[str, dict[str, Any]] = field(default_factory=dict)
    pairs: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Facts:
        """Return the facts of a file."""
        data = json.loads(text)
        made_of = {x["unit"]: x["made_of"] for x in data["units"]}
        features = {x["unit"]: x["features"] for x in data["units"]}
        return cls(made_of, features, {tuple(x.pop("units")): x for x in data["pairs"]})

    def text(self) -> str:
        """Return the facts as JSON, a unit or a pair on a line, in the order of their names."""
        units = [{"unit": n, "made_of": self.made_of[n], "features": self.features[n]} for n in sorted(self.made_of)]
        pairs = [{"units": list(n), **self.pairs[n]} for n in sorted(self.pairs)]
        return f'{{\n"units": [\n{_lines(units)}\n],\n"pairs": [\n{_lines(pairs)}\n]\n}}\n'

    def still_true(self, units: Sequence[Design]) -> Facts:
        """Return the part that is about ``units`` as they are now."""
        now = {d.name: checksum(d) for d in units}
        kept = {n for n, x in self.made_of.items() if now.get(n) == x}
        features = {n: {p: x for p, x in self.features[n].items() if p in PROPERTIES} for n in kept}
        pairs = {names: x for names, x in self.pairs.items() if kept.issuperset(names)}
        return Facts({n: self.made_of[n] for n in kept}, features, pairs)


def _lines(records: Sequence[Mapping[str, Any]]) -> str:
    return ",\n".join(json.dumps(x, separators=(",", ":")) for x in records)


def load_facts() -> Facts:
    """Return the facts of the project's data file."""
    return Facts.parse((files("mmaproof.explain.pages") / "data" / "units.json").read_text(encoding="utf-8"))


def load_examples() -> list[dict[str, Any]]:
    """Return the examples of the explorer: operands that tell two units apart, for most pairs that differ."""
    text = (files("mmaproof.explain.explorer") / "data" / "examples.json").read_text(encoding="utf-8")
    return list(json.loads(text))


def checksum(design: Design) -> str:
    """Return a short checksum of what decides the results of a unit: a new parameter at its default changes none."""
    held = Arithmetic.of(design)
    formats = [design.signature.block, *(None if f is None else f.name for f in (*design.formats, design.scale_format))]
    changed = [n for n, value in design.settings.items() if value != DEFINITIONS[n].default]
    settings = format_settings(design.settings, changed)
    return hashlib.sha256(json.dumps([formats, settings, held.k], sort_keys=True).encode()).hexdigest()[:8]


def units() -> list[Design]:
    """Return a design of each arithmetic of the catalogue: that with the smallest K stands for all that share it."""
    return kinds(list(load_catalogue().designs.values()))


@dataclass(frozen=True)
class Task:
    """A question about a unit, or about two. It is plain data, so that another process can run it."""

    designs: tuple[Design, ...]
    asked: str | None = None

    def answer(self) -> dict[str, Any] | list[Any]:
        """Return the answer: a record for a pair, else the verdict on a property and its value, if it has one."""
        if self.asked is None:
            return self._comparison()
        means = Means(Solving.of(DEFAULT_SOLVER), OF_A_FEATURE, SEARCH, simplifying=0.0)
        found = feature_of(PROPERTIES[self.asked], self.designs[0], means, shown=False)
        if found.verdict == NOT_ASKED:
            return [NOT_ASKED, found.reason]
        return [found.verdict] if found.value is None else [found.verdict, found.value]

    def _comparison(self) -> dict[str, Any]:
        first, second = self.designs
        found = compare(first, second, limits=OF_A_PAIR, budget=SEARCH, preferring=0)
        record: dict[str, Any] = {"verdict": found.verdict, "k": found.question.k}
        if found.witness is not None:
            record |= {n: x for n, x in example(first, second, found.witness).items() if n != "units"}
        return record


def missing(facts: Facts, chosen: Sequence[Design], again: Sequence[str] = ()) -> list[Task]:
    """Return what was never asked, and what is unknown of units whose names begin with a text of ``again``.

    Pairs come first, because they are few, and then units for which most designs stand.
    """
    shown = {tuple(x["units"]) for x in load_examples()}
    shared = Counter(map(Arithmetic.of, load_catalogue().designs.values()))
    tasks: dict[Task, str | None] = {}
    for first, second in pairs_of(chosen):
        names = (first.name, second.name)
        if names not in shown:
            tasks[Task((first, second))] = facts.pairs.get(names, {}).get("verdict")
    for design in sorted(chosen, key=lambda d: -shared[Arithmetic.of(d)]):
        for name, asked in PROPERTIES.items():
            if asked.why_not(design) is None:
                tasks[Task((design,), name)] = facts.features.get(design.name, {}).get(name, [None])[0]
    new = [t for t, known in tasks.items() if known is None]
    named = [t for t, known in tasks.items() if known == "unknown" and t.designs[0].name.startswith(tuple(again))]
    return new + named


def main(path: Path, *again: str) -> None:
    """Bring the file up to date."""
    chosen = units()
    facts = Facts.parse(path.read_text(encoding="utf-8")).still_true(chosen) if path.exists() else Facts()
    tasks = missing(facts, chosen, again)
    for design in chosen:
        facts.made_of[design.name] = checksum(design)
        facts.features.setdefault(design.name, {})
    jobs = os.cpu_count() or 1
    for done, (number, answer) in enumerate(finished(Task.answer, tasks, partial(local_pool, jobs), jobs), start=1):
        task = tasks[number]
        names = tuple(d.name for d in task.designs)
        if isinstance(answer, str):
            raise SystemExit(f"{' and '.join(names)}: no answer: {answer}")
        if isinstance(answer, dict):
            facts.pairs[names] = answer
        else:
            facts.features[names[0]][str(task.asked)] = answer
        if done % SAVED_EVERY == 0 or done == len(tasks):
            write_atomically(path, facts.text())
            print(f"{done} of {len(tasks)}", file=sys.stderr)
    write_atomically(path, facts.text())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])


SHORT = {"holds": "yes", "violated": "no"}


@dataclass(frozen=True)
class Difference:
    """Operands that tell a unit from another one."""

    other: Design
    operands: Operands
    d: int
    other_d: int


@dataclass
class Unit:
    """An arithmetic: the design that stands for it, and the names of all designs that have it."""

    design: Design
    names: list[str]
    equal: list[tuple[Design, int]] = field(default_factory=list)
    """units that are proved to return the same bits, each with the length k of the proof"""
    open: list[Design] = field(default_factory=list)
    """units of which nothing is known"""
    different: list[Difference] = field(default_factory=list)

    @property
    def page(self) -> str:
        """The name of its page."""
        return f"{slug(self.design.name)}.md"


def operands_of(record: Mapping[str, Any], design: Design) -> Operands:
    """Return the operands of an example, as `generators/examples.py` writes it."""
    a, b, c, _ = design.formats
    columns = [[0] * record["k"], [0] * record["k"]]
    for k, (x, y) in record["p"].items():
        columns[0][int(k)], columns[1][int(k)] = a.parse(x), b.parse(y)
    scales: list[tuple[int, ...]] = [(), ()]
    if design.scale_format is not None:
        scales = [tuple(map(design.scale_format.parse, record[n].split(","))) for n in ("scale_a", "scale_b")]
    return Operands(tuple(columns[0]), tuple(columns[1]), c.parse(record["c"]), *scales)


def collected(facts: Facts, examples: Sequence[Mapping[str, Any]]) -> list[Unit]:
    """Return the units with what is known of their pairs. A witness that shows no difference is an error."""
    found: dict[Arithmetic, Unit] = {Arithmetic.of(d): Unit(d, []) for d in units()}
    for design in load_catalogue().designs.values():
        found[Arithmetic.of(design)].names.append(design.name)
    by_name = {x.design.name: x for x in found.values()}
    shown = [(tuple(x["units"]), x) for x in examples] + [
        (names, x) for names, x in facts.pairs.items() if x["verdict"] == "different"
    ]
    for names, record in shown:
        first, second = (by_name[n] for n in names)
        operands = operands_of(record, first.design)
        d, other = evaluate(first.design, operands), evaluate(second.design, operands)
        if d == other:
            raise ValueError(f"{names[0]} and {names[1]}: their example does not tell them apart")
        first.different.append(Difference(second.design, operands, d, other))
        second.different.append(Difference(first.design, operands, other, d))
    for names, record in facts.pairs.items():
        first, second = (by_name[n] for n in names)
        for x, y in ((first, second), (second, first)):
            if record["verdict"] == "equivalent":
                x.equal.append((y.design, record["k"]))
            elif record["verdict"] != "different":
                x.open.append(y.design)
    return list(found.values())


def pages() -> Iterator[Page]:
    """Give a page for each unit, and one that lists all designs."""
    facts = load_facts()
    found = collected(facts, load_examples())
    yield Page("units/index.md", "All units", _index(found))
    yield Page("units/by-formats.md", "Units by formats", _by_formats(found))
    for unit in found:
        text = _text(unit, facts.features.get(unit.design.name, {}))
        # hundreds of names have a format in them, so that lists would come after all of them
        yield Page(f"units/{unit.page}", unit.design.name, text, boost=0.01)


def _index(found: Sequence[Unit]) -> str:
    pages_of = {name: unit.page for unit in found for name in unit.names}
    parts = [
        f"The {len(pages_of)} designs of the catalogue have {len(found)} arithmetics. Designs of one arithmetic return"
        " the same bits and share a page. [By formats](by-formats.md) shows which units can be compared."
        " [Side by side](../units.md) has what tells the families apart.\n"
    ]
    for architecture in load_catalogue().architectures.values():
        rows = [
            (f"[{code(d.instruction)}]({pages_of[d.name]})", str(d.k), escaped(d.family), escaped(d.source))
            for d in load_catalogue().designs.values()
            if d.architecture == architecture.name
        ]
        title = architecture.title + (f" ({', '.join(architecture.targets)})" if architecture.targets else "")
        products = ", ".join(x.upper().replace("-", " ") for x in PRODUCTS.get(architecture.name, ()))
        # products in the heading are found by a search, and the place keeps its name
        parts.append(anchored(2, f"{architecture.name}{': ' * bool(products)}{products}", architecture.name))
        parts.append(escaped(title) + ".\n")
        parts.append(table(("instruction", "K", "family", "source"), rows))
    return "\n".join(parts)


def _by_formats(found: Sequence[Unit]) -> str:
    groups: dict[Signature, list[Unit]] = defaultdict(list)
    for unit in found:
        groups[unit.design.signature].append(unit)
    parts = ["Units can be compared if all of their formats are the same. Units of one class return the same bits.\n"]
    for group in groups.values():
        classes: list[list[Unit]] = []
        for unit in group:
            equal = {d.name for d, _ in unit.equal}
            mine = next((c for c in classes if c[0].design.name in equal), None)
            if mine is None:
                classes.append([unit])
            else:
                mine.append(unit)
        parts.append(f"## {_formats(group[0].design)}\n")
        parts += [
            f"{number}. " + ", ".join(f"[{code(x.design.name)}]({x.page})" for x in members)
            for number, members in enumerate(classes, start=1)
        ]
        parts.append("")
    return "\n".join(parts)


def _formats(design: Design) -> str:
    scales = "" if design.scale_format is None else f", scales {design.scale_format.name} of {design.block} elements"
    return ", ".join(f"{x} {f.name}" for x, f in zip("abcd", design.formats, strict=True)) + scales


def _text(unit: Unit, features: Mapping[str, Sequence[Any]]) -> str:
    design = unit.design
    same = len(unit.names)
    parts = [
        f"Formats: {_formats(design)}. Family: {escaped(design.family)}. Source: {escaped(design.source)}.\n",
        "**Assumed**: no source describes this unit.\n" if design.is_assumed else "",
        f"{same} instruction{'s have' if same > 1 else ' has'} this arithmetic:\n",
        *(f"- {code(name)}" for name in unit.names),
        "",
        fenced(f"$ mmaproof show {design.name}", "text"),
        "## Parameters\n",
        _parameters(design),
        "## Class\n",
        _class(unit),
        "## What it differs from\n",
        _differences(unit),
        "## Open points\n",
        _points(design),
        "## Features\n",
        _features(design, features),
    ]
    return "\n".join(parts)


def _parameters(design: Design) -> str:
    levels = levels_of(design)
    settings = format_settings(complete_settings(design.chain, design.step), list(design.settings))
    rows = (
        (
            f"[{code(name)}](../reference/parameters.md#{anchor(name)})",
            code(value),
            levels[name].level.value if name in levels else "-",
            escaped(levels[name].source) if name in levels else "no result depends on it",
        )
        for name, value in settings.items()
    )
    return table(("parameter", "value", "evidence", "what it rests on"), rows)


def _link(design: Design) -> str:
    return f"[{code(design.name)}]({slug(design.name)}.md)"


def _class(unit: Unit) -> str:
    if not unit.equal:
        return "No unit of another arithmetic is known to return the same bits for all operands.\n"
    rows = ((_link(d), str(k)) for d, k in unit.equal)
    return "Proved to return the same bits for all operands:\n\n" + table(("unit", "at k"), rows)


def _differences(unit: Unit) -> str:
    others = len(unit.different) + len(unit.equal) + len(unit.open)
    if not others:
        return "No other unit of the catalogue has its formats.\n"
    rows = []
    for x in unit.different:
        fmt = unit.design.d_format
        names = sorted(differing_parameters(unit.design, x.other))
        rows.append(
            (
                _link(x.other),
                _operands(unit.design, x.operands),
                f"{code(fmt.hex(x.d))} {escaped(pattern_value(fmt, x.d))}",
                f"{code(fmt.hex(x.other_d))} {escaped(pattern_value(fmt, x.other_d))}",
                ", ".join(map(code, names)) or "K, or the order of k",
            )
        )
    text = "Elements that are not named are zero. Every d is computed when this page is made.\n\n"
    text += table(("unit", "operands", "d here", "d there", "parameters that differ"), rows)
    if unit.open:
        text += "\nNot known: " + ", ".join(map(_link, unit.open)) + ".\n"
    return text


def _operands(design: Design, held: Operands) -> str:
    a, b, c, _ = design.formats
    products = [
        f"`p{k} = {a.hex(x)}*{b.hex(y)}`" for k, (x, y) in enumerate(zip(held.a, held.b, strict=True)) if x or y
    ]
    scales = []
    if design.scale_format is not None:
        for name, patterns in (("scale_a", held.scale_a), ("scale_b", held.scale_b)):
            scales.append(f"`{name} = {','.join(map(design.scale_format.hex, patterns))}`")
    return ", ".join([f"k = {len(held)}", *products, f"`c = {c.hex(held.c)}`", *scales])


def _points(design: Design) -> str:
    disputes = load_disputes()
    rows = []
    for point in disputes.points:
        said: dict[str, list[str]] = defaultdict(list)
        for profile in disputes.sources(design):
            settings = disputes.settings(design, profile, point.number)
            text = ", ".join(f"{n}={x}" for n, x in format_settings(settings).items())
            said[text or "as the catalogue"].append(profile)
        if len(said) > 1 or "as the catalogue" not in said:
            readings = "; ".join(f"{code(text)}: {escaped(', '.join(names))}" for text, names in said.items())
            rows.append((str(point.number), escaped(point.title), readings))
    if not rows:
        return "Publications do not disagree about it.\n"
    return (
        table(("point", "about", "what sources say"), rows)
        + f"\n`mmaproof disputes {design.architecture}` finds vectors that settle them. [More](../disputes.md).\n"
    )


def _features(design: Design, known: Mapping[str, Sequence[Any]]) -> str:
    rows, never = [], []
    for name, asked in PROPERTIES.items():
        if asked.why_not(design) is not None:
            continue
        if name not in known:
            never.append(name)
            continue
        verdict, *value = known[name]
        said = f"{value[0]:.4g}" if value and isinstance(value[0], float) else str(value[0]) if value else ""
        link = f"[{escaped(asked.feature)}](../reference/properties.md#{anchor(name)})"
        rows.append((link, SHORT.get(verdict, escaped(verdict)), "" if verdict == "unknown" else escaped(said)))
    call = f"`mmaproof fingerprint {design.name}`"
    if not rows and not never:
        why = str(next(iter(PROPERTIES.values())).why_not(design))
        return f"No property of the library can be asked of it: {escaped(why)}.\n"
    text = ""
    if rows:
        text = (
            "Yes is a proof for all operands that the property is about. No comes with operands. Each was given"
            f" {OF_A_FEATURE.seconds} CPU seconds; more decide what is unknown: {call}.\n\n"
        ) + table(("feature", "", "value"), rows)
    if never:
        text += f"\n{len(never)} properties were not asked for this page: {call} asks them.\n"
    return text


COLUMNS = {
    "silicon": (Level.RECORDED,),
    "documents and models that agree": (Level.VENDOR, Level.PUBLISHED),
    "nothing": (Level.ASSUMED,),
}
"""What a value may rest on, by the heading of its column."""


def rows_of_the_catalogue() -> dict[str, list[Design]]:
    """Return one design for each row of the catalogue, by architecture, in the order of the catalogue."""
    found: dict[str, dict[str, Design]] = {}
    for design in load_catalogue().designs.values():
        found.setdefault(design.architecture, {}).setdefault(str(design.evidence.row), design)
    return {architecture: list(rows.values()) for architecture, rows in found.items()}


def parameters(design: Design, heading: str) -> list[str]:
    """Return the parameters of a design that rest on what a column says, in the order of the design."""
    return [name for name, x in levels_of(design).items() if x.level in COLUMNS[heading]]


def decided_pages() -> Iterator[Page]:
    """Give the page."""
    text = (
        "A row of the catalogue stands for the instructions that share its arithmetic. A parameter is decided by"
        " silicon if every other value that was tried is wrong on a recorded result of the unit."
        " [What the values rest on](../evidence.md) has the rules, `mmaproof show DESIGN` the source of each value, and"
        " `mmaproof evidence ARCHITECTURE -o FILE` the operands that decide more.\n\n"
    )
    rows = rows_of_the_catalogue()
    text += table(
        ("architecture", "rows", "with recordings", *COLUMNS),
        (
            (
                f"[{escaped(architecture)}](#{anchor(architecture)})",
                str(len(designs)),
                str(sum(str(x.evidence.row) in load_recorded() for x in designs)),
                *(str(sum(len(parameters(x, heading)) for x in designs)) for heading in COLUMNS),
            )
            for architecture, designs in rows.items()
        ),
    )
    for architecture, designs in rows.items():
        text += f"\n## {escaped(architecture)} {{ #{anchor(architecture)} }}\n\n{_table(designs)}"
    yield Page("units/decided.md", "What silicon decides, for each architecture", text)


def _table(designs: Sequence[Design]) -> str:
    """Return the rows of one architecture."""
    return table(
        ("row", *COLUMNS),
        (
            (code(design.name), *(", ".join(map(code, parameters(design, heading))) for heading in COLUMNS))
            for design in designs
        ),
    )
