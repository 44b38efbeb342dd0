"""The bound of whole products: what each step loses (``StepLoss``), added up along k, elementwise and rounded outwards.

With c, and after each addition to the accumulator, ``|accumulator| <= |c| + sum |a||b| + errors so far``. K is cut in
parts. Within one part, G bounds the accumulator for all of its steps, so each of them loses at most the same amount. G
includes the errors of the part itself. These are at most ``n * (x + y * G)`` for n steps and numbers x and y that are
known, so ``G = (start + n x) / (1 - n y)`` is large enough. It is not assumed. It follows by induction over the steps:
the accumulator that enters a step is below G, so the step loses at most what was added for it, so its result is below G
as well. A second pass adds what the steps lose with the exponent of G.

No number is negative. They are float32 where all of them lie well within its range, and float64 elsewhere. An operation
is off by one part in 2**24 or 2**53 at most. Results of some operations are multiplied with one plus 2**8 times that or
more, which covers N operations. That is so of normal numbers alone. What is lost below them is less than
2**-1070, and no bound is so small: terms are aligned at ``2**least_exponent`` at least, and cut 2**-F below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.tolerances.given import (
    ERRORS,
    LONGEST,
    Floats,
    Given,
    Rests,
    Scaled,
    power_below,
    product_from_above,
    signed_product,
)
from mmaproof.properties.step_loss import StepLoss, loss_of

_FEWEST_PARTS, _MANY_PARTS, _MOST_PARTS = 4, 128, 32
_BOUNDED = 1 << 25
"""Elements are bounded about so often: few elements in up to _MANY_PARTS parts along k, many in _FEWEST_PARTS."""
_CUT_ONE_BY_ONE = 1 << 26
"""The most products that are cut one by one, as the unit cuts them."""
_FEW_BITS = 7
"""By how much F exceeds the fraction bits of products of which many lose nothing."""
_MOST_STEPS = 1 << 10
"""The most steps that are bounded one by one, where one element stands for all."""
_MOST_GROWTH = 0.25
"""The accumulator is bounded by one number for enough steps that their roundings add at most this part of it."""
_AT_ONCE = 1 << 16
"""Elements that are computed together: their arrays stay in the second-level cache."""
_OUTWARDS = {np.dtype(np.float32): 1 + 2.0**-16, np.dtype(np.float64): 1 + 2.0**-44}
_SINGLE_RANGE = 2.0**60
"""Magnitudes between this and one over it are computed with in float32, where they make no number out of its range."""


@dataclass(frozen=True)
class _Numbers:
    """A ``StepLoss`` as float64."""

    of_products: float
    of_sums: float
    of_c: float
    rounded_sums: float
    rounded_c: float
    flushed: float
    least: float
    """2**least_exponent"""
    smallest: float
    """2**e_min of the output format"""
    largest: float
    cut: float
    """2**-F, what one product is cut by at most, where not all of them are cut; else 0"""
    of_one_sum: bool
    is_rest: bool
    """whether a product loses its bits below the cut alone, and float64 holds it"""
    few_bits: bool
    """whether many products lose nothing"""

    @classmethod
    def of(cls, design: Design, loss: StepLoss) -> _Numbers:
        names = ("of_products", "of_sums", "of_c", "rounded_sums", "rounded_c", "flushed")
        lost: dict[str, float] = {name: float(getattr(loss, name)) for name in names}
        least, smallest = 2.0**loss.least_exponent, 2.0**design.d_format.e_min
        cut = 0.0 if loss.cut_bits is None else 2.0**-loss.cut_bits
        largest, one = float(loss.largest), loss.of_one_sum
        rest = loss.cut_is_rest and loss.product_bits <= 48
        few = loss.cut_bits is not None and loss.product_bits + _FEW_BITS <= loss.cut_bits
        return cls(
            least=least, smallest=smallest, largest=largest, cut=cut, of_one_sum=one, is_rest=rest, few_bits=few, **lost
        )


def chain_error(design: Design, given: Given, start: Floats | None, jobs: int = 1, calls: int = 1) -> Floats:
    """Return how far a chain of instructions is from the sum of its products and the number that it starts from.

    That number is at most ``start`` in magnitude, and zero where this is None. ``calls`` is the number of chains that
    are bounded for one result; each of them is cut in fewer parts where there are many.
    """
    if design.d_format.is_integer:
        return _of_integers(design, given, start)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is an infinite bound
        return _of_steps(design, given, start, jobs, calls)


def _of_integers(design: Design, given: Given, start: Floats | None) -> Floats:
    a, b = given.scaled
    total = np.zeros(given.shape) if start is None else start.copy()
    for part in _cut(given.k, 1, _FEWEST_PARTS):
        total += product_from_above(a, b, part) * (a.scale * b.scale)
    beyond = total * (1 + 2.0**-40) > float(design.d_format.largest)
    if not design.d_format.signed:
        beyond |= bool((given.a.values < 0).any() or (given.b.values < 0).any())
    return np.where(beyond, inf, 0.0)


def _of_steps(design: Design, given: Given, start: Floats | None, jobs: int, calls: int) -> Floats:
    design = design.configured(given.k)
    loss = loss_of(design)
    numbers = _Numbers.of(design, loss)
    a, b = given.scaled
    limit = 2.0 ** (design.step.infinite_from or 0)
    elements = given.shape[0] * given.shape[1]
    parts = [_Part.of(design, given, loss, part) for part in _parts_of(design, given, numbers, loss, calls)]
    dtype = np.dtype(np.float64) if given.is_fine else _dtype(numbers, start, a, b, parts)
    outwards = dtype.type(_OUTWARDS[dtype])
    bound, found = np.zeros(given.shape, dtype=dtype), np.zeros(given.shape, dtype=a.magnitudes.dtype)
    partial, off = np.zeros_like(found), np.zeros_like(found)  # both are those of the whole sum before the part
    one_by_one = numbers.is_rest and not given.is_box and elements * given.k <= _CUT_ONE_BY_ONE
    fine = _Fine.of(given) if numbers.cut and (given.is_box or numbers.few_bits) and not one_by_one else None
    # what is left is that of one element
    left = _Left(given.rests) if given.rests is not None and numbers.is_rest and elements == 1 else None
    blocks = list(_blocks(given.shape))
    with ThreadPoolExecutor(jobs) if len(blocks) > 1 else nullcontext() as pool:
        for part in parts:
            new = product_from_above(a, b, part.ks)
            last_bits = None if fine is None else fine.over(part.ks)
            signed = None if given.is_box else signed_product(a, b, given.signed, part.ks, new)

            @np.errstate(over="ignore", invalid="ignore")  # of each thread
            def add(
                rows: slice,
                part: _Part = part,
                new: npt.NDArray[np.floating[Any]] = new,
                last_bits: Floats | None = last_bits,
                signed: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = signed,
            ) -> None:
                def back(x: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
                    return _scaled_back(x, a.scale[rows], b.scale, dtype)

                c = bound[rows] if start is None else (start[rows].astype(dtype) + bound[rows]) * outwards
                before, own = _reached(found[rows], partial[rows], off[rows]), new[rows]
                found[rows] += own
                if signed is not None:
                    partial[rows] += signed[0][rows]
                    off[rows] += signed[1][rows] + np.abs(partial[rows]) * partial.dtype.type(ERRORS[partial.dtype][0])
                else:
                    limit_of_sums = inf if given.limit is None else given.limit
                    partial[rows] = np.minimum(found[rows], limit_of_sums / (a.scale[rows] * b.scale))
                alone = part.steps == 1 and numbers.of_one_sum
                entering = (back(before) + c) * outwards if alone else None
                after = _reached(found[rows], partial[rows], off[rows])
                # between its ends, the sum of a part differs from its start by no more than its magnitudes
                total = back(after if alone else np.minimum(found[rows], (before + own) * outwards)) * outwards
                total += c
                cut: _Counted | _Each | None
                if one_by_one:
                    cut = _Each(given.a.magnitudes[rows, part.ks], given.b.magnitudes[part.ks])
                else:
                    cut = None if last_bits is None else _Counted(last_bits[rows].astype(dtype), left)
                magnitudes = back(own) * outwards if loss.sums_matter else None
                bound[rows] += _lost_in_part(numbers, part, rows, total, entering, magnitudes, cut)
                if part.elements is not None:
                    # a product of elements is an infinity for its own size, whatever the scales are
                    bound[rows][part.elements[0][rows] * part.elements[1] >= limit] = inf

            list(map(add, blocks) if pool is None else pool.map(add, blocks))
    result = bound.astype(np.float64, copy=False)
    result *= _OUTWARDS[dtype]
    return result + flushed_products(design, given)


def _parts_of(design: Design, given: Given, numbers: _Numbers, loss: StepLoss, calls: int) -> Iterator[slice]:
    """Return the parts of k within which one number bounds the accumulator."""
    joins = ceil(design.padded_length(given.k) / loss.products)
    if given.is_box and given.k >= design.k:  # elements of k are alike, so that a step may take any of them
        return _cut(given.k, loss.products, min(joins, _MOST_STEPS), _MOST_STEPS)
    growth = ceil(joins * (numbers.of_c + numbers.rounded_c) / _MOST_GROWTH)
    fewest = min(max(_BOUNDED // (given.shape[0] * given.shape[1]), _FEWEST_PARTS), _MANY_PARTS) // calls
    return _cut(given.k, design.k, max(growth, fewest, 1), max(fewest, _MOST_PARTS))


def _reached(found: npt.NDArray[Any], partial: npt.NDArray[Any], off: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return at least the magnitudes of sums so far, from those of their terms, and from sums that may be off."""
    near: npt.NDArray[Any] = (np.abs(partial) + off) * partial.dtype.type(_OUTWARDS[partial.dtype])
    reached: npt.NDArray[Any] = np.minimum(found, near)
    return reached


def flushed_products(design: Design, given: Given) -> Floats:
    """Return at most how much the products change where subnormal elements are read as zeros; shape (m, n)."""
    total, flushed = np.zeros(given.shape), design.step.subnormals
    pairs = []
    if flushed.of_a:
        pairs.append((given.a.flushed(), given.b.magnitudes))
    if flushed.of_b:
        pairs.append((given.a.magnitudes, given.b.flushed()))
    for x, y in pairs:
        if x.any() and y.any():
            rows, columns = Scaled.rows(x, fine=given.is_fine), Scaled.columns(y, fine=given.is_fine)
            for part in _cut(given.k, 1, 1):
                total += product_from_above(rows, columns, part) * (rows.scale * columns.scale)
    return total * _OUTWARDS[total.dtype]


@dataclass(frozen=True)
class _Part:
    """Some k, with the steps that take them, and what limits their products by row and by column.

    ``powers`` are powers of two of the largest exponents; (m, 1) and (1, n).
    """

    ks: slice
    steps: int
    products: int
    """products of a step"""
    powers: tuple[Floats, Floats]
    sizes: tuple[Floats, Floats] | None
    """the largest magnitudes, where sums without c matter"""
    elements: tuple[Floats, Floats] | None
    """the largest magnitudes without scales, where some products are infinities"""

    @classmethod
    def of(cls, design: Design, given: Given, loss: StepLoss, ks: slice) -> _Part:
        length = design.padded_length(given.k) if given.k < design.k else ks.stop - ks.start
        alone = design.step.has_scaled_groups
        powers = given.a.largest_power(ks, alone) * 2.0**loss.excess, given.b.largest_power(ks, alone)
        if alone and given.k < design.k:  # the scales of missing blocks are 1, and terms are aligned at them, too
            powers = np.maximum(powers[0], 2.0**loss.excess), np.maximum(powers[1], 1.0)
        sizes = (given.a.largest(ks), given.b.largest(ks)) if loss.sums_matter else None
        limited = not design.guarantees(Guarantee.FINITE_PRODUCTS)
        elements = (given.a.largest_element(ks), given.b.largest_element(ks)) if limited else None
        return cls(ks, length // loss.products, loss.products, powers, sizes, elements)


def _dtype(numbers: _Numbers, start: Floats | None, a: Scaled, b: Scaled, parts: Sequence[_Part]) -> np.dtype[Any]:
    """Return float32 if every number that is computed with lies well within its range, else float64.

    What is computed lies above the least powers, times what a step loses of them, and below the sum of c and all
    magnitudes, times that. Zeros are exact. A c that is tiny and not zero loses digits below these powers alone.
    """
    powers = [x for part in parts for x in part.powers]
    least = min(float(x.min()) for x in powers)
    most = max(*(float(x.max()) for x in powers), a.largest, b.largest)
    of_c = 0.0 if start is None else float(np.nan_to_num(start, nan=0.0, posinf=inf).max())
    scaled = a.is_scaled or b.is_scaled
    near = (
        most * most * a.magnitudes.shape[1] < _SINGLE_RANGE
        and of_c < _SINGLE_RANGE
        and least > 0
        and least**2 > 1 / _SINGLE_RANGE
    )
    known = numbers.smallest >= 2.0**-126 and numbers.least <= least * least
    return np.dtype(np.float32 if near and known and not scaled else np.float64)


def _scaled_back(
    x: npt.NDArray[np.floating[Any]], rows: Floats, columns: Floats, dtype: np.dtype[Any]
) -> npt.NDArray[np.floating[Any]]:
    """Return what was divided by scales; float32 is used where there are none."""
    if x.dtype == dtype == np.float32:
        return x.copy()
    return x * (rows * columns)


def _lost_in_part(
    numbers: _Numbers,
    part: _Part,
    rows: slice,
    start: npt.NDArray[np.floating[Any]],
    entering: npt.NDArray[np.floating[Any]] | None,
    own: npt.NDArray[np.floating[Any]] | None,
    cuts: _Counted | _Each | None,
) -> npt.NDArray[np.floating[Any]]:
    """Return what the steps of a part lose that end at ``start`` plus what they lose at most.

    ``entering`` bounds the c of its only step, where that alone limits what is cut with c. ``own`` are the magnitudes
    of the products of the part, where sums without c matter. ``cuts`` say what the cuts of products take, where it is
    less than a unit of each.
    """
    steps, dtype = part.steps, start.dtype
    of_c = 0.0 if entering is not None else numbers.of_c
    slope = steps * (of_c + numbers.rounded_c) + 4 * numbers.rounded_c
    if slope >= 1:
        return np.full(start.shape, inf, dtype=dtype)
    powers = part.powers[0][rows].astype(dtype) * part.powers[1].astype(dtype)
    np.maximum(powers, dtype.type(numbers.least), out=powers)
    fixed: Any = dtype.type(numbers.flushed)
    if numbers.of_products:
        fixed = fixed + powers * dtype.type(numbers.of_products)
    if own is not None:
        if part.sizes is not None:
            one = (part.sizes[0][rows] * part.products).astype(dtype) * part.sizes[1].astype(dtype)
            own = np.minimum(one * dtype.type(_OUTWARDS[dtype]), own)
        fixed = fixed + _lost_in_sums(numbers, own, powers)
    cut = powers if entering is None else np.maximum(powers, power_below(entering))
    most = cut * dtype.type(steps * numbers.of_c)
    most += start
    most += fixed * dtype.type(steps) + dtype.type((steps + 2) * numbers.rounded_c * numbers.smallest)
    most *= dtype.type(_OUTWARDS[dtype] / (1 - slope))
    power = power_below(most)
    np.maximum(power, dtype.type(numbers.smallest), out=power)
    powers = np.maximum(powers, power) if entering is None else cut
    if cuts is None:
        powers *= dtype.type(steps * numbers.of_c)
    else:
        others = powers * dtype.type(steps * max(numbers.of_c - part.products * numbers.cut, 0.0))
        powers = cuts.taken(powers, numbers.cut, steps * part.products) + others
    power *= dtype.type(steps * numbers.rounded_c)
    powers += power
    powers += fixed * dtype.type(steps)
    inside = most <= dtype.type(numbers.largest) if numbers.largest < np.finfo(dtype).max else most < inf
    # the comparison is false for a NaN as well
    return powers if inside.all() else np.where(inside, powers, dtype.type(inf))


class _Left:
    """What steps may still take of products whose bits below a unit are limited: a smaller unit leaves no more of them.

    A product takes part in one step, so what all steps with units up to that one take is within the limit.
    """

    def __init__(self, rests: Rests) -> None:
        self.unit, self.most = rests.unit, rests.most

    def at_most(self, taken: npt.NDArray[Any], unit: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return what a step takes that would take ``taken``, with this unit."""
        if not (unit <= self.unit).all():
            return taken
        found: npt.NDArray[Any] = np.minimum(taken, self.most)
        self.most = max(self.most - float(found.min()) * (1 - 2.0**-40), 0.0)
        return found


@dataclass(frozen=True)
class _Counted:
    """The number of products that are cut, from the sums of one over their last bits (``_Fine``).

    A product is cut by less than one unit, and only if its last bit weighs half a unit or less: then half a unit over
    that weight is at least one. So the sum of these quotients is at least the number of products that are cut.
    """

    last_bits: npt.NDArray[np.floating[Any]]
    left: _Left | None = None

    def taken(self, powers: npt.NDArray[Any], cut: float, most: int) -> npt.NDArray[Any]:
        """Return what is taken from products in all, ``cut`` of ``powers`` from each of at most ``most``."""
        dtype = powers.dtype
        count = powers * dtype.type(cut / 2)
        count *= self.last_bits
        count *= dtype.type(_OUTWARDS[dtype])
        count = np.minimum(count, most)  # a NaN stays one, and infinite bounds come of it
        count *= dtype.type(cut)
        count *= powers
        return np.asarray(count) if self.left is None else self.left.at_most(count, powers * dtype.type(cut))


@dataclass(frozen=True)
class _Each:
    """Each product by itself: what it loses is the rest of its magnitude by one unit. A larger unit leaves more.

    The factors are magnitudes (m, k) and (k, n); float64 holds their products.
    """

    a: npt.NDArray[np.floating[Any]]
    b: npt.NDArray[np.floating[Any]]

    def taken(self, powers: npt.NDArray[Any], cut: float, most: int) -> npt.NDArray[Any]:
        """Return the sums of the rests by ``cut`` of ``powers``."""
        unit = powers.astype(np.float64) * cut
        products = self.a.astype(np.float64)[:, :, None] * self.b.astype(np.float64)[None, :, :]
        units = products / unit[:, None, :]
        rests: npt.NDArray[Any] = (units - np.floor(units)).sum(axis=1) * unit * (1 + 2.0**-30)
        taken: npt.NDArray[Any] = np.minimum(rests, most * unit) * (1 + 2.0**-20)
        return taken.astype(powers.dtype)


@dataclass(frozen=True)
class _Fine:
    """One over the last bits of the elements of a and of b, as a product sums them up."""

    a: Scaled
    b: Scaled

    @classmethod
    def of(cls, given: Given) -> _Fine:
        rows, columns = given.a.reciprocal_last_bits, given.b.reciprocal_last_bits
        return cls(Scaled.rows(rows, fine=given.is_fine), Scaled.columns(columns, fine=given.is_fine))

    def over(self, ks: slice) -> Floats:
        """Return at least the sum over some k of one over the last bits of the products."""
        return product_from_above(self.a, self.b, ks).astype(np.float64) * (self.a.scale * self.b.scale)


def _lost_in_sums(
    numbers: _Numbers, own: npt.NDArray[np.floating[Any]], powers: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.floating[Any]]:
    """Return what sums without c lose, of products whose magnitudes add up to at most ``own``."""
    dtype = own.dtype
    slope = numbers.of_sums + numbers.rounded_sums + 4 * numbers.rounded_c
    if slope >= 1:
        return np.full(own.shape, inf, dtype=dtype)
    others = powers * dtype.type(numbers.of_products + numbers.of_sums)
    others += dtype.type(numbers.flushed + (numbers.rounded_sums + 2 * numbers.rounded_c) * numbers.smallest)
    most = (own + others) * dtype.type(_OUTWARDS[dtype] / (1 - slope))
    power = np.maximum(power_below(most), dtype.type(numbers.smallest))
    lost = dtype.type(numbers.of_sums) * np.maximum(power, powers) + dtype.type(numbers.rounded_sums) * power
    inside = most <= dtype.type(numbers.largest) if numbers.largest < np.finfo(dtype).max else most < inf
    return lost if inside.all() else np.where(inside, lost, dtype.type(inf))


def _cut(k: int, unit: int, wanted: int, most: int = _MOST_PARTS) -> Iterator[slice]:
    """Yield about ``wanted`` parts of k, at most about ``most``, which are multiples of ``unit``."""
    units, least = ceil(k / unit), ceil(k / LONGEST)
    parts = min(max(wanted, least), units, max(most, least))
    edges = [units * i // parts * unit for i in range(parts + 1)]
    for first, last in pairwise(edges):
        yield slice(first, min(last, k))


def _blocks(shape: tuple[int, int]) -> Iterator[slice]:
    rows, columns = shape
    height = max(_AT_ONCE // max(columns, 1), 1)
    for top in range(0, rows, height):
        yield slice(top, top + height)
