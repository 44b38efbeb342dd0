"""Sums of one function of each of several words that comparators have exchanged: as if they had not been.

A comparator returns its two operands, exchanged where a condition holds: c ? y : x and c ? x : y. So f of the one
result plus f of the other is f(x) + f(y), whatever f is (``Operation.EXCHANGE``). A unit that sorts whole terms by
their exponents, or exchanges the larger and the smaller one, adds the same function of each term in another order.

An addend that is computed from such a choice becomes a variable of a sum. A sum of such variables is looked through
when it is made: each addend is a function of some *fields* that comparators have chosen, together with words that all
addends share. If all are one function (which is proved where they are written otherwise), the comparators are undone
from the last one to the first. What is left are functions of words that nothing has chosen, and each of these is to be
related to a variable of the model. If anything is missing, the sum stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np
from pysmt import operators as op
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.linear import Form, in_order
from mmaproof.smt.proving.model_places import payload
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_orders import NetOrders
from mmaproof.smt.proving.net_relations import NET_SECONDS, Relations
from mmaproof.smt.proving.walk import bottom_up, substituted

if TYPE_CHECKING:
    from mmaproof.smt.proving.net_sums import NetSums

MOST_READINGS = 16
"""Ways of reading an addend as a function of fields that are tried."""

Related = Callable[[str, FNode], FNode | None]
_Fields = tuple[FNode, ...]


@dataclass(frozen=True)
class _Addend:
    """A function, as a term over placeholders, and the fields that stand in their places."""

    function: FNode
    fields: _Fields


class Exchanges:
    """The choices of comparators that were seen, and the addends that are computed from them."""

    def __init__(
        self,
        sums: NetSums,
        orders: NetOrders,
        model: ModelTerms,
        cuts: CutVariables,
        columns: Columns,
        relations: Relations,
        related: Related,
        environment: Environment,
    ) -> None:
        self._sums, self._orders, self._model, self._cuts, self._columns = sums, orders, model, cuts, columns
        self._relations, self._related, self._environment = relations, related, environment
        self._terms: Any = environment.formula_manager
        self._seen: set[_Fields] = set()
        """choices that nets are: condition, first, second"""
        self._exchanged: dict[FNode, dict[FNode, None]] = {}
        """choices whose words are also chosen the other way round, by their condition"""
        self._computed: dict[FNode, bool] = {}
        """terms, and whether they are computed from an exchanged word"""
        self._addends: dict[FNode, FNode] = {}
        """variables of addends by their terms"""
        self._unsettled: set[Form] = set()
        self._settled: dict[Form, Form] = {}

    # --- what is seen -----------------------------------------------------------------------------------------

    def see(self, term: FNode) -> None:
        """See a net that is a choice between two words."""
        condition, first, second = term.args()
        if term.args() in self._seen:
            return
        self._seen.add(term.args())
        if (condition, second, first) in self._seen:
            other = self._terms.Ite(condition, second, first)
            self._exchanged.setdefault(condition, {}).update({term: None, other: None})
            self._computed.clear()
            self._sums.linear.forget_unknown()

    def addend(self, term: FNode) -> FNode | None:
        """Return the variable of a word that is computed from exchanged words, to be added; None of any other word.

        Several fields side by side are not number.
        """
        if not self._exchanged or _is_joined(term) or not self._is_computed(term):
            return None
        variable = self._addends.get(term)
        if variable is None:
            variable = self._cuts.new(term, term.bv_width())
            self._addends[term] = variable
            self._addends[variable] = variable
            self._sums.summands[variable] = False
            self._computed[variable] = True
        return variable

    def is_addend(self, term: FNode) -> bool:
        """Return whether a word is one that has a variable as an addend."""
        return term in self._addends

    def _is_exchanged(self, term: FNode) -> bool:
        return term.is_ite() and term in self._exchanged.get(term.arg(0), ())

    def _is_computed(self, term: FNode) -> bool:
        def compute(node: FNode, operands: Sequence[bool]) -> bool:
            return any(operands) or node in self._addends or self._is_exchanged(node)

        return bottom_up(term, self._computed, compute)

    # --- sums of addends --------------------------------------------------------------------------------------

    def settled(self, name: str, form: Form) -> Form:
        """Return a sum with the functions of exchanged words as those of the words themselves, where that is proved."""
        own = [(v, c) for v, c in form.terms if v in self._addends]
        if not own or form in self._unsettled:
            return form
        found = self._settled.get(form)
        if found is None:
            found = self._undone(name, form, own)
            if found is None:
                self._unsettled.add(form)
                return form
            self._settled[form] = found
        return found

    def _undone(self, name: str, form: Form, own: Sequence[tuple[FNode, int]]) -> Form | None:
        width = form.width
        total = Form.of(width, [(v, c) for v, c in form.terms if v not in self._addends], form.constant)
        for factor in sorted({c for _, c in own}):
            words = [self._collected(self._in_full(self._resized(v, width))) for v, c in own if c == factor]
            addends = self._of_one_function(name, words)
            base = None if addends is None else self._reduced(addends)
            if base is None:
                return None
            for x in base:
                part = self._part(name, self._applied(x), width)
                if part is None:
                    return None
                total = total.plus(part.times(factor))
        self._model.used.add(Law(Operation.EXCHANGE, width))
        return total

    def _resized(self, variable: FNode, width: int) -> FNode:
        return self._relations.resized(variable, self._sums.summands[variable], width)

    def _part(self, name: str, term: FNode, width: int) -> Form | None:
        """Return what is left of an addend as a sum of words of the model."""
        form = self._sums.linear.form(term)
        if form is None:
            found = self._related(name, term)
            form = None if found is None else self._sums.linear.form(found)
        return None if form is None else self._sums.expanded(form)

    def _in_full(self, term: FNode) -> FNode:
        """Return a term without variables of addends."""
        definitions = {v: self._cuts.definition(v) for v in self._cuts.symbols(term) if v in self._addends}
        while definitions:
            term = substituted(self._environment, term, definitions)
            definitions = {v: self._cuts.definition(v) for v in self._cuts.symbols(term) if v in self._addends}
        return term

    # --- one function of each ---------------------------------------------------------------------------------

    def _of_one_function(self, name: str, words: Sequence[FNode]) -> list[_Addend] | None:
        """Return words as one function of the fields of each, None where that is not proved."""
        found = [set(self._fields(w, frozenset())) for w in words]
        in_several = Counter(x for fields in found for x in fields if x.is_symbol())
        shared = frozenset(
            x for x, count in in_several.items() if count > 1 or any(x is f.variable for f in self._model.folds)
        )
        read = [self._read(w, list(self._fields(w, shared))) for w in words]
        uses = Counter(x.function for x in read)
        most = max(read, key=lambda x: (len(x.fields), uses[x.function]))
        common, widths = most.function, [f.bv_width() for f in most.fields]
        addends = []
        for word, x in zip(words, read, strict=True):
            same = x if x.function is common else self._read_as(name, common, widths, word, x.fields)
            if same is None:
                return None
            addends.append(same)
        return addends

    def _fields(self, term: FNode, shared: frozenset[FNode]) -> Iterator[FNode]:
        """Yield the fields of a word, in the order in which it takes them."""
        pending, seen = [term], set[FNode]()
        while pending:
            x = pending.pop()
            if x in seen:
                continue
            seen.add(x)
            if self._is_exchanged(x) or (x in self._orders.choices and x not in shared):
                yield x
            else:
                pending += reversed(x.args())

    def _read(self, word: FNode, fields: Sequence[FNode]) -> _Addend:
        places = {x: self._placeholder(i, x.bv_width()) for i, x in enumerate(fields)}
        return _Addend(substituted(self._environment, word, places), tuple(fields))

    def _placeholder(self, place: int, width: int) -> FNode:
        found: FNode = self._model.symbol(f"field{place}_{width}", width).data
        return found

    def _applied(self, addend: _Addend) -> FNode:
        places = {self._placeholder(i, x.bv_width()): x for i, x in enumerate(addend.fields)}
        found: FNode = substituted(self._environment, addend.function, places)
        return found

    def _read_as(
        self, name: str, function: FNode, widths: Sequence[int], word: FNode, own: Sequence[FNode]
    ) -> _Addend | None:
        """Return a word as another function of its fields and those that are chosen along with them, if proved."""
        conditions = {c for x in own for c in self._conditions(x)}
        along = [x for c in in_order(conditions) for x in self._exchanged.get(c, ())]
        along += [x for x, by in self._orders.choices.items() if conditions & by.keys()]
        candidates = [[x for x in dict.fromkeys([*own, *along]) if x.bv_width() == w] for w in widths]
        column = self._columns.values(word)
        for fields in islice(product(*candidates), MOST_READINGS):
            x = _Addend(function, fields)
            if not np.array_equal(column, self._columns.values(self._applied(x))):
                continue
            # of any words in the place of what was chosen
            of_any = {
                f: self._placeholder(len(widths) + i, f.bv_width()) for i, f in enumerate(fields) if not f.is_symbol()
            }
            both = (substituted(self._environment, t, of_any) for t in (word, self._applied(x)))
            claim = self._terms.Equals(*both)
            if self._cuts.holds(f"net {name}", "the same function", claim, seconds=NET_SECONDS, widenings=0):
                return x
        return None

    # --- comparators ------------------------------------------------------------------------------------------

    def _reduced(self, addends: Sequence[_Addend]) -> list[_Addend] | None:
        """Return the addends of the words before all comparators, None where a comparator's other result is missing."""
        pending = [x.fields for x in addends]
        function = addends[0].function
        while True:
            chosen = {f: list(self._conditions_of(f)) for f in dict.fromkeys(pending)}
            if not any(chosen.values()):
                return [_Addend(function, f) for f in pending]
            found = self._exchange(pending, chosen)
            if found is None:
                return None
            first, second, before = found
            pending.remove(first)
            pending.remove(second)
            pending += before

    def _exchange(
        self, pending: Sequence[_Fields], chosen: Mapping[_Fields, Sequence[FNode]]
    ) -> tuple[_Fields, _Fields, tuple[_Fields, _Fields]] | None:
        """Return two of the words that a comparator exchanged, and what it exchanged; the last comparator first."""
        by_condition: dict[FNode, list[_Fields]] = {}
        for fields, conditions in chosen.items():
            for condition in conditions:
                by_condition.setdefault(condition, []).append(fields)
        for condition in reversed(in_order(by_condition)):
            branches = {f: self._branches(f, condition) for f in by_condition[condition]}
            for fields, (yes, no) in branches.items():
                other = next((f for f, b in branches.items() if b == (no, yes) and f != fields), None)
                if other is not None:
                    return fields, other, (yes, no)
        return None

    def _conditions_of(self, fields: _Fields) -> Iterator[FNode]:
        """Yield the conditions by which the fields of a word were chosen last."""
        found = dict.fromkeys(c for x in fields if not x.is_symbol() for c in self._conditions(x))
        yield from found

    def _conditions(self, field: FNode) -> Iterator[FNode]:
        """Yield the conditions of the outermost choices of a field."""
        for x in self._fields(field, frozenset()):
            if x.is_ite():
                yield x.arg(0)

    def _branches(self, fields: _Fields, condition: FNode) -> tuple[_Fields, _Fields]:
        """Return the fields where a condition holds, and where it does not."""
        yes, no = (tuple(self._branch(f, condition, side) for f in fields) for side in (0, 1))
        return yes, no

    def _branch(self, field: FNode, condition: FNode, side: int) -> FNode:
        """Return a field, or the parts that it consists of, on one side of a condition."""
        by = self._orders.choices.get(field)
        if by is not None and condition in by:
            return by[condition][side]
        if field.is_ite() and field.arg(0) is condition and self._is_exchanged(field):
            return field.arg(1 + side)
        if not (field.is_bv_concat() or field.is_bv_extract() or field.is_bv_zext()):
            return field
        parts = tuple(self._branch(x, condition, side) for x in field.args())
        found: FNode = self._terms.create_node(field.node_type(), parts, payload(field))
        return found

    # --- sums inside addends ----------------------------------------------------------------------------------

    def _collected(self, term: FNode) -> FNode:
        """Return a term with the sums inside it in one order, and words that cancel each other left out."""
        # fields remain as they are, so that their conditions are those of the comparators
        known = {x: (x, Counter({x: 1})) for x in self._fields(term, frozenset())}
        return bottom_up(term, known, self._sum_of)[0]

    def _sum_of(self, node: FNode, operands: Sequence[tuple[FNode, Counter[FNode]]]) -> tuple[FNode, Counter[FNode]]:
        kind = node.node_type()
        if kind not in (op.BV_ADD, op.BV_SUB, op.BV_NEG):
            terms = [x for x, _ in operands]
            same = all(x is y for x, y in zip(node.args(), terms, strict=True))
            own = node if same else self._terms.create_node(kind, tuple(terms), payload(node))
            return own, Counter({own: 1})
        width = node.bv_width()
        total: Counter[FNode] = Counter()
        signs = {op.BV_ADD: (1, 1), op.BV_SUB: (1, -1), op.BV_NEG: (-1,)}[kind]
        for (_, addends), sign in zip(operands, signs, strict=True):
            for x, c in addends.items():
                one, times = (self._terms.BV(1, width), x.constant_value()) if x.is_bv_constant() else (x, 1)
                total[one] = (total[one] + sign * c * times) % (1 << width)
        self._model.used.add(Law(Operation.LINEAR, width))
        return self._added(total, width), total

    def _added(self, addends: Mapping[FNode, int], width: int) -> FNode:
        """Return a sum of multiples: those added first, then those subtracted, each in the order of their words."""
        m, half, whole = self._terms, 1 << (width - 1), 1 << width
        found = None
        for x, c in sorted(((x, c) for x, c in addends.items() if c), key=lambda a: (a[1] > half, a[0].node_id())):
            multiple = self._times(x, whole - c if c > half else c, width)
            if found is None:
                found = m.BVNeg(multiple) if c > half else multiple
            else:
                found = m.BVSub(found, multiple) if c > half else m.BVAdd(found, multiple)
        return m.BV(0, width) if found is None else found

    def _times(self, x: FNode, factor: int, width: int) -> FNode:
        if x.is_bv_constant():  # one
            return self._terms.BV(factor, width)
        return x if factor == 1 else self._terms.BVMul(x, self._terms.BV(factor, width))


def _is_joined(term: FNode) -> bool:
    """Return whether a word is several others side by side, or a choice between two such words."""
    return bool(term.is_bv_concat() or (term.is_ite() and all(_is_joined(x) for x in term.args()[1:])))
