"""The lemmas behind neutral zeros: zero products that decide no alignment, and steps that return the c they are given.

A zero product adds nothing to a sum but may lift its e_max. Where its exponent is at most that of every nonzero product
and of every nonzero c (``ZeroIsLowest``), it does not matter which exponent it has, nor whether it takes part at all:

* in a sum with a nonzero term, e_max is that of a term that is not zero, so that all cuts, and the sum, stay;
* a sum of zeros is zero whatever its e_max is. Where it is a term of a further sum, what was said of a zero product
  holds for it: its exponent is that of a zero product, or it takes no part.

Infinities and NaNs do not depend on exponents.

A step of (+0) * (+0) that returns every c which is a result of the design (``NeutralStep``; what bits a result leaves
unused says ``UnusedBitsZero``, and infinities leave the same ones) does so again and again: a further instruction of
zeros changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.conversions import ConversionLemma
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import is_finite, same_number, zero
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import unpack


class ZeroIsLowest(Lemma):
    """The exponent of (+0) * (+0), or with ``partner`` of (+0) times any finite number, is at most that of any term.

    Of any term that is not zero and has the same scales: a product a * b, and c.
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
        """Return that the partner is finite."""
        return is_finite(algebra, self.step.b_format, words["partner"]) if self.partner else algebra.truth(True)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether neither of the two terms is nonzero and below the zero product."""
        a, b = (zero(algebra, f) for f in self.step.formats[:2])
        product, accumulator = self._terms(algebra, words, words["a"], words["b"])
        nothing, _ = self._terms(algebra, words, a, words["partner"] if self.partner else b)
        claims = []
        for term in (product, accumulator):
            below = nothing.present & (term.exponent < nothing.exponent)
            claims.append(term.significand.is_value(0) | ~(below | ~term.present))
        return algebra.all_of(claims)

    def _terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], x: Word[D], y: Word[D]
    ) -> tuple[Term[D, T], Term[D, T]]:
        """Return the term of x * y, first in a step, and the last term of that step, which is c where c is one."""
        a, b = (zero(algebra, f) for f in self.step.formats[:2])
        scales = [[words[f"scale_{n}"]] * self.step.blocks(self.step.k) for n in "ab" if f"scale_{n}" in words]
        rest = self.step.k - 1
        operands = OperandWords([x, *[a] * rest], [y, *[b] * rest], words["c"], *scales)
        sums = dot_product_accumulate(self.step, algebra, operands).steps[0].sums
        return sums[0].terms[0], sums[-1].terms[-1]


def zeros_can_be_lowest(design: Design) -> bool:
    """Return whether the argument applies: products are terms of fused sums, all of one scale."""
    return design.guarantees(Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_PRODUCTS)


def unused_bits(design: Design) -> int:
    """Return how many low bits of every result that is no NaN are zero because rho does not use them."""
    return 0 if design.adds_c_last else design.d_format.fraction_bits - design.step.conversion.fraction_bits


class NeutralStep(Lemma):
    """A step of (+0) * (+0) returns the number that c is, where c is as results are.

    Where c is added once to an instruction, it is the instruction that does so.
    """

    name = "a step of zero products returns the c it is given"

    def __init__(self, design: Design) -> None:
        step = design if design.chain.adds_c_once else design.one_step()
        self.step = replace(step, signature=replace(step.signature, c=step.d_format))
        self.scales = [f"scale_{x}{i}" for x in "ab" for i in range(step.blocks(step.k))]
        scales = [Input(n, step.scale_format.bits) for n in self.scales if step.scale_format is not None]
        self.inputs = (Input("c", step.d_format.bits), *scales)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return that c is as results are: unused bits zero, not subnormal where those are flushed; finite scales."""
        fmt, unused, scale = self.step.d_format, unused_bits(self.step), self.step.scale_format
        claims = [] if scale is None else [is_finite(algebra, scale, words[n]) for n in self.scales]
        if unused:
            rounded = words["c"].extract(unused - 1, 0).is_value(0)
            claims.append(unpack(algebra, fmt, words["c"]).nan | rounded)
        if self.step.step.subnormals.of_results:
            claims.append(~unpack(algebra, fmt, words["c"]).subnormal)
        return algebra.all_of(claims)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it does."""
        a, b, c = self.step.formats[:3]
        zeros = [[zero(algebra, f)] * self.step.k for f in (a, b)]
        scales = [[words[n] for n in self.scales if n.startswith(f"scale_{x}")] for x in "ab"]
        operands = OperandWords(zeros[0], zeros[1], words["c"], *scales)
        return same_number(algebra, c, dot_product_accumulate(self.step, algebra, operands).d, words["c"])


class UnusedBitsZero(ConversionLemma):
    """A converted sum leaves the bits zero that rho does not use."""

    def __init__(self, design: Design, total: FusedSum[Any, Any]) -> None:
        super().__init__("rho leaves the bits zero that it does not use", design, total)
        self.unused = unused_bits(design)

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether it does."""
        pattern, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        return pattern.extract(self.unused - 1, 0).is_value(0)
