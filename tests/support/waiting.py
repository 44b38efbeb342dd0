"""Waiting for what another process does, however busy the machine is."""

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

LONG = 300.0
"""Seconds within which everything that tests wait for happens, on a machine with much else to do."""


def wait_until(condition: Callable[[], Seen], seconds: float = LONG) -> Seen:
    """Ask for the condition until it is true, and return what it returned then."""
    end = time.monotonic() + seconds
    while not (seen := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"it did not happen within {seconds:g} s")
        time.sleep(0.02)
    return seen
