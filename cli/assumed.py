"""What a command says that its answer rests on: rows that are assumed, and open points that change a result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mmaproof.cli.output import assumed_names, say

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.smt.open_points import OpenPoints

MARK = "assumed"
"""The word that marks an assumed row in tables."""
FEW = 4
"""Up to N assumed rows are named; more are counted by architecture."""


def say_assumed(designs: Iterable[Design], what: str = "this answer", indent: str = "  ") -> None:
    """Print, in one line, that ``what`` rests on assumed rows, where one of ``designs`` is of such a row."""
    assumed = [x for x in designs if x.is_assumed]
    names = assumed_names(assumed)
    if not names:
        return
    held = names
    if len(names) > FEW:
        of = dict.fromkeys(x.partition("/")[0] for x in names)
        held = [f"{len(names)} of {', '.join(of)}"]
    rows = "an assumed row" if len(names) == 1 else "assumed rows"
    reasons = dict.fromkeys(x.evidence.whole.source if x.evidence.whole else "" for x in assumed)
    why = "; ".join(reason or "no source describes the unit" for reason in reasons)
    say(f"{indent}assumed: {what} rests on {rows}: {', '.join(held)} ({why})")


def say_open_points(found: OpenPoints, of: str = "", indent: str = "  ") -> None:
    """Print, in one line, the open points that change a result, ``of`` a design that is named; nothing if none does."""
    if found:
        say(f"{indent}rests on: {found}{of and f' ({of})'}")
