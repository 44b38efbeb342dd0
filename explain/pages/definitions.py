"""Definitions as pages: parameters of designs, properties, algorithms, plans, number formats.

The public Python API as a page: signatures and docstrings of what ``mmaproof`` exports.

The names of the package root are loaded when they are used, so a reader of sources alone does not see what they are.
This page is made from the objects.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import mmaproof
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Level
from mmaproof.designs.formats import FORMATS, Specials
from mmaproof.designs.open_points import levels_of
from mmaproof.designs.parameters import DEFINITIONS, format_parameter
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.steps.step import LETTERS, Definition
from mmaproof.explain.pages.markdown import Page, anchor, anchored, code, escaped, fenced, table
from mmaproof.gemm.programs import KEYS
from mmaproof.gemm.programs.algorithms import ALGORITHMS
from mmaproof.gemm.programs.spelling import load_presets, load_selections
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.property import Property


def pages() -> Iterator[Page]:
    """Give the pages."""
    yield Page("reference/parameters.md", "Parameters of a design", _parameters())
    yield Page("reference/properties.md", "All properties", _properties())
    yield Page("reference/algorithms.md", "Algorithms and plans", _algorithms())
    yield Page("reference/number-formats.md", "Number formats", _formats())


def documented(kind: type[StrEnum]) -> dict[str, str]:
    """Return the members of an enumeration by value, each with the text that stands below it in the source."""
    (body,) = (x.body for x in ast.parse(textwrap.dedent(inspect.getsource(kind))).body if isinstance(x, ast.ClassDef))
    found = {member.value: "" for member in kind}
    before: str | None = None
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                before = kind[name].value
            case ast.Expr(value=ast.Constant(value=str(text))) if before is not None:
                found[before] = " ".join(text.split())
                before = None
            case _:
                before = None
    return found


def _parameters() -> str:
    points = {x.number: x for x in load_disputes().points}
    disputed = defaultdict(list)
    for number, point in points.items():
        for name in point.parameters:
            disputed[name].append(number)
    levels: dict[str, Counter[Level]] = defaultdict(Counter)
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for design in load_catalogue().designs.values():
        for name, value in design.settings.items():
            values[name][format_parameter(name, value)] += 1
        for name, evidence in levels_of(design).items():
            levels[name][evidence.level] += 1
    parts = [
        "The parameters that a design can have, from the records of `designs/steps/`. `mmaproof show DESIGN` prints"
        " those of one design, and `NAME@parameter=value` changes one. A letter stands for a reading: `zero_c=B`.\n",
        table(
            ("parameter", "meaning"),
            ((f"[`{n}`](#{anchor(n)})", escaped(d.meaning)) for n, d in DEFINITIONS.items()),
        ),
    ]
    for name, definition in DEFINITIONS.items():
        parts += [anchored(2, name, anchor(name)), _sentence(definition.meaning), ""]
        rows = [
            ("source", escaped(definition.source)),
            ("values", escaped(definition.allowed())),
            ("without a word", code(format_parameter(name, definition.default))),
        ]
        if disputed[name]:
            said = "; ".join(f"{n}, {points[n].title}" for n in disputed[name])
            rows.append(("open point", f"{escaped(said)} ([open points](../disputes.md))"))
        if values[name]:
            said = ", ".join(f"{code(x)} in {count}" for x, count in values[name].most_common(6))
            more = len(values[name]) - 6
            rows.append(("in the catalogue", said + (f", and {more} other values" if more > 0 else "")))
            said = ", ".join(f"{level.value} in {levels[name][level]}" for level in Level if levels[name][level])
            rows.append(("evidence", said or "none is needed: no result depends on it"))
        parts.append(table(("", ""), rows))
        parts.append(_readings(definition))
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return escaped(text[:1].upper() + text[1:]) + "."


def _readings(definition: Definition) -> str:
    kind = definition.values
    if not (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return ""
    readings = zip(LETTERS, documented(kind).items(), strict=False)  # there are more letters than readings
    rows = ((letter, code(value), escaped(text)) for letter, (value, text) in readings)
    return table(("", "reading", "meaning"), rows)


def _properties() -> str:
    parts = [
        "What `mmaproof check` and `mmaproof fingerprint` can ask, from the library itself."
        " [Properties](../properties.md) explains how a property is written and decided. On the specimen's mutant a"
        " property comes out the other way, so no claim is empty.\n",
        table(
            ("property", "feature"),
            ((f"[`{p.name}`](#{anchor(p.name)})", escaped(p.feature)) for p in PROPERTIES.values()),
        ),
    ]
    for p in PROPERTIES.values():
        parts += [anchored(2, p.name, anchor(p.name)), _sentence(p.statement), "", table(("", ""), _property_rows(p))]
    return "\n".join(parts)


def _property_rows(asked: Property) -> Iterator[tuple[str, str]]:
    specimen = load_catalogue().find(asked.specimen)
    reasons = Counter(asked.why_not(d) for d in load_catalogue().designs.values())
    askable = reasons.pop(None, 0)
    yield "a witness shows", escaped(asked.witness)
    if asked.limit is not None:
        yield "if it holds, operands show", escaped(asked.limit)
    yield "source", escaped(asked.source)
    yield "specimen", code(specimen.name)
    yield "its mutant", code(asked.mutant(specimen).name)
    yield "asked of", f"{askable} of {len(load_catalogue().designs)} designs"
    for reason, count in reasons.most_common():
        yield f"not of {count}", escaped(str(reason))


def _algorithms() -> str:
    parts = ["## Algorithms\n", "`mmaproof show NAME` prints one. [How they work](../gemm.md).\n"]
    for x in ALGORITHMS.values():
        values = x.parameters()
        rows = (
            (code(name), escaped(choice.meaning), escaped(choice.allowed()), code(values[name]))
            for name, choice in x.choices().items()
        )
        parts += [
            anchored(3, x.name, f"algorithm-{anchor(x.name)}"),
            f"{_sentence(x.what)} Source: {escaped(x.source)}.\n",
            table(("parameter", "meaning", "values", "here"), rows),
        ]
    parts += ["## Plan presets\n", "Plans of libraries by name. [How plans are written](../plans.md).\n"]
    presets = (
        (code(x.name), escaped(x.what), code(" | ".join(f"{k}={v}" for k, v in x.settings)), escaped(x.rests_on))
        for x in load_presets().values()
    )
    parts.append(table(("preset", "what it is", "plan", "source"), presets))
    parts += ["## Selections\n", "Plans of which a library chooses by M and N.\n"]
    for s in load_selections().values():
        chosen = ((escaped(when), code(plan)) for when, plan in s.plans)
        parts += [
            anchored(3, s.name, f"selection-{anchor(s.name)}"),
            f"{_sentence(s.what)} Source: {escaped(s.source)}.\n",
            table(("when", "plan"), chosen),
        ]
    keys = (
        (code(name), escaped(k.meaning), escaped(k.values), escaped(k.default), escaped(k.source))
        for name, k in KEYS.items()
    )
    parts += ["## Keys of a plan\n", table(("key", "meaning", "values", "without it", "source"), keys)]
    return "\n".join(parts)


def _formats() -> str:
    rows = (
        (
            code(f.name),
            code(f.isa_name),
            code(f.ml_dtypes_name or ""),
            str(f.bits),
            "-" if f.is_integer else f"{f.exponent_bits}, {f.fraction_bits}",
            "-" if f.is_integer else f"{f.e_min}..{f.e_max}",
            f.specials.value,
            escaped(f.source),
        )
        for f in FORMATS.values()
    )
    headings = ("name", "in instructions", "NumPy, ml_dtypes", "bits", "exponent, fraction bits", "exponents")
    said = ((code(name), escaped(text)) for name, text in documented(Specials).items())
    return "\n".join(
        [
            "The formats of a, b, c, d and of scales. Exponents are those of normal numbers.\n",
            table((*headings, "specials", "source"), rows),
            "## Specials\n",
            table(("word", "meaning"), said),
        ]
    )


def python_pages() -> Iterator[Page]:
    """Give the page."""
    names = sorted(mmaproof.__all__, key=str.lower)
    rows = ((f"[`{n}`](#{_anchor(n)})", prose(_first(getattr(mmaproof, n)))) for n in names)
    text = [
        "What `import mmaproof` offers. Every function takes names of designs or designs, and patterns or arrays."
        " Units of measure, shapes, errors and sources stand in the text of each.\n",
        table(("name", "what it is"), rows),
    ]
    for name in names:
        text += [anchored(2, name, _anchor(name)), *_described(name, getattr(mmaproof, name))]
    yield Page("reference/python.md", "Python API", "\n".join(text))


def _anchor(name: str) -> str:
    """Return the anchor of a name. `Check` and `check` are two."""
    return ("function-" if name.islower() else "class-") + anchor(name)


def _first(value: Any) -> str:
    return _doc(value).partition("\n\n")[0]


def _doc(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"A table of {len(value)} entries by name: {', '.join(list(value)[:6])} and others."
    return inspect.cleandoc(value.__doc__ or "")


def _described(name: str, value: Any) -> Iterator[str]:
    if callable(value):
        yield fenced(_signature(name, value), "python")
    yield prose(_doc(value)) + "\n"
    if inspect.isclass(value) and not issubclass(value, enum.Enum):
        for member, held in vars(value).items():
            function = held.__func__ if isinstance(held, classmethod | staticmethod) else held
            if member.startswith("_") or not function.__doc__:
                continue
            if isinstance(function, property) or type(function).__name__ == "cached_property":
                yield f"**`{member}`**: {prose(_doc(function))}\n"
            elif inspect.isfunction(function):
                yield f"**`{_signature(member, function)}`**: {prose(_doc(function))}\n"


def _signature(name: str, value: Any) -> str:
    try:
        text = f"{name}{inspect.signature(value)}"
    except ValueError:
        return name
    text = re.sub(r"<(?:class|function) '?([\w.]+)'?[^>]*>|mmaproof(?:\.\w+)+\.", lambda m: m[1] or "", text)
    return re.sub(r"'([^']*)'", r"\1", text) if "->" in text else text


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: what stands in two backticks is code."""
    return "\n\n".join(escaped(x.replace("``", "`")) for x in docstring.split("\n\n"))
