"""A step as two interleaved chains of fused multiply-adds: the TDPBF16PS instruction of Intel AMX."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.readings import NegativeZero, Summation, ZeroSum
from mmaproof.designs.steps.step import RoundedStep


@dataclass(frozen=True)
class InterleavedStep(RoundedStep):
    """The products of even index form one chain from +0, those of odd index another. Both sums are added, and then c.

    Every operation is rounded by rho.
    """

    selects = {"summation": Summation.INTERLEAVED}  # noqa: RUF012
    implies = {"negative_zero": NegativeZero.NEGATIVE, "zero_sum": ZeroSum.IEEE}  # noqa: RUF012
