"""A design over terms with every place cut, its maxima and sums unfolded: what the nets of a netlist are compared with.

The places are those of ``ModelPlaces``. The operands of a maximum are variables too, and none exceeds it; words that
share an addend are under one maximum, with what they share apart. The words of a sum, and sums whose bounds follow
from those of their words, are noted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.words import Signal
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.journal import Bounded, Place, TakenApart
from mmaproof.smt.proving.laws import Law, LawfulTerms, Operation
from mmaproof.smt.proving.linear import Bounds
from mmaproof.smt.proving.model_places import ModelPlaces

_Term = TypeVar("_Term", Word[FNode], Truth[FNode])


@dataclass(frozen=True)
class Fold:
    """A maximum of signed words: the words, in one width, and its variable."""

    parts: tuple[FNode, ...]
    variable: FNode


class ModelTerms(ModelPlaces):
    """The symbolic interpretation with a variable at each place, its maxima and sums as the module text describes."""

    def __init__(
        self, cuts: CutVariables, environment: Environment, patterns: Mapping[FNode, Format], of_d: Format
    ) -> None:
        super().__init__(cuts, environment, patterns, of_d)
        self.recording.entries = cuts.entries
        self.folds: list[Fold] = []
        self.added: dict[FNode, bool] = {}
        """variables that are added, and whether they are read in two's complement"""
        self.totals: set[FNode] = set()
        """the sums themselves"""
        self._scales = frozenset(x for x in patterns if x.symbol_name().startswith("scale"))
        self._bounds_of_sums: dict[FNode, Bounds] = {}
        """bounds of sums that follow from those of their words"""

    def signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None = None) -> Word[FNode]:
        """Return the variable of a signal; the bounds of a sum follow from those of its words, others are proved."""
        of_sum = self._bounds_of_sums.get(self.rewritten(x.data)) if x.signed else None
        with self.recording.place() as noted:
            word = super().signal(name, x, bounds if of_sum is None else None)
            if of_sum is not None and word.data.is_symbol():
                self.note_bounds_of_sum(word, of_sum)
        return self._replaced(f"signal {name}", x, word, noted)

    def signal_truth(
        self, name: Signal, x: Truth[FNode], observable: Callable[[], Truth[FNode]] | None = None
    ) -> Truth[FNode]:
        """Return the variable of a signal."""
        with self.recording.place():
            found = super().signal_truth(name, x, observable)
        return self._replaced(f"signal {name}", x, found, True)

    def place(self, what: str, x: Word[FNode]) -> Word[FNode]:
        """Return the variable of a place."""
        with self.recording.place() as noted:
            found = super().place(what, x)
        return self._replaced(what, x, found, noted)

    def place_of_truth(self, what: str, x: Truth[FNode]) -> Truth[FNode]:
        """Return the variable of a truth value."""
        with self.recording.place() as noted:
            found = super().place_of_truth(what, x)
        return self._replaced(what, x, found, noted)

    def place_of_product(self, x: Word[FNode], y: Word[FNode], product: Word[FNode]) -> Word[FNode]:
        """Return the variable of a product."""
        with self.recording.place() as noted:
            found = super().place_of_product(x, y, product)
        return self._replaced("product", product, found, noted)

    def _replaced(self, what: str, x: _Term, found: _Term, noted: bool) -> _Term:
        if noted:
            self.recording.entries.append(Place(what, (), x.data, found.data))
        return found

    def check(self, of: object, invariant: Callable[..., Truth[FNode]], *arguments: object) -> None:
        """Note what can be proved of a value. The semantics without cuts computes none of it."""
        with self.recording.place():
            super().check(of, invariant, *arguments)

    def _take_apart(self) -> None:
        known = set(self.patterns)
        super()._take_apart()
        self.recording.entries += (TakenApart(x, self.patterns[x]) for x in self.patterns if x not in known)

    # --- maxima -----------------------------------------------------------------------------------------------

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the variable of the largest word."""
        return LawfulTerms.maximum(self, words)

    def _words_of(self, maximum: Word[FNode], terms: Sequence[FNode]) -> set[FNode]:
        fold = next((f for f in reversed(self.folds) if f.variable is maximum.data), None)
        return set(terms if fold is None else fold.parts)

    def _largest(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the variable of the largest word. Its operands become variables too, and none exceeds it."""
        if len(words) == 1:
            return words[0]
        width = max(w.width for w in words)
        parts = []
        for word in words:
            part = self.extend(word, width)
            if not self.nested and not _inner(word.data).is_symbol():
                part = self.place("exponent that counts", part)
                if part.data.is_symbol():
                    self._bound_masked(part)
            parts.append(part)
        if self.nested:
            return super()._largest(parts)
        terms = self._without_shared(parts)
        with self.no_places():
            largest = super()._largest(terms)
        whole = self.place("maximum", self.narrow(largest, width))
        distinct = tuple(dict.fromkeys(p.data for p in parts))
        if whole.signed:
            self.folds.append(Fold(distinct, whole.data))
        # the law about maxima says so of two words
        for part in parts:
            self.cuts.note(self.negation(self.less(whole, part)).data)
        self.note_bounds_of_maximum(whole, distinct)
        return whole

    def _without_shared(self, parts: Sequence[Word[FNode]]) -> list[Word[FNode]]:
        """Return words of the same maximum, those that share an addend under one maximum.

        The exponents of products of one block share those of its scales: max(x + s, y + s) = max(x, y) + s.
        """
        groups: dict[frozenset[FNode], list[tuple[Word[FNode], list[FNode]]]] = {}
        rest = []
        for part in parts:
            addends = self._addends(part.data)
            shared = frozenset(x for x in addends if self._is_of_scales(x))
            own = [x for x in addends if x not in shared]
            if shared and own:
                groups.setdefault(shared, []).append((part, own))
            else:
                rest.append(part)
        for shared, members in groups.items():
            found = self._shared_apart(sorted(shared, key=self._place), members) if len(members) > 1 else None
            rest += [part for part, _ in members] if found is None else [found]
        return rest

    def _addends(self, part: FNode) -> list[FNode]:
        """Return the words that an exponent is the sum of, as its definition has it."""
        inner = _inner(part)
        definition = self.cuts.definition(inner) if self.cuts.is_variable(inner) else inner
        found, pending = [], [definition]
        while pending:
            x = _inner(pending.pop())
            if x.is_bv_add():
                pending += x.args()
            else:
                found.append(x)
        return found

    def _is_of_scales(self, term: FNode) -> bool:
        symbols = self.cuts.symbols(term)
        return bool(symbols) and symbols <= self._scales

    def _shared_apart(
        self, shared: Sequence[FNode], members: Sequence[tuple[Word[FNode], list[FNode]]]
    ) -> Word[FNode] | None:
        """Return the maximum of words that share addends, as that of the rest plus what is shared.

        None if it is not proved of each word that it is the sum of its addends.
        """
        common = self._summed("shared exponent", shared)
        own = [self._summed("exponent without what is shared", sorted(x, key=self._place)) for _, x in members]
        width = max(w.width for w in own)
        own = [self.extend(w, width) for w in own]
        for (part, _), word in zip(members, own, strict=True):
            total = self.add(word, common)
            wide = max(total.width, part.width)
            equal = self._terms.Equals(self.extend(part, wide).data, self.extend(total, wide).data)
            if not self._fact("exponent", "the sum of its parts", equal):
                return None
        with self.no_places():
            largest = super()._largest(own)
        whole = self.place("maximum", largest)
        self.folds.append(Fold(tuple(dict.fromkeys(w.data for w in own)), whole.data))
        for word in own:
            self.cuts.note(self.negation(self.less(whole, word)).data)
        self.note_bounds_of_maximum(whole, [w.data for w in own])
        total = self.add(whole, common)
        self.used.add(Law(Operation.TRANSLATED_MAXIMUM, max(width, common.width), True))
        return total

    def _summed(self, what: str, addends: Sequence[FNode]) -> Word[FNode]:
        """Return the variable of a sum of signed words."""
        total = Word(addends[0], addends[0].bv_width(), True, self)
        for x in addends[1:]:
            total = self.add(total, Word(x, x.bv_width(), True, self))
        word = self.place(what, total)
        self._bound_exponent(word)
        return word

    def note_bounds_of_maximum(self, whole: Word[FNode], parts: Collection[FNode]) -> None:
        """Note the bounds of a maximum, the largest of the lower and of the upper ones of its words, if proved."""
        known = [b for b in map(self.range_of, parts) if b is not None]
        if len(known) == len(parts):
            self._bound(whole, (max(b[0] for b in known), max(b[1] for b in known)))

    def maximum_in_turn(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the maximum, whose order does not matter."""
        return self.maximum(words)

    def _bound_masked(self, x: Word[FNode]) -> None:
        """Note of an exponent that counts that it is the least number, or not below its other values."""
        if not self.cuts.is_variable(x.data) or x.data in self.bounds:
            return
        definition = self.cuts.definition(x.data)
        bounds = self.range_of(definition)
        if bounds is not None:
            self._bound(x, bounds)
        least = -(1 << (x.width - 1))
        choices = [r for r in map(self.range_of, _choices(definition)) if r is not None and r != (least, least)]
        if bounds is not None and bounds[0] == least and choices:
            low = min(r[0] for r in choices)
            self._fact("maximum", "least or in range", (x.is_value(least) | ~(x < self.signed(low))).data)

    # --- sums -------------------------------------------------------------------------------------------------

    def _add_up(self, xs: list[FNode], widths: list[int], width: int, wraps: bool) -> FNode:
        total = super()._add_up(xs, widths, width, wraps)
        self.totals.add(self.rewritten(total))
        for x in map(self.rewritten, xs):
            if x.is_symbol():
                self.added[x] = True
        bounds = [self.range_of(x) for x in xs if x.is_bv_constant() or x in self.bounds]
        known = [b for b in bounds if b is not None and b[0] <= 0 <= b[1]]
        if len(known) == len(xs) > 1:
            self._bounds_of_sums[self.rewritten(total)] = sum(b[0] for b in known), sum(b[1] for b in known)
        return total

    def note_bounds_of_sum(self, x: Word[FNode], bounds: Bounds) -> None:
        """Note the bounds of a sum: they are the sums of those of its words, each of which may be zero.

        So every partial sum is within them too, and the law about two words is used once for each addition.
        """
        if x.data in self.bounds or not (-(1 << (x.width - 1)) <= bounds[0] and bounds[1] < 1 << (x.width - 1)):
            return
        self.used.add(Law(Operation.BOUNDED_SUM, x.width))
        self.bounds[x.data] = bounds
        within = self.within(x, bounds)
        self.cuts.note(within)
        self.recording.entries.append(Bounded(x.data, within, True))

    def note_bounds(self, x: Word[FNode], bounds: Bounds) -> None:
        """Note bounds of a variable, if they are proved."""
        self._bound(x, bounds)


def _inner(term: FNode) -> FNode:
    """Return a term without its extension."""
    return term.arg(0) if term.is_bv_sext() else term


def _choices(term: FNode) -> Iterator[FNode]:
    if term.is_ite():
        yield from _choices(term.arg(1))
        yield from _choices(term.arg(2))
    else:
        yield term
