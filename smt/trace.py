"""A design evaluated on one element, on Python integers; neither NumPy nor pySMT is imported for this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate

if TYPE_CHECKING:
    from mmaproof.smt.open_points import OpenPoints

_INTEGERS = IntegerAlgebra()


def trace(design: Design | str, operands: Operands) -> DotProduct[int, bool]:
    """Return result and signals of ``design`` (or the design of that name) on one element, computed on integers.

    Raises OperandError where the operands do not fit the design.

    >>> import mmaproof
    >>> ones = mmaproof.Operands(a=(0x3C00,) * 4, b=(0x3C00,) * 4, c=0)
    >>> len(mmaproof.trace("volta/f32.f16.f16.f32", ones).steps)
    1
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


@overload
def evaluate(design: Design | str, operands: Operands, *, open_points: Literal[False] = False) -> int: ...
@overload
def evaluate(design: Design | str, operands: Operands, *, open_points: Literal[True]) -> tuple[int, OpenPoints]: ...
def evaluate(design: Design | str, operands: Operands, *, open_points: bool = False) -> int | tuple[int, OpenPoints]:
    """Return the pattern of d of ``design`` on one element, computed on integers.

    With ``open_points`` it is returned together with the open points on which it rests. Raises as ``trace``.

    >>> import mmaproof
    >>> ones = mmaproof.Operands(a=(0x3C00,) * 4, b=(0x3C00,) * 4, c=0)
    >>> hex(mmaproof.evaluate("volta/f32.f16.f16.f32", ones))
    '0x40800000'
    """
    d = trace(design, operands).d.data
    if not open_points:
        return d
    from mmaproof.smt.open_points import open_points as points_of  # noqa: PLC0415  (imports NumPy)

    return d, points_of(design, operands)
