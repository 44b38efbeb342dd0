"""A matrix of comparisons as a picture: one square for each group of comparable designs that has several classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mmaproof.cli.matrix_text import letters

if TYPE_CHECKING:
    from mmaproof.verification.classes import Class, Group

COLOURS = {"equivalent": "#4477aa", "different": "#ee9955", "unknown": "#bbbbbb"}
"""verdict -> colour; people who do not see red or green can tell them apart too"""
WORDS = {
    "equivalent": "same bits for all operands, proved",
    "different": "a vector separates them",
    "unknown": "unknown",
}
WIDEST, LEGEND, CELL, LETTER, HEAD, GAP = 18.0, 6.5, 0.24, 0.07, 0.6, 0.35
"""Inches: the picture, the legend, a cell, a letter in the name of a row, title and columns, gaps between squares."""


def require_pictures(path: Path) -> None:
    """Raise InputError if no picture can be drawn, or none with the suffix of ``path``."""
    from mmaproof.explain.figure import require_figure, require_matplotlib

    require_figure(path)
    require_matplotlib()


def write_picture(path: Path, groups: Sequence[Group]) -> None:
    """Draw the groups that have several classes. Draw nothing if there is none. Raises InputError."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    from mmaproof.designs.errors import InputError

    labels = LETTER * max(len(_row_name(c, "A")) for g in groups for c in g.classes)
    places, width, height = _places([len(g.classes) for g in groups], labels)
    figure = Figure(figsize=(width, height))
    verdicts = list(COLOURS)
    for group, (x, y) in zip(groups, places, strict=True):
        classes, side = group.classes, CELL * len(group.classes)
        axes = figure.add_axes(((x + labels) / width, 1 - (y + HEAD + side) / height, side / width, side / height))
        cells = [[verdicts.index("equivalent" if a is b else group.verdict(a, b)) for b in classes] for a in classes]
        axes.imshow(cells, cmap=ListedColormap(list(COLOURS.values())), vmin=0, vmax=len(verdicts) - 1, aspect="auto")
        names = [letters(i) for i in range(len(classes))]
        axes.set_xticks(range(len(classes)), names)
        axes.set_yticks(range(len(classes)), [_row_name(c, n) for n, c in zip(names, classes, strict=True)])
        axes.tick_params(length=0, labelsize=8, top=False, labeltop=True, bottom=False, labelbottom=False)
        axes.set_title(str(group.signature), fontsize=9, loc="right")
        axes.set_xticks([i + 0.5 for i in range(len(classes) - 1)], minor=True)
        axes.set_yticks([i + 0.5 for i in range(len(classes) - 1)], minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
    figure.legend(
        [Patch(color=c) for c in COLOURS.values()], list(WORDS.values()), loc="lower left", fontsize=9, ncols=3
    )
    try:
        figure.savefig(path, format=path.suffix.lower()[1:], dpi=150)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _places(sizes: Sequence[int], labels: float) -> tuple[list[tuple[float, float]], float, float]:
    """Return where squares of N cells begin, row by row from the top left, and the width and height of all."""
    places: list[tuple[float, float]] = []
    x = y = row = 0.0
    width = LEGEND
    for size in sizes:
        if x and x + labels + CELL * size > WIDEST:
            x, y, row = 0.0, y + row + GAP, 0.0
        places.append((x, y))
        x += labels + CELL * size + GAP
        row, width = max(row, HEAD + CELL * size), max(width, x)
    return places, width, y + row + 2 * GAP


def _row_name(members: Class, letter: str) -> str:
    more = f" + {len(members) - 1}" if len(members) > 1 else ""
    return f"{members[0].name}{more}  {letter}"
