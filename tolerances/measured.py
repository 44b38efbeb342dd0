"""Proved bounds beside measured errors: of the results of the matrices that were drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import Patterns
from mmaproof.designs.plans import Plan
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.tolerances.proof import LIMITS
from mmaproof.tolerances.tolerance import Tolerance
from mmaproof.verification.gemm.error import Bound, Point, ones


@dataclass
class ProvedBounds:
    """Bounds the results of plans. ``tolerances`` are those of the plans so far, by plan and K."""

    solving: Solving | None = None
    limits: Limits = LIMITS
    tolerances: dict[tuple[Plan, int], Tolerance] = field(default_factory=dict)

    def __call__(self, plan: Plan, a: Patterns, b: Patterns) -> Bound:
        """Return the largest bound of the results of a (m, k) and b (k, n); its reason says by what it is proved.

        Elements whose operands are not finite are left out, as their errors are.
        """
        k = int(a.shape[1])
        found = self.tolerances.setdefault((plan, k), Tolerance(plan, k, (), self.solving, self.limits))
        if not found.proved:
            return Bound(None, None, f"nothing is proved: {found.proof.reason}")
        bounds = found.bound_of(found.given(a, b, None, *ones(plan, len(a), k, b.shape[1])))
        known = bounds[~np.isnan(bounds)]
        beyond = int(np.isinf(known).sum())
        if beyond or not known.size:
            return Bound(None, None, f"a number may overflow in {beyond} of {bounds.size} elements", bounds)
        return Bound(None, Fraction(float(known.max())), found.proof.reason, bounds)

    @property
    def undecided(self) -> bool:
        """Whether a solver did not answer in time for some plan."""
        return any(x.proof.undecided for x in self.tolerances.values())


def tighter(first: Point, second: Point) -> tuple[int, int, int]:
    """Return of how many elements the first bound is the smaller one, the second is, and both are the same.

    Raises DesignError for points that are not of the same matrices, or without bounds.
    """
    bounds = [None if x.bound is None else x.bound.elements for x in (first, second)]
    if bounds[0] is None or bounds[1] is None or bounds[0].shape != bounds[1].shape:
        raise DesignError("two bounds are compared that are proved, of results of the same matrices")
    below, above = (int(np.count_nonzero(x < y)) for x, y in ((bounds[0], bounds[1]), (bounds[1], bounds[0])))
    return below, above, bounds[0].size - below - above
