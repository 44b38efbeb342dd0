"""Stage 5: the sum becomes a number of the output format, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from mmaproof.designs.conversions import Beyond, Conversion, Draw, OutOfRange, Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import FlushedResult, NegativeZero, Overflow, Tininess
from mmaproof.designs.steps.aligned import AlignedStep
from mmaproof.designs.steps.step import RoundedStep, Step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.words import Signal, SignalKind, nearest_rounds_up, with_top_exponent


@dataclass(frozen=True, slots=True)
class Rules:
    """What a conversion does: rho, and the readings of its overflow and of negative results that become zero.

    With ``flushes``, a subnormal result becomes a zero after it was rounded: one of its sign, or +0, as
    ``flushed_result`` says. ``tininess`` says which results count as subnormal. ``out_of_range`` is of
    conversions outside units, and of those to formats without infinities: where it is stated, it decides in the place
    of ``overflow``, whatever the rounding.
    """

    rho: Conversion
    overflow: Overflow
    negative_zero: NegativeZero
    flushes: bool
    tininess: Tininess = Tininess.ROUNDED
    flushed_result: FlushedResult = FlushedResult.KEPT
    out_of_range: OutOfRange | None = None

    @classmethod
    def of(cls, step: Step) -> Rules:
        """Return the rules of the conversion at the end of a step, or of each operation where it consists of some.

        Raises TypeError for steps that convert no floating-point number.
        """
        rules = cls.of_operation(step)
        return replace(rules, negative_zero=step.negative_zero) if isinstance(step, AlignedStep) else rules

    @classmethod
    def of_operation(cls, step: Step) -> Rules:
        """Return the rules of an IEEE 754 operation rounded by a design's rho: what becomes zero keeps its sign."""
        rounded = _rounded(step)
        flushes, zero = rounded.subnormals.of_results, rounded.flushed_result
        ways = (rounded.conversion, rounded.overflow, NegativeZero.NEGATIVE, flushes, rounded.tininess, zero)
        return cls(*ways, rounded.range_end)

    @classmethod
    def of_format(cls, fmt: Format, rounding: Rounding | Stochastic, out_of_range: OutOfRange | None = None) -> Rules:
        """Return the rules of an IEEE 754 operation outside units whose result is of ``fmt``; subnormals are kept."""
        overflow = Overflow.LARGEST_FINITE if rounding.truncates else Overflow.INFINITY
        rho = Conversion(rounding, fmt, fmt.fraction_bits)
        return cls(rho, overflow, NegativeZero.NEGATIVE, flushes=False, out_of_range=out_of_range)

    @classmethod
    def of_late_addition(cls, design: Design) -> Rules:
        """Return the rules of the addition of c to the converted sum of the products."""
        step = design.step
        return cls.of_operation(step) if step.adds_c_as_rho else cls.nearest(design.d_format, step)

    @classmethod
    def nearest(cls, fmt: Format, step: Step) -> Rules:
        """Return the rules of an IEEE 754 operation, rounded to nearest even, that flushes as a design does."""
        rho, rounded = Conversion(Rounding.RNE, fmt, fmt.fraction_bits), _rounded(step)
        flushes, zero = rounded.subnormals.of_results, rounded.flushed_result
        ways = (rho, Overflow.INFINITY, NegativeZero.NEGATIVE, flushes, rounded.tininess, zero)
        return cls(*ways, rounded.range_end)

    @property
    def unclamped(self) -> Rules:
        """The rules with infinities in the place of whatever numbers beyond the largest one become."""
        return replace(self, overflow=Overflow.INFINITY)

    def sign_of_zero(self, algebra: Algebra[D, T], negatives: Sequence[Truth[T]]) -> Truth[T]:
        """Return the sign of an IEEE 754 sum that is exactly zero, of terms with these signs.

        Terms of both signs give +0, and -0 where the sum is rounded towards minus infinity (clause 6.3).
        """
        return algebra.any_of(negatives) if self.rho.rounding is Rounding.RTN else algebra.all_of(negatives)


def _rounded(step: Step) -> RoundedStep:
    if not isinstance(step, RoundedStep):
        raise TypeError(f"{type(step).__name__} converts no floating-point number")
    return step


def convert(
    algebra: Algebra[D, T],
    rules: Rules,
    total: Word[D],
    e_max: Word[D],
    fraction_bits: int,
    zero_negative: Truth[T],
    trace: Truth[T] | None = None,
    random: Word[D] | None = None,
) -> tuple[Word[D], Truth[T]]:
    """Return the pattern of ``rho(total * 2**(e_max - fraction_bits))`` and whether it overflowed to infinity.

    ``zero_negative`` is the sign of the result where ``total`` is zero. Where ``trace`` holds, a total that is not zero
    is rounded as though its magnitude were larger by less than any bit counts. ``random`` are the bits of a stochastic
    rounding, where they are not constants. The magnitude is normalised so that its
    top bit has the exponent E, moved down where E < e_min (gradual underflow), and cut to the precision p of the
    conversion. Exponent field and significand are then put together by one addition: with E - e_min in the
    field, the integer bit of a normal number adds the missing one, and a carry out of the rounded significand
    adds one more, as does a subnormal that rounds up to the smallest normal number.

    A result beyond the largest finite number becomes an infinity, or that number where ``_stays_finite`` holds. Raises
    DesignError for a stochastic rounding whose bits are an operand and are not given.
    """
    rho = rules.rho
    if rho.via is not None:
        first = replace(rules, rho=rho.via)
        wider, beyond = convert(algebra, first, total, e_max, fraction_bits, zero_negative, trace)
        return algebra.signal(Signal(SignalKind.CONVERTED), _leading(wider, rho)), beyond
    fmt, precision = rho.target, rho.fraction_bits + 1
    negative, magnitude = total < 0, total.magnitude()
    is_zero = magnitude.is_value(0)
    top, exponent = with_top_exponent(magnitude, e_max, fraction_bits)

    above_min = exponent - fmt.e_min
    below_min = above_min < 0
    field = ite(below_min, 0, above_min).narrow_to_unsigned(above_min.width - 1)
    down = ite(below_min, -above_min, 0).narrow_to_unsigned(above_min.width)
    if isinstance(rho.rounding, Stochastic):
        kept = _round_stochastically(rho.rounding, top, down, precision, random)
    else:
        kept = _round(rho.rounding, negative, top, down, precision, trace, None if fmt.fraction_bits else field)

    # e8m13 is held in an fp32 word: the fraction bits it does not use stay zero
    unused = fmt.fraction_bits - rho.fraction_bits
    packed = (field << rho.fraction_bits) + kept
    largest = algebra.unsigned(fmt.max_finite >> (fmt.ignored_bits + unused), packed.width + 1)
    beyond = ~is_zero & (packed > largest)
    finite = _stays_finite(algebra, rules, negative)
    infinity = fmt.max_finite if fmt.infinity is None else fmt.infinity
    infinite = algebra.unsigned(infinity >> (fmt.ignored_bits + unused), packed.width + 1)
    absent = algebra.unsigned(0, packed.width + 1)
    bits = ite(is_zero, absent, ite(beyond, ite(finite, largest, infinite), packed))
    bits = bits.narrow(fmt.bits - 1 - fmt.ignored_bits - unused)
    overflowed = beyond & ~finite

    result_negative = negative
    if rules.negative_zero is NegativeZero.POSITIVE:
        result_negative = negative & ~bits.is_value(0)
    result_negative = result_negative | (is_zero & zero_negative)
    if rules.flushes:
        small = _is_small(rules, negative, top, above_min, bits, trace)
        bits = ite(small, algebra.unsigned(0, bits.width), bits)
        if rules.flushed_result is FlushedResult.POSITIVE:
            # of a sum that is zero the readings of such zeros decide
            result_negative = result_negative & (is_zero | ~small)
    if fmt.nan_is_minus_zero:  # the pattern of a negative zero is its NaN
        result_negative = result_negative & ~bits.is_value(0)
    pattern = result_negative.as_bit().concatenate(bits)
    if fmt.ignored_bits + unused:
        pattern = pattern.concatenate(algebra.unsigned(0, fmt.ignored_bits + unused))
    return algebra.signal(Signal(SignalKind.CONVERTED), pattern), algebra.signal_truth(
        Signal(SignalKind.OVERFLOW), overflowed
    )


def _leading(pattern: Word[D], rho: Conversion) -> Word[D]:
    """Return a pattern without the low bits that ``rho`` drops of the wider format. An infinity stays one."""
    return pattern.extract(pattern.width - 1, pattern.width - rho.target.bits)


def _stays_finite(algebra: Algebra[D, T], rules: Rules, negative: Truth[T]) -> Truth[T]:
    """Return whether an overflow gives the largest finite number, and no infinity (IEEE 754-2019, clause 7.4)."""
    overflow = rules.overflow
    if rules.out_of_range is not None:
        if rules.out_of_range.numbers is not Beyond.OVFINF:
            return algebra.truth(rules.out_of_range.numbers is Beyond.SATURATE)
        overflow = Overflow.LARGEST_FINITE if rules.rho.rounding is Rounding.RZ else Overflow.INFINITY
    match rules.rho.rounding:
        case Rounding.RZ | Rounding.RTO | Rounding.RNE:
            return algebra.truth(overflow is Overflow.LARGEST_FINITE)
        case Rounding.RTN:
            return ~negative
        case Rounding.RTP:
            return negative
        case _:
            return algebra.truth(False)


def _is_small(
    rules: Rules, negative: Truth[T], top: Word[D], above_min: Word[D], bits: Word[D], trace: Truth[T] | None
) -> Truth[T]:
    """Return whether a result counts as subnormal. ``bits`` is what it was rounded to, its sign apart."""
    rounded = bits.extract(bits.width - 1, rules.rho.fraction_bits).is_value(0)
    if rules.rho.rounding.truncates:  # all readings are the same then
        return rounded
    match rules.tininess:
        case Tininess.ROUNDED:
            return rounded
        case Tininess.UNBOUNDED:
            return _is_tiny(rules.rho, negative, top, above_min, trace)
        case Tininess.EXACT:
            return above_min < 0
        case _:
            assert_never(rules.tininess)


def _is_tiny(rho: Conversion, negative: Truth[T], top: Word[D], above_min: Word[D], trace: Truth[T] | None) -> Truth[T]:
    """Return whether a number is below ``2**e_min`` once rounded as though exponents had no lower end.

    It is where its top bit lies below ``2**e_min``, unless that bit is the next one below and the significand rounds up
    to the next power of two.
    """
    precision = rho.fraction_bits + 1
    if isinstance(rho.rounding, Stochastic):
        raise TypeError("conversions that round stochastically flush nothing")
    kept = _round(rho.rounding, negative, top, top.algebra.unsigned(0, 1), precision, trace)
    just_below = above_min.is_value(-1)
    return (above_min < 0) & ~(just_below & kept.bit(precision))


def _round(
    rounding: Rounding,
    negative: Truth[T],
    top: Word[D],
    down: Word[D],
    precision: int,
    trace: Truth[T] | None,
    field: Word[D] | None = None,
) -> Word[D]:
    """Return the ``precision`` highest bits of ``top`` moved ``down`` places, rounded.

    ``trace`` is a bit below all of them. The result is one bit wider, unless the rounding truncates. With ``field``,
    the format has no fraction bits, and that exponent field is added to the result: the sum is even or odd, not its
    significand, which is 1 or 0 (IEEE P3109, RoundToPrecision with P = 1).
    """
    if rounding is Rounding.RZ:
        top = top << max(precision - top.width, 0)
        return top.drop_low(top.width - precision).shift_right(down)
    # a round bit and a sticky bit below the precision decide, and the sign where rounding is towards one infinity
    top = top << max(precision + 2 - top.width, 0)
    surplus = top.width - precision - 2
    if surplus:
        sticky = ~top.extract(surplus, 0).is_value(0)
        top = top.drop_low(surplus + 1).concatenate(sticky.as_bit())
    moved = top.shift_right_jam(down)
    if trace is not None:  # the lowest bit is a sticky bit, whatever was moved
        moved = moved.drop_low(1).concatenate((trace | moved.bit(0)).as_bit())
    if field is not None and rounding in (Rounding.RNE, Rounding.RTO):
        odd = moved.drop_low(2).bit(0) ^ field.bit(0)
        inexact, half = moved.bit(0) | moved.bit(1), moved.bit(1)
        up = inexact & ~odd if rounding is Rounding.RTO else half & (moved.bit(0) | odd)
        return moved.drop_low(2) + up.as_bit()
    if rounding is Rounding.RTO:
        return moved.shift_right_jam(moved.algebra.unsigned(2, 2)).narrow(precision)
    one, zero = (top.algebra.unsigned(bit, precision) for bit in (1, 0))
    return moved.drop_low(2) + ite(_rounds_up(rounding, negative, moved), one, zero)


def _round_stochastically(
    rounding: Stochastic, top: Word[D], down: Word[D], precision: int, random: Word[D] | None
) -> Word[D]:
    """Return the ``precision`` highest bits of ``top`` moved ``down`` places, one more where the random bits say so.

    Below them N bits are kept, the next one, and a sticky bit.
    """
    n, algebra = rounding.bits, top.algebra
    if rounding.drawn is not None:
        random = algebra.unsigned(rounding.drawn, n)
    if random is None:
        raise DesignError(f"{rounding}: its random bits are an operand; state a constant, {rounding}@0x0 for example")
    top = top << max(precision + n + 2 - top.width, 0)
    surplus = top.width - precision - n - 2
    if surplus:
        sticky = ~top.extract(surplus, 0).is_value(0)
        top = top.drop_low(surplus + 1).concatenate(sticky.as_bit())
    moved = top.shift_right_jam(down)
    left = moved.extract(n + 1, 0)
    match rounding.draw:
        case Draw.A:
            away = (left.drop_low(2) + random).bit(n)
        case Draw.B:
            away = (left.drop_low(1) + random.concatenate(algebra.unsigned(1, 1))).bit(n + 1)
        case Draw.C:
            up = nearest_rounds_up(left)
            nearest = left.drop_low(2) + up.as_bit()
            away = (nearest + random).drop_low(n) > 0
        case _:
            assert_never(rounding.draw)
    return moved.drop_low(n + 2) + away.as_bit()


def _rounds_up(rounding: Rounding, negative: Truth[T], x: Word[D]) -> Truth[T]:
    """Return whether a magnitude with a round bit and a sticky bit below its last kept one is rounded up."""
    if rounding is Rounding.RNE:
        return nearest_rounds_up(x)
    sticky, half = x.bit(0), x.bit(1)
    if rounding is Rounding.RNA:
        return half
    outwards = negative if rounding is Rounding.RTN else ~negative
    return outwards & (half | sticky)
