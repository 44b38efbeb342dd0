"""What happens while a claim is built: the named places, maxima and sums, as terms without cuts and in a staged proof.

The semantics is the same text for both, so both note the same places in the same order. ``RecordedTerms`` notes what
stands there without cuts, and ``JournalledTerms`` what replaces it, the variables, and the lemmas that were proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.signals import Signal
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.refutations import Refutations
from mmaproof.smt.proving.asked import Lemmas
from mmaproof.smt.proving.kernel import asserted
from mmaproof.smt.proving.laws import LawfulTerms
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.proving.samples import Samples
from mmaproof.smt.proving.staged import Observable, StagedTerms
from mmaproof.smt.proving.staged import Related as RelatedResults
from mmaproof.smt.proving.staged_lemmas import MAGNITUDE, Bounds
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.prove import Ask
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.verdict import Status

BEFORE_LAWS = 20.0
"""Seconds for the refutation of an equation that laws may say as well."""
SLOWER = 4.0
"""How much longer the refutation of a lemma may take than the solver that proved it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A named place, a maximum or a sum: its operands, the term there, and what replaces it.

    The operands of a maximum or a sum are in the order of the semantics. Of a staged proof they are in one width.
    """

    kind: str
    operands: tuple[FNode, ...]
    term: FNode
    replaced: FNode
    signed: bool = False
    taken: tuple[FNode, ...] = ()
    """the operands in the order in which a staged proof takes them"""


@dataclass(frozen=True, slots=True)
class Defined:
    """A variable and the term that it stands for."""

    variable: FNode
    definition: FNode


@dataclass(frozen=True, slots=True)
class Proved:
    """A lemma that was proved, by a solver alone if it is not ``refuted``."""

    why: str
    claim: FNode
    assumption: FNode | None
    refuted: bool = True


@dataclass(frozen=True, slots=True)
class Bounded:
    """Bounds of a variable."""

    variable: FNode
    fact: FNode
    of_words: bool
    """whether they follow from those of the words of a partial sum, and were not proved otherwise"""


@dataclass(frozen=True, slots=True)
class Net:
    """A net of a netlist: its name, its term, and what replaces it. Without cuts, it replaces itself."""

    name: str
    term: FNode
    replaced: FNode


@dataclass(frozen=True, slots=True)
class Derived:
    """A term of a netlist, and what it was found to be equal to."""

    name: str
    term: FNode
    replaced: FNode


@dataclass(frozen=True, slots=True)
class Noted:
    """A fact that was noted: it is proved, assumed, or follows from a law."""

    fact: FNode


@dataclass(frozen=True, slots=True)
class Held:
    """A claim that the lemma before it proves, which may be about what its variables stand for."""

    claim: FNode


@dataclass(frozen=True, slots=True)
class Lawful:
    """Two terms that are equal by a law."""

    equation: FNode


@dataclass(frozen=True, slots=True)
class TakenApart:
    """An operand, and the same pattern over the variables of its parts."""

    operand: FNode
    pattern: FNode


@dataclass(frozen=True, slots=True)
class Related:
    """What is known of two variables, and the same of the terms that they stand for, which was proved."""

    fact: FNode
    of_terms: FNode


Entry = Place | Defined | Proved | Bounded | Related | Net | Derived | Noted | Held | Lawful | TakenApart


class Recording:
    """A list of places. What happens inside a place is not noted."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._inside = 0

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Yield whether the place is noted: not if it is inside another one."""
        self._inside += 1
        try:
            yield self._inside == 1
        finally:
            self._inside -= 1


class RecordedTerms(TermAlgebra):
    """Terms without cuts, and the places in them."""

    def __init__(self, environment: Environment | None = None) -> None:
        super().__init__(environment)
        self.recording = Recording()

    def _note(self, kind: str, term: FNode, operands: Sequence[FNode] = (), signed: bool = False) -> None:
        self.recording.entries.append(Place(kind, tuple(operands), term, term, signed))

    def signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None = None) -> Word[FNode]:
        """Return the word, whose place is noted."""
        self._note(f"signal {name}", x.data)
        return x

    def signal_truth(self, name: Signal, x: Truth[FNode], observable: Observable | None = None) -> Truth[FNode]:
        """Return the truth value, whose place is noted."""
        self._note(f"signal {name}", x.data)
        return x

    def magnitude(self, x: Word[FNode]) -> Word[FNode]:
        """Return the magnitude, which is noted."""
        return self.signal(MAGNITUDE, super().magnitude(x)) if x.signed else x

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the maximum, which is noted."""
        return self._maximum_of(words, super().maximum)

    def maximum_in_turn(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the maximum, which is noted."""
        return self._maximum_of(words, super().maximum_in_turn)

    def _maximum_of(
        self, words: Sequence[Word[FNode]], of: Callable[[Sequence[Word[FNode]]], Word[FNode]]
    ) -> Word[FNode]:
        with self.recording.place() as noted:
            found = of(words)
        if noted:
            self._note("maximum", found.data, [w.data for w in words], found.signed)
        return found

    def compressed_sum(self, words: Sequence[Word[FNode]], width: int) -> Word[FNode]:
        """Return the sum, which is noted."""
        with self.recording.place() as noted:
            found = super().compressed_sum(words, width)
        if noted:
            self._note("compressed sum", found.data, self.in_one_width(words, width))
        return found

    def _sum(self, words: Sequence[Word[FNode]], width: int, wraps: bool) -> Word[FNode]:
        with self.recording.place() as noted:
            found = super()._sum(words, width, wraps)
        if noted:
            self._note("sum", found.data, self.in_one_width(words, width))
        return found


class JournalledLemmas(Lemmas):
    """The lemmas of a staged proof. Those that are proved are noted each time that they are used.

    A lemma is proved if a solver says so and it has a refutation. With ``by_laws`` an equation needs none: whoever
    composes the proof derives it from laws, or fails.
    """

    by_laws = False

    def __init__(
        self, ask: Ask, limits: Limits, started: float, environment: Environment, refutations: Refutations
    ) -> None:
        super().__init__(ask, limits, started, environment)
        self.entries: list[Entry] = []
        self._refutations = refutations

    def ask(
        self,
        stage: str,
        relation: str,
        claim: FNode,
        assumption: FNode | None,
        *,
        seconds: float,
        widened: int = 0,
    ) -> Status:
        """Ask whether the assumption implies the claim, as ``Lemmas`` does."""
        status = super().ask(stage, relation, claim, assumption, seconds=seconds, widened=widened)
        if status is not Status.PROVED:
            return status
        stated = asserted(claim, [] if assumption is None else [assumption], self._environment)
        derived = self.by_laws and claim.is_equals()
        refuted = True
        try:
            self._refutations.of(
                Query.all_of(stated), min(SLOWER * seconds, BEFORE_LAWS) if derived else SLOWER * seconds
            )
        except NotRefutedError:
            refuted = False
            if not derived:
                return Status.UNKNOWN
        self.entries.append(Proved(f"{stage}: {relation}", claim, assumption, refuted))
        return status


class JournalledFolds(LawfulTerms):
    """The maxima and sums of a proof, and what replaces them. It stands before the class that replaces them."""

    recording: Recording

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return what replaces the maximum."""
        with self.recording.place() as noted:
            found = super().maximum(words)
        if noted:
            terms = tuple(self.extend(w, found.width).data for w in words)
            taken = tuple(self._in_order(self._words_of(found, terms)))
            self.recording.entries.append(Place("maximum", terms, found.data, found.data, found.signed, taken))
        return found

    def _words_of(self, maximum: Word[FNode], terms: Sequence[FNode]) -> set[FNode]:
        """Return the words that a maximum is of, each once."""
        return set(terms)

    def compressed_sum(self, words: Sequence[Word[FNode]], width: int) -> Word[FNode]:
        """Return what replaces the sum."""
        with self.recording.place() as noted:
            found = super().compressed_sum(words, width)
        if noted:
            self._note_sum("compressed sum", words, width, found)
        return found

    def _sum(self, words: Sequence[Word[FNode]], width: int, wraps: bool) -> Word[FNode]:
        with self.recording.place() as noted:
            found = super()._sum(words, width, wraps)
        if noted:
            self._note_sum("sum", words, width, found)
        return found

    def _note_sum(self, kind: str, words: Sequence[Word[FNode]], width: int, found: Word[FNode]) -> None:
        taken = self.in_one_width(sorted(words, key=lambda w: self._place(w.data)), width)
        place = Place(kind, self.in_one_width(words, width), found.data, found.data, taken=taken)
        self.recording.entries.append(place)


class JournalledTerms(JournalledFolds, StagedTerms):
    """The terms of a staged proof, and what replaces what in them."""

    def __init__(
        self, lemmas: JournalledLemmas, samples: Samples, question: Formula, results: RelatedResults | None = None
    ) -> None:
        super().__init__(lemmas, samples, question, results)
        self.recording = Recording()
        self.recording.entries = lemmas.entries
        self.samples = samples

    def signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None = None) -> Word[FNode]:
        """Return what replaces the word."""
        with self.recording.place():
            found = super().signal(name, x, bounds)
        self.recording.entries.append(Place(f"signal {name}", (), x.data, found.data))
        return found

    def signal_truth(self, name: Signal, x: Truth[FNode], observable: Observable | None = None) -> Truth[FNode]:
        """Return what replaces the truth value."""
        with self.recording.place():
            found = super().signal_truth(name, x, observable)
        self.recording.entries.append(Place(f"signal {name}", (), x.data, found.data))
        return found

    def _related(self, name: Signal, term: FNode, width: int, signed: bool) -> FNode:
        found = super()._related(name, term, width, signed)
        if found in self._named and self._named[found].definition is term:
            self.recording.entries.append(Defined(found, term))
        return found

    def _is_fact(self, stage: Signal, relation: str, variable: FNode, fact: FNode, of_terms: FNode) -> bool:
        if not super()._is_fact(stage, relation, variable, fact, of_terms):
            return False
        self.recording.entries.append(Related(fact, of_terms))
        return True

    def _note_bounds(self, x: Word[FNode], bounds: Bounds) -> None:
        super()._note_bounds(x, bounds)
        self.recording.entries.append(Bounded(x.data, self._within(x, bounds), x.signed and x.data in self._added_up))
