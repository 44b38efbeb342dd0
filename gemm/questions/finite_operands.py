"""Questions about what plans make of finite operands: whose error is larger, and whether anything overflows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic

import numpy as np
import numpy.typing as npt

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span, dot_product_span, exact_dot_product, exact_value
from mmaproof.gemm.programs.normal_form import shortest_k
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.programs.program import Elements, run
from mmaproof.gemm.programs.schedule import Schedule
from mmaproof.gemm.questions.split import all_finite
from mmaproof.properties.preconditions import Exponents, Precondition, restricting
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.patterns import unpack


class FiniteOperands(Question):
    """A question about ``plans`` on the same finite operands, each in the wider one of the formats that they take.

    ``k`` is by default the least common multiple of those that the plans choose. Raises DesignError if the algorithm of
    a plan does not run on its unit, an operand has two formats of which neither has all numbers of the other, a plan
    takes integers, scales or factors, or ``k`` does not fit, and InputError if a range of exponents leaves only
    zeros.
    """

    def __init__(self, plans: Sequence[Plan], k: int | None, where: Sequence[Precondition]) -> None:
        self.plans = tuple(plans)
        for plan in plans:
            _require_numbers(plan)
        self.k = math.lcm(*(shortest_k((x,)) for x in plans)) if k is None else k
        self.schedules = tuple(x.schedule(self.k) for x in plans)
        self.formats = common_formats(plans)
        self.scale_format, self.blocks = None, 0
        self.where = restricting(where, self.formats)

    def span(self, fmt: Format) -> Span:
        """Return the span of an operand of a format, which follows from the preconditions."""
        span = Span.of_format(fmt)
        for p in self.where:
            if isinstance(p, Exponents):
                least, most = max(span.least, p.low - fmt.fraction_bits), min(span.most, p.high + 1)
                span = Span(min(least, most), most)
        return span

    def numbers(self, operands: OperandWords[D]) -> Elements[D]:
        """Return a, b and c as numbers with the span of the preconditions."""
        a, b, (c,) = (
            [Number(f, w, self.span(f)) for w in words]
            for f, words in zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        )
        return Elements(a, b, c)

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite and satisfy the preconditions."""
        held = zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        values = [unpack(algebra, f, x) for f, words in held for x in words]
        finite = algebra.negation(algebra.any_of([t for v in values for t in (v.infinite, v.nan)]))
        return algebra.all_of([finite, super().precondition(algebra, operands)])

    def examine(self, batch: OperandBatch) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows satisfy the preconditions, and which of them violate the claim, computed on arrays.

        The claim is computed only for rows that satisfy them, because it takes long and has no meaning for others.
        """
        meant = self.examine_precondition(batch)
        refuted = np.zeros(len(batch), dtype=bool)
        refuted[meant] = self.examine_claim(batch.select(meant)) if meant.any() else False
        return meant, refuted


def common_formats(plans: Sequence[Plan]) -> tuple[Format, Format, Format]:
    """Return for a, b and c the widest format in which a plan takes it. Raises DesignError where there is none."""
    found = plans[0].formats[:3]
    for plan in plans[1:]:
        pairs = zip("abc", found, plan.formats[:3], strict=True)
        a, b, c = (_wider(name, f, g, (plans[0].name, plan.name)) for name, f, g in pairs)
        found = a, b, c
    return found


def _wider(name: str, f: Format, g: Format, plans: tuple[str, str]) -> Format:
    for wide, narrow in ((f, g), (g, f)):
        if wide is narrow or (not wide.is_integer and not narrow.is_integer and wide.holds(narrow)):
            return wide
    raise DesignError(f"{' and '.join(plans)} are not comparable: {name} is {f.name} in one, {g.name} in the other")


def shaped_for(plan: Plan, formats: Sequence[Format]) -> Design:
    """Return a design that takes operands of these formats, for which random operands are shaped."""
    a, b, c = formats
    chain = replace(plan.unit.chain, adds_c_once=False)
    return replace(plan.unit, signature=replace(plan.unit.signature, a=a, b=b, c=c), chain=chain)


def operands_of(plan: Plan, arithmetic: Arithmetic[D, T], given: Elements[D]) -> Elements[D]:
    """Return operands in the formats that a plan takes: those of a wider format are rounded to nearest."""
    a, b, c, _ = plan.formats
    first = [arithmetic.convert("operand", x, a, Rounding.RNE) for x in given.a]
    second = [arithmetic.convert("operand", x, b, Rounding.RNE) for x in given.b]
    return Elements(first, second, arithmetic.convert("operand", given.c, c, Rounding.RNE))


def _require_numbers(plan: Plan) -> None:
    """Raise DesignError for a plan whose operands are not floating-point numbers a, b and c alone."""
    if plan.scale_format is not None:
        raise DesignError(f"{plan.name} has scales of blocks: this question is about a, b and c alone")
    if plan.has_factors:
        raise DesignError(f"{plan.name} has factors that are operands: state constants, such as rescale=64:0.5")
    if any(f.is_integer for f in plan.formats):
        raise DesignError(f"{plan.name} is of an integer unit: this question is about floating-point operands")


@dataclass(frozen=True, slots=True)
class Errors(Generic[D, T]):
    """The exact result and the signed errors of plans, all in units of ``2**least``.

    ``results`` are the patterns that they returned. ``infinite`` says which of them are not finite.
    """

    least: int
    exact: Word[D]
    results: tuple[Word[D], ...]
    errors: tuple[Word[D], ...]
    infinite: tuple[Truth[T], ...]


def errors_of(
    plans: Sequence[Plan], schedules: Sequence[Schedule], algebra: Algebra[D, T], given: Elements[D]
) -> Errors[D, T]:
    """Return the exact result for finite operands, and the error of each plan with its schedule.

    A plan gets operands of another format rounded to its own, to nearest. What that changes is a part of its error.
    """
    results = []
    for plan, schedule in zip(plans, schedules, strict=True):
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra)
        results.append(run(arithmetic, schedule, operands_of(plan, arithmetic, given)))
    span = dot_product_span(given.a, given.b, given.c)
    for x in results:
        span = span.with_(x.span)
    exact = exact_dot_product(algebra, given.a, given.b, given.c, span)
    values = [exact_value(algebra, x, span) for x in results]
    errors = tuple(algebra.subtract(v, exact) for v, _ in values)
    infinite = tuple(algebra.negation(finite) for _, finite in values)
    return Errors(span.least, exact, tuple(x.word for x in results), errors, infinite)


class LargerError(FiniteOperands):
    """The error of ``first`` is nowhere larger than that of ``second``, or with ``by`` nowhere ``by`` times as large.

    Operands and c are finite numbers whose exact result is not larger than the largest number of the result's format. A
    result that is not finite has an infinite error, and two such errors are equal. "``by`` times as large" means at
    least that. If the second error is zero, any larger error counts, whatever the factor is.
    """

    def __init__(
        self,
        first: Plan,
        second: Plan,
        *,
        k: int | None = None,
        where: Sequence[Precondition] = (),
        by: Fraction = Fraction(1),
    ) -> None:
        for plan in (first, second):
            if plan.scales_sum:
                raise DesignError(f"{plan.name} scales its sum: errors are compared of c + sum a*b")
            if plan.scale_format is not None:
                raise DesignError(f"{plan.name} has scales of blocks: errors are compared of c + sum a*b without them")
        super().__init__((first, second), k, where)
        self.by = by

    def errors(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Errors[D, T]:
        """Return the errors of both plans."""
        return errors_of(self.plans, self.schedules, algebra, self.numbers(operands))

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the first error is not the larger one, or the exact result is beyond the largest number."""
        found = self.errors(algebra, operands)
        factors = (self.by.denominator, self.by.numerator)
        first, second = (
            algebra.multiply(algebra.magnitude(e), algebra.unsigned(n, n.bit_length()))
            for e, n in zip(found.errors, factors, strict=True)
        )
        if self.by == 1:
            larger = algebra.less(second, first)
        else:
            larger = algebra.all_of(
                [algebra.negation(algebra.less(first, second)), algebra.negation(algebra.is_value(found.errors[0], 0))]
            )
        first_infinite, second_infinite = found.infinite
        finite = algebra.negation(algebra.any_of(found.infinite))
        worse = algebra.any_of(
            [
                algebra.all_of([finite, larger]),
                algebra.all_of([first_infinite, algebra.negation(second_infinite)]),
            ]
        )
        return algebra.negation(algebra.all_of([worse, self._in_reach(algebra, found)]))

    def _in_reach(self, algebra: Algebra[D, T], found: Errors[D, T]) -> Truth[T]:
        """Return whether the exact result is at most the largest finite number."""
        fmt = min((x.formats[3] for x in self.plans), key=lambda f: f.largest)
        largest = int(fmt.largest / Fraction(2) ** found.least)
        magnitude = algebra.magnitude(found.exact)
        if largest.bit_length() > magnitude.width:
            return algebra.truth(True)
        return algebra.negation(algebra.less(algebra.unsigned(largest, magnitude.width), magnitude))


class NoOverflow(FiniteOperands):
    """Nothing that a plan makes of finite operands overflows: words, sums of the unit, results."""

    def __init__(self, plan: Plan, *, k: int | None = None, where: Sequence[Precondition] = ()) -> None:
        super().__init__((plan,), k, where)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether every number on the way is finite."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra, record=True)
        (schedule,) = self.schedules
        run(arithmetic, schedule, self.numbers(operands))
        return all_finite(arithmetic)
