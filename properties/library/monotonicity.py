"""Monotonicity: a larger addend never makes a smaller result (Fasi et al. 2021)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from mmaproof.designs.design import Design
from mmaproof.properties.exact import exact_twin
from mmaproof.properties.property import INTEGER, SimpleProperty
from mmaproof.properties.run_question import RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.semantics.patterns import order_key, successor
from mmaproof.smt.semantics.unpack import unpack


class _Monotone(RunQuestion):
    """d of some operands is at most d of the same operands with one of them replaced by its successor."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run as given, and the one with the larger operand."""
        return (self.design, operands), (self.design, self.larger(algebra, operands))

    @abstractmethod
    def larger(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with one of them replaced by its successor."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands and the successor are finite."""
        return algebra.all_of([self.finite(algebra, operands), self.finite(algebra, self.larger(algebra, operands))])

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the first result is at most the second, or one of them is NaN."""
        fmt = self.design.d_format
        before, after = (x.d for x in results)
        smaller = algebra.less(order_key(algebra, fmt, after), order_key(algebra, fmt, before))
        return algebra.any_of([algebra.negation(smaller), *(unpack(algebra, fmt, x).nan for x in (before, after))])


class _MonotoneInC(_Monotone):
    """d(c) is at most d(the next number above c)."""

    def larger(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with the next c."""
        x = operands
        return OperandWords(x.a, x.b, successor(algebra, self.formats[2], x.c), x.scale_a, x.scale_b)


class _MonotoneInA(_Monotone):
    """d(a[0]) is at most d(the next number above a[0]) where b[0] is not negative."""

    def larger(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with the next a[0]."""
        x = operands
        return OperandWords([successor(algebra, self.formats[0], x.a[0]), *x.a[1:]], x.b, x.c, x.scale_a, x.scale_b)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether everything is finite and b[0] has no sign."""
        negative = unpack(algebra, self.formats[1], operands.b[0]).negative
        return algebra.all_of([super().assumption(algebra, operands), algebra.negation(negative)])


class _Monotonicity(SimpleProperty):
    """What both properties have in common."""

    asks: ClassVar[type[_Monotone]]

    def why_not(self, design: Design) -> str | None:
        """Return that integers of a register that wraps have no such order."""
        return INTEGER if design.d_format.is_integer else None

    def mutant(self, design: Design) -> Design:
        """Return a design that adds exactly and rounds once."""
        return exact_twin(design)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about neighbours."""
        return self.asks(design, scope)


class MonotoneInC(_Monotonicity):
    """A larger accumulator never makes a smaller result."""

    name = "monotone-in-c"
    feature = "d does not fall where c rises"
    statement = (
        "d(a, b, c) <= d(a, b, c') for finite operands, c' the next number above c, finite, by value; "
        "so for every c' >= c, where no d between is NaN"
    )
    witness = "two neighbouring c, the larger of which gives the smaller d"
    source = "Fasi et al. 2021, Monotonicity of dot product"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32@L=2"
    asks = _MonotoneInC


class MonotoneInA(_Monotonicity):
    """A larger element of a, times a number that is not negative, never makes a smaller result."""

    name = "monotone-in-a"
    feature = "d does not fall where a[0] rises and b[0] >= 0"
    statement = (
        "d(a, b, c) <= d(a', b, c) for finite operands, b[0] >= 0 without a sign, a' with the next number above a[0], "
        "finite; so for every larger a[0], where no d between is NaN"
    )
    witness = "two neighbouring elements of a, the larger of which gives the smaller d"
    source = "Fasi et al. 2021, Monotonicity of dot product"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32@L=2"
    asks = _MonotoneInA
