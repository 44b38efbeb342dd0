"""Special cases of questions, in which their violations show best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.properties.question import SpecialCase
from mmaproof.properties.run_question import RunQuestion
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.semantics.patterns import zero

_INTEGERS = IntegerAlgebra()


class OfSpecialOperands(RunQuestion):
    """Another question, about special operands that are made from any. Its witnesses refute the other question."""

    def __init__(self, general: RunQuestion) -> None:
        super().__init__(general.design, general.scope)
        self.general = general

    @abstractmethod
    def special(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return operands of the special kind, made from ``operands``."""

    def as_case(self) -> SpecialCase:
        """Return it as a special case of the other question."""
        return SpecialCase(self, self.taken)

    def taken(self, witness: Operands) -> Operands:
        """Return the special operands made from a witness. They are a witness of the other question."""
        x = self.special(_INTEGERS, self.integer_words(witness))
        a, b, scale_a, scale_b = (tuple(w.data for w in y) for y in (x.a, x.b, x.scale_a, x.scale_b))
        return Operands(a, b, x.c.data, scale_a, scale_b)

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the other question's runs."""
        return self.general.runs(algebra, self.special(algebra, operands))

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the other question is about the special operands."""
        return self.general.precondition(algebra, self.special(algebra, operands))

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return the other question's claim."""
        return self.general.relation(algebra, self.special(algebra, operands), results)


class NothingBesideC(OfSpecialOperands):
    """All products from some index on are (+0) * (+0)."""

    def __init__(self, general: RunQuestion, first: int) -> None:
        super().__init__(general)
        self.first = first

    def special(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with these products."""
        x = operands
        a, b = (
            [*column[: self.first], *[zero(algebra, fmt)] * (len(column) - self.first)]
            for fmt, column in zip(self.formats[:2], (x.a, x.b), strict=True)
        )
        return OperandWords(a, b, x.c, x.scale_a, x.scale_b)


class RepeatedProducts(OfSpecialOperands):
    """All products from some index on are the same one, of blocks with the same scales."""

    def __init__(self, general: RunQuestion, first: int) -> None:
        super().__init__(general)
        self.first = first

    def special(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with the product at the index from there on."""
        x = operands
        a, b = ([*y[: self.first], *[y[self.first]] * (len(y) - self.first)] for y in (x.a, x.b))
        scales = ([y[0]] * len(y) if y else [] for y in (x.scale_a, x.scale_b))
        return OperandWords(a, b, x.c, *scales)
