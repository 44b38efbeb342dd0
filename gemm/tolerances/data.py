"""The tolerance of data of a distribution: what is proved within limits that are stated, what is measured, in one line.

The limits are those of operands that are drawn: the largest magnitudes of a and of b, and, where a unit adds all its
products one step after the other, the largest sum of the products so far. The bound is for all operands within them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, log10

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.gemm.tolerances.given import Given
from mmaproof.gemm.tolerances.statistical import (
    Quantile,
    draw_operand,
    quantile_of,
    require_measurable,
    row_differences,
    row_errors,
)
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.words import bounded

SIDE = 32
"""Rows and columns of the product whose elements are drawn for the limits."""
DIGITS = 3
"""Decimal digits that limits are rounded up to."""


@dataclass(frozen=True, slots=True)
class DataTolerance:
    """Absolute errors of dot products of a distribution, with c = 0.

    ``atol`` bounds the error of all operands with ``|a| <= a``, ``|b| <= b`` and, unless it is None, with every sum of
    the products so far at most ``sums``; ``elements`` the errors of all products that were drawn, each from its own
    operands. They are None where nothing is proved, and infinite where a number may overflow. ``quantile`` is of the
    absolute error, and ``largest`` the largest one found.
    """

    data: str
    a: float
    b: float
    sums: float | None
    atol: float | None
    elements: float | None
    quantile: Quantile
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
    plan, k = tolerance.plan, tolerance.k
    require_measurable(p, data, confidence, samples)
    if plan.scale_format is not None or plan.has_factors:
        raise InputError(f"{plan.name}: data of --data have no scales and no factors: use bound(a, b, c)")
    errors, _ = row_errors(plan, k, data, samples, seed)
    rng = np.random.default_rng([seed, k, 1])  # of the operands alone: two plans have the same limits
    given = tolerance.given(
        draw_operand(plan, "a", (SIDE, k), data, rng)[0], draw_operand(plan, "b", (k, SIDE), data, rng)[0]
    )
    a, b = (float(x.magnitudes.max()) for x in (given.a, given.b))
    sums = up_to_digits(largest_sum(given, tolerance.unit.step.L)) if _adds_in_turn(tolerance) else None
    found: tuple[float | None, float | None] = (None, None)
    if tolerance.proved:
        found = bound_within(tolerance, a, b, sums), float(tolerance.bound_of(given).max())
    quantile = quantile_of(errors, p, confidence, data)
    return DataTolerance(data, a, b, sums, *found, quantile, float(errors.max()))


@dataclass(frozen=True, slots=True)
class DataDifference:
    """Differences of the results of two plans for dot products of a distribution, with c = 0.

    ``most`` bounds the difference for all operands within the limits, which are those of ``DataTolerance``: the bounds
    of both plans together. It is None where one of them has no proof, and infinite where a number may overflow.
    ``equal`` is the part of the samples with equal results.
    """

    data: str
    a: float
    b: float
    sums: float | None
    most: float | None
    quantile: Quantile
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
    drawn = [data_tolerance(x, data, p=p, confidence=confidence, samples=1, seed=seed) for x in both]
    limits = [x.sums for x in drawn if x.sums is not None]
    sums, (a, b) = max(limits, default=None), (drawn[0].a, drawn[0].b)
    bounds = [
        bound_within(x, a, b, sums if y.sums is not None else None) if x.proved else None
        for x, y in zip(both, drawn, strict=True)
    ]
    most = None if None in bounds else sum(x for x in bounds if x is not None)
    apart = row_differences((first.plan, second.plan), k, data, samples, seed)
    quantile = quantile_of(apart, p, confidence, data)
    return DataDifference(data, a, b, sums, most, quantile, float(apart.max()), float((apart == 0).mean()))


def _adds_in_turn(tolerance: Tolerance) -> bool:
    """Return whether the sums after each step are those of the first products."""
    unit = tolerance.unit.configured(tolerance.k)
    return tolerance.plan.is_unit and unit.k == unit.step.L and not unit.chain.adds_c_once


def largest_sum(given: Given, products: int) -> float:
    """Return the largest magnitude of a sum of the first products, after any number of steps, or a little above it."""
    total, most = np.zeros(given.shape), 0.0
    for first in range(0, given.k, products):
        part = slice(first, first + products)
        total += given.a.values[:, part] @ given.b.values[part]
        most = max(most, float(np.abs(total).max()))
    return most * (1 + 2.0**-30)


def bound_within(tolerance: Tolerance, a: float, b: float, sums: float | None) -> float:
    """Return the bound of all operands within the limits, which are numbers of their formats."""
    sides = zip((1, 0), tolerance.plan.formats, (a, b), strict=False)
    left, right = (bounded(along, fmt, Fraction(x), tolerance.k) for along, fmt, x in sides)
    return float(tolerance.bound_of(Given(left, right, None, limit=sums))[0, 0])


def up_to_digits(x: float) -> float:
    """Return a number of few digits that is at least x."""
    if not 0 < x < inf:
        return x
    digits = DIGITS - 1 - floor(log10(x))
    found = ceil(x * 10.0**digits) / 10.0**digits
    return found if found >= x else x
