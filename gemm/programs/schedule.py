"""The schedule of a plan for one K: every operation that makes one element of the result, as data.

A schedule is a list of operations. Each makes one number, which later operations name by its index, or cuts an operand
into words, which calls name. The last one makes d. A long chain of instructions is one ``Call``, because a design
chains whole instructions itself. ``label`` says to a person what an operation is for, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from mmaproof.designs.conversions import OutOfRange, Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS, Format

FP32 = FORMATS["fp32"]
EXPONENT = FORMATS["int32"]
"""The format of the exponent that a row of a, or a column of b, has in common."""


def _label() -> Any:
    return field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Operand:
    """The operand c, a number of ``fmt``."""

    fmt: Format


@dataclass(frozen=True, slots=True)
class Zero:
    """+0 of ``fmt``."""

    fmt: Format


@dataclass(frozen=True, slots=True)
class Split:
    """Words of the elements ``ks`` of an operand, ``a`` or ``b``, each ``count`` numbers of ``fmt``.

    The first word is the element rounded. Each further word is the rounded residual of the words before it, multiplied
    once more by ``2**scale``.
    """

    side: str
    ks: tuple[int, ...]
    fmt: Format
    count: int
    rounding: Rounding
    residual_rounding: Rounding
    scale: int

    @property
    def of(self) -> Format:
        """The format of the elements."""
        return FP32


@dataclass(frozen=True, slots=True)
class Slices:
    """Words of the elements ``ks`` of an operand: ``count`` integers of ``bits`` bits with a sign, numbers of ``fmt``.

    They are cut from fixed-point numbers below the exponent of the largest of these elements, which comes with them.
    ``spare`` top bits of the first word hold no bit of the magnitude. With ``signed_first`` the words are those of the
    number in two's complement: the first has the sign, and the others are integers without one, of as many bits.
    """

    side: str
    ks: tuple[int, ...]
    fmt: Format
    count: int
    bits: int
    of: Format = FP32
    """the format of the elements"""
    spare: int = 0
    signed_first: bool = False

    @property
    def width(self) -> int:
        """Bits of a magnitude."""
        return self.count * self.bits - self.spare

    def weight(self, word: int) -> int:
        """Return the power of two that a word counts, above the exponent of the largest element."""
        return 1 + self.spare - (word + 1) * self.bits


@dataclass(frozen=True, slots=True)
class Residues:
    """Words of the elements ``ks`` of an operand: residues next to zero modulo each of ``moduli``, numbers of ``fmt``.

    They are of fixed-point numbers of ``bits`` bits below the exponent of the largest element, which comes with them.
    """

    side: str
    ks: tuple[int, ...]
    fmt: Format
    moduli: tuple[int, ...]
    bits: int
    of: Format = FP32
    """the format of the elements"""


Cut = Split | Slices | Residues
"""What cuts an operand into words."""


@dataclass(frozen=True, slots=True)
class Words:
    """One word of each element: the index of the operation that cuts them, and which of their words."""

    cut: int
    word: int


@dataclass(frozen=True, slots=True)
class Call:
    """``c + sum a[k]*b[k]`` over ``ks`` in this order, as ``unit`` computes it: a chain of its instructions.

    ``c`` is an index, and the number there is of the unit's c format. ``a`` and ``b`` are the words that are
    multiplied; None: the operands themselves.
    """

    unit: Design
    ks: tuple[int, ...]
    c: int
    a: Words | None = None
    b: Words | None = None
    label: str = _label()
    again: bool = False
    """whether these products were in a call before, of which this one adds another part"""

    @property
    def fmt(self) -> Format:
        """The format of the result."""
        return self.unit.d_format

    @property
    def words(self) -> tuple[Words, ...]:
        """The words that it multiplies; none where it multiplies the operands themselves."""
        return tuple(x for x in (self.a, self.b) if x is not None)

    @property
    def is_first(self) -> bool:
        """Whether it multiplies operands or their first words: the others are what rounding took of these."""
        return not self.again and all(x.word == 0 for x in self.words)

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
    label: str = _label()


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
    """A number rounded to ``fmt``; ``out_of_range`` is what is stated for numbers beyond the largest and infinities."""

    x: int
    fmt: Format
    rounding: Rounding | Stochastic = Rounding.RNE
    out_of_range: OutOfRange | None = None
    label: str = _label()


@dataclass(frozen=True, slots=True)
class Flush:
    """A number of ``fmt``, a zero of its sign in the place of a subnormal one."""

    x: int
    fmt: Format


@dataclass(frozen=True, slots=True)
class Scale:
    """A number of ``fmt`` times ``2**places``, rounded to nearest."""

    x: int
    places: int
    fmt: Format
    label: str = _label()


@dataclass(frozen=True, slots=True)
class Weigh:
    """A sum of products of slices times ``2**places`` and the exponents of both operands, rounded to nearest.

    ``a`` and ``b`` are the indices of the operations that cut the operands.
    """

    x: int
    a: int
    b: int
    places: int
    fmt: Format
    label: str = _label()


@dataclass(frozen=True, slots=True)
class Combine:
    """The sum that its residues determine, times ``2**places`` and the exponents of both operands, rounded to nearest.

    ``xs`` are the sums of products of residues, one for each modulus. ``a`` and ``b`` are as those of ``Weigh``.
    """

    xs: tuple[int, ...]
    moduli: tuple[int, ...]
    a: int
    b: int
    places: int
    fmt: Format
    label: str = _label()


Operation = Operand | Zero | Cut | Call | Add | Multiply | MultiplyAdd | Convert | Flush | Scale | Weigh | Combine

FUSED = {"fp32": "cpu/vfmadd231ps", "fp64": "cpu/vfmadd231pd"}
"""The designs that compute fused multiply-adds outside a unit, by format."""


_INDICES = ("c", "xs", "x", "y", "a", "b")
"""The fields of operations that name numbers and words, in the order of ``arguments``."""


def arguments(operation: Operation) -> tuple[int, ...]:
    """Return the indices of the numbers that an operation takes, and of what cuts its words, in order."""
    found: list[int] = []

    def noted(index: int) -> int:
        found.append(index)
        return index

    renumbered(operation, noted)
    return tuple(found)


def renumbered(operation: Operation, number: Callable[[int], int]) -> Operation:
    """Return an operation that takes what ``number`` says in the place of each index."""
    changes: dict[str, Any] = {}
    for name in _INDICES:
        match getattr(operation, name, None):
            case int(x):
                changes[name] = number(x)
            case Words(cut=cut, word=word):
                changes[name] = Words(number(cut), word)
            case tuple(xs):
                changes[name] = tuple(map(number, xs))
    return replace(operation, **changes) if changes else operation


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
    fmt = operation.fmt
    match operation:
        case Operand() | Zero():
            text = f"{'c' if isinstance(operation, Operand) else '+0'} ({fmt.name})"
        case Split() | Slices() | Residues():
            text = _described_cut(operation)
        case Call(unit=unit, ks=ks, c=c):
            words = ", ".join(f"v{x.cut}[{x.word}]" for x in operation.words)
            text = f"{unit.name} ({words + '; ' if words else ''}k = {spelled_ks(ks)}; v{c})"
        case Add(x=x, y=y, rounding=rounding):
            text = f"v{x} + v{y} ({fmt.name}, {rounding})"
        case Multiply(x=x, factor=factor):
            by = fmt.hex(factor) if isinstance(factor, int) else f"factor {factor.index}"
            text = f"v{x} * {by} ({fmt.name})"
        case MultiplyAdd(x=x, factor=factor, y=y):
            text = f"v{x} * {fmt.hex(factor)} + v{y} ({fmt.name}, rounded once)"
        case Convert(x=x, rounding=rounding, out_of_range=stated):
            text = f"v{x} to {fmt.name} ({rounding}{'' if stated is None else f', {stated}'})"
        case Flush(x=x):
            text = f"v{x}, a zero where it is subnormal ({fmt.name})"
        case Scale(x=x, places=places):
            text = f"v{x} * 2^{places} ({fmt.name})"
        case Weigh(x=x, a=a, b=b, places=places):
            text = f"v{x} * 2^({places} + exponents of v{a} and v{b}) ({fmt.name})"
        case Combine(xs=xs, a=a, b=b, places=places):
            sums = ", ".join(f"v{x}" for x in xs)
            text = f"the sum of residues {sums} * 2^({places} + exponents of v{a} and v{b}) ({fmt.name})"
        case _:
            assert_never(operation)
    return text


def _described_cut(operation: Cut) -> str:
    fmt, ks = operation.fmt, f"k = {spelled_ks(operation.ks)}"
    match operation:
        case Split(side=side, count=count, rounding=first, residual_rounding=others, scale=scale):
            roundings = f"{first}" if count == 1 else f"{first}, residuals {others}"
            scaled = f", residuals times 2^{scale}" if scale else ""
            text = f"words 0..{count - 1} of {side} ({fmt.name}, {roundings}{scaled}; {ks})"
        case Slices(side=side, count=count, bits=bits, signed_first=first):
            sign = ", the others unsigned" if first else ""
            text = f"slices 0..{count - 1} of {side} ({fmt.name}{sign}, {bits} bits each; {ks})"
        case Residues(side=side, moduli=moduli, bits=bits):
            by = ", ".join(map(str, moduli))
            text = f"residues of {side} modulo {by} ({fmt.name}, of {bits} bits; {ks})"
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

    def convert(
        self,
        x: int,
        fmt: Format,
        rounding: Rounding | Stochastic = Rounding.RNE,
        label: str = "",
        out_of_range: OutOfRange | None = None,
    ) -> int:
        """Return the number in ``fmt``: itself if it is of that format."""
        return x if self.format_of(x) is fmt else self.add(Convert(x, fmt, rounding, out_of_range, label))

    def scale(self, x: int, places: int, label: str = "") -> int:
        """Return the number times ``2**places``: itself for none."""
        return self.add(Scale(x, places, self.format_of(x), label)) if places else x

    def format_of(self, index: int) -> Format:
        """Return the format of a number."""
        return self._formats[index]
