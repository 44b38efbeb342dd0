"""A design evaluated on one element, on Python integers; neither NumPy nor pySMT is imported for this."""

from __future__ import annotations

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate

_INTEGERS = IntegerAlgebra()


def trace(design: Design | str, operands: Operands) -> DotProduct[int, bool]:
    """Return result and signals of ``design`` (or the design of that name) on one element, computed on integers.

    Raises OperandError where the operands do not fit the design.
    """
    design = find_design(design)
    operands.check(design)
    a, b, c, _ = design.formats
    scale_bits = 0 if design.scale_format is None else design.scale_format.bits
    words = OperandWords(
        [_INTEGERS.unsigned(x, a.bits) for x in operands.a],
        [_INTEGERS.unsigned(x, b.bits) for x in operands.b],
        _INTEGERS.unsigned(operands.c, c.bits),
        [_INTEGERS.unsigned(x, scale_bits) for x in operands.scale_a],
        [_INTEGERS.unsigned(x, scale_bits) for x in operands.scale_b],
    )
    return dot_product_accumulate(design, _INTEGERS, words)


def evaluate(design: Design | str, operands: Operands) -> int:
    """Return the pattern of d of ``design`` on one element, computed on integers."""
    return trace(design, operands).d.data
