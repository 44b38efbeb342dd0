"""The operands of an answer, and their picture where this version of the model returns what the answer says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, MmaproofError
from mmaproof.explain import Picture, explain
from mmaproof.explain.answers.parts import OperandSet
from mmaproof.explain.html import picture_html
from mmaproof.explain.reports.page import Markup, code, facts, paragraph
from mmaproof.smt.trace import evaluate

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
