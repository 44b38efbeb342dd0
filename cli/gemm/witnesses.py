"""Witnesses of questions about algorithms and units: numbers by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mmaproof.cli.output import say

if TYPE_CHECKING:
    from mmaproof.verification.gemm.verdict import Witness


def witness_record(witness: Witness) -> dict[str, Any]:
    """Return a witness as JSON data."""
    return {
        "shows": witness.shows,
        "numbers": [{"name": n.name, "format": n.fmt.name, "pattern": n.fmt.hex(n.pattern)} for n in witness.numbers],
    }


def print_witnesses(witnesses: Sequence[Witness]) -> None:
    """Print what each witness shows, and its numbers."""
    from mmaproof.explain.values import pattern_value

    for witness in witnesses:
        say(f"  {witness.shows}:")
        width = max(len(n.name) for n in witness.numbers)
        for n in witness.numbers:
            say(f"    {n.name:<{width}} = {n.fmt.hex(n.pattern)} = {pattern_value(n.fmt, n.pattern)}")
