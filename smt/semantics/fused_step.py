"""A step whose products are added in fused sums: the FDPA operations of Xie et al. 2026, algorithms 6 to 11.

The products (or scaled groups of them) are aligned and added: all together, or those of even
index and those of odd index by themselves first. The accumulator c is one of the terms, or it is added to their sum
afterwards and both are rounded down together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmaproof.designs.design import Design
from mmaproof.designs.readings import Sticky
from mmaproof.designs.steps import FusedStep, JoinedRoundedDown, PairwiseStep
from mmaproof.designs.steps.aligned import PartialProducts, ScaledGroups
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.words import Signal, SignalKind, with_top_exponent
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.align import Cut, align, largest_exponent, loses_bits
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Addend, Label, Partial, RoundedSum, StepPath
from mmaproof.smt.semantics.fused_sum import FusedSum, fused_sum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import finish, sign_of_zero_sum, special_result
from mmaproof.smt.semantics.terms import (
    Factors,
    Term,
    accumulator_term,
    part_terms,
    product_sign,
    product_term,
    scaled_term,
)

_EXPONENT_OF_SPECIALS = -1
"""What an infinity and NaN read where c is dropped for its exponent: frexp of C and PyTorch gives 0, for [1/2, 1)."""


def fused_step(
    design: Design,
    step: FusedStep,
    algebra: Algebra[D, T],
    path: StepPath,
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
) -> StepSignals[D, T]:
    """Return the signals of one step. They leave out a c that is added to the converted sum."""
    terms = _terms(design, step, algebra, products)
    accumulator = accumulator_term(algebra, step, c)
    drops_specials = isinstance(step.join, JoinedRoundedDown) and step.join.drops_far_specials
    if drops_specials:
        exponent = ite(c.nan | c.infinite, _EXPONENT_OF_SPECIALS, accumulator.exponent)
        accumulator = replace(accumulator, exponent=exponent)
    sums = _sums(algebra, path, dict(zip(path.terms, terms, strict=True)) | {Addend.C: accumulator})
    total, e_max, fraction_bits = sums[-1].total, sums[-1].e_max, sums[-1].fraction_bits
    if path.rounds_again is not None:
        total, e_max, fraction_bits = _round_down_again(sums[-1], path.rounds_again, design.d_format.e_min)
    trace = lost_bits(algebra, sums) if step.sticky is Sticky.YES else None
    zero_negative = sign_of_zero_sum(algebra, step, products, accumulator.negative)
    if step.dropped_bits:
        zero_negative = zero_negative | (total < 0)
        total, fraction_bits = _without_low_bits(total, step.dropped_bits), fraction_bits - step.dropped_bits
    rules = Rules.of(step)
    converted, overflowed = convert(algebra, rules, total, e_max, fraction_bits, zero_negative, trace)
    if drops_specials:
        near = ~_is_far(step.fraction_bits, sums[-2].as_term(), accumulator)
        c = replace(c, nan=c.nan & near, infinite=c.infinite & near)
    special = special_result(algebra, products, (c,), step)
    d = finish(algebra, rules, step.nan_code, special, converted, overflowed)
    return StepSignals(path, tuple(sums), (), converted, overflowed, special, d)


def _without_low_bits(total: Word[D], places: int) -> Word[D]:
    """Return a sum whose magnitude has lost its lowest bits."""
    magnitude = total.magnitude()
    return magnitude.extend(max(magnitude.width, places + 1)).drop_low(places).negated_where(total < 0)


def _terms(
    design: Design, step: FusedStep, algebra: Algebra[D, T], products: Sequence[Factors[D, T]]
) -> list[Term[D, T]]:
    """Return the terms that the products become."""
    if isinstance(step.terms, PartialProducts):
        return [term for x in products for term in part_terms(algebra, step, x, step.terms)]
    if not isinstance(step.terms, ScaledGroups):
        return [product_term(algebra, step, x) for x in products]
    size = step.terms.group_size
    groups = [products[i : i + size] for i in range(0, len(products), size)]
    return [_group(design, step.terms, algebra, group) for group in groups]


def _group(design: Design, groups: ScaledGroups, algebra: Algebra[D, T], group: Sequence[Factors[D, T]]) -> Term[D, T]:
    """Return the exact sum of a group of products times its scales.

    The products are aligned at the largest exponent that the formats have. There are enough fraction bits for the
    smallest product, so that nothing is cut.
    """
    a, b = design.a_format, design.b_format
    point = a.fraction_bits + b.fraction_bits
    top, lowest = a.e_max + b.e_max, a.e_min + b.e_min
    cut = Cut(top - lowest + point)
    aligned, largest = [], 0
    for x in group:
        significand, exponent = x.a.significand * x.b.significand, x.a.exponent + x.b.exponent
        bound = x.a.largest * x.b.largest
        term = Term(point, product_sign(x), exponent, significand, algebra.truth(True), bound)
        at = algebra.signed(top)
        algebra.check(term, term.valid_at, at)
        kept = cut.bound(bound, point)
        product = align(algebra, term, at, cut)
        aligned.append(algebra.signal(Signal(SignalKind.PRODUCT), product, (-kept, kept)))
        largest += kept
    exact = algebra.bounded_sum(aligned, largest.bit_length() + 1)
    exact = algebra.signal(Signal(SignalKind.GROUP_SUM), exact, (-largest, largest))
    return scaled_term(algebra, groups, group, exact, point - lowest, largest)


def _sums(algebra: Algebra[D, T], path: StepPath, terms: dict[Label, Term[D, T]]) -> list[FusedSum[D, T]]:
    """Return the fused sums of a step in order, each a term of later ones; the last one is to be converted."""
    sums = []
    for of in path.sums:
        if path.far_c_dropped is not None and of.label is Partial.WHOLE:
            terms[Addend.C] = without_far_c(path.far_c_dropped, terms[Partial.PRODUCTS], terms[Addend.C])
        if path.small_c_dropped is not None and of.label is Partial.WHOLE:
            e_max = largest_exponent(algebra, [terms[label] for label in of.terms], of.floor, of.comparator)
            bits = of.cut_of(Addend.C).fraction_bits
            terms[Addend.C] = without_small_c(algebra, terms[Addend.C], e_max, bits, path.small_c_dropped)
        if path.normalises_addends and of.label is Partial.WHOLE:
            terms |= {label: normalised_addend(terms[label]) for label in of.terms}
        total = fused_sum(algebra, of, [terms[label] for label in of.terms])
        sums.append(total)
        if of.label is not Partial.WHOLE:
            terms[of.label] = total.as_term()
    return sums


def without_far_c(fraction_bits: int, products: Term[D, T], c: Term[D, T]) -> Term[D, T]:
    """Return c with a zero significand where its exponent is below E - F - 1 (algorithm 11, lines 24 and 25)."""
    nothing = c.significand.algebra.unsigned(0, c.significand.width)
    return replace(c, significand=ite(_is_far(fraction_bits, products, c), nothing, c.significand))


def without_small_c(
    algebra: Algebra[D, T], c: Term[D, T], e_max: Word[D], fraction_bits: int, e_min: int
) -> Term[D, T]:
    """Return c with a zero significand where its magnitude is below one unit and a unit exceeds ``2**e_min``."""
    nothing = algebra.unsigned(0, c.significand.width)
    below = align(algebra, c, e_max, Cut(fraction_bits)).is_value(0)
    return replace(c, significand=ite(below & (e_max > e_min + fraction_bits), nothing, c.significand))


def _is_far(fraction_bits: int, products: Term[D, T], c: Term[D, T]) -> Truth[T]:
    """Return whether the exponent of c is below E - F - 1."""
    return products.present & (c.exponent + (fraction_bits + 1) < products.exponent)


def normalised_addend(term: Term[D, T]) -> Term[D, T]:
    """Return the same number with a significand from 1 to below 2. A zero takes no part in e_max."""
    significand, exponent = with_top_exponent(term.significand, term.exponent, term.fraction_bits)
    width, nonzero = significand.width, ~term.significand.is_value(0)
    return Term(width - 1, term.negative, exponent, significand, nonzero, (1 << width) - 1)


def lost_bits(algebra: Algebra[D, T], sums: Sequence[FusedSum[D, T]]) -> Truth[T]:
    """Return whether alignment cut a nonzero bit off any term of any of the sums."""
    return algebra.any_of(
        [loses_bits(algebra, term, x.e_max, cut) for x in sums for term, cut in zip(x.terms, x.path.cuts, strict=True)]
    )


def _round_down_again(total: FusedSum[D, T], late_bits: int, e_min: int) -> tuple[Word[D], Word[D], int]:
    """Return the sum normalised and rounded down to ``late_bits`` below its own exponent, or below 2**e_min.

    That is open point 11, reading B. The exponent that is returned is the one below which it is rounded.
    """
    top, exponent = with_top_exponent(total.total.magnitude(), total.e_max, total.fraction_bits)
    value = top.negated_where(total.total < 0) << max(late_bits - top.width + 1, 0)
    above = exponent - e_min
    down = ite(above < 0, -above, 0).narrow_to_unsigned(above.width)
    kept = value.drop_low(max(top.width - 1 - late_bits, 0)).shift_right(down)
    return kept, ite(above < 0, e_min, exponent), late_bits


def pairwise_step(
    design: Design,
    step: PairwiseStep,
    algebra: Algebra[D, T],
    path: StepPath,
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
) -> StepSignals[D, T]:
    """Return the signals of one step: products, then sums of neighbours, then the sum with ``c``."""
    fmt, nan_code = design.d_format, step.nan_code
    rules = Rules.of_operation(step)
    level = [ieee.multiply(algebra, rules, nan_code, x, step.zero_product_sign) for x in products]
    parts: list[tuple[Label, ...]] = [(label,) for label in path.terms]
    rounded: list[tuple[Label, Word[D]]] = list(zip(path.terms, level, strict=True))
    while len(level) > 1:
        read = [unpack(algebra, fmt, x) for x in level]
        pairs = range(0, len(level), 2)
        level = [ieee.add(algebra, rules, nan_code, read[i], read[i + 1]) for i in pairs]
        parts = [parts[i] + parts[i + 1] for i in pairs]
        rounded += zip(map(RoundedSum, parts), level, strict=True)
    d = ieee.add(algebra, rules, nan_code, c, unpack(algebra, fmt, level[0]))
    special = special_result(algebra, products, (c,))
    return StepSignals(path, (), tuple(rounded), d, algebra.truth(False), special, d)
