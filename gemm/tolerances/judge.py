"""Verdicts on a product that someone else computed: whose bits these are, and if nobody's, how far they are off.

Emulation, bounds and explanations are those of plans, tolerances and assertions; a verdict only combines them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import ceil, comb
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, MmaproofError, OperandError
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype, values_of
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.evaluate import rows as run_rows
from mmaproof.gemm.programs.named import find_plan
from mmaproof.gemm.programs.spelling import load_presets
from mmaproof.gemm.tolerances.assertion import patterns_of_result, product_of, read_operand, result_of, tolerance_of
from mmaproof.gemm.tolerances.diagnosis import HAVE_THESE_BITS, diagnose, diagnose_mixed
from mmaproof.gemm.tolerances.faults import Product
from mmaproof.gemm.tolerances.given import Floats
from mmaproof.gemm.tolerances.tolerance import Tolerance, Truths, errors_of, is_within

Column = npt.NDArray[Any]

LEAST_PART = 8
"""Elements of a part, as a mean, that no other plan returns: with fewer, plans agree by chance."""
AT_ONCE = 16
"""Dot products of rows whose bounds are computed as the diagonal of one product."""


class Verdict(StrEnum):
    """What is said of a result."""

    EXACT = "exact"
    """all bits are those that a plan of the list returns"""
    MIXED = "mixed"
    """rows, columns or rectangles have the bits of a plan of the list each, and no plan has all"""
    WITHIN = "within"
    """not the bits of a plan of the list, and inside the proved bounds of all, or the bound that was given"""
    OUTSIDE = "outside"
    """an element is beyond the proved bounds of all plans of the list, or the bound that was given"""
    INDETERMINATE = "indeterminate"
    """none of these is known"""


@dataclass(frozen=True)
class Part:
    """A part of a result, and the plan whose bits it has."""

    where: str
    plan: str
    elements: int


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

    def __repr__(self) -> str:
        whose = ", ".join(self.exact) or ", ".join(self.plans)
        judged = f"{len(self.rows)} of {self.shape[0]} rows of {self.shape[1]} elements"
        return f"<{self.verdict}: {whose}, k = {self.k}, {judged}>"

    def missed(self, fraction: float) -> float:
        """Return the probability that no judged row is faulty if a fraction of all rows is, rounded up to whole rows.

        Raises InputError for a fraction that is not between 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise InputError(f"fraction = {fraction}: between 0 and 1")
        rows = self.shape[0]
        faulty = ceil(Fraction(str(fraction)) * rows)  # as it is written: 0.1 * 30 is above 3 in floating point
        return comb(rows - faulty, len(self.rows)) / comb(rows, len(self.rows))


@dataclass(frozen=True)
class _Dots:
    """Dot products that are not a matrix, a row each; it stands where a product of shape (rows, 1) does."""

    plan: Plan
    batch: OperandBatch

    def d(self) -> Patterns:
        """Return the patterns of the result, shape (rows, 1)."""
        return run_rows(self.plan.schedule(self.batch.k), self.batch)[:, None]

    def products(self, rows: Any) -> Iterator[Product]:
        """Yield products of matrices whose diagonals are these rows."""
        for first in range(0, len(rows), AT_ONCE):
            x = self.batch.select(rows[first : first + AT_ONCE])
            scales = (x.scale_a, None if x.scale_b is None else x.scale_b.T)
            yield Product(self.plan, x.a, x.b.T, np.diag(x.c), scales)


@dataclass
class _Candidate:
    """A plan, the product on it, and what it says of the rows that are judged."""

    tolerance: Tolerance
    product: Product | _Dots
    result: Patterns
    accepted: Floats | None
    """the bound that was given, of each element; None where proved ones are taken"""

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

    def bounded(self, rows: Any, columns: Any) -> tuple[Truths, Floats, Floats]:
        """Return which elements of some rows and columns are within their bound, the bounds, and the exact results."""
        at = np.ix_(rows, columns)
        values = values_of(self.result[at], self.tolerance.plan.formats[3])
        accepted = None if self.accepted is None else self.accepted[at]
        if isinstance(self.product, Product):
            return self._bounded(self.product.part(rows, columns), values, accepted)
        found: list[Any] = []
        for part in self.product.products(rows):
            some = slice(len(found), len(found) + len(part.a))
            inside, bounds, exact = self._bounded(
                part, _diagonal(values[some]), None if accepted is None else _diagonal(accepted[some])
            )
            found += zip(*(np.diagonal(x) for x in (inside, bounds, exact)), strict=True)
        of_all = [np.array(x)[:, None] for x in zip(*found, strict=True)]
        return of_all[0], of_all[1], of_all[2]

    def _bounded(self, part: Product, values: Floats, accepted: Floats | None) -> tuple[Truths, Floats, Floats]:
        given = self.tolerance.given(part.a, part.b, part.c, *part.scales)
        bounds = self.tolerance.bound_of(given) if accepted is None else accepted
        exact, _ = self.tolerance.exact_of(given)
        if accepted is not None and given.special is not None:  # nothing is compared with what is not a number
            bounds = np.where(given.special, np.nan, bounds)
        return is_within(self.tolerance, given, values, bounds), bounds, exact

    def explained(self, failing: Truths, worst: int | None) -> list[str]:
        """Return what would explain the elements that fail; of rows the worst of them, or the first."""
        if isinstance(self.product, Product):
            return diagnose(self.tolerance, self.product, self.result, failing)
        at = np.array([np.flatnonzero(failing[:, 0])[0] if worst is None else worst])
        (part,) = self.product.products(at)
        found = diagnose(self.tolerance, part, self.result[at], np.ones((1, 1), dtype=np.bool_))
        return [f"row {int(at[0])}: {x.removeprefix('row 0: ')}" for x in found]


def _diagonal(column: Floats) -> Floats:
    """Return a matrix with a column, shape (rows, 1), as its diagonal, and NaNs elsewhere."""
    found = np.full((len(column), len(column)), np.nan)
    np.fill_diagonal(found, column[:, 0])
    return found


def judge(
    d: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    plans: Design | Plan | str | Sequence[Design | Plan | str],
    scale_a: Any = None,
    scale_b: Any = None,
    bound: npt.ArrayLike | None = None,
    rows: int | None = None,
    seed: int = 0,
    explain: bool = True,
) -> Judgement:
    """Return whose bits ``d`` has, which someone else computed as ``c + a @ b``, or how far it is off.

    Arrays are as those of ``assert_gemm``: ``d`` (M, N), ``a`` (M, K), ``b`` (K, N), ``c`` (M, N) or None for zeros,
    scales of blocks (M, blocks) and (blocks, N); each may be a ``Path`` of a file. Dot products without a matrix have
    ``d`` and ``c`` (rows,), ``a`` and ``b`` (rows, K), scales (rows, blocks). ``plans`` are plans, designs, names
    of these, architectures or products (their units that take these arrays), or libraries (their presets). ``bound``,
    a number or an array of the shape of ``d``, is the largest ``|d - exact|`` that you accept, and takes the place of
    the proved bounds. With
    ``rows`` only this number of rows is judged, drawn with ``seed``. ``explain`` looks for what would explain a result
    that no plan has (up to 20 s).

    Raises OperandError for arrays that do not fit, InputError for other arguments and where no plan takes the arrays.

    >>> import numpy as np, mmaproof
    >>> a, b = np.full((8, 16), 1.5, np.float16), np.full((16, 8), 2.0, np.float16)
    >>> d = mmaproof.matmul("hopper/wgmma.f32.f16.f16", a, b)
    >>> str(mmaproof.judge(d, a, b, plans=["hopper/wgmma.f32.f16.f16"]).verdict)
    'exact'
    """
    left, right, result = read_operand("a", a), read_operand("b", b), read_operand("d", d)
    dots = result.ndim == 1
    wanted = (("a", left, "(M, K)"), ("b", right, "(rows, K)" if dots else "(K, N)"))
    for name, x, text in wanted:
        if x.ndim != 2 or 0 in x.shape:
            raise OperandError(f"{name} has the shape {x.shape}: {text} is needed")
    if dots and not left.shape == right.shape == (len(result), left.shape[1]):
        shapes = f"a {left.shape}, b {right.shape}, d {result.shape}"
        raise OperandError(f"{shapes}: dot products are (rows, K), (rows, K), (rows,)")
    shape = (len(left), 1 if dots else right.shape[1])
    chosen = rows_of_sample(len(left), rows, seed)
    at = slice(None) if len(chosen) == len(left) else chosen
    accepted = None if bound is None else _accepted(bound, result.shape).reshape(shape)[at]
    found: list[_Candidate] = []
    for plan, is_meant in _plans(plans):
        try:
            held = tolerance_of(plan, left.shape[1])
            product, patterns = (_dots if dots else _product)(held, left, right, result, c, (scale_a, scale_b), at)
            if not held.plan.has_open_order:
                held.plan.schedule(held.k)
        except MmaproofError:
            if is_meant:
                raise
            continue
        if held.plan.name not in [x.name for x in found]:
            found.append(_Candidate(held, product, patterns, accepted))
    if not found:
        raise InputError(f"plans = {plans!r}: none of these takes arrays of {left.dtype} and {right.dtype}")
    return _judged(found, shape, chosen, explain)


def _product(
    held: Tolerance, a: Column, b: Column, d: Column, c: Any, scales: tuple[Any, Any], at: Any
) -> tuple[Product, Patterns]:
    """Return some rows of a product of matrices and of its result as patterns. Raises OperandError."""
    product = product_of(held, a, b, c, *scales)
    return product.part(at, slice(None)), result_of(held, product, d)[at]


def _dots(
    held: Tolerance, a: Column, b: Column, d: Column, c: Any, scales: tuple[Any, Any], at: Any
) -> tuple[_Dots, Patterns]:
    """Return some dot products and their results, shape (rows, 1), likewise."""
    scale_a, scale_b = scales
    of_b = None if scale_b is None else read_operand("scale_b", scale_b).T
    product = product_of(held, a, b.T, c, scale_a, of_b)
    start = np.zeros(len(d), dtype=pattern_dtype(held.plan.formats[2])) if product.c is None else product.c
    if start.shape != d.shape:
        raise OperandError(f"c has the shape {start.shape}, and d {d.shape}")
    of_a, of_b = product.scales
    batch = OperandBatch(product.a, product.b.T, start, of_a, None if of_b is None else of_b.T)
    if held.plan.is_unit:
        batch.check(held.unit)
    return _Dots(held.plan, batch.select(at)), patterns_of_result(held, d)[:, None][at]


def _accepted(bound: Any, shape: tuple[int, ...]) -> Floats:
    """Return the bound of each element. Raises InputError for one that is negative or no number, or does not fit."""
    given = np.asarray(bound, dtype=np.float64)
    if given.shape not in ((), shape):
        raise InputError(f"bound has the shape {given.shape}: one number, or one for each element of d, {shape}")
    if not (given >= 0).all() or np.isinf(given).any():
        raise InputError("bound: the largest |d - exact| that is accepted, finite numbers from 0 on")
    return np.broadcast_to(given, shape)


def rows_of_sample(count: int, rows: int | None, seed: int) -> Any:
    """Return the rows that are judged, in order: all, or as many as ``rows`` says. Raises InputError for none."""
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
            units = (y for y in load_catalogue().designs.values() if y.architecture == place)
            yield from ((Plan(y), False) for y in units if y.step.multiplies_elements)
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
        worst = None if element is None else int(np.searchsorted(chosen, element.row))
        lines = _explained(found, nearest, failing, worst) if explain else []
        return Judgement(verdict, rests_on=why, element=element, fits=tuple(lines), **about)

    def indeterminate(why: str) -> Judgement:
        return judged(Verdict.INDETERMINATE, why)

    is_given = found[0].accepted is not None
    if not is_given and (unproved := [x for x in found if not x.tolerance.proved]):
        why = unproved[0].tolerance.proof.reason
        return indeterminate(f"no bound is proved of {unproved[0].name}: {why}")
    places = np.flatnonzero(other.any(axis=1)), np.flatnonzero(other.any(axis=0))
    other = other[np.ix_(*places)]
    held = [x.bounded(*places) for x in found]
    bounds = np.stack([x[1] for x in held])
    inside, bounded = np.stack([x[0] for x in held]), np.isfinite(bounds)
    outside = other & (bounded & ~inside).all(axis=0)
    if outside.any():
        count = int(outside.sum())
        rests = f"{count} element{'s' * (count > 1)} beyond the bound that was given"
        if not is_given:
            rests = rests.replace("bound that was given", f"proved bound of {'each of ' * (len(found) > 1)}")
            rests += f"{len(found)} plan{'s' * (len(found) > 1)}, from these operands"
        element = _worst(found[0], outside, places, held, bounds, chosen)
        return judged(Verdict.OUTSIDE, rests, element)
    undecided = other & ~inside.all(axis=0)
    nothing = undecided & ~bounded.all(axis=0)
    if nothing.any():
        why = "operands are infinities or NaNs" + ("" if is_given else ", or numbers may overflow")
        return indeterminate(f"nothing is known about {int(nothing.sum())} elements: {why}")
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
        return indeterminate(f"inside the bounds; {why}")
    rests = (
        "inside the bound that was given; "
        if is_given
        else (f"inside the proved bounds of {len(found)} plan{'s' * (len(found) > 1)}, from these operands; ")
    )
    rests += f"{int(failing.sum())} elements have other bits than {nearest.name}"
    return judged(Verdict.WITHIN, rests)


def _explained(found: Sequence[_Candidate], nearest: _Candidate, failing: Truths, worst: int | None) -> list[str]:
    """Return what would explain the elements that fail, by the nearest plan or else by all plans together."""
    lines = nearest.explained(failing, worst)
    products = [x.product for x in found if isinstance(x.product, Product) and not x.is_open]
    if len(products) < 2 or any(HAVE_THESE_BITS in x for x in lines):
        return lines
    return diagnose_mixed(found[0].tolerance, products, found[0].result, failing) or lines


def _worst(
    first: _Candidate,
    outside: Truths,
    places: tuple[Any, Any],
    held: Sequence[tuple[Truths, Floats, Floats]],
    bounds: Any,
    all_: Any,
) -> Element:
    """Return the element that is the farthest beyond its widest bound."""
    fmt = first.tolerance.plan.formats[3]
    result, exact, widest = first.result[np.ix_(*places)], held[0][2], bounds.max(axis=0)
    values = values_of(result, fmt)
    with np.errstate(invalid="ignore", over="ignore"):
        beyond = np.where(outside, errors_of(values, exact) / np.maximum(widest, 2.0**-1074), -1.0)
    row, column = (int(x) for x in np.unravel_index(int(np.argmax(beyond)), beyond.shape))
    at = row, column
    pattern = fmt.hex(int(result[at]))
    return Element(
        int(all_[places[0][row]]),
        int(places[1][column]),
        pattern,
        float(values[at]),
        float(exact[at]),
        float(widest[at]),
    )


def _parts(same: Mapping[str, Truths], chosen: Any) -> list[Part]:
    """Return the rectangles of which each has the bits of one plan; none if there are no such parts, or by chance only.

    A plan returns ``LEAST_PART`` elements for each of its parts, as a mean, that none of the others returns.
    """
    names = sorted(same, key=lambda x: -int(same[x].sum()))
    maps = np.stack([same[x] for x in names])
    if not maps.any(axis=0).all():
        return []
    _, m, n = maps.shape
    found: list[tuple[tuple[slice, slice], int]] = []
    for rows in _bands(maps):
        for columns, plan in _intervals(np.asarray(maps[:, rows].all(axis=1))):
            found.append(((rows, columns), plan))
            if LEAST_PART * len(found) > m * n:
                return []
    used = {plan for _, plan in found}
    for plan in used:
        alone = maps[plan] & ~np.logical_or.reduce([maps[x] for x in used if x != plan])
        parts = [at for at, x in found if x == plan]
        if sum(int(alone[at].sum()) for at in parts) < LEAST_PART * len(parts):
            return []
    return [Part(_place(at, (m, n), chosen), names[plan], maps[plan][at].size) for at, plan in found]


def _bands(maps: Truths) -> Iterator[slice]:
    """Yield rows that follow each other, as many as have a plan for each column of them."""
    first, held = 0, maps[:, 0]
    for row in range(1, maps.shape[1]):
        joined = held & maps[:, row]
        if joined.any(axis=0).all():
            held = joined
        else:
            yield slice(first, row)
            first, held = row, maps[:, row]
    yield slice(first, maps.shape[1])


def _intervals(held: Truths) -> Iterator[tuple[slice, int]]:
    """Yield columns that follow each other and a plan that has them all, the farthest first."""
    n = held.shape[1]
    reach = np.minimum.accumulate(np.where(held, n, np.arange(n))[:, ::-1], axis=1)[:, ::-1]
    first = 0
    while first < n:
        plan = int(reach[:, first].argmax())
        last = int(reach[plan, first])
        yield slice(first, last), plan
        first = last


def _place(at: tuple[slice, slice], shape: tuple[int, int], chosen: Any) -> str:
    """Return the words for a part: its rows, its columns, or both where neither are all."""
    numbers = chosen.tolist(), range(shape[1])
    found = []
    for kind, x, which, count in zip(("row", "column"), at, numbers, shape, strict=True):
        first, last = which[x.start], which[x.stop - 1]
        if x.stop - x.start < count:
            found.append(f"{kind} {first}" if first == last else f"{kind}s {first}..{last}")
    return ", ".join(found)
