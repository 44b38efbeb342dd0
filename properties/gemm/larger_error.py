"""Two algorithms compared by their errors against the exact result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic

import numpy as np
import numpy.typing as npt

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.exact import dot_product_span, exact_dot_product, exact_value
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.preconditions import Exponents, Precondition
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.unpack import unpack


@dataclass(frozen=True, slots=True)
class Errors(Generic[D, T]):
    """The exact result and the signed errors of algorithms, all in units of ``2**least``.

    ``results`` are the patterns that they returned; ``infinite`` says which of them are no finite numbers.
    """

    least: int
    exact: Word[D]
    results: tuple[Word[D], ...]
    errors: tuple[Word[D], ...]
    infinite: tuple[Truth[T], ...]


def errors_of(
    runs: Sequence[tuple[Algorithm, Design]],
    algebra: Algebra[D, T],
    a: Sequence[Number[D]],
    b: Sequence[Number[D]],
    c: Number[D],
) -> Errors[D, T]:
    """Return the exact result of finite fp32 operands, and what each algorithm makes of them with its unit."""
    results = [x.run(Arithmetic(algebra), unit, a, b, c) for x, unit in runs]
    span = dot_product_span(a, b, c)
    for x in results:
        span = span.with_(x.span)
    exact = exact_dot_product(algebra, a, b, c, span)
    values = [exact_value(algebra, x, span) for x in results]
    errors = tuple(algebra.subtract(v, exact) for v, _ in values)
    infinite = tuple(algebra.negation(finite) for _, finite in values)
    return Errors(span.least, exact, tuple(x.word for x in results), errors, infinite)


class LargerError(Question):
    """The error of ``first`` is nowhere larger than that of ``second``; with ``by``, nowhere ``by`` times as large.

    Both run on ``unit``, unless the second has a unit of its own.

    Operands and c are finite fp32 numbers whose exact result is no larger than the largest of them. A result that is
    not finite has an infinite error; two such errors are equal. ``by`` times as large, at least: a larger error is so
    of an error of zero, whatever the factor.
    """

    def __init__(
        self,
        first: Algorithm,
        second: Algorithm,
        unit: Design,
        *,
        k: int | None = None,
        where: Sequence[Precondition] = (),
        by: Fraction = Fraction(1),
        second_unit: Design | None = None,
    ) -> None:
        self.runs = ((first, unit), (second, unit if second_unit is None else second_unit))
        for algorithm, called in self.runs:
            algorithm.require(called)
        self.k = math.lcm(*(x.k for _, x in self.runs)) if k is None else k
        for _, called in self.runs:
            called.padded_length(self.k)
        self.formats = (OPERANDS, OPERANDS, OPERANDS)
        self.scale_format, self.blocks = None, 0
        self.where = tuple(where)
        self.by = by

    def numbers(self, operands: OperandWords[D]) -> tuple[list[Number[D]], list[Number[D]], Number[D]]:
        """Return the operands as numbers, which lie where the preconditions say."""
        span = Span.of_format(OPERANDS)
        for p in self.where:
            if isinstance(p, Exponents):
                low, high = p.low - OPERANDS.fraction_bits, p.high + 1
                span = Span(max(span.least, low), max(min(span.most, high), span.least))
        a, b, (c,) = ([Number(OPERANDS, w, span) for w in words] for words in (operands.a, operands.b, (operands.c,)))
        return a, b, c

    def errors(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Errors[D, T]:
        """Return the errors of both algorithms."""
        return errors_of(self.runs, algebra, *self.numbers(operands))

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the first error is not the larger one, or the exact result is out of reach."""
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
        largest = OPERANDS.max_significand << (OPERANDS.e_max - OPERANDS.fraction_bits - found.least)
        magnitude = algebra.magnitude(found.exact)
        if largest.bit_length() > magnitude.width:
            return algebra.truth(True)
        return algebra.negation(algebra.less(algebra.unsigned(largest, magnitude.width), magnitude))

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite and satisfy the preconditions."""
        values = [unpack(algebra, OPERANDS, x) for x in (*operands.a, *operands.b, operands.c)]
        finite = algebra.negation(algebra.any_of([t for v in values for t in (v.infinite, v.nan)]))
        return algebra.all_of([finite, super().precondition(algebra, operands)])

    def examine(self, batch: OperandBatch) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows satisfy the preconditions, and which of them violate the claim; on arrays.

        The claim is computed of the former only: it is exact, which takes long, and of others it means nothing.
        """
        meant = self.examine_precondition(batch)
        refuted = np.zeros(len(batch), dtype=bool)
        refuted[meant] = self.examine_claim(batch.select(meant)) if meant.any() else False
        return meant, refuted
