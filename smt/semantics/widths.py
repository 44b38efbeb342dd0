"""Widths of the fixed-point stages of a step, computed from the parameters of a design, each with its argument.

Terminology: the aligned terms of a step are multiples of ``2**(e_max - F)``; the integer bits of a term are those
at and above ``2**e_max`` of its magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.designs.parameters import Alignment, ProductExponent


@dataclass(frozen=True, slots=True)
class SumWidths:
    """Sizes in bits of the register that adds the aligned terms of a step.

    ``integer_bits`` of one product, ``carry_bits`` above them, ``fraction_bits`` below; the sign is extra.
    """

    integer_bits: int
    carry_bits: int
    fraction_bits: int
    sufficient_carry_bits: int

    @property
    def register(self) -> int:
        """Width of the two's complement register."""
        return 1 + self.carry_bits + self.integer_bits + self.fraction_bits

    @property
    def may_wrap(self) -> bool:
        """Whether some operands exceed the register."""
        return self.carry_bits < self.sufficient_carry_bits


def product_integer_bits(design: Design) -> int:
    """Return the integer bits of a product: [0, 4) un-normalised takes two, [1, 2) normalised one."""
    return 1 if design.parameters.product_exponent is ProductExponent.NORMALISED else 2


def largest_sum(design: Design) -> int:
    """Return a bound that the sum attains when every term does, in units of ``2**(e_max - F)``.

    A term is at most its largest significand, cut to F fraction bits (jamming never exceeds the next multiple
    below it; rounding towards minus infinity adds one unit to the magnitude of a negative term). No term exceeds
    that, since every exponent is at most e_max. The largest significand occurs at every exponent but possibly the
    top one, so the bound is attained for formats that span more than one exponent.
    """
    p = design.parameters
    point = 1 << p.fraction_bits
    a, b, c = (fmt.max_significand for fmt in (design.a_format, design.b_format, design.c_format))
    fa, fb, fc = (fmt.fraction_bits for fmt in (design.a_format, design.b_format, design.c_format))
    product, product_point = a * b, fa + fb
    if p.product_exponent is ProductExponent.NORMALISED:
        product, product_point = (1 << (fa + fb + 2)) - 1, fa + fb + 1
    # from the second step of a chain on, c is the d of the step before
    c, fc = max((c, fc), (design.d_format.max_significand, design.d_format.fraction_bits), key=lambda x: x[1])
    up = 1 if p.alignment is not Alignment.TRUNCATE else 0
    return p.L * (product * point // (1 << product_point) + up) + c * point // (1 << fc) + up


def sum_widths(design: Design) -> SumWidths:
    """Return the sizes of the sum of one step of ``design``.

    The sufficient number of carry bits is what the magnitude of ``largest_sum`` needs above the integer bits of
    one product. Two's complement of that many bits and a sign holds every sum of either sign. Partial sums are
    bounded by the same argument over fewer terms, so the order of additions does not matter.
    """
    p = design.parameters
    integer_bits = product_integer_bits(design)
    needed = largest_sum(design).bit_length() - p.fraction_bits - integer_bits
    sufficient = max(needed, 0)
    carry = sufficient if p.carry_bits is None else p.carry_bits
    return SumWidths(integer_bits, carry, p.fraction_bits, sufficient)
