"""A target that is a process: any simulator or test bench that speaks JSON lines, as ``serving`` does.

The process reads the header ``{"design": NAME or null, "a_format": ..., ..., "d_format": ..., "k": N}``. Then it reads
a line ``{"a": [hex, ...], "b": [hex, ...], "c": hex, "row": N}`` for each row, with ``scale_a`` and ``scale_b`` before
``row`` where the rows have scales. Then its input ends. It answers each row with a line ``{"d": hex}``, in order. Rows
are counted from 1. If an answer repeats ``row``, the number is checked. Empty lines are ignored.

Rows are written while answers are read, as fast as the process takes them. Their text is never held all at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.files import parse_object
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import pattern_dtype
from mmaproof.hardware_replay.answers import Rows
from mmaproof.hardware_replay.target import Ran, Unit


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
