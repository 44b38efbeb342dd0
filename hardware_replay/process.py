"""A target that is a process: any simulator or test bench that speaks JSON lines, as this module does too.

The process reads the header ``{"design": NAME or null, "a_format": ..., ..., "d_format": ..., "k": N}``. Then it reads
a line ``{"a": [hex, ...], "b": [hex, ...], "c": hex, "row": N}`` for each row, with ``scale_a`` and ``scale_b`` before
``row`` where the rows have scales. Then its input ends. It answers each row with a line ``{"d": hex}``, in order. Rows
are counted from 1. If an answer repeats ``row``, the number is checked. Empty lines are ignored.

Rows are written while answers are read, as fast as the process takes them. Their text is never held all at once.

A design offered as a process: operands come in as JSON lines, d goes out as JSON lines.

The first line from the client is ``{"design": NAME or null, "a_format": ..., ..., "d_format": ..., "k": N}``. Each line
after it is ``{"a": [hex, ...], "b": [hex, ...], "c": hex}``, with ``scale_a`` and ``scale_b`` where the design has
scales. It is answered by a line ``{"d": hex}``, or with a decimal where that is asked for. Empty lines and unknown
fields are ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import decimal_of, exact_pattern
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.files import parse_object
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay.target import Ran, Rows, Unit
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate


def pattern_template(fmt: Format) -> str:
    """Return the template with which ``%`` turns a pattern of ``fmt`` into a JSON text."""
    return f'"0x%0{fmt.hex_digits}x"'


def short(value: object, most: int = 60) -> str:
    """Return ``value`` as JSON, of at most ``most`` characters, for a message."""
    text = json.dumps(value)
    return text if len(text) <= most else text[: most - 3] + "..."


DEADLINE = 30.0
"""Seconds of silence after which a process is given up, unless another limit is given."""

_CHUNK = 1 << 16
"""Bytes that are read at once. A longer line is not an answer."""
_ROWS_AT_ONCE = 1024
"""Rows that are turned into text at once."""
_STDERR_KEPT = 4096
"""How many of the last bytes of stderr are kept."""


@dataclass(frozen=True)
class ProcessTarget:
    """A command that is split as a shell splits it and started for each run. No shell runs it.

    ``timeout`` is how many seconds the process may be silent, that is, take no row and give no answer.
    """

    command: str
    timeout: float

    @property
    def name(self) -> str:
        """``process:`` and the command, in one line."""
        return f"process:{' '.join(self.command.split())}"

    @property
    def unit(self) -> Unit:
        """The command. Nothing else is known of it."""
        return Unit(" ".join(self.command.split()))

    @property
    def designs(self) -> tuple[Design, ...]:
        """No design: the process is told the interface, and may be anything."""
        return ()

    def design_of(self, rows: Rows) -> None:
        """Return None, whatever ``rows`` are meant for, because it is not known what answers them."""

    def run(self, rows: Rows) -> Ran:
        """Return d of each row that was answered before an error; ``problem`` describes the error in one line.

        The process has ended afterwards, also if an interrupt from the keyboard is passed on. If it does not end by
        itself, its process group is killed. Raises TargetUnavailable if the command cannot be started, and InputError
        if it cannot be split.
        """
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"{self.name}: {error}: quote the command as for a shell") from error
        if not words:
            raise TargetUnavailable("process: without a command: write process:COMMAND, such as 'process:./simulator'")
        try:
            process = subprocess.Popen(
                words,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetUnavailable(
                f"{self.name}: {words[0]} cannot be started: {error.strerror}: name a program that can be executed"
            ) from error
        with process:
            try:
                exchange = _Exchange(process, rows, self.timeout)
                problem = exchange.problem()
            finally:
                _end(process)
        answered = np.arange(len(rows.batch)) < exchange.answered
        return Ran(exchange.d, answered, None if problem is None else f"{self.name}: {problem}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of the process unless it has ended, and wait for its end."""
    # Once it is reaped its number may belong to another process.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class _Exchange:
    """Rows on their way to a process, and what came back: ``d`` of the first ``answered`` rows."""

    def __init__(self, process: subprocess.Popen[bytes], rows: Rows, timeout: float) -> None:
        self.d = np.zeros(len(rows.batch), dtype=pattern_dtype(rows.formats[3]))
        self.answered = 0
        self._process = process
        self._rows = rows
        self._timeout = timeout
        self._moved = time.monotonic()
        self._text = _text_of(rows)
        self._unsent = memoryview(b"")
        self._lines_sent = 0
        self._line = 1
        self._unfinished = b""
        self._stderr = b""

    def problem(self) -> str | None:
        """Exchange rows and answers; return what went wrong, or None if exactly the rows were answered."""
        try:
            problem = self._talk() or self._ending()
        except InputError as error:
            problem = str(error)
        if problem is None:
            return None
        said = [x for x in self._stderr.decode(errors="replace").splitlines() if x.strip()]
        return problem + (f"; its stderr ends with {', '.join(short(x, 200) for x in said[-3:])}" if said else "")

    def _talk(self) -> str | None:
        """Write and read until the process has closed its outputs; return a problem if it falls silent before that.

        Raises InputError for a bad answer.
        """
        process = self._process
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("the process was started without pipes")
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE, self._write)
            selector.register(process.stdout, selectors.EVENT_READ, self._read_answers)
            selector.register(process.stderr, selectors.EVENT_READ, self._read_stderr)
            os.set_blocking(process.stdin.fileno(), False)
            while selector.get_map():
                for key, _ in selector.select(max(0.0, self._seconds_left())):
                    is_open = key.data(key.fd)
                    if not is_open:
                        selector.unregister(key.fileobj)
                        # only a closed pipe tells the process that its input has ended
                        if key.fileobj is process.stdin:
                            process.stdin.close()
                if selector.get_map() and self._seconds_left() <= 0:
                    return self._silence()
        return None

    def _seconds_left(self) -> float:
        return self._moved + self._timeout - time.monotonic()

    def _write(self, pipe: int) -> bool:
        """Write what the pipe takes; return whether there may be more to write."""
        if not self._unsent:
            self._unsent = memoryview(next(self._text, b""))
        try:
            written = os.write(pipe, self._unsent)
        except BrokenPipeError:
            return False
        self._lines_sent += bytes(self._unsent[:written]).count(b"\n")
        self._unsent = self._unsent[written:]
        self._moved = time.monotonic()
        return written > 0

    def _read_stderr(self, pipe: int) -> bool:
        part = os.read(pipe, _CHUNK)
        self._stderr = (self._stderr + part)[-_STDERR_KEPT:]
        return bool(part)

    def _read_answers(self, pipe: int) -> bool:
        """Take the answers that have arrived; return whether there may be more. Raises InputError for a bad one."""
        part = os.read(pipe, _CHUNK)
        *lines, self._unfinished = (self._unfinished + part).split(b"\n")
        for line in lines:
            if line.strip():
                try:
                    self._take(line)
                except InputError as error:
                    raise InputError(f"{self._place()}: {error}: {_quoted(line)}") from error
            self._line += 1
        if len(self._unfinished) > _CHUNK:
            raise InputError(f"{self._place()}: no end within {_CHUNK} bytes: {_quoted(self._unfinished)}")
        return bool(part)

    def _take(self, line: bytes) -> None:
        """Store the answer to the next row. Raises InputError where ``line`` is none."""
        if self.answered == len(self.d):
            raise InputError("one answer too many")
        if self.answered >= self._lines_sent - 1:
            raise InputError("answered before it was asked")
        record = parse_object(line)
        if record.get("row", self.answered + 1) != self.answered + 1:
            raise InputError(f"answered out of order: row {self.answered + 1} is due")
        d, text = self._rows.formats[3], record.get("d")
        if not isinstance(text, str):
            raise InputError("'d' is missing or no text: a bit pattern in hexadecimal")
        try:
            self.d[self.answered] = d.parse(text)
        except InputError:
            allowed = f"0x and up to {d.hex_digits} hexadecimal digits, at most {d.hex((1 << d.bits) - 1)}"
            raise InputError(f"'d' is not a bit pattern of {d.name} ({allowed})") from None
        self.answered += 1
        self._moved = time.monotonic()

    def _place(self) -> str:
        """Name the line of the output that is read, and the row whose answer is due."""
        return f"line {self._line} of its answers ({self._due()})"

    def _due(self) -> str:
        count = len(self.d)
        return f"all {count} rows are answered" if self.answered == count else self._rows.labels[self.answered]

    def _silence(self) -> str:
        after = f"after {self.answered} of {len(self.d)} answers"
        if self.answered == len(self.d):
            return f"it has not ended {self._timeout:g} s {after}: it should, once its input has ended"
        return f"silent for {self._timeout:g} s {after}, {self._due()} is due: give it more time if it needs longer"

    def _ending(self) -> str | None:
        """Return what is wrong with how the process ended, after its outputs were closed."""
        try:
            status = self._process.wait(max(0.0, self._seconds_left()))
        except subprocess.TimeoutExpired:
            return f"{self._silence()}; it has closed its output"
        if self.answered == len(self.d) and status == 0 and not self._unfinished.strip():
            return None
        ended = f"ended with exit status {status}" if status >= 0 else f"was ended by {_signal_name(-status)}"
        within = f" within line {self._line}: {_quoted(self._unfinished)}" if self._unfinished.strip() else ""
        due = "" if self.answered == len(self.d) else f", {self._due()} is due"
        first = "; the first line that it reads names the formats, see: mmaproof serve --help" * (not self.answered)
        return f"{ended} after {self.answered} of {len(self.d)} answers{due}{within}{first}"


def _quoted(line: bytes) -> str:
    return short(line[:100].decode(errors="replace"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text_of(rows: Rows) -> Iterator[bytes]:
    """Yield the header and then the rows, some at a time."""
    batch = rows.batch
    formats = {f"{x}_format": fmt.name for x, fmt in zip("abcd", rows.formats, strict=True)}
    yield (json.dumps({"design": rows.design, **formats, "k": batch.k}) + "\n").encode("ascii")

    a, b, c = (pattern_template(fmt) for fmt in rows.formats[:3])
    fields = [f'"a": [{", ".join([a] * batch.k)}]', f'"b": [{", ".join([b] * batch.k)}]', f'"c": {c}']
    columns = [batch.a, batch.b, batch.c]
    for name, scales in (("scale_a", batch.scale_a), ("scale_b", batch.scale_b)):
        if scales is not None and rows.scale_format is not None:
            scale = pattern_template(rows.scale_format)
            fields.append(f'"{name}": [{", ".join([scale] * scales.shape[1])}]')
            columns.append(scales)
    template = "{" + ", ".join(fields) + ', "row": %d}\n'
    columns.append(np.arange(1, len(batch) + 1, dtype=np.uint64))
    for first in range(0, len(batch), _ROWS_AT_ONCE):
        numbers = np.column_stack([x[first : first + _ROWS_AT_ONCE] for x in columns]).tolist()
        yield "".join([template % tuple(row) for row in numbers]).encode("ascii")


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
