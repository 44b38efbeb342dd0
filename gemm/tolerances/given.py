"""The operands of a product as numbers: their magnitudes, exponents that a unit reads, and which are not numbers.

``|A| |B|`` from above: one product of matrices, with every rounding error of it added.

It is computed in float32. Where a few elements stand for all, it is computed in float64, which costs nothing there.

Where magnitudes are far from one, rows of A and columns of B are divided by powers of two first, so that the largest
element of each is near one and nothing overflows. A sum of n products, in any order of additions, with or without fused
multiply-adds, is off by at most ``n * 2**-24 / (1 - n * 2**-24)`` of the sum of their magnitudes (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.1). What underflows is below ``2**-126`` for each element and for each
product, also where a library flushes subnormal numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import OperandError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, patterns_of, values_of
from mmaproof.gemm.programs.plan import Plan

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


ZERO_EXPONENT = -126
"""What the exponent of a zero operand may read (see ``smt.semantics.terms``)."""
_FP32 = FORMATS["fp32"]
FEW = 1 << 10
"""Elements of a product whose bounds are computed in float64."""


@dataclass(frozen=True)
class Box:
    """What the elements of a range of operands may be besides the largest of them."""

    last_bit: float
    """no bit that is not zero weighs less than it"""
    subnormal: float
    """the largest magnitude below the smallest normal number; 0 where there is none"""


@dataclass(frozen=True)
class Rests:
    """What the products of an element of a range weigh below ``unit``: their bits there add up to at most ``most``."""

    unit: float
    """a power of two"""
    most: float


@dataclass(frozen=True)
class Side:
    """One of the factors: patterns of a (m, k) or of b (k, n), and of its scales, (m, blocks) or (blocks, n).

    ``along`` is the axis of k. ``block`` elements along k share a scale. With a ``box``, each element stands for all
    numbers of a range, of which it is one of the largest: smaller ones may have lower last bits, and be subnormal.
    """

    fmt: Format
    patterns: Patterns
    along: int
    scale_format: Format | None = None
    scales: Patterns | None = None
    block: int = 1
    box: Box | None = None

    @cached_property
    def values(self) -> Floats:
        """The elements times their scales, exactly."""
        found = values_of(self.patterns, self.fmt)
        factors = self._factors
        return found if factors is None else found * factors

    @cached_property
    def elements(self) -> npt.NDArray[np.floating[Any]]:
        """The magnitudes of the elements alone: float32 where that holds every number of the format."""
        if self.fmt.bits == _FP32.bits and self.fmt.exponent_bits == _FP32.exponent_bits and self.fmt.infinity:
            mask = np.uint32(0x7FFFFFFF & ~((1 << self.fmt.ignored_bits) - 1))
            return (self.patterns & mask).view(np.float32)
        if self.fmt.bits <= 16 and self.fmt.e_max <= _FP32.e_max - 1:
            table = np.abs(values_of(np.arange(1 << self.fmt.bits, dtype=np.uint32), self.fmt)).astype(np.float32)
            return np.take(table, self.patterns)
        return np.abs(values_of(self.patterns, self.fmt))

    @property
    def negative(self) -> npt.NDArray[np.bool_]:
        """Which elements have a sign."""
        if not self.fmt.signed:
            return np.zeros(self.patterns.shape, dtype=bool)
        if self.fmt.is_integer:
            return self.values < 0
        return (self.patterns >> self.patterns.dtype.type(self.fmt.sign_position) & 1).astype(bool)

    @cached_property
    def magnitudes(self) -> npt.NDArray[np.floating[Any]]:
        """The magnitudes of elements times scales; 0 where a row of a, or a column of b, has an infinity or a NaN."""
        factors = self._factors
        found = self.elements if factors is None else self.elements * np.abs(factors)
        if self.special.any():
            found = np.where(np.isfinite(found), found, found.dtype.type(0))
        return found

    @cached_property
    def special(self) -> npt.NDArray[np.bool_]:
        """Which rows of a, or columns of b, have an infinity or a NaN among their elements or scales."""
        # a maximum of numbers and NaNs is a NaN
        found: npt.NDArray[np.bool_] = ~np.isfinite(self.elements.max(axis=self.along))
        if self.scales is not None and self.scale_format is not None:
            held = values_of(self.scales, self.scale_format)
            found = found | ~np.isfinite(held).all(axis=self.along)
        return found

    @property
    def _factors(self) -> Floats | None:
        """The scale of each element."""
        if self.scales is None or self.scale_format is None:
            return None
        return np.repeat(values_of(self.scales, self.scale_format), self.block, axis=self.along)

    def largest(self, part: slice) -> Floats:
        """Return the largest magnitude of each row (m, 1) or column (1, n) over some k."""
        found: Floats = self._cut(self.magnitudes, part).max(axis=self.along, keepdims=True).astype(np.float64)
        return found

    def largest_element(self, part: slice) -> Floats:
        """Return the largest magnitude of an element, without its scale, of each row or column over some k."""
        found: Floats = self._cut(self.elements, part).max(axis=self.along, keepdims=True).astype(np.float64)
        return found

    def largest_power(self, part: slice, scales_alone: bool) -> Floats:
        """Return ``2**e`` for the largest exponent e that a unit reads in each row or column over some k.

        A number below the normal ones reads e_min of its format at most, and a zero e_min or -126. Scales add theirs.
        With ``scales_alone`` only these are read, as of a group of products.
        """
        if self.scales is None or self.scale_format is None:
            # the largest magnitude has the largest exponent
            return _power(self.largest(part), self.fmt)
        factors = np.repeat(values_of(self.scales, self.scale_format), self.block, axis=self.along)
        power = _power(self._cut(factors, part), self.scale_format)
        if not scales_alone:
            power = power * _power(self._cut(self.elements, part).astype(np.float64), self.fmt)
        found: Floats = power.max(axis=self.along, keepdims=True)
        return found

    @cached_property
    def reciprocal_last_bits(self) -> Floats:
        """One over the weight of the last bit that is not zero, of each element times its scale; 0 of zeros.

        These of elements of rows and columns that are not numbers mean nothing. They are powers of two.
        """
        if self.box is not None:
            return np.full(self.patterns.shape, 1 / self.box.last_bit)
        return _reciprocal_last_bits(self.values)

    def flushed(self) -> npt.NDArray[np.floating[Any]]:
        """Return the magnitudes of subnormal elements times their scales, and 0 for all others."""
        if self.box is not None:
            return np.full(self.patterns.shape, self.box.subnormal)
        return np.where(self.elements < 2.0**self.fmt.e_min, self.magnitudes, self.magnitudes.dtype.type(0))

    def selected(self, ks: Any) -> Side:
        """Return the side of some elements of k: a slice or indices of whole blocks, each in order."""
        if self.scales is None:
            found = replace(self, patterns=self._cut(self.patterns, ks))
            found.__dict__["elements"] = self._cut(self.elements, ks)  # of many calls they are computed once
            return found
        of_each = np.repeat(np.arange(self.scales.shape[self.along]), self.block)[ks][:: self.block]
        return replace(self, patterns=self._cut(self.patterns, ks), scales=self._cut(self.scales, of_each))

    def _cut(self, x: npt.NDArray[Any], part: Any) -> npt.NDArray[Any]:
        return x[:, part] if self.along else x[part]


@dataclass(frozen=True)
class Given:
    """The operands of ``c + a @ b``: both factors and the values of c, shape (m, n), None for zeros.

    ``factors`` are the values of those of a plan that are operands, shape (m, count).
    """

    a: Side
    b: Side
    c: Floats | None
    factors: Floats | None = None
    limit: float | None = None
    """of a range: what no sum of the first products exceeds, after any number of steps"""
    rests: Rests | None = None

    @classmethod
    def of(
        cls,
        plan: Plan,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        scale_a: npt.ArrayLike | None = None,
        scale_b: npt.ArrayLike | None = None,
        factors: npt.ArrayLike | None = None,
    ) -> Given:
        """Return the operands of arrays of the formats' types, or of patterns. Raises OperandError and DesignError."""
        a_format, b_format, c_format, _ = plan.formats
        left, right = read_patterns("a", a, a_format), read_patterns("b", b, b_format)
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
            raise OperandError(f"shapes a {left.shape}, b {right.shape}: (M, K) and (K, N) needed")
        shape, k = (left.shape[0], right.shape[1]), left.shape[1]
        if not left.size or not right.size:
            raise OperandError(f"shapes a {left.shape}, b {right.shape}: a product has elements, and k of them each")
        design, blocks = plan.unit, plan.blocks(k)
        start = None if c is None else read_patterns("c", c, c_format)
        if start is not None and start.shape != shape:
            raise OperandError(f"c has the shape {start.shape}, and a @ b has {shape}")
        wanted = {"scale_a": (shape[0], blocks), "scale_b": (blocks, shape[1])}
        scales = {n: _scales(design, n, x, wanted[n]) for n, x in (("scale_a", scale_a), ("scale_b", scale_b))}
        common = design.scale_format
        return cls(
            Side(a_format, left, 1, common, scales["scale_a"], design.block or 1),
            Side(b_format, right, 0, common, scales["scale_b"], design.block or 1),
            None if start is None else values_of(start, c_format),
            _factors(plan, factors, (shape[0], k)),
        )

    @property
    def k(self) -> int:
        """The number of products of each element."""
        return int(self.a.patterns.shape[1])

    @property
    def is_box(self) -> bool:
        """Whether one element stands for all operands of a range: all elements along k are alike then."""
        return self.a.box is not None and self.b.box is not None

    @property
    def is_fine(self) -> bool:
        """Whether it is computed with float64, because the elements are few."""
        return self.is_box or self.shape[0] * self.shape[1] <= FEW

    @cached_property
    def scaled(self) -> tuple[Scaled, Scaled]:
        """The magnitudes of a and of b, as they are multiplied."""
        return Scaled.rows(self.a.magnitudes, fine=self.is_fine), Scaled.columns(self.b.magnitudes, fine=self.is_fine)

    @cached_property
    def signed(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The same with their signs. They mean nothing of a range."""
        sides = zip((self.a, self.b), self.scaled, strict=True)
        a, b = (np.where(side.negative, -x.magnitudes, x.magnitudes) for side, x in sides)
        return a, b

    @cached_property
    def reach(self) -> Floats:
        """At least the magnitude of ``a @ b``."""
        if self.is_box:
            return self.size
        (rows, columns), own = self.scaled, self.size
        scale = rows.scale * columns.scale
        total, off = signed_product(rows, columns, self.signed, slice(None), own / scale)
        near = (np.abs(total) + off).astype(np.float64) * scale * (1 + 2.0**-20)
        found: Floats = np.minimum(near, own)
        return found

    @cached_property
    def size(self) -> Floats:
        """At least the sum of the magnitudes of the products of each element."""
        rows, columns = self.scaled
        return product_from_above(rows, columns, slice(None)).astype(np.float64) * (rows.scale * columns.scale)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the product."""
        return int(self.a.patterns.shape[0]), int(self.b.patterns.shape[1])

    @cached_property
    def special(self) -> npt.NDArray[np.bool_] | None:
        """Which elements have an infinity or a NaN among their operands or scales; None if none has."""
        rows, columns = self.a.special, self.b.special
        of_c = None if self.c is None or np.isfinite(self.c).all() else ~np.isfinite(self.c)
        if self.factors is not None:
            rows = rows | ~np.isfinite(self.factors).all(axis=1)
        if of_c is None and not rows.any() and not columns.any():
            return None
        found: npt.NDArray[np.bool_] = rows[:, None] | columns
        return found if of_c is None else found | of_c


def _factors(plan: Plan, factors: npt.ArrayLike | None, shape: tuple[int, int]) -> Floats | None:
    """Return the values of factors that are operands of ``shape[0]`` rows of k = ``shape[1]``. Raises OperandError."""
    rows, k = shape
    wanted = plan.schedule(k).factors if plan.has_factors else 0
    if factors is None and not wanted:
        return None
    if not wanted:
        raise OperandError(f"{plan.name} takes no factors: rescale=N:operand makes them operands")
    if factors is None:
        raise OperandError(f"factors are missing: {plan.name} takes an array of shape {(rows, wanted)}, of fp32")
    held = read_patterns("factors", factors, _FP32)
    if held.shape != (rows, wanted):
        raise OperandError(f"factors have the shape {held.shape}: {(rows, wanted)} needed, one for each rescaling")
    return values_of(held, _FP32)


def read_patterns(name: str, array: npt.ArrayLike, fmt: Format) -> Patterns:
    """Return an array as patterns of a format. Raises OperandError with the name."""
    try:
        return patterns_of(array, fmt)
    except OperandError as problem:
        raise OperandError(f"{name}: {problem}") from problem


def _scales(design: Design, name: str, scale: npt.ArrayLike | None, shape: tuple[int, int]) -> Patterns | None:
    fmt = design.scale_format
    if fmt is None:
        if scale is not None:
            raise OperandError(f"{name}: {design.name} has no scales")
        return None
    if scale is None:
        raise OperandError(f"{name} is missing: {design.name} has a scale for each {design.block} elements")
    held = read_patterns(name, scale, fmt)
    if held.shape != shape:
        raise OperandError(f"{name} has the shape {held.shape}: {shape} needed")
    return held


def _reciprocal_last_bits(x: Floats) -> Floats:
    fraction, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)  # of x * 2**(53 - exponent)
    return np.where(whole > 0, np.ldexp(1 / np.maximum(lowest, 1.0), 53 - exponent), 0.0)


def _power(x: Floats, fmt: Format) -> Floats:
    """Return ``2**e`` for the exponent e of magnitudes as a format reads them, or above it."""
    finite = np.where(np.isfinite(x), x, 0.0)
    fraction, exponent = np.frexp(finite)
    least = max(fmt.e_min, ZERO_EXPONENT)
    return np.ldexp(1.0, np.where(fraction > 0, np.maximum(exponent - 1, least), least))
