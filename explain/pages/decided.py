"""A page that says for each architecture what silicon decides, what sources state, and what rests on nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design, Level
from mmaproof.designs.levels import levels_of, load_recorded
from mmaproof.explain.pages.markdown import Page, anchor, code, escaped, table

COLUMNS = {
    "silicon": (Level.RECORDED,),
    "documents and models that agree": (Level.VENDOR, Level.PUBLISHED),
    "nothing": (Level.ASSUMED,),
}
"""What a value may rest on, by the heading of its column."""


def rows_of_the_catalogue() -> dict[str, list[Design]]:
    """Return one design for each row of the catalogue, by architecture, in the order of the catalogue."""
    found: dict[str, dict[str, Design]] = {}
    for design in load_catalogue().designs.values():
        found.setdefault(design.architecture, {}).setdefault(str(design.evidence.row), design)
    return {architecture: list(rows.values()) for architecture, rows in found.items()}


def parameters(design: Design, heading: str) -> list[str]:
    """Return the parameters of a design that rest on what a column says, in the order of the design."""
    return [name for name, x in levels_of(design).items() if x.level in COLUMNS[heading]]


def pages() -> Iterator[Page]:
    """Give the page."""
    text = (
        "A row of the catalogue stands for the instructions that share its arithmetic. A parameter is decided by"
        " silicon if every other value that was tried is wrong on a recorded result of the unit."
        " [What the values rest on](../evidence.md) has the rules, `mmaproof show DESIGN` the source of each value, and"
        " `mmaproof evidence ARCHITECTURE -o FILE` the operands that decide more.\n\n"
    )
    rows = rows_of_the_catalogue()
    text += table(
        ("architecture", "rows", "with recordings", *COLUMNS),
        (
            (
                f"[{escaped(architecture)}](#{anchor(architecture)})",
                str(len(designs)),
                str(sum(str(x.evidence.row) in load_recorded() for x in designs)),
                *(str(sum(len(parameters(x, heading)) for x in designs)) for heading in COLUMNS),
            )
            for architecture, designs in rows.items()
        ),
    )
    for architecture, designs in rows.items():
        text += f"\n## {escaped(architecture)} {{ #{anchor(architecture)} }}\n\n{_table(designs)}"
    yield Page("units/decided.md", "What silicon decides, for each architecture", text)


def _table(designs: Sequence[Design]) -> str:
    """Return the rows of one architecture."""
    return table(
        ("row", *COLUMNS),
        (
            (code(design.name), *(", ".join(map(code, parameters(design, heading))) for heading in COLUMNS))
            for design in designs
        ),
    )
