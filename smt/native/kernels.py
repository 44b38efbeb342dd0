"""Compiled dot products of rows: found in this process, in the cache, or compiled; always checked before use."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.arrays import evaluate_on_arrays
from mmaproof.smt.native import cache
from mmaproof.smt.native.checked import Recipe, Source, checked, sample
from mmaproof.smt.native.compiler import MachineCode, processor
from mmaproof.smt.native.lowering import lower
from mmaproof.smt.native.paying import too_wide_is_remembered
from mmaproof.smt.native.rows import NAME, rows_function

MOST_LOADED = 1024
"""Kernels in this process; then the oldest one goes."""


@dataclass(frozen=True)
class RowsKernel:
    """The dot product of ``length`` elements as ``design`` computes it, in machine code."""

    design: Design
    length: int
    lanes: int
    code: MachineCode

    def run(self, batch: OperandBatch) -> Patterns:
        """Return the patterns of d, shape (rows,); ``batch`` was checked against the design."""
        rows, fmt = len(batch), self.design.d_format
        blocks = -(-rows // self.lanes)
        d = np.empty(blocks * self.lanes, dtype=pattern_dtype(fmt))
        whole = rows // self.lanes
        if whole:
            self._call(batch.select(slice(whole * self.lanes)), d, whole)
        if blocks > whole:
            last = batch.select(np.minimum(np.arange(whole * self.lanes, blocks * self.lanes), rows - 1))
            self._call(last, d[whole * self.lanes :], 1)
        return d[:rows]

    def _call(self, batch: OperandBatch, d: Patterns, blocks: int) -> None:
        a, b, c, _ = self.design.formats
        columns = [(batch.a, a), (batch.b, b), (batch.c, c)]
        for scale in (batch.scale_a, batch.scale_b):
            if scale is not None and self.design.scale_format is not None:
                columns.append((scale, self.design.scale_format))
        # kept in a list until the call is over: a temporary array must not go before
        arrays = [np.ascontiguousarray(x, dtype=pattern_dtype(fmt)) for x, fmt in columns]
        self._function(*(x.ctypes.data for x in arrays), d.ctypes.data, blocks)

    @cached_property
    def _function(self) -> Any:
        pointers = [ctypes.c_void_p] * (6 if self.design.scale_format is not None else 4)
        return ctypes.CFUNCTYPE(None, *pointers, ctypes.c_size_t)(self.code.addresses[NAME])


def key_of(design: Design, length: int) -> str:
    """Return the key of a kernel of rows in the cache."""
    return cache.identity(design, kind="rows", length=length)


_loaded: dict[tuple[Design, int], RowsKernel] = {}
_lock = threading.RLock()


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
    with _lock, too_wide_is_remembered(design, length):
        found = _loaded.get((design, length)) or checked(_recipe(design, length))
        if len(_loaded) >= MOST_LOADED:
            del _loaded[next(iter(_loaded))]
        _loaded[design, length] = found
    return found


def _recipe(design: Design, length: int) -> Recipe[RowsKernel]:
    def source() -> Source:
        cpu = processor()
        lowered = lower(design, length, fused_multiply_add=cpu.has_fused_multiply_add)
        function = rows_function(lowered, cpu.vector_bits)
        return Source([function.text], function.declarations, {"lanes": function.lanes}, optimised=False)

    return Recipe(
        f"{design.name} (k = {length})",
        key_of(design, length),
        [NAME],
        source,
        lambda code, sizes: RowsKernel(design, length, sizes["lanes"], code),
        lambda kernel: kernel.run(sample(design, length)),
        lambda: evaluate_on_arrays(design, sample(design, length)),
    )
