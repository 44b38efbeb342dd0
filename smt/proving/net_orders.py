"""Nets that are maxima of minima of some of the model's exponents, as the outputs of comparators are.

A comparator returns the larger or the smaller one of two words. What a network of comparators returns is known from
what it returns of words of one bit: the larger one of two bits is their disjunction, the smaller one their conjunction.
So the truth table over one bit for each exponent says which function of the exponents a net is. Maxima and minima form
a distributive lattice (``Operation.LATTICE``), and two terms that are equal in the lattice of one bit are equal in all
of these. Each net itself is proved to be the larger or the smaller one of two words that are known.

Nets that are the maximum of some of the model's exponents, in any order, plus a constant.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.proving.columns import FAST_BITS, Columns, signed_column
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.linear import in_order
from mmaproof.smt.proving.model_terms import Fold, ModelTerms
from mmaproof.smt.proving.net_relations import LONG_SECONDS, NET_SECONDS, MatchedNet, Relations

MOST_WORDS = 17
"""Words of one maximum: a table has 2**MOST_WORDS bits."""


class _Lattice:
    """The words of one maximum, and the maxima of minima of them that are known, by their tables."""

    def __init__(self, fold: Fold) -> None:
        self.rows = 1 << len(fold.parts)
        self.parts = {p: self._of_part(i) for i, p in enumerate(fold.parts)}
        self.tables = dict(self.parts)
        self.elements = {table: x for x, table in self.parts.items()}
        self.add(fold.variable, (1 << self.rows) - 2)

    def _of_part(self, place: int) -> int:
        """Return the table of one word: bit i is set where bit ``place`` of i is."""
        half = 1 << place
        period = ((1 << half) - 1) << half
        repeated = ((1 << self.rows) - 1) // ((1 << 2 * half) - 1)
        return period * repeated

    def add(self, x: FNode, table: int) -> None:
        """Add an element."""
        self.tables.setdefault(x, table)
        self.elements.setdefault(table, x)

    def of_the_others(self, table: int) -> FNode | None:
        """Return the maximum of the words that an element does not include, None if it is not known."""
        rest = 0
        for own in self.parts.values():
            if own & table != own:
                rest |= own
        return self.elements.get(rest)


class NetOrders:
    """The maxima and minima that are known, and the choices that they were proved to be."""

    def __init__(
        self,
        model: ModelTerms,
        cuts: CutVariables,
        columns: Columns,
        relations: Relations,
        matched: list[MatchedNet],
        environment: Environment,
    ) -> None:
        self._model, self._cuts, self._columns, self._relations = model, cuts, columns, relations
        self._matched = matched
        self._terms: Any = environment.formula_manager
        self._lattices = [
            _Lattice(f)
            for f in model.folds
            if 2 <= len(f.parts) <= MOST_WORDS and all(p.is_symbol() for p in (*f.parts, f.variable))
        ]
        self.choices: dict[FNode, dict[FNode, tuple[FNode, FNode]]] = {}
        """of a variable, by the condition, two words: it is the first one where the condition holds, else the second"""

    def note_maximum(self, parts: frozenset[FNode], variable: FNode) -> None:
        """Note a maximum of some of the words of a fold."""
        for lattice in self._lattices:
            if parts <= lattice.parts.keys():
                table = 0
                for x in parts:
                    table |= lattice.parts[x]
                self._add(lattice, variable, table)

    def over(self, variable: FNode, symbols: frozenset[FNode]) -> FNode | None:
        """Return a maximum as that of two words that are among some symbols, None if there are no such words."""
        for lattice in self._lattices:
            table = lattice.tables.get(variable)
            some = [x for x in lattice.tables if x in symbols and x is not variable] if table is not None else []
            for x, y in combinations(some, 2):
                if lattice.tables[x] | lattice.tables[y] == table:
                    self._model.used.add(Law(Operation.LATTICE, x.bv_width(), True))
                    self._cuts.follows(self._terms.Equals(variable, self._larger(x, y)))
                    return self._larger(x, y)
        return None

    def _larger(self, x: FNode, y: FNode) -> FNode:
        found: FNode = self._terms.Ite(self._terms.BVSLT(x, y), y, x)
        return found

    def _add(self, lattice: _Lattice, variable: FNode, table: int) -> None:
        """Add an element; the maximum of all words is the larger one of it and of that of the others."""
        lattice.add(variable, table)
        others, largest = lattice.of_the_others(table), lattice.elements[(1 << lattice.rows) - 2]
        if others is not None and largest not in (variable, others):
            self._model.used.add(Law(Operation.LATTICE, variable.bv_width(), True))
            self._cuts.note(self._terms.Equals(largest, self._larger(variable, others)))

    @property
    def elements(self) -> frozenset[FNode]:
        """The maxima of minima that are known."""
        words = {x for lattice in self._lattices for x in lattice.parts}
        return frozenset(x for lattice in self._lattices for x in lattice.tables) - words

    def is_of_known(self, term: FNode) -> bool:
        """Return whether a term is a choice between two known words."""
        words = [self._moved(x)[0] for x in term.args()[1:]] if term.is_ite() else [None]
        return any(all(x in lattice.tables for x in words) for lattice in self._lattices)

    def compared(self, name: str, term: FNode) -> FNode | None:
        """Return a choice between two known words as the larger or the smaller one of them, if that is proved."""
        if not term.is_ite():
            return None
        condition, *words = term.args()
        (first, amount), (second, other) = (self._moved(x) for x in words)
        if first is None or second is None or (amount - other) % (1 << term.bv_width()):
            return None
        for lattice in self._lattices:
            if first in lattice.tables and second in lattice.tables:
                found = self._of_two(name, term, lattice, (first, second), amount)
                if found is not None:
                    if term.bv_width() >= first.bv_width():  # so that what is moved says what it was
                        self.choices.setdefault(found, {})[condition] = first, second
                    return self._at(found, amount, term.bv_width())
        return None

    def _of_two(
        self, name: str, term: FNode, lattice: _Lattice, words: tuple[FNode, FNode], amount: int
    ) -> FNode | None:
        m, (x, y), width = self._terms, words, term.bv_width()
        column = self._columns.values(term)
        larger, smaller = lattice.tables[x] | lattice.tables[y], lattice.tables[x] & lattice.tables[y]
        least = m.Ite(m.BVSLT(x, y), x, y)
        for what, table, chosen in (("larger", larger, self._larger(x, y)), ("smaller", smaller, least)):
            claimed = self._at(chosen, amount, width)
            if not np.array_equal(column, self._columns.values(claimed)):
                continue
            claim = m.Equals(term, claimed)
            if not self._cuts.holds(f"net {name}", f"the {what} of two", claim, seconds=NET_SECONDS, widenings=1):
                continue
            self._model.used.add(Law(Operation.LATTICE, x.bv_width(), True))
            variable = lattice.elements.get(table)
            if variable is None:
                variable = self._new(lattice, table, chosen)
            else:
                self._cuts.follows(m.Equals(variable, chosen))
            self._matched.append(MatchedNet(name, f"the {what} of two exponents", f"offset by {amount}"))
            return variable
        return None

    def _new(self, lattice: _Lattice, table: int, definition: FNode) -> FNode:
        m, width = self._terms, definition.bv_width()
        variable = self._cuts.new(definition, width)
        self._add(lattice, variable, table)
        for part, own in lattice.parts.items():
            if own & table == own:
                self._cuts.note(m.Not(m.BVSLT(variable, part)))
            if own & table == table:
                self._cuts.note(m.Not(m.BVSLT(part, variable)))
        known = [self._model.range_of(x) for x in definition.args()[1:]]
        if known[0] is not None and known[1] is not None:
            bounds = min(known[0][0], known[1][0]), max(known[0][1], known[1][1])
            self._model.note_bounds(Word(variable, width, True, self._model), bounds)
        self._relations.add_number("one of some exponents", variable, definition, True, may_be_absent=True)
        return variable

    def _moved(self, term: FNode) -> tuple[FNode | None, int]:
        """Return the variable that a word is plus a constant, and the constant; None if it is none."""
        amount = 0
        if term.is_bv_add():
            constants = [x for x in term.args() if x.is_bv_constant()]
            others = [x for x in term.args() if not x.is_bv_constant()]
            if len(constants) != 1 or len(others) != 1:
                return None, 0
            amount, term = constants[0].constant_value(), others[0]
        if term.is_bv_sext() or (term.is_bv_extract() and term.bv_extract_start() == 0):
            term = term.arg(0)
        return (term, amount) if term.is_symbol() else (None, 0)

    def _at(self, x: FNode, amount: int, width: int) -> FNode:
        y = self._relations.resized(x, True, width)
        return self._terms.BVAdd(y, self._terms.BV(amount % (1 << width), width)) if amount else y


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
