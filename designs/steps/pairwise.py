"""A step as a tree of rounded operations: FTZ-AddMul of Xie et al. 2026 (algorithms 1 and 2), IEEE adder trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmaproof.designs.readings import MinusZero, NegativeZero, Summation, ZeroProductSign, ZeroSum
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.step import Guarantee, RoundedOperations, RoundedStep, parameter, stated


@dataclass(frozen=True)
class PairwiseStep(RoundedStep):
    """Products, then sums of neighbours, then the sum with c: each rounded by rho."""

    selects = {"summation": Summation.PAIRWISE}  # noqa: RUF012
    implies = {"negative_zero": NegativeZero.NEGATIVE, "zero_sum": ZeroSum.IEEE}  # noqa: RUF012

    zero_product_sign: ZeroProductSign = parameter(
        ZeroProductSign.IEEE,
        ZeroProductSign,
        "sign of a product that is exactly zero",
        "publications disagree: open points 9 and 19",
    )
    minus_zero: MinusZero = parameter(
        MinusZero.KEPT,
        MinusZero,
        "an operand that is -0: an element, or c where it enters an instruction",
        "publications disagree: open point 16",
    )

    @property
    def clears_minus_zero(self) -> bool:
        """The parameter ``minus_zero``."""
        return self.minus_zero is MinusZero.POSITIVE

    @property
    def operations(self) -> RoundedOperations | None:
        """The L products and the sums of the tree."""
        return RoundedOperations(products=self.L, additions=self.L - 1)

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """It consists of IEEE 754 operations, so it guarantees what these guarantee."""
        changed = {Guarantee.UNCHANGED_OPERANDS} if self.clears_minus_zero else frozenset()
        return self.about_numbers - changed | stated(
            {
                Guarantee.ROUNDED_OPERATIONS: True,
                Guarantee.ADDER_TREE: True,
                Guarantee.ROUNDED_LAST_SUM: True,
                Guarantee.CONVERTED_BY_RHO: True,
                Guarantee.BOUNDED_SUM: self.rounds_near,
                Guarantee.FINITE_PRODUCTS: True,
                Guarantee.SINGLE_PRODUCTS: True,
            }
        )

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``. A tree of pairs must have 2**n leaves."""
        yield from super().misfits(signature, k)
        if self.L & (self.L - 1):
            yield "L_max", f"pairwise summation needs L = {self.L} to be a power of two"
