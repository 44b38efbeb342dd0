"""The bound of the error of one step as the steps of a bundle.

All words are multiples of ``2**(e - K)`` as in ``StepError``, and one unit of the register is ``2**low`` of them. With
S_j and Q_j the sums of the first j aligned and exact terms:

* e is e_max, or e_max lies below the smallest exponents, and all terms are zero then: the aligned terms and the
  result are those at e;
* a cut moves a term by less than a unit of the cut. So the whole units of an exact term, rounded down, are the aligned
  term and n more, with ``-g <= n < g`` for a unit of g, and there is a rest where n is -g;
* the whole units of Q_j are those of Q_(j-1) and of term j, and one more where there is a carry from the rests. So
  they are S_j + n, and the bounds of n add up. They are words of the lemma about one more term, so it is one lemma
  whatever the number of terms;
* d is a number of whole units, and as many units from S as an ulp has at most;
* the claim follows from the last two, whatever the words are.
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
from mmaproof.smt.semantics.align import Cut, align, largest_exponent
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.step_error import Returned, StepError
from mmaproof.smt.semantics.terms import Term

_Word = Word[FNode]
_Truth = Truth[FNode]
_Limits = tuple[_Word, _Word]
_AN_ULP = "d is at most one ulp from the register"
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

    def __init__(
        self,
        algebra: TermAlgebra,
        laws: LawsInUse,
        total: FusedSum[FNode, FNode],
        sides: StepError,
        highest: int,
    ) -> None:
        self._highest = highest
        self._algebra, self._laws, self._sum, self._sides, self._e = algebra, laws, total, sides, total.e_max
        self._low = sides.places - total.fraction_bits
        self._exact = [sides.exact(algebra, t, self._e) for t in total.terms]
        self._wide = sides.total_width(self._exact)
        self._width = self._wide - self._low
        self.units = sides.units << (total.fraction_bits - sides.kept_bits)
        self._small = self.units.bit_length() + 2

    def prove(self) -> Apart:
        """Add the steps. Return what they are about."""
        bounds = prove_bounds(self._laws, self._algebra, self._sum)
        gaps = [1 << (self._sum.fraction_bits - cut.fraction_bits) for cut in self._sum.path.cuts]
        for i, exact in enumerate(self._exact):
            self._cut(i, exact, gaps[i])
        return Apart(*self._added(bounds, gaps))

    def facts(self, register: Word[FNode], apart: Apart) -> tuple[Truth[FNode], ...]:
        """Return what is proved of a register and of words in the place of the others."""
        units, rest = self._parts(apart.exact)
        limits = self._algebra.signed(-self.units, self._small), self._algebra.signed(self.units, self._small)
        return units == self._sum_of(register, apart.units), *_is_less(apart.units, rest, limits)

    def _parts(self, x: _Word) -> tuple[_Word, _Truth]:
        """Return the whole units of a word, rounded down, and whether there is a rest."""
        return whole_and_rest(self._algebra.extend(x, self._wide), self._low)

    def _sum_of(self, *words: _Word) -> _Word:
        return self._algebra.modular_sum(words, self._width)

    # --- terms --------------------------------------------------------------------------------------------------

    def _cut(self, i: int, exact: _Word, gap: int) -> None:
        """Prove what an aligned term is of its exact one. Magnitudes come first where the sign does not matter."""
        algebra, total, leaves = self._algebra, self._sum, Leaves(self._algebra)
        term, cut, why = total.terms[i], total.path.cuts[i], "an aligned term is an exact one, cut"
        own, e = leaves.term(term), leaves.word(self._e)
        known = [~own.present | (own.exponent <= e), at_most(own.significand, own.largest)]
        if cut.rounds_down:
            lowest = self._highest - self._sides.places + term.fraction_bits
            claim = ~term.present | (term.exponent >= lowest)
            prove_where_not_zero(self._laws, algebra, term.significand, claim, "no exponent is below the words")
            known += [algebra.any_of([~own.present | (own.exponent >= lowest), own.significand.is_value(0)])]
            known.append(e <= self._highest)
            claim = algebra.all_of(self._cut_facts(*self._both(own, e, cut, gap), gap))
            leaves.use(self._laws, claim, known, why)
            return
        magnitudes = self._both(replace(own, negative=algebra.truth(False)), e, cut, gap)
        for x, magnitude in zip(self._both(own, e, cut, gap), magnitudes, strict=True):
            leaves.use(self._laws, x == with_sign(own.negative, magnitude), (), "a term is a magnitude with a sign")
        leaves.use(self._laws, self._is_near(*magnitudes, gap), known, why)
        magnitudes = self._both(replace(term, negative=algebra.truth(False)), self._e, cut, gap)
        leaves = Leaves(algebra)
        negative, m, n = leaves.truth(term.negative), *map(leaves.word, magnitudes)
        x, y = leaves.word(total.aligned[i]), leaves.word(exact)
        same = [x == with_sign(negative, m), y == with_sign(negative, n), self._is_near(m, n, gap)]
        leaves.use(self._laws, algebra.all_of(self._cut_facts(x, y, gap)), same, why)

    def _both(self, term: Term[FNode, FNode], e: _Word, cut: Cut, gap: int) -> tuple[_Word, _Word]:
        """Return a term aligned at an exponent in units of the sum, and the exact one."""
        aligned = align(self._algebra, term, e, cut) << (gap.bit_length() - 1)
        return aligned, self._sides.exact(self._algebra, term, e)

    def _is_near(self, kept: _Word, magnitude: _Word, gap: int) -> _Truth:
        """Return whether a cut magnitude is less than a unit of its cut away from the exact one."""
        return self._algebra.all_of([kept >= 0, *self._cut_facts(kept, magnitude, gap)])

    def _less(self, aligned: _Word, exact: _Word) -> _Word:
        """Return what the whole units of an exact term are, less the aligned term: a word of few bits."""
        units, _ = self._parts(exact)
        return self._narrow(self._sum_of(units, -aligned))

    def _narrow(self, x: _Word) -> _Word:
        return self._algebra.modular_sum([x], self._small)

    def _cut_facts(self, aligned: _Word, exact: _Word, gap: int) -> tuple[_Truth, ...]:
        """Return that an exact term is less than a unit of its cut away from the aligned one."""
        (units, rest), less = self._parts(exact), self._less(aligned, exact)
        limits = self._algebra.signed(-gap, self._small), self._algebra.signed(gap, self._small)
        return units == self._sum_of(aligned, less), *_is_less(less, rest, limits)

    def _carry(self, x: _Word, y: _Word) -> _Word:
        """Return what the whole units of a sum are, less those of its words: zero or one."""
        (p, _), (q, _), (h, _) = map(self._parts, (x, y, self._algebra.modular_sum([x, y], self._wide)))
        return ite(h == self._sum_of(p, q), self._algebra.signed(0, self._small), self._algebra.signed(1, self._small))

    # --- sums ---------------------------------------------------------------------------------------------------

    def _added(self, bounds: Sequence[int], gaps: Sequence[int]) -> tuple[_Word, _Word]:
        """Prove how the exact sum lies about the register. Return it, and its whole units less the register."""
        algebra, total, laws = self._algebra, self._sum.total, self._laws.sums(self._width)
        aligned, exact = self._sum.aligned, self._exact
        of_apart = [(algebra.signed(-g, self._small), algebra.signed(g, self._small)) for g in gaps]
        limits = self._limits(of_apart)
        register, sums = aligned[0].extend(total.width), exact[0].extend(self._wide)
        held, apart = aligned[0].extend(self._width), self._less(aligned[0], exact[0])
        leaves = Leaves(algebra)
        x = leaves.word(aligned[0])
        wide = x.extend(total.width)
        claim = within(wide, bounds[0]) & (wide.extend(self._width) == x.extend(self._width))
        leaves.use(self._laws, claim, [within(x, bounds[0])], _HOLDS)
        for i in range(1, len(aligned)):
            x, y = aligned[i], exact[i]
            less, carry, after = self._less(x, y), self._carry(sums, y), algebra.modular_sum([sums, y], self._wide)
            self._carried(sums, y)
            self._apart((apart, less, carry), (sums, y, after), limits[i - 1], of_apart[i])
            words = [w.extend(self._width).data for w in (held, apart, x, less, carry)]
            laws.regroup(words[:2], words[2:4])
            laws.exchange(words, 1)
            laws.regroup(words[:2], words[2:])
            self._register(register, held, x, sum(bounds[:i]), bounds[i])
            register, held = algebra.modular_sum([register, x], total.width), self._sum_of(held, x)
            sums, apart = after, algebra.modular_sum([apart, less, carry], self._small)
        prove_total(self._laws, algebra, register, self._sum)
        leaves = Leaves(algebra)
        n, rest = leaves.word(apart), leaves.truth(self._parts(sums)[1])
        low, high = map(leaves.number, limits[-1])
        whole = algebra.signed(-self.units, self._small), algebra.signed(self.units, self._small)
        known = [*_is_less(n, rest, (low, high)), *_are_at_most((low, high), self.units)]
        leaves.use(self._laws, algebra.all_of(_is_less(n, rest, whole)), known, _HOLDS)
        return sums, apart

    def _limits(self, of_terms: Sequence[_Limits]) -> list[_Limits]:
        """Return between which numbers the first terms are apart, as sums of numbers, and prove that these fit."""
        found, fit, leaves = [of_terms[0]], list[_Truth](), Leaves(self._algebra)
        for more in of_terms[1:]:
            leaves = Leaves(self._algebra)
            own, other = (tuple(map(leaves.number, x)) for x in (found[-1], more))
            both = _limits_of_sum(own, other)
            fit.append(leaves.placed_truth(_fit(own, other, both)))
            found.append((leaves.placed(both[0]), leaves.placed(both[1])))
        leaves = Leaves(self._algebra)
        ends = tuple(map(leaves.number, found[-1]))
        fit += [leaves.placed_truth(x) for x in _are_at_most(ends, self.units)]
        self._laws.claim(self._algebra.all_of(fit).data, (), {}, "there are as many units as terms lose")
        return found

    def _carried(self, x: _Word, y: _Word) -> None:
        """Prove that the units of a sum are those of its words, and one more where there is a carry."""
        leaves = Leaves(self._algebra)
        p, q = leaves.word(x), leaves.word(y)
        leaves.use(
            self._laws,
            self._algebra.all_of(self._carry_facts(p, q)),
            (),
            "a sum has the units of its words, and a carry",
        )

    def _carry_facts(self, p: _Word, q: _Word) -> tuple[_Truth, ...]:
        (h, rest), (of_p, rest_p), (of_q, rest_q) = map(
            self._parts, (self._algebra.modular_sum([p, q], self._wide), p, q)
        )
        carry = self._carry(p, q)
        return (h == self._sum_of(of_p, of_q, carry), *_is_carry(carry, rest_p, rest_q, rest))

    def _apart(self, few: Sequence[_Word], sums: Sequence[_Word], limits: _Limits, more: _Limits) -> None:
        """Prove by how many units the exact sum and the register are apart after one more term."""
        leaves = Leaves(self._algebra)
        apart, less, carry = map(leaves.word, few)
        rest, of_term, after = (leaves.truth(self._parts(x)[1]) for x in sums)
        own, other = tuple(map(leaves.number, limits)), tuple(map(leaves.number, more))
        both = _limits_of_sum(own, other)
        known = [*_is_less(apart, rest, own), *_is_less(less, of_term, other), *_is_carry(carry, rest, of_term, after)]
        now = self._algebra.modular_sum([apart, less, carry], self._small)
        same = now.extend(self._width) == self._sum_of(apart, less, carry)
        claim = self._algebra.all_of([same, *_is_less(now, after, both)])
        leaves.use(self._laws, claim, [*known, _fit(own, other, both)], _HOLDS)

    def _register(self, register: _Word, held: _Word, aligned: _Word, most: int, more: int) -> None:
        """Prove that the register holds the sum with one more term."""
        leaves = Leaves(self._algebra)
        t, p, a = (leaves.word(x) for x in (register, held, aligned))
        now = self._algebra.modular_sum([t, a], register.width)
        known = [within(t, most), within(a, more), t.extend(self._width) == p]
        claim = within(now, most + more) & (now.extend(self._width) == self._sum_of(p, a))
        leaves.use(self._laws, claim, known, _HOLDS)


def _is_less(apart: _Word, rest: _Truth, limits: Sequence[_Word]) -> tuple[_Truth, ...]:
    """Return whether an exact sum is less than a number of units away, by what it is apart."""
    low, high = limits
    return apart >= low, apart < high, ~(apart == low) | rest


def _is_carry(carry: _Word, x: _Truth, y: _Truth, after: _Truth) -> tuple[_Truth, ...]:
    """Return what is proved of a carry from the rests of two words, and of the rest of their sum."""
    return carry.is_value(0) | carry.is_value(1), ~carry.is_value(0) | after | ~(x | y), carry.is_value(0) | (x & y)


def _limits_of_sum(limits: Sequence[_Word], more: Sequence[_Word]) -> _Limits:
    low, high = (x.algebra.modular_sum([x, y], x.width) for x, y in zip(limits, more, strict=True))
    return low, high


def _fit(limits: Sequence[_Word], more: Sequence[_Word], after: Sequence[_Word]) -> _Truth:
    """Return whether no sum of limits wraps."""
    return (more[0] <= 0) & (more[1] >= 0) & (after[0] <= limits[0]) & (limits[1] <= after[1])


def _are_at_most(limits: Sequence[_Word], most: int) -> tuple[_Truth, _Truth]:
    return limits[0] >= -most, limits[1] <= most


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
        if any(cut.inverts for cut in total.path.cuts):
            raise NotComposedError("an error of terms that are inverted")
        if self._low < 1:
            raise NotComposedError("an error of terms of which nothing is lost")
        self._exponents()
        prove_total(self._laws, algebra, self._added_up(algebra, total.aligned), total)
        self._aligned_at_e()
        self._sum = replace(total, e_max=self._e, aligned=tuple(self._at_e(t, c) for t, c in self._cuts()))
        sums = ExactSumSteps(algebra, self._laws, self._sum, sides, self._highest)
        apart = sums.prove()
        returned = sides.returned(algebra, unpack(algebra, sides.rho.target, self._signals.d), self._e)
        prove_no_special(self._laws, algebra, self._signals, self._assumed)
        self._converted()
        self._within(sums, apart, returned)

    def _cuts(self) -> Sequence[tuple[Term[FNode, FNode], Cut]]:
        return list(zip(self._sum.terms, self._sum.path.cuts, strict=True))

    def _at_e(self, term: Term[FNode, FNode], cut: Cut, e: _Word | None = None) -> _Word:
        """Return an aligned term in units of the sum."""
        finer = self._sum.fraction_bits - cut.fraction_bits
        return align(self._algebra, term, self._e if e is None else e, cut) << finer

    # --- the exponents ------------------------------------------------------------------------------------------

    def _exponents(self) -> None:
        """Prove that e lies within limits, and that no exponent is above it."""
        algebra, terms, least = self._algebra, self._sum.terms, self._sides.least
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
            leaves.use(self._laws, claim, known, "e lies within the exponents of terms")
        for term in terms:
            leaves = Leaves(algebra)
            x, top = leaves.term(term), leaves.word(self._sum.e_max)
            claim = ~x.present | (x.exponent <= self._sides.exponent(algebra, top))
            leaves.use(self._laws, claim, [~x.present | (x.exponent <= top)], "no exponent is above e")

    def _aligned_at_e(self) -> None:
        """Prove that the aligned terms, and what their sum is converted to, are those at e."""
        algebra, total, least = self._algebra, self._sum, self._sides.least
        why = "a term below the smallest exponent is zero"
        for term, cut in self._cuts():
            claim = term.present & (term.exponent >= least)
            prove_where_not_zero(self._laws, algebra, term.significand, claim, why)
            leaves = Leaves(algebra)
            own, top = leaves.term(term), leaves.word(total.e_max)
            known = [algebra.any_of([own.present & (own.exponent >= least), own.significand.is_value(0)])]
            known.append(~own.present | (own.exponent <= top))
            aligned, e = self._at_e(own, cut, top), self._sides.exponent(algebra, top)
            leaves.use(self._laws, ~(top < least) | aligned.is_value(0), known, why)
            leaves.use(self._laws, aligned == self._at_e(own, cut, e), known, "a term is aligned at e")
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

    def _pattern(self, total: _Word, e: _Word) -> _Word:
        """Return the converted sum with words in the place of the register and of e_max."""
        converted = self._signals.converted
        places = {self._sum.total.data: total.data, self._signals.e_max.data: e.data}
        found = substituted(self._algebra.environment, converted.data, places)
        return Word(found, converted.width, False, self._algebra)

    def _converted(self) -> None:
        """Prove that the result is at most an ulp away from the register, and an ulp away from zero if that is zero."""
        algebra, laws, why, e, s = self._algebra, self._laws, "d is the register, rounded", self._e, self._sum.total
        d = unpack(algebra, self._sides.rho.target, self._pattern(s, e))
        returned = self._sides.returned(algebra, d, e)
        size, negative, wide = s.magnitude(), s < 0, returned.value.width
        inside = [e >= self._sides.least, e <= self._highest]
        leaves = Leaves(algebra).parts(s)
        leaves.use_of(laws, at_most(size, self._sum.largest), [within(s, self._sum.largest)], why)
        leaves.use_of(laws, ~s.is_value(0) | size.is_value(0), (), why)
        leaves.use_of(laws, s == with_sign(negative, size.as_signed()).narrow(s.width), (), why)
        positive = self._sides.returned(algebra, replace(d, negative=algebra.truth(False)), e)
        parts = Leaves(algebra).parts(size, negative, s, e)
        known = [*inside, at_most(size, self._sum.largest)]
        (_, rest), near = whole_and_rest(positive.value, self._low), self._is_near(size.as_signed(), positive)
        for claim in (returned.fits, ~rest, near):
            parts.use_of(laws, algebra.any_of([d.infinite, d.nan, claim]), known, why)
        nothing = self._is_nothing(returned)
        parts.use_of(laws, ~size.is_value(0) | nothing, known, why)
        none, (of_size, _) = d.significand.is_value(0), whole_and_rest(positive.value, self._low)
        parts.use_of(laws, algebra.any_of([none, size.is_value(0), d.negative == negative]), known, why)
        parts = Leaves(algebra).parts(d.significand, d.exponent, e)
        for claim in (~none | of_size.is_value(0), of_size >= 0):
            parts.use_of(laws, claim, (), why)
        signed = with_sign(d.negative, positive.value).narrow(wide)
        Leaves(algebra).parts(d.negative, d.significand, d.exponent, e).use_of(laws, returned.value == signed, (), why)
        self._signed(d.negative, positive.value, returned.value, signed)
        self._with_signs(d, returned, positive)

    def _signed(self, negative: _Truth, positive: _Word, value: _Word, signed: _Word) -> None:
        """Prove that a number of whole units has as many of them as its magnitude."""
        leaves, why = Leaves(self._algebra), "a number has the whole units of its magnitude"
        (units, rest), (of_size, of_rest) = (whole_and_rest(x, self._low) for x in (value, positive))
        claim = of_rest | (~rest & (units == with_sign(negative, of_size)))
        leaves.parts(negative, positive, value).use_of(self._laws, claim, [value == signed], why)

    def _with_signs(
        self, d: Unpacked[FNode, FNode], returned: Returned[FNode, FNode], positive: Returned[FNode, FNode]
    ) -> None:
        """Prove that d is near the register, which has the same sign, or that both are zero."""
        algebra, s, low = self._algebra, self._sum.total, self._low
        size, negative = s.magnitude(), s < 0
        (value, rest), (of_size, of_rest) = (whole_and_rest(x.value, low) for x in (returned, positive))
        ulp, _ = whole_and_rest(returned.ulp, low)
        near, zero, none = self._near(s, returned), size.is_value(0), d.significand.is_value(0)
        laws, why, nothing = self._laws, "d is near the register", self._is_nothing(returned)
        of_register = s == with_sign(negative, size.as_signed()).narrow(s.width)
        known = [
            algebra.any_of([none, zero, d.negative == negative]),
            ~none | of_size.is_value(0),
            of_rest | (~rest & (value == with_sign(d.negative, of_size))),
        ]
        same = algebra.any_of([of_rest, zero, ~rest & (value == with_sign(negative, of_size))])
        leaves = Leaves(algebra).parts(none, zero, d.negative, negative, of_rest, rest, value, of_size)
        leaves.use_of(laws, same, known, why)
        width = value.width + 2
        apart, of_sizes = _minus(value, s, width), _minus(of_size, size.as_signed(), width)
        signed = algebra.any_of([of_rest, zero, ~rest & (apart == with_sign(negative, of_sizes))])
        leaves = Leaves(algebra).parts(zero, negative, of_rest, rest, value, of_size, size, s)
        fits = at_most(size, self._sum.largest)
        leaves.use_of(laws, signed, [of_register, same, of_size >= 0, fits], why)
        near_size = self._is_near(size.as_signed(), positive)
        leaves = Leaves(algebra).parts(negative, apart, of_sizes, ulp)
        claim = algebra.any_of([~(apart == with_sign(negative, of_sizes)), ~near_size, self._is_near(s, returned)])
        leaves.use_of(laws, claim, (), why)
        alone = Leaves(algebra).parts(returned.value, returned.ulp, s)
        alone.use_of(laws, algebra.any_of([~nothing, ~s.is_value(0), near]), (), why)
        Leaves(algebra).parts(size, s, negative).use_of(laws, ~zero | s.is_value(0), [of_register], why)
        known = [algebra.any_of([d.infinite, d.nan, x]) for x in (~of_rest, near_size)]
        known += [
            signed,
            claim,
            ~zero | nothing,
            ~zero | s.is_value(0),
            algebra.any_of([~nothing, ~s.is_value(0), near]),
        ]
        truths = (d.infinite, d.nan, of_rest, rest, zero, nothing, s.is_value(0), near_size, self._is_near(s, returned))
        leaves = Leaves(algebra).parts(*truths, apart == with_sign(negative, of_sizes))
        leaves.use_of(laws, algebra.any_of([d.infinite, d.nan, near]), known, why)

    def _is_near(self, register: _Word, returned: Returned[FNode, FNode]) -> _Truth:
        """Return whether the whole units of a number are as far from a register as an ulp has at most."""
        value, ulp = (whole_and_rest(x, self._low)[0] for x in (returned.value, returned.ulp))
        apart, most = _minus(value, register, value.width + 2), ulp.as_signed()
        return (apart <= most) & (apart >= -most)

    def _near(self, register: _Word, returned: Returned[FNode, FNode]) -> _Truth:
        """Return whether d is a number of whole units, and as many away from the register as an ulp has at most."""
        return ~whole_and_rest(returned.value, self._low)[1] & self._is_near(register, returned)

    def _is_nothing(self, returned: Returned[FNode, FNode]) -> _Truth:
        """Return whether d is zero, and its ulp is not."""
        return returned.value.is_value(0) & ~returned.ulp.is_value(0)

    def _within(self, sums: ExactSumSteps, apart: Apart, returned: Returned[FNode, FNode]) -> None:
        """Prove the claim."""
        algebra, sides, laws, why = self._algebra, self._sides, self._laws, "the error is within its bound"
        e_max, s, q = self._signals.e_max, self._sum.total, apart.exact
        leaves = Leaves(algebra)
        top, low = leaves.word(e_max), e_max < sides.least
        e = sides.exponent(algebra, top)
        bound = sides.bound_of_terms(algebra, top, e)
        units = algebra.unsigned(sums.units << self._low, bound.width)
        leaves.use(laws, (top < sides.least) | (bound == units), (), "the bound is as wide as the units")
        d, b = unpack(algebra, sides.rho.target, self._signals.d), sides.bound_of_terms(algebra, e_max, self._e)
        error, both = sides.sides(returned, q, b)
        less, as_wide, nothing = error < both, b == units, self._is_nothing(returned)
        near = self._near(s, returned)
        self._less(sums, apart, returned, (both, as_wide, less))
        zeros = [x.is_value(0) for x in (q, s, s.magnitude())]
        leaves = Leaves(algebra).parts(returned.value, returned.ulp, q, b)
        leaves.use_of(laws, algebra.any_of([~nothing, ~zeros[0], less]), (), why)
        known = [
            *(algebra.any_of([d.infinite, d.nan, x]) for x in (returned.fits, near)),
            algebra.any_of([~near, ~as_wide, less]),
            algebra.any_of([~nothing, ~zeros[0], less]),
            *(low | as_wide, ~low | zeros[1], ~low | zeros[0], ~zeros[1] | zeros[2], ~zeros[2] | nothing),
        ]
        parts = Leaves(algebra).parts(d.infinite, d.nan, returned.fits, near, less, as_wide, low, nothing, *zeros)
        parts.use_of(laws, algebra.any_of([d.infinite, d.nan, returned.fits & less]), known, why)

    def _less(
        self,
        sums: ExactSumSteps,
        apart: Apart,
        returned: Returned[FNode, FNode],
        claimed: tuple[_Word, _Truth, _Truth],
    ) -> None:
        """Prove that the error is less than units and ulp, where d is near and the bound has all units."""
        algebra, laws, why = self._algebra, self._laws, "the error is within its bound"
        s, q, low, units = self._sum.total, apart.exact, self._low, sums.units
        both, as_wide, less = claimed
        error = returned.value - q
        (value, rest), (exact, of_exact), (ulp, _) = (whole_and_rest(x, low) for x in (returned.value, q, returned.ulp))
        (by, of_error), (bound, _) = (whole_and_rest(x, low) for x in (error, both))
        width, near = value.width + 2, self._near(s, returned)
        from_register, from_exact = _minus(value, s, width), _minus(value, exact, width)
        without = _minus(from_register, apart.units, width)
        facts = [*sums.facts(s, apart), within(s, self._sum.largest)]
        whole = exact.extend(width) == algebra.modular_sum([s, apart.units], width)
        Leaves(algebra).parts(s, apart.units, exact, of_exact).use_of(laws, whole, facts, why)
        parts = Leaves(algebra).parts(*(x.extend(width) for x in (s, apart.units, exact, value)))
        parts.use_of(laws, from_exact == without, [whole], why)

        def is_close(x: _Word) -> _Truth:
            most = (ulp + units).as_signed()
            return (x > -most) & (x <= most) & ((x < most) | of_exact)

        parts = Leaves(algebra).parts(from_register, apart.units, ulp, rest, of_exact)
        parts.use_of(laws, ~near | is_close(without), facts[1:-1], why)
        split = (by.extend(width) == _minus(from_exact, of_exact.as_bit().as_signed(), width)) & (of_error == of_exact)
        Leaves(algebra).parts(returned.value, q).use_of(laws, rest | split, (), why)
        wide = bound == ulp + units
        of_terms = self._sides.bound_of_terms(algebra, self._signals.e_max, self._e)
        Leaves(algebra).parts(of_terms, returned.ulp).use_of(laws, ~as_wide | wide, (), why)
        inside = (by < bound.as_signed()) & (by >= -bound.as_signed()) & ((by > -bound.as_signed()) | of_error)
        Leaves(algebra).parts(error, both).use_of(laws, ~inside | less, (), why)
        known = [~near | is_close(from_exact), rest | split, ~as_wide | wide, ~inside | less]
        parts = Leaves(algebra).parts(
            rest, of_exact, of_error, from_register, from_exact, ulp, by, bound, as_wide, less
        )
        parts.use_of(laws, algebra.any_of([~near, ~as_wide, less]), known, why)


def _minus(x: _Word, y: _Word, width: int) -> _Word:
    """Return the difference of two signed words in a width that is not less than theirs."""
    algebra = x.algebra
    p, q = (algebra.pattern(w.extend(width)) for w in (x, y))
    return algebra.twos_complement(algebra.wrapped_difference(p, q))
