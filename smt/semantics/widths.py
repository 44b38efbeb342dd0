"""Widths of the register that adds the terms of a step, computed from the parameters of a design.

Terminology: aligned terms are multiples of ``2**(e_max - F)``; the integer bits of a term are those of its magnitude
at and above ``2**e_max``. Every width inside the semantics follows from bounds that the terms carry with them; the
counts below are what people call carry bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Grouping, ProductExponent
from mmaproof.designs.steps import FusedStep, JoinedAsTerm, JoinedInIeee, LanesStep
from mmaproof.designs.steps.aligned import PartialProducts
from mmaproof.smt.semantics.cut import Cut


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


def _fused(design: Design) -> FusedStep:
    if not isinstance(design.step, FusedStep):
        raise TypeError(f"{design.name}: its step adds no aligned terms in a register")
    return design.step


def _product_bound(design: Design, cut: Cut) -> int:
    """Bound of one product term (or scaled group, or of the parts of one product together), cut."""
    step = _fused(design)
    a, b = design.a_format, design.b_format
    if isinstance(step.terms, PartialProducts):
        low, point = step.terms.low_bits, a.fraction_bits + b.fraction_bits
        of_a, of_b = (((f.max_significand >> low) << low, (1 << low) - 1) for f in (a, b))
        return sum(cut.bound(x * y, point) for x in of_a for y in of_b)
    largest, point = a.max_significand * b.max_significand, a.fraction_bits + b.fraction_bits
    if step.group_size is not None:
        # the exact sum of a group: its products lie up to 2**(e_max(a) + e_max(b)) above its fixed point
        largest = (largest << (a.e_max + b.e_max)) * step.group_size
    if design.scale_format is not None:
        largest *= design.scale_format.max_significand**2
        point += 2 * design.scale_format.fraction_bits
    if step.product_exponent is ProductExponent.NORMALISED:
        width = largest.bit_length()
        largest, point = (1 << width) - 1, width - 1  # every bit set, below 2
    return cut.bound(largest, point)


def _bound(fmt: Format, cut: Cut, extra: int) -> int:
    return cut.bound(fmt.max_significand, fmt.fraction_bits - extra)


def largest_sum(design: Design) -> int:
    """Return a bound of the products' sum (and c, where it joins fused), in units of ``2**(e_max - F)``.

    It is attained when every term is at its largest and all have the same exponent; the largest significand occurs
    at every exponent but possibly the top one, so truncating formats of more than one exponent do attain it.
    """
    step = _fused(design)
    cut = Cut(step.fraction_bits, step.alignment)
    terms = step.L // (step.group_size or 1) // (2 if step.grouping in (Grouping.EVEN_ODD, Grouping.HALVES) else 1)
    total = max(terms, 1) * _product_bound(design, cut)
    if not isinstance(step.join, JoinedAsTerm | JoinedInIeee) or step.grouping is not Grouping.ALL:
        return total
    # from the second step of a chain on, c is the d of the step before
    return total + max(_bound(fmt, cut, step.c_extra_bits) for fmt in (design.c_format, design.d_format))


def sum_widths(design: Design) -> SumWidths:
    """Return the sizes of the sum of one step of ``design``.

    The sufficient number of carry bits is what the magnitude of ``largest_sum`` needs above the integer bits of
    one product: two for [0, 4), one where products are normalised to [1, 2). Two's complement of that many bits and
    a sign holds every sum of either sign.
    """
    if isinstance(design.step, LanesStep):
        return _lanes_widths(design, design.step)
    step = _fused(design)
    integer_bits = 1 if step.product_exponent is ProductExponent.NORMALISED else 2
    sufficient = max(largest_sum(design).bit_length() - step.fraction_bits - integer_bits, 0)
    carry = sufficient if step.carry_bits is None else step.carry_bits
    return SumWidths(integer_bits, carry, step.fraction_bits, sufficient)


def _lanes_widths(design: Design, step: LanesStep) -> SumWidths:
    """Return the sizes of the sum of lanes: every lane and c at its largest, all at one exponent.

    A lane of two products has their exponent and one more, so it is below 4 as a product is.
    """
    cut, a, b = Cut(step.fraction_bits), design.a_format, design.b_format
    lanes = step.L if step.pair_bits is None else step.L // 2
    one = cut.bound(a.max_significand * b.max_significand, a.fraction_bits + b.fraction_bits)
    total = lanes * one + max(_bound(fmt, cut, 0) for fmt in (design.c_format, design.d_format))
    sufficient = max(total.bit_length() - step.fraction_bits - 2, 0)
    carry = sufficient if step.carry_bits is None else step.carry_bits
    return SumWidths(2, carry, step.fraction_bits, sufficient)
