"""The integer interpretation: one element, Python integers, every width claim checked.

A word's data is its value (negative where the word is signed), so expanding operations are Python's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.words import Signal


class WidthClaimError(ArithmeticError):
    """A width argument of the semantics is wrong: a value was said to fit and does not (an internal error)."""


class InvariantError(ArithmeticError):
    """A value breaks what the stages after it rely on (an internal error)."""


def _wrap(value: int, width: int, signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


class ValueAlgebra(Algebra[D, T]):
    """The data of a word is its value, so expanding operations are Python's own, on integers as on arrays."""

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    def _subtract(self, x: Any, y: Any, width: int) -> Any:
        return x - y

    def _negate(self, x: Any, width: int) -> Any:
        return -x

    def _magnitude(self, x: Any, negative: Any, width: int) -> Any:
        return abs(x)

    def _multiply(self, x: Any, y: Any) -> Any:
        return x * y

    def _shift_left(self, x: Any, places: int, width: int) -> Any:
        return x << places

    def _bitwise_and(self, x: Any, y: Any) -> Any:
        return x & y

    def _bitwise_or(self, x: Any, y: Any) -> Any:
        return x | y

    def _bitwise_xor(self, x: Any, y: Any) -> Any:
        return x ^ y


class IntegerAlgebra(ValueAlgebra[int, bool]):
    """Words are Python integers, truth values are Python bools.

    With ``checks``, every invariant that the semantics states, and the bounds of every signal, are computed, and
    InvariantError is raised where one does not hold. Tests switch that on. It is off otherwise, because a dot product
    takes half as long again with it. ``unknown`` has values of words that may have any value, by the names of their
    variables in terms; runs are counted from the first one of this interpretation.
    """

    def __init__(self, *, checks: bool = False, unknown: Mapping[str, int] | None = None) -> None:
        self._checks = checks
        self._unknown = {} if unknown is None else unknown

    def unknown(self, name: str, width: int) -> Word[int]:
        """Return the value that is stated for a word that may have any, zero where none is."""
        return self.unsigned(self._unknown.get(self.unknown_name(name, width), 0), width)

    def check(self, of: object, invariant: Callable[..., Truth[bool]], *arguments: object) -> None:
        """Raise InvariantError where an invariant of a value does not hold, if this is what ``checks`` asks for."""
        if self._checks and not invariant(*arguments).data:
            raise InvariantError(f"{invariant.__qualname__} does not hold of {of}, with {arguments}")

    def signal(self, name: Signal, x: Word[int], bounds: tuple[int, int] | None = None) -> Word[int]:
        """Return ``x``; raise InvariantError where it is outside its bounds, if ``checks`` asks for that."""
        if self._checks and bounds is not None and not bounds[0] <= x.data <= bounds[1]:
            raise InvariantError(f"{name} = {x.data} is not within {bounds[0]} and {bounds[1]}")
        return x

    def _constant(self, value: int, width: int) -> int:
        return value

    def _truth(self, value: bool) -> bool:
        return value

    def _known(self, x: bool) -> bool | None:
        return x

    def _extend(self, x: int, width: int, to_width: int, signed: bool) -> int:
        return x

    def _shift_right(self, x: int, width: int, signed: bool, amount: int, amount_width: int) -> int:
        return x >> min(amount, width)

    def _any_below(self, x: int, width: int, amount: int, amount_width: int) -> bool:
        return x & ((1 << min(amount, width)) - 1) != 0

    def _normalise(self, x: int, width: int) -> tuple[int, int]:
        if not x:
            return 0, (1 << self.places_width(width)) - 1
        places = width - x.bit_length()
        return x << places, places

    def _concatenate(self, high: int, low: int, high_width: int, low_width: int) -> int:
        return high << low_width | low

    def _extract(self, x: int, width: int, high: int, low: int) -> int:
        return (x >> low) & ((1 << (high - low + 1)) - 1)

    def _to_signed(self, x: int, width: int) -> int:
        return _wrap(x, width, True)

    def _narrow(self, x: int, width: int, to_width: int, signed: bool) -> int:
        if _wrap(x, to_width, signed) != x:
            raise WidthClaimError(f"{x} does not fit {to_width} {'signed' if signed else 'unsigned'} bits")
        return x

    def _add_up(self, xs: list[int], widths: list[int], width: int, wraps: bool) -> int:
        total = sum(xs)
        return _wrap(total, width, True) if wraps else self._narrow(total, width, width, True)

    def _compress(self, x: int, y: int, z: int, width: int) -> tuple[int, int]:
        return x ^ y ^ z, _wrap((x & y | x & z | y & z) << 1, width, True)

    def _to_pattern(self, x: int, width: int) -> int:
        return _wrap(x, width, False)

    def _complement(self, x: int, width: int) -> int:
        return _wrap(~x, width, False)

    def _wrapped_sum(self, x: int, y: int, width: int) -> int:
        return _wrap(x + y, width, False)

    def _wrapped_difference(self, x: int, y: int, width: int) -> int:
        return _wrap(x - y, width, False)

    def _wrapped_product(self, x: int, y: int, width: int) -> int:
        return _wrap(x * y, width, False)

    def _shift_left_within(self, x: int, width: int, amount: int, amount_width: int) -> int:
        return _wrap(x << min(amount, width), width, False)

    def _divide(self, x: int, y: int, width: int) -> tuple[int, int]:
        return divmod(x, y) if y else ((1 << width) - 1, x)

    def _equal(self, x: int, y: int) -> bool:
        return x == y

    def _less(self, x: int, y: int, signed: bool) -> bool:
        return x < y

    def _ite(self, condition: bool, x: int, y: int) -> int:
        return x if condition else y

    def _maximum(self, x: int, y: int, signed: bool) -> int:
        return max(x, y)

    def _not(self, x: bool) -> bool:
        return not x

    def _and(self, xs: list[bool]) -> bool:
        return all(xs)

    def _or(self, xs: list[bool]) -> bool:
        return any(xs)

    def _xor(self, x: bool, y: bool) -> bool:
        return x is not y
