"""A graph as text: one node is one declaration, one operation. One driver prints it, with a record for each language.

A template has the words of the operands as ``{x}``, ``{y}`` and ``{z}``, the first two read with a sign as ``{sx}`` and
``{sy}``, the width of the first operand and of the result as ``{of}`` and ``{to}``, and what the language adds to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mmaproof.smt.algebra.nodes import Node, Op, needed

EVERYWHERE: Mapping[Op, str] = {
    Op.ADD: "{x} + {y}",
    Op.SUBTRACT: "{x} - {y}",
    Op.MULTIPLY: "{x} * {y}",
    Op.AND: "{x} & {y}",
    Op.OR: "{x} | {y}",
    Op.XOR: "{x} ^ {y}",
    Op.SHIFT_LEFT: "{x} << {y}",
    Op.SHIFT_RIGHT: "{x} >> {y}",
    Op.MINIMUM: "{x} < {y} ? {x} : {y}",
    Op.MAXIMUM: "{x} < {y} ? {y} : {x}",
    Op.MINIMUM_SIGNED: "{sx} < {sy} ? {x} : {y}",
    Op.MAXIMUM_SIGNED: "{sx} < {sy} ? {y} : {x}",
    Op.EQUAL: "{x} == {y}",
    Op.LESS: "{x} < {y}",
    Op.LESS_SIGNED: "{sx} < {sy}",
}
"""What C and SystemVerilog write alike."""


@dataclass(frozen=True)
class Dialect:
    """How a language writes constants, words with signs, inputs, declarations, and the operations in its own way."""

    constant: Callable[[int, int], str]
    signed: Callable[[str, int], str]
    input: Callable[[Node, str], tuple[str, str]]
    """An input and the expression of its element -> its name and its word."""
    declare: Callable[[str, str, int], str]
    """A name, its word and the width -> the declaration."""
    operations: Mapping[Op, str]
    further: Callable[[int, int], Mapping[str, str]] = lambda of, to: {}
    """What templates name besides, for the width of the first operand and of the result."""
    names_constants: bool = True

    def written(self, d: Node, inputs: Mapping[str, str]) -> tuple[list[str], str]:
        """Return the declarations that compute ``d``, and the word of d.

        ``inputs`` holds the expression of each input by its name. Raises ValueError for an operation that is not one of
        integers.
        """
        lines: list[str] = []
        names: dict[Node, str] = {}
        for node in needed([d]):
            names[node], value = f"t{node.number}", ""
            if node.op is Op.INPUT:
                names[node], value = self.input(node, inputs[node.name])
            elif node.op is not Op.CONSTANT:
                value = self._expression(node, [names[x] for x in node.operands])
            elif self.names_constants:
                value = self.constant(node.value, node.bits)
            else:
                names[node] = self.constant(node.value, node.bits)
                continue
            lines.append(self.declare(names[node], value, node.bits))
        return lines, names[d]

    def _expression(self, node: Node, words: list[str]) -> str:
        template = {**EVERYWHERE, **self.operations}.get(node.op)
        if template is None:
            raise ValueError(f"{node.op} is not an operation of integers: a model is printed of a graph without it")
        of, to = node.operands[0].bits, node.bits
        signed = {f"s{name}": self.signed(x, of) for name, x in zip("xy", words, strict=False)} if of > 1 else {}
        return template.format(**dict(zip("xyz", words, strict=False)), **signed, of=of, to=to, **self.further(of, to))
