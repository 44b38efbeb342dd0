"""Algorithms evaluated on concrete operands: one element on integers, many on arrays, with native code for the unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm
from mmaproof.algorithms.arithmetic import Arithmetic, Step
from mmaproof.algorithms.catalogue import find_algorithm
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import OperandError
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import D, Word
from mmaproof.smt.evaluate import product_natively
from mmaproof.smt.native.paying import MATRICES, accounted
from mmaproof.smt.semantics import OperandWords

if TYPE_CHECKING:
    from mmaproof.smt.native.matrices import Matrices

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()

_MAGNITUDE = (1 << OPERANDS.sign_position) - 1

TILE_ROWS, TILE_COLUMNS = 256, 256
"""Elements of the result that are computed at once. Their arrays of 512 KiB are long enough for NumPy to dominate."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The pattern of d of an algorithm on one element, and every operation on the way."""

    d: int
    steps: Sequence[Step[int]]


def as_number(word: Word[D]) -> Number[D]:
    """Return a pattern as an operand of an algorithm."""
    return Number(OPERANDS, word, Span.of_format(OPERANDS))


def check_operands(algorithm: Algorithm, unit: Design, operands: Operands) -> None:
    """Raise DesignError if ``algorithm`` does not run on ``unit`` with so many operands, OperandError for bad ones.

    Operands are patterns of fp32. There are as many of a as of b.
    """
    algorithm.require(unit)
    if len(operands.a) != len(operands.b):
        raise OperandError(f"a has {len(operands.a)} elements and b has {len(operands.b)}: they must be as many")
    if not operands.a:
        raise OperandError("a and b have no elements: one or more are needed")
    algorithm.check_length(unit, len(operands.a))
    for pattern in (*operands.a, *operands.b, operands.c):
        if not 0 <= pattern < 1 << OPERANDS.bits:
            raise OperandError(f"{pattern:#x} is too wide for {OPERANDS.name} ({OPERANDS.bits} bits)")
        if algorithm.finite_only and pattern & _MAGNITUDE > OPERANDS.max_finite:
            raise OperandError(f"{OPERANDS.hex(pattern)} is not finite: {algorithm.name} has no meaning for it")


def trace(algorithm: Algorithm, unit: Design, operands: Operands) -> Trace:
    """Return result and operations of ``algorithm`` on fp32 operands, computed on integers.

    Raises as ``check_operands``.
    """
    check_operands(algorithm, unit, operands)
    arithmetic = Arithmetic(_INTEGERS, record=True)
    a, b, (c,) = (
        [as_number(_INTEGERS.unsigned(x, OPERANDS.bits)) for x in column]
        for column in (operands.a, operands.b, (operands.c,))
    )
    d = algorithm.run(arithmetic, unit, a, b, c)
    return Trace(d.word.data, arithmetic.steps)


def multiply(algorithm: Algorithm | str, unit: Design | str, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    """Return the patterns of ``C + A B``, shape (m, n), as the algorithm computes each element.

    The algorithm and the unit may be given by name. What happens outside the unit is computed on arrays, and so is
    the unit where native code does not pay.

    ``a`` has shape (m, k), ``b`` (k, n), ``c`` (m, n): patterns of fp32. Raises DesignError where the algorithm does
    not run on ``unit`` or k does not fit, OperandError for shapes that do not fit each other.
    """
    algorithm = find_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    unit = find_design(unit)
    algorithm.require(unit)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or c.shape != (a.shape[0], b.shape[1]):
        raise OperandError(f"shapes a {a.shape}, b {b.shape}, c {c.shape}: (m, k), (k, n), (m, n) needed")
    largest = max(int((x & np.uint32(_MAGNITUDE)).max(initial=0)) for x in (a, b, c))
    if algorithm.finite_only and largest > OPERANDS.max_finite:
        raise OperandError(f"not all operands are finite: {algorithm.name} has no meaning for others")
    algorithm.check_length(unit, a.shape[1])
    arithmetic = TileArithmetic(_ARRAYS)
    d = np.empty(c.shape, dtype=np.uint32)
    for top in range(0, len(a), TILE_ROWS):
        rows = slice(top, top + TILE_ROWS)
        words_a = algorithm.words(arithmetic, unit, "a", _numbers(a[rows].T[:, :, np.newaxis]))
        for left in range(0, b.shape[1], TILE_COLUMNS):
            columns = slice(left, left + TILE_COLUMNS)
            words_b = algorithm.words(arithmetic, unit, "b", _numbers(b[:, columns][:, np.newaxis, :]))
            (start,) = _numbers(c[np.newaxis, rows, columns])
            d[rows, columns] = algorithm.accumulate(arithmetic, unit, words_a, words_b, start).word.data
    return d


class TileArithmetic(Arithmetic[Any, Any]):
    """Operations on tiles: a of shape (rows, 1), b of (1, columns) and c of (rows, columns), or any that broadcast.

    The unit computes each of them as a matrix product, by the backend that is wanted or the fastest one.
    """

    def _dot_product(self, unit: Design, words: OperandWords[Any]) -> Word[Any]:
        of_a, of_b = (np.broadcast_shapes(*(np.shape(x.data) for x in column)) for column in (words.a, words.b))
        shape = np.broadcast_shapes(of_a, of_b, np.shape(words.c.data))
        if len(shape) != 2 or unit.scale_format is not None:
            return super()._dot_product(unit, words)
        rows, columns = shape
        if of_a not in ((), (1, 1), (rows, 1)) or of_b not in ((), (1, 1), (1, columns)):
            return super()._dot_product(unit, words)
        dots = rows * columns * -(-len(words.a) // unit.k)

        def matrices() -> Matrices:
            from mmaproof.smt.native.matrices import Matrices  # noqa: PLC0415  (loads LLVM)

            a = np.stack([np.broadcast_to(x.data, (rows, 1))[:, 0] for x in words.a], axis=1)
            b = np.stack([np.broadcast_to(x.data, (1, columns))[0] for x in words.b])
            c = np.broadcast_to(words.c.data, shape)
            return Matrices(*(x.astype(pattern_dtype(f)) for x, f in zip((a, b, c), unit.formats[:3], strict=True)))

        d = product_natively(unit, dots, matrices)
        if d is None:
            with accounted(unit, MATRICES, dots):
                return super()._dot_product(unit, words)
        return _ARRAYS.from_patterns(d, unit.d_format.bits)


def _numbers(patterns: Patterns) -> list[Number[Any]]:
    """Return an array of patterns as numbers, one for each index of its first axis."""
    return [as_number(_ARRAYS.from_patterns(x, OPERANDS.bits)) for x in patterns]
