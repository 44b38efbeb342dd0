"""A step of an integer unit: exact products and their sum, in registers that wrap or saturate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mmaproof.designs.conversions import WithIntegers
from mmaproof.designs.readings import ElementProduct, IntegerOverflow
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.step import Guarantee, IntegerRange, Step, parameter, stated

REGISTERS = WithIntegers(("int32", "uint32", "int16", "int64"))
"""The conversions that are the register of an integer unit."""


@dataclass(frozen=True)
class IntegerStep(Step):
    """``c + sum a*b`` of integers, reduced to the register once.

    With ``intermediate_bits`` each sum of two neighbouring products is held in a signed register of N bits first,
    which saturates.
    """

    rho: str = parameter(
        "int32", REGISTERS, "conversion of the sum to the output format", "the register of an integer unit"
    )
    integer_overflow: IntegerOverflow = parameter(
        IntegerOverflow.WRAP, IntegerOverflow, "overflow of an integer register", "PTX ISA, .satfinite"
    )
    intermediate_bits: int | None = parameter(
        None,
        IntegerRange(2, 64, otherwise="none"),
        "bits of the saturating register that holds the sum of two neighbouring products first",
        "Intel SDM volume 2, VPMADDUBSW",
    )
    element_product: ElementProduct = parameter(
        ElementProduct.TIMES, ElementProduct, "product of two elements", "PTX ISA, mma with .b1: .and.popc, .xor.popc"
    )

    @property
    def multiplies_elements(self) -> bool:
        """Whether its products are those of numbers."""
        return self.element_product is ElementProduct.TIMES

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether rho is a register."""
        return settings["rho"] in REGISTERS

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """Either register holds a sum that fits. A register that wraps holds any sum modulo a power of two.

        A sum of two products that saturates is another number, and so is 1 where two bits differ, so nothing is stated
        of a step with these.
        """
        if self.intermediate_bits is not None or not self.multiplies_elements:
            return frozenset()
        return stated(
            {
                Guarantee.EXACT_INTEGERS: True,
                Guarantee.EXACT_IN_RANGE: True,
                Guarantee.BOUNDED_SUM: True,
                Guarantee.WRAPS_MODULO: self.integer_overflow is IntegerOverflow.WRAP,
            }
        )

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``. Sums of two products need pairs, and XOR is of bits."""
        yield from super().misfits(signature, k)
        if self.intermediate_bits is not None and self.L % 2:
            yield "L_max", f"L = {self.L} is odd, and each intermediate register adds two products"
        if self.element_product is ElementProduct.XOR and {signature.a.name, signature.b.name} != {"uint1"}:
            yield "element_product", f"xor is of elements of one bit, not of {signature.a.name} and {signature.b.name}"
