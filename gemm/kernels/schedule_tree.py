"""What plans do, from their schedules: their summation trees, and whether two of them are the same.

Nothing is computed but the trees of single instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arrays import array_of
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.gemm.kernels.grow import grow
from mmaproof.gemm.kernels.masks import Magnitudes, NotMasked, Task
from mmaproof.gemm.kernels.tree import Sum, Tree, add, chain, least, renumbered, restricted, size
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.normal_form import Numbering
from mmaproof.gemm.programs.schedule import Call, Residues, Schedule, Slices, Split, arguments
from mmaproof.hardware_replay.matrix_target import Product
from mmaproof.smt.evaluate import evaluate_batch


def tree_of_plan(plan: Plan, k: int) -> Tree:
    """Return the tree of a product of ``k`` elements, which are filled up with +0 to whole tiles.

    Raises NotMasked where the sums of the plan's unit show no tree, DesignError where the plan does not fit k.
    """
    return _tree_of_plan(plan, k)


@lru_cache(maxsize=256)
def _tree_of_plan(plan: Plan, k: int) -> Tree:
    return restricted(tree_of_schedule(plan.schedule(filled_length(plan, k))), k)


def filled_length(plan: Plan, k: int) -> int:
    """Return ``k`` rounded up to whole tiles of a plan."""
    return -(-k // plan.k_tile) * plan.k_tile


def are_same(
    first: Plan, second: Plan, k: int, never_minus_zero: Callable[[Design], bool] = lambda unit: False
) -> bool:
    """Return whether two plans are equal for every a and b of ``k`` elements and a c of +0, by identity.

    ``never_minus_zero`` as in ``Numbering``.
    """
    lengths = [filled_length(x, k) for x in (first, second)]
    numbering = Numbering(c_is_zero=True, never_minus_zero=never_minus_zero)
    return lengths[0] == lengths[1] and len({numbering.of(x.schedule(lengths[0]))[-1] for x in (first, second)}) == 1


def tree_of_schedule(schedule: Schedule) -> Tree:
    """Return the tree of a schedule whose c is zero. Raises NotMasked where its unit's sums show no tree."""
    trees: list[Tree | None] = []
    for operation in schedule.operations:
        match operation:
            case Split() | Slices() | Residues():
                raise NotMasked("it multiplies several words of an operand, and adds each k several times")
            case Call(unit=unit, ks=ks, c=c):
                trees.append(tree_of_call(unit, ks, trees[c]))
            case _:
                both = [tree for x in arguments(operation) if (tree := trees[x]) is not None]
                trees.append(add(both) if both else None)
    found = trees[-1]
    if found is None:
        raise NotMasked("the schedule adds no products")
    return found


def tree_of_call(unit: Design, ks: Sequence[int], start: Tree | None = None) -> Tree:
    """Return the tree of a chain of instructions over ``ks`` in this order, from ``start`` or from zero.

    Raises NotMasked for a unit whose sums show no tree.
    """
    trees = instruction_trees(unit)
    if trees is None:
        raise NotMasked(f"the sums of {unit.name} show no tree")
    first, groups = trees
    k = unit.k
    found: list[list[Tree]] = []
    for at in range(0, len(ks), k):
        here = ks[at : at + k]
        if at == 0 and start is None:
            found.append([_placed(first, here)])
        else:
            found += [new for group in groups if (new := [_placed(x, here) for x in group if least(x) < len(here)])]
    return chain(start, found)


def _placed(tree: Tree, ks: Sequence[int]) -> Tree:
    """Return the tree over ``ks``, of which there may be fewer than it has leaves."""
    return renumbered(restricted(tree, len(ks)), ks)


CHECKED = 32
"""Random pairs that a tree is compared with: designs are not black boxes."""


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
