"""The words inside what the variables of a model stand for: what a net may be that carries no variable.

A unit that is built as the design is described has a counterpart for nearly each of them: a printed model, or RTL that
takes the same steps. The words are found by their values on the samples. What is found is a suggestion, to be proved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pysmt.fnode import FNode

from mmaproof.smt.proving.column_operators import FAST_BITS, Column
from mmaproof.smt.proving.columns import Columns, signed_column
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.solving.operators import TRUTH
from mmaproof.smt.solving.query import width_of


@dataclass(frozen=True, slots=True)
class InnerWord:
    """A term inside the definition of a signal, what stands for it, and whether a wider net extends it with its sign.

    The definition itself has the variable in its place.
    """

    signal: str
    term: FNode
    replacement: FNode
    signed: bool


class InnerWords:
    """The terms inside what some variables stand for, by their columns.

    They are indexed when the first one is asked for. Terms over operands that are ``apart`` are left out: nets are over
    the parts of these.
    """

    def __init__(
        self, signals: Iterable[tuple[str, FNode]], apart: Collection[FNode], cuts: CutVariables, columns: Columns
    ) -> None:
        self._signals, self._apart = tuple(signals), frozenset(apart)
        self._cuts, self._columns = cuts, columns
        self._unsigned: dict[int, list[InnerWord]] = {}
        self._signed: dict[int, list[InnerWord]] = {}
        self._known: set[FNode] = set()
        self._indexed = False

    def __contains__(self, term: FNode) -> bool:
        self._index()
        return term in self._known

    def like(self, term: FNode) -> list[InnerWord]:
        """Return the words with the values of a net on all samples that are over its variables, variables first."""
        self._index()
        column = self._columns.values(term)
        if (column == column[0]).all():
            return []
        found = list(self._unsigned.get(_key(column), ()))
        width = width_of(term)
        if width > 1 and width != TRUTH:
            found += self._signed.get(_key(signed_column(column, width)), ())
        symbols = self._cuts.symbols(term)
        found = [x for x in found if self._cuts.symbols(x.term) <= symbols]
        return sorted(found, key=lambda x: x.replacement is x.term)

    def _index(self) -> None:
        if self._indexed:
            return
        self._indexed = True
        variables = {self._cuts.definition(variable): variable for _, variable in self._signals}
        for signal, variable in self._signals:
            for term in _inside(self._cuts.definition(variable), self._known):
                if not (term.is_symbol() or self._cuts.symbols(term) & self._apart):
                    self._add(signal, term, variables.get(term, term))

    def _add(self, signal: str, term: FNode, replacement: FNode) -> None:
        column = self._columns.values(term)
        if (column == column[0]).all():
            return
        width = width_of(term)
        self._unsigned.setdefault(_key(column), []).append(InnerWord(signal, term, replacement, False))
        if width > 1 and width != TRUTH:
            values = signed_column(column, width)
            if (values < 0).any():
                self._signed.setdefault(_key(values), []).append(InnerWord(signal, term, replacement, True))


def _inside(definition: FNode, seen: set[FNode]) -> Iterator[FNode]:
    """Yield the terms inside a definition, the operands of each before it, that were not seen before."""
    pending = [definition]
    while pending:
        term = pending[-1]
        missing = [x for x in term.args() if x not in seen and not x.is_constant()]
        if missing:
            pending += missing
            continue
        pending.pop()
        if term not in seen:
            seen.add(term)
            yield term


def _key(column: Column) -> int:
    """Return the same number for equal values, in whatever kind of array."""
    if column.dtype == object:
        values: Sequence[int] = [int(x) for x in column]
        if min(values) < -(1 << (FAST_BITS - 1)) or max(values) >= 1 << FAST_BITS:
            return hash(tuple(values))
        column = np.array([x % (1 << FAST_BITS) for x in values], dtype=np.uint64)
    return hash(column.tobytes())
