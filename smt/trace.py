"""A design evaluated on one element, on Python integers; neither NumPy nor pySMT is imported for this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, overload

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.words import Signal
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
    design = find_design(design)
    operands.check(design)
    return dot_product_accumulate(design, _INTEGERS, _shared_words(operands, _widths(design)))


def _widths(design: Design) -> tuple[int, int, int, int]:
    """Return the widths of a, b, c and the scales."""
    a, b, c, _ = design.formats
    return a.bits, b.bits, c.bits, 0 if design.scale_format is None else design.scale_format.bits


def _words(operands: Operands, widths: tuple[int, int, int, int], algebra: IntegerAlgebra) -> OperandWords[int]:
    """Return operands as words, one for each pattern of a column."""
    a, b, c, scale = widths

    def column(patterns: tuple[int, ...], width: int) -> list[Word[int]]:
        held = {x: algebra.unsigned(x, width) for x in dict.fromkeys(patterns)}
        return [held[x] for x in patterns]

    return OperandWords(
        column(operands.a, a),
        column(operands.b, b),
        algebra.unsigned(operands.c, c),
        column(operands.scale_a, scale),
        column(operands.scale_b, scale),
    )


@lru_cache(maxsize=2)
def _shared_words(operands: Operands, widths: tuple[int, int, int, int]) -> OperandWords[int]:
    """Return operands as words. What two designs read alike is read once: a witness is held against all readings."""
    return replace(_words(operands, widths, _INTEGERS), read={})


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
    algebra, design = _Named(), find_design(design)
    operands.check(design)
    dot_product_accumulate(design, algebra, _words(operands, _widths(design), algebra))
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
