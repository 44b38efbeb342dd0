"""Words and truth values, with operators: ``e_max + 3 - places``, ``x < y``, ``~zero & small``.

Every operator is an operation of the algebra that the word belongs to, with its widths: ``+``, ``-``, ``*`` and ``<<``
expand, so that nothing is lost. What loses bits, or claims that none are lost, is a method with a name of its own.

A Python integer beside a word is a constant of the word's signedness in the least width that holds it. ``is_value``
writes the constant in the width of the word instead.

Stages, lemmas and coverage ask where the top bit of a magnitude is, and whether it is rounded up. A magnitude ``x``
with an ``exponent`` and ``fraction_bits`` is the number ``x * 2**(exponent - fraction_bits)``.

A ``Signal`` names a word that a stage hands to the next.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

if TYPE_CHECKING:
    from mmaproof.smt.algebra.protocol import Algebra


D = TypeVar("D")
"""Data of a word in an interpretation."""
T = TypeVar("T")
"""Data of a truth value in an interpretation."""


class Word(Generic[D]):
    """A bit-vector of ``width`` bits (at least 1), of the interpretation ``algebra``."""

    __slots__ = ("algebra", "data", "signed", "width")
    __hash__ = None  # type: ignore[assignment]  # equality is a truth value of the interpretation

    def __init__(self, data: D, width: int, signed: bool, algebra: Algebra[D, Any]) -> None:
        self.data = data
        self.width = width
        self.signed = signed
        self.algebra = algebra

    def __repr__(self) -> str:
        return f"{'s' if self.signed else 'u'}{self.width}:{self.data}"

    def __bool__(self) -> NoReturn:
        raise TypeError("a word of the algebra is not a Python bool: compare it and choose with ite")

    # --- expanding arithmetic -------------------------------------------------------------------------------

    def __add__(self, other: Word[D] | int) -> Word[D]:
        return self.algebra.add(self, other if isinstance(other, Word) else self.constant(other))

    def __radd__(self, other: int) -> Word[D]:
        return self.algebra.add(self.constant(other), self)

    def __sub__(self, other: Word[D] | int) -> Word[D]:
        return self.algebra.subtract(self, other if isinstance(other, Word) else self.constant(other))

    def __rsub__(self, other: int) -> Word[D]:
        return self.algebra.subtract(self.constant(other), self)

    def __neg__(self) -> Word[D]:
        return self.algebra.negate(self)

    def __mul__(self, other: Word[D] | int) -> Word[D]:
        multiply = self.algebra.multiply_signed if self.signed else self.algebra.multiply
        return multiply(self, other if isinstance(other, Word) else self.constant(other))

    def __rmul__(self, other: int) -> Word[D]:
        return self.constant(other) * self

    def __lshift__(self, places: int) -> Word[D]:
        return self.algebra.shift_left(self, places)

    def constant(self, value: int) -> Word[D]:
        """Return ``value`` as a word of the same signedness, of the least width that holds it.

        Raises TypeError for what is not an integer, OverflowError for a negative number beside an unsigned word.
        """
        if not isinstance(value, int):
            raise TypeError(f"{value!r} is neither a word nor an integer")
        if self.signed:
            return self.algebra.signed(value)
        if value < 0:
            raise OverflowError(f"{value} beside an unsigned word: say as_signed")
        return self.algebra.unsigned(value, max(value.bit_length(), 1))

    # --- comparison -----------------------------------------------------------------------------------------

    def __lt__(self, other: Word[D] | int) -> Truth[Any]:
        return self.algebra.less(self, other if isinstance(other, Word) else self.constant(other))

    def __gt__(self, other: Word[D] | int) -> Truth[Any]:
        return self.algebra.less(other if isinstance(other, Word) else self.constant(other), self)

    def __le__(self, other: Word[D] | int) -> Truth[Any]:
        return self.algebra.negation(self > other)

    def __ge__(self, other: Word[D] | int) -> Truth[Any]:
        return self.algebra.negation(self < other)

    def __eq__(self, other: Word[D] | int) -> Truth[Any]:  # type: ignore[override]
        return self.algebra.equal(self, other if isinstance(other, Word) else self.constant(other))

    def __ne__(self, other: Word[D] | int) -> Truth[Any]:  # type: ignore[override]
        return self.algebra.negation(self == other)

    def is_value(self, value: int) -> Truth[Any]:
        """Return whether the word is ``value``, a constant that fits it."""
        return self.algebra.is_value(self, value)

    def bit(self, position: int) -> Truth[Any]:
        """Return whether the bit at ``position`` (0 the lowest) is one."""
        return self.algebra.is_bit_set(self, position)

    # --- the same value in another form ---------------------------------------------------------------------

    def extend(self, width: int) -> Word[D]:
        """Return the same value in at least as many bits."""
        return self.algebra.extend(self, width)

    def as_signed(self) -> Word[D]:
        """Return an unsigned value as a two's complement word of one more bit."""
        return self.algebra.as_signed(self)

    def magnitude(self) -> Word[D]:
        """Return the absolute value as an unsigned word of the same width."""
        return self.algebra.magnitude(self)

    def negated_where(self, condition: Truth[Any]) -> Word[D]:
        """Return the negated unsigned word where ``condition`` holds, signed, in one bit more."""
        return self.algebra.conditional_negate(condition, self)

    def shift_left_by(self, amount: Word[Any]) -> Word[D]:
        """Return x * 2**amount (``amount`` unsigned), expanded by the largest amount that its word holds."""
        return self.algebra.shift_left_by(self, amount)

    def concatenate(self, low: Word[D]) -> Word[D]:
        """Return the bits of this word above those of ``low`` (unsigned words)."""
        return self.algebra.concatenate(self, low)

    # --- operations that lose bits, or claim that none are lost ---------------------------------------------

    def shift_right(self, amount: Word[Any]) -> Word[D]:
        """Return floor(x / 2**amount) for an unsigned ``amount`` of any size; low bits are lost."""
        return self.algebra.shift_right(self, amount)

    def shift_right_jam(self, amount: Word[Any]) -> Word[D]:
        """Return ``x / 2**amount`` (unsigned both) with the lowest bit set if any lost bit was (round to odd)."""
        return self.algebra.shift_right_jam(self, amount)

    def extract(self, high: int, low: int) -> Word[D]:
        """Return bits ``high`` to ``low`` (both included, 0 the lowest) as an unsigned word."""
        return self.algebra.extract(self, high, low)

    def drop_low(self, places: int) -> Word[D]:
        """Return floor(x / 2**places), with signedness kept (places less than the width)."""
        return self.algebra.drop_low(self, places)

    def narrow(self, width: int) -> Word[D]:
        """Return the same value in ``width`` bits; that it fits is claimed by the caller."""
        return self.algebra.narrow(self, width)

    def narrow_to_unsigned(self, width: int) -> Word[D]:
        """Return a signed value, claimed to be >= 0 and to fit, as an unsigned word of ``width`` bits."""
        return self.algebra.narrow_to_unsigned(self, width)


class Truth(Generic[T]):
    """A truth value of the interpretation ``algebra``.

    ``&`` and ``|`` join two; ``all_of`` and ``any_of`` of the algebra join any number in one operation.
    """

    __slots__ = ("algebra", "data")
    __hash__ = None  # type: ignore[assignment]  # as for words

    def __init__(self, data: T, algebra: Algebra[Any, T]) -> None:
        self.data = data
        self.algebra = algebra

    def __repr__(self) -> str:
        return f"truth:{self.data}"

    def __bool__(self) -> NoReturn:
        raise TypeError("a truth value of the algebra is not a Python bool: choose with ite")

    def __and__(self, other: Truth[T]) -> Truth[T]:
        return self.algebra.both(self, other)

    def __or__(self, other: Truth[T]) -> Truth[T]:
        return self.algebra.either(self, other)

    def __xor__(self, other: Truth[T]) -> Truth[T]:
        return self.algebra.exclusive_or(self, other)

    def __invert__(self) -> Truth[T]:
        return self.algebra.negation(self)

    def __eq__(self, other: Truth[T]) -> Truth[T]:  # type: ignore[override]
        return ~(self ^ other)

    def __ne__(self, other: Truth[T]) -> Truth[T]:  # type: ignore[override]
        return self ^ other

    def as_bit(self) -> Word[Any]:
        """Return one unsigned bit: 1 where this holds."""
        return self.algebra.ite(self, self.algebra.unsigned(1, 1), self.algebra.unsigned(0, 1))


def ite(condition: Truth[Any], x: Word[D] | int, y: Word[D] | int) -> Word[D]:
    """Return x where ``condition`` holds and y elsewhere, in the wider one's width; one of the two may be a constant.

    Raises TypeError where both are constants: nothing says their signedness.
    """
    if isinstance(x, Word):
        return x.algebra.ite(condition, x, y if isinstance(y, Word) else x.constant(y))
    if isinstance(y, Word):
        return y.algebra.ite(condition, y.constant(x), y)
    raise TypeError(f"a choice between the constants {x!r} and {y!r}: one has to be a word")


def normalised(x: Word[D], exponent: Word[D]) -> tuple[Word[D], Word[D]]:
    """Return the unsigned ``x`` shifted left until its top bit is set, and the exponent that keeps the number the same.

    The number of fraction bits stays. The exponent (signed) gets as many bits as it needs for any ``x``; for zero it
    means nothing.
    """
    top, places = x.algebra.normalise(x)
    return top, exponent - places.as_signed()


def with_top_exponent(x: Word[D], exponent: Word[D], fraction_bits: int) -> tuple[Word[D], Word[D]]:
    """Return the unsigned ``x`` shifted left until its top bit is set, and the exponent E of that bit.

    The number is from ``2**E`` to below ``2**(E + 1)``: the top bit of the word as it comes weighs
    ``2**(exponent + width - 1 - fraction_bits)``, and every place that it is shifted by halves that. For zero, E means
    nothing.
    """
    return normalised(x, exponent + (x.width - 1 - fraction_bits))


def nearest_rounds_up(x: Word[D]) -> Truth[Any]:
    """Return whether rounding to nearest, ties to even, rounds up an unsigned word at its third lowest bit.

    The bit below that one is the round bit, and the lowest one says whether anything nonzero lies further down.
    """
    x = x.extend(max(x.width, 3))
    sticky, half, odd = (x.bit(i) for i in range(3))
    return half & (sticky | odd)


class SignalKind(Enum):
    """What a signal is. The value is its name, in which {} stands for the part that it belongs to."""

    OPERAND_SIGN = "{}: sign"
    OPERAND_EXPONENT = "{}: exponent"
    OPERAND_SIGNIFICAND = "{}: significand"
    SIGN = "sign of {}"
    EXPONENT = "exponent of {}"
    SIGNIFICAND = "significand of {}"
    PRESENCE = "presence of {}"
    PRODUCT = "product"
    GROUP_SUM = "sum of a group"
    E_MAX = "e_max"
    ALIGNED = "aligned {}"
    SUM = "sum"
    CONVERTED = "converted"
    OVERFLOW = "overflow"
    INFINITY = "infinity"
    NAN = "NaN"
    INFINITY_SIGN = "sign of infinity"
    D = "d"
    PARTIAL_SUM = "partial sum"
    MAXIMUM = "maximum"
    MAGNITUDE = "magnitude"
    RESULT = "result"


class Signal(NamedTuple):
    """A signal by its kind, and the label of the part ``of`` the datapath that it belongs to, where there are several.

    Two runs name corresponding signals alike.
    """

    kind: SignalKind
    of: object = None

    def __str__(self) -> str:
        return self.kind.value.format(self.of)
