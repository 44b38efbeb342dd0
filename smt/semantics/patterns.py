"""Numbers as bit patterns: made from operands, negated, stepped, compared."""

from __future__ import annotations

from typing import Any

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.semantics.unpack import is_zero, unpack


def equal_results(
    algebra: Algebra[D, T],
    fmt: Format,
    x: Word[D],
    y: Word[D],
    *,
    nan_codes: bool = False,
    zero_signs: bool = True,
) -> Truth[T]:
    """Return whether both are NaN (with ``nan_codes``: the same code) or have the same bits.

    +0 and -0 differ, unless ``zero_signs`` is False.
    """
    same = x == y
    if fmt.is_integer:
        return same
    numbers = [unpack(algebra, fmt, p) for p in (x, y)]
    alike = [same]
    if not nan_codes:
        alike.append(algebra.all_of([n.nan for n in numbers]))
    if not zero_signs:
        alike.append(algebra.all_of([is_zero(fmt, n) for n in numbers]))
    return algebra.any_of(alike)


def zero(algebra: Algebra[D, T], fmt: Format) -> Word[D]:
    """Return +0."""
    return algebra.unsigned(0, fmt.bits)


def one(algebra: Algebra[D, T], fmt: Format) -> Word[D]:
    """Return 1."""
    return algebra.unsigned(fmt.encode(1), fmt.bits)


def signed_like(algebra: Algebra[D, T], fmt: Format, x: Word[D], magnitude: int) -> Word[D]:
    """Return the positive pattern ``magnitude`` with the sign bit of ``x``; a format without -0 keeps +0."""
    if fmt.nan_is_minus_zero and not magnitude:
        return zero(algebra, fmt)
    return _sign(fmt, x).concatenate(algebra.unsigned(magnitude, fmt.sign_position))


def negated(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return -x: the sign bit flipped; a format without -0 has one zero and one NaN, which stay."""
    below, sign = x.extract(fmt.sign_position - 1, 0), _sign(fmt, x)
    flipped = ite(sign.is_value(1), algebra.unsigned(0, 1), algebra.unsigned(1, 1))
    if fmt.nan_is_minus_zero:
        flipped = ite(below.is_value(0), sign, flipped)
    return flipped.concatenate(below)


def successor(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return the next number above a finite one, -0 being just below +0; ignored bits of it are zero.

    The largest number (``is_largest``) has none, and what is returned for it means nothing.
    """
    magnitude = x.extract(fmt.sign_position - 1, fmt.ignored_bits)
    width = magnitude.width
    one = algebra.unsigned(1, width)
    up, down = (y.extract(width - 1, 0) for y in (magnitude + one, magnitude - one))
    at_end = magnitude.is_value(1 if fmt.nan_is_minus_zero else 0)
    plus, minus = algebra.unsigned(0, 1), algebra.unsigned(1, 1)
    below = ite(at_end, plus, minus).concatenate(ite(at_end, algebra.unsigned(0, width), down))
    stepped = ite(_is_negative(fmt, x), below, plus.concatenate(up))
    return stepped.concatenate(algebra.unsigned(0, fmt.ignored_bits)) if fmt.ignored_bits else stepped


def is_largest(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Truth[T]:
    """Return whether a number is the largest finite one."""
    return x.extract(fmt.sign_position, fmt.ignored_bits).is_value(fmt.max_finite >> fmt.ignored_bits)


def last_before_power(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return a number with the sign and exponent of ``x`` whose successor has another exponent, or is next to zero.

    It has the largest magnitude where ``x`` is positive and the smallest where it is negative. Zeros stay as they are.
    Without fraction bits, every number is such a one.
    """
    f, low = fmt.fraction_bits, fmt.ignored_bits
    if not f:
        return x
    field = x.extract(fmt.sign_position - 1, low + f)
    nothing, least, most = (algebra.unsigned(n, f) for n in (0, 1, (1 << f) - 1))
    fraction = ite(_is_negative(fmt, x), ite(field.is_value(0), least, nothing), most)
    fraction = ite(x.extract(fmt.sign_position - 1, low).is_value(0), nothing, fraction)
    result = _sign(fmt, x).concatenate(field.concatenate(fraction))
    return result.concatenate(algebra.unsigned(0, low)) if low else result


def order_key(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Word[D]:
    """Return a signed word that orders patterns as their numbers are ordered.

    Infinities are included. NaN has no place in that order.
    """
    return x.extract(fmt.sign_position - 1, fmt.ignored_bits).negated_where(_is_negative(fmt, x))


def same_number(algebra: Algebra[D, T], fmt: Format, x: Word[D], y: Word[D]) -> Truth[T]:
    """Return whether both are NaN or the same number, zeros of either sign being the same."""
    zeros = is_zero(fmt, unpack(algebra, fmt, x)) & is_zero(fmt, unpack(algebra, fmt, y))
    return equal_results(algebra, fmt, x, y) | zeros


def is_finite(algebra: Algebra[D, T], fmt: Format, x: Word[D]) -> Truth[T]:
    """Return whether the pattern is neither an infinity nor a NaN."""
    value = unpack(algebra, fmt, x)
    return ~(value.infinite | value.nan)


def _sign(fmt: Format, x: Word[D]) -> Word[D]:
    """Return the sign bit."""
    return x.extract(fmt.sign_position, fmt.sign_position)


def _is_negative(fmt: Format, x: Word[D]) -> Truth[Any]:
    return x.bit(fmt.sign_position)
