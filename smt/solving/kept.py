"""Solver processes that are kept: each answers one query after the other, because starting one takes 0.2 s.

A process is kept only after it answered sat or unsat in the expected form. Whatever else happens, it is killed with all
processes that it started: a time-out, a crash, a reply that is malformed or unknown, an interrupt. The next query
starts another. Idle processes are killed when this process ends, and if it is killed, they notice. A process that is
forked from this one does not share them.
"""

import atexit
import contextlib
import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Final, Self

from mmaproof.smt.solving.limits import Clock, Limits, clock_of
from mmaproof.smt.solving.protocol import Header, is_out_of_memory
from mmaproof.smt.solving.verdict import Cause

_LOOK_SECONDS: Final = 0.1
# The parent ends a process. The limit of CPU time is for a process that nobody watches any more.
SPARE_CPU_SECONDS: Final = 5
_SENT_BY_OTHERS: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status (a negative one is a signal), and what it wrote."""

    returncode: int
    output: bytes
    errors: bytes


class SolverProcess:
    """A solver process in a session of its own.

    The constructor raises ``OSError`` if the system cannot start a process. ``stop`` may be called from another thread
    while ``finish`` waits. It ends after one query, so ``reusable`` changes nothing.
    """

    def __init__(self, command: Sequence[str], solver: str, limits: Limits) -> None:
        self.reusable = False
        self._limits = limits
        cpu_seconds = math.ceil(limits.seconds) + SPARE_CPU_SECONDS
        self._process = subprocess.Popen(
            [*command, solver, str(limits.memory_bytes), str(cpu_seconds), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._worked = clock_of(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except KeyboardInterrupt:
            # The interrupt came between the end of the waiting and the kill.
            self.stop()
            raise
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def finish(self, text: str, seconds: float) -> Ended | None:
        """Send the query and wait for the end until N seconds were computed. Return None if the process still runs."""
        ends, given = self._limits.begun_with(seconds), text.encode() or None
        while True:
            left = max(0.0, min(seconds - self._worked(), ends - time.monotonic()))
            try:
                output, errors = self._process.communicate(given, timeout=min(left, _LOOK_SECONDS))
            except subprocess.TimeoutExpired:
                given = None
                if left == 0.0:
                    return None
            else:
                return Ended(self._process.returncode, output, errors)

    @property
    def worked(self) -> float:
        """The seconds that the process computed."""
        return self._worked()

    def stop(self) -> None:
        """Kill the whole group of the process and wait for its end. It does nothing after the end."""
        # After the process is reaped, its number may belong to another process.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def reason_of_death(ended: Ended, limits: Limits) -> str:
    """Return the reason why a process ended without an answer. The text begins with a ``Cause``."""
    said = ended.errors.decode(errors="replace").strip().rpartition("\n")[2][-200:]
    died = _manner(ended.returncode)
    if is_out_of_memory(ended.errors.decode(errors="replace")):
        return Cause.MEMORY.reason(f"{died} within the limit of {limits.memory_bytes} bytes: {said}")
    if ended.returncode == -signal.SIGXCPU:
        return Cause.TIMEOUT.reason(f"{died}: CPU time beyond {limits}")
    if -ended.returncode in _SENT_BY_OTHERS:
        whom = "; someone ended it, or the system did because memory ran out"
        return Cause.INTERRUPTED.reason(died + whom)
    # A library that does not check what malloc returns crashes. Such a crash looks like any other.
    perhaps = f" (perhaps of the memory limit, {limits.memory_bytes} bytes)" if ended.returncode < 0 else ""
    return Cause.SOLVER_ERROR.reason(f"{died} without an answer{perhaps}{f': {said}' if said else ''}")


def _manner(returncode: int) -> str:
    if returncode >= 0:
        return f"the solver process ended with exit status {returncode}"
    try:
        return f"the solver process was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"the solver process was ended by signal {-returncode}"


_MOST_IDLE: Final = 8
_LOOK_FOR_END_SECONDS: Final = 1.0
_END_SECONDS: Final = 0.5
_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True)
class Kept:
    """The command of a solver process that answers many queries, as ``kept_worker`` does."""

    arguments: tuple[str, ...]


class KeptProcess:
    """A solver process in a session of its own, whose pipes do not block.

    The constructor raises ``OSError`` if the system cannot start a process. ``end`` may be called from another thread
    while ``ask`` waits.
    """

    def __init__(self, command: Kept, solver: str) -> None:
        self.kind = command, solver
        self._process = subprocess.Popen(
            [*command.arguments, solver, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._pipes = [x for x in (self._process.stdin, self._process.stdout, self._process.stderr) if x is not None]
        self._query, self._answers, self._errors = (pipe.fileno() for pipe in self._pipes)
        for pipe in (self._query, self._answers, self._errors):
            os.set_blocking(pipe, False)
        self._numbers = count(1)
        self.worked: Clock = lambda: 0.0
        """the seconds that it computed for the present query: who asks it starts the clock"""

    @property
    def process_number(self) -> int:
        """The number of the process in the system."""
        return self._process.pid

    @property
    def is_well(self) -> bool:
        """Whether it runs and has nothing to say before it is asked."""
        if self._process.poll() is not None:
            return False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._errors, _READ_BYTES):
                pass
        try:
            os.read(self._answers, 1)
        except BlockingIOError:
            return True
        return False

    def ask(self, text: bytes, limits: Limits, seconds: float) -> Ended | None:
        """Send a query and wait for a line until the process computed for N seconds. None: there is none yet.

        A line comes without its number, as what a process writes that ends with it. A line with another number is
        changed so that it is not a reply. Without a line this is how the process ended.
        """
        ends = limits.begun_with(seconds)
        number = next(self._numbers)
        cpu_seconds = math.ceil(limits.seconds) + SPARE_CPU_SECONDS
        unsent = memoryview(Header(number, len(text), limits.memory_bytes, cpu_seconds).bytes + text)
        output, errors = bytearray(), bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(self._query, selectors.EVENT_WRITE)
            ready.register(self._answers, selectors.EVENT_READ)
            ready.register(self._errors, selectors.EVENT_READ)
            while not output.endswith(b"\n"):
                left = min(seconds - self.worked(), ends - time.monotonic())
                if left <= 0:
                    return None
                happened = {key.fd for key, _ in ready.select(min(left, _LOOK_FOR_END_SECONDS))}
                if self._query in happened:
                    unsent = unsent[_written(self._query, unsent) :]
                    if not unsent:
                        ready.unregister(self._query)
                if self._errors in happened and not _append(self._errors, errors):
                    ready.unregister(self._errors)
                if self._answers in happened and not _append(self._answers, output):
                    return self._ended(output, errors, ends)
                if not happened and self._process.poll() is not None:
                    return self._ended(output, errors, ends)
        prefix = b"%d " % number
        if unsent or not output.startswith(prefix):
            # This is not a reply in any form.
            return Ended(0, b"not to query %d: " % number + output, bytes(errors))
        return Ended(0, bytes(output.removeprefix(prefix)), bytes(errors))

    def end(self) -> None:
        """Kill the whole group of the process and wait for its end. It does nothing after the end."""
        # After the process is reaped, its number may belong to another process.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Close its pipes, after which it ends, and kill what has not ended soon. Nobody may be waiting in ``ask``."""
        for pipe in self._pipes:
            pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self.end()

    def abandon(self) -> None:
        """Close the pipes in a process that was forked and is not the parent of this one."""
        # Popen takes it for ended, and does not warn of a process that still runs.
        self._process.returncode = 0
        for pipe in self._pipes:
            pipe.close()

    def _ended(self, output: bytearray, errors: bytearray, ends: float) -> Ended | None:
        """Return how it ended, once it has: its pipe is closed a little earlier."""
        try:
            status = self._process.wait(max(0.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        while _append(self._errors, errors):
            pass
        # A line without its end is not an answer, whatever the exit status.
        return Ended(status, bytes(output), bytes(errors))


class _Idle:
    """The kept processes of this process: all of them, and those that nobody asks now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[KeptProcess] = []
        self._idle: list[KeptProcess] = []
        self._watching = False

    def take(self, command: Kept, solver: str) -> KeptProcess:
        """Return a process that nobody else asks: the last that was put back, or a new one."""
        while (process := self._pop((command, solver))) is not None:
            if process.is_well:
                return process
            self.drop(process)
        process = KeptProcess(command, solver)
        with self._lock:
            self._all.append(process)
            if not self._watching:
                self._watching = True
                atexit.register(self.end_all)
                os.register_at_fork(after_in_child=self._forked)
        return process

    def put_back(self, process: KeptProcess) -> None:
        """Keep a process for the next query."""
        with self._lock:
            self._idle.append(process)
            surplus = self._idle.pop(0) if len(self._idle) > _MOST_IDLE else None
        if surplus is not None:
            self.drop(surplus)

    def drop(self, process: KeptProcess) -> None:
        """End a process that nobody else asks."""
        process.close()
        with self._lock:
            if process in self._all:
                self._all.remove(process)

    def end(self) -> None:
        """End all processes that nobody asks."""
        while (process := self._pop(None)) is not None:
            self.drop(process)

    def end_all(self) -> None:
        """End all processes, also one that an interrupt took from whoever was about to ask it."""
        self.end()
        for process in list(self._all):
            self.drop(process)

    def _pop(self, kind: tuple[Kept, str] | None) -> KeptProcess | None:
        with self._lock:
            for i in reversed(range(len(self._idle))):
                if kind in (None, self._idle[i].kind):
                    return self._idle.pop(i)
        return None

    def _forked(self) -> None:
        self._lock = threading.Lock()
        for process in self._all:
            process.abandon()
        self._all, self._idle = [], []


_IDLE: Final = _Idle()


def end_idle_processes() -> None:
    """End the solver processes that are kept and that nobody asks now. The next query starts another."""
    _IDLE.end()


class KeptSolver:
    """A kept process for one query, in place of a ``SolverProcess``. ``reusable`` says whether it stays afterwards."""

    def __init__(self, command: Kept, solver: str, limits: Limits) -> None:
        self.reusable = False
        self._limits = limits
        self._lock = threading.Lock()
        self._stopped = self._over = False
        self._process = _IDLE.take(command, solver)
        self._process.worked = clock_of(self._process.process_number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._leave(self.reusable and kind is None)
        except KeyboardInterrupt:
            self._leave(False)
            raise

    def _leave(self, stays: bool) -> None:
        with self._lock:
            self._over = True
            stays = stays and not self._stopped
        if stays:
            _IDLE.put_back(self._process)
        else:
            _IDLE.drop(self._process)

    def finish(self, text: str, seconds: float) -> Ended | None:
        """Send the query and wait for the answer or the end until N seconds were computed. None: there is neither."""
        return self._process.ask(text.encode(), self._limits, seconds)

    @property
    def worked(self) -> float:
        """The seconds that the process computed for the query."""
        return self._process.worked()

    def stop(self) -> None:
        """Kill the process, unless it has left. Another thread may call it."""
        with self._lock:
            if not self._over:
                self._stopped = True
                self._process.end()


def _written(file: int, text: memoryview) -> int:
    """Write what fits into a pipe. Return the number of bytes, which is all of them if nobody reads any more."""
    try:
        return os.write(file, text)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(text)


def _append(file: int, found: bytearray) -> bool:
    """Read what a pipe has. Return whether it may have more later."""
    try:
        part = os.read(file, _READ_BYTES)
    except BlockingIOError:
        return True
    found += part
    return bool(part)
