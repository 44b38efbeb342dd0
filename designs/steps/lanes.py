"""A step whose products are lanes of a narrow register: the variant TFR of Vortex's tensor unit.

A step as two interleaved chains of fused multiply-adds: the TDPBF16PS instruction of Intel AMX.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmaproof.designs.readings import ComplexPart, ImplicitOnes, NegativeZero, Sticky, Summation, ZeroSum
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.step import Guarantee, IntegerRange, RoundedOperations, RoundedStep, parameter, stated

RTL = "Vortex, hw/rtl/tcu/tfr"


@dataclass(frozen=True)
class LanesStep(RoundedStep):
    """Products, or sums of two neighbours, are lanes. They and c are aligned, truncated and added in one register.

    A lane that is zero and a zero c read the exponent e_zero. The register is two's complement and wraps. Its most
    negative number has no magnitude there, and reads as zero.
    """

    selects = {"summation": Summation.LANES}  # noqa: RUF012
    implies = {"negative_zero": NegativeZero.NEGATIVE}  # noqa: RUF012

    fraction_bits: int = parameter(
        23, IntegerRange(1, 5000), "F: fraction bits kept below 2**e_max after alignment", f"{RTL}/VX_tcu_tfr_align.sv"
    )
    pair_bits: int | None = parameter(
        None,
        IntegerRange(1, 200, otherwise="none"),
        "fraction bits of two products that are added in one lane; the lowest bit of their sum is dropped",
        f"{RTL}/VX_tcu_tfr_mul_f8.sv",
    )
    carry_bits: int | None = parameter(
        None,
        IntegerRange(-64, 64, otherwise="sufficient"),
        "integer bits of the sum above those of one product; the register wraps, 'sufficient' never does",
        f"{RTL}/VX_tcu_tfr_acc.sv",
    )
    e_zero: int = parameter(
        -133,
        IntegerRange(-2000, 2000),
        "exponent of a lane that is zero, and of c = 0",
        f"{RTL}/VX_tcu_tfr_mul_join.sv",
    )
    implicit_ones: ImplicitOnes = parameter(
        ImplicitOnes.NORMAL,
        ImplicitOnes,
        "which operands have the implicit one in their significand",
        f"{RTL}/VX_tcu_tfr_mul_f16.sv, VX_tcu_tfr_mul_join.sv",
    )
    sticky: Sticky = parameter(
        Sticky.NO,
        Sticky,
        "effect of bits that are cut off the terms on the rounding of the sum",
        f"{RTL}/VX_tcu_tfr_align.sv, VX_tcu_tfr_norm_round.sv",
    )

    @property
    def kept_bits(self) -> int | None:
        """F: the fraction bits below e_max that a lane keeps."""
        return self.fraction_bits

    @property
    def register(self) -> int | None:
        """Width of the register: a sign, carry bits, two integer bits of a product, and F; None if it never wraps."""
        return None if self.carry_bits is None else 1 + self.carry_bits + 2 + self.fraction_bits

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``. A lane of two products needs two."""
        yield from super().misfits(signature, k)
        if self.carry_bits is not None and self.carry_bits < 0:
            yield "carry_bits", f"carry_bits = {self.carry_bits} does not hold a lane"
        if self.pair_bits is None:
            return
        if self.L % 2:
            yield "L_max", f"L = {self.L} is odd, and each lane adds two products"
        if self.pair_bits < signature.a.fraction_bits + signature.b.fraction_bits:
            yield "pair_bits", f"pair_bits = {self.pair_bits} does not hold one product of {signature.a.name}"


@dataclass(frozen=True)
class InterleavedStep(RoundedStep):
    """The products of even index form one chain from +0, those of odd index another. Both sums are added, and then c.

    Every operation is rounded by rho. With ``chain_terms`` of 2, a term of a chain is the sum of two neighbouring
    products: both are rounded, then their sum, and it is added to the chain.
    """

    selects = {"summation": Summation.INTERLEAVED}  # noqa: RUF012
    implies = {"negative_zero": NegativeZero.NEGATIVE, "zero_sum": ZeroSum.IEEE}  # noqa: RUF012

    chain_terms: int = parameter(
        1,
        IntegerRange(1, 2),
        "products that are added before they join one of the interleaved chains",
        "Intel ISE programming reference, TDPBF8PS; Bochs, bochs/cpu/avx/amx.cc",
    )
    complex_part: ComplexPart = parameter(
        ComplexPart.NONE,
        ComplexPart,
        "part of a complex product that two neighbouring products make",
        "Intel SDM volume 2, TCMMRLFP16PS and TCMMIMFP16PS; Bochs, bochs/cpu/avx/amx.cc",
    )

    @property
    def multiplies_elements(self) -> bool:
        """Whether the products are those of elements with the same k."""
        return self.complex_part is ComplexPart.NONE

    @property
    def operations(self) -> RoundedOperations | None:
        """A multiply-add for each of the L products, and the sum of both chains; or rounded products and their sums."""
        if not self.multiplies_elements:
            return None
        if self.chain_terms == 2:
            return RoundedOperations(products=self.L, additions=self.L + 1)
        return RoundedOperations(multiply_adds=self.L, additions=1)

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """It consists of IEEE 754 operations, so it guarantees what these guarantee.

        The sum is bounded: rounding to nearest, or towards zero, takes ``s + p`` no further from the number ``s`` than
        twice the product p, because ``s`` itself is as near as that. So a chain is at most twice the sum of its
        products' magnitudes, and each of the two additions after it adds at most one part in 2**p. Nothing is stated
        of parts of complex products.
        """
        if not self.multiplies_elements:
            return frozenset()
        return self.about_numbers | stated(
            {
                Guarantee.ROUNDED_OPERATIONS: True,
                Guarantee.ROUNDED_LAST_SUM: True,
                Guarantee.CONVERTED_BY_RHO: True,
                Guarantee.BOUNDED_SUM: self.rounds_near and self.chain_terms == 1,
                Guarantee.FINITE_PRODUCTS: True,
                Guarantee.SINGLE_PRODUCTS: True,
            }
        )

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``. Sums of two products need pairs, and so do complex numbers."""
        yield from super().misfits(signature, k)
        if self.L % self.chain_terms:
            yield "L_max", f"L = {self.L} is odd, and a term of a chain is the sum of two products"
        if not self.multiplies_elements and self.L % 2:
            yield "L_max", f"L = {self.L} is odd, and two elements are a complex number"
