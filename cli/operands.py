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
    for index, element in enumerate(x for x in re.split(r"[,\s]+", text.strip()) if x):
        try:
            patterns.append(fmt.parse(element))
        except ValueError as error:
            raise OperandError(f"{column}[{index}]: {error}") from error
    return tuple(patterns)


def parse_operands(design: Design, a: str, b: str, c: str, k: int | None) -> Operands:
    """Return operands of length ``k`` (default K of the design) for ``design``.

    Raises OperandError where a pattern is malformed or the number of elements is not ``k``.
    """
    from mmaproof.designs.errors import OperandError
    from mmaproof.designs.operands import Operands

    length = design.k if k is None else k
    design.padded_length(length)
    columns = [parse_patterns(*x) for x in (("a", a, design.a_format), ("b", b, design.b_format))]
    for name, patterns in zip("ab", columns, strict=True):
        if len(patterns) != length:
            given = len(patterns)
            hint = f"; for a dot product of another length add --k {given}" if k is None and given else ""
            raise OperandError(f"{name} has {len(patterns)} elements, {design.name} takes {length}{hint}")
    accumulator = parse_patterns("c", c, design.c_format)
    if len(accumulator) != 1:
        raise OperandError(f"c has {len(accumulator)} elements: it is one pattern")
    return Operands(columns[0], columns[1], accumulator[0])


def operands_record(formats: Sequence[Format], operands: Operands) -> dict[str, Any]:
    """Return operands as JSON data: fixed-width hexadecimal."""
    a, b, c = formats[:3]
    return {
        "a": [a.hex(x) for x in operands.a],
        "b": [b.hex(x) for x in operands.b],
        "c": c.hex(operands.c),
    }
