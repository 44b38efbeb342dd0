"""A step whose products are lanes of a narrow register, as the RTL of Vortex's tensor unit has it (variant TFR).

A lane is a product, or the sum of two neighbouring products. All lanes and c are terms of one sum. The RTL says with
an exponent that a term is zero: ``e_zero``, which is below that of any other. Where the significand of a zero keeps
its implicit one, such a term has bits. They lie far below those of a result that is not zero, so they matter to the
sticky bit, and to the sign of a result that is zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.readings import Sticky
from mmaproof.designs.steps.lanes import LanesStep
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word, ite
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Addend, Group, Label, Partial, StepPath, SumPath
from mmaproof.smt.semantics.fused_step import lost_bits
from mmaproof.smt.semantics.fused_sum import fused_sum
from mmaproof.smt.semantics.patterns import Unpacked
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import finish, special_result
from mmaproof.smt.semantics.terms import Factors, Term, product_sign


def lanes_step(
    design: Design,
    step: LanesStep,
    algebra: Algebra[D, T],
    path: StepPath,
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
) -> StepSignals[D, T]:
    """Return the signals of one step."""
    lanes, labels = [_product(algebra, step, x) for x in products], path.terms
    if step.pair_bits is not None:
        pairs = range(0, len(products), 2)
        lanes = [_pair(algebra, step, step.pair_bits, products[i], products[i + 1]) for i in pairs]
        labels = tuple(Group(path.ks[i : i + 2]) for i in pairs)
    sum_path = _sum_path(step, labels)
    total = fused_sum(algebra, sum_path, [*lanes, _accumulator(algebra, step, c)])
    held, zero_negative = total.total, algebra.truth(False)
    if step.register is not None and held.width == step.register:
        # its magnitude takes one bit more than the register has for it: what is left is zero, with a sign
        most_negative = held == -(1 << (step.register - 1))
        held, zero_negative = ite(most_negative, 0, held), most_negative
    trace = lost_bits(algebra, (total,)) if step.sticky is Sticky.YES else None
    rules = Rules.of_operation(step)
    converted, overflowed = convert(algebra, rules, held, total.e_max, total.fraction_bits, zero_negative, trace)
    special = special_result(algebra, products, (c,))
    d = finish(algebra, rules, step.nan_code, special, converted, overflowed)
    return StepSignals(path, (total,), (), converted, overflowed, special, d)


def _sum_path(step: LanesStep, labels: Sequence[Label]) -> SumPath:
    terms = (*labels, Addend.C)
    return SumPath(Partial.WHOLE, terms, (Cut(step.fraction_bits),) * len(terms), register=step.register)


def _product(algebra: Algebra[D, T], step: LanesStep, x: Factors[D, T]) -> Term[D, T]:
    """Return a product as a lane; the significand of a zero element may be one."""
    significands = []
    for element in (x.a, x.b):
        one = algebra.unsigned(1 << element.fraction_bits, element.significand.width)
        zero = element.zero & algebra.truth(step.implicit_ones.of_zeros)
        significands.append(ite(zero, one, element.significand))
    return Term(
        x.a.fraction_bits + x.b.fraction_bits,
        product_sign(x),
        ite(x.a.zero | x.b.zero, step.e_zero, x.a.exponent + x.b.exponent),
        significands[0] * significands[1],
        algebra.truth(True),
        x.a.largest * x.b.largest,
    )


def _pair(
    algebra: Algebra[D, T], step: LanesStep, bits: int, first: Factors[D, T], second: Factors[D, T]
) -> Term[D, T]:
    """Return the sum of two products as a lane: the smaller one is truncated, and so is the lowest bit of the sum.

    A zero element reads the exponent of its own encoding, one below that of subnormal numbers. So a zero product can
    be the larger one, unless it is the second, and the lane keeps its exponent. The exponent of the lane is one more
    than that of its larger product, because the sum has one integer bit more. What cancels is a zero.
    """
    exponents = [_encoded_exponent(x.a) + _encoded_exponent(x.b) for x in (first, second)]
    zeros = [x.a.zero | x.b.zero for x in (first, second)]
    places = bits - first.a.fraction_bits - first.b.fraction_bits
    whole = [(x.a.significand * x.b.significand) << places for x in (first, second)]
    not_less = exponents[0] >= exponents[1]
    first_leads = not_less | (~zeros[0] & zeros[1])
    difference = exponents[0] - exponents[1]
    distance = difference.magnitude()
    down = [x.shift_right(distance) for x in whole]
    magnitudes = [ite(first_leads, whole[0], down[0]), ite(first_leads, down[1], whole[1])]
    signs = [product_sign(x) for x in (first, second)]
    total = magnitudes[0].negated_where(signs[0]) + magnitudes[1].negated_where(signs[1])
    cancels = (signs[0] ^ signs[1]) & (magnitudes[0] == magnitudes[1])
    empty = cancels | (zeros[0] & zeros[1])
    largest = (first.a.largest * first.b.largest) << places
    return Term(
        bits,
        total < 0,
        ite(empty, step.e_zero, ite(first_leads, exponents[0], exponents[1]) + 1),
        total.magnitude().drop_low(1),
        algebra.truth(True),
        largest,
    )


def _encoded_exponent(x: Unpacked[D, T]) -> Word[D]:
    """Return the exponent of an element, and for zero that of its exponent field, 0."""
    return x.exponent - x.zero.as_bit().as_signed()


def _accumulator(algebra: Algebra[D, T], step: LanesStep, c: Unpacked[D, T]) -> Term[D, T]:
    """Return c as a term. With an implicit one, a subnormal c reads the exponent of its field, 0, as well."""
    significand, exponent = c.significand, c.exponent
    if step.implicit_ones.of_c:
        one = algebra.unsigned(1, 1)
        significand = one.concatenate(significand.extract(c.fraction_bits - 1, 0))
        exponent = exponent - c.subnormal.as_bit().as_signed()
    return Term(
        c.fraction_bits,
        c.negative,
        ite(c.zero, step.e_zero, exponent),
        significand,
        algebra.truth(True),
        c.largest,
    )
