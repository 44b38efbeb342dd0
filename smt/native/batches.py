"""Batches by native code. A dot product longer than an instruction is a chain of instructions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.smt.arrays import evaluate_on_arrays
from mmaproof.smt.native.kernels import rows_kernel
from mmaproof.smt.native.lowering import continued


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
