"""A term of an operand that rises to the next number, before and after, as steps of a bundle.

What is proved of both terms are the claims of two lemmas of the answer: that the second is not smaller
(``monotone.TermRises``), and that the step between terms of different exponents makes up for what all other terms can
lose (``monotone.LargeStep``). Of a term that is not a product this is one lemma about the operand.

With s and s' the significands of an element that rises, and n that of the other factor, s' is s + 1, s - 1,
(s + 1) / 2 or 2 * s - 1 (and 0 after 0). So s' * n is one of four products, chosen by two truth values. The values of
s, n and these are so few that all are tried, and the claims follow from how these products differ from s * n.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.term_facts import factors_of
from mmaproof.smt.proving.kernel import NotComposedError
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.semantics.terms import Term

_Word = Word[FNode]
_Truth = Truth[FNode]


class RisingSteps:
    """Proves claims about a term before and after its operand rises. Raises NotComposedError.

    ``assumed`` are the preconditions of the question, which are known to hold.
    """

    def __init__(
        self,
        algebra: TermAlgebra,
        laws: LawsInUse,
        assumed: FNode,
        before: Term[FNode, FNode],
        after: Term[FNode, FNode],
    ) -> None:
        self._algebra, self._laws, self._assumed = algebra, laws, Truth(assumed, algebra)
        self._before, self._after = before, after

    def prove(self, claims: Sequence[Truth[FNode]], why: str) -> None:
        """Add the steps."""
        of_before, of_after = (factors_of(self._algebra, t.significand) for t in (self._before, self._after))
        if len(of_before) == len(of_after) == 1:
            for claim in claims:
                self._laws.claim(claim.data, [self._assumed.data], {}, why)
            return
        if len(of_before) != 2 or len(of_after) != 2 or of_before[1].data is not of_after[1].data:
            raise NotComposedError("a term that rises is not a product of two words, one of which rises")
        known = self._of_products(of_before[0], of_after[0], of_before[1])
        for claim in claims:
            leaves = Leaves(self._algebra).parts(self._before.significand, self._after.significand)
            leaves.use_of(self._laws, claim, [self._assumed, *known], why)

    def _of_products(self, x: _Word, y: _Word, n: _Word) -> list[_Truth]:
        """Prove how both products are related: x * n, and y * n, where y is a word next to x in a way."""
        chosen = self._chosen(x, y)
        following = self._following(x, *chosen)
        self._laws.claim((y == following).data, [self._assumed.data], {}, "the next significand")
        why = "the product of the next significand"
        leaves = Leaves(self._algebra)
        s, m, first, second = leaves.word(x), leaves.word(n), *(leaves.truth(c) for c in chosen)
        product, next_product = s * m, self._following(s, first, second) * m
        for claim in self._related(s, m, product, next_product, first, second):
            leaves.use(self._laws, claim, (), why)
        return list(self._related(x, n, self._before.significand, self._after.significand, *chosen))

    def _chosen(self, x: _Word, y: _Word) -> tuple[_Truth, _Truth]:
        """Return which of the four words follows x."""
        one_more, half = y == x + 1, (y << 1) == x + 1
        one_less = (x == y + 1) | (x.is_value(0) & y.is_value(0))
        return one_more | one_less, one_more | (half & ~one_less)

    def _following(self, x: _Word, by_one: _Truth, lower: _Truth) -> _Word:
        """Return the word that follows x: one more or one less, or half of one more or twice x and one less."""
        width = x.width
        some = ite(x.is_value(0), x.algebra.unsigned(0, 1), x.algebra.unsigned(1, 1))
        more, less = (x + 1).narrow(width), (x - some).narrow_to_unsigned(width)
        half, twice = (x.drop_low(1) + 1).extend(width), ((x << 1).as_signed() - 1).narrow_to_unsigned(width)
        return ite(by_one, ite(lower, more, less), ite(lower, half, twice))

    def _related(
        self, x: _Word, n: _Word, product: _Word, following: _Word, by_one: _Truth, lower: _Truth
    ) -> Sequence[_Truth]:
        """Return how the products of a word and of the one that follows it differ, where that is a word."""
        algebra = self._algebra
        p, q, y = product, following, self._following(x, by_one, lower)
        zero, too_large, wide = x.is_value(0), (x + 1).bit(x.width), p.width + 1
        too_large_twice = (x << 1) > (1 << x.width)
        return (
            algebra.any_of([~by_one, ~lower, too_large, q.extend(wide) == p + n]),
            algebra.any_of([~by_one, lower, zero, p.extend(wide) == q + n]),
            algebra.any_of([by_one, ~lower, ~x.bit(0), (q << 1) == p + n]),
            algebra.any_of([by_one, lower, zero, too_large_twice, (p << 1) == q + n]),
            ~zero | p.is_value(0),
            ~y.is_value(0) | q.is_value(0),
            ~n.is_value(0) | (p.is_value(0) & q.is_value(0)),
            algebra.any_of([n.is_value(0), y.is_value(0), ~q.is_value(0)]),
        )
