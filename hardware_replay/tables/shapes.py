"""Which dot products arrays hold: rows of a and b with a c and a d each, matrices, or one array with everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.designs.signature import Signature
from mmaproof.hardware_replay.tables.table import Column, Table, described

LAYOUTS = {
    "b=KxN": "b has the shape (K, N), d = a @ b + c",
    "b=NxK": "b has the shape (N, K), d = a @ b.T + c",
    "with-c": "rows are a, b, c, d",
    "without-c": "rows are a, b, d, and c is zero",
}
MOST_PRODUCTS = 1 << 27
"""Products of all rows together: each d of matrices has a row of its own."""


@dataclass(frozen=True)
class Layout:
    """Arrays as rows: a and b (rows, k), c and d (rows,), scales (rows, blocks); c may be absent.

    ``name`` is one of LAYOUTS, empty where the shapes allow nothing else.
    """

    name: str
    columns: Mapping[str, Column]

    @property
    def k(self) -> int:
        """Number of products of each row."""
        return int(self.columns["a"].shape[1])


def layouts_of(
    table: Table,
    signature: Signature | None,
    k: int | None,
    chosen: frozenset[str] = frozenset(),
    *,
    results: bool = True,
) -> list[Layout]:
    """Return the ways in which the arrays can be read, at least one. Raises InputError where shapes do not fit.

    Without ``results`` there need not be a d.
    """
    held = table.roles() if results else table.operands()
    found = _of_one(table, held[""], signature, k) if set(held) == {""} else _of_roles(table, held, k)
    wanted = [x for x in found if not x.name or x.name in chosen or not chosen & set(LAYOUTS)]
    if not wanted:
        names = ", ".join(x.name for x in found)
        raise InputError(f"{table.whence}: can be read as {names}, and is to be read as {', '.join(sorted(chosen))}")
    if k is not None and wanted[0].k != k:
        raise InputError(f"{table.whence}: rows of k = {wanted[0].k}, not {k}: leave --k out; {table.found}")
    return wanted


def _of_one(table: Table, column: Column, signature: Signature | None, k: int | None) -> list[Layout]:
    """Return how a single array without a name is read: rows of a, b, c and d in turn, or stacked matrices."""
    if column.ndim == 3 and len(column) in (3, 4):
        names = "abd" if len(column) == 3 else "abcd"
        return _of_roles(table, dict(zip(names, column, strict=True)), k)
    block = None if signature is None else signature.block
    if column.ndim == 1:
        if k is None:
            raise InputError(
                f"{table.whence}: the length of a dot product: --k N; {table.found}, one number after another"
            )
        widths = {name: _width(k, block, name == "with-c") for name in ("with-c", "without-c")}
        found = [
            _cut(name, column.reshape(-1, width), k, block)
            for name, width in widths.items()
            if column.size % width == 0
        ]
        if not found:
            raise InputError(
                f"{table.whence}: {column.size} numbers are not rows of {widths['with-c']} (a, b, c, d) or of "
                f"{widths['without-c']} (a, b, d) at k = {k}"
            )
        return found
    if column.ndim != 2:
        raise InputError(
            f"{table.whence}: an array of {described({'': column})}: rows of a, b, c and d in turn, or three or four "
            "matrices, are needed"
        )
    width = column.shape[1]
    lengths = range(1, width) if k is None else (k,)
    for length in lengths:
        for name in ("with-c", "without-c"):
            if _fits(length, block) and _width(length, block, name == "with-c") == width:
                return [_cut("", column, length, block, with_c=name == "with-c")]
    given = f"k = {k}" if k is not None else "any k"
    raise InputError(
        f"{table.whence}: rows of {width} numbers are not a, b, c, d or a, b, d of {given}"
        f"{f' with scales of blocks of {block}' if block else ''}; {table.found}"
    )


def _fits(k: int, block: int | None) -> bool:
    return block is None or k % block == 0


def _width(k: int, block: int | None, with_c: bool) -> int:
    return 2 * k + (2 * (k // block) if block else 0) + 1 + with_c


def _cut(name: str, rows: Column, k: int, block: int | None, with_c: bool | None = None) -> Layout:
    """Return the columns of rows a, b, scales where there are any, c where there is one, and d."""
    with_c = name == "with-c" if with_c is None else with_c
    blocks = k // block if block else 0
    parts = {"a": k, "b": k, "scale_a": blocks, "scale_b": blocks}
    found, at = {}, 0
    for column, width in parts.items():
        if width:
            found[column] = rows[:, at : at + width]
        at += width
    if with_c:
        found["c"] = rows[:, at]
    found["d"] = rows[:, -1]
    return Layout(name, found)


def _of_roles(table: Table, held: Mapping[str, Column], k: int | None) -> list[Layout]:
    a, b, d = (held.get(x) for x in "abd")
    if a is None or b is None:
        raise InputError(f"{table.whence}: a and b are needed; {table.found}")
    if d is None:
        return [_rows(table, _lines(held, k))]
    if a.ndim == b.ndim == d.ndim == 3:
        parts = [_of_matrices(table, {n: _part(x, i, len(a)) for n, x in held.items()}) for i in range(len(a))]
        if not parts or not len(a) == len(b) == len(d):
            raise _misfit(table)
        return [
            Layout(one[0].name, {n: np.concatenate([x.columns[n] for x in one]) for n in one[0].columns})
            for one in zip(*parts, strict=True)
        ]
    if a.ndim == b.ndim == d.ndim == 2 and not (d.shape[1] == 1 and b.shape == a.shape and len(d) == len(a)):
        return _of_matrices(table, held)
    return [_rows(table, _lines(held, k))]


def _part(column: Column, index: int, count: int) -> Column:
    return column[index] if column.ndim == 3 and len(column) == count else column


def _lines(held: Mapping[str, Column], k: int | None) -> dict[str, Column]:
    """Return rows whose a and b may be one number after another, and whose c and d may be columns."""
    found = dict(held)
    for name in ("c", "d"):
        if name in found and found[name].ndim == 2 and found[name].shape[1] == 1:
            found[name] = found[name][:, 0]
    rows = found["d"].shape[0] if "d" in found and found["d"].ndim else 0
    for name in ("a", "b", "scale_a", "scale_b"):
        column = found.get(name)
        if column is not None and column.ndim == 1:
            width = k if k is not None and name in "ab" else column.size // rows if rows else 1
            if width and column.size % width == 0:
                found[name] = column.reshape(-1, width)
    return found


def _rows(table: Table, held: Mapping[str, Column]) -> Layout:
    a, b, d = held["a"], held["b"], held.get("d")
    if a.ndim != 2 or a.shape != b.shape or not a.size or (d is not None and d.shape != a.shape[:1]):
        raise _misfit(table)
    found = dict(held)
    if "c" in held:
        if held["c"].shape not in ((), (1,), a.shape[:1]):
            raise _misfit(table)
        found["c"] = np.broadcast_to(held["c"], a.shape[:1])
    for name in ("scale_a", "scale_b"):
        if name in held and (held[name].ndim != 2 or len(held[name]) != len(a)):
            raise _misfit(table)
    return Layout("", found)


def _of_matrices(table: Table, held: Mapping[str, Column]) -> list[Layout]:
    """Return the products of matrices: a (M, K), and b as (K, N) or as (N, K), whichever shapes allow."""
    a, b, d = (held[x] for x in "abd")
    (m, k), n = a.shape, d.shape[1]
    if m * n * k > MOST_PRODUCTS:
        raise InputError(
            f"{table.whence}: {m} x {n} results of k = {k} are more than {MOST_PRODUCTS} products: give fewer rows of "
            "a and d, or use mmaproof gemm identify"
        )
    if not a.size or d.shape[0] != m:
        raise _misfit(table)
    found = []
    for name, columns in (("b=KxN", b.T), ("b=NxK", b)):
        if columns.shape != (n, k):
            continue
        rows = {"a": np.repeat(a, n, axis=0), "b": np.tile(columns, (m, 1)), "d": d.reshape(-1)}
        if "c" in held:
            rows["c"] = _broadcast(table, held["c"], (m, n))
        if "scale_a" in held and "scale_b" in held:
            scale_a = held["scale_a"]
            scale_b = held["scale_b"].T if name == "b=KxN" else held["scale_b"]
            if scale_a.ndim != 2 or scale_b.ndim != 2 or len(scale_a) != m or len(scale_b) != n:
                raise _misfit(table)
            rows |= {"scale_a": np.repeat(scale_a, n, axis=0), "scale_b": np.tile(scale_b, (m, 1))}
        found.append(Layout(name, rows))
    if not found:
        raise _misfit(table)
    return [Layout("", found[0].columns)] if len(found) == 1 else found


def _broadcast(table: Table, c: Column, shape: tuple[int, int]) -> Column:
    if c.shape not in ((), (1,), (shape[1],), (1, shape[1]), (shape[0], 1), shape):
        raise _misfit(table)
    return np.broadcast_to(c, shape).reshape(-1)


def _misfit(table: Table) -> InputError:
    return InputError(
        f"{table.whence}: shapes do not fit: rows are a (rows, k), b (rows, k), c and d (rows,); matrices are "
        f"a (M, K), b (K, N) or (N, K), c and d (M, N); {table.found}"
    )
