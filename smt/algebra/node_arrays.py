"""Nodes of a graph computed on NumPy arrays: a word for each of many rows, in the order of the rows.

Words of 32 and 64 bits are uint32 and uint64, truth values are bool. Wider words are not computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.smt.algebra.nodes import Node, Op, UndefinedOperationError, needed

Words = npt.NDArray[Any]
"""One word for each row, or a NumPy scalar for all of them."""

_TYPES: Mapping[int, type[Any]] = {1: np.bool_, 32: np.uint32, 64: np.uint64}
_SIGNED: Mapping[int, type[Any]] = {32: np.int32, 64: np.int64}


def is_computable(nodes: Sequence[Node]) -> bool:
    """Return whether ``run_on_arrays`` computes all of these nodes."""
    return all(x.bits in _TYPES and (x.op in _OPERATIONS or x.op in (Op.INPUT, Op.CONSTANT)) for x in nodes)


def run_on_arrays(outputs: Sequence[Node], inputs: Mapping[str, npt.NDArray[np.unsignedinteger]]) -> list[Words]:
    """Return the words ``outputs`` for every row, from the inputs by name; each node is computed once.

    What no other node needs any more is not held. Raises UndefinedOperationError for a node that is not computable.
    """
    nodes = needed(outputs)
    uses = Counter(operand for node in nodes for operand in node.operands)
    uses.update(outputs)
    words: dict[Node, Words] = {}
    for node in nodes:
        words[node] = _computed(node, words, inputs)
        for operand in node.operands:
            uses[operand] -= 1
            if not uses[operand]:
                words.pop(operand, None)
    return [words[node] for node in outputs]


def _computed(node: Node, words: Mapping[Node, Words], inputs: Mapping[str, npt.NDArray[np.unsignedinteger]]) -> Words:
    if node.op is Op.INPUT:
        return inputs[node.name].astype(_TYPES[node.bits])
    if node.op is Op.CONSTANT:
        constant: Words = _TYPES[node.bits](node.value)
        return constant
    operation = _OPERATIONS.get(node.op)
    if operation is None or node.bits not in _TYPES:
        raise UndefinedOperationError(f"{node.op} of {node.bits} bits is not computed on arrays")
    return operation(node, *(words[x] for x in node.operands))


def _as_signed(x: Words) -> Words:
    return x.view(_SIGNED[8 * x.dtype.itemsize])


def _signed(function: Callable[[Words, Words], Words]) -> Callable[[Node, Words, Words], Words]:
    """Return an operation on two words in two's complement; its result is words without signs, or truth values."""

    def operation(node: Node, x: Words, y: Words) -> Words:
        return function(_as_signed(x), _as_signed(y)).view(_TYPES[node.bits])

    return operation


def _plain(function: Callable[..., Words]) -> Callable[..., Words]:
    def operation(node: Node, *words: Words) -> Words:
        return function(*words)

    return operation


def _magnitude(node: Node, x: Words) -> Words:
    return np.abs(_as_signed(x)).view(_TYPES[node.bits])


def _leading_zeros(node: Node, x: Words) -> Words:
    # with the second highest one bit cleared, no conversion to float64 rounds up to the next power of two
    _, length = np.frexp((x & ~(x >> x.dtype.type(1))).astype(np.float64))
    places: Words = node.bits - length
    return places.astype(_TYPES[node.bits])


def _extend_signed(node: Node, x: Words) -> Words:
    return _as_signed(x).astype(_SIGNED[node.bits]).view(_TYPES[node.bits])


def _resized(node: Node, x: Words) -> Words:
    return x.astype(_TYPES[node.bits])


_OPERATIONS: Mapping[Op, Callable[..., Words]] = {
    Op.ADD: _plain(np.add),
    Op.SUBTRACT: _plain(np.subtract),
    Op.MULTIPLY: _plain(np.multiply),
    Op.AND: _plain(np.bitwise_and),
    Op.OR: _plain(np.bitwise_or),
    Op.XOR: _plain(np.bitwise_xor),
    Op.SHIFT_LEFT: _plain(np.left_shift),
    Op.SHIFT_RIGHT: _plain(np.right_shift),
    Op.SHIFT_RIGHT_SIGNED: lambda node, x, y: (_as_signed(x) >> _as_signed(y)).view(_TYPES[node.bits]),
    Op.MINIMUM: _plain(np.minimum),
    Op.MAXIMUM: _plain(np.maximum),
    Op.MINIMUM_SIGNED: _signed(np.minimum),
    Op.MAXIMUM_SIGNED: _signed(np.maximum),
    Op.MAGNITUDE: _magnitude,
    Op.LEADING_ZEROS: _leading_zeros,
    Op.EQUAL: _plain(np.equal),
    Op.LESS: _plain(np.less),
    Op.LESS_SIGNED: _signed(np.less),
    Op.SELECT: _plain(np.where),
    Op.ZERO_EXTEND: _resized,
    Op.SIGN_EXTEND: _extend_signed,
    Op.TRUNCATE: _resized,
}
"""Of each operation, what takes the node and the words of its operands. Shifts meet amounts below the width only."""
