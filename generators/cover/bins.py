"""Bins: the conditions under which the events of a datapath are hit, collected from the steps of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic

from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word


@dataclass(frozen=True, slots=True)
class Bin:
    """One value of an event. ``of_step`` says that it is about any single step and not about the order of several."""

    event: str
    value: str
    of_step: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        return f"{self.event}: {self.value}"


class Bins(Generic[D, T]):
    """The bins of one run in order. A condition is computed only if it is asked for.

    ``unasked`` says which events of the design have no bins; it is empty if there are none.
    """

    def __init__(self, algebra: Algebra[D, T]) -> None:
        self.algebra, self.unasked = algebra, ""
        self._conditions: dict[Bin, list[tuple[Truth[T], Callable[[], Truth[T]]]]] = {}

    def __iter__(self) -> Iterator[Bin]:
        return iter(self._conditions)

    def add(
        self, event: str, value: str, given: Truth[T], condition: Callable[[], Truth[T]], *, of_step: bool = True
    ) -> None:
        """Add a condition for a bin: it is hit if both truth values hold. A bin may have several conditions."""
        self._conditions.setdefault(Bin(event, value, of_step), []).append((given, condition))

    def hit(self, wanted: Bin) -> Truth[T]:
        """Return whether a bin is hit. A bin that this run does not have is never hit."""
        conditions = self._conditions.get(wanted, [])
        return self.algebra.any_of([self.algebra.all_of([given, holds()]) for given, holds in conditions])


def is_number(algebra: Algebra[D, T], x: Word[D], value: int) -> Truth[T]:
    """Return whether a word has a value that is not negative, which may be too large for it."""
    if value.bit_length() + x.signed > x.width:
        return algebra.truth(False)
    return algebra.is_value(x, value)


def is_nonzero(algebra: Algebra[D, T], x: Word[D]) -> Truth[T]:
    """Return whether a word is not zero."""
    return algebra.negation(algebra.is_value(x, 0))
