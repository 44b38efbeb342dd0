"""Limits of a question, how people write them on a command line, and the clock that they count on.

The clock counts seconds of computing, of this process and of the solvers that it waits for. A busy machine slows the
clock on the wall, and not this one: strategies get the same slices everywhere, and a question takes the same way. The
clock on the wall ends a question (``Limits.ends``) and decides nothing else.
"""

import contextlib
import math
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mmaproof.smt.solving.verdict import LimitError

# Waiting for a process uses poll(2), which takes milliseconds as a signed 32-bit number: 24.8 days.
MAX_SECONDS = 14 * 24 * 3600.0
# This is far above any machine, and far below what setrlimit(2) would read as a negative number.
MAX_MEMORY_BYTES = 1 << 50
LEAST_SECONDS = 1e-3
"""The seconds that ``Limits.after`` leaves of a time limit that has passed."""

MEMORY_BYTES = 4 << 30
"""The memory limit where only seconds are given."""

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_TIME = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-zA-Z]*)", re.ASCII)
_MEMORY = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-zA-Z]?)(?:i?B)?", re.ASCII)


@dataclass(frozen=True)
class Limits:
    """What one question may take.

    ``seconds`` are of computing (``worked``), and include starting the solver. ``wall`` are seconds of the clock on the
    wall for all of it, by default as many; from ``begun`` on they end at ``ends`` (by ``time.monotonic``).
    ``memory_bytes`` is the address space that a solver process may use in addition to what it has when the solver is
    loaded (enforced on Linux). ``spent`` says what took part of a longer limit before, so that reasons can name it.

    Raises ``LimitError`` when a number is not positive or is beyond ``MAX_SECONDS`` or ``MAX_MEMORY_BYTES``.
    """

    seconds: float
    memory_bytes: int
    spent: tuple[tuple[str, float], ...] = ()
    wall: float | None = None
    ends: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and 0 < self.seconds <= MAX_SECONDS):
            raise LimitError(
                f"time limit {self.seconds!r} s is out of range: more than 0 and at most {MAX_SECONDS:.0f} s "
                "(14 days), for example 30s"
            )
        if not (isinstance(self.memory_bytes, int) and 0 < self.memory_bytes <= MAX_MEMORY_BYTES):
            raise LimitError(
                f"memory limit {self.memory_bytes!r} bytes is out of range: an integer, more than 0 and at "
                f"most {MAX_MEMORY_BYTES} (1024T), for example 4G"
            )

    @classmethod
    def of(cls, given: "Limits | float") -> "Limits":
        """Return the limits given, or those of N seconds with ``MEMORY_BYTES``. Raises ``LimitError``."""
        if isinstance(given, Limits):
            return given
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise LimitError(f"time limit {given!r} is not a number: a number of seconds, for example 30")
        return cls(float(given), MEMORY_BYTES)

    def begun(self) -> "Limits":
        """Return the limits of a question that begins now, or that has begun."""
        if self.ends is not None:
            return self
        return replace(self, ends=time.monotonic() + (self.seconds if self.wall is None else self.wall))

    def begun_with(self, seconds: float) -> float:
        """Return when a part that may compute for N seconds ends by the clock: with the whole, if that began."""
        return time.monotonic() + seconds if self.ends is None else self.ends

    @property
    def has_ended(self) -> bool:
        """Whether the time by the clock on the wall is over."""
        return self.ends is not None and time.monotonic() >= self.ends

    def after(self, seconds: float, what: str) -> "Limits":
        """Return what is left after ``what`` took N seconds. At least ``LEAST_SECONDS`` are left."""
        left = LEAST_SECONDS if self.has_ended else min(self.seconds, max(self.seconds - seconds, LEAST_SECONDS))
        spent = dict(self.spent)
        spent[what] = spent.get(what, 0.0) + self.seconds - left
        return replace(self, seconds=left, spent=tuple(spent.items()))

    def __str__(self) -> str:
        """Return the time limit that was set, and what took part of it: "5 s, of which 4.72 s went into ..."."""
        whole = f"{self.seconds + sum(seconds for _, seconds in self.spent):.6g} s"
        parts = " and ".join(f"{seconds:.2f} s went into {what}" for what, seconds in self.spent if seconds >= 0.01)
        return f"{whole}, of which {parts}" if parts else whole


def parse_seconds(text: str) -> float:
    """Read a time limit such as ``30s``, ``2m``, ``1.5h`` or ``0.01s``. A bare number means seconds.

    Raises ``LimitError`` for anything else and for times outside what ``Limits`` allows.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None or match[2] not in _SECONDS:
        raise LimitError(
            f"time limit {text!r} cannot be read: a number of seconds, or a number with s, m or h, "
            "for example 30s, 2m or 1.5h"
        )
    seconds = float(match[1]) * _SECONDS[match[2]]
    return Limits(seconds, MAX_MEMORY_BYTES).seconds


def parse_memory(text: str) -> int:
    """Read a memory limit such as ``4G``, ``512M`` or ``1.5GiB``, and return bytes. K, M, G, T are powers of 1024.

    A number needs a unit, because "4" would mean four bytes.

    Raises ``LimitError`` for anything else and for sizes outside what ``Limits`` allows.
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None or match[2].upper() not in _BYTES:
        raise LimitError(
            f"memory limit {text!r} cannot be read: a number with K, M, G or T (powers of 1024), for example 4G or 512M"
        )
    memory = float(match[1]) * _BYTES[match[2].upper()]
    if not math.isfinite(memory):
        memory = MAX_MEMORY_BYTES + 1
    return Limits(MAX_SECONDS, int(memory)).memory_bytes


Clock = Callable[[], float]
"""returns seconds from its beginning on"""
_LINE: Final = threading.local()
_OF_PROCESS: Final = 2
"""Linux names the clock of a process by its number: ``clock_getcpuclockid``."""


def worked() -> float:
    """Return the seconds that this process computed, and that others did for which this thread waited (``add_work``).

    They count from an arbitrary beginning, and only in one thread.
    """
    return time.process_time() + float(getattr(_LINE, "others", 0.0))


@dataclass(frozen=True)
class Until:
    """When a search ends: at a time by ``worked``, or at one by ``time.monotonic``."""

    work: float = math.inf
    wall: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> "Until":
        """Return the end of N seconds from now on, by the one clock or the other."""
        return cls(worked() + seconds, time.monotonic() + seconds)

    def before(self, seconds: float) -> "Until":
        """Return an end that is N seconds earlier."""
        return Until(self.work - seconds, self.wall - seconds)

    @property
    def left(self) -> float:
        """The seconds until then."""
        return min(self.work - worked(), self.wall - time.monotonic())


def add_work(seconds: float) -> None:
    """Add seconds that another process computed for this thread."""
    _LINE.others = getattr(_LINE, "others", 0.0) + seconds


def clock_of(process: int) -> Clock:
    """Return a clock of what another process and its children compute from now on; it stands when it has ended.

    Where the system does not say, it is the clock on the wall.
    """
    try:
        began = last = _computed(process)
    except (OSError, AttributeError):
        beginning = time.monotonic()
        return lambda: time.monotonic() - beginning

    def clock() -> float:
        nonlocal last
        with contextlib.suppress(OSError):
            last = max(last, _computed(process))
        return last - began

    return clock


def _computed(process: int) -> float:
    """Return the seconds that a process and its children computed. Raises OSError where the system does not say."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    total = time.clock_gettime(~process << 3 | _OF_PROCESS)
    for child in children:
        with contextlib.suppress(OSError):
            total += time.clock_gettime(~int(child) << 3 | _OF_PROCESS)
    return total
