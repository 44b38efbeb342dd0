"""The backends: how many operands are computed at once. All of them give the same d, bit for bit."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from mmaproof.designs.errors import InputError

_log = logging.getLogger("mmaproof")
_noted: set[str] = set()

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


def wanted_backend(backend: Backend | str | None = None) -> Backend | None:
    """Return the backend given, else the one that ``MMAPROOF_BACKEND`` names, else None, for the fastest.

    Raises InputError for an unknown name.
    """
    if backend is not None:
        return _backend(backend, "backend")
    named = os.environ.get(BACKEND_VARIABLE)
    return _backend(named, BACKEND_VARIABLE) if named else None


@contextmanager
def wanting(name: str | None) -> Iterator[None]:
    """Let this process, and those that it starts meanwhile, compute by the backend of this name; None changes nothing.

    Raises InputError for an unknown name.
    """
    if name is None:
        yield
        return
    before = os.environ.get(BACKEND_VARIABLE)
    os.environ[BACKEND_VARIABLE] = _backend(name, "backend").value
    try:
        yield
    finally:
        if before is None:
            del os.environ[BACKEND_VARIABLE]
        else:
            os.environ[BACKEND_VARIABLE] = before


def _backend(name: str, what: str) -> Backend:
    try:
        return Backend(name)
    except ValueError:
        allowed = ", ".join(Backend)
        raise InputError(f"{what} = {name!r} is not a backend: one of {allowed}, or none for the fastest") from None


def note_once(about: str, text: str) -> None:
    """Log a note, only one about each thing in a process."""
    if about not in _noted:
        _noted.add(about)
        _log.warning("note: %s", text)
