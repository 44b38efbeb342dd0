"""The mark of assumed rows: what a command says of designs that no source describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mmaproof.cli.output import say_wrapped

if TYPE_CHECKING:
    from mmaproof.designs.design import Design

MARK = "assumed"
"""The word that marks an assumed row in tables."""
FEW = 4
"""Up to so many assumed rows are named; more are counted by architecture."""


def assumed_names(designs: Iterable[Design]) -> list[str]:
    """Return the names of the designs whose row of the catalogue is assumed, each once: a field of JSON data."""
    return list(dict.fromkeys(x.name for x in designs if x.is_assumed))


def say_assumed(designs: Iterable[Design], what: str = "this answer", indent: str = "  ") -> None:
    """Print that ``what`` rests on assumed rows, where one of ``designs`` is of such a row."""
    names = assumed_names(designs)
    if not names:
        return
    held = names
    if len(names) > FEW:
        of = dict.fromkeys(x.partition("/")[0] for x in names)
        held = [f"{len(names)} of {', '.join(of)}"]
    rows = "an assumed row" if len(names) == 1 else "assumed rows"
    say_wrapped(f"assumed: {what} rests on {rows}: {', '.join(held)} (no source describes the unit)", indent)
