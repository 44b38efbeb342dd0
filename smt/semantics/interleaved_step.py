"""A step as two interleaved chains of fused multiply-adds, as the Intel SDM describes TDPBF16PS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmaproof.designs.design import Design
from mmaproof.designs.readings import ComplexPart, NanCode
from mmaproof.designs.steps.lanes import InterleavedStep
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Label, RoundedSum, StepPath
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import finish, special_result
from mmaproof.smt.semantics.terms import Factors, product_sign


def interleaved_step(
    design: Design,
    step: InterleavedStep,
    algebra: Algebra[D, T],
    path: StepPath,
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
) -> StepSignals[D, T]:
    """Return the signals of one step: both chains, their sum, and the sum with ``c``."""
    fmt, rules, products = design.d_format, Rules.of_operation(step), _multiplied(step, products)
    rounded: list[tuple[Label, Word[D]]] = []
    sums = []
    for first in (0, 1):
        total = algebra.unsigned(0, fmt.bits)
        held: tuple[Label, ...] = ()
        for i in range(first * step.chain_terms, len(products), 2 * step.chain_terms):
            addend, taken = unpack(algebra, fmt, total), slice(i, i + step.chain_terms)
            if step.chain_terms == 1:
                total = fused_multiply_add(algebra, rules, step.nan_code, products[i], addend)
            else:
                each = [ieee.multiply(algebra, rules, step.nan_code, x) for x in products[taken]]
                pair = ieee.add(algebra, rules, step.nan_code, *(unpack(algebra, fmt, x) for x in each))
                rounded += [*zip(path.terms[taken], each, strict=True), (RoundedSum(path.terms[taken]), pair)]
                total = ieee.add(algebra, rules, step.nan_code, addend, unpack(algebra, fmt, pair))
            held += path.terms[taken]
            rounded.append((RoundedSum(held), total))
        sums.append(unpack(algebra, fmt, total))
    total = ieee.add(algebra, rules, step.nan_code, *sums)
    rounded.append((RoundedSum((*path.terms[0::2], *path.terms[1::2])), total))
    d = ieee.add(algebra, rules, step.nan_code, c, unpack(algebra, fmt, total))
    special = special_result(algebra, products, (c,))
    return StepSignals(path, (), tuple(rounded), d, algebra.truth(False), special, d)


def _multiplied(step: InterleavedStep, products: Sequence[Factors[D, T]]) -> Sequence[Factors[D, T]]:
    """Return the factors of each product: of complex numbers, those of the part that the step adds up."""
    match step.complex_part:
        case ComplexPart.REAL:
            odd = [replace(x, a=replace(x.a, negative=~x.a.negative)) for x in products[1::2]]
            return [x for both in zip(products[::2], odd, strict=True) for x in both]
        case ComplexPart.IMAGINARY:
            return [replace(x, a=products[i ^ 1].a) for i, x in enumerate(products)]
        case _:
            return products


def fused_multiply_add(
    algebra: Algebra[D, T], rules: Rules, nan_code: NanCode, x: Factors[D, T], z: Unpacked[D, T]
) -> Word[D]:
    """Return the product of two elements plus ``z``, rounded once as ``rules`` say.

    The exact product is a number of as many bits as both significands have: ``ieee.aligned_sum`` takes it as it takes
    any number.
    """
    no, fmt = algebra.truth(False), rules.rho.target
    product = Unpacked(
        fraction_bits=x.a.fraction_bits + x.b.fraction_bits,
        negative=product_sign(x),
        exponent=x.a.exponent + x.b.exponent,
        significand=x.a.significand * x.b.significand,
        zero=x.a.zero | x.b.zero,
        subnormal=no,
        infinite=x.a.infinite | x.b.infinite,
        nan=x.a.nan | x.b.nan,
    )
    total = ieee.aligned_sum(algebra, fmt, product, z)
    zero_negative = rules.sign_of_zero(algebra, [t.negative for t in total.terms])
    finite, beyond = convert(algebra, rules, total.total, total.e_max, total.fraction_bits, zero_negative)
    return finish(algebra, rules, nan_code, special_result(algebra, (x,), (z,)), finite, beyond)
