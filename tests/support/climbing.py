"""A search that climbs: operands whose error comes as near to a proved bound as it finds, and beyond it if it can.

Random operands hardly ever lose much. Here a row has few kinds of products, each with a number, exponents, fraction
bits and signs of its own, in an order, and a c that may cancel them. Of some changes of a row the best one is kept, as
an evolution strategy (1 + lambda) does, on some islands at once. An island that stays where it is begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum, inf
from typing import Any

import numpy as np

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype, values_of
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.evaluate import rows
from mmaproof.gemm.programs.normal_form import weights_of
from mmaproof.gemm.tolerances.given import Given, rounded_up
from mmaproof.gemm.tolerances.tolerance import Tolerance
from support.adversarial import exact_sums

KINDS = 3
ISLANDS, CHILDREN = 8, 8
PATIENCE = 40
"""Generations after which an island that did not rise begins anew."""

Genes = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Range:
    """The exponents of operands, whether all of them are positive, and whether c is zero."""

    low: int
    high: int
    positive: bool = False
    no_c: bool = False

    @property
    def where(self) -> list[str]:
        """As ``--where`` spells it."""
        return [f"exponents={self.low}..{self.high}", *["positive"] * self.positive, *["c=0"] * self.no_c]


@dataclass(frozen=True)
class Reached:
    """The largest part of a bound that was reached, and the row that reached it."""

    part: float
    row: OperandBatch
    error: Fraction
    bound: float


def climb(
    tolerance: Tolerance, within: Range, rng: np.random.Generator, generations: int, *, of_range: bool
) -> Reached | None:
    """Return the row with the largest error found, as a part of its bound; None where it has none.

    With ``of_range`` the bound is that of ``rtol_atol`` for all operands of the range, else the one of each row.
    The part and the error of what is returned are exact.
    """
    if of_range and plan_scales(tolerance.plan):
        return None
    two = tolerance.rtol_atol(*within.where) if of_range else None
    plan, k = tolerance.plan, tolerance.k
    genes = _random(plan, k, within, rng, ISLANDS)
    parts, best, waited = np.full(ISLANDS, -1.0), None, np.zeros(ISLANDS, dtype=int)
    for _ in range(generations):
        children = {name: np.repeat(x, CHILDREN, axis=0) for name, x in genes.items()}
        _change(plan, k, within, children, rng)
        batch = _batch(plan, k, within, children)
        reached = _reached(tolerance, batch, two)
        first = reached.reshape(ISLANDS, CHILDREN).argmax(axis=1) + np.arange(ISLANDS) * CHILDREN
        top = int(first[reached[first].argmax()])
        if best is None or reached[top] > best[0]:
            best = reached[top], batch.select(slice(top, top + 1))
        better, equal = reached[first] > parts, reached[first] == parts
        waited = np.where(better, 0, waited + 1)
        for name, x in genes.items():
            x[better | equal] = children[name][first][better | equal]
        parts = np.where(better, reached[first], parts)
        new = waited > PATIENCE
        if new.any():
            others = _random(plan, k, within, rng, ISLANDS)
            for name, x in genes.items():
                x[new] = others[name][new]
            parts[new], waited[new] = -1.0, 0
    assert best is not None
    return measured(tolerance, best[1], two)


def measured(tolerance: Tolerance, row: OperandBatch, two: Any) -> Reached | None:
    """Return the error of one row as an exact part of its bound, or of two numbers; None where it has none."""
    fmt = tolerance.plan.formats[3]
    d, exact = values_of(rows(tolerance.plan.schedule(row.k), row), fmt)[0], exact_result(tolerance, row)
    limit = bounds(tolerance, row)[0] if two is None else two.atol
    if not limit < inf:
        return None
    if not np.isfinite(d):
        return Reached(inf, row, Fraction(0), limit)
    error, allowed = abs(Fraction(float(d)) - exact), Fraction(limit)
    allowed += 0 if two is None else Fraction(two.rtol) * abs(exact)
    part = float(error / allowed) if allowed else inf if error else 0.0
    return Reached(part, row, error, rounded_up(allowed))


def random_rows(plan: Plan, k: int, within: Range, rng: np.random.Generator, count: int) -> OperandBatch:
    """Return rows of few kinds of products, as a search begins with."""
    return _batch(plan, k, within, _random(plan, k, within, rng, count))


def exact_result(tolerance: Tolerance, row: OperandBatch) -> Fraction:
    """Return ``beta * c + alpha * sum a*b`` of one row, exactly."""
    plan = tolerance.plan
    if plan.is_unit:
        (found,) = exact_sums(plan.unit, row)
        assert found is not None
        return found
    weights, (a, b, c) = weights_of(plan.schedule(row.k)), _values(row, plan)
    products = zip(a[0].tolist(), b[0].tolist(), strict=True)
    total = weights.c * Fraction(float(c[0]))
    for k, (x, y) in enumerate(products):
        total += weights.products[k] * Fraction(x) * Fraction(y)
    return Fraction(total)


def bounds(tolerance: Tolerance, batch: OperandBatch) -> np.ndarray[Any, Any]:
    """Return the bounds of independent rows."""
    count, plan = len(batch), tolerance.plan
    scale_b = None if batch.scale_b is None else np.ascontiguousarray(batch.scale_b.T)
    c = np.broadcast_to(batch.c[:, None], (count, count))
    return np.diagonal(
        tolerance.bound_of(
            Given.of(plan, batch.a, np.ascontiguousarray(batch.b.T), np.ascontiguousarray(c), batch.scale_a, scale_b), 1
        )
    )


def _reached(tolerance: Tolerance, batch: OperandBatch, two: Any) -> np.ndarray[Any, Any]:
    """Return the parts of the bounds that the errors of rows are, nearly; -1 where there is no bound."""
    plan = tolerance.plan
    fmt = plan.formats[3]
    d = values_of(rows(plan.schedule(batch.k), batch), fmt)
    error, size = _nearly_exact(plan, batch, d)
    limit = bounds(tolerance, batch) if two is None else np.full(len(batch), two.atol)
    allowed = limit + (0 if two is None else two.rtol * np.abs(size))
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(allowed > 0, np.abs(error) / allowed, np.where(error != 0, inf, 0))
    part = np.where(np.isfinite(d), part, inf)
    found: np.ndarray[Any, Any] = np.where(limit < inf, part, -1.0)
    return found


def _nearly_exact(plan: Plan, batch: OperandBatch, d: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Return ``d - exact`` and the exact values; one rounding each, where products are float64 numbers."""
    weights = weights_of(plan.schedule(batch.k))
    of_products = np.array([float(weights.products[k]) for k in range(batch.k)])
    a, b, c = _values(batch, plan)
    products, start = a * b * of_products, c * float(weights.c)
    error = [
        fsum([*(-row).tolist(), -x, y]) if np.isfinite(y) else inf for row, x, y in zip(products, start, d, strict=True)
    ]
    exact = [fsum([*row.tolist(), x]) for row, x in zip(products, start, strict=True)]
    return np.array(error), np.array(exact)


def _values(batch: OperandBatch, plan: Plan) -> tuple[Any, Any, Any]:
    a, b, c = (values_of(x, f) for x, f in zip((batch.a, batch.b, batch.c), plan.formats, strict=False))
    unit = plan.unit
    if unit.scale_format is not None and batch.scale_a is not None and batch.scale_b is not None:
        block = unit.block or 1
        a = a * np.repeat(values_of(batch.scale_a, unit.scale_format), block, axis=1)
        b = b * np.repeat(values_of(batch.scale_b, unit.scale_format), block, axis=1)
    return a, b, c


_NUMBERS = ("a", "b", "c", "s", "t")
"""Genes of numbers: a and b of each kind, c, and the scales of a and b for blocks of two kinds."""


def _random(plan: Plan, k: int, within: Range, rng: np.random.Generator, count: int) -> Genes:
    genes: Genes = {
        "counts": rng.multinomial(k, rng.dirichlet(np.ones(KINDS)), count),
        "stride": np.where(rng.random(count) < 0.6, 1, rng.integers(1, max(k, 2), count)),
        "no_c": rng.random(count) < 0.2,
    }
    for name, fmt in zip(_NUMBERS, _formats(plan), strict=True):
        shape = (count, {"c": 1, "s": 2, "t": 2}.get(name, KINDS))
        low, high = _limits(fmt, within, name)
        top = rng.integers(low, high + 1, shape)
        genes[f"{name}_exponent"] = np.where(rng.random(shape) < 0.4, high, top)
        full = (1 << fmt.fraction_bits) - 1
        genes[f"{name}_fraction"] = np.where(rng.random(shape) < 0.5, full, rng.integers(0, full + 1, shape))
        genes[f"{name}_negative"] = rng.random(shape) < 0.3
    return genes


def _change(plan: Plan, k: int, within: Range, genes: Genes, rng: np.random.Generator) -> None:
    """Change one to three genes of each row."""
    count = len(genes["stride"])
    formats = dict(zip(_NUMBERS, _formats(plan), strict=True))
    names = ["a", "a", "b", "b", "c", *(["s", "t"] if "s" in formats and plan_scales(plan) else [])]
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.random(count)
        moved = kind < 0.25
        source, target = rng.integers(0, KINDS, (2, count))
        here = np.arange(count)
        amount = np.where(rng.random(count) < 0.6, 1, rng.integers(0, k + 1, count))
        amount = np.minimum(amount, genes["counts"][here, source]) * moved
        genes["counts"][here, source] -= amount
        genes["counts"][here, target] += amount * (rng.random(count) < 0.95)
        again = (kind > 0.25) & (kind < 0.3)
        genes["stride"] = np.where(again, rng.integers(1, max(k, 2), count), genes["stride"])
        genes["no_c"] ^= (kind > 0.3) & (kind < 0.33)
        name = names[int(rng.integers(len(names)))]
        fmt = formats[name]
        exponent, fraction, negative = (genes[f"{name}_{x}"] for x in ("exponent", "fraction", "negative"))
        low, high = _limits(fmt, within, name)
        at = rng.random(exponent.shape) < 0.5
        step = rng.choice([-2, -1, 0, 0, 1, 2], exponent.shape)
        moved_to = np.where(
            rng.random(exponent.shape) < 0.15, rng.integers(low, high + 1, exponent.shape), exponent + step
        )
        genes[f"{name}_exponent"] = np.where(at, np.clip(moved_to, low, high), exponent)
        full, way = (1 << fmt.fraction_bits) - 1, rng.integers(0, 6, fraction.shape)
        bit = 1 << rng.integers(0, max(fmt.fraction_bits, 1), fraction.shape)
        ways: list[Any] = [
            fraction,
            fraction ^ bit,
            fraction + 1,
            fraction - 1,
            np.full_like(fraction, full),
            rng.integers(0, full + 1, fraction.shape),
        ]
        genes[f"{name}_fraction"] = np.clip(np.choose(way, ways), 0, full)
        genes[f"{name}_negative"] = negative ^ (rng.random(negative.shape) < 0.15)


def plan_scales(plan: Plan) -> bool:
    """Return whether the unit has scales."""
    return plan.unit.scale_format is not None


def _formats(plan: Plan) -> tuple[Format, ...]:
    unit = plan.unit
    a, b, c, _ = plan.formats
    scale = unit.scale_format or a
    return a, b, c, scale, scale


def _limits(fmt: Format, within: Range, name: str) -> tuple[int, int]:
    """Return the exponents of a number that the range and its format allow."""
    if name in "st":
        return max(fmt.e_min, -8), min(fmt.e_max, 8)
    low = max(within.low, fmt.e_min - fmt.fraction_bits)
    return low, max(min(within.high, fmt.e_max), low)


def patterns(fmt: Format, exponent: Any, fraction: Any, negative: Any) -> Patterns:
    """Return numbers of a format: of exponents below e_min subnormal ones, whose lowest fraction bits are left out."""
    below = np.maximum(fmt.e_min - exponent, 0)
    significand = (fraction | 1 << fmt.fraction_bits) >> below
    field = np.where(below > 0, 0, exponent - fmt.e_min)
    # the leading one of a normal number raises the field of e_min by one where there are subnormal numbers
    magnitude = (field << fmt.fraction_bits) + significand - (0 if fmt.fraction_bits else 1)
    magnitude = np.minimum(magnitude, fmt.max_finite >> fmt.ignored_bits) << fmt.ignored_bits
    sign = np.where(negative, 1 << fmt.sign_position, 0) if fmt.signed else 0
    found: Patterns = (magnitude | sign).astype(pattern_dtype(fmt))
    return found


def _batch(plan: Plan, k: int, within: Range, genes: Genes) -> OperandBatch:
    count = len(genes["stride"])
    places = np.arange(k)[None, :] * genes["stride"][:, None] % k
    kinds = (places[:, :, None] >= np.cumsum(genes["counts"], axis=1)[:, None, :]).sum(axis=2)
    made: dict[str, Patterns] = {}
    for name, fmt in zip(_NUMBERS, _formats(plan), strict=True):
        negative = genes[f"{name}_negative"] & (not within.positive and name not in "st")
        made[name] = patterns(fmt, genes[f"{name}_exponent"], genes[f"{name}_fraction"], negative)
    nothing = np.zeros((count, 1), dtype=np.int64)
    a, b = (
        np.take_along_axis(np.concatenate([made[n], nothing.astype(made[n].dtype)], axis=1), kinds, axis=1)
        for n in "ab"
    )
    c = np.where(genes["no_c"] | within.no_c, made["c"].dtype.type(0), made["c"][:, 0])
    if not plan_scales(plan):
        return OperandBatch(a, b, c)
    blocks = plan.unit.blocks(k)
    of_blocks = np.arange(blocks) % 2
    return OperandBatch(a, b, c, made["s"][:, of_blocks], made["t"][:, of_blocks])


def ranges(tolerance: Tolerance, rng: np.random.Generator) -> list[Range]:
    """Return ranges of exponents for which the plan has two numbers, or for the search: narrow, wide, of all kinds."""
    a, b, *_ = tolerance.plan.formats
    low, high = max(a.e_min, b.e_min, -40), min(a.e_max, b.e_max, 40)
    lowest = max(a.e_min - a.fraction_bits, b.e_min - b.fraction_bits, -60)
    found = [Range(low, high), Range(min(lowest, low), high), Range(-3, 2)]
    found += [replace(x, positive=True) for x in found[1:]]
    top = int(rng.integers(low + 1, high))
    return [*found, Range(int(rng.integers(lowest, top)), top, no_c=bool(rng.integers(2)))]
