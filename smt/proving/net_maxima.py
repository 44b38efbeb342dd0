"""Nets that are the maximum of some of the model's exponents, in any order, plus a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.proving.column_operators import FAST_BITS
from mmaproof.smt.proving.columns import Columns, signed_column
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.linear import in_order
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_orders import NetOrders
from mmaproof.smt.proving.net_relations import LONG_SECONDS, MatchedNet, Relations


class NetMaxima:
    """The maxima of exponents that are known."""

    def __init__(
        self,
        model: ModelTerms,
        cuts: CutVariables,
        columns: Columns,
        relations: Relations,
        orders: NetOrders,
        matched: list[MatchedNet],
        environment: Environment,
    ) -> None:
        self._model, self._cuts, self._columns, self._relations = model, cuts, columns, relations
        self._orders, self._matched = orders, matched
        self._terms: Any = environment.formula_manager
        self._maxima: dict[frozenset[FNode], FNode] = {frozenset(f.parts): f.variable for f in model.folds}

    def maximum(self, name: str, term: FNode) -> FNode | None:
        """Return a net as the maximum of some of the exponents of a fold, plus a constant."""
        width = term.bv_width()
        if width > FAST_BITS or not term.is_ite():
            return None
        column = self._columns.values(term)
        mask = (1 << width) - 1
        for fold in self._model.folds:
            parts = [(p, self._numbers_of(p)) for p in fold.parts if not p.is_constant()]
            tried = set()
            for _, values in parts:
                amount = (int(column[0]) - int(values[0])) & mask
                if amount in tried:
                    continue
                tried.add(amount)
                near = amount - (1 << width) if amount >> (width - 1) else amount
                for numbers in (column.astype(np.int64), signed_column(column, width)):
                    reached = numbers - near
                    some = [(p, v) for p, v in parts if (v <= reached).all()]
                    if len(some) < 2 or not np.array_equal(np.max([v for _, v in some], axis=0), reached):
                        continue
                    found = self._prove_maximum(name, term, frozenset(p for p, _ in some), near)
                    if found is not None:
                        return found
        return None

    @property
    def elements(self) -> frozenset[FNode]:
        """The variables of maxima."""
        return frozenset(self._maxima.values())

    def _numbers_of(self, part: FNode) -> Any:
        return signed_column(self._columns.values(part), part.bv_width())

    def _prove_maximum(self, name: str, term: FNode, parts: frozenset[FNode], offset: int) -> FNode | None:
        """Return the net over the maximum of ``parts`` if the net is proved to be the maximum of two earlier ones."""
        m, width = self._terms, term.bv_width()
        own = next(iter(parts)).bv_width()
        symbols = self._cuts.symbols(term)
        held = [(s, v) for s, v in self._maxima.items() if s <= parts and v in symbols]
        held += [(frozenset([p]), p) for p in parts if self._cuts.symbols(p) <= symbols]
        covered = frozenset[FNode]().union(*(s for s, _ in held)) if held else frozenset()
        if covered != parts and parts in self._maxima:
            return None  # it is compared with the variable of that maximum
        words = in_order([v for _, v in held]) if covered == parts else in_order(parts)
        largest = words[0]
        for x in words[1:]:
            largest = m.Ite(m.BVSLT(largest, x), x, largest)

        def moved(x: FNode) -> FNode:
            y = self._relations.resized(x, True, width)
            return m.BVAdd(y, m.BV(offset % (1 << width), width)) if offset else y

        if not self._cuts.holds(f"net {name}", "maximum", m.Equals(term, moved(largest)), seconds=LONG_SECONDS):
            return None
        self._model.used.add(Law(Operation.MAXIMUM, own, True))
        variable = self._maxima.get(parts)
        if variable is None:
            variable = self._cuts.new(largest, own)
            self._maxima[parts] = variable
            self._orders.note_maximum(parts, variable)
            self._relations.add_number("maximum of some exponents", variable, largest, True, may_be_absent=True)
            for part in in_order(parts):
                self._cuts.note(m.Not(m.BVSLT(variable, part)))
            self._model.note_bounds_of_maximum(Word(variable, own, True, self._model), parts)
        else:
            self._cuts.follows(m.Equals(variable, largest))
        self._matched.append(MatchedNet(name, f"maximum of {len(parts)} exponents", f"offset by {offset}"))
        return moved(variable)
