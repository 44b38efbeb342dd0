"""``|A| |B|`` from above: one product of float32 matrices, with every rounding error of it added.

Where magnitudes are far from one, rows of A and columns of B are divided by powers of two first, so that the largest
element of each is near one and nothing overflows. A sum of n products, in any order of additions, with or without fused
multiply-adds, is off by at most ``n * 2**-24 / (1 - n * 2**-24)`` of the sum of their magnitudes (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.1). What underflows is below ``2**-126`` for each element and for each
product, also where a library flushes subnormal numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

LONGEST = 1 << 16
"""The most k of one product, for which the bound of its rounding errors is small."""
_LARGEST_SCALE = 900
"""Scales are powers of two from 2**-900 to 2**900, so that no quotient of float64 numbers is lost."""
_NEAR_ONE = 2.0**20
"""Rows and columns whose largest elements lie between this and one over it are not scaled."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Magnitudes of a matrix whose rows (of A) or columns (of B) were divided by powers of two, ``scale``."""

    magnitudes: Singles
    scale: Floats
    largest: float
    """no element of ``magnitudes`` is above it"""

    @classmethod
    def rows(cls, magnitudes: npt.NDArray[np.floating[Any]]) -> Scaled:
        """Return the magnitudes of A with scales of shape (m, 1)."""
        return cls._along(magnitudes, 1)

    @classmethod
    def columns(cls, magnitudes: npt.NDArray[np.floating[Any]]) -> Scaled:
        """Return the magnitudes of B with scales of shape (1, n)."""
        return cls._along(magnitudes, 0)

    @classmethod
    def _along(cls, magnitudes: npt.NDArray[np.floating[Any]], axis: int) -> Scaled:
        largest = magnitudes.max(axis=axis, keepdims=True).astype(np.float64)
        exponent = np.where(largest > 0, np.clip(np.frexp(largest)[1] - 1, -_LARGEST_SCALE, _LARGEST_SCALE), 0)
        scale = np.ldexp(1.0, exponent)
        if scale.max() <= _NEAR_ONE and scale.min() >= 1 / _NEAR_ONE:
            single = magnitudes.astype(np.float32, copy=False)
            return cls(single, np.ones_like(scale), float(largest.max()) * (1 + 2.0**-20))
        single = (magnitudes / scale).astype(np.float32)
        return cls(single, scale, max(2.0, float((largest / scale).max())) * (1 + 2.0**-20))

    @property
    def is_scaled(self) -> bool:
        """Whether any scale is not one."""
        return bool((self.scale != 1).any())


def product_from_above(a: Scaled, b: Scaled, part: slice) -> Singles:
    """Return an array that ``|A| |B|`` over the k of ``part``, divided by both scales, does not exceed."""
    found: Singles = a.magnitudes[:, part] @ b.magnitudes[part]
    count = a.magnitudes[:, part].shape[1]
    # n roundings of products and sums, one of each element, and those of this multiplication and addition
    found *= np.float32(1 + (count + 8) * 2.0**-22)
    # of each product: both elements may underflow when they are converted, and the product itself
    found += np.float32((count + 1) * 2.0**-120 * (a.largest + b.largest + 1))
    return found


def power_below(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``2**floor(log2(x))`` of positive normal float32 or float64, and 0 of zero and subnormal numbers."""
    if x.dtype == np.float32:
        return (x.view(np.int32) & np.int32(0x7F800000)).view(np.float32)
    return (x.view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)


def fractions(x: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return finite numbers as an array of Fraction."""
    return np.asarray(np.vectorize(Fraction, otypes=[object])(x), dtype=object)
