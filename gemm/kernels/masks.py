"""Masked operands: which terms of a sum over k survive when two others are huge and cancel.

Let product i be M, product j be -M, and all others one small number, a unit, so small beside M that it is absorbed. As
long as only one of the two huge terms is in a partial sum, this sum forgets every unit. So d counts the units outside
the smallest subtree that has both i and j. The number of leaves of that subtree, for many pairs, determines the tree:
Xie et al., "Revealing Floating-Point Accumulation Orders in Software/Hardware Implementations" (FPRev),
arXiv:2411.00442.

One call answers many pairs. Where the operands' format alone reaches far enough, M comes from a row of a and -M from a
column of b: d[row, column] then belongs to the i of the row and the j of the column. In narrower formats both operands
have to be large, and only the diagonal of d belongs to pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns, array_of, pattern_dtype
from mmaproof.hardware_replay.matrix_targets import Product

HUGE = 100
"""Exponent of M in formats that have it: units of one are absorbed by it even in fp64."""
ABSORBED = 26
"""Bits below the highest that a sum keeps at most: that of the catalogue's unit with the most, and one for rounding."""
_Integers = npt.NDArray[np.int64]


class Multiplies(Protocol):
    """What masks are asked of: a product of matrices of patterns."""

    @property
    def product(self) -> Product:
        """Its shape and formats."""

    def multiply(self, a: Patterns, b: Patterns) -> Patterns:
        """Return the patterns of ``a @ b``."""


class NotMasked(Exception):  # noqa: N818 - says what happened
    """Masks say nothing about this target. The text says why."""


@dataclass(frozen=True)
class Task:
    """Pairs that share i."""

    i: int
    js: tuple[int, ...]


@dataclass(frozen=True)
class Magnitudes:
    """Patterns of the operands of huge products and of units: of a and of b; ``unit`` is the value of a unit."""

    huge: tuple[int, int]
    small: tuple[int, int]
    unit: float
    crossed: bool
    """whether one huge operand is enough, the other being small"""
    room: int
    """how many units a sum may have that M absorbs"""

    @classmethod
    def of(cls, product: Product, within: Format | None = None) -> Magnitudes:
        """Return those for the formats of a product; no product or sum is beyond the numbers of ``within``.

        Raises NotMasked where none reach far enough.
        """
        a, b, d = product.a, product.b, product.d
        if within is not None and within.bits < d.bits and not d.is_integer:
            d = within
        if d.is_integer:
            raise NotMasked("sums of integers are exact (or wrap), in every order: they have no order to be seen")
        if min(a.e_max, b.e_max, d.e_max) >= HUGE:
            one, huge = [f.encode(1.0) for f in (a, b)], [f.encode(2.0**HUGE) for f in (a, b)]
            return cls((huge[0], huge[1]), (one[0], one[1]), 1.0, True, 1 << (HUGE - 53))
        # of the least number that units read as it is: of 8 bits and fewer the least of all
        lows = [f.e_min - (f.fraction_bits if f.bits <= 8 else 0) for f in (a, b)]
        # M and every sum with it are within d; a unit is a multiple of d's least number
        top = min(a.e_max + b.e_max, d.e_max - 1)
        low = max(sum(lows), d.e_min - d.fraction_bits)
        room = top - low - ABSORBED
        if room < 3:
            raise NotMasked(
                f"products of {a.name} and {b.name} in {d.name} reach from 2^{low} to 2^{top}: no unit is absorbed "
                f"beside the largest in a sum of {ABSORBED} bits"
            )
        huge_a, small_a = min(a.e_max, top - lows[1]), max(lows[0], low - b.e_max)
        return cls(
            (a.encode(2.0**huge_a), b.encode(2.0 ** (top - huge_a))),
            (a.encode(2.0**small_a), b.encode(2.0 ** (low - small_a))),
            2.0**low,
            False,
            1 << min(room, 30),
        )


class Masks:
    """Masked products of a target; ``rows`` and ``columns`` are the elements of d that are looked at."""

    def __init__(
        self,
        target: Multiplies,
        rows: Sequence[int] | None = None,
        columns: Sequence[int] | None = None,
        within: Format | None = None,
    ) -> None:
        self.target, self.product = target, target.product
        self.rows = list(range(self.product.m) if rows is None else rows)
        self.columns = list(range(self.product.n) if columns is None else columns)
        self.magnitudes = Magnitudes.of(self.product, within)
        self.pairs = 0
        self.at_once = self._countable()

    def _countable(self) -> int:
        """Return how many units are counted exactly at once: those that every sum of ones, and d, can hold."""
        wanted = min(self.product.k, self.magnitudes.room, 1 << self.product.d.precision)
        while wanted >= 1:
            if all(self._counts_all(slice(at, at + wanted)) for at in self._starts(wanted)):
                return wanted
            wanted //= 2
        raise NotMasked("a single product of powers of two is not returned as it is: masks cannot be counted")

    def _starts(self, length: int) -> Iterable[int]:
        """Return where the parts begin that are tried: the first, the last, and one between."""
        k = self.product.k
        return sorted({0, max(0, k // 2 - length // 2), max(0, k - length)})

    def _counts_all(self, units: slice) -> bool:
        a, b = self._units(units)
        d = self._counts(self.target.multiply(a, b))[np.ix_(self.rows, self.columns)]
        expected = len(range(*units.indices(self.product.k)))
        return bool((d == expected).all())

    def _units(self, units: slice) -> tuple[Patterns, Patterns]:
        """Return operands whose products are units at these k, and zeros elsewhere."""
        m, n, k = self.product.m, self.product.n, self.product.k
        small_a, small_b = self.magnitudes.small
        a = np.full((m, k), small_a, dtype=pattern_dtype(self.product.a))
        b = np.zeros((k, n), dtype=pattern_dtype(self.product.b))
        b[units] = small_b
        return a, b

    def _counts(self, d: Patterns) -> _Integers:
        """Return d in units, -1 where it is not a number of them."""
        values = array_of(d, self.product.d).astype(np.float64) / self.magnitudes.unit
        whole = np.isfinite(values) & (values >= 0) & (values == np.rint(values)) & (values < 2.0**31)
        return np.where(whole, np.where(whole, values, 0), -1).astype(np.int64)

    def sizes(self, tasks: Sequence[Task]) -> list[_Integers]:
        """Return for each pair of each task the number of leaves of the smallest subtree that has both.

        Raises NotMasked where an answer is not a count of units.
        """
        self.pairs += sum(len(task.js) for task in tasks)
        lost = [np.full(len(task.js), 2, dtype=np.int64) for task in tasks]
        for at in range(0, self.product.k, self.at_once):
            units = slice(at, min(at + self.at_once, self.product.k))
            for n, (survived, task) in enumerate(zip(self._survivors(tasks, units), tasks, strict=True)):
                js = np.array(task.js)
                here = units.stop - units.start
                others = here - (units.start <= task.i < units.stop) - ((js >= units.start) & (js < units.stop))
                wrong = (survived < 0) | (survived > others)
                if wrong.any():
                    j = int(js[wrong.argmax()])
                    raise NotMasked(
                        f"with product {task.i} huge, product {j} its opposite and {int(others[wrong.argmax()])} units "
                        "d is not a number of units that survived"
                    )
                lost[n] += others - survived
        return lost

    def _survivors(self, tasks: Sequence[Task], units: slice) -> list[_Integers]:
        """Return for each pair of each task how many of the units at ``units`` are in d."""
        found = [np.empty(len(task.js), dtype=np.int64) for task in tasks]
        places = [(t, x) for t, task in enumerate(tasks) for x in range(len(task.js))]
        by_rows = self.magnitudes.crossed and len(self.rows) > len(self.columns)
        width = len(self.rows if by_rows else self.columns)
        height = len(self.columns if by_rows else self.rows)
        if not self.magnitudes.crossed:
            width = min(width, height)
        while places:
            taken: list[tuple[int, int]] = []
            of_task: dict[int, int] = {}
            for place in places[:width]:
                if self.magnitudes.crossed and place[0] not in of_task and len(of_task) == height:
                    break
                of_task.setdefault(place[0], len(of_task))
                taken.append(place)
            places = places[len(taken) :]
            pairs = [(tasks[t].i, tasks[t].js[x]) for t, x in taken]
            across = [of_task[t] if self.magnitudes.crossed else n for n, (t, _) in enumerate(taken)]
            counted = self._ask(pairs, across, units, by_rows)
            for (t, x), count in zip(taken, counted, strict=True):
                found[t][x] = count
        return found

    def _ask(self, pairs: list[tuple[int, int]], across: list[int], units: slice, by_rows: bool) -> _Integers:
        """Return the counts of some pairs, asked in one call.

        Pair n has its j in column n and its i in row ``across[n]`` (the other way round with ``by_rows``).
        """
        small, huge = self.magnitudes.small, self.magnitudes.huge
        a, b = self._units(units)
        i, j = (np.array(x) for x in zip(*pairs, strict=True))
        along = np.arange(len(pairs))
        rows = np.array(self.rows)[along if by_rows else across]
        columns = np.array(self.columns)[across if by_rows else along]
        if self.magnitudes.crossed and by_rows:
            a[:, :], b[:, :] = 0, small[1]
            a[:, units] = small[0]
            a[rows, i], a[rows, j] = small[0], huge[0] | 1 << self.product.a.sign_position
            b[i, columns] = huge[1]
        elif self.magnitudes.crossed:
            a[rows, i] = huge[0]
            b[i, columns], b[j, columns] = small[1], huge[1] | 1 << self.product.b.sign_position
        else:
            a[rows, i], a[rows, j] = huge[0], huge[0] | 1 << self.product.a.sign_position
            b[i, columns], b[j, columns] = huge[1], huge[1]
        counts: _Integers = self._counts(self.target.multiply(a, b))[rows, columns]
        return counts

    def depends_on_place(self, task: Task) -> list[_Integers]:
        """Return for each pair what every element of d counts, when all of them are asked about it."""
        found = []
        small, huge = self.magnitudes.small, self.magnitudes.huge
        units = slice(0, self.at_once)
        for j in task.js:
            a, b = self._units(units)
            a[:, task.i], a[:, j] = huge[0], (small[0] if self.magnitudes.crossed else huge[0])
            if self.magnitudes.crossed:
                b[task.i], b[j] = small[1], huge[1]
            else:
                b[[task.i, j]] = huge[1]
            a[:, j] |= a.dtype.type(1 << self.product.a.sign_position)
            found.append(self._counts(self.target.multiply(a, b)))
        return found
