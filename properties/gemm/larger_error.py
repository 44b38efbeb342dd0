"""The question whether one plan ever has a larger error than another, against the exact result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic

from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.exact import dot_product_span, exact_dot_product, exact_value
from mmaproof.algorithms.program import Elements, run
from mmaproof.designs.errors import DesignError
from mmaproof.designs.plans.plan import Plan
from mmaproof.designs.plans.schedule import Schedule
from mmaproof.properties.gemm.fp32_question import FiniteOperands, operands_of
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import OperandWords


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

    Operands and c are finite numbers whose exact result is no larger than the largest number of the result's format. A
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
