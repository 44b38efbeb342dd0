"""Compiled functions of rows: found in this process, in the cache, or compiled; always checked before use."""

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
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.arrays import evaluate_on_arrays
from mmaproof.smt.native import cache
from mmaproof.smt.native.checked import MOST_LOADED, Recipe, Source, checked, compiling, sample
from mmaproof.smt.native.compiler import MachineCode, processor
from mmaproof.smt.native.lowering import InputColumn, continued, input_columns, lower
from mmaproof.smt.native.rows import NAME, rows_function


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
    return cache.identity(design, kind="rows", length=length)


_loaded: dict[tuple[Design, int], RowsKernel] = {}


def is_loaded(design: Design, length: int) -> bool:
    """Return whether a kernel is in this process."""
    return (design, length) in _loaded


def is_kept(design: Design, length: int) -> bool:
    """Return whether a kernel is in the cache."""
    return cache.has(key_of(design, length))


def rows_kernel(design: Design, length: int) -> RowsKernel:
    """Return the kernel of a design and a length, compiled where it is neither loaded nor kept.

    Raises TooWideError where numbers need more than 128 bits, TargetUnavailable where llvmlite is missing,
    MiscompiledError where what was compiled just now is wrong.
    """
    if (found := _loaded.get((design, length))) is not None:
        return found
    with compiling():
        found = _loaded.get((design, length)) or checked(_recipe(design, length))
        if len(_loaded) >= MOST_LOADED:
            del _loaded[next(iter(_loaded))]
        _loaded[design, length] = found
    return found


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
