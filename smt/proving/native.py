"""Proofs that a graph of machine operations computes the pySMT term of its design, place by place.

``record`` lowers a design and notes the value of each place (``CutPlaces``). Here the semantics run once more, over
terms, and meet the same places in the same order. At each place there are two terms: that of the node in the graph, and
that of the word in the semantics. A lemma says that they are equal for all values of their variables, as words of the
wider one's width: the narrower one is extended, with its sign where the value may be negative. Then both are *cut*: the
node and the word become one fresh variable. So the next lemma is about the operations since the last places alone. It
is the graph that is compiled that is cut; no node of it is replaced.

What is known of variables are facts, each a lemma too: the least and the largest number of a value, the invariants that
the semantics note (``Algebra.check``), and that no operand exceeds a maximum. The interval with which the graph was
made is a claim here. If it is not proved, nobody uses it.

The lemmas imply that the graph returns d of the design, for this reason. Take operands that meet the precondition, and
give each variable the value that its word has for them. By induction over the places, each fact holds, and the nodes at
each place have the value of their word: the lemma of a place holds for all values of its variables that meet the facts,
so it holds for these. What the operations of the graph demand of their operands (a shift amount below the width, no
leading zeros of zero) are lemmas of the same kind.

Three laws are used besides the solver's lemmas. Sums are added in the order of the graph, by the law of addition of
that width (a lemma about three words, ``laws``). (y * 2**p) * z = (y * z) * 2**p modulo powers of two
(smt/native/terms.py). And the product of numbers from l to u and from m to v lies within the smallest and the largest
of lm, lv, um and uv; where these fit the words of both products, and the factors are proved to be equal and to lie
within these intervals, both products are that number. No product is left to a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.code import Value
from mmaproof.smt.algebra.nodes import Node, Op, needed
from mmaproof.smt.algebra.places import CutPlaces
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.native.lowering import finite_words, symbols
from mmaproof.smt.native.terms import GraphTerms, Place, Recorded
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import Law, Operation
from mmaproof.smt.proving.lemma import Lemmas, OutOfTimeError, StagedProof
from mmaproof.smt.proving.staged_lemmas import Samples
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.verdict import Cause, Status, combine

Interval = tuple[int, int]
"""The least and the largest number."""


class PlacesDifferError(Exception):
    """The two runs of the semantics did not meet the same places (an internal error)."""


@dataclass(frozen=True)
class NativeStages(StagedProof):
    """A staged proof of a graph.

    ``failed`` are the places and operations whose lemma is not proved.
    """

    failed: tuple[str, ...] = ()


class RefutedError(Exception):
    """Operands were found for which the graph does not return d of its design. So there is nothing to prove."""


def precondition(recorded: Recorded, algebra: TermAlgebra) -> list[FNode]:
    """Return what the graph takes for granted of its operands: one formula for each element that is to be finite."""
    lowered, formulas = recorded.lowered, []
    if lowered.finite:
        for fmt, word in finite_words(lowered.design, symbols(algebra, lowered.columns)):
            read = unpack(algebra, fmt, word)
            formulas.append((~(read.nan | read.infinite)).data)
    return [f for f in formulas if not f.is_true()]


def prove_graph(
    recorded: Recorded,
    samples: Samples,
    ask: Ask,
    limits: Limits,
    environment: Environment,
    not_proved: Callable[[FNode], None] = lambda claim: None,
) -> NativeStages:
    """Try to prove that a graph returns d of its design, for all operands that meet its precondition.

    The rows of ``samples`` meet the precondition; a relation that one of them violates is not asked about.
    ``not_proved`` is called with each claim about a place that is not proved, as a claim about operands alone. Operands
    that violate it are worth a try on the graph. It raises RefutedError, which is passed on, to end the proof.
    """
    started = worked()
    lemmas = Lemmas(ask, limits, started, environment)
    cuts = CutVariables(lemmas, samples, environment)
    terms = CutTerms(recorded.places, cuts, environment, not_proved)
    reason = None
    try:
        for formula in precondition(recorded, terms):
            cuts.note(formula)
        operands = symbols(terms, recorded.lowered.columns)
        d = dot_product_accumulate(recorded.lowered.design, terms, operands).d
        proved = terms.finish(recorded.lowered.d, d)
    except OutOfTimeError:
        proved, reason = False, Cause.TIMEOUT.reason(f"no staged proof within {limits}")
    return NativeStages(
        proved,
        lemmas.found(),
        worked() - started,
        reason,
        failed=(*terms.failed, *terms.undefined),
    )


class CutTerms(CutPlaces[FNode, FNode], TermAlgebra):
    """The symbolic interpretation, cut at the places of a recorded graph, as the module text describes."""

    def __init__(
        self,
        places: Sequence[Place],
        cuts: CutVariables,
        environment: Environment,
        not_proved: Callable[[FNode], None],
    ) -> None:
        super().__init__(environment)
        self._not_proved = not_proved
        self._places, self._next = places, 0
        self._cuts = cuts
        self.graph = GraphTerms(environment)
        self.failed: list[str] = []
        """the places that are not cut, because their lemma is not proved"""
        self.undefined: list[str] = []
        """the operations whose demands are not proved"""
        self._intervals: dict[FNode, tuple[Interval, bool]] = {}
        """what is proved of a variable as a number, and whether that is read in two's complement"""
        self._laws: set[Law] = set()

    # --- places -----------------------------------------------------------------------------------------------

    def _place(self, what: str) -> Place:
        place = self._places[self._next] if self._next < len(self._places) else None
        if place is None or place.what != what:
            raise PlacesDifferError(f"place {self._next}: {what} in the terms, {place} in the graph")
        self._next += 1
        return place

    def place(self, what: str, x: Word[FNode]) -> Word[FNode]:
        """Return what replaces a word."""
        (value,) = self._place(what).values
        return Word(self._cut(what, value, x.data, x.signed), x.width, x.signed, self)

    def place_of_truth(self, what: str, x: Truth[FNode]) -> Truth[FNode]:
        """Return what replaces a truth value."""
        node = self._place(what).truth
        if node is None:
            raise PlacesDifferError(f"{what} is a truth value in the terms alone")
        meant = self._meant(what, node)
        if x.data is meant:
            return x
        if not self._cuts.holds(what, "equal", self._terms.Iff(meant, x.data)):
            self._fail(what, self._terms.Iff(meant, x.data))
            return x
        if x.data.is_symbol() or x.data.is_bool_constant():
            self.graph.known[node] = x.data
            return x
        if meant.is_symbol() or meant.is_bool_constant():
            return Truth(meant, self)
        variable = self._cuts.new(x.data, None)
        self.graph.known[node] = variable
        return Truth(variable, self)

    def place_of_product(self, x: Word[FNode], y: Word[FNode], product: Word[FNode]) -> Word[FNode]:
        """Return what replaces a product: where the law of the module text holds, no solver is asked about it."""
        (value,) = self._place("product").values
        whole = self._product_within(value, x, y, product)
        if whole is None:
            return Word(self._cut("product", value, product.data, product.signed), product.width, product.signed, self)
        return Word(self._replaced(value, product.data, whole, product.signed), product.width, product.signed, self)

    def _product_within(self, value: Value, x: Word[FNode], y: Word[FNode], product: Word[FNode]) -> Interval | None:
        """Return the interval of a product if both products are the same number, by the law of the module text."""
        node = value.node
        if node.op is not Op.MULTIPLY:
            return None
        self._meant("product", node)
        (low_x, high_x), (low_y, high_y) = self._interval(x.data, x.signed), self._interval(y.data, y.signed)
        corners = [a * b for a in (low_x, high_x) for b in (low_y, high_y)]
        whole = min(corners), max(corners)
        signed = value.least < 0
        if not (_fits(whole, node.bits, signed) and _fits(whole, product.width, product.signed)):
            return None
        if not _fits(whole, min(node.bits, product.width), signed):
            return None
        factors = [self.graph.known[n] for n in node.operands]
        for one, other in ((x, y), (y, x)):
            same = [
                self._terms.Equals(meant, self._resized(w.data, node.bits, w.signed))
                for meant, w in zip(factors, (one, other), strict=True)
            ]
            if all(self._cuts.holds("factor", "equal in the lane of the product", s) for s in same):
                return whole
        return None

    def _add_up(self, xs: list[FNode], widths: list[int], width: int, wraps: bool) -> FNode:
        """Return the sum, added in the order of the graph, cut after every addition that the graph tells of."""
        partial = () if self.nested else self._place("partial sums").values
        if not partial:
            return super()._add_up(xs, widths, width, wraps)
        self._laws.add(Law(Operation.SUM, width))
        level, sums = self._in_one_width(xs, widths, width), iter(partial)
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [
                self._cut("partial sum", next(sums), self._terms.BVAdd(*pair), True) if len(pair) > 1 else pair[0]
                for pair in pairs
            ]
        return level[0]

    def compressed_sum(self, words: Sequence[Word[FNode]], width: int) -> Word[FNode]:
        """Return the sum without compressors. The law used is that a compressor keeps the sum of its words."""
        self._laws.add(Law(Operation.CARRY_SAVE_SUM, width))
        return self.modular_sum(words, width)

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return what stands for the largest word; that no word exceeds it is a fact."""
        largest = super().maximum(words)
        if not self.nested and len(words) > 1:
            with self.no_places():
                for word in words:
                    self._note_at_most(word, largest)
        return largest

    def maximum_in_turn(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return what stands for the largest word; that no word exceeds it is a fact."""
        largest = words[0]
        for i, word in enumerate(words[1:], 2):
            largest = super().maximum_in_turn([largest, word])
            with self.no_places():
                for x in words[:i]:
                    self._note_at_most(x, largest)
        return largest

    def check(self, of: object, invariant: Callable[..., Truth[FNode]], *arguments: object) -> None:
        """Note the invariant of a value, or what can be proved of it."""
        with self.no_places():
            whole = invariant(*arguments).data
        for formula in whole.args() if whole.is_and() else (whole,):
            self._note("invariant", f"of a {type(of).__name__}", formula)

    # --- cuts -------------------------------------------------------------------------------------------------

    def _meant(self, what: str, node: Node) -> FNode:
        """Return the term of a node. What its operations demand of their operands is proved, or noted as failed."""
        meant = self.graph.of(node)
        demands, self.graph.demands = self.graph.demands, []
        for demanding, formula in demands:
            relation = f"defined: {demanding.op} of {demanding.bits} bits"
            if not self._cuts.holds(what, relation, formula):
                self.undefined.append(f"{what}, {relation}")
                self._not_proved(self._cuts.without_cuts(formula))
        return meant

    def _cut(self, what: str, value: Value, term: FNode, signed: bool) -> FNode:
        """Return what replaces the term of a word whose value in the graph is ``value``."""
        meant, width = self._meant(what, value.node), term.bv_width()
        wide = max(width, value.node.bits)
        negative = value.least < 0
        left, right = self._resized(meant, wide, negative), self._resized(term, wide, negative)
        equal = self._terms.TRUE() if left is right else self._terms.Equals(left, right)
        bounds = self._bounds((value.least, value.largest), term, signed)
        both = self._terms.And([x for x in (equal, bounds) if not x.is_true()])
        if self._cuts.holds(what, "equal, and within its interval", both):
            return self._replaced(value, term, (value.least, value.largest) if signed or not negative else None, signed)
        if self._cuts.holds(what, "equal", equal):
            return self._replaced(value, term, None, signed)
        self._fail(what, equal)
        return term

    def _bounds(self, interval: Interval, term: FNode, signed: bool) -> FNode:
        """Return the claim that a word lies within an interval."""
        word, (low, high) = Word(term, term.bv_width(), signed, self), interval
        least, largest = _whole(word.width, signed)
        claims = [word >= low] if low > least else []
        claims += [word <= high] if high < largest else []
        return self.all_of(claims).data

    def _replaced(self, value: Value, term: FNode, within: Interval | None, signed: bool) -> FNode:
        """Return what replaces a term and the node that was proved equal to it."""
        node, width, negative = value.node, term.bv_width(), value.least < 0
        meant = self.graph.known[node]
        if _atom(term) is not None:
            if not meant.is_constant():
                self.graph.known[node] = self._resized(term, node.bits, negative)
            return term
        if _atom(meant) is not None:
            return self._resized(meant, width, negative)
        narrow = term if width <= node.bits else self._resized(term, node.bits, negative)
        variable = self._cuts.new(narrow, narrow.bv_width())
        self.graph.known[node] = self._resized(variable, node.bits, negative)
        if within is not None:
            self._intervals[variable] = within, negative
            self._cuts.note(self._bounds(within, variable, negative))
        return self._resized(variable, width, negative)

    def _resized(self, x: FNode, width: int, signed: bool) -> FNode:
        """Return a word in N bits: its lowest bits, or extended."""
        if width == x.bv_width():
            return x
        if x.is_bv_constant():
            return self._constant(x.bv_signed_value() if signed else x.bv_unsigned_value(), width)
        if width > x.bv_width():
            return self._extend(x, x.bv_width(), width, signed)
        if (x.is_bv_zext() or x.is_bv_sext()) and x.arg(0).bv_width() <= width:
            return self._resized(x.arg(0), width, x.is_bv_sext())
        return self._terms.BVExtract(x, 0, width - 1)

    def _interval(self, term: FNode, signed: bool) -> Interval:
        """Return an interval that a word is proved to lie in."""
        if term.is_constant():
            number = term.bv_signed_value() if signed else term.bv_unsigned_value()
            return number, number
        if term.is_bv_zext() and term.bv_extend_step():
            return self._interval(term.arg(0), False)
        if term.is_bv_sext() and signed:
            return self._interval(term.arg(0), True)
        known = self._intervals.get(term)
        if known is not None and (known[1] is signed or (known[0][0] >= 0 and not signed)):
            return known[0]
        return _whole(term.bv_width(), signed)

    # --- facts and lemmas -------------------------------------------------------------------------------------

    def _note_at_most(self, x: Word[FNode], largest: Word[FNode]) -> None:
        self._note("maximum", "no operand exceeds it", (self.extend(x, largest.width) <= largest).data, newest=True)

    def _note(self, what: str, relation: str, formula: FNode, *, newest: bool = False) -> None:
        """Make a fact of a formula about variables, if it is proved."""
        if self._cuts.is_news(formula) and self._cuts.holds(what, relation, formula, newest=newest):
            self._cuts.note(formula)

    def finish(self, node: Node, d: Word[FNode]) -> bool:
        """Return whether a node is proved to be d extended by zeros.

        A place that is not cut is not a gap in the proof. A demand of an operation or a law that is not proved is one.
        """
        meant = self._meant("result", node)
        right = self._resized(d.data, node.bits, False)
        if self._next != len(self._places):
            raise PlacesDifferError(f"{len(self._places) - self._next} places of the graph are not in the terms")
        if any(x not in self.graph.known for x in needed([node])):
            raise PlacesDifferError("an operation of the graph was not translated")
        statuses = [self._cuts.law(law) for law in sorted(self._laws)]
        equal = self._terms.TRUE() if meant is right else self._terms.Equals(meant, right)
        if not self._cuts.holds("result", "equal", equal):
            self._fail("result", equal)
            return False
        return not self.undefined and combine([Status.PROVED, *statuses]) is Status.PROVED

    def _fail(self, what: str, claim: FNode) -> None:
        self.failed.append(what)
        self._not_proved(self._cuts.without_cuts(claim))


def _whole(width: int, signed: bool) -> Interval:
    """Return the least and the largest number of a word."""
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)


def _fits(interval: Interval, width: int, signed: bool) -> bool:
    least, largest = _whole(width, signed)
    return least <= interval[0] and interval[1] <= largest


def _atom(term: FNode) -> FNode | None:
    """Return the constant or the symbol that a term is, or is extended from."""
    inner: Any = term.arg(0) if term.is_bv_zext() or term.is_bv_sext() else term
    return inner if inner.is_symbol() or inner.is_constant() else None
