"""The clock of limits: seconds of computing, of this process and of the solvers that it waits for.

A busy machine slows the clock on the wall, and not this one: strategies get the same slices everywhere, and a question
takes the same way. The clock on the wall ends a question (``Limits.ends``) and decides nothing else.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
