"""A design evaluated on concrete operands: one element on integers, many elements on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Operands, Patterns, pattern_dtype
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate, equal_results

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()

CHUNK_ROWS = 8192
"""Rows evaluated at once: intermediate arrays of 64 KiB stay in the second-level cache."""


def trace(design: Design, operands: Operands) -> DotProduct[int, bool]:
    """Return result and signals of ``design`` on one element, computed on integers.

    Raises OperandError where the operands do not fit the design.
    """
    operands.check(design)
    a, b, c, _ = design.formats
    scale_bits = 0 if design.scale_format is None else design.scale_format.bits
    words = OperandWords(
        [_INTEGERS.unsigned(x, a.bits) for x in operands.a],
        [_INTEGERS.unsigned(x, b.bits) for x in operands.b],
        _INTEGERS.unsigned(operands.c, c.bits),
        [_INTEGERS.unsigned(x, scale_bits) for x in operands.scale_a],
        [_INTEGERS.unsigned(x, scale_bits) for x in operands.scale_b],
    )
    return dot_product_accumulate(design, _INTEGERS, words)


def evaluate(design: Design, operands: Operands) -> int:
    """Return the pattern of d of ``design`` on one element, computed on integers."""
    return trace(design, operands).d.data


def evaluate_batch(design: Design, batch: OperandBatch) -> Patterns:
    """Return the patterns of d, shape (rows,), computed on arrays.

    Raises OperandError where shapes or widths do not fit the design.
    """
    batch.check(design)
    a, b, c, d = design.formats
    result = np.empty(len(batch), dtype=pattern_dtype(d))
    for first in range(0, len(batch), CHUNK_ROWS):
        chunk = batch.select(slice(first, first + CHUNK_ROWS))
        words = OperandWords(
            [_ARRAYS.from_patterns(column, a.bits) for column in chunk.a.T],
            [_ARRAYS.from_patterns(column, b.bits) for column in chunk.b.T],
            _ARRAYS.from_patterns(chunk.c, c.bits),
            _scale_words(design, chunk.scale_a),
            _scale_words(design, chunk.scale_b),
        )
        returned = dot_product_accumulate(design, _ARRAYS, words).d.data
        result[first : first + CHUNK_ROWS] = returned.astype(result.dtype)
    return result


def _scale_words(design: Design, scales: Patterns | None) -> list[Word[Any]]:
    if scales is None or design.scale_format is None:
        return []
    return [_ARRAYS.from_patterns(column, design.scale_format.bits) for column in scales.T]


def equal_patterns(fmt: Format, x: Patterns, y: Patterns, *, nan_codes: bool = False) -> npt.NDArray[np.bool_]:
    """Return which results are equal, shape (rows,); see ``equal_results``."""
    words = (_ARRAYS.from_patterns(p, fmt.bits) for p in (x, y))
    equal: npt.NDArray[np.bool_] = (
        np.zeros(len(x), dtype=bool) | equal_results(_ARRAYS, fmt, *words, nan_codes=nan_codes).data
    )
    return equal
