"""Questions about the results of algorithms for finite fp32 operands."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.preconditions import Exponents, Precondition, restricting
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.unpack import unpack


class Fp32Question(Question):
    """A question about ``runs`` (algorithms, each with its unit) on the same finite fp32 operands.

    ``k`` is by default the least common multiple of the units' K. Raises DesignError if an algorithm does not run on
    its unit or ``k`` does not fit, and InputError if a range of exponents leaves only zeros.
    """

    def __init__(self, runs: Sequence[tuple[Algorithm, Design]], k: int | None, where: Sequence[Precondition]) -> None:
        for algorithm, unit in runs:
            algorithm.require(unit)
        self.runs = tuple(runs)
        self.k = math.lcm(*(unit.k for _, unit in runs)) if k is None else k
        for _, unit in runs:
            unit.padded_length(self.k)
        self.formats = (OPERANDS, OPERANDS, OPERANDS)
        self.scale_format, self.blocks = None, 0
        self.where = restricting(where, self.formats)

    @property
    def span(self) -> Span:
        """The span of every operand, which follows from the preconditions."""
        span = Span.of_format(OPERANDS)
        for p in self.where:
            if isinstance(p, Exponents):
                least, most = max(span.least, p.low - OPERANDS.fraction_bits), min(span.most, p.high + 1)
                span = Span(min(least, most), most)
        return span

    def numbers(self, operands: OperandWords[D]) -> tuple[list[Number[D]], list[Number[D]], Number[D]]:
        """Return a, b and c as numbers with the span of the preconditions."""
        span = self.span
        a, b, (c,) = ([Number(OPERANDS, w, span) for w in words] for words in (operands.a, operands.b, (operands.c,)))
        return a, b, c

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite and satisfy the preconditions."""
        values = [unpack(algebra, OPERANDS, x) for x in (*operands.a, *operands.b, operands.c)]
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
