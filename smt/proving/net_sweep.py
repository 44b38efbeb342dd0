"""A netlist against a design, net by net: each net that is related to a variable of the model is replaced by it.

The design runs first, with a variable at each place of its datapath (``ModelTerms``). Then the circuit runs over the
same operands. For each net, in the order in which the circuit computes them, samples suggest relations to variables of
the model (``Relations``). A relation that is proved replaces the net, so that what follows is about variables of the
model alone. A net that carries no variable may be a word inside what one stands for (``InnerWords``), over variables
that the net is computed from. A net that is neither stays as it is.

Nets that are sums of the model's words are recognised by their form, whatever the order and the kind of the adders
(``NetSums``, ``Adders``). A net may also be the maximum of some of the model's exponents (``NetMaxima``), or what a
network of comparators returns of them (``NetOrders``); sums of what comparators exchanged are told from that
(``Exchanges``).

The lemmas imply that the circuit returns d of the design, for this reason. Take operands that meet the precondition,
and any values of the undefined bits. Give each variable the value that its definition has for them. Each fact and each
relation holds for all values of its variables that meet the facts, so it holds for these: by induction over the nets,
each net has the value of what replaces it. The laws that are used besides are those of ``laws`` (sums and maxima in any
order, exchanged words, bounds of sums) and of ``linear`` (addition modulo powers of two).
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import WIDENINGS, CutVariables, InnerWord, InnerWords, is_bitwise
from mmaproof.smt.proving.journal import Derived, Net
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_orders import NetMaxima, NetOrders
from mmaproof.smt.proving.net_relations import (
    FEWEST_BITS_OF_SUMS,
    LONG_SECONDS,
    NET_SECONDS,
    MatchedNet,
    Relations,
    Suggestion,
)
from mmaproof.smt.proving.net_sums import NetSums

RESULTS, RESULT_WIDENINGS = frozenset(map(str, (Signal(SignalKind.D), Signal(SignalKind.CONVERTED)))), 24
"""The names of results, which consist of many stages, and the stages by which the cut of a claim is moved back."""
LONG = RESULTS | {str(Signal(SignalKind.SUM)), "maximum", "distance"}
"""The names of words that all terms enter."""
INNER_WIDENINGS = 1
"""Stages by which the cut of a claim about a word inside a definition is moved back: it is computed alike."""
CANDIDATES = 3
"""Suggestions that are asked about for one net."""
_WITH_BITS = frozenset({"product", "magnitude", "normalised", "moved right", "converted"})


class NetSweep:
    """The nets of one circuit on their way through the variables of one model."""

    def __init__(self, model: ModelTerms, cuts: CutVariables, columns: Columns, environment: Environment) -> None:
        self._model, self._cuts = model, cuts
        self._terms: Any = environment.formula_manager
        self._known: dict[FNode, FNode] = {}
        self.matched: list[MatchedNet] = []
        self.unmatched: list[str] = []
        self._unmatched_since: str | None = None
        self.relations = Relations(environment, columns)
        self.orders = NetOrders(model, cuts, columns, self.relations, self.matched, environment)
        self.sums = NetSums(model, cuts, columns, self.relations, self.orders, self._related, self.matched, environment)
        self.maxima = NetMaxima(model, cuts, columns, self.relations, self.orders, self.matched, environment)
        self._take_model()
        self._inner = InnerWords(((x.name, x.variable) for x in model.signals), model.patterns, cuts, columns)

    def lead(self) -> str:
        """Return the first word of the design that no net carries, and the first net after the last one matched."""
        carried = {x.signal for x in self.matched}
        missing = next((x.name for x in self._model.signals if x.width and x.name not in carried), None)
        of_design = "" if missing is None else f"no net is proved to carry {missing!r} of the design"
        of_netlist = f"the first net that is not matched is {self._unmatched_since}" if self._unmatched_since else ""
        return "; ".join(x for x in (of_design, of_netlist) if x)

    def _take_model(self) -> None:
        for x in self._model.signals:
            if x.width == 0:
                self.relations.add_truth(x.variable)
                continue
            of_sum = x.kind in (SignalKind.OPERAND_SIGNIFICAND, SignalKind.SIGNIFICAND, SignalKind.SUM)
            absent = x.kind in (SignalKind.EXPONENT, SignalKind.OPERAND_EXPONENT, SignalKind.E_MAX)
            self.relations.add_number(
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
                self.relations.add_top_bit(x.variable)
        self.sums.take_model()

    def on_net(self, name: str, word: Word[FNode]) -> Word[FNode]:
        """Return what replaces a net: a term over variables that is proved to be equal to it, or itself."""
        term = word.data
        if term not in self._known:
            self._known[term] = found = self.replacement(name, term)
            self._known[found] = found
        found = self._known[term]
        self._cuts.entries.append(Net(name, term, found))
        # the same word leaves the bits of a wide net as they were: parts of others
        return word if found is term else Word(found, word.width, word.signed, self._model)

    def replacement(self, name: str, term: FNode) -> FNode:
        """Return what replaces the term of a net that was not seen before."""
        found = self._replacement(name, term)
        self._cuts.entries.append(Derived(name, term, found))
        return found

    def _replacement(self, name: str, term: FNode) -> FNode:
        if term.is_constant() or self._is_plain(term):
            return term
        if term.is_ite():
            self.sums.exchanges.see(term)
        if term.bv_width() == 1:
            found = self._bit(name, term)
            if found is term:
                found = self._inside(name, term, self._inner.like(term))
            return term if found is None else found
        found = self._recognised(name, term)
        if found is not None:
            self._unmatched_since = None
            return found
        found = self._in_fields(name, term)
        if found is not None:
            return found
        self.unmatched.append(name)
        self._unmatched_since = self._unmatched_since or name
        return term

    def _recognised(self, name: str, term: FNode) -> FNode | None:
        """Return a word as a sum, a maximum or a variable that it is related to, None if it is none of these."""
        if term.bv_width() >= FEWEST_BITS_OF_SUMS and not is_bitwise(term):
            form = self.sums.linear.form(term)
            if form is not None and form.terms and not self.sums.exchanges.is_addend(term):
                return self.sums.of_form(name, form)
        found = self.sums.chosen(name, term)
        if found is None:
            found = self.orders.compared(name, term)
        if found is not None:
            return found
        found = self.sums.adders.of_adder(term) if is_bitwise(term) else self.maxima.maximum(name, term)
        if found is None and is_bitwise(term):
            found = self.sums.adders.adder(name, term)
        return self._of_model(name, term) if found is None else found

    def _in_fields(self, name: str, term: FNode) -> FNode | None:
        """Return a choice between two words of the same fields as a word of choices, each replaced by itself.

        One of the fields is compared. Other choices are not comparator's, and need not be told apart.
        """
        parts = _parts(term)
        if not any(x.is_ite() and self._is_comparator(x) for x in parts):
            return None
        fields = parts if len(parts) > 1 else self._choices(term)
        first, *others = (self._field(name, x) for x in fields)
        for x in others:
            first = self._model.concatenate(first, x)
        return first.data

    def _is_comparator(self, term: FNode) -> bool:
        fields = self._choices(term)
        return len(fields) > 1 and any(map(self.orders.is_of_known, fields))

    def _choices(self, term: FNode) -> list[FNode]:
        """Return the choices between the parts of two words that start at the same places, the highest ones first."""
        condition, *words = term.args()
        starts = sorted(_starts(words[0]) & _starts(words[1]), reverse=True)
        found = []
        for low, above in zip(starts, [term.bv_width(), *starts], strict=False):
            both = [self._model.extract(Word(x, x.bv_width(), False, self._model), above - 1, low).data for x in words]
            found.append(both[0] if both[0] is both[1] else self._terms.Ite(condition, *both))
        return found

    def _field(self, name: str, term: FNode) -> Word[FNode]:
        if term.is_ite():
            if term not in self._known:
                self._known[term] = self.replacement(name, term)
            term = self._known[term]
        return Word(term, term.bv_width(), False, self._model)

    def _is_plain(self, term: FNode, *, of_inner_words: bool = False) -> bool:
        """Return whether a term is a variable, or bits of variables put together, or of words of the model."""
        pending = [term]
        while pending:
            x = pending.pop()
            if x.is_symbol() or x.is_constant() or (of_inner_words and x in self._inner):
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
        suggestions = list(islice(self.relations.of_bit(term), CANDIDATES))
        if suggestions:  # a bit that is constant is related to all truths that hold nowhere
            constant = self._cuts.constant(f"net {name}", term, seconds=NET_SECONDS, widenings=2)
            if constant is not None:
                return constant
        for relation, variable, negated in suggestions:
            definition = self._cuts.definition(variable)
            values = [self._terms.BV(1 - negated, 1), self._terms.BV(int(negated), 1)]
            of = variable if variable in self._cuts.symbols(term) else definition
            claim = self._terms.Equals(term, self._terms.Ite(of, *values))
            if self._cuts.holds(f"net {name}", relation, claim, seconds=NET_SECONDS, widenings=2):
                self.matched.append(MatchedNet(name, self._name(variable), relation))
                of_word = self._cuts.symbols(term)
                if len(of_word) == 1 and all(map(self._cuts.is_variable, of_word)) and variable not in of_word:
                    # what a word says of the step that it is the result of, such as that it is a NaN
                    self._cuts.note(self._terms.Equals(term, self._terms.Ite(variable, *values)))
                return self._terms.Ite(variable, *values)
        return term

    def _top_bit(self, name: str, term: FNode) -> FNode | None:
        """Return the highest bit of a significand that the term is proved to be, or its negation."""
        m, symbols = self._terms, self._cuts.symbols(term)
        for variable, negated in self.relations.of_top_bit(term):
            if variable not in symbols:
                continue
            top = variable.bv_width() - 1
            bit = m.BVExtract(variable, top, top)
            bit = m.BVNot(bit) if negated else bit
            if self._cuts.holds(f"net {name}", "is normal", m.Equals(term, bit), seconds=NET_SECONDS, widenings=0):
                self.matched.append(MatchedNet(name, self._name(variable), "its highest bit"))
                return bit
        return None

    def _name(self, variable: FNode) -> str:
        return next((s.name for s in self._model.signals if s.variable is variable), str(variable))

    def _of_model(self, name: str, term: FNode) -> FNode | None:
        """Return the net as what a variable stands for, over one of its own, as an inner word, or over another one."""
        carried, inner = list[InnerWord](), list[InnerWord]()
        for x in self._inner.like(term):
            (inner if x.replacement is x.term else carried).append(x)
        found = self._inside(name, term, carried)
        if found is not None:
            return found
        own, others = self._suggestions(term)
        found = self._proved(name, term, own)
        if found is None:
            found = self._inside(name, term, inner)
        return self._proved(name, term, others) if found is None else found

    def _related(self, name: str, term: FNode) -> FNode | None:
        """Return the net over the first number to which it is proved to be related."""
        own, others = self._suggestions(term)
        return self._proved(name, term, [*own, *others])

    def _suggestions(self, term: FNode) -> tuple[list[Suggestion], list[Suggestion]]:
        """Return the relations that samples suggest, those to variables of the term apart, ``CANDIDATES`` in all."""
        symbols = self._cuts.symbols(term)
        own, others = list[Suggestion](), list[Suggestion]()
        for x in self.relations.of_word(term):
            (own if x.number.variable in symbols else others).append(x)
        own = own[:CANDIDATES]
        return own, others[: CANDIDATES - len(own)]

    def _proved(self, name: str, term: FNode, suggestions: list[Suggestion]) -> FNode | None:
        """Return the net over the first number to which it is proved to be related as it is suggested."""
        symbols = self._cuts.symbols(term)
        plain = bool(suggestions) and self._is_plain(term, of_inner_words=True)
        for suggestion in suggestions:
            number = suggestion.number
            of = number.variable if number.variable in symbols else self.orders.over(number.variable, symbols)
            claim = self._terms.Equals(term, suggestion.of(number.definition if of is None else of))
            far = number.name in RESULTS and number.variable not in symbols and not suggestion.is_part
            widenings = RESULT_WIDENINGS if far else WIDENINGS
            if plain and of is None:  # words of the model are what they are, whatever their variables stand for
                widenings = 0
            seconds = LONG_SECONDS if number.name in LONG else NET_SECONDS
            if self._cuts.holds(f"net {name}", suggestion.relation, claim, seconds=seconds, widenings=widenings):
                self.matched.append(MatchedNet(name, number.name, suggestion.relation))
                return suggestion.of(number.variable)
        return None

    def _inside(self, name: str, term: FNode, words: list[InnerWord]) -> FNode | None:
        """Return the word inside what a variable stands for that the net is proved to be, extended or cut."""
        width = term.bv_width()
        for inner in words[:CANDIDATES]:
            same = self.relations.resized(inner.term, inner.signed, width)
            claim = self._terms.TRUE() if same is term else self._terms.Equals(term, same)
            if self._cuts.holds(f"net {name}", "equal", claim, seconds=NET_SECONDS, widenings=INNER_WIDENINGS):
                carries = inner.replacement is not inner.term
                self.matched.append(MatchedNet(name, inner.signal if carries else f"a word of {inner.signal}", "equal"))
                return self.relations.resized(inner.replacement, inner.signed, width)
        return None


def _starts(term: FNode) -> set[int]:
    """Return the places at which the parts of a concatenation start."""
    if not term.is_bv_concat():
        return {0}
    high, low = term.args()
    return _starts(low) | {x + low.bv_width() for x in _starts(high)}


def _parts(term: FNode) -> list[FNode]:
    """Return the parts of a concatenation, the highest one first."""
    return [p for x in term.args() for p in _parts(x)] if term.is_bv_concat() else [term]
