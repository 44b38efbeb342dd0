"""Lemmas about the conversion rho: how far it moves the sum, and that it depends only on the value of the sum.

They hold for every sum within the bound of the step and for every exponent, whatever the terms were.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import normalised, with_top_exponent
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import SumPath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.labels import Addend, Partial
from mmaproof.smt.semantics.unpack import Unpacked, unpack

WIDE = 96
"""Width of sums up to which the error of their conversion is one lemma."""


def rules_of(of: Design | Rules) -> Rules:
    """Return the rules of a conversion: those given, or those at the end of a design's step."""
    return of if isinstance(of, Rules) else Rules.of(of.step)


class ConversionLemma(Lemma):
    """A statement about the conversion of ``total * 2**(e_max - fraction_bits)``.

    ``of`` are the rules of the conversion, or the design whose step it ends.
    """

    def __init__(self, name: str, of: Design | Rules, total: FusedSum[Any, Any]) -> None:
        self.name = name
        self.rules = rules_of(of)
        self.fraction_bits = total.fraction_bits
        self.largest = total.largest
        self.inputs = (
            Input("total", total.total.width, signed=True),
            Input("e_max", total.e_max.width, signed=True),
            Input("zero_negative", 1),
        )

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the sum is within the bound of its terms."""
        magnitude = words["total"].magnitude()
        width = max(magnitude.width, self.largest.bit_length())
        return magnitude <= algebra.unsigned(self.largest, width)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return the claim about the sum that the words represent."""
        return self.of_sum(algebra, words["total"], words["e_max"], words["zero_negative"].is_value(1))

    @abstractmethod
    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return the claim about a sum."""


class ConversionError(ConversionLemma):
    """rho changes the sum by less than one ulp if it truncates, and by at most half an ulp if it rounds to nearest.

    The ulp is that of the result in the precision of rho. Nothing is claimed of a result that is not finite. With
    ``up_to_largest``, nothing is claimed of the largest number either where the sum is larger: a format without
    infinities and a directed rounding return it for such a sum. Where subnormal results are flushed, a result may also
    be zero for any sum below the smallest normal number.
    """

    beside = 0
    """units of the sum by which the error is counted larger; what lies beside it is nearer than that"""

    def __init__(self, of: Design | Rules, total: FusedSum[Any, Any], *, up_to_largest: bool = False) -> None:
        rules = rules_of(of)
        nearest = rules.rho.rounding in (Rounding.RNE, Rounding.RNA)
        amount = "at most half an ulp" if nearest else "less than one ulp"
        flushed = ", or flushes one below the smallest normal number" if rules.flushes else ""
        limited = rules.rho.target.infinity is None or rules.rho.rounding in (Rounding.RTN, Rounding.RTP)
        within = ", up to the largest number" if up_to_largest and limited else ""
        super().__init__(f"rho changes the sum by {amount} of the result{flushed}{within}", rules, total)
        self.nearest = nearest
        self.up_to_largest = up_to_largest and limited

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether the error is as claimed, or the result is not finite.

        The result is n * 2**(x - f) with the significand n, and the sum is t * 2**(e_max - F). With
        s = (x - f) - (e_max - F), both are counted in units of the smaller exponent, so n * 2**s is compared with t, or
        n with t * 2**-s. If s is beyond all bits of t, the claim is that n is zero, because t is less than half an ulp
        then; rounded away from zero, it may also be one ulp, if t is not zero. If -s is beyond all bits of n, the claim
        is that t is zero, and then n is zero too.
        """
        rho = self.rules.rho
        pattern, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        d = unpack(algebra, rho.target, pattern)
        shift = d.exponent - e_max - (d.fraction_bits - self.fraction_bits)
        unused = rho.target.fraction_bits - rho.fraction_bits
        n, t = d.significand.as_signed(), total.magnitude()
        up_most, down_most = total.width + 1, d.significand.width + 1
        up, up_far = _amount(algebra, shift, up_most)
        down, down_far = _amount(algebra, -shift, down_most)
        result = n.shift_left_by(up)
        exact = t.as_signed().shift_left_by(down)
        error = (result - exact).magnitude() + algebra.unsigned(self.beside, 1).shift_left_by(down)
        # the error is doubled, so that it is counted in half ulps
        error = error << 1
        ulp = algebra.unsigned(2 << unused, unused + 2).shift_left_by(up)
        if self.nearest:
            ulp = ulp.drop_low(1)
        within = error <= ulp if self.nearest or self.beside else error < ulp
        zero_result, zero_sum = d.significand.is_value(0), t.is_value(0)
        signs = d.negative == (total < 0)
        fits = algebra.any_of(
            [
                up_far & zero_result,
                algebra.all_of([down_far, zero_sum, zero_result]),
                ~(up_far | down_far) & within,
            ]
        )
        if not self.nearest:
            fits = fits | algebra.all_of([up_far, d.significand.is_value(1 << unused), ~zero_sum])
        if self.rules.flushes:  # with the exponent e_min of the zero, 2**e_min is 2**f ulps
            smallest = algebra.unsigned(1 << d.fraction_bits, d.fraction_bits + 1).shift_left_by(up)
            fits = fits | (~down_far & zero_result & (exact.magnitude() < smallest))
        same_side = signs | zero_result
        beyond = d.infinite | d.nan
        if self.up_to_largest:
            ignored = rho.target.ignored_bits + unused
            largest = rho.target.max_finite >> ignored << ignored
            at_largest = algebra.extract(pattern, rho.target.sign_position - 1, 0).is_value(largest)
            above = (~(up_far | down_far) & (result.magnitude() < exact.magnitude())) | (down_far & ~zero_sum)
            beyond = beyond | (at_largest & above)
        return beyond | (fits & same_side)


class LeadingBits(ConversionLemma):
    """rho of a wide sum is rho of its leading bits, of which the last says whether any bit below is set."""

    def __init__(self, of: Design | Rules, total: FusedSum[Any, Any]) -> None:
        super().__init__("rho looks at the leading bits of a sum, and at whether any bit below is set", of, total)

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether both convert to the same result."""
        given, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        leading, exponent = _leading(total, e_max, self.fraction_bits, leading_bits(self.rules))
        shorter, _ = convert(algebra, self.rules, leading, exponent, leading_bits(self.rules) - 1, zero_negative)
        return given == shorter


def leading_bits(rules: Rules) -> int:
    """Return the bits of a magnitude that decide how it is rounded: those that are kept and two more."""
    rho = rules.rho
    return max(rho.fraction_bits, rho.first.fraction_bits) + 3


def _leading(total: Word[D], e_max: Word[D], fraction_bits: int, bits: int) -> tuple[Word[D], Word[D]]:
    """Return the leading bits of a sum, jammed, with its sign, and the exponent of the first one."""
    top, exponent = with_top_exponent(total.magnitude(), e_max, fraction_bits)
    places = top.width - bits
    moved = top.shift_right_jam(top.algebra.unsigned(places, places.bit_length())).narrow(bits)
    return moved.negated_where(total < 0), exponent


def conversion_errors(of: Design | Rules, total: FusedSum[Any, Any], *, up_to_largest: bool = False) -> Sequence[Lemma]:
    """Return the lemmas that a conversion moves a sum as little as ``ConversionError`` says.

    That of a wide sum is the one of its leading bits. These and the exact sum lie on the same side of every number that
    has two bits less, or are equal to it: jamming moves a sum to an odd multiple of the last bit, between the same two
    even ones. A result, half an ulp beside it and one ulp beside it are such numbers, so both sums are as near.
    """
    rules = rules_of(of)
    if total.total.width <= WIDE:
        return [ConversionError(rules, total, up_to_largest=up_to_largest)]
    algebra, bits = TermAlgebra(), leading_bits(rules)
    words = [algebra.twos_complement(algebra.symbol(f"wide_{w.width}", w.width)) for w in (total.total, total.e_max)]
    leading, exponent = _leading(words[0], words[1], total.fraction_bits, bits)
    path = SumPath(Partial.WHOLE, (Addend.X,), (Cut(bits - 1),))
    short = FusedSum(path, (), exponent, (), leading, algebra.truth(True), (1 << bits) - 1)
    return [LeadingBits(rules, total), ConversionError(rules, short, up_to_largest=up_to_largest)]


class ConversionOfValue(ConversionLemma):
    """rho depends only on the value of the sum: the same sum in units of half the size converts to the same result."""

    def __init__(self, design: Design, total: FusedSum[Any, Any]) -> None:
        super().__init__("rho depends on the value of the sum, not on the unit it is counted in", design, total)

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether t * 2**(e - F), 2t * 2**(e - (F + 1)) and 2t * 2**((e - 1) - F) convert to one result."""
        doubled, below = total << 1, e_max - 1
        given, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        finer, _ = convert(algebra, self.rules, doubled, e_max, self.fraction_bits + 1, zero_negative)
        lower, _ = convert(algebra, self.rules, doubled, below, self.fraction_bits, zero_negative)
        return (given == finer) & (given == lower)


def one_number(algebra: TermAlgebra, x: Unpacked[FNode, FNode]) -> FusedSum[FNode, FNode]:
    """Return the shape of a number that is to be converted by itself."""
    significand, exponent = normalised(x.significand, x.exponent)
    path = SumPath(Partial.WHOLE, (Addend.X,), (Cut(x.fraction_bits),))
    largest = (1 << significand.width) - 1
    return FusedSum(path, (), exponent, (), significand.negated_where(x.negative), algebra.truth(True), largest)


def _amount(algebra: Algebra[D, T], shift: Word[D], most: int) -> tuple[Word[D], Truth[T]]:
    """Return a shift as an unsigned word from 0 to ``most``, and whether it is larger than that."""
    far = shift > most
    clipped = algebra.maximum([ite(far, most, shift), algebra.signed(0)])
    return clipped.narrow_to_unsigned(most.bit_length()), far
