"""Statistical tolerances: quantiles of errors of random operands, measured on the emulated unit. Nothing is proved.

The errors are those of independent dot products, as a part of ``|c| + sum |a||b|``. The confidence interval of a
quantile is free of assumptions about the distribution of the errors: of n independent samples in order, the number that
lies below the p-quantile is binomial with n and p, so two ranks enclose the quantile with a probability that the
binomial distribution gives (David and Nagaraja, Order Statistics, section 7.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, lgamma, log, sqrt

import numpy as np
import numpy.typing as npt

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype, values_of
from mmaproof.gemm.answers.matrices import find_distribution
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.evaluate import rows
from mmaproof.gemm.tolerances.given import Floats
from mmaproof.verification.distributions import from_float64

_AT_ONCE = 1 << 22
"""Elements of a that are drawn together."""
MOST_SAMPLES = 10**8


@dataclass(frozen=True, slots=True)
class Quantile:
    """A statistical tolerance: the ``p``-quantile of ``|d - exact| / (|c| + sum |a||b|)`` over a distribution.

    ``lower`` and ``upper`` enclose the true quantile with the ``confidence``. ``upper`` is infinite where the samples
    are too few. ``not_finite`` samples had a d or an operand that is not finite; they count as infinite errors.
    """

    p: float
    value: float
    lower: float
    upper: float
    confidence: float
    samples: int
    not_finite: int
    distribution: str

    def bound(self, a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike | None = None) -> Floats:
        """Return ``upper * (|c| + |a| @ |b|)`` for numbers of any type. It is statistical: nothing is proved by it."""
        left, right = (np.abs(np.asarray(x).astype(np.float64)) for x in (a, b))
        start = 0.0 if c is None else np.abs(np.asarray(c).astype(np.float64))
        return np.asarray(self.upper * (left @ right + start))

    def __str__(self) -> str:
        return (
            f"statistical: {self.p:g}-quantile {self.value:.4g} of |d - exact| / (|c| + sum |a||b|), "
            f"{self.confidence:g} confidence interval {self.lower:.4g} to {self.upper:.4g}, "
            f"{self.samples} samples of {self.distribution}"
        )


def measured_quantile(
    plan: Plan, k: int, p: float, distribution: str, confidence: float, samples: int, seed: int
) -> Quantile:
    """Return the quantile of errors of random operands. Raises InputError for numbers out of range."""
    require_measurable(p, distribution, confidence, samples)
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed = {seed!r}: an integer from 0 on is needed")
    return quantile_of(relative_errors(plan, k, distribution, samples, seed), p, confidence, distribution)


def quantile_of(errors: Floats, p: float, confidence: float, distribution: str) -> Quantile:
    """Return the quantile of errors that were measured."""
    errors, samples = np.sort(errors), len(errors)
    low, high = ranks(samples, p, confidence)
    at = min(max(int(np.ceil(p * samples)), 1), samples)
    return Quantile(
        p,
        float(errors[at - 1]),
        float(errors[low - 1]) if low else 0.0,
        float(errors[high - 1]) if high <= samples else inf,
        confidence,
        samples,
        int(np.isinf(errors).sum()),
        distribution,
    )


def require_measurable(p: float, distribution: str, confidence: float, samples: int) -> None:
    """Raise InputError for a quantile that cannot be measured: numbers out of range, or an unknown distribution."""
    if not all(isinstance(x, int | float) and 0 < x < 1 for x in (p, confidence)):
        raise InputError(f"p = {p!r} and confidence = {confidence!r}: numbers between 0 and 1 are needed")
    if not isinstance(distribution, str):
        raise InputError(f"distribution = {distribution!r}: the name of one is needed, such as 'normal'")
    if not isinstance(samples, int) or not 1 <= samples <= MOST_SAMPLES:
        raise InputError(f"samples = {samples!r}: 1 to {MOST_SAMPLES} are allowed")
    find_distribution(distribution)


def relative_errors(plan: Plan, k: int, distribution: str, samples: int, seed: int) -> Floats:
    """Return ``|d - exact| / (|c| + sum |a||b|)`` of independent dot products, as ``row_errors`` measures them."""
    error, size = row_errors(plan, k, distribution, samples, seed)
    known = (size > 0) & np.isfinite(error)  # where an operand is infinite, so are both
    relative: Floats = np.divide(error, size, out=np.where(error > 0, inf, 0.0), where=known)
    return relative


def row_errors(plan: Plan, k: int, distribution: str, samples: int, seed: int) -> tuple[Floats, Floats]:
    """Return ``|d - exact|`` and ``sum |a||b|`` of independent dot products; c is zero.

    The error is infinite where d is not finite. The exact sum is computed in float64, whose error is below one part in
    2**40 of the sum of magnitudes. Raises InputError where that is not so.
    """
    a_format, b_format, _, d_format = plan.formats
    if d_format.is_integer or a_format.precision > 24 or b_format.precision > 24:
        raise InputError(f"{plan.name}: statistical tolerances are of units of up to 24 bits of precision")
    if plan.scales_sum:
        raise InputError(f"{plan.name}: statistical tolerances are of plans that multiply no sum with a factor")
    rng, found, left = np.random.default_rng([seed, k]), [], samples
    while left:
        count = min(left, max(_AT_ONCE // k, 1))
        found.append(_errors(plan, draw_rows(plan, count, k, distribution, rng)))
        left -= count
    errors, sizes = zip(*found, strict=True)
    return np.concatenate(errors), np.concatenate(sizes)


def row_differences(plans: tuple[Plan, Plan], k: int, distribution: str, samples: int, seed: int) -> Floats:
    """Return ``|d - e|`` of the results of two plans on the same dot products, those of ``row_errors``.

    It is 0 where both are equal, and infinite where one alone is not finite.
    """
    rng, found, left = np.random.default_rng([seed, k]), [], samples
    while left:
        count = min(left, max(_AT_ONCE // k, 1))
        batch = draw_rows(plans[0], count, k, distribution, rng)
        d, e = (values_of(rows(x.schedule(k), batch), x.formats[3]) for x in plans)
        with np.errstate(invalid="ignore"):
            apart = np.where(d == e, 0.0, np.abs(d - e))
        found.append(np.where(np.isnan(apart), np.where(np.isnan(d) & np.isnan(e), 0.0, inf), apart))
        left -= count
    return np.concatenate(found)


def draw_rows(plan: Plan, count: int, k: int, distribution: str, rng: np.random.Generator) -> OperandBatch:
    """Return independent rows of a distribution, rounded to the formats of a and b; c is zero, and scales are 1."""
    a, b = (x[0] for x in (draw_operand(plan, side, (count, k), distribution, rng) for side in "ab"))
    scale, scales = plan.scale_format, None
    if scale is not None:
        scales = np.full((count, plan.blocks(k)), scale.encode(1), dtype=pattern_dtype(scale))
    return OperandBatch(a, b, np.zeros(count, dtype=pattern_dtype(plan.formats[2])), scales, scales)


def draw_operand(
    plan: Plan, side: str, shape: tuple[int, int], distribution: str, rng: np.random.Generator
) -> tuple[Patterns, Format]:
    """Return random patterns of ``a`` or ``b``, and their format. InputError for an unknown distribution."""
    drawn = find_distribution(distribution)
    fmt, draw = (plan.formats[0], drawn.of_a) if side == "a" else (plan.formats[1], drawn.of_b)
    return from_float64(fmt, draw(shape, rng, OPERANDS).view(np.float32).astype(np.float64)), fmt


def _errors(plan: Plan, batch: OperandBatch) -> tuple[Floats, Floats]:
    a_format, b_format, _, d_format = plan.formats
    a, b = values_of(batch.a, a_format), values_of(batch.b, b_format)
    d = values_of(rows(plan.schedule(batch.k), batch), d_format)
    with np.errstate(invalid="ignore", over="ignore"):
        products = a * b
        exact, size = products.sum(axis=1), np.abs(products).sum(axis=1)
        error = np.abs(d - exact)
    return np.where(np.isfinite(error), error, inf), size


def ranks(samples: int, p: float, confidence: float) -> tuple[int, int]:
    """Return ranks (from 1) of the samples in order that enclose the p-quantile; 0 and n + 1 stand for no sample.

    Each side has at most half of the probability that is left: ``P(X < low) <= t`` and ``P(X >= high) <= t`` for the
    binomial number X of samples below the quantile.
    """
    tail = (1 - confidence) / 2
    spread = int(10 * sqrt(samples * p * (1 - p))) + 50
    first, last = max(int(samples * p) - spread, 0), min(int(samples * p) + spread, samples)
    counts = np.arange(first, last + 1)
    logs = [
        lgamma(samples + 1) - lgamma(x + 1) - lgamma(samples - x + 1) + x * log(p) + (samples - x) * log(1 - p)
        for x in counts.tolist()
    ]
    chances = np.exp(np.array(logs))
    below = np.concatenate([[0.0], np.cumsum(chances)])  # P(X < counts[i])
    low = int(counts[0] + np.searchsorted(below, tail, side="right") - 1)
    above = np.concatenate([np.cumsum(chances[::-1])[::-1], [0.0]])  # P(X >= counts[i])
    high = int(counts[0] + np.argmax(above <= tail))
    return low, high
