"""Plans that are tried where no summation tree is known: for recorded products, and for sums that show no tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.kernels.fit import converted, units_for
from mmaproof.gemm.kernels.schedule_tree import filled_length
from mmaproof.gemm.programs import Blocks, EqualParts, HalvedBlocks, Interleaved, Order, Parts, PartSum, Plan
from mmaproof.gemm.programs.algorithms import ALGORITHMS
from mmaproof.gemm.programs.orders import ASCENDING, Kind
from mmaproof.hardware_replay.matrix_target import Product

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
        plan.schedule(filled_length(plan, product.k))
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
                    plan.schedule(filled_length(plan, product.k))
                except DesignError:
                    continue
                yield plan


def units_of_words() -> list[Design]:
    """Return the units that error-corrected algorithms may split fp32 operands for."""
    fp32 = FORMATS["fp32"]
    narrow = [FORMATS[x] for x in ("tf32", "bf16", "fp16")]
    return [x for fmt in narrow for x in units_for(Product(1, 1, 1, fmt, fmt, fp32))]
