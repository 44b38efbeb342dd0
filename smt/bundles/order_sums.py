"""How much more the second of two sums is, as steps of a bundle: the surplus of a sum is that of its terms.

With P the register of the first run, x a term that is added to it, and P' and y those of the second run, what counts of
P + x is what counts of P and of x, because the register does not wrap. If it is rounded down, there may be a carry of
one unit. So the surplus of the sums is that of P and P', that of x and y, and the carry.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.moved_sums import is_sum, limited, prove_moved_sum
from mmaproof.smt.bundles.order_cases import CASES, MORE_BITS, Case
from mmaproof.smt.bundles.order_terms import OrderedTerms
from mmaproof.smt.bundles.term_facts import prove_bound_of_sum, prove_first_bound, prove_total, within
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.semantics.fused_sum import FusedSum

_Word = Word[FNode]
_Truth = Truth[FNode]
_Part = _Word | _Truth
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
