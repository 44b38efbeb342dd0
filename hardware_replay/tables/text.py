"""Tables of text: CSV, TSV, columns with blanks between, and one number a line."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.tables.table import Column, Table, gathered, role_of

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
