"""Stage 1: a bit pattern becomes sign, exponent, significand and class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic

from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.readings import FlushedSign
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.signals import Signal, SignalKind


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

    def named(self, algebra: Algebra[D, T], label: object) -> Unpacked[D, T]:
        """Return the number, its sign, exponent and significand named as signals."""
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
    field = algebra.extract(pattern, low + f + exponent_bits - 1, low + f)
    top_field = algebra.is_value(field, (1 << exponent_bits) - 1)
    negative = algebra.is_bit_set(pattern, fmt.sign_position) if fmt.signed else algebra.truth(False)
    no = algebra.truth(False)
    if not f:
        # a power of two: no zero, no subnormals, all ones is NaN
        power = algebra.subtract(field, algebra.unsigned(fmt.bias, exponent_bits))
        return Unpacked(0, negative, power, algebra.unsigned(1, 1), no, no, no, top_field)
    fraction = algebra.extract(pattern, low + f - 1, low)
    no_fraction = algebra.is_value(fraction, 0)
    low_field = algebra.is_value(field, 0)
    zero = algebra.all_of([low_field, no_fraction])
    infinite, nan = no, no
    match fmt.specials:
        case Specials.IEEE:
            infinite = algebra.all_of([top_field, no_fraction])
            nan = algebra.all_of([top_field, algebra.negation(no_fraction)])
        case Specials.NAN_ONLY:
            nan = algebra.all_of([top_field, algebra.is_value(fraction, (1 << f) - 1)])
        case Specials.FNUZ:
            nan = algebra.all_of([zero, negative])
    integer_bit = algebra.ite(low_field, algebra.unsigned(0, 1), algebra.unsigned(1, 1))
    read_field = algebra.ite(low_field, algebra.unsigned(1, exponent_bits), field)
    return Unpacked(
        fraction_bits=f,
        negative=negative,
        exponent=algebra.subtract(read_field, algebra.unsigned(fmt.bias, exponent_bits)),
        significand=algebra.concatenate(integer_bit, fraction),
        zero=zero,
        subnormal=algebra.all_of([low_field, algebra.negation(no_fraction)]),
        infinite=infinite,
        nan=nan,
    )


def flush_subnormal(algebra: Algebra[D, T], x: Unpacked[D, T], sign: FlushedSign) -> Unpacked[D, T]:
    """Return a zero, +0 or of its sign, for a subnormal, anything else as it is (Xie et al. 2026, algorithm 2)."""
    negative = x.negative
    if sign is FlushedSign.POSITIVE:
        negative = algebra.all_of([x.negative, algebra.negation(x.subnormal)])
    return replace(
        x,
        negative=negative,
        significand=algebra.ite(x.subnormal, algebra.unsigned(0, x.significand.width), x.significand),
        zero=algebra.any_of([x.zero, x.subnormal]),
        subnormal=algebra.truth(False),
    )


def widen(algebra: Algebra[D, T], fmt: Format, target: Format, x: Unpacked[D, T]) -> Unpacked[D, T]:
    """Return ``x`` of format ``fmt`` as the same number of the format ``target``: its subnormals are target's.

    A design has no formats of which some subnormals would be normal in ``target`` and others not.
    """
    return x if fmt.e_min == target.e_min else normalised(algebra, x)


def normalised(algebra: Algebra[D, T], x: Unpacked[D, T]) -> Unpacked[D, T]:
    """Return ``x`` with subnormal significands shifted up and their exponents below e_min."""
    significand, places = algebra.normalise(x.significand)
    exponent = algebra.subtract(x.exponent, algebra.as_signed(places))
    return replace(x, significand=significand, exponent=exponent, subnormal=algebra.truth(False))
