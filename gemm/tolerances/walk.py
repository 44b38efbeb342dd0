"""The bound of a whole plan: its schedule, operation by operation, on magnitudes and errors of matrices.

Every number of a schedule stands for an exact one: a combination of the products and of c. ``most`` bounds the exact
number, from the magnitudes of its terms; ``error`` bounds how far the computed number is from it. A call of a unit adds
what its chain of steps loses (``bound``). An operation outside the unit adds its own rounding. An addition is an
aligned sum of two numbers, of which each is cut by less than one unit, and a conversion; its lemmas are proved too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arrays import values_of
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import pattern_dtype
from mmaproof.gemm.answers.bounds import Sizes, error_bound, rounded_up
from mmaproof.gemm.answers.enclosure import NoBoundError
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.evaluate import places
from mmaproof.gemm.programs.linear import weights_of
from mmaproof.gemm.programs.schedule import (
    FUSED,
    Add,
    Call,
    Convert,
    Factor,
    Flush,
    Multiply,
    MultiplyAdd,
    Operand,
    Operation,
    Schedule,
    Zero,
    arguments,
)
from mmaproof.gemm.tolerances.bound import chain_error
from mmaproof.gemm.tolerances.given import Given
from mmaproof.gemm.tolerances.magnitudes import Floats, Scaled, fractions, power_below, product_from_above
from mmaproof.properties.step_loss import rounding_unit

_OUTWARDS = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A number of a schedule: bounds on the magnitude of the exact one and on the error of the computed one.

    Where ``zero`` holds, both are the number +0.
    """

    most: Floats
    error: Floats
    zero: bool = False

    @property
    def computed(self) -> Floats:
        """A bound on the magnitude of the computed number."""
        return _sum(self.most, self.error)


def _sum(x: Floats, y: Floats) -> Floats:
    """Return at least the sum of two arrays: exactly that where one of them is zero everywhere."""
    if not x.any() or not y.any():
        return x + y
    return (x + y) * _OUTWARDS


def bound_of_schedule(schedule: Schedule, given: Given, jobs: int = 1, *, any_order: bool = False) -> Floats:
    """Return how far d is from the exact number that the schedule stands for, if the losses of its units are proved.

    It is infinite where a number may overflow, or a product is an infinity for its unit, and NaN where an infinity or a
    NaN is among the operands of the element. With ``any_order`` the bound holds for every order in which the same
    numbers are added. Nothing is multiplied with a constant then. In any order, a partial sum is at most the sum of all
    magnitudes with all errors, ``whole``, which is checked in the end.
    """
    result, whole = _walked(schedule, given, jobs, None, sized=any_order), None
    if any_order:
        rounded = sum(isinstance(x, Add | Convert) for x in schedule.operations)
        widest = max(2.0**-x.fmt.precision for x in schedule.operations if not x.fmt.is_integer)
        whole = (result.computed + 2.0**-100) * (1 + 8 * rounded * widest)
        result = _walked(schedule, given, jobs, whole, sized=True)
    bound: Floats = np.array(np.broadcast_to(result.error, given.shape))
    bound[np.isnan(bound)] = inf
    if whole is not None:
        bound[~(result.computed <= whole)] = inf
    if given.special is not None:
        bound[given.special] = np.nan
    return bound


@dataclass(frozen=True, slots=True)
class _Walk:
    """What a walk through a schedule is of."""

    given: Given
    jobs: int
    calls: int
    whole: Floats | None
    """how large a sum, and what is converted, is taken to be; None: as large as it may be"""
    unsized: Operation | None
    """the operation whose magnitude nobody asks for"""


def _walked(schedule: Schedule, given: Given, jobs: int, whole: Floats | None, *, sized: bool) -> Enclosed:
    """Return d; its magnitude is infinite where it need not be ``sized``."""
    last = {x: i for i, operation in enumerate(schedule.operations) for x in arguments(operation)}
    calls = sum(1 for _ in schedule.calls)
    walk = _Walk(given, jobs, calls, whole, None if sized else schedule.operations[-1])
    held: dict[int, Enclosed] = {}
    for i, operation in enumerate(schedule.operations):
        held[i] = _perform(operation, held, walk)
        for x in arguments(operation):
            if last[x] == i:
                held.pop(x, None)
    d = held[len(schedule.operations) - 1]
    return Enclosed(np.broadcast_to(d.most, given.shape), np.broadcast_to(d.error, given.shape), d.zero)


def exact_of_schedule(schedule: Schedule, given: Given) -> tuple[Floats, Floats]:
    """Return the exact number that a schedule stands for in float64, and a bound on the error of that.

    Only finite operands are meant. Of operands that are fractions the number is one, without an error.
    """
    dtype = given.a.values.dtype
    factors = [_alike(_factor(Factor(i), given), given) for i in range(schedule.factors)]
    weights = weights_of(schedule, factors)
    a, of_c = given.a.values, np.asarray(weights.c, dtype=dtype)
    if any(not isinstance(x, Fraction) or x != 1 for x in weights.products.values()) or len(weights.products) < given.k:
        of_each = [np.atleast_2d(np.asarray(weights.products.get(k, 0), dtype=dtype)) for k in range(given.k)]
        a = a * np.concatenate(np.broadcast_arrays(*of_each), axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        value, size = a @ given.b.values, np.abs(a) @ np.abs(given.b.values)
        if given.c is not None:
            value, size = value + of_c * given.c, size + np.abs(of_c) * np.abs(given.c)
    return value, lost_in_float64(size, schedule.k + 4 * len(schedule.operations), schedule.formats[3])


def lost_in_float64(size: Floats, operations: int, fmt: Format) -> Floats:
    """Return how far a sum in float64 may be from the exact one, ``size`` being the sum of the magnitudes of its terms.

    Nothing is lost of integers that float64 holds.
    """
    lost: Floats = size * (operations * 2.0**-51)
    return np.where(size < 2.0**53, 0.0, lost) if fmt.is_integer else lost


def _perform(operation: Operation, held: Mapping[int, Enclosed], walk: _Walk) -> Enclosed:
    given, whole, none = walk.given, walk.whole, np.zeros((1, 1))
    match operation:
        case Operand():
            found = Enclosed(none if given.c is None else np.abs(given.c), none, given.c is None)
        case Zero():
            found = Enclosed(none, none, zero=True)
        case Call():
            found = _call(operation, held[operation.c], walk)
        case Add(x=x, y=y, fmt=fmt, rounding=rounding):
            found = _added(held[x], held[y], fmt, rounding, whole)
        case Multiply(x=x, factor=factor, fmt=fmt):
            by = _constant(factor, fmt) if isinstance(factor, int) else _factor(factor, given)
            found = _rounded(_times(held[x], by), fmt, Rounding.RNE)
        case MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
            times = _times(held[x], _constant(factor, fmt))
            total = Enclosed(times.most + held[y].most, times.error + held[y].error)
            found = _rounded(total, fmt, Rounding.RNE, _cuts(fmt))
        case Convert(x=x, fmt=fmt, rounding=rounding):
            found = held[x] if held[x].zero else _rounded(held[x], fmt, rounding, whole=whole)
        case Flush(x=x, fmt=fmt):  # what becomes a zero is below the smallest normal number
            found = held[x] if held[x].zero else replace(held[x], error=held[x].error + 2.0**fmt.e_min)
        case _:
            raise ValueError(f"{operation}: the bound of a schedule that cuts operands is composed")
    return found


def _added(x: Enclosed, y: Enclosed, fmt: Format, rounding: Rounding, whole: Floats | None) -> Enclosed:
    if x.zero or y.zero:  # the sum is the other number
        return y if x.zero else x
    return _rounded(Enclosed(x.most + y.most, x.error + y.error), fmt, rounding, _cuts(fmt), whole)


def _times(x: Enclosed, factor: Floats | float) -> Enclosed:
    times = np.abs(np.asarray(factor, dtype=np.float64))
    return Enclosed(x.most * times, x.error * times)


def _alike(factor: Floats, given: Given) -> npt.NDArray[Any]:
    """Return factors as fractions where the operands are fractions."""
    return factor if given.a.values.dtype != object else fractions(factor)


def _factor(factor: Factor, given: Given) -> Floats:
    """Return the factors of the rows that are operands, (m, 1); those that are no numbers are zeros."""
    if given.factors is None:
        raise ValueError("factors are operands, and none are given")
    found = given.factors[:, factor.index : factor.index + 1]
    return np.where(np.isfinite(found), found, 0.0)


def _cuts(fmt: Format) -> float:
    """Return what is cut off two numbers that are added, two bits below the precision of their larger exponent.

    It is a part of the power of two of that exponent, which the sum of their magnitudes bounds.
    """
    return 2 * 2.0 ** -(fmt.precision + 2)


def _call(call: Call, start: Enclosed, walk: _Walk) -> Enclosed:
    part = walk.given
    if call.ks != tuple(range(part.k)):
        at = places(call.ks)
        part = replace(part, a=part.a.selected(at), b=part.b.selected(at))
    begins = None if start.zero else np.broadcast_to(start.computed, part.shape)
    error = _sum(start.error, chain_error(call.unit, part, begins, walk.jobs, walk.calls))
    if call is walk.unsized:
        return Enclosed(np.full((1, 1), inf), error)
    a, b = Scaled.rows(part.a.magnitudes), Scaled.columns(part.b.magnitudes)
    size = product_from_above(a, b, slice(None)).astype(np.float64) * (a.scale * b.scale)
    return Enclosed(_sum(start.most, size), error)


def _rounded(x: Enclosed, fmt: Format, rounding: Rounding, cuts: float = 0.0, whole: Floats | None = None) -> Enclosed:
    """Return a number rounded to ``fmt``. ``cuts`` is what is lost before, as a part of its power of two.

    It is taken to be as large as ``whole``, where this is given.
    """
    size = x.computed if whole is None else whole
    if fmt.is_integer:  # sums of integers are exact in the register
        beyond = size > float(fmt.largest)
        return Enclosed(x.most, np.where(beyond, inf, x.error))
    unit = float(rounding_unit(rounding, fmt.fraction_bits))
    computed = size * (1 + 4 * (unit + cuts)) + 2.0 ** (fmt.e_min - fmt.fraction_bits)
    power = np.maximum(power_below(np.ascontiguousarray(computed)), 2.0**fmt.e_min)
    with np.errstate(invalid="ignore"):  # infinities stay
        error = (x.error + power * (unit + cuts)) * _OUTWARDS
    return Enclosed(x.most, np.where(computed <= float(fmt.largest), error, inf))


def _constant(pattern: int, fmt: Format) -> float:
    return float(values_of(np.array(pattern, dtype=pattern_dtype(fmt)), fmt))


def outside(schedule: Schedule) -> Iterator[tuple[str, Format, Format, Rounding]]:
    """Yield the operations outside units, as ``lemmas_of_operation`` has them, each once."""
    seen = set()
    for operation in schedule.operations:
        match operation:
            case Add(fmt=fmt, rounding=rounding):
                found = ("addition", fmt, fmt, rounding)
            case Multiply(fmt=fmt):
                found = ("product", fmt, fmt, Rounding.RNE)
            case Convert(x=x, fmt=fmt, rounding=rounding):
                found = ("conversion", fmt, schedule.operations[x].fmt, rounding)
            case _:
                continue
        if found not in seen and not found[1].is_integer:
            seen.add(found)
            yield found


def units(schedule: Schedule) -> dict[str, Design]:
    """Return the designs whose steps a schedule computes with, by name; without those that multiply words."""
    found = {x.unit.name: x.unit for x in schedule.calls if not x.words}
    for operation in schedule.operations:
        if isinstance(operation, MultiplyAdd):
            design = find_design(FUSED[operation.fmt.name])
            found[design.name] = design
    return found


_FP32 = FORMATS["fp32"]
_NOTHING = _FP32.e_min - _FP32.fraction_bits - 1
"""The power that stands for zero."""
_MOST_STARTS = 24
"""Powers of c for which the bound is composed; of more, the largest one counts."""


def why_no_bound(plan: Plan, k: int) -> str | None:
    """Return why no bound of a plan is composed, whatever the sizes are; None if one is."""
    try:
        _composed(plan, k, 0, 0, 0, 0)
    except NoBoundError as reason:
        return str(reason)
    return None


def composed_error(plan: Plan, given: Given) -> Floats:
    """Return how far d of a plan is from its exact result, for the sizes of each element; shape (m, n).

    The bound is infinite where a number may overflow. It holds if the bound of one step of the unit is proved
    (``gemm.answers.bounds.prove_step``).
    """
    rows, columns = (_powers(x.largest(slice(None))) for x in (given.a, given.b))
    starts = np.full((1, 1), _NOTHING) if given.c is None else _powers(np.abs(given.c))
    if len(np.unique(starts)) > _MOST_STARTS:
        starts = np.full((1, 1), int(starts.max()))
    largest = np.ones((1, 1)) if given.factors is None else np.abs(given.factors).max(1, initial=0.0, keepdims=True)
    factors = _powers(largest)
    powers = np.stack(np.broadcast_arrays(rows, columns, starts, factors), axis=-1)
    found, places = np.unique(powers.reshape(-1, 4), axis=0, return_inverse=True)
    bounds = [_bound(plan, given.k, *(int(x) for x in row)) for row in found]
    result: Floats = np.array(np.broadcast_to(np.array(bounds)[places.ravel()].reshape(powers.shape[:2]), given.shape))
    if given.special is not None:
        result[given.special] = np.nan
    return result


def _powers(x: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return floor(log2) of magnitudes; those that are infinite count as the largest ones."""
    fraction, exponent = np.frexp(np.where(np.isfinite(x), x, 2.0**1023))
    return np.where(fraction > 0, np.maximum(exponent.astype(np.int64) - 1, _NOTHING), _NOTHING)


def _bound(plan: Plan, k: int, a: int, b: int, c: int, factor: int) -> float:
    if max(a, b, c, factor) > _FP32.e_max:
        return inf
    try:
        return rounded_up(_composed(plan, k, a, b, c, factor))
    except NoBoundError:
        return inf


@lru_cache(maxsize=4096)
def _composed(plan: Plan, k: int, a: int, b: int, c: int, factor: int) -> Fraction:
    return error_bound(plan, k, Sizes(*map(_largest, (a, b, c, factor))))


def _largest(power: int) -> Fraction:
    """Return the largest number below the next power of two that float64 may have bounded; zero for ``_NOTHING``."""
    return Fraction(0) if power <= _NOTHING else Fraction(2) ** (power + 1) - Fraction(2) ** (power - 52)
