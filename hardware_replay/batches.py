"""Whether a kernel returns the same bits for a row of a whatever other rows are there, and each time that it runs.

Rows run alone and as the first ones of larger and larger batches, up to each side of every power of two, where tiles
end. Each batch runs twice, and once with its rows in another order. Between two batches that differ, the number of rows
at which the bits change is found by bisection. Finding no difference proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.matrix_target import MatrixTarget, Product
from mmaproof.hardware_replay.matrix_targets import FunctionTarget, find_matrix_target
from mmaproof.verification.distributions import from_float64

WATCHED = 8
"""The first rows of a batch, which are compared."""


@dataclass(frozen=True)
class BatchDifference:
    """An element whose bits differ: a row of a and a column of b as patterns, d alone, and d in the other run."""

    m: int
    how: str
    row: int
    column: int
    a: Patterns
    b: Patterns
    alone: int
    other: int


@dataclass(frozen=True)
class BatchCheck:
    """What was found: whether the kernel is batch invariant, and deterministic, as far as ``runs`` runs show.

    ``changes`` are the numbers of rows M at which the bits of a row become others than with M - 1 rows.
    """

    name: str
    formats: str
    k: int
    n: int
    most: int
    runs: int
    invariant: bool
    deterministic: bool
    changes: tuple[int, ...]
    witness: BatchDifference | None


def check_batch_invariance(
    kernel: Callable[[Any, Any], Any] | str,
    unit: Design | str,
    *,
    k: int = 1024,
    n: int = 64,
    most: int = 256,
    seed: int = 0,
) -> BatchCheck:
    """Return whether rows of ``kernel(a, b)`` have the same bits in every batch that was tried, of 1 to ``most`` rows.

    ``kernel`` is a function of arrays a (M, k) and b (k, n) of the formats of ``unit``, which returns d (M, n), or
    ``python:MODULE:FUNCTION`` or ``process:COMMAND``. Raises InputError for numbers out of range and for results of
    another type or shape, TargetUnavailable where the kernel raises.

    >>> import mmaproof
    >>> def kernel(a, b):
    ...     return mmaproof.matmul("hopper/wgmma.f32.f16.f16" + " | split-k=2" * (len(a) <= 8), a, b)
    >>> found = mmaproof.check_batch_invariance(kernel, "hopper/wgmma.f32.f16.f16", k=64, n=8, most=16)
    >>> found.invariant, found.changes
    (False, (9,))
    """
    design = find_design(unit) if isinstance(unit, str) else unit
    if design.scale_format is not None:
        raise InputError(f"{design.name} has scales: a kernel of two arrays is needed")
    if most < 2:
        raise InputError(f"most = {most}: batches of at least 2 rows are needed")
    target = find_matrix_target(kernel) if isinstance(kernel, str) else FunctionTarget(_name(kernel), kernel)
    if not hasattr(target, "multiply"):
        raise InputError(f"{target.name}: a recorded product cannot be asked for other rows")
    run = _Runs(target, design, k, n, most, seed)
    sizes = sorted({x for p in range(most.bit_length()) for x in (2**p - 1, 2**p, 2**p + 1) if 2 <= x <= most} | {most})
    changes, deterministic, before = list[int](), True, 1
    for m in sizes:
        d, again = run.first(m), run.first(m)
        if not np.array_equal(d, again):
            deterministic = False
            run.note(m, "run again", d, again)
            continue
        order = run.rng.permutation(m)
        run.note(m, "in another order of rows", run.alone[: len(d)], run.ordered(m, order))
        run.note(m, "in a larger batch", run.alone[: len(d)], d)
        if not run.same(before, m):
            changes.append(run.bisected(before, m))
        before = m
    invariant = deterministic and run.witness is None
    return BatchCheck(
        target.name,
        run.product(1).formats,
        k,
        n,
        most,
        run.count,
        invariant,
        deterministic,
        tuple(changes),
        run.witness,
    )


class _Runs:
    """Products of the first rows of one matrix, whose numbers have many exponents, so that their order matters."""

    def __init__(self, target: MatrixTarget, unit: Design, k: int, n: int, most: int, seed: int) -> None:
        self.target, self.unit, self.n, self.k, self.count = target, unit, n, k, 0
        self.rng = np.random.default_rng([seed, k, n])
        self.a, self.b = self._drawn(unit.a_format, (most, k)), self._drawn(unit.b_format, (k, n))
        self.witness: BatchDifference | None = None
        self.known: dict[int, Patterns] = {}
        self.alone = np.concatenate([self.run(self.a[i : i + 1]) for i in range(min(WATCHED, most))])
        self.known[1] = self.alone[:1]

    def _drawn(self, fmt: Any, shape: tuple[int, int]) -> Patterns:
        found: npt.NDArray[np.float64] = self.rng.standard_normal(shape)
        if not fmt.is_integer:
            found *= 2.0 ** self.rng.integers(-3, 4, shape)
        return from_float64(fmt, found)

    def product(self, m: int) -> Product:
        """Return the product of m rows."""
        return Product(m, self.n, self.k, self.unit.a_format, self.unit.b_format, self.unit.d_format)

    def run(self, a: Patterns) -> Patterns:
        """Return d of some rows."""
        self.count += 1
        return self.target.multiply(self.product(len(a)), np.ascontiguousarray(a), self.b)

    def first(self, m: int) -> Patterns:
        """Return what the watched rows are in a batch of the first m."""
        self.known[m] = self.run(self.a[:m])[:WATCHED]
        return self.known[m]

    def ordered(self, m: int, order: npt.NDArray[np.intp]) -> Patterns:
        """Return the same from a batch in another order."""
        found = np.empty((m, self.n), dtype=self.alone.dtype)
        found[order] = self.run(self.a[:m][order])
        return found[:WATCHED]

    def same(self, x: int, y: int) -> bool:
        """Return whether the rows that two batches share have the same bits."""
        first, second = (self.known[m] if m in self.known else self.first(m) for m in (x, y))
        rows = min(len(first), len(second))
        return bool(np.array_equal(first[:rows], second[:rows]))

    def bisected(self, low: int, high: int) -> int:
        """Return a number of rows at which the bits change, above ``low`` and at most ``high``."""
        start = low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.same(start, middle) else (low, middle)
        return high

    def note(self, m: int, how: str, alone: Patterns, other: Patterns) -> None:
        """Keep the first element that differs."""
        if self.witness is None and (alone != other).any():
            row, column = map(int, np.argwhere(alone != other)[0])
            of_b = np.ascontiguousarray(self.b[:, column])
            x, y = int(alone[row, column]), int(other[row, column])
            self.witness = BatchDifference(m, how, row, column, self.a[row], of_b, x, y)


def _name(kernel: Callable[[Any, Any], Any]) -> str:
    return str(getattr(kernel, "__name__", type(kernel).__name__))
