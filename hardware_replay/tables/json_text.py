"""JSON and JSON Lines: an object for each dot product, or one with arrays of all."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.tables.table import Column, Table, role_of


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
