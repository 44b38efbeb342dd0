"""The unit as a whole: operands become factors, and an instruction or a long dot product is a chain of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.readings import ChainInfinity, Join, Summation, Widening
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.fused_step import fused_step
from mmaproof.smt.semantics.integer_step import integer_step, read_integer
from mmaproof.smt.semantics.pairwise_step import pairwise_step
from mmaproof.smt.semantics.sequential_step import sequential_step
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.terms import Factors
from mmaproof.smt.semantics.unpack import Unpacked, unpack, widen


@dataclass(frozen=True, slots=True)
class OperandWords(Generic[D]):
    """Operands as words of an algebra: unsigned patterns of a, b (one for each k), c, and the scales of blocks."""

    a: Sequence[Word[D]]
    b: Sequence[Word[D]]
    c: Word[D]
    scale_a: Sequence[Word[D]] = ()
    scale_b: Sequence[Word[D]] = ()


@dataclass(frozen=True, slots=True)
class DotProduct(Generic[D, T]):
    """The result ``d`` (a pattern of the output format) of a dot-product-accumulate, and its steps."""

    d: Word[D]
    steps: tuple[StepSignals[D, T], ...]


def dot_product_accumulate(design: Design, algebra: Algebra[D, T], operands: OperandWords[D]) -> DotProduct[D, T]:
    """Return ``c + sum_k a[k]*b[k]`` as ``design`` computes it (Xie et al. 2026, algorithm 5).

    Fewer elements than K are padded with +0, and their scales with 1; more must be a multiple of K. Every instruction
    takes its products in the order that ``k_order`` states. Raises DesignError where the length does not fit.
    """
    algebra.begin()
    length = design.padded_length(len(operands.a))
    order = design.parameters.k_order.permutation(design.k)
    steps: list[StepSignals[D, T]] = []
    d, d_format = operands.c, design.c_format
    for first in range(0, length, design.k):
        ks = [first + k for k in order]
        if design.parameters.join is Join.IEEE_ONCE:
            start = algebra.unsigned(0, design.d_format.bits)
            inner = _chain(design, algebra, operands, ks, start, design.d_format)
            steps += inner
            d = _late_addition(design, algebra, d, inner[-1].d)
            steps[-1] = replace(steps[-1], rounded=(("sum", inner[-1].d),), d=d)
        else:
            steps += _chain(design, algebra, operands, ks, d, d_format, steps[-1] if steps else None)
            d = steps[-1].d
        d_format = design.d_format
    return DotProduct(d, tuple(steps))


def _chain(
    design: Design,
    algebra: Algebra[D, T],
    operands: OperandWords[D],
    ks: Sequence[int],
    c: Word[D],
    c_format: Format,
    before: StepSignals[D, T] | None = None,
) -> list[StepSignals[D, T]]:
    """Return the steps that take the products at ``ks`` in this order, the d of one being the c of the next."""
    steps: list[StepSignals[D, T]] = []
    for i in range(0, len(ks), design.parameters.L):
        step = _step(design, algebra, operands, ks[i : i + design.parameters.L], c, c_format, before)
        steps.append(step)
        c, c_format, before = step.d, design.d_format, step
    return steps


def _step(
    design: Design,
    algebra: Algebra[D, T],
    operands: OperandWords[D],
    ks: Sequence[int],
    c: Word[D],
    c_format: Format,
    before: StepSignals[D, T] | None,
) -> StepSignals[D, T]:
    """Return one step over the products at ``ks``."""
    p = design.parameters
    if design.d_format.is_integer:
        a, b = (
            [read_integer(algebra, f, _element(algebra, f, x, k)) for k in ks] for f, x in _columns(design, operands)
        )
        return integer_step(design, algebra, a, b, c)
    products = [factors(design, algebra, operands, k) for k in ks]
    labels = [f"p{k}" for k in ks]
    if p.summation is Summation.PAIRWISE:
        return pairwise_step(design, algebra, products, labels, _accumulator(design, algebra, c, c_format, before))
    if p.join is Join.IEEE:
        zero = unpack(algebra, design.d_format, algebra.unsigned(0, design.d_format.bits))
        step = fused_step(design, algebra, products, labels, zero)
        return replace(step, rounded=(("sum", step.d),), d=_late_addition(design, algebra, c, step.d))
    accumulator = _accumulator(design, algebra, c, c_format, before)
    if p.summation is Summation.SEQUENTIAL:
        return sequential_step(design, algebra, products, accumulator)
    return fused_step(design, algebra, products, labels, accumulator)


def _columns(design: Design, operands: OperandWords[D]) -> tuple[tuple[Format, Sequence[Word[D]]], ...]:
    return (design.a_format, operands.a), (design.b_format, operands.b)


def _element(algebra: Algebra[D, T], fmt: Format, column: Sequence[Word[D]], k: int) -> Word[D]:
    return column[k] if k < len(column) else algebra.unsigned(0, fmt.bits)


def _scale(algebra: Algebra[D, T], fmt: Format, column: Sequence[Word[D]], block: int) -> Word[D]:
    return column[block] if block < len(column) else algebra.unsigned(fmt.encode(1), fmt.bits)


def factors(design: Design, algebra: Algebra[D, T], operands: OperandWords[D], k: int) -> Factors[D, T]:
    """Return the elements at ``k``, read as the unit reads them, and the scales of their block."""
    p = design.parameters
    elements: list[Unpacked[D, T]] = []
    flushed = (p.subnormals.of_a, p.subnormals.of_b)
    for name, (fmt, column), flushes in zip("ab", _columns(design, operands), flushed, strict=True):
        pattern = _element(algebra, fmt, column, k)
        x = ieee.read(algebra, fmt, pattern, flushes=flushes, flushed_sign=p.flushed_sign)
        if p.widening is Widening.FP16:
            x = widen(algebra, fmt, FORMATS["fp16"], x)
        elements.append(x.named(algebra, f"{name}{k}"))
    scales: tuple[Unpacked[D, T], ...] = ()
    if design.scale_format is not None and design.block is not None:
        columns = (operands.scale_a, operands.scale_b)
        words = [_scale(algebra, design.scale_format, x, k // design.block) for x in columns]
        scales = tuple(unpack(algebra, design.scale_format, w) for w in words)
    return Factors(elements[0], elements[1], scales)


def _accumulator(
    design: Design, algebra: Algebra[D, T], c: Word[D], fmt: Format, before: StepSignals[D, T] | None
) -> Unpacked[D, T]:
    """Unpack the accumulator; under ``chain_infinity`` finite, an infinity that rho produced is a number."""
    accumulator = ieee.read_accumulator(algebra, design.parameters, fmt, c).named(algebra, "c")
    if before is None or design.parameters.chain_infinity is ChainInfinity.INFINITE:
        return accumulator
    produced = algebra.all_of([before.overflowed, algebra.negation(before.special.infinite)])
    return replace(accumulator, infinite=algebra.all_of([accumulator.infinite, algebra.negation(produced)]))


def _late_addition(design: Design, algebra: Algebra[D, T], c: Word[D], total: Word[D]) -> Word[D]:
    """Return ``c + total``, rounded to nearest in the output format; subnormals are as elsewhere in the design."""
    p, fmt = design.parameters, design.d_format
    addends = (ieee.read_accumulator(algebra, p, fmt, c), unpack(algebra, fmt, total))
    return ieee.add(algebra, Rules.nearest(fmt, p), p.nan_code, *addends)
