"""By what means questions are decided."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.search import WITNESSES, Budget


@dataclass(frozen=True, slots=True)
class Means:
    """How questions are answered: the solvers, their limits, the budget of the search (None: no search), its seed.

    Where ``solving`` has a store, witnesses are looked up and kept there too. Of those that a search finds at once,
    ``simplified`` are simplified at most, to show the simplest.
    """

    solving: Solving
    limits: Limits
    budget: Budget | None
    seed: int = 0
    simplified: int = WITNESSES
