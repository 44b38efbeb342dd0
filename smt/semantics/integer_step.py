"""A step of an integer unit: exact products and sum, in a register that wraps or saturates."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import IntegerOverflow
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import SpecialResult


def read_integer(algebra: Algebra[D, T], fmt: Format, pattern: Word[D]) -> Word[D]:
    """Return the value of an integer pattern as a signed word (one bit wider for unsigned formats)."""
    return algebra.twos_complement(pattern) if fmt.signed else algebra.as_signed(pattern)


def integer_step(
    design: Design, algebra: Algebra[D, T], a: Sequence[Word[D]], b: Sequence[Word[D]], c: Word[D]
) -> StepSignals[D, T]:
    """Return the signals of one step: ``c + sum a*b``, reduced to the register once.

    The exact sum of n products and c needs at most the bits of the wider of both and as many more as n + 1 has.
    """
    fmt = design.d_format
    products = [algebra.multiply_signed(x, y) for x, y in zip(a, b, strict=True)]
    terms = [*products, read_integer(algebra, design.c_format, c)]
    widest = max(t.width for t in terms)
    if design.parameters.integer_overflow is IntegerOverflow.WRAP:
        total = algebra.modular_sum(terms, fmt.bits)
    else:
        exact = algebra.bounded_sum(terms, widest + len(terms).bit_length())
        low, high = algebra.signed(-(1 << (fmt.bits - 1))), algebra.signed((1 << (fmt.bits - 1)) - 1)
        exact = algebra.ite(algebra.less(exact, low), low, exact)
        total = algebra.narrow(algebra.ite(algebra.less(high, exact), high, exact), fmt.bits)
    d = algebra.extract(total, fmt.bits - 1, 0)
    no = algebra.truth(False)
    return StepSignals((), (), d, no, SpecialResult(no, no, no), d)
