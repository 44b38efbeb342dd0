"""Questions about the results of algorithms for finite fp32 operands."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mmaproof.algorithms.algorithm import Program
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.preconditions import Exponents, Precondition, restricting
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.unpack import unpack


class Fp32Question(Question):
    """A question about ``runs`` (programs, each with its unit) on the same finite operands: fp32 ones of algorithms.

    ``k`` is by default the least common multiple of those that the programs choose. Raises DesignError if a program
    does not run on its unit, programs take different operands or ``k`` does not fit, and InputError if a range of
    exponents leaves only zeros.
    """

    def __init__(self, runs: Sequence[tuple[Program, Design]], k: int | None, where: Sequence[Precondition]) -> None:
        for algorithm, unit in runs:
            algorithm.require(unit)
        self.runs = tuple(runs)
        self.k = math.lcm(*(x.shortest_k(unit) for x, unit in runs)) if k is None else k
        for x, unit in runs:
            x.check_length(unit, self.k)
        first = runs[0][0]
        for x, _ in runs[1:]:
            for n, f, g in zip("abc", first.interface[:3], x.interface[:3], strict=True):
                if f is not g:
                    raise DesignError(
                        f"{first.name} and {x.name} are not comparable: {n} is {f.name} in one, {g.name} in the other"
                    )
        self.formats = first.interface[:3]
        if any(f.is_integer for f in self.formats):
            raise DesignError(f"{first.name} is of an integer unit: this question is about floating-point operands")
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

    def numbers(self, operands: OperandWords[D]) -> tuple[list[Number[D]], list[Number[D]], Number[D]]:
        """Return a, b and c as numbers with the span of the preconditions."""
        a, b, (c,) = (
            [Number(f, w, self.span(f)) for w in words]
            for f, words in zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        )
        return a, b, c

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
