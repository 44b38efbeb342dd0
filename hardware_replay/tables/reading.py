"""Rows of operands and results out of files of any kind: what is missing or ambiguous is refused by its name.

Which dot products arrays hold: rows of a and b with a c and a d each, matrices, or one array with everything.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import OperandBatch, Patterns, array_of, pattern_dtype, values_of
from mmaproof.designs.signature import Signature
from mmaproof.hardware_replay.recordings import is_recording, read_recording
from mmaproof.hardware_replay.tables.numbers import NEAREST, READINGS, candidates, formats_of_numbers
from mmaproof.hardware_replay.tables.recognise import STDIN, files_of, read_table
from mmaproof.hardware_replay.tables.table import Column, Table, described, is_raw
from mmaproof.hardware_replay.target import Answers, Numbered, Rows

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
        return [_rows_of_columns(table, _lines(held, k))]
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
    return [_rows_of_columns(table, _lines(held, k))]


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


def _rows_of_columns(table: Table, held: Mapping[str, Column]) -> Layout:
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


_LOG = logging.getLogger(__name__)

TESTFLOAT = "testfloat"
WORDS = {
    **READINGS,
    NEAREST: "a text of few digits is the number nearest to it",
    **LAYOUTS,
    TESTFLOAT: "rows are those of testfloat_gen: in hexadecimal, and the last column is the exception flags",
}
"""What a file may be read as, where that is not clear."""
_FLAGS = re.compile("[01][0-9a-fA-F]")
_NEAR = 2.0**-5
"""Part of the sum of magnitudes up to which a result is near the exact one: more than any unit loses."""
_MOST_FAR = 0.05
"""Share of results that may be further from the exact one."""


@dataclass(frozen=True)
class Wanted:
    """What a person says of a file: the formats, the length of its dot products, and how it is to be read (WORDS)."""

    signature: Signature | None = None
    k: int | None = None
    read_as: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, interface: str | None, k: int | None, read_as: tuple[str, ...] = (), design: Design | None = None
    ) -> Wanted:
        """Return what options say; the formats are those of a design where no others are given.

        Raises InputError for an unknown format or word.
        """
        for word in read_as:
            if word not in WORDS:
                raise InputError(f"--read-as {word!r}: one of {', '.join(WORDS)}")
        if TESTFLOAT in read_as:
            read_as = (*read_as, "hexadecimal")
        signature = None if design is None else design.signature
        return cls(signature if interface is None else Signature.parse(interface), k, frozenset(read_as))

    def like(self, held: Answers) -> Wanted:
        """Return the same, with the formats and the length of rows that are there already."""
        scale_a = held.batch.scale_a
        block = None if scale_a is None else held.batch.k // scale_a.shape[1]
        return replace(self, signature=Signature(*held.formats, held.scale_format, block), k=held.batch.k)


NOTHING_SAID = Wanted()


def read_answers(source: str | Path, wanted: Wanted = NOTHING_SAID) -> Answers:
    """Return the rows of a recording, or of any file, or several with commas between, that hold operands and results.

    Files are CSV, TSV, JSON, JSON Lines, .npy, .npz, .pt and safetensors; ``-`` is stdin. Raises InputError where a
    file is damaged, where formats or k are missing, and where there are several ways to read it.
    """
    name = str(source)
    if _is_recording(name):
        return read_recording(Path(name))
    table = _read_table(name, wanted)
    found = list(_readings(table, wanted))
    if len(found) > 1:
        near = [x for x in found if is_near(x[1])]
        if len(near) != 1:
            ways = "; ".join(f"--read-as {word} ({WORDS[word]})" for words, *_ in found for word in words if word)
            raise InputError(f"{table.whence}: can be read in {len(found)} ways: {ways}")
        found = near
        chosen = ", ".join(word for word in found[0][0] if word)
        _LOG.warning("note: %s is read as %s: its results are near the exact ones so", table.whence, chosen)
    (_, answers, has_c), *_ = found
    if not has_c:
        _LOG.warning("note: %s has no c: it is zero", table.whence)
    return answers


def read_products(source: str, wanted: Wanted = NOTHING_SAID) -> dict[str, Column]:
    """Return a, b, d, and c and scales where there are any, each an array of the type of its format.

    Matrices a (M, K), b (K, N), c and d (M, N) stay matrices. Of everything else ``read_answers`` makes rows, a and b
    (rows, k), c and d (rows,), and it raises where that is not possible. Without formats, matrices stay as they are.
    """
    held = {} if _is_recording(source) else _read_table(source, wanted).operands()
    a, b, d = (held.get(x) for x in "abd")
    if a is not None and b is not None and d is not None and _are_matrices(a, b, d) and "b=NxK" not in wanted.read_as:
        if wanted.signature is None:
            return held
        formats = _by_role(wanted.signature)
        ways = candidates({n: x for n, x in held.items() if n in formats}, formats, wanted.read_as)
        if len(ways) == 1:
            (patterns,) = ways.values()
            return {n: array_of(x, formats[n]) for n, x in patterns.items()}
    answers = read_answers(source, wanted)
    batch, (of_a, of_b, of_c, of_d) = answers.batch, answers.formats
    found = {"a": (batch.a, of_a), "b": (batch.b, of_b), "c": (batch.c, of_c), "d": (answers.d, of_d)}
    if answers.scale_format is not None and batch.scale_a is not None and batch.scale_b is not None:
        found |= {n: (x, answers.scale_format) for n, x in (("scale_a", batch.scale_a), ("scale_b", batch.scale_b))}
    return {n: array_of(x, fmt) for n, (x, fmt) in found.items()}


def _are_matrices(a: Column, b: Column, d: Column) -> bool:
    """Return whether shapes are (M, K), (K, N) and (M, N)."""
    return a.ndim == b.ndim == d.ndim == 2 and a.shape[1] == b.shape[0] and d.shape == (a.shape[0], b.shape[1])


def _is_recording(source: str) -> bool:
    return source != STDIN and len(files_of(source)) == 1 and is_recording(Path(source))


def read_operands(source: str, wanted: Wanted) -> Rows:
    """Return the operands of a file, with results or without. Raises InputError as ``read_answers``."""
    if _is_recording(source):
        return read_recording(Path(source))
    table = _read_table(source, wanted)
    if wanted.signature is None:
        raise InputError(f"{table.whence}: formats: --interface D.A.B.C; {table.found}")
    layout = layouts_of(table, wanted.signature, wanted.k, wanted.read_as, results=False)[0]
    held = {n: x for n, x in layout.columns.items() if n != "d"}
    ways = candidates(held, _by_role(wanted.signature), wanted.read_as)
    if len(ways) > 1:
        raise InputError(
            f"{table.whence}: can be read in {len(ways)} ways: {'; '.join(f'--read-as {x}' for x in ways)}"
        )
    return _rows(table, layout, wanted.signature, next(iter(ways.values())))


def _read_table(source: str, wanted: Wanted) -> Table:
    """Return the arrays of a file, without the flags of testfloat_gen where it has them."""
    table = read_table(source)
    if TESTFLOAT not in wanted.read_as:
        return table
    rows = table.columns.get("")
    if rows is None or rows.ndim != 2 or rows.dtype.kind != "U":
        raise InputError(f"{table.whence}: testfloat_gen writes lines of texts without a header; {table.found}")
    odd = next((x for x in np.unique(rows[:, -1]).tolist() if not _FLAGS.fullmatch(x)), None)
    if odd is not None:
        raise InputError(f"{table.whence}: exception flags are 00 to 1F, in the last column, and one is {odd!r}")
    return replace(table, columns={"": rows[:, :-1]})


def _readings(table: Table, wanted: Wanted) -> Iterator[tuple[tuple[str, ...], Answers, bool]]:
    """Yield each way to read a table: the words that choose it, the rows, and whether there is a c."""
    layouts = layouts_of(table, wanted.signature, wanted.k, wanted.read_as)
    signature = wanted.signature or _signature_of(table, layouts[0])
    for layout in layouts:
        _check_scales(table, layout, signature)
        ways = candidates(layout.columns, _by_role(signature), wanted.read_as)
        for reading, patterns in ways.items():
            rows = _rows(table, layout, signature, patterns)
            words = (layout.name, *([reading] if len(ways) > 1 else []))
            yield words, Answers(**vars(rows), d=patterns["d"]), "c" in patterns


def _rows(table: Table, layout: Layout, signature: Signature, patterns: Mapping[str, Patterns]) -> Rows:
    count = len(layout.columns["a"])
    c = patterns["c"] if "c" in patterns else np.zeros(count, dtype=pattern_dtype(signature.c))
    scales = [patterns.get(x) for x in ("scale_a", "scale_b")]
    return Rows(
        batch=OperandBatch(*(np.ascontiguousarray(x) for x in (patterns["a"], patterns["b"], c)), *scales),
        formats=signature.formats,
        labels=Numbered("row", 1, count),
        whence=Path(table.whence).name,
        scale_format=signature.scale,
    )


def _by_role(signature: Signature) -> dict[str, Format]:
    found = dict(zip("abcd", signature.formats, strict=True))
    return found if signature.scale is None else found | {"scale_a": signature.scale, "scale_b": signature.scale}


def _check_scales(table: Table, layout: Layout, signature: Signature) -> None:
    """Raise InputError where scales are missing, not expected, or not as many as blocks."""
    held = [x for x in ("scale_a", "scale_b") if x in layout.columns]
    if signature.block is None:
        if held:
            raise InputError(
                f"{table.whence}: has {' and '.join(held)}: --interface blockN.D.A.B.C.SCALE; {table.found}"
            )
        return
    if len(held) < 2:
        raise InputError(f"{table.whence}: scale_a and scale_b are needed for {signature.interface}; {table.found}")
    if layout.k % signature.block or any(layout.columns[x].shape[1] != layout.k // signature.block for x in held):
        raise InputError(
            f"{table.whence}: one scale for each {signature.block} of k = {layout.k} is needed; {table.found}"
        )


def _signature_of(table: Table, layout: Layout) -> Signature:
    """Return the formats that the types of arrays say. Raises InputError where they do not say them all."""
    held = layout.columns
    found = {name: own_format(x) for name, x in held.items()}
    a, b, d = (found[x] for x in "abd")
    for name in "cd":  # results of narrow operands in a wide type of their own
        if name in held and found[name] is None and a is not None and not a.is_integer:
            found[name] = FORMATS["fp32"] if _native(held[name]) == "float32" else None
    d = found["d"]
    c = found.get("c", d)
    scale = _scale_format(held)
    if a is None or b is None or c is None or d is None or ("scale_a" in held and scale is None):
        unknown = {n: held[n] for n in held if found[n] is None}
        hints = [
            f"the numbers of {n} are in {', '.join(x)}"
            for n in "abd"
            if n in unknown and (x := formats_of_numbers(held[n]))
        ]
        raise InputError("; ".join([f"{table.whence}: formats: --interface D.A.B.C", table.found, *hints]))
    block = None if scale is None else max(1, layout.k // held["scale_a"].shape[1])
    return Signature(a, b, c, d, scale, block)


def _native(column: Column) -> str:
    return column.dtype.newbyteorder("=").name


def own_format(column: Column) -> Format | None:
    """Return the format of an array's own type; None where that holds patterns, or numbers of several formats."""
    if is_raw(column):
        return FORMATS["bf16"] if column.dtype.itemsize == 2 else None
    if column.dtype.kind in "uU" or _native(column) in ("float32", "float64", "int64"):
        return None
    return next((x for x in FORMATS.values() if x.ml_dtypes_name == _native(column) and not x.is_of_scales), None)


def _scale_format(held: Mapping[str, Column]) -> Format | None:
    if "scale_a" not in held:
        return None
    return next((x for x in FORMATS.values() if x.is_of_scales and x.ml_dtypes_name == _native(held["scale_a"])), None)


def is_near(answers: Answers) -> bool:
    """Return whether nearly all finite results are near the exact ones, as those of any unit are.

    It decides between readings of a file, and nothing else.
    """
    a, b, c, d = (
        values_of(x, fmt)
        for x, fmt in zip((answers.batch.a, answers.batch.b, answers.batch.c, answers.d), answers.formats, strict=True)
    )
    scale, batch = answers.scale_format, answers.batch
    if scale is not None and batch.scale_a is not None and batch.scale_b is not None:
        each = batch.k // batch.scale_a.shape[1]
        a = a * np.repeat(values_of(batch.scale_a, scale), each, axis=1)
        b = b * np.repeat(values_of(batch.scale_b, scale), each, axis=1)
    with np.errstate(all="ignore"):
        products = a * b
        exact, size = products.sum(axis=1) + c, np.abs(products).sum(axis=1) + np.abs(c)
        counted = np.isfinite(d) & np.isfinite(size) & (size > 0)
        far = np.abs(d - exact) > _NEAR * size
    return bool(counted.any()) and float(far[counted].mean()) <= _MOST_FAR
