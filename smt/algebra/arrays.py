"""The array interpretation: many elements at once, NumPy arrays.

A word's data is its value, as in the integer interpretation: int64 where every value of the width fits 63 bits,
an array of Python integers (dtype object, exact, some fifty times slower) where it does not. Constants stay
NumPy scalars and broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, mul, sub
from typing import Any

import numpy as np

from mmaproof.designs.operands import Patterns
from mmaproof.smt.algebra.integers import ValueAlgebra
from mmaproof.smt.algebra.protocol import Word

FAST_BITS = 63
"""Widest word that int64 holds, read as signed or as unsigned."""

Data = Any
"""np.ndarray of int64 or object, or a scalar of either kind."""


class ArrayAlgebra(ValueAlgebra[Data, Any]):
    """Words are int64 (or object) arrays of values, truth values are bool arrays, or scalars where all are false."""

    def from_patterns(self, patterns: Patterns, width: int) -> Word[Data]:
        """Return an array of bit patterns as an unsigned word."""
        return Word(patterns.astype(np.int64 if width <= FAST_BITS else object), width, False, self)

    def _constant(self, value: int, width: int) -> Data:
        return np.int64(value) if width <= FAST_BITS else value

    def _truth(self, value: bool) -> Any:
        return np.bool_(value)

    def _known(self, x: Any) -> bool | None:
        return bool(x) if x.ndim == 0 else None

    def _extend(self, x: Data, width: int, to_width: int, signed: bool) -> Data:
        if width <= FAST_BITS < to_width:
            return x.astype(object) if np.ndim(x) else int(x)
        return x

    def _shorten(self, x: Data, width: int, to_width: int) -> Data:
        if to_width <= FAST_BITS < width:
            return x.astype(np.int64) if isinstance(x, np.ndarray) else np.int64(x)
        return x

    def _shift_right(self, x: Data, width: int, signed: bool, amount: Data, amount_width: int) -> Data:
        # beyond the width the result is 0 or -1 as it is at the width; int64 shifts end at 63
        places = self._shorten(np.minimum(amount, width), amount_width, FAST_BITS)
        return x >> (places if width <= FAST_BITS else self._extend(places, FAST_BITS, width, False))

    def _any_below(self, x: Data, width: int, amount: Data, amount_width: int) -> Any:
        places = self._shorten(np.minimum(amount, width), amount_width, FAST_BITS)
        if width > FAST_BITS:
            places = self._extend(places, FAST_BITS, width, False)
        return np.not_equal(x >> places << places, x)

    def _normalise(self, x: Data, width: int) -> tuple[Data, Data]:
        zero = np.equal(x, 0)
        if width > FAST_BITS:
            bits = np.frompyfunc(int.bit_length, 1, 1)(x)
            places = self._shorten(width - bits, width, FAST_BITS)
            shifted = x << self._extend(places, FAST_BITS, width, False)
        else:
            # with the second highest bit cleared, no conversion to float64 rounds up to the next power of two
            _, bits = np.frexp((x & ~(x >> 1)).astype(np.float64))
            places = width - bits.astype(np.int64)
            shifted = x << np.where(zero, 0, places)
        return shifted, np.where(zero, (1 << self.places_width(width)) - 1, places)

    def _concatenate(self, high: Data, low: Data, high_width: int, low_width: int) -> Data:
        width = high_width + low_width
        return self._extend(high, high_width, width, False) << low_width | self._extend(low, low_width, width, False)

    def _extract(self, x: Data, width: int, high: int, low: int) -> Data:
        part = x >> low if low else x
        part = part & ((1 << (high - low + 1)) - 1)
        return self._shorten(part, width, high - low + 1)

    def _to_signed(self, x: Data, width: int) -> Data:
        half = 1 << (width - 1)
        return (x ^ half) - half

    def _narrow(self, x: Data, width: int, to_width: int, signed: bool) -> Data:
        return self._shorten(x, width, to_width)

    def _add_up(self, xs: list[Data], widths: list[int], width: int, wraps: bool) -> Data:
        # len(xs) terms add at most bit_length(len(xs) - 1) bits to the widest one; np.add would give the sum of
        # wide constants a fixed-width type
        needed = max(max(widths) + (len(xs) - 1).bit_length(), width)
        total = reduce(add, (self._extend(x, w, needed, True) for x, w in zip(xs, widths, strict=True)))
        if wraps and width < needed:
            total = _wrap(total, width)
        return self._shorten(total, needed, width)

    def _compress(self, x: Data, y: Data, z: Data, width: int) -> tuple[Data, Data]:
        carries = self._extend(x & y | x & z | y & z, width, width + 1, True) << 1
        return x ^ y ^ z, self._shorten(_wrap(carries, width), width + 1, width)

    @property
    def handy_width(self) -> int:
        """The widest words of machine integers."""
        return FAST_BITS

    def known_value(self, x: Word[Data]) -> int | None:
        """Return the pattern of a word that is one for all elements, None for an array."""
        return None if isinstance(x.data, np.ndarray) else int(x.data) & ((1 << x.width) - 1)

    def _to_pattern(self, x: Data, width: int) -> Data:
        return x & ((1 << width) - 1)

    def _complement(self, x: Data, width: int) -> Data:
        return x ^ ((1 << width) - 1)

    def _wrapped_sum(self, x: Data, y: Data, width: int) -> Data:
        # int64 wraps modulo 2**64, which keeps the lower bits
        return self._within_width(add, x, y, width)

    def _wrapped_difference(self, x: Data, y: Data, width: int) -> Data:
        return self._within_width(sub, x, y, width)

    def _wrapped_product(self, x: Data, y: Data, width: int) -> Data:
        return self._within_width(mul, x, y, width)

    def _within_width(self, operation: Callable[[Any, Any], Any], x: Data, y: Data, width: int) -> Data:
        if not isinstance(x, np.ndarray) and not isinstance(y, np.ndarray):
            # NumPy warns of scalars that wrap
            return self._constant(operation(int(x), int(y)) & ((1 << width) - 1), width)
        return operation(x, y) & ((1 << width) - 1)

    def _shift_left_within(self, x: Data, width: int, amount: Data, amount_width: int) -> Data:
        places = self._shorten(np.minimum(amount, width), amount_width, FAST_BITS)
        moved = x << (places if width <= FAST_BITS else self._extend(places, FAST_BITS, width, False))
        return moved & ((1 << width) - 1)

    def _divide(self, x: Data, y: Data, width: int) -> tuple[Data, Data]:
        zero, ones = np.equal(y, 0), (1 << width) - 1
        by = self._ite(zero, self._constant(1, width), y)
        quotient = x // by
        return self._ite(zero, self._constant(ones, width), quotient), self._ite(zero, x, x - quotient * by)

    def _equal(self, x: Data, y: Data) -> Any:
        found = np.equal(x, y)
        # most comparisons look for zeros, infinities and NaNs; without any, a constant saves what depends on them
        return found if found.any() else np.bool_(False)

    def _less(self, x: Data, y: Data, signed: bool) -> Any:
        return np.less(x, y)

    def _ite(self, condition: Any, x: Data, y: Data) -> Data:
        # np.where would give a wide constant a fixed-width type
        x, y = (np.array(v, dtype=object) if isinstance(v, int) else v for v in (x, y))
        return np.where(condition, x, y)

    def _maximum(self, x: Data, y: Data, signed: bool) -> Data:
        # NumPy would give the larger of two wide constants a fixed-width type
        return max(x, y) if isinstance(x, int) and isinstance(y, int) else np.maximum(x, y)

    def _not(self, x: Any) -> Any:
        return np.logical_not(x)

    def _and(self, xs: list[Any]) -> Any:
        return reduce(np.logical_and, xs)

    def _or(self, xs: list[Any]) -> Any:
        return reduce(np.logical_or, xs)

    def _xor(self, x: Any, y: Any) -> Any:
        return np.logical_xor(x, y)


def _wrap(x: Data, width: int) -> Data:
    """Return integers as a two's complement register of N bits holds them."""
    half = 1 << (width - 1)
    return ((x + half) & ((1 << width) - 1)) - half
