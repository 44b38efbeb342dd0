"""When a verdict on netlists holds: a proof about a unit whose inputs are tied or held says so in its first line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mmaproof.cli.output import say_wrapped

if TYPE_CHECKING:
    from mmaproof.designs.design import Design

PROVED = ("equal", "equivalent", "holds")
"""Verdicts that hold for all operands, or only when some conditions do."""


def conditions_of(designs: Iterable[Design]) -> list[str]:
    """Return when these designs are what their units compute, each condition once."""
    return list(dict.fromkeys(text for x in designs for text in x.conditions))


def with_conditions(claim: str, when: Sequence[str]) -> str:
    """Return a claim and when it holds, as text."""
    return claim if not when else f"{claim} when {' and '.join(when)}"


def in_words(verdict: str, when: Sequence[str]) -> str:
    """Return a verdict as the first line of an answer says it: "equal when operands are held for 3 clock cycles"."""
    return with_conditions(verdict, when if verdict in PROVED else ())


def say_conditions(designs: Iterable[Design]) -> None:
    """Print of each design when its unit computes it, if not always."""
    for x in designs:
        if x.conditions:
            say_wrapped(f"{' and '.join(x.conditions)}", f"  what is said of {x.name} holds when ")


def conditional(verdict: str, when: Sequence[str]) -> dict[str, Any]:
    """Return a verdict and its conditions as JSON data; one that has some is another word than one that has none."""
    held = verdict in PROVED and bool(when)
    return {"verdict": f"{verdict}-when" if held else verdict, "when": list(when) if held else []}
