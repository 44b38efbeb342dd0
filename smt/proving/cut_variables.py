"""Cut points: variables that abstract terms, the facts proved about them, and claims with such variables.

A claim is asked about its variables first, for all values that the facts allow, then also with what its variables stand
for where that is about others of them, and then with the variables of the last stage replaced by their terms, and so on
for ``WIDENINGS`` stages. Every sample gives each variable a value. A claim that a sample violates is not asked about.

The words inside what the variables of a model stand for: what a net may be that carries no variable.

A unit that is built as the design is described has a counterpart for nearly each of them: a printed model, or RTL that
takes the same steps. The words are found by their values on the samples. What is found is a suggestion, to be proved.

Words computed bit by bit from a few others: which function of bits it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from pysmt import operators as op
from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.typing import BOOL

from mmaproof.smt.proving.columns import FAST_BITS, Column, Columns, signed_column
from mmaproof.smt.proving.journal import Defined, Held, Lawful, Noted
from mmaproof.smt.proving.laws import Law, lemmas_of_law
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.proving.walk import Substitution, substituted
from mmaproof.smt.solving.query import TRUTH, width_of
from mmaproof.smt.solving.verdict import Status, combine

LEMMA_SECONDS = 30.0
"""Seconds that one query may take."""
WIDENINGS = 3
"""Stages by which the cut of a lemma is moved back before the lemma is given up."""

MOST_WRITTEN_OUT = 8
"""Variables of a claim that their terms replace; of more of them their definitions are assumed."""


class SampleValues(Protocol):
    """Values of terms on samples: ``Samples``, or ``Columns``."""

    def define(self, variable: FNode, values: Any) -> None:
        """Define the values of a variable that is not among the operands."""

    def values(self, term: FNode) -> Any:
        """Return the values of a term, one for each sample."""


class FalseFactError(Exception):
    """Operands violate a fact that was proved (an internal error)."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """What a variable stands for, and the number of cuts below it."""

    definition: FNode
    depth: int


class CutVariables:
    """The variables of one proof, and the facts about them."""

    def __init__(self, lemmas: Lemmas, samples: SampleValues, environment: Environment) -> None:
        self._lemmas, self._samples, self._environment = lemmas, samples, environment
        self._terms: Any = environment.formula_manager
        self._cuts: dict[FNode, _Cut] = {}
        lemmas.describe = self._describe
        self.entries = lemmas.entries
        """what happens in the proof, in order"""
        self._facts: dict[FNode, list[FNode]] = {}

    def new(self, definition: FNode, width: int | None) -> FNode:
        """Return a new variable that stands for a term: a word of N bits, or a truth value (None)."""
        kind = BOOL if width is None else self._environment.type_manager.BVType(width)
        variable: FNode = self._terms.Symbol(f"cut{len(self._cuts)}_{width or 0}", kind)
        self._samples.define(variable, self._samples.values(definition))
        depth = 1 + max((self._cuts[v].depth for v in self.symbols(definition) if v in self._cuts), default=0)
        self._cuts[variable] = _Cut(definition, depth)
        self.entries.append(Defined(variable, definition))
        return variable

    def _describe(self, variable: FNode) -> str | None:
        cut = self._cuts.get(variable)
        return None if cut is None else f"a variable with {cut.depth - 1} others below it"

    def note(self, fact: FNode) -> None:
        """Note what was proved of the values that variables stand for, or what is assumed of operands."""
        self.entries.append(Noted(fact))
        if not fact.is_true():
            for symbol in self.symbols(fact):
                self._facts.setdefault(symbol, []).append(fact)

    def follows(self, equation: FNode) -> None:
        """Note that a law makes two terms equal."""
        self.entries.append(Lawful(equation))

    def is_news(self, formula: FNode) -> bool:
        """Return whether a formula is about variables, and no fact yet."""
        cuts = [v for v in self.symbols(formula) if v in self._cuts]
        return bool(cuts) and all(formula not in self._facts.get(v, ()) for v in cuts)

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
        """Return whether a claim is proved. With ``newest``, its last variables are replaced by their terms first.

        A query may take N ``seconds``. Raises FalseFactError, and OutOfTimeError.
        """
        if claim.is_true():
            return True
        for widened, formula in enumerate(self._widened(claim, widenings, newest=newest)):
            if not all(self._samples.values(formula)):
                return False
            facts = self._facts_about(formula)
            for asked, known in self._with_and_without(formula, facts):
                status = self._ask(what, relation, asked, known, seconds, widened)
                if status is Status.PROVED:
                    self.entries.append(Held(claim))
                if status is not Status.REFUTED:
                    return status is Status.PROVED
        return False

    def constant(self, what: str, term: FNode, *, seconds: float, widenings: int) -> FNode | None:
        """Return the constant that a word or a truth value is proved to be, None if the samples or the proof say no."""
        column, width = self.column(term), width_of(term)
        if not (column == column[0]).all():
            return None
        value = int(column[0])
        found: FNode = self._terms.Bool(bool(value)) if width == TRUTH else self._terms.BV(value, width)
        claim = self._terms.EqualsOrIff(term, found)
        return found if self.holds(what, "constant", claim, seconds=seconds, widenings=widenings) else None

    def proved(self, what: str, relation: str, claim: FNode, *, seconds: float = LEMMA_SECONDS) -> bool:
        """Return whether a claim about any words is proved, of all values of its symbols, by itself."""
        return self._lemmas.ask(what, relation, claim, None, seconds=seconds) is Status.PROVED

    def column(self, term: FNode) -> Any:
        """Return the values of a term on the samples."""
        return self._samples.values(term)

    def is_variable(self, term: FNode) -> bool:
        """Return whether a term is a variable that stands for another."""
        return term in self._cuts

    def definition(self, variable: FNode) -> FNode:
        """Return the term that a variable stands for."""
        return self._cuts[variable].definition

    def law(self, law: Law) -> Status:
        """Return whether a law is proved."""
        statuses = []
        for lemma in lemmas_of_law(law):
            whole = lemma.formula_in(self._environment)
            statuses.append(
                self._lemmas.ask("laws", lemma.name, whole.claim, whole.precondition, seconds=LEMMA_SECONDS)
            )
        return combine(statuses)

    def without_cuts(self, claim: FNode) -> FNode:
        """Return a claim about operands alone."""
        while cuts := {v: self._cuts[v].definition for v in self.symbols(claim) if v in self._cuts}:
            claim = substituted(self._environment, claim, cuts)
        return claim

    def symbols(self, term: FNode) -> frozenset[FNode]:
        """Return the symbols of a term."""
        found: frozenset[FNode] = self._environment.fvo.get_free_variables(term)
        return found

    def _ask(
        self, what: str, relation: str, formula: FNode, known: list[FNode], seconds: float, widened: int
    ) -> Status:
        assumption = self._terms.And(known) if known else None
        # the facts have a model then: what is proved under them is not proved of nothing
        if assumption is not None and not all(self._samples.values(assumption)):
            violated = self._environment.serializer.serialize(assumption)
            raise FalseFactError(f"{what}: operands violate what was proved: {violated}")
        return self._lemmas.ask(what, relation, formula, assumption, seconds=seconds, widened=widened)

    def _widened(self, claim: FNode, widenings: int, *, newest: bool) -> Iterator[FNode]:
        if not newest:
            yield claim
            yield from self._balanced(claim, widenings)
        for _ in range(widenings):
            cuts = {v: self._cuts[v] for v in self.symbols(claim) if v in self._cuts}
            if not cuts:
                return
            last = max(x.depth for x in cuts.values())
            near = {v: x.definition for v, x in cuts.items() if x.depth == last}
            claim = substituted(self._environment, claim, near)
            yield claim

    def _balanced(self, claim: FNode, widenings: int) -> Iterator[FNode]:
        """Yield an equation with the variables replaced that occur on one side of it alone, several times over.

        What both sides are computed from stays a variable.
        """
        if not (claim.is_equals() or claim.is_iff()):
            return
        sides = list(claim.args())
        for _ in range(widenings):
            left, right = (self.symbols(x) for x in sides)
            alone = {v: self._cuts[v].definition for v in left ^ right if v in self._cuts}
            if not alone or len(alone) == len([v for v in left | right if v in self._cuts]):
                return
            sides = [substituted(self._environment, x, alone) for x in sides]
            yield self._terms.EqualsOrIff(*sides)

    def _facts_about(self, claim: FNode) -> list[FNode]:
        """Return the facts that are about the symbols of a claim alone."""
        symbols = self.symbols(claim)
        facts: dict[FNode, None] = {}
        for v in _in_order(symbols):
            facts |= {fact: None for fact in self._facts.get(v, ()) if self.symbols(fact) <= symbols}
        return list(facts)

    def _with_and_without(self, claim: FNode, facts: list[FNode]) -> Iterator[tuple[FNode, list[FNode]]]:
        """Yield a claim and its facts, then both without the variables that stand for terms over others of the claim.

        A node and a word may have met a place that the same word elsewhere in the semantics has not met.
        """
        yield claim, facts
        symbols = self.symbols(claim)
        among = [v for v in symbols if v in self._cuts and self.symbols(self._cuts[v].definition) <= symbols]
        if not among:
            return
        among.sort(key=lambda v: (self._cuts[v].depth, v.node_id()))
        definitions = {v: self._cuts[v].definition for v in among}
        if len(among) > MOST_WRITTEN_OUT:
            yield claim, [*facts, *(self._terms.EqualsOrIff(v, x) for v, x in definitions.items())]
            return
        # a definition is over variables of less depth, which come first
        for v, definition in definitions.items():
            if self.symbols(definition) & definitions.keys():
                definitions[v] = substituted(self._environment, definition, definitions)
        substitute = Substitution(self._environment, definitions)
        claim = substitute(claim)
        facts = [substitute(self._terms.And(facts))] if facts else []
        yield claim, facts


def _in_order(symbols: frozenset[FNode]) -> list[FNode]:
    """Return symbols in the order in which they were made."""
    return sorted(symbols, key=lambda v: v.node_id())


@dataclass(frozen=True, slots=True)
class InnerWord:
    """A term inside the definition of a signal, what stands for it, and whether a wider net extends it with its sign.

    The definition itself has the variable in its place.
    """

    signal: str
    term: FNode
    replacement: FNode
    signed: bool


class InnerWords:
    """The terms inside what some variables stand for, by their columns.

    They are indexed when the first one is asked for. Terms over operands that are ``apart`` are left out: nets are over
    the parts of these.
    """

    def __init__(
        self, signals: Iterable[tuple[str, FNode]], apart: Collection[FNode], cuts: CutVariables, columns: Columns
    ) -> None:
        self._signals, self._apart = tuple(signals), frozenset(apart)
        self._cuts, self._columns = cuts, columns
        self._unsigned: dict[int, list[InnerWord]] = {}
        self._signed: dict[int, list[InnerWord]] = {}
        self._known: set[FNode] = set()
        self._indexed = False

    def __contains__(self, term: FNode) -> bool:
        self._index()
        return term in self._known

    def like(self, term: FNode) -> list[InnerWord]:
        """Return the words with the values of a net on all samples that are over its variables, variables first."""
        self._index()
        column = self._columns.values(term)
        if (column == column[0]).all():
            return []
        found = list(self._unsigned.get(_key(column), ()))
        width = width_of(term)
        if width > 1 and width != TRUTH:
            found += self._signed.get(_key(signed_column(column, width)), ())
        symbols = self._cuts.symbols(term)
        found = [x for x in found if self._cuts.symbols(x.term) <= symbols]
        return sorted(found, key=lambda x: x.replacement is x.term)

    def _index(self) -> None:
        if self._indexed:
            return
        self._indexed = True
        variables = {self._cuts.definition(variable): variable for _, variable in self._signals}
        for signal, variable in self._signals:
            for term in _inside(self._cuts.definition(variable), self._known):
                if not (term.is_symbol() or self._cuts.symbols(term) & self._apart):
                    self._add(signal, term, variables.get(term, term))

    def _add(self, signal: str, term: FNode, replacement: FNode) -> None:
        column = self._columns.values(term)
        if (column == column[0]).all():
            return
        width = width_of(term)
        self._unsigned.setdefault(_key(column), []).append(InnerWord(signal, term, replacement, False))
        if width > 1 and width != TRUTH:
            values = signed_column(column, width)
            if (values < 0).any():
                self._signed.setdefault(_key(values), []).append(InnerWord(signal, term, replacement, True))


def _inside(definition: FNode, seen: set[FNode]) -> Iterator[FNode]:
    """Yield the terms inside a definition, the operands of each before it, that were not seen before."""
    pending = [definition]
    while pending:
        term = pending[-1]
        missing = [x for x in term.args() if x not in seen and not x.is_constant()]
        if missing:
            pending += missing
            continue
        pending.pop()
        if term not in seen:
            seen.add(term)
            yield term


def _key(column: Column) -> int:
    """Return the same number for equal values, in whatever kind of array."""
    if column.dtype == object:
        values: Sequence[int] = [int(x) for x in column]
        if min(values) < -(1 << (FAST_BITS - 1)) or max(values) >= 1 << FAST_BITS:
            return hash(tuple(values))
        column = np.array([x % (1 << FAST_BITS) for x in values], dtype=np.uint64)
    return hash(column.tobytes())


MOST_LEAVES = 4
_EXCLUSIVE_OR = {2: 0b0110, 3: 0b1001_0110, 4: 0b0110_1001_1001_0110}
_CARRY = {2: 0b1000, 3: 0b1110_1000}


@dataclass(frozen=True)
class BitwiseFunction:
    """A function of the bits of ``leaves`` at each place, as its truth table.

    Bit i of ``table`` is its value where the bits of i are those of the leaves. Only tables of symmetric functions mean
    something here, because ``leaves`` has no order.
    """

    leaves: frozenset[FNode]
    table: int

    @property
    def is_exclusive_or(self) -> bool:
        """Whether it is the exclusive or of all leaves."""
        return self.table == _EXCLUSIVE_OR.get(len(self.leaves))

    @property
    def is_carry(self) -> bool:
        """Whether it is one where two leaves or more are: the carry of adding two or three words."""
        return self.table == _CARRY.get(len(self.leaves))


def bitwise_function(term: FNode) -> BitwiseFunction | None:
    """Return the function that a word is of words that are not computed bit by bit, None where it is of too many."""
    if not is_bitwise(term):
        return None
    leaves: dict[FNode, None] = {}
    pending, seen = [term], set[FNode]()
    while pending:
        x = pending.pop()
        if x in seen:
            continue
        seen.add(x)
        if is_bitwise(x):
            pending += x.args()
        else:
            leaves[x] = None
            if len(leaves) > MOST_LEAVES:
                return None
    if len(leaves) < 2 or any(x.is_constant() for x in leaves):
        return None
    rows = 1 << len(leaves)
    tables = {x: sum(1 << row for row in range(rows) if row >> i & 1) for i, x in enumerate(leaves)}
    return BitwiseFunction(frozenset(leaves), _table(term, tables, (1 << rows) - 1))


def is_bitwise(term: FNode) -> bool:
    """Return whether a word is computed bit by bit from others."""
    return term.node_type() in (op.BV_AND, op.BV_OR, op.BV_XOR, op.BV_NOT)


def _table(term: FNode, tables: dict[FNode, int], ones: int) -> int:
    known = tables.get(term)
    if known is not None:
        return known
    parts = [_table(x, tables, ones) for x in term.args()]
    match term.node_type():
        case op.BV_NOT:
            found = parts[0] ^ ones
        case op.BV_AND:
            found = parts[0] & parts[1]
        case op.BV_OR:
            found = parts[0] | parts[1]
        case op.BV_XOR:
            found = parts[0] ^ parts[1]
        case _:
            raise ValueError(f"{term} is not an operation on bits")
    tables[term] = found
    return found
