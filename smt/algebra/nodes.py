"""Operations of a machine on words of 1, 32, 64 and 128 bits, as nodes of a graph.

This is what is compiled and printed. Every node is one operation with one meaning, stated beside its name in ``Op``;
nothing about it is left to whoever prints it. A result has as many bits as its operands unless the operation says
otherwise. Two nodes that compute the same of the same operands are one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

LANES = (32, 64, 128)
"""The widths of words that hold numbers. Truth values are words of one bit."""

HALF = 15
"""Bits of factors whose product processors compute fastest: those of half a word, without its sign."""


class Op(StrEnum):
    """What a node computes, of words of n bits."""

    INPUT = "input"
    """a word from outside, zero above its ``width`` lowest bits"""
    CONSTANT = "constant"
    """the word ``value``"""
    ADD = "add"
    """x + y modulo 2**n"""
    SUBTRACT = "subtract"
    """x - y modulo 2**n"""
    MULTIPLY = "multiply"
    """x * y modulo 2**n"""
    AND = "and"
    """bit by bit"""
    OR = "or"
    """bit by bit"""
    XOR = "xor"
    """bit by bit"""
    SHIFT_LEFT = "shift-left"
    """x * 2**y modulo 2**n; y is below n"""
    SHIFT_RIGHT = "shift-right"
    """floor(x / 2**y), of x without a sign; y is below n"""
    SHIFT_OUT = "shift-out"
    """floor(x / 2**y), of x without a sign and any y: all bits may be shifted out"""
    SHIFT_RIGHT_SIGNED = "shift-right-signed"
    """floor(x / 2**y), of x in two's complement; y is below n"""
    MINIMUM = "minimum"
    """the smaller one, without signs"""
    MAXIMUM = "maximum"
    """the larger one, without signs"""
    MINIMUM_SIGNED = "minimum-signed"
    """the smaller one, in two's complement"""
    MAXIMUM_SIGNED = "maximum-signed"
    """the larger one, in two's complement"""
    MAGNITUDE = "magnitude"
    """|x| of x in two's complement, as a word without a sign"""
    LEADING_ZEROS = "leading-zeros"
    """the number of zero bits above the highest one bit; x is not zero"""
    EQUAL = "equal"
    """x = y: one bit"""
    LESS = "less"
    """x < y, without signs: one bit"""
    LESS_SIGNED = "less-signed"
    """x < y, in two's complement: one bit"""
    SELECT = "select"
    """x where the first operand (one bit) is one, and y elsewhere"""
    ZERO_EXTEND = "zero-extend"
    """the same number without a sign, in more bits"""
    SIGN_EXTEND = "sign-extend"
    """the same number in two's complement, in more bits"""
    TRUNCATE = "truncate"
    """x modulo 2**n, of a wider x"""
    FUSED_MULTIPLY_ADD = "fused-multiply-add"
    """x * y + z in IEEE 754 binary32 (32 bits) or binary64 (64 bits), rounded once to nearest even"""


COMMUTATIVE = frozenset(
    {
        Op.ADD,
        Op.MULTIPLY,
        Op.AND,
        Op.OR,
        Op.XOR,
        Op.MINIMUM,
        Op.MAXIMUM,
        Op.MINIMUM_SIGNED,
        Op.MAXIMUM_SIGNED,
        Op.EQUAL,
    }
)
SHIFTS = frozenset({Op.SHIFT_LEFT, Op.SHIFT_RIGHT, Op.SHIFT_RIGHT_SIGNED})
COMPARISONS = frozenset({Op.EQUAL, Op.LESS, Op.LESS_SIGNED})


class UndefinedOperationError(ArithmeticError):
    """A node met operands for which its operation has no meaning (an internal error)."""


class Node:
    """One operation. ``bits`` is the width of its result; ``number`` orders the nodes of a graph after their operands.

    ``name`` and ``width`` are those of an input, ``value`` is that of a constant.
    """

    __slots__ = ("bits", "name", "number", "op", "operands", "value", "width")

    def __init__(
        self,
        op: Op,
        operands: tuple[Node, ...],
        bits: int,
        number: int,
        *,
        name: str = "",
        width: int = 0,
        value: int = 0,
    ) -> None:
        self.op = op
        self.operands = operands
        self.bits = bits
        self.number = number
        self.name = name
        self.width = width
        self.value = value

    def __repr__(self) -> str:
        what = self.name or (self.value if self.op is Op.CONSTANT else [x.number for x in self.operands])
        return f"{self.number}: {self.op} {what} ({self.bits} bits)"

    @property
    def is_constant(self) -> bool:
        """Whether this is a constant."""
        return self.op is Op.CONSTANT


class Graph:
    """All nodes that were made, in order: operands come before what uses them."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[object, ...], Node] = {}

    def input(self, name: str, width: int, bits: int) -> Node:
        """Return the input of this name: ``width`` bits in a word of ``bits``."""
        return self._node(Op.INPUT, (), bits, name=name, width=width)

    def constant(self, value: int, bits: int) -> Node:
        """Return ``value`` modulo 2**bits."""
        return self._node(Op.CONSTANT, (), bits, value=value & mask(bits))

    def node(self, op: Op, operands: Sequence[Node], bits: int) -> Node:
        """Return the node of this operation, or a constant where all operands are constants."""
        if operands and all(x.is_constant for x in operands) and op is not Op.FUSED_MULTIPLY_ADD:
            return self.constant(compute(op, [x.value for x in operands], [x.bits for x in operands], bits), bits)
        if op in COMMUTATIVE and operands[0].number > operands[1].number:
            operands = (operands[1], operands[0])
        return self._node(op, tuple(operands), bits)

    def _node(
        self, op: Op, operands: tuple[Node, ...], bits: int, *, name: str = "", width: int = 0, value: int = 0
    ) -> Node:
        key = (op, bits, name, value, *(x.number for x in operands))
        found = self._known.get(key)
        if found is None:
            found = Node(op, operands, bits, len(self.nodes), name=name, width=width, value=value)
            self.nodes.append(found)
            self._known[key] = found
        return found


def mask(bits: int) -> int:
    """Return the word of ``bits`` ones."""
    return (1 << bits) - 1


def needed(outputs: Iterable[Node], given: Iterable[Node] = ()) -> list[Node]:
    """Return the nodes that ``outputs`` are computed from, themselves included, in order.

    Nodes that are ``given`` are among them, and what they are computed from is not.
    """
    stop, found, open_nodes = set(given), set(), list(outputs)
    while open_nodes:
        node = open_nodes.pop()
        if node not in found:
            found.add(node)
            if node not in stop:
                open_nodes += node.operands
    return sorted(found, key=lambda n: n.number)


def most(node: Node) -> int:  # noqa: PLR0911
    """Return a number that a word is at most, without a sign, as its operations alone show."""
    whole = mask(node.bits)
    match node.op:
        case Op.INPUT:
            return mask(node.width)
        case Op.CONSTANT:
            return node.value
        case Op.ZERO_EXTEND:
            return most(node.operands[0])
        case Op.AND | Op.MINIMUM:
            return min(map(most, node.operands))
        case Op.OR:
            return mask(max(most(x).bit_length() for x in node.operands))
        case Op.SELECT:
            return max(map(most, node.operands[1:]))
        case Op.SHIFT_LEFT if node.operands[1].is_constant:
            return min(most(node.operands[0]) << node.operands[1].value, whole)
        case Op.SHIFT_RIGHT if node.operands[1].is_constant:
            return most(node.operands[0]) >> node.operands[1].value
        case _:
            return whole


def run(outputs: Sequence[Node], inputs: Mapping[str, int]) -> list[int]:
    """Return the words ``outputs``, computed on Python integers from the inputs by name.

    Raises UndefinedOperationError where a node meets operands for which it has no meaning.
    """
    words: dict[Node, int] = {}
    for node in needed(outputs):
        if node.op is Op.INPUT:
            words[node] = inputs[node.name]
        elif node.op is Op.CONSTANT:
            words[node] = node.value
        else:
            operands = node.operands
            words[node] = compute(node.op, [words[x] for x in operands], [x.bits for x in operands], node.bits)
    return [words[node] for node in outputs]


def signed(x: int, bits: int) -> int:
    """Return a word read in two's complement."""
    return x - (1 << bits) if x >> (bits - 1) else x


def compute(op: Op, words: Sequence[int], widths: Sequence[int], bits: int) -> int:  # noqa: PLR0911, PLR0912
    """Return the word of ``bits`` that an operation gives of ``words`` of these widths; the meaning of ``Op``.

    Raises UndefinedOperationError where it has none.
    """
    x, n = words[0], widths[0]
    y = words[1] if len(words) > 1 else 0
    if op in SHIFTS and y >= n:
        raise UndefinedOperationError(f"{op} of {n} bits by {y}")
    match op:
        case Op.ADD:
            return (x + y) & mask(bits)
        case Op.SUBTRACT:
            return (x - y) & mask(bits)
        case Op.MULTIPLY:
            return (x * y) & mask(bits)
        case Op.AND:
            return x & y
        case Op.OR:
            return x | y
        case Op.XOR:
            return x ^ y
        case Op.SHIFT_LEFT:
            return (x << y) & mask(bits)
        case Op.SHIFT_RIGHT | Op.SHIFT_OUT:
            return x >> y
        case Op.SHIFT_RIGHT_SIGNED:
            return (signed(x, n) >> y) & mask(bits)
        case Op.MINIMUM:
            return min(x, y)
        case Op.MAXIMUM:
            return max(x, y)
        case Op.MINIMUM_SIGNED:
            return min(x, y, key=lambda w: signed(w, n))
        case Op.MAXIMUM_SIGNED:
            return max(x, y, key=lambda w: signed(w, n))
        case Op.MAGNITUDE:
            return abs(signed(x, n))
        case Op.LEADING_ZEROS:
            if not x:
                raise UndefinedOperationError(f"{op} of zero")
            return n - x.bit_length()
        case Op.EQUAL:
            return int(x == y)
        case Op.LESS:
            return int(x < y)
        case Op.LESS_SIGNED:
            return int(signed(x, n) < signed(y, n))
        case Op.SELECT:
            return y if x else words[2]
        case Op.ZERO_EXTEND:
            return x
        case Op.SIGN_EXTEND:
            return signed(x, n) & mask(bits)
        case Op.TRUNCATE:
            return x & mask(bits)
        case _:
            raise UndefinedOperationError(f"{op} is not computed on integers")
