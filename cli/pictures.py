"""The files that a picture can be written to: a page (`--html`), a vector graphic (`--svg`), a figure (`--figure`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mmaproof.explain import Picture

Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the answer with its picture as one HTML file."),
]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write the picture as a vector graphic (SVG).")]
Figure = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE", help="Write the picture as a .svg, .pdf or .png file."),
]


@dataclass(frozen=True, slots=True)
class PictureFiles:
    """The files that were asked for."""

    html: Path | None
    svg: Path | None
    figure: Path | None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, as ``make_way`` takes them."""
        return tuple(x for x in (self.html, self.svg, self.figure) if x is not None)

    def require(self) -> None:
        """Raise InputError if one of them could not be written. This is asked before any work."""
        from mmaproof.designs.errors import InputError
        from mmaproof.designs.files import require_writable
        from mmaproof.explain.figure import require_figure

        if self.figure is not None:
            require_figure(self.figure)
        if self.svg is not None and self.svg.suffix.lower() != ".svg":
            raise InputError(f"--svg {self.svg}: the name of the file ends in .svg; --figure writes .pdf and .png, too")
        for path in self.paths:
            require_writable(path)

    def write(self, record: dict[str, Any], pictures: Callable[[], Sequence[tuple[str, Picture]]]) -> None:
        """Write the answer ``record`` (as ``--json`` has it) and its pictures, each with a name.

        Every file is written: where nothing is drawn, it says the answer.
        """
        if not self.paths:
            return
        from mmaproof.designs.files import write_atomically
        from mmaproof.explain import Picture, joined
        from mmaproof.explain.figure import write_figure
        from mmaproof.explain.reports.answers import answer_html, answer_title
        from mmaproof.explain.reports.page import document
        from mmaproof.explain.reports.record import Record
        from mmaproof.rtl.meant import named_design

        drawn, held = pictures(), Record(record, "the answer")
        title = answer_title(held)
        if self.html is not None:
            write_atomically(self.html, document(title, answer_html(held, named_design, drawn)))
        whole = joined(drawn) if drawn else Picture((), (title,))
        for path in (self.svg, self.figure):
            if path is not None:
                write_figure(path, whole, title)


def moved(old: str, new: str) -> Callable[[Path | bool | None], None]:
    """Return what refuses an option that has another name here."""

    def refuse(given: Path | bool | None) -> None:
        if given:
            from mmaproof.designs.errors import InputError

            raise InputError(f"{old}: the figure of this command is written with {new} FILE now")

    return refuse
