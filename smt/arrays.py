"""A design evaluated on many operands by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate

ARRAYS = ArrayAlgebra()

CHUNK_ROWS = 8192
"""Rows evaluated at once: intermediate arrays of 64 KiB stay in the second-level cache."""


def evaluate_on_arrays(design: Design, batch: OperandBatch) -> Patterns:
    """Return the patterns of d, shape (rows,), computed on arrays; ``batch`` was checked against the design."""
    a, b, c, d = design.formats
    result = np.empty(len(batch), dtype=pattern_dtype(d))
    for first in range(0, len(batch), CHUNK_ROWS):
        chunk = batch.select(slice(first, first + CHUNK_ROWS))
        words = OperandWords(
            [ARRAYS.from_patterns(column, a.bits) for column in chunk.a.T],
            [ARRAYS.from_patterns(column, b.bits) for column in chunk.b.T],
            ARRAYS.from_patterns(chunk.c, c.bits),
            _scale_words(design, chunk.scale_a),
            _scale_words(design, chunk.scale_b),
        )
        returned = dot_product_accumulate(design, ARRAYS, words).d.data
        result[first : first + CHUNK_ROWS] = returned.astype(result.dtype)
    return result


def _scale_words(design: Design, scales: Patterns | None) -> list[Word[Any]]:
    if scales is None or design.scale_format is None:
        return []
    return [ARRAYS.from_patterns(column, design.scale_format.bits) for column in scales.T]
