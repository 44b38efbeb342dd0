"""The limit of a whole answer, for what a command computes itself: solvers and searches keep their limits alone."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_GRACE = 1.25
"""Seconds above the limit that remain for an answer of what was found by then."""
_AGAIN = 0.1


class OutOfTime(KeyboardInterrupt):
    """The limit has passed. What handles a Ctrl-C ends what it started, and handles this alike."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread where this process itself has computed for longer than so many seconds.

    Both its own time and that of the clock must have passed: a machine that is busy with something else does not end
    an answer, nor does a solver that is waited for.
    """
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return
    limit = seconds + _GRACE
    ends = time.monotonic() + limit

    def passed(_number: int, _frame: FrameType | None) -> None:
        left = ends - time.monotonic()
        if left <= 0:
            raise OutOfTime
        signal.setitimer(signal.ITIMER_PROF, max(left, _AGAIN))

    before = signal.signal(signal.SIGPROF, passed)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
