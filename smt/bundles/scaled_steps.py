"""A step whose operands are doubled returns twice as much, as steps.

Every number is normal before and after, so each term of a sum has the same significand and sign, and an exponent one
higher. Then

* the largest exponent is that of a term, and no exponent is above it, before and after: it is one higher;
* a term cut below it is the same word, and so is the sum;
* the normalised sum has an exponent one higher, and is rounded to twice as much inside the normal range.

A sum that is a term of a later one moves as a product does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import with_top_exponent
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.term_facts import factors_of, prove_largest_exponent
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, conjuncts
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.proving.linear import in_order
from mmaproof.smt.proving.scaling import doubled, is_inside
from mmaproof.smt.proving.walk import bottom_up
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.datapath import StepPath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.labels import Addend, Label, is_of_products
from mmaproof.smt.semantics.terms import Term

_Word = Word[FNode]
_Truth = Truth[FNode]
_Sum = FusedSum[FNode, FNode]


def moves_at_once(path: StepPath) -> bool:
    """Return whether all terms are aligned as they are and c is one of them, and their sum is rounded once."""
    added_once = path.rounds_again is None and path.added_last is None
    return added_once and not (path.drops_c or path.normalises_addends)


class ScaledSteps:
    """Proves that a step returns twice as much for doubled operands. Raises NotComposedError.

    ``assumed`` is the precondition of the question: that operands are normal, and that the first result is inside the
    normal range.
    """

    def __init__(
        self,
        kernel: Kernel,
        first: StepSignals[FNode, FNode],
        second: StepSignals[FNode, FNode],
        assumed: FNode,
    ) -> None:
        self._algebra, self._laws, self._kernel = TermAlgebra(kernel.environment), LawsInUse(kernel), kernel
        self._signals, self._assumed = (first, second), list(conjuncts(assumed))
        if not moves_at_once(first.path):
            raise NotComposedError("terms that are dropped, normalised, or added to a rounded sum")

    def prove(self, fmt: Format, claim: Callable[[_Word, _Word], _Truth]) -> None:
        """Add the steps. ``claim`` is what the question says of both results, numbers of ``fmt``."""
        done: list[tuple[_Sum, _Sum]] = []
        for pair in zip(*(x.sums for x in self._signals), strict=True):
            for terms in zip(pair[0].labels, pair[0].terms, pair[1].terms, strict=True):
                self._term(*terms, done)
            self._largest_exponent(*pair)
            for i in range(len(pair[0].terms)):
                self._aligned(i, *pair)
            if not self._kernel.same(*(x.total.data for x in pair)):
                raise NotComposedError("the aligned terms are the same, and their sums differ")
            done.append(pair)
        self._converted(*done[-1], fmt)
        self._results(fmt, claim)

    def _assuming(self, claim: _Truth, why: str, same: Sequence[tuple[_Word, _Word]] = ()) -> None:
        """Prove a claim about operands from all that is assumed of them alone, and that pairs of words are the same."""
        symbols = self._kernel.environment.fvo.get_free_variables
        own = symbols(claim.data)
        known = [Truth(x, self._algebra) for x in self._assumed if symbols(x) <= own]
        leaves = Leaves(self._algebra).parts(*(w for pair in same for w in pair))
        leaves.use_of(self._laws, claim, [*known, *(p == q for p, q in same)], why)

    # --- terms --------------------------------------------------------------------------------------------------

    def _term(
        self, label: Label, x: Term[FNode, FNode], y: Term[FNode, FNode], done: Sequence[tuple[_Sum, _Sum]]
    ) -> None:
        """Prove that a term is the same, and its exponent one higher."""
        if not (is_of_products(label) or label is Addend.C):
            self._sum_as_term(x, y, done)
            return
        products = [_products_in(t.significand.data, self._algebra) for t in (x, y)]
        pairs = list(zip(*products, strict=True)) or [(x.significand, y.significand)]
        for p, q in pairs:
            for factor, other in zip(*(factors_of(self._algebra, w) for w in (p, q)), strict=True):
                if not self._kernel.same(factor.data, other.data):
                    self._assuming(factor == other, "a doubled number has the same significand")
        if not self._kernel.same(x.significand.data, y.significand.data):
            raise NotComposedError("a term has another significand")
        for t, u in ((x.negative, y.negative), (x.present, y.present)):
            if not self._kernel.same(t.data, u.data):
                self._assuming(t == u, "a doubled number has the same sign")
        self._assuming(y.exponent == x.exponent + 1, "the exponent of a doubled number is one higher", pairs)

    def _sum_as_term(self, x: Term[FNode, FNode], y: Term[FNode, FNode], done: Sequence[tuple[_Sum, _Sum]]) -> None:
        """Prove the same of a sum that is a term of another one."""
        same = self._kernel.same
        parts = ((x.significand, y.significand), (x.negative, y.negative), (x.present, y.present))
        if not all(same(p.data, q.data) for p, q in parts):
            raise NotComposedError("a sum that is a term of another one differs")
        leaves, known = Leaves(self._algebra), []
        for before, after in done:
            leaves.parts(before.e_max, after.e_max)
            known.append(after.e_max == before.e_max + 1)
        leaves.use_of(self._laws, y.exponent == x.exponent + 1, known, "a sum moves with its exponent")

    # --- exponents ----------------------------------------------------------------------------------------------

    def _largest_exponent(self, before: _Sum, after: _Sum) -> None:
        """Prove that the largest exponent is one higher."""
        algebra, floor = self._algebra, before.path.floor
        for total in (before, after):
            prove_largest_exponent(self._laws, algebra, total)
            leaves = Leaves(algebra)
            own = [leaves.term(t) for t in total.terms]
            top = largest_exponent(algebra, own, floor, total.path.comparator)
            some = [t.present & (t.exponent == top) for t in own]
            if floor is not None:
                some.append(top == floor)
                leaves.use(self._laws, top >= floor, (), "the largest exponent is not below its floor")
            absent = [] if any(t.present.data.is_true() for t in own) else [algebra.all_of([~t.present for t in own])]
            leaves.use(self._laws, algebra.any_of([*some, *absent]), (), "the largest exponent is that of a term")
        if not any(t.present.data.is_true() for t in before.terms):
            for x in before.terms:
                self._assuming(x.present, "a term takes part")
        above = self._above_floor(before, after)
        for totals in ((before, after), (after, before)):
            self._not_above(*totals, above, 1 if totals[0] is before else -1)
        leaves = Leaves(algebra)
        e, f = (leaves.word(x.e_max) for x in (before, after))
        known = [f >= e + 1, e >= f + (-1)]
        leaves.use(self._laws, f == e + 1, known, "the largest exponent is one higher")

    def _above_floor(self, before: _Sum, after: _Sum) -> tuple[int, int] | None:
        """Prove of c that its exponents are not below the floor of its sum; return its place, and the floor."""
        floor = before.path.floor
        if floor is None:
            return None
        place = next((i for i, x in enumerate(before.labels) if x is Addend.C), None)
        if place is None:
            raise NotComposedError("a floor of a sum without c")
        for total in (before, after):
            t = total.terms[place]
            self._assuming(t.present & (t.exponent >= floor), "a normal c is not below the floor")
        return place, floor

    def _not_above(self, here: _Sum, there: _Sum, above: tuple[int, int] | None, higher: int) -> None:
        """Prove that the largest exponent there is at least that here, and ``higher``."""
        algebra = self._algebra
        why = "the largest exponent moves with that of its term"
        reached = there.e_max >= here.e_max + higher
        for x, y in zip(here.terms, there.terms, strict=True):
            leaves = Leaves(algebra)
            p, q, e, f = (leaves.word(w) for w in (x.exponent, y.exponent, here.e_max, there.e_max))
            takes, other = leaves.truth(x.present), leaves.truth(y.present)
            moved = (q == p + 1) if higher > 0 else (p == q + 1)
            known = [moved, takes == other, ~other | (q <= f)]
            leaves.use(self._laws, ~(takes & (p == e)) | (f >= e + higher), known, why)
        if above is not None:
            place, floor = above
            leaves = Leaves(algebra)
            t = here.terms[place]
            p, e = leaves.word(t.exponent), leaves.word(here.e_max)
            takes = leaves.truth(t.present)
            known = [takes & (p >= floor), ~takes | (p <= e)]
            leaves.use(self._laws, ~(e == floor) | (takes & (p == e)), known, why)
        leaves = Leaves(algebra)
        goal = leaves.truth(reached)
        found = [leaves.truth(t.present & (t.exponent == here.e_max)) for t in here.terms]
        known = [~x | goal for x in found]
        some = list(found)
        if above is not None:
            low = leaves.truth(here.e_max == above[1])
            known.append(~low | found[above[0]])
            some.append(low)
        if not any(t.present.data.is_true() for t in here.terms):
            present = [leaves.truth(t.present) for t in here.terms]
            some.append(algebra.all_of([~x for x in present]))
            known += present
        leaves.use(self._laws, goal, [algebra.any_of(some), *known], why)

    # --- sums ---------------------------------------------------------------------------------------------------

    def _aligned(self, i: int, before: _Sum, after: _Sum) -> None:
        """Prove that an aligned term stays the same."""
        x, y, cut = before.terms[i], after.terms[i], before.path.cuts[i]
        leaves = Leaves(self._algebra)
        own, e, f = leaves.term(x), leaves.word(before.e_max), leaves.word(after.e_max)
        other = replace(own, exponent=leaves.word(y.exponent))
        known = [f == e + 1, other.exponent == own.exponent + 1]
        if x.opposes is not None and y.opposes is not None:
            p, q = (leaves.truth(t) for t in (x.opposes, y.opposes))
            own, other, known = replace(own, opposes=p), replace(other, opposes=q), [*known, p == q]
        same = align(self._algebra, own, e, cut) == align(self._algebra, other, f, after.path.cuts[i])
        leaves.use(self._laws, same, known, "the cut of a term depends on its distance alone")
        if not self._kernel.same(before.aligned[i].data, after.aligned[i].data):
            raise NotComposedError("an aligned term differs")

    def _converted(self, before: _Sum, after: _Sum, fmt: Format) -> None:
        """Prove that the sum is rounded to twice as much, inside the normal range."""
        algebra = self._algebra
        tops = [with_top_exponent(x.total.magnitude(), x.e_max, x.fraction_bits) for x in (before, after)]
        leaves = Leaves(algebra).parts(before.total, after.total, before.e_max, after.e_max)
        known = [before.total == after.total, after.e_max == before.e_max + 1]
        leaves.use_of(self._laws, tops[1][1] == tops[0][1] + 1, known, "the normalised sum is one exponent higher")
        for x, (top, _) in zip((before, after), tops, strict=True):
            leaves = Leaves(algebra).parts(x.total)
            leads = x.total.magnitude().is_value(0) | top.bit(top.width - 1)
            leaves.use_of(self._laws, leads, (), "a normalised sum is zero, or its highest bit is set")
        alike = [
            [x.total < 0, x.total.magnitude().is_value(0), *(t.negative for t in x.terms)] for x in (before, after)
        ]
        leaves = Leaves(algebra).parts(*tops[0], *tops[1], *alike[0], *alike[1])
        known = [tops[0][0] == tops[1][0], tops[1][1] == tops[0][1] + 1]
        known += [x[1] | top.bit(top.width - 1) for x, (top, _) in zip(alike, tops, strict=True)]
        known += [p == q for p, q in zip(*alike, strict=True)]
        d, moved = (x.converted for x in self._signals)
        claim = ~is_inside(algebra, fmt, d) | (moved == doubled(algebra, fmt, d))
        leaves.use_of(self._laws, claim, known, "a doubled sum is rounded to twice as much")

    def _results(self, fmt: Format, claim: Callable[[_Word, _Word], _Truth]) -> None:
        """Prove the claim about both results, which are the sums, converted."""
        algebra = self._algebra
        assumed = [Truth(x, algebra) for x in self._assumed]
        for x in self._signals:
            leaves = Leaves(algebra).parts(*(y.converted for y in self._signals))
            leaves.use_of(self._laws, x.d == x.converted, assumed, "normal operands give no special result")
        leaves = Leaves(algebra)
        (d, p), (e, q) = ([leaves.word(w) for w in (x.d, x.converted)] for x in self._signals)
        moved = ~is_inside(algebra, fmt, p) | (q == doubled(algebra, fmt, p))
        known = [d == p, e == q, moved, is_inside(algebra, fmt, d)]
        leaves.use(self._laws, claim(d, e), known, "the result is doubled")


def _products_in(term: FNode, algebra: TermAlgebra) -> list[_Word]:
    """Return the products of words in a term, in the order in which they were made."""
    found: dict[FNode, None] = {}
    bottom_up(term, {}, lambda node, _: found.update({node: None}) if node.is_bv_mul() else None)
    return [Word(x, x.bv_width(), False, algebra) for x in in_order(found)]
