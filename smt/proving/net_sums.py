"""Nets that are sums of the model's words, whatever the order and the kind of their adders.

A sum is recognised by its form (``Linear``). It becomes a variable of its own, or the variable of the model's sum. The
law about addition modulo powers of two is what joins a form and the variable of its sum; that a sum fits a word, and
that a term is the difference of its parts, is proved each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.signals import SignalKind
from mmaproof.smt.proving.columns import Columns, signed_column
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.linear import Form, Linear
from mmaproof.smt.proving.model_places import ModelSignal
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_adders import Adders
from mmaproof.smt.proving.net_exchanges import Exchanges, Related
from mmaproof.smt.proving.net_orders import NetOrders
from mmaproof.smt.proving.net_relations import FEWEST_BITS_OF_SUMS, NET_SECONDS, MatchedNet, Relations
from mmaproof.smt.solving.operators import TRUTH
from mmaproof.smt.solving.query import width_of


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
