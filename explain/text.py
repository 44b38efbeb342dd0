"""A picture as styled text for a rich console."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from mmaproof.explain.blocks import Picture
from mmaproof.explain.lines import ASCII, UNICODE, Line, Role, closing_lines, fit_together, head_of, parts_lines

SIDE_BY_SIDE = 150
"""Width of a console from which on two designs stand side by side."""

STYLES = {
    Role.PLAIN: "",
    Role.TITLE: "bold",
    Role.FAINT: "dim",
    Role.VALUE: "cyan",
    Role.RESULT: "bold green",
    Role.ONE: "bold",
    Role.CARRY: "bold yellow",
    Role.LOST: "dim red",
}


def _styled(lines: Iterable[Line]) -> list[Text]:
    return [Text.assemble(*((span.text, STYLES[span.role]) for span in line)) for line in lines]


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
                head = max(len(head_of(block, room)) for block in section)
            cells = [Group(*_styled(parts_lines(block, found, room, glyphs, head))) for block in section]
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
        yield from _styled(closing_lines(self.picture, layouts, width, glyphs))
