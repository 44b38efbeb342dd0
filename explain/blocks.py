"""The parts of a drawn step, without columns or styling: rows of bits and the lines of text around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class RowKind(StrEnum):
    """What the bits of a row are. An ALIGNED row follows a term that differs from its kept bits."""

    TERM = "term"
    ALIGNED = "aligned"
    SUM = "sum"
    RESULT = "result"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Row:
    """The bits of ``integer * 2**scale`` from the weight ``top`` down to ``scale``, and the text beside them.

    ``cut`` is the weight of the lowest bit that is kept; None if nothing is cut.
    """

    kind: RowKind
    label: str
    sign: str
    integer: int
    scale: int
    top: int
    cut: int | None
    value: str
    operands: str = ""

    def bit(self, weight: int) -> int | None:
        """Return the bit worth ``2**weight``, None outside the significand."""
        return self.integer >> (weight - self.scale) & 1 if self.scale <= weight <= self.top else None

    def is_kept(self, weight: int) -> bool:
        """Return whether a bit of that weight is on the left of the cut."""
        return self.cut is None or weight >= self.cut

    def ones(self) -> list[int]:
        """Return the weights of the bits that are set."""
        return [self.scale + i for i in range(self.integer.bit_length()) if self.integer >> i & 1]


@dataclass(frozen=True, slots=True)
class Entry:
    """A number that is not drawn bit by bit: its name, bit patterns, exact value, and a remark."""

    label: str
    patterns: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The drawing of a sum, of a step, or of neighbouring steps that return their c: text around rows of bits.

    ``cut`` is the weight of the lowest bit of the sum, ``integer_top`` that of the highest integer bit of a product;
    the carry bits are above it, up to ``register_top``; ``fraction`` names the bits between e_max and the cut. These
    mean nothing without rows. ``below`` are the other sums of the same step, in order; ``after`` ends with the result
    unless the block is an ``inner`` one, before the last of its step.
    """

    title: str
    heading: str
    before: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    entries: tuple[Entry, ...] = ()
    after: tuple[str, ...] = ()
    e_max: int = 0
    cut: int = 0
    integer_top: int = 0
    register_top: int = 0
    fraction: str = ""
    inner: bool = False
    below: tuple[Block, ...] = ()

    @property
    def parts(self) -> tuple[Block, ...]:
        """The block and those below it."""
        return self, *self.below


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn of one or two designs on operands: sections in order, and lines that close them.

    A section holds blocks that share their columns, one of each design.
    """

    sections: tuple[tuple[Block, ...], ...]
    closing: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        from mmaproof.explain.figure import picture_html, standalone  # noqa: PLC0415  (a circle)

        return standalone(picture_html(self))


def joined(pictures: Sequence[tuple[str, Picture]]) -> Picture:
    """Return several pictures as one; the name of each stands above it, where it has one."""
    sections: list[tuple[Block, ...]] = []
    for name, picture in pictures:
        sections += [(Block("", name),)] if name else []
        sections += picture.sections
        # what closes a picture closes it before the next begins
        sections += [(Block("", "", after=picture.closing),)] if picture.closing and len(pictures) > 1 else []
    return Picture(tuple(sections), pictures[0][1].closing if len(pictures) == 1 else ())
