"""Whether native code pays: what it costs at first, against what arrays have cost so far and would cost now.

Code is compiled when arrays have taken as long as compiling takes, or would with what is asked. So at most about twice
the least time is spent, whatever is asked later.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.code import TooWideError
from mmaproof.smt.native.compiler import missing

LOAD_SECONDS = 0.01
"""To read code from the cache, link and check it."""
COMPILE_SECONDS = 0.12
"""To lower and compile one instruction of most designs; those with numbers of 128 bits take some seconds."""
IMPORT_SECONDS = 0.2
"""To load LLVM."""
FIRST_GUESS = 1e-6
"""Seconds that arrays take for one row of a design that they have not computed yet."""


MATRICES = 0
"""In the place of a length: matrix products, whose code is of its own."""


@dataclass
class _Account:
    """What arrays have taken for a design and a length, and whether native code exists for it at all."""

    seconds: float = 0.0
    rows: int = 0
    impossible: bool = False


_accounts: dict[tuple[Design, int], _Account] = {}


def pays(design: Design, length: int, rows: int) -> bool:
    """Return whether native code is the better choice for so many dot products of an instruction or less, now.

    ``length`` is theirs, or ``MATRICES``.
    """
    if missing() is not None:
        return False
    account = _account(design, length)
    ahead = rows * (account.seconds / account.rows if account.rows else FIRST_GUESS)
    price = 0.0 if "llvmlite.binding" in sys.modules else IMPORT_SECONDS
    if account.impossible:
        return False
    if price and account.seconds + ahead < price:
        return False
    loaded, kept = _state(design, length)
    if loaded():
        return True
    if ahead < LOAD_SECONDS:
        return False
    price += LOAD_SECONDS if kept() else COMPILE_SECONDS
    return account.seconds + ahead > price


def first_price() -> float:
    """Return the seconds that it takes to compile something new in this process."""
    return COMPILE_SECONDS + (0.0 if "llvmlite.binding" in sys.modules else IMPORT_SECONDS)


def _state(design: Design, length: int) -> tuple[Callable[[], bool], Callable[[], bool]]:
    """Return what says whether the code is in this process, and whether it is in the cache."""
    from mmaproof.smt.native import kernels, matrices  # noqa: PLC0415  (both load LLVM)

    if length == MATRICES:
        return partial(matrices.is_loaded, design), partial(matrices.is_kept, design)
    return partial(kernels.is_loaded, design, length), partial(kernels.is_kept, design, length)


@contextmanager
def accounted(design: Design, length: int, rows: int) -> Iterator[None]:
    """Note how long arrays take for some rows."""
    started = time.perf_counter()
    yield
    account = _account(design, length)
    account.seconds += time.perf_counter() - started
    account.rows += rows


@contextmanager
def too_wide_is_remembered(design: Design, length: int) -> Iterator[None]:
    """Remember a design whose numbers are too wide for native code."""
    try:
        yield
    except TooWideError:
        _account(design, length).impossible = True
        raise


def _account(design: Design, length: int) -> _Account:
    return _accounts.setdefault((design, length), _Account())
