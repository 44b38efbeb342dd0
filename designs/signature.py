"""The signature of a design: the formats of its operands and of its result, and which elements share a scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmaproof.designs.formats import Format


@dataclass(frozen=True, slots=True)
class Signature:
    """The formats of a, b, c and d. For a unit with scales, also their format and how many elements share one.

    Designs of the same signature take the same operands and can be compared.
    """

    a: Format
    b: Format
    c: Format
    d: Format
    scale: Format | None = None
    """format of the scales of a and b; None if the unit has none"""
    block: int | None = None
    """K_block: elements of a (and of b) that share one scale"""

    @property
    def formats(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        return self.a, self.b, self.c, self.d

    @property
    def is_integer(self) -> bool:
        """Whether the result is an integer."""
        return self.d.is_integer

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Yield what does not fit: the field of a catalogue row, and the problem."""
        for name, fmt in zip("abc", self.formats[:3], strict=True):
            if fmt.is_integer is not self.d.is_integer:
                problem = f"{name} is {fmt.name} and d is {self.d.name}: integers and floating-point numbers do not mix"
                yield name, problem
            if fmt.is_of_scales:
                yield name, f"{name} is {fmt.name}, a format of scales: elements and c need a sign and a zero"
        if self.scale is not None and (self.d.is_integer or not self.scale.is_of_scales):
            yield "scale", f"{self.scale.name} cannot scale products of {self.a.name}"
        if (self.block is None) is not (self.scale is None):
            yield "block", "scales need both a format and a block length"

    def __str__(self) -> str:
        scales = "" if self.scale is None else f", {self.scale.name} scales of blocks of {self.block}"
        return f"{self.a.name} * {self.b.name} + {self.c.name} -> {self.d.name}{scales}"
