"""The operands of one dot product: bit patterns that are checked against the design that reads them.

No NumPy is imported here, so that one dot product can be computed and drawn without it.

Operands as a person types and reads them: numbers, or bit patterns in hexadecimal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, OperandError
from mmaproof.designs.formats import Format

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of one output element: patterns of ``a`` and ``b`` (k = 0, 1, ...) and of ``c``.

    ``scale_a`` and ``scale_b`` hold one scale for each block of a design that has scales, ``random`` the random bits of
    a plan that takes some as an operand: none or one.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    random: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.a)

    def __repr__(self) -> str:
        held = {x.name: getattr(self, x.name) for x in fields(self)}
        return f"Operands({', '.join(f'{name}={_in_hexadecimal(x)}' for name, x in held.items() if x != ())})"

    def arrays(self, design: Design | str) -> tuple[npt.NDArray[Any], ...]:
        """Return a, b and c, and the scales of a design that has them, as ``mmaproof.dot`` takes them.

        They have the types of ``design`` (or the design of that name).
        """
        import numpy as np  # noqa: PLC0415  (one element is computed without NumPy)

        from mmaproof.designs.catalogue import find_design  # noqa: PLC0415
        from mmaproof.designs.operands import array_of  # noqa: PLC0415

        design = find_design(design)
        self.check(design)
        columns: list[tuple[Any, Format]] = [
            (self.a, design.a_format),
            (self.b, design.b_format),
            (self.c, design.c_format),
        ]
        if design.scale_format is not None:
            columns += [(self.scale_a, design.scale_format), (self.scale_b, design.scale_format)]
        return tuple(array_of(np.array(x, dtype=np.uint64), fmt) for x, fmt in columns)

    def check(self, design: Design) -> None:
        """Raise OperandError if the number of elements or the width of a pattern does not fit ``design``."""
        if len(self.a) != len(self.b):
            raise OperandError(f"a has {len(self.a)} elements and b has {len(self.b)}: they must be as many")
        design.padded_length(len(self.a))
        check_scales(design, len(self.a), len(self.scale_a), len(self.scale_b))
        columns = [("a", self.a, design.a_format), ("b", self.b, design.b_format), ("c", (self.c,), design.c_format)]
        if design.scale_format is not None:
            columns += [(f"scale_{x}", s, design.scale_format) for x, s in (("a", self.scale_a), ("b", self.scale_b))]
        for column, patterns, fmt in columns:
            for index, pattern in enumerate(patterns):
                if not 0 <= pattern < 1 << fmt.bits:
                    raise OperandError(f"{column}[{index}] = {pattern:#x} is too wide for {fmt.name} ({fmt.bits} bits)")


def constant_operands(patterns: Mapping[str, int]) -> tuple[str, ...]:
    """Return the preconditions, as ``--where`` spells them, that all elements of operands have these patterns."""
    return tuple(f"{name}={pattern:#x}" for name, pattern in patterns.items())


def selected(b: Sequence[int], metadata: int) -> tuple[int, ...]:
    """Return the two of each four elements of ``b`` that 2:4 metadata select (PTX ISA, mma.sp; AMD, V_SMFMAC).

    Four bits of ``metadata`` belong to four elements, the lowest to the first ones: the place of the first element that
    is selected in the lower two bits, that of the second, which is further on, in the others. Raises OperandError.
    """
    groups, more = divmod(len(b), 4)
    if more or metadata >> 4 * groups:
        raise OperandError(f"metadata {metadata:#x} are of groups of 4 elements, and b has {len(b)}")
    found: list[int] = []
    for at in range(groups):
        first, second = metadata >> 4 * at & 3, metadata >> (4 * at + 2) & 3
        if first >= second:
            raise OperandError(f"metadata {metadata:#x} select {first}, then {second} of group {at}: not in order")
        found += (b[4 * at + first], b[4 * at + second])
    return tuple(found)


class Scaled(Protocol):
    """What may take scales of blocks of k: a design or a plan."""

    @property
    def name(self) -> str:
        """How it is spelled."""

    @property
    def block(self) -> int | None:
        """Elements that share a scale; None without scales."""

    def blocks(self, length: int, /) -> int:
        """Return how many scales a and b have each, of N elements."""


def check_scales(taker: Scaled, length: int, of_a: int, of_b: int) -> None:
    """Raise OperandError unless a and b have as many scales as a dot product of this length has blocks."""
    blocks = taker.blocks(length)
    if of_a == of_b == blocks:
        return
    if blocks == 0:
        raise OperandError(f"{taker.name} has no scales, {of_a or of_b} given")
    raise OperandError(
        f"{taker.name} takes {blocks} scales of a and of b (one for each {taker.block} elements), "
        f"{of_a} and {of_b} given"
    )


def _in_hexadecimal(held: int | tuple[int, ...]) -> str:
    """Return patterns as Python reads them; how wide they are is known to a design only."""
    if isinstance(held, tuple):
        return f"({', '.join(map(hex, held))}{',' * (len(held) == 1)})"
    return hex(held)


LONGEST = 80
"""Characters of one number."""
LARGEST_POWER = 2000
"""A power of two or of ten beyond that is not a number of any format."""
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)/(\d+)", re.ASCII)
_POWER = re.compile(r"([+-]?)(?:(\d+)\*)?2\^([+-]?\d+)", re.ASCII)
_WORDS = {"inf": float("inf"), "infinity": float("inf"), "nan": float("nan")}
_WAYS = "write a number (-0.5, 1e-3, 3/8, 2^-3, -3*2^4, inf, nan) or a bit pattern (0x3c00)"


def split(text: str) -> list[str]:
    """Return the elements of a list with commas, blanks or lines between them; ``-1 * 2^3`` is one."""
    joined = re.sub(r"\s*\*\s*", "*", text.strip())
    return [x for x in re.split(r"\s*,\s*|\s+", joined) if x]


def pattern_of(text: str, fmt: Format) -> tuple[int, bool]:
    """Return the pattern that a text spells in a format, and whether that is exact. Raises InputError.

    A number that the format does not have is rounded to the nearest one.
    """
    text = text.lower()
    if len(text) > LONGEST:
        raise InputError(f"{text[:20]}...: longer than {LONGEST} characters")
    if text.removeprefix("-").removeprefix("+").startswith("0x"):
        return fmt.parse(text), True
    word = _WORDS.get(text.lstrip("+-"))
    if word is not None and len(text) - len(text.lstrip("+-")) <= 1:
        return fmt.encode(-word if text.startswith("-") else word), True
    value = number_of(text)
    if not value and text.startswith("-"):
        return fmt.encode(-0.0), True
    try:
        return fmt.encode(value), True
    except InputError:
        return fmt.nearest(value), False


def exact_pattern(text: str, fmt: Format) -> int:
    """Return the pattern that a text spells in a format: a number that the format has, or a pattern.

    Raises InputError for a number that it does not have, with the neighbours, and for anything else.
    """
    pattern, exact = pattern_of(text, fmt)
    return pattern if exact else fmt.encode(number_of(text.lower()))


def number_of(text: str) -> Fraction:
    """Return the finite number that a text spells. Raises InputError."""
    if found := _POWER.fullmatch(text):
        sign, factor, power = found.groups()
        if abs(int(power)) > LARGEST_POWER:
            raise InputError(f"{text}: no format has a number of this size")
        return Fraction(int(f"{sign}{factor or 1}")) * Fraction(2) ** int(power)
    if found := _FRACTION.fullmatch(text):
        if not int(found[2]):
            raise InputError(f"{text}: divides by zero")
        return Fraction(int(found[1]), int(found[2]))
    if found := _DECIMAL.fullmatch(text):
        if found[2] and abs(int(found[2][1:])) > LARGEST_POWER:
            raise InputError(f"{text}: no format has a number of this size")
        return Fraction(text)
    raise InputError(f"{text!r} is not a number: {_WAYS}")


def digits_of(fmt: Format) -> int:
    """Return how many decimal digits tell all numbers of a floating-point format apart (Matula 1968)."""
    return math.ceil(1 + fmt.precision * math.log10(2))


def decimal_of(pattern: int, fmt: Format) -> str:
    """Return the number of a pattern as a decimal: exact where 17 digits are enough, else ``digits_of`` the format.

    ``pattern_of`` reads the same number from it. A NaN is ``nan``, whatever its code.
    """
    if fmt.is_nan(pattern):
        return "nan"
    negative = fmt.signed and bool(pattern >> fmt.sign_position & 1)
    if fmt.is_integer:
        return str(pattern - (negative << fmt.bits))
    sign, below = "-" * negative, pattern & ((1 << (fmt.exponent_bits + fmt.fraction_bits + fmt.ignored_bits)) - 1)
    if fmt.infinity is not None and below >> fmt.ignored_bits == fmt.infinity >> fmt.ignored_bits:
        return f"{sign}inf"
    value = Fraction(fmt.magnitude_of(below))
    text = repr(float(value))
    return sign + (text if Fraction(text) == value else f"{float(value):.{digits_of(fmt)}g}")
