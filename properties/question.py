"""Questions: a claim about all operands that satisfy the preconditions.

A question is text over the algebra, like the semantics. The solver is asked about it in terms, the search looks
for a witness in arrays, and every witness is confirmed on integers, all three from the same definition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic

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
from mmaproof.smt.semantics.unpack import unpack

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()


@dataclass(frozen=True, slots=True)
class OperandWords(Generic[D]):
    """The operands of a question as words of an algebra: patterns of a, b (``k`` each) and c."""

    a: Sequence[Word[D]]
    b: Sequence[Word[D]]
    c: Word[D]


@dataclass(frozen=True)
class Formula:
    """A question as pySMT formulas; ``symbols`` are the operands in the order a, b, c."""

    symbols: tuple[FNode, ...]
    precondition: FNode | None
    claim: FNode


class Question(ABC):
    """For all operands of these formats and length: preconditions imply the claim."""

    formats: tuple[Format, Format, Format]
    """of a, b and c"""
    k: int
    where: tuple[Precondition, ...]

    @abstractmethod
    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the claim holds for the operands."""

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands satisfy every precondition."""
        a, b, c = self.formats
        products = [unpack(algebra, a, x) for x in operands.a] + [unpack(algebra, b, x) for x in operands.b]
        accumulator = unpack(algebra, c, operands.c)
        return algebra.all_of([p.holds(algebra, products, accumulator) for p in self.where])

    @cached_property
    def formula(self) -> Formula:
        """The question as formulas over symbols that no other format or width shares."""
        algebra = TermAlgebra()
        a, b, c = self.formats
        words = OperandWords(
            [algebra.symbol(f"a{i}_{a.name}", a.bits) for i in range(self.k)],
            [algebra.symbol(f"b{i}_{b.name}", b.bits) for i in range(self.k)],
            algebra.symbol(f"c_{c.name}", c.bits),
        )
        symbols = tuple(w.data for w in (*words.a, *words.b, words.c))
        precondition = self.precondition(algebra, words).data if self.where else None
        return Formula(symbols, precondition, self.claim(algebra, words).data)

    def operands(self, model: Mapping[str, int]) -> Operands:
        """Return the operands that a solver's model of ``formula`` assigns."""
        values = [model[symbol.symbol_name()] for symbol in self.formula.symbols]
        return Operands(tuple(values[: self.k]), tuple(values[self.k : -1]), values[-1])

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether the operands satisfy the preconditions and violate the claim, computed on integers."""
        a, b, c = self.formats
        words = OperandWords(
            [_INTEGERS.unsigned(x, a.bits) for x in operands.a],
            [_INTEGERS.unsigned(x, b.bits) for x in operands.b],
            _INTEGERS.unsigned(operands.c, c.bits),
        )
        return self.precondition(_INTEGERS, words).data and not self.claim(_INTEGERS, words).data

    def examine(self, batch: OperandBatch) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows satisfy the preconditions, and which of them violate the claim; on arrays."""
        a, b, c = self.formats
        words: OperandWords[Any] = OperandWords(
            [_ARRAYS.from_patterns(x, a.bits) for x in batch.a.T],
            [_ARRAYS.from_patterns(x, b.bits) for x in batch.b.T],
            _ARRAYS.from_patterns(batch.c, c.bits),
        )
        rows = np.zeros(len(batch), dtype=bool)
        meant = rows | self.precondition(_ARRAYS, words).data
        return meant, meant & ~(rows | self.claim(_ARRAYS, words).data)
