"""The summation tree that the answers to masked operands determine.

For one leaf i, the other leaves are grouped by the size of the smallest subtree that they have in common with i. On
the way from i to the root, each group is what joins at one node: one subtree, or several that are added at once. Each
group is treated in the same way, all groups together, so that few calls of the target answer them. A chain takes one
round. In the worst case all pairs are asked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from mmaproof.gemm.kernels.masks import NotMasked, Task
from mmaproof.gemm.kernels.tree import Sum, Tree, chain

CHECKED = 512
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


def grow(masks: Sizes, k: int, seed: int = 0, checked: int = CHECKED) -> Tree:
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
