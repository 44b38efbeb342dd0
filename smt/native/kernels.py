"""Compiled functions of rows: found in this process, in the cache, or compiled; always checked before use.

Their LLVM IR computes a dot product, or truths about one, for each row of a batch. A vector holds one element for each
of several rows. Operands lie row by row in memory, so a block of rows is loaded as it lies and its columns are taken
apart by shuffles, in as many rounds as the number of columns has bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.algebra.nodes import LANES, Node, Op, needed
from mmaproof.smt.evaluate import evaluate_on_arrays
from mmaproof.smt.native import compiler
from mmaproof.smt.native.compiler import MachineCode, Recipe, Source, checked, once, processor, sample
from mmaproof.smt.native.lowering import InputColumn, Writer, continued, input_columns, lower

NAME = "rows"
MXCSR = 0x1F80
"""The control register of x86-64 at its default: nearest even, subnormals used and produced, exceptions masked."""

ATTRIBUTES = '"min-legal-vector-width"="512" "prefer-vector-width"="512"'

_LOOP = """
define void @{name}({arguments}, i64 %blocks) {attributes} {{
entry:{before}
  br label %loop
loop:
  %block = phi i64 [0, %entry], [%next, %loop]
{body}
  %next = add i64 %block, 1
  %more = icmp ult i64 %next, %blocks
  br i1 %more, label %loop, label %exit
exit:{after}
  ret void
}}
"""
_ROUNDING_BEFORE = """
  %default = alloca i32
  %found = alloca i32
  store i32 {mxcsr}, ptr %default
  call void asm sideeffect "stmxcsr $0", "=*m"(ptr elementtype(i32) %found)
  call void asm sideeffect "ldmxcsr $0", "*m"(ptr elementtype(i32) %default)"""
_ROUNDING_AFTER = """
  call void asm sideeffect "ldmxcsr $0", "*m"(ptr elementtype(i32) %found)"""


@dataclass(frozen=True)
class Function:
    """A function in LLVM IR, the intrinsics that it calls, and the number of rows that it computes at once."""

    text: str
    declarations: frozenset[str]
    lanes: int


def lanes_for(nodes: Sequence[Node], vector_bits: int) -> int:
    """Return how many rows are computed at once: as many as fill a register with the words that are most common.

    Where some have 128 bits, as many as fill one with those: LLVM takes vectors of them apart, an operation for a row.
    """
    if any(node.bits > LANES[1] for node in nodes):
        return max(vector_bits // LANES[2], 2)
    wide = sum(node.bits > LANES[0] for node in nodes)
    words = sum(node.bits >= LANES[0] for node in nodes)
    return max(vector_bits // (LANES[1] if 2 * wide > words else LANES[0]), 2)


def rows_function(columns: Sequence[InputColumn], outputs: Sequence[tuple[Node, int]], vector_bits: int) -> Function:
    """Return the function of a graph: pointers to the columns and to the outputs, and the number of blocks of rows.

    An output is a node, zero above its pattern, and the bytes of an element.
    """
    nodes = needed([node for node, _ in outputs])
    writer = Writer(lanes_for(nodes, vector_bits), vector_bits)
    used = {node.name: node for node in nodes if node.op is Op.INPUT}
    for column in columns:
        load_rows(writer, column, used)
    writer.write(nodes)
    for i, (node, size) in enumerate(outputs):
        at = writer.emit(f"mul i64 %block, {writer.lanes * size}")
        place = writer.emit(f"getelementptr i8, ptr %d{i}, i64 {at}")
        store(writer, node, place, 8 * size)
    before, after = control_register(nodes)
    pointers = [*(x.name for x in columns), *(f"d{i}" for i in range(len(outputs)))]
    text = loop(NAME, [f"ptr noalias %{x}" for x in pointers], writer.lines, before, after)
    return Function(text, frozenset(writer.declarations), writer.lanes)


def loop(name: str, arguments: Sequence[str], body: Sequence[str], before: str = "", after: str = "") -> str:
    """Return a function that runs ``body`` for each ``%block`` from 0 on; the number of blocks is its last argument."""
    return _LOOP.format(
        name=name,
        arguments=", ".join(arguments),
        attributes=ATTRIBUTES,
        before=before,
        body="\n".join(body),
        after=after,
    )


def control_register(nodes: Sequence[Node]) -> tuple[str, str]:
    """Return what sets the control register before these operations and restores it after them, where they need it."""
    if any(node.op is Op.FUSED_MULTIPLY_ADD for node in nodes):
        return _ROUNDING_BEFORE.format(mxcsr=MXCSR), _ROUNDING_AFTER
    return "", ""


def store(writer: Writer, node: Node, place: str, bits: int) -> None:
    """Store the words of a node, zero above its pattern, as elements of N bits."""
    word = resize(writer, writer.word(node), node.bits, bits)
    writer.lines.append(f"  store {writer.vector(bits)} {word}, ptr {place}, align 1")


def resize(writer: Writer, word: str, bits: int, to_bits: int) -> str:
    """Return words without signs in another width; what is cut off is zero."""
    if bits == to_bits:
        return word
    change = "trunc" if to_bits < bits else "zext"
    return writer.emit(f"{change} {writer.vector(bits)} {word} to {writer.vector(to_bits)}")


def load_rows(writer: Writer, column: InputColumn, used: dict[str, Node]) -> None:
    """Give the inputs of a column, those that are ``used``, their words: of the rows of the current block."""
    item, count = pattern_dtype(column.format).itemsize, len(column.inputs)
    at = writer.emit(f"mul i64 %block, {writer.lanes * item * count}")
    start = writer.emit(f"getelementptr i8, ptr %{column.name}, i64 {at}")
    nodes = [used.get(name) for name in column.inputs]
    word = max(item, 4)
    in_row = item * count // word
    if item * count % word == 0 and in_row & (in_row - 1) == 0:
        words = _columns(writer, [_vector(writer, start, i, word) for i in range(in_row)], 8 * word)
        for i, node in enumerate(nodes):
            if node is not None:
                place = i * item // word
                writer.give(node, _element(writer, words[place], 8 * word, i * item % word * 8, 8 * item, node.bits))
    else:
        for i, node in enumerate(nodes):
            if node is not None:
                writer.give(node, _gathered(writer, start, i, count, item, node.bits))


def _vector(writer: Writer, start: str, index: int, size: int) -> str:
    place = writer.emit(f"getelementptr i8, ptr {start}, i64 {index * writer.lanes * size}")
    return writer.emit(f"load {writer.vector(8 * size)}, ptr {place}, align 1")


def _columns(writer: Writer, vectors: list[str], bits: int) -> list[str]:
    """Return every n-th element of n vectors that lie one after the other, from the first, the second, and so on."""
    if len(vectors) == 1:
        return vectors
    pairs = list(zip(vectors[0::2], vectors[1::2], strict=True))
    even, odd = (
        _columns(writer, [_every_second(writer, x, y, bits, first) for x, y in pairs], bits) for first in (0, 1)
    )
    return [column for pair in zip(even, odd, strict=True) for column in pair]


def _every_second(writer: Writer, x: str, y: str, bits: int, first: int) -> str:
    kind, lanes = writer.vector(bits), writer.lanes
    chosen = ", ".join(f"i32 {2 * i + first}" for i in range(lanes))
    return writer.emit(f"shufflevector {kind} {x}, {kind} {y}, <{lanes} x i32> <{chosen}>")


def _element(writer: Writer, word: str, word_bits: int, low: int, size: int, bits: int) -> str:
    """Return ``size`` bits of words, from bit ``low`` on, in words of ``bits``."""
    kind = writer.vector(word_bits)
    if low:
        word = writer.emit(f"lshr {kind} {word}, {writer.splat(low, word_bits)}")
    if low + size < word_bits:
        word = writer.emit(f"and {kind} {word}, {writer.splat((1 << size) - 1, word_bits)}")
    return resize(writer, word, word_bits, bits)


def _gathered(writer: Writer, start: str, index: int, count: int, item: int, bits: int) -> str:
    """Return one element of each row, loaded one by one."""
    kind = writer.vector(8 * item)
    vector = "poison"
    for row in range(writer.lanes):
        place = writer.emit(f"getelementptr i8, ptr {start}, i64 {(row * count + index) * item}")
        element = writer.emit(f"load i{8 * item}, ptr {place}, align 1")
        vector = writer.emit(f"insertelement {kind} {vector}, i{8 * item} {element}, i64 {row}")
    return resize(writer, vector, 8 * item, bits)


@dataclass(frozen=True)
class RowsKernel:
    """Machine code that reads the columns of a row and stores an element of each output."""

    columns: tuple[InputColumn, ...]
    outputs: tuple[np.dtype[Any], ...]
    lanes: int
    code: MachineCode

    def run(self, batch: OperandBatch) -> list[npt.NDArray[Any]]:
        """Return the outputs, each of shape (rows,); ``batch`` has the formats and lengths of the columns."""
        rows, whole = len(batch), len(batch) // self.lanes
        blocks = -(-rows // self.lanes)
        results = [np.empty(blocks * self.lanes, dtype=x) for x in self.outputs]
        if whole:
            self._call(batch.select(slice(whole * self.lanes)), results, whole)
        if blocks > whole:
            last = batch.select(np.minimum(np.arange(whole * self.lanes, blocks * self.lanes), rows - 1))
            self._call(last, [x[whole * self.lanes :] for x in results], 1)
        return [x[:rows] for x in results]

    def _call(self, batch: OperandBatch, results: Sequence[npt.NDArray[Any]], blocks: int) -> None:
        held = [x for x in (batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b) if x is not None]
        # kept in a list until the call is over: a temporary array must not go before
        arrays = [
            np.ascontiguousarray(x, dtype=pattern_dtype(column.format))
            for x, column in zip(held, self.columns, strict=True)
        ]
        self._function(*(x.ctypes.data for x in (*arrays, *results)), blocks)

    @cached_property
    def _function(self) -> Any:
        pointers = [ctypes.c_void_p] * (len(self.columns) + len(self.outputs))
        return ctypes.CFUNCTYPE(None, *pointers, ctypes.c_size_t)(self.code.addresses[NAME])


def key_of(design: Design, length: int) -> str:
    """Return the key of a kernel of rows in the cache."""
    return compiler.identity(design, kind="rows", length=length)


_loaded: dict[tuple[Design, int], RowsKernel] = {}


def is_loaded(design: Design, length: int) -> bool:
    """Return whether a kernel is in this process."""
    return (design, length) in _loaded


def is_kept(design: Design, length: int) -> bool:
    """Return whether a kernel is in the cache."""
    return compiler.has(key_of(design, length))


def rows_kernel(design: Design, length: int) -> RowsKernel:
    """Return the kernel of a design and a length, compiled where it is neither loaded nor kept.

    Raises TooWideError where numbers need more than 128 bits, TargetUnavailable where llvmlite is missing,
    MiscompiledError where what was compiled just now is wrong.
    """
    return once(_loaded, (design, length), lambda: _recipe(design, length))


def _recipe(design: Design, length: int) -> Recipe[RowsKernel]:
    columns, dtype = input_columns(design, length), pattern_dtype(design.d_format)

    def source() -> Source:
        lowered = lower(design, length, fused_multiply_add=processor().has_fused_multiply_add)
        return rows_source(columns, [(lowered.d, dtype.itemsize)])

    return Recipe(
        f"{design.name} (k = {length})",
        key_of(design, length),
        [NAME],
        source,
        lambda code, sizes: RowsKernel(columns, (dtype,), sizes["lanes"], code),
        lambda kernel: kernel.run(sample(columns))[0],
        lambda: evaluate_on_arrays(design, sample(columns)),
    )


def rows_source(columns: Sequence[InputColumn], outputs: Sequence[tuple[Node, int]]) -> Source:
    """Return the function of a graph for the recipe of a kernel of rows."""
    function = rows_function(columns, outputs, processor().vector_bits)
    return Source([function.text], function.declarations, {"lanes": function.lanes}, optimised=False)


def truths_kernel(
    what: str,
    columns: tuple[InputColumn, ...],
    truths: Sequence[Node],
    on_arrays: Callable[[OperandBatch], Sequence[npt.NDArray[np.bool_]]],
) -> RowsKernel:
    """Return a kernel of truth values about rows, whose outputs are bytes of 0 and 1; it is not kept.

    ``on_arrays`` computes the same, to check it. Raises as ``rows_kernel``.
    """
    byte = np.dtype(np.uint8)
    recipe = Recipe(
        what,
        None,
        [NAME],
        lambda: rows_source(columns, [(x, byte.itemsize) for x in truths]),
        lambda code, sizes: RowsKernel(columns, (byte,) * len(truths), sizes["lanes"], code),
        lambda kernel: np.concatenate(kernel.run(sample(columns))),
        lambda: np.concatenate(on_arrays(sample(columns))).astype(byte),
    )
    return checked(recipe)


def evaluate_natively(design: Design, batch: OperandBatch) -> Patterns:
    """Return the patterns of d, shape (rows,); ``batch`` was checked against the design.

    The d of one instruction is the c of the next. On the way it is lost whether an infinity was produced or handed in.
    Where that matters (``chain_infinity``), rows that were infinite are computed again, on arrays. Raises what
    ``rows_kernel`` raises.
    """
    if batch.k <= design.k:
        return rows_kernel(design, batch.k).run(batch)[0]
    d, of_step = batch.c, design
    was_infinite = np.zeros(len(batch), dtype=bool)
    for first in range(0, batch.k, design.k):
        if first:
            of_step = continued(design)
            was_infinite |= is_infinite(design.d_format, d)
        (d,) = rows_kernel(of_step, design.k).run(instruction(design, batch, first, d))
    if not design.chain.keeps_infinities and was_infinite.any():
        d[was_infinite] = evaluate_on_arrays(design, batch.select(was_infinite))
    return d


def instruction(design: Design, batch: OperandBatch, first: int, c: Patterns) -> OperandBatch:
    """Return the operands of the instruction at ``first``, a multiple of its K."""
    part, blocks = slice(first, first + design.k), design.blocks(design.k)
    of_blocks = slice(first // design.k * blocks, (first // design.k + 1) * blocks)
    scales = (None if x is None else x[:, of_blocks] for x in (batch.scale_a, batch.scale_b))
    return OperandBatch(batch.a[:, part], batch.b[:, part], c, *scales)


def is_infinite(fmt: Format, patterns: Patterns) -> npt.NDArray[np.bool_]:
    """Return which patterns are infinities."""
    if fmt.infinity is None:
        return np.zeros(patterns.shape, dtype=bool)
    kept = ((1 << fmt.sign_position) - 1) & ~((1 << fmt.ignored_bits) - 1)
    found: npt.NDArray[np.bool_] = (patterns & patterns.dtype.type(kept)) == fmt.infinity
    return found
