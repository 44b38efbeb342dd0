"""Terms evaluated on sample operands. A relation that a sample violates is not worth a lemma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pysmt.fnode import FNode

from mmaproof.smt.proving.walk import bottom_up
from mmaproof.smt.solving.operators import BY_NODE_TYPE, TRUTH
from mmaproof.smt.solving.query import indices_of, width_of

Values = tuple[int, ...]
"""One value for each sample, unsigned; 0 or 1 for a truth value."""


class Samples:
    """Values of terms on some operands (symbol name -> value). Each term is evaluated once."""

    def __init__(self, rows: Sequence[Mapping[str, int]]) -> None:
        self.rows = rows
        self._values: dict[FNode, Values] = {}

    def define(self, variable: FNode, values: Values) -> None:
        """Define the values of a variable that is not among the operands."""
        self._values[variable] = values

    def values(self, term: FNode) -> Values:
        """Return the values of a term of QF_BV."""
        return bottom_up(term, self._values, self._evaluate)

    def _evaluate(self, node: FNode, columns: Sequence[Values]) -> Values:
        if node.is_symbol():
            return tuple(row.get(node.symbol_name(), 0) for row in self.rows)
        if node.is_constant():
            return (int(node.constant_value()),) * len(self.rows)
        operator = BY_NODE_TYPE[node.node_type()]
        widths, indices = [width_of(x) for x in node.args()], tuple(indices_of(node))
        mask = (1 << max(1, operator.result_width(widths, indices))) - 1
        return tuple(operator.evaluate(row, widths, indices) & mask for row in zip(*columns, strict=True))


def signed_values(values: Values, width: int) -> Values:
    """Return unsigned values of N bits read as two's complement."""
    if width == TRUTH:
        return values
    half, whole = 1 << (width - 1), 1 << width
    return tuple(x - whole if x >= half else x for x in values)
