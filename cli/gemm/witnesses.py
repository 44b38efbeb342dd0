"""Witnesses of questions about algorithms and units: numbers by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmaproof.cli.output import say

if TYPE_CHECKING:
    from mmaproof.explain.answers.products import Numbers
    from mmaproof.verification.gemm.verdict import Witness


def numbers_of(witness: Witness) -> Numbers:
    """Return a witness as a part of an answer."""
    from mmaproof.explain.answers.products import Number, Numbers

    numbers = [Number(name=n.name, format=n.fmt.name, pattern=n.fmt.hex(n.pattern)) for n in witness.numbers]
    return Numbers(shows=witness.shows, numbers=numbers)


def print_witnesses(witnesses: Sequence[Witness]) -> None:
    """Print what each witness shows, and its numbers."""
    from mmaproof.explain.values import pattern_value

    for witness in witnesses:
        say(f"  {witness.shows}:")
        width = max(len(n.name) for n in witness.numbers)
        for n in witness.numbers:
            say(f"    {n.name:<{width}} = {n.fmt.hex(n.pattern)} = {pattern_value(n.fmt, n.pattern)}")
