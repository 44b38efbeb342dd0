"""A-priori bounds on the error of an algorithm, composed from a proved bound for one step of its unit.

The bound of one step is the property ``error-bound`` of the unit. A solver must prove it, or there is no bound.
Everything else is arithmetic on rationals, with the algorithm's own program (see ``enclosure``). Words differ from
the operand by the rounding to their format. Each step adds its loss to that of the steps before it. An addition outside
the unit rounds once. Products that the algorithm leaves out are bounded by the bounds of their words. Nothing may
overflow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm
from mmaproof.algorithms.modular_gemm import ModularGemm
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.slice_gemm import EXPONENT, SliceGemm
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library import find_property
from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.run_question import Scope, of_one_step
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import D
from mmaproof.smt.semantics.widths import sum_widths
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.answer import answer
from mmaproof.verification.compare import DEFAULT_LIMITS
from mmaproof.verification.gemm.enclosure import (
    ZERO,
    Enclosure,
    EnclosureArithmetic,
    NoBoundError,
    WordArithmetic,
    floor_log2,
    number,
)
from mmaproof.verification.means import Means

STEP = "error-bound"
"""The property of a unit that bounds the error of one step."""


class Reference(StrEnum):
    """The value with which the result of an algorithm is compared."""

    EXACT = "exact"
    """``c + sum a*b`` of the fp32 operands, exactly"""
    FP32 = "fp32"
    """an fp32 GEMM as Markidis et al. have it: product and sum rounded to nearest, k in order"""
    ROUNDED = "rounded"
    """the exact sum of the products of the operands rounded to the unit's format (their first words)"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bounds on the magnitudes of operands: ``|a[k]| <= a``, ``|b[k]| <= b``, ``|c| <= c``."""

    a: Fraction
    b: Fraction
    c: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class StepProof:
    """Whether the bound of one step is proved for a unit; None if there is no bound."""

    proved: bool
    reason: str
    """what proved it, or why it is not proved"""
    seconds: float = 0.0
    answer: QuestionVerdict | None = None

    @property
    def undecided(self) -> bool:
        """Whether it was not decided in time."""
        return self.answer is not None and self.answer.status is Status.UNKNOWN


def prove_step(unit: Design, *, solver: str | Solving = DEFAULT_SOLVER, limits: Limits = DEFAULT_LIMITS) -> StepProof:
    """Decide whether one step of ``unit`` is within the bound of ``error-bound``. Raises as ``answer``."""
    if unit.d_format.is_integer and unit.guarantees(Guarantee.EXACT_INTEGERS):
        return StepProof(True, "integer sums are exact where the register holds them")
    asked = find_property(STEP)
    for reason in (asked.why_not(unit), _why_not(unit)):
        if reason is not None:
            return StepProof(False, f"no bound of one step of {unit.name} is known: {reason}")
    started = time.monotonic()
    question = WithinBound(unit, of_one_step(STEP, unit, Scope()))
    found = answer(question, unit, Means(Solving.of(solver), limits, None))
    seconds = time.monotonic() - started
    if found.status is Status.PROVED:
        return StepProof(True, f"{STEP} of {unit.name} proved by {found.origin}", seconds, found)
    why = found.reason or found.status.value
    return StepProof(False, f"{STEP} of {unit.name} is not proved: {why}", seconds, found)


def _why_not(unit: Design) -> str | None:
    if not unit.guarantees(Guarantee.SUBNORMAL_OPERANDS, Guarantee.SUBNORMAL_RESULTS):
        return "it flushes subnormal numbers, and its bound is of what is left of them"
    if not unit.guarantees(Guarantee.CONVERTED_BY_RHO):
        return "its step does not state that rho converts the sum of its products and c"
    exact = unit.guarantees(Guarantee.EXACT_SUM)
    if not exact and not (unit.guarantees(Guarantee.ALIGNED_SUMS) and not sum_widths(unit).may_wrap):
        return "its register may wrap"
    return None


def error_bound(
    algorithm: Algorithm, unit: Design, k: int, sizes: Sizes, reference: Reference = Reference.EXACT
) -> Fraction:
    """Return a bound on ``|d - reference|``, which holds if ``prove_step(unit).proved``.

    Raises NoBoundError if a number may overflow or the reference has no meaning, and DesignError if
    algorithm, unit and k do not fit together.
    """
    algorithm.require(unit)
    if isinstance(algorithm, ModularGemm):
        raise NoBoundError(f"{algorithm.name} computes with residues, of which no bound is composed")
    unit.padded_length(k)
    known = {"a": sizes.a, "b": sizes.b, "c": sizes.c}
    if isinstance(algorithm, SliceGemm):
        (x, a), (y, b) = (_slices(algorithm, unit, n, k, known) for n in "ab")
    else:
        (x, a), (y, b) = (_words(algorithm, unit, n, k, known) for n in "ab")
    if reference is Reference.ROUNDED:
        x, y = (first_word(algorithm, words)[0].word.data for words in (a, b))
    c = Enclosure({("c",): Fraction(1)}, Fraction(0), sizes.c) if sizes.c else ZERO
    target = x.product(y).times(k).plus(c)
    arithmetic = EnclosureArithmetic(known)
    d = algorithm.accumulate(arithmetic, unit, a, b, number(OPERANDS, c)).word.data
    bound: Fraction = arithmetic.largest(d.plus(target.times(-1)).terms) + d.error
    return bound + (_fp32_bound(k, sizes) if reference is Reference.FP32 else 0)


def first_word(algorithm: Algorithm, words: Sequence[Sequence[Number[D]]]) -> Sequence[Number[D]]:
    """Return the first word of an operand for each k. Raises NoBoundError if it is not the rounded operand."""
    if isinstance(algorithm, SliceGemm | ModularGemm):
        raise NoBoundError(f"{algorithm.name} rounds no operands: choose the reference exact or fp32")
    return words[0]


def _words(
    algorithm: Algorithm, unit: Design, operand: str, k: int, sizes: dict[str, Fraction]
) -> tuple[Enclosure, list[list[Number[Any]]]]:
    """Return an element of a row, and the words of k such elements."""
    element = Enclosure({(operand,): Fraction(1)}, Fraction(0), sizes[operand])
    split = algorithm.words(WordArithmetic(sizes), unit, operand, [number(OPERANDS, element)])
    return element, [word * k for word in split]


def _slices(
    algorithm: SliceGemm, unit: Design, operand: str, k: int, sizes: dict[str, Fraction]
) -> tuple[Enclosure, list[list[Number[Any]]]]:
    """Return an element of a row as the sum of its slices and the loss of the cut, and the slices of k elements.

    Last comes the largest exponent that the row can have. With a smaller exponent every slice weighs less.
    """
    largest = sizes[operand]
    top = floor_log2(largest) if largest else OPERANDS.e_min - OPERANDS.fraction_bits
    fmt, most = unit.a_format if operand == "a" else unit.b_format, Fraction((1 << algorithm.bits) - 1)
    terms: dict[tuple[str, ...], Fraction] = {(operand,): Fraction(1)}
    slices = []
    for i in range(algorithm.slices):
        symbol = f"{operand}{i}"
        sizes[symbol] = most
        terms[symbol,] = Fraction(2) ** (top + 1 - (i + 1) * algorithm.bits)
        slices.append([number(fmt, Enclosure({(symbol,): Fraction(1)}, Fraction(0), most))] * k)
    # the element is the sum of its slices and the rest, and the symbol of the operand stands for the rest
    sizes[operand] = Fraction(2) ** (top + 1 - algorithm.slices * algorithm.bits)
    exponent = IntegerAlgebra().unsigned(top & ((1 << EXPONENT.bits) - 1), EXPONENT.bits)
    return Enclosure(terms, Fraction(0), largest), [*slices, [Number(EXPONENT, exponent, Span(0, 9))]]


def _fp32_bound(k: int, sizes: Sizes) -> Fraction:
    """Return a bound on the error of an fp32 GEMM that rounds products and sums to nearest. c is 0 or added last."""
    arithmetic = EnclosureArithmetic({"p": sizes.a * sizes.b, "c": sizes.c})
    exact = Enclosure({("p",): Fraction(1)}, Fraction(0), sizes.a * sizes.b)
    product = arithmetic.rounded("product", exact, OPERANDS, Rounding.RNE)
    total = arithmetic.zero(OPERANDS)
    for _ in range(k):
        total = arithmetic.add("sum", total, product)
    c = Enclosure({("c",): Fraction(1)}, Fraction(0), sizes.c)
    error: Fraction = arithmetic.add("c", total, number(OPERANDS, c)).word.data.error
    return error


def rounded_up(bound: Fraction) -> float:
    """Return the smallest double that is not below a bound."""
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else nextafter(nearest, inf)
