"""The tolerance of data of a distribution: what is proved within limits that are stated, what is measured, in one line.

The limits are those of operands that are drawn: the largest magnitudes of a and of b, and, where a unit adds all its
products one step after the other, the largest sum of the products so far, and what the products weigh below the unit
that such sums are cut at. The bound is for all operands within them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf, isfinite, log2, log10, prod

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.designs.readings import CONSECUTIVE
from mmaproof.gemm.tolerances import statistical
from mmaproof.gemm.tolerances.given import Given, Rests
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.words import bounded, least
from mmaproof.properties.step_loss import loss_of

SIDE = 32
"""Rows and columns of the product whose elements are drawn for the limits."""
WORTH = 0.75
"""A further limit is stated if the bound with it is at most this part of the bound without."""
DIGITS = 3
"""Decimal digits that limits are rounded up to."""


@dataclass(frozen=True, slots=True)
class DataLimits:
    """What the operands of a dot product stay within: ``|a| <= a``, ``|b| <= b``, and what else is not None.

    No sum of the products so far exceeds ``sums``. The bits of the products below ``rests.unit`` add up to at most
    ``rests.most``.
    """

    a: float
    b: float
    sums: float | None = None
    rests: Rests | None = None


@dataclass(frozen=True, slots=True)
class DataTolerance:
    """Absolute errors of dot products of a distribution, with c = 0.

    ``atol`` bounds the error of all operands within the ``limits``; ``elements`` the errors of all products that were
    drawn, each from its own operands. They are None where nothing is proved, and infinite where a number may overflow.
    ``quantile`` is of the absolute error, and ``largest`` the largest one found.
    """

    data: str
    limits: DataLimits
    atol: float | None
    elements: float | None
    quantile: statistical.Quantile
    largest: float


def data_tolerance(
    tolerance: Tolerance,
    data: str,
    *,
    p: float = 0.999,
    confidence: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> DataTolerance:
    """Return the tolerance of products of ``data``: a distribution, or a file of numbers, as ``--data`` has it.

    Raises InputError for a distribution that is not known, and for units of integers, fp64, scales and factors.
    """
    _require_data(tolerance, data, p, confidence, samples)
    errors, _ = statistical.row_errors(tolerance.plan, tolerance.k, data, samples, seed)
    limits, given = _drawn_limits(tolerance, data, seed)
    found: tuple[float | None, float | None] = (None, None)
    if tolerance.proved:
        found = bound_within(tolerance, limits), float(tolerance.bound_of(given).max())
    quantile = statistical.quantile_of(errors, p, confidence, data)
    return DataTolerance(data, limits, *found, quantile, float(errors.max()))


def _require_data(tolerance: Tolerance, data: str, p: float, confidence: float, samples: int) -> None:
    """Raise InputError for what cannot be measured, and for plans with scales or factors."""
    plan = tolerance.plan
    statistical.require_measurable(p, data, confidence, samples)
    if plan.scale_format is not None or plan.has_factors:
        raise InputError(f"{plan.name}: data of --data have no scales and no factors: use bound(a, b, c)")


def _drawn_limits(tolerance: Tolerance, data: str, seed: int) -> tuple[DataLimits, Given]:
    """Return the limits of a product that is drawn, and its operands: two plans of the same formats have the same."""
    plan, k = tolerance.plan, tolerance.k
    rng = np.random.default_rng([seed, k, 1])
    given = tolerance.given(
        statistical.draw_operand(plan, "a", (SIDE, k), data, rng)[0],
        statistical.draw_operand(plan, "b", (k, SIDE), data, rng)[0],
    )
    a, b = (float(x.magnitudes.max()) for x in (given.a, given.b))
    if not _adds_in_turn(tolerance):
        return DataLimits(a, b), given
    sums = up_to_digits(largest_sum(given, tolerance.unit.step.L))
    return _with_rests(tolerance, DataLimits(a, b, sums), given), given


def _with_rests(tolerance: Tolerance, limits: DataLimits, given: Given) -> DataLimits:
    """Return limits with that of the bits of products below a unit, if the bound is much smaller with it.

    The unit is that of the largest sum, or the next one, because a sum of the unit exceeds the exact one by its errors.
    """
    cut = loss_of(tolerance.unit).cut_bits if tolerance.proved and not tolerance.unit.d_format.is_integer else None
    if cut is None or not limits.sums or not isfinite(limits.sums):
        return limits
    units = [2.0 ** (floor(log2(limits.sums)) + places - cut) for places in (0, 1)]
    finest = prod(float(least(x)) for x in tolerance.plan.formats[:2])  # no product has a bit below it
    rests = [Rests(x, up_to_digits(most_below(given, x))) for x in units if x > finest]
    found = [replace(limits, rests=x) for x in rests]
    bounds = {x: bound_within(tolerance, x) for x in (limits, *found)}
    best = min(bounds, key=bounds.__getitem__)
    return best if bounds[best] <= WORTH * bounds[limits] else limits


@dataclass(frozen=True, slots=True)
class DataDifference:
    """Differences of the results of two plans for dot products of a distribution, with c = 0.

    ``most`` bounds the difference for all operands within the limits: the bounds of both plans together. It is None
    where one of them has no proof, and infinite where a number may overflow. ``equal`` is the part of the samples with
    equal results.
    """

    data: str
    limits: tuple[DataLimits, ...]
    """those of each plan; operands are within all of them"""
    most: float | None
    quantile: statistical.Quantile
    largest: float
    equal: float


def data_difference(
    first: Tolerance,
    second: Tolerance,
    data: str,
    *,
    p: float = 0.999,
    confidence: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> DataDifference:
    """Return how much the results of two plans differ for the same ``data``, as ``data_tolerance`` has them.

    Raises InputError as ``data_tolerance``, and where the plans take different operands or do not approximate one sum.
    """
    both, k = (first, second), first.k
    formats = [x.plan.formats[:2] for x in both]
    if formats[0] != formats[1]:
        names = [" and ".join(f.name for f in x) for x in formats]
        raise InputError(f"{first.plan.name} takes {names[0]}, and {second.plan.name} takes {names[1]}")
    if wrong := [x.plan.name for x in both if x.plan.scales_sum]:
        raise InputError(f"{wrong[0]} multiplies sums: its exact result is another")
    for x in both:
        _require_data(x, data, p, confidence, samples)
        statistical.row_errors(x.plan, k, data, 1, seed)  # which refuses plans that have none
    drawn = [_drawn_limits(x, data, seed)[0] for x in both]
    sums = max((x.sums for x in drawn if x.sums is not None), default=None)
    limits = tuple(replace(x, sums=None if x.sums is None else sums) for x in drawn)
    bounds = [bound_within(x, within) if x.proved else None for x, within in zip(both, limits, strict=True)]
    most = None if None in bounds else sum(x for x in bounds if x is not None)
    apart = statistical.row_differences((first.plan, second.plan), k, data, samples, seed)
    quantile = statistical.quantile_of(apart, p, confidence, data)
    return DataDifference(data, limits, most, quantile, float(apart.max()), float((apart == 0).mean()))


def _adds_in_turn(tolerance: Tolerance) -> bool:
    """Return whether the sums after each step are those of the first products: steps of an instruction take k in turn.

    A step of another order adds other products than the first ones, and an instruction that adds c once sums apart.
    """
    unit = tolerance.unit.configured(tolerance.k)
    in_turn = unit.k == unit.step.L or unit.chain.k_order == CONSECUTIVE
    return tolerance.plan.is_unit and in_turn and not unit.chain.adds_c_once


def largest_sum(given: Given, products: int) -> float:
    """Return the largest magnitude of a sum of the first products, after any number of steps, or a little above it."""
    total, most = np.zeros(given.shape), 0.0
    for first in range(0, given.k, products):
        part = slice(first, first + products)
        total += given.a.values[:, part] @ given.b.values[part]
        most = max(most, float(np.abs(total).max()))
    return most * (1 + 2.0**-30)


def most_below(given: Given, unit: float) -> float:
    """Return what the bits of the products below ``unit`` add up to at most, of each element, or a little above it."""
    most = 0.0
    for row in given.a.magnitudes.astype(np.float64):
        most = max(most, float(np.fmod(row[:, None] * given.b.magnitudes, unit).sum(axis=0).max()))
    return most * (1 + 2.0**-30)


def bound_within(tolerance: Tolerance, limits: DataLimits) -> float:
    """Return the bound of all operands within the limits, which are numbers of their formats."""
    sides = zip((1, 0), tolerance.plan.formats, (limits.a, limits.b), strict=False)
    left, right = (bounded(along, fmt, Fraction(x), tolerance.k) for along, fmt, x in sides)
    return float(tolerance.bound_of(Given(left, right, None, limit=limits.sums, rests=limits.rests))[0, 0])


def up_to_digits(x: float) -> float:
    """Return a number of few digits that is at least x."""
    if not 0 < x < inf:
        return x
    digits = DIGITS - 1 - floor(log10(x))
    found = ceil(x * 10.0**digits) / 10.0**digits
    return found if found >= x else x
