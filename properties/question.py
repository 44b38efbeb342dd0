"""Questions: a claim about all operands that satisfy the preconditions.

A question is text over the algebra, like the semantics. The solver is asked about it in terms, the search looks
for a witness in arrays, and every witness is confirmed on integers, all three from the same definition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Operands
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.unpack import unpack

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()


@dataclass(frozen=True)
class Formula:
    """A question as pySMT formulas; ``symbols`` are the operands in the order a, b, c, scale_a, scale_b."""

    symbols: tuple[FNode, ...]
    precondition: FNode | None
    claim: FNode


class Question(ABC):
    """For all operands of these formats and length: preconditions imply the claim."""

    formats: tuple[Format, Format, Format]
    """of a, b and c"""
    scale_format: Format | None
    k: int
    blocks: int
    """number of scales of a, and of b"""
    where: tuple[Precondition, ...]

    @abstractmethod
    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the claim holds for the operands."""

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands satisfy every precondition."""
        if not self.where:
            return algebra.truth(True)
        a, b, c = self.formats
        products = [unpack(algebra, a, x) for x in operands.a] + [unpack(algebra, b, x) for x in operands.b]
        if self.scale_format is not None:
            products += [unpack(algebra, self.scale_format, x) for x in (*operands.scale_a, *operands.scale_b)]
        accumulator = unpack(algebra, c, operands.c)
        return algebra.all_of([p.holds(algebra, products, accumulator) for p in self.where])

    @cached_property
    def formula(self) -> Formula:
        """The question as formulas over symbols that no other format or width shares."""
        algebra = TermAlgebra()
        words = [[algebra.symbol(f"{n}{i}_{f.name}", f.bits) for i in range(count)] for n, f, count in self._columns()]
        symbols = tuple(w.data for column in words for w in column)
        operands = _operand_words(words)
        precondition = self.precondition(algebra, operands).data if self.where else None
        return Formula(symbols, precondition, self.claim(algebra, operands).data)

    def _columns(self) -> list[tuple[str, Format, int]]:
        """Name, format and number of words of each column of operands, in the order of ``Formula.symbols``."""
        a, b, c = self.formats
        columns = [("a", a, self.k), ("b", b, self.k), ("c", c, 1)]
        if self.scale_format is not None:
            columns += [("scale_a", self.scale_format, self.blocks), ("scale_b", self.scale_format, self.blocks)]
        return columns

    def operands(self, model: Mapping[str, int]) -> Operands:
        """Return the operands that a solver's model of ``formula`` assigns."""
        values = iter([model[symbol.symbol_name()] for symbol in self.formula.symbols])
        a, b, c, *scales = (tuple(next(values) for _ in range(count)) for _, _, count in self._columns())
        return Operands(a, b, c[0], *scales)

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether the operands satisfy the preconditions and violate the claim, computed on integers."""
        held = (operands.a, operands.b, (operands.c,), operands.scale_a, operands.scale_b)
        words = _operand_words(
            [
                [_INTEGERS.unsigned(x, f.bits) for x in column]
                for (_, f, _), column in zip(self._columns(), held, strict=False)
            ]
        )
        return self.precondition(_INTEGERS, words).data and not self.claim(_INTEGERS, words).data

    def examine(self, batch: OperandBatch) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows satisfy the preconditions, and which of them violate the claim; on arrays."""
        held = [*(x.T for x in (batch.a, batch.b)), batch.c[np.newaxis]]
        held += [x.T for x in (batch.scale_a, batch.scale_b) if x is not None]
        words = _operand_words(
            [
                [_ARRAYS.from_patterns(x, f.bits) for x in column]
                for (_, f, _), column in zip(self._columns(), held, strict=False)
            ]
        )
        rows = np.zeros(len(batch), dtype=bool)
        meant = rows | self.precondition(_ARRAYS, words).data
        return meant, meant & ~(rows | self.claim(_ARRAYS, words).data)


def _operand_words(columns: Sequence[Sequence[Word[D]]]) -> OperandWords[D]:
    a, b, c, *scales = columns
    return OperandWords(a, b, c[0], *scales)
