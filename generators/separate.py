"""The search for one input that separates many pairs of designs: random rows, then rows bred from the best of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.properties.separation import SomePairAgrees
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import steer

FRESH, CHILDREN = 32, 768
"""Random rows of each distribution, and rows bred from the pool, in one generation."""
POOL, ALIKE = 128, 16
"""Rows that are kept from one generation to the next, and at most N of them that separate the same pairs."""

STRIPPED, SIMPLEST, IDLE = 256, 8, 10
"""Simpler rows that are tried at once, the simplest that are kept, and how often in a row none may be simpler."""


@dataclass(frozen=True)
class Pool:
    """Rows, and which of the pairs of a question each separates, shape (rows, pairs); the best come first."""

    batch: OperandBatch
    separated: npt.NDArray[np.bool_]
    tried: int

    @property
    def complete(self) -> npt.NDArray[np.intp]:
        """The rows that separate all pairs."""
        return np.flatnonzero(self.separated.all(axis=1))


def breed(question: SomePairAgrees, *, seed: int, rows: int, start: OperandBatch | None = None) -> Pool:
    """Return the best rows found: those that separate the most pairs, and for each pair some that separate it.

    ``start`` are rows to begin with. The search ends with the first generation in which a row separates all pairs, or
    when ``rows`` were tried; the same seed gives the same rows.
    """
    rng = np.random.default_rng(seed)
    batch = _fresh(question, rng) if start is None else OperandBatch.concatenate([start, _fresh(question, rng)])
    pool = _best(batch, question.separated(batch), len(batch))
    while pool.tried < rows and not len(pool.complete):
        new = OperandBatch.concatenate([_bred(question, pool.batch, rng), _fresh(question, rng)])
        both = OperandBatch.concatenate([pool.batch, new])
        pool = _best(both, np.concatenate([pool.separated, question.separated(new)]), pool.tried + len(new))
    return pool


def _fresh(question: SomePairAgrees, rng: np.random.Generator) -> OperandBatch:
    """Return random rows of every distribution, each shaped for one of the designs."""
    shapes = [question.designs[i] for i in rng.integers(0, len(question.designs), len(DISTRIBUTIONS))]
    drawn = [draw(name, x, FRESH, question.k, rng) for name, x in zip(DISTRIBUTIONS, shapes, strict=True)]
    return steer(OperandBatch.concatenate(drawn), question, rng)


def _best(batch: OperandBatch, separated: npt.NDArray[np.bool_], tried: int) -> Pool:
    # a pair that few rows separate counts for more, or the rows that do would die out
    worth = separated @ (1 / np.maximum(separated.sum(axis=0), 1))
    order = np.lexsort((_one_bits(batch), -worth))
    alike: Counter[bytes] = Counter()
    missing = separated.any(axis=0)
    kept: list[np.intp] = []
    for row in order:
        signature = separated[row].tobytes()
        alike[signature] += 1
        # beyond the best, one row for each pair that none of them separates
        if alike[signature] <= ALIKE and (len(kept) < POOL or (separated[row] & missing).any()):
            kept.append(row)
            missing = missing & ~separated[row]
    rows = np.array(kept, dtype=np.intp)
    return Pool(batch.select(rows), separated[rows], tried)


def _one_bits(batch: OperandBatch) -> npt.NDArray[np.int64]:
    return sum((_per_row(np.bitwise_count(x)) for x in _columns(batch)), np.zeros(len(batch), dtype=np.int64))


def _nonzero(batch: OperandBatch) -> npt.NDArray[np.int64]:
    return sum((_per_row(x != 0) for x in _columns(batch)), np.zeros(len(batch), dtype=np.int64))


def _columns(batch: OperandBatch) -> list[Patterns]:
    return [x for x in (batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b) if x is not None]


def _per_row(x: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.asarray(x.reshape(len(x), -1).sum(axis=1), dtype=np.int64)


def strip(question: SomePairAgrees, batch: OperandBatch, *, seed: int) -> OperandBatch:
    """Return rows that separate all pairs, as those of ``batch`` do, with fewer nonzero operands and one bits.

    Products are dropped and significands cut, many ways at once; the simplest rows come first.
    """
    rng = np.random.default_rng(seed)
    idle = 0
    while idle < IDLE:
        varied = OperandBatch.concatenate(
            [batch.select(rng.integers(0, len(batch), STRIPPED)), _bred(question, batch, rng)]
        )
        both = OperandBatch.concatenate([batch, _stripped(question, varied, rng)])
        both = both.select(np.concatenate([np.arange(len(batch)), len(batch) + _complete(question, both, len(batch))]))
        order = np.lexsort((_one_bits(both), _nonzero(both)))
        idle = idle + 1 if order[0] == 0 else 0
        batch = both.select(order[:SIMPLEST])
    return batch


def _complete(question: SomePairAgrees, batch: OperandBatch, first: int) -> npt.NDArray[np.intp]:
    """Return which rows separate all pairs, among those from ``first`` on and counted from there."""
    return np.flatnonzero(question.separated(batch.select(slice(first, None))).all(axis=1))


def _stripped(question: SomePairAgrees, batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return rows without some of their products, and with some of their elements cut short."""
    products, count = (len(batch), question.k), len(batch)
    rate = rng.choice([0.0, 0.5, 2.0, 8.0], (3, count, 1)) / question.k
    dropped = rng.random(products) < rate[0]
    of_a, of_b, of_c = question.formats
    a, b = (
        np.where(dropped, x.dtype.type(0), _cut(f, x, rng.random(products) < rate[n], rng))
        for n, f, x in ((1, of_a, batch.a), (2, of_b, batch.b))
    )
    c = _cut(of_c, batch.c, rng.random(count) < 0.25, rng)
    c = np.where(rng.random(count) < 0.05, c.dtype.type(0), c)
    return OperandBatch(a, b, c, batch.scale_a, batch.scale_b)


def _cut(fmt: Format, patterns: Patterns, which: npt.NDArray[np.bool_], rng: np.random.Generator) -> Patterns:
    """Return patterns some of which are one, or lack low bits of the significand (of integers any), or the sign."""
    low = rng.integers(0, (fmt.fraction_bits or fmt.bits - 1) + 1, patterns.shape).astype(patterns.dtype)
    cut = patterns >> (low + patterns.dtype.type(fmt.ignored_bits)) << (low + patterns.dtype.type(fmt.ignored_bits))
    one = np.where(patterns == 0, patterns, patterns.dtype.type(fmt.one))
    absolute = patterns & patterns.dtype.type((1 << (fmt.bits - 1 if fmt.signed else fmt.bits)) - 1)
    shorter: Patterns = np.choose(rng.choice(3, patterns.shape, p=[0.6, 0.2, 0.2]), [cut, one, absolute])
    return np.where(which, shorter, patterns).astype(patterns.dtype)


def _bred(question: SomePairAgrees, parents: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return rows made of the products of one parent, often some of another too, with a few elements changed."""
    # the better ones more often
    first, second = (np.floor(len(parents) * rng.random(CHILDREN) ** 2).astype(np.intp) for _ in "xy")
    child, other = parents.select(first), parents.select(second)
    products = (CHILDREN, question.k)
    mixed = (rng.random(CHILDREN) < 0.5)[:, np.newaxis]
    taken = mixed & (rng.random(products) < rng.random((CHILDREN, 1)))
    a, b = (np.where(taken, y, x) for x, y in ((child.a, other.a), (child.b, other.b)))
    c = np.where(mixed[:, 0] & (rng.random(CHILDREN) < 0.3), other.c, child.c)
    # a product takes the place of another, often under the opposite sign
    place = rng.integers(0, question.k, products)
    copied = rng.random(products) < rng.choice([0.0, 1 / question.k], (CHILDREN, 1))
    a, b = (np.where(copied, np.take_along_axis(x, place, 1), x) for x in (a, b))
    of_a, of_b, of_c = question.formats
    if of_a.signed:
        sign = a.dtype.type(1 << of_a.sign_position)
        a = np.where(copied & (rng.random(products) < 0.5), a ^ sign, a)
    a = np.where(rng.random(products) < rng.choice([0.0, 1 / question.k], (CHILDREN, 1)), a.dtype.type(0), a)
    few = rng.choice([0.0, 1 / question.k], (CHILDREN, 1))
    a, b = (_nudged(f, x, rng.random(products) < few, rng) for f, x in ((of_a, a), (of_b, b)))
    if not of_a.is_integer:
        few = rng.choice([0.0, 1 / question.k], (CHILDREN, 1))
        a, b = _rebalanced(of_a, a, of_b, b, rng.random(products) < few, rng)
    c = _nudged(of_c, c, rng.random(CHILDREN) < 0.25, rng)
    scales = [
        x if x is None or question.scale_format is None else _nudged(question.scale_format, x, y, rng)
        for x, y in ((s, rng.random((CHILDREN, question.blocks)) < 0.1) for s in (child.scale_a, child.scale_b))
    ]
    return OperandBatch(a, b, c, *scales)


def _rebalanced(
    of_a: Format, a: Patterns, of_b: Format, b: Patterns, which: npt.NDArray[np.bool_], rng: np.random.Generator
) -> tuple[Patterns, Patterns]:
    """Return a and b with powers of two moved from one to the other: subnormal operands of a product as large."""
    places = [f.fraction_bits + f.ignored_bits for f in (of_a, of_b)]
    fields = [
        (x >> x.dtype.type(place)).astype(np.int64) & ((1 << f.exponent_bits) - 1)
        for f, x, place in zip((of_a, of_b), (a, b), places, strict=True)
    ]
    tops = [f.e_max - f.e_min + 1 for f in (of_a, of_b)]
    least = np.maximum(-fields[1], fields[0] - tops[0])
    most = np.minimum(fields[0], tops[1] - fields[1])
    # beside an infinity there may be no room
    moved = np.where(which & (least <= most), rng.integers(least, np.maximum(most, least) + 1), 0)
    low, high = a - (moved << places[0]).astype(a.dtype), b + (moved << places[1]).astype(b.dtype)
    return low, high


def _nudged(fmt: Format, patterns: Patterns, which: npt.NDArray[np.bool_], rng: np.random.Generator) -> Patterns:
    """Return patterns some of which are one bit position larger or smaller, or have one bit changed."""
    bit = np.left_shift(
        patterns.dtype.type(1), rng.integers(fmt.ignored_bits, fmt.bits, patterns.shape, dtype=patterns.dtype)
    )
    changed = np.choose(rng.integers(0, 3, patterns.shape), [patterns + bit, patterns - bit, patterns ^ bit])
    mask = patterns.dtype.type((1 << fmt.bits) - 1)
    nudged: Patterns = np.where(which, changed & mask, patterns).astype(patterns.dtype)
    return nudged
