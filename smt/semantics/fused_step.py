"""A step whose products are added in fused sums: the FDPA operations of Xie et al. 2026, algorithms 6 to 11.

The products (or scaled groups of them) are aligned and added, all together or even and odd ones apart; c is one of the
terms, or joins afterwards: rounded down together with the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.parameters import Parameters
from mmaproof.designs.readings import Alignment, FarC, Grouping, Join, LateRounding, ZeroSum
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.fused_sum import FusedSum, fused_sum
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import choose_special, special_result
from mmaproof.smt.semantics.terms import Factors, Term, accumulator_term, product_sign, product_term, scaled_term
from mmaproof.smt.semantics.unpack import Unpacked
from mmaproof.smt.semantics.widths import sum_widths


def fused_step(
    design: Design, algebra: Algebra[D, T], products: Sequence[Factors[D, T]], labels: Sequence[str], c: Unpacked[D, T]
) -> StepSignals[D, T]:
    """Return the signals of one step; ``labels`` name the products."""
    p = design.parameters
    labels, terms = _terms(design, algebra, products, labels)
    accumulator = accumulator_term(algebra, p, c)
    sums = _sums(design, algebra, labels, terms, accumulator)
    total, e_max, fraction_bits = sums[-1].total, sums[-1].e_max, sums[-1].fraction_bits
    if _rounds_down_twice(p):
        total, e_max, fraction_bits = _round_down_again(algebra, sums[-1], p.late_bits)
    rules, zero_negative = Rules.of(p), algebra.truth(False)
    if p.zero_sum is ZeroSum.IEEE:
        negatives = [*(product_sign(algebra, x) for x in products), accumulator.negative]
        zero_negative = rules.sign_of_zero(algebra, negatives)
    converted, overflowed = convert(algebra, rules, total, e_max, fraction_bits, zero_negative)
    special = special_result(algebra, products, (c,), p)
    d = choose_special(algebra, design.d_format, p.nan_code, special, converted)
    return StepSignals(tuple(sums), (), converted, overflowed, special, d)


def _terms(
    design: Design, algebra: Algebra[D, T], products: Sequence[Factors[D, T]], labels: Sequence[str]
) -> tuple[list[str], list[Term[D, T]]]:
    """Return the terms that the products become, each with its name."""
    p = design.parameters
    if p.group_size is None:
        return list(labels), [product_term(algebra, p, x) for x in products]
    groups = range(0, len(products), p.group_size)
    names = [f"{labels[i]}..{labels[i + p.group_size - 1]}" for i in groups]
    return names, [_group(design, algebra, products[i : i + p.group_size]) for i in groups]


def _group(design: Design, algebra: Algebra[D, T], group: Sequence[Factors[D, T]]) -> Term[D, T]:
    """Return the exact sum of a group of products times its scales.

    The products are aligned at the largest exponent that the formats have, with so many fraction bits that the
    smallest product keeps them all: nothing is cut.
    """
    a, b = design.a_format, design.b_format
    point = a.fraction_bits + b.fraction_bits
    top, lowest = a.e_max + b.e_max, a.e_min + b.e_min
    cut = Cut(top - lowest + point)
    aligned, largest = [], 0
    for x in group:
        significand = algebra.multiply(x.a.significand, x.b.significand)
        exponent = algebra.add(x.a.exponent, x.b.exponent)
        bound = x.a.largest * x.b.largest
        term = Term(point, product_sign(algebra, x), exponent, significand, algebra.truth(True), bound)
        kept = cut.bound(bound, point)
        aligned.append(algebra.signal("product", align(algebra, term, algebra.signed(top), cut), (-kept, kept)))
        largest += kept
    exact = algebra.bounded_sum(aligned, largest.bit_length() + 1)
    exact = algebra.signal("sum of a group", exact, (-largest, largest))
    return scaled_term(algebra, design.parameters, group, exact, point - lowest, largest)


def _sums(
    design: Design, algebra: Algebra[D, T], labels: Sequence[str], terms: Sequence[Term[D, T]], c: Term[D, T]
) -> list[FusedSum[D, T]]:
    """Return the fused sums of a step in order; the last one is to be converted."""
    p = design.parameters
    cut = Cut(p.fraction_bits, p.alignment)
    register = None if p.carry_bits is None else sum_widths(design).register

    def add(some: Sequence[int], with_c: bool) -> FusedSum[D, T]:
        chosen, names = [terms[i] for i in some], [labels[i] for i in some]
        if with_c:
            chosen, names = [*chosen, c], [*names, "c"]
        cuts = [cut] * len(chosen)
        return fused_sum(algebra, names, chosen, cuts, floor=p.floor, register=register, **_circuits(p))

    everything = range(len(terms))
    if p.grouping is Grouping.ALL:
        if p.join is not Join.ROUND_DOWN:
            return [add(everything, with_c=True)]
        products = add(everything, with_c=False)
        return [products, _join_rounded_down(design, algebra, products, c)]
    halves = [add(everything[i::2], with_c=False) for i in (0, 1) if everything[i::2]]
    names, sums = ["even", "odd"][: len(halves)], [h.as_term(algebra) for h in halves]
    if p.join is not Join.ROUND_DOWN:
        cuts = [cut] * (len(sums) + 1)
        return [*halves, fused_sum(algebra, [*names, "c"], [*sums, c], cuts, floor=p.floor, **_circuits(p))]
    down = Cut(p.fraction_bits, p.late_alignment)
    products = fused_sum(algebra, names, sums, [down] * len(sums), floor=p.floor, **_circuits(p))
    return [*halves, products, _join_rounded_down(design, algebra, products, c)]


def _join_rounded_down(
    design: Design, algebra: Algebra[D, T], products: FusedSum[D, T], c: Term[D, T]
) -> FusedSum[D, T]:
    """Return the sum of the products' sum and c, both rounded down (algorithms 10 and 11, lines 13 to 16, 21 to 26)."""
    p = design.parameters
    late_bits = p.late_bits + (1 if _rounds_down_twice(p) else 0)
    cuts = (Cut(late_bits, p.late_alignment), Cut(p.fraction_bits, p.late_alignment))
    term = products.as_term(algebra)
    if p.far_c is FarC.DROPPED:
        c = _without_far_c(algebra, p.fraction_bits, term, c)
    return fused_sum(algebra, ("products", "c"), (term, c), cuts, **_circuits(p))


def _circuits(p: Parameters) -> dict[str, Any]:
    return {"adder": p.adder, "comparator": p.comparator}


def _rounds_down_twice(p: Parameters) -> bool:
    return p.join is Join.ROUND_DOWN and p.late_alignment is Alignment.FLOOR and p.late_rounding is LateRounding.TWICE


def _without_far_c(algebra: Algebra[D, T], fraction_bits: int, products: Term[D, T], c: Term[D, T]) -> Term[D, T]:
    """Return c with a zero significand where its exponent is below E - F - 1 (algorithm 11, lines 24 and 25)."""
    below = algebra.add(c.exponent, algebra.signed(fraction_bits + 1))
    far = algebra.all_of([products.present, algebra.less(below, products.exponent)])
    nothing = algebra.unsigned(0, c.significand.width)
    significand = algebra.ite(far, nothing, c.significand)
    return Term(c.fraction_bits, c.negative, c.exponent, significand, c.present, c.largest)


def _round_down_again(algebra: Algebra[D, T], total: FusedSum[D, T], late_bits: int) -> tuple[Word[D], Word[D], int]:
    """Return the sum normalised and rounded down to ``late_bits`` below its own exponent (open point 11, reading B)."""
    negative = algebra.less(total.total, algebra.signed(0))
    top, places = algebra.normalise(algebra.magnitude(total.total))
    top_weight = algebra.signed(top.width - 1 - total.fraction_bits)
    exponent = algebra.subtract(algebra.add(total.e_max, top_weight), algebra.as_signed(places))
    value = algebra.shift_left(algebra.conditional_negate(negative, top), max(late_bits - top.width + 1, 0))
    surplus = max(top.width - 1 - late_bits, 0)
    return algebra.drop_low(value, surplus), exponent, late_bits
