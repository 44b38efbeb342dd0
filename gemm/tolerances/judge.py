"""Verdicts on a product that someone else computed: whose bits these are, and if nobody's, how far they are off.

Emulation, bounds and explanations are those of plans, tolerances and assertions; a verdict only combines them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from math import ceil, comb
from typing import Any

import numpy as np

from mmaproof.designs.arrays import values_of
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, MmaproofError, OperandError
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.named import find_plan
from mmaproof.gemm.programs.spelling import load_presets
from mmaproof.gemm.tolerances.assertion import product_of, read_operand, result_of, tolerance_of
from mmaproof.gemm.tolerances.diagnosis import diagnose
from mmaproof.gemm.tolerances.faults import Product
from mmaproof.gemm.tolerances.magnitudes import Floats
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.within import Truths, errors_of, is_within

LEAST_PART = 8
"""Elements of a row or column, and rows and columns of a tile, below which plans agree by chance."""
TILES = (128, 64, 32, 16, LEAST_PART)


class Verdict(StrEnum):
    """What is said of a result."""

    EXACT = "exact"
    """all bits are those that a plan of the list returns"""
    MIXED = "mixed"
    """each row, column or tile has the bits of a plan of the list, and no plan has all"""
    WITHIN = "within"
    """not the bits of a plan of the list, and inside the proved bounds of all"""
    OUTSIDE = "outside"
    """an element is beyond the proved bounds of all plans of the list"""
    INDETERMINATE = "indeterminate"
    """none of these is known"""


@dataclass(frozen=True)
class Part:
    """A part of a result, and the plan whose bits it has."""

    where: str
    plan: str


@dataclass(frozen=True)
class Element:
    """An element beyond every bound: the returned pattern and number, the exact result, and the widest bound."""

    row: int
    column: int
    pattern: str
    value: float
    exact: float
    bound: float


@dataclass(frozen=True)
class Judgement:
    """A verdict on a result and what it rests on. Only the rows that were judged are spoken of."""

    verdict: Verdict
    plans: tuple[str, ...]
    k: int
    shape: tuple[int, int]
    rows: tuple[int, ...]
    """rows that were judged"""
    exact: tuple[str, ...]
    """plans that have all bits"""
    units: tuple[Design, ...]
    """units of the plans"""
    rests_on: str
    parts: tuple[Part, ...] = ()
    element: Element | None = None
    fits: tuple[str, ...] = ()
    """what would explain a result that no plan has; its rows are numbered as those that were judged"""

    def missed(self, fraction: float) -> float:
        """Return the probability that no judged row is faulty if a fraction of all rows is, rounded up to whole rows.

        Raises InputError for a fraction that is not between 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise InputError(f"fraction = {fraction}: between 0 and 1")
        rows = self.shape[0]
        faulty = ceil(Fraction(str(fraction)) * rows)  # as it is written: 0.1 * 30 is above 3 in floating point
        return comb(rows - faulty, len(self.rows)) / comb(rows, len(self.rows))


@dataclass
class _Candidate:
    """A plan, the product on it, and what it says of the rows that are judged."""

    tolerance: Tolerance
    product: Product
    result: Patterns

    @property
    def name(self) -> str:
        return self.tolerance.plan.name

    @property
    def is_open(self) -> bool:
        return self.tolerance.plan.has_open_order

    @cached_property
    def same(self) -> Truths:
        """Which elements have the bits of the plan; codes of NaNs are bits, too."""
        if self.is_open:
            return np.zeros(self.result.shape, dtype=np.bool_)
        found: Truths = self.product.d() == self.result
        return found

    def bounded(self, rows: Any) -> tuple[Truths, Floats, Floats]:
        """Return which elements of some rows are within their bound, the bounds, and the exact results."""
        part = self.product.part(rows, np.arange(self.result.shape[1]))
        given = self.tolerance.given(part.a, part.b, part.c, *part.scales)
        values, bounds = values_of(self.result[rows], self.tolerance.plan.formats[3]), self.tolerance.bound_of(given)
        return is_within(self.tolerance, given, values, bounds), bounds, self.tolerance.exact_of(given)[0]


def judge(
    d: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    plans: Design | Plan | str | Sequence[Design | Plan | str],
    scale_a: Any = None,
    scale_b: Any = None,
    rows: int | None = None,
    seed: int = 0,
    explain: bool = True,
) -> Judgement:
    """Return whose bits ``d`` has, which someone else computed as ``c + a @ b``, or how far it is off.

    Arrays are as those of ``assert_gemm``: ``d`` (M, N), ``a`` (M, K), ``b`` (K, N), ``c`` (M, N) or None for zeros,
    scales of blocks (M, blocks) and (blocks, N); each may be a ``Path`` of a file. ``plans`` are plans, designs, names
    of these, architectures or products (their units that take these arrays), or libraries (their presets). With
    ``rows`` only this number of rows is judged, drawn with ``seed``. ``explain`` looks for what would explain a result
    that no plan has (up to 20 s).

    Raises OperandError for arrays that do not fit, InputError for other arguments and where no plan takes the arrays.

    >>> import numpy as np, mmaproof
    >>> a, b = np.full((8, 16), 1.5, np.float16), np.full((16, 8), 2.0, np.float16)
    >>> d = mmaproof.matmul("hopper/wgmma.f32.f16.f16", a, b)
    >>> str(mmaproof.judge(d, a, b, plans=["hopper/wgmma.f32.f16.f16"]).verdict)
    'exact'
    """
    left, right = read_operand("a", a), read_operand("b", b)
    for name, x, text in (("a", left, "(M, K)"), ("b", right, "(K, N)")):
        if x.ndim != 2 or 0 in x.shape:
            raise OperandError(f"{name} has the shape {x.shape}: {text} is needed")
    chosen = _rows(left.shape[0], rows, seed)
    found: list[_Candidate] = []
    for plan, is_meant in _plans(plans):
        try:
            held = tolerance_of(plan, left.shape[1])
            product = product_of(held, left, right, c, scale_a, scale_b)
            result = result_of(held, product, d)[chosen]
            if not held.plan.has_open_order:
                product.plan.schedule(product.k)
        except MmaproofError:
            if is_meant:
                raise
            continue
        if held.plan.name not in [x.name for x in found]:
            found.append(_Candidate(held, product.part(chosen, np.arange(right.shape[1])), result))
    if not found:
        raise InputError(f"plans = {plans!r}: none of these takes arrays of {left.dtype} and {right.dtype}")
    return _judged(found, (left.shape[0], right.shape[1]), chosen, explain)


def _rows(count: int, rows: int | None, seed: int) -> Any:
    if rows is None:
        return np.arange(count)
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError(f"rows = {rows!r}: how many rows are judged, at least 1")
    return np.sort(np.random.default_rng(seed).choice(count, min(rows, count), replace=False))


def _plans(given: Any) -> Iterator[tuple[Plan, bool]]:
    """Yield plans, and whether each was named itself, so that arrays that do not fit it are an error."""
    several = [given] if isinstance(given, str | Design | Plan) else list(given)
    if not several:
        raise InputError("plans: one at least is needed")
    presets = load_presets().values()
    for x in several:
        place = load_catalogue().place(x) if isinstance(x, str) else None
        named = [y.name for y in presets if isinstance(x, str) and y.library.lower() == x.strip().lower()]
        if place is not None:
            yield from ((Plan(y), False) for y in load_catalogue().designs.values() if y.architecture == place)
        elif named:
            yield from ((find_plan(y), False) for y in named)
        else:
            yield find_plan(x), True


def _judged(found: Sequence[_Candidate], shape: tuple[int, int], chosen: Any, explain: bool) -> Judgement:
    names = tuple(x.name for x in found)
    exact = tuple(x.name for x in found if x.same.all())
    about: dict[str, Any] = {
        "plans": names,
        "k": found[0].tolerance.k,
        "shape": shape,
        "rows": tuple(chosen.tolist()),
        "exact": exact,
        "units": tuple(dict.fromkeys(x.tolerance.unit for x in found)),
    }
    counted = f"{found[0].result.size} elements"
    if exact:
        return Judgement(Verdict.EXACT, rests_on=f"{counted} were emulated on {' and on '.join(exact)}", **about)
    parts = _parts({x.name: x.same for x in found}, chosen)
    if parts:
        kinds = len({x.plan for x in parts})
        rests = f"{counted} were emulated on {len(found)} plans, of which {kinds} have whole parts"
        return Judgement(Verdict.MIXED, rests_on=rests, parts=tuple(parts), **about)
    return _bounded(found, about, chosen, explain)


def _bounded(found: Sequence[_Candidate], about: Mapping[str, Any], chosen: Any, explain: bool) -> Judgement:
    """Return the verdict on elements that have the bits of no plan, by the proved bounds of all."""
    other = ~np.logical_or.reduce([x.same for x in found])
    nearest = max(found, key=lambda x: int(x.same.sum()))
    if not other.any():  # each is of some plan, and no part is of one
        other = ~np.logical_and.reduce([x.same for x in found])
    failing = other & ~nearest.same

    def judged(verdict: Verdict, why: str, element: Element | None = None) -> Judgement:
        lines = diagnose(nearest.tolerance, nearest.product, nearest.result, failing) if explain else []
        return Judgement(verdict, rests_on=why, element=element, fits=tuple(lines), **about)

    def indeterminate(why: str) -> Judgement:
        return judged(Verdict.INDETERMINATE, why)

    if unproved := [x for x in found if not x.tolerance.proved]:
        why = unproved[0].tolerance.proof.reason
        return indeterminate(f"no bound is proved of {unproved[0].name}: {why}")
    places = np.flatnonzero(other.any(axis=1))
    other = other[places]
    held = [x.bounded(places) for x in found]
    bounds = np.stack([x[1] for x in held])
    inside, bounded = np.stack([x[0] for x in held]), np.isfinite(bounds)
    outside = other & (bounded & ~inside).all(axis=0)
    if outside.any():
        count = int(outside.sum())
        rests = f"{count} element{'s' * (count > 1)} beyond the proved bound of {'each of ' * (len(found) > 1)}"
        rests += f"{len(found)} plan{'s' * (len(found) > 1)}, from these operands"
        element = _worst(found[0], outside, places, held, bounds, chosen)
        return judged(Verdict.OUTSIDE, rests, element)
    undecided = other & ~inside.all(axis=0)
    nothing = undecided & ~bounded.all(axis=0)
    if nothing.any():
        why = "operands are infinities or NaNs, or numbers may overflow"
        return indeterminate(f"nothing is proved about {int(nothing.sum())} elements: {why}")
    if undecided.any():
        apart = [
            next(x.name for x, is_in in zip(found, inside, strict=True) if is_in[undecided].any() is wanted)
            for wanted in (np.True_, np.False_)
            if any(is_in[undecided].any() is wanted for is_in in inside)
        ]
        why = f"inside the bounds of some plans and beyond those of others: {', '.join(apart)}"
        return indeterminate(f"{int(undecided.sum())} elements are {why}")
    if open_order := [x.name for x in found if x.is_open]:
        why = f"the order of additions of {open_order[0]} is not determined, so that it may have returned these bits"
        return indeterminate(f"inside the proved bounds of all plans; {why}")
    rests = f"inside the proved bounds of {len(found)} plan{'s' * (len(found) > 1)}, from these operands; "
    rests += f"{int(failing.sum())} elements have other bits than {nearest.name}"
    return judged(Verdict.WITHIN, rests)


def _worst(
    first: _Candidate,
    outside: Truths,
    places: Any,
    held: Sequence[tuple[Truths, Floats, Floats]],
    bounds: Any,
    all_: Any,
) -> Element:
    """Return the element that is the farthest beyond its widest bound."""
    fmt = first.tolerance.plan.formats[3]
    result, exact, widest = first.result[places], held[0][2], bounds.max(axis=0)
    values = values_of(result, fmt)
    with np.errstate(invalid="ignore", over="ignore"):
        beyond = np.where(outside, errors_of(values, exact) / np.maximum(widest, 2.0**-1074), -1.0)
    row, column = (int(x) for x in np.unravel_index(int(np.argmax(beyond)), beyond.shape))
    at = row, column
    pattern = fmt.hex(int(result[at]))
    return Element(int(all_[places[row]]), column, pattern, float(values[at]), float(exact[at]), float(widest[at]))


def _parts(same: Mapping[str, Truths], chosen: Any) -> list[Part]:
    """Return the rows, columns or tiles of which each has the bits of one plan; none if there are no such parts."""
    m, n = next(iter(same.values())).shape
    kinds: list[tuple[str, int, int]] = []
    if n >= LEAST_PART:
        kinds.append(("row", 1, n))
    if m >= LEAST_PART and len(chosen) == chosen[-1] + 1:
        kinds.append(("column", m, 1))
        kinds += [("tile", x, x) for x in TILES if not m % x and not n % x and x < max(m, n)]
    for kind, height, width in kinds:
        found: list[tuple[int, int, str]] = []
        for top in range(0, m, height):
            for first in range(0, n, width):
                at = np.s_[top : top + height, first : first + width]
                plan = next((name for name, x in _by_count(same) if x[at].all()), None)
                if plan is None:
                    break
                found.append((top, first, plan))
            else:
                continue
            break
        else:
            return list(_named(kind, found, (height, width), chosen.tolist()))
    return []


def _named(
    kind: str, found: Sequence[tuple[int, int, str]], size: tuple[int, int], chosen: Sequence[int]
) -> Iterator[Part]:
    """Yield parts with where they are; rows or columns that follow each other and are of one plan are one part."""
    if kind == "tile":
        for top, first, plan in found:
            yield Part(f"rows {top}..{top + size[0] - 1}, columns {first}..{first + size[1] - 1}", plan)
        return
    places = [(chosen[top] if kind == "row" else first, plan) for top, first, plan in found]
    for plan, run in groupby(places, key=lambda x: x[1]):
        held = [x for x, _ in run]
        yield Part(f"{kind} {held[0]}" if len(held) == 1 else f"{kind}s {held[0]}..{held[-1]}", plan)


def _by_count(same: Mapping[str, Truths]) -> list[tuple[str, Truths]]:
    return sorted(same.items(), key=lambda x: -int(x[1].sum()))
