"""Whether results are within bounds: the one comparison of assertions, of diagnoses and of faults that are counted.

A finite number alone is within a finite bound. float64 decides wherever the error is farther from the bound than what
float64 loses of the exact result; a bound that is closer (of units of fp64, for example) is decided on fractions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.gemm.tolerances.given import Given, Side
from mmaproof.gemm.tolerances.magnitudes import Floats, fractions
from mmaproof.gemm.tolerances.tolerance import Tolerance

Truths = npt.NDArray[np.bool_]


class _Rational(Side):
    """A factor whose values are fractions."""

    @property
    def values(self) -> npt.NDArray[Any]:  # objects, of which NumPy computes exactly
        return fractions(super().values)


def errors_of(values: Floats, exact: Floats) -> Floats:
    """Return ``|values - exact|`` in float64; infinite where one of them is not a number."""
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(values - exact)
    return np.where(np.isfinite(values) & ~np.isnan(errors), errors, np.inf)


def within(values: Floats, exact: Floats, beyond: Floats, bounds: Floats) -> tuple[Truths, Truths]:
    """Return which of the values are within their bounds, and for which float64 does not tell.

    ``exact`` are the exact results up to ``beyond``. What has no finite bound is neither.
    """
    finite, errors = np.isfinite(values) & np.isfinite(bounds), errors_of(values, exact)
    with np.errstate(invalid="ignore", over="ignore"):
        unknown = beyond + errors * 2.0**-51
        inside = finite & (errors + unknown <= bounds)
        outside = errors - unknown > bounds
    return inside, finite & ~inside & ~outside


def is_within(tolerance: Tolerance, given: Given, values: Floats, bounds: Floats) -> Truths:
    """Return which values of a result, shape (m, n), are within their bounds. Nothing is within an infinite one."""
    exact, beyond = tolerance.exact_of(given)
    inside, unsure = within(values, exact, beyond, bounds)
    for row in np.flatnonzero(unsure.any(axis=1)):
        at = np.ix_([row], np.flatnonzero(unsure[row]))
        exactly, _ = tolerance.exact_of(_rational(given, *at))
        inside[at] = np.abs(fractions(values[at]) - exactly) <= fractions(bounds[at])
    return inside


def _rational(given: Given, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> Given:
    """Return the operands of some rows and columns as fractions; those of finite results are finite."""
    sides = []
    for side, at in ((given.a, np.s_[rows.ravel()]), (given.b, np.s_[:, columns.ravel()])):
        scales = None if side.scales is None else side.scales[at]
        sides.append(_Rational(side.fmt, side.patterns[at], side.along, side.scale_format, scales, side.block))
    c = None if given.c is None else fractions(given.c[rows, columns])
    factors = None if given.factors is None else given.factors[rows.ravel()]
    return replace(given, a=sides[0], b=sides[1], c=c, factors=factors)
