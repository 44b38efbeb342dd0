"""A result that does not fall where one operand rises, as steps of a bundle.

The *first* run is that of the operands as given, and the *second* has the next number in the place of one of them. So
one term v is another one, v', and the others are the same. With e and e' the largest exponents of both runs:

* v' is not smaller than v, and where their exponents differ it makes up for what the others lose (``RisingSteps``);
* e is e', or the larger one of them is the exponent of v or of v'. So one of the cases of ``order_sums`` holds;
* in each case a term that stays is in the first run at most what it is in the second, and one unit more where e is not
  e'. Then v is at most v', less the units of all others (``OrderedTerms``);
* so the first sum is at most the second, term by term, because no register wraps (``OrderedSums``);
* ``ConvertedInOrder`` says that the first sum is not converted to a larger number, and operands that are finite give no
  special result.

A term of an operand that rises to the next number, before and after, as steps of a bundle.

What is proved of both terms are the claims of two lemmas of the answer: that the second is not smaller
(``monotone.TermRises``), and that the step between terms of different exponents makes up for what all other terms can
lose (``monotone.LargeStep``). Of a term that is not a product this is one lemma about the operand.

With s and s' the significands of an element that rises, and n that of the other factor, s' is s + 1, s - 1,
(s + 1) / 2 or 2 * s - 1 (and 0 after 0). So s' * n is one of four products, chosen by two truth values. The values of
s, n and these are so few that all are tried, and the claims follow from how these products differ from s * n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.converted_alike import Converted
from mmaproof.smt.bundles.converted_in_order import ConvertedInOrder
from mmaproof.smt.bundles.leaves import Leaves, factors_of, prove_bounds, prove_largest_exponent, prove_no_special
from mmaproof.smt.bundles.order_sums import CASES, OrderedSums, OrderedTerms
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.monotone import LargeStep, TermRises
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import largest_exponent
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


_Term = Term[FNode, FNode]

SHIFTED_SECONDS = 60.0
"""Seconds in which a lemma about words that are moved by any number of places is refuted."""


class OrderSteps:
    """Proves that the result of the first of two steps is at most that of the second. Raises NotComposedError.

    ``rises`` and ``large`` are lemmas of the answer, whose claims about terms are proved here of the terms themselves
    (that of ``large`` without its exceptions).
    ``assumed`` are the preconditions, which are known to hold.
    """

    def __init__(
        self,
        kernel: Kernel,
        first: StepSignals[FNode, FNode],
        second: StepSignals[FNode, FNode],
        rises: TermRises,
        large: LargeStep,
        assumed: FNode,
    ) -> None:
        self._algebra = TermAlgebra(kernel.environment)
        self._laws = LawsInUse(kernel, seconds=SHIFTED_SECONDS)
        self._signals = first, second
        self._assumed = Truth(assumed, self._algebra)
        if any(len(x.sums) != 1 or x.path.rounds_again is not None or x.path.drops_c for x in self._signals):
            raise NotComposedError("an order of terms that pass through several sums, or are dropped")
        self._sums = first.sums[0], second.sums[0]
        if large.half_unseen:
            raise NotComposedError("an order that holds only because the conversion does not see the last bit")
        if any(cut.fraction_bits != x.fraction_bits for x in self._sums for cut in x.path.cuts):
            raise NotComposedError("an order of terms that are cut in different places")
        self._place = self._changed()
        losing, path = self._losing(), first.sums[0].path
        # whatever their exponents are: more than ``large`` says where c rises beside products that lie above it
        makes_up = LargeStep(large.changed, path.cuts[self._place], [path.cuts[i] for i in losing], path.floor)
        self._terms = OrderedTerms(self._algebra, self._laws, self._sums, self._place, losing, (rises, makes_up))

    def _changed(self) -> int:
        """Return the place of the term that rises."""
        found = []
        for i, (x, y) in enumerate(zip(self._sums[0].terms, self._sums[1].terms, strict=True)):
            parts = ((t.negative.data, t.exponent.data, t.significand.data, t.present.data) for t in (x, y))
            if not all(map(self._laws.kernel.same, *parts)):
                found.append(i)
        if len(found) != 1:
            raise NotComposedError(f"{len(found)} terms rise, where one is expected")
        return found[0]

    def _losing(self) -> list[int]:
        """Return the places of the other terms that may lose something: a step is filled up with zeros."""
        simplified = self._algebra.environment.simplifier.simplify
        zeros = [simplified(t.significand.is_value(0).data).is_true() for t in self._sums[0].terms]
        return [i for i, zero in enumerate(zeros) if not zero and i != self._place]

    def prove(self, target: Format, claim: Callable[[Word[FNode], Word[FNode]], Truth[FNode]]) -> None:
        """Add the steps. ``claim`` is what the question says of both results, numbers of ``target``."""
        for total in self._sums:
            prove_largest_exponent(self._laws, self._algebra, total)
        self._terms.prove_absent()
        self._terms_that_rise()
        self._exponents()
        bounds = list(zip(*(prove_bounds(self._laws, self._algebra, x) for x in self._sums), strict=True))
        for case in CASES:
            for i, bound in enumerate(bounds):
                self._terms.prove(case, i, bound)
        OrderedSums(self._algebra, self._laws, self._sums, self._terms).prove(bounds)
        first, second = (
            Converted(x.total, x.e_max, x.fraction_bits, y.converted, y.overflowed)
            for x, y in zip(self._sums, self._signals, strict=True)
        )
        converted = ConvertedInOrder(self._algebra, self._laws, first, second, target)
        converted.prove(CASES)
        self._results(converted, claim)

    # --- exponents ----------------------------------------------------------------------------------------------

    def _pair(self) -> tuple[_Term, _Term]:
        """Return the term that rises, before and after."""
        return self._sums[0].terms[self._place], self._sums[1].terms[self._place]

    def _terms_that_rise(self) -> None:
        steps = RisingSteps(self._algebra, self._laws, self._assumed.data, *self._pair())
        steps.prove(self._terms.facts(*self._pair()), "the term of the next number")

    def _exponents(self) -> None:
        """Prove how the largest exponents are related, and that one of the cases holds."""
        leaves, path = Leaves(self._algebra), self._sums[0].path
        own = [leaves.term(t) for t in self._sums[0].terms]
        above = leaves.term(self._pair()[1])
        after = [*own[: self._place], above, *own[self._place + 1 :]]
        top = [largest_exponent(self._algebra, x, path.floor, path.comparator) for x in (own, after)]
        for claim in self._terms.moves((own[self._place], above), top):
            leaves.use(self._laws, claim, (), "a largest exponent that changes is that of the term that rises")
        if path.floor is not None:
            for x in top:
                leaves.use(self._laws, x >= path.floor, (), "the largest exponent is not below its floor")
        leaves = Leaves(self._algebra)
        e, f = (leaves.word(x.e_max) for x in self._sums)
        leaves.use(self._laws, self._algebra.any_of([x.at(e, f) for x in CASES]), (), "the cases are all")

    # --- results ------------------------------------------------------------------------------------------------

    def _results(self, converted: ConvertedInOrder, claim: Callable[[Word[FNode], Word[FNode]], Truth[FNode]]) -> None:
        """Prove the claim of the question about both results, which are the sums, converted."""
        for x in self._signals:
            prove_no_special(self._laws, self._algebra, x, self._assumed.data)
        leaves = Leaves(self._algebra)
        patterns = [leaves.word(x.d) for x in self._signals]
        leaves.use(self._laws, claim(*patterns), [converted.in_order(*patterns)], "the results are in order")
