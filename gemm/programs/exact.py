"""Exact values: numbers as multiples of one power of two, in words that are wide enough."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.gemm.programs.numbers import Number, Span
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import Unpacked, unpack


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
