"""A picture as a file: a vector graphic with a description that can be read aloud, or what matplotlib writes.

A picture as HTML: a table for each sum, with the bits of the register in cells that are named.

What stands in a cell is aligned over all tables of a section, because each column of the layout takes one character.
A screen reader finds rows by the names of terms, and columns by the parts of the register. Names of styles begin with
``mmaproof``, so that a fragment can stand in a notebook or in any page.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import write_atomically
from mmaproof.explain.blocks import Block, Entry, Picture, Row, RowKind
from mmaproof.explain.lines import (
    UNICODE,
    Column,
    Layout,
    Line,
    Role,
    Span,
    cell,
    fit_together,
    hidden_of,
    legend,
    picture_lines,
    plain,
    ruler,
    values_below,
)

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


HTML_WIDTH = 110
"""Characters of a line of bits with what stands beside them; a narrower window scrolls the table."""

REGIONS = {"carry": "carry bits", "integer": "integer bits", "fraction": "fraction bits", "lost": "lost"}


def _scheme(index: int) -> str:
    faces = ("#ffffff", "#0d1117"), ("#d0d7de", "#3d444d"), ("#f6f8fa", "#161b22")
    named = {**{f"mp-{role}": pair[index] for role, pair in COLOURS.items()}}
    named |= {f"mp-{name}": pair[index] for name, pair in zip(("face", "rule", "shade"), faces, strict=True)}
    return "".join(f"--{name}:{colour};" for name, colour in named.items())


_LIGHT, _DARK = (f".mmaproof{{{_scheme(i)}color-scheme:{word}}}" for i, word in enumerate(("light", "dark")))
_BOLD = ",".join(f".mp-{role}" for role in BOLD)
STYLE = (
    _LIGHT
    + f"@media (prefers-color-scheme:dark){{{_DARK}}}"
    # notebooks and documentation sites that choose for themselves
    + _LIGHT.replace(".mmaproof{", "[data-jp-theme-light=true] .mmaproof,[data-md-color-scheme=default] .mmaproof{")
    + _DARK.replace(".mmaproof{", "[data-jp-theme-light=false] .mmaproof,[data-md-color-scheme=slate] .mmaproof{")
    + f"@media print{{{_LIGHT}}}"
    + ".mmaproof{color:var(--mp-plain);background:var(--mp-face)}"
    + "".join(f".mp-{role}{{color:var(--mp-{role})}}" for role in COLOURS)
    + f"{_BOLD}{{font-weight:bold}}"
    + """
.mmaproof figure{margin:0 0 1em}
.mp-scroll{overflow-x:auto;max-width:100%;position:relative}
.mp-scroll:focus-visible{outline:2px solid var(--mp-value)}
.mmaproof table.mp-bits{border-collapse:collapse;border:0;margin:.3em 0;width:auto;table-layout:auto;display:table}
.mmaproof .mp-bits :is(th,td,tr){border:0;padding:0;background:none;font-weight:normal;text-align:left;
white-space:pre;vertical-align:baseline;line-height:1.4;min-width:0}
.mmaproof .mp-bits :is(td,th){padding:0}
.mmaproof .mp-bits td.mp-beside{padding-left:2ch}
.mmaproof .mp-bits tr.mp-sum :is(th,td){border-top:1px solid var(--mp-rule)}
.mmaproof .mp-bits tbody tr:hover{background:var(--mp-shade)}
.mp-bits,.mp-code{font-family:FONTS;font-size:13px}
.mmaproof .mp-entries :is(td,th)+:is(td,th){padding-left:2ch}
.mp-step{margin:0 0 .8em}
.mp-step p,.mp-closing p{margin:.15em 0}
.mp-step h4{margin:.6em 0 .2em;font-size:1em}
.mp-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media print{.mp-scroll{overflow:visible}.mp-step{break-inside:avoid}.mp-bits{font-size:6.5pt}}
""".replace("FONTS", FONTS)
)
"""The style sheet of pictures. Every rule is about what is inside of an element of the class ``mmaproof``."""


def standalone(fragment: str) -> str:
    """Return a fragment with its style sheet, for a notebook."""
    return f"<div class='mmaproof'><style>{STYLE}</style>{fragment}</div>"


def answer_html(lines: Sequence[str], pictures: Sequence[tuple[str, Picture]]) -> str:
    """Return an answer for a notebook: the lines that say it, the first of them strong, and pictures with names."""
    first, *others = (escape(line) for line in lines if line)
    said = "<br>".join([f"<b>{first}</b>", *others])
    drawn = ((f"<p>{escape(name)}</p>" if name else "") + picture_html(picture) for name, picture in pictures)
    return standalone(f"<p>{said}</p>{''.join(drawn)}")


def picture_html(picture: Picture, width: int = HTML_WIDTH) -> str:
    """Return a picture as a fragment of HTML; ``STYLE`` is its style sheet."""
    layouts: list[Layout] = []
    parts: list[str] = []
    for section in picture.sections:
        found = fit_together(section, width)
        layouts += [layout for layout in found if layout]
        parts += [_step(block, found) for block in section]
    closing = [f'<p class="mp-result">{escape(line)}</p>' for line in picture.closing]
    closing += [f'<p class="mp-faint">{escape(legend(layouts, UNICODE))}</p>'] if layouts else []
    caption = f'<figcaption class="mp-closing">{"".join(closing)}</figcaption>' if closing else ""
    return f'<figure aria-label="aligned bits">{"".join(parts)}{caption}</figure>'


def _step(block: Block, layouts: Sequence[Layout | None]) -> str:
    parts = zip(block.parts, layouts, strict=False)
    return f'<section class="mp-step">{"".join(_block(part, layout) for part, layout in parts)}</section>'


def _block(block: Block, layout: Layout | None) -> str:
    title = f'<h4 class="mp-title">{escape(block.title)}</h4>' if block.title else ""
    found = [title, *(f"<p>{escape(words)}</p>" for words in (block.heading, *block.before) if words)]
    if layout and block.rows:
        found += [_table(block, layout, i) for i in range(len(layout.bands))]
        found += [f'<p class="mp-value mp-code">{escape(words)}</p>' for words in values_below(block, layout)]
    if block.entries:
        found.append(_entries(block.entries))
    for i, words in enumerate(block.after, 1):
        last = i == len(block.after) and not block.inner
        found.append(f'<p class="mp-result">{escape(words)}</p>' if last else f"<p>{escape(words)}</p>")
    return "".join(found)


def _entries(entries: Sequence[Entry]) -> str:
    """Return numbers that are not drawn bit by bit as a table."""
    heads = ("name", "bit pattern", "value", "remark")
    named = "".join(f'<th scope="col"><span class="mp-hidden">{text}</span></th>' for text in heads)
    rows = (
        f'<tr><th scope="row">{escape(e.label)}</th><td class="mp-faint">{escape(e.patterns)}</td>'
        f'<td class="mp-value">{escape(e.value)}</td><td>{escape(e.note)}</td></tr>'
        for e in entries
    )
    return (
        '<div class="mp-scroll" tabindex="0" role="group" aria-label="numbers"><table class="mp-bits mp-entries">'
        f'<caption class="mp-hidden">numbers of this step</caption><thead><tr>{named}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _table(block: Block, layout: Layout, number: int) -> str:
    """Return one band of the bits of a block as a table."""
    band = layout.bands[number]
    regions = [(name, list(columns)) for name, columns in groupby(band, key=lambda c: _region(block, c))]
    ends = (f"2^{band[0].weight}", f"2^{band[-1].weight}")
    caption = f"bits {ends[0]} to {ends[1]}: {block.title or block.heading}"
    # columns are shared with another design, whose register may be wider
    tops = [(name, min(columns[0].weight, block.register_top)) for name, columns in regions]
    heads = ["term", "sign", *(f"{REGIONS[name]}, from 2^{top}" for name, top in tops)]
    last = number == len(layout.bands) - 1
    beside = last * bool(layout.values), last * bool(layout.operands)
    heads += [text for text, shown in zip(("value", "operands"), beside, strict=True) if shown]
    if last and layout.hidden:
        heads.insert(2 + len(regions), "bits that are not drawn")
    named = "".join(f'<th scope="col"><span class="mp-hidden">{escape(text)}</span></th>' for text in heads)
    above = "".join(
        f'<tr aria-hidden="true" class="mp-faint"><td colspan="{len(heads)}">{escape(plain(line))}</td></tr>'
        for line in ruler(block, layout, band, UNICODE)
    )
    rows = "".join(_row(block, row, layout, regions, last) for row in block.rows)
    return (
        '<div class="mp-scroll" tabindex="0" role="group" aria-label="bits"><table class="mp-bits">'
        f'<caption class="mp-hidden">{escape(caption)}</caption>'
        f"<thead><tr>{named}</tr></thead><tbody>{above}{rows}</tbody></table></div>"
    )


def _region(block: Block, column: Column) -> str:
    """Return the part of the register that a column belongs to; a mark belongs to the bit on its left."""
    if column.weight < block.cut:
        return "lost"
    if column.weight > block.integer_top:
        return "carry"
    return "integer" if column.weight >= block.e_max else "fraction"


def _row(block: Block, row: Row, layout: Layout, regions: Sequence[tuple[str, Sequence[Column]]], last: bool) -> str:
    label = f"{row.label:<{layout.labels}} "
    cells = [f'<th scope="row">{escape(label)}</th>', f"<td>{escape(row.sign)} </td>"]
    for _, columns in regions:
        spans = [cell(block, row, column, UNICODE) for column in columns]
        cells.append(f"<td>{''.join(_spans(spans))}</td>")
    if last and layout.hidden:
        cells.append(f'<td class="mp-lost">{escape(hidden_of(row, layout, UNICODE))}</td>')
    if last and layout.values:
        cells.append(f'<td class="mp-beside mp-value">{escape(f"{row.value:<{layout.values}}")}</td>')
    if last and layout.operands:
        cells.append(f'<td class="mp-beside mp-faint">{escape(row.operands)}</td>')
    sums = ' class="mp-sum"' if row.kind is RowKind.SUM else ""
    return f"<tr{sums}>{''.join(cells)}</tr>"


def _spans(spans: Sequence[Span]) -> Iterator[str]:
    """Give runs of characters of one role; what is not a bit is not read aloud."""
    for role, some in groupby(spans, key=lambda span: span.role):
        text = "".join(span.text for span in some)
        silent = ' aria-hidden="true"' if role is Role.FAINT or text.isspace() else ""
        yield (
            escape(text)
            if role is Role.PLAIN and not silent
            else f'<span class="mp-{role}"{silent}>{escape(text)}</span>'
        )
