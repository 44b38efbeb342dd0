"""That a unit never makes a -0: a step whose c is not -0 returns no -0."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.arithmetic import steps_of_chain
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.properties.run_question import RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords


class NeverMinusZero(RunQuestion):
    """A step, or an instruction, returns -0 only if its c is -0."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether c is not -0."""
        return algebra.negation(algebra.is_value(operands.c, _minus_zero(self.design.c_format)))

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is not -0."""
        return algebra.negation(algebra.is_value(results[0].d, _minus_zero(self.design.d_format)))


def never_minus_zero(unit: Design) -> Sequence[NeverMinusZero]:
    """Return questions that imply that a chain of instructions never returns -0 if it starts from another number.

    To add +0 to such a result, to nearest or towards zero, changes nothing. Every kind of step of the chain is asked
    about (``steps_of_chain``), or the whole instruction where it is not such a chain. There are none if a later step,
    or a later instruction, reads what the question does not cover.
    """
    steps = steps_of_chain(unit)
    if steps is not None:
        return [NeverMinusZero(x, Scope()) for x in steps]
    if unit.c_format is not unit.d_format or not unit.chain.keeps_infinities:
        return []
    return [NeverMinusZero(unit, Scope(k=unit.k))]


def _minus_zero(fmt: Format) -> int:
    return 1 << fmt.sign_position
