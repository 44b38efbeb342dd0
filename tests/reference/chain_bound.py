"""What ``StepLoss`` says of a chain, step by step in rationals: the least bound that its argument gives.

One row of a and one column of b, with the largest numbers that each step meets, and no parts of several steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mmaproof.designs.formats import Format
from mmaproof.properties.step_loss import StepLoss


@dataclass(frozen=True)
class Multiplied:
    """A product: its value, the exponent that the sum of its factors' exponents is, and its last bit."""

    value: Fraction
    exponent: int
    last_bit: Fraction | None
    """None of a zero"""

    @property
    def magnitude(self) -> Fraction:
        """Without its sign."""
        return abs(self.value)


def chain_bound(loss: StepLoss, fmt: Format, start: Fraction, products: Sequence[Multiplied]) -> Fraction | None:
    """Return a bound on ``|d - (c + sum a*b)|`` for ``|c| <= start``; None where a number may be too large.

    ``fmt`` is the format of d. The number of products is a multiple of that of a step.
    """
    error, partial = Fraction(0), Fraction(0)
    for first in range(0, len(products), loss.products):
        step = products[first : first + loss.products]
        p = max(max(x.exponent for x in step) + loss.excess, loss.least_exponent)
        before = start + abs(partial)
        of_c = exponent(before + error, fmt)
        own = sum((x.magnitude for x in step), Fraction(0))
        partial += sum((x.value for x in step), Fraction(0))
        total = start + abs(partial)
        if not loss.of_one_sum:
            total = max(total, before)
        without_c = lost_without_c(loss, fmt, own, p)
        lost, largest = Fraction(0), total + error
        while True:
            e = exponent(largest, fmt)
            new = (
                loss.flushed
                + without_c
                + cut_with_c(loss, step, max(p, of_c if loss.of_one_sum else e))
                + loss.rounded_c * Fraction(2) ** e
            )
            if new == lost:
                break
            lost, largest = new, total + error + new
        error += lost
        if total + error > loss.largest:
            return None
    return error


def lost_without_c(loss: StepLoss, fmt: Format, own: Fraction, p: int) -> Fraction:
    """Return what sums of products whose magnitudes are ``own`` in all lose before c is added."""
    fixed, lost, largest = loss.of_products * Fraction(2) ** p, Fraction(0), own
    while True:
        e = exponent(largest, fmt)
        new = fixed + loss.of_sums * Fraction(2) ** max(p, e) + loss.rounded_sums * Fraction(2) ** e
        if new == lost:
            return lost
        lost, largest = new, own + new + (loss.flushed if loss.of_sums or loss.rounded_sums else 0)


def cut_with_c(loss: StepLoss, step: Sequence[Multiplied], e_max: int) -> Fraction:
    """Return what the terms lose that are aligned with c, of which some products may lose nothing."""
    if loss.cut_bits is None:
        return loss.of_c * Fraction(2) ** e_max
    unit = Fraction(2) ** (e_max - loss.cut_bits)
    cut = [x for x in step if x.last_bit is not None and x.last_bit < unit]
    others = loss.of_c * Fraction(2) ** e_max - loss.products * unit
    taken = sum((x.magnitude % unit for x in cut), Fraction(0)) if loss.cut_is_rest else len(cut) * unit
    return taken + max(others, Fraction(0))


def exponent(x: Fraction, fmt: Format) -> int:
    """Return the exponent of a number, at least e_min of a format."""
    if not x:
        return fmt.e_min
    top = x.numerator.bit_length() - x.denominator.bit_length()
    return max(top if Fraction(2) ** top <= x else top - 1, fmt.e_min)
