"""How far the exact sum of a step lies from its register, as steps of a bundle.

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
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.term_facts import at_most, prove_bounds, prove_total, whole_and_rest, with_sign, within
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.step_error import StepError

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
