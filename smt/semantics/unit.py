"""The unit as a whole: one step is stages 1 to 5, an instruction or a long dot product is a chain of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.parameters import ChainInfinity, ZeroSum
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.semantics.specials import SpecialResult, choose_special, special_result
from mmaproof.smt.semantics.terms import Term, accumulator_term, product_term
from mmaproof.smt.semantics.unpack import Unpacked, unpack
from mmaproof.smt.semantics.widths import sum_widths


@dataclass(frozen=True, slots=True)
class StepSignals(Generic[D, T]):
    """The named signals of one step.

    ``terms`` are the L products and then c; ``aligned`` are signed multiples of ``2**(e_max - F)``, as is
    ``total`` (the register, wrapped if its carry bits are too few); ``converted`` is the pattern of rho of the
    sum, ``d`` the result after special values; ``overflowed`` says that rho gave an infinity.
    """

    terms: tuple[Term[D, T], ...]
    e_max: Word[D]
    aligned: tuple[Word[D], ...]
    total: Word[D]
    converted: Word[D]
    overflowed: Truth[T]
    special: SpecialResult[T]
    d: Word[D]


@dataclass(frozen=True, slots=True)
class DotProduct(Generic[D, T]):
    """The result ``d`` (a pattern of the output format) of a dot-product-accumulate, and its steps."""

    d: Word[D]
    steps: tuple[StepSignals[D, T], ...]


def dot_product_accumulate(
    design: Design, algebra: Algebra[D, T], a: Sequence[Word[D]], b: Sequence[Word[D]], c: Word[D]
) -> DotProduct[D, T]:
    """Return ``c + sum_k a[k]*b[k]`` as ``design`` computes it (Xie et al. 2026, algorithm 5).

    ``a``, ``b`` and ``c`` are bit patterns as unsigned words of their formats' widths. Fewer elements than K are
    padded with +0; more must be a multiple of K. Raises DesignError where they are not.
    """
    length = design.padded_length(len(a))
    pairs = [
        (unpack(algebra, design.a_format, x), unpack(algebra, design.b_format, y)) for x, y in zip(a, b, strict=True)
    ]
    if length > len(pairs):
        nothing = [unpack(algebra, f, algebra.unsigned(0, f.bits)) for f in (design.a_format, design.b_format)]
        pairs += [(nothing[0], nothing[1])] * (length - len(pairs))
    steps: list[StepSignals[D, T]] = []
    d, d_format = c, design.c_format
    for first in range(0, length, design.parameters.L):
        accumulator = _chained(design, algebra, d_format, d, steps[-1] if steps else None)
        steps.append(_step(design, algebra, pairs[first : first + design.parameters.L], accumulator))
        d, d_format = steps[-1].d, design.d_format
    return DotProduct(d, tuple(steps))


def _chained(
    design: Design, algebra: Algebra[D, T], fmt: Format, c: Word[D], before: StepSignals[D, T] | None
) -> Unpacked[D, T]:
    """Unpack the accumulator; under ``chain_infinity`` finite, an infinity that rho produced is a number."""
    accumulator = unpack(algebra, fmt, c)
    if before is None or design.parameters.chain_infinity is ChainInfinity.INFINITE:
        return accumulator
    produced = algebra.all_of([before.overflowed, algebra.negation(before.special.infinite)])
    return replace(accumulator, infinite=algebra.all_of([accumulator.infinite, algebra.negation(produced)]))


def _step(
    design: Design,
    algebra: Algebra[D, T],
    pairs: Sequence[tuple[Unpacked[D, T], Unpacked[D, T]]],
    c: Unpacked[D, T],
) -> StepSignals[D, T]:
    p = design.parameters
    terms = [product_term(algebra, p, a, b) for a, b in pairs] + [accumulator_term(algebra, p, c)]
    e_max = largest_exponent(algebra, p, terms)
    widths = sum_widths(design)
    aligned = [align(algebra, p, t, e_max, widths.integer_bits) for t in terms]
    add_up = algebra.modular_sum if widths.may_wrap else algebra.bounded_sum
    total = add_up(aligned, widths.register)
    every_sign = [t.negative for t in terms]
    zero_negative = algebra.all_of(every_sign) if p.zero_sum is ZeroSum.IEEE else algebra.truth(False)
    converted, overflowed = convert(algebra, p, total, e_max, zero_negative)
    special = special_result(algebra, pairs, c)
    d = choose_special(algebra, design.d_format, p.nan_code, special, converted)
    return StepSignals(tuple(terms), e_max, tuple(aligned), total, converted, overflowed, special, d)
