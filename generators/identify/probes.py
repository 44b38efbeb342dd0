"""The operands that a unit is asked first: masked ones, which show its summation tree, sparse ones, and random ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

MOST_PAIRS = 600
SPARSE_ROWS, DENSE_ROWS = 40, 24
"""Rows of each distribution with few nonzero products, and with all of them."""


@dataclass(frozen=True)
class Probes:
    """Rows to ask, and the kind of each."""

    batch: OperandBatch
    kinds: tuple[str, ...]


def first_probes(design: Design, seed: int) -> Probes:
    """Return the rows of the first batch for units with the formats, scales and K of ``design``."""
    rng = np.random.default_rng(seed)
    parts = {"tree": tree(design), "carry": carry(design), "halves": halves(design, rng)}
    for name in DISTRIBUTIONS:
        parts[f"dense {name}"] = draw(name, design, DENSE_ROWS, design.k, rng)
        parts[f"sparse {name}"] = sparse(design, draw(name, design, SPARSE_ROWS, design.k, rng), rng)
    kinds = tuple(kind for kind, batch in parts.items() for _ in range(len(batch)))
    return Probes(OperandBatch.concatenate(list(parts.values())), kinds)


def plain(design: Design, rows: int) -> OperandBatch:
    """Return operands of zeros, and scales of one."""
    a, b, c, _ = design.formats
    blocks, scale = design.blocks(design.k), design.scale_format
    ones = None if scale is None else np.full((rows, blocks), scale.encode(1), dtype=pattern_dtype(scale))
    shape = (rows, design.k)
    return OperandBatch(
        np.zeros(shape, dtype=pattern_dtype(a)),
        np.zeros(shape, dtype=pattern_dtype(b)),
        np.zeros(rows, dtype=pattern_dtype(c)),
        ones,
        None if ones is None else ones.copy(),
    )


def extremes(design: Design) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return patterns of a and b whose product is a large power of two, and of those of the smallest normal one.

    The large one leaves room for the sum of all products in d. None for integer units.
    """
    a, b, c, d = design.formats
    if d.is_integer:
        return None
    margin = design.k.bit_length()
    top = min(a.e_max + b.e_max, min(c.e_max, d.e_max) - margin)
    for_a = min(a.e_max, top - b.e_min)
    low = max(a.e_min + b.e_min, d.e_min - d.fraction_bits + margin)
    small_a = max(a.e_min, low - b.e_max)
    large = power(a, for_a), power(b, top - for_a)
    return large, (power(a, small_a), power(b, low - small_a))


@cache
def power(fmt: Format, exponent: int) -> int:
    """Return the pattern of ``2**exponent``."""
    return fmt.encode(2.0**exponent)


def pairs(k: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j) of products, i < j, that the tree is read from: all, or those at powers of two apart."""
    everything = [(i, j) for i in range(k) for j in range(i + 1, k)]
    if len(everything) <= MOST_PAIRS:
        return everything
    return [(i, j) for i, j in everything if (j - i) & (j - i - 1) == 0]


def tree(design: Design) -> OperandBatch:
    """Return rows in which two products are large and cancel, and every other one is small and the same.

    Small terms that are added before the large ones have cancelled are lost, so d counts those that come after
    (Xie et al. 2026, section 4.1; the masked inputs of FPRev). In the second half one of the two large terms is c.
    """
    found = extremes(design)
    if found is None:
        return plain(design, 0)
    (large_a, large_b), (small_a, small_b) = found
    ij = pairs(design.k)
    batch = plain(design, len(ij) + design.k)
    batch.a[:], batch.b[:] = small_a, small_b
    minus = 1 << design.a_format.sign_position
    for row, (i, j) in enumerate(ij):
        batch.a[row, [i, j]], batch.b[row, [i, j]] = (large_a, large_a | minus), large_b
    c = design.c_format
    exponent = sum(_exponent(f, x) for f, x in zip(design.formats[:2], (large_a, large_b), strict=True))
    for i in range(design.k):
        row = len(ij) + i
        batch.a[row, i], batch.b[row, i] = large_a | minus, large_b
        batch.c[row] = power(c, exponent)
    return batch


def _exponent(fmt: Format, pattern: int) -> int:
    return (pattern >> (fmt.fraction_bits + fmt.ignored_bits)) - fmt.bias


def carry(design: Design) -> OperandBatch:
    """Return rows of the largest sums: the same product many times, with either sign, and c as large or zero."""
    a, b, c, d = design.formats
    batch = plain(design, 0)
    rows = []
    for share in (1, 2, 4):
        for negative in (False, True):
            for with_c in (False, True):
                one = plain(design, 1)
                x, y = (_nearly_two(f) for f in (a, b))
                sign = 1 << a.sign_position if negative and a.signed else 0
                one.a[:, ::share], one.b[:, ::share] = x | sign, y
                if with_c:
                    one.c[:] = _nearly_two(c) | (1 << c.sign_position if negative else 0)
                rows.append(one)
    del d, batch
    return OperandBatch.concatenate(rows)


def _nearly_two(fmt: Format) -> int:
    """Return the largest number below two, or of all where none is as large as one; of integers the largest."""
    if fmt.is_integer:
        return (1 << (fmt.bits - fmt.signed)) - 1
    return min(power(fmt, min(0, fmt.e_max)) | (((1 << fmt.fraction_bits) - 1) << fmt.ignored_bits), fmt.max_finite)


def halves(design: Design, rng: np.random.Generator) -> OperandBatch:
    """Return rows whose first half adds up to something huge, and whose second half to the opposite."""
    a, b, _, _ = design.formats
    if a.is_integer:
        return plain(design, 0)
    batch = plain(design, 8)
    at = rng.integers(0, design.k // 2 or 1, 8)
    for row in range(len(batch)):
        i, j = int(at[row]), (design.k // 2 + int(at[row])) % design.k
        for place, sign in ((i, 0), (j, 1)):
            batch.a[row, place] = (a.max_finite if row % 2 else power(a, a.e_max)) | sign << a.sign_position
            batch.b[row, place] = b.max_finite if row < 4 else power(b, min(b.e_max, 1 + row % 3))
    return batch


def sparse(design: Design, batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return the rows with one to three of their products kept, the others 0 * 0; in a third of them c is zero."""
    rows, k = batch.a.shape
    order = rng.permuted(np.tile(np.arange(k), (rows, 1)), axis=1)
    kept = order < rng.integers(1, min(3, k) + 1, rows)[:, None]

    def masked(x: Patterns) -> Patterns:
        return np.where(kept, x, x.dtype.type(0))

    c = np.where(rng.random(rows) < 1 / 3, batch.c.dtype.type(0), batch.c)
    return OperandBatch(masked(batch.a), masked(batch.b), c, batch.scale_a, batch.scale_b)
