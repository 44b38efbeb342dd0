"""The means by which questions are decided: solvers, limits and the search."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.search import WITNESSES, Budget


@dataclass(frozen=True, slots=True)
class Means:
    """How questions are answered: the solvers, their limits, and the budget and seed of the search.

    If the budget is None, there is no search. If ``solving`` has a store, witnesses are looked up and kept there too.
    If a search finds several witnesses at once, at most ``simplified`` of them are simplified, to show the simplest.
    """

    solving: Solving
    limits: Limits
    budget: Budget | None
    seed: int = 0
    simplified: int = WITNESSES
