"""Samples of operands, on which the gates of a sum are told by their values: random ones, dense ones, and bred ones.

A carry may be so rare that no random operands have it. Where a gate has one value in all samples, those are varied in
which its inputs have their rare values, until each gate has both values or is taken for a constant.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from mmaproof.smt.solving.cnf import TRUE
from mmaproof.smt.solving.sums import value_of

SAMPLES: Final = 1 << 11
HIGHEST_ALONE: Final = 32
"""samples in which bits of operands are zero but the highest"""
GENERATIONS: Final = 16
"""times that samples are varied"""
RARE: Final = 32
"""samples in which a value counts as rare"""
KEPT: Final = 4
"""samples with a value that are all kept"""
Made = Mapping[int, tuple[str | int, ...]]


def sampled(operands: Sequence[int], made: Made, highest: Sequence[Collection[int]], told: Made) -> dict[int, int]:
    """Return the values of all variables for samples of operands, a bit for each sample.

    In a quarter of them most bits are like the one before, so carries pass through long words of operands. In two
    others most bits are one, so the highest sums occur; a few have only operands of the ``highest`` products. The last
    quarter is bred for the gates that are ``told`` by their values.
    """
    of, every, last = random.Random(0), (1 << SAMPLES) - 1, 0
    quarter = SAMPLES // 4
    runs, dense, most = (((1 << quarter) - 1) << quarter * i for i in range(3))
    values = dict[int, int]()
    for v in operands:
        x, y, z, t = (of.getrandbits(SAMPLES) for _ in range(4))
        last = x & ~runs | (last ^ x & y & z) & runs | (y | z | t) & dense | (x | y | z | t) & most
        values[v] = last
    for i in range(0, SAMPLES, SAMPLES // HIGHEST_ALONE):
        ones = {v for k in highest if of.getrandbits(1) for v in k}
        for v in values:
            values[v] = values[v] & ~(1 << i) | (v in ones) << i
    values[TRUE] = every
    _compute(values, made)
    generator = np.random.default_rng(0)
    for _ in range(GENERATIONS):
        weights, kept = _weights(values, told)
        if not weights.any():
            break
        children = np.setdiff1d(np.arange(3 * quarter, SAMPLES), np.flatnonzero(kept))
        _vary(values, operands, children, weights / weights.sum(), generator)
        _compute(values, made)
    return values


def _compute(values: dict[int, int], made: Made) -> None:
    for v, gate in made.items():
        values[v] = value_of(gate, values, values[TRUE])


def _weights(values: Mapping[int, int], told: Made) -> tuple[Any, Any]:
    """Return how often each sample is to be varied, and the samples to be kept. Nothing is varied for no constant."""
    every, constant = values[TRUE], False
    weights, kept = np.zeros(SAMPLES), np.zeros(SAMPLES, dtype=bool)
    for v, (_, *inputs) in told.items():
        rare = _rarer(values[v], every)
        if not rare:
            constant = True
            near = [_rarer(values[abs(int(x))], every) for x in inputs]
            weights += sum(_bits(x) / x.bit_count() for x in near if 0 < x.bit_count() <= RARE)
        elif (count := rare.bit_count()) <= KEPT:
            kept |= _bits(rare) > 0
            weights += _bits(rare) / count / 10
    return weights * constant, kept


def _vary(
    values: dict[int, int], operands: Sequence[int], children: Any, weights: Any, of: np.random.Generator
) -> None:
    """Put into some samples what others have, a few bits of it inverted; some are mixed of two."""
    samples = np.array([_bits(values[v]) for v in operands])
    one, two = (samples[:, of.choice(SAMPLES, len(children), p=weights)] for _ in range(2))
    mixed = (of.random(one.shape) < 0.5) & (of.random(len(children)) < 0.3)
    flipped = of.random(one.shape) < of.choice([1, 2, 4], len(children)) / len(operands)
    samples[:, children] = np.where(mixed, two, one) ^ flipped
    for v, row in zip(operands, samples, strict=True):
        values[v] = int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


def _rarer(value: int, every: int) -> int:
    """Return the samples in which a variable has the value that it has less often."""
    return value if 2 * value.bit_count() < every.bit_count() else value ^ every


def _bits(value: int) -> Any:
    return np.unpackbits(np.frombuffer(value.to_bytes(SAMPLES // 8, "little"), np.uint8), bitorder="little")
