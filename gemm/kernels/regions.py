"""Regions of a matrix product whose elements have different summation trees, as at the edges of tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmaproof.gemm.kernels.fit import Mask
from mmaproof.gemm.kernels.masks import Masks, Multiplies, NotMasked, Task

PAIRS = 12
"""Pairs that every element is asked about."""
MOST_REGIONS = 6

Region = tuple[Mask, Sequence[int], Sequence[int]]
"""The elements of a region, and rows and columns all of whose crossings are in it."""


def regions_of(target: Multiplies, seed: int) -> list[Region]:
    """Return the regions that differ in how many units survive for some pairs; a single one where none differ.

    Elements that no rectangle of rows and columns holds are left to the region that has most of them.
    """
    product = target.product
    rng = np.random.default_rng(seed)
    everything = np.ones((product.m, product.n), dtype=bool)
    if product.k < 2:
        return [(everything, range(product.m), range(product.n))]
    try:
        masks = Masks(target)
    except NotMasked:
        return [(everything, range(product.m), range(product.n))]
    answers = []
    for _ in range(PAIRS):
        i, j = rng.permutation(product.k)[:2].tolist()
        answers += masks.depends_on_place(Task(i, (j,)))
    stacked = np.stack(answers, axis=-1).reshape(-1, PAIRS)
    _, numbers, counts = np.unique(stacked, axis=0, return_inverse=True, return_counts=True)
    placed = numbers.reshape(product.m, product.n)
    if len(counts) > MOST_REGIONS:
        return [(everything, range(product.m), range(product.n))]
    return [_region(placed == number) for number in np.argsort(-counts, kind="stable").tolist()]


def _region(where: Mask) -> Region:
    """Return a region with the rows that are like its fullest one."""
    fullest = int(where.sum(axis=1).argmax())
    columns = np.flatnonzero(where[fullest])
    rows = np.flatnonzero(where[:, columns].all(axis=1))
    return where, rows.tolist(), columns.tolist()
