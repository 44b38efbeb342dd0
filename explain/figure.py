"""A picture as a file: a vector graphic with a description that can be read aloud, or what matplotlib writes."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import write_atomically
from mmaproof.explain.blocks import Picture
from mmaproof.explain.lines import Line, Role, picture_lines, plain

WIDTH = 100
"""Characters of a line, of a picture that is written to a file."""
FONT_SIZE = 13.0
PITCH = 0.602 * FONT_SIZE
"""Width of a character; whatever font is there, each text is fitted to this pitch."""
LEADING = 1.35 * FONT_SIZE
MARGIN = 12.0
FONTS = "'DejaVu Sans Mono', Menlo, Consolas, monospace"

COLOURS = {
    Role.PLAIN: ("#1f2328", "#e6edf3"),
    Role.TITLE: ("#1f2328", "#e6edf3"),
    Role.FAINT: ("#6a737d", "#9198a1"),
    Role.VALUE: ("#0b5394", "#79c0ff"),
    Role.RESULT: ("#116329", "#7ee787"),
    Role.ONE: ("#1f2328", "#ffffff"),
    Role.CARRY: ("#7a4d00", "#f2cc60"),
    Role.LOST: ("#b31d28", "#ff9a94"),
}
"""Each role on a light and on a dark background. The contrast of each is at least 4.5 to 1."""
BOLD = (Role.TITLE, Role.RESULT, Role.ONE, Role.CARRY)


def description(picture: Picture) -> str:
    """Return what a picture shows in sentences: each row with its value, and the lines around the rows."""
    return "\n".join(_sentences(picture))


def _sentences(picture: Picture) -> Iterator[str]:
    for block in (part for section in picture.sections for first in section for part in first.parts):
        yield from (x for x in (block.title, block.heading, *block.before) if x)
        for row in block.rows:
            yield " = ".join(x for x in (row.label, row.operands, row.value) if x)
        for entry in block.entries:
            named = " = ".join(x for x in (entry.label, entry.patterns, entry.value) if x)
            yield f"{named}; {entry.note}" if entry.note else named
        yield from block.after
    yield from picture.closing


def picture_svg(picture: Picture, title: str = "", width: int = WIDTH) -> str:
    """Return a picture as the text of an SVG file, of lines of up to ``width`` characters.

    It is dark where the reader's system is. Its title is that of the first block where none is given.
    """
    lines = list(picture_lines(picture, width))
    columns = max((len(plain(line)) for line in lines), default=1)
    wide, high = 2 * MARGIN + columns * PITCH, 2 * MARGIN + len(lines) * LEADING
    named = title or next((b.title or b.heading for section in picture.sections for b in section), "picture")
    told = description(picture)
    # several graphics may stand in one page
    number = f"{zlib.crc32(f'{named}{told}'.encode()):08x}"
    rules = "".join(f".{role}{{fill:{light}}}" for role, (light, _) in COLOURS.items())
    dark = "".join(f".{role}{{fill:{colour}}}" for role, (_, colour) in COLOURS.items())
    bold = ",".join(f".{role}" for role in BOLD)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
            f'viewBox="0 0 {wide:.1f} {high:.1f}" class="mmaproof-svg" role="img" '
            f'aria-labelledby="title-{number} text-{number}">',
            f'<title id="title-{number}">{escape(named)}</title>',
            f'<desc id="text-{number}">{escape(told)}</desc>',
            f"<style>.mmaproof-svg text{{font-family:{FONTS};font-size:{FONT_SIZE}px;white-space:pre}}"
            f".mmaproof-svg :is({bold}){{font-weight:bold}}",
            f"{_within(rules)}@media (prefers-color-scheme:dark){{.mmaproof-svg{{background:#0d1117}}{_within(dark)}}}"
            f"@media print{{.mmaproof-svg{{background:none}}{_within(rules)}}}</style>",
            *(_text(line, MARGIN + LEADING * (i + 0.75)) for i, line in enumerate(lines) if plain(line)),
            "</svg>",
            "",
        ]
    )


def _within(rules: str) -> str:
    """Return rules that hold in such a graphic only, for it may stand in a page of a third party."""
    return "".join(f".mmaproof-svg {rule}}}" for rule in rules.split("}") if rule)


def runs(line: Line) -> Iterator[tuple[int, str, Role]]:
    """Give the pieces of a line that are drawn at once: their place, text and role. Blanks have none."""
    place = 0
    for role, spans in itertools.groupby(line, key=lambda span: span.role):
        text = "".join(span.text for span in spans)
        for blank, characters in itertools.groupby(text, key=str.isspace):
            piece = "".join(characters)
            if not blank:
                yield place, piece, role
            place += len(piece)


def _text(line: Line, y: float) -> str:
    pieces = (
        f'<tspan class="{role}" x="{MARGIN + place * PITCH:.1f}" textLength="{len(text) * PITCH:.1f}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(text)}</tspan>'
        for place, text, role in runs(line)
    )
    return f'<text y="{y:.1f}" aria-hidden="true">{"".join(pieces)}</text>'


SUFFIXES = (".svg", ".pdf", ".png")
"""What a figure may be; all but SVG are drawn by matplotlib."""
POINTS = 8.0
"""Size of the letters in a PDF."""
_PITCH, _LEADING, _MARGIN = 0.602 * POINTS / 72, 1.35 * POINTS / 72, 0.1
"""Inches that a character and a line take, and around all of them."""


def require_figure(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Raise InputError if a figure of this name cannot be drawn: its suffix is unknown, or matplotlib is missing."""
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(f"{path}: cannot be drawn: a figure ends in one of {', '.join(suffixes)}")
    if suffix != ".svg":
        require_matplotlib()


def require_matplotlib() -> None:
    """Raise InputError if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415  (optional)
    except ImportError as error:
        raise InputError(f"matplotlib is not installed ({error}): pip install 'mmaproof[pictures]'") from error


def write_figure(path: Path, picture: Picture, title: str = "") -> None:
    """Write a picture in the form that the suffix of ``path`` names. Raises InputError where that cannot be done."""
    require_figure(path)
    if path.suffix.lower() == ".svg":
        write_atomically(path, picture_svg(picture, title))
    else:
        _draw(path, picture, title)


def _draw(path: Path, picture: Picture, title: str) -> None:
    """Draw the lines of a picture with the fixed-pitch font of matplotlib, which is embedded in a PDF."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (optional)

    lines = list(picture_lines(picture, WIDTH))
    columns = max((len(plain(line)) for line in lines), default=1)
    wide, high = 2 * _MARGIN + columns * _PITCH, 2 * _MARGIN + len(lines) * _LEADING
    figure = Figure(figsize=(wide, high))
    for number, line in enumerate(lines):
        y = 1 - (_MARGIN + (number + 0.75) * _LEADING) / high
        for place, text, role in runs(line):
            weight = "bold" if role in BOLD else "normal"
            x = (_MARGIN + place * _PITCH) / wide
            # a bit pattern or a name is not a formula
            figure.text(
                x,
                y,
                text,
                family="DejaVu Sans Mono",
                size=POINTS,
                weight=weight,
                color=COLOURS[role][0],
                va="baseline",
                parse_math=False,
            )
    told = {"Title": title or "aligned bits"}
    told["Subject" if path.suffix.lower() == ".pdf" else "Description"] = description(picture)
    try:
        figure.savefig(path, format=path.suffix.lower()[1:], dpi=200, metadata=told)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
