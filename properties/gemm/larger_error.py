"""The question whether one algorithm ever has a larger error than another, against the exact result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic

from mmaproof.algorithms.algorithm import Program
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.exact import dot_product_span, exact_dot_product, exact_value
from mmaproof.algorithms.numbers import Number
from mmaproof.designs.design import Design
from mmaproof.properties.gemm.fp32_question import Fp32Question
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import OperandWords


@dataclass(frozen=True, slots=True)
class Errors(Generic[D, T]):
    """The exact result and the signed errors of algorithms, all in units of ``2**least``.

    ``results`` are the patterns that they returned. ``infinite`` says which of them are not finite.
    """

    least: int
    exact: Word[D]
    results: tuple[Word[D], ...]
    errors: tuple[Word[D], ...]
    infinite: tuple[Truth[T], ...]


def errors_of(
    runs: Sequence[tuple[Program, Design]],
    algebra: Algebra[D, T],
    a: Sequence[Number[D]],
    b: Sequence[Number[D]],
    c: Number[D],
) -> Errors[D, T]:
    """Return the exact result for finite operands, and the error of each program with its unit."""
    results = [x.run(Arithmetic(algebra), unit, a, b, c) for x, unit in runs]
    span = dot_product_span(a, b, c)
    for x in results:
        span = span.with_(x.span)
    exact = exact_dot_product(algebra, a, b, c, span)
    values = [exact_value(algebra, x, span) for x in results]
    errors = tuple(algebra.subtract(v, exact) for v, _ in values)
    infinite = tuple(algebra.negation(finite) for _, finite in values)
    return Errors(span.least, exact, tuple(x.word for x in results), errors, infinite)


class LargerError(Fp32Question):
    """The error of ``first`` is nowhere larger than that of ``second``, or with ``by`` nowhere ``by`` times as large.

    Both run on ``unit``, unless the second has a unit of its own.

    Operands and c are finite numbers whose exact result is no larger than the largest number of the result's format. A
    result that is not finite has an infinite error, and two such errors are equal. "``by`` times as large" means at
    least that. If the second error is zero, any larger error counts, whatever the factor is.
    """

    def __init__(
        self,
        first: Program,
        second: Program,
        unit: Design,
        *,
        k: int | None = None,
        where: Sequence[Precondition] = (),
        by: Fraction = Fraction(1),
        second_unit: Design | None = None,
    ) -> None:
        super().__init__(((first, unit), (second, unit if second_unit is None else second_unit)), k, where)
        self.by = by

    def errors(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Errors[D, T]:
        """Return the errors of both algorithms."""
        return errors_of(self.runs, algebra, *self.numbers(operands))

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
        fmt = min((x.interface[3] for x, _ in self.runs), key=lambda f: f.largest)
        largest = int(fmt.largest / Fraction(2) ** found.least)
        magnitude = algebra.magnitude(found.exact)
        if largest.bit_length() > magnitude.width:
            return algebra.truth(True)
        return algebra.negation(algebra.less(algebra.unsigned(largest, magnitude.width), magnitude))
