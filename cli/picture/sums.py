"""Fused sums and roundings of a step, as exact values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mmaproof.cli.picture.values import pattern_number, product_number, scaled, top_weight
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Join, LateRounding
from mmaproof.smt.semantics.fused_sum import FusedSum


class Sum:
    """One fused sum of a step.

    ``name`` is what later sums call it, ``sum`` for the one that is converted; ``labels`` name its terms. ``cut`` is
    the weight of the lowest bit of the sum, ``cuts`` those of the lowest bit kept of each term. ``of_sums`` says that
    its terms are sums before it (and c).
    """

    def __init__(self, name: str, design: Design, signals: FusedSum[int, bool], labels: Sequence[str]) -> None:
        p = design.parameters
        self.name, self.signals, self.labels = name, signals, tuple(labels)
        self.of_sums = not any(map(_of_products, labels))
        self.e_max = signals.e_max.data
        self.cut = self.e_max - signals.fraction_bits
        self.alignment = p.late_alignment if self.of_sums and p.join is Join.ROUND_DOWN else p.alignment
        bits = dict.fromkeys(labels, signals.fraction_bits)
        if "products" in bits:
            bits |= {"products": p.late_bits + (p.late_rounding is LateRounding.TWICE), "c": p.fraction_bits}
        self.cuts = {label: self.e_max - n for label, n in bits.items()}
        values = [
            scaled((-1) ** t.negative.data * t.significand.data, t.exponent.data - t.fraction_bits)
            for t in signals.terms
        ]
        self.terms = dict(zip(labels, values, strict=True))
        self.aligned = dict(zip(labels, (scaled(x.data, self.cut) for x in signals.aligned), strict=True))
        self.total = scaled(signals.total.data, self.cut)

    @property
    def title(self) -> str:
        """What is added, in words."""
        if self.name in ("even", "odd"):
            return f"{self.name} products"
        named = [label for label in self.labels if not _of_products(label)]
        named = named if self.of_sums else ["products", *named]
        return " and ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)

    def lost(self, label: str) -> Fraction:
        """Return what lies below the cut in a term."""
        term = self.terms[label]
        below = abs(term) % scaled(1, self.cuts[label])
        return -below if term < 0 else below


def fused_sums(design: Design, signals: Sequence[FusedSum[int, bool]], accumulator: str) -> Iterator[Sum]:
    """Give the fused sums of a step; ``accumulator`` is what the term c is called.

    A sum that enters a later one as a term bears the label of that term, in the same order.
    """
    if not signals:
        return
    later = [label for s in signals for label in s.labels if not _of_products(label)]
    called = [label for label in dict.fromkeys(later) if label != "c"]
    for name, s in zip([*called, "sum"], signals, strict=True):
        yield Sum(name, design, s, [accumulator if label == "c" else label for label in s.labels])


def _of_products(label: str) -> bool:
    """Return whether a term is a product or a group of some."""
    return product_number(label.partition("..")[0]) is not None


@dataclass(frozen=True, slots=True)
class Rounded:
    """An exact sum, and the pattern that it was rounded to.

    So many ``fraction_bits`` of the format's fraction are in use. ``overflowed`` says that the pattern is an infinity,
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
