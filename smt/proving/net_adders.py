"""Carry-save adders, and adders of two words that pass carries on in their own way.

Of a carry-save adder the two results are not sums of its words, but together they are: twice the carries are
x + y + z - s modulo 2**n, s being the exclusive or of the three, by a law. Which function of its words a result is
follows from its truth table at one bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.proving.bitwise import BitwiseFunction, bitwise_function
from mmaproof.smt.proving.column_operators import FAST_BITS
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.linear import Form, in_order
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_relations import FEWEST_BITS_OF_SUMS, NET_SECONDS
from mmaproof.smt.proving.walk import Substitution, substituted

if TYPE_CHECKING:
    from mmaproof.smt.proving.net_sums import NetSums

FEWEST_BITS_OF_ADDERS = 4
PAIRS = 8
"""Pairs of words whose sum a net may be, the last ones."""


class Adders:
    """The results of adders that were seen."""

    def __init__(
        self, sums: NetSums, model: ModelTerms, cuts: CutVariables, columns: Columns, environment: Environment
    ) -> None:
        self._sums, self._model, self._cuts, self._columns = sums, model, cuts, columns
        self._environment = environment
        self._terms: Any = environment.formula_manager
        self._halves: dict[FNode, BitwiseFunction] = {}
        """variables of carries that have not been moved to their places"""
        self._exclusive: dict[frozenset[FNode], FNode] = {}
        """variables of exclusive ors, by their words"""
        self.passed: dict[FNode, tuple[FNode, Mapping[FNode, FNode]]] = {}
        """sums of two words: what was proved of any words, and the words"""
        self._pairs: dict[int, list[frozenset[FNode]]] = {}
        """the two words of functions of bits, by their width"""

    def of_adder(self, term: FNode) -> FNode | None:
        """Return a result of a carry-save adder: a variable for the sum bits, or one that is half of the carries."""
        function = bitwise_function(term)
        if function is not None and len(function.leaves) == 2:
            self._pairs.setdefault(term.bv_width(), []).append(function.leaves)
        if function is None or len(function.leaves) == 2 or term.bv_width() < FEWEST_BITS_OF_SUMS:
            return None  # a part of a longer one, or read where it is added
        if function.is_exclusive_or:
            return self._exclusive_or(function.leaves)
        if self._carries(function) is None:
            return None
        half = self._cuts.new(term, term.bv_width())
        self._halves[half] = function
        return half

    def adder(self, name: str, term: FNode) -> FNode | None:
        """Return the sum of two words that the term is computed from, however its adder passes carries on."""
        width = term.bv_width()
        if width < FEWEST_BITS_OF_ADDERS or width > FAST_BITS:
            return None
        column, mask = self._columns.values(term), np.uint64((1 << width) - 1)
        for pair in reversed(self._pairs.get(width, [])[-PAIRS:]):
            x, y = in_order(pair)
            total = (self._columns.values(x) + self._columns.values(y)) & mask
            carry = (column - total) & mask
            if carry[0] > 1 or (carry != carry[0]).any():
                continue
            if self._is_sum(name, term, x, y, int(carry[0])):
                m = self._terms
                found = m.BVAdd(x, y)
                found = m.BVAdd(found, m.BV(int(carry[0]), width)) if carry[0] else found
                form = self._sums.linear.form(found)
                return found if form is None else self._sums.of_form(name, form)
        return None

    def _is_sum(self, name: str, term: FNode, x: FNode, y: FNode, carry: int) -> bool:
        """Return whether it is proved, of any words in the place of x and y, that a term is their sum."""
        m, width = self._terms, term.bv_width()
        words = [self._model.symbol(f"word{i}_{width}", width).data for i in range(2)]
        of_any = self._over(term, dict(zip((x, y), words, strict=True)))
        if of_any is None:
            return False
        total = m.BVAdd(*words)
        total = m.BVAdd(total, m.BV(carry, width)) if carry else total
        claim = m.Equals(of_any, total)
        self.passed[term] = claim, dict(zip(words, (x, y), strict=True))
        return self._cuts.proved(f"net {name}", "sum of its words", claim, seconds=NET_SECONDS)

    def _over(self, term: FNode, words: Mapping[FNode, FNode]) -> FNode | None:
        """Return a term with words in the place of others, None if it is not over these alone.

        Results of carry-save adders between them are taken apart.
        """
        of_words = Substitution(self._environment, words)
        of_any = of_words(term)
        while others := self._cuts.symbols(of_any) - set(words.values()):
            parts = {v: self._cuts.definition(v) for v in others if v in self._halves or v in self._exclusive.values()}
            if len(parts) < len(others):
                return None
            of_any = of_words(substituted(self._environment, of_any, parts))
        return of_any

    def _exclusive_or(self, leaves: frozenset[FNode]) -> FNode | None:
        """Return the variable of the exclusive or of some words, each of which is a sum."""
        if any(self._sums.linear.form(x) is None for x in leaves):
            return None
        variable = self._exclusive.get(leaves)
        if variable is None:
            first, *others = in_order(leaves)
            term = first
            for x in others:
                term = self._terms.BVXor(term, x)
            variable = self._cuts.new(term, term.bv_width())
            self._sums.summands[variable] = False
            self._exclusive[leaves] = variable
        return variable

    def exclusive_form(self, term: FNode) -> Form | None:
        """Return the form of an exclusive or: its variable."""
        function = bitwise_function(term)
        if function is None or not function.is_exclusive_or:
            return None
        variable = self._exclusive_or(function.leaves)
        return None if variable is None else Form.of(term.bv_width(), ((variable, 1),), 0)

    def _carries(self, function: BitwiseFunction) -> Form | None:
        """Return the form of twice the carries of two or three words: their sum without their exclusive or."""
        if not function.is_carry:
            return None
        forms = [self._sums.linear.form(x) for x in function.leaves]
        known = [self._sums.expanded(f) for f in forms if f is not None]
        variable = self._exclusive_or(function.leaves) if len(known) == len(forms) else None
        if variable is None:
            return None
        width = variable.bv_width()
        self._model.used.add(Law(Operation.CARRY_SAVE_SUM, width))
        total = Form.of(width, ((variable, -1),), 0)
        for form in known:
            total = total.plus(form)
        return total

    def carries_of(self, term: FNode) -> tuple[FNode, FNode, frozenset[FNode]] | None:
        """Return the carries that a term is, the variable of the exclusive or of the same words, and these words."""
        function = self._halves.get(term) if term.is_symbol() else bitwise_function(term)
        exclusive = None if function is None else self._exclusive.get(function.leaves)
        if function is None or exclusive is None or not function.is_carry:
            return None
        return self._cuts.definition(term) if term.is_symbol() else term, exclusive, function.leaves

    def exclusive_of(self, term: FNode) -> FNode | None:
        """Return the variable of the exclusive or that a term is, None if there is none."""
        function = bitwise_function(term)
        return self._exclusive.get(function.leaves) if function is not None and function.is_exclusive_or else None

    def twice(self, term: FNode) -> Form | None:
        """Return the form of twice a term that is the carries of some words, or None."""
        function = self._halves.get(term) if term.is_symbol() else bitwise_function(term)
        return None if function is None else self._carries(function)
