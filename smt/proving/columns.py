"""Terms evaluated on many sample operands at once, as columns of NumPy words.

It is ``Samples`` for netlists, which have thousands of terms: a column of up to 64 bits is an array of uint64, a wider
one an array of Python integers.

The operators of QF_BV on columns of words of up to 64 bits: arrays of uint64, without a sign, 0 or 1 for truth.

They are written apart from the circuits of ``solving/cnf.py`` and from the evaluation on Python integers of
``solving/operators.py``, with which the tests compare them. Quotients, remainders and rotations are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pysmt.fnode import FNode

from mmaproof.smt.proving.walk import bottom_up
from mmaproof.smt.solving.query import BY_NODE_TYPE, TRUTH, indices_of, width_of

Column = npt.NDArray[Any]
"""One value for each assignment, without a sign; 0 or 1 for a truth value."""
FAST_BITS: Final = 64


def mask(width: int) -> np.uint64:
    """Return the bits of a word of this width; one bit for a truth value."""
    return np.uint64((1 << max(1, width)) - 1)


def signed(values: Column, width: int) -> npt.NDArray[np.int64]:
    """Return words of this width read in two's complement."""
    places = np.uint64(FAST_BITS - width)
    return (values << places).view(np.int64) >> np.int64(places)


def _truth(values: npt.NDArray[np.bool_]) -> Column:
    return values.astype(np.uint64)


def _left(v: Sequence[Column], w: Sequence[int], i: Sequence[int]) -> Column:
    places = np.minimum(v[1], np.uint64(FAST_BITS - 1))
    return np.where(v[1] < np.uint64(w[0]), v[0] << places, np.uint64(0))


def _right(v: Sequence[Column], w: Sequence[int], i: Sequence[int]) -> Column:
    places = np.minimum(v[1], np.uint64(FAST_BITS - 1))
    return np.where(v[1] < np.uint64(w[0]), v[0] >> places, np.uint64(0))


def _right_signed(v: Sequence[Column], w: Sequence[int], i: Sequence[int]) -> Column:
    places = np.minimum(v[1], np.uint64(FAST_BITS - 1)).astype(np.int64)
    return (signed(v[0], w[0]) >> places).view(np.uint64)


def _extended(v: Sequence[Column], w: Sequence[int], i: Sequence[int]) -> Column:
    return signed(v[0], w[0]).view(np.uint64)


def _all(v: Sequence[Column], w: Sequence[int], i: Sequence[int]) -> Column:
    return reduce(np.bitwise_and, v)


def _any(v: Sequence[Column], w: Sequence[int], i: Sequence[int]) -> Column:
    return reduce(np.bitwise_or, v)


_ONE: Final = np.uint64(1)
ColumnOperator = Callable[[Sequence[Column], Sequence[int], Sequence[int]], Column]
# v is the values of the operands, w their widths, and i the indices; the caller keeps the bits that fit
FAST: Final[Mapping[str, ColumnOperator]] = {
    "not": lambda v, w, i: v[0] ^ _ONE,
    "and": _all,
    "or": _any,
    "=>": lambda v, w, i: (v[0] ^ _ONE) | v[1],
    "iff": lambda v, w, i: _truth(v[0] == v[1]),
    "=": lambda v, w, i: _truth(v[0] == v[1]),
    "ite": lambda v, w, i: np.where(v[0] == _ONE, v[1], v[2]),
    "bvult": lambda v, w, i: _truth(v[0] < v[1]),
    "bvule": lambda v, w, i: _truth(v[0] <= v[1]),
    "bvslt": lambda v, w, i: _truth(signed(v[0], w[0]) < signed(v[1], w[1])),
    "bvsle": lambda v, w, i: _truth(signed(v[0], w[0]) <= signed(v[1], w[1])),
    "bvcomp": lambda v, w, i: _truth(v[0] == v[1]),
    "bvnot": lambda v, w, i: ~v[0],
    "bvand": lambda v, w, i: v[0] & v[1],
    "bvor": lambda v, w, i: v[0] | v[1],
    "bvxor": lambda v, w, i: v[0] ^ v[1],
    "bvneg": lambda v, w, i: ~v[0] + _ONE,
    "bvadd": lambda v, w, i: v[0] + v[1],
    "bvsub": lambda v, w, i: v[0] - v[1],
    "bvmul": lambda v, w, i: v[0] * v[1],
    "bvshl": _left,
    "bvlshr": _right,
    "bvashr": _right_signed,
    "concat": lambda v, w, i: (v[0] << np.uint64(w[1])) | v[1],
    "extract": lambda v, w, i: v[0] >> np.uint64(i[1]),
    "zero_extend": lambda v, w, i: v[0],
    "sign_extend": _extended,
}


class Columns:
    """Values of terms on some operands. Each term is evaluated once."""

    def __init__(self, rows: Sequence[Mapping[str, int]]) -> None:
        self.rows = rows
        self._values: dict[FNode, Column] = {}

    def define(self, variable: FNode, values: Column) -> None:
        """Define the values of a variable that is not among the operands."""
        self._values[variable] = values

    def values(self, term: FNode) -> Column:
        """Return the values of a term of QF_BV."""
        return bottom_up(term, self._values, self._evaluate)

    def _evaluate(self, node: FNode, columns: Sequence[Column]) -> Column:
        width = width_of(node)
        if node.is_symbol():
            name = node.symbol_name()
            return _array([row.get(name, 0) for row in self.rows], width)
        if node.is_constant():
            return _array([int(node.constant_value())] * len(self.rows), width)
        operator = BY_NODE_TYPE[node.node_type()]
        widths, indices = [width_of(x) for x in node.args()], tuple(indices_of(node))
        if max(width, *widths) <= FAST_BITS and operator.name in FAST:
            return FAST[operator.name](columns, widths, indices) & mask(width)
        whole = (1 << max(1, width)) - 1
        rows = zip(*([int(x) for x in column] for column in columns), strict=True)
        return _array([operator.evaluate(row, widths, indices) & whole for row in rows], width)


def signed_column(values: Column, width: int) -> Column:
    """Return values of N bits read as two's complement: int64, or Python integers where that is too narrow."""
    if width == TRUTH:
        return values.astype(np.int64)
    if width > FAST_BITS:
        half, whole = 1 << (width - 1), 1 << width
        return np.array([x - whole if x >= half else x for x in values], dtype=object)
    return signed(values, width)


def _array(values: list[int], width: int) -> Column:
    return np.array(values, dtype=np.uint64 if width <= FAST_BITS else object)
