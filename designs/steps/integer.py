"""A step of an integer unit: the exact sum of exact products, in a register that wraps or saturates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmaproof.designs.readings import IntegerOverflow
from mmaproof.designs.steps.record import parameter
from mmaproof.designs.steps.step import Guarantee, Step, stated

REGISTERS = ("int32", "uint32")
"""The conversions that are the register of an integer unit."""


@dataclass(frozen=True)
class IntegerStep(Step):
    """``c + sum a*b`` of integers, reduced to the register once."""

    rho: str = parameter(
        "int32", REGISTERS, "conversion of the sum to the output format", "the register of an integer unit"
    )
    integer_overflow: IntegerOverflow = parameter(
        IntegerOverflow.WRAP, IntegerOverflow, "overflow of an integer register", "PTX ISA, .satfinite"
    )

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether rho is a register."""
        return settings["rho"] in REGISTERS

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """Either register holds a sum that fits. A register that wraps holds any sum modulo a power of two."""
        return stated(
            {
                Guarantee.EXACT_INTEGERS: True,
                Guarantee.EXACT_IN_RANGE: True,
                Guarantee.BOUNDED_SUM: True,
                Guarantee.WRAPS_MODULO: self.integer_overflow is IntegerOverflow.WRAP,
            }
        )
