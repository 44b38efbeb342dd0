"""What the page of the explorer asks: which units there are, and what units do to operands.

Questions and answers are plain data for JSON. Neither NumPy nor pySMT is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError, shortened
from mmaproof.designs.formats import Format
from mmaproof.designs.numbers import pattern_of, split
from mmaproof.designs.parameters import DEFINITIONS, format_settings
from mmaproof.designs.steps.record import IntegerRange
from mmaproof.explain import explain
from mmaproof.explain.html import STYLE, picture_html
from mmaproof.explain.values import pattern_value
from mmaproof.smt.trace import evaluate

NARROWEST, WIDEST = 40, 160
"""Characters of a line of the picture."""
LONGEST = 1024
"""Products that are computed: more take longer than a person waits."""
COLUMNS = ("a", "b", "c", "scale_a", "scale_b")


@dataclass(frozen=True, slots=True)
class Typed:
    """An element as it was typed, its pattern in a format, and whether that is exact."""

    text: str
    pattern: int
    exact: bool

    def record(self, fmt: Format) -> dict[str, Any]:
        """Return it for the page."""
        value = pattern_value(fmt, self.pattern)
        return {"text": self.text, "hex": fmt.hex(self.pattern), "value": value, "exact": self.exact}


def style() -> str:
    """Return the style sheet of pictures."""
    return STYLE


def units() -> str:
    """Return the names of all units, by architecture, as JSON."""
    catalogue = load_catalogue()
    found: dict[str, Any] = {x.name: {"title": x.title, "units": []} for x in catalogue.architectures.values()}
    for design in catalogue.designs.values():
        found[design.architecture]["units"].append(design.name)
    return json.dumps([{"name": name, **held} for name, held in found.items() if held["units"]])


def answer(question: str) -> str:
    """Return the answer to a question, both as JSON.

    A question has ``units`` (one or two names), ``width`` in characters, and the texts ``a``, ``b``, ``c``,
    ``scale_a`` and ``scale_b``. The answer has ``units`` with their parameters and results, the picture as ``html``,
    and ``problem``: None, or the field and what is wrong with it.
    """
    asked: Mapping[str, Any] = json.loads(question)
    designs: list[Design] = []
    for number, name in enumerate(asked["units"]):
        try:
            designs.append(_unit(name))
        except (InputError, DesignError) as problem:
            return _refused(f"unit{number}", problem)
    width = min(max(int(asked.get("width", WIDEST)), NARROWEST), WIDEST)
    texts = {name: split(str(asked.get(name, ""))) for name in COLUMNS}
    records: list[dict[str, Any]] = []
    given: list[Operands] = []
    try:
        length = common_length(designs, max(len(texts["a"]), len(texts["b"]), 1))
    except InputError as problem:
        return _refused("a", problem)
    for design in designs:
        record: dict[str, Any] = {"name": design.name, **_description(design)}
        for name in COLUMNS:
            try:
                record[name] = [x.record(fmt) for fmt, x in _column(design, name, texts[name])]
            except (InputError, DesignError) as problem:
                return _refused(name, problem)
        try:
            operands = operands_of(design, texts, length)
            d = evaluate(design, operands)
        except (InputError, DesignError) as problem:
            named = str(problem).partition(":")[0]
            return _refused(named if named in COLUMNS else "a", problem)
        fmt = design.d_format
        record["d"] = {"hex": fmt.hex(d), "value": pattern_value(fmt, d), "bits": f"{d:0{fmt.bits}b}"}
        given.append(operands)
        records.append(record)
    return json.dumps({"units": records, "k": length, "html": _drawn(designs, given, width), "problem": None})


def _unit(name: str) -> Design:
    """Return the design of the catalogue that a person named. Raises DesignError."""
    if ":" in name.partition("/")[0]:
        raise DesignError(f"{shortened(name)!r} is a file: this page has the units of the catalogue")
    return find_design(name)


def _refused(field: str, problem: Exception) -> str:
    """Return an answer that says what is wrong. It has no advice that needs a command line."""
    text = problem.problem if isinstance(problem, DesignError) else str(problem)
    if field.startswith("unit"):
        text += ". The field offers the names of all units."
    return json.dumps({"units": [], "html": "", "problem": {"field": field, "text": text}})


def _drawn(designs: Sequence[Design], given: Sequence[Operands], width: int) -> str:
    """Return one picture of designs that read the same operands, else one of each."""
    alike = len({(x.signature, operands) for x, operands in zip(designs, given, strict=True)}) == 1
    if alike:
        return picture_html(explain(designs, given[0]), width)
    return "".join(picture_html(explain([x], operands), width) for x, operands in zip(designs, given, strict=True))


def common_length(designs: Sequence[Design], count: int) -> int:
    """Return the least length of at least ``count`` that every design computes. Raises InputError beyond LONGEST."""
    for length in range(count, LONGEST + 1):
        if all(_takes(design, length) for design in designs):
            return length
    raise InputError(f"{count} products are too many for this page, or no length fits both units: at most {LONGEST}")


def _takes(design: Design, length: int) -> bool:
    try:
        design.blocks(length)
    except DesignError:
        return False
    return True


def _format(design: Design, name: str) -> Format | None:
    formats = dict(zip("abc", design.formats, strict=False))
    return formats.get(name, design.scale_format)


def _column(design: Design, name: str, texts: Sequence[str]) -> list[tuple[Format, Typed]]:
    """Return what was typed for a column, as a design reads it. Raises InputError."""
    fmt = _format(design, name)
    if fmt is None:
        return []
    found = []
    for number, text in enumerate(texts):
        try:
            pattern, exact = pattern_of(text, fmt)
        except InputError as problem:
            place = name if name == "c" else f"{name}[{number}]"
            raise InputError(f"{place}: {problem}") from problem
        found.append((fmt, Typed(text, pattern, exact)))
    return found


def operands_of(design: Design, texts: Mapping[str, Sequence[str]], length: int) -> Operands:
    """Return operands of a length: what is not given is +0, and a scale that is not given is 1."""
    columns = {name: [x.pattern for _, x in _column(design, name, texts[name])] for name in COLUMNS}
    if len(columns["c"]) > 1:
        raise InputError(f"c: one number, not {len(columns['c'])}")
    scale = design.scale_format
    fills = {"a": 0, "b": 0, "scale_a": 0 if scale is None else scale.encode(1)}
    fills["scale_b"] = fills["scale_a"]
    counts = {"a": length, "b": length, "scale_a": design.blocks(length), "scale_b": design.blocks(length)}
    full: dict[str, tuple[int, ...]] = {}
    for name, count in counts.items():
        if scale is None and name.startswith("scale"):
            full[name] = ()
            continue
        if len(columns[name]) > count:
            raise InputError(f"{name}: {len(columns[name])} elements, and {count} are read")
        full[name] = (*columns[name], *[fills[name]] * (count - len(columns[name])))
    c = columns["c"][0] if columns["c"] else 0
    return Operands(full["a"], full["b"], c, full["scale_a"], full["scale_b"])


def _description(design: Design) -> dict[str, Any]:
    """Return what the page shows of a unit: formats, K, source, and parameters with the values they may have."""
    scale = design.scale_format
    shown: dict[str, Any] = {
        "base": design.base_name,
        "k_of_instruction": design.k,
        "formats": {x: f.name for x, f in zip("abcd", design.formats, strict=True)},
        "scale": None if scale is None else scale.name,
        "block": design.block,
        "source": design.source,
        "assumed": design.is_assumed,
    }
    base = find_design(design.base_name)
    before = format_settings(base.settings)
    shown["parameters"] = [
        {"name": name, "value": value, "catalogue": before.get(name, ""), **_definition(name)}
        for name, value in format_settings(design.settings).items()
    ]
    return shown


def _definition(name: str) -> dict[str, Any]:
    definition = DEFINITIONS[name]
    choices: list[str] | None
    match definition.values:
        case tuple():
            choices = list(definition.values)
        case IntegerRange():
            choices = None
        case readings if issubclass(readings, StrEnum):
            choices = [x.value for x in readings]
        case _:
            choices = None
    return {"meaning": definition.meaning, "allowed": definition.allowed(), "choices": choices}
