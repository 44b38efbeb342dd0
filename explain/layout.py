"""The columns of drawn blocks: one for each weight. They are folded, hidden or broken into bands if space is short."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from mmaproof.explain.blocks import Block, Row


class Mark(StrEnum):
    """What a column is: bits, or a mark right of the bit it is next to."""

    BITS = "bits"
    SPACE = "space"
    POINT = "point"
    CUT = "cut"


class Column(NamedTuple):
    """The column of the bits worth ``2**weight``; with ``folded``, of N from there down, none of them set."""

    weight: int
    mark: Mark = Mark.BITS
    folded: int = 0

    @property
    def width(self) -> int:
        """Characters it takes."""
        return len(str(self.folded)) + 2 if self.folded else 1


@dataclass(frozen=True, slots=True)
class Layout:
    """How blocks are drawn alike: their columns, in bands one below the other, and what stands beside the bits.

    Bits below the weight ``lowest`` are counted and not drawn; ``hidden`` is the width of the count. ``labels``,
    ``values`` and ``operands`` are widths too, 0 where there is no place for them beside the bits.
    """

    width: int
    bands: tuple[tuple[Column, ...], ...]
    lowest: int
    hidden: int
    labels: int
    values: int
    operands: int

    @property
    def offset(self) -> int:
        """Characters left of the bits: the label and the sign."""
        return self.labels + 3


class Fold(StrEnum):
    """Where runs of columns in which no bit is set become one."""

    NONE = "none"
    LOST = "lost"
    FRACTION = "fraction"


LEAST_FOLD = 8
"""Columns that are worth folding."""


def columns(blocks: Sequence[Block], fold: Fold = Fold.NONE, group: int = 0) -> list[Column]:
    """Return the columns that show every bit that is set, and each mark that some block needs.

    ``group`` sets N kept fraction bits apart.
    """
    rows = [row for block in blocks for row in block.rows]
    ones = {w for row in rows for w in row.ones()}
    high, low = max(*(b.register_top for b in blocks), *ones), min(*(b.cut for b in blocks), *ones)
    point, cut = max(b.e_max for b in blocks), min(b.cut for b in blocks)
    below = {Fold.NONE: low, Fold.LOST: cut, Fold.FRACTION: point}[fold]
    spaces = {b.integer_top + 1 for b in blocks if b.register_top > b.integer_top}
    spaces |= {w for w in range(cut + 1, point) if group and (point - w) % group == 0}
    points, cuts = {b.e_max for b in blocks}, {row.cut for row in rows if row.cut is not None}
    marks = ((Mark.SPACE, spaces - cuts), (Mark.POINT, points), (Mark.CUT, cuts))
    found: list[Column] = []
    for w in range(high, low - 1, -1):
        found.append(Column(w))
        found += [Column(w, mark) for mark, places in marks if w in places]
    result: list[Column] = []
    for empty, run in itertools.groupby(found, key=lambda c: _is_empty(c, below, ones)):
        these = list(run)
        result += _folded(these) if empty else these
    return result


def _is_empty(column: Column, below: int, ones: set[int]) -> bool:
    """Return whether the column can be folded without losing a bit that is set."""
    return column.mark is Mark.SPACE or (
        column.mark is Mark.BITS and column.weight < below and column.weight not in ones
    )


def _folded(run: list[Column]) -> list[Column]:
    """Return bits and spaces with the bits as one column, if they are enough; spaces at the ends stay."""
    bits = [i for i, column in enumerate(run) if column.mark is Mark.BITS]
    if len(bits) < LEAST_FOLD:
        return run
    return [*run[: bits[0]], Column(run[bits[0]].weight, folded=len(bits)), *run[bits[-1] + 1 :]]


# grouping, fold, most characters of lost bits, values and operands beside the bits: the first that fits is taken
_CHOICES = (
    (4, Fold.NONE, None, True, True),
    (4, Fold.NONE, None, True, False),
    (0, Fold.NONE, None, True, True),
    (0, Fold.NONE, None, True, False),
    (4, Fold.LOST, None, True, False),
    (0, Fold.LOST, None, True, False),
    (0, Fold.LOST, 16, True, False),
    (0, Fold.LOST, 8, True, False),
    (4, Fold.FRACTION, None, True, False),
    (0, Fold.FRACTION, None, True, False),
    (0, Fold.FRACTION, 16, True, False),
    (0, Fold.FRACTION, 8, True, False),
    (0, Fold.FRACTION, None, False, False),
    (0, Fold.FRACTION, 16, False, False),
    (0, Fold.FRACTION, 8, False, False),
)


def fit(blocks: Sequence[Block], width: int) -> Layout:
    """Return how to draw ``blocks``, which have rows, in ``width`` characters (40 or more).

    What does not fit is folded, then lost bits are hidden, then values go to lines of their own, then the columns
    are broken into bands.
    """
    rows = [row for block in blocks for row in block.rows]
    labels, value, operand = (max(len(text) for text in texts) for texts in zip(*map(_beside, rows), strict=True))
    for group, fold, lost, values, operands in _CHOICES:
        band, lowest, hidden = _shortened(columns(blocks, fold, group), rows, lost)
        sizes = (value * values, operand * operands)
        if labels + 3 + sum(c.width for c in band) + hidden + sum(x + 2 for x in sizes if x) <= width:
            return Layout(width, (tuple(band),), lowest, hidden, labels, *sizes)
    band, lowest, hidden = _shortened(columns(blocks, Fold.FRACTION), rows, 24)
    # marks stay with the bit they are next to, of which there are at most two
    room = max(width - labels - 3 - hidden - 2, 8)
    bands: list[tuple[Column, ...]] = [()]
    for column in band:
        if column.mark is Mark.BITS and sum(c.width for c in bands[-1]) + column.width > room:
            bands.append(())
        bands[-1] += (column,)
    return Layout(width, tuple(bands), lowest, hidden, labels, 0, 0)


def fit_together(section: Sequence[Block], width: int) -> list[Layout | None]:
    """Return how to draw each part of the blocks of a section; all are drawn alike where that leaves them readable.

    Else parts of one place are drawn alike.
    """
    places = [[b for b in found if b and b.rows] for found in itertools.zip_longest(*(b.parts for b in section))]
    drawn = [block for blocks in places for block in blocks]
    shared = fit(drawn, width) if drawn else None
    if shared and (sum(map(bool, places)) == 1 or (shared.values and len(shared.bands) == 1)):
        return [shared if blocks else None for blocks in places]
    return [fit(blocks, width) if blocks else None for blocks in places]


def _beside(row: Row) -> tuple[str, str, str]:
    return row.label, row.value, row.operands


def _shortened(band: list[Column], rows: Sequence[Row], lost: int | None) -> tuple[list[Column], int, int]:
    """Keep at most ``lost`` characters right of the last cut; return the columns, and lowest and hidden of Layout."""
    cut = max((i for i, column in enumerate(band) if column.mark is Mark.CUT), default=len(band) - 1) + 1
    ends = itertools.accumulate(column.width for column in band[cut:])
    kept = band[:cut] + [c for c, end in zip(band[cut:], ends, strict=True) if lost is None or end <= lost]
    lowest = min(column.weight - max(column.folded - 1, 0) for column in kept)
    longest = max(len(count(row, lowest)) for row in rows)
    return kept, lowest, longest + 1 if longest else 0


def count(row: Row, lowest: int) -> str:
    """Say how many bits of a row lie below ``lowest``."""
    below = lowest - min(row.ones(), default=lowest)
    return f"+{below} bits" if below > 0 else ""
