"""Whether partial sums are normalised: after a carry out, and after bits cancel (Fasi et al. 2021; Valpey et al. 2025).

A design is compared with a twin that normalises. The twin starts with the term of the largest exponent and adds the
others one after the other (products in index order, c last). It normalises every partial sum and cuts it to F fraction
bits. Without the normalisation this is a fused sum of truncated terms, so a difference is due to the normalisation
alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.against_exact import check_one_step
from mmaproof.properties.library.rounding import adds_exactly
from mmaproof.properties.property import (
    INTEGER,
    UNSTATED,
    Ask,
    Property,
    PropertyVerdict,
    QuestionVerdict,
)
from mmaproof.properties.question import SameResults, Scope
from mmaproof.properties.settings import changed_to, exact_twin, has_value
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.datapath import Product, datapath
from mmaproof.smt.semantics.patterns import unpack, zero

FEW = 4
"""How many products are asked about before all products of a longer step are."""


class _AsNormalised(SameResults):
    """d is that of the normalising twin, for finite operands whose signs are set.

    Only terms that the design adds in one sum take part. If c joins the products late, it is +0. If even and odd
    products are added apart, the odd ones are +0. With ``count``, no more than N products take part.
    """

    def __init__(self, design: Design, scope: Scope, count: int | None = None) -> None:
        check_one_step(design, scope)
        super().__init__(design, scope)
        self.normalising = normalising_twin(design)
        self.taking_part = tuple(k for k in _added_together(design) if k < self.k)[:count]

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the design and its twin on the signed terms."""
        signed = self.signed(algebra, operands)
        return (self.design, signed), (self.normalising, signed)

    @abstractmethod
    def negative(self, term: int) -> bool:
        """Return whether the product of this index is made negative. The index after the last product stands for c."""

    def signed(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return operands of the terms that are added in one sum, each with its sign."""
        a, b, c = self.formats

        def column(fmt: Format, words: Sequence[Word[D]], *, signs: bool) -> list[Word[D]]:
            return [
                _with_sign(algebra, fmt, x, signs and self.negative(k)) if k in self.taking_part else zero(algebra, fmt)
                for k, x in enumerate(words)
            ]

        accumulator = _with_sign(algebra, c, operands.c, self.negative(self.k))
        return OperandWords(
            column(a, operands.a, signs=True),
            column(b, operands.b, signs=False),
            accumulator if self._takes_c() else zero(algebra, c),
            operands.scale_a,
            operands.scale_b,
        )

    def _takes_c(self) -> bool:
        """Return whether c is aligned with the products, or with sums of them."""
        return self.design.guarantees(Guarantee.C_AS_TERM) and not self.design.adds_c_last

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, self.signed(algebra, operands))


class _Positive(_AsNormalised):
    def negative(self, term: int) -> bool:
        """Return False: all terms are positive, or zero."""
        return False


class _Shrinking(_AsNormalised):
    """The first product has the largest exponent and a significand in [1, 2), and the other terms are negative."""

    def negative(self, term: int) -> bool:
        """Return whether this is not the first product."""
        return term > 0

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return also whether the first product is like that, and d is not negative."""
        signed = self.signed(algebra, operands)
        shape = exact_twin(self.design, 1)  # its terms are looked at, not its sum
        if not self.design.guarantees(Guarantee.SUMMED_EXPONENTS):
            shape = shape.change(product_exponent="normalised")
        d, terms = (dot_product_accumulate(self.asked(x), algebra, signed) for x in (self.design, shape))
        first, *others = terms.steps[0].sums[0].terms
        one, two = (algebra.unsigned(x << first.fraction_bits, first.significand.width + 1) for x in (1, 2))
        return algebra.all_of(
            [
                super().assumption(algebra, operands),
                algebra.negation(algebra.less(first.significand, one)),
                algebra.less(first.significand, two),
                *(
                    algebra.negation(algebra.all_of([x.present, algebra.less(first.exponent, x.exponent)]))
                    for x in others
                ),
                algebra.negation(unpack(algebra, self.design.d_format, d.d).negative),
            ]
        )


def _added_together(design: Design) -> tuple[int, ...]:
    """Return which products of a step are terms of its first sum; all, where it has no sums but adds in turn."""
    (path,) = datapath(design.one_step(), design.step.L)
    if not path.sums:
        return path.ks
    return tuple(label.k for label in path.sums[0].terms if isinstance(label, Product))


def _with_sign(algebra: Algebra[D, T], fmt: Format, x: Word[D], negative: bool) -> Word[D]:
    """Return the pattern with the sign; a zero stays +0."""
    below = algebra.extract(x, fmt.sign_position - 1, 0)
    plus = algebra.unsigned(0, 1)
    sign = algebra.ite(algebra.is_value(below, 0), plus, algebra.unsigned(1, 1)) if negative else plus
    return algebra.concatenate(sign, below)


def normalising_twin(design: Design) -> Design:
    """Return the design with terms added one after the other, every partial sum normalised and cut to F bits."""
    if "normalises" in design.settings:
        return changed_to(design, normalises="yes")
    together = {} if design.adds_c_last else {"join": "fused"}
    return changed_to(design, grouping="all", **together).change(
        summation="sequential", first="exponent", truncates="addend", normalises="yes"
    )


class _Normalises(Property):
    """Partial sums are normalised."""

    asks: ClassVar[type[_AsNormalised]]
    source = "Fasi et al. 2021, Features of the accumulator; Valpey et al. 2025, property 4"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def why_not(self, design: Design) -> str | None:
        """Refuse designs that have no partial sums to normalise, or whose normalisation could not be seen."""
        if design.d_format.is_integer:
            return INTEGER
        reasons = {
            "a step of one product has one sum": design.step.L == 1,
            "its partial sums are numbers of the output format": design.guarantees(Guarantee.ROUNDED_OPERATIONS),
            UNSTATED: not design.guarantees(Guarantee.ALIGNED_TERMS),
            "its terms are sums of groups of products": not design.guarantees(Guarantee.SINGLE_PRODUCTS),
            "it does not truncate its terms": not design.guarantees(Guarantee.TRUNCATES),
            "its sum of products is not one that is added term by term": design.step.adds_c_last,
        }
        found = next((reason for reason, holds in reasons.items() if holds), None)
        return "its sums are exact, normalised or not" if found is None and adds_exactly(design) else found

    def mutant(self, design: Design) -> Design:
        """Return the normalising twin. If the design is that twin, return one that does not normalise."""
        return design.change(normalises="no") if has_value(design, "normalises", "yes") else normalising_twin(design)

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask about a few products first, because a difference shows best there."""
        whole = self.asks(design, scope)
        asked = {self.feature: whole}
        if len(whole.taking_part) > FEW:
            asked = {f"{self.feature}: {FEW} products": self.asks(design, scope, FEW), **asked}
        answers: dict[str, QuestionVerdict] = {}
        for what, question in asked.items():
            answers[what] = found = ask(question, what)
            if found.witness is not None:
                return PropertyVerdict(found.status, runs=question.witness_runs(found.witness), answers=answers)
        return PropertyVerdict(found.status, reason=found.reason, answers=answers)


class NormalisedInAddition(_Normalises):
    """A partial sum that carries out is normalised before the next term is added."""

    name = "normalised-in-addition"
    feature = "partial sums are normalised in addition"
    statement = (
        "d(a, b, c) = that of the terms added one by one, largest exponent first, each partial sum normalised and cut "
        "to F bits, for finite a, b, c >= 0 (c = 0 where it joins late; odd products 0 where they are added apart)"
    )
    witness = "positive terms whose sum keeps bits below F of a partial sum that carried out"
    asks = _Positive


class NormalisedInSubtraction(_Normalises):
    """A partial sum that shrinks is normalised before the next term is added."""

    name = "normalised-in-subtraction"
    feature = "partial sums are normalised in subtraction"
    statement = (
        "d(a, b, c) = that of the terms added one by one, largest exponent first, each partial sum normalised and cut "
        "to F bits, for finite operands with a_0 b_0 in [1, 2) times the largest power of two of all terms, the other "
        "terms <= 0 and d >= 0 (c = 0 where it joins late; odd products 0 where they are added apart)"
    )
    witness = "terms whose sum loses bits that a partial sum, after cancellation, would have had room for"
    asks = _Shrinking
