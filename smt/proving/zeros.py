"""The lemmas behind neutral zeros: zero products that decide no alignment, and steps that return their c.

A zero product adds nothing to a sum but may raise its e_max. If its exponent is at most that of every nonzero product
and of every nonzero c (``ZeroIsLowest``), neither its exponent nor whether it takes part makes a difference:

* In a sum with a nonzero term, e_max is the exponent of a nonzero term, so all cuts and the sum stay.
* A sum of zeros is zero, whatever its e_max is. If it is a term of a further sum, it has the exponent of a zero product
  or takes no part. So the argument for zero products applies to it.

If it is at most that of every nonzero product and hides no bit of c (``ZeroHidesNothing``), it makes no difference in
the one sum of a step either. It raises e_max only if no product is nonzero. Then the sum is c, of which nothing is lost
below the higher e_max, nor below the lower one. A sum converts to the same with either e_max
(``conversions.ConversionOfValue``).

Results that are infinities or NaNs do not depend on exponents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.align import loses_bits
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import is_finite, zero
from mmaproof.smt.semantics.terms import Term


class ZeroIsLowest(Lemma):
    """The exponent of a zero product is at most that of any nonzero term with the same scales: a product a * b, or c.

    The zero product is (+0) * (+0), or with ``partner`` it is (+0) times any finite number.
    """

    def __init__(self, design: Design, *, partner: bool) -> None:
        product = "zero times a finite number" if partner else "(+0) * (+0)"
        self.name = f"the exponent of {product} is at most that of every nonzero term"
        self.step, self.partner = design.one_step(), partner
        a, b, c, _ = design.formats
        columns = [("a", a), ("b", b), ("c", c), *([("partner", b)] if partner else [])]
        if design.scale_format is not None:
            columns += [(f"scale_{x}", design.scale_format) for x in "ab"]
        self.inputs = tuple(Input(n, f.bits) for n, f in columns)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the partner is finite."""
        return is_finite(algebra, self.step.b_format, words["partner"]) if self.partner else algebra.truth(True)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether each of the two terms is zero or not below the zero product."""
        product, accumulator, nothing = self._three(algebra, words)
        return algebra.all_of([self._is_above(algebra, x, nothing) for x in (product, accumulator)])

    def _three(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> tuple[Term[D, T], Term[D, T], Term[D, T]]:
        """Return the term of a product, the last term, and the term of the zero product."""
        a, b = (zero(algebra, f) for f in self.step.formats[:2])
        product, accumulator = self._terms(algebra, words, words["a"], words["b"])
        nothing, _ = self._terms(algebra, words, a, words["partner"] if self.partner else b)
        return product, accumulator, nothing

    def _is_above(self, algebra: Algebra[D, T], term: Term[D, T], nothing: Term[D, T]) -> Truth[T]:
        """Return whether a term is zero, or takes part and does not lie below the zero product."""
        below = nothing.present & (term.exponent < nothing.exponent)
        return term.significand.is_value(0) | ~(below | ~term.present)

    def _terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], x: Word[D], y: Word[D]
    ) -> tuple[Term[D, T], Term[D, T]]:
        """Return the term of x * y, the first product of a step, and the last term, which is c if c is a term."""
        a, b = (zero(algebra, f) for f in self.step.formats[:2])
        scales = [[words[f"scale_{n}"]] * self.step.blocks(self.step.k) for n in "ab" if f"scale_{n}" in words]
        rest = self.step.k - 1
        operands = OperandWords([x, *[a] * rest], [y, *[b] * rest], words["c"], *scales)
        sums = dot_product_accumulate(self.step, algebra, operands).steps[0].sums
        return sums[0].terms[0], sums[-1].terms[-1]


class ZeroHidesNothing(ZeroIsLowest):
    """Zero times a finite number has at most the exponent of any nonzero product, and c loses no bit below it."""

    def __init__(self, design: Design, total: FusedSum[Any, Any]) -> None:
        super().__init__(design, partner=True)
        self.name = "zero times a finite number lies below every nonzero product, and hides no bit of c"
        self.cut = total.path.cuts[-1]

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it does so."""
        product, accumulator, nothing = self._three(algebra, words)
        e_max = algebra.maximum([accumulator.exponent, nothing.exponent])
        kept = accumulator.present & ~loses_bits(algebra, accumulator, e_max, self.cut)
        return self._is_above(algebra, product, nothing) & (self._is_above(algebra, accumulator, nothing) | kept)


def zeros_can_be_lowest(design: Design) -> bool:
    """Return whether the argument applies: products are terms of fused sums, have the same scales, and zeros add 0.

    If what is cut of a term depended on the sign of c, a zero of the other sign could add one unit.
    """
    return design.guarantees(Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_PRODUCTS, Guarantee.OWN_CUTS)


def unused_bits(design: Design) -> int:
    """Return how many low bits of a result are zero because rho does not use them. NaNs are excepted."""
    return 0 if design.adds_c_last else design.d_format.fraction_bits - design.step.conversion.fraction_bits
