"""Integers in a floating-point unit: when no bit of a sum of integer products is lost.

A step adds integers exactly if every term that it aligns is an integer and no exponent is above F: the last bit that a
cut keeps weighs ``2**(e_max - F)``, which is one or less. The sum is an integer then, and rho keeps it if its
significand has enough bits. The lemmas say both for terms and sums of the shapes that a unit has.
"""

from __future__ import annotations

from typing import Any

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.conversions import ConversionLemma
from mmaproof.smt.proving.cuts import CutLemma, TermShape
from mmaproof.smt.semantics.align import loses_bits
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unpack import normalised, unpack


class IntegerTermIsKept(CutLemma):
    """A cut loses nothing of a term that is an integer, if e_max is at most ``top``."""

    def __init__(self, number: int, shape: TermShape, cut: Cut, top: int) -> None:
        kept = f"{cut.fraction_bits} fraction bits"
        name = f"an integer term loses nothing where e_max is at most {top} and {kept} are kept (shape {number})"
        super().__init__(name, shape, cut)
        self.top = top

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether nothing is lost, or the term is no integer, or e_max is larger."""
        whole = is_integer(algebra, term.significand, term.exponent, term.fraction_bits)
        return (e_max > self.top) | ~whole | ~loses_bits(algebra, term, e_max, self.cut)


class IntegerIsConverted(ConversionLemma):
    """rho returns a sum that is an integer of magnitude at most ``most``, if e_max is at most ``top``.

    A sum that is not zero has all of its bits at or above the units, so that they lie at most as many places above the
    last bit of the register as the register is wide. A sum of zero is a zero.
    """

    def __init__(self, design: Design, total: FusedSum[Any, Any], top: int, most: int) -> None:
        super().__init__(f"rho returns an integer sum of magnitude at most {most}", design, total)
        self.top, self.most = top, most

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether d is the sum, or the sum is no such integer."""
        magnitude = total.magnitude()
        width = magnitude.width
        integer, meant = magnitude, algebra.truth(False)
        for places in range(max(self.fraction_bits - self.top, 0), width):
            here = e_max == algebra.signed(self.fraction_bits - places)
            if places:
                here = here & algebra.extract(magnitude, places - 1, 0).is_value(0)
            integer = algebra.ite(here, magnitude.drop_low(places).extend(width), integer)
            meant = meant | here
        zero = magnitude.is_value(0)
        within = integer <= algebra.unsigned(self.most, max(width, self.most.bit_length()))
        pattern, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        d = normalised(algebra, unpack(algebra, self.rules.rho.target, pattern))
        # a sum of up to ``most`` has an exponent of up to so many bits
        bits = self.most.bit_length()
        inside = ~algebra.any_of([d.infinite, d.nan, d.exponent < 0, d.exponent > bits])
        amount = algebra.ite(inside, d.exponent, algebra.signed(0)).narrow_to_unsigned(bits.bit_length() + 1)
        returned = d.significand.shift_left_by(amount)
        equal = algebra.all_of([inside, d.negative == (total < 0), returned == (integer << d.fraction_bits)])
        return algebra.any_of([zero & d.zero, ~zero & ~(meant & within), ~zero & equal])


def is_integer(algebra: Algebra[D, T], significand: Word[D], exponent: Word[D], fraction_bits: int) -> Truth[T]:
    """Return whether ``significand * 2**(exponent - fraction_bits)`` is an integer: no bit lies below the units."""
    cases = [exponent >= fraction_bits, significand.is_value(0)]
    for below in range(1, significand.width):
        low = algebra.extract(significand, below - 1, 0).is_value(0)
        cases.append((exponent == algebra.signed(fraction_bits - below)) & low)
    return algebra.any_of(cases)
