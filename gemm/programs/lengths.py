"""The K of plans at which what they do shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mmaproof.designs.errors import DesignError
from mmaproof.gemm.programs.normal_form import same_computation
from mmaproof.gemm.programs.parts import ASCENDING
from mmaproof.gemm.programs.plan import LONGEST_PLANNED, PartSum, Plan

MOST_TILES = 256
"""How many tiles are tried to find a K at which all parts of plans occur."""
MOST_COMPARED = 48
"""How many K are tried to find one at which the operations of plans differ."""


def shortest_k(plans: Sequence[Plan], parts: int = 2) -> int:
    """Return the least K that all plans take and at which each rule of parts makes at least N.

    Raises DesignError if there is none: the sizes that a plan states may not fit, or may not fit each other.
    """
    tile = math.lcm(*(x.k_tile for x in plans))
    problem = None
    for k in range(tile, min(tile * MOST_TILES, LONGEST_PLANNED) + 1, tile):
        try:
            if all(_has_parts(x, k, parts) for x in plans):
                return k
        except DesignError as error:
            problem = error
    names = " and ".join(x.name for x in plans)
    raise DesignError(f"no K was found for {names}: give one with --k" + (f" ({problem})" if problem else ""))


def telling_k(plans: Sequence[Plan]) -> int:
    """Return the least K at which all parts of all plans occur and at which the operations of two of them differ.

    Where they are the same at every K that is tried, it is ``shortest_k``. Raises as that.
    """
    shortest, tile = shortest_k(plans), math.lcm(*(x.k_tile for x in plans))
    for k in range(shortest, min(shortest + MOST_COMPARED * tile, LONGEST_PLANNED), tile):
        try:
            first, *others = (x.with_open_orders(ASCENDING).schedule(k) for x in plans)
        except DesignError:
            continue
        if not all(same_computation(first, x) for x in others):
            return k
    return shortest


def _has_parts(plan: Plan, k: int, least: int) -> bool:
    """Return whether every level makes at least N parts of ``k``. Raises DesignError where K does not fit."""
    plan.with_open_orders(ASCENDING).schedule(k)
    ks: Sequence[Sequence[int]] = [range(k)]
    for level in reversed(plan.levels):
        parts = [level.parts.divide(x, plan.k_tile) for x in ks]
        wanted = least if isinstance(level, PartSum) else 2
        if max(map(len, parts)) < min(wanted, level.parts.most):
            return False
        ks = [x for found in parts for x in found]
    return True
