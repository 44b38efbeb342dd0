"""Staged proofs: two runs of the semantics compared stage by stage, at the signals that the stages name.

``StagedTerms`` interprets the semantics in terms like ``TermAlgebra``, but it replaces each signal that a stage names
(``Algebra.signal``) by a fresh variable. This is a *cut* between the stages before and after. Before it makes a
variable, it compares the signal with the earlier signals, those of the other run included, on sample operands. The
signal may be a constant there, or an earlier signal, its negation, that signal times a known power of two, or that
signal plus a constant. It may also be so only where it is observable (the sign of a zero is not). Then the relation
becomes a lemma about the stages since their last cuts. If the lemma is proved, the later stages see the earlier
variable in that relation instead of a new variable. Signals that are the same term need no lemma. Permuted terms are
the same term in canonical order (``laws``).

The lemmas imply the claim for this reason. Take any operands that meet the precondition, and give each variable the
value of the term that it stands for. Each lemma holds for all values of its variables, so it holds for these. By
induction over the signals in the order in which they were named, every term with variables has the value that the
semantics without cuts computes. The claim is proved for all values of the variables, so it holds for the operands.

A lemma that fails says nothing about the runs. It says only that the cut was too coarse. The lemma is then asked again
with the variables of its last stage replaced by their terms, and so on for ``WIDENINGS`` stages. If no relation is
proved, the signal keeps a variable of its own. The claim is widened in the same way. A model would be a witness only if
the claim had no variables left, so witnesses are not looked for here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pysmt.fnode import FNode
from pysmt.typing import BOOL

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.composer import Composer
from mmaproof.smt.proving.journal import Defined, Place
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.laws import Law, LawfulTerms, Operation, lemmas_of
from mmaproof.smt.proving.lemma import Formula, Lemmas, OutOfTimeError, StagedProof
from mmaproof.smt.proving.staged_lemmas import (
    D_SIGNAL,
    MAGNITUDE,
    PARTIAL_SUM,
    RESULT,
    WIDENINGS,
    Bounds,
    Samples,
    StagedSignal,
    TermsWithCuts,
    Values,
    shape_of,
    signed_values,
)
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.query import TRUTH
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.verdict import Cause, Status, combine

CANDIDATES = 3
"""Earlier signals with which a signal is compared."""
CLAIM_WIDENINGS = 6
"""Stages by which the cut of the claim is widened."""
CLAIM_SECONDS = 20.0
"""Seconds that one query about the claim may take."""


Observable = Callable[[], Truth[FNode]]
"""Where a signal has an effect on what follows."""
Related = Callable[[LawfulTerms, Word[FNode], Word[FNode]], Truth[FNode]]
"""Whether two results, of the first and of the second run, are related as a claim has it."""
SUM, MAXIMUM = Signal(SignalKind.SUM), Signal(SignalKind.MAXIMUM)


def prove_by_stages(
    question: Formula,
    claim: Callable[[LawfulTerms], Truth[FNode]],
    samples: Samples,
    ask: Ask,
    limits: Limits,
    results: Related | None = None,
    root: FNode | None = None,
) -> StagedProof:
    """Try to prove ``claim`` stage by stage under the precondition of ``question``.

    ``claim`` runs the semantics over the given algebra, on the symbols of ``question``. The rows of ``samples`` are
    operands that meet the precondition. If results of the two runs, along chains and in trees, are not equal,
    ``results`` is their relation. The theorem is that nothing satisfies ``root``, by default the counterexamples of
    ``question``. Where a kernel cannot join the lemmas, there is none, and laws of any number of operands are trusted.
    """
    started = worked()
    if not samples.rows:
        return StagedProof(False, (), 0.0, Cause.SOLVER_ERROR.reason("no sample meets the precondition"))
    lemmas = Lemmas(ask, limits, started, question.environment)
    terms, theorem = StagedTerms(lemmas, samples, question, results), None

    def compose(kernel: Kernel) -> None:
        Composer(kernel, samples).compose(question.places, lemmas.entries, question.claim, claimed)

    try:
        claimed = claim(terms).data
        proved = terms.holds(RESULT, "as claimed", claimed, seconds=CLAIM_SECONDS, widenings=CLAIM_WIDENINGS)
        if proved:
            theorem = lemmas.joined(question.violation if root is None else root, compose)
        if proved and theorem is None:
            statuses = []
            for law in lemmas_of(terms):
                whole = law.formula_in(question.environment)
                statuses.append(lemmas.ask("laws", law.name, whole.claim, whole.precondition, seconds=CLAIM_SECONDS))
            proved = combine([Status.PROVED, *statuses]) is Status.PROVED
    except OutOfTimeError:
        reason = Cause.TIMEOUT.reason(f"no staged proof within {limits}")
        return StagedProof(False, lemmas.found(), worked() - started, reason)
    return StagedProof(proved, lemmas.found(), worked() - started, theorem=theorem, argument=compose)


class StagedTerms(TermsWithCuts):
    """Terms that are cut at the signals that the stages name, as the module text describes."""

    def __init__(self, lemmas: Lemmas, samples: Samples, question: Formula, results: Related | None = None) -> None:
        super().__init__(lemmas, question)
        self._samples, self._results = samples, results
        self._seen: dict[FNode, FNode] = {}
        self._signals: dict[object, list[StagedSignal]] = {}
        self._sums: list[StagedSignal] = []
        self._folds = 0
        self._run = 0
        self._counts: Counter[Signal] = Counter()
        self._at: dict[tuple[int, Signal, int], StagedSignal] = {}
        self.recording.entries = lemmas.entries

    def begin(self) -> None:
        """Count the signals of the next run from the beginning."""
        super().begin()
        self._run += 1
        self._counts.clear()

    # --- cuts -----------------------------------------------------------------------------------------------

    def signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None = None) -> Word[FNode]:
        """Return what replaces ``x``. A lemma says that it is within its bounds, and later lemmas may use that."""
        with self.recording.place():
            y = self._signal(name, x, bounds)
        self._replace(name, x.data, y.data)
        return y

    def _replace(self, name: Signal, term: FNode, found: FNode) -> None:
        self.recording.entries.append(Place(f"signal {name}", (), term, found))

    def _signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None) -> Word[FNode]:
        y = Word(self._cut(name, x.data, x.width, x.signed), x.width, x.signed, self)
        if bounds is not None and y.data in self._named and (y.data, y.signed) not in self._bounds:
            self._bound(name, y, bounds)
        if name == SUM and y.data in self._named:
            self._sums.append(self._named[y.data])
        return y

    def signal_truth(self, name: Signal, x: Truth[FNode], observable: Observable | None = None) -> Truth[FNode]:
        """Return what replaces ``x``."""
        with self.recording.place():
            found = self._cut(name, x.data, TRUTH, False, observable)
        self._replace(name, x.data, found)
        return Truth(found, self)

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the largest, cut after every comparison. Later lemmas may use that no operand exceeds it."""
        self._folds += 1
        largest = super().maximum(words)
        for x in words:
            bound = self._less(largest.data, self.extend(x, largest.width).data, largest.signed)
            self._facts.setdefault(largest.data, []).append(self._not(bound))
        return largest

    def _maximum(self, x: FNode, y: FNode, signed: bool) -> FNode:
        larger = super()._maximum(x, y, signed)
        return self._cut(MAXIMUM, larger, larger.bv_width(), signed)

    def magnitude(self, x: Word[FNode]) -> Word[FNode]:
        """Return the magnitude, cut. Later lemmas may use that it is zero where x is, if it was that of another word.

        A word and its negative have one magnitude. Which of them is negative matters only where it is not zero.
        """
        whole = super().magnitude(x)
        if not x.signed:
            return whole
        y = self.signal(MAGNITUDE, whole)
        if y.data in self._named and self._named[y.data].definition is not whole.data:
            fact, of_terms = (self._same(x.is_value(0).data, z.is_value(0).data) for z in (y, whole))
            self._is_fact(MAGNITUDE, "zero with its word", y.data, fact, of_terms)
        return y

    def _add_up(self, xs: list[FNode], widths: list[int], width: int, wraps: bool) -> FNode:
        self._folds += 1
        return super()._add_up(xs, widths, width, wraps)

    def _in_one_width(self, xs: list[FNode], widths: list[int], width: int) -> list[FNode]:
        """Return the terms of a sum in its width. A negated word is extended first, if a lemma says it is the same.

        A sum of negated words is the negated sum, by the laws of integers modulo a power of two. Where negated words
        are extended, that depends on their bounds, and solvers have no answer for words of some hundred bits.
        """
        wide = super()._in_one_width(xs, widths, width)
        for i, (x, extended) in enumerate(zip(xs, wide, strict=True)):
            if x.is_bv_neg() and x.bv_width() < width:
                negated = self._negate(self._extend(x.arg(0), x.bv_width(), width, True), width)
                if self.holds(PARTIAL_SUM, "extended before it is negated", self._same(extended, negated)):
                    wide[i] = negated
        return wide

    def _partial_sum(self, total: FNode, x: FNode) -> FNode:
        width = total.bv_width()
        after = self._cut(PARTIAL_SUM, super()._partial_sum(total, x), width, True)
        bounds = self._bounds_of(total), self._bounds_of(x)
        if after in self._named and (after, True) not in self._bounds and bounds[0] and bounds[1]:
            low, high = (bounds[0][i] + bounds[1][i] for i in (0, 1))
            if -(1 << (width - 1)) <= low and high < 1 << (width - 1):
                laws = (self._added_up.get(v, frozenset()) for v in self._symbols(total) | self._symbols(x))
                self._added_up[after] = frozenset({Law(Operation.BOUNDED_SUM, width)}.union(*laws))
                self._note_bounds(Word(after, width, True, self), (low, high))
        return after

    def _cut(self, name: Signal, term: FNode, width: int, signed: bool, observable: Observable | None = None) -> FNode:
        if term.is_constant() or term.is_symbol():
            return term
        self._counts[name] += 1
        if term not in self._seen:
            before = len(self._named)
            self._seen[term] = self._related(name, term, width, signed)
            if len(self._named) > before:
                this = self._named[self._seen[term]]
                other = self._at.get((self._run - 1, name, this.index))
                if observable is not None and other is not None:
                    self._relate_where(other, this, observable().data)
                elif name == D_SIGNAL and other is not None:
                    self._relate_results(other, this)
        return self._seen[term]

    def _related(self, name: Signal, term: FNode, width: int, signed: bool) -> FNode:
        """Return a term over earlier variables that is proved equal to ``term``, or else a new variable."""
        values, symbols = self._samples.values(term), self._symbols(term)
        if len(set(values)) == 1:
            constant = self._truth(bool(values[0])) if width == TRUTH else self._constant(values[0], width)
            if self.holds(name, "constant", self._same(term, constant), widenings=1):
                return constant
        numbers = signed_values(values, width) if signed else values
        key, sign, places = shape_of(numbers, width)
        depth = 1 + max((self._named[v].depth for v in symbols if v in self._named), default=0)
        fold = self._folds if name in (PARTIAL_SUM, MAXIMUM) else ~len(self._named)
        this = StagedSignal(name, self._counts[name], term, term, width, signed, sign, places, numbers[0], fold, depth)
        offset = ("offset", tuple(x - numbers[0] for x in numbers))
        for kind, relate in ((key, self._multiple), (offset, self._offset)):
            earlier = [s for s in self._signals.get(kind, ()) if self._is_candidate(s, this, kind == key)]
            alike = sorted(earlier, key=lambda s: (s.name != name, s.index != this.index))
            for other in alike[:CANDIDATES]:
                relation, of = relate(other, this)
                held_against = other.variable if other.variable in symbols else other.definition
                widenings = 1 if width == TRUTH else WIDENINGS
                if self.holds(name, relation, self._same(term, of(held_against)), widenings=widenings):
                    return of(other.variable)
        if name == PARTIAL_SUM:
            for first, second in self._addends(numbers):
                parts = [s.variable if s.variable in symbols else s.definition for s in (first, second)]
                pair = [Word(x, s.width, True, self) for x, s in zip(parts, (first, second), strict=True)]
                if self.holds(name, "sum of two", self._same(term, self._fitted(self.add(*pair), width))):
                    pair = [Word(s.variable, s.width, True, self) for s in (first, second)]
                    return self._fitted(self.add(*pair), width)
        kind_of = BOOL if width == TRUTH else self.environment.type_manager.BVType(width)
        variable = self._terms.Symbol(f"cut{len(self._named)}_{width}", kind_of)
        self._samples.define(variable, values)
        self._named[variable] = this = replace(this, variable=variable)
        self.recording.entries.append(Defined(variable, term))
        self._at[self._run, name, this.index] = this
        self._signals.setdefault(key, []).append(this)
        if signed:
            self._signals.setdefault(offset, []).append(this)
        return variable

    def _relate_where(self, other: StagedSignal, this: StagedSignal, observable: FNode) -> None:
        """Note the relation of a truth value to that of the other run, if it is proved.

        Where it is observable, the truth value is the other one or its negation.
        """
        columns = (self._samples.values(x) for x in (this.variable, other.variable, observable))
        differ = {x ^ y for x, y, seen in zip(*columns, strict=True) if seen}
        for opposite in (False, True):
            relation = f"{'negated' if opposite else 'equal'} where observable"

            def same(x: FNode, y: FNode, opposite: bool = opposite) -> FNode:
                return self._terms.Implies(observable, self._same(y, self._not(x) if opposite else x))

            if differ <= {int(opposite)} and self._are_related(relation, other, this, same):
                return

    def _relate_results(self, other: StagedSignal, this: StagedSignal) -> None:
        """Note that a result and that of the other run are related as final results are, if it is proved."""
        if self._results is not None:
            related = self._results

            def relation(x: FNode, y: FNode) -> FNode:
                return related(self, Word(x, other.width, False, self), Word(y, this.width, False, self)).data

            self._are_related("as claimed", other, this, relation)

    def _are_related(
        self, relation: str, other: StagedSignal, this: StagedSignal, related: Callable[[FNode, FNode], FNode]
    ) -> bool:
        """Return whether the terms of two variables are proved to be related. If so, note it as a fact."""
        of_terms = related(other.definition, this.definition)
        return self._is_fact(this.name, relation, this.variable, related(other.variable, this.variable), of_terms)

    def _is_candidate(self, other: StagedSignal, this: StagedSignal, is_multiple: bool) -> bool:
        """Return whether two signals that agree on the samples are worth a lemma.

        Truth values often agree by chance, and so does a maximum with the maximum of a few more words. An offset of 0
        is equality, which is looked for elsewhere.
        """
        if this.width == TRUTH:
            return (other.name, other.index) == (this.name, this.index)
        return other.fold != this.fold and (is_multiple or other.first != this.first)

    # --- relations ------------------------------------------------------------------------------------------

    def _multiple(self, other: StagedSignal, this: StagedSignal) -> tuple[str, Callable[[FNode], FNode]]:
        """Return in words, and as a function of the other term, that this is a multiple of the other by ±2**n."""
        opposite, places = this.sign != other.sign, this.places - other.places
        if this.width == TRUTH:
            return ("negated" if opposite else "equal"), (self._not if opposite else lambda x: x)

        def of(x: FNode) -> FNode:
            word = Word(x, other.width, other.signed, self)
            if places < 0:
                word = self.drop_low(self.extend(word, max(word.width, 1 - places)), -places)
            word = self.shift_left(word, max(places, 0))
            if opposite and word.width == this.width:
                return self._negate(word.data, word.width)
            return self._fitted(self.negate(word) if opposite else word, this.width)

        words = [w for w, holds in (("negated", opposite), (f"moved by 2**{places}", places != 0)) if holds]
        return " and ".join(words) or "equal", of

    def _offset(self, other: StagedSignal, this: StagedSignal) -> tuple[str, Callable[[FNode], FNode]]:
        """Return in words, and as a function of the other term, that this is the other plus a constant."""
        amount = this.first - other.first

        def of(x: FNode) -> FNode:
            return self._fitted(self.add(Word(x, other.width, other.signed, self), self.signed(amount)), this.width)

        return f"offset by {amount}", of

    def _addends(self, numbers: Values) -> Iterator[tuple[StagedSignal, StagedSignal]]:
        """Yield pairs of signals whose sum is ``numbers`` on the samples. One of the two is a whole sum."""
        for whole in self._sums:
            total = signed_values(self._samples.values(whole.variable), whole.width)
            rest = tuple(x - y for x, y in zip(numbers, total, strict=True))
            key, sign, places = shape_of(rest, 1)
            for other in self._signals.get(key, ()):
                if other.signed and (other.sign, other.places) == (sign, places):
                    yield whole, other
                    break

    def _fitted(self, x: Word[FNode], width: int) -> FNode:
        return (self.narrow(x, width) if width < x.width else self.extend(x, width)).data
