"""Operands as the command line spells and prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.designs.formats import Format
    from mmaproof.designs.operands import Operands


def parse_patterns(column: str, text: str, fmt: Format) -> tuple[int, ...]:
    """Return the patterns in ``text`` (hexadecimal, separated by commas or spaces); InputError names the element."""
    from mmaproof.designs.errors import OperandError

    patterns = []
    elements = re.split(r"\s*,\s*|\s+", text.strip()) if text.strip() else []
    for index, element in enumerate(elements):
        if not element:
            raise OperandError(f"{column}[{index}]: empty: between two commas, and before or after one, is a pattern")
        try:
            patterns.append(fmt.parse(element))
        except ValueError as error:
            raise OperandError(f"{column}[{index}]: {error}") from error
    return tuple(patterns)


def parse_operands(
    design: Design, a: str, b: str, c: str, k: int | None, scale_a: str | None = None, scale_b: str | None = None
) -> Operands:
    """Return operands of length ``k`` (default K of the design) for ``design``.

    Raises OperandError where a pattern is malformed, the number of elements is not ``k``, or scales are missing or
    given to a design that has none, and DesignError for a length that the design cannot run.
    """
    from mmaproof.designs.errors import OperandError
    from mmaproof.designs.operands import Operands

    length = design.k if k is None else k
    design.blocks(length)
    columns = [parse_patterns(*x) for x in (("a", a, design.a_format), ("b", b, design.b_format))]
    for name, patterns in zip("ab", columns, strict=True):
        if len(patterns) != length:
            given = len(patterns)
            hint = f"; for a dot product of another length add --k {given}" if k is None and given else ""
            raise OperandError(f"{name} has {len(patterns)} elements, {design.name} takes {length}{hint}")
    accumulator = parse_patterns("c", c, design.c_format)
    if len(accumulator) != 1:
        raise OperandError(f"c has {len(accumulator)} elements: it is one pattern")
    scales = [_parse_scales(design, n, text, length) for n, text in (("scale-a", scale_a), ("scale-b", scale_b))]
    return Operands(columns[0], columns[1], accumulator[0], *scales)


def _parse_scales(design: Design, name: str, text: str | None, length: int) -> tuple[int, ...]:
    from mmaproof.designs.errors import OperandError

    if design.scale_format is None:
        if text is not None:
            raise OperandError(f"{design.name} has no scales: leave --{name} out")
        return ()
    wanted = design.blocks(length)
    if text is None:
        raise OperandError(
            f"{design.name} has scales: add --{name} with {wanted} {design.scale_format.name} "
            f"pattern{'s' * (wanted > 1)}, one for each {design.block} elements"
        )
    scales = parse_patterns(name, text, design.scale_format)
    if len(scales) != wanted:
        raise OperandError(
            f"{name} has {len(scales)} elements, {design.name} takes {wanted}: one for each {design.block}"
        )
    return scales


def operands_record(
    formats: Sequence[Format], operands: Operands, scale_format: Format | None = None
) -> dict[str, Any]:
    """Return operands as JSON data: fixed-width hexadecimal; scales where there are any."""
    a, b, c = formats[:3]
    record: dict[str, Any] = {
        "a": [a.hex(x) for x in operands.a],
        "b": [b.hex(x) for x in operands.b],
        "c": c.hex(operands.c),
    }
    if scale_format is not None:
        record["scale_a"] = [scale_format.hex(x) for x in operands.scale_a]
        record["scale_b"] = [scale_format.hex(x) for x in operands.scale_b]
    return record


def operand_lines(record: dict[str, Any]) -> list[str]:
    """Return a record of operands as lines that the options of `mmaproof run` take."""
    return [f"{n} = {x if isinstance(x, str) else ','.join(x)}" for n, x in record.items()]
