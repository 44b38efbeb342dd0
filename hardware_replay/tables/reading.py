"""Rows of operands and results out of files of any kind: what is missing or ambiguous is refused by its name."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mmaproof.designs.arrays import array_of, values_of
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.designs.signature import Signature
from mmaproof.hardware_replay.answers import Answers, Numbered, Rows
from mmaproof.hardware_replay.recordings import is_recording, read_recording
from mmaproof.hardware_replay.tables.numbers import NEAREST, READINGS, candidates, formats_of_numbers
from mmaproof.hardware_replay.tables.recognise import STDIN, files_of, read_table
from mmaproof.hardware_replay.tables.shapes import LAYOUTS, Layout, layouts_of
from mmaproof.hardware_replay.tables.table import Column, Table, is_raw

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
    found = {name: _own_format(x) for name, x in held.items()}
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


def _own_format(column: Column) -> Format | None:
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
