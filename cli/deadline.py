"""The limit of a whole answer, for what a command computes itself: solvers and searches keep their limits alone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_GRACE = 1.0
"""Seconds above the limit that remain for an answer of what was found by then."""


class OutOfTime(KeyboardInterrupt):
    """The limit has passed. What handles a Ctrl-C ends what it started, and handles this alike."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread where the clock shows more than N seconds, whatever was waited for."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def passed(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, passed)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
