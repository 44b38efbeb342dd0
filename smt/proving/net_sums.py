"""Nets that are sums of the model's words, whatever the order and the kind of their adders.

A sum is recognised by its form (``Linear``). It becomes a variable of its own, or the variable of the model's sum. The
law about addition modulo powers of two is what joins a form and the variable of its sum; that a sum fits a word, and
that a term is the difference of its parts, is proved each time.

Carry-save adders, and adders of two words that pass carries on in their own way.

Of a carry-save adder the two results are not sums of its words, but together they are: twice the carries are
x + y + z - s modulo 2**n, s being the exclusive or of the three, by a law. Which function of its words a result is
follows from its truth table at one bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.words import SignalKind
from mmaproof.smt.proving.columns import FAST_BITS, Columns, signed_column
from mmaproof.smt.proving.cut_variables import BitwiseFunction, CutVariables, bitwise_function
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.linear import Form, Linear, in_order
from mmaproof.smt.proving.model_places import ModelSignal
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_exchanges import Exchanges, Related
from mmaproof.smt.proving.net_orders import NetOrders
from mmaproof.smt.proving.net_relations import FEWEST_BITS_OF_SUMS, NET_SECONDS, MatchedNet, Relations
from mmaproof.smt.proving.walk import Substitution, substituted
from mmaproof.smt.solving.query import TRUTH, width_of

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


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice between two sums: what both have, what is left of each, the choice between these, and what it is."""

    common: Form
    rests: tuple[FNode, FNode]
    between: FNode
    rest: FNode


class NetSums:
    """The words that a netlist may add, and the sums of them that are known."""

    def __init__(
        self,
        model: ModelTerms,
        cuts: CutVariables,
        columns: Columns,
        relations: Relations,
        orders: NetOrders,
        related: Related,
        matched: list[MatchedNet],
        environment: Environment,
    ) -> None:
        self._model, self._cuts, self._columns, self._relations = model, cuts, columns, relations
        self._matched = matched
        self._terms: Any = environment.formula_manager
        self.summands: dict[FNode, bool] = {}
        """words that are added, and whether they are read in two's complement"""
        self.forms: dict[FNode, Form] = {}
        """the form of a variable of a sum over the words that it adds"""
        self._sums: dict[tuple[FNode, ...], list[tuple[FNode, Form]]] = {}
        """variables of sums by the variables that they add, with their forms"""
        self._totals: set[FNode] = set()
        """those that are sums of the model"""
        self.extensions: dict[tuple[Form, bool], FNode] = {}
        """sums that fit their word, with their signs or without, as the word that is wide enough for them"""
        self.choices: dict[FNode, Choice] = {}
        """choices between two sums that have something in common"""
        self._wrapped: set[FNode] = set()
        """variables of sums that may wrap: they have the value of their form modulo two to their width alone"""
        self.adders = Adders(self, model, cuts, columns, environment)
        self.exchanges = Exchanges(self, orders, model, cuts, columns, relations, related, environment)
        self._related = related
        self.linear = Linear(
            environment,
            self.summand,
            self._extended,
            self.adders.twice,
            self.adders.exclusive_form,
            self.exchanges.addend,
            self.uses,
        )

    def take_model(self) -> None:
        """Take the words that the model adds, and its sums."""
        for x in self._model.signals:
            if x.width == 0:
                self.summands[x.variable] = False
        for variable, signed in self._model.added.items():
            self.summands[variable] = signed
        for x in self._model.signals:
            if x.kind is SignalKind.ALIGNED and x.variable in self._model.added:
                self._take_parts_of(x)
        for x in self._model.signals:
            if x.width and x.definition in self._model.totals:
                self._take_total(x)

    def _take_total(self, x: ModelSignal) -> None:
        form = self.linear.form(x.definition)
        form = None if form is None else self.expanded(form)
        if form is not None and len(form.terms) > 1:
            self.summands.setdefault(x.variable, x.signed)
            self._totals.add(x.variable)
            self.note(x.variable, form)
            self.uses(form.width)
            if not self._fits(x.variable, form):
                self._wrapped.add(x.variable)

    def _take_parts_of(self, aligned: ModelSignal) -> None:
        """Add the positive and the negative part of an aligned term, whose difference it is.

        Some units add both apart. The term has the form of their difference if that is proved.
        """
        m, a, width = self._terms, aligned.variable, aligned.width
        known, zero = self._model.bounds.get(a), m.BV(0, width)
        if known is None or known[0] <= -(1 << (width - 1)):
            return
        below = m.BVSLT(a, zero)
        definitions = m.Ite(below, zero, a), m.Ite(below, m.BVNeg(a), zero)
        parts = [self._cuts.new(x, width) for x in definitions]
        equal = m.Equals(a, m.BVSub(*definitions))
        if not self._cuts.holds("sum", "the difference of its parts", equal, seconds=NET_SECONDS, widenings=0):
            return
        for name, part, most in zip(("positive", "negative"), parts, (known[1], -known[0]), strict=True):
            self.summands[part] = True
            self._model.note_bounds(Word(part, width, True, self._model), (0, max(most, 0)))
            text = f"{name} part of {aligned.name}"
            self._relations.add_number(text, part, self._cuts.definition(part), True, is_added=True)
        self.note(a, Form.of(width, ((parts[0], 1), (parts[1], -1)), 0))
        for size in self._cuts.symbols(aligned.definition):
            if self._is_magnitude(size, a, width, m.BVAdd(*definitions)):
                self.summands[size] = False
                self.note(size, Form.of(size.bv_width(), ((parts[0], 1), (parts[1], 1)), 0))

    def _is_magnitude(self, size: FNode, term: FNode, width: int, total: FNode) -> bool:
        """Return whether a word is proved to be the magnitude of an aligned term, the sum of its parts."""
        if width_of(size) == TRUTH or size.bv_width() >= width or size in self.summands:
            return False
        magnitudes = abs(signed_column(self._columns.values(term), width))
        if not np.array_equal(self._columns.values(size).astype(magnitudes.dtype), magnitudes):
            return False
        claim = self._terms.Equals(self._relations.resized(size, False, width), total)
        return self._cuts.holds("sum", "the sum of its parts", claim, seconds=NET_SECONDS, widenings=1)

    def summand(self, variable: FNode) -> bool | None:
        """Return whether a variable is read in two's complement where it is added; None if it is not a number."""
        return self.summands.get(variable)

    def uses(self, *widths: int) -> None:
        """Note that a sum is taken apart and put together in words of these widths, one cut or extended to another."""
        found = sorted(set(widths))
        self._model.used.update(Law(Operation.LINEAR, width) for width in found)
        self._model.used.update(Law(Operation.RESIZED_SUM, x, wider=y) for x, y in pairwise(found))

    def note(self, variable: FNode, form: Form) -> None:
        """Note the form of the variable of a sum."""
        self._sums.setdefault(tuple(v for v, _ in form.terms), []).append((variable, form))
        self.forms[variable] = form

    def _fits(self, variable: FNode, form: Form) -> bool:
        """Return whether no values of the words of a form make it overflow the variable of their sum."""
        terms, constant = form.centred()
        low, high = self._bounds_of(terms)
        least = -(1 << (form.width - 1)) if self.summands[variable] else 0
        return least <= low + constant and high + constant < least + (1 << form.width)

    def is_form(self, variable: FNode, width: int) -> bool:
        """Return whether the variable of a sum has the value of its form modulo two to this width."""
        return variable not in self._wrapped or width <= self._width(variable)

    def of_form(self, name: str, form: Form) -> FNode:
        """Return a sum as a term: over the variable of that sum, which is made if there is none yet."""
        form = self.exchanges.settled(name, self.expanded(form))
        terms, constant = form.centred()
        if len(terms) > 1:
            variable, factor = self._variable_of(name, form)
        elif terms:
            ((variable, factor),) = terms
        else:
            return self._terms.BV(form.constant, form.width)
        return self._scaled(variable, factor, constant, form.width)

    def expanded(self, form: Form) -> Form:
        """Return a form over words that are not sums."""
        self.uses(form.width)
        while any(v in self.forms and self.is_form(v, form.width) for v, _ in form.terms):
            total = Form.of(form.width, (), form.constant)
            for variable, coefficient in form.terms:
                total = total.plus(self._over_words(variable, form.width).times(coefficient))
            form = total
        return form

    def _over_words(self, variable: FNode, width: int) -> Form:
        """Return the form of the variable of a sum over the words that it adds, of any other one itself."""
        inner = self.forms.get(variable)
        if inner is None or not self.is_form(variable, width):
            return Form.of(width, ((variable, 1),), 0)
        self.uses(inner.width, width)
        return Form.of(width, *inner.centred())

    def _variable_of(self, name: str, form: Form) -> tuple[FNode, int]:
        """Return the variable whose multiple the form is, its constant apart, and the factor."""
        terms, _ = form.centred()
        for variable, other in self._sums.get(tuple(v for v, _ in terms), ()):
            if other.constant or not self.is_form(variable, form.width):
                continue
            known = other.centred()[0]
            factor, rest = divmod(terms[0][1], known[0][1])
            if not rest and all(
                (c - factor * k) % (1 << form.width) == 0 for (_, c), (_, k) in zip(terms, known, strict=True)
            ):
                if name and variable in self._totals:
                    self._matched.append(MatchedNet(name, "sum", "equal" if factor == 1 else f"times {factor}"))
                return variable, factor
        low, high = self._bounds_of(terms)
        # no coefficient is cut, so that the form is the sum as an integer
        largest = [abs(c) for _, c in terms] + [x if x >= 0 else ~x for x in (low, high)]
        width = max(largest).bit_length() + 1
        self.uses(form.width, width)
        m = self._terms
        first, *others = (self._scaled(v, c, 0, width) for v, c in terms)
        total = first
        for x in others:
            total = m.BVAdd(total, x)
        variable = self._cuts.new(total, width)
        self.summands[variable] = True
        whole = Form.of(width, terms, 0)
        self.note(variable, whole)
        if all(low <= 0 <= high for low, high in (self.range_of(v) for v, _ in terms)):
            self._model.note_bounds_of_sum(Word(variable, width, True, self._model), (low, high))
        self._relations.add_number("sum of some terms", variable, total, True)
        return variable, 1

    def _bounds_of(self, terms: Sequence[tuple[FNode, int]]) -> tuple[int, int]:
        """Return the least and the largest value of a sum of multiples, as integers."""
        ends = [[c * x for x in self.range_of(v)] for v, c in terms]
        return sum(map(min, ends)), sum(map(max, ends))

    def range_of(self, variable: FNode) -> tuple[int, int]:
        """Return bounds of a summand, read as sums read it."""
        if width_of(variable) == TRUTH:
            return 0, 1
        width = variable.bv_width()
        least = -(1 << (width - 1)) if self.summands[variable] else 0
        whole = least, least + (1 << width) - 1
        known = self._model.bounds.get(variable, whole)
        # bounds of the other reading say nothing of this one
        return known if whole[0] <= known[0] and known[1] <= whole[1] else whole

    @staticmethod
    def _width(variable: FNode) -> int:
        return max(width_of(variable), 1)

    def chosen(self, name: str, term: FNode) -> FNode | None:
        """Return a choice between two sums as one sum: what both have, and what the choice between the rest is."""
        if not term.is_ite() or term.bv_width() < FEWEST_BITS_OF_SUMS:
            return None
        forms = [self.linear.form(x) for x in term.args()[1:]]
        if forms[0] is None or forms[1] is None:
            return None
        first, second = (dict(self.expanded(f).terms) for f in (forms[0], forms[1]))
        common = [(v, c) for v, c in first.items() if second.get(v) == c]
        if not common:
            return None
        width = term.bv_width()
        both = Form.of(width, common, 0)
        rests = [self.of_form("", f.plus(both.times(-1))) for f in (forms[0], forms[1])]
        choice = self._terms.Ite(term.arg(0), *rests)
        rest = self._related(name, choice)
        self.choices[term] = Choice(both, (rests[0], rests[1]), choice, choice if rest is None else rest)
        form = self.linear.form(self.choices[term].rest)
        return None if form is None else self.of_form(name, both.plus(form))

    def _scaled(self, variable: FNode, factor: int, constant: int, width: int) -> FNode:
        m = self._terms
        x = self._relations.resized(variable, self.summands[variable], width)
        if factor != 1:
            places = factor.bit_length() - 1
            if factor > 0 and factor == 1 << places and places < width:
                x = m.BVConcat(
                    self._relations.resized(variable, self.summands[variable], width - places), m.BV(0, places)
                )
            else:
                x = m.BVNeg(x) if factor == -1 else m.BVMul(x, m.BV(factor % (1 << width), width))
        return m.BVAdd(x, m.BV(constant % (1 << width), width)) if constant else x

    def _extended(self, form: Form, width: int, signed: bool) -> Form | None:
        """Return the form of an extended sum, where it is proved that the sum fits the word before it."""
        form = self.expanded(form)
        terms, constant = form.centred()
        if len(terms) > 1:
            variable, factor = self._variable_of("", form)
        elif terms:
            ((variable, factor),) = terms
        else:
            return None
        own = form.width
        wide = max(self._width(variable), width) + abs(factor).bit_length() + 1
        self.uses(own, width, wide)
        whole = self._scaled(variable, factor, constant, wide)
        cut = self._terms.BVExtract(whole, 0, own - 1)
        back = self._terms.BVSExt(cut, wide - own) if signed else self._terms.BVZExt(cut, wide - own)
        if not self._cuts.holds(
            "sum", "fits its word", self._terms.Equals(back, whole), seconds=NET_SECONDS, widenings=0
        ):
            return None
        self.extensions[form, signed] = whole
        return self._over_words(variable, width).times(factor).plus(Form.of(width, (), constant))
