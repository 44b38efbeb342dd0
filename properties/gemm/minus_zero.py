"""That a unit never makes a -0: a step whose c is not -0 returns no -0."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.properties.run_question import RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords


class NeverMinusZero(RunQuestion):
    """A unit returns -0 only if its c is -0, so a chain of instructions that starts from +0 never returns it.

    To add +0 to such a result, to nearest or towards zero, changes nothing. The question is about one step, where a
    chain is a sequence of steps that each take the d of the one before, and about one instruction elsewhere.
    """

    def __init__(self, unit: Design) -> None:
        super().__init__(unit, Scope() if Arithmetic.of(unit).k is None else Scope(k=unit.k))

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether c is not -0."""
        return algebra.negation(algebra.is_value(operands.c, _minus_zero(self.design.c_format)))

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is not -0."""
        return algebra.negation(algebra.is_value(results[0].d, _minus_zero(self.design.d_format)))


def _minus_zero(fmt: Format) -> int:
    return 1 << fmt.sign_position
