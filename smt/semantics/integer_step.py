"""A step of an integer unit: exact products and sum, in a register that wraps or saturates."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import IntegerOverflow
from mmaproof.designs.steps import IntegerStep
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word, ite
from mmaproof.smt.algebra.signals import Signal, SignalKind
from mmaproof.smt.semantics.datapath import StepPath
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import SpecialResult


def read_integer(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Word[D]:
    """Return the value of an integer pattern as a signed word (one bit wider for unsigned formats)."""
    return algebra.twos_complement(pattern) if fmt.signed else pattern.as_signed()


def product_range(a: Format, b: Format) -> tuple[int, int]:
    """Return the least and the largest product of two integers of these formats."""
    ranges = [(-(1 << (f.bits - 1)), (1 << (f.bits - 1)) - 1) if f.signed else (0, (1 << f.bits) - 1) for f in (a, b)]
    corners = [x * y for x in ranges[0] for y in ranges[1]]
    return min(corners), max(corners)


def integer_step(
    design: Design,
    step: IntegerStep,
    algebra: Algebra[D, T],
    path: StepPath,
    a: Sequence[Word[D]],
    b: Sequence[Word[D]],
    c: Word[D],
) -> StepSignals[D, T]:
    """Return the signals of one step: ``c + sum a*b``, reduced to the register once.

    The exact sum of n products and c needs the bits of the widest of them, and at most as many more as n + 1 has.
    """
    fmt = design.d_format
    bounds = product_range(design.a_format, design.b_format)
    products = [algebra.signal(Signal(SignalKind.PRODUCT), x * y, bounds) for x, y in zip(a, b, strict=True)]
    least, largest = (len(products) * x for x in bounds)
    width = max(abs(least), largest).bit_length() + 1
    total = algebra.signal(Signal(SignalKind.SUM), algebra.bounded_sum(products, width), (least, largest))
    accumulator = read_integer(algebra, design.c_format, c)
    if step.integer_overflow is IntegerOverflow.WRAP:
        total = algebra.modular_sum([total, accumulator], fmt.bits)
    else:
        exact = total + accumulator
        low, high = (-(1 << (fmt.bits - 1)), (1 << (fmt.bits - 1)) - 1) if fmt.signed else (0, (1 << fmt.bits) - 1)
        exact = ite(exact < low, low, exact)
        total = ite(exact > high, high, exact).narrow(fmt.bits + (not fmt.signed))
    d = algebra.signal(Signal(SignalKind.D), total.extract(fmt.bits - 1, 0))
    no = algebra.truth(False)
    return StepSignals(path, (), (), d, no, SpecialResult(no, no, no), d)
