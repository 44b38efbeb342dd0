"""Operations of IEEE 754 in round to nearest, ties to even, built from the stages of a fused sum.

Two terms with normalised significands of at most n bits, aligned and jammed at 2n + 2 fraction bits, round as their
exact sum does: the larger term keeps all of its bits, and bits of the smaller one are lost only where it lies more
than 4 places below the larger, so that the sum cancels by one bit at most and the jammed bit, n bits or more below
the rounding position, says just what a sticky bit must: whether anything nonzero was there.
"""

from __future__ import annotations

from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Alignment, NanCode, Subnormals
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.fused_sum import fused_sum
from mmaproof.smt.semantics.specials import choose_special, special_result
from mmaproof.smt.semantics.terms import Factors, Term, product_sign
from mmaproof.smt.semantics.unpack import Unpacked, flush_subnormal, normalised, unpack


def add(
    algebra: Algebra[D, T], fmt: Format, x: Word[D], y: Word[D], nan_code: NanCode, subnormals: Subnormals
) -> Word[D]:
    """Return the rounded sum of two patterns of ``fmt``; with FLUSHED, subnormals are zeros coming and going."""
    addends = [read(algebra, fmt, p, subnormals) for p in (x, y)]
    terms = [_addend(algebra, a) for a in addends]
    cut = Cut(2 * fmt.precision + 2, Alignment.JAM)
    total = fused_sum(algebra, ("x", "y"), terms, (cut, cut))
    zero_negative = algebra.all_of([t.negative for t in terms])
    finite, _ = convert(algebra, Rules.ieee(fmt), total.total, total.e_max, total.fraction_bits, zero_negative)
    special = special_result(algebra, (), addends)
    return choose_special(algebra, fmt, nan_code, special, _flushed(algebra, fmt, finite, subnormals))


def multiply(
    algebra: Algebra[D, T], fmt: Format, x: Factors[D, T], nan_code: NanCode, subnormals: Subnormals
) -> Word[D]:
    """Return the product of two elements rounded to ``fmt``."""
    significand, places = algebra.normalise(algebra.multiply(x.a.significand, x.b.significand))
    fraction_bits = x.a.fraction_bits + x.b.fraction_bits
    exponent = algebra.subtract(algebra.add(x.a.exponent, x.b.exponent), algebra.as_signed(places))
    negative = product_sign(algebra, x)
    total = algebra.conditional_negate(negative, significand)
    finite, _ = convert(algebra, Rules.ieee(fmt), total, exponent, fraction_bits, negative)
    special = special_result(algebra, (x,), ())
    return choose_special(algebra, fmt, nan_code, special, _flushed(algebra, fmt, finite, subnormals))


def read(algebra: Algebra[D, T], fmt: Format, pattern: Word[D], subnormals: Subnormals) -> Unpacked[D, T]:
    """Take a pattern apart; with FLUSHED, a subnormal reads as +0."""
    x = unpack(algebra, fmt, pattern)
    return flush_subnormal(algebra, x) if subnormals is Subnormals.FLUSHED else x


def _addend(algebra: Algebra[D, T], x: Unpacked[D, T]) -> Term[D, T]:
    x = normalised(algebra, x)
    present = algebra.negation(x.zero)
    return Term(x.fraction_bits, x.negative, x.exponent, x.significand, present, x.largest)


def _flushed(algebra: Algebra[D, T], fmt: Format, pattern: Word[D], subnormals: Subnormals) -> Word[D]:
    """Return a zero of the same sign where ``pattern`` is subnormal and results are flushed."""
    if subnormals is Subnormals.KEPT:
        return pattern
    low = fmt.fraction_bits + fmt.ignored_bits
    small: Truth[T] = algebra.is_value(algebra.extract(pattern, fmt.sign_position - 1, low), 0)
    sign = algebra.extract(pattern, fmt.sign_position, fmt.sign_position)
    return algebra.ite(small, algebra.concatenate(sign, algebra.unsigned(0, fmt.sign_position)), pattern)
