"""Numbers of an algorithm: words with a format, and what is known of their size without looking at data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import D, Word


@dataclass(frozen=True, slots=True)
class Span:
    """Where the bits of a finite number lie: it is a multiple of ``2**least``, and at most ``2**most`` in magnitude.

    Rounding to nearest, ties to even, keeps a number in its span. A rounded number becomes a multiple of a larger power
    of two or stays as it is, and it never passes a power of two that it was not above. For overflow to a finite number,
    and for other roundings, see ``rounded``.
    """

    least: int
    most: int

    @classmethod
    def of_format(cls, fmt: Format) -> Span:
        """Return the span of every finite number of a format."""
        return cls(fmt.e_min - fmt.fraction_bits, fmt.e_max + 1)

    @classmethod
    def of_pattern(cls, fmt: Format, pattern: int) -> Span:
        """Return the span of one finite number of a floating-point format, which is not zero."""
        fraction = pattern >> fmt.ignored_bits & ((1 << fmt.fraction_bits) - 1)
        field = pattern >> (fmt.ignored_bits + fmt.fraction_bits) & ((1 << fmt.exponent_bits) - 1)
        significand = fraction + ((1 << fmt.fraction_bits) if field else 0)
        least = max(field - fmt.bias, fmt.e_min) - fmt.fraction_bits
        lowest = (significand & -significand).bit_length() - 1
        return cls(least + lowest, least + (significand - 1).bit_length())

    def scaled(self, places: int) -> Span:
        """Return the span of numbers times ``2**places``."""
        return Span(self.least + places, self.most + places)

    def rounded(self, fmt: Format) -> Span:
        """Return the span of numbers rounded to ``fmt`` in any way.

        Numbers below its smallest number may become that, and numbers beyond its largest finite number may become that.
        """
        least, most = fmt.e_max - fmt.fraction_bits, fmt.e_min - fmt.fraction_bits
        return Span(min(self.least, least), max(self.most, most))

    def times(self, other: Span) -> Span:
        """Return the span of products."""
        return Span(self.least + other.least, self.most + other.most)

    def with_(self, other: Span) -> Span:
        """Return the span of numbers that are in one of two."""
        return Span(min(self.least, other.least), max(self.most, other.most))

    def summed(self, count: int) -> Span:
        """Return the span of sums of ``count`` such numbers."""
        return Span(self.least, self.most + max(count - 1, 0).bit_length())


@dataclass(frozen=True, slots=True)
class Number(Generic[D]):
    """The bit pattern ``word`` read as a number of ``fmt``; ``span`` holds for it wherever it is finite."""

    fmt: Format
    word: Word[D]
    span: Span
