"""What happens while a netlist is proved to compute a design: places, variables, lemmas and nets, in order.

``RecordedPlaces`` notes what stands at the places of the design and on the nets without cuts, and the parts that
``JournalledTools`` makes note what replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.places import CutPlaces
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.signals import Signal
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.recorded import (
    Bounded,
    Defined,
    Derived,
    Entry,
    Held,
    JournalledFolds,
    JournalledLemmas,
    Lawful,
    Net,
    Noted,
    Place,
    RecordedTerms,
    Recording,
    TakenApart,
)
from mmaproof.smt.bundles.refutations import Refutations
from mmaproof.smt.proving.asked import Lemmas
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import LEMMA_SECONDS, WIDENINGS, CutVariables
from mmaproof.smt.proving.laws import Law
from mmaproof.smt.proving.linear import Bounds
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.proving.netlists import NetlistTools
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.prove import Ask
from mmaproof.smt.solving.verdict import Status

Observable = Callable[[], Truth[FNode]]


class RecordedPlaces(CutPlaces[FNode, FNode], RecordedTerms):
    """Terms without cuts, and the places of ``ModelPlaces`` in them."""

    def __init__(self, environment: Environment | None = None) -> None:
        RecordedTerms.__init__(self, environment)
        self.on_net = self._on_net

    def begin_netlist(self) -> None:
        """Meet no places from now on."""
        self.nested += 1

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

    def signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None = None) -> Word[FNode]:
        """Return the word, whose place is noted."""
        return RecordedTerms.signal(self, name, x, bounds)

    def signal_truth(self, name: Signal, x: Truth[FNode], observable: Observable | None = None) -> Truth[FNode]:
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


class JournalledModel(JournalledFolds, ModelTerms):
    """The design with a variable at each place, and what replaces what."""

    def __init__(
        self,
        entries: list[Entry],
        cuts: CutVariables,
        environment: Environment,
        patterns: Mapping[FNode, Format],
        of_d: Format,
    ) -> None:
        super().__init__(cuts, environment, patterns, of_d)
        self.recording = Recording()
        self.recording.entries = entries

    def signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None = None) -> Word[FNode]:
        """Return what replaces the word."""
        with self.recording.place() as noted:
            found = super().signal(name, x, bounds)
        return self._replaced(f"signal {name}", x, found, noted)

    def signal_truth(
        self, name: Signal, x: Truth[FNode], observable: Callable[[], Truth[FNode]] | None = None
    ) -> Truth[FNode]:
        """Return what replaces the truth value."""
        with self.recording.place():
            found = super().signal_truth(name, x, observable)
        self.recording.entries.append(Place(f"signal {name}", (), x.data, found.data))
        return found

    def place(self, what: str, x: Word[FNode]) -> Word[FNode]:
        """Return what replaces the word."""
        with self.recording.place() as noted:
            found = super().place(what, x)
        return self._replaced(what, x, found, noted)

    def place_of_truth(self, what: str, x: Truth[FNode]) -> Truth[FNode]:
        """Return what replaces the truth value."""
        with self.recording.place() as noted:
            found = super().place_of_truth(what, x)
        if noted:
            self.recording.entries.append(Place(what, (), x.data, found.data))
        return found

    def place_of_product(self, x: Word[FNode], y: Word[FNode], product: Word[FNode]) -> Word[FNode]:
        """Return what replaces the product."""
        with self.recording.place() as noted:
            found = super().place_of_product(x, y, product)
        return self._replaced("product", product, found, noted)

    def _replaced(self, what: str, x: Word[FNode], found: Word[FNode], noted: bool) -> Word[FNode]:
        if noted:
            self.recording.entries.append(Place(what, (), x.data, found.data))
        return found

    def check(self, of: object, invariant: Callable[..., Truth[FNode]], *arguments: object) -> None:
        """Note what can be proved of a value. The semantics without cuts computes none of it."""
        with self.recording.place():
            super().check(of, invariant, *arguments)

    def _words_of(self, maximum: Word[FNode], terms: Sequence[FNode]) -> set[FNode]:
        fold = next((f for f in reversed(self.folds) if f.variable is maximum.data), None)
        return set(terms if fold is None else fold.parts)

    def _take_apart(self) -> None:
        known = set(self.patterns)
        super()._take_apart()
        self.recording.entries += (TakenApart(x, self.patterns[x]) for x in self.patterns if x not in known)

    def note_bounds_of_sum(self, x: Word[FNode], bounds: Bounds) -> None:
        """Note the bounds of a sum, which follow from those of its words."""
        super().note_bounds_of_sum(x, bounds)
        self.recording.entries.append(Bounded(x.data, self.within(x, bounds), True))


class JournalledCuts(CutVariables):
    """Variables, and when they are made."""

    def __init__(self, entries: list[Entry], lemmas: Lemmas, columns: Columns, environment: Environment) -> None:
        super().__init__(lemmas, columns, environment)
        self._entries = entries

    def new(self, definition: FNode, width: int | None) -> FNode:
        """Return a new variable that stands for a term."""
        variable = super().new(definition, width)
        self._entries.append(Defined(variable, definition))
        return variable

    def holds(
        self,
        what: str,
        relation: str,
        claim: FNode,
        *,
        newest: bool = False,
        seconds: float = LEMMA_SECONDS,
        widenings: int = WIDENINGS,
    ) -> bool:
        """Return whether a claim is proved."""
        found = super().holds(what, relation, claim, newest=newest, seconds=seconds, widenings=widenings)
        if found and not claim.is_true():
            self._entries.append(Held(claim))
        return found

    def note(self, fact: FNode) -> None:
        """Note a fact."""
        super().note(fact)
        self._entries.append(Noted(fact))

    def follows(self, equation: FNode) -> None:
        """Note that a law makes two terms equal."""
        self._entries.append(Lawful(equation))

    def law(self, law: Law) -> Status:
        """Return that a law may be used: a bundle has a lemma for each of its uses."""
        return Status.PROVED


class JournalledSweep(NetSweep):
    """Nets, and what replaces them."""

    def __init__(
        self, entries: list[Entry], model: ModelTerms, cuts: CutVariables, columns: Columns, environment: Environment
    ) -> None:
        super().__init__(model, cuts, columns, environment)
        self._entries = entries

    def replacement(self, name: str, term: FNode) -> FNode:
        """Return what replaces the term of a net that was not seen before."""
        found = super().replacement(name, term)
        self._entries.append(Derived(name, term, found))
        return found

    def on_net(self, name: str, word: Word[FNode]) -> Word[FNode]:
        """Return what replaces a net."""
        found = super().on_net(name, word)
        self._entries.append(Net(name, word.data, found.data))
        return found


class JournalledTools(NetlistTools):
    """Makes the parts of a proof of a netlist that note what happens, all of them in ``entries``."""

    def __init__(self, refutations: Refutations) -> None:
        self._refutations = refutations
        self.entries: list[Entry] = []
        self.made: tuple[JournalledModel, JournalledSweep, Columns] | None = None
        """the model, the sweep and the samples of the proof"""
        self.claim: FNode | None = None
        """the claim about the results, as it is proved in the end"""
        self._model: JournalledModel | None = None

    def lemmas(self, ask: Ask, limits: Limits, started: float, environment: Environment) -> Lemmas:
        """Return what asks lemmas and has them refuted."""
        made = JournalledLemmas(ask, limits, started, environment, self._refutations)
        made.by_laws = True
        self.entries = made.entries
        return made

    def cuts(self, lemmas: Lemmas, columns: Columns, environment: Environment) -> CutVariables:
        """Return the variables."""
        return JournalledCuts(self.entries, lemmas, columns, environment)

    def model(
        self, cuts: CutVariables, environment: Environment, patterns: Mapping[FNode, Format], of_d: Format
    ) -> ModelTerms:
        """Return the interpretation in which the design runs."""
        self._model = JournalledModel(self.entries, cuts, environment, patterns, of_d)
        return self._model

    def claimed(self, claim: FNode) -> None:
        """Take the claim about the results."""
        self.claim = claim

    def sweep(self, model: ModelTerms, cuts: CutVariables, columns: Columns, environment: Environment) -> NetSweep:
        """Return what the nets go through."""
        sweep = JournalledSweep(self.entries, model, cuts, columns, environment)
        if self._model is None or model is not self._model:
            raise ValueError("the netlist runs over another model")
        self.made = self._model, sweep, columns
        return sweep
