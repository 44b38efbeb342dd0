"""Plans in the place of designs: what the other modules ask of a design, answered for a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.programs import JoinsC, Plan
from mmaproof.gemm.programs.evaluate import multiply_plan


@dataclass(frozen=True)
class Planned:
    """A plan as what computes products. Raises DesignError for one that cannot be computed."""

    plan: Plan

    def __post_init__(self) -> None:
        self.plan.require()

    @property
    def name(self) -> str:
        """The text that is read as this plan."""
        return self.plan.name

    @property
    def base_name(self) -> str:
        """The same: a plan has no shorter name."""
        return self.name

    @property
    def a_format(self) -> Format:
        """The format of a."""
        return self.plan.formats[0]

    @property
    def b_format(self) -> Format:
        """The format of b."""
        return self.plan.formats[1]

    @property
    def c_format(self) -> Format:
        """The format of c."""
        return self.plan.formats[2]

    @property
    def d_format(self) -> Format:
        """The format of d."""
        return self.plan.formats[3]

    @property
    def scale_format(self) -> None:
        """No format: plans have no scales."""

    @property
    def block(self) -> None:
        """No block: plans have no scales."""

    @property
    def k(self) -> int:
        """The elements of k of which there have to be a multiple."""
        return self.plan.k_tile

    @property
    def reads_c(self) -> bool:
        """Whether the plan has a place for c."""
        return self.plan.epilogue.c is not JoinsC.NONE

    def multiply(self, a: Patterns, b: Patterns, c: Patterns | None, jobs: int) -> Patterns:
        """Return the patterns of d; k is filled up with +0 to whole tiles."""
        missing = -a.shape[1] % self.k
        if missing:
            a, b = np.pad(a, ((0, 0), (0, missing))), np.pad(b, ((0, missing), (0, 0)))
        return multiply_plan(self.plan, a, b, c, jobs=jobs)


Multiplier = Design | Planned
"""What computes products."""
