"""Whether partial sums are normalised: after a carry out, and after bits cancel (Fasi et al. 2021; Valpey et al. 2025).

A design is compared with one that normalises: it starts with the term of the largest exponent, adds the others to it
one after the other (products in index order, c last), and normalises every partial sum and cuts it to F fraction bits.
Without the normalisation that is a fused sum of truncated terms: a difference is due to the normalisation alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Alignment, First, Grouping, Join, Normalises, Summation, Truncates
from mmaproof.properties.exact import exact_twin
from mmaproof.properties.library.against_exact import check_one_step
from mmaproof.properties.library.rounding import adds_exactly
from mmaproof.properties.property import INTEGER, Ask, Property, PropertyVerdict, QuestionVerdict
from mmaproof.properties.run_question import SameResults, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.patterns import zero
from mmaproof.smt.semantics.unpack import unpack

FEW = 4
"""Products that are asked about before all of a longer step are."""


class _AsNormalised(SameResults):
    """d is that of the normalising twin, for finite operands whose signs are set.

    Only terms that the design adds in one sum take part: where c joins the products late it is +0, and where even and
    odd products are added apart the odd ones are. With ``count``, no more than so many products take part.
    """

    def __init__(self, design: Design, scope: Scope, count: int | None = None) -> None:
        check_one_step(design, scope)
        super().__init__(design, scope)
        self.normalising = normalising_twin(design)
        self.taking_part = range(0, self.k, 2 if design.parameters.grouping is Grouping.EVEN_ODD else 1)[:count]

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the design and its twin on the signed terms."""
        signed = self.signed(algebra, operands)
        return (self.design, signed), (self.normalising, signed)

    @abstractmethod
    def negative(self, term: int) -> bool:
        """Return whether the product of this index is made negative; that of the length stands for c."""

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
            accumulator if self.design.parameters.join is Join.FUSED else zero(algebra, c),
            operands.scale_a,
            operands.scale_b,
        )

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, self.signed(algebra, operands))


class _Positive(_AsNormalised):
    def negative(self, term: int) -> bool:
        """Return False: all terms are positive, or zero."""
        return False


class _Shrinking(_AsNormalised):
    """The first product has the largest exponent and a significand in [1, 2), and the others take from it."""

    def negative(self, term: int) -> bool:
        """Return whether this is not the first product."""
        return term > 0

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return also whether the first product is so, and d is not negative."""
        signed = self.signed(algebra, operands)
        shape = exact_twin(self.design, 1)  # its terms are looked at, not its sum
        if self.design.parameters.product_exponent is not shape.parameters.product_exponent:
            shape = shape.change(product_exponent=self.design.parameters.product_exponent)
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


def _with_sign(algebra: Algebra[D, T], fmt: Format, x: Word[D], negative: bool) -> Word[D]:
    """Return the pattern with the sign; a zero stays +0."""
    below = algebra.extract(x, fmt.sign_position - 1, 0)
    plus = algebra.unsigned(0, 1)
    sign = algebra.ite(algebra.is_value(below, 0), plus, algebra.unsigned(1, 1)) if negative else plus
    return algebra.concatenate(sign, below)


def normalising_twin(design: Design) -> Design:
    """Return the design with terms added one after the other, every partial sum normalised and cut to F bits."""
    p = design.parameters
    if p.summation is Summation.SEQUENTIAL:
        return design if p.normalises is Normalises.YES else design.change(normalises=Normalises.YES)
    together: dict[str, Any] = {}
    if p.join is Join.ROUND_DOWN:
        together["join"] = Join.FUSED
    if p.grouping is Grouping.EVEN_ODD:
        together["grouping"] = Grouping.ALL
    return design.change(**together).change(
        summation=Summation.SEQUENTIAL,
        first=First.EXPONENT,
        truncates=Truncates.ADDEND,
        normalises=Normalises.YES,
    )


class _Normalises(Property):
    """Partial sums are normalised."""

    asks: ClassVar[type[_AsNormalised]]
    source = "Fasi et al. 2021, Features of the accumulator; Valpey et al. 2025, property 4"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def why_not(self, design: Design) -> str | None:
        """Refuse designs without partial sums that could be normalised or not, or where that could not be seen."""
        if design.d_format.is_integer:
            return INTEGER
        p = design.parameters
        reasons = {
            "a step of one product has one sum": p.L == 1,
            "its partial sums are numbers of the output format": p.summation is Summation.PAIRWISE,
            "its terms are sums of groups of products": p.group_size is not None,
            "it does not truncate its terms": p.alignment is not Alignment.TRUNCATE,
            "its sums are exact, normalised or not": adds_exactly(design),
            "its sum of products is not one that is added term by term": p.join is Join.IEEE,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def mutant(self, design: Design) -> Design:
        """Return the normalising twin; where the design is that, one that does not normalise."""
        if design.parameters.normalises is Normalises.YES:
            return design.change(normalises=Normalises.NO)
        return normalising_twin(design)

    def settle(self, design: Design, scope: Scope, ask: Ask) -> PropertyVerdict:
        """Ask about a few products first: a difference shows there, and best."""
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
