"""Errors of plans against the size of matrices, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mmaproof.designs.errors import InputError
from mmaproof.verification.gemm.error import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
"""Of the plans, in order; people who see no red or green tell them apart too."""


def write_picture(path: Path, points: Sequence[Point], title: str) -> None:
    """Write the picture of ``draw_errors`` as a file. Raises InputError where it cannot be written."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot()
    draw_errors(axes, points)
    axes.set_title(title, fontsize=9)
    try:
        figure.savefig(path, format=path.suffix.lower()[1:], dpi=150)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def draw_errors(axes: Axes, points: Sequence[Point]) -> None:
    """Draw the largest error against N, both logarithmic, and bounds as dashed lines.

    One line for each plan; an error of zero is left out, and so is a bound where there is none.
    """
    for i, name in enumerate(dict.fromkeys(x.plan.label for x in points)):
        colour, of_one = COLOURS[i % len(COLOURS)], [x for x in points if x.plan.label == name]
        errors = [(x.n, float(x.largest)) for x in of_one if x.largest]
        bounds = [(x.n, float(x.bound.value)) for x in of_one if x.bound is not None and x.bound.value]
        for line, style, label in ((errors, "o-", name), (bounds, "--", f"{name}, bound")):
            if line:
                axes.loglog(*zip(*line, strict=True), style, color=colour, label=label, markersize=4, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("N = K")
    axes.set_ylabel("largest error")
    axes.grid(linewidth=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))  # beside the points, not on them
