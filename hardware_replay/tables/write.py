"""Operands as a file of a person: CSV, TSV or JSON Lines of bit patterns or decimals, or .npz of bit patterns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import write_atomically
from mmaproof.designs.formats import Format
from mmaproof.designs.numbers import decimal_of
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.answers import Answers, Rows

ENDINGS = (".csv", ".tsv", ".jsonl", ".npz")


def check_ending(path: Path) -> None:
    """Raise InputError where a file of operands is not called so."""
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: a file of operands ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")


def write_operands(path: Path, rows: Rows, *, decimal: bool = False) -> None:
    """Write operands, and d where they have it, whole or not at all; the ending of the name says which kind of file.

    ``mmaproof.hardware_replay.tables.reading`` reads it where it has a column d. With ``decimal`` texts are numbers.
    Raises InputError for another ending and where the path cannot be written.
    """
    check_ending(path)
    if decimal and path.suffix == ".npz":
        raise InputError(f"{path}: .npz holds bit patterns: leave --decimal out, or write .csv, .tsv or .jsonl")
    texts_of = _decimals if decimal else _hexadecimal
    columns = list(_columns(rows))
    if path.suffix == ".npz":
        stream = io.BytesIO()
        np.savez_compressed(stream, **{name: x for name, x, _ in columns})  # type: ignore[arg-type]
        write_atomically(path, stream.getvalue())
    elif path.suffix == ".jsonl":
        texts = [(name, x, [texts_of(y, fmt) for y in np.atleast_2d(x.T).T]) for name, x, fmt in columns]
        objects = ({name: y[i] if x.ndim == 2 else y[i][0] for name, x, y in texts} for i in range(len(rows.batch)))
        write_atomically(path, "".join(json.dumps(x) + "\n" for x in objects))
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        names = [f"{n}{i}" for n, x, _ in columns if x.ndim == 2 for i in range(x.shape[1])]
        lines = [separator.join([*names, *(n for n, x, _ in columns if x.ndim == 1)])]
        wide = [(x, fmt) for _, x, fmt in columns if x.ndim == 2] + [(x, fmt) for _, x, fmt in columns if x.ndim == 1]
        for i in range(len(rows.batch)):
            lines.append(separator.join(y for x, fmt in wide for y in texts_of(np.atleast_1d(x[i]), fmt)))
        write_atomically(path, "\n".join(lines) + "\n")


def _columns(rows: Rows) -> Iterator[tuple[str, Patterns, Format]]:
    batch, scale = rows.batch, rows.scale_format
    yield from zip("abc", (batch.a, batch.b, batch.c), rows.formats, strict=False)
    if scale is not None and batch.scale_a is not None and batch.scale_b is not None:
        yield "scale_a", batch.scale_a, scale
        yield "scale_b", batch.scale_b, scale
    if isinstance(rows, Answers):
        yield "d", rows.d, rows.formats[3]


def _hexadecimal(patterns: Patterns, fmt: Format) -> list[str]:
    return [fmt.hex(x) for x in patterns.tolist()]


def _decimals(patterns: Patterns, fmt: Format) -> list[str]:
    return [decimal_of(x, fmt) for x in patterns.tolist()]
