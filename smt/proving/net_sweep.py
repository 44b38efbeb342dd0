"""A netlist against a design, net by net: each net that is related to a variable of the model is replaced by it.

The design runs first, with a variable at each place of its datapath (``ModelTerms``). Then the circuit runs over the
same operands. For each net, in the order in which the circuit computes them, samples suggest relations to variables of
the model (``Relations``). A relation that is proved replaces the net, so that what follows is about variables of the
model alone. A net that is related to nothing stays as it is.

Nets that are sums of the model's words are recognised by their form (``Linear``), whatever the order and the kind of
the adders: a sum becomes a variable of its own, or the variable of the model's sum. Of a carry-save adder the two
results are no sums of the words, but together they are: where it is proved of a word c that it is x + y + z - s modulo
2**n, s being the exclusive or of the three, c is that sum from there on. A net may also be the maximum of some of the
model's exponents.

The lemmas imply that the circuit returns d of the design, for this reason. Take operands that meet the precondition,
and any values of the undefined bits. Give each variable the value that its definition has for them. Each fact and each
relation holds for all values of its variables that meet the facts, so it holds for these: by induction over the nets,
each net has the value of what replaces it. The laws that are used besides are those of ``laws`` (sums and maxima in any
order, bounds of sums) and of ``linear`` (addition modulo powers of two).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.signals import Signal, SignalKind
from mmaproof.smt.proving.bitwise import BitwiseFunction, bitwise_function, is_bitwise
from mmaproof.smt.proving.columns import FAST_BITS, Columns, signed_column
from mmaproof.smt.proving.cut_variables import WIDENINGS, CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.linear import Form, Linear
from mmaproof.smt.proving.model_terms import ModelSignal, ModelTerms
from mmaproof.smt.proving.net_relations import Relations
from mmaproof.smt.solving.operators import TRUTH
from mmaproof.smt.solving.query import width_of

RESULTS, RESULT_WIDENINGS = frozenset(map(str, (Signal(SignalKind.D), Signal(SignalKind.CONVERTED)))), 24
"""The names of results, which consist of many stages, and the stages by which the cut of a claim is moved back."""
LONG = RESULTS | {str(Signal(SignalKind.SUM)), "maximum", "distance"}
"""The names of words that all terms enter."""
NET_SECONDS, LONG_SECONDS = 5.0, 40.0
"""Seconds that a query about a net may take, and one about a word that all terms enter."""
CANDIDATES = 3
"""Suggestions that are asked about for one net."""
FEWEST_BITS_OF_SUMS = 2
FEWEST_BITS_OF_ADDERS = 4
PAIRS = 8
"""Pairs of words whose sum a net may be, the last ones."""
_WITH_BITS = frozenset({"product", "magnitude", "normalised", "moved right", "converted"})


@dataclass(frozen=True)
class MatchedNet:
    """A net and the variable of the model that it was proved to be related to."""

    net: str
    signal: str
    relation: str


class NetSweep:
    """The nets of one circuit on their way through the variables of one model."""

    def __init__(self, model: ModelTerms, cuts: CutVariables, columns: Columns, environment: Environment) -> None:
        self._model, self._cuts, self._columns = model, cuts, columns
        self._terms: Any = environment.formula_manager
        self._environment = environment
        self._known: dict[FNode, FNode] = {}
        self._relations = Relations(environment, columns)
        self._summands: dict[FNode, bool] = {}
        self._sums: dict[tuple[FNode, ...], list[tuple[FNode, Form]]] = {}
        """variables of sums by the variables that they add, with their forms"""
        self._totals: set[FNode] = set()
        """those that are sums of the model"""
        self._forms: dict[FNode, Form] = {}
        """the form of a variable of a sum over the words that it adds"""
        self._wrapped: set[FNode] = set()
        """variables of sums that may wrap: they have the value of their form modulo two to their width alone"""
        self._halves: dict[FNode, BitwiseFunction] = {}
        """variables of carries that have not been moved to their places"""
        self._exclusive: dict[frozenset[FNode], FNode] = {}
        """variables of exclusive ors, by their words"""
        self._pairs: dict[int, list[frozenset[FNode]]] = {}
        """the two words of functions of bits, by their width"""
        self._maxima: dict[frozenset[FNode], FNode] = {}
        self._linear = Linear(environment, self._is_summand, self._extended, self._twice, self._bitwise)
        self.matched: list[MatchedNet] = []
        self.unmatched: list[str] = []
        self._unmatched_since: str | None = None
        self._take_model()

    def lead(self) -> str:
        """Return the first word of the design that no net carries, and the first net after the last one matched."""
        carried = {x.signal for x in self.matched}
        missing = next((x.name for x in self._model.signals if x.width and x.name not in carried), None)
        of_design = "" if missing is None else f"no net is proved to carry {missing!r} of the design"
        of_netlist = f"the first net that is not matched is {self._unmatched_since}" if self._unmatched_since else ""
        return "; ".join(x for x in (of_design, of_netlist) if x)

    # --- the model's variables --------------------------------------------------------------------------------

    def _take_model(self) -> None:
        for x in self._model.signals:
            if x.width == 0:
                self._relations.add_truth(x.variable)
                self._summands[x.variable] = False
                continue
            of_sum = x.kind in (SignalKind.OPERAND_SIGNIFICAND, SignalKind.SIGNIFICAND, SignalKind.SUM)
            absent = x.kind in (SignalKind.EXPONENT, SignalKind.OPERAND_EXPONENT, SignalKind.E_MAX)
            self._relations.add_number(
                x.name,
                x.variable,
                x.definition,
                x.signed,
                has_bits=of_sum or x.name in _WITH_BITS,
                may_be_absent=absent or x.name in ("maximum", "exponent that counts", "places"),
                is_added=x.variable in self._model.added,
            )
        for x in self._model.signals:
            if x.kind is SignalKind.OPERAND_SIGNIFICAND and x.width > 1:
                self._relations.add_top_bit(x.variable)
        for variable, signed in self._model.added.items():
            self._summands[variable] = signed
        for x in self._model.signals:
            if x.kind is SignalKind.ALIGNED and x.variable in self._model.added:
                self._take_parts_of(x)
        for x in self._model.signals:
            if x.width and x.definition in self._model.totals:
                form = self._linear.form(x.definition)
                form = None if form is None else self._expanded(form)
                if form is not None and len(form.terms) > 1:
                    self._summands.setdefault(x.variable, x.signed)
                    self._totals.add(x.variable)
                    self._note_sum(x.variable, form)
                    if not self._fits(x.variable, form):
                        self._wrapped.add(x.variable)
        for fold in self._model.folds:
            self._maxima[frozenset(fold.parts)] = fold.variable

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
            self._summands[part] = True
            self._model.note_bounds(Word(part, width, True, self._model), (0, max(most, 0)))
            text = f"{name} part of {aligned.name}"
            self._relations.add_number(text, part, self._cuts.definition(part), True, is_added=True)
        self._note_sum(a, Form.of(width, ((parts[0], 1), (parts[1], -1)), 0))
        for size in self._cuts.symbols(aligned.definition):
            if self._is_magnitude(size, a, width, m.BVAdd(*definitions)):
                self._summands[size] = False
                self._note_sum(size, Form.of(size.bv_width(), ((parts[0], 1), (parts[1], 1)), 0))

    def _is_magnitude(self, size: FNode, term: FNode, width: int, total: FNode) -> bool:
        """Return whether a word is proved to be the magnitude of an aligned term, the sum of its parts."""
        if width_of(size) == TRUTH or size.bv_width() >= width or size in self._summands:
            return False
        magnitudes = abs(signed_column(self._columns.values(term), width))
        if not np.array_equal(self._columns.values(size).astype(np.int64), magnitudes):
            return False
        claim = self._terms.Equals(self._relations.resized(size, False, width), total)
        return self._cuts.holds("sum", "the sum of its parts", claim, seconds=NET_SECONDS, widenings=1)

    def _is_summand(self, variable: FNode) -> bool | None:
        return self._summands.get(variable)

    def _note_sum(self, variable: FNode, form: Form) -> None:
        self._sums.setdefault(tuple(v for v, _ in form.terms), []).append((variable, form))
        self._forms[variable] = form

    def _fits(self, variable: FNode, form: Form) -> bool:
        """Return whether no values of the words of a form make it overflow the variable of their sum."""
        terms, constant = form.centred()
        low, high = self._bounds_of(terms)
        least = -(1 << (form.width - 1)) if self._summands[variable] else 0
        return least <= low + constant and high + constant < least + (1 << form.width)

    def _is_form(self, variable: FNode, width: int) -> bool:
        """Return whether the variable of a sum has the value of its form modulo two to this width."""
        return variable not in self._wrapped or width <= self._width(variable)

    # --- nets -------------------------------------------------------------------------------------------------

    def on_net(self, name: str, word: Word[FNode]) -> Word[FNode]:
        """Return what replaces a net: a term over variables that is proved to be equal to it, or itself."""
        term = word.data
        if term not in self._known:
            self._known[term] = found = self._replacement(name, term)
            self._known[found] = found
        found = self._known[term]
        # the same word leaves the bits of a wide net as they were: parts of others
        return word if found is term else Word(found, word.width, word.signed, self._model)

    def _replacement(self, name: str, term: FNode) -> FNode:
        if term.is_constant() or self._is_plain(term):
            return term
        if term.bv_width() == 1:
            return self._bit(name, term)
        if term.bv_width() >= FEWEST_BITS_OF_SUMS and not is_bitwise(term):
            form = self._linear.form(term)
            if form is not None and form.terms:
                return self._of_form(name, form)
        found = self._chosen_sum(name, term)
        if found is not None:
            return found
        found = self._of_adder(term) if is_bitwise(term) else self._maximum(name, term)
        if found is None and is_bitwise(term):
            found = self._adder(name, term)
        if found is None:
            found = self._related(name, term)
        if found is None:
            self.unmatched.append(name)
            self._unmatched_since = self._unmatched_since or name
            return term
        self._unmatched_since = None
        return found

    def _is_plain(self, term: FNode) -> bool:
        """Return whether a term is a variable, or bits of variables put together."""
        pending = [term]
        while pending:
            x = pending.pop()
            if x.is_symbol() or x.is_constant():
                continue
            if not (x.is_bv_concat() or x.is_bv_extract() or x.is_bv_zext() or x.is_bv_sext()):
                return False
            pending += x.args()
        return True

    def _bit(self, name: str, term: FNode) -> FNode:
        if term.is_ite() and term.arg(0).is_symbol():
            return term
        found = self._top_bit(name, term)
        if found is not None:
            return found
        for tried, (relation, variable, negated) in enumerate(self._relations.of_bit(term)):
            if tried == CANDIDATES:
                break
            definition = self._definition(variable)
            values = [self._terms.BV(1 - negated, 1), self._terms.BV(int(negated), 1)]
            of = variable if variable in self._cuts.symbols(term) else definition
            claim = self._terms.Equals(term, self._terms.Ite(of, *values))
            if self._cuts.holds(f"net {name}", relation, claim, seconds=NET_SECONDS, widenings=2):
                self.matched.append(MatchedNet(name, self._name(variable), relation))
                return self._terms.Ite(variable, *values)
        return term

    def _top_bit(self, name: str, term: FNode) -> FNode | None:
        """Return the highest bit of a significand that the term is proved to be, or its negation."""
        m, symbols = self._terms, self._cuts.symbols(term)
        for variable, negated in self._relations.of_top_bit(term):
            if variable not in symbols:
                continue
            top = variable.bv_width() - 1
            bit = m.BVExtract(variable, top, top)
            bit = m.BVNot(bit) if negated else bit
            if self._cuts.holds(f"net {name}", "is normal", m.Equals(term, bit), seconds=NET_SECONDS, widenings=0):
                self.matched.append(MatchedNet(name, self._name(variable), "its highest bit"))
                return bit
        return None

    def _definition(self, variable: FNode) -> FNode:
        return self._cuts.definition(variable)

    def _name(self, variable: FNode) -> str:
        return next((s.name for s in self._model.signals if s.variable is variable), str(variable))

    def _related(self, name: str, term: FNode) -> FNode | None:
        """Return the net over the first number to which it is proved to be related."""
        symbols = self._cuts.symbols(term)
        suggestions = list(self._relations.of_word(term))
        suggestions.sort(key=lambda s: s.number.variable not in symbols)
        for suggestion in suggestions[:CANDIDATES]:
            number = suggestion.number
            inside = number.variable in symbols
            claim = self._terms.Equals(term, suggestion.of(number.variable if inside else number.definition))
            widenings = RESULT_WIDENINGS if number.name in RESULTS else WIDENINGS
            seconds = LONG_SECONDS if number.name in LONG else NET_SECONDS
            if self._cuts.holds(f"net {name}", suggestion.relation, claim, seconds=seconds, widenings=widenings):
                self.matched.append(MatchedNet(name, number.name, suggestion.relation))
                return suggestion.of(number.variable)
        return None

    # --- sums -------------------------------------------------------------------------------------------------

    def _of_form(self, name: str, form: Form) -> FNode:
        """Return a sum as a term: over the variable of that sum, which is made if there is none yet."""
        self._model.used.add(Law(Operation.LINEAR, form.width))
        form = self._expanded(form)
        terms, constant = form.centred()
        if len(terms) > 1:
            variable, factor = self._variable_of(name, form)
        elif terms:
            ((variable, factor),) = terms
        else:
            return self._terms.BV(form.constant, form.width)
        return self._scaled(variable, factor, constant, form.width)

    def _expanded(self, form: Form) -> Form:
        """Return a form over words that are no sums."""
        while any(v in self._forms and self._is_form(v, form.width) for v, _ in form.terms):
            total = Form.of(form.width, (), form.constant)
            for variable, coefficient in form.terms:
                total = total.plus(self._over_words(variable, form.width).times(coefficient))
            form = total
        return form

    def _over_words(self, variable: FNode, width: int) -> Form:
        """Return the form of the variable of a sum over the words that it adds, of any other one itself."""
        inner = self._forms.get(variable)
        if inner is None or not self._is_form(variable, width):
            return Form.of(width, ((variable, 1),), 0)
        return Form.of(width, *inner.centred())

    def _variable_of(self, name: str, form: Form) -> tuple[FNode, int]:
        """Return the variable whose multiple the form is, its constant apart, and the factor."""
        terms, _ = form.centred()
        for variable, other in self._sums.get(tuple(v for v, _ in terms), ()):
            if other.constant or not self._is_form(variable, form.width):
                continue
            known = other.centred()[0]
            factor, rest = divmod(terms[0][1], known[0][1])
            if not rest and all(
                (c - factor * k) % (1 << form.width) == 0 for (_, c), (_, k) in zip(terms, known, strict=True)
            ):
                if name and variable in self._totals:
                    self.matched.append(MatchedNet(name, "sum", "equal" if factor == 1 else f"times {factor}"))
                return variable, factor
        low, high = self._bounds_of(terms)
        # no coefficient is cut, so that the form is the sum as an integer
        largest = [abs(c) for _, c in terms] + [x if x >= 0 else ~x for x in (low, high)]
        width = max(largest).bit_length() + 1
        self._model.used.add(Law(Operation.LINEAR, width))
        m = self._terms
        total = None
        for variable, coefficient in terms:
            x = self._relations.resized(variable, self._summands[variable], width)
            if coefficient != 1:
                x = m.BVNeg(x) if coefficient == -1 else m.BVMul(x, m.BV(coefficient % (1 << width), width))
            total = x if total is None else m.BVAdd(total, x)
        variable = self._cuts.new(total, width)
        self._summands[variable] = True
        whole = Form.of(width, terms, 0)
        self._note_sum(variable, whole)
        if all(low <= 0 <= high for low, high in (self._range(v) for v, _ in terms)):
            self._model.note_bounds_of_sum(Word(variable, width, True, self._model), (low, high))
        self._relations.add_number("sum of some terms", variable, total, True)
        return variable, 1

    def _bounds_of(self, terms: Sequence[tuple[FNode, int]]) -> tuple[int, int]:
        """Return the least and the largest value of a sum of multiples, as integers."""
        ends = [[c * x for x in self._range(v)] for v, c in terms]
        return sum(map(min, ends)), sum(map(max, ends))

    def _range(self, variable: FNode) -> tuple[int, int]:
        """Return bounds of a summand, read as sums read it."""
        if width_of(variable) == TRUTH:
            return 0, 1
        width = variable.bv_width()
        least = -(1 << (width - 1)) if self._summands[variable] else 0
        whole = least, least + (1 << width) - 1
        known = self._model.bounds.get(variable, whole)
        # bounds of the other reading say nothing of this one
        return known if whole[0] <= known[0] and known[1] <= whole[1] else whole

    @staticmethod
    def _width(variable: FNode) -> int:
        return max(width_of(variable), 1)

    def _chosen_sum(self, name: str, term: FNode) -> FNode | None:
        """Return a choice between two sums as one sum: what both have, and what the choice between the rest is."""
        if not term.is_ite() or term.bv_width() < FEWEST_BITS_OF_SUMS:
            return None
        forms = [self._linear.form(x) for x in term.args()[1:]]
        if forms[0] is None or forms[1] is None:
            return None
        first, second = (dict(self._expanded(f).terms) for f in (forms[0], forms[1]))
        common = [(v, c) for v, c in first.items() if second.get(v) == c]
        if not common:
            return None
        width = term.bv_width()
        both = Form.of(width, common, 0)
        rests = [self._of_form("", f.plus(both.times(-1))) for f in (forms[0], forms[1])]
        rest = self._related(name, self._terms.Ite(term.arg(0), *rests))
        form = None if rest is None else self._linear.form(rest)
        return None if form is None else self._of_form(name, both.plus(form))

    def _scaled(self, variable: FNode, factor: int, constant: int, width: int) -> FNode:
        m = self._terms
        x = self._relations.resized(variable, self._summands[variable], width)
        if factor != 1:
            places = factor.bit_length() - 1
            if factor > 0 and factor == 1 << places and places < width:
                x = m.BVConcat(
                    self._relations.resized(variable, self._summands[variable], width - places), m.BV(0, places)
                )
            else:
                x = m.BVNeg(x) if factor == -1 else m.BVMul(x, m.BV(factor % (1 << width), width))
        return m.BVAdd(x, m.BV(constant % (1 << width), width)) if constant else x

    def _extended(self, inner: FNode, form: Form, width: int, signed: bool) -> Form | None:
        """Return the form of an extended sum, where it is proved that the sum fits the word before it."""
        form = self._expanded(form)
        terms, constant = form.centred()
        if len(terms) > 1:
            variable, factor = self._variable_of("", form)
        elif terms:
            ((variable, factor),) = terms
        else:
            return None
        own = form.width
        wide = max(self._width(variable), width) + abs(factor).bit_length() + 1
        whole = self._scaled(variable, factor, constant, wide)
        cut = self._terms.BVExtract(whole, 0, own - 1)
        back = self._terms.BVSExt(cut, wide - own) if signed else self._terms.BVZExt(cut, wide - own)
        if not self._cuts.holds(
            "sum", "fits its word", self._terms.Equals(back, whole), seconds=NET_SECONDS, widenings=0
        ):
            return None
        return self._over_words(variable, width).times(factor).plus(Form.of(width, (), constant))

    # --- carry-save adders ------------------------------------------------------------------------------------

    def _of_adder(self, term: FNode) -> FNode | None:
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

    def _adder(self, name: str, term: FNode) -> FNode | None:
        """Return the sum of two words that the term is computed from, however its adder passes carries on."""
        width = term.bv_width()
        if width < FEWEST_BITS_OF_ADDERS or width > FAST_BITS:
            return None
        column, mask = self._columns.values(term), np.uint64((1 << width) - 1)
        for pair in reversed(self._pairs.get(width, [])[-PAIRS:]):
            x, y = self._in_order(pair)
            total = (self._columns.values(x) + self._columns.values(y)) & mask
            carry = (column - total) & mask
            if carry[0] > 1 or (carry != carry[0]).any():
                continue
            if self._is_sum(name, term, x, y, int(carry[0])):
                m = self._terms
                found = m.BVAdd(x, y)
                found = m.BVAdd(found, m.BV(int(carry[0]), width)) if carry[0] else found
                form = self._linear.form(found)
                return found if form is None else self._of_form(name, form)
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
        return self._cuts.proved(f"net {name}", "sum of its words", m.Equals(of_any, total), seconds=NET_SECONDS)

    def _over(self, term: FNode, words: Mapping[FNode, FNode]) -> FNode | None:
        """Return a term with words in the place of others, None if it is not over these alone.

        Results of carry-save adders between them are taken apart.
        """
        substitute = self._environment.substituter.substitute
        of_any: FNode = substitute(term, words)
        while others := self._cuts.symbols(of_any) - set(words.values()):
            parts = {v: self._cuts.definition(v) for v in others if v in self._halves or v in self._exclusive.values()}
            if len(parts) < len(others):
                return None
            of_any = substitute(substitute(of_any, parts), words)
        return of_any

    def _exclusive_or(self, leaves: frozenset[FNode]) -> FNode | None:
        """Return the variable of the exclusive or of some words, each of which is a sum."""
        if any(self._linear.form(x) is None for x in leaves):
            return None
        variable = self._exclusive.get(leaves)
        if variable is None:
            first, *others = self._in_order(leaves)
            term = first
            for x in others:
                term = self._terms.BVXor(term, x)
            variable = self._cuts.new(term, term.bv_width())
            self._summands[variable] = False
            self._exclusive[leaves] = variable
        return variable

    def _bitwise(self, term: FNode) -> Form | None:
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
        forms = [self._linear.form(x) for x in function.leaves]
        known = [self._expanded(f) for f in forms if f is not None]
        variable = self._exclusive_or(function.leaves) if len(known) == len(forms) else None
        if variable is None:
            return None
        width = variable.bv_width()
        self._model.used.add(Law(Operation.CARRY_SAVE_SUM, width))
        total = Form.of(width, ((variable, -1),), 0)
        for form in known:
            total = total.plus(form)
        return total

    def _twice(self, term: FNode) -> Form | None:
        function = self._halves.get(term) if term.is_symbol() else bitwise_function(term)
        return None if function is None else self._carries(function)

    def _in_order(self, terms: Iterable[FNode]) -> list[FNode]:
        return sorted(terms, key=lambda x: x.node_id())

    # --- maxima -----------------------------------------------------------------------------------------------

    def _maximum(self, name: str, term: FNode) -> FNode | None:
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
                reached = column.astype(np.int64) - near
                some = [(p, v) for p, v in parts if (v <= reached).all()]
                if len(some) < 2 or not np.array_equal(np.max([v for _, v in some], axis=0), reached):
                    continue
                found = self._prove_maximum(name, term, frozenset(p for p, _ in some), near)
                if found is not None:
                    return found
        return None

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
        words = self._in_order([v for _, v in held]) if covered == parts else self._in_order(parts)
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
            self._relations.add_number("maximum of some exponents", variable, largest, True, may_be_absent=True)
            for part in self._in_order(parts):
                self._cuts.note(m.Not(m.BVSLT(variable, part)))
            bounds = [self._model.range_of(p) for p in parts]
            known = [b for b in bounds if b is not None]
            if len(known) == len(parts):
                both = max(b[0] for b in known), max(b[1] for b in known)
                self._model.note_bounds_of_maximum(Word(variable, own, True, self._model), both)
        self.matched.append(MatchedNet(name, f"maximum of {len(parts)} exponents", f"offset by {offset}"))
        return moved(variable)
