"""Numbers as bit patterns: made from operands, negated, stepped, compared."""

from __future__ import annotations

from mmaproof.designs.formats import Format, Specials
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.equality import equal_results
from mmaproof.smt.semantics.unpack import unpack


def zero(algebra: Algebra[D, T], fmt: Format) -> Word[D]:
    """Return +0."""
    return algebra.unsigned(0, fmt.bits)


def one(algebra: Algebra[D, T], fmt: Format) -> Word[D]:
    """Return 1."""
    return algebra.unsigned(fmt.encode(1), fmt.bits)


def signed_like(algebra: Algebra[D, T], fmt: Format, x: Word[D], magnitude: int) -> Word[D]:
    """Return the positive pattern ``magnitude`` with the sign bit of ``x``; a format without -0 keeps +0."""
    if fmt.specials is Specials.FNUZ and not magnitude:
        return zero(algebra, fmt)
    return algebra.concatenate(_sign(algebra, fmt, x), algebra.unsigned(magnitude, fmt.sign_position))


def negated(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return -x: the sign bit flipped; a format without -0 has one zero and one NaN, which stay."""
    below = algebra.extract(x, fmt.sign_position - 1, 0)
    sign = _sign(algebra, fmt, x)
    flipped = algebra.ite(algebra.is_value(sign, 1), algebra.unsigned(0, 1), algebra.unsigned(1, 1))
    if fmt.specials is Specials.FNUZ:
        flipped = algebra.ite(algebra.is_value(below, 0), sign, flipped)
    return algebra.concatenate(flipped, below)


def successor(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return the next number above a finite one, -0 being just below +0; ignored bits of it are zero."""
    magnitude = algebra.extract(x, fmt.sign_position - 1, fmt.ignored_bits)
    width = magnitude.width
    step = algebra.unsigned(1, width)
    up = algebra.extract(algebra.add(magnitude, step), width - 1, 0)
    down = algebra.extract(algebra.subtract(magnitude, step), width - 1, 0)
    negative = algebra.is_value(_sign(algebra, fmt, x), 1)
    at_end = algebra.is_value(magnitude, 1 if fmt.specials is Specials.FNUZ else 0)
    nothing, minus = algebra.unsigned(0, width), algebra.unsigned(1, 1)
    below = algebra.concatenate(algebra.ite(at_end, algebra.unsigned(0, 1), minus), algebra.ite(at_end, nothing, down))
    above = algebra.concatenate(algebra.unsigned(0, 1), up)
    stepped = algebra.ite(negative, below, above)
    if not fmt.ignored_bits:
        return stepped
    return algebra.concatenate(stepped, algebra.unsigned(0, fmt.ignored_bits))


def last_before_power(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return a number of the sign and exponent of ``x`` whose successor has another exponent, or is a zero's neighbour.

    The largest magnitude where ``x`` is positive, the smallest where it is negative; zeros stay as they are.
    """
    f, low = fmt.fraction_bits, fmt.ignored_bits
    negative = algebra.is_value(_sign(algebra, fmt, x), 1)
    field = algebra.extract(x, fmt.sign_position - 1, low + f)
    subnormal = algebra.is_value(field, 0)
    nothing, least, most = (algebra.unsigned(n, f) for n in (0, 1, (1 << f) - 1))
    zero_there = algebra.is_value(algebra.extract(x, fmt.sign_position - 1, low), 0)
    fraction = algebra.ite(negative, algebra.ite(subnormal, least, nothing), most)
    fraction = algebra.ite(zero_there, nothing, fraction)
    result = algebra.concatenate(_sign(algebra, fmt, x), algebra.concatenate(field, fraction))
    return algebra.concatenate(result, algebra.unsigned(0, low)) if low else result


def order_key(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return a signed word that orders patterns as their numbers are ordered, infinities included; NaN has no place."""
    magnitude = algebra.extract(x, fmt.sign_position - 1, fmt.ignored_bits)
    return algebra.conditional_negate(algebra.is_value(_sign(algebra, fmt, x), 1), magnitude)


def same_number(algebra: Algebra[D, T], fmt: Format, x: Word[D], y: Word[D]) -> Truth[T]:
    """Return whether both are NaN or the same number, zeros of either sign being the same."""
    zeros = [unpack(algebra, fmt, p).zero for p in (x, y)]
    return algebra.any_of([equal_results(algebra, fmt, x, y), algebra.all_of(zeros)])


def is_finite(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Truth[T]:
    """Return whether the pattern is neither an infinity nor a NaN."""
    value = unpack(algebra, fmt, x)
    return algebra.negation(algebra.any_of([value.infinite, value.nan]))


def _sign(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    return algebra.extract(x, fmt.sign_position, fmt.sign_position)
