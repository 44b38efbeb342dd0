"""What results rest on: the open points of a design that change them, for these operands.

Whatever computes results, such as a unit, a matrix product or a plan, is run once more for each reading that is open
(``mmaproof.designs.open_points``). Of many results a sample is looked at, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.open_points import OpenReading, open_readings
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.trace import evaluate

PRODUCTS = 1 << 19
"""Products that are computed for each reading, about: results beyond are left out."""
SHOWN = 4
"""The most readings that a text names."""


@dataclass(frozen=True)
class Change:
    """A reading that changes results: how many, and the first, by number, that no reading before it changes so.

    ``d`` is its d under the reading.
    """

    reading: OpenReading
    count: int
    first: int
    d: int


@dataclass(frozen=True)
class OpenPoints:
    """What some results rest on: ``looked_at`` of ``results`` were computed under every open reading.

    ``changed`` of them differ under some reading. ``changes`` has the readings that are needed for
    every other result that there is, those of the fewest points first. ``d`` has the results that ``changes`` name, by
    number: of a matrix, row * N + column.
    """

    d_format: Format
    results: int
    looked_at: int
    changed: int
    changes: tuple[Change, ...]
    d: dict[int, int]

    def __bool__(self) -> bool:
        """Return whether a result changes."""
        return bool(self.changes)

    def __str__(self) -> str:
        """Return it in one line for a person; nothing if no result that was looked at changes."""
        if not self.changes:
            return ""
        shown = [f"{self._hex(x.d)} if {x.reading.words}" for x in self.changes[:SHOWN]]
        more = [f"and {len(self.changes) - SHOWN} other readings"] * (len(self.changes) > SHOWN)
        first = self.changes[0]
        if self.results == 1:
            return "; ".join([self._hex(self.d[0]), *shown, *more])
        of = f"{self.looked_at:,}" + (f" looked at ({self.results:,} in all)" if self.looked_at < self.results else "")
        each = [f"{x.count:,} if {x.reading.words}" for x in self.changes[:SHOWN]]
        example = f"number {first.first} is {self._hex(self.d[first.first])}, or {shown[0]}"
        return "; ".join([f"{self.changed:,} of {of} results change: {each[0]}", *each[1:], *more, example])

    def _hex(self, d: int) -> str:
        return self.d_format.hex(d)

    def record(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "results": self.results,
            "looked_at": self.looked_at,
            "changed": self.changed,
            "readings": [
                {
                    "points": list(x.reading.points),
                    "settings": x.reading.texts,
                    "words": x.reading.words,
                    "changed": x.count,
                    "first": x.first,
                    "d": self._hex(self.d[x.first]),
                    "d_under_reading": self._hex(x.d),
                }
                for x in self.changes
            ],
        }


def sample(count: int, most: int) -> npt.NDArray[np.intp]:
    """Return which of N things are looked at: all, or ``most`` of them (one at least) at equal distances."""
    return np.unique(np.linspace(0, count - 1, min(count, max(most, 1))).astype(np.intp))


@lru_cache(maxsize=1024)
def result_of(design: Design, operands: Operands) -> int:
    """Return what ``evaluate`` does: whether a witness holds under all readings, and what they change, ask it twice."""
    return evaluate(design, operands)


def open_points(
    design: Design | str, operands: Operands | OperandBatch, *, nan_codes: bool = False, fixed: Collection[str] = ()
) -> OpenPoints:
    """Return the open points on which the results of ``design``, or the design of that name, rest for these operands.

    ``fixed`` are parameters that are not open here. Two NaNs are equal, unless ``nan_codes`` are compared. Raises
    DesignError for an unknown design, OperandError where operands do not fit.

    >>> import mmaproof
    >>> ones = mmaproof.Operands(a=(0x3C00,) * 4, b=(0x3C00,) * 4, c=0)
    >>> mmaproof.open_points("volta/f32.f16.f16.f32", ones).changed
    0
    """
    design = find_design(design)
    fmt = design.d_format
    if isinstance(operands, Operands):
        one = operands

        def computed(x: Design) -> Patterns:
            return np.array([result_of(x, one)], dtype=np.uint64)

        return results_under_readings(design, computed, fmt, nan_codes=nan_codes, fixed=fixed)
    chosen = sample(len(operands), PRODUCTS // max(operands.k, 1))
    rows = operands if len(chosen) == len(operands) else operands.select(chosen)
    return results_under_readings(
        design, lambda x: evaluate_batch(x, rows), fmt, chosen, len(operands), nan_codes=nan_codes, fixed=fixed
    )


def results_under_readings(
    unit: Design,
    computed: Callable[[Design], Patterns],
    d_format: Format,
    numbers: npt.NDArray[np.intp] | None = None,
    results: int | None = None,
    *,
    nan_codes: bool = False,
    fixed: Collection[str] = (),
) -> OpenPoints:
    """Return the open points of ``unit`` on which results rest; ``computed`` returns their patterns with another unit.

    ``numbers`` are those of the results that it returns, of as many ``results`` as there are in all; by default it
    returns all.
    """
    d = computed(unit)
    places = np.arange(len(d)) if numbers is None else numbers
    any_changed, changes = np.zeros(len(d), dtype=bool), []
    others: set[tuple[int, int]] = set()
    for reading in open_readings(unit, fixed):
        other = computed(reading.design)
        changed = ~equal_patterns(d_format, d, other, nan_codes=nan_codes)
        found = np.flatnonzero(changed)
        new = {(int(i), int(other[i])) for i in found[:PRODUCTS]} - others
        if new:
            others |= new
            first = min(i for i, _ in new)
            changes.append(Change(reading, len(found), int(places[first]), int(other[first])))
        any_changed |= changed
    held = {x.first: int(d[int(np.searchsorted(places, x.first))]) for x in changes}
    return OpenPoints(d_format, results or len(d), len(d), int(any_changed.sum()), tuple(changes), held)
