"""A page for each unit of the catalogue, that is for each arithmetic that its instructions have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmaproof.designs.arithmetic import Arithmetic, differing_parameters
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.levels import levels_of
from mmaproof.designs.names import PRODUCTS
from mmaproof.designs.parameters import complete_settings, format_settings
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.signature import Signature
from mmaproof.explain.pages.facts import OF_A_FEATURE, Facts, load_examples, load_facts, units
from mmaproof.explain.pages.markdown import Page, anchor, anchored, code, escaped, fenced, slug, table
from mmaproof.explain.values import pattern_value
from mmaproof.properties.library import PROPERTIES
from mmaproof.smt.trace import evaluate

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
        return f"No property of the library can be asked of it: {escaped(_why_none(design))}.\n"
    text = ""
    if rows:
        text = (
            "Yes is a proof for all operands that the property is about. No comes with operands. Each was given"
            f" {OF_A_FEATURE.seconds} CPU seconds; more decide what is unknown: {call}.\n\n"
        ) + table(("feature", "", "value"), rows)
    if never:
        text += f"\n{len(never)} properties were not asked for this page: {call} asks them.\n"
    return text


def _why_none(design: Design) -> str:
    return str(next(iter(PROPERTIES.values())).why_not(design))
