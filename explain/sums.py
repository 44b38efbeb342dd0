"""Fused sums and roundings of a step, as exact values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import Format
from mmaproof.explain.values import pattern_number, scaled, top_weight
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.labels import Addend, Label, Partial, is_of_products


class Running(Enum):
    """A term c that is not the operand c."""

    ACC = "acc"
    """what a chain has summed so far; the operand c is added after its last step"""

    def __str__(self) -> str:
        return self.value


Name = Label | Running
"""What a term is called in a picture."""


class Sum:
    """One fused sum of a step, read from its datapath and its signals.

    ``label`` is what later sums call it; ``labels`` name its terms, among them the ``accumulator`` in place of c.
    ``path_cuts`` are the cuts of the terms, ``cuts`` the weights of the lowest bits that they keep; ``cut`` is the
    weight of the lowest bit of the sum. ``of_sums`` says that its terms are sums before it (and c).
    """

    def __init__(self, signals: FusedSum[int, bool], accumulator: Name) -> None:
        path = signals.path
        self.label, self.signals, self.of_sums, self.register = path.label, signals, path.adds_sums, path.register
        self.labels: tuple[Name, ...] = tuple(accumulator if x is Addend.C else x for x in path.terms)
        self.e_max = signals.e_max.data
        self.cut = self.e_max - signals.fraction_bits
        self.path_cuts: dict[Name, Cut] = dict(zip(self.labels, path.cuts, strict=True))
        self.cuts = {label: self.e_max - cut.fraction_bits for label, cut in self.path_cuts.items()}
        values = [
            scaled((-1) ** t.negative.data * t.significand.data, t.exponent.data - t.fraction_bits)
            for t in signals.terms
        ]
        self.terms = dict(zip(self.labels, values, strict=True))
        self.aligned = dict(zip(self.labels, (scaled(x.data, self.cut) for x in signals.aligned), strict=True))
        self.total = scaled(signals.total.data, self.cut)

    @property
    def title(self) -> str:
        """What is added, in words."""
        if self.label in (Partial.EVEN, Partial.ODD, Partial.FIRST, Partial.SECOND):
            return f"{self.label} products"
        named = [str(label) for label in self.labels if not is_of_products(label)]
        named = named if self.of_sums else ["products", *named]
        return " and ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)

    @property
    def truncates(self) -> bool:
        """Whether every term loses low bits of its magnitude, and nothing else happens to it."""
        return all(cut.truncates for cut in self.path_cuts.values())

    @property
    def rounds_to_nearest(self) -> bool:
        """Whether every term is rounded to the nearest."""
        return all(cut.rounds_to_nearest for cut in self.path_cuts.values())

    @property
    def rounds_down(self) -> bool:
        """Whether every term is rounded towards minus infinity."""
        return all(cut.rounds_down for cut in self.path_cuts.values())

    @property
    def inverts(self) -> bool:
        """Whether the bits of terms that oppose c are inverted."""
        return any(cut.inverts for cut in self.path_cuts.values())

    @property
    def inverted(self) -> list[Name]:
        """The terms whose bits are inverted, zeros among them: each lies one unit further from c."""
        if not self.inverts:
            return []
        return [x for x in self.labels if abs(self.aligned[x]) != abs(self.terms[x] - self.lost(x))]

    @property
    def is_cut_in_one_way(self) -> bool:
        """Whether the same happens to the lost bits of every term."""
        return len({cut.alignment for cut in self.path_cuts.values()}) == 1

    def lost(self, label: Name) -> Fraction:
        """Return what lies below the cut in a term."""
        term = self.terms[label]
        below = abs(term) % scaled(1, self.cuts[label])
        return -below if term < 0 else below


@dataclass(frozen=True, slots=True)
class Rounded:
    """An exact sum, and the pattern that it was rounded to.

    N ``fraction_bits`` of the format's fraction are in use. ``overflowed`` says that the pattern is an infinity,
    ``flushes`` that a subnormal result becomes zero.
    """

    exact: Fraction
    fmt: Format
    pattern: int
    fraction_bits: int
    rounding: Rounding
    overflowed: bool
    flushes: bool

    @property
    def value(self) -> Fraction:
        """The value of the pattern."""
        return pattern_number(self.fmt, self.pattern)

    @property
    def low(self) -> int:
        """Weight of the lowest bit of the sum that is kept."""
        highest = top_weight(self.exact) if self.exact else self.fmt.e_min
        return max(highest, self.fmt.e_min) - self.fraction_bits

    @property
    def beyond(self) -> bool:
        """Whether the sum exceeds the largest finite number."""
        return self.overflowed or (bool(self.exact) and top_weight(self.exact) > self.fmt.e_max)

    @property
    def flushed(self) -> bool:
        """Whether a sum that is not zero became zero where subnormal results do."""
        return self.flushes and bool(self.exact) and not self.value
