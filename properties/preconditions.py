"""Preconditions: restrictions of the operands of a question, as the ``--where`` option spells them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.designs.element import exact_pattern, number_of
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.algebra.words import normalised
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.patterns import Unpacked


class Precondition(ABC):
    """A restriction of the operands. ``str()`` gives the text that ``parse_precondition`` reads."""

    @abstractmethod
    def holds(self, algebra: Algebra[D, T], products: Sequence[Unpacked[D, T]], c: Unpacked[D, T]) -> Truth[T]:
        """Return whether the elements of a and b (``products``) and ``c`` satisfy it."""


class _OfEveryOperand(Precondition):
    """A restriction that each of a, b and c satisfies by itself."""

    def holds(self, algebra: Algebra[D, T], products: Sequence[Unpacked[D, T]], c: Unpacked[D, T]) -> Truth[T]:
        return algebra.all_of([self._holds_for(algebra, x) for x in (*products, c)])

    @abstractmethod
    def _holds_for(self, algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
        """Return whether one operand satisfies it."""


@dataclass(frozen=True)
class Finite(_OfEveryOperand):
    """No operand is an infinity or a NaN."""

    def __str__(self) -> str:
        return "finite"

    def _holds_for(self, algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
        return algebra.negation(algebra.any_of([x.infinite, x.nan]))


@dataclass(frozen=True)
class Positive(_OfEveryOperand):
    """Every operand is greater than zero, so it is neither a zero nor NaN."""

    def __str__(self) -> str:
        return "positive"

    def _holds_for(self, algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
        return algebra.negation(algebra.any_of([x.negative, x.zero, x.nan]))


@dataclass(frozen=True)
class Normal(_OfEveryOperand):
    """Every operand is a normal number: not zero, subnormal, infinite or NaN."""

    def __str__(self) -> str:
        return "normal"

    def _holds_for(self, algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
        return algebra.negation(algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan]))


@dataclass(frozen=True)
class ZeroAccumulator(Precondition):
    """c is zero of either sign."""

    def __str__(self) -> str:
        return "c=0"

    def holds(self, algebra: Algebra[D, T], products: Sequence[Unpacked[D, T]], c: Unpacked[D, T]) -> Truth[T]:
        """Return whether c is zero. Of a format without -0, NaN has its pattern."""
        return c.zero & ~c.nan


@dataclass(frozen=True)
class Exponents(_OfEveryOperand):
    """floor(log2|x|) of every nonzero operand lies in low..high. Zeros are allowed, infinities and NaN are not."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"exponents={self.low}..{self.high}"

    def _holds_for(self, algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
        _, exponent = normalised(x.significand, x.exponent)
        outside = algebra.any_of(
            [algebra.less(exponent, algebra.signed(self.low)), algebra.less(algebra.signed(self.high), exponent)]
        )
        inside = algebra.all_of([algebra.negation(outside), algebra.negation(algebra.any_of([x.infinite, x.nan]))])
        return algebra.any_of([x.zero & ~x.nan, inside])


CLASSES = ("0", "+0", "-0", "subnormal", "normal", "inf", "nan", "negative")
"""What an operand may be, or not be."""


@dataclass(frozen=True)
class OfClass(Precondition):
    """Every element of an operand (a, b or c) is of a class; with ``negated``, none is."""

    operand: str
    what: str
    negated: bool

    def __str__(self) -> str:
        return f"{self.operand}{'!' * self.negated}={self.what}"

    def holds(self, algebra: Algebra[D, T], products: Sequence[Unpacked[D, T]], c: Unpacked[D, T]) -> Truth[T]:
        """Return whether the elements of the operand are of the class, or none is."""
        half = len(products) // 2
        elements = {"a": products[:half], "b": products[half:], "c": (c,)}[self.operand]
        found = [self._is(algebra, x) for x in elements]
        return algebra.negation(algebra.any_of(found)) if self.negated else algebra.all_of(found)

    def _is(self, algebra: Algebra[D, T], x: Unpacked[D, T]) -> Truth[T]:
        number = ~x.nan  # of a format without -0, NaN has its pattern
        return {
            "0": x.zero & number,
            "+0": algebra.all_of([x.zero, number, ~x.negative]),
            "-0": algebra.all_of([x.zero, number, x.negative]),
            "subnormal": x.subnormal,
            "normal": algebra.negation(algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan])),
            "inf": x.infinite,
            "nan": x.nan,
            "negative": x.negative & number,
        }[self.what]


@dataclass(frozen=True)
class Pattern(Precondition):
    """Every element of an operand (a, b or c) has these bits; with ``negated``, none has."""

    operand: str
    bits: int
    negated: bool = False

    def __str__(self) -> str:
        return f"{self.operand}{'!' * self.negated}=0x{self.bits:x}"

    def holds(self, algebra: Algebra[D, T], products: Sequence[Unpacked[D, T]], c: Unpacked[D, T]) -> Truth[T]:
        """Return that it restricts no value: it is about bits."""
        return algebra.truth(True)

    def holds_for_bits(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the elements of the operand have the bits, or none has."""
        elements = {"a": operands.a, "b": operands.b, "c": (operands.c,)}[self.operand]
        found = [x.is_value(self.bits) for x in elements]
        return algebra.negation(algebra.any_of(found)) if self.negated else algebra.all_of(found)


@dataclass(frozen=True)
class Number(Precondition):
    """Every element of an operand (a, b or c) is this number, which is not 0; with ``negated``, none is.

    It is a ``Pattern`` of the format of the operand, which ``restricting`` puts in its place.
    """

    operand: str
    text: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{self.operand}{'!' * self.negated}={self.text}"

    def holds(self, algebra: Algebra[D, T], products: Sequence[Unpacked[D, T]], c: Unpacked[D, T]) -> Truth[T]:
        """Raise ValueError: what the number is in bits depends on the format."""
        raise ValueError(f"{self} is not a pattern yet")

    def pattern(self, fmt: Format) -> Pattern:
        """Return the pattern of the number. Raises InputError if the format does not have it."""
        return Pattern(self.operand, exact_pattern(self.text, fmt), self.negated)


_ALLOWED = (
    "finite, positive, normal, exponents=LO..HI (for example exponents=-14..15), c=0, c!=0, and likewise of a, b or c: "
    f"{', '.join(CLASSES)}, a number, or a pattern such as 0x80000000"
)


Conditions = str | Precondition | Sequence[str | Precondition]
"""A precondition or several, each as the option ``--where`` spells it, or as ``parse_precondition`` returns it."""


def parse_precondition(text: str) -> Precondition:
    """Return the precondition that ``text`` spells. Raises InputError, which lists the allowed ones.

    >>> import mmaproof
    >>> str(mmaproof.parse_precondition("exponents=-8..2"))
    'exponents=-8..2'
    """
    spelled = text.strip().lower().replace(" ", "")
    for simple in (Finite(), Positive(), Normal(), ZeroAccumulator()):
        if spelled == str(simple):
            return simple
    window = re.fullmatch(r"exponents=([+-]?\d{1,6})\.\.([+-]?\d{1,6})", spelled)
    if window:
        low, high = map(int, window.groups())
        if low > high:
            raise InputError(f"precondition {text!r}: the range is empty; write exponents={high}..{low}")
        return Exponents(low, high)
    of_one = re.fullmatch(r"([abc])(!?)=(.+)", spelled)
    if of_one and of_one[3] in CLASSES:
        return OfClass(of_one[1], of_one[3], bool(of_one[2]))
    if of_one and re.fullmatch(r"0x[0-9a-f]{1,32}", of_one[3]):
        return Pattern(of_one[1], int(of_one[3], 16), bool(of_one[2]))
    if of_one and not of_one[3].startswith("0x"):
        try:
            value = number_of(of_one[3])
        except InputError:
            raise InputError(f"unknown precondition {text!r}: one of {_ALLOWED}") from None
        if value:
            return Number(of_one[1], of_one[3], bool(of_one[2]))
        return OfClass(of_one[1], "-0" if of_one[3].startswith("-") else "0", bool(of_one[2]))
    raise InputError(f"unknown precondition {text!r}: one of {_ALLOWED}")


def preconditions_of(where: Conditions) -> tuple[Precondition, ...]:
    """Return preconditions that may be given as text, one or several of them. Raises InputError for anything else."""
    given = [where] if isinstance(where, str | Precondition) else where
    if not isinstance(given, Sequence) or not all(isinstance(x, str | Precondition) for x in given):
        raise InputError(f"where = {where!r}: conditions such as 'exponents=-8..2', or a list of them, are needed")
    return tuple(parse_precondition(x) if isinstance(x, str) else x for x in given)


def of_numbers(where: Sequence[Precondition]) -> bool:
    """Return whether some of the preconditions are about numbers, which integer units do not have."""
    return any(not isinstance(p, Pattern | Number) for p in where)


def restricting(where: Sequence[Precondition], formats: Sequence[Format]) -> tuple[Precondition, ...]:
    """Return ``where`` as a tuple, numbers as patterns, if it can restrict operands of these formats: a, b and c.

    Raises InputError for a range of exponents in which none of the formats has a number, because only zeros would be
    left, for a pattern that is wider than its operand, and for a number that its format does not have.
    """
    where = [p.pattern(formats["abc".index(p.operand)]) if isinstance(p, Number) else p for p in where]
    for p in where:
        if isinstance(p, Exponents):
            least, most = min(f.e_min - f.fraction_bits for f in formats), max(f.e_max for f in formats)
            if most < p.low or p.high < least:
                names = ", ".join(dict.fromkeys(f.name for f in formats))
                raise InputError(f"{p}: only the zeros of {names} are there; others have exponents {least}..{most}")
        if isinstance(p, Pattern):
            fmt = formats["abc".index(p.operand)]
            if p.bits >> fmt.bits:
                raise InputError(f"{p}: {fmt.name} has {fmt.bits} bits")
    return tuple(where)
