"""Words computed bit by bit from a few others: which function of bits it is."""

from __future__ import annotations

from dataclasses import dataclass

from pysmt import operators as op
from pysmt.fnode import FNode

MOST_LEAVES = 4
_EXCLUSIVE_OR = {2: 0b0110, 3: 0b1001_0110, 4: 0b0110_1001_1001_0110}
_CARRY = {2: 0b1000, 3: 0b1110_1000}


@dataclass(frozen=True)
class BitwiseFunction:
    """A function of the bits of ``leaves`` at each place, as its truth table.

    Bit i of ``table`` is its value where the bits of i are those of the leaves. Only tables of symmetric functions mean
    something here, because ``leaves`` has no order.
    """

    leaves: frozenset[FNode]
    table: int

    @property
    def is_exclusive_or(self) -> bool:
        """Whether it is the exclusive or of all leaves."""
        return self.table == _EXCLUSIVE_OR.get(len(self.leaves))

    @property
    def is_carry(self) -> bool:
        """Whether it is one where two leaves or more are: the carry of adding two or three words."""
        return self.table == _CARRY.get(len(self.leaves))


def bitwise_function(term: FNode) -> BitwiseFunction | None:
    """Return the function that a word is of words that are not computed bit by bit, None where it is of too many."""
    if not is_bitwise(term):
        return None
    leaves: dict[FNode, None] = {}
    pending, seen = [term], set[FNode]()
    while pending:
        x = pending.pop()
        if x in seen:
            continue
        seen.add(x)
        if is_bitwise(x):
            pending += x.args()
        else:
            leaves[x] = None
            if len(leaves) > MOST_LEAVES:
                return None
    if len(leaves) < 2 or any(x.is_constant() for x in leaves):
        return None
    rows = 1 << len(leaves)
    tables = {x: sum(1 << row for row in range(rows) if row >> i & 1) for i, x in enumerate(leaves)}
    return BitwiseFunction(frozenset(leaves), _table(term, tables, (1 << rows) - 1))


def is_bitwise(term: FNode) -> bool:
    """Return whether a word is computed bit by bit from others."""
    return term.node_type() in (op.BV_AND, op.BV_OR, op.BV_XOR, op.BV_NOT)


def _table(term: FNode, tables: dict[FNode, int], ones: int) -> int:
    known = tables.get(term)
    if known is not None:
        return known
    parts = [_table(x, tables, ones) for x in term.args()]
    match term.node_type():
        case op.BV_NOT:
            found = parts[0] ^ ones
        case op.BV_AND:
            found = parts[0] & parts[1]
        case op.BV_OR:
            found = parts[0] | parts[1]
        case op.BV_XOR:
            found = parts[0] ^ parts[1]
        case _:
            raise ValueError(f"{term} is not an operation on bits")
    tables[term] = found
    return found
