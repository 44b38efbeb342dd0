"""A picture as styled text for a rich console."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from mmaproof.explain.blocks import Block, Entry, Picture, Row, RowKind
from mmaproof.explain.layout import Column, Layout, Mark, count, fit_together

SIDE_BY_SIDE = 150
"""Width of a console from which on two designs stand side by side."""


class Glyphs(NamedTuple):
    """Characters of the drawing: no bit, the cut, folded columns, and the rule above the sum."""

    outside: str
    cut: str
    fold: str
    rule: str


UNICODE = Glyphs("·", "┆", "⋯", "─")
ASCII = Glyphs("_", "|", "~", "-")

# nothing is said by a style alone
_TITLE, _FAINT, _VALUE, _RESULT = "bold", "dim", "cyan", "bold green"
_ONE, _CARRY, _LOST = "bold", "bold yellow", "dim red"


def block_text(block: Block, layout: Layout | None, width: int, glyphs: Glyphs, head_lines: int = 0) -> Iterator[Text]:
    """Give the lines of a block, its bits after at least ``head_lines``; a block without rows needs no layout."""
    head = _head(block, width)
    yield from head
    yield from [Text()] * (head_lines - len(head))
    if layout and block.rows:
        for band in layout.bands:
            yield from _ruler(block, layout, band, glyphs)
            for row in block.rows:
                if row.kind is RowKind.SUM:
                    yield Text(" " * layout.offset + glyphs.rule * sum(c.width for c in band), _FAINT)
                yield _row_text(block, row, layout, band, glyphs)
        for row in block.rows if not layout.values else ():
            if row.kind is not RowKind.RESULT:
                words = " = ".join(x for x in (row.label, row.operands, row.value) if x)
                yield from _wrapped(words, width, _VALUE) if row.value else ()
    yield from _entries(block.entries, width)
    for i, words in enumerate(block.after, 1):
        yield from _wrapped(words, width, _RESULT if i == len(block.after) and not block.inner else "")


def _parts_text(
    block: Block, layouts: Sequence[Layout | None], width: int, glyphs: Glyphs, head_lines: int
) -> Iterator[Text]:
    """Give the lines of a step, its sums apart."""
    for i, (part, layout) in enumerate(zip(block.parts, layouts, strict=False)):
        yield from ([Text()] if i else [])
        yield from block_text(part, layout, width, glyphs, 0 if i else head_lines)


def _head(block: Block, width: int) -> list[Text]:
    title = _wrapped(block.title, width, _TITLE)
    return title + [line for words in (block.heading, *block.before) for line in _wrapped(words, width)]


GRID = 6
"""Numbers that are listed one below the other, even without remarks."""


def _entries(entries: Sequence[Entry], width: int) -> Iterator[Text]:
    """Give one line for each number, its remark after it or below it; many without remarks are set in columns."""
    if not entries:
        return
    label, patterns, value = (max(len(x) for x in texts) for texts in zip(*map(_fields, entries), strict=True))
    notes = any(e.note for e in entries)
    beside = label + patterns + value + 4 <= width
    cells = []
    for e in entries:
        text = Text(f"{e.label:<{label}}  ")
        text.append(f"{e.patterns:<{patterns}}  ", _FAINT)
        text.append(f"{e.value:<{value}}" if beside else e.value, _VALUE)
        cells.append(text)
    if not beside:
        words = (x for e in entries for x in (f"{e.label} = {e.patterns} = {e.value}", f"  {e.note}") if x.strip())
        yield from (line for x in words for line in _wrapped(x, width))
    elif notes:
        for text, e in zip(cells, entries, strict=True):
            fits = len(text) + 2 + len(e.note) <= width
            line = Text.assemble(text, f"  {e.note}") if fits else text
            line.rstrip()
            yield line
            yield from [] if fits else _wrapped(e.note, width, indent=label + 2)
    else:
        side = max((width + 3) // (len(cells[0]) + 3), 1) if len(cells) > GRID else 1
        height = -(-len(cells) // side)
        for i in range(height):
            line = Text("   ").join(cells[i::height])
            line.rstrip()
            yield line


def _fields(e: Entry) -> tuple[str, str, str]:
    return e.label, e.patterns, e.value


def _row_text(block: Block, row: Row, layout: Layout, band: Sequence[Column], glyphs: Glyphs) -> Text:
    text = Text(f"{row.label:<{layout.labels}} {row.sign} ")
    for column in band:
        text.append(*_cell(block, row, column, glyphs))
    if band is layout.bands[-1]:
        hidden = count(row, layout.lowest)
        text.append(f"{glyphs.fold + hidden if hidden else '':<{layout.hidden}}", _LOST)
    if layout.values:
        text.append(f"  {row.value:<{layout.values}}", _VALUE)
    if layout.operands:
        text.append(f"  {row.operands}", _FAINT)
    text.rstrip()
    return text


def _cell(block: Block, row: Row, column: Column, glyphs: Glyphs) -> tuple[str, str]:
    """Return the characters of a row in a column, and their style."""
    if column.mark is not Mark.BITS:
        here = {Mark.POINT: (block.e_max, "."), Mark.CUT: (row.cut, glyphs.cut)}.get(column.mark)
        return (here[1] if here and here[0] == column.weight else " "), _ONE
    bit, kept = row.bit(column.weight), row.is_kept(column.weight)
    if column.weight > max(block.register_top, row.top) or (not kept and row.kind is not RowKind.TERM):
        return " " * column.width, ""
    if column.folded:
        return glyphs.fold * column.width, _FAINT
    if bit is None:
        return glyphs.outside, _FAINT
    if not kept or row.kind is RowKind.DROPPED:
        return str(bit), _LOST
    carry = column.weight > block.integer_top and row.kind is RowKind.SUM
    return str(bit), "" if not bit else _CARRY if carry else _ONE


def _ruler(block: Block, layout: Layout, band: Sequence[Column], glyphs: Glyphs) -> Iterator[Text]:
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
    yield from (Text("".join(line).rstrip(), _FAINT) for line in ((names, weights) if block.fraction else (weights,)))


def _wrapped(words: str, width: int, style: str = "", indent: int = 0) -> list[Text]:
    """Return lines of words; an exact value stays in one piece where it can."""
    first = " " * indent
    lines = textwrap.wrap(
        words.replace(" * 2^", "\xa0*\xa02^"), width, initial_indent=first, subsequent_indent=first or "  "
    )
    return [Text(line.replace("\xa0", " "), style) for line in lines]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture for a rich console, drawn when it is printed, as wide as the console.

    Where the console is wide enough the blocks of a section stand side by side.
    """

    picture: Picture

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the sections, the closing lines and a legend."""
        width, glyphs, gap = options.max_width, ASCII if options.ascii_only else UNICODE, 3
        layouts = []
        for number, section in enumerate(self.picture.sections):
            if number:
                yield Text()
            beside = width >= SIDE_BY_SIDE and len(section) > 1
            room = (width - gap * (len(section) - 1)) // len(section) if beside else width
            found = fit_together(section, room)
            layouts += [layout for layout in found if layout]
            head = 0
            if beside and all(block.rows for block in section):
                head = max(len(_head(block, room)) for block in section)
            cells = [Group(*_parts_text(block, found, room, glyphs, head)) for block in section]
            if beside:
                table = Table.grid(padding=(0, gap, 0, 0))
                for _ in cells:
                    table.add_column(width=room)
                table.add_row(*cells)
                yield table
            else:
                for i, cell in enumerate(cells):
                    yield from ([Text()] if i else [])
                    yield cell
        closing = [line for words in self.picture.closing for line in _wrapped(words, width, _RESULT)]
        closing += _wrapped(_legend(layouts, glyphs), width, _FAINT) if layouts else []
        yield from ([Text(), *closing] if closing else [])


def _legend(layouts: Sequence[Layout], glyphs: Glyphs) -> str:
    legend = f"0 and 1 are bits of a significand, {glyphs.outside} is outside it; right of {glyphs.cut} is what is lost"
    if any(column.folded for layout in layouts for band in layout.bands for column in band):
        legend += f"; {glyphs.fold}n{glyphs.fold}: n columns without a 1"
    return legend + (f"; {glyphs.fold}+n bits: so many more" if any(layout.hidden for layout in layouts) else "")
