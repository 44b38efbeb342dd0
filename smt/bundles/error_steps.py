"""The bound of the error of one step as the steps of a bundle.

All words are multiples of ``2**(e - K)`` as in ``StepError``, and one unit of the register is ``2**low`` of them. With
S the register and Q the exact sum:

* e is e_max, or e_max lies below the smallest exponent of d, and all terms are zero then: the aligned terms and the
  result are those at e;
* Q is less than N units away from S as there are terms (``ExactSumSteps``);
* d is S, or it differs from S by at most one ulp, and both are whole units then. Each place of the last bit of d is
  a case;
* the claim follows from the last two, whatever the words are.

How far the exact sum of a step lies from its register, as steps of a bundle.

Words are multiples of ``2**(e - K)`` as in ``StepError``, and one unit of the register is ``2**low`` of them. With S_j
and Q_j the sums of the first j aligned and exact terms:

* a cut magnitude has the whole units of the exact one, or one more, and there is a rest then. So the whole units of an
  exact term are the aligned term, or one less, and there is a rest then;
* the whole units of Q_j are those of Q_(j-1) and of term j, and one more where there is a carry from the rests;
* so they are S_j + n with ``-j <= n < j``, and there is a rest where n is -j. The words n have few bits, and words are
  regrouped by laws, so that no lemma is about two wide sums at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import (
    Leaves,
    at_most,
    prove_bounds,
    prove_largest_exponent,
    prove_no_special,
    prove_total,
    prove_where_not_zero,
    whole_and_rest,
    with_sign,
    within,
)
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.walk import substituted
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.step_error import Returned, StepError

_Word = Word[FNode]
_Truth = Truth[FNode]
_HOLDS = "the register holds the exact sum, cut"


@dataclass(frozen=True)
class Apart:
    """The exact sum of some terms, and how many whole units more it has than their register: a word of few bits."""

    exact: Word[FNode]
    units: Word[FNode]


class ExactSumSteps:
    """Proves how far an exact sum lies from the register of a fused sum. Raises NotComposedError.

    Known to hold is that no exponent is above e_max.
    """

    def __init__(self, algebra: TermAlgebra, laws: LawsInUse, total: FusedSum[FNode, FNode], sides: StepError) -> None:
        self._algebra, self._laws, self._sum, self._sides, self._e = algebra, laws, total, sides, total.e_max
        self._low = sides.places - total.fraction_bits
        self._exact = [sides.exact(algebra, t, self._e) for t in total.terms]
        self._wide = sides.total_width(self._exact)
        self._width = self._wide - self._low
        self._small = sides.units.bit_length() + 2

    def prove(self) -> Apart:
        """Add the steps. Return what they are about."""
        bounds = prove_bounds(self._laws, self._algebra, self._sum)
        for i, exact in enumerate(self._exact):
            self._cut(i, exact)
        return Apart(*self._added(self._exact, bounds))

    def facts(self, register: Word[FNode], apart: Apart) -> tuple[Truth[FNode], ...]:
        """Return what is proved of a register and of words in the place of the others."""
        units, _ = self._parts(apart.exact)
        terms = len(self._exact)
        return units == self._sum_of(register, apart.units), self._is_apart(terms, apart.units, apart.exact)

    def _cut(self, i: int, exact: _Word) -> None:
        """Prove what an aligned term is of its exact one."""
        algebra, total, leaves = self._algebra, self._sum, Leaves(self._algebra)
        term, cut, why = total.terms[i], total.path.cuts[i], "an aligned term is an exact one, cut"
        own, e = leaves.term(term), leaves.word(self._e)
        known = [~own.present | (own.exponent <= e), at_most(own.significand, own.largest)]
        positive = replace(own, negative=algebra.truth(False))
        kept, all_bits = align(algebra, positive, e, cut), self._sides.exact(algebra, positive, e)
        for x, magnitude in ((align(algebra, own, e, cut), kept), (self._sides.exact(algebra, own, e), all_bits)):
            leaves.use(self._laws, x == with_sign(own.negative, magnitude), (), "a term is a magnitude with a sign")
        for claim in (self._is_near(kept, all_bits), kept >= 0):
            leaves.use(self._laws, claim, known, why)
        positive = replace(term, negative=algebra.truth(False))
        kept, all_bits = align(algebra, positive, self._e, cut), self._sides.exact(algebra, positive, self._e)
        leaves = Leaves(algebra)
        negative, m, n = leaves.truth(term.negative), leaves.word(kept), leaves.word(all_bits)
        x, y = leaves.word(total.aligned[i]), leaves.word(exact)
        same = [m >= 0, x == with_sign(negative, m), y == with_sign(negative, n), self._is_near(m, n)]
        for claim in self._cut_facts(x, y):
            leaves.use(self._laws, claim, same, why)

    def _is_near(self, kept: _Word, magnitude: _Word) -> _Truth:
        """Return whether a cut magnitude has the whole units of another one, or one more where there is a rest."""
        whole, rest = self._parts(magnitude)
        return (whole == kept) | (rest & (whole + 1 == kept))

    def _less(self, aligned: _Word, exact: _Word) -> _Word:
        """Return what the whole units of an exact term are, less the aligned term: zero or minus one."""
        algebra = self._algebra
        high, _ = self._parts(exact)
        return ite(high == aligned, algebra.signed(0, self._small), algebra.signed(-1, self._small))

    def _cut_facts(self, aligned: _Word, exact: _Word) -> tuple[_Truth, ...]:
        """Return that an exact term is as many units as the aligned one, or one less, and a rest then."""
        exact = self._algebra.extend(exact, self._wide)
        (high, rest), less = self._parts(exact), self._less(aligned, exact)
        either = less.is_value(0) | less.is_value(-1)
        return high == self._sum_of(aligned, less), less.is_value(0) | rest, either

    def _carry(self, x: _Word, y: _Word) -> _Word:
        """Return what the whole units of a sum are, less those of its words: zero or one."""
        algebra = self._algebra
        (p, _), (q, _), (h, _) = map(self._parts, (x, y, algebra.modular_sum([x, y], self._wide)))
        return ite(h == self._sum_of(p, q), algebra.signed(0, self._small), algebra.signed(1, self._small))

    def _parts(self, x: _Word) -> tuple[_Word, _Truth]:
        """Return the whole units of a word, rounded down, and whether there is a rest."""
        return whole_and_rest(x, self._low)

    def _sum_of(self, *words: _Word) -> _Word:
        return self._algebra.modular_sum(words, self._width)

    def _added(self, exact: Sequence[_Word], bounds: Sequence[int]) -> tuple[_Word, _Word]:
        """Prove how the exact sum lies about the register. Return it, and its whole units less the register."""
        algebra, total, laws = self._algebra, self._sum.total, self._laws.sums(self._width)
        aligned = self._sum.aligned
        register, sums, most = aligned[0].extend(total.width), exact[0].extend(self._wide), bounds[0]
        held, apart = aligned[0].extend(self._width), self._less(aligned[0], sums)
        leaves = Leaves(algebra)
        x = leaves.word(aligned[0])
        first = x.extend(total.width)
        leaves.use(self._laws, within(first, most), [within(x, most)], _HOLDS)
        leaves.use(self._laws, first.extend(self._width) == x.extend(self._width), (), _HOLDS)
        self._first(aligned[0], sums)
        for i, (x, y, bound) in enumerate(zip(aligned[1:], exact[1:], bounds[1:], strict=True), 1):
            wide = y.extend(self._wide)
            less, carry = self._less(x, wide), self._carry(sums, wide)
            after = algebra.modular_sum([sums, y], self._wide)
            self._carried(sums, wide)
            now = algebra.modular_sum([apart, less, carry], self._small)
            self._apart(i, (apart, sums), (less, wide), (carry, after))
            words = [w.extend(self._width).data for w in (held, apart, x, less, carry)]
            laws.regroup(words[:2], words[2:4])
            laws.exchange(words, 1)
            laws.regroup(words[:2], words[2:])
            self._register(register, held, x, (most, bound))
            most += bound
            register, sums, apart = algebra.modular_sum([register, x], total.width), after, now
            held = self._sum_of(held, x)
        prove_total(self._laws, algebra, register, self._sum)
        return sums, apart

    def _first(self, aligned: _Word, exact: _Word) -> None:
        """Prove how the first exact term lies about the first aligned one."""
        leaves = Leaves(self._algebra)
        a, z = leaves.word(aligned), leaves.word(exact)
        leaves.use(self._laws, self._is_apart(1, self._less(a, z), z), self._cut_facts(a, z)[1:], _HOLDS)

    def _is_apart(self, terms: int, apart: _Word, exact: _Word) -> _Truth:
        """Return whether an exact sum of N terms is less than N units away, by what it is apart."""
        _, rest = self._parts(exact)
        return _is_less(terms, apart, rest)

    def _carried(self, x: _Word, y: _Word) -> None:
        """Prove that the units of a sum are those of its words, and one more where there is a carry."""
        leaves = Leaves(self._algebra)
        p, q = leaves.word(x), leaves.word(y)
        (h, rest), (of_p, rest_p), (of_q, rest_q) = map(
            self._parts, (self._algebra.modular_sum([p, q], self._wide), p, q)
        )
        carry, why = self._carry(p, q), "a sum has the units of its words, and a carry"
        leaves.use(self._laws, h == self._sum_of(of_p, of_q, carry), (), why)
        leaves.use(self._laws, ~carry.is_value(0) | rest | ~(rest_p | rest_q), (), why)
        leaves.use(self._laws, carry.is_value(0) | carry.is_value(1), (), why)

    def _apart(self, terms: int, *parts: tuple[_Word, _Word]) -> None:
        """Prove by how many units the exact sum and the register are apart after one more term."""
        leaves = Leaves(self._algebra)
        apart, less, carry = (leaves.word(x) for x, _ in parts)
        rest, of_term, after = (leaves.truth(self._parts(x)[1]) for _, x in parts)
        known = [
            _is_less(terms, apart, rest),
            less.is_value(0) | less.is_value(-1),
            less.is_value(0) | of_term,
            carry.is_value(0) | carry.is_value(1),
            ~carry.is_value(0) | after | ~(rest | of_term),
        ]
        now = self._algebra.modular_sum([apart, less, carry], self._small)
        leaves.use(self._laws, _is_less(terms + 1, now, after), known, _HOLDS)
        leaves.use(self._laws, now.extend(self._width) == self._sum_of(apart, less, carry), known[:4], _HOLDS)

    def _register(self, register: _Word, held: _Word, aligned: _Word, bounds: tuple[int, int]) -> None:
        """Prove that the register holds the sum with one more term."""
        leaves = Leaves(self._algebra)
        t, p, a = (leaves.word(x) for x in (register, held, aligned))
        now = self._algebra.modular_sum([t, a], register.width)
        known = [within(t, bounds[0]), within(a, bounds[1])]
        leaves.use(self._laws, within(now, sum(bounds)), known, _HOLDS)
        same = now.extend(self._width) == self._sum_of(p, a)
        leaves.use(self._laws, same, [t.extend(self._width) == p, *known], _HOLDS)


def _is_less(units: int, apart: _Word, rest: _Truth) -> _Truth:
    return (apart >= -units) & (apart < units) & (~apart.is_value(-units) | rest)


_AN_ULP = "d is at most one ulp from the register"


class ErrorSteps:
    """Proves that the error of one step is within its bound. Raises NotComposedError."""

    def __init__(
        self,
        kernel: Kernel,
        signals: StepSignals[FNode, FNode],
        sides: StepError,
        assumed: FNode | None,
    ) -> None:
        self._algebra = TermAlgebra(kernel.environment)
        self._laws = LawsInUse(kernel)
        self._signals, self._sides, self._assumed = signals, sides, assumed
        (self._sum,) = signals.sums
        fmt = sides.rho.target
        self._highest = sides.places + fmt.e_min - fmt.fraction_bits - 1
        self._low = sides.places - self._sum.fraction_bits
        self._e = sides.exponent(self._algebra, signals.e_max)
        if self._e.width != signals.e_max.width:
            raise NotComposedError("an e_max of fewer bits than the exponents of d have")

    def prove(self) -> None:
        """Add the steps."""
        algebra, total, sides = self._algebra, self._sum, self._sides
        if any(cut.inverts or cut.rounds_down or cut.fraction_bits != total.fraction_bits for cut in total.path.cuts):
            raise NotComposedError("an error of terms whose magnitudes are not cut in one place")
        if self._low < 1:
            raise NotComposedError("an error of terms of which nothing is lost")
        self._exponents()
        prove_total(self._laws, algebra, self._added_up(algebra, total.aligned), total)
        self._aligned_at_e()
        terms = zip(total.terms, total.path.cuts, strict=True)
        self._sum = replace(total, e_max=self._e, aligned=tuple(align(algebra, t, self._e, cut) for t, cut in terms))
        sums = ExactSumSteps(algebra, self._laws, self._sum, sides)
        apart = sums.prove()
        d = unpack(algebra, sides.rho.target, self._signals.d)
        returned = sides.returned(algebra, d, self._e)
        prove_no_special(self._laws, algebra, self._signals, self._assumed)
        self._converted()
        self._within(sums, apart, returned)

    # --- the exponents ------------------------------------------------------------------------------------------

    def _exponents(self) -> None:
        """Prove that e lies within limits, and that no exponent is above it."""
        algebra, terms, least = self._algebra, self._sum.terms, self._sides.rho.target.e_min
        prove_largest_exponent(self._laws, algebra, self._sum)
        for term in terms:
            claim = ~term.present | (term.exponent <= self._highest)
            self._laws.claim(claim.data, (), {}, "an exponent is not above the largest one")
        leaves = Leaves(algebra)
        own = [leaves.term(t) for t in terms]
        top = largest_exponent(algebra, own, self._sum.path.floor, self._sum.path.comparator)
        known = [~t.present | (t.exponent <= self._highest) for t in own]
        leaves.use(self._laws, top <= self._highest, known, "e_max is not above the largest exponent")
        leaves = Leaves(algebra)
        top = leaves.word(self._sum.e_max)
        e, known = self._sides.exponent(algebra, top), [top <= self._highest]
        for claim in (e <= self._highest, e >= least, self._sides.exponent(algebra, e) == e):
            leaves.use(self._laws, claim, known, "e lies within the exponents of d and of terms")
        for term in terms:
            leaves = Leaves(algebra)
            x, top = leaves.term(term), leaves.word(self._sum.e_max)
            claim = ~x.present | (x.exponent <= self._sides.exponent(algebra, top))
            leaves.use(self._laws, claim, [~x.present | (x.exponent <= top)], "no exponent is above e")

    def _aligned_at_e(self) -> None:
        """Prove that the aligned terms, and what their sum is converted to, are those at e."""
        algebra, total, least = self._algebra, self._sum, self._sides.rho.target.e_min
        why = "a term below the smallest exponent of d is zero"
        for term, cut in zip(total.terms, total.path.cuts, strict=True):
            claim = term.present & (term.exponent >= least)
            prove_where_not_zero(self._laws, algebra, term.significand, claim, why)
            leaves = Leaves(algebra)
            own, top = leaves.term(term), leaves.word(total.e_max)
            known = [algebra.any_of([own.present & (own.exponent >= least), own.significand.is_value(0)])]
            known.append(~own.present | (own.exponent <= top))
            aligned, e = align(algebra, own, top, cut), self._sides.exponent(algebra, top)
            leaves.use(self._laws, ~(top < least) | aligned.is_value(0), known, why)
            leaves.use(self._laws, aligned == align(algebra, own, e, cut), known, "a term is aligned at e")
            exact = self._sides.exact(algebra, own, e)
            leaves.use(self._laws, ~(top < least) | exact.is_value(0), known, why)
        exact_terms = [self._sides.exact(algebra, t, self._e) for t in total.terms]
        for words, add in ((total.aligned, self._added_up), (exact_terms, self._sides.total)):
            leaves = Leaves(algebra)
            own_words, low = [leaves.word(x) for x in words], leaves.truth(total.e_max < least)
            known = [~low | x.is_value(0) for x in own_words]
            leaves.use(self._laws, ~low | add(algebra, own_words).is_value(0), known, "a sum of zeros is zero")
        leaves = Leaves(algebra)
        s, top = leaves.word(total.total), leaves.word(total.e_max)
        known = [~(top < least) | s.is_value(0)]
        both = [self._pattern(s, x) for x in (top, self._sides.exponent(algebra, top))]
        leaves.use(self._laws, both[0] == both[1], known, "a sum is converted at e")

    def _added_up(self, algebra: TermAlgebra, words: Sequence[_Word]) -> _Word:
        return algebra.modular_sum(words, self._sum.total.width)

    # --- the result ---------------------------------------------------------------------------------------------

    def _converted(self) -> None:
        """Prove that the result is the register, or at most one ulp away from it.

        One case for each place of the last bit of the result above the last bit of the register, and one for zero.
        """
        algebra, total = self._algebra, self._sum.total
        d = self._result(total, self._e)
        places = self._places(d, self._e)
        precision = self._sides.rho.fraction_bits
        cases = range(-precision, self._sum.largest.bit_length() - precision + 1)
        returned = self._sides.returned(algebra, d, self._e)
        near, moved = self._near(total, returned), self._moved(d, self._e)
        self._of_register(cases)
        self._moved_by(cases)
        leaves = Leaves(algebra)
        infinite, nan, zero = map(leaves.truth, (d.infinite, d.nan, total.is_value(0)))
        fits, is_near = leaves.truth(returned.fits), leaves.truth(near)
        known = [~zero | (fits & is_near)]
        found = [zero]
        for case in cases:
            there, is_rounded = moved == self._moved_where(case), self._is_rounded(case, d, total)
            parts = Leaves(algebra).parts(moved, total, d.negative, d.significand)
            parts.use_of(self._laws, algebra.any_of([~there, ~is_rounded, near]), (), _AN_ULP)
            at, by, rounded = (leaves.truth(x) for x in (places == case, there, is_rounded))
            known += [algebra.any_of([infinite, nan, ~at | rounded]), ~at | (fits & by)]
            known.append(algebra.any_of([~by, ~rounded, is_near]))
            found.append(at)
        known.append(algebra.any_of([infinite, nan, *found]))
        leaves.use(self._laws, algebra.any_of([infinite, nan, fits & is_near]), known, _AN_ULP)

    def _result(self, total: _Word, e: _Word) -> Unpacked[FNode, FNode]:
        """Return the sum converted at e, taken apart, with words in the place of the register and of e."""
        return unpack(self._algebra, self._sides.rho.target, self._pattern(total, e))

    def _pattern(self, total: _Word, e: _Word) -> _Word:
        """Return the converted sum with words in the place of the register and of e_max."""
        converted = self._signals.converted
        places = {self._sum.total.data: total.data, self._signals.e_max.data: e.data}
        found = substituted(self._algebra.environment, converted.data, places)
        return Word(found, converted.width, False, self._algebra)

    def _places(self, d: Unpacked[FNode, FNode], e: _Word) -> _Word:
        """Return how many places the last bit of d, as precise as rho, lies above that of the register."""
        return d.exponent - e + (self._sum.fraction_bits - self._sides.rho.fraction_bits)

    def _moved(self, d: Unpacked[FNode, FNode], e: _Word) -> _Word:
        """Return by how many places the words of d and of its ulp are moved down in units of the claim."""
        lowered = d.exponent - self._sides.above
        apart = e - ite(lowered <= e, lowered, e)
        return apart.narrow_to_unsigned(apart.width - 1)

    def _moved_where(self, places: int) -> int:
        """Return the same where the last bit of d lies N places above that of the register."""
        return self._sides.above + self._sum.fraction_bits - self._sides.rho.fraction_bits - places

    def _moved_by(self, cases: range) -> None:
        """Prove by how many places d is moved down in each case."""
        algebra, leaves = self._algebra, Leaves(self._algebra)
        d = self._result(self._sum.total, self._e)
        e, x = leaves.word(self._e), replace(d, exponent=leaves.word(d.exponent))
        known = [e >= self._sides.rho.target.e_min, e <= self._highest]
        places, moved, fits = self._places(x, e), self._moved(x, e), self._sides.returned(algebra, x, e).fits
        claim = algebra.all_of([~(places == n) | (fits & (moved == self._moved_where(n))) for n in cases])
        leaves.use(self._laws, claim, known, "how far d is moved")

    def _is_rounded(self, places: int, d: Unpacked[FNode, FNode], total: _Word) -> _Truth:
        """Return whether d is the register, or at most one ulp away from it where its last bit lies higher."""
        algebra, sides = self._algebra, self._sides
        unused = sides.rho.target.fraction_bits - sides.rho.fraction_bits
        kept = d.significand.drop_low(unused).negated_where(d.negative)
        fits = d.significand.extract(unused - 1, 0).is_value(0) if unused else algebra.truth(True)
        if places <= 0:
            return fits & (kept == total << -places)
        ulp = 1 << (places - sides.half)
        return fits & (((kept << places) - total).magnitude() <= algebra.unsigned(ulp, places + 1))

    def _of_register(self, cases: range) -> None:
        """Prove what d is of the register: where that is zero, and at each place of the last bit of d."""
        algebra, laws, leaves = self._algebra, self._laws, Leaves(self._algebra)
        s, e = leaves.word(self._sum.total), leaves.word(self._e)
        known = [e >= self._sides.rho.target.e_min, e <= self._highest, within(s, self._sum.largest)]
        d = self._result(s, e)
        returned = self._sides.returned(algebra, d, e)
        nothing = returned.value.is_value(0) & ~returned.ulp.is_value(0)
        for claim in (returned.fits & self._near(s, returned), nothing):
            leaves.use(laws, ~s.is_value(0) | claim, known, "the register is zero")
        there = [self._places(d, e) == n for n in cases]
        leaves.use(laws, algebra.any_of([d.infinite, d.nan, s.is_value(0), *there]), known, "the last bit of d")
        for n, at in zip(cases, there, strict=True):
            claim = algebra.any_of([d.infinite, d.nan, ~at | self._is_rounded(n, d, s)])
            leaves.use(laws, claim, known, "d is the register, rounded")

    def _near(self, register: _Word, returned: Returned[FNode, FNode]) -> _Truth:
        value, rest = whole_and_rest(returned.value, self._low)
        ulp, rest_of_ulp = whole_and_rest(returned.ulp, self._low)
        exact = (value == register) & ~rest
        return exact | (~rest & ~rest_of_ulp & ((value - register).magnitude() <= ulp))

    def _within(self, sums: ExactSumSteps, apart: Apart, returned: Returned[FNode, FNode]) -> None:
        """Prove the claim."""
        algebra, sides = self._algebra, self._sides
        least, e_max = sides.rho.target.e_min, self._signals.e_max
        leaves, why = Leaves(algebra), "the bound is as wide as the units"
        top = leaves.word(e_max)
        bound = sides.bound_of_terms(algebra, top, sides.exponent(algebra, top))
        units = algebra.unsigned(sides.units << self._low, bound.width)
        leaves.use(self._laws, (top < least) | (bound == units), (), why)
        d, b = unpack(algebra, sides.rho.target, self._signals.d), sides.bound_of_terms(algebra, e_max, self._e)
        s, q, why = self._sum.total, apart.exact, "the error is within its bound"
        near, close = self._near(s, returned), self._close(returned, apart)
        wholes = [x for w in (returned.value, returned.ulp, q) for x in whole_and_rest(w, self._low)]
        known = [*sums.facts(s, apart), within(s, self._sum.largest)]
        Leaves(algebra).parts(s, apart.units, *wholes).use_of(self._laws, ~near | close, known, why)
        error, both = sides.sides(returned, q, b)
        fits, less, as_wide = returned.fits, error < both, b == units
        zeros = [x.is_value(0) for x in (returned.value, returned.ulp, q, s)]
        nothing = zeros[0] & ~zeros[1]
        for enough in (as_wide & close, nothing & zeros[2]):
            leaves = Leaves(algebra).parts(returned.value, returned.ulp, q, b)
            leaves.use_of(self._laws, ~enough | less, (), why)
        low = e_max < least
        known = [
            algebra.any_of([d.infinite, d.nan, fits & near]),
            ~near | close,
            ~(as_wide & close) | less,
            ~(nothing & zeros[2]) | less,
        ]
        known += [low | as_wide, ~low | zeros[3], ~low | zeros[2], ~zeros[3] | nothing]
        leaves = Leaves(algebra).parts(d.infinite, d.nan, fits, near, close, less, as_wide, low, *zeros)
        leaves.use_of(self._laws, algebra.any_of([d.infinite, d.nan, fits & less]), known, why)

    def _close(self, returned: Returned[FNode, FNode], apart: Apart) -> _Truth:
        """Return whether d has no rest, and how many whole units it is from the exact sum: as few as the bound has."""
        (value, rest), (ulp, rest_of_ulp), (exact, of_exact) = (
            whole_and_rest(x, self._low) for x in (returned.value, returned.ulp, apart.exact)
        )
        apart_by, units = value - exact, self._sides.units

        def less(most: _Word) -> _Truth:
            bound = (most + units).as_signed()
            return (apart_by > -bound) & (apart_by <= bound) & ((apart_by < bound) | of_exact)

        none = self._algebra.unsigned(0, 1)
        return ~rest & (less(none) | (~rest_of_ulp & less(ulp)))
