"""The operators of QF_BV on columns of words of up to 64 bits: arrays of uint64, without a sign, 0 or 1 for truth.

They are written apart from the circuits of ``solving/cnf.py`` and from the evaluation on Python integers of
``solving/operators.py``, with which the tests compare them. Quotients, remainders and rotations are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt

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
