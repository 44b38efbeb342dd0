"""Plans that have a summation tree, and whether they return what a target returned.

A summation tree taken apart: which subtrees are chains of instructions of a unit, and how their sums are added.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, values_of
from mmaproof.designs.readings import CONSECUTIVE, KOrder
from mmaproof.gemm.kernels import tree as trees
from mmaproof.gemm.kernels.asked import equal_elements
from mmaproof.gemm.kernels.masks import NotMasked
from mmaproof.gemm.programs import (
    Blocks,
    Epilogue,
    EqualParts,
    HalvedBlocks,
    Interleaved,
    Order,
    Parts,
    PartSum,
    Plan,
    StatedParts,
)
from mmaproof.gemm.programs.algorithms import ALGORITHMS
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.parts import ASCENDING, Kind
from mmaproof.generators.identify.space import ORDERS
from mmaproof.hardware_replay.matrix_targets import Product

MULTIPLES = (64, 32, 16, 8, 4, 2, 1)
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


def decompose(tree: trees.Tree, unit: Design, *, reordered: bool = False) -> Expression | None:
    """Return the sums of chains of instructions that the tree is; None where it is none of this unit.

    A chain takes its k in rising order; with ``reordered`` in any.
    """
    return _taken_apart(tree, unit, trees.size(tree) - 1, reordered)


def _taken_apart(tree: trees.Tree, unit: Design, end: int, reordered: bool) -> Expression | None:
    """Return the sums that the tree is. Only the chain that has the k ``end`` may end within an instruction."""
    if _is_call(tree, unit, end, reordered):
        return Part(tuple(sorted(trees.leaves(tree))))
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
        rest = trees.Sum(tuple(spine))
        if _is_call(rest, unit, end, reordered):
            found = Part(tuple(sorted(trees.leaves(rest))))
    if found is None:
        if len(spine) > 1 or len(spine[0]) != 2 or not all(_is_call(x, unit, end, reordered) for x in spine[0]):
            return None
        found = Plus(*(Part((trees.least(x),)) for x in spine[0]))
    for part in reversed(parts):
        found = Plus(found, part)
    return found


def _is_call(tree: trees.Tree, unit: Design, end: int, reordered: bool) -> bool:
    """Return whether the tree is that of a chain of instructions, in the rising order of its k or in any."""
    n = trees.size(tree)
    if n % unit.k and end not in trees.leaves(tree):
        return False
    if n % unit.k == 0 and n > unit.k and not _ends_like(tree, unit):
        return False
    if not reordered:
        return tree == trees.tree_of_call(unit, sorted(trees.leaves(tree)))
    return _alike(tree, trees.restricted(_whole(unit, -(-n // unit.k)), n))


def _ends_like(tree: trees.Tree, unit: Design) -> bool:
    """Return whether the last group of a spine looks like that of an instruction; far cheaper than the whole tree."""
    made = trees.instruction_trees(unit)
    if made is None or not isinstance(tree, trees.Sum):
        return False
    groups = made[1]
    if len(tree.groups) < 2:
        return True  # a single group may be that of a first pair
    return sorted(map(trees.size, tree.groups[-1])) == sorted(map(trees.size, groups[-1]))


_wholes: dict[tuple[Design, int], trees.Tree] = {}


def _whole(unit: Design, count: int) -> trees.Tree:
    """Return the tree of N instructions."""
    if (unit, count) not in _wholes:
        if len(_wholes) > 256:
            _wholes.clear()
        _wholes[unit, count] = trees.tree_of_call(unit, range(count * unit.k))
    return _wholes[unit, count]


def _alike(x: trees.Tree, y: trees.Tree) -> bool:
    """Return whether two trees are the same but for the names of their leaves."""
    if isinstance(x, int) or isinstance(y, int):
        return isinstance(x, int) and isinstance(y, int)
    if x.size != y.size or len(x.groups) != len(y.groups):
        return False
    for first, second in zip(x.groups, y.groups, strict=True):
        if len(first) != len(second):
            return False
        ordered = zip(
            *(sorted(group, key=lambda t: (-trees.size(t), trees.least(t))) for group in (first, second)), strict=True
        )
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
        for unroll in MULTIPLES:
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


MOST_SHAPES = 24
"""Ways to divide k that are compared with the tree, for one unit."""
FIRST_SIDE = 9
"""Rows and columns of the corner of a product that a plan is compared on first."""
Mask = npt.NDArray[np.bool_]
Index = slice | npt.NDArray[np.intp]
"""Some rows or columns."""


@dataclass(frozen=True)
class Answer:
    """A product of a target: operands of a kind, and what it returned."""

    kind: str
    a: Patterns
    b: Patterns
    d: Patterns
    scales: tuple[Patterns, Patterns] | None = None
    """of blocks of a, (m, blocks), and of b, (blocks, n)"""

    def part(self, rows: Index, columns: Index) -> Answer:
        """Return the answer of some rows and columns."""
        a, b, d = self.a[rows], np.ascontiguousarray(self.b[:, columns]), self.d[rows][:, columns]
        if self.scales is None:
            return Answer(self.kind, a, b, d)
        return Answer(self.kind, a, b, d, (self.scales[0][rows], np.ascontiguousarray(self.scales[1][:, columns])))


def units_for(product: Product) -> list[Design]:
    """Return units of the catalogue that multiply these formats and whose sums convert to d's: each arithmetic once.

    They hand d on, because a sum may be of any length. Those that return d's format come first. Of instructions that
    differ in K alone the shortest is taken.
    """
    found: dict[Arithmetic, Design] = {}
    # of equal units one of this machine's kind is named
    for design in sorted(load_catalogue().designs.values(), key=lambda x: x.architecture != "cpu"):
        if (design.scale_format, design.block) != (product.scale, product.block):
            continue
        if (design.a_format, design.b_format) != (product.a, product.b):
            continue
        if design.d_format.is_integer and design.d_format is not product.d:
            continue
        if not design.step.multiplies_elements or not design.hands_on:
            continue
        arithmetic = Arithmetic.of(design)
        if arithmetic not in found or design.k < found[arithmetic].k:
            found[arithmetic] = design
    return sorted(found.values(), key=lambda x: (x.d_format is not product.d, x.k, x.is_assumed))


def same_units(unit: Design) -> list[str]:
    """Return the names of the designs of the catalogue whose arithmetic is that of ``unit``, its own first."""
    arithmetic = Arithmetic.of(unit)
    others = (x.name for x in load_catalogue().designs.values() if Arithmetic.of(x) == arithmetic)
    return [unit.name, *(x for x in others if x != unit.name)]


def plans_of_tree(
    tree: trees.Tree, product: Product, *, reordered: bool = False, is_late: Callable[[], bool] = lambda: False
) -> list[Plan]:
    """Return the plans that have this tree, with the usual formats of sums, those with the fewest levels first.

    With ``reordered`` they are those that take k within a tile in another order than it is in. None is added once
    ``is_late``.
    """
    found = [plan for unit in units_for(product) for plan in _plans_on(unit, tree, product, reordered, is_late)]
    return sorted(found, key=lambda x: len(x.levels))


def _plans_on(
    unit: Design, tree: trees.Tree, product: Product, reordered: bool, is_late: Callable[[], bool]
) -> Iterator[Plan]:
    try:
        expression = decompose(tree, unit, reordered=reordered)
    except NotMasked:
        return
    if expression is None:
        return
    shapes = shapes_of(expression)[:MOST_SHAPES]
    for order, tile in _reorders(unit, product.k) if reordered else [(CONSECUTIVE, None)]:
        for levels in shapes:
            if is_late():
                return
            plan = _plan(unit, product, levels, order, tile)
            if plan is not None and _has_tree(plan, tree, product.k):
                yield plan


def _reorders(unit: Design, k: int) -> Iterator[tuple[KOrder, int | None]]:
    """Yield orders of k in a tile, and tiles."""
    tiles = [unit.k << i for i in range(12) if 1 < unit.k << i <= k]
    yield from itertools.product(map(KOrder, ORDERS[1:]), tiles)


def _plan(unit: Design, product: Product, levels: Sequence[Level], order: KOrder, tile: int | None) -> Plan | None:
    """Return a plan with the usual formats; None where the parts do not fit together."""
    sums = unit.d_format if unit.d_format.is_integer else FORMATS["fp64" if unit.d_format.bits > 32 else "fp32"]
    try:
        plan = Plan(
            unit,
            tile=tile,
            order=order,
            levels=tuple(PartSum(x.key, x.parts, sums, x.order) for x in levels),
        )
        return converted(plan, product.d)
    except DesignError:
        return None


def converted(plan: Plan, d: Format) -> Plan:
    """Return the plan with d in this format. Raises DesignError where its sums do not convert."""
    out = None if plan.sum_format is d else d
    return replace(plan, epilogue=replace(plan.epilogue, out=out))


def _has_tree(plan: Plan, tree: trees.Tree, k: int) -> bool:
    try:
        return trees.tree_of_plan(plan, k) == tree
    except (DesignError, NotMasked):
        return False


def with_formats(plan: Plan, product: Product) -> Iterator[Plan]:
    """Yield the plan with the other formats in which sums may be added and stored, and the other roundings of d."""
    if product.d.is_integer:
        return
    levels = [x for x in plan.levels if isinstance(x, PartSum)]
    for changed in itertools.product(*(list(_formats_of(x, plan.unit, product.d)) for x in levels)):
        try:
            found = converted(replace(plan, levels=changed, epilogue=Epilogue()), product.d)
        except DesignError:
            continue
        if found != plan:
            yield found
        if _may_flush(found):
            yield replace(found, epilogue=replace(found.epilogue, out=product.d, flushes=True))
        if found.epilogue.out is not None:
            for rounding in (Rounding.RZ, Rounding.RNA):
                yield replace(found, epilogue=replace(found.epilogue, rounding=rounding))


def _may_flush(plan: Plan) -> bool:
    """Return whether it can make a difference that subnormal sums are flushed before they are converted.

    A unit that flushes its results returns none, and no sum of two numbers of fp32 is subnormal in fp64.
    """
    if plan.levels:
        return plan.sum_format.bits <= FORMATS["fp32"].bits or plan.unit.d_format is plan.sum_format
    return not plan.unit.step.subnormals.of_results


def _formats_of(level: PartSum, unit: Design, d: Format) -> Iterator[PartSum]:
    """Yield a level with its formats: sums in the usual format, stored in that of d, or added in a narrower one."""
    yield level
    narrow = [f for f in dict.fromkeys((d, unit.d_format, FORMATS["fp16"], FORMATS["bf16"])) if f.bits < level.fmt.bits]
    for fmt in narrow:
        yield replace(level, stored=fmt)
        yield replace(level, kept=fmt)
        yield replace(level, stored=fmt, kept=fmt)
        yield replace(level, fmt=fmt)
    yield replace(level, rounding=Rounding.RZ)
    if level.fmt.bits < 64:
        yield replace(level, fmt=FORMATS["fp64"])


def filled(plan: Plan, a: Patterns, b: Patterns) -> tuple[Patterns, Patterns]:
    """Return operands filled up with +0 along k to whole tiles of the plan."""
    missing = trees.filled_length(plan, a.shape[1]) - a.shape[1]
    if not missing:
        return a, b
    return np.pad(a, ((0, 0), (0, missing))), np.pad(b, ((0, missing), (0, 0)))


def computed(plan: Plan, answer: Answer) -> Patterns:
    """Return the patterns of d as the plan computes them of the operands of an answer."""
    a, b = filled(plan, answer.a, answer.b)
    if answer.scales is None or plan.scale_format is None:
        return multiply_plan(plan, a, b)
    fmt, (of_a, of_b) = plan.scale_format, answer.scales
    missing = plan.blocks(a.shape[1]) - of_a.shape[1]
    one = fmt.bias << fmt.fraction_bits
    return multiply_plan(
        plan,
        a,
        b,
        scale_a=np.pad(of_a, ((0, 0), (0, missing)), constant_values=one),
        scale_b=np.pad(of_b, ((0, missing), (0, 0)), constant_values=one),
    )


def differing(plan: Plan, answer: Answer, rows: slice, columns: slice) -> Mask:
    """Return which elements of a corner of the answer the plan does not return."""
    part = answer.part(rows, columns)
    return ~equal_elements(plan.formats[3], computed(plan, part), np.ascontiguousarray(part.d))


def is_flushed(plan: Plan, answer: Answer) -> bool:
    """Return whether an answer is what the plan returns but for its subnormal numbers, some of which are zeros."""
    fmt = plan.formats[3]
    if fmt.is_integer:
        return False
    d = computed(plan, answer)
    wrong = ~equal_elements(fmt, d, answer.d)
    expected, returned = (values_of(x[wrong], fmt) for x in (d, answer.d))
    subnormal = (expected != 0) & (np.abs(expected) < 2.0**fmt.e_min)
    return bool((subnormal & (returned == 0) & (np.signbit(expected) == np.signbit(returned))).all())


INTERVALS = (16, 32, 64, 128, 256, 512, 1024)
"""Elements of k between two additions outside the unit."""
PARTS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 32)
"""Parts of split-K."""
BLOCKS = (128, 192, 240, 256, 320, 336, 352, 384, 448, 512, 640, 768, 1024)
"""Blocks of k that CPU libraries compute at once."""
UNROLLS = (32, 8, 4)
LANES = (2, 4, 8, 16, 32)
"""Accumulators that take turns along k."""
_ORDERS = (ASCENDING, Order(Kind.TREE), Order(Kind.DESCENDING))


def listed_plans(product: Product) -> Iterator[Plan]:
    """Yield plans for these formats and this K: units alone first, then one way to divide k, then two."""
    units = units_for(product)
    single = [(unit, level) for unit in units for level in _levels(unit, product.k)]
    for unit in units:
        yield from _plans(unit, (), product)
    for unit, level in single:
        yield from _plans(unit, (level,), product)
    for unit, inner in single:
        if inner.key == "promote":
            for outer in _levels(unit, product.k):
                if outer.key == "split-k":
                    yield from _plans(unit, (inner, outer), product)
    yield from _error_corrected(product)


def _levels(unit: Design, k: int) -> Iterator[PartSum]:
    """Yield the ways to divide k once, those that make more than one part."""
    sums = unit.d_format if unit.d_format.is_integer else FORMATS["fp64" if unit.d_format.bits > 32 else "fp32"]

    def level(key: str, parts: Parts, order: Order = ASCENDING) -> PartSum:
        return PartSum(key, parts, sums, order)

    yield from (level("promote", Blocks(n)) for n in INTERVALS if n < k and n % unit.k == 0)
    yield from (level("split-k", EqualParts(n), order) for n in PARTS if n * unit.k <= k for order in _ORDERS)
    yield from (level("blocks", HalvedBlocks(n, u)) for n in BLOCKS if n < k for u in UNROLLS)
    yield from (level("promote", Blocks(n)) for n in BLOCKS if n < k and n not in INTERVALS and n % unit.k == 0)
    steps = (unit.k,) if unit.k > 1 else (1, 4, 8)
    yield from (
        level("sliced-k", Interleaved(n, step), order)
        for n in LANES
        for step in steps
        if n * step <= k
        for order in _ORDERS
    )


def _plans(unit: Design, levels: Sequence[PartSum], product: Product) -> Iterator[Plan]:
    """Yield a plan with the usual formats of sums, if it fits k."""
    try:
        plan = converted(Plan(unit, levels=tuple(levels)), product.d)
        plan.schedule(trees.filled_length(plan, product.k))
    except DesignError:
        return
    yield plan


def _error_corrected(product: Product) -> Iterator[Plan]:
    """Yield the error-corrected algorithms on each unit that they run on, for operands of fp32."""
    fp32 = FORMATS["fp32"]
    if (product.a, product.b, product.d) != (fp32, fp32, fp32):
        return
    for algorithm in ALGORITHMS.values():
        for unit in units_of_words():
            if algorithm.why_not(unit) is None:
                plan = Plan(unit, algorithm)
                try:
                    plan.schedule(trees.filled_length(plan, product.k))
                except DesignError:
                    continue
                yield plan


def units_of_words() -> list[Design]:
    """Return the units that error-corrected algorithms may split fp32 operands for."""
    fp32 = FORMATS["fp32"]
    narrow = [FORMATS[x] for x in ("tf32", "bf16", "fp16")]
    return [x for fmt in narrow for x in units_for(Product(1, 1, 1, fmt, fmt, fp32))]
