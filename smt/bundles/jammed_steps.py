"""Two terms, one of them jammed, add up to a sum that converts as their exact sum does, as the steps of a bundle.

The *exact* sum keeps W fraction bits below the larger exponent, which is enough for every bit of both terms. The
*jammed* sum of the same terms keeps n < W. Both terms are zero or normalised. All others are zero.

* A term is zero, or has the largest exponent, or the other one has it. A term of the jammed sum that has it is even and
  large, and loses nothing. Any other one is odd where it loses bits, less than a unit from the exact term, which is at
  most half of ``2**e_max`` then;
* so the jammed sum is the exact sum, jammed to n fraction bits. Where that loses bits, the exact sum is at least half
  of ``2**e_max``;
* where it loses none, both have one value, which converts to one result. Where it does, so does the larger sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves, prove_bounds, prove_largest_exponent, with_sign, within
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.two_terms import is_at_least, is_zero_or_normalised
from mmaproof.smt.semantics.align import Cut, align, loses_bits
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term

_Word = Word[FNode]
_Truth = Truth[FNode]
_Term = Term[FNode, FNode]
_Sum = FusedSum[FNode, FNode]


class JammedSteps:
    """Proves that the results of two sums are the same. Raises NotComposedError.

    ``pairs`` are the places of the two terms in the exact sum and in the jammed one. ``assumed`` is known of operands.
    """

    def __init__(
        self,
        algebra: TermAlgebra,
        laws: LawsInUse,
        exact: _Sum,
        jammed: _Sum,
        pairs: Sequence[tuple[int, int]],
        assumed: FNode,
    ) -> None:
        self._algebra, self._laws, self._exact, self._jammed, self._pairs = algebra, laws, exact, jammed, pairs
        self._assumed, self._there = [Truth(assumed, algebra)], list[_Truth]()
        self._places = exact.fraction_bits - jammed.fraction_bits

    def _use(
        self,
        claim: _Truth,
        known: Sequence[_Truth],
        parts: Sequence[_Word | _Truth],
        why: str,
    ) -> None:
        Leaves(self._algebra).parts(*parts).use_of(self._laws, claim, known, why)

    # --- terms --------------------------------------------------------------------------------------------------

    def same(self, pair: tuple[int, int]) -> list[_Truth]:
        """Return whether a term of the exact sum is that of the jammed one."""
        return _same(self._exact.terms[pair[0]], self._jammed.terms[pair[1]])

    def prove_same(self, i: int, known: Sequence[_Truth], parts: Sequence[_Word] = ()) -> None:
        """Prove that a term is the same in both sums, of operands or whatever the parts are."""
        pair, why = self._pairs[i], "both sums have the same terms"
        term = self._exact.terms[pair[0]]
        claim = term.present
        self._laws.claim(claim.data, [x.data for x in known[:1]], {}, "a term is there")
        self._there.append(claim)
        words: list[_Word | _Truth] = [term.exponent, term.significand, term.negative, term.present]
        for x in self.same(pair):
            if self._laws.kernel.holds(x.data):
                continue
            if parts:
                self._use(x, [*known[1:], claim], [*parts, *words], why)
            else:
                self._laws.claim(x.data, [y.data for y in known], {}, why)

    def held(self) -> list[_Truth]:
        """Return whether both terms are zero or normalised, and keep all of their bits in the exact sum."""
        found = []
        for i, _ in self._pairs:
            term = self._exact.terms[i]
            found.append(is_zero_or_normalised(self._algebra, term))
            found.append(holds_every_bit(term, self._exact.e_max, self._exact.fraction_bits))
        return found

    def prove(self, results: tuple[_Word, _Word]) -> None:
        """Add the steps. Known to hold is what ``held`` and ``same`` say. ``results`` are both sums, converted."""
        for total in (self._exact, self._jammed):
            prove_largest_exponent(self._laws, self._algebra, total)
            for t in total.terms:
                claim = t.present | t.significand.is_value(0)
                self._known(claim, "a term that is not present is zero")
        self._others()
        self._exponents()
        bounds = [prove_bounds(self._laws, self._algebra, x) for x in (self._exact, self._jammed)]
        for pair in self._pairs:
            self._term(*pair)
        self._added(bounds)
        self._converted(*results)

    def prove_whole(self, nothing: _Truth) -> None:
        """Prove that no term of the exact sum loses a bit, which ``nothing`` says of all of them."""
        exact, why = self._exact, "a term that is held loses no bit"
        cut, lost = Cut(exact.fraction_bits), list[_Truth]()
        for i, term in enumerate(exact.terms):
            leaves, bits = Leaves(self._algebra), loses_bits(self._algebra, term, exact.e_max, cut)
            if i in [x for x, _ in self._pairs]:
                x, e = leaves.term(term), leaves.word(exact.e_max)
                known = [~x.present | (x.exponent <= e), x.present | x.significand.is_value(0)]
                known.append(holds_every_bit(x, e, exact.fraction_bits))
                leaves.use(self._laws, ~loses_bits(self._algebra, x, e, cut), known, why)
            else:
                self._known(~bits, why)
            lost.append(bits)
        self._use(nothing, [~x for x in lost], lost, why)

    def _known(self, claim: _Truth, why: str) -> None:
        """Prove a claim about operands that is not known yet."""
        if not claim.data.is_true() and not self._laws.kernel.holds(claim.data):
            self._laws.claim(claim.data, (), {}, why)

    def _others(self) -> None:
        """Prove that the sums are those of their two terms."""
        for total, places in ((self._exact, [x for x, _ in self._pairs]), (self._jammed, [x for _, x in self._pairs])):
            zeros = [x.is_value(0) for i, x in enumerate(total.aligned) if i not in places]
            for claim in zeros:
                self._known(claim, "a term of zeros is zero")
            known = [x for x in zeros if not x.data.is_true()]
            self._use(_is_sum(total, places), known, total.aligned, "a sum of two terms and zeros")

    def _exponents(self) -> None:
        """Prove that the exponents of both sums are the same, and that a term has it, unless both are zero."""
        exact, jammed = self._exact, self._jammed
        parts: list[_Word | _Truth] = []
        for t in (*exact.terms, *jammed.terms):
            parts += [t.exponent, t.present]
        same = [x for pair in self._pairs for x in self.same(pair)]
        first, low = exact.terms[self._pairs[0][0]], list[_Truth]()
        for i, t in enumerate(exact.terms):
            if i not in [x for x, _ in self._pairs]:
                low.append(~t.present | (first.present & (t.exponent <= first.exponent)))
                self._laws.claim(low[-1].data, [x.data for x in self._assumed], {}, "a term of zeros lies below others")
        same += [*low, *self._there]
        if not self._laws.kernel.holds((exact.e_max == jammed.e_max).data):
            self._use(exact.e_max == jammed.e_max, same, parts, "both sums are aligned at one exponent")
        tops = [self._is_top(exact.terms[i], exact.e_max) for i, _ in self._pairs]
        terms = [exact.terms[i] for i, _ in self._pairs]
        known = [*low, *(t.present | t.significand.is_value(0) for t in terms)]
        for t in terms:
            known.append(~t.present | ~t.significand.is_value(0))
            assumed = [x.data for x in self._assumed]
            self._laws.claim(known[-1].data, assumed, {}, "a term that is present is not zero")
        known += [holds_every_bit(t, exact.e_max, exact.fraction_bits) for t in terms]
        zero = self._algebra.all_of([t.significand.is_value(0) for t in terms])
        parts += [t.significand for t in terms]
        self._use(self._algebra.any_of([*tops, zero]), known, parts, "a term has the largest exponent")

    @staticmethod
    def _is_top(term: _Term, e_max: _Word) -> _Truth:
        return ~term.significand.is_value(0) & (term.exponent == e_max)

    def _term(self, i: int, j: int) -> None:
        """Prove what a jammed term is of the exact one: of magnitudes first, where the sign does not matter."""
        algebra, exact, jammed, why = (
            self._algebra,
            self._exact,
            self._jammed,
            "a jammed term is odd where it loses bits",
        )
        leaves = Leaves(algebra)
        x, e = leaves.term(exact.terms[i]), leaves.word(exact.e_max)
        y, f = leaves.term(jammed.terms[j]), leaves.word(jammed.e_max)
        known = [~x.present | (x.exponent <= e), x.present | x.significand.is_value(0), *_same(x, y), e == f]
        known += [is_zero_or_normalised(algebra, x), holds_every_bit(x, e, exact.fraction_bits)]
        cuts = exact.path.cuts[i], jammed.path.cuts[j]
        magnitudes = _magnitude(x, e, cuts[0]), _magnitude(y, f, cuts[1])
        facts = self._is_kept(self._is_top(x, e), x.significand.is_value(0), *magnitudes)
        for claim in (*facts, *(w >= 0 for w in magnitudes)):
            leaves.use(self._laws, claim, known, why)
        for term, top, cut in ((x, e, cuts[0]), (y, f, cuts[1])):
            signed = align(algebra, term, top, cut) == with_sign(term.negative, _magnitude(term, top, cut))
            leaves.use(self._laws, signed, (), "a term is a magnitude with a sign")
        term, other = exact.terms[i], jammed.terms[j]
        sizes = _magnitude(term, exact.e_max, cuts[0]), _magnitude(other, jammed.e_max, cuts[1])
        words, case = (exact.aligned[i], jammed.aligned[j]), self._case(i)
        known = [*self._is_kept(*case, *sizes), *(w >= 0 for w in sizes), _same(term, other)[0]]
        known += [w == with_sign(t.negative, m) for w, t, m in zip(words, (term, other), sizes, strict=True)]
        for claim in self._is_kept(*case, *words):
            self._use(claim, known, [*case, term.negative, other.negative, *sizes, *words], why)

    def _case(self, i: int) -> tuple[_Truth, _Truth]:
        """Return whether a term has the largest exponent, and whether it is zero."""
        term = self._exact.terms[i]
        return self._is_top(term, self._exact.e_max), term.significand.is_value(0)

    def _is_kept(self, top: _Truth, zero: _Truth, whole: _Word, kept: _Word) -> list[_Truth]:
        """Return how a jammed term and the exact one are related."""
        algebra, bits = self._algebra, self._exact.fraction_bits
        jammed, lost = _jam(whole, self._places)
        small = whole.magnitude() <= algebra.unsigned(1 << (bits - 1), bits)
        large = ~lost & ~kept.bit(0) & is_at_least(algebra, whole, bits)
        return [kept == jammed, ~lost | small, ~top | large, ~zero | (whole.is_value(0) & kept.is_value(0))]

    # --- sums ---------------------------------------------------------------------------------------------------

    def _is_jammed(self, exact: _Word, jammed: _Word) -> _Truth:
        """Return whether a sum is another one, jammed, which is large where that loses bits."""
        expected, lost = _jam(exact, self._places)
        large = is_at_least(self._algebra, exact, self._exact.fraction_bits - 1)
        return (jammed == expected) & (~lost | large)

    def _added(self, bounds: Sequence[Sequence[int]]) -> None:
        """Prove that the jammed sum is the exact one, jammed."""
        exact, jammed, why = self._exact, self._jammed, "a term and a jammed one add up to the jammed sum"
        claim = self._is_jammed(exact.total, jammed.total)
        words = [(exact.aligned[i], jammed.aligned[j]) for i, j in self._pairs]
        sums = [_is_sum(exact, [i for i, _ in self._pairs]), _is_sum(jammed, [j for _, j in self._pairs])]
        cases = [self._case(i) for i, _ in self._pairs]
        facts = [self._is_kept(*case, *pair) for case, pair in zip(cases, words, strict=True)]
        alike, small, large, nothing = zip(*facts, strict=True)
        inside = [
            within(w, bound[i])
            for pair, places in zip(words, self._pairs, strict=True)
            for w, bound, i in zip(pair, bounds, places, strict=True)
        ]
        tops, zeros = zip(*cases, strict=True)
        parts: list[_Word | _Truth] = [*tops, *zeros, *(w for pair in words for w in pair)]
        parts += [x.total for x, same in zip((exact, jammed), sums, strict=True) if not _is_itself(same)]
        for n, top in enumerate(tops):
            known = [*sums, *inside, *alike, small[1 - n], large[n]]
            self._use(~top | claim, known, parts, why)
        both = self._algebra.all_of(zeros)
        self._use(~both | claim, [*sums, *nothing], parts, "the sum of two zeros is zero")
        known = [*(~x | claim for x in (*tops, both)), self._algebra.any_of([*tops, both])]
        self._use(claim, known, [*tops, *zeros, claim], why)

    # --- results ------------------------------------------------------------------------------------------------

    def _converted(self, exact: _Word, jammed: _Word) -> None:
        """Prove that both sums convert to the same result."""
        x, y = self._exact, self._jammed
        lost, same = _jam(x.total, self._places)[1], exact == jammed
        moved = x.total == self._algebra.modular_sum([y.total << self._places], x.total.width)
        is_jammed = self._is_jammed(x.total, y.total)
        self._use(lost | moved, [is_jammed], [x.total, y.total], "a sum that loses nothing is the jammed one")
        parts: list[_Word | _Truth] = [x.total, y.total, x.e_max, y.e_max]
        signs = [self.same(pair)[0] for pair in self._pairs]
        for t in (*x.terms, *y.terms):
            parts.append(t.negative)
        known = [x.e_max == y.e_max, *signs, *self._signs_of_zero()]
        self._use(~moved | same, known, parts, "a sum with zeros appended converts to the same")
        self._use(~lost | same, [*known, is_jammed], parts, "a large sum converts as it does jammed")
        cases = [lost | moved, ~moved | same, ~lost | same]
        self._use(same, cases, [lost, moved, same], "both sums convert to the same")

    def _signs_of_zero(self) -> list[_Truth]:
        """Prove that terms whose sum is zero have both signs, where both are known to be there. Return that."""
        if not self._there:
            return []
        exact, why = self._exact, "two terms whose sum is zero have both signs"
        terms = [exact.terms[i] for i, _ in self._pairs]
        words = [exact.aligned[i] for i, _ in self._pairs]
        found = []
        for (i, _), term in zip(self._pairs, terms, strict=True):
            leaves = Leaves(self._algebra)
            x, e = leaves.term(term), leaves.word(exact.e_max)
            known = [~x.present | (x.exponent <= e), x.present, ~x.present | ~x.significand.is_value(0)]
            known.append(holds_every_bit(x, e, exact.fraction_bits))
            whole = align(self._algebra, x, e, exact.path.cuts[i])
            leaves.use(self._laws, _is_signed(x, whole), known, why)
            found.append(_is_signed(term, exact.aligned[i]))
        claim = ~exact.total.is_value(0) | (terms[0].negative ^ terms[1].negative)
        same = _is_sum(exact, [i for i, _ in self._pairs])
        totals = [] if _is_itself(same) else [exact.total]
        self._use(claim, [*found, same], [*words, *totals, *(t.negative for t in terms)], why)
        return [claim]


def _is_signed(term: _Term, aligned: _Word) -> _Truth:
    """Return whether an aligned term is not zero, and has the sign of the term."""
    return ~aligned.is_value(0) & ~(term.negative ^ (aligned < 0))


def _is_sum(total: _Sum, places: Sequence[int]) -> _Truth:
    """Return whether a sum is that of some of its terms."""
    algebra, width = total.total.algebra, total.total.width
    return total.total == algebra.modular_sum([total.aligned[i].extend(width) for i in places], width)


def _is_itself(same: _Truth) -> bool:
    """Return whether the two sides of an equation are one term."""
    return same.data.is_true() or same.data.arg(0) is same.data.arg(1)


def _magnitude(term: _Term, e_max: _Word, cut: Cut) -> _Word:
    """Return a term without its sign, aligned."""
    return align(e_max.algebra, replace(term, negative=e_max.algebra.truth(False)), e_max, cut)


def _same(x: _Term, y: _Term) -> list[_Truth]:
    """Return whether two terms have the same parts, the significand moved by the fraction bits that one has more."""
    more = y.fraction_bits - x.fraction_bits
    alike = (x.significand << max(more, 0)) == (y.significand << max(-more, 0))
    return [~(x.negative ^ y.negative), x.exponent == y.exponent, alike, ~(x.present ^ y.present)]


def holds_every_bit(term: _Term, e_max: _Word, fraction_bits: int) -> _Truth:
    """Return whether a term is zero, or so close to e_max that all of its bits, set or not, lie above the cut."""
    return term.significand.is_value(0) | (e_max - term.exponent <= fraction_bits - term.fraction_bits)


def _jam(x: _Word, places: int) -> tuple[_Word, _Truth]:
    """Return ``x / 2**places`` with its magnitude jammed, and whether bits were lost."""
    magnitude = x.magnitude()
    lost = ~magnitude.extract(places - 1, 0).is_value(0)
    moved = magnitude.shift_right_jam(x.algebra.unsigned(places, places.bit_length()))
    return moved.narrow(magnitude.width - places).negated_where(x < 0), lost
