"""Numbers of an algorithm: words with a format, and what is known of their size without looking at data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import Unpacked, unpack


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


def exact_value(algebra: Algebra[D, T], x: Number[D], span: Span) -> tuple[Word[D], Truth[T]]:
    """Return ``x`` as a signed multiple of ``2**span.least``, and whether it is finite; other numbers count as zero.

    ``span`` must hold for a finite x.
    """
    value = unpack(algebra, x.fmt, x.word)
    finite = algebra.negation(algebra.any_of([value.infinite, value.nan]))
    span = Span(span.least, max(span.most, _highest_exponent(x)))
    return _fixed(algebra, value.negative, value.exponent, value.significand, value.fraction_bits, finite, span), finite


def exact_dot_product(
    algebra: Algebra[D, T], a: Sequence[Number[D]], b: Sequence[Number[D]], c: Number[D], span: Span
) -> Word[D]:
    """Return ``c + sum_k a[k]*b[k]`` of finite numbers as a signed multiple of ``2**span.least``."""
    terms = [exact_product(algebra, x, y, span) for x, y in zip(a, b, strict=True)]
    terms.append(exact_value(algebra, c, span)[0])
    width = max(t.width for t in terms) + (len(terms) - 1).bit_length()
    return algebra.bounded_sum(terms, width)


def exact_product(algebra: Algebra[D, T], x: Number[D], y: Number[D], span: Span) -> Word[D]:
    """Return ``x * y`` of finite numbers as a signed multiple of ``2**span.least``."""
    first, second = (unpack(algebra, n.fmt, n.word) for n in (x, y))
    negative = algebra.exclusive_or(first.negative, second.negative)
    exponent = algebra.add(first.exponent, second.exponent)
    significand = algebra.multiply(first.significand, second.significand)
    fraction_bits = first.fraction_bits + second.fraction_bits
    finite = algebra.all_of([_finite(algebra, v) for v in (first, second)])
    span = Span(span.least, max(span.most, _highest_exponent(x) + _highest_exponent(y)))
    return _fixed(algebra, negative, exponent, significand, fraction_bits, finite, span)


def dot_product_span(a: Sequence[Number[D]], b: Sequence[Number[D]], c: Number[D]) -> Span:
    """Return where the bits of the products and of c lie, and those of their sum."""
    products = [x.span.times(y.span) for x, y in zip(a, b, strict=True)]
    least = min(c.span.least, *(p.least for p in products))
    most = max(c.span.most, *(p.most for p in products))
    return Span(least, most).summed(len(products) + 1)


def _finite(algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
    return algebra.negation(algebra.any_of([x.infinite, x.nan]))


def _highest_exponent(x: Number[D]) -> int:
    """Return the highest exponent that a finite number reads: zeros and subnormals read e_min, however small."""
    return max(x.span.most, x.fmt.e_min)


def _fixed(
    algebra: Algebra[D, T],
    negative: Truth[T],
    exponent: Word[D],
    significand: Word[D],
    fraction_bits: int,
    finite: Truth[T],
    span: Span,
) -> Word[D]:
    """Return a number as a multiple of ``2**span.least``. Nothing is cut, because every bit of it lies above."""
    significand = algebra.ite(finite, significand, algebra.unsigned(0, significand.width))
    largest = (1 << significand.width) - 1
    term = Term(fraction_bits, negative, exponent, significand, finite, largest)
    return align(algebra, term, algebra.signed(span.most), Cut(span.most - span.least))
