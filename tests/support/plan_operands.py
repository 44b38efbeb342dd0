"""Operands of plans: numbers of moderate size in any format, and patterns of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.gemm.programs import Plan


def moderate(fmt: Format, rng: np.random.Generator, shape: tuple[int, ...]) -> Patterns:
    """Return patterns of numbers of both signs with exponents near 0; of integers any patterns."""
    if fmt.is_integer:
        return anything(fmt, rng, shape)
    low, high = max(fmt.e_min, -6), min(fmt.e_max - 1, 6)
    field = rng.integers(low, high + 1, shape) + fmt.bias
    fraction = rng.integers(0, 1 << fmt.fraction_bits, shape)
    sign = rng.integers(0, 2, shape) << (fmt.exponent_bits + fmt.fraction_bits)
    found: Any = (sign | field << fmt.fraction_bits | fraction) << fmt.ignored_bits
    return np.asarray(found, dtype=pattern_dtype(fmt))


def anything(fmt: Format, rng: np.random.Generator, shape: tuple[int, ...]) -> Patterns:
    """Return any patterns: subnormals, infinities and NaNs too."""
    return rng.integers(0, 1 << fmt.bits, shape, dtype=np.uint64).astype(pattern_dtype(fmt))


def matrices(plan: Plan, k: int, shape: tuple[int, int], seed: int) -> tuple[Patterns, Patterns, Patterns]:
    """Return patterns of a (m, k), b (k, n) and c (m, n): every fourth row of a and of c of any patterns."""
    rng = np.random.default_rng(seed)
    m, n = shape
    made = []
    for fmt, size in zip(plan.formats, ((m, k), (k, n), (m, n)), strict=False):
        made.append(moderate(fmt, rng, size))
    for x, fmt in ((made[0], plan.formats[0]), (made[2], plan.formats[2])):
        x[::4] = anything(fmt, rng, x[::4].shape)
    made[0][1::4, ::2] = 0
    return made[0], made[1], made[2]


def element(a: Patterns, b: Patterns, c: Patterns, i: int, j: int) -> Operands:
    """Return the operands of one element of the result."""
    return Operands(tuple(a[i].tolist()), tuple(b[:, j].tolist()), int(c[i, j]))
