"""A step whose operands are doubled returns twice as much, as steps.

Every number is normal before and after, so each term of a sum has the same significand and sign, and an exponent one
higher. Then

* the largest exponent is that of a term, and no exponent is above it, before and after: it is one higher. A floor, and
  a +0 that is aligned with products, stay where they are; they are not above some term, so they change nothing;
* whether a c far below the products, or below one unit, is dropped stays the same;
* a term cut below e_max is the same word, and so is the sum;
* the normalised sum has an exponent one higher, and is rounded to twice as much inside the normal range.

A sum that is a term of a later one moves as a product does. A result in between, of a rounded operation or of a sum to
which c is added later, is zero, or doubled with an exponent in a range of normal numbers. The range follows from those
of the operands. A zero takes no part in the sum of two such results, and a sum of zeros is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import normalised, with_top_exponent
from mmaproof.smt.bundles.leaves import Leaves, factors_of, prove_largest_exponent
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, conjuncts
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.linear import in_order
from mmaproof.smt.proving.walk import bottom_up
from mmaproof.smt.semantics import OperandWords, StepSignals, ieee
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Addend, Label, StepPath, datapath, is_of_products
from mmaproof.smt.semantics.fused_step import without_far_c, without_small_c
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unit import factors

_Word = Word[FNode]
_Truth = Truth[FNode]
_Sum = FusedSum[FNode, FNode]
_Term = Term[FNode, FNode]
Range = tuple[int, int]
"""Exponents from the first to below the second."""


def doubled(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Word[D]:
    """Return the pattern of twice a normal number whose double is normal too. Zero is returned as it is."""
    zero = unpack(algebra, fmt, pattern).zero
    one_up = algebra.unsigned(1 << (fmt.fraction_bits + fmt.ignored_bits), fmt.bits)
    return ite(zero, pattern, (pattern + one_up).extract(fmt.bits - 1, 0))


def stays_normal(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Truth[T]:
    """Return whether a number and its double are normal."""
    x, twice = unpack(algebra, fmt, pattern), unpack(algebra, fmt, doubled(algebra, fmt, pattern))
    below_top = x.exponent < fmt.e_max
    special = algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan, twice.infinite, twice.nan])
    return below_top & ~special


def is_inside(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Truth[T]:
    """Return whether a result is at least 2**(e_min + 1) and its double is normal.

    The value that was rounded to such a result was normal.
    """
    above = unpack(algebra, fmt, pattern).exponent > fmt.e_min
    return above & stays_normal(algebra, fmt, pattern)


def is_doubled(algebra: Algebra[D, T], fmt: Format, d: Word[D], moved: Word[D], within: Range) -> Truth[T]:
    """Return whether ``moved`` is twice ``d``, which is zero, or normal with an exponent in a range."""
    x = unpack(algebra, fmt, d)
    inside = stays_normal(algebra, fmt, d) & (x.exponent >= within[0]) & (x.exponent < within[1])
    return (moved == doubled(algebra, fmt, d)) & (x.zero | inside)


def may_move(design: Design) -> bool:
    """Return whether terms are aligned in sums, or rounded products added in a tree, and no sum is cut twice."""
    if design.guarantees(Guarantee.ADDER_TREE):
        return True
    (path,) = datapath(design.one_step(), design.step.L)
    return design.guarantees(Guarantee.ALIGNED_SUMS) and path.rounds_again is None


@dataclass(frozen=True)
class _Number:
    """An addend before and after, what is known of both, and the exponents of a result in between. c has none."""

    before: _Word
    after: _Word
    known: _Truth
    within: Range | None = None


@dataclass(frozen=True)
class _Rounded:
    """A sum ``total * 2**(e_max - fraction_bits)``, truth values that its conversion looks at, and the result."""

    total: _Word
    e_max: _Word
    fraction_bits: int
    truths: tuple[_Truth, ...]
    pattern: _Word

    @property
    def zero(self) -> _Truth:
        """Whether it is zero."""
        return self.total.magnitude().is_value(0)

    def normalised(self) -> tuple[_Word, _Word]:
        """Return its magnitude with the top bit set, and the exponent of that bit."""
        return with_top_exponent(self.total.magnitude(), self.e_max, self.fraction_bits)


_Relation = Callable[[_Word, _Word], _Truth]


class ScaledSteps:
    """Proves that a step returns twice as much for doubled operands. Raises NotComposedError.

    ``runs`` are the operands before and after with the signals of the step, and ``assumed`` the precondition of the
    question: that operands are normal, and that the first result is inside the normal range.
    """

    def __init__(
        self,
        kernel: Kernel,
        design: Design,
        runs: Sequence[tuple[OperandWords[FNode], StepSignals[FNode, FNode]]],
        assumed: FNode,
    ) -> None:
        self._algebra, self._laws, self._kernel = TermAlgebra(kernel.environment), LawsInUse(kernel), kernel
        self._design, self._fmt = design.one_step(), design.d_format
        self._operands, self._signals = tuple(zip(*runs, strict=True))
        self._assumed = list(conjuncts(assumed))
        self._path: StepPath = self._signals[0].path
        if not may_move(design):
            raise NotComposedError("a step that neither aligns terms nor adds them in a tree, or rounds a sum twice")

    def prove(self, claim: _Relation) -> None:
        """Add the steps. ``claim`` is what the question says of both results."""
        if self._design.guarantees(Guarantee.ADDER_TREE):
            self._tree()
        else:
            self._fused()
        d, e = (x.d for x in self._signals)
        leaves = Leaves(self._algebra)
        p, q = leaves.word(d), leaves.word(e)
        known = [self._inside(p, q), is_inside(self._algebra, self._fmt, p)]
        leaves.use(self._laws, claim(p, q), known, "the result is doubled")

    def _inside(self, d: _Word, moved: _Word) -> _Truth:
        """Return whether a result is doubled, or not inside the normal range."""
        return ~is_inside(self._algebra, self._fmt, d) | (moved == doubled(self._algebra, self._fmt, d))

    def _within(self, within: Range) -> _Relation:
        """Return whether a result in between is doubled. Raises NotComposedError if not all of its range is normal."""
        fmt = self._fmt
        if within[0] < fmt.e_min or within[1] > fmt.e_max:
            raise NotComposedError("results in between that may not be normal")
        return lambda d, moved: is_doubled(self._algebra, fmt, d, moved, within)

    def _fused(self) -> None:
        """Prove that a sum of aligned terms moves, and what it is rounded to; a c that is added to that as well."""
        done: list[tuple[_Sum, _Sum]] = []
        for pair in zip(*(x.sums for x in self._signals), strict=True):
            raw = [self._as_read(*x, done) for x in zip(pair[0].labels, pair[0].terms, pair[1].terms, strict=True)]
            for label, x, y in zip(pair[0].labels, *zip(*raw, strict=True), strict=True):
                self._term(label, x, y, done)
            self._largest_exponent(*pair)
            for i, (x, y) in enumerate(raw):
                if x is not pair[0].terms[i]:
                    self._dropped(x, y, pair, done)
                self._aligned(i, *pair)
            if not self._kernel.same(*(x.total.data for x in pair)):
                raise NotComposedError("the aligned terms are the same, and their sums differ")
            done.append(pair)
        before, after = done[-1]
        moved, late = after.e_max == before.e_max + 1, self._path.added_last is not None
        relation: _Relation = self._inside
        within: Range | None = None
        if late:
            moved, of_e_max = self._range_of_e_max(before, moved)
            within = self._range_of_result(of_e_max, before.fraction_bits, before.total.width)
            relation = self._within(within)
        rounded = [
            _Rounded(x.total, x.e_max, x.fraction_bits, tuple(t.negative for t in x.terms), y.converted)
            for x, y in zip(done[-1], self._signals, strict=True)
        ]
        self._converted(rounded[0], rounded[1], moved, relation, within)
        results = [x.rounded[-1][1] if late else x.d for x in self._signals]
        assumed = [Truth(x, self._algebra) for x in self._assumed]
        for d, x in zip(results, self._signals, strict=True):
            leaves = Leaves(self._algebra).parts(*(y.converted for y in self._signals))
            leaves.use_of(self._laws, d == x.converted, assumed, "normal operands give no special result")
        if late:
            self._late(_Number(results[0], results[1], relation(results[0], results[1]), within))

    def _assuming(self, claim: _Truth, why: str, same: Sequence[tuple[_Word, _Word]] = ()) -> None:
        """Prove a claim about operands from all that is assumed of them alone, and that pairs of words are the same."""
        symbols = self._kernel.environment.fvo.get_free_variables
        own = symbols(claim.data)
        known = [Truth(x, self._algebra) for x in self._assumed if symbols(x) <= own]
        leaves = Leaves(self._algebra).parts(*(w for pair in same for w in pair))
        leaves.use_of(self._laws, claim, [*known, *(p == q for p, q in same)], why)

    # --- terms --------------------------------------------------------------------------------------------------

    def _as_read(self, label: Label, x: _Term, y: _Term, done: Sequence[tuple[_Sum, _Sum]]) -> tuple[_Term, _Term]:
        """Return a c that may be dropped as it is before that; other terms as they are."""
        if label is not Addend.C or not self._path.drops_c or len(done) + 1 < len(self._path.sums):
            return x, y
        found = [t.significand.data for t in (x, y)]
        if not all(t.is_ite() for t in found):
            raise NotComposedError("a c that is dropped in another way")
        words = [Word(t.arg(2), z.significand.width, False, self._algebra) for t, z in zip(found, (x, y), strict=True)]
        return replace(x, significand=words[0]), replace(y, significand=words[1])

    def _term(self, label: Label, x: _Term, y: _Term, done: Sequence[tuple[_Sum, _Sum]]) -> None:
        """Prove that a term is the same, and its exponent one higher. A +0 in the place of c stays where it is."""
        value = self._fixed_value(x)
        if value is not None:
            for term in (x, y):
                self._assuming(term.significand.is_value(0) & (term.exponent == value), "a +0 in the place of c")
            return
        if not (is_of_products(label) or label is Addend.C):
            self._sum_as_term(x, y, done)
            return
        pairs = self._same_factors(x.significand, y.significand)
        for t, u in ((x.negative, y.negative), (x.present, y.present)):
            if not self._kernel.same(t.data, u.data):
                self._assuming(t == u, "a doubled number has the same sign")
        self._assuming(y.exponent == x.exponent + 1, "the exponent of a doubled number is one higher", pairs)

    def _same_factors(self, x: _Word, y: _Word) -> list[tuple[_Word, _Word]]:
        """Prove that two significands are the same, by their factors. Return the products in them."""
        products = [_products_in(t.data, self._algebra) for t in (x, y)]
        pairs = list(zip(*products, strict=True)) or [(x, y)]
        for p, q in pairs:
            for factor, other in zip(*(factors_of(self._algebra, w) for w in (p, q)), strict=True):
                if not self._kernel.same(factor.data, other.data):
                    self._assuming(factor == other, "a doubled number has the same significand")
        if not self._kernel.same(x.data, y.data):
            raise NotComposedError("a term has another significand")
        return pairs

    def _sum_as_term(self, x: _Term, y: _Term, done: Sequence[tuple[_Sum, _Sum]]) -> None:
        """Prove the same of a sum that is a term of another one."""
        same = self._kernel.same
        parts = ((x.significand, y.significand), (x.negative, y.negative), (x.present, y.present))
        if not all(same(p.data, q.data) for p, q in parts):
            raise NotComposedError("a sum that is a term of another one differs")
        leaves, known = Leaves(self._algebra), []
        for before, after in done:
            leaves.parts(before.e_max, after.e_max, before.total, after.total)
            known += [after.e_max == before.e_max + 1, before.total == after.total]
        leaves.use_of(self._laws, y.exponent == x.exponent + 1, known, "a sum moves with its exponent")

    def _dropped(self, x: _Term, y: _Term, pair: tuple[_Sum, _Sum], done: Sequence[tuple[_Sum, _Sum]]) -> None:
        """Prove that the same c is dropped, from the numbers that its exponent is compared with."""
        algebra, path, (before, after) = self._algebra, self._path, pair
        place = before.labels.index(Addend.C)
        leaves = Leaves(algebra)
        own, other = leaves.term(x), leaves.term(y)
        other = replace(other, significand=own.significand)
        known = [other.exponent == own.exponent + 1, other.present == own.present]
        kept = [own, other]
        if path.far_c_dropped is not None:
            products = [leaves.term(s.as_term()) for s in done[-1]]
            known += [products[1].exponent == products[0].exponent + 1, products[0].present == products[1].present]
            kept = [without_far_c(path.far_c_dropped, p, t) for p, t in zip(products, kept, strict=True)]
        if path.small_c_dropped is not None:
            bits, least = before.path.cuts[place].fraction_bits, path.small_c_dropped
            lowest = least - (self._design.c_format.fraction_bits - x.fraction_bits)
            self._assuming(self._is_normal(x, lowest), "a normal c has its top bit set")
            e, f = leaves.word(before.e_max), leaves.word(after.e_max)
            known += [f == e + 1, self._is_normal(own, lowest), ~own.present | (own.exponent <= e)]
            kept = [without_small_c(algebra, t, top, bits, least) for t, top in zip(kept, (e, f), strict=True)]
        same = kept[0].significand == kept[1].significand
        leaves.use(self._laws, same, known, "whether c is dropped depends on its distance alone")
        if not self._kernel.same(*(s.terms[place].significand.data for s in pair)):
            raise NotComposedError("a c is dropped in one run only")

    def _is_normal(self, term: _Term, least: int) -> _Truth:
        return term.present & (term.exponent >= least) & term.significand.bit(term.significand.width - 1)

    # --- exponents ----------------------------------------------------------------------------------------------

    def _largest_exponent(self, before: _Sum, after: _Sum) -> None:
        """Prove that the largest exponent is one higher: it is that of a term that moves, before and after."""
        algebra = self._algebra
        place = next((i for i, x in enumerate(before.labels) if x is Addend.C), 0)
        if self._fixed_value(before.terms[place]) is not None:
            place = 0
        for total in (before, after):
            prove_largest_exponent(self._laws, algebra, total)
            self._is_reached(total, place)
        for here, there, higher in ((before, after, 1), (after, before, -1)):
            self._not_above(here, there, higher)
        leaves = Leaves(algebra)
        e, f = (leaves.word(x.e_max) for x in (before, after))
        known = [f >= e + 1, e >= f + (-1)]
        leaves.use(self._laws, f == e + 1, known, "the largest exponent is one higher")

    def _fixed_value(self, t: _Term) -> int | None:
        """Return the exponent of a term that does not depend on operands, None of others."""
        environment = self._kernel.environment
        if environment.fvo.get_free_variables(t.exponent.data):
            return None
        return int(environment.simplifier.simplify(t.exponent.data).bv_signed_value())

    def _moving(self, total: _Sum) -> list[_Term]:
        return [t for t in total.terms if self._fixed_value(t) is None]

    def _is_reached(self, total: _Sum, place: int) -> None:
        """Prove that e_max is the exponent of a term that moves. What stays is not above the term at a place."""
        algebra, floor = self._algebra, total.path.floor
        term, why = total.terms[place], "the largest exponent is that of a term"
        values = [self._fixed_value(t) for t in total.terms]
        fixed = [x for x in (floor, *values) if x is not None]
        if not term.present.data.is_true():
            self._assuming(term.present, "a term takes part")
        for value in fixed:
            self._assuming(term.exponent >= value, "what does not move is not above a term")
        leaves = Leaves(algebra)
        own = [leaves.term(t) for t in total.terms]
        top = largest_exponent(algebra, own, floor, total.path.comparator)
        some = algebra.any_of([t.present & (t.exponent == top) for t, x in zip(own, values, strict=True) if x is None])
        known = [own[place].present, *(own[place].exponent >= x for x in fixed)]
        known += [t.exponent == x for t, x in zip(own, values, strict=True) if x is not None]
        leaves.use(self._laws, some, known, why)

    def _not_above(self, here: _Sum, there: _Sum, higher: int) -> None:
        """Prove that the largest exponent there is at least that here, and ``higher``."""
        algebra = self._algebra
        why = "the largest exponent moves with that of its term"
        reached = there.e_max >= here.e_max + higher
        terms = self._moving(here)
        for x, y in zip(terms, self._moving(there), strict=True):
            leaves = Leaves(algebra)
            p, q, e, f = (leaves.word(w) for w in (x.exponent, y.exponent, here.e_max, there.e_max))
            takes, other = leaves.truth(x.present), leaves.truth(y.present)
            moved = (q == p + 1) if higher > 0 else (p == q + 1)
            known = [moved, takes == other, ~other | (q <= f)]
            leaves.use(self._laws, ~(takes & (p == e)) | (f >= e + higher), known, why)
        leaves = Leaves(algebra)
        goal = leaves.truth(reached)
        found = [leaves.truth(t.present & (t.exponent == here.e_max)) for t in terms]
        leaves.use(self._laws, goal, [algebra.any_of(found), *(~x | goal for x in found)], why)

    def _range_of_e_max(self, total: _Sum, moved: _Truth) -> tuple[_Truth, Range]:
        """Prove that e_max lies in the range of exponents of products. Return that and ``moved``, and the range."""
        a, b, excess = self._design.a_format, self._design.b_format, self._design.step.product_excess or 0
        low, high = a.e_min + b.e_min, a.e_max + b.e_max + excess + 1
        terms, why = self._moving(total), "e_max lies in the range of exponents of products"
        found = [t.present & (t.exponent == total.e_max) for t in terms]
        inside = (total.e_max >= low) & (total.e_max < high)
        for t, x in zip(terms, found, strict=True):
            own = (t.exponent >= low) & (t.exponent < high)
            self._assuming(own, "the exponent of a product of normal elements lies in a range")
            leaves = Leaves(self._algebra).parts(t.exponent, total.e_max, t.present)
            leaves.use_of(self._laws, ~x | inside, [own], why)
        leaves = Leaves(self._algebra)
        goal, either = leaves.truth(inside), [leaves.truth(x) for x in found]
        leaves.use(self._laws, goal, [self._algebra.any_of(either), *(~x | goal for x in either)], why)
        return moved & inside, (low, high)

    # --- sums ---------------------------------------------------------------------------------------------------

    def _aligned(self, i: int, before: _Sum, after: _Sum) -> None:
        """Prove that an aligned term stays the same."""
        x, y, cut = before.terms[i], after.terms[i], before.path.cuts[i]
        leaves = Leaves(self._algebra)
        own, e, f = leaves.term(x), leaves.word(before.e_max), leaves.word(after.e_max)
        other = replace(own, exponent=leaves.word(y.exponent))
        fixed = self._fixed_value(x) is not None
        known = [f == e + 1, own.significand.is_value(0) if fixed else other.exponent == own.exponent + 1]
        if x.opposes is not None and y.opposes is not None:
            p, q = (leaves.truth(t) for t in (x.opposes, y.opposes))
            own, other, known = replace(own, opposes=p), replace(other, opposes=q), [*known, p == q]
        same = align(self._algebra, own, e, cut) == align(self._algebra, other, f, after.path.cuts[i])
        leaves.use(self._laws, same, known, "the cut of a term depends on its distance alone")
        if not self._kernel.same(before.aligned[i].data, after.aligned[i].data):
            raise NotComposedError("an aligned term differs")

    def _range_of_result(self, of_e_max: Range, fraction_bits: int, width: int) -> Range:
        """Return the exponents that the result of a sum may have, where e_max is in a range."""
        return of_e_max[0] - fraction_bits, of_e_max[1] - fraction_bits + width

    def _converted(
        self, before: _Rounded, after: _Rounded, moved: _Truth, relation: _Relation, within: Range | None
    ) -> None:
        """Prove that two results are related, where sums are the same, and ``moved`` is known of their exponents."""
        algebra = self._algebra
        tops = [x.normalised() for x in (before, after)]
        higher = tops[1][1] == tops[0][1] + 1
        if within is not None:
            higher = algebra.all_of([higher, tops[0][1] >= within[0], tops[0][1] < within[1] - 1])
        leaves = Leaves(algebra).parts(before.total, after.total, before.e_max, after.e_max)
        known = [before.total == after.total, moved]
        leaves.use_of(self._laws, before.zero | higher, known, "the normalised sum is one exponent higher")
        for x, (top, _) in zip((before, after), tops, strict=True):
            leaves = Leaves(algebra).parts(x.total)
            leaves.use_of(
                self._laws, x.zero | top.bit(top.width - 1), (), "a normalised sum is zero, or its highest bit is set"
            )
        alike = [[x.total < 0, x.zero, *x.truths] for x in (before, after)]
        leaves = Leaves(algebra).parts(*tops[0], *tops[1], *alike[0], *alike[1])
        known = [tops[0][0] == tops[1][0], before.zero | higher]
        known += [x[1] | top.bit(top.width - 1) for x, (top, _) in zip(alike, tops, strict=True)]
        known += [p == q for p, q in zip(*alike, strict=True)]
        claim = relation(before.pattern, after.pattern)
        leaves.use_of(self._laws, claim, known, "a doubled sum is rounded to twice as much")

    # --- results in between -------------------------------------------------------------------------------------

    def _tree(self) -> None:
        """Prove that each product of a tree is doubled, and each sum of two neighbours, and their sum with c."""
        rounded = [list(x.rounded) for x in self._signals]
        rules = Rules.of_operation(self._design.step)
        level = []
        for k, ((_, p), (_, q)) in enumerate(zip(*rounded, strict=True)):
            if k == len(self._path.ks):
                break
            level.append(self._product(k, p, q, rules))
        sums = zip(*(x[len(level) :] for x in rounded), strict=True)
        while len(level) > 1:
            pairs = zip(level[0::2], level[1::2], strict=True)
            level = [
                self._sum_of_two(x, y, rules, (p, q)) for (x, y), ((_, p), (_, q)) in zip(pairs, sums, strict=False)
            ]
        self._with_c(level[0], rules)

    def _late(self, total: _Number) -> None:
        self._with_c(total, Rules.of_late_addition(self._design))

    def _with_c(self, total: _Number, rules: Rules) -> None:
        """Prove that the sum of c and a result in between is doubled, inside the normal range."""
        fmt, (before, after) = self._design.c_format, (x.c for x in self._operands)
        c = _Number(before, after, stays_normal(self._algebra, fmt, before))
        self._sum_of_two(c, total, rules, tuple(x.d for x in self._signals))

    def _product(self, k: int, p: _Word, q: _Word, rules: Rules) -> _Number:
        """Prove that a rounded product is doubled."""
        algebra = self._algebra
        x, y = (factors(self._design, algebra, operands, k) for operands in self._operands)
        pairs = self._same_factors(*(f.a.significand * f.b.significand for f in (x, y)))
        found = []
        for f, z in ((x, p), (y, q)):
            significand, exponent = normalised(f.a.significand * f.b.significand, f.a.exponent + f.b.exponent)
            negative = f.a.negative ^ f.b.negative
            pattern, _ = ieee.finite_product(algebra, rules, f)
            bits = f.a.fraction_bits + f.b.fraction_bits
            found.append(_Rounded(significand.negated_where(negative), exponent, bits, (negative,), pattern))
            leaves = Leaves(algebra).parts(pattern)
            assumed = [Truth(t, algebra) for t in self._assumed]
            leaves.use_of(self._laws, z == pattern, assumed, "normal elements give no special product")
        before, after = found
        if not self._kernel.same(before.truths[0].data, after.truths[0].data):
            self._assuming(before.truths[0] == after.truths[0], "a doubled number has the same sign")
        a, b, width = self._design.a_format, self._design.b_format, pairs[0][0].width
        within = (a.e_min + b.e_min - width, a.e_max + b.e_max + 2)  # of b it is not known by itself that it is finite
        moved = before.zero | algebra.all_of(
            [after.e_max == before.e_max + 1, before.e_max >= within[0], before.e_max < within[1]]
        )
        self._assuming(moved, "the exponent of a doubled product is one higher", pairs)
        of_result = self._range_of_result(within, before.fraction_bits, before.total.width)
        relation = self._within(of_result)
        self._converted(before, after, moved, relation, of_result)
        return _Number(p, q, relation(p, q), of_result)

    def _leaves_of(self, *numbers: _Number) -> Leaves:
        """Return leaves with words in the place of results in between. A c is an operand."""
        return Leaves(self._algebra).parts(*(w for x in numbers if x.within for w in (x.before, x.after)))

    def _sum_of_two(self, x: _Number, y: _Number, rules: Rules, d: Sequence[_Word]) -> _Number:
        """Prove that the rounded sum of two numbers is doubled: inside the normal range, if one of them is c."""
        algebra, fmt = self._algebra, self._fmt
        sums, found = [], []
        for p, q, z in ((x.before, y.before, d[0]), (x.after, y.after, d[1])):
            addends = self._read(x, p), self._read(y, q)
            total = ieee.aligned_sum(algebra, fmt, *addends)
            signs = tuple(t.negative for t in total.terms)
            zero = rules.sign_of_zero(algebra, signs)
            pattern, _ = convert(algebra, rules, total.total, total.e_max, total.fraction_bits, zero)
            leaves = self._leaves_of(x, y)
            leaves.parts(pattern).use_of(self._laws, z == pattern, [x.known, y.known], "numbers give no special sum")
            sums.append(total)
            found.append(_Rounded(total.total, total.e_max, total.fraction_bits, signs, pattern))
        within = None
        if x.within is not None and y.within is not None:
            within = min(x.within[0], y.within[0]), max(x.within[1], y.within[1])
        for i, number in enumerate((x, y)):
            self._addend(i, sums[0], sums[1], number)
        moved = self._moved_addends(sums[0], sums[1], within)
        relation: _Relation = self._inside
        of_result: Range | None = None
        if within is not None:
            of_result = self._range_of_result(within, sums[0].fraction_bits, sums[0].total.width)
            relation = self._within(of_result)
        self._converted(found[0], found[1], moved, relation, of_result)
        return _Number(d[0], d[1], relation(d[0], d[1]), of_result)

    def _read(self, of: _Number, word: _Word) -> Unpacked[FNode, FNode]:
        if of.within is not None:
            return unpack(self._algebra, self._fmt, word)
        return ieee.read_accumulator(self._algebra, self._design.step, self._design.c_format, word)

    def _addend(self, i: int, before: _Sum, after: _Sum, number: _Number) -> None:
        """Prove that an addend is the same, and its exponent one higher unless it is zero."""
        t, u, why = before.terms[i], after.terms[i], "a doubled number is the same addend, with an exponent one higher"
        claims = [t.significand == u.significand, t.negative == u.negative, t.present == u.present]
        claims += self._of_addend(t, u, number.within)
        for claim in claims:
            self._leaves_of(number).use_of(self._laws, claim, [number.known], why)

    def _of_addend(self, t: _Term, u: _Term, within: Range | None) -> list[_Truth]:
        """Return that an addend is zero and not present, or that its exponent moves, and lies in a range."""
        found = [t.present | t.significand.is_value(0), ~t.present | (u.exponent == t.exponent + 1)]
        if within is not None:
            found.append(~t.present | ((t.exponent >= within[0]) & (t.exponent < within[1])))
        return found

    def _moved_addends(self, before: _Sum, after: _Sum, within: Range | None) -> _Truth:
        """Prove that the sum is the same, and that e_max is one higher unless the sum is zero. Return the latter."""
        algebra = self._algebra

        def moves(e: _Word, f: _Word) -> _Truth:
            inside = [] if within is None else [e >= within[0], e < within[1]]
            return algebra.all_of([f == e + 1, *inside])

        leaves, why = Leaves(algebra), "the largest exponent moves with that of its term"
        own = [leaves.term(t) for t in before.terms]
        other = [replace(leaves.term(u), significand=t.significand) for t, u in zip(own, after.terms, strict=True)]
        known = [t.present == u.present for t, u in zip(own, other, strict=True)]
        known += [x for t, u in zip(own, other, strict=True) for x in self._of_addend(t, u, within)[1:]]
        e, f = (largest_exponent(algebra, x, None, before.path.comparator) for x in (own, other))
        for t in own:
            leaves.use(self._laws, ~t.present | moves(e, f), known, why)
        for i, (x, y) in enumerate(zip(before.terms, after.terms, strict=True)):
            leaves, cut = Leaves(algebra), before.path.cuts[i]
            t, e, f = leaves.term(x), leaves.word(before.e_max), leaves.word(after.e_max)
            u = replace(t, exponent=leaves.word(y.exponent))
            known = [t.present | t.significand.is_value(0)]
            known += [~t.present | (u.exponent == t.exponent + 1), ~t.present | moves(e, f)]
            first, second = align(algebra, t, e, cut), align(algebra, u, f, after.path.cuts[i])
            leaves.use(self._laws, first == second, known, "the cut of a term depends on its distance alone")
            leaves.use(self._laws, first.is_value(0) | moves(e, f), known, "a zero adds nothing")
        higher = moves(before.e_max, after.e_max)
        moved = before.total.magnitude().is_value(0) | higher
        leaves = Leaves(algebra).parts(*before.aligned, higher)
        known = [x.is_value(0) | higher for x in before.aligned]
        leaves.use_of(self._laws, moved, known, "a sum of zeros is zero")
        if not self._kernel.same(before.total.data, after.total.data):
            raise NotComposedError("the addends are the same, and their sums differ")
        return moved


def _products_in(term: FNode, algebra: TermAlgebra) -> list[_Word]:
    """Return the products of words in a term, in the order in which they were made."""
    found: dict[FNode, None] = {}
    bottom_up(term, {}, lambda node, _: found.update({node: None}) if node.is_bv_mul() else None)
    return [Word(x, x.bv_width(), False, algebra) for x in in_order(found)]
