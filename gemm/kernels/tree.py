"""The summation tree of a matrix product over k, as data: which terms and which sums are added together, and when.

A leaf is an index of k. An inner node adds all of its children at once: two in an addition of IEEE 754 or a fused
multiply-add, more in a step of a unit that aligns and adds several terms together.

Most trees are chains, so a tree is kept as one. The spine of a ``Sum`` goes from its first node to the root, each
time to the parent, and passes the child with the most leaves (of those, the one with the least k). What other children
join the spine at a node is a group. Two equal trees have equal records, because the spine is a matter of the tree.

A summation tree as one line of text.

``0..7`` is a chain: each term is added to the sum of those before it. ``0..30:2`` is a chain of every second term,
``0..31 by 16`` one of 16 terms at once. ``{0 3 4}`` are terms that are added at once. Sums in parentheses are made
apart. All is added from the left to the right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


SHOWN = 3
"""Parts that are alike and follow each other are shown up to this number, and counted beyond."""
LISTED = 24
"""Terms in no regular order that are listed."""
_Group = Sequence[Tree]


def text_of(tree: Tree) -> str:
    """Return the tree as text."""
    if isinstance(tree, int):
        return str(tree)
    return " + ".join(_segments(_separate(tree.groups)))


def _separate(groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups of a spine with a first pair of terms as two terms, one added to the other."""
    first = groups[0]
    if len(first) == 2 and (len(groups) == 1 or len(groups[1]) == 1):
        return [first[:1], first[1:], *groups[1:]]
    return list(groups)


def _segments(groups: list[_Group]) -> list[str]:
    """Return the summands: runs of terms, and sums that are made apart."""
    parts: list[str] = []
    at = 0
    while at < len(groups):
        if _is_of_leaves(groups[at]) and len(groups[at]) == 1:
            end = _end(groups, at, lambda x: len(x) == 1 and _is_of_leaves(x))
            parts.append(_terms([least(x[0]) for x in groups[at:end]]))
        else:
            end = _end_of_alike(groups, at)
            parts += _alike(groups[at:end])
        at = end
    return parts


def _is_of_leaves(group: _Group) -> bool:
    return all(isinstance(x, int) for x in group)


def _end(groups: Sequence[_Group], at: int, fits: Callable[[_Group], bool]) -> int:
    while at < len(groups) and fits(groups[at]):
        at += 1
    return at


def _terms(ks: list[int]) -> str:
    """Return terms that are added one after the other: ranges where they are in one, or all."""
    texts = []
    at = 0
    while at < len(ks):
        end = at + 1
        while end + 1 < len(ks) and ks[end + 1] - ks[end] == ks[at + 1] - ks[at]:
            end += 1
        if at + 1 < len(ks) and end - at >= 2:
            texts.append(_range(ks[at : end + 1]))
            at = end + 1
        else:
            texts.append(str(ks[at]))
            at += 1
    if len(texts) > LISTED:
        texts[LISTED:] = [f"... ({len(ks)} terms in all)"]
    return " ".join(texts)


def _range(ks: Sequence[int]) -> str:
    step = ks[1] - ks[0]
    return f"{ks[0]}..{ks[-1]}" + ("" if step == 1 else f":{step}")


def _alike(groups: Sequence[_Group]) -> list[str]:
    """Return groups that are each the one before, shifted."""
    ks = [leaves_of(x) for x in groups]
    at_once = len(groups[0])
    if (
        len(groups) > 1
        and all(map(_is_of_leaves, groups))
        and [k for x in ks for k in x] == list(range(ks[0][0], ks[-1][-1] + 1))
    ):
        return [f"{ks[0][0]}..{ks[-1][-1]} by {at_once}"]
    if len(groups) <= SHOWN:
        return [_group(x) for x in groups]
    shift = min(ks[1]) - min(ks[0])
    return [f"{_group(groups[0])} and {len(groups) - 1} more like it, each {shift} further"]


def _group(group: _Group) -> str:
    ks = leaves_of(group)
    if _is_of_leaves(group):
        return (
            "{" + (_range(ks) if len(ks) > 3 and ks == list(range(ks[0], ks[-1] + 1)) else " ".join(map(str, ks))) + "}"
        )
    if len(group) == 1:
        return f"({text_of(group[0])})"
    return "{" + " ".join(str(x) if isinstance(x, int) else f"({text_of(x)})" for x in group) + "}"


def leaves_of(group: _Group) -> list[int]:
    """Return the leaves of a group, in the order of the record."""
    return [k for x in group for k in leaves(x)]


def _end_of_alike(groups: Sequence[_Group], at: int) -> int:
    """Return the end of the groups that are each the one before, shifted by the same number."""
    shift = None
    end = at + 1
    while end < len(groups) and len(groups[end]) == len(groups[at]):
        away = min(leaves_of(groups[end])) - min(leaves_of(groups[end - 1]))
        if (shift is not None and away != shift) or not _is_shifted(groups[end - 1], groups[end], away):
            break
        shift, end = away, end + 1
    return end


def _is_shifted(first: _Group, second: _Group, by: int) -> bool:
    ks = range(by, by + 1 + max(leaves_of(first)))
    return by > 0 and all(renumbered(x, ks) == y for x, y in zip(first, second, strict=True))
