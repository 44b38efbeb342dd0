"""Errors of plans on random matrices, measured against exact results.

Numbers are drawn in fp32 and rounded to the plan's formats first; the errors are against the exact result of the
rounded operands, with c = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.plans.evaluate import multiply
from mmaproof.algorithms.plans.linear import Weights, weights_of
from mmaproof.algorithms.plans.program import schedule_of
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.designs.plans.plan import Plan
from mmaproof.smt.arrays import ARRAYS
from mmaproof.verification.gemm.error import Bound, Point, Scaled, point
from mmaproof.verification.gemm.matrices import Distribution

_FP32 = FORMATS["fp32"]

BoundOf = Callable[[Plan, Patterns, Patterns], Bound]
"""What bounds the results of a plan on patterns of a (m, k) and b (k, n), with c = 0."""


def measure_plans(
    plans: Sequence[Plan],
    n: int,
    distribution: Distribution,
    *,
    rows: int = 32,
    columns: int = 32,
    seed: int = 0,
    bound_of: BoundOf | None = None,
) -> Iterator[Point]:
    """Yield the errors of each plan on the same random matrices, at most ``rows`` x ``columns`` elements of each.

    ``bound_of`` bounds the results of these matrices.

    The matrices are those of ``measure``. Raises DesignError for a plan that cannot be computed for K = ``n``, and for
    one of an integer unit.
    """
    rows, columns = min(rows, n), min(columns, n)
    a, b = distribution.draw(rows, n, columns, np.random.default_rng([seed, n]))
    for plan in plans:
        if any(f.is_integer for f in plan.formats):
            raise DesignError(f"{plan.name} computes with integers: errors of rounding are measured")
        if plan.has_factors:
            raise DesignError(f"{plan.name}: its factors are operands, and none are drawn: state constants")
        weights = weights_of(schedule_of(plan, n))
        x, y = (rounded(f, p) for f, p in zip(plan.formats, (a, b), strict=False))
        d = multiply(plan, x, y, None, *ones(plan, rows, n, columns))
        first = _weighted(Scaled.of_patterns(plan.formats[0], x), weights, n)
        second = Scaled.of_patterns(plan.formats[1], y)
        sizes = [np.abs(s.integers.astype(np.float64)) * 2.0**s.exponent for s in (first, second)]
        bound = None if bound_of is None else bound_of(plan, x, y)
        yield point(plan, n, d, first.dot(second), sizes[0] @ sizes[1], bound, plan.formats[3])


def ones(plan: Plan, rows: int, k: int, columns: int) -> tuple[Patterns | None, Patterns | None]:
    """Return scales of one for the blocks of a (rows, k) and b (k, columns); None where a plan has no scales."""
    fmt = plan.scale_format
    if fmt is None:
        return None, None
    shapes = (rows, plan.blocks(k)), (plan.blocks(k), columns)
    of_a, of_b = (np.full(x, fmt.encode(1), dtype=pattern_dtype(fmt)) for x in shapes)
    return of_a, of_b


def rounded(fmt: Format, patterns: Patterns) -> Patterns:
    """Return fp32 patterns rounded to a format, to nearest."""
    x: Number[Any] = Number(_FP32, ARRAYS.from_patterns(patterns, _FP32.bits), Span.of_format(_FP32))
    word = Arithmetic(ARRAYS).convert("", x, fmt, Rounding.RNE).word
    return np.asarray(word.data).astype(pattern_dtype(fmt))


def _weighted(x: Scaled, weights: Weights, n: int) -> Scaled:
    """Return the rows with each element times the exact weight of its product."""
    found = [weights.products.get(k, Fraction(0)) for k in range(n)]
    denominator = lcm(*(w.denominator for w in found))
    factors = np.array([int(w * denominator) for w in found], dtype=object)
    return Scaled(x.integers * factors, x.exponent - (denominator.bit_length() - 1), x.finite)
