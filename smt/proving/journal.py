"""What happens while a claim is built: the named places, maxima and sums, as terms without cuts and in a staged proof.

The semantics is the same text for both, so both note the same places in the same order. ``RecordedTerms`` notes what
stands there without cuts. A staged proof notes what replaces it, the variables, and the lemmas that were proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.places import CutPlaces
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import Signal, SignalKind


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
    """A lemma that was proved."""

    why: str
    claim: FNode
    assumption: FNode | None


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

    def signal(self, name: Signal, x: Word[FNode], bounds: tuple[int, int] | None = None) -> Word[FNode]:
        """Return the word, whose place is noted."""
        self._note(f"signal {name}", x.data)
        return x

    def signal_truth(
        self, name: Signal, x: Truth[FNode], observable: Callable[[], Truth[FNode]] | None = None
    ) -> Truth[FNode]:
        """Return the truth value, whose place is noted."""
        self._note(f"signal {name}", x.data)
        return x

    def magnitude(self, x: Word[FNode]) -> Word[FNode]:
        """Return the magnitude, which is noted."""
        return self.signal(Signal(SignalKind.MAGNITUDE), super().magnitude(x)) if x.signed else x

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


class RecordedPlaces(CutPlaces[FNode, FNode], RecordedTerms):
    """Terms without cuts, and the places of ``ModelPlaces`` in them."""

    def __init__(self, environment: Environment | None = None) -> None:
        RecordedTerms.__init__(self, environment)
        self.on_net = self._on_net

    def begin_netlist(self) -> None:
        """Meet no places from now on."""
        self.nested += 1

    def rewritten(self, term: FNode) -> FNode:
        """Return a term as it is: the netlist gets the operands themselves."""
        return term

    def _on_net(self, name: str, word: Word[FNode]) -> Word[FNode]:
        if self.nested:
            self.recording.entries.append(Net(name, word.data, word.data))
        return word

    def place(self, what: str, x: Word[FNode]) -> Word[FNode]:
        """Return the word, whose place is noted."""
        self._note(what, x.data)
        return x

    def place_of_truth(self, what: str, x: Truth[FNode]) -> Truth[FNode]:
        """Return the truth value, whose place is noted."""
        self._note(what, x.data)
        return x

    def place_of_product(self, x: Word[FNode], y: Word[FNode], product: Word[FNode]) -> Word[FNode]:
        """Return the product, whose place is noted."""
        self._note("product", product.data)
        return product

    def signal(self, name: Signal, x: Word[FNode], bounds: tuple[int, int] | None = None) -> Word[FNode]:
        """Return the word, whose place is noted."""
        return RecordedTerms.signal(self, name, x, bounds)

    def signal_truth(
        self, name: Signal, x: Truth[FNode], observable: Callable[[], Truth[FNode]] | None = None
    ) -> Truth[FNode]:
        """Return the truth value, whose place is noted."""
        return RecordedTerms.signal_truth(self, name, x, observable)

    def magnitude(self, x: Word[FNode]) -> Word[FNode]:
        """Return the magnitude, whose place is noted."""
        return self._placed("magnitude", TermAlgebra.magnitude(self, x)) if x.signed else x

    def shift_right(self, x: Word[FNode], amount: Word[FNode]) -> Word[FNode]:
        """Return floor(x / 2**amount); the amount is a place as well."""
        return super().shift_right(x, self._placed("distance", amount))

    def shift_right_jam(self, x: Word[FNode], amount: Word[FNode]) -> Word[FNode]:
        """Return x / 2**amount, rounded to odd; the amount is a place as well."""
        return super().shift_right_jam(x, self._placed("distance", amount))

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the maximum, which is noted."""
        return RecordedTerms.maximum(self, words)

    def maximum_in_turn(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the maximum, which is noted."""
        return RecordedTerms.maximum_in_turn(self, words)
