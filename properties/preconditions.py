"""Preconditions: restrictions of the operands of a question, as the ``--where`` option spells them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.magnitudes import normalised
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics.unpack import Unpacked


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
        """Return whether c is zero."""
        return c.zero


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
        return algebra.any_of([x.zero, inside])


_ALLOWED = "finite, positive, normal, c=0, exponents=LO..HI (for example exponents=-14..15)"


def parse_precondition(text: str) -> Precondition:
    """Return the precondition that ``text`` spells. Raises InputError, which lists the allowed ones."""
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
    raise InputError(f"unknown precondition {text!r}: one of {_ALLOWED}")


def restricting(where: Sequence[Precondition], formats: Sequence[Format]) -> tuple[Precondition, ...]:
    """Return ``where`` as a tuple after checking that it can restrict operands of these formats.

    Raises InputError for a range of exponents in which none of the formats has a number, because only zeros would be
    left.
    """
    for p in where:
        if isinstance(p, Exponents):
            least, most = min(f.e_min - f.fraction_bits for f in formats), max(f.e_max for f in formats)
            if most < p.low or p.high < least:
                names = ", ".join(dict.fromkeys(f.name for f in formats))
                raise InputError(f"{p}: only the zeros of {names} are there; others have exponents {least}..{most}")
    return tuple(where)
