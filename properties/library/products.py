"""Products, each by itself and two at a time, against their exact sum (Fasi et al. 2021; Valpey et al. 2025, 4.1)."""

from __future__ import annotations

from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.against_exact import AgainstExact, is_normal, keeping, keeps_at_most, product_bits
from mmaproof.properties.property import SimpleProperty
from mmaproof.properties.question import RunQuestion, Scope
from mmaproof.properties.settings import exact_twin
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate


class ProductsExact(SimpleProperty):
    """A product by itself is not cut or rounded before it is converted."""

    name = "products-exact"
    feature = "products are exact"
    statement = (
        "d(a, b, +0) = rho(a_0 b_0) where all other elements are +0, for normal a_0, b_0 (and scales) and "
        "rho(a_0 b_0) a normal number; all blocks have the same scales"
    )
    witness = "one product, which comes out other than rounded once"
    source = "Fasi et al. 2021, Accuracy of the dot products; Valpey et al. 2025, 4.1 and table 1"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def mutant(self, design: Design) -> Design:
        """Return the design with one bit fewer than a product or the result has, or the exact one if it has fewer."""
        kept = min(product_bits(design), design.step.conversion.fraction_bits) - 1
        if keeps_at_most(design, kept):
            return exact_twin(design)
        return keeping(design, kept)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that the product is what one rounding of it gives."""
        return _OneProduct(design, scope)


class _OneProduct(AgainstExact):
    def __init__(self, design: Design, scope: Scope) -> None:
        super().__init__(design, scope, with_c=False, fraction_bits=product_bits(design) + 1)


class AccumulationPrecision(SimpleProperty):
    """A unit with fp16 results adds products that are not fp16 numbers."""

    name = "accumulation-precision"
    feature = "products are not rounded to fp16 before they are added"
    statement = (
        "d(a, b, +0) = a_0 b_0 + a_1 b_1 where all other elements are +0, for normal a_0, b_0, a_1, b_1 whose exact "
        "sum is an fp16 number, and not both products are; all blocks have the same scales"
    )
    witness = "two products, not both of them fp16 numbers, whose sum is one and does not come out"
    source = "Valpey et al. 2025, property 1; Fasi et al. 2021, Accuracy of the dot products (binary16 C and D)"
    specimen = "volta/mma.m8n8k4.f16.f16.f16.f16"
    rests_on = (Guarantee.CONVERTED_BY_RHO,)

    def why_not(self, design: Design) -> str | None:
        """Refuse designs with other results, and steps of one product."""
        if design.d_format is not FORMATS["fp16"]:
            return f"its results are {design.d_format.name}, not fp16"
        a, b, d = design.a_format, design.b_format, design.d_format
        bits, lowest = product_bits(design), a.e_min + b.e_min - product_bits(design)
        if bits <= d.fraction_bits and lowest >= d.e_min - d.fraction_bits and a.e_max + b.e_max + 1 < d.e_max:
            return f"every product of {a.name} and {b.name} is an fp16 number"
        return "a step of one product adds no two" if design.step.L == 1 else super().why_not(design)

    def mutant(self, design: Design) -> Design:
        """Return a design that rounds every product and sum to fp16, or the exact one if the design does so, or cuts.

        Half a unit in the last place of the result must be kept with something below it.
        """
        if design.step.kept_bits is None or keeps_at_most(design, design.step.conversion.fraction_bits + 1):
            return exact_twin(design)
        return design.change(summation="pairwise")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return that a sum of two products that is an fp16 number is returned, even if neither product is one."""
        return _TwoProducts(design, scope)


class _TwoProducts(AgainstExact):
    def __init__(self, design: Design, scope: Scope) -> None:
        super().__init__(design, scope, count=2, with_c=False)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are normal, the sum is an fp16 number and some product is not."""
        a, b, _ = self.formats
        given = [(f, x) for f, column in ((a, operands.a), (b, operands.b)) for x in column[:2]]
        if self.scale_format is not None:
            given += [(self.scale_format, x) for x in (operands.scale_a[0], operands.scale_b[0])]
        alone = [self.alone(algebra, operands, i) for i in (0, 1)]
        return algebra.all_of(
            [
                *(is_normal(algebra, f, x) for f, x in given),
                self._is_representable(algebra, self.asked(self.twin), self.first(algebra, operands)),
                algebra.negation(
                    algebra.all_of([self._is_representable(algebra, self.twin_of_product, x) for x in alone])
                ),
            ]
        )

    @staticmethod
    def _is_representable(algebra: Algebra[D, T], twin: Design, operands: OperandWords[D]) -> Truth[T]:
        """Return whether the exact sum is an fp16 number, that is, rounding it down and up gives the same."""
        around = [twin.change(rho=rho) for rho in ("rtn-fp16", "rtp-fp16")]
        down, up = (dot_product_accumulate(x, algebra, operands).d for x in around)
        return algebra.equal(down, up)
