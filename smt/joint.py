"""Many designs on the same operands. They are lowered to one graph: what they have in common is computed once.

A design differs from the next one in a few stages, often in none that has an effect. Nodes that two designs share are
one node, so a hundred designs that are much alike take the time of twenty.

Nodes of a graph computed on NumPy arrays: a word for each of many rows, in the order of the rows.

Words of 32 and 64 bits are uint32 and uint64, truth values are bool. Words of 128 bits are Python integers in arrays of
objects: exact, some fifty times slower, and rare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError
from mmaproof.smt.algebra.nodes import Node, Op, UndefinedOperationError, mask, needed
from mmaproof.smt.native.lowering import input_columns, symbols
from mmaproof.smt.semantics import dot_product_accumulate

Words = npt.NDArray[Any]
"""One word for each row, or a NumPy scalar for all of them."""

_TYPES: Mapping[int, type[Any]] = {1: np.bool_, 32: np.uint32, 64: np.uint64, 128: np.object_}
_SIGNED: Mapping[int, type[Any]] = {32: np.int32, 64: np.int64}


def run_on_arrays(outputs: Sequence[Node], inputs: Mapping[str, npt.NDArray[np.unsignedinteger]]) -> list[Words]:
    """Return the words ``outputs`` for every row, from the inputs by name; each node is computed once.

    What no other node needs any more is not held. Raises UndefinedOperationError for a fused multiply-add.
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
        return np.asarray(node.value, dtype=_TYPES[node.bits])
    operation = _OPERATIONS.get(node.op)
    if operation is None:
        raise UndefinedOperationError(f"{node.op} is not computed on arrays")
    return operation(node, *(words[x] for x in node.operands))


def _number(node: Node, operand: int, x: Words) -> Words:
    """Return the words of an operand, which are in two's complement, as numbers with signs."""
    bits = node.operands[operand].bits
    return x.view(_SIGNED[bits]) if bits in _SIGNED else (x ^ 1 << (bits - 1)) - (1 << (bits - 1))


def _words(node: Node, numbers: Words) -> Words:
    """Return numbers modulo 2**n as the words of a node, and truth values as they are."""
    if node.bits == 1:
        return numbers
    return numbers.view(_TYPES[node.bits]) if node.bits in _SIGNED else numbers & mask(node.bits)


def _plain(function: Callable[..., Words]) -> Callable[..., Words]:
    return lambda node, *words: _words(node, function(*words))


def _signed(function: Callable[..., Words]) -> Callable[..., Words]:
    """Return an operation on words in two's complement."""
    return lambda node, *words: _words(node, function(*(_number(node, i, x) for i, x in enumerate(words))))


def _leading_zeros(node: Node, x: Words) -> Words:
    if node.bits not in _SIGNED:
        return np.subtract(node.bits, np.frompyfunc(int.bit_length, 1, 1)(x))
    # with the second highest one bit cleared, no conversion to float64 rounds up to the next power of two
    _, length = np.frexp((x & ~(x >> x.dtype.type(1))).astype(np.float64))
    places: Words = np.subtract(node.bits, length)
    return places.astype(_TYPES[node.bits])


def _shift_out(node: Node, x: Words, y: Words) -> Words:
    last = y.dtype.type(node.bits - 1)
    shifted: Words = np.where(y <= last, x >> np.minimum(y, last), x.dtype.type(0))
    return shifted


def _extend_signed(node: Node, x: Words) -> Words:
    return _words(node, _number(node, 0, x).astype(_SIGNED.get(node.bits, object)))


_OPERATIONS: Mapping[Op, Callable[..., Words]] = {
    Op.ADD: _plain(np.add),
    Op.SUBTRACT: _plain(np.subtract),
    Op.MULTIPLY: _plain(np.multiply),
    Op.AND: _plain(np.bitwise_and),
    Op.OR: _plain(np.bitwise_or),
    Op.XOR: _plain(np.bitwise_xor),
    Op.SHIFT_LEFT: _plain(np.left_shift),
    Op.SHIFT_RIGHT: _plain(np.right_shift),
    Op.SHIFT_OUT: _shift_out,
    Op.SHIFT_RIGHT_SIGNED: _signed(np.right_shift),
    Op.MINIMUM: _plain(np.minimum),
    Op.MAXIMUM: _plain(np.maximum),
    Op.MINIMUM_SIGNED: _signed(np.minimum),
    Op.MAXIMUM_SIGNED: _signed(np.maximum),
    Op.MAGNITUDE: _signed(np.abs),
    Op.LEADING_ZEROS: _leading_zeros,
    Op.EQUAL: _plain(np.equal),
    Op.LESS: _plain(np.less),
    Op.LESS_SIGNED: _signed(np.less),
    Op.SELECT: _plain(np.where),
    Op.ZERO_EXTEND: lambda node, x: x.astype(_TYPES[node.bits]),
    Op.SIGN_EXTEND: _extend_signed,
    Op.TRUNCATE: lambda node, x: (x & mask(node.bits)).astype(_TYPES[node.bits]),
}
"""Of each operation, what takes the node and the words of its operands. Shifts but ``SHIFT_OUT`` meet amounts
below the width only."""


class JointDesigns:
    """Designs of the signature of ``design`` in one graph, for dot products of ``length``."""

    def __init__(self, design: Design, length: int) -> None:
        self.signature = design.signature
        self._columns = input_columns(design, length)
        self._algebra = CodeAlgebra()
        self._operands = replace(symbols(self._algebra, self._columns), read={})

    def add(self, design: Design) -> Node | None:
        """Return the node that is d of a design; None where its numbers need more than 128 bits.

        Raises DesignError for a design of another signature, and where the length does not fit.
        """
        if design.signature != self.signature:
            raise DesignError(f"{design.name} has other formats than the designs that it is computed with")
        try:
            return dot_product_accumulate(design, self._algebra, self._operands).d.data.node
        except TooWideError:
            return None

    def results(self, nodes: Sequence[Node], batch: OperandBatch) -> list[Patterns]:
        """Return for each of the nodes the patterns of d, shape (rows,); the operands were checked with a design."""
        scales = [x.T for x in (batch.scale_a, batch.scale_b) if x is not None]
        arrays = (batch.a.T, batch.b.T, batch.c[np.newaxis], *scales)
        inputs = {
            name: column
            for of_inputs, columns in zip(self._columns, arrays, strict=True)
            for name, column in zip(of_inputs.inputs, columns, strict=True)
        }
        dtype = pattern_dtype(self.signature.d)
        return [np.broadcast_to(x, len(batch)).astype(dtype) for x in run_on_arrays(nodes, inputs)]
