"""Proofs that a netlist computes a design: the sweep of its nets, and the claim about both results.

A proof net by net as the steps of a bundle.

The places of the design are joined as those of staged proofs are. A net without cuts is equal to the term that the
proof had for it, whose parts are what replaces earlier nets. That term is equal to what replaces the net by the lemma
that was proved of it, or because both are the same sum (``LinearSteps``) or the same maximum or minimum of exponents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.composer import Composer, Values
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.journal import (
    Bounded,
    Derived,
    Entry,
    Held,
    Lawful,
    Net,
    Noted,
    Place,
    Proved,
    RecordedPlaces,
    TakenApart,
)
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, conjuncts
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.lemma import Formula, Lemmas, OutOfTimeError, StagedProof
from mmaproof.smt.proving.linear_steps import LinearSteps
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.net_relations import MatchedNet
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.proving.walk import substituted
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.verdict import Cause, Status, combine

BEFORE_LAWS = 20.0
"""Seconds for the refutation of an equation that laws may say as well."""


class ColumnValues:
    """Values on samples that can be compared and looked up."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def values(self, term: FNode) -> tuple[int, ...]:
        """Return the values of a term, one for each sample."""
        return tuple(self._columns.values(term).tolist())


class NetComposer(Composer):
    """Joins a claim about a netlist without cuts and the proof net by net."""

    def __init__(
        self,
        kernel: Kernel,
        samples: Values,
        model: ModelTerms,
        sweep: NetSweep,
    ) -> None:
        super().__init__(kernel, samples)
        self._model, self._sweep = model, sweep
        self._laws = LawsInUse(kernel, self._established)
        self._linear = LinearSteps(self._laws, sweep.sums, sweep.relations, self._within)
        self._put_in_place: dict[FNode, FNode] = {}
        """what replaces terms without cuts, without what follows for others"""
        self._slices: dict[FNode, list[FNode]] = {}
        """nets that are some bits of a word, by the word"""
        self._proved: Proved | None = None
        self._by_laws = False
        """whether laws have to say what was proved, because it was not refuted"""
        self._noted: list[FNode] = []
        self._plain_nets: Iterator[Net] = iter(())

    def define_unknown(self, unknown: Mapping[str, FNode]) -> None:
        """Define the bits that may have any value as those of the claim, whose run of the netlist is another one.

        What the claim does not read has any value.
        """
        of_claim = {_without_run(x.symbol_name()): x for x in self._raw}
        for name, x in unknown.items():
            if x not in self._raw:
                self._kernel.define(x, of_claim.get(_without_run(name), self._terms.BV(0, x.bv_width())))

    def claim_again(self, claim: FNode, again: FNode) -> None:
        """Prove that a claim is the same with the design before the netlist."""
        self._equate(claim, again, "the claim")

    def compose(self, plain: Sequence[Entry], staged: Sequence[Entry], claim: FNode, claimed: FNode) -> None:
        """Add the steps that prove ``claim``. Raises NotComposedError."""
        self._plain_nets = iter([x for x in plain if isinstance(x, Net)])
        super().compose([x for x in plain if not isinstance(x, Net)], staged, claim, claimed)

    def _other(self, entry: Entry) -> None:
        if isinstance(entry, Net):
            self._net(entry)
        elif isinstance(entry, Derived):
            self._derive(entry.name, entry.term, entry.replaced)
        elif isinstance(entry, Held):
            self._held(entry.claim)
        elif isinstance(entry, Noted):
            self._noted.append(entry.fact)
        elif isinstance(entry, Lawful):
            self._lattice(entry.equation)
        elif isinstance(entry, TakenApart):
            self._put(entry.operand, entry.pattern)
        else:  # which refuses what it does not know
            super()._other(entry)

    def _use(self, lemma: Proved, seconds: float | None = None) -> None:
        symbols = self._environment.fvo.get_free_variables(lemma.claim)
        if all(x in self._kernel.definitions or x in self._raw for x in symbols):
            self._proved, self._by_laws = lemma, False
            try:
                super()._use(lemma, BEFORE_LAWS if lemma.claim.is_equals() else None)
            except NotComposedError:
                if not lemma.claim.is_equals():
                    raise
                self._by_laws = True  # an equation may follow by laws
        else:  # it is about any words, and used where it is needed
            self._proved = None

    def _held(self, claim: FNode) -> None:
        """Prove a claim about variables from the same about what they stand for.

        The two may differ in more than that: what was put in the place of variables was simplified.
        """
        lemma = self._proved
        if lemma is None or self._kernel.holds(claim):
            return
        if self._by_laws:
            self._linear.prove(*claim.args())
            return
        proved = lemma.claim
        both = [claim, proved]
        if all(x.is_equals() or x.is_iff() for x in both):
            for x, y in zip(claim.args(), proved.args(), strict=True):
                self._equate(x, y, "a claim about variables")
        else:
            self._equate(claim, proved, "a claim about variables")

    # --- facts ------------------------------------------------------------------------------------------------

    def _establish(self, fact: FNode) -> None:
        self._established(fact)

    def _established(self, fact: FNode) -> None:
        """Prove a fact if it is one that was noted, or follows from such."""
        for x in conjuncts(fact):
            if self._kernel.holds(x):
                continue
            super()._establish(x)
            if not self._kernel.holds(x):
                self._follow(x)

    def _follow(self, fact: FNode) -> None:
        """Prove all that was noted and not proved yet, because a fact is none of it as it stands."""
        noted, self._noted = self._noted, []
        for x in noted:
            for y in conjuncts(x):
                super()._establish(y)
                if not self._kernel.holds(y):
                    self._lattice(y)

    def _prove_bounds(self, bounded: Bounded) -> None:
        self._linear.bound(bounded.variable, bounded.fact)

    def _within(self, variable: FNode) -> FNode | None:
        """Return the fact about the bounds of a variable, None where there is none."""
        bounds = self._model.bounds.get(variable)
        if bounds is None:
            return None
        signed = bool(self._sweep.sums.summands[variable])
        fact = self._model.within(Word(variable, variable.bv_width(), signed, self._model), bounds)
        return None if fact.is_true() else fact

    def _lattice(self, fact: FNode) -> None:
        """Prove what holds of maxima and minima because of what they are."""
        if self._kernel.holds(fact):
            return
        elements = self._sweep.orders.elements | self._sweep.maxima.elements
        whole = fact
        while cuts := [v for v in self._environment.fvo.get_free_variables(whole) if v in elements]:
            definitions = self._kernel.definitions
            whole = substituted(self._environment, whole, {v: definitions[v] for v in cuts})
        self._laws.claim(whole, (), {}, "maxima and minima in any order")

    # --- nets -------------------------------------------------------------------------------------------------

    def _net(self, staged: Net) -> None:
        for plain in self._plain_nets:
            if plain.name == staged.name and self._alike(plain.term, staged.term):
                break
        else:
            raise NotComposedError(f"net {staged.name} is none of the claim's")
        self._equate_either(self._image(plain.term), staged.term, f"net {staged.name}")
        if not self._kernel.same(plain.term, staged.replaced):
            raise NotComposedError(f"net {staged.name}: what replaces it is not proved to be equal to it")
        if not plain.term.is_constant():
            self._put(plain.term, staged.replaced)
            self._note_truth(plain.term, staged.replaced)
            if plain.term.is_bv_extract() or plain.term.is_bv_concat():
                self._put_bits(plain.term, staged.replaced)
                self._images = dict(self._put_in_place)  # images of bits of this net are others now

    def _put_bits(self, net: FNode, replaced: FNode) -> None:
        """Note what replaces the parts of a net, which cells read by themselves."""
        m, pending = self._terms, [(net, replaced)]
        while pending:
            term, image = pending.pop()
            if term.is_bv_extract():
                self._slices.setdefault(term.arg(0), []).append(term)
            if not term.is_bv_concat() or term is image:
                continue
            middle = term.arg(1).bv_width()
            for part, low in zip(term.args(), (middle, 0), strict=True):
                high = low + part.bv_width() - 1
                if part.is_constant() or part.is_symbol():
                    continue
                self._laws.of_any(m.BVExtract(term, low, high), part, term.args(), "law: a part of two words")
                of_part = self._model.bits(image, low, high)
                self._laws.equal(m.BVExtract(image, low, high), of_part, "a part of a net")
                self._put(part, of_part)
                pending.append((part, of_part))

    def _put(self, term: FNode, image: FNode) -> None:
        """Note what replaces a term without cuts."""
        self._images[term] = self._put_in_place[term] = image

    def _place(self, plain: Place | None, staged: Place) -> None:
        super()._place(plain, staged)
        if plain is not None and plain.term in self._images:
            self._put_in_place[plain.term] = self._images[plain.term]

    def _rebuilt(self, node: FNode, operands: Sequence[FNode]) -> FNode:
        """Return a node over other operands. Bits of a net, itself bits of a word, are bits of what replaces it."""
        if node.is_bv_extract():
            low, high = node.bv_extract_start(), node.bv_extract_end()
            for net in reversed(self._slices.get(node.arg(0), ())):
                start, m = net.bv_extract_start(), self._terms
                if start <= low and high <= net.bv_extract_end() and net is not node:
                    self._laws.of_any(
                        node, m.BVExtract(net, low - start, high - start), node.args(), "law: bits of bits"
                    )
                    found: FNode = m.BVExtract(self._images[net], low - start, high - start)
                    return found
        return super()._rebuilt(node, operands)

    def _note_truth(self, bit: FNode, replaced: FNode) -> None:
        """Note what replaces a truth value that is a net: cells read it as ``1 = net``, or as the value itself."""
        m = self._terms
        one, zero = m.BV(1, 1), m.BV(0, 1)
        if not bit.is_ite() or bit.args()[1:] != (one, zero):
            return
        truth = bit.arg(0)
        image = self._images.get(truth, truth)
        if truth.is_symbol() or truth.is_constant() or image.is_symbol():
            return
        self._use_truth_as_bit(truth)
        image = m.Equals(one, replaced)
        if _is_bit_of_truth(replaced, one, zero):
            image = replaced.arg(0)
            self._use_truth_as_bit(image)
        self._put(truth, image)

    def _use_truth_as_bit(self, truth: FNode) -> None:
        """Prove that a truth value is the one that is read of its bit."""
        m = self._terms
        any_truth = m.Symbol("condition", self._environment.type_manager.BOOL())
        read = m.Equals(m.BV(1, 1), m.Ite(any_truth, m.BV(1, 1), m.BV(0, 1)))
        self._laws.use(read, any_truth, {any_truth: truth}, "law: a truth value as a bit")

    def _derive(self, name: str, term: FNode, replaced: FNode) -> None:
        if self._kernel.same(term, replaced):
            return
        reasons = []
        for way in (self._by_adder, self._by_choice, self._linear.prove, self._by_lemma):
            try:
                way(term, replaced)
            except NotComposedError as problem:
                reasons.append(str(problem))
            if self._kernel.same(term, replaced):
                return
        raise NotComposedError(f"net {name}: {'; '.join(reasons)}")

    def _by_adder(self, term: FNode, replaced: FNode) -> None:
        passed = self._sweep.sums.adders.passed.get(term)
        if passed is None:
            return
        claim, words = passed
        self._laws.claim(claim, (), words, "a sum of two words")
        total = substituted(self._environment, claim.arg(1), words)
        if not self._kernel.same(total, replaced):
            self._linear.prove(total, replaced)

    def _by_choice(self, term: FNode, replaced: FNode) -> None:
        choice = self._sweep.sums.choices.get(term)
        if choice is None:
            return
        m, width = self._terms, term.bv_width()
        common = self._linear.of_form(choice.common)
        condition, *sides = term.args()
        for side, rest in zip(sides, choice.rests, strict=True):
            self._linear.prove(side, m.BVAdd(common, rest))
        x, y, z = self._laws.words(width)
        truth = m.Symbol("condition", self._environment.type_manager.BOOL())
        left = m.Ite(truth, m.BVAdd(x, y), m.BVAdd(x, z))
        given = {truth: condition, x: common, y: choice.rests[0], z: choice.rests[1]}
        self._laws.use(left, m.BVAdd(x, m.Ite(truth, y, z)), given, "law: what both sides of a choice have")
        self._linear.prove(m.BVAdd(common, choice.rest), replaced)

    def _by_lemma(self, term: FNode, replaced: FNode) -> None:
        self._equate(term, replaced, "a net")


def _without_run(name: str) -> str:
    """Return the name of bits that may have any value without the number of the run, other names as they are."""
    return re.sub(r"^unknown\.\d+\.", "unknown.", name)


def _is_bit_of_truth(term: FNode, one: FNode, zero: FNode) -> bool:
    return bool(term.is_ite()) and term.args()[1:] == (one, zero)


CLAIM_SECONDS = 60.0
CLAIM_WIDENINGS = 12


@dataclass(frozen=True)
class NetlistProof(StagedProof):
    """A staged proof of a netlist, the nets that were matched, in order, and those that were not.

    ``lead`` says where a proof that failed lost the design.
    """

    matched: tuple[MatchedNet, ...] = ()
    unmatched: tuple[str, ...] = ()
    lead: str = ""


ClaimOfNets = Callable[[ModelTerms | RecordedPlaces, Callable[[], None]], Truth[FNode]]
"""The claim about the results of a design and a netlist; what it calls comes between them."""


def prove_netlist(
    question: Formula,
    claim: ClaimOfNets,
    patterns: Mapping[FNode, Format],
    of_d: Format,
    rows: Sequence[Mapping[str, int]],
    ask: Ask,
    limits: Limits,
) -> NetlistProof:
    """Try to prove a claim about a design and a netlist under the precondition of ``question``.

    ``claim`` runs the design over the algebra that it is given, then calls the function that it is given, and runs the
    netlist; it returns how the results are related. ``patterns`` are the formats of the operand symbols, and ``of_d``
    is that of results. The ``rows``
    are operands that meet the precondition.
    """
    started = worked()
    if not rows:
        return NetlistProof(False, (), 0.0, Cause.SOLVER_ERROR.reason("no sample meets the precondition"))
    columns = Columns(rows)
    lemmas = Lemmas(ask, limits, started, question.environment)
    cuts = CutVariables(lemmas, columns, question.environment)
    model = ModelTerms(cuts, question.environment, patterns, of_d)
    sweeps: list[NetSweep] = []
    if question.precondition is not None:
        cuts.note(question.precondition)

    def begin_netlist() -> None:
        sweeps.append(NetSweep(model, cuts, columns, question.environment))
        model.on_net = sweeps[-1].on_net
        model.nested += 1

    def compose(kernel: Kernel) -> None:
        plain = RecordedPlaces(question.environment)
        again = claim(plain, plain.begin_netlist).data
        composer = NetComposer(kernel, ColumnValues(columns), model, sweeps[0])
        composer.define_unknown(plain.unknowns)
        composer.claim_again(question.claim, again)
        composer.compose(plain.recording.entries, lemmas.entries, again, whole)

    proved, reason, theorem = False, None, None
    try:
        related = claim(model, begin_netlist)
        whole = model.rewritten(related.data)
        proved = cuts.holds("result", "as claimed", whole, seconds=CLAIM_SECONDS, widenings=CLAIM_WIDENINGS)
        if proved:
            theorem = lemmas.joined(question.violation, compose)
        if proved and theorem is None:
            proved = combine([Status.PROVED, *(cuts.law(law) for law in sorted(model.used))]) is Status.PROVED
    except OutOfTimeError:
        proved, reason = False, Cause.TIMEOUT.reason(f"no proof net by net within {limits}")
    matched = tuple(x for s in sweeps for x in s.matched)
    unmatched = tuple(x for s in sweeps for x in s.unmatched)
    lead = "" if proved else "; ".join(s.lead() for s in sweeps)
    seconds = worked() - started
    return NetlistProof(proved, lemmas.found(), seconds, reason, theorem, compose, matched, unmatched, lead)
