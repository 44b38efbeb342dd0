"""How the largest exponents of two runs differ, and what it means then that a word of one is at most one of the other.

Words count units of the last bit of their sums, which are as far apart as the exponents. A word of the run whose units
are smaller, the *lower* one, is compared after it was rounded to units of the other: up if it is the smaller word, and
down if it is the larger one. So no bit is lost that the order depends on.
"""

from __future__ import annotations

from dataclasses import dataclass

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word

MORE_BITS = 3
"""Bits of a surplus more than those of the words that it is of."""


@dataclass(frozen=True)
class Case:
    """The first run has the same exponent as the second one, or they are one, or two and more, apart."""

    apart: int
    """0, 1, or 2 for two and more"""
    rises: bool = True
    """whether the second run has the higher exponent"""

    @property
    def turned(self) -> Case:
        """The same case, the runs exchanged."""
        return Case(self.apart, not self.rises)

    def at(self, first: Word[FNode], second: Word[FNode]) -> Truth[FNode]:
        """Return whether exponents are as in this case."""
        low, high = (first, second) if self.rises else (second, first)
        if not self.apart:
            return low == high
        return high == low + 1 if self.apart == 1 else low + 1 < high

    def places(self, first: Word[FNode], second: Word[FNode]) -> Word[FNode]:
        """Return how far apart the exponents are, if they are as in this case."""
        apart = second - first if self.rises else first - second
        return apart.narrow_to_unsigned(apart.width - 1)

    def at_most(self, x: Word[FNode], y: Word[FNode], places: Word[FNode]) -> Truth[FNode]:
        """Return whether a word of the first run is at most one of the second."""
        if self.apart == 1:
            x, y = (x, y << 1) if self.rises else (x << 1, y)
        elif self.apart:
            x, y = (self.rounded(x, places), y) if self.rises else (x, self.rounded(y, places))
        return x <= y

    @property
    def rounded_part(self) -> int | None:
        """Which of the ``parts`` is rounded, if any."""
        return int(self.rises) if self.apart > 1 else None

    def parts(self, x: Word[FNode], y: Word[FNode], places: Word[FNode], width: int) -> list[Word[FNode]]:
        """Return what a word of the second run is, and one of the first run, negated, in common units, so wide.

        These are the units of the lower run where exponents are one apart, and else those of the higher one, to which
        words are rounded down. The sum of both has one bit more.
        """
        parts = [part.extend(width) for part in self.exact_parts(x, y)]
        if self.rounded_part is not None:
            parts[self.rounded_part] = parts[self.rounded_part].shift_right(places)
        return parts

    def exact_parts(self, x: Word[FNode], y: Word[FNode]) -> list[Word[FNode]]:
        """Return the same before it is rounded."""
        parts = [y, -x]
        if self.apart == 1:
            higher = int(not self.rises)
            parts[higher] = parts[higher] << 1
        return parts

    def surplus(self, x: Word[FNode], y: Word[FNode], places: Word[FNode], width: int) -> Word[FNode]:
        """Return how much more a word of the second run is than one of the first, in a word that is wide enough."""
        return x.algebra.modular_sum(self.parts(x, y, places, width - 1), width)

    def rounded(self, x: Word[FNode], places: Word[FNode]) -> Word[FNode]:
        """Return a word of the lower run in units of the higher one: up if that is the second, else down."""
        return -((-x).shift_right(places)) if self.rises else x.shift_right(places)


CASES = (Case(0), *(Case(apart, rises) for apart in (1, 2) for rises in (True, False)))
