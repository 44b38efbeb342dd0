"""Terms evaluated on many sample operands at once, as columns of NumPy words.

It is ``Samples`` for netlists, which have thousands of terms: a column of up to 64 bits is an array of uint64, a wider
one an array of Python integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pysmt.fnode import FNode

from mmaproof.smt.proving.column_operators import FAST, FAST_BITS, Column, mask, signed
from mmaproof.smt.proving.walk import bottom_up
from mmaproof.smt.solving.operators import BY_NODE_TYPE, TRUTH
from mmaproof.smt.solving.query import indices_of, width_of


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
