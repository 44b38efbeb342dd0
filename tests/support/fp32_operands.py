"""fp32 operands of algorithms: what narrower words, sums and the ranges of the formats make difficult."""

import numpy as np
import numpy.typing as npt

from mmaproof.designs.element import Operands

Patterns32 = npt.NDArray[np.uint32]

EXPONENTS = {
    "moderate": (-4, 4),
    "wide": (-20, 20),
    "next to underflow of fp16": (-30, -10),
    "next to overflow of fp16": (10, 17),
    "small": (-80, -58),
    "large": (56, 70),
}
"""Ranges of the exponents of a and b; c is about as large as a product."""
KINDS = (*EXPONENTS, "ties", "zeros", "cancelling", "subnormal", "patterns", "infinities")
FINITE = tuple(k for k in KINDS if k not in ("patterns", "infinities"))

AROUND_HALF = np.array([0x0FFF, 0x1000, 0x1001], np.uint32)
"""Below, at and above half a unit of the last of 11 bits."""


def numbers(rng: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> Patterns32:
    """Patterns of normal fp32 numbers of both signs with exponents ``low`` to ``high`` (no further than 127)."""
    exponent = np.clip(rng.integers(low, high + 1, shape), -126, 127)
    fraction = rng.integers(0, 1 << 23, shape) & rng.choice([-1, -1, 0x7FF000, 0], shape)
    return np.asarray(rng.integers(0, 2, shape) << 31 | (exponent + 127) << 23 | fraction, dtype=np.uint32)


def random_arrays(kind: str, shape: tuple[int, int, int], seed: int) -> tuple[Patterns32, Patterns32, Patterns32]:
    """Patterns of A, B and C, of shapes (m, k), (k, n) and (m, n), of one of the kinds."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    m, k, n = shape
    low, high = EXPONENTS.get(kind, (-4, 4))
    a, b, c = numbers(rng, low, high, (m, k)), numbers(rng, low, high, (k, n)), numbers(rng, 2 * low, 2 * high, (m, n))
    if kind == "ties":  # of the 11 bits of fp16 and tf32, or next to them
        a, b = (x & 0xFFFFE000 | rng.choice(AROUND_HALF, x.shape) for x in (a, b))
    elif kind == "zeros":
        a, b, c = (np.where(rng.random(x.shape) < 0.5, x & 0x80000000, x) for x in (a, b, c))
    elif kind == "cancelling":
        half = k // 2
        a[:, half : 2 * half], b[half : 2 * half] = a[:, :half] ^ 0x80000000, b[:half] ^ (rng.integers(0, 2) << 12)
    elif kind == "subnormal":
        a, b, c = (np.where(rng.random(x.shape) < 0.5, x & 0x807FFFFF, x) for x in (a, b, c))
        b = np.where(rng.random(b.shape) < 0.5, b, numbers(rng, 100, 127, b.shape))
    elif kind == "patterns":
        a, b, c = (rng.integers(0, 1 << 32, x.shape).astype(np.uint32) for x in (a, b, c))
    elif kind == "infinities":
        a, b, c = (np.where(rng.random(x.shape) < 0.1, x & 0x80000000 | 0x7F800000, x) for x in (a, b, c))
        a = np.where(rng.random(a.shape) < 0.02, np.uint32(0x7FC00001), a)
    return a, b, c


def widened(patterns: Patterns32, seed: int) -> npt.NDArray[np.uint64]:
    """Patterns of fp64 next to finite numbers of fp32: three in four have random bits where fp32 has none."""
    rng = np.random.default_rng(seed)
    wide = patterns.view(np.float32).astype(np.float64).view(np.uint64)
    low = rng.integers(0, 1 << 29, wide.shape, dtype=np.uint64)
    return np.where((rng.random(wide.shape) < 0.75) & (wide << np.uint64(1) != 0), wide | low, wide)


def element(a: Patterns32, b: Patterns32, c: Patterns32, i: int, j: int) -> Operands:
    """The operands of one element of D."""
    return Operands(tuple(a[i].tolist()), tuple(b[:, j].tolist()), int(c[i, j]))


def random_operands(kind: str, k: int, seed: int) -> Operands:
    """The operands of one element, of one of the kinds."""
    return element(*random_arrays(kind, (1, k, 1), seed), 0, 0)
