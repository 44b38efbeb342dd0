"""Graphs of machine operations with one operation changed, each as a compiler or a printer might get it wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mmaproof.smt.algebra.nodes import Node, Op, mask
from mmaproof.smt.native.terms import Recorded

SPACE = 4
"""New operations get numbers between those of the old ones."""

OTHER: dict[Op, tuple[Op, ...]] = {
    Op.ADD: (Op.SUBTRACT, Op.OR),
    Op.SUBTRACT: (Op.ADD,),
    Op.MULTIPLY: (Op.ADD,),
    Op.AND: (Op.OR, Op.XOR),
    Op.OR: (Op.AND, Op.XOR),
    Op.XOR: (Op.OR, Op.AND),
    Op.SHIFT_LEFT: (Op.SHIFT_RIGHT,),
    Op.SHIFT_RIGHT: (Op.SHIFT_RIGHT_SIGNED, Op.SHIFT_LEFT),
    Op.SHIFT_OUT: (Op.SHIFT_RIGHT, Op.SHIFT_RIGHT_SIGNED),
    Op.SHIFT_RIGHT_SIGNED: (Op.SHIFT_RIGHT,),
    Op.MINIMUM: (Op.MAXIMUM, Op.MINIMUM_SIGNED),
    Op.MAXIMUM: (Op.MINIMUM, Op.MAXIMUM_SIGNED),
    Op.MINIMUM_SIGNED: (Op.MINIMUM, Op.MAXIMUM_SIGNED),
    Op.MAXIMUM_SIGNED: (Op.MAXIMUM, Op.MINIMUM_SIGNED),
    Op.EQUAL: (Op.LESS, Op.LESS_SIGNED),
    Op.LESS: (Op.LESS_SIGNED, Op.EQUAL),
    Op.LESS_SIGNED: (Op.LESS,),
    Op.LEADING_ZEROS: (Op.MAGNITUDE,),
    Op.ZERO_EXTEND: (Op.SIGN_EXTEND,),
    Op.SIGN_EXTEND: (Op.ZERO_EXTEND,),
}
"""What an operation is taken for."""

LEFT_OUT = frozenset(
    {Op.MINIMUM, Op.MAXIMUM, Op.MINIMUM_SIGNED, Op.MAXIMUM_SIGNED, Op.MAGNITUDE, Op.OR, Op.AND, Op.XOR}
)
"""Operations that are left out: clamps, guards and masks."""


@dataclass(frozen=True)
class Mutation:
    """A change of the operation at a position of a graph."""

    position: int
    op: Op
    what: str

    def __str__(self) -> str:
        return f"{self.position}: {self.op}, {self.what}"


def mutations(recorded: Recorded) -> Iterator[Mutation]:
    """Yield every change of one operation of a graph."""
    for position, node in enumerate(recorded.lowered.nodes):
        for what in _changes(node):
            yield Mutation(position, node.op, what)


def mutate(recorded: Recorded, mutation: Mutation) -> None:
    """Change the graph in place."""
    for node in recorded.lowered.graph.nodes:
        node.number *= SPACE
    node = recorded.lowered.nodes[mutation.position]
    _changes(node)[mutation.what]()


def _changes(node: Node) -> dict[str, Callable[[], None]]:
    changes: dict[str, Callable[[], None]] = {}

    def become(op: Op, operands: tuple[Node, ...], value: int = 0) -> None:
        node.op, node.operands, node.value = op, operands, value

    def of_words(op: Op) -> bool:
        return node.bits > 1 or op in (Op.AND, Op.OR, Op.XOR) or op in (Op.EQUAL, Op.LESS, Op.LESS_SIGNED)

    for op in OTHER.get(node.op, ()):
        if of_words(op) and not (op is Op.SIGN_EXTEND and node.operands[0].bits == 1 and node.bits == 1):
            changes[f"taken for {op}"] = lambda op=op: become(op, node.operands)  # type: ignore[misc]
    if node.op in LEFT_OUT:
        for i, operand in enumerate(node.operands):
            changes[f"left out, operand {i} in its place"] = lambda x=operand: become(Op.OR, (x, x))  # type: ignore[misc]
    match node.op:
        case Op.CONSTANT if node.bits == 1:
            changes["the opposite"] = lambda: become(Op.CONSTANT, (), 1 - node.value)
        case Op.CONSTANT:
            for by in (-1, 1):
                value = (node.value + by) & mask(node.bits)
                changes[f"{by:+d}"] = lambda v=value: become(Op.CONSTANT, (), v)  # type: ignore[misc]
        case Op.SELECT:
            condition, x, y = node.operands
            changes["exchanged"] = lambda: become(Op.SELECT, (condition, y, x))
        case Op.SUBTRACT | Op.LESS | Op.LESS_SIGNED:
            changes["operands exchanged"] = lambda: become(node.op, node.operands[::-1])
        case _:
            pass
    if node.op not in (Op.INPUT, Op.CONSTANT) and node.bits > 1:
        changes["a lane of 12 bits fewer"] = lambda: _narrow(node, 12)
        changes["a lane one bit narrower"] = lambda: _narrow(node, 1)
    return changes


def _narrow(node: Node, places: int) -> None:
    """Let a result lose its upper bits, as in a lane that is so much narrower."""
    whole = Node(node.op, node.operands, node.bits, node.number - 2, name=node.name, width=node.width, value=node.value)
    kept = Node(Op.CONSTANT, (), node.bits, node.number - 1, value=mask(node.bits - places))
    node.op, node.operands, node.value = Op.AND, (whole, kept), 0
