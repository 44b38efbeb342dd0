"""A picture as a file: a vector graphic for papers and pages (SVG, PDF), or pixels (PNG)."""

from __future__ import annotations

from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import write_atomically
from mmaproof.explain.blocks import Picture
from mmaproof.explain.lines import picture_lines, plain
from mmaproof.explain.svg import BOLD, COLOURS, WIDTH, description, picture_svg, runs

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
