"""Faults of a matrix product: seeded ones, which a test should notice, and those that may explain a result.

A fault is a change of the plan or of its operands. What it computes is computed by the plan's own emulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import Patterns, pattern_dtype, values_of
from mmaproof.gemm.programs import Order, PartSum, Plan, read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.verification.distributions import from_float64


@dataclass(frozen=True)
class Product:
    """The patterns of the operands of ``c + a @ b`` on a plan; ``c`` None means zeros."""

    plan: Plan
    a: Patterns
    b: Patterns
    c: Patterns | None = None
    scales: tuple[Patterns | None, Patterns | None] = (None, None)
    factors: Patterns | None = None
    """those of a plan that are operands, (m, count), of fp32"""

    @property
    def k(self) -> int:
        """The number of products of each element."""
        return int(self.a.shape[1])

    @property
    def has_scales(self) -> bool:
        """Whether blocks have scales."""
        return self.scales[0] is not None

    @property
    def unit(self) -> Design:
        """The unit."""
        return self.plan.unit

    def d(self) -> Patterns:
        """Return the patterns of the result."""
        return multiply_plan(self.plan, self.a, self.b, self.c, *self.scales, factors=self.factors, jobs=2)

    def part(self, rows: npt.NDArray[np.intp] | slice, columns: npt.NDArray[np.intp] | slice) -> Product:
        """Return the product of some rows of a and some columns of b; slices copy nothing."""
        scale_a, scale_b = self.scales
        return replace(
            self,
            a=self.a[rows],
            b=self.b[:, columns],
            c=None if self.c is None else self.c[rows][:, columns],
            scales=(
                None if scale_a is None else scale_a[rows],
                None if scale_b is None else scale_b[:, columns],
            ),
            factors=None if self.factors is None else self.factors[rows],
        )

    def without(self, ks: slice) -> Product:
        """Return the product with zeros in the place of some elements of a."""
        a = self.a.copy()
        a[:, ks] = 0
        return replace(self, a=a)

    def on(self, unit: Design) -> Product:
        """Return the product on the same plan with another unit."""
        return replace(self, plan=replace(self.plan, unit=unit))


@dataclass(frozen=True)
class Fault:
    """A fault: its name, what a result says that has its bits, and the patterns that it gives."""

    name: str
    text: str
    run: Callable[[Product], Patterns]
    is_rounding: bool = False
    """whether the exact result stays as it is: an element that has these bits may have them by chance"""


def seeded(given: Product) -> Iterator[Fault]:
    """Yield the faults that tests of this product are measured with."""
    narrow = narrower(given.unit)
    if narrow is not None:
        yield Fault(narrow[0], f"bits of {narrow[0]}", _on(narrow[1]))
    yield Fault("a lost product", "the product at k = 0 missing", _missing(slice(0, 1)))
    size = given.unit.k
    if given.k > size:
        yield Fault("a lost k-block", f"the first {size} elements of k missing", _missing(slice(0, size)))
    if not given.has_scales:
        yield Fault("reversed order of k", "k taken from the last to the first", _reversed)
    if given.unit.d_format is FORMATS["fp32"] and not given.has_scales:
        yield Fault("fp16 accumulation", "accumulators rounded to fp16 after each instruction", _in_fp16)
    yield Fault("zeros", "zeros", lambda x: np.zeros_like(x.d()))


def narrower(unit: Design) -> tuple[str, Design] | None:
    """Return the unit with one bit less, and the name of this fault; None for a unit that has none."""
    bits = unit.step.kept_bits
    for setting in ({"fraction_bits": None if bits is None else bits - 1}, {"rho": "rz-fp32"}, {"rho": "rne-fp32"}):
        (name, value), *_ = setting.items()
        if value is None or unit.d_format.is_integer or unit.settings.get(name) == value:
            continue
        try:
            changed = unit.change(**setting)
        except InputError:
            continue
        return (f"F = {value}" if name == "fraction_bits" else f"rho = {value}"), changed
    return None


def hypotheses(
    given: Product, blocks: Sequence[int], products: Sequence[int], run: slice | None = None
) -> Iterator[Fault]:
    """Yield what may explain the bits of a result that is not the plan's, the most likely first.

    Of k-blocks (of the instruction's K) and of single products, only those named may be missing, and a ``run`` of k.
    """
    yield from _of_operands(given)
    for i in blocks:
        ks = slice(i * given.unit.k, (i + 1) * given.unit.k)
        yield Fault("lost k-block", f"k-block {i} missing (k = {ks.start}..{ks.stop - 1})", _missing(ks))
    for i in products:
        yield Fault("lost product", f"the product at k = {i} missing", _missing(slice(i, i + 1)))
    if run is not None:
        yield Fault("lost k-block", f"k = {run.start}..{run.stop - 1} missing", _missing(run))
    for fault in (*_of_units(given), *_of_parameters(given), *_of_order(given)):
        yield replace(fault, is_rounding=True)


def _of_operands(given: Product) -> Iterator[Fault]:
    yield Fault("zeros", "zeros", lambda x: np.zeros_like(x.d()))
    if given.c is not None:
        twice = "as if c were added twice, the second time at the end: bits of d + c"
        last = "as if c were added at the end: bits of a @ b, and then c"
        yield Fault("c twice", twice, lambda x: _plus_c(x, x.d()))
        yield Fault("c last", last, lambda x: _plus_c(x, replace(x, c=None).d()), is_rounding=True)


def _of_units(given: Product) -> Iterator[Fault]:
    """Yield the other units of the catalogue that take and return the same formats, each arithmetic once."""
    unit = given.unit
    seen = {Arithmetic.of(unit)}
    for other in load_catalogue().designs.values():
        same = (other.formats, other.scale_format, other.block) == (unit.formats, unit.scale_format, unit.block)
        if not same or not other.hands_on or given.k % other.k or Arithmetic.of(other) in seen:
            continue
        try:
            changed = given.on(other)
        except DesignError:  # the plan's tile is none of this unit's
            continue
        seen.add(Arithmetic.of(other))
        yield Fault(other.name, f"bits of {other.name}, this plan says {unit.name}", _with_plan(changed.plan))


def _missing(ks: slice) -> Callable[[Product], Patterns]:
    return lambda x: x.without(ks).d()


def _on(unit: Design) -> Callable[[Product], Patterns]:
    return lambda x: x.on(unit).d()


def _with_plan(plan: Plan) -> Callable[[Product], Patterns]:
    return lambda x: replace(x, plan=plan).d()


def _of_parameters(given: Product) -> Iterator[Fault]:
    """Yield neighbours of the unit's parameters, each with what the unit itself has."""
    unit = given.unit
    if not unit.step.is_parametric or unit.d_format.is_integer:
        return
    settings: list[tuple[str, object]] = []
    if unit.step.kept_bits is not None:
        settings += [("fraction_bits", unit.step.kept_bits + x) for x in (-1, 1, -2, 2, -3, 3)]
    settings += [("alignment", x) for x in ("truncate", "floor", "jam", "nearest")]
    fmt = unit.d_format.name
    settings += [("rho", f"{x}-{fmt}") for x in ("rz", "rne", "rna", "rtn", "rtp")] + [("rho", "rz-e8m13")]
    settings += [("L", unit.step.L // 2), ("L", unit.k), ("k_order", "reversed"), ("subnormals", "flushed")]
    for name, value in settings:
        if name not in unit.settings or str(unit.settings[name]) == str(value):
            continue
        try:
            changed = unit.change(**{name: value})
        except InputError:
            continue
        spelled = "F" if name == "fraction_bits" else name
        text = f"bits of {spelled} = {value}, this unit has {unit.settings[name]}"
        yield Fault(f"{spelled} = {value}", text, _on(changed))


def _of_order(given: Product) -> Iterator[Fault]:
    if given.has_scales:
        return
    yield Fault("reversed order of k", "k taken from the last to the first", _reversed)
    for text, ks in _orders(given.k, given.unit.k):
        yield Fault("order of k", f"k taken in the order {text}", _permuted(ks))
    plan = given.plan
    if not plan.is_unit:
        for i, level in enumerate(plan.levels):
            if not isinstance(level, PartSum):
                continue
            for order in ("ascending", "descending", "tree"):
                if str(level.order) != order:
                    yield from _reordered(plan, i, level, order)
        yield Fault("no parts", "one chain over all of k: no parts of k are summed apart", _in_one_chain)
        return
    for keys in (
        "split-k=2",
        "split-k=4",
        "split-k=8",
        "split-k=2:tree",
        "split-k=4:tree",
        f"promote={4 * plan.unit.k}",
    ):
        try:
            other = read_plan(f"{plan.name} | {keys}")
            other.schedule(given.k)
        except InputError:
            continue
        if other.formats == plan.formats:
            yield Fault(keys, f"bits of the plan `{other.name}`", _with_plan(other))
    if plan.unit.d_format is FORMATS["fp32"]:
        yield Fault("fp16 accumulation", "accumulators rounded to fp16 after each instruction", _in_fp16)


def _reordered(plan: Plan, place: int, level: PartSum, order: str) -> Iterator[Fault]:
    try:
        levels = list(plan.levels)
        levels[place] = replace(level, order=Order.parse(order))
        other = replace(plan, levels=tuple(levels))
    except DesignError:
        return
    before = str(level.order)
    text = f"order of {level.key} parts {'reversed' if {order, before} == {'ascending', 'descending'} else order}"
    yield Fault(f"{level.key} {order}", text, _with_plan(other))


def _in_one_chain(given: Product) -> Patterns:
    """Return the result of one chain over all of k, converted to the format of the plan's d."""
    found = replace(given, plan=Plan(given.unit)).d()
    fmt = given.plan.formats[3]
    return found if fmt is given.unit.d_format else from_float64(fmt, values_of(found, given.unit.d_format))


def _orders(k: int, size: int) -> Iterator[tuple[str, npt.NDArray[np.intp]]]:
    """Yield orders of k of kernels that take turns, with a text; ``size`` is the instruction's K."""
    ks = np.arange(k)
    if k % (2 * size) == 0 and k > 2 * size:
        blocks = ks.reshape(-1, size)
        half = len(blocks) // 2
        yield "of k-blocks from the last to the first", blocks[::-1].ravel()
        yield "of every second k-block, then the others", np.concatenate([blocks[::2], blocks[1::2]]).ravel()
        yield "of k-blocks of both halves in turn", np.stack([blocks[:half], blocks[half:]], axis=1).ravel()
    if k % 2 == 0 and k > 2:
        yield "0, 2, 4, ..., then 1, 3, 5, ...", np.concatenate([ks[::2], ks[1::2]])
        yield f"0, {k // 2}, 1, {k // 2 + 1}, ...", ks.reshape(2, -1).T.ravel()
    if size > 1 and k % size == 0:
        yield "of each k-block from its last to its first", ks.reshape(-1, size)[:, ::-1].ravel()


def _permuted(ks: npt.NDArray[np.intp]) -> Callable[[Product], Patterns]:
    return lambda x: replace(x, a=np.ascontiguousarray(x.a[:, ks]), b=np.ascontiguousarray(x.b[ks])).d()


def _reversed(given: Product) -> Patterns:
    return replace(given, a=np.ascontiguousarray(given.a[:, ::-1]), b=np.ascontiguousarray(given.b[::-1])).d()


def _plus_c(given: Product, d: Patterns) -> Patterns:
    """Return a result with c added to it at the end, rounded to its format."""
    fmt, c_format = given.plan.formats[3], given.plan.formats[2]
    with np.errstate(over="ignore", invalid="ignore"):
        return d if given.c is None else from_float64(fmt, values_of(d, fmt) + values_of(given.c, c_format))


def _in_fp16(given: Product) -> Patterns:
    """Return the result of a chain whose accumulator is rounded to fp16 after each instruction."""
    unit, half = given.unit, FORMATS["fp16"]
    d = (
        np.zeros((given.a.shape[0], given.b.shape[1]), dtype=pattern_dtype(unit.c_format))
        if given.c is None
        else given.c
    )
    on_unit = replace(given, plan=Plan(unit))
    for first in range(0, given.k, unit.k):
        ks = slice(first, first + unit.k)
        d = replace(on_unit, a=np.ascontiguousarray(given.a[:, ks]), b=given.b[ks], c=d).d()
        with np.errstate(over="ignore"):
            d = from_float64(unit.d_format, values_of(from_float64(half, values_of(d, unit.d_format)), half))
    fmt = given.plan.formats[3]
    return d if fmt is unit.d_format else from_float64(fmt, values_of(d, unit.d_format))
