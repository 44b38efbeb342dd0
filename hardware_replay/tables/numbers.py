"""What the elements of an array are: numbers of a format, or its bit patterns. Nothing is rounded unless that is said.

Unsigned integers are bit patterns, as everywhere here, and arrays of a format's own type are numbers of it. Floating
point of another type must hold numbers that the format has. Texts, and signed integers, may be either: a *reading*
says what they are, the same for all arrays of a file.

Operands as a file of a person: CSV, TSV or JSON Lines of bit patterns or decimals, or .npz of bit patterns.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from mmaproof.designs.element import decimal_of, digits_of, pattern_of
from mmaproof.designs.errors import InputError, OperandError
from mmaproof.designs.files import write_atomically
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, array_dtype, pattern_dtype, patterns_of
from mmaproof.hardware_replay.tables.table import Column, is_raw
from mmaproof.hardware_replay.target import Answers, Rows

READINGS = {
    "numbers": "texts and signed integers are numbers, 0x... is a bit pattern",
    "patterns": "texts and signed integers are bit patterns, in decimal or with 0x",
    "hexadecimal": "texts are bit patterns in hexadecimal without 0x",
}
NEAREST = "nearest"
"""What ``--read-as`` calls texts of too few digits: the number nearest to each is meant."""
_HEXADECIMAL = re.compile(r"[0-9a-f]+", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)


def patterns_under(reading: str, column: Column, fmt: Format, *, nearest: bool = False) -> Patterns:
    """Return the bit patterns of an array in a format, of the same shape. Raises InputError, which names the element.

    With ``nearest`` a text that is between two numbers is the nearest one. Else that needs texts of as many digits as
    tell all numbers of the format apart.
    """
    if is_raw(column):
        return _of_integers(column.view(f"{column.dtype.byteorder}u{column.dtype.itemsize}"), fmt)
    kind = column.dtype.kind
    if kind == "U":
        return _of_text(reading, column, fmt, nearest)
    if column.dtype.newbyteorder("=") == array_dtype(fmt) or kind == "u":
        return _of_integers(column, fmt)
    if kind in "iu":
        return _of_signed(reading, column, fmt)
    if kind in "fV":
        return _of_floats(column, fmt)
    raise InputError(f"{column.dtype.name} holds no numbers of {fmt.name}")


def formats_of_numbers(column: Column) -> tuple[str, ...]:
    """Return the formats, wide ones first, that have every number of a floating-point array; none of other arrays."""
    if column.dtype.kind not in "fV" or is_raw(column):
        return ()
    found = []
    for fmt in FORMATS.values():
        if not fmt.is_integer and not fmt.is_of_scales:
            try:
                patterns_under("numbers", column, fmt)
            except InputError:
                continue
            found.append(fmt.name)
    return tuple(found)


def _of_integers(column: Column, fmt: Format) -> Patterns:
    try:
        return patterns_of(column, fmt)
    except OperandError as error:
        raise InputError(str(error)) from error


def _of_signed(reading: str, column: Column, fmt: Format) -> Patterns:
    """Return the patterns of signed integers: those of their values, or their own bits where the width is that of d."""
    if reading == "numbers":
        return _each(column, fmt, lambda x: fmt.encode(int(x)))
    if reading != "patterns":
        raise InputError(f"{column.dtype.name} is not a text")
    if 8 * column.dtype.itemsize == fmt.bits:
        return column.astype(column.dtype.newbyteorder("=")).view(pattern_dtype(fmt))
    least = int(column.min()) if column.size else 0
    if least < 0:
        raise InputError(f"{least} is not a bit pattern of {fmt.name} ({fmt.bits} bits)")
    return _of_integers(column.astype(np.uint64), fmt)


def _of_floats(column: Column, fmt: Format) -> Patterns:
    """Return the patterns of numbers of another floating-point type; InputError for one that is not in the format."""
    wide = column.astype(np.float64)
    if column.dtype.kind == "f" and column.dtype.itemsize > wide.itemsize and (wide != column).any():
        raise InputError(f"{column.dtype.name} holds more digits than float64: save it as the format's own type")
    # equal numbers once; by their bits, since zeros have signs
    bits, places = np.unique(wide.view(np.uint64), return_inverse=True)
    return _each(bits.view(np.float64), fmt, lambda x: fmt.encode(float(x)))[places].reshape(column.shape)


def _of_text(reading: str, column: Column, fmt: Format, nearest: bool) -> Patterns:
    texts, places = np.unique(column, return_inverse=True)
    if reading == "patterns":
        found = _each(texts, fmt, lambda x: _pattern(x, fmt))
    elif reading == "hexadecimal":
        found = _each(texts, fmt, lambda x: _hexadecimal(x, fmt))
    else:
        rounds = nearest or _tells_apart(texts, fmt)
        found = _each(texts, fmt, lambda x: _number(x, fmt, rounds))
    return found[places].reshape(column.shape)


def _pattern(text: str, fmt: Format) -> int:
    if text.lower().startswith("0x"):
        return fmt.parse(text)
    if not _WHOLE.fullmatch(text) or int(text) >> fmt.bits:
        raise InputError(f"{text!r} is not a bit pattern of {fmt.name}: 0..{(1 << fmt.bits) - 1}")
    return int(text)


def _hexadecimal(text: str, fmt: Format) -> int:
    if not _HEXADECIMAL.fullmatch(text) or len(text) != fmt.hex_digits:
        raise InputError(f"{text!r} is not a bit pattern of {fmt.name}: {fmt.hex_digits} hexadecimal digits")
    return fmt.parse(f"0x{text}")


def _number(text: str, fmt: Format, rounds: bool) -> int:
    pattern, exact = pattern_of(text, fmt)
    if not (exact or rounds):
        raise InputError(
            f"{text} is not in {fmt.name}, and {digits_of(fmt)} digits are needed to tell its numbers apart: "
            f"--read-as {NEAREST} reads the number nearest to each"
        )
    return pattern


def _tells_apart(texts: Column, fmt: Format) -> bool:
    """Return whether some text has as many digits as tell all numbers of a format apart, so that none was shortened."""
    if fmt.is_integer:
        return False
    significands = (re.split("[eE]", x)[0] for x in texts.tolist() if "x" not in x.lower())
    most = max((len(re.sub(r"\D", "", x).lstrip("0")) for x in significands), default=0)
    return most >= digits_of(fmt)


def _each(column: Column, fmt: Format, read: Callable[[str], int]) -> Patterns:
    """Return what ``read`` makes of each element; what it raises says which."""
    flat, found = column.reshape(-1).tolist(), np.empty(column.size, dtype=pattern_dtype(fmt))
    for place, x in enumerate(flat):
        found[place] = read(x)
    return found.reshape(column.shape)


def candidates(
    columns: Mapping[str, Column], formats: Mapping[str, Format], chosen: frozenset[str]
) -> dict[str, dict[str, Patterns]]:
    """Return the patterns of all arrays under each reading that is possible, those that are equal once.

    Raises InputError where none is; it names the array.
    """
    allowed = [x for x in READINGS if x in chosen] or list(READINGS)
    found: dict[str, dict[str, Patterns]] = {}
    problems = []
    for reading in allowed:
        held = {}
        try:
            for name, column in columns.items():
                try:
                    held[name] = patterns_under(reading, column, formats[name], nearest=NEAREST in chosen)
                except InputError as error:
                    raise InputError(f"{name}: {error}") from error
        except InputError as error:
            problems.append(error)
            continue
        if not any(all(np.array_equal(held[n], x[n]) for n in held) for x in found.values()):
            found[reading] = held
    if not found:
        raise problems[0]
    return found


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

    def texts_of(patterns: Patterns, fmt: Format) -> list[str]:
        return [decimal_of(x, fmt) if decimal else fmt.hex(x) for x in patterns.tolist()]

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
