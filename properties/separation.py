"""Separation: the question whether one input tells several pairs of designs apart at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.preconditions import Precondition, restricting
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.trace import evaluate

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()


class SomePairAgrees(Question):
    """On every input of length ``k``, the two designs of at least one of the ``pairs`` return equal d.

    If it is proved, no single input separates all pairs. A witness is an input that does. ``pairs`` are positions in
    ``designs``, which are comparable with each other. Equal means the same as in ``Equivalence``: both are NaN, or they
    have the same bits.
    """

    def __init__(
        self,
        designs: Sequence[Design],
        pairs: Sequence[tuple[int, int]],
        k: int,
        where: Sequence[Precondition] = (),
    ) -> None:
        first = designs[0]
        self.designs = tuple(designs)
        self.pairs = tuple(pairs)
        self.scale_format = first.scale_format
        self.formats = first.formats[:3]
        self.k = k
        self.where = restricting(where, self.formats)
        self.blocks = first.blocks(k)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the designs of some pair return equal d."""
        fmt = self.designs[0].d_format
        d = [dot_product_accumulate(x, algebra, operands).d for x in self.designs]
        return algebra.any_of([equal_results(algebra, fmt, d[i], d[j]) for i, j in self.pairs])

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether the operands satisfy the preconditions and separate all pairs, computed on integers.

        It stops at the first pair that agrees, because most inputs do not separate all pairs.
        """
        fmt = self.designs[0].d_format
        d: dict[int, int] = {}
        for pair in self.pairs:
            d |= {i: evaluate(self.designs[i], operands) for i in pair if i not in d}
            words = (_INTEGERS.unsigned(d[i], fmt.bits) for i in pair)
            if equal_results(_INTEGERS, fmt, *words).data:
                return False
        return self.is_meant(operands)

    def separated(self, batch: OperandBatch) -> npt.NDArray[np.bool_]:
        """Return which pairs each row separates, shape (rows, pairs). Rows outside the preconditions separate none."""
        fmt = self.designs[0].d_format
        d = [evaluate_batch(x, batch) for x in self.designs]
        apart = np.stack([~equal_patterns(fmt, d[i], d[j]) for i, j in self.pairs], axis=1)
        meant = np.zeros(len(batch), dtype=bool) | self.precondition(_ARRAYS, self.array_words(batch)).data
        return np.asarray(apart & meant[:, np.newaxis])
