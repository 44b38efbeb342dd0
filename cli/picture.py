"""The picture of a dot product: what a unit does to each bit of it, drawn for a terminal.

Every bit is placed by its weight: the column of weight w holds the bits worth 2**w, in every row and for every
design. A ``Block`` says what there is to draw of a step and a ``Layout`` in which columns, both without any styling.
Values are exact everywhere: sign, odd significand and power of two, or a bit pattern in hexadecimal.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Operands
from mmaproof.designs.parameters import Alignment, ChainInfinity, Rounding
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.evaluate import trace
from mmaproof.smt.semantics.unit import StepSignals
from mmaproof.smt.semantics.unpack import Unpacked, unpack
from mmaproof.smt.semantics.widths import sum_widths

SIDE_BY_SIDE = 150
"""Width of the terminal from which on two designs stand side by side."""


def exact(value: Fraction, negative: bool = False) -> str:
    """Return ``value`` (a multiple of a power of two) as ``-3 * 2^2``; ``negative`` is the sign of a zero."""
    if not value:
        return "-0" if negative else "+0"
    odd = abs(value.numerator)
    places = (odd & -odd).bit_length() - 1
    power = places - (value.denominator.bit_length() - 1)
    return f"{'-' if value < 0 else '+'}{odd >> places} * 2^{power}"


def pattern_value(fmt: Format, pattern: int) -> str:
    """Return what ``pattern`` means: its exact value, ``NaN`` or a signed ``infinity``."""
    x = _unpacked(fmt, pattern)
    if x.nan.data:
        return "NaN"
    sign = "-" if x.negative.data else "+"
    return f"{sign}infinity" if x.infinite.data else exact(_value(x), x.negative.data)


def _unpacked(fmt: Format, pattern: int) -> Unpacked[int, bool]:
    algebra = IntegerAlgebra()
    return unpack(algebra, fmt, algebra.unsigned(pattern, fmt.bits))


def _scaled(integer: int, scale: int) -> Fraction:
    return Fraction(integer) * Fraction(2) ** scale


def _value(x: Unpacked[int, bool]) -> Fraction:
    return _scaled((-1) ** x.negative.data * x.significand.data, x.exponent.data - x.fraction_bits)


def _names(labels: Sequence[str]) -> str:
    """Return p0, p1, p2, c as ``p0..p2, c``."""
    runs: list[list[str]] = []
    for label in labels:
        if runs and label != "c" and int(label[1:]) == int(runs[-1][-1][1:]) + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(run[0] + (f"..{run[-1]}" if len(run) > 1 else "") for run in runs)


# --- what there is to draw of a step ---------------------------------------------------------------------------------


class RowKind(StrEnum):
    """What the bits of a row are; ALIGNED follows a term that floor or jam made more than its kept bits."""

    TERM = "term"
    ALIGNED = "aligned"
    SUM = "sum"
    RESULT = "result"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Row:
    """The bits of ``integer * 2**scale`` from the weight ``top`` down to ``scale``, and what stands beside them."""

    kind: RowKind
    label: str
    sign: str
    integer: int
    scale: int
    top: int
    value: str
    operands: str = ""

    def bit(self, weight: int) -> int | None:
        """Return the bit worth ``2**weight``, None outside the significand."""
        return self.integer >> (weight - self.scale) & 1 if self.scale <= weight <= self.top else None

    @property
    def ones(self) -> tuple[int, int] | None:
        """Weights of the highest and the lowest bit that is set."""
        low = (self.integer & -self.integer).bit_length() - 1
        return (self.scale + self.integer.bit_length() - 1, self.scale + low) if self.integer else None


@dataclass(frozen=True, slots=True)
class Block:
    """What is drawn of a step, or of neighbouring steps that return their c: lines of text around rows of bits.

    ``cut`` is the weight of the lowest kept bit, ``integer_top`` that of the highest integer bit of a product;
    above it are carry bits up to ``register_top``.
    """

    name: str
    heading: str
    e_max: int
    cut: int
    integer_top: int
    register_top: int
    before: tuple[str, ...]
    rows: tuple[Row, ...]
    after: tuple[str, ...]


class _Step:
    """Step ``index`` of a design on operands."""

    def __init__(self, design: Design, operands: Operands, steps: Sequence[StepSignals[int, bool]], index: int):
        fused, length = design.parameters.L, len(operands)
        self.design, self.operands, self.index, self.count = design, operands, index, len(steps)
        self.signals, self.before = steps[index], steps[index - 1] if index else None
        self.given = range(min(index * fused, length), min((index + 1) * fused, length))
        self.labels = [f"p{k}" for k in range(index * fused, (index + 1) * fused)] + ["c"]
        self.e_max = self.signals.e_max.data
        self.cut = self.e_max - design.parameters.fraction_bits
        self.terms = [
            _scaled((-1) ** t.negative.data * t.significand.data, t.exponent.data - t.fraction_bits)
            for t in self.signals.terms
        ]
        self.aligned = [_scaled(x.data, self.cut) for x in self.signals.aligned]
        self.total = _scaled(self.signals.total.data, self.cut)
        self.c = (design.d_format, self.before.d.data) if self.before else (design.c_format, operands.c)
        special = self.signals.special
        self.nan = special.nan.data
        self.special = self.nan or (special.infinite.data and design.d_format.infinity is not None)
        d = design.d_format.hex(self.signals.d.data)
        self.result = f"{d} = {pattern_value(design.d_format, self.signals.d.data)}"

    def operand_text(self, label: str, values: bool = False) -> str:
        """Return the patterns behind a term, with their values if asked."""
        a, b, _, _ = self.design.formats
        k = int(label[1:] or 0)
        found = [self.c] if label == "c" else [(a, self.operands.a[k]), (b, self.operands.b[k])]
        return " * ".join(f.hex(x) + (f" ({pattern_value(f, x)})" if values else "") for f, x in found)
