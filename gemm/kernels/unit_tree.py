"""The summation tree of a unit: which products of a chain of its instructions are added at once, and when.

It is read from masked operands like that of a target, so that it is known for every kind of step. Each pair of products
is a row of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arrays import array_of
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.gemm.kernels.grow import grow
from mmaproof.gemm.kernels.masks import Magnitudes, NotMasked, Task
from mmaproof.gemm.kernels.tree import Sum, Tree, renumbered, restricted, size
from mmaproof.hardware_replay.matrix_target import Product
from mmaproof.smt.evaluate import evaluate_batch

CHECKED = 32
"""Random pairs that a tree is compared with: designs are no black boxes."""


class UnitMasks:
    """Masked dot products of ``length`` elements on a design, with c = +0."""

    def __init__(self, design: Design, length: int) -> None:
        self.design, self.length = design, length
        self.magnitudes = Magnitudes.of(Product(1, 1, length, design.a_format, design.b_format, design.d_format))
        if length > min(self.magnitudes.room, 1 << design.d_format.precision):
            raise NotMasked(f"{length} units are too many for {design.name}")

    def sizes(self, tasks: Sequence[Task]) -> list[npt.NDArray[np.int64]]:
        """Return for each pair of each task the number of leaves of the smallest subtree that has both."""
        pairs = [(task.i, j) for task in tasks for j in task.js]
        design, (small_a, small_b), (huge_a, huge_b) = self.design, self.magnitudes.small, self.magnitudes.huge
        a = np.full((len(pairs), self.length), small_a, dtype=pattern_dtype(design.a_format))
        b = np.full((len(pairs), self.length), small_b, dtype=pattern_dtype(design.b_format))
        i, j = (np.array(x) for x in zip(*pairs, strict=True))
        rows = np.arange(len(pairs))
        minus = a.dtype.type(1 << design.a_format.sign_position)
        a[rows, i], a[rows, j] = huge_a, huge_a | minus
        if not self.magnitudes.crossed:
            b[rows, i], b[rows, j] = huge_b, huge_b
        c = np.zeros(len(pairs), dtype=pattern_dtype(design.c_format))
        d = array_of(evaluate_batch(design, OperandBatch(a, b, c)), design.d_format).astype(np.float64)
        survived = d / self.magnitudes.unit
        if not ((survived >= 0) & (survived <= self.length - 2) & (survived == np.rint(survived))).all():
            raise NotMasked(f"{design.name} returns no number of units that survived")
        found = self.length - survived.astype(np.int64)
        ends = np.cumsum([len(task.js) for task in tasks])
        return list(np.split(found, ends[:-1]))


@lru_cache(maxsize=1024)
def instruction_trees(design: Design) -> tuple[Tree, tuple[tuple[Tree, ...], ...]] | None:
    """Return the tree of one instruction from zero, and the groups that the next one adds to it.

    The groups have the k of the second instruction, from 0 on. None for a unit in which masks show no tree.
    """
    k = design.k
    try:
        both = grow(UnitMasks(design, 2 * k), 2 * k, checked=CHECKED)
    except NotMasked:
        return None
    if not isinstance(both, Sum):
        return None
    first = restricted(both, k)
    if isinstance(first, int):
        return first, ((0,),)
    groups = both.groups[len(first.groups) :]
    if both.groups[: len(first.groups)] != first.groups or sum(size(x) for group in groups for x in group) != k:
        return None
    return first, tuple(tuple(renumbered(x, range(-k, k)) for x in group) for group in groups)
