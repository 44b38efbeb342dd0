"""A design evaluated on one element, on Python integers; neither NumPy nor pySMT is imported for this."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, overload

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.signals import Signal
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate

if TYPE_CHECKING:
    from mmaproof.smt.evaluate import OpenPoints

_INTEGERS = IntegerAlgebra()


def trace(design: Design | str, operands: Operands) -> DotProduct[int, bool]:
    """Return result and signals of ``design`` (or the design of that name) on one element, computed on integers.

    Raises OperandError where the operands do not fit the design.

    >>> import mmaproof
    >>> ones = mmaproof.Operands(a=(0x3C00,) * 4, b=(0x3C00,) * 4, c=0)
    >>> len(mmaproof.trace("volta/f32.f16.f16.f32", ones).steps)
    1
    """
    return _traced(design, operands, _INTEGERS)


def _traced(design: Design | str, operands: Operands, algebra: IntegerAlgebra) -> DotProduct[int, bool]:
    design = find_design(design)
    operands.check(design)
    a, b, c, _ = design.formats
    scale_bits = 0 if design.scale_format is None else design.scale_format.bits
    words = OperandWords(
        [algebra.unsigned(x, a.bits) for x in operands.a],
        [algebra.unsigned(x, b.bits) for x in operands.b],
        algebra.unsigned(operands.c, c.bits),
        [algebra.unsigned(x, scale_bits) for x in operands.scale_a],
        [algebra.unsigned(x, scale_bits) for x in operands.scale_b],
    )
    return dot_product_accumulate(design, algebra, words)


class _Named(IntegerAlgebra):
    """Integers that keep the named signals: the width and the pattern of each."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, tuple[int, int]] = {}

    def _keep(self, name: Signal, width: int, value: int) -> None:
        text = str(name)
        number = 2
        while text in self.kept:
            text, number = f"{name} ({number})", number + 1
        self.kept[text] = width, value & (1 << width) - 1

    def signal(self, name: Signal, x: Word[int], bounds: tuple[int, int] | None = None) -> Word[int]:
        """Keep the word."""
        self._keep(name, x.width, x.data)
        return x

    def signal_truth(
        self, name: Signal, x: Truth[bool], observable: Callable[[], Truth[bool]] | None = None
    ) -> Truth[bool]:
        """Keep the truth value."""
        self._keep(name, 1, int(x.data))
        return x


def named_signals(design: Design | str, operands: Operands) -> dict[str, tuple[int, int]]:
    """Return the signals of ``design`` on one element by name: how many bits each has, and its pattern.

    Raises as ``trace``.
    """
    algebra = _Named()
    _traced(design, operands, algebra)
    return algebra.kept


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
    from mmaproof.smt.evaluate import open_points as points_of  # noqa: PLC0415  (imports NumPy)

    return d, points_of(design, operands)
