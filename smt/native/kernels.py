"""Compiled dot products of rows: found in this process, in the cache, or compiled; always checked before use."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.arrays import evaluate_on_arrays
from mmaproof.smt.native import cache
from mmaproof.smt.native.compiler import MachineCode, compile_object, processor
from mmaproof.smt.native.lowering import lower
from mmaproof.smt.native.paying import too_wide_is_remembered
from mmaproof.smt.native.rows import NAME, rows_function

MOST_LOADED = 1024
"""Kernels in this process; then the oldest one goes."""

CHECKED_ROWS = 128
"""Rows on which code is run before it is used, compiled or read: the d of all must be what arrays give."""


class MiscompiledError(Exception):
    """Compiled code returned another d than arrays do (an internal error)."""


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

    @property
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
        found = _loaded.get((design, length)) or _kept(design, length) or _compiled(design, length)
        if len(_loaded) >= MOST_LOADED:
            del _loaded[next(iter(_loaded))]
        _loaded[design, length] = found
    return found


def _kept(design: Design, length: int) -> RowsKernel | None:
    entry = cache.find(key_of(design, length))
    if entry is None:
        return None
    kernel = RowsKernel(design, length, entry.lanes, MachineCode(entry.compiled, [NAME]))
    return kernel if kernel.run(_sample(design, length)).tolist() == list(entry.checked) else None


def _compiled(design: Design, length: int) -> RowsKernel:
    cpu = processor()
    lowered = lower(design, length, fused_multiply_add=cpu.has_fused_multiply_add)
    function = rows_function(lowered, cpu.vector_bits)
    compiled = compile_object([function.text], function.declarations)
    kernel = RowsKernel(design, length, function.lanes, MachineCode(compiled, [NAME]))
    sample = _sample(design, length)
    expected = evaluate_on_arrays(design, sample)
    wrong = np.flatnonzero(kernel.run(sample) != expected)
    if len(wrong):
        raise MiscompiledError(
            f"native code of {design.name} (k = {length}) differs from arrays on {len(wrong)} of {CHECKED_ROWS} rows, "
            f"first on {sample.row(int(wrong[0]))}: use --backend arrays, and report this"
        )
    cache.keep(key_of(design, length), cache.Entry(compiled, function.lanes, tuple(expected.tolist())))
    return kernel


@lru_cache(maxsize=8)
def _sample(design: Design, length: int) -> OperandBatch:
    """Return the rows that code is checked on: numbers near one, and anything."""
    rng, rows = np.random.default_rng(0), CHECKED_ROWS
    a, b, c, _ = design.formats
    columns = [_patterns(rng, f, shape) for f, shape in ((a, (rows, length)), (b, (rows, length)), (c, (rows,)))]
    if (fmt := design.scale_format) is not None:
        columns += [_patterns(rng, fmt, (rows, design.blocks(length))) for _ in "ab"]
    return OperandBatch(*columns)


def _patterns(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...]) -> Patterns:
    """Return random patterns: in three of four rows, numbers whose exponents are near that of one."""
    dtype = pattern_dtype(fmt)
    bits: Patterns = rng.integers(0, (1 << fmt.bits) - 1, shape, dtype=np.uint64, endpoint=True).astype(dtype)
    if fmt.is_integer:
        return bits
    low, field = fmt.fraction_bits + fmt.ignored_bits, (1 << fmt.exponent_bits) - 1
    spread = min(8, field // 4)
    near = rng.integers(fmt.bias - spread, fmt.bias + spread, shape, endpoint=True).clip(0, field).astype(np.uint64)
    numbers = (bits & dtype.type(~(field << low) & ((1 << fmt.bits) - 1))) | (near << np.uint64(low)).astype(dtype)
    chosen: Patterns = np.where((np.arange(shape[0]) % 4 != 0).reshape(-1, *[1] * (len(shape) - 1)), numbers, bits)
    return chosen
