"""Recordings of units: .npz files of bit patterns, described by an index.json beside them.

Layout: ``a`` and ``b`` of shape (rows, k), ``c`` and ``d`` of shape (rows,), unsigned integers. The index names the
formats, k and the provenance of each file. tf32 operands are 32-bit words whose low 13 bits are not read.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mmaproof.designs.catalogue import Catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay.answers import Answers


@dataclass(frozen=True)
class RecordingInfo:
    """What an index says of one recording."""

    path: Path
    gpu: str
    architecture: str
    instruction: str
    formats: tuple[Format, Format, Format, Format]
    k: int
    rows: int


def read_index(folder: Path) -> dict[str, RecordingInfo]:
    """Return what ``index.json`` in ``folder`` says of each file. Raises InputError where it is malformed."""
    path = folder / "index.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["recordings"]
        return {entry["file"]: _info(folder, entry) for entry in entries}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: it names formats and k of the recordings beside it") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not an index of recordings: {error!r}") from error


def _info(folder: Path, entry: dict[str, Any]) -> RecordingInfo:
    a, b, c, d = (find_format(entry[f"{x}_format"]) for x in "abcd")
    return RecordingInfo(
        folder / entry["file"],
        str(entry["gpu"]),
        str(entry["architecture"]),
        str(entry["instruction"]),
        (a, b, c, d),
        _count(entry, "k"),
        _count(entry, "rows"),
    )


def _count(entry: dict[str, Any], name: str) -> int:
    value = entry[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{name} is {value!r}: a whole number is needed")
    return value


def read_recording(path: Path) -> Answers:
    """Return the rows of the recording ``path``, checked against the index beside it.

    Raises InputError where the file or its index is missing, damaged, or contradicts itself.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    index = read_index(path.parent)
    if path.name not in index:
        raise InputError(f"{path}: not listed in {path.parent / 'index.json'}, which has {', '.join(index) or 'none'}")
    info = index[path.name]
    a, b, c, d = (_column(path, name, fmt) for name, fmt in zip("abcd", info.formats, strict=True))
    rows = c.size
    if a.shape != (rows, info.k) or b.shape != a.shape or c.shape != (rows,) or d.shape != (rows,):
        raise InputError(
            f"{path}: shapes a {a.shape}, b {b.shape}, c {c.shape}, d {d.shape} do not fit k = {info.k} of the index"
        )
    if rows != info.rows:
        raise InputError(f"{path}: holds {rows} rows, the index says {info.rows}")
    labels = tuple(f"row {i}" for i in range(rows))
    return Answers(OperandBatch(a, b, c), d, info.formats, labels, f"{path.name} ({info.gpu})")


def _column(path: Path, name: str, fmt: Format) -> Patterns:
    try:
        with path.open("rb") as stream:
            data = np.load(stream, allow_pickle=False)
            column = data[name] if isinstance(data, np.lib.npyio.NpzFile) else None
    except KeyError:
        raise InputError(f"{path}: has no array {name!r}; a recording holds a, b, c and d") from None
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: damaged or no .npz file: {error}") from error
    if column is None:
        raise InputError(f"{path}: a single array, no .npz file: a recording holds a, b, c and d")
    if not isinstance(column, np.ndarray):
        raise InputError(f"{path}: {name} is no array in the format of NumPy")
    if column.dtype.kind != "u":
        raise InputError(f"{path}: {name} has type {column.dtype}: bit patterns are unsigned integers")
    if column.size and int(column.max()) >> fmt.bits:
        raise InputError(f"{path}: {name} holds {int(column.max()):#x}, too wide for {fmt.name} ({fmt.bits} bits)")
    patterns: Patterns = column.astype(pattern_dtype(fmt))
    return patterns


def design_of_recording(catalogue: Catalogue, info: RecordingInfo) -> Design:
    """Return the catalogue's design that a recording is of.

    A ``wmma`` instruction is the architecture's ``mma`` design of the largest K for the formats; any other is
    found by its kind (``mma``, ``wgmma``) and shape. Raises InputError where the catalogue has none.
    """
    kind, *rest = info.instruction.split(".")
    parts = ["mma"] if kind == "wmma" else [kind, *(p for p in rest if p != "sync")]
    formats = [info.formats[i].isa_name for i in (3, 0, 1, 2)]
    spelled = ".".join(parts + (formats[:3] if kind == "wgmma" else formats))
    for architecture in catalogue.architectures.values():
        if architecture.title == info.architecture:
            return catalogue.find(f"{architecture.name}/{spelled}")
    raise InputError(f"{info.path}: the catalogue has no architecture titled {info.architecture!r}")
