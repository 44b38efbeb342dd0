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

The summation tree that the answers to masked operands determine.

For one leaf i, the other leaves are grouped by the size of the smallest subtree that they have in common with i. On
the way from i to the root, each group is what joins at one node: one subtree, or several that are added at once. Each
group is treated in the same way, all groups together, so that few calls of the target answer them. A chain takes one
round. In the worst case all pairs are asked.

What plans do, from their schedules: their summation trees, and whether two of them are the same.

Nothing is computed but the trees of single instructions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, array_of, pattern_dtype
from mmaproof.gemm.kernels.masks import Magnitudes, NotMasked, Task
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.normal_form import Numbering
from mmaproof.gemm.programs.schedule import Call, Residues, Schedule, Slices, Split, arguments
from mmaproof.hardware_replay.matrix_targets import Product
from mmaproof.smt.evaluate import evaluate_batch

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


PAIRS_OF_KERNEL = 512
"""Random pairs that the tree is compared with once it is known."""


class Sizes(Protocol):
    """What answers pairs."""

    def sizes(self, tasks: Sequence[Task]) -> list[npt.NDArray[np.int64]]:
        """Return for each pair of each task the number of leaves of the smallest subtree that has both."""


_Grown: TypeAlias = Union[int, "_Spine"]


@dataclass
class _Spine:
    """A leaf, and what joins at each node on its way upwards."""

    leaf: int
    groups: list[list[_Grown]] = field(default_factory=list)

    def tree(self) -> Tree:
        return chain(self.leaf, [[_tree(x) for x in group] for group in self.groups])


@dataclass
class _Open:
    """Leaves whose subtrees are children of one node of ``size`` leaves, and the list of them."""

    ks: list[int]
    size: int
    into: list[_Grown]


def _tree(grown: _Grown) -> Tree:
    return grown if isinstance(grown, int) else grown.tree()


def grow(masks: Sizes, k: int, seed: int = 0, checked: int = PAIRS_OF_KERNEL) -> Tree:
    """Return the summation tree over ``k`` leaves; ``checked`` random pairs are compared with it.

    Raises NotMasked where the answers are those of no tree.
    """
    if k == 1:
        return 0
    rng = random.Random(seed)
    root: list[_Grown] = []
    todo = [_Open(list(range(k)), k + 1, root)]
    first = True
    while todo:
        # leaf 0 begins most chains; deeper down any leaf is as good, and a random one keeps the rounds few
        chosen = [x.ks[0] if first or len(x.ks) == 2 else rng.choice(x.ks) for x in todo]
        tasks = [Task(i, tuple(j for j in x.ks if j != i)) for i, x in zip(chosen, todo, strict=True)]
        found = masks.sizes(tasks)
        todo = [new for x, task, sizes in zip(todo, tasks, found, strict=True) for new in _placed(x, task, sizes)]
        first = False
    tree = _tree(root[0])
    _check(masks, tree, k, rng, checked)
    return tree


def _placed(of: _Open, task: Task, sizes: npt.NDArray[np.int64]) -> list[_Open]:
    """Place the subtree of the task's leaf among its siblings; return what is still open."""
    spine = _Spine(task.i)
    by_size: dict[int, list[int]] = {}
    for j, size in zip(task.js, sizes.tolist(), strict=True):
        by_size.setdefault(size, []).append(j)
    siblings = by_size.pop(of.size, [])
    opened = [_Open(siblings, of.size, of.into)] if len(siblings) > 1 else []
    total = 1
    for size in sorted(by_size):
        total += len(by_size[size])
        if size != total:
            raise NotMasked(
                f"with products {task.i} and {by_size[size][0]} huge and opposite {size - 2} others are lost, and "
                f"other pairs say {total - 2}"
            )
        group: list[_Grown] = []
        spine.groups.append(group)
        if len(by_size[size]) == 1:
            group.append(by_size[size][0])
        else:
            opened.append(_Open(by_size[size], size, group))
    of.into.append(spine if spine.groups else task.i)
    of.into.extend(siblings if len(siblings) == 1 else [])
    return opened


def _check(masks: Sizes, tree: Tree, k: int, rng: random.Random, count: int) -> None:
    """Ask about random pairs; NotMasked where the tree does not say what is answered."""
    if not isinstance(tree, Sum):
        return
    tasks = []
    for _ in range(max(1, count // min(k, 32))):
        i, *js = rng.sample(range(k), min(k, 33))
        tasks.append(Task(i, tuple(js)))
    for task, sizes in zip(tasks, masks.sizes(tasks), strict=True):
        for j, size in zip(task.js, sizes.tolist(), strict=True):
            if tree.common(task.i, j) != size:
                raise NotMasked(
                    f"other pairs say that products {task.i} and {j} meet in a sum of {tree.common(task.i, j)}, and "
                    f"{size - 2} others are lost with them"
                )


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
            found.append([_placed_over(first, here)])
        else:
            found += [
                new for group in groups if (new := [_placed_over(x, here) for x in group if least(x) < len(here)])
            ]
    return chain(start, found)


def _placed_over(tree: Tree, ks: Sequence[int]) -> Tree:
    """Return the tree over ``ks``, of which there may be fewer than it has leaves."""
    return renumbered(restricted(tree, len(ks)), ks)


PAIRS_OF_DESIGN = 32
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
        both = grow(UnitMasks(design, 2 * k), 2 * k, checked=PAIRS_OF_DESIGN)
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
