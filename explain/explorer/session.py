"""What the page of the explorer asks: which units there are, and what units do to operands.

Questions and answers are plain data for JSON. Neither NumPy nor pySMT is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands, decimal_of, pattern_of, split
from mmaproof.designs.errors import DesignError, InputError, shortened
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.names import MOST, PRODUCTS, fitting, words_of
from mmaproof.designs.parameters import DEFINITIONS, format_settings
from mmaproof.designs.steps.step import IntegerRange
from mmaproof.explain import explain
from mmaproof.explain.figure import STYLE, picture_html
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
        return {"text": self.text, "exact": self.exact, **shown(fmt, self.pattern)}


def shown(fmt: Format, pattern: int) -> dict[str, Any]:
    """Return what the page shows of a pattern: hexadecimal, exact value, decimal and bits."""
    value, decimal = pattern_value(fmt, pattern), decimal_of(pattern, fmt)
    return {"hex": fmt.hex(pattern), "value": value, "decimal": decimal, "bits": f"{pattern:0{fmt.bits}b}"}


def style() -> str:
    """Return the style sheet of pictures."""
    return STYLE


def units() -> str:
    """Return the names of all units, by architecture, with the products that have it, as JSON."""
    catalogue = load_catalogue()
    found: dict[str, Any] = {
        x.name: {"title": x.title, "products": PRODUCTS.get(x.name, ()), "units": []}
        for x in catalogue.architectures.values()
    }
    for design in catalogue.designs.values():
        found[design.architecture]["units"].append(design.name)
    return json.dumps([{"name": name, **held} for name, held in found.items() if held["units"]])


def answer(question: str) -> str:
    """Return the answer to a question, both as JSON.

    A question has ``units`` (names), ``width`` in characters, and the texts ``a``, ``b``, ``c``, ``scale_a`` and
    ``scale_b``. The answer has ``units`` with their parameters and results, the picture as ``html``, what can be copied
    (``copies``), and ``problem``: None, or the field, what is wrong with it, and names of units that may be meant.
    """
    asked: Mapping[str, Any] = json.loads(question)
    designs: list[Design] = []
    for number, name in enumerate(asked["units"]):
        try:
            designs.append(_unit(name))
        except (InputError, DesignError) as problem:
            return _refused(f"unit{number}", problem, meant(name))
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
        record["d"] = shown(fmt, d)
        given.append(operands)
        records.append(record)
    copies = copied(designs, given, [x["d"]["hex"] for x in records])
    html = _drawn(designs, given, width)
    return json.dumps({"units": records, "k": length, "html": html, "copies": copies, "problem": None})


def meant(text: str) -> list[dict[str, str]]:
    """Return the units that words may mean, of a product or architecture and of formats: each name and its formats."""
    words = [x for x in re.split(r"[/\s]+|(?<=\s)(?:on|of)\s", text.lower()) if x]
    places = {x: load_catalogue().place(x) for x in words}
    named = {y for y in places.values() if y}
    here = [x for x in load_catalogue().designs.values() if not named or x.architecture in named]
    rest = [y for x in words if not places[x] for y in words_of(x)]
    found = (fitting(here, rest) if rest else here) if named or rest else []
    return [{"name": x.name, "what": str(x.signature)} for x in found[:MOST]]


def toggled(name: str, pattern: str, place: int, as_number: bool) -> str:
    """Return the text of a pattern of a format with one bit changed, counted from the left; or that of its number."""
    fmt = FORMATS[name]
    changed = int(pattern, 16) ^ 1 << (fmt.bits - 1 - place)
    return pattern_value(fmt, changed).replace(" ", "") if as_number else fmt.hex(changed)


def copied(designs: Sequence[Design], given: Sequence[Operands], results: Sequence[str]) -> dict[str, str]:
    """Return what this state is as commands, in Python, and as vectors in JSON Lines."""
    commands, lines, vectors = [], ["import mmaproof"], []
    for design, operands, d in zip(designs, given, results, strict=True):
        texts = {name: [fmt.hex(x) for x in _of(operands, name)] for name in COLUMNS if (fmt := _format(design, name))}
        options = " ".join(f"--{name.replace('_', '-')} {','.join(x)}" for name, x in texts.items())
        commands.append(f"mmaproof run {design.name} --k {len(operands)} {options} --explain")
        spelled = {n: f"({', '.join(x)},)" if n != "c" else x[0] for n, x in texts.items()}
        lines.append(f"operands = mmaproof.Operands({', '.join(f'{n}={x}' for n, x in spelled.items())})")
        lines.append(f'd = mmaproof.evaluate(mmaproof.find_design("{design.name}"), operands)  # {d}')
        formats = {f"{x}_format": f.name for x, f in zip("abcd", design.formats, strict=True)}
        scale = {} if design.scale_format is None else {"scale_format": design.scale_format.name}
        held = {n: x[0] if n == "c" else x for n, x in texts.items()}
        vectors.append(json.dumps({**formats, **scale, **held, "outputs": {design.name: d}}))
    return {"command": "\n".join(commands), "Python": "\n".join(lines), "JSON": "\n".join(vectors)}


def _of(operands: Operands, name: str) -> tuple[int, ...]:
    held = getattr(operands, name)
    return held if isinstance(held, tuple) else (held,)


def _unit(name: str) -> Design:
    """Return the design of the catalogue that a person named. Raises DesignError."""
    if ":" in name.partition("/")[0]:
        raise DesignError(f"{shortened(name)!r} is a file: this page has the units of the catalogue")
    return find_design(name)


def _refused(field: str, problem: Exception, units: Sequence[dict[str, str]] = ()) -> str:
    """Return an answer that says what is wrong. It has no advice that needs a command line."""
    text = problem.problem if isinstance(problem, DesignError) else str(problem)
    if field.startswith("unit"):
        text += ". The field offers the names of all units."
    return json.dumps({"units": [], "html": "", "problem": {"field": field, "text": text, "units": list(units)}})


def _drawn(designs: Sequence[Design], given: Sequence[Operands], width: int) -> str:
    """Return one picture of one design, or of two that read the same operands, else one of each."""
    alike = (
        len(designs) <= 2 and len({(x.signature, operands) for x, operands in zip(designs, given, strict=True)}) == 1
    )
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
    described: dict[str, Any] = {
        "base": design.base_name,
        "k_of_instruction": design.k,
        "formats": {x: f.name for x, f in zip("abcd", design.formats, strict=True)},
        "scale": None if scale is None else scale.name,
        "block": design.block,
        "source": design.source,
        "assumed": design.is_assumed,
        "layouts": {n: _layout(fmt) for n in COLUMNS if (fmt := _format(design, n))} | {"d": _layout(design.d_format)},
    }
    base = find_design(design.base_name)
    before = format_settings(base.settings)
    described["parameters"] = [
        {"name": name, "value": value, "catalogue": before.get(name, ""), **_definition(name)}
        for name, value in format_settings(design.settings).items()
    ]
    return described


def _layout(fmt: Format) -> list[int]:
    """Return how many bits are sign, exponent, fraction, and ignored, from the left."""
    fields = [fmt.exponent_bits, fmt.fraction_bits, fmt.ignored_bits]
    return [fmt.bits - sum(fields), *fields]


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
