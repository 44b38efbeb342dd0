"""What plans do, from their schedules: their summation trees, and whether two of them are the same.

Nothing is computed but the trees of single instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from mmaproof.designs.design import Design
from mmaproof.gemm.kernels.masks import NotMasked
from mmaproof.gemm.kernels.tree import Tree, add, chain, least, renumbered, restricted
from mmaproof.gemm.kernels.unit_tree import instruction_trees
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.normal_form import Numbering
from mmaproof.gemm.programs.schedule import Call, Residues, Schedule, Slices, Split, arguments


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
