"""The summation tree of a matrix product over k, as data: which terms and which sums are added together, and when.

A leaf is an index of k. An inner node adds all of its children at once: two in an addition of IEEE 754 or a fused
multiply-add, more in a step of a unit that aligns and adds several terms together.

Most trees are chains, so a tree is kept as one. The spine of a ``Sum`` goes from its first node to the root, each
time to the parent, and passes the child with the most leaves (of those, the one with the least k). What other children
join the spine at a node is a group. Two equal trees have equal records, because the spine is a matter of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, Union

Tree: TypeAlias = Union[int, "Sum"]


@dataclass(frozen=True)
class Sum:
    """A node with at least two children. The first group are the children of the first node, which are all leaves.

    Each further group is added to the sum of the groups before it, at once. ``groups`` are sorted by their least k.
    """

    groups: tuple[tuple[Tree, ...], ...]

    @cached_property
    def size(self) -> int:
        """Number of leaves."""
        return sum(size(child) for group in self.groups for child in group)

    @cached_property
    def least(self) -> int:
        """The least k."""
        return min(least(child) for group in self.groups for child in group)

    @cached_property
    def _hash(self) -> int:
        return hash(self.groups)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _places(self) -> dict[int, tuple[int, Tree]]:
        """For each leaf the group that it is in, and the child."""
        return {k: (i, child) for i, group in enumerate(self.groups) for child in group for k in leaves(child)}

    @cached_property
    def _sizes(self) -> list[int]:
        """Number of leaves of the node of each group."""
        total, found = 0, []
        for group in self.groups:
            total += sum(map(size, group))
            found.append(total)
        return found

    def common(self, i: int, j: int) -> int:
        """Return the number of leaves of the smallest subtree that has both leaves, two different ones."""
        (of_i, first), (of_j, second) = self._places[i], self._places[j]
        if first is second and isinstance(first, Sum):
            return first.common(i, j)
        return self._sizes[max(of_i, of_j)]


def size(tree: Tree) -> int:
    """Return the number of leaves."""
    return tree.size if isinstance(tree, Sum) else 1


def least(tree: Tree) -> int:
    """Return the least k of the leaves."""
    return tree.least if isinstance(tree, Sum) else tree


def leaves(tree: Tree) -> list[int]:
    """Return the leaves in the order of the record."""
    if isinstance(tree, int):
        return [tree]
    return [k for group in tree.groups for child in group for k in leaves(child)]


def add(children: Iterable[Tree]) -> Tree:
    """Return the node that adds ``children`` at once; of one child this is the child."""
    of = sorted(children, key=lambda x: (-size(x), least(x)))
    if len(of) == 1:
        return of[0]
    first, others = of[0], tuple(sorted(of[1:], key=least))
    if isinstance(first, int):
        return Sum((tuple(sorted(x for x in of if isinstance(x, int))),))
    return Sum((*first.groups, others))


def chain(start: Tree | None, groups: Iterable[Sequence[Tree]]) -> Tree:
    """Return ``start`` (None for zero) with each of ``groups`` added in turn, each at once.

    As the same calls of ``add``, but a long chain is not built anew for each of them.
    """
    spine: list[tuple[Tree, ...]] = []
    total = 0
    tree = start
    for group in groups:
        largest = max(map(size, group))
        if spine and largest < total:
            spine.append(tuple(sorted(group, key=least)))
            total += sum(map(size, group))
            continue
        children = [*([Sum(tuple(spine))] if spine else [] if tree is None else [tree]), *group]
        tree = add(children)
        spine = list(tree.groups) if isinstance(tree, Sum) else []
        total = size(tree)
    if spine:
        return Sum(tuple(spine))
    if tree is None:
        raise ValueError("a tree has leaves")
    return tree


def renumbered(tree: Tree, ks: Sequence[int]) -> Tree:
    """Return the tree with ``ks[k]`` in place of each leaf k."""
    if isinstance(tree, int):
        return ks[tree]
    return chain(None, [[renumbered(child, ks) for child in group] for group in tree.groups])


def restricted(tree: Tree, k: int) -> Tree:
    """Return the tree without the leaves from ``k`` on, as if their products were zeros; the least leaf is below k."""
    if isinstance(tree, int):
        return tree
    kept = ([restricted(child, k) for child in group if least(child) < k] for group in tree.groups)
    return chain(None, [group for group in kept if group])
