"""Pieces of Markdown: tables, code, and the names of files and anchors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A page of the site: path below docs/, title, text without the title, and how much a search favours it."""

    path: str
    title: str
    text: str
    boost: float = 1

    def markdown(self) -> str:
        """Return the file."""
        head = "" if self.boost == 1 else f"---\nsearch:\n  boost: {self.boost}\n---\n\n"
        return f"{head}# {self.title}\n\n{self.text.strip()}\n"


def escaped(text: str) -> str:
    """Return text whose characters mean themselves in Markdown and in a table; what stands in backticks is code."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        x.replace("|", "\\|") if i % 2 else re.sub(r"([\\*_|<>\[\]])", r"\\\1", x) for i, x in enumerate(pieces)
    )


def code(text: str) -> str:
    """Return text in the type of code. It may stand in a table."""
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown; nothing if it has no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(headings)} |", "|---" * len(headings) + "|", *lines]) + "\n" if lines else ""


def fenced(text: str, language: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def slug(name: str) -> str:
    """Return the name of a file, or of an anchor, for the name of a design or of something else."""
    return re.sub(r"[^a-z0-9.-]+", "-", name.lower()).strip("-")


def anchored(level: int, heading: str, anchor: str) -> str:
    """Return a heading with an anchor of its own, so that links to it do not depend on how the text is spelled."""
    return f"{'#' * level} {escaped(heading)} {{ #{anchor} }}\n"


def anchor(name: str) -> str:
    """Return the anchor of a name."""
    return slug(name).replace(".", "-")
