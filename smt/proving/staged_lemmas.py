"""Terms in which variables stand for terms, and lemmas about them: the base of staged proofs.

Lemmas are asked of variables first, and then of the terms for which they stand. They may use facts about variables,
each of which is a lemma before it: bounds, and relations to earlier variables.

The signals of a staged proof, and what tells related ones by their values on the samples.

Terms evaluated on sample operands. A relation that a sample violates is not worth a lemma.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.journal import Bounded, Related
from mmaproof.smt.proving.laws import Law, LawfulTerms
from mmaproof.smt.proving.lemma import Formula, Lemmas
from mmaproof.smt.proving.walk import bottom_up, substituted
from mmaproof.smt.solving.query import BY_NODE_TYPE, TRUTH, indices_of, width_of
from mmaproof.smt.solving.verdict import Status

Values = tuple[int, ...]
"""One value for each sample, unsigned; 0 or 1 for a truth value."""


class Samples:
    """Values of terms on some operands (symbol name -> value). Each term is evaluated once."""

    def __init__(self, rows: Sequence[Mapping[str, int]]) -> None:
        self.rows = rows
        self._values: dict[FNode, Values] = {}

    def define(self, variable: FNode, values: Values) -> None:
        """Define the values of a variable that is not among the operands."""
        self._values[variable] = values

    def values(self, term: FNode) -> Values:
        """Return the values of a term of QF_BV."""
        return bottom_up(term, self._values, self._evaluate)

    def _evaluate(self, node: FNode, columns: Sequence[Values]) -> Values:
        if node.is_symbol():
            return tuple(row.get(node.symbol_name(), 0) for row in self.rows)
        if node.is_constant():
            return (int(node.constant_value()),) * len(self.rows)
        operator = BY_NODE_TYPE[node.node_type()]
        widths, indices = [width_of(x) for x in node.args()], tuple(indices_of(node))
        mask = (1 << max(1, operator.result_width(widths, indices))) - 1
        return tuple(operator.evaluate(row, widths, indices) & mask for row in zip(*columns, strict=True))


def signed_values(values: Values, width: int) -> Values:
    """Return unsigned values of N bits read as two's complement."""
    if width == TRUTH:
        return values
    half, whole = 1 << (width - 1), 1 << width
    return tuple(x - whole if x >= half else x for x in values)


@dataclass(frozen=True, slots=True)
class StagedSignal:
    """An earlier signal: the variable that replaces it, and the term that it stands for."""

    name: Signal
    index: int
    """the number of signals of this name before it in its run"""
    variable: FNode
    definition: FNode
    width: int
    signed: bool
    sign: int
    places: int
    first: int
    """its value on the first sample"""
    fold: int
    """the number of the sum or maximum that it is a part of; every other signal has a negative number of its own"""
    depth: int
    """the length of the longest chain of cuts that ends here"""


def shape_of(numbers: Values, width: int) -> tuple[object, int, int]:
    """Return what all multiples by ±2**n share, and the sign and the power of this one."""
    first = next((x for x in numbers if x), 1)
    if width == TRUTH:
        return (TRUTH, tuple(x ^ numbers[0] for x in numbers)), numbers[0], 0
    places = min(((x & -x).bit_length() - 1 for x in numbers if x), default=0)
    sign = -1 if first < 0 else 1
    return tuple(sign * (x >> places) for x in numbers), sign, places


WIDENINGS = 2
"""Stages by which the cut of a lemma is widened before its relation is given up."""
RESULT_WIDENINGS = 10
"""Stages by which the cut of the claim, or of results of steps, is widened one at a time."""
LEMMA_SECONDS = 5.0
"""Seconds that one query about a relation may take."""
PARTIAL_SUM, MAGNITUDE, D_SIGNAL, RESULT = (
    Signal(x) for x in (SignalKind.PARTIAL_SUM, SignalKind.MAGNITUDE, SignalKind.D, SignalKind.RESULT)
)

Bounds = tuple[int, int]
"""The least and the largest value."""


class TermsWithCuts(LawfulTerms):
    """Terms over variables that stand for terms, with lemmas about them."""

    def __init__(self, lemmas: Lemmas, question: Formula) -> None:
        super().__init__(question.environment)
        self._lemmas, self._precondition = lemmas, question.precondition
        lemmas.describe = self._describe
        self._named: dict[FNode, StagedSignal] = {}
        self._facts: dict[FNode, list[FNode]] = {}
        self._bounds: dict[tuple[FNode, bool], Bounds] = {}
        """of variables read as signed (True) or as unsigned words"""
        self._added_up: dict[FNode, frozenset[Law]] = {}
        """the laws that make bounds of variables sums of the bounds of others"""

    def _describe(self, variable: FNode) -> str | None:
        this = self._named.get(variable)
        return None if this is None else f"{this.name}, number {this.index}"

    # --- lemmas ---------------------------------------------------------------------------------------------

    def holds(
        self,
        stage: Signal,
        relation: str,
        claim: FNode,
        *,
        seconds: float = LEMMA_SECONDS,
        widenings: int = WIDENINGS,
    ) -> bool:
        """Return whether the claim is proved from its last cuts, or from up to ``widenings`` stages before them."""
        for widened, formula in enumerate(self._widened(claim, stage, widenings)):
            for assumption in self._assumptions(formula, stage):
                status = self._lemmas.ask(str(stage), relation, formula, assumption, seconds=seconds, widened=widened)
                if status is not Status.REFUTED:
                    return status is Status.PROVED
        return False

    def _widened(self, claim: FNode, stage: Signal, widenings: int) -> Iterator[FNode]:
        """Yield a claim, then the claim with more and more stages undone, and last with all of its cuts undone.

        The results of steps are undone by more stages, because a rounded addition consists of many.
        """
        yield claim
        near = claim
        for _ in range(RESULT_WIDENINGS if stage in (D_SIGNAL, RESULT) else 1):
            cuts = self._cuts(near)
            last = max((self._named[v].depth for v in cuts), default=0)
            if all(self._named[v].depth == last for v in cuts):
                break
            near = self._uncut(near, [v for v in cuts if self._named[v].depth == last])
            yield near
        for _ in range(widenings):
            cuts = self._cuts(claim)
            if not cuts:
                return
            claim = self._uncut(claim, cuts)
            # a magnitude is not a stage of its own: what it is of comes with it
            claim = self._uncut(claim, [v for v in self._cuts(claim) if self._named[v].name == MAGNITUDE])
            yield claim

    def _cuts(self, claim: FNode) -> list[FNode]:
        return [v for v in self._symbols(claim) if v in self._named]

    def _symbols(self, term: FNode) -> frozenset[FNode]:
        found: frozenset[FNode] = self.environment.fvo.get_free_variables(term)
        return found

    def _uncut(self, claim: FNode, cuts: Sequence[FNode]) -> FNode:
        return substituted(self.environment, claim, {v: self._named[v].definition for v in cuts})

    def _assumptions(self, claim: FNode, stage: Signal) -> Iterator[FNode | None]:
        """Yield what is known of the symbols of a claim: facts about variables, and the precondition on operands.

        The bounds of partial sums differ from one sum to the next. Lemmas about partial sums are tried without bounds
        first, because they are one lemma then.
        """
        symbols = self._symbols(claim)
        of_operands = self._precondition is not None and any(v not in self._named for v in symbols)
        known = [self._precondition] if of_operands else []
        sums = [v for v in symbols if v in self._named and self._named[v].name == stage == PARTIAL_SUM]
        for helpful in [symbols - set(sums), symbols] if sums else [symbols]:
            self.used |= {law for v in helpful for law in self._added_up.get(v, ())}
            facts = {f for v in helpful for f in self._facts.get(v, ()) if self._symbols(f) <= symbols}
            whole = self._in_order({*known, *facts})
            yield self._terms.And(whole) if whole else None

    # --- facts ----------------------------------------------------------------------------------------------

    def _is_fact(self, stage: Signal, relation: str, variable: FNode, fact: FNode, of_terms: FNode) -> bool:
        """Return whether ``of_terms`` is proved, which says of the terms of variables what ``fact`` says of these.

        If so, note the fact, which is about ``variable`` and earlier ones.
        """
        if not self.holds(stage, relation, of_terms, widenings=WIDENINGS):
            return False
        self._facts.setdefault(variable, []).append(fact)
        self.recording.entries.append(Related(fact, of_terms))
        return True

    def _same(self, x: FNode, y: FNode) -> FNode:
        return self._terms.EqualsOrIff(x, y)

    def _bound(self, name: Signal, x: Word[FNode], bounds: Bounds) -> None:
        """Note the bounds of a variable, if they are new and proved."""
        least = -(1 << (x.width - 1)) if x.signed else 0
        if bounds[0] <= least and bounds[1] >= least + (1 << x.width) - 1:
            return
        within = self._within(x, bounds)
        if self.holds(name, "bounded", self._uncut(within, [x.data])):
            self._note_bounds(x, bounds)

    def _note_bounds(self, x: Word[FNode], bounds: Bounds) -> None:
        self._bounds[x.data, x.signed] = bounds
        within = self._within(x, bounds)
        self._facts.setdefault(x.data, []).append(within)
        self.recording.entries.append(Bounded(x.data, within, x.signed and x.data in self._added_up))

    def _within(self, x: Word[FNode], bounds: Bounds) -> FNode:
        """Return the formula that a word lies within bounds."""
        low, high = (self.signed(b) if x.signed else self.unsigned(b, max(b.bit_length(), 1)) for b in bounds)
        return self.negation(self.any_of([self.less(x, low), self.less(high, x)])).data

    def _bounds_of(self, term: FNode) -> Bounds | None:
        """Return known bounds of a signed term: a constant, a variable, or one extended or negated."""
        if term.is_bv_constant():
            return term.bv_signed_value(), term.bv_signed_value()
        if term.is_bv_sext():
            return self._bounds_of(term.arg(0))
        if term.is_bv_neg():
            bounds = self._bounds_of(term.arg(0))
            least = -(1 << (term.bv_width() - 1))
            return None if bounds is None or bounds[0] <= least else (-bounds[1], -bounds[0])
        return self._bounds.get((term, True))
