"""The schedule of a plan for one K: every operation that makes one element of the result, as data.

A schedule is a list of operations. Each makes one number, which later operations name by its index. The last one makes
d. A long chain of instructions is one ``Call``, because a design chains whole instructions itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS, Format

FP32 = FORMATS["fp32"]


@dataclass(frozen=True, slots=True)
class Operand:
    """The operand c, a number of ``fmt``."""

    fmt: Format


@dataclass(frozen=True, slots=True)
class Zero:
    """+0 of ``fmt``."""

    fmt: Format


@dataclass(frozen=True, slots=True)
class Call:
    """``c + sum a[k]*b[k]`` over ``ks`` in this order, as ``unit`` computes it: a chain of its instructions.

    ``c`` is an index, and the number there is of the unit's c format. With ``algorithm``, the name of an
    error-corrected algorithm, that algorithm computes it with the unit from fp32 operands.
    """

    unit: Design
    ks: tuple[int, ...]
    c: int
    algorithm: str | None = None

    @property
    def fmt(self) -> Format:
        """The format of the result."""
        return self.unit.d_format if self.algorithm is None else FP32

    @property
    def blocks(self) -> tuple[int, ...]:
        """The blocks whose scales it takes, in order; none if the unit has no scales."""
        size = self.unit.block
        return () if size is None else tuple(k // size for k in self.ks[::size])


@dataclass(frozen=True, slots=True)
class Add:
    """The sum of two numbers of ``fmt``, rounded to it (IEEE 754); of integers modulo the register."""

    x: int
    y: int
    fmt: Format
    rounding: Rounding = Rounding.RNE


@dataclass(frozen=True, slots=True)
class Factor:
    """The factor of that index among those that are operands: numbers of fp32, given for each row."""

    index: int


@dataclass(frozen=True, slots=True)
class Multiply:
    """A number of ``fmt`` times a constant of that format or a factor operand, rounded to nearest (IEEE 754)."""

    x: int
    factor: int | Factor
    """the pattern of the constant, or which factor it is"""
    fmt: Format


@dataclass(frozen=True, slots=True)
class MultiplyAdd:
    """``x * factor + y`` rounded once, to nearest (IEEE 754): the unit ``FUSED`` of ``fmt`` computes it."""

    x: int
    factor: int
    """the pattern of the constant"""
    y: int
    fmt: Format


@dataclass(frozen=True, slots=True)
class Convert:
    """A number rounded to ``fmt``."""

    x: int
    fmt: Format
    rounding: Rounding = Rounding.RNE


@dataclass(frozen=True, slots=True)
class Flush:
    """A number of ``fmt``, a zero of its sign in the place of a subnormal one."""

    x: int
    fmt: Format


Operation = Operand | Zero | Call | Add | Multiply | MultiplyAdd | Convert | Flush

FUSED = {"fp32": "cpu/vfmadd231ps", "fp64": "cpu/vfmadd231pd"}
"""The designs that compute fused multiply-adds outside a unit, by format."""


def arguments(operation: Operation) -> tuple[int, ...]:
    """Return the indices of the numbers that an operation takes, in order."""
    match operation:
        case Operand() | Zero():
            return ()
        case Call(c=c):
            return (c,)
        case Add(x=x, y=y) | MultiplyAdd(x=x, y=y):
            return (x, y)
        case Multiply(x=x) | Convert(x=x) | Flush(x=x):
            return (x,)
        case _:
            assert_never(operation)


@dataclass(frozen=True)
class Schedule:
    """The operations that make one element of a result from ``k`` elements of a and b, and c. The last one makes d.

    ``formats`` are those of a, b, c and d.
    """

    k: int
    formats: tuple[Format, Format, Format, Format]
    operations: tuple[Operation, ...]

    @property
    def calls(self) -> Iterator[Call]:
        """The calls of units, in order."""
        return (x for x in self.operations if isinstance(x, Call))

    @property
    def factors(self) -> int:
        """How many factors are operands."""
        return len({x.factor for x in self.operations if isinstance(x, Multiply) and isinstance(x.factor, Factor)})

    def __str__(self) -> str:
        return "\n".join(f"v{i} = {described(x)}" for i, x in enumerate(self.operations))


def described(operation: Operation) -> str:
    """Return an operation as a line of text. Numbers are called v0, v1 and so on."""
    match operation:
        case Operand(fmt=fmt):
            text = f"c ({fmt.name})"
        case Zero(fmt=fmt):
            text = f"+0 ({fmt.name})"
        case Call(unit=unit, ks=ks, c=c, algorithm=algorithm):
            name = unit.name if algorithm is None else f"{algorithm} on {unit.name}"
            text = f"{name} (k = {spelled_ks(ks)}; v{c})"
        case Add(x=x, y=y, fmt=fmt, rounding=rounding):
            text = f"v{x} + v{y} ({fmt.name}, {rounding})"
        case Multiply(x=x, factor=factor, fmt=fmt):
            by = fmt.hex(factor) if isinstance(factor, int) else f"factor {factor.index}"
            text = f"v{x} * {by} ({fmt.name})"
        case MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
            text = f"v{x} * {fmt.hex(factor)} + v{y} ({fmt.name}, rounded once)"
        case Convert(x=x, fmt=fmt, rounding=rounding):
            text = f"v{x} to {fmt.name} ({rounding})"
        case Flush(x=x, fmt=fmt):
            text = f"v{x}, a zero where it is subnormal ({fmt.name})"
        case _:
            assert_never(operation)
    return text


def spelled_ks(ks: Sequence[int]) -> str:
    """Return the elements of k as ranges: ``0..63, 128..191``."""
    runs: list[list[int]] = []
    for k in ks:
        if runs and runs[-1][1] + 1 == k:
            runs[-1][1] = k
        else:
            runs.append([k, k])
    most = 8
    shown = [str(a) if a == b else f"{a}..{b}" for a, b in runs[:most]]
    return ", ".join(shown) + (f", ... ({len(ks)} elements)" if len(runs) > most else "")


class Builder:
    """Makes a schedule, one operation after the other; every operation returns its index."""

    def __init__(self) -> None:
        self._indices: dict[Operation, int] = {}
        self._formats: list[Format] = []

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations so far."""
        return tuple(self._indices)

    def add(self, operation: Operation) -> int:
        """Append an operation and return its index. The same operation on the same numbers is kept once."""
        if operation not in self._indices:
            self._indices[operation] = len(self._indices)
            self._formats.append(operation.fmt)
        return self._indices[operation]

    def convert(self, x: int, fmt: Format, rounding: Rounding = Rounding.RNE) -> int:
        """Return the number in ``fmt``: itself if it is of that format."""
        return x if self.format_of(x) is fmt else self.add(Convert(x, fmt, rounding))

    def format_of(self, index: int) -> Format:
        """Return the format of a number."""
        return self._formats[index]
