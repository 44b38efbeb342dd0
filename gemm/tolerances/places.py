"""Results whose elements belong to another place or to other operands: transposed, shifted, doubled, another c."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arrays import values_of
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.tolerances.faults import Product, rounded
from mmaproof.gemm.tolerances.magnitudes import Floats
from mmaproof.gemm.tolerances.tolerance import Tolerance

Places = npt.NDArray[np.intp]
"""Rows, or columns, of a result."""
COMPARED = 64
"""Elements by which a row or column is recognised at another place."""
SHOWN = 4
"""Places that a text names."""
LEAST_MOVED = 4
"""Elements that come from one distance before that is said of them."""
NARROW = ("bf16", "fp16", "tf32", "e5m2", "e4m3")
"""Formats through which a result may have gone."""
Bits = Callable[[Places, Places], Patterns]
"""What computes the patterns of some rows and columns of a result."""


@dataclass(frozen=True)
class Change:
    """A result whose elements come from other operands than theirs, the text that says so, and how they are computed.

    ``part`` returns the product of some rows and columns of the result; with ``transposed`` the transpose of it. Each
    element is multiplied with ``factor``.
    """

    text: str
    part: Callable[[Product, Places, Places], Product]
    transposed: bool = False
    factor: float = 1.0

    def bits(self, whole: Product, rows: Places, columns: Places) -> Patterns:
        """Return the patterns of these rows and columns."""
        d = self._turned(self.part(whole, rows, columns).d())
        if self.factor == 1.0:
            return d
        fmt = whole.plan.formats[3]
        with np.errstate(over="ignore", invalid="ignore"):
            return rounded(fmt, values_of(d, fmt) * self.factor)

    def bounded(self, tolerance: Tolerance, whole: Product, rows: Places, columns: Places) -> tuple[Floats, Floats]:
        """Return the exact results of these rows and columns, and the bounds on the errors of the plan's."""
        part = self.part(whole, rows, columns)
        given = tolerance.given(part.a, part.b, part.c, *part.scales)
        exact, beyond = tolerance.exact_of(given)
        bound = tolerance.bound_of(given) + beyond
        return self._turned(exact) * self.factor, self._turned(bound) * abs(self.factor)

    def _turned(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(x.T) if self.transposed else x


def changes(whole: Product, actual: Patterns, exact: Floats, rows: Places, columns: Places) -> Iterator[Change]:
    """Yield changes that may explain a result; ``exact`` is what it should be about, all of it.

    Shifts and permutations are those that the looked-at ``rows`` and ``columns`` suggest.
    """
    for factor, word in ((2.0, "twice"), (0.5, "half"), (-1.0, "minus")):
        yield Change(f"{word} the result", _same, factor=factor)
    if whole.c is not None:
        yield from _of_c(whole)
    if whole.has_scales:
        return
    yield from _transposed(whole)
    values = values_of(actual, whole.plan.formats[3])
    yield from _moved_rows(values, exact, rows)
    yield from _moved_columns(values, exact, columns)
    yield from _along_k(whole)


def _same(whole: Product, rows: Places, columns: Places) -> Product:
    return whole.part(rows, columns)


def _changed(**operands: Patterns | None) -> Callable[[Product, Places, Places], Product]:
    """Return the part of a product with other operands."""
    return lambda whole, rows, columns: replace(whole, **operands).part(rows, columns)  # type: ignore[arg-type]


def _of_c(whole: Product) -> Iterator[Change]:
    c, fmt = whole.c, whole.plan.formats[2]
    if c is None:
        return
    yield Change("as if c were not added", _changed(c=None))
    with np.errstate(over="ignore", invalid="ignore"):
        doubled, negative = (rounded(fmt, values_of(c, fmt) * x) for x in (2, -1))
    yield Change("as if c were added twice, at the start: bits of a chain that starts from 2 c", _changed(c=doubled))
    yield Change("as if c were subtracted", _changed(c=negative))
    if c.shape[0] == c.shape[1]:
        yield Change("as if c were transposed", _changed(c=np.ascontiguousarray(c.T)))


def _transposed(whole: Product) -> Iterator[Change]:
    """Yield transposes, of operands also where they are not squares: read in the other order of memory."""
    if whole.a.shape[0] == whole.b.shape[1]:
        yield Change("the transpose of the result", lambda x, rows, columns: x.part(columns, rows), transposed=True)
    a, b = _turned(whole.a), _turned(whole.b)
    for text, operands in (("a", {"a": a}), ("b", {"b": b}), ("a and b", {"a": a, "b": b})):
        yield Change(f"as if {text} were transposed (rows and columns exchanged in memory)", _changed(**operands))


def _turned(x: Patterns) -> Patterns:
    """Return a matrix of the same shape, whose memory is read column by column."""
    return np.ascontiguousarray(np.reshape(x, x.shape[::-1]).T)


def _moved_rows(values: Floats, exact: Floats, rows: Places) -> Iterator[Change]:
    found = _nearest(values[rows], exact)
    if (found != rows).any():
        sources = _sources(rows, found, len(exact))
        text = _moved("row", rows, found, len(exact))
        yield Change(text, lambda whole, some, columns: whole.part(sources(some), columns))


def _moved_columns(values: Floats, exact: Floats, columns: Places) -> Iterator[Change]:
    count = exact.shape[1]
    found = _nearest(values.T[columns], exact.T)
    if (found != columns).any():
        sources = _sources(columns, found, count)
        text = _moved("column", columns, found, count)
        yield Change(text, lambda whole, rows, some: whole.part(rows, sources(some)))


def _sources(places: Places, found: Places, size: int) -> Callable[[Places], Places]:
    """Return where elements come from: by the shift that the places have in common, or as found for each."""
    shift = _shift(places, found, size)
    if shift is not None:
        return lambda wanted: (wanted + shift) % size
    held = np.arange(size)
    held[places] = found
    return lambda wanted: held[wanted]


def _shift(places: Places, found: Places, size: int) -> int | None:
    shifts = set(((found - places) % size).tolist())
    return shifts.pop() if len(shifts) == 1 and len(places) > 1 else None


def _moved(what: str, places: Places, found: Places, size: int) -> str:
    shift = _shift(places, found, size)
    if shift is not None:
        return f"{what}s shifted: {what} i is {what} i + {shift} (modulo {size}) of the right result"
    pairs = [f"{what} {x} is {what} {y}" for x, y in zip(places.tolist(), found.tolist(), strict=True) if x != y]
    more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    return f"{what}s exchanged: {', '.join(pairs[:SHOWN])} of the right result{more}"


def _nearest(vectors: Floats, exact: Floats) -> Places:
    """Return for each vector the row of ``exact`` that is nearest to it, in some places of both."""
    some = np.unique(np.linspace(0, exact.shape[1] - 1, COMPARED).astype(np.intp))
    among = exact[:, some]
    with np.errstate(invalid="ignore", over="ignore"):
        distances = [np.nan_to_num(np.abs(among - x[some]), nan=np.inf).max(axis=1) for x in vectors]
    return np.array([int(np.argmin(x)) for x in distances], dtype=np.intp)


def narrowed(whole: Product) -> Iterator[tuple[str, Bits]]:
    """Yield results that went through a narrower format, with the text that says so."""

    def through(narrow: Format) -> Bits:
        def bits(rows: Places, columns: Places) -> Patterns:
            values = values_of(rounded(narrow, values_of(whole.part(rows, columns).d(), fmt)), narrow)
            return rounded(fmt, values)

        return bits

    fmt = whole.plan.formats[3]
    if not fmt.is_integer:
        for narrow in (FORMATS[x] for x in NARROW):
            if narrow.bits < fmt.bits:
                yield f"the result rounded to {narrow.name} on its way", through(narrow)


def moved_tiles(
    whole: Product, actual: Patterns, exact: Floats, failing: npt.NDArray[np.bool_], at: tuple[Places, Places]
) -> Iterator[tuple[str, Bits]]:
    """Yield that the failing elements of some rows and columns come from a few distances, if they do.

    Each is looked for among the exact results. A distance is that of at least LEAST_MOVED elements.
    """
    rows, columns = (x.ravel() for x in np.meshgrid(*at, indexing="ij"))
    wrong = failing[rows, columns]
    rows, columns = rows[wrong], columns[wrong]
    order = np.argsort(exact, axis=None)
    held, values = exact.ravel()[order], values_of(actual[rows, columns], whole.plan.formats[3])
    after = np.clip(np.searchsorted(held, values), 1, max(held.size - 1, 1))
    with np.errstate(invalid="ignore", over="ignore"):
        nearer = np.abs(values - held[after - 1]) < np.abs(values - held[after % held.size])
    sources = np.stack(np.unravel_index(order[(after - nearer) % held.size], exact.shape))
    places = np.stack([rows, columns])
    distances, counts = np.unique(sources - places, axis=1, return_counts=True)
    usual = np.argsort(-counts, kind="stable")[: SHOWN + 1]
    distances = distances[:, usual[counts[usual] >= LEAST_MOVED]]
    if not 1 <= distances.shape[1] <= SHOWN or not distances.any(axis=0).all():
        return
    which = _nearest_distance(values, exact, places, distances)
    sources = places + distances[:, which]
    parts = [places[:, which == i] for i in range(distances.shape[1])]
    texts = [f"{_box_of(x)} are {_box_of(x + y[:, None])}" for x, y in zip(parts, distances.T, strict=True)]
    come_from = {(int(i), int(j)): (int(x), int(y)) for (i, j), (x, y) in zip(places.T, sources.T, strict=True)}

    def bits(rows: Places, columns: Places) -> Patterns:
        own = np.stack(np.meshgrid(rows, columns, indexing="ij"))
        of_all = np.array([come_from.get((int(i), int(j)), (int(i), int(j))) for i, j in own.reshape(2, -1).T])
        (top, i), (left, j) = (np.unique(x, return_inverse=True) for x in of_all.T)
        return whole.part(top, left).d()[i.ravel(), j.ravel()].reshape(len(rows), len(columns))

    yield f"tiles at another place: {'; '.join(texts)} of the right result", bits


def _nearest_distance(values: Floats, exact: Floats, places: Places, distances: Places) -> Places:
    """Return which distance brings each place nearest to its value: another number may be nearer by chance."""
    shape = np.array(exact.shape)[:, None]
    off = []
    for distance in distances.T:
        at = places + distance[:, None]
        is_in = ((at >= 0) & (at < shape)).all(axis=0)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(exact[tuple(np.clip(at, 0, shape - 1))] - values)
        off.append(np.where(is_in, np.nan_to_num(near, nan=np.inf), np.inf))
    found: Places = np.argmin(off, axis=0)
    return found


def _box_of(places: Places) -> str:
    (top, left), (bottom, right) = places.min(axis=1).tolist(), places.max(axis=1).tolist()
    return f"rows {top}..{bottom}, columns {left}..{right}"


def _along_k(whole: Product) -> Iterator[Change]:
    """Yield factors that do not meet: b begins later or earlier than a."""
    for by in (1, -1, whole.unit.k, -whole.unit.k):
        if abs(by) < whole.k:
            text = f"as if a[:, k] met b[k {'+' if by > 0 else '-'} {abs(by)}], around the end"
            yield Change(text, _changed(b=np.roll(whole.b, -by, axis=0)))
