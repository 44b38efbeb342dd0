"""``|A| |B|`` from above: one product of matrices, with every rounding error of it added.

It is computed in float32. Where a few elements stand for all, it is computed in float64, which costs nothing there.

Where magnitudes are far from one, rows of A and columns of B are divided by powers of two first, so that the largest
element of each is near one and nothing overflows. A sum of n products, in any order of additions, with or without fused
multiply-adds, is off by at most ``n * 2**-24 / (1 - n * 2**-24)`` of the sum of their magnitudes (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.1). What underflows is below ``2**-126`` for each element and for each
product, also where a library flushes subnormal numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LONGEST = 1 << 16
"""The most k of one product, for which the bound of its rounding errors is small."""
ERRORS = {np.dtype(np.float32): (2.0**-22, 2.0**-120), np.dtype(np.float64): (2.0**-45, 2.0**-1000)}
"""What one addition and one number below the normal ones count for. Sums of a thousand such products are covered."""
_LARGEST_SCALE = 900
"""Scales are powers of two from 2**-900 to 2**900, so that no quotient of float64 numbers is lost."""
_NEAR_ONE = 2.0**20
"""Rows and columns whose largest elements lie between this and one over it are not scaled."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Magnitudes of a matrix whose rows (of A) or columns (of B) were divided by powers of two, ``scale``."""

    magnitudes: npt.NDArray[np.floating[Any]]
    """in float32 or in float64"""
    scale: Floats
    largest: float
    """no element of ``magnitudes`` is above it"""

    @classmethod
    def rows(cls, magnitudes: npt.NDArray[np.floating[Any]], *, fine: bool = False) -> Scaled:
        """Return the magnitudes of A with scales of shape (m, 1), in float64 where they are to be ``fine``."""
        return cls._along(magnitudes, 1, np.float64 if fine else np.float32)

    @classmethod
    def columns(cls, magnitudes: npt.NDArray[np.floating[Any]], *, fine: bool = False) -> Scaled:
        """Return the magnitudes of B with scales of shape (1, n), in float64 where they are to be ``fine``."""
        return cls._along(magnitudes, 0, np.float64 if fine else np.float32)

    @classmethod
    def _along(cls, magnitudes: npt.NDArray[np.floating[Any]], axis: int, dtype: type[np.floating[Any]]) -> Scaled:
        largest = magnitudes.max(axis=axis, keepdims=True).astype(np.float64)
        exponent = np.where(largest > 0, np.clip(np.frexp(largest)[1] - 1, -_LARGEST_SCALE, _LARGEST_SCALE), 0)
        scale = np.ldexp(1.0, exponent)
        if scale.max() <= _NEAR_ONE and scale.min() >= 1 / _NEAR_ONE:
            held = magnitudes.astype(dtype, copy=False)
            return cls(held, np.ones_like(scale), float(largest.max()) * (1 + 2.0**-20))
        held = (magnitudes / scale).astype(dtype)
        return cls(held, scale, max(2.0, float((largest / scale).max())) * (1 + 2.0**-20))

    @property
    def is_scaled(self) -> bool:
        """Whether any scale is not one."""
        return bool((self.scale != 1).any())


def product_from_above(a: Scaled, b: Scaled, part: slice) -> npt.NDArray[np.floating[Any]]:
    """Return an array that ``|A| |B|`` over the k of ``part``, divided by both scales, does not exceed."""
    found = a.magnitudes[:, part] @ b.magnitudes[part]
    count, (unit, least) = a.magnitudes[:, part].shape[1], ERRORS[found.dtype]
    # n roundings of products and sums, one of each element, and those of this multiplication and addition
    found *= found.dtype.type(1 + (count + 8) * unit)
    # of each product: both elements may underflow when they are converted, and the product itself
    found += found.dtype.type((count + 1) * least * (a.largest + b.largest + 1))
    return found


def signed_product(
    a: Scaled, b: Scaled, signed: tuple[npt.NDArray[Any], npt.NDArray[Any]], part: slice, own: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return A B over some k, and how far it may be off; ``own`` is what ``product_from_above`` returns."""
    found = signed[0][:, part] @ signed[1][part]
    count, (unit, least) = signed[0][:, part].shape[1], ERRORS[found.dtype]
    off = own * own.dtype.type((count + 8) * unit)
    off += off.dtype.type((count + 1) * least * (a.largest + b.largest + 1))
    return found, off


def product_of(a: npt.NDArray[np.floating[Any]], b: npt.NDArray[np.floating[Any]], *, fine: bool) -> Floats:
    """Return at least ``a @ b`` of magnitudes, in float64."""
    rows, columns = Scaled.rows(a, fine=fine), Scaled.columns(b, fine=fine)
    return product_from_above(rows, columns, slice(None)).astype(np.float64) * (rows.scale * columns.scale)


def power_below(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``2**floor(log2(x))`` of positive normal float32 or float64, and 0 of zero and subnormal numbers."""
    if x.dtype == np.float32:
        return (x.view(np.int32) & np.int32(0x7F800000)).view(np.float32)
    return (x.view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)


def fractions(x: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return finite numbers as an array of Fraction."""
    return np.asarray(np.vectorize(Fraction, otypes=[object])(x), dtype=object)


def rounded_up(bound: Fraction) -> float:
    """Return the smallest double that is not below a bound."""
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else nextafter(nearest, inf)
