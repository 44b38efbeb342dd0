"""LLVM IR of a graph: every node is one operation on vectors, one element for each dot product.

Nothing here knows what a node is for. Loads and stores around the nodes are of ``rows`` and ``panels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mmaproof.smt.algebra.nodes import Node, Op

_BINARY = {
    Op.ADD: "add",
    Op.SUBTRACT: "sub",
    Op.MULTIPLY: "mul",
    Op.AND: "and",
    Op.OR: "or",
    Op.XOR: "xor",
    Op.SHIFT_LEFT: "shl",
    Op.SHIFT_RIGHT: "lshr",
    Op.SHIFT_RIGHT_SIGNED: "ashr",
}
_COMPARED = {Op.EQUAL: "eq", Op.LESS: "ult", Op.LESS_SIGNED: "slt"}
_RESIZED = {Op.ZERO_EXTEND: "zext", Op.SIGN_EXTEND: "sext", Op.TRUNCATE: "trunc"}
_INTRINSICS = {
    Op.MINIMUM: "umin",
    Op.MAXIMUM: "umax",
    Op.MINIMUM_SIGNED: "smin",
    Op.MAXIMUM_SIGNED: "smax",
    Op.MAGNITUDE: "abs",
    Op.LEADING_ZEROS: "ctlz",
    Op.FUSED_MULTIPLY_ADD: "fma",
}
_FLAGS = {Op.MAGNITUDE: ", i1 false", Op.LEADING_ZEROS: ", i1 true"}
"""The most negative number has a magnitude; a word of zeros is never counted."""


class Writer:
    """Instructions of one basic block on vectors of ``lanes`` elements, and the intrinsics that they call."""

    def __init__(self, lanes: int, prefix: str = "t") -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._names: dict[Node, str] = {}
        self._prefix = prefix
        self._count = 0

    def inner(self) -> Writer:
        """Return the writer of a block that this one leads to and that uses its values."""
        block = Writer(self.lanes, self._prefix + "i")
        block._names.update(self._names)
        return block

    def vector(self, bits: int, of: str = "i") -> str:
        """Return the type of a vector of words."""
        return f"<{self.lanes} x {of}{bits}>"

    def splat(self, value: int, bits: int) -> str:
        """Return a vector of one constant."""
        if bits == 1:
            return f"splat (i1 {'true' if value else 'false'})"
        return f"splat (i{bits} {value})"

    def emit(self, text: str) -> str:
        """Write an instruction and return the name of its result."""
        self._count += 1
        name = f"%{self._prefix}{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def give(self, node: Node, name: str) -> None:
        """Say that the word of ``node`` is the value ``name``."""
        self._names[node] = name

    def word(self, node: Node) -> str:
        """Return the value of a node that was written or given, or its constant."""
        return self.splat(node.value, node.bits) if node.is_constant else self._names[node]

    def write(self, nodes: Iterable[Node]) -> None:
        """Write nodes in order. Those that were given are left out."""
        for node in nodes:
            if not node.is_constant and node not in self._names:
                self._names[node] = self._operation(node)

    def _operation(self, node: Node) -> str:
        op, operands, kind = node.op, node.operands, self.vector(node.bits)
        words = [self.word(x) for x in operands]
        if op in _BINARY:
            return self.emit(f"{_BINARY[op]} {kind} {words[0]}, {words[1]}")
        if op in _COMPARED:
            return self.emit(f"icmp {_COMPARED[op]} {self.vector(operands[0].bits)} {words[0]}, {words[1]}")
        if op in _RESIZED:
            return self.emit(f"{_RESIZED[op]} {self.vector(operands[0].bits)} {words[0]} to {kind}")
        if op is Op.SELECT:
            return self.emit(f"select {self.vector(1)} {words[0]}, {kind} {words[1]}, {kind} {words[2]}")
        if op is Op.FUSED_MULTIPLY_ADD:
            return self._fused_multiply_add(node, words)
        return self._call(_INTRINSICS[op], kind, f"v{self.lanes}i{node.bits}", words, _FLAGS.get(op, ""))

    def _call(self, intrinsic: str, kind: str, suffix: str, words: Sequence[str], flags: str = "") -> str:
        name = f"@llvm.{intrinsic}.{suffix}"
        flag = ", i1" if flags else ""
        self.declarations.add(f"declare {kind} {name}({', '.join([kind] * len(words))}{flag})")
        return self.emit(f"call {kind} {name}({', '.join(f'{kind} {w}' for w in words)}{flags})")

    def _fused_multiply_add(self, node: Node, words: Sequence[str]) -> str:
        kind, number = self.vector(node.bits), "float" if node.bits == 32 else "double"
        numbers = f"<{self.lanes} x {number}>"
        read = [self.emit(f"bitcast {kind} {w} to {numbers}") for w in words]
        total = self._call("fma", numbers, f"v{self.lanes}f{node.bits}", read)
        return self.emit(f"bitcast {numbers} {total} to {kind}")
