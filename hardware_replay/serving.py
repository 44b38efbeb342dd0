"""A design offered as a process: operands come in as JSON lines, d goes out as JSON lines.

The first line from the client is ``{"design": NAME or null, "a_format": ..., ..., "d_format": ..., "k": N}``. Each line
after it is ``{"a": [hex, ...], "b": [hex, ...], "c": hex}``, with ``scale_a`` and ``scale_b`` where the design has
scales. It is answered by a line ``{"d": hex}``, or with a decimal where that is asked for. Empty lines and unknown
fields are ignored.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.files import parse_object
from mmaproof.designs.formats import Format
from mmaproof.designs.numbers import decimal_of, exact_pattern
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay.process import pattern_template, short
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate

_CHUNK = 1 << 16
_MOST_READ = 1 << 21
"""Bytes that are read before they are answered: some thousand lines, so that a long input does not fill the memory."""
_FEW_ROWS = 2
"""Rows that integers answer sooner than arrays."""

_SCALES = ("scale_a", "scale_b")
_NO_DIGIT = 16
_DIGITS = np.full(256, _NO_DIGIT, dtype=np.uint8)
"""Value of each hexadecimal digit by its ASCII code."""
for _value, _digit in enumerate("0123456789abcdef"):
    _DIGITS[[ord(_digit), ord(_digit.upper())]] = _value


class _Row(NamedTuple):
    """The number of a line of operands, and the texts of each column (of c: one)."""

    number: int
    texts: dict[str, list[str]]


class Conversation:
    """What one client has said so far: the number of its last line, and k once the header is read."""

    def __init__(self, design: Design, *, decimal: bool = False) -> None:
        self._design, self._decimal = design, decimal
        self._k: int | None = None
        self._line = 0
        columns = {"a": design.a_format, "b": design.b_format, "c": design.c_format}
        if design.scale_format is not None:
            columns |= {"scale_a": design.scale_format, "scale_b": design.scale_format}
        self._columns = columns

    def answer(self, lines: Iterable[bytes]) -> tuple[bytes, InputError | None]:
        """Return the answers to ``lines`` in order, and what is wrong with the first bad line (its number first).

        Nothing after a bad line is answered.
        """
        rows: list[_Row] = []
        problem: InputError | None = None
        for line in lines:
            self._line += 1
            if not line.strip():
                continue
            try:
                record = parse_object(line)
                if self._k is None:
                    self._k = self._read_header(record)
                else:
                    rows.append(self._read_row(record, self._k))
            except InputError as error:
                problem = InputError(f"line {self._line}: {error}")
                break
        batch = self._batch(rows)
        if batch is None:
            rows, misspelled = self._good_rows(rows)
            problem, batch = misspelled or problem, self._batch(rows)
        if not rows or batch is None:
            return b"", problem
        if self._decimal:
            found = [decimal_of(x, self._design.d_format) for x in _evaluate(self._design, batch)]
            return "".join([f'{{"d": "{x}"}}\n' for x in found]).encode("ascii"), problem
        spelled = f'{{"d": {pattern_template(self._design.d_format)}}}\n'
        return "".join([spelled % x for x in _evaluate(self._design, batch)]).encode("ascii"), problem

    def _read_header(self, record: dict[str, Any]) -> int:
        """Return k of the header; InputError where it asks for anything but the design."""
        name = record.get("design")
        if name is not None and name != self._design.name:
            if not isinstance(name, str):
                raise InputError(f"'design' is {short(name)}: a design name or null")
            if find_design(name).name != self._design.name:
                raise InputError(f"the header asks for {find_design(name).name}, served is {self._design.name}")
        for x, fmt in zip("abcd", self._design.formats, strict=True):
            asked = record.get(f"{x}_format")
            if asked != fmt.name:
                raise InputError(
                    f"the header has {x}_format = {short(asked)}, {self._design.name} has {short(fmt.name)}"
                )
        k = record.get("k")
        if not isinstance(k, int) or isinstance(k, bool):
            raise InputError(f"the header has k = {short(k)}: a number is needed")
        self._design.padded_length(k)
        return k

    def _read_row(self, record: dict[str, Any], k: int) -> _Row:
        """Return the texts of a row; InputError where the fields or the numbers of elements are not right."""
        c = record.get("c")
        if not isinstance(c, str):
            raise InputError("'c' is missing or no text: a bit pattern in hexadecimal")
        texts = {"a": _texts(record, "a", k), "b": _texts(record, "b", k), "c": [c]}
        for name in _SCALES:
            if name in self._columns:
                texts[name] = _texts(record, name, self._design.blocks(k))
            elif record.get(name):
                raise InputError(f"{name!r} is given, and {self._design.name} has no scales")
        return _Row(self._line, texts)

    def _batch(self, rows: Sequence[_Row]) -> OperandBatch | None:
        """Return the operands of ``rows``; None where a text is not a fixed-width pattern."""
        if not rows:
            return None
        columns: dict[str, Patterns] = {}
        for name, fmt in self._columns.items():
            patterns = _parse_fixed_width(fmt, list(chain.from_iterable(row.texts[name] for row in rows)))
            if patterns is None:
                return None
            columns[name] = patterns if name == "c" else patterns.reshape(len(rows), -1)
        return OperandBatch(**columns)

    def _good_rows(self, rows: Sequence[_Row]) -> tuple[list[_Row], InputError | None]:
        """Return the rows before the first one with a bad pattern, all patterns in fixed width, and what is bad."""
        good: list[_Row] = []
        for row in rows:
            texts: dict[str, list[str]] = {name: [] for name in self._columns}
            for name, fmt in self._columns.items():
                for index, text in enumerate(row.texts[name]):
                    try:
                        texts[name].append(fmt.hex(exact_pattern(text.strip(), fmt)))
                    except InputError as error:
                        where = "c" if name == "c" else f"{name}[{index}]"
                        return good, InputError(f"line {row.number}: {where}: {error}")
            good.append(_Row(row.number, texts))
        return good, None


def serve(design: Design, source: int, sink: int, *, decimal: bool = False) -> None:
    """Answer the client whose lines come from the file descriptor ``source``, on ``sink``, until its input ends.

    All lines that have arrived are answered together at once. If the client is slow to take answers, its lines are
    still read. Raises InputError, with the number of the line, after the answers to all lines before it. Raises
    BrokenPipeError if nobody takes the answers.
    """
    conversation = Conversation(design, decimal=decimal)
    unfinished, answers = b"", bytearray()
    problem: InputError | None = None
    ended = False
    while answers or not ended:
        readable, writable, _ = select.select([] if ended else [source], [sink] if answers else [], [])
        if writable:
            # so much is taken without waiting, however full the pipe is
            del answers[: os.write(sink, answers[: select.PIPE_BUF])]
        if readable:
            arrived, ended = _read_available(source)
            *lines, unfinished = (unfinished + arrived).split(b"\n")
            if ended:
                lines, unfinished = [*lines, unfinished], b""
            more, problem = conversation.answer(lines)
            answers += more
            ended = ended or problem is not None
    if problem is not None:
        raise problem


def _evaluate(design: Design, batch: OperandBatch) -> list[int]:
    """Return d of each row: of a few rows on integers, of more on arrays."""
    if len(batch) <= _FEW_ROWS:
        return [evaluate(design, batch.row(i)) for i in range(len(batch))]
    results: list[int] = evaluate_batch(design, batch).tolist()
    return results


def _read_available(source: int) -> tuple[bytes, bool]:
    """Return what can be read without waiting (after the first byte), and whether the input has ended."""
    parts: list[bytes] = []
    size = 0
    while size < _MOST_READ:
        try:
            part = os.read(source, _CHUNK)
        except OSError as error:
            raise InputError(f"the input cannot be read: {error.strerror}") from error
        if not part:
            return b"".join(parts), True
        parts.append(part)
        size += len(part)
        if not select.select([source], [], [], 0)[0]:
            break
    return b"".join(parts), False


def _texts(record: dict[str, Any], name: str, count: int) -> list[str]:
    values = record.get(name)
    if not isinstance(values, list) or not set(map(type, values)) <= {str}:
        raise InputError(f"{name!r} is missing or no list of texts: bit patterns in hexadecimal")
    if len(values) != count:
        raise InputError(f"{name!r} has {len(values)} elements, {count} are needed")
    return values


def _parse_fixed_width(fmt: Format, texts: list[str]) -> Patterns | None:
    """Return the patterns that ``texts`` spell with 0x and all their digits; None where one is spelled otherwise."""
    width = 2 + fmt.hex_digits
    if set(map(len, texts)) != {width}:
        return None
    try:
        codes = np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8).reshape(-1, width)
    except UnicodeEncodeError:
        return None
    digits = _DIGITS[codes[:, 2:]]
    if (codes[:, 0] != ord("0")).any() or (codes[:, 1] != ord("x")).any() or (digits == _NO_DIGIT).any():
        return None
    dtype = pattern_dtype(fmt)
    patterns = digits[:, 0].astype(dtype)
    if patterns.size and int(patterns.max()) >> (fmt.bits - 4 * (fmt.hex_digits - 1)):
        return None
    for column in digits[:, 1:].T:
        patterns = patterns << dtype.type(4) | column
    return patterns
