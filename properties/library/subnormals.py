"""Subnormal numbers: as elements of a and b, as the accumulator, and as results (Fasi et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.special_case import OfOneProduct, exact_product, smallest_product
from mmaproof.properties.property import INTEGER, UNSTATED, SimpleProperty
from mmaproof.properties.question import RunQuestion, Scope
from mmaproof.properties.settings import exact_twin
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.semantics.align import Cut, loses_bits
from mmaproof.smt.semantics.patterns import normalised, one, same_number, unpack, zero
from mmaproof.smt.semantics.terms import Factors

_SOURCE = "Fasi et al. 2021, Support for subnormal numbers"


class _ReturnsProduct(OfOneProduct):
    """A product that is a number of d's format, in rho's precision, is returned."""

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is the exact product: the same sign, exponent of the top bit, and bits below that."""
        product = exact_product(algebra, self.factors(algebra, operands))
        d = normalised(algebra, unpack(algebra, self.design.d_format, results[0].d))
        width = max(product.significand.width, d.significand.width)
        bits = [algebra.shift_left(x.significand, width - x.significand.width) for x in (product, d)]
        other_sign = algebra.exclusive_or(product.negative, d.negative)
        return algebra.all_of(
            [
                algebra.equal(product.exponent, d.exponent),
                algebra.equal(*bits),
                *(algebra.negation(t) for t in (other_sign, d.infinite, d.nan)),
            ]
        )


class _SubnormalFactor(_ReturnsProduct):
    """A product with a subnormal factor is returned."""

    def meant(self, algebra: Algebra[D, T], x: Factors[D, T]) -> Truth[T]:
        """Return whether a factor is subnormal and the product is a normal number with the bits that rho keeps."""
        d, product = self.design.d_format, exact_product(algebra, x)
        low = algebra.less(product.exponent, algebra.signed(d.e_min))
        high = algebra.less(algebra.signed(d.e_max), product.exponent)
        lost = loses_bits(algebra, product, product.exponent, Cut(self.design.step.conversion.fraction_bits))
        subnormal = algebra.any_of([x.a.subnormal, x.b.subnormal])
        return algebra.all_of([product.present, subnormal, *(algebra.negation(t) for t in (low, high, lost))])


class _SubnormalAccumulator(RunQuestion):
    """A subnormal c by itself is what rho makes of it."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return c with nothing but (+0) * (+0) beside it and scales of one, as the design has it and exactly."""
        a, b, _ = self.formats
        columns = [[zero(algebra, f)] * len(operands.a) for f in (a, b)]
        scale = self.scale_format
        scales = [] if scale is None else [[one(algebra, scale)] * self.blocks] * 2
        alone = OperandWords(columns[0], columns[1], operands.c, *scales)
        return (self.design, alone), (exact_twin(self.design), alone)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether c is subnormal."""
        return unpack(algebra, self.formats[2], operands.c).subnormal

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether both results are the same number."""
        return same_number(algebra, self.design.d_format, results[0].d, results[1].d)


class _SubnormalResult(_ReturnsProduct):
    """A subnormal product of normal factors is returned."""

    def meant(self, algebra: Algebra[D, T], x: Factors[D, T]) -> Truth[T]:
        """Return whether both factors are normal and their product a subnormal number with the bits that rho keeps."""
        d, product = self.design.d_format, exact_product(algebra, x)
        low = algebra.less(product.exponent, algebra.signed(d.e_min))
        e_max = algebra.maximum([product.exponent, algebra.signed(d.e_min)])
        lost = loses_bits(algebra, product, e_max, Cut(self.design.step.conversion.fraction_bits))
        subnormal = algebra.any_of([x.a.subnormal, x.b.subnormal])
        return algebra.all_of([product.present, low, *(algebra.negation(t) for t in (lost, subnormal))])


class SubnormalOperands(SimpleProperty):
    """Subnormal elements of a and b are used, not flushed."""

    name = "subnormal-operands"
    feature = "subnormal elements of a and b are used"
    statement = (
        "d = a[0] * b[0] for finite a[0], b[0], at least one of them subnormal, whose product is a normal number of "
        "d's format with no more fraction bits than rho keeps, all else being +0"
    )
    witness = "a product with a subnormal factor that is not returned"
    source = f"{_SOURCE}, question 1; Xie et al. 2026, section 6.2.1 and table 10"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def mutant(self, design: Design) -> Design:
        """Return a design that flushes them, or one that does not."""
        flushed = design.step.subnormals.of_a or design.step.subnormals.of_b
        return design.change(subnormals="kept" if flushed else "operands")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about one product."""
        return _SubnormalFactor(design, scope)


class SubnormalAccumulator(SimpleProperty):
    """A subnormal accumulator is used, not flushed."""

    name = "subnormal-accumulator"
    feature = "a subnormal c is used"
    statement = "d = rho(c) for subnormal c, where every product is (+0) * (+0), with scales of one"
    witness = "a subnormal c that d does not show"
    source = f"{_SOURCE}, question 2"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def mutant(self, design: Design) -> Design:
        """Return a design that flushes it, or one that does not."""
        flushed = design.step.subnormals.of_c
        return design.change(subnormals="kept" if flushed else "accumulator")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about c."""
        return _SubnormalAccumulator(design, scope)


class SubnormalResults(SimpleProperty):
    """Subnormal results are produced, not flushed."""

    name = "subnormal-results"
    feature = "subnormal results are produced"
    statement = (
        "d = a[0] * b[0] for normal a[0], b[0] whose product is a subnormal number of d's format with no more fraction "
        "bits than rho keeps, all else being +0"
    )
    witness = "normal numbers whose product is a subnormal number, and is not returned"
    source = f"{_SOURCE}, question 3"
    specimen = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def why_not(self, design: Design) -> str | None:
        """Return that integers have no subnormals, or that every product is too large."""
        if design.d_format.is_integer:
            return INTEGER
        if not design.guarantees(*self.rests_on):
            return UNSTATED
        smallest, e_min = smallest_product(design, normal=True), design.d_format.e_min
        if smallest < Fraction(2) ** e_min:
            return None
        return f"no product of normal numbers is below 2^{e_min}, the smallest normal number of {design.d_format.name}"

    def mutant(self, design: Design) -> Design:
        """Return a design that flushes them, or one that does not."""
        flushed = design.step.subnormals.of_results
        return design.change(subnormals="kept" if flushed else "results")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about one product."""
        return _SubnormalResult(design, scope)
