"""Aligned terms of two runs, and how much more those of the second are, as steps of a bundle.

In each case of exponents (``order_cases``) the surplus of a term that stays is none if the exponents are equal, and at
least minus one unit if not. That of the term that rises is not negative if they are equal, and at least the units of
all others if not. The magnitude of a truncated term that stays is the other one, moved down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.moved_sums import is_sum, limited, prove_moved_sum
from mmaproof.smt.bundles.order_cases import MORE_BITS, Case
from mmaproof.smt.bundles.term_facts import at_most, with_sign, within
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.proving.monotone import LargeStep, TermRises
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term

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
        elif case.apart or not truncates:
            self._rises(case, bounds)
        else:
            self._rises_in_place(case, bounds)

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
        for e in exponents:
            self._with_sign(term, e, cut)
        kept = [_kept(term, e, cut) for e in exponents]
        at, places = case.at(*exponents), case.places(*exponents)
        known = [~at | self._is_moved(case, kept, places), *self._signed((term, term), kept, words, bounds)]
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

    @staticmethod
    def _signed(
        terms: Sequence[_Term], kept: Sequence[_Word], words: Sequence[_Word], bounds: Sequence[int]
    ) -> list[_Truth]:
        """Return what is known of aligned terms and their magnitudes."""
        known = []
        for t, magnitude, w, bound in zip(terms, kept, words, bounds, strict=True):
            known += [w == with_sign(t.negative, magnitude), magnitude >= 0, within(w, bound)]
        return known

    def _rises_in_place(self, case: Case, bounds: Sequence[int]) -> None:
        """Prove the surplus of the term that rises where the exponents are equal, from that of its magnitudes."""
        algebra, cut, why = self._algebra, self._sums[0].path.cuts[self._place], "a term that rises is not smaller"
        terms: list[_Term] = [x.terms[self._place] for x in self._sums]
        exponents = [x.e_max for x in self._sums]
        for t, e in zip(terms, exponents, strict=True):
            self._with_sign(t, e, cut)
            leaves = Leaves(algebra)
            x, top = leaves.term(t), leaves.word(e)
            leaves.use(self._laws, ~x.significand.is_value(0) | _kept(x, top, cut).is_value(0), (), "a cut zero")
        for ends in ((0, 1), (1, 0)):
            leaves = Leaves(algebra)
            own, e_max = [leaves.term(terms[i]) for i in ends], [leaves.word(exponents[i]) for i in ends]
            known = [x for t, e in zip(own, e_max, strict=True) for x in _valid(t, e)]
            kept = [_kept(t, e, cut) for t, e in zip(own, e_max, strict=True)]
            claim = algebra.any_of([~(e_max[0] == e_max[1]), ~_no_larger(*own), kept[0] <= kept[1]])
            leaves.use(self._laws, claim, known, "a magnitude that is not larger has no larger cut")
        leaves = Leaves(algebra)
        own = [leaves.term(t) for t in terms]
        for claim in self._signs(own):
            leaves.use(self._laws, claim, self.facts(*own)[:1], why)
        kept = [_kept(t, e, cut) for t, e in zip(terms, exponents, strict=True)]
        words, (e, f) = [x.aligned[self._place] for x in self._sums], exponents
        known = [*self._signs(terms), *self._signed(terms, kept, words, bounds)]
        known += [~t.significand.is_value(0) | k.is_value(0) for t, k in zip(terms, kept, strict=True)]
        known += [
            algebra.any_of([~(e == f), ~_no_larger(*terms), kept[0] <= kept[1]]),
            algebra.any_of([~(f == e), ~_no_larger(*terms[::-1]), kept[1] <= kept[0]]),
        ]
        parts: list[_Part] = [
            e,
            f,
            *(t.negative for t in terms),
            *(t.significand.is_value(0) for t in terms),
            *kept,
            *words,
        ]
        leaves = Leaves(algebra).parts(*parts, _no_larger(*terms), _no_larger(*terms[::-1]))
        leaves.use_of(self._laws, self._in_case(case, self._place, bounds, words, exponents), known, why)

    def _signs(self, terms: Sequence[_Term]) -> Sequence[_Truth]:
        """Return how the magnitudes of a term that rises are in order, by its signs."""
        (v, above), any_of = terms, self._algebra.any_of
        zero, is_zero = (t.significand.is_value(0) for t in terms)
        return (
            any_of([v.negative, above.negative, zero, _no_larger(v, above)]),
            any_of([~v.negative, ~above.negative, is_zero, _no_larger(above, v)]),
            any_of([v.negative, ~above.negative, zero & is_zero]),
        )

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


def _no_larger(x: _Term, y: _Term) -> _Truth:
    """Return whether a magnitude is at most another, whose exponent is at most one apart."""
    m, n = x.significand, y.significand
    same, up, down = x.exponent == y.exponent, y.exponent == x.exponent + 1, x.exponent == y.exponent + 1
    return (same & (m <= n)) | (up & (m <= (n << 1))) | (down & ((m << 1) <= n))
