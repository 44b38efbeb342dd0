"""Stage 5: the sum becomes a number of the output format, rounded once."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.conversions import Conversion, Rounding
from mmaproof.designs.formats import Format
from mmaproof.designs.parameters import Parameters
from mmaproof.designs.readings import NegativeZero, Overflow
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word


@dataclass(frozen=True, slots=True)
class Rules:
    """What a conversion does: rho, and the readings of its overflow and of negative results that become zero."""

    rho: Conversion
    overflow: Overflow
    negative_zero: NegativeZero

    @classmethod
    def of(cls, parameters: Parameters) -> Rules:
        """Return the rules that a design's parameters state."""
        return cls(parameters.conversion, parameters.overflow, parameters.negative_zero)

    @classmethod
    def ieee(cls, fmt: Format) -> Rules:
        """Return the rules of an IEEE 754 operation in round to nearest, ties to even."""
        return cls(Conversion(Rounding.RNE, fmt, fmt.fraction_bits), Overflow.INFINITY, NegativeZero.NEGATIVE)


def convert(
    algebra: Algebra[D, T],
    rules: Rules,
    total: Word[D],
    e_max: Word[D],
    fraction_bits: int,
    zero_negative: Truth[T],
) -> tuple[Word[D], Truth[T]]:
    """Return the pattern of ``rho(total * 2**(e_max - fraction_bits))`` and whether it overflowed to infinity.

    ``zero_negative`` is the sign of the result where ``total`` is zero. The magnitude is normalised so that its
    top bit has the exponent E, moved down where E < e_min (gradual underflow), and cut to the precision p of the
    conversion. Exponent field and significand are then put together by one addition: with E - e_min in the
    field, the integer bit of a normal number adds the missing one, and a carry out of the rounded significand
    adds one more, as does a subnormal that rounds up to the smallest normal number.
    """
    rho = rules.rho
    fmt, precision = rho.target, rho.fraction_bits + 1
    negative = algebra.less(total, algebra.signed(0))
    magnitude = algebra.magnitude(total)
    is_zero = algebra.is_value(magnitude, 0)
    top, places = algebra.normalise(magnitude)
    top_weight = algebra.signed(magnitude.width - 1 - fraction_bits)
    exponent = algebra.subtract(algebra.add(e_max, top_weight), algebra.as_signed(places))

    above_min = algebra.subtract(exponent, algebra.signed(fmt.e_min))
    below_min = algebra.less(above_min, algebra.signed(0))
    zero = algebra.signed(0)
    field = algebra.narrow_to_unsigned(algebra.ite(below_min, zero, above_min), above_min.width - 1)
    down = algebra.narrow_to_unsigned(algebra.ite(below_min, algebra.negate(above_min), zero), above_min.width)
    kept = _round(algebra, rho.rounding, top, down, precision)

    # e8m13 is held in an fp32 word: the fraction bits it does not use stay zero
    unused = fmt.fraction_bits - rho.fraction_bits
    packed = algebra.add(algebra.shift_left(field, rho.fraction_bits), kept)
    largest = algebra.unsigned(fmt.max_finite >> (fmt.ignored_bits + unused), packed.width + 1)
    beyond = algebra.all_of([algebra.negation(is_zero), algebra.less(largest, packed)])
    saturates = rho.rounding is Rounding.RZ and rules.overflow is Overflow.LARGEST_FINITE
    instead = fmt.max_finite if saturates or fmt.infinity is None else fmt.infinity
    limit = algebra.unsigned(instead >> (fmt.ignored_bits + unused), packed.width + 1)
    absent = algebra.unsigned(0, packed.width + 1)
    bits = algebra.ite(is_zero, absent, algebra.ite(beyond, limit, packed))
    bits = algebra.narrow(bits, fmt.bits - 1 - fmt.ignored_bits - unused)
    overflowed = algebra.truth(False) if saturates else beyond

    result_negative = negative
    if rules.negative_zero is NegativeZero.POSITIVE:
        result_negative = algebra.all_of([negative, algebra.negation(algebra.is_value(bits, 0))])
    result_negative = algebra.any_of([result_negative, algebra.all_of([is_zero, zero_negative])])
    sign = algebra.ite(result_negative, algebra.unsigned(1, 1), algebra.unsigned(0, 1))
    pattern = algebra.concatenate(sign, bits)
    if fmt.ignored_bits + unused:
        pattern = algebra.concatenate(pattern, algebra.unsigned(0, fmt.ignored_bits + unused))
    return pattern, overflowed


def _round(algebra: Algebra[D, T], rounding: Rounding, top: Word[D], down: Word[D], precision: int) -> Word[D]:
    """Return the ``precision`` highest bits of ``top`` moved ``down`` places, rounded (one bit wider for RNE)."""
    if rounding is Rounding.RZ:
        top = algebra.shift_left(top, max(precision - top.width, 0))
        return algebra.shift_right(algebra.drop_low(top, top.width - precision), down)
    # a round bit and a sticky bit below the precision decide round to nearest
    top = algebra.shift_left(top, max(precision + 2 - top.width, 0))
    surplus = top.width - precision - 2
    if surplus:
        lost = algebra.negation(algebra.is_value(algebra.extract(top, surplus, 0), 0))
        sticky = algebra.ite(lost, algebra.unsigned(1, 1), algebra.unsigned(0, 1))
        top = algebra.concatenate(algebra.drop_low(top, surplus + 1), sticky)
    moved = algebra.shift_right_jam(top, down)
    kept = algebra.drop_low(moved, 2)
    round_bit, sticky_bit, odd = (algebra.is_bit_set(moved, i) for i in (1, 0, 2))
    up = algebra.all_of([round_bit, algebra.any_of([sticky_bit, odd])])
    return algebra.add(kept, algebra.ite(up, algebra.unsigned(1, precision), algebra.unsigned(0, precision)))
