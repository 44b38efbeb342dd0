"""Numbers as bit patterns: made from operands, negated, stepped, compared.

Stage 1: a bit pattern becomes sign, exponent, significand and class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic

from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.readings import FlushedSign
from mmaproof.smt.algebra import words
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.words import Signal, SignalKind


@dataclass(frozen=True, slots=True)
class Unpacked(Generic[D, T]):
    """A number taken apart: ``(-1)**negative * significand * 2**(exponent - fraction_bits)``.

    The significand is un-normalised for subnormals, whose exponent reads e_min. Where ``infinite`` holds,
    exponent and significand read as 2**(e_max + 1); where ``nan`` holds they mean nothing.
    """

    fraction_bits: int
    negative: Truth[T]
    exponent: Word[D]
    significand: Word[D]
    zero: Truth[T]
    subnormal: Truth[T]
    infinite: Truth[T]
    nan: Truth[T]

    @property
    def largest(self) -> int:
        """Largest significand."""
        return (1 << self.significand.width) - 1

    def valid(self, fmt: Format) -> Truth[T]:
        """Return what the stages after this one rely on, of a number of ``fmt`` as ``unpack`` takes it apart.

        With s the significand, e the exponent and f the fraction bits:

        * ``zero <=> s = 0``, so that a product is zero just where a factor is;
        * ``subnormal <=> 0 < s < 2**f``: the top bit is missing there and nowhere else, but in zero;
        * ``s < 2**f => e = e_min``, and ``e_min <= e <= e_max`` of every finite number;
        * ``infinite => s = 2**f and e = e_max + 1``;
        * ``nan => not infinite and not subnormal``.

        So at most one of the classes holds, with one exception: a format without -0 has its NaN at that pattern, which
        is ``zero`` as well. A format without a sign is never negative.
        """
        algebra, one = self.significand.algebra, 1 << fmt.fraction_bits
        sizes = (self.fraction_bits, self.significand.width) == (fmt.fraction_bits, fmt.precision)
        normal = self.significand.bit(fmt.fraction_bits)
        at_infinity = self.significand.is_value(one) & (self.exponent == fmt.e_max + 1)
        in_range = (self.exponent >= fmt.e_min) & (self.exponent <= fmt.e_max)
        return algebra.all_of(
            [
                algebra.truth(sizes),
                algebra.truth(fmt.signed) | ~self.negative,
                self.zero == self.significand.is_value(0),
                self.subnormal == (~normal & ~self.zero),
                normal | (self.exponent == fmt.e_min),
                ~self.infinite | at_infinity,
                in_range | self.infinite | self.nan,
                ~self.nan | ~(self.infinite | self.subnormal),
            ]
        )

    def named(self, label: object) -> Unpacked[D, T]:
        """Return the number, its sign, exponent and significand named as signals."""
        algebra = self.significand.algebra
        return Unpacked(
            self.fraction_bits,
            algebra.signal_truth(Signal(SignalKind.OPERAND_SIGN, label), self.negative),
            algebra.signal(Signal(SignalKind.OPERAND_EXPONENT, label), self.exponent),
            algebra.signal(Signal(SignalKind.OPERAND_SIGNIFICAND, label), self.significand),
            self.zero,
            self.subnormal,
            self.infinite,
            self.nan,
        )


def unpack(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Unpacked[D, T]:
    """Take ``pattern`` (``fmt.bits`` wide, unsigned) of a floating-point format apart."""
    f, low, exponent_bits = fmt.fraction_bits, fmt.ignored_bits, fmt.exponent_bits
    field = pattern.extract(low + f + exponent_bits - 1, low + f)
    top_field = field.is_value((1 << exponent_bits) - 1)
    no = algebra.truth(False)
    negative = pattern.bit(fmt.sign_position) if fmt.signed else no
    bias = algebra.unsigned(fmt.bias, exponent_bits)
    if not fmt.has_zero:
        # a power of two: no zero, no subnormals, all ones is NaN
        x = Unpacked(0, negative, field - bias, algebra.unsigned(1, 1), no, no, no, top_field)
        algebra.check(x, x.valid, fmt)
        return x
    # without fraction bits (P3109, P = 1) the significand is its integer bit
    fraction = pattern.extract(low + f - 1, low) if f else None
    no_fraction = algebra.truth(True) if fraction is None else fraction.is_value(0)
    low_field = field.is_value(0)
    zero = low_field & no_fraction
    infinite, nan = no, no
    match fmt.specials:
        case Specials.IEEE:
            infinite, nan = top_field & no_fraction, top_field & ~no_fraction
        case Specials.NAN_ONLY:
            nan = top_field if fraction is None else top_field & fraction.is_value((1 << f) - 1)
        case Specials.FNUZ:
            nan = zero & negative
        case Specials.EXTENDED:
            magnitude = pattern.extract(f + exponent_bits - 1, 0)
            infinite = magnitude.is_value(fmt.infinity or 0)
            nan = zero & negative if fmt.signed else pattern.is_value(fmt.quiet_nan or 0)
    significand = ite(low_field, algebra.unsigned(0, 1), algebra.unsigned(1, 1))
    if fraction is not None:
        significand = significand.concatenate(fraction)
    exponent = ite(low_field, algebra.unsigned(1, exponent_bits), field) - bias
    if fmt.specials is Specials.EXTENDED:  # an infinity has the pattern of a number there
        significand = ite(infinite, algebra.unsigned(1 << f, f + 1), significand)
        exponent = ite(infinite, fmt.e_max + 1, exponent)
    x = Unpacked(
        fraction_bits=f,
        negative=negative,
        exponent=exponent,
        significand=significand,
        zero=zero,
        subnormal=low_field & ~no_fraction,
        infinite=infinite,
        nan=nan,
    )
    algebra.check(x, x.valid, fmt)
    return x


def flush_subnormal(x: Unpacked[D, T], sign: FlushedSign) -> Unpacked[D, T]:
    """Return ``x`` with a zero in the place of a subnormal: +0, or one of its sign (Xie et al. 2026, algorithm 2)."""
    algebra = x.significand.algebra
    return replace(
        x,
        negative=x.negative & ~x.subnormal if sign is FlushedSign.POSITIVE else x.negative,
        significand=ite(x.subnormal, algebra.unsigned(0, x.significand.width), x.significand),
        zero=x.zero | x.subnormal,
        subnormal=algebra.truth(False),
    )


def without_minus_zero(x: Unpacked[D, T]) -> Unpacked[D, T]:
    """Return ``x``, +0 in the place of -0."""
    return replace(x, negative=x.negative & ~(x.zero & ~x.nan))


def is_zero(fmt: Format, x: Unpacked[D, T]) -> Truth[T]:
    """Return whether ``x``, a number of ``fmt``, is zero: a format without -0 has its NaN at the pattern of that."""
    return x.zero & ~x.nan if fmt.nan_is_minus_zero else x.zero


def widen(algebra: Algebra[D, T], fmt: Format, target: Format, x: Unpacked[D, T]) -> Unpacked[D, T]:
    """Return ``x``, a number of ``fmt``, as the same number of ``target``: subnormal where ``target`` has it so.

    No design has a format some of whose subnormals would be normal in ``target`` and others would not. A zero reads the
    exponent of its encoding, which is that of ``target``.
    """
    if fmt.e_min == target.e_min:
        return x
    wide = normalised(algebra, x)
    return replace(wide, exponent=ite(x.zero, target.e_min, wide.exponent))


def normalised(algebra: Algebra[D, T], x: Unpacked[D, T]) -> Unpacked[D, T]:
    """Return ``x`` with subnormal significands shifted up and their exponents below e_min."""
    significand, exponent = words.normalised(x.significand, x.exponent)
    return replace(x, significand=significand, exponent=exponent, subnormal=algebra.truth(False))


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
