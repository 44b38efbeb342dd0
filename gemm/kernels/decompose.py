"""A summation tree taken apart: which subtrees are chains of instructions of a unit, and how their sums are added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias

from mmaproof.designs.design import Design
from mmaproof.gemm.kernels.schedule_tree import instruction_trees, tree_of_call
from mmaproof.gemm.kernels.tree import Sum, Tree, least, leaves, restricted, size
from mmaproof.gemm.programs import Blocks, EqualParts, HalvedBlocks, Interleaved, Order, Parts, StatedParts
from mmaproof.gemm.programs.parts import ASCENDING, Kind

UNROLLS = (64, 32, 16, 8, 4, 2, 1)
"""Multiples in which halved blocks are tried: those of kernels that compute several elements of k at once."""
MOST_LEVELS = 3


@dataclass(frozen=True, eq=False)
class Part:
    """Elements of k that a chain of instructions sums from zero, in rising order."""

    ks: tuple[int, ...]

    @property
    def length(self) -> int:
        """How many they are."""
        return len(self.ks)


@dataclass(frozen=True, eq=False)
class Plus:
    """The sum of two sums. The first one has the spine of the tree. Where each term is added by itself it is deep."""

    first: Expression
    second: Expression
    length: int = field(init=False)
    """how many elements of k it has"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", self.first.length + self.second.length)

    @cached_property
    def ks(self) -> tuple[int, ...]:
        """All elements of k, in rising order."""
        found: list[int] = []
        waiting: list[Expression] = [self]
        while waiting:
            match waiting.pop():
                case Part(ks=ks):
                    found += ks
                case Plus(first=first, second=second):
                    waiting += (first, second)
        return tuple(sorted(found))


Expression: TypeAlias = Part | Plus


@dataclass(frozen=True)
class Level:
    """A level of a plan without its formats: how k is divided, and in which order the sums of the parts are added."""

    key: str
    parts: Parts
    order: Order


def decompose(tree: Tree, unit: Design, *, reordered: bool = False) -> Expression | None:
    """Return the sums of chains of instructions that the tree is; None where it is none of this unit.

    A chain takes its k in rising order; with ``reordered`` in any.
    """
    return _taken_apart(tree, unit, size(tree) - 1, reordered)


def _taken_apart(tree: Tree, unit: Design, end: int, reordered: bool) -> Expression | None:
    """Return the sums that the tree is. Only the chain that has the k ``end`` may end within an instruction."""
    if _is_call(tree, unit, end, reordered):
        return Part(tuple(sorted(leaves(tree))))
    if isinstance(tree, int):
        return None
    spine = list(tree.groups)
    parts: list[Expression] = []
    found: Expression | None = None
    while found is None and len(spine) > 1 and len(spine[-1]) == 1:
        (child,) = spine.pop()
        part = _taken_apart(child, unit, end, reordered)
        if part is None:
            return None
        parts.append(part)
        rest = Sum(tuple(spine))
        if _is_call(rest, unit, end, reordered):
            found = Part(tuple(sorted(leaves(rest))))
    if found is None:
        if len(spine) > 1 or len(spine[0]) != 2 or not all(_is_call(x, unit, end, reordered) for x in spine[0]):
            return None
        found = Plus(*(Part((least(x),)) for x in spine[0]))
    for part in reversed(parts):
        found = Plus(found, part)
    return found


def _is_call(tree: Tree, unit: Design, end: int, reordered: bool) -> bool:
    """Return whether the tree is that of a chain of instructions, in the rising order of its k or in any."""
    n = size(tree)
    if n % unit.k and end not in leaves(tree):
        return False
    if n % unit.k == 0 and n > unit.k and not _ends_like(tree, unit):
        return False
    if not reordered:
        return tree == tree_of_call(unit, sorted(leaves(tree)))
    return _alike(tree, restricted(_whole(unit, -(-n // unit.k)), n))


def _ends_like(tree: Tree, unit: Design) -> bool:
    """Return whether the last group of a spine looks like that of an instruction; far cheaper than the whole tree."""
    trees = instruction_trees(unit)
    if trees is None or not isinstance(tree, Sum):
        return False
    groups = trees[1]
    if len(tree.groups) < 2:
        return True  # a single group may be that of a first pair
    return sorted(map(size, tree.groups[-1])) == sorted(map(size, groups[-1]))


_wholes: dict[tuple[Design, int], Tree] = {}


def _whole(unit: Design, count: int) -> Tree:
    """Return the tree of N instructions."""
    if (unit, count) not in _wholes:
        if len(_wholes) > 256:
            _wholes.clear()
        _wholes[unit, count] = tree_of_call(unit, range(count * unit.k))
    return _wholes[unit, count]


def _alike(x: Tree, y: Tree) -> bool:
    """Return whether two trees are the same but for the names of their leaves."""
    if isinstance(x, int) or isinstance(y, int):
        return isinstance(x, int) and isinstance(y, int)
    if x.size != y.size or len(x.groups) != len(y.groups):
        return False
    for first, second in zip(x.groups, y.groups, strict=True):
        if len(first) != len(second):
            return False
        ordered = zip(*(sorted(group, key=lambda t: (-size(t), least(t))) for group in (first, second)), strict=True)
        if not all(_alike(*pair) for pair in ordered):
            return False
    return True


@lru_cache(maxsize=4096)
def levels_of(expression: Expression, depth: int = MOST_LEVELS) -> list[tuple[Level, ...]]:
    """Return the levels, innermost first, that may make an expression; the simplest first.

    They are conjectures: whether their tree is the one wanted has to be compared.
    """
    if isinstance(expression, Part):
        return [()]
    if depth == 0:
        return []
    found: list[tuple[Level, ...]] = []
    for items, order in _reductions(expression):
        inner = _common(items, depth - 1)
        if not inner:
            continue
        ks = [x.ks for x in sorted(items, key=lambda x: x.ks[0])]
        orders = (order, Order(Kind.ONWARD)) if order == ASCENDING else (order,)
        for key, parts in _rules(ks, order):
            for one in orders if key != "promote" else (order,):
                found += [(*below, Level(key, parts, one)) for below in inner]
    return sorted(dict.fromkeys(found), key=len)


def shapes_of(expression: Expression) -> list[tuple[Level, ...]]:
    """Return the levels that may make a whole sum: those of the expression, or a single part that is added to +0."""
    if isinstance(expression, Part):
        return [(), (Level("promote", Blocks(len(expression.ks)), ASCENDING),)]
    return levels_of(expression)


def _common(items: Sequence[Expression], depth: int) -> list[tuple[Level, ...]]:
    """Return the levels that all parts may have."""
    first, *others = (levels_of(x, depth) for x in items)
    found = [x for x in first if all(x in other for other in others)]
    if found or not first:
        return found
    # a last part that is shorter may be a single block
    return max((first, *others), key=lambda x: len(x[0]) if x else 0)


def _reductions(expression: Plus) -> Iterator[tuple[list[Expression], Order]]:
    """Yield the ways to see an expression as the sum of parts: one after the other, or in pairs."""
    spine: list[Expression] = []
    top: Expression = expression
    while isinstance(top, Plus):
        spine.insert(0, top.second)
        top = top.first
        items = [top, *spine]
        if not _may_be_equal_parts(items):
            continue
        places = sorted(range(len(items)), key=lambda i: items[i].ks[0])
        ranks = [places.index(i) for i in range(len(items))]
        yield items, _order(ranks)
    items, depth = [expression], 0
    while any(isinstance(x, Plus) for x in items):
        items = [y for x in items for y in ((x.first, x.second) if isinstance(x, Plus) else (x,))]
        depth += 1
        if len(items) <= 1 << (depth - 1):
            break  # pairs of pairs are as many as that, and deeper down no more of them
        if len(items) > 2:
            yield items, Order(Kind.TREE)


def _may_be_equal_parts(items: Sequence[Expression]) -> bool:
    """Return whether a sum is among its equals: all parts are as long as it, but for a last one that is shorter."""
    first, *others, last = items
    if isinstance(first, Part):
        return True
    return all(x.length == first.length for x in others) and last.length <= first.length


def _order(ranks: list[int]) -> Order:
    """Return the order of additions. The first two parts are added to each other, so that either may come first."""
    count = len(ranks)
    for swapped in (ranks, [*ranks[1::-1], *ranks[2:]]):
        if swapped == list(range(count)):
            return ASCENDING
        if swapped == list(range(count - 1, -1, -1)):
            return Order(Kind.DESCENDING)
    return Order.stated(ranks)


def _rules(ks: list[tuple[int, ...]], order: Order) -> Iterator[tuple[str, Parts]]:
    """Yield the rules that divide k into these parts, with the keys that have them; the commonest first."""
    everything = sorted(k for part in ks for k in part)
    index = {k: i for i, k in enumerate(everything)}
    places = [[index[k] for k in part] for part in ks]
    sizes = tuple(map(len, ks))
    if all(part == list(range(part[0], part[0] + len(part))) for part in places):
        if order == ASCENDING and len(set(sizes[:-1])) == 1 and sizes[-1] <= sizes[0]:
            yield "promote", Blocks(sizes[0])
        if len(set(sizes)) == 1 or (len(set(sizes[:-1])) == 1 and sizes[-1] < sizes[0]):
            yield "split-k", EqualParts(len(sizes))
        for unroll in UNROLLS:
            halved = HalvedBlocks(max(sizes), unroll)
            if len(set(sizes)) > 1 and [len(x) for x in halved.cut(len(everything), 1)] == list(sizes):
                yield "blocks", halved
                break
        yield "stream-k", StatedParts(sizes)
        return
    step = next((i for i, k in enumerate(places[0]) if k != places[0][0] + i), len(places[0]))
    turns = Interleaved(len(ks), step)
    if (len(ks) - 1) * step < len(everything) and [list(x) for x in turns.cut(len(everything), 1)] == places:
        yield "sliced-k", turns
