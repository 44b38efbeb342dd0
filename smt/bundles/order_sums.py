"""How much more the second of two sums is, as steps of a bundle: the surplus of a sum is that of its terms.

With P the register of the first run, x a term that is added to it, and P' and y those of the second run, what counts of
P + x is what counts of P and of x, because the register does not wrap. If it is rounded down, there may be a carry of
one unit. So the surplus of the sums is that of P and P', that of x and y, and the carry.

A sum of two words that is moved down by any number of places, as steps of a bundle.

It is the sum of both, moved down, and a carry. The words are moved by one bit of the places after the other, so that
no lemma is about a sum and any number of places.

How the largest exponents of two runs differ, and what it means then that a word of one is at most one of the other.

Words count units of the last bit of their sums, which are as far apart as the exponents. A word of the run whose units
are smaller, the *lower* one, is compared after it was rounded to units of the other: up if it is the smaller word, and
down if it is the larger one. So no bit is lost that the order depends on.

Aligned terms of two runs, and how much more those of the second are, as steps of a bundle.

In each case of exponents (below) the surplus of a term that stays is none if the exponents are equal, and at
least minus one unit if not. That of the term that rises is not negative if they are equal, and at least the units of
all others if not. The magnitude of a truncated term that stays is the other one, moved down.
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
    prove_bound_of_sum,
    prove_first_bound,
    prove_total,
    with_sign,
    within,
)
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.monotone import LargeStep, TermRises
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term


def is_sum(words: Sequence[Word[FNode]], *carry: Word[FNode]) -> Truth[FNode]:
    """Return whether the last of three words of one width is the sum of the others, and of a carry."""
    *added, whole = words
    width = whole.width + 1
    return whole.extend(width) == whole.algebra.modular_sum([*added, *carry], width)


def limited(x: Word[FNode], least: int, most: int) -> Truth[FNode]:
    """Return whether a signed word lies within limits."""
    return (x >= least) & (x <= most)


def prove_moved_sum(
    laws: LawsInUse, algebra: TermAlgebra, words: Sequence[Word[FNode]], places: Word[FNode]
) -> Word[FNode]:
    """Prove of three signed words, known to be a sum, that they are one if they are moved down, with a carry.

    Return the carry, which is proved to be zero or one. It has one bit more than the words.
    """
    now: Sequence[Word[FNode]] = words
    carry = algebra.unsigned(0, 1)
    Leaves(algebra).parts(*now).use_of(laws, _is_sum(now, carry), [is_sum(now)], "a sum without a carry")
    for i in range(places.width):
        far = [w.drop_low(min(1 << i, w.width - 1)).extend(w.width) for w in now]
        out = _carry_out(now, carry, min(1 << i, now[0].width - 1))
        leaves = Leaves(algebra).parts(*now, carry)
        leaves.use_of(laws, _is_sum(far, out), [_is_sum(now, carry)], "a sum of words is moved down with a carry")
        now, carry = _where_moved(laws, algebra, places.bit(i), (far, out), (now, carry))
    for w, moved_down in zip(words, now, strict=True):
        leaves = Leaves(algebra).parts(w, places)
        same = w.shift_right(places) == moved_down
        leaves.use_of(laws, same, (), "a word is moved down by each bit of the places")
    whole = algebra.twos_complement(carry.extend(words[0].width + 1))
    leaves = Leaves(algebra).parts(*now, carry)
    for claim in (limited(whole, 0, 1), is_sum(now, whole)):
        leaves.use_of(laws, claim, [_is_sum(now, carry)], "a carry is none or one")
    return whole


_Sum = tuple[Sequence[Word[FNode]], Word[FNode]]
"""Three words, the last the sum of the others and of a carry, and this carry of one bit."""


def _is_sum(words: Sequence[Word[FNode]], carry: Word[FNode]) -> Truth[FNode]:
    return is_sum(words, carry.as_signed())


def _carry_out(words: Sequence[Word[FNode]], carry: Word[FNode], places: int) -> Word[FNode]:
    """Return what two words and a carry carry out of their lowest places."""
    x, y = (w.extract(places - 1, 0) for w in words[:2])
    return ((x + y).extend(places + 2) + carry).extract(places, places)


def _where_moved(laws: LawsInUse, algebra: TermAlgebra, bit: Truth[FNode], far: _Sum, near: _Sum) -> _Sum:
    """Prove that words chosen by a bit are a sum, as both choices are."""
    words, carry = [ite(bit, x, y) for x, y in zip(far[0], near[0], strict=True)], ite(bit, far[1], near[1])
    claim, why = _is_sum(words, carry), "one of two sums is a sum"
    for there, known in ((bit, far), (~bit, near)):
        leaves = Leaves(algebra).parts(bit, *far[0], far[1], *near[0], near[1])
        leaves.use_of(laws, ~there | claim, [_is_sum(*known)], why)
    Leaves(algebra).parts(bit, claim).use_of(laws, claim, [~bit | claim, bit | claim], why)
    return words, carry


MORE_BITS = 3
"""Bits of a surplus more than those of the words that it is of."""


@dataclass(frozen=True)
class Case:
    """The first run has the same exponent as the second one, or they are one, or two and more, apart."""

    apart: int
    """0, 1, or 2 for two and more"""
    rises: bool = True
    """whether the second run has the higher exponent"""

    @property
    def turned(self) -> Case:
        """The same case, the runs exchanged."""
        return Case(self.apart, not self.rises)

    def at(self, first: Word[FNode], second: Word[FNode]) -> Truth[FNode]:
        """Return whether exponents are as in this case."""
        low, high = (first, second) if self.rises else (second, first)
        if not self.apart:
            return low == high
        return high == low + 1 if self.apart == 1 else low + 1 < high

    def places(self, first: Word[FNode], second: Word[FNode]) -> Word[FNode]:
        """Return how far apart the exponents are, if they are as in this case."""
        apart = second - first if self.rises else first - second
        return apart.narrow_to_unsigned(apart.width - 1)

    def at_most(self, x: Word[FNode], y: Word[FNode], places: Word[FNode]) -> Truth[FNode]:
        """Return whether a word of the first run is at most one of the second."""
        if self.apart == 1:
            x, y = (x, y << 1) if self.rises else (x << 1, y)
        elif self.apart:
            x, y = (self.rounded(x, places), y) if self.rises else (x, self.rounded(y, places))
        return x <= y

    @property
    def rounded_part(self) -> int | None:
        """Which of the ``parts`` is rounded, if any."""
        return int(self.rises) if self.apart > 1 else None

    def parts(self, x: Word[FNode], y: Word[FNode], places: Word[FNode], width: int) -> list[Word[FNode]]:
        """Return what a word of the second run is, and one of the first run, negated, in common units, so wide.

        These are the units of the lower run where exponents are one apart, and else those of the higher one, to which
        words are rounded down. The sum of both has one bit more.
        """
        parts = [part.extend(width) for part in self.exact_parts(x, y)]
        if self.rounded_part is not None:
            parts[self.rounded_part] = parts[self.rounded_part].shift_right(places)
        return parts

    def exact_parts(self, x: Word[FNode], y: Word[FNode]) -> list[Word[FNode]]:
        """Return the same before it is rounded."""
        parts = [y, -x]
        if self.apart == 1:
            higher = int(not self.rises)
            parts[higher] = parts[higher] << 1
        return parts

    def surplus(self, x: Word[FNode], y: Word[FNode], places: Word[FNode], width: int) -> Word[FNode]:
        """Return how much more a word of the second run is than one of the first, in a word that is wide enough."""
        return x.algebra.modular_sum(self.parts(x, y, places, width - 1), width)

    def rounded(self, x: Word[FNode], places: Word[FNode]) -> Word[FNode]:
        """Return a word of the lower run in units of the higher one: up if that is the second, else down."""
        return -((-x).shift_right(places)) if self.rises else x.shift_right(places)


CASES = (Case(0), *(Case(apart, rises) for apart in (1, 2) for rises in (True, False)))


_Word = Word[FNode]
_Truth = Truth[FNode]
_Part = _Word | _Truth
_Term = Term[FNode, FNode]
_STAYS = "a term that stays loses at most a unit"


class OrderedTerms:
    """Proves the surplus of each term. Raises NotComposedError.

    ``place`` is that of the term that rises, and ``losing`` are those of terms that may lose something. Known to hold
    are what ``facts`` and ``moves`` return of it, and ``bounds``, those of each aligned term.
    """

    def __init__(
        self,
        algebra: TermAlgebra,
        laws: LawsInUse,
        sums: tuple[FusedSum[FNode, FNode], FusedSum[FNode, FNode]],
        place: int,
        losing: Sequence[int],
        lemmas: tuple[TermRises, LargeStep],
    ) -> None:
        self._algebra, self._laws, self._sums, self._place, self._lemmas = algebra, laws, sums, place, lemmas
        self._losing = losing
        self._width = sums[0].total.width + MORE_BITS

    def facts(self, v: _Term, above: _Term) -> list[_Truth]:
        """Return what the lemmas claim of the term that rises."""
        return [x.of_terms(self._algebra, {}, v, above) for x in self._lemmas]

    @staticmethod
    def moves(terms: Sequence[_Term], e_max: Sequence[_Word]) -> list[_Truth]:
        """Return that a largest exponent which is above the other one is that of the term that rises."""
        (v, above), (e, f) = terms, e_max
        return [~(e < f) | (above.present & (above.exponent == f)), ~(f < e) | (v.present & (v.exponent == e))]

    def limits(self, case: Case, i: int, bounds: Sequence[int]) -> tuple[int, int]:
        """Return the least and the largest surplus of a term in a case."""
        least = 0
        if case.apart:
            least = len(self._losing) if i == self._place else -int(i in self._losing)
        return least, 2 * sum(bounds) if case.apart or i == self._place else 0

    def prove_absent(self) -> None:
        """Prove of each term that it is zero if it is not present."""
        for total in self._sums:
            for t in total.terms:
                claim = t.present | t.significand.is_value(0)
                if not claim.data.is_true():
                    self._laws.claim(claim.data, (), {}, "a term that is not present is zero")

    def prove(self, case: Case, i: int, bounds: Sequence[int]) -> None:
        """Add the steps for a term in a case."""
        truncates = self._sums[0].path.cuts[i].truncates
        if i != self._place:
            (self._moved if truncates and i in self._losing else self._stays)(case, i, bounds)
        else:
            self._rises(case, bounds)

    def _in_case(
        self, case: Case, i: int, bounds: Sequence[int], words: Sequence[_Word], e_max: Sequence[_Word]
    ) -> _Truth:
        """Return whether the surplus of aligned terms is within its limits in a case, or it does not hold."""
        x, y = words
        surplus = case.surplus(x, y, case.places(*e_max), self._width)
        return ~case.at(*e_max) | limited(surplus, *self.limits(case, i, bounds))

    def _stays(self, case: Case, i: int, bounds: Sequence[int]) -> None:
        leaves, term, cut = Leaves(self._algebra), self._sums[0].terms[i], self._sums[0].path.cuts[i]
        own, e_max = leaves.term(term), [leaves.word(x.e_max) for x in self._sums]
        known = [x for e in e_max for x in _valid(own, e)]
        words = [align(self._algebra, own, e, cut) for e in e_max]
        known += [within(w, b) for w, b in zip(words, bounds, strict=True)]
        if i not in self._losing:
            self._laws.claim(term.significand.is_value(0).data, (), {}, "a term that fills a step up is zero")
            known.append(own.significand.is_value(0))
        leaves.use(self._laws, self._in_case(case, i, bounds, words, e_max), known, _STAYS)

    def _moved(self, case: Case, i: int, bounds: Sequence[int]) -> None:
        """Prove the surplus of a term from that of its magnitude."""
        algebra, term, cut = self._algebra, self._sums[0].terms[i], self._sums[0].path.cuts[i]
        # the lower exponent first, so that both directions are one lemma
        leaves, upwards = Leaves(algebra), Case(case.apart)
        exponents = [x.e_max for x in (self._sums if case.rises else self._sums[::-1])]
        own, e_max = leaves.term(term), [leaves.word(e) for e in exponents]
        known = [x for e in e_max for x in _valid(own, e)]
        kept = [_kept(own, e, cut) for e in e_max]
        moved = ~upwards.at(*e_max) | self._is_moved(upwards, kept, upwards.places(*e_max))
        leaves.use(self._laws, moved, known, "a magnitude at a higher exponent is moved down")
        exponents, words = [x.e_max for x in self._sums], [x.aligned[i] for x in self._sums]
        kept = [_kept(term, e, cut) for e in exponents]
        at, places = case.at(*exponents), case.places(*exponents)
        known = [~at | self._is_moved(case, kept, places)]
        for e, magnitude, w, bound in zip(exponents, kept, words, bounds, strict=True):
            self._with_sign(term, e, cut)
            known += [w == with_sign(term.negative, magnitude), magnitude >= 0, within(w, bound)]
        parts: list[_Part] = [at, term.negative, *kept, *words]
        if case.apart > 1:
            more, given = self._moved_far(case, term.negative, kept, words, places)
            known, parts = [*known, *more], [*parts, *given]
        leaves = Leaves(algebra).parts(*parts)
        leaves.use_of(self._laws, self._in_case(case, i, bounds, words, exponents), known, _STAYS)

    def _moved_far(
        self, case: Case, negative: _Truth, kept: Sequence[_Word], words: Sequence[_Word], places: _Word
    ) -> tuple[list[_Truth], list[_Part]]:
        """Prove what a term with a sign, moved down, is of its magnitude, moved down.

        Return what is known then, and the parts that this is about.
        """
        algebra, width, why = self._algebra, self._width - 1, "a term, moved down, is its magnitude with a sign"
        low = kept[0 if case.rises else 1]
        both = [low.extend(width), (-low).extend(width)]
        sums = [*both, algebra.signed(0, width)]
        Leaves(algebra).parts(low).use_of(self._laws, is_sum(sums), (), "a word and its negative are zero")
        carry = prove_moved_sum(self._laws, algebra, sums, places)
        of_both, nothing = [w.shift_right(places) for w in both], sums[-1].shift_right(places)
        short = low.shift_right(places)
        signed = with_sign(negative, low)
        part = int(case.rises)

        def exact(x: _Word) -> _Word:
            return case.exact_parts(x, x)[part].extend(width)

        whole = ite(negative, both[1 - part], both[part])
        chosen = ite(negative, of_both[1 - part], of_both[part])
        Leaves(algebra).parts(low, negative).use_of(self._laws, exact(signed) == whole, [low >= 0], why)
        parts: list[_Part] = [*both, negative, places]
        Leaves(algebra).parts(*parts).use_of(self._laws, whole.shift_right(places) == chosen, (), why)
        for claim in (short.extend(width) == of_both[0], nothing.is_value(0)):
            Leaves(algebra).parts(low, places).use_of(self._laws, claim, (), why)
        moved = exact(words[0 if case.rises else 1]).shift_right(places)
        known = [moved == chosen, short.extend(width) == of_both[0], nothing.is_value(0)]
        known += [is_sum([*of_both, nothing], carry), limited(carry, 0, 1)]
        return known, [moved, short, *of_both, nothing, carry]

    @staticmethod
    def _is_moved(case: Case, kept: Sequence[_Word], places: _Word) -> _Truth:
        """Return whether the magnitude at the higher exponent is the other one, moved down."""
        low, high = kept if case.rises else kept[::-1]
        if case.apart > 1:
            return high == low.shift_right(places)
        return high == (low.drop_low(1) if case.apart else low)

    def _with_sign(self, term: _Term, e_max: _Word, cut: Cut) -> None:
        """Prove that a term is a magnitude with a sign."""
        leaves = Leaves(self._algebra)
        own, e = leaves.term(term), leaves.word(e_max)
        kept, known = _kept(own, e, cut), [~own.present | (own.exponent <= e), at_most(own.significand, own.largest)]
        signed = align(self._algebra, own, e, cut) == with_sign(own.negative, kept)
        leaves.use(self._laws, signed, (), "a term is a magnitude with a sign")
        leaves.use(self._laws, kept >= 0, known, "a magnitude is not negative")

    def _rises(self, case: Case, bounds: Sequence[int]) -> None:
        leaves, path = Leaves(self._algebra), self._sums[0].path
        terms = [leaves.term(x.terms[self._place]) for x in self._sums]
        e_max = [leaves.word(x.e_max) for x in self._sums]
        known = [*self.facts(*terms), *self.moves(terms, e_max)]
        for t, e in zip(terms, e_max, strict=True):
            known += [*_valid(t, e), at_most(t.significand, t.largest)]
            known += [] if path.floor is None else [e >= path.floor]
        words = [align(self._algebra, t, e, path.cuts[self._place]) for t, e in zip(terms, e_max, strict=True)]
        claim = self._in_case(case, self._place, bounds, words, e_max)
        leaves.use(self._laws, claim, known, "the term that rises makes up for the others")


def _kept(term: _Term, e_max: _Word, cut: Cut) -> _Word:
    """Return the magnitude of an aligned term."""
    algebra = term.significand.algebra
    return align(algebra, replace(term, negative=algebra.truth(False)), e_max, cut)


def _valid(term: _Term, e_max: _Word) -> list[_Truth]:
    """Return that no exponent of a term that is present is above the largest one, and that another term is zero."""
    return [~term.present | (term.exponent <= e_max), term.present | term.significand.is_value(0)]


_Limits = tuple[int, int]


class OrderedSums:
    """Proves in each case that the first sum is at most the second. Raises NotComposedError."""

    def __init__(
        self,
        algebra: TermAlgebra,
        laws: LawsInUse,
        sums: tuple[FusedSum[FNode, FNode], FusedSum[FNode, FNode]],
        terms: OrderedTerms,
    ) -> None:
        self._algebra, self._laws, self._sums, self._terms = algebra, laws, sums, terms
        self._width = sums[0].total.width + MORE_BITS
        self._e_max = sums[0].e_max, sums[1].e_max

    def prove(self, bounds: Sequence[Sequence[int]]) -> None:
        """Add the steps. ``bounds`` are those of each aligned term in both runs."""
        width = self._sums[0].total.width
        sums, most = [x.aligned[0].extend(width) for x in self._sums], bounds[0]
        for total, bound in zip(self._sums, bounds[0], strict=True):
            prove_first_bound(self._laws, self._algebra, total, bound)
        limits = {case: self._terms.limits(case, 0, bounds[0]) for case in CASES}
        for case in CASES:
            self._first(case, sums)
        for i in range(1, len(bounds)):
            words = [x.aligned[i] for x in self._sums]
            parts = list(zip(sums, words, most, bounds[i], strict=True))
            for part in parts:
                self._fits(*part)
                prove_bound_of_sum(self._laws, self._algebra, *part)
            for case in CASES:
                limits[case] = self._one_more(case, sums, words, limits[case], self._terms.limits(case, i, bounds[i]))
            sums = [self._algebra.modular_sum(pair, width) for pair in zip(sums, words, strict=True)]
            most = [x + y for x, y in zip(most, bounds[i], strict=True)]
        for register, total in zip(sums, self._sums, strict=True):
            prove_total(self._laws, self._algebra, register, total)
        for case in CASES:
            self._at_most(case, limits[case])

    def _use(self, claim: _Truth, assumptions: Sequence[_Truth], parts: Sequence[_Part], why: str) -> None:
        Leaves(self._algebra).parts(*parts).use_of(self._laws, claim, assumptions, why)

    def _surplus(self, case: Case, words: Sequence[_Word]) -> _Word:
        x, y = words
        return case.surplus(x, y, case.places(*self._e_max), self._width)

    def _first(self, case: Case, sums: Sequence[_Word]) -> None:
        """Prove that the first terms count as much if they are as wide as their sum."""
        apart, words = case.places(*self._e_max), [x.aligned[0] for x in self._sums]
        found = [case.parts(x, y, apart, self._width - 1) for x, y in (words, sums)]
        for part, wide in zip(*found, strict=True):
            self._use(part == wide, (), [apart, *words], "a sum begins with a term")

    def _fits(self, register: _Word, term: _Word, most: int, more: int) -> None:
        """Prove that a sum with one more term does not wrap."""
        leaves = Leaves(self._algebra)
        p, x = leaves.word(register), leaves.word(term)
        leaves.use(self._laws, self._no_wrap(p, x), [within(p, most), within(x, more)], "a register does not wrap")

    def _no_wrap(self, p: _Word, x: _Word) -> _Truth:
        whole = p + x
        return whole == self._algebra.modular_sum([p, x], p.width).extend(whole.width)

    def _one_more(
        self, case: Case, sums: Sequence[_Word], words: Sequence[_Word], limits: _Limits, more: _Limits
    ) -> _Limits:
        """Prove in a case the surplus of sums with one more term each. Return its limits."""
        at = case.at(*self._e_max)
        after = [self._algebra.modular_sum(pair, pair[0].width) for pair in zip(sums, words, strict=True)]
        (a, b, c), (x, y, z) = (self._added(case, part, sums, words, after) for part in (0, 1))
        carry, laws = [*c, *z], self._laws.sums(self._width)
        wanted = [w.data for w in (a, x, b, y, *carry)]
        whole = laws.regroup([w.data for w in (a, b, *c)], [w.data for w in (x, y, *z)])
        laws.prove(whole, wanted)
        laws.regroup(wanted[:2], wanted[2:4])
        pieces = [self._surplus(case, sums), self._surplus(case, words), *carry]
        known = [~at | limited(w, *most) for w, most in zip(pieces[:2], (limits, more), strict=True)]
        known += [limited(w, 0, 1) for w in carry]
        now = (limits[0] + more[0], limits[1] + more[1] + len(carry))
        total = self._algebra.modular_sum(pieces, self._width)
        self._use(~at | limited(total, *now), known, [at, *pieces], "the surplus of a sum is that of its terms")
        return now

    def _added(
        self, case: Case, part: int, sums: Sequence[_Word], words: Sequence[_Word], after: Sequence[_Word]
    ) -> tuple[_Word, _Word, list[_Word]]:
        """Prove what counts of a register with one more term: what counts of both, and a carry, if there may be one.

        Return these. ``part`` is 0 for the second run and 1 for the first one.
        """
        run = 1 - part
        exact = [case.exact_parts(x, y)[part].extend(self._width - 1) for x, y in (sums, words, after)]
        known, given = [self._no_wrap(sums[run], words[run])], [sums[run], words[run]]
        self._use(is_sum(exact), known, given, "what counts of a sum is what counts of its words")
        carry: list[_Word] = []
        if part == case.rounded_part:
            apart = case.places(*self._e_max)
            carry = [prove_moved_sum(self._laws, self._algebra, exact, apart)]
            exact = [w.shift_right(apart) for w in exact]
        return exact[0].extend(self._width), exact[1].extend(self._width), carry

    def _at_most(self, case: Case, limits: _Limits) -> None:
        """Prove in a case that the first sum is at most the second."""
        at, apart = case.at(*self._e_max), case.places(*self._e_max)
        x, y = (t.total for t in self._sums)
        known = [~at | limited(self._surplus(case, (x, y)), *limits)]
        parts: list[_Part] = [at, x, y, *([apart] if case.apart > 1 else [])]
        self._use(~at | case.at_most(x, y, apart), known, parts, "a sum without a deficit is not smaller")
