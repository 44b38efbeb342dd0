"""A-priori bounds on the error of a plan, composed from a proved bound for one step of its unit.

The bound of one step is the property ``error-bound`` of the unit. A solver must prove it, or there is no bound.
Everything else is arithmetic on rationals, with the plan's own schedule (see ``enclosure``). Words differ from
the operand by the rounding to their format. Each step adds its loss to that of the steps before it. An addition outside
the unit rounds once. Products that the algorithm leaves out are bounded by the bounds of their words. Nothing may
overflow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import inf, nextafter

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.answers.enclosure import (
    ZERO,
    Enclosure,
    EnclosureArithmetic,
    NoBoundError,
    number,
)
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.linear import Weights, weights_of
from mmaproof.gemm.programs.orders import ASCENDING
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.programs.program import Elements, run
from mmaproof.properties.library import find_property
from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.run_question import Scope, of_one_step
from mmaproof.smt.semantics.widths import sum_widths
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.answer import answer
from mmaproof.verification.compare import DEFAULT_LIMITS
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
    """Bounds on magnitudes: ``|a[k]| <= a``, ``|b[k]| <= b``, ``|c| <= c``, and of factors that are operands."""

    a: Fraction
    b: Fraction
    c: Fraction = Fraction(0)
    factor: Fraction = Fraction(1)


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


def joined(steps: Sequence[StepProof]) -> StepProof:
    """Return whether the bounds of one step of several units are all proved."""
    first = next((x for x in steps if not x.proved), steps[0])
    seconds = sum(x.seconds for x in steps)
    return replace(first, reason="; ".join(x.reason for x in steps), seconds=seconds)


def _why_not(unit: Design) -> str | None:
    if not unit.guarantees(Guarantee.SUBNORMAL_OPERANDS, Guarantee.SUBNORMAL_RESULTS):
        return "it flushes subnormal numbers, and its bound is of what is left of them"
    if not unit.guarantees(Guarantee.CONVERTED_BY_RHO):
        return "its step does not state that rho converts the sum of its products and c"
    exact = unit.guarantees(Guarantee.EXACT_SUM)
    if not exact and not (unit.guarantees(Guarantee.ALIGNED_SUMS) and not sum_widths(unit).may_wrap):
        return "its register may wrap"
    return None


def error_bound(plan: Plan, k: int, sizes: Sizes, reference: Reference = Reference.EXACT) -> Fraction:
    """Return a bound on ``|d - reference|``, which holds if ``prove_step(plan.unit).proved``.

    The operands a and b are numbers of fp32, which are rounded to the formats of the plan. Where they are of these
    formats, that changes nothing of the bound against ``Reference.ROUNDED``. Raises NoBoundError if a number may
    overflow or the reference has no meaning, and DesignError if the plan does not run for so many elements.
    """
    found = enclosed(plan, k, sizes)
    bound = found.error(reference)
    if plan.has_open_order:  # a partial sum of any order is at most the sum of all magnitudes with all errors
        whole = found.whole * (1 + Fraction(1, 1 << 10))
        found = enclosed(plan, k, sizes, whole)
        if found.whole > whole:
            raise NoBoundError("its order of additions is not determined, and its sums lose too much for a bound")
        bound = found.error(reference)
    return bound + (_fp32_bound(k, sizes) if reference is Reference.FP32 else 0)


@dataclass(frozen=True)
class Enclosed:
    """The enclosure of d of a plan for operands of some sizes, and what it was made with."""

    plan: Plan
    d: Enclosure
    c: Enclosure
    weights: Weights
    arithmetic: EnclosureArithmetic

    @property
    def whole(self) -> Fraction:
        """A bound on the magnitudes of all partial sums, whatever their order."""
        return self.arithmetic.largest(self.d.terms) + self.d.error

    def error(self, reference: Reference) -> Fraction:
        """Return a bound on the distance of d from the exact result, of the operands or of the rounded operands."""
        operands = self.arithmetic.operands
        if reference is Reference.ROUNDED:
            operands = self.arithmetic.rounded_operands
            if len(operands) < 2:
                raise NoBoundError(f"{self.plan.name} rounds no operands: choose the reference exact or fp32")
        products = sum((abs(x) for x in self.weights.products.values()), Fraction(0))
        target = operands["a"].product(operands["b"]).times(products).plus(self.c.times(abs(self.weights.c)))
        return self.arithmetic.largest(self.d.plus(target.times(-1)).terms) + self.d.error


def enclosed(plan: Plan, k: int, sizes: Sizes, whole: Fraction = Fraction(0)) -> Enclosed:
    """Return the enclosure of d, with sums outside the unit that are taken to be as large as ``whole``. Raises."""
    schedule = plan.with_open_orders(ASCENDING).schedule(k)
    arithmetic = EnclosureArithmetic({"a": sizes.a, "b": sizes.b, "c": sizes.c}, whole)
    c = Enclosure({("c",): Fraction(1)}, Fraction(0), sizes.c) if sizes.c else ZERO
    a, b = ([arithmetic.operand(side, fmt)] * k for side, fmt in zip("ab", plan.formats, strict=False))
    factors = [sizes.factor] * schedule.factors
    by = [number(OPERANDS, Enclosure({(): x}, Fraction(0), x)) for x in factors]
    d = run(arithmetic, schedule, Elements(a, b, number(plan.formats[2], c), factors=by)).word.data
    return Enclosed(plan, d, c, weights_of(schedule, factors), arithmetic)


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
