"""Which kind of file this is, by its content: the ending of its name is not read."""

from __future__ import annotations

import gzip
import sys
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import why_unreadable
from mmaproof.hardware_replay.npz import LARGEST, MAGIC
from mmaproof.hardware_replay.tables.json_text import read_json
from mmaproof.hardware_replay.tables.numpy_files import read_npy_table, read_npz_table
from mmaproof.hardware_replay.tables.table import Column, Table, is_raw, merged
from mmaproof.hardware_replay.tables.tensors import read_safetensors, read_torch
from mmaproof.hardware_replay.tables.text import read_text

STDIN = "-"
_GZIP = b"\x1f\x8b"
_LENGTH = 8
"""Bytes of the length before the header of a safetensors file"""


def read_table(source: str) -> Table:
    """Return the arrays of a file, of several with commas between, or of stdin (``-``).

    Raises InputError where one cannot be read.
    """
    files = files_of(source)
    tables = [(Path(x).stem, _table(read_bytes(x), "stdin" if x == STDIN else x)) for x in files]
    return tables[0][1] if len(tables) == 1 else merged(tables)


def read_array(name: str) -> Column:
    """Return the single array of a file; bytes without a type are bit patterns, unsigned integers.

    Raises InputError where the file cannot be read, and where it holds several arrays, or texts.
    """
    table = read_table(name)
    if len(table.columns) != 1:
        raise InputError(f"{name}: a file of one array is needed, and this one holds several; {table.found}")
    (column,) = table.columns.values()
    if column.dtype.kind == "U":
        raise InputError(f"{name}: no array of numbers: a .npy file, for example, is needed")
    return column.view(f"{column.dtype.byteorder}u{column.dtype.itemsize}") if is_raw(column) else column


def files_of(source: str) -> list[str]:
    """Return the names of files in a text with commas between; a file with a comma in its name is one."""
    return [source] if Path(source).exists() else [x.strip() for x in source.split(",") if x.strip()] or [source]


def read_bytes(name: str) -> bytes:
    """Return the content of a file or of stdin; InputError where it cannot be read or is too large."""
    if name == STDIN:
        if sys.stdin is None:
            raise InputError("-: stdin is closed")
        return sys.stdin.buffer.read()
    path = Path(name)
    if path.is_dir():
        raise InputError(f"{path}: it is a folder; name a file in it")
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: takes {path.stat().st_size} bytes; at most {LARGEST} are read")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {why_unreadable(error)}") from error


def _table(data: bytes, whence: str) -> Table:
    if data.startswith(_GZIP):
        with gzip.open(BytesIO(data)) as file:
            try:
                data = file.read(LARGEST + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise InputError(f"{whence}: a damaged gzip file: {error}") from error
        if len(data) > LARGEST:
            raise InputError(f"{whence}: holds more than {LARGEST} bytes; at most these are read")
    if data.startswith(MAGIC):
        return read_npy_table(data, whence)
    if data.startswith(b"PK"):
        return read_torch(data, whence) if _is_torch(data) else read_npz_table(data, whence)
    if data[_LENGTH : _LENGTH + 1] == b"{" and int.from_bytes(data[:_LENGTH], "little") <= len(data):
        return read_safetensors(data, whence)
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{whence}: no known kind of file: CSV, TSV, JSON (Lines), .npy, .npz, .pt and safetensors are read"
        ) from error
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        return read_json(text.lstrip("\ufeff"), whence)
    return read_text(text, whence)


def _is_torch(data: bytes) -> bool:
    """Return whether an archive is one of PyTorch, which has a file data.pkl in a folder."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return any(x.endswith("/data.pkl") for x in archive.namelist())
    except zipfile.BadZipFile:
        return False
