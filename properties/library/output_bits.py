"""Bits of the output that are never used (the accumulator-precision post; Xie et al. 2026, table 2: RZ-E8M13)."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.property import INTEGER, SimpleProperty
from mmaproof.properties.run_question import RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.semantics.unpack import unpack

LOW_BITS = 10
"""23 - 13: the fraction bits of fp32 below the 13 of E8M13."""


class _LowBitsZero(RunQuestion):
    """The low bits of d are zero, or d is NaN."""

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether they are."""
        d = results[0].d
        nan = unpack(algebra, self.design.d_format, d).nan
        return algebra.any_of([algebra.is_value(algebra.extract(d, LOW_BITS - 1, 0), 0), nan])


class LowBitsZero(SimpleProperty):
    """The low ten bits of an fp32 result are zero. The question is about one step, or about a given length."""

    name = "low-bits-zero"
    feature = "the low ten bits of d are zero"
    statement = "the ten lowest bits of d are zero, for all operands whose d is not NaN"
    witness = "operands whose d uses one of its ten lowest bits"
    source = "blog on accumulator precision, Triton probe; Xie et al. 2026, section 6.2.3"
    specimen = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"

    def why_not(self, design: Design) -> str | None:
        """Return why not: the output is not an fp32 number."""
        if design.d_format.is_integer:
            return INTEGER
        return None if design.d_format.name == "fp32" else f"its output is {design.d_format.name}, not fp32"

    def mutant(self, design: Design) -> Design:
        """Return a design that converts to 13 fraction bits. If this one does, return one that converts to all 23."""
        if design.adds_c_last:
            raise DesignError(f"{design.name}: its last addition rounds to all bits of fp32, whatever rho does before")
        return design.change(rho="rz-fp32" if design.step.rho == "rz-e8m13" else "rz-e8m13")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about d."""
        return _LowBitsZero(design, scope)
