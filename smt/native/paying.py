"""Whether native code pays: what it costs at first, against what arrays have cost so far and would cost now.

Code is compiled when arrays have taken as long as compiling takes, or would for this request. So at most about twice
the least time is spent, whatever is asked later.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from mmaproof.designs.design import Design
from mmaproof.designs.errors import TargetUnavailable
from mmaproof.designs.operands import OperandBatch
from mmaproof.smt.algebra.code import TooWideError
from mmaproof.smt.algebra.nodes import LANES, Node, needed
from mmaproof.smt.backends import Backend, wanted_backend
from mmaproof.smt.native.compiler import missing
from mmaproof.smt.native.lowering import lower

Result = TypeVar("Result")

LOAD_SECONDS = 0.01
"""To read code from the cache, link and check it."""
IMPORT_SECONDS = 0.2
"""To load LLVM."""
NODE_SECONDS, WIDE_NODE_SECONDS = 7e-5, 2.5e-3
"""To compile an operation, and one on 128 bits, of which vectors are taken apart."""
LEAST_COMPILE_SECONDS = 0.03
FIRST_GUESS = 1e-6
"""Seconds that arrays take for one row of a design that they have not computed yet."""


MATRICES = 0
"""In the place of a length: matrix products, whose code is of its own."""


@dataclass
class _Account:
    """What arrays have taken, the price of native code where it is known, and whether there is any at all."""

    seconds: float = 0.0
    rows: int = 0
    price: float | None = None
    impossible: bool = False

    def note(self, started: float, rows: int) -> None:
        """Note that arrays have computed some rows since ``started``, in seconds of this thread."""
        self.seconds += time.thread_time() - started
        self.rows += rows


MOST_ACCOUNTS = 1 << 14
"""Then all of them are forgotten, and begin anew."""

_accounts: dict[tuple[Design, int], _Account] = {}


def pays(design: Design, length: int, rows: int) -> bool:
    """Return whether native code is the better choice for N dot products of an instruction or less, now.

    ``length`` is theirs, or ``MATRICES``.
    """
    account = _account(design, length)
    if missing() is not None or account.impossible:
        return False
    loaded, kept = _state(design, length)
    if loaded():
        return True
    ahead = rows * (account.seconds / account.rows if account.rows else FIRST_GUESS)
    total, price = account.seconds + ahead, _import_seconds()
    if ahead < LOAD_SECONDS or total < price + LOAD_SECONDS:
        return False
    return total > price + (LOAD_SECONDS if kept() else _price(design, length, account))


def _import_seconds() -> float:
    return 0.0 if "llvmlite.binding" in sys.modules else IMPORT_SECONDS


def _price(design: Design, length: int, account: _Account) -> float:
    """Return about how long it takes to compile a design, infinity where that is impossible; it is kept."""
    if account.price is None:
        try:
            account.price = compile_seconds(lower(design, length or design.k, fused_multiply_add=True).nodes)
        except TooWideError:
            account.impossible, account.price = True, math.inf
    return account.price


def compile_seconds(nodes: Iterable[Node]) -> float:
    """Return about how long it takes to compile a graph."""
    return LEAST_COMPILE_SECONDS + sum(WIDE_NODE_SECONDS if x.bits > LANES[1] else NODE_SECONDS for x in nodes)


def _state(design: Design, length: int) -> tuple[Callable[[], bool], Callable[[], bool]]:
    """Return what says whether the code is in this process, and whether it is in the cache."""
    from mmaproof.smt.native import kernels, matrices  # noqa: PLC0415  (few rows never come here)

    if length == MATRICES:
        return partial(matrices.is_loaded, design), partial(matrices.is_kept, design)
    return partial(kernels.is_loaded, design, length), partial(kernels.is_kept, design, length)


@contextmanager
def accounted(design: Design, length: int, rows: int) -> Iterator[None]:
    """Note how long arrays take for some rows."""
    started = time.thread_time()
    yield
    _account(design, length).note(started, rows)


def _account(design: Design, length: int) -> _Account:
    if len(_accounts) >= MOST_ACCOUNTS:
        _accounts.clear()
    return _accounts.setdefault((design, length), _Account())


class Switch(Generic[Result]):
    """A function of rows, on arrays until machine code would have cost no more, and by machine code from then on.

    ``on_arrays`` computes it. ``lowered`` returns the nodes of a graph of it, and ``compiled`` what computes it from
    there. Where a number is too wide for that, arrays go on.
    """

    def __init__(
        self,
        on_arrays: Callable[[OperandBatch], Result],
        lowered: Callable[[], Sequence[Node]],
        compiled: Callable[[Sequence[Node]], Callable[[OperandBatch], Result]],
    ) -> None:
        self._on_arrays, self._lowered, self._compiled = on_arrays, lowered, compiled
        self._native: Callable[[OperandBatch], Result] | None = None
        self._outputs: Sequence[Node] = ()
        self._account = _Account(impossible=missing() is not None)

    def __call__(self, batch: OperandBatch, *, rows_ahead: int = 0, seconds_ahead: float = math.inf) -> Result:
        """Return the function of ``batch``; at most N rows, and seconds, are still to come after it.

        Raises TargetUnavailable where native code is wanted and nothing can be compiled.
        """
        wanted = wanted_backend()
        if wanted is Backend.NATIVE and (problem := missing()) is not None:
            raise TargetUnavailable(problem)
        if wanted is Backend.NATIVE or (wanted is None and self._pays(len(batch) + rows_ahead, seconds_ahead)):
            if self._native is None and self._is_possible():
                self._native = self._compiled(self._outputs)
            if self._native is not None:
                return self._native(batch)
        started = time.thread_time()
        result = self._on_arrays(batch)
        self._account.note(started, len(batch))
        return result

    def _pays(self, rows: int, seconds_ahead: float) -> bool:
        account = self._account
        if self._native is not None or not account.rows:
            return self._native is not None
        total = account.seconds + min(rows * account.seconds / account.rows, seconds_ahead)
        # what is still to come is a guess: some of the price has to be spent first
        worth = min(total, 4 * account.seconds) - _import_seconds()
        return worth > LEAST_COMPILE_SECONDS and self._is_possible() and worth > (account.price or 0.0)

    def _is_possible(self) -> bool:
        """Return whether there is a graph; it is made once, and gives the price."""
        account = self._account
        if account.price is None and not account.impossible:
            try:
                self._outputs = self._lowered()
                account.price = compile_seconds(needed(self._outputs))
            except TooWideError:
                account.impossible = True
        return not account.impossible
