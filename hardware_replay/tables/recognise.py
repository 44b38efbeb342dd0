"""Which kind of file this is, by its content: the ending of its name is not read.

Nothing in .npy and .npz files is unpickled.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import read_file, why_unreadable
from mmaproof.hardware_replay.npz import LARGEST, MAGIC, open_npz, read_npy
from mmaproof.hardware_replay.tables.table import (
    Column,
    Table,
    gathered,
    is_raw,
    merged,
    read_safetensors,
    read_torch,
    role_of,
)

_NUMBER = re.compile(r"[+-]?(0x[0-9a-f]+|[0-9a-f]+|\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf(inity)?|nan)", re.I)
_SEPARATORS = (",", "\t", ";", " ")
_VERILOG = re.compile(r"\b\d+'[sS]?[hH]([0-9a-fA-F_]+)")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_LONGEST_CELL = 1 << 20


def read_text(text: str, whence: str) -> Table:
    """Return the columns of a table of text; lines that begin with # are left out.

    The separator is the first of comma, tab, semicolon and blank that the first line has. A first line that holds a
    word is the header. Without a header the table is one array without a name. A cell may hold a list, with blanks or
    semicolons between. ``16'h3c00`` is ``0x3c00``, and a comma in a number is a point. Raises InputError, which names
    the line, where rows have different lengths or are empty.
    """
    text = _VERILOG.sub(lambda x: f"0x{x[1].replace('_', '')}", text.lstrip("\ufeff"))
    lines = text.splitlines()
    kept = [(number, x) for number, x in enumerate(lines, 1) if x.strip() and not x.lstrip().startswith("#")]
    if not kept:
        raise InputError(f"{whence}: holds no numbers")
    rows = _with_points(None, _rows([x for _, x in kept], whence))
    numbers = [number for number, _ in kept]
    header = _header(rows[0])
    if header is not None:
        rows, numbers = rows[1:], numbers[1:]
        if not rows:
            raise InputError(f"{whence}: holds a header and no rows")
    rows = _with_points(header, rows)
    width = len(header or rows[0])
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != width:
            raise InputError(f"{whence}:{number}: {len(row)} cells, and {width} in the line before: rows are ragged")
        empty = next((i for i, x in enumerate(row) if not x), None)
        if empty is not None:
            name = f"column {empty + 1}" if header is None else header[empty]
            raise InputError(f"{whence}:{number}: {name} is empty: a number or a bit pattern is needed")
    if header is None:
        held = np.array(rows, dtype=np.str_)
        return Table(whence, {"": held[:, 0] if width == 1 else held})
    columns = gathered(header, rows, whence)
    return Table(whence, {name: _listed(name, x, numbers, whence) for name, x in columns.items()})


def _rows(lines: Sequence[str], whence: str) -> list[list[str]]:
    separator = next((x for x in _SEPARATORS if x in lines[0].strip()), ",")
    for other in "\t;":  # commas may be in numbers
        cells = lines[0].split(other)
        if len(cells) > 1 and all(_DECIMAL_COMMA.fullmatch(x.strip()) for x in cells):
            separator = other
    if separator == " ":
        return [x.split() for x in lines]
    csv.field_size_limit(_LONGEST_CELL)
    try:
        found = [[cell.strip() for cell in x] for x in csv.reader(lines, delimiter=separator, strict=True)]
    except csv.Error as error:
        raise InputError(f"{whence}: no table of text: {error}") from error
    if len(found) != len(lines):
        raise InputError(f"{whence}: a cell in quotes goes over the end of its line: write each row in one line")
    return found


def _with_points(header: Sequence[str] | None, rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with points where commas are in numbers: in c and d, or in a first row, which hold no lists."""
    places = range(len(rows[0])) if header is None else [i for i, x in enumerate(header) if role_of(x) in ("c", "d")]
    looked = rows[:1] if header is None else rows
    lists = [i for i, x in enumerate(header or ()) if role_of(x) in ("a", "b")]
    if any("," in row[i] for row in looked for i in lists if i < len(row)):
        return rows  # these may be lists with commas
    if any(_DECIMAL_COMMA.fullmatch(row[i]) for row in looked for i in places if i < len(row)):
        return [[x.replace(",", ".") for x in row] for row in rows]
    return rows


def _header(row: Sequence[str]) -> list[str] | None:
    """Return the names of the columns; None where the first row holds numbers."""
    if any(role_of(x) and not x.isdigit() for x in row) or not all(
        _NUMBER.fullmatch(x) for cell in row for x in cell.split()
    ):
        return [x.strip().strip('"') for x in row]
    return None


def _listed(name: str, column: Column, numbers: Sequence[int], whence: str) -> Column:
    """Return a column whose cells are lists as an array of its rows; other columns as they are."""
    if column.ndim != 1 or role_of(name) is None:
        return column
    cells = [re.sub(r"[\[\]();,]", " ", x).split() for x in column.tolist()]
    if all(len(x) == 1 for x in cells):
        return np.array([x[0] for x in cells], dtype=np.str_)
    for number, cell in zip(numbers, cells, strict=True):
        if len(cell) != len(cells[0]):
            raise InputError(f"{whence}:{number}: {name} has {len(cell)} elements, and {len(cells[0])} before")
    return np.array(cells, dtype=np.str_)


def read_json(text: str, whence: str) -> Table:
    """Return the arrays of a JSON object, of a list of objects, or of an object in each line.

    Numbers stay as they are written, so that nothing is rounded here. Raises InputError, which names the line.
    """
    try:
        whole = _parsed(text)
    except InputError as problem:
        if "\n" not in text.strip():
            raise InputError(f"{whence}: {problem}") from problem
        return _of_rows(_lines(text, whence), whence)
    if isinstance(whole, list):
        return _of_rows([(f"{whence}: object {i}", x) for i, x in enumerate(whole, 1)], whence)
    if isinstance(whole, dict) and all(not isinstance(x, list) for n, x in whole.items() if role_of(n) == "d"):
        return _of_rows([(f"{whence}:1", whole)], whence)
    if not isinstance(whole, dict):
        raise InputError(f"{whence}: JSON, and no object: arrays a, b, c and d are needed")
    return Table(whence, {n: _array(f"{whence}: {n}", x) for n, x in whole.items() if role_of(n)})


def _lines(text: str, whence: str) -> list[tuple[str, Any]]:
    found = []
    # not splitlines: JSON texts may hold other ends of lines as they are
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append((f"{whence}:{number}", _parsed(line)))
            except InputError as problem:
                raise InputError(f"{whence}:{number}: {problem}") from problem
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error


def _of_rows(rows: list[tuple[str, Any]], whence: str) -> Table:
    if not rows:
        raise InputError(f"{whence}: holds no object")
    names: list[str] = []
    held: dict[str, list[Column]] = {}
    for place, row in rows:
        if not isinstance(row, dict):
            raise InputError(f"{place}: not a JSON object")
        given = [x for x in row if role_of(x)]
        names = names or given
        if set(given) != set(names):
            raise InputError(f"{place}: has {', '.join(given) or 'no operands'}, and the one before {', '.join(names)}")
        for name in names:
            array = _array(f"{place}: {name}", row[name])
            before = held.setdefault(name, [])
            if before and array.shape != before[0].shape:
                raise InputError(f"{place}: {name} has the shape {array.shape}, and {before[0].shape} before")
            before.append(array)
    return Table(whence, {name: np.stack(x) for name, x in held.items()})


def _array(place: str, value: Any) -> Column:
    """Return nested lists of texts as an array; a text may hold a list with commas or blanks between."""
    if isinstance(value, str):
        parts = value.replace(",", " ").split()
        return np.array(parts[0] if len(parts) == 1 else parts, dtype=np.str_)
    try:
        found = np.array(value, dtype=object)
        flat = found.ravel().tolist()
    except ValueError as error:
        raise InputError(f"{place}: lists of different lengths") from error
    odd = next((x for x in flat if not isinstance(x, str)), None)
    if odd is not None or not flat:
        raise InputError(f"{place}: {json.dumps(odd)[:40]}: numbers and hexadecimal texts are needed, in even lists")
    return found.astype(np.str_)


def read_npz_table(data: bytes, whence: str) -> Table:
    """Return the arrays of an .npz file by their names; InputError where it is damaged or one holds objects."""
    with open_npz(whence, BytesIO(data)) as file:
        names = [x for x in file.names if x != "about"]
        if not names:
            raise InputError(f"{whence}: holds no array")
        return Table(whence, {name: file.read(name) for name in names})


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


def are_there(source: str) -> bool:
    """Return whether there is each of these files. Of a pipe or a device its reader says what is wrong with it."""
    return all(path.exists() and not path.is_dir() for path in map(Path, files_of(source)))


def read_bytes(name: str) -> bytes:
    """Return the content of a file or of stdin; InputError where it cannot be read or is too large."""
    if name == STDIN:
        if sys.stdin is None:
            raise InputError("-: stdin is closed")
        data = sys.stdin.buffer.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise InputError(f"-: stdin holds more than {LARGEST} bytes; at most these are read")
        return data
    path = Path(name)
    try:
        return read_file(path, LARGEST)
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
        return Table(whence, {"": read_npy(BytesIO(data), len(data), whence)})
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
