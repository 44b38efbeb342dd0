"""A design evaluated on many operands by NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.designs.signature import Signature
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate

ARRAYS = ArrayAlgebra()

CHUNK_ROWS = 8192
"""Rows evaluated at once: intermediate arrays of 64 KiB stay in the second-level cache."""


@dataclass(frozen=True, slots=True)
class SharedBatch(OperandBatch):
    """At most CHUNK_ROWS rows on which many designs of one signature are evaluated, and which nobody changes.

    What two of them read alike is read once. (More rows are evaluated as any others are.)
    """

    _words: dict[Signature, OperandWords[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, batch: OperandBatch) -> SharedBatch:
        """Return the rows of a batch."""
        return cls(batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b)

    def words(self, design: Design) -> OperandWords[Any]:
        """Return the operands as words, with the factors that designs before this one have read."""
        if design.signature not in self._words:
            self._words[design.signature] = replace(_operand_words(design, self), read={})
        return self._words[design.signature]


def evaluate_on_arrays(design: Design, batch: OperandBatch) -> Patterns:
    """Return the patterns of d, shape (rows,), computed on arrays; ``batch`` was checked against the design."""
    result = np.empty(len(batch), dtype=pattern_dtype(design.d_format))
    for first in range(0, len(batch), CHUNK_ROWS):
        if isinstance(batch, SharedBatch) and len(batch) <= CHUNK_ROWS:
            words = batch.words(design)
        else:
            words = _operand_words(design, batch.select(slice(first, first + CHUNK_ROWS)))
        returned = dot_product_accumulate(design, ARRAYS, words).d.data
        result[first : first + CHUNK_ROWS] = returned.astype(result.dtype)
    return result


def _operand_words(design: Design, batch: OperandBatch) -> OperandWords[Any]:
    a, b, c, _ = design.formats
    return OperandWords(
        [ARRAYS.from_patterns(column, a.bits) for column in batch.a.T],
        [ARRAYS.from_patterns(column, b.bits) for column in batch.b.T],
        ARRAYS.from_patterns(batch.c, c.bits),
        _scale_words(design, batch.scale_a),
        _scale_words(design, batch.scale_b),
    )


def _scale_words(design: Design, scales: Patterns | None) -> list[Word[Any]]:
    if scales is None or design.scale_format is None:
        return []
    return [ARRAYS.from_patterns(column, design.scale_format.bits) for column in scales.T]
