"""What fits a result that is not as it should be: the bits of another parameter, something missing, or nothing.

Results whose elements belong to another place or to other operands: transposed, shifted, doubled, another c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.errors import MmaproofError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, values_of
from mmaproof.gemm.tolerances.faults import Fault, Product, hypotheses
from mmaproof.gemm.tolerances.given import Floats, Given
from mmaproof.gemm.tolerances.tolerance import Tolerance, Truths, errors_of, is_within
from mmaproof.smt.backends import Backend, wanted_backend, wanting
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.smt.solving.limits import worked
from mmaproof.verification.distributions import from_float64

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
            return from_float64(fmt, values_of(d, fmt) * self.factor)

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
        doubled, negative = (from_float64(fmt, values_of(c, fmt) * x) for x in (2, -1))
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
    found = _nearest_rows(values[rows], exact)
    if (found != rows).any():
        sources = _sources(rows, found, len(exact))
        text = _moved("row", rows, found, len(exact))
        yield Change(text, lambda whole, some, columns: whole.part(sources(some), columns))


def _moved_columns(values: Floats, exact: Floats, columns: Places) -> Iterator[Change]:
    count = exact.shape[1]
    found = _nearest_rows(values.T[columns], exact.T)
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


def _nearest_rows(vectors: Floats, exact: Floats) -> Places:
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
            values = values_of(from_float64(narrow, values_of(whole.part(rows, columns).d(), fmt)), narrow)
            return from_float64(fmt, values)

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


MOST_ROWS = 4
"""Rows and columns of the elements that hypotheses are tried on."""
MOST_CONFIRMED = 32
"""Rows and columns of the elements whose bits must be those of an explanation before it is said."""
LEAST_ROUNDED = 4
"""Elements that must have other bits than the plan's before another rounding is said to explain them."""
HAVE_THESE_BITS = "have these bits"
"""What is said of an explanation whose bits were compared."""
CANDIDATES = 2
MOST_EDGES = 512
"""Places along k at which a missing run may begin or end."""
MOST_SECONDS = 20.0
"""CPU seconds after which no further hypothesis is tried."""
FEW = 0.01
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Looked:
    """A few rows and columns of a result with failing elements: what it is, what it should be, and what fails."""

    product: Product
    given: Given
    actual: Patterns
    failing: npt.NDArray[np.bool_]
    rows: Rows
    columns: Rows

    @classmethod
    def at(
        cls, tolerance: Tolerance, product: Product, actual: Patterns, failing: npt.NDArray[np.bool_], most: int
    ) -> Looked:
        """Return rows and columns of failing elements, and none besides: what fits need not fit elsewhere."""
        rows = _some(failing.sum(axis=1), most)
        columns = _some(failing[rows].sum(axis=0), most)
        part = product.part(rows, columns)
        given = tolerance.given(part.a, part.b, part.c, *part.scales)
        at = np.ix_(rows, columns)
        return cls(part, given, actual[at], failing[at], rows, columns)


def diagnose(tolerance: Tolerance, product: Product, actual: Patterns, failing: npt.NDArray[np.bool_]) -> list[str]:
    """Return what fits the failing elements, the best explanation first; each is a line of text.

    It is said that bits fit only if the elements that were looked at have them, right ones and wrong ones, in the
    rows and columns with failing elements. Otherwise it is said what the bound allows.
    """
    if not failing.any():
        return []
    looked, wider = (Looked.at(tolerance, product, actual, failing, most) for most in (MOST_ROWS, MOST_CONFIRMED))
    found = _where(failing)
    blocks, products, run, values = _missing(tolerance, looked)
    exact, _ = tolerance.exact_of(tolerance.given(product.a, product.b, product.c, *product.scales))
    changed = list(changes(product, actual, exact, wider.rows, wider.columns))
    until = worked() + MOST_SECONDS
    at = np.union1d(looked.rows, wider.rows), np.union1d(looked.columns, wider.columns)
    moved = [*moved_tiles(product, actual, exact, failing, at)]
    for text, is_rounding, bits in _hypotheses(
        product, changed, moved, hypotheses(looked.product, blocks, products, run)
    ):
        if worked() > until:
            break
        with wanting(wanted_backend() or Backend.ARRAYS):  # machine code does not pay for one use
            fits = _have(looked, bits)
        if fits and _have(wider, bits) and not (is_rounding and _few(wider, tolerance)):
            return [_of_bits(found, text, wider.actual.size)]
    values = values or _within_bound(tolerance, product, changed, looked, wider)
    if values:
        return [f"{found}: {text}" for text in values]
    lines = [f"{found}: {_by_bound(tolerance, looked)}"]
    if failing.mean() < FEW:
        lines.append(f"all other elements ({int((~failing).sum())}) are as asserted: single values were overwritten?")
    return lines


def diagnose_mixed(
    tolerance: Tolerance, products: Sequence[Product], actual: Patterns, failing: npt.NDArray[np.bool_]
) -> list[str]:
    """Return what fits a result whose elements are each of one of several plans, as ``diagnose`` does.

    ``tolerance`` is that of one of them. What is tried: elements come from other places, or the whole result went
    through a narrower format.
    """
    rows = _some(failing.sum(axis=1), MOST_CONFIRMED)
    columns = _some(failing[rows].sum(axis=0), MOST_CONFIRMED)
    some, fmt = actual[np.ix_(rows, columns)].ravel(), products[0].plan.formats[3]
    if failing[np.ix_(rows, columns)].sum() < LEAST_ROUNDED:
        return []
    first = products[0]
    exact, _ = tolerance.exact_of(tolerance.given(first.a, first.b, first.c, *first.scales))

    def tried(product: Product) -> Iterator[tuple[str, Bits]]:
        yield from moved_tiles(product, actual, exact, failing, (rows, columns))
        yield from narrowed(product)

    for several in zip(*map(tried, products), strict=True):
        of_plans = [equal_patterns(fmt, bits(rows, columns).ravel(), some) for _, bits in several]
        if np.logical_or.reduce(of_plans).all():
            return [_of_bits(_where(failing), several[0][0], some.size)]
    return []


def _of_bits(where: str, text: str, count: int) -> str:
    """Return the line of an explanation whose bits were compared."""
    return f"{where}: {text}; all {count} elements that were looked at {HAVE_THESE_BITS}"


def _hypotheses(
    product: Product, changed: Sequence[Change], moved: Sequence[tuple[str, Bits]], faults: Iterator[Fault]
) -> Iterator[tuple[str, bool, Bits]]:
    """Yield texts, whether roundings alone differ, and what computes some rows and columns; the likeliest first."""

    def of_fault(fault: Fault) -> Bits:
        return lambda rows, columns: fault.run(product.part(rows, columns))

    def of_change(change: Change) -> Bits:
        return lambda rows, columns: change.bits(product, rows, columns)

    later = []
    for fault in faults:
        if fault.is_rounding:
            later.append(fault)
        else:
            yield fault.text, False, of_fault(fault)
    for change in changed:
        yield change.text, False, of_change(change)
    yield from ((text, False, bits) for text, bits in moved)
    yield from ((text, True, bits) for text, bits in narrowed(product))
    for fault in later:
        yield fault.text, True, of_fault(fault)


def _have(looked: Looked, bits: Bits) -> bool:
    """Return whether the elements have the bits of a hypothesis."""
    try:
        d = bits(looked.rows, looked.columns)
    except MmaproofError:
        return False
    fmt = looked.product.plan.formats[3]
    return bool(equal_patterns(fmt, d.ravel(), looked.actual.ravel()).all())


def _few(looked: Looked, tolerance: Tolerance) -> bool:
    """Return whether so few elements have other bits than the plan's that another rounding may have them by chance."""
    fmt = tolerance.plan.formats[3]
    same = equal_patterns(fmt, looked.product.d().ravel(), looked.actual.ravel())
    return int((~same).sum()) < LEAST_ROUNDED


def _within_bound(
    tolerance: Tolerance, product: Product, changed: Sequence[Change], looked: Looked, wider: Looked
) -> list[str]:
    """Return the change that explains the size of the errors, if it is the only one, and they need an explanation."""
    if not tolerance.proved or _is_inside(tolerance, looked).all():
        return []
    fitting = []
    for change in changed:
        if all(_is_within(*change.bounded(tolerance, product, x.rows, x.columns), x) for x in (looked, wider)):
            fitting.append(change.text)
    return [f"within the bound of {fitting[0]}"] if len(fitting) == 1 else []


def _is_within(exact: Floats, bound: Floats, looked: Looked) -> bool:
    """Return whether every element is as near to ``exact`` as a proved bound allows."""
    values = values_of(looked.actual, looked.product.plan.formats[3])
    return bool((np.isfinite(bound) & (errors_of(values, exact) <= np.where(np.isfinite(bound), bound, 0.0))).all())


def _is_inside(tolerance: Tolerance, looked: Looked) -> Truths:
    """Return which elements are within the proved bound of their own operands."""
    values = values_of(looked.actual, tolerance.plan.formats[3])
    return is_within(tolerance, looked.given, values, tolerance.bound_of(looked.given))


def _some(counts: npt.NDArray[np.int_], most: int) -> Rows:
    """Return up to ``most`` places, in order: those with the most of what is counted, of equals the first."""
    order = np.argsort(-counts, kind="stable")[:most]
    return np.sort(order[counts[order] > 0])


def _where(failing: npt.NDArray[np.bool_]) -> str:
    """Return where elements fail, in words."""
    rows, columns = np.flatnonzero(failing.any(axis=1)), np.flatnonzero(failing.any(axis=0))
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(columns) == 1:
        return f"column {columns[0]}"
    if failing.all():
        return "all elements"
    return f"rows {rows[0]}..{rows[-1]}, columns {columns[0]}..{columns[-1]}"


def _missing(tolerance: Tolerance, looked: Looked) -> tuple[list[int], list[int], slice | None, list[str]]:
    """Return the k-blocks, products and run of k that are the likeliest to be missing, and what fits the bound."""
    exact, _ = tolerance.exact_of(looked.given)
    actual = values_of(looked.actual, tolerance.plan.formats[3])
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.where(looked.failing, actual - exact, 0.0)
        terms = looked.given.a.values[:, :, None] * looked.given.b.values[None, :, :]  # (rows, k, columns)
    if not (np.isfinite(off).all() and np.isfinite(terms).all()):
        return [], [], None, []
    size = tolerance.unit.k
    blocks = np.add.reduceat(terms, np.arange(0, tolerance.k, size), axis=1) if tolerance.k > size else terms[:, :0]
    bound = tolerance.bound_of(looked.given) if tolerance.proved else np.zeros_like(off)
    likely_blocks, likely_products = (_nearest(-x, off, looked.failing) for x in (blocks, terms))
    texts: list[str] = []
    of_block = "within the bound as if k-block {} (k = {}..{}) were missing"
    for candidates, x, text in (
        (likely_blocks, blocks, of_block),
        (_nearest(blocks, off, looked.failing), -blocks, of_block.replace("were missing", "were added twice")),
        (likely_products, terms, "within the bound as if the product at k = {} were missing"),
    ):
        if texts:
            break
        near = [i for i in candidates if _within(off, -x[:, i], bound, looked.failing)]
        if len(near) == 1:
            texts.append(text.format(near[0], near[0] * size, min(near[0] * size + size, tolerance.k) - 1))
    run = _missing_run(off, terms, looked.failing)
    if not texts and run is not None and _within(off, -terms[:, run].sum(axis=1), bound, looked.failing):
        texts.append(f"within the bound as if k = {run.start}..{run.stop - 1} were missing")
    texts = texts if tolerance.proved and not _inside(off, bound, looked) else []
    return likely_blocks, likely_products, run, texts


def _missing_run(off: Floats, terms: Floats, failing: npt.NDArray[np.bool_]) -> slice | None:
    """Return the run of k whose sums are the nearest to what is missing; None where too few elements fail to tell."""
    if failing.sum() < LEAST_ROUNDED or terms.shape[1] < 2:
        return None
    step = -(-terms.shape[1] // MOST_EDGES)
    before = np.concatenate([np.zeros_like(terms[:, :1]), terms.cumsum(axis=1)], axis=1)
    run = _nearest_run(off, before, failing, np.arange(0, terms.shape[1] + step, step))
    if step == 1:
        return run
    beside = np.arange(-step, step + 1)
    return _nearest_run(off, before, failing, np.concatenate([run.start + beside, run.stop + beside]))


def _nearest_run(off: Floats, before: Floats, failing: npt.NDArray[np.bool_], at: Rows) -> slice:
    """Return the run between two of some places whose sums are the nearest, of the sums before each place."""
    edges = np.unique(np.clip(at, 0, before.shape[1] - 1))
    distance = np.zeros((edges.size, edges.size))
    for i, j in np.argwhere(failing):
        sums = before[i, edges, j]
        np.maximum(distance, np.abs(sums[None, :] - sums[:, None] + off[i, j]), out=distance)
    distance[np.tril_indices(edges.size)] = np.inf
    first, last = np.unravel_index(int(np.argmin(distance)), distance.shape)
    return slice(int(edges[first]), int(edges[last]))


def _nearest(x: Floats, off: Floats, failing: npt.NDArray[np.bool_]) -> list[int]:
    """Return the places along k whose terms are the nearest to what the failing elements are off by."""
    if not x.shape[1]:
        return []
    distance = np.where(failing[:, None, :], np.abs(x - off[:, None, :]), 0.0).max(axis=(0, 2))
    return [int(i) for i in np.argsort(distance, kind="stable")[:CANDIDATES]]


def _within(off: Floats, changed: Floats, bound: Floats, failing: npt.NDArray[np.bool_]) -> bool:
    return bool((np.abs(off - changed) <= bound)[failing].all())


def _inside(off: Floats, bound: Floats, looked: Looked) -> bool:
    """Return whether every failing element is within the bound."""
    return bool((np.abs(off) <= bound)[looked.failing].all())


def _by_bound(tolerance: Tolerance, looked: Looked) -> str:
    """Return what the proved bound says about elements that nothing explains."""
    if not tolerance.proved:
        return f"none of the faults that were tried; no bound is proved: {tolerance.proof.reason}"
    outside = looked.failing & np.isfinite(tolerance.bound_of(looked.given)) & ~_is_inside(tolerance, looked)
    if outside.any():
        return "outside every bound: not rounding"
    return "within the proved bound, but not the bits of this plan or of its neighbours: another order or another unit"
