"""One process for one query. It has ended when its ``with`` block ends, whatever happened in the block."""

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.protocol import is_out_of_memory
from mmaproof.smt.solving.verdict import Cause
from mmaproof.smt.solving.work import clock_of

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
