"""The limit of a whole answer, for what a command computes itself: solvers and searches keep their limits alone."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_GRACE = 1.0
"""Seconds above the limit that remain for an answer of what was found by then."""
_AGAIN = 0.1
"""Seconds of computing after which it is looked at the time."""


class OutOfTime(KeyboardInterrupt):
    """The limit has passed. What handles a Ctrl-C ends what it started, and handles this alike."""


def _computed() -> float:
    """Return the seconds for which this process and the children that it has waited for have computed."""
    return sum(os.times()[:4])


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread where this process computes after longer than N seconds.

    Both the time that it and its children computed and that of the clock must have passed: a machine that is busy with
    something else does not end an answer, nor does a solver that is waited for.
    """
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return
    limit = seconds + _GRACE
    ends, computed = time.monotonic() + limit, _computed() + limit

    def passed(_number: int, _frame: FrameType | None) -> None:
        if time.monotonic() >= ends and _computed() >= computed:
            signal.setitimer(signal.ITIMER_PROF, 0)
            raise OutOfTime

    before = signal.signal(signal.SIGPROF, passed)
    signal.setitimer(signal.ITIMER_PROF, _AGAIN, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
