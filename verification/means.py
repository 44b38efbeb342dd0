"""The means by which questions are decided: solvers, limits and the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.search import WITNESSES, Budget

SIMPLIFYING = 5.0
"""Seconds for which a witness is simplified at most. A long one is as simple then as a person needs it."""


@dataclass(frozen=True, slots=True)
class Means:
    """How questions are answered: the solvers, their limits, and the budget and seed of the search.

    If the budget is None, there is no search. If ``solving`` has a store, witnesses are looked up and kept there too.
    If a search finds several witnesses at once, at most ``simplified`` of them are simplified, to show the simplest.
    That takes at most ``simplifying`` seconds. When it begins, ``told`` is called with a line for a person, if there
    is one.
    """

    solving: Solving
    limits: Limits
    budget: Budget | None
    seed: int = 0
    simplified: int = WITNESSES
    simplifying: float = SIMPLIFYING
    told: Callable[[str], None] | None = None

    def begun(self) -> Self:
        """Return the means of a question that begins now, or that has begun: its limits end at a point of time."""
        return replace(self, limits=self.limits.begun())
