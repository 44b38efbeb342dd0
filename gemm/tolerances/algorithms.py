"""What a plan loses whose algorithm splits operands: its a-priori bound, for the sizes of each element.

``verification.gemm.bounds`` composes the bound of a plan, for all operands up to some sizes, of the proved bound of one
step of its unit. Here the sizes are the largest magnitudes of the row of a and of the column of b, and that of c, each
rounded up within its power of two. There are few such powers, so the bound is composed once for each combination.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import inf

import numpy as np

from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.answers.bounds import Sizes, error_bound, rounded_up
from mmaproof.gemm.answers.enclosure import NoBoundError
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.tolerances.given import Given
from mmaproof.gemm.tolerances.magnitudes import Floats

_FP32 = FORMATS["fp32"]
_NOTHING = _FP32.e_min - _FP32.fraction_bits - 1
"""The power that stands for zero."""
_MOST_STARTS = 24
"""Powers of c for which the bound is composed; of more, the largest one counts."""


def why_no_bound(plan: Plan, k: int) -> str | None:
    """Return why no bound of a plan is composed, whatever the sizes are; None if one is."""
    try:
        _composed(plan, k, 0, 0, 0, 0)
    except NoBoundError as reason:
        return str(reason)
    return None


def composed_error(plan: Plan, given: Given) -> Floats:
    """Return how far d of a plan is from its exact result, for the sizes of each element; shape (m, n).

    The bound is infinite where a number may overflow. It holds if the bound of one step of the unit is proved
    (``verification.gemm.bounds.prove_step``).
    """
    rows, columns = (_powers(x.largest(slice(None))) for x in (given.a, given.b))
    starts = np.full((1, 1), _NOTHING) if given.c is None else _powers(np.abs(given.c))
    if len(np.unique(starts)) > _MOST_STARTS:
        starts = np.full((1, 1), int(starts.max()))
    largest = np.ones((1, 1)) if given.factors is None else np.abs(given.factors).max(1, initial=0.0, keepdims=True)
    factors = _powers(largest)
    powers = np.stack(np.broadcast_arrays(rows, columns, starts, factors), axis=-1)
    found, places = np.unique(powers.reshape(-1, 4), axis=0, return_inverse=True)
    bounds = [_bound(plan, given.k, *(int(x) for x in row)) for row in found]
    result: Floats = np.array(np.broadcast_to(np.array(bounds)[places.ravel()].reshape(powers.shape[:2]), given.shape))
    if given.special is not None:
        result[given.special] = np.nan
    return result


def _powers(x: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return floor(log2) of magnitudes; those that are infinite count as the largest ones."""
    fraction, exponent = np.frexp(np.where(np.isfinite(x), x, 2.0**1023))
    return np.where(fraction > 0, np.maximum(exponent.astype(np.int64) - 1, _NOTHING), _NOTHING)


def _bound(plan: Plan, k: int, a: int, b: int, c: int, factor: int) -> float:
    if max(a, b, c, factor) > _FP32.e_max:
        return inf
    try:
        return rounded_up(_composed(plan, k, a, b, c, factor))
    except NoBoundError:
        return inf


@lru_cache(maxsize=4096)
def _composed(plan: Plan, k: int, a: int, b: int, c: int, factor: int) -> Fraction:
    return error_bound(plan, k, Sizes(*map(_largest, (a, b, c, factor))))


def _largest(power: int) -> Fraction:
    """Return the largest number below the next power of two that float64 may have bounded; zero for ``_NOTHING``."""
    return Fraction(0) if power <= _NOTHING else Fraction(2) ** (power + 1) - Fraction(2) ** (power - 52)
