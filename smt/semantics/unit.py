"""The unit as a whole: operands become factors, and an instruction or a long dot product is a chain of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import ChainInfinity, FlushedSign, Widening
from mmaproof.designs.steps import (
    FusedStep,
    IntegerStep,
    InterleavedStep,
    LanesStep,
    NetlistStep,
    PairwiseStep,
    RoundedStep,
    SequentialStep,
)
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import Addend, Element, Partial, Source, StepPath, datapath
from mmaproof.smt.semantics.fused_step import fused_step, pairwise_step
from mmaproof.smt.semantics.integer_step import integer_step, read_integer
from mmaproof.smt.semantics.interleaved_step import interleaved_step
from mmaproof.smt.semantics.lanes_step import lanes_step
from mmaproof.smt.semantics.netlist_step import netlist_step
from mmaproof.smt.semantics.patterns import Unpacked, unpack, widen, without_minus_zero
from mmaproof.smt.semantics.sequential_step import sequential_step
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.terms import Factors


@dataclass(frozen=True, slots=True)
class Reading:
    """How a unit reads its elements and scales: everything that factors depend on, besides the operands."""

    a: Format
    b: Format
    flushes_a: bool
    flushes_b: bool
    flushed_sign: FlushedSign
    clears_minus_zero: bool
    widening: Widening
    scale: Format | None
    block: int | None

    @classmethod
    def of(cls, design: Design) -> Reading:
        """Return how a design reads its elements. Raises TypeError for one that reads integers."""
        step, signature = design.step, design.signature
        if not isinstance(step, RoundedStep):
            raise TypeError(f"{type(step).__name__} reads no floating-point numbers")
        flushed = (step.subnormals.of_a, step.subnormals.of_b, step.flushed_sign)
        read = (*flushed, step.clears_minus_zero, step.widening)
        return cls(signature.a, signature.b, *read, signature.scale, signature.block)


@dataclass(frozen=True, slots=True)
class OperandWords(Generic[D]):
    """Operands as words of an algebra: unsigned patterns of a, b (one for each k), c, and the scales of blocks.

    ``random`` are the random bits of a plan that takes some as an operand, none or one word. No unit reads them.

    ``read`` keeps the factors that were read, by reading, the two words and their block, for operands that many designs
    compute with. It is only for algebras whose signals are nothing but values: a signal of one design is not named
    again for the next, nor one of an element for another of the same word.
    """

    a: Sequence[Word[D]]
    b: Sequence[Word[D]]
    c: Word[D]
    scale_a: Sequence[Word[D]] = ()
    scale_b: Sequence[Word[D]] = ()
    random: Sequence[Word[D]] = ()
    read: dict[Reading, dict[object, tuple[Word[D] | None, Word[D] | None, Factors[D, Any]]]] | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )


@dataclass(frozen=True, slots=True)
class DotProduct(Generic[D, T]):
    """The result ``d`` (a pattern of the output format) of a dot-product-accumulate, and its steps."""

    d: Word[D]
    steps: tuple[StepSignals[D, T], ...]


def dot_product_accumulate(design: Design, algebra: Algebra[D, T], operands: OperandWords[D]) -> DotProduct[D, T]:
    """Return ``c + sum_k a[k]*b[k]`` as ``design`` computes it (Xie et al. 2026, algorithm 5).

    Fewer elements than K are padded with +0, and their scales with 1, unless the instruction is configured to them;
    more must be a multiple of K. Raises DesignError where the length does not fit.
    """
    algebra.begin()
    steps: list[StepSignals[D, T]] = []
    for path in datapath(design, len(operands.a)):
        if isinstance(design.step, NetlistStep):
            c = c_from(design, algebra, operands, path.c, steps)
            words = _pass_words(design, algebra, operands, path, c)
            steps.append(netlist_step(design, design.step, algebra, path, words))
            continue
        step = _step(design, algebra, operands, path, steps)
        if path.added_last is not None:
            late = _late_addition(design, algebra, c_from(design, algebra, operands, path.added_last, steps), step.d)
            step = replace(step, rounded=((Partial.WHOLE, step.d),), d=late)
        steps.append(step)
    return DotProduct(steps[-1].d, tuple(steps))


def c_from(
    design: Design,
    algebra: Algebra[D, T],
    operands: OperandWords[D],
    source: Source,
    steps: Sequence[StepSignals[D, T]],
) -> Word[D]:
    """Return the pattern of a c that comes from ``source``."""
    if source.step is not None:
        return steps[source.step].d
    return algebra.unsigned(0, design.d_format.bits) if source.zero else operands.c


def _step(
    design: Design,
    algebra: Algebra[D, T],
    operands: OperandWords[D],
    path: StepPath,
    steps: Sequence[StepSignals[D, T]],
) -> StepSignals[D, T]:
    """Return the step that follows ``steps``, without a c that is added to the converted sum."""
    step, c = design.step, c_from(design, algebra, operands, path.c, steps)
    if isinstance(step, IntegerStep):
        a, b = (
            [read_integer(algebra, f, _element(algebra, f, x, k)) for k in path.ks]
            for f, x in _columns(design, operands)
        )
        return integer_step(design, step, algebra, path, a, b, c)
    products = _products(Reading.of(design), algebra, operands, path.ks)
    c_format, before = path.c.format_in(design), None if path.c.step is None else steps[path.c.step]
    enters = len(steps) % (design.k // step.L) == 0
    accumulator = _accumulator(design, algebra, c, c_format, before, enters)
    match step:
        case FusedStep():
            return fused_step(design, step, algebra, path, products, accumulator)
        case PairwiseStep():
            return pairwise_step(design, step, algebra, path, products, accumulator)
        case SequentialStep():
            return sequential_step(design, step, algebra, path, products, accumulator)
        case InterleavedStep():
            return interleaved_step(design, step, algebra, path, products, accumulator)
        case LanesStep():
            return lanes_step(design, step, algebra, path, products, accumulator)
        case _:
            raise TypeError(f"{type(step).__name__} has no semantics")


def _pass_words(
    design: Design, algebra: Algebra[D, T], operands: OperandWords[D], path: StepPath, c: Word[D]
) -> dict[str, Word[D]]:
    """Return the inputs of a netlist in one of its passes."""
    words = {"c": c}
    for name, (fmt, column) in zip("ab", _columns(design, operands), strict=True):
        words |= {f"{name}{i}": _element(algebra, fmt, column, k) for i, k in enumerate(path.ks)}
    scale, block = design.scale_format, design.block
    if scale is not None and block is not None:
        for name, scales in (("sa", operands.scale_a), ("sb", operands.scale_b)):
            for i, k in enumerate(path.ks[::block]):
                words[f"{name}{i}"] = _scale(algebra, scale, scales, k // block)
    return words


def _columns(design: Design, operands: OperandWords[D]) -> tuple[tuple[Format, Sequence[Word[D]]], ...]:
    return (design.a_format, operands.a), (design.b_format, operands.b)


def _element(algebra: Algebra[D, T], fmt: Format, column: Sequence[Word[D]], k: int) -> Word[D]:
    return column[k] if k < len(column) else algebra.unsigned(0, fmt.bits)


def _scale(algebra: Algebra[D, T], fmt: Format, column: Sequence[Word[D]], block: int) -> Word[D]:
    return column[block] if block < len(column) else algebra.unsigned(fmt.encode(1), fmt.bits)


def factors(design: Design, algebra: Algebra[D, T], operands: OperandWords[D], k: int) -> Factors[D, T]:
    """Return the elements at ``k``, read as the unit reads them, and the scales of their block."""
    return _products(Reading.of(design), algebra, operands, (k,))[0]


def _products(
    reading: Reading, algebra: Algebra[D, T], operands: OperandWords[D], ks: Sequence[int]
) -> list[Factors[D, T]]:
    """Return the factors at each of ``ks``; those that ``operands`` keep are not read again."""
    if operands.read is None:
        return [_factors(reading, algebra, operands, k) for k in ks]
    kept = operands.read.setdefault(reading, {})
    found = []
    for k in ks:
        block = None if reading.block is None else k // reading.block
        x, y = (column[k] if k < len(column) else None for column in (operands.a, operands.b))
        key = id(x), id(y), block
        if key not in kept:
            # the words are kept too, so that no others get their identities
            kept[key] = x, y, _factors(reading, algebra, operands, k)
        found.append(kept[key][-1])
    return found


def _factors(reading: Reading, algebra: Algebra[D, T], operands: OperandWords[D], k: int) -> Factors[D, T]:
    elements: list[Unpacked[D, T]] = []
    of_a = ("a", reading.a, operands.a, reading.flushes_a)
    of_b = ("b", reading.b, operands.b, reading.flushes_b)
    for name, fmt, column, flushes in (of_a, of_b):
        pattern = _element(algebra, fmt, column, k)
        x = ieee.read(algebra, fmt, pattern, flushes=flushes, flushed_sign=reading.flushed_sign)
        if reading.clears_minus_zero:
            x = without_minus_zero(x)
        if reading.widening.target is not None:
            x = widen(algebra, fmt, reading.widening.target, x)
        elements.append(x.named(Element(name, k)))
    scales: tuple[Unpacked[D, T], ...] = ()
    if reading.scale is not None and reading.block is not None:
        words = [_scale(algebra, reading.scale, x, k // reading.block) for x in (operands.scale_a, operands.scale_b)]
        scales = tuple(unpack(algebra, reading.scale, w) for w in words)
    return Factors(elements[0], elements[1], scales)


def _accumulator(
    design: Design, algebra: Algebra[D, T], c: Word[D], fmt: Format, before: StepSignals[D, T] | None, enters: bool
) -> Unpacked[D, T]:
    """Unpack the accumulator; under ``chain_infinity`` finite, an infinity that rho produced is a number.

    ``enters`` says whether it enters an instruction, and does not come from a step of the same.
    """
    accumulator = ieee.read_accumulator(algebra, design.step, fmt, c)
    if enters and design.step.clears_minus_zero:
        accumulator = without_minus_zero(accumulator)
    accumulator = accumulator.named(Addend.C)
    if before is None or design.chain.chain_infinity is ChainInfinity.INFINITE:
        return accumulator
    produced = before.overflowed & ~before.special.infinite
    return replace(accumulator, infinite=accumulator.infinite & ~produced)


def _late_addition(design: Design, algebra: Algebra[D, T], c: Word[D], total: Word[D]) -> Word[D]:
    """Return ``c + total``, rounded in the output format; subnormals are as elsewhere in the design."""
    step, fmt = design.step, design.d_format
    if not isinstance(step, RoundedStep):
        raise TypeError(f"{type(step).__name__} rounds nothing")
    addends = (ieee.read_accumulator(algebra, step, fmt, c), unpack(algebra, fmt, total))
    return ieee.add(algebra, Rules.of_late_addition(design), step.nan_code, *addends)
