"""A step of an integer unit: exact products and their sum, in registers that wrap or saturate."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import ElementProduct, IntegerOverflow
from mmaproof.designs.steps import IntegerStep, Step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word, ite
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.semantics.datapath import StepPath
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import SpecialResult


def read_integer(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Word[D]:
    """Return the value of an integer pattern as a signed word (one bit wider for unsigned formats)."""
    return algebra.twos_complement(pattern) if fmt.signed else pattern.as_signed()


def integer_range(fmt: Format) -> tuple[int, int]:
    """Return the least and the largest value of an integer format."""
    return _signed_range(fmt.bits) if fmt.signed else (0, (1 << fmt.bits) - 1)


def _signed_range(bits: int) -> tuple[int, int]:
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _clamped(x: Word[D], low: int, high: int) -> Word[D]:
    """Return the number nearest to ``x`` in a range."""
    x = ite(x < low, low, x)
    return ite(x > high, high, x)


def product_range(a: Format, b: Format) -> tuple[int, int]:
    """Return the least and the largest product of two integers of these formats."""
    ranges = [integer_range(f) for f in (a, b)]
    corners = [x * y for x in ranges[0] for y in ranges[1]]
    return min(corners), max(corners)


def term_range(design: Design) -> tuple[int, int]:
    """Return the least and the largest term of the sum of an integer step: a product, or what holds two of them."""
    least, largest = product_range(design.a_format, design.b_format)
    bits = _integer(design.step).intermediate_bits
    if bits is None:
        return least, largest
    low, high = _signed_range(bits)
    return max(2 * least, low), min(2 * largest, high)


def terms_of_sum(design: Design, products: Sequence[Word[D]]) -> list[Word[D]]:
    """Return what an integer step adds up: its products, or each two of them, held in a register that saturates."""
    bits = _integer(design.step).intermediate_bits
    if bits is None:
        return list(products)
    pairs = [x + y for x, y in zip(products[::2], products[1::2], strict=True)]
    return [x if x.width <= bits else _clamped(x, *_signed_range(bits)).narrow(bits) for x in pairs]


def element_product(algebra: Algebra[D, T], step: Step, x: Word[D], y: Word[D]) -> Word[D]:
    """Return the product of two elements; of two bits 1 where they differ, if the step says so."""
    if _integer(step).element_product is ElementProduct.XOR:
        return algebra.bitwise_xor(x.extract(0, 0), y.extract(0, 0)).as_signed()
    return x * y


def _integer(step: Step) -> IntegerStep:
    if not isinstance(step, IntegerStep):
        raise TypeError(f"{type(step).__name__} adds no integers")
    return step


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

    The exact sum of n terms and c needs the bits of the widest of them, and at most as many more as n + 1 has.
    """
    fmt = design.d_format
    bounds = product_range(design.a_format, design.b_format)
    products = [
        algebra.signal(Signal(SignalKind.PRODUCT), element_product(algebra, step, x, y), bounds)
        for x, y in zip(a, b, strict=True)
    ]
    terms = terms_of_sum(design, products)
    least, largest = (len(terms) * x for x in term_range(design))
    width = max(abs(least), largest).bit_length() + 1
    total = algebra.signal(Signal(SignalKind.SUM), algebra.bounded_sum(terms, width), (least, largest))
    accumulator = read_integer(algebra, design.c_format, c)
    if step.integer_overflow is IntegerOverflow.WRAP:
        total = algebra.modular_sum([total, accumulator], fmt.bits)
    else:
        exact = total + accumulator
        total = _clamped(exact, *integer_range(fmt)).narrow(fmt.bits + (not fmt.signed))
    d = algebra.signal(Signal(SignalKind.D), total.extract(fmt.bits - 1, 0))
    no = algebra.truth(False)
    return StepSignals(path, (), (), d, no, SpecialResult(no, no, no), d)
