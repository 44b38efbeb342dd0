"""The backends: how many operands are computed at once. All of them give the same d, bit for bit."""

from __future__ import annotations

import os
from enum import StrEnum

from mmaproof.designs.errors import InputError

BACKEND_VARIABLE = "MMAPROOF_BACKEND"
"""Names the backend of this process and of those that it starts."""


class Backend(StrEnum):
    """What computes the rows of a batch."""

    INTEGERS = "integers"
    """Python integers, one row at a time"""
    ARRAYS = "arrays"
    """NumPy"""
    NATIVE = "native"
    """machine code compiled for the design, with the extra [native]"""


def wanted_backend() -> Backend | None:
    """Return the backend that ``MMAPROOF_BACKEND`` names; None where it is unset, so that the fastest is taken.

    Raises InputError for an unknown name.
    """
    named = os.environ.get(BACKEND_VARIABLE)
    if not named:
        return None
    try:
        return Backend(named)
    except ValueError:
        raise InputError(
            f"{BACKEND_VARIABLE} = {named!r} is no backend: one of {', '.join(Backend)}, or unset for the fastest"
        ) from None


def want_backend(backend: Backend) -> None:
    """Let this process, and those that it starts, compute by one backend."""
    os.environ[BACKEND_VARIABLE] = backend.value
