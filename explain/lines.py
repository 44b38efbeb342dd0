"""A picture as lines of text in a fixed width: every character has a role, and no role says what its text does not.

A terminal and a vector graphic draw these lines; each has styles of its own for the roles.

Drawn blocks have one column for each weight. The columns are folded, hidden or broken into bands if space is short.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from mmaproof.explain.blocks import Block, Entry, Picture, Row, RowKind


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


class Role(StrEnum):
    """What some characters of a line are."""

    PLAIN = "plain"
    TITLE = "title"
    FAINT = "faint"
    VALUE = "value"
    RESULT = "result"
    ONE = "one"
    CARRY = "carry"
    LOST = "lost"


class Span(NamedTuple):
    """Characters of one role."""

    text: str
    role: Role = Role.PLAIN


Line = tuple[Span, ...]


class Glyphs(NamedTuple):
    """Characters of the drawing: no bit, the cut, folded columns, and the rule above the sum."""

    outside: str
    cut: str
    fold: str
    rule: str


UNICODE = Glyphs("·", "┆", "⋯", "─")
ASCII = Glyphs("_", "|", "~", "-")


def plain(line: Line) -> str:
    """Return the text of a line."""
    return "".join(span.text for span in line)


def picture_lines(picture: Picture, width: int, glyphs: Glyphs = UNICODE) -> Iterator[Line]:
    """Give the whole picture, what stands in one section below each other."""
    layouts: list[Layout] = []
    for number, section in enumerate(picture.sections):
        found = fit_together(section, width)
        layouts += [layout for layout in found if layout]
        for i, block in enumerate(section):
            yield from ([()] if number or i else [])
            yield from parts_lines(block, found, width, glyphs)
    yield from closing_lines(picture, layouts, width, glyphs)


def closing_lines(picture: Picture, layouts: Sequence[Layout], width: int, glyphs: Glyphs) -> Iterator[Line]:
    """Give the lines that close a picture, and the legend where bits are drawn; an empty line before them."""
    closing = [line for words in picture.closing for line in wrapped(words, width, Role.RESULT)]
    closing += wrapped(legend(layouts, glyphs), width, Role.FAINT) if layouts else []
    yield from ([(), *closing] if closing else [])


def legend(layouts: Sequence[Layout], glyphs: Glyphs) -> str:
    """Say what the characters of the drawn bits mean."""
    text = f"0 and 1 are bits of a significand, {glyphs.outside} is outside it; right of {glyphs.cut} is what is lost"
    if any(column.folded for layout in layouts for band in layout.bands for column in band):
        text += f"; {glyphs.fold}n{glyphs.fold}: n columns without a 1"
    return text + (f"; {glyphs.fold}+n bits: N more" if any(layout.hidden for layout in layouts) else "")


def block_lines(block: Block, layout: Layout | None, width: int, glyphs: Glyphs, head_lines: int = 0) -> Iterator[Line]:
    """Give the lines of a block, its bits after at least ``head_lines``; a block without rows needs no layout."""
    head = head_of(block, width)
    yield from head
    yield from [()] * (head_lines - len(head))
    if layout and block.rows:
        for band in layout.bands:
            yield from ruler(block, layout, band, glyphs)
            for row in block.rows:
                if row.kind is RowKind.SUM:
                    yield (
                        Span(" " * layout.offset),
                        Span(glyphs.rule * sum(c.width for c in band), Role.FAINT),
                    )
                yield _row_line(block, row, layout, band, glyphs)
        for words in values_below(block, layout):
            yield from wrapped(words, width, Role.VALUE)
    yield from _entries(block.entries, width)
    for i, words in enumerate(block.after, 1):
        yield from wrapped(words, width, Role.RESULT if i == len(block.after) and not block.inner else Role.PLAIN)


def values_below(block: Block, layout: Layout) -> list[str]:
    """Return the values of rows beside whose bits there is no place for them."""
    if layout.values:
        return []
    rows = (row for row in block.rows if row.kind is not RowKind.RESULT and row.value)
    return [" = ".join(x for x in (row.label, row.operands, row.value) if x) for row in rows]


def parts_lines(
    block: Block, layouts: Sequence[Layout | None], width: int, glyphs: Glyphs, head_lines: int = 0
) -> Iterator[Line]:
    """Give the lines of a step, its sums apart."""
    for i, (part, layout) in enumerate(zip(block.parts, layouts, strict=False)):
        yield from ([()] if i else [])
        yield from block_lines(part, layout, width, glyphs, 0 if i else head_lines)


def head_of(block: Block, width: int) -> list[Line]:
    """Return the lines above the bits of a block."""
    title = wrapped(block.title, width, Role.TITLE)
    return title + [line for words in (block.heading, *block.before) for line in wrapped(words, width)]


GRID = 6
"""Numbers that are listed one below the other, even without remarks."""


def _entries(entries: Sequence[Entry], width: int) -> Iterator[Line]:
    """Give one line for each number, its remark after it or below it; many without remarks are set in columns."""
    if not entries:
        return
    label, patterns, value = (max(len(x) for x in texts) for texts in zip(*map(_fields, entries), strict=True))
    notes = any(e.note for e in entries)
    beside = label + patterns + value + 4 <= width
    cells: list[Line] = []
    for e in entries:
        shown = f"{e.value:<{value}}" if beside else e.value
        cells.append(
            (Span(f"{e.label:<{label}}  "), Span(f"{e.patterns:<{patterns}}  ", Role.FAINT), Span(shown, Role.VALUE))
        )
    if not beside:
        words = (x for e in entries for x in (f"{e.label} = {e.patterns} = {e.value}", f"  {e.note}") if x.strip())
        yield from (line for x in words for line in wrapped(x, width))
    elif notes:
        for line, e in zip(cells, entries, strict=True):
            fits = len(plain(line)) + 2 + len(e.note) <= width
            yield stripped((*line, Span(f"  {e.note}")) if fits else line)
            yield from [] if fits else wrapped(e.note, width, indent=label + 2)
    else:
        side = max((width + 3) // (len(plain(cells[0])) + 3), 1) if len(cells) > GRID else 1
        height = -(-len(cells) // side)
        for i in range(height):
            row = cells[i::height]
            yield stripped((*row[0], *(span for cell in row[1:] for span in (Span("   "), *cell))))


def _fields(e: Entry) -> tuple[str, str, str]:
    return e.label, e.patterns, e.value


def stripped(line: Line) -> Line:
    """Return a line without the blanks at its end."""
    spans = list(line)
    while spans and not spans[-1].text.strip():
        spans.pop()
    return (*spans[:-1], Span(spans[-1].text.rstrip(), spans[-1].role)) if spans else ()


def _row_line(block: Block, row: Row, layout: Layout, band: Sequence[Column], glyphs: Glyphs) -> Line:
    line = [Span(f"{row.label:<{layout.labels}} {row.sign} "), *(cell(block, row, c, glyphs) for c in band)]
    if band is layout.bands[-1]:
        line.append(Span(f"{hidden_of(row, layout, glyphs):<{layout.hidden}}", Role.LOST))
    if layout.values:
        line.append(Span(f"  {row.value:<{layout.values}}", Role.VALUE))
    if layout.operands:
        line.append(Span(f"  {row.operands}", Role.FAINT))
    return stripped(tuple(line))


def hidden_of(row: Row, layout: Layout, glyphs: Glyphs) -> str:
    """Say how many bits of a row are not drawn."""
    hidden = count(row, layout.lowest)
    return glyphs.fold + hidden if hidden else ""


def cell(block: Block, row: Row, column: Column, glyphs: Glyphs) -> Span:
    """Return the characters of a row in a column."""
    if column.mark is not Mark.BITS:
        here = {Mark.POINT: (block.e_max, "."), Mark.CUT: (row.cut, glyphs.cut)}.get(column.mark)
        return Span(here[1] if here and here[0] == column.weight else " ", Role.ONE)
    bit, kept = row.bit(column.weight), row.is_kept(column.weight)
    if column.weight > max(block.register_top, row.top) or (not kept and row.kind is not RowKind.TERM):
        return Span(" " * column.width)
    if column.folded:
        return Span(glyphs.fold * column.width, Role.FAINT)
    if bit is None:
        return Span(glyphs.outside, Role.FAINT)
    if not kept or row.kind is RowKind.DROPPED:
        return Span(str(bit), Role.LOST)
    carry = column.weight > block.integer_top and row.kind is RowKind.SUM
    return Span(str(bit), Role.PLAIN if not bit else Role.CARRY if carry else Role.ONE)


def ruler(block: Block, layout: Layout, band: Sequence[Column], glyphs: Glyphs) -> Iterator[Line]:
    """Give a line that names the parts of the register, and one with weights and the sizes of folds."""
    places = list(zip(band, itertools.accumulate((c.width for c in band), initial=layout.offset), strict=False))
    at = {column.weight: x for column, x in places if column.mark is Mark.BITS}
    cut = next((x for c, x in places if c == Column(block.cut, Mark.CUT) and block.fraction), layout.width)
    names, weights = ([" "] * layout.width for _ in range(2))

    def put(line: list[str], start: int, text: str, end: int = layout.width) -> bool:
        around = "".join(line[max(start - 1, 0) : start + len(text) + 1])
        free = start >= 0 and start + len(text) <= end and not around.strip(f"{glyphs.cut} ")
        if free:
            line[start : start + len(text)] = text
        return free

    if cut < layout.width:
        names[cut] = weights[cut] = glyphs.cut
        if min(at) < block.cut or layout.hidden:
            put(names, cut + 1, "lost")
    for column, x in places:
        if column.folded:
            put(weights, x, f"{glyphs.fold}{column.folded}{glyphs.fold}")
    for weight in (block.e_max, block.cut, min(at)):
        start = at.get(weight, -1) + 1 - len(f"2^{weight}")
        if not start <= cut < start + len(f"2^{weight}"):
            put(weights, start, f"2^{weight}")
    if carries := [x for weight, x in at.items() if block.integer_top < weight <= block.register_top]:
        put(names, max(carries) + 1 - len("carry"), "carry")
    if block.integer_top in at:
        put(names, at[block.integer_top], "int")
    starts = [x for weight, x in at.items() if block.cut <= weight < block.e_max][:3]
    texts = (f"{block.fraction} fraction bits", "fraction bits", "fraction", "F")
    any(put(names, x, text, cut) for text in texts for x in starts)
    lines = (names, weights) if block.fraction else (weights,)
    yield from ((Span("".join(line).rstrip(), Role.FAINT),) for line in lines)


def wrapped(words: str, width: int, role: Role = Role.PLAIN, indent: int = 0) -> list[Line]:
    """Return lines of words; an exact value stays in one piece where it can."""
    first = " " * indent
    lines = textwrap.wrap(
        words.replace(" * 2^", "\xa0*\xa02^"), width, initial_indent=first, subsequent_indent=first or "  "
    )
    return [(Span(line.replace("\xa0", " "), role),) for line in lines]
