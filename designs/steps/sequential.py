"""A step that adds its terms to one accumulator in turn, as Fasi et al. 2021 describe tensor cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mmaproof.designs.readings import First, Normalises, Summation, Truncates
from mmaproof.designs.steps.aligned import AlignedStep, SingleProducts
from mmaproof.designs.steps.step import Guarantee, parameter, record, stated


@dataclass(frozen=True)
class SequentialStep(AlignedStep):
    """Terms are aligned at the exponent of the term that the sum starts with, and added in turn."""

    selects = {"summation": Summation.SEQUENTIAL}  # noqa: RUF012

    terms: SingleProducts = record(SingleProducts(), SingleProducts)
    first: First = parameter(First.EXPONENT, First, "term a sequential sum starts with", "Fasi et al. 2021")
    truncates: Truncates = parameter(Truncates.ADDEND, Truncates, "what a sequential sum cuts", "Fasi et al. 2021")
    normalises: Normalises = parameter(
        Normalises.NO, Normalises, "whether a sequential sum normalises", "Fasi et al. 2021"
    )

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """It is aligned once if it starts with the largest exponent, cuts addends and does not normalise."""
        if self.terms.drops_bits:
            return frozenset()
        once = (self.first, self.truncates, self.normalises) == (First.EXPONENT, Truncates.ADDEND, Normalises.NO)
        return super().guarantees | stated(
            {
                Guarantee.BOUNDED_SUM: self.rounds_near and not self.terms.shift,
                Guarantee.C_AS_TERM: True,
                Guarantee.TRUNCATES: True,
                Guarantee.SUM_IN_TURN: once,
            }
        )

    def settings(self) -> dict[str, Any]:
        """Return the values of its parameters by name. It has none for groups and parts."""
        found = super().settings()
        del found["group_size"], found["low_bits"], found["fidelity_phase"]
        return found

    @property
    def hands_on_overflow(self) -> bool:
        """True where the format of d has infinities, because d is the converted sum."""
        return self.range_end is None
