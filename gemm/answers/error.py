"""Errors of plans on random matrices, measured on arrays against exact results and compared with bounds.

The matrices are N x N, so N is the length of the dot products. Only some rows of A and columns of B are drawn, and the
elements of C = A B at their crossings are computed. Elements do not depend on each other, so these are the elements
that the whole matrices would give. The exact result is an integer times a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.gemm.answers.bounds import Reference, Sizes
from mmaproof.gemm.answers.compare import ulp
from mmaproof.gemm.answers.enclosure import NoBoundError
from mmaproof.gemm.answers.matrices import Distribution
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Arithmetic
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.linear import Weights, weights_of
from mmaproof.gemm.programs.numbers import Number, Span, exact_value
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.smt.arrays import ARRAYS


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on ``|d - reference|``. It is None if there is none; ``reason`` says why.

    It is for all operands of these ``sizes``. Where they are None it is for the operands that were drawn: the largest
    of ``elements``, the bounds of each of their results.
    """

    sizes: Sizes | None
    value: Fraction | None
    reason: str | None = None
    elements: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """Errors ``d - reference`` of a plan over the computed elements of an N x N product.

    ``relative`` is the largest error relative to ``sum |a||b|``. ``ulps`` is the median error in units in the last
    place of the reference in the format of d. ``bias`` is the mean of the signed errors. ``squared`` is the mean of the
    squared errors, and ``frobenius`` the Frobenius norm of the errors relative to that of the reference.
    ``relative_above`` is the largest error relative to the reference itself, of elements whose reference is larger in
    magnitude than what was asked for. Elements whose d or reference is not finite are counted and left out of all of
    these, which are None if no element is left.
    """

    plan: Plan
    n: int
    rows: int
    columns: int
    largest: Fraction | None
    mean: float | None
    relative: float | None
    ulps: float | None
    bias: float | None
    not_finite: int
    bound: Bound | None = None
    squared: float | None = None
    frobenius: float | None = None
    relative_above: float | None = None


BoundOf = Callable[[Plan, Patterns, Patterns], Bound | None]
"""What bounds the results of a plan on patterns of a (m, k) and b (k, n), with c = 0.

They are of fp32 where an algorithm is among the plans, and else of the plan's formats.
"""


def reference_for(plans: Sequence[Plan], asked: Reference) -> Reference:
    """Return what results of plans are compared with where ``asked`` is asked for.

    Plans without an algorithm take numbers of their own formats: numbers are drawn in fp32 and rounded to these first,
    and the exact result is that of the rounded numbers. Beside an algorithm, which takes fp32, it is that of what is
    drawn. Raises InputError.
    """
    if any(x.algorithm is not None for x in plans):
        return asked
    if asked is Reference.FP32:
        raise InputError("plans are compared with the exact product of rounded operands, and with nothing else")
    return Reference.ROUNDED


def measure(
    plans: Sequence[Plan],
    n: int,
    distribution: Distribution,
    *,
    reference: Reference = Reference.EXACT,
    rows: int = 32,
    columns: int = 32,
    seed: int = 0,
    bound_of: BoundOf | None = None,
    above: float = 0.0,
) -> Iterator[Point]:
    """Yield the errors of each plan on the same random matrices, at most ``rows`` x ``columns`` elements of each.

    The matrices are of fp32 and depend only on seed, N and the distribution; c is 0. A plan gets them rounded to its
    formats. ``reference`` is as ``reference_for`` has it. ``bound_of`` bounds the results of what a plan gets, and
    ``above`` is what a reference must exceed to be divided by. Raises
    DesignError if a plan cannot be computed for K = ``n`` or has factors that are operands, and for integers, and
    NoBoundError for a reference that has no meaning.
    """
    reference = reference_for(plans, reference)
    rows, columns = min(rows, n), min(columns, n)
    a, b = distribution.draw(rows, n, columns, np.random.default_rng([seed, n]))
    in_fp32 = any(x.algorithm is not None for x in plans)
    product_in_fp32 = _in_fp32(a, b) if reference is Reference.FP32 else None
    for plan in plans:
        if any(f.is_integer for f in plan.formats):
            raise DesignError(f"{plan.name} computes with integers: errors of rounding are measured")
        if plan.has_factors:
            raise DesignError(f"{plan.name}: its factors are operands, and none are drawn: state constants")
        weights = weights_of(plan.schedule(n))
        x, y = (rounded(f, p) for f, p in zip(plan.formats, (a, b), strict=False))
        d = multiply_plan(plan, x, y, None, *ones(plan, rows, n, columns))
        given = [Scaled.of_patterns(f, p) for f, p in zip(plan.formats, (x, y), strict=False)]
        sizes = [
            np.abs(s.integers.astype(np.float64)) * 2.0**s.exponent for s in (_weighted(given[0], weights, n), given[1])
        ]
        target = product_in_fp32
        if reference is Reference.EXACT:
            given = [Scaled.of_patterns(OPERANDS, p) for p in (a, b)]
        elif plan.algorithm is not None and reference is Reference.ROUNDED:
            given = [_first_words(plan, side, p) for side, p in (("a", a), ("b", b))]
        if target is None:
            target = _weighted(given[0], weights, n).dot(given[1])
        bound = None if bound_of is None else bound_of(plan, *((a, b) if in_fp32 else (x, y)))
        yield point(plan, n, d, target, sizes[0] @ sizes[1], bound, above)


def ones(plan: Plan, rows: int, k: int, columns: int) -> tuple[Patterns | None, Patterns | None]:
    """Return scales of one for the blocks of a (rows, k) and b (k, columns); None where a plan has no scales."""
    fmt = plan.scale_format
    if fmt is None:
        return None, None
    shapes = (rows, plan.blocks(k)), (plan.blocks(k), columns)
    of_a, of_b = (np.full(x, fmt.encode(1), dtype=pattern_dtype(fmt)) for x in shapes)
    return of_a, of_b


def rounded(fmt: Format, patterns: Patterns) -> Patterns:
    """Return fp32 patterns rounded to a format, to nearest."""
    word = Arithmetic(ARRAYS).convert("", _numbers(OPERANDS, patterns), fmt, Rounding.RNE).word
    return np.asarray(word.data).astype(pattern_dtype(fmt))


@dataclass(frozen=True, slots=True)
class Scaled:
    """An array of numbers: integers (dtype object) times ``2**exponent``. Those that are not ``finite`` count as 0."""

    integers: npt.NDArray[Any]
    exponent: int
    finite: npt.NDArray[np.bool_]

    @classmethod
    def of_patterns(cls, fmt: Format, patterns: Patterns) -> Scaled:
        """Return the values of patterns."""
        x = _numbers(fmt, patterns)
        word, finite = exact_value(ARRAYS, x, x.span)
        integers = np.asarray(word.data, dtype=object)
        # fewer bits make products faster
        bits = int(np.bitwise_or.reduce(integers, axis=None)) or 1
        places = (bits & -bits).bit_length() - 1
        return cls(integers >> places, x.span.least + places, np.broadcast_to(finite.data, patterns.shape))

    def dot(self, other: Scaled) -> Scaled:
        """Return the product of two matrices."""
        finite = np.logical_and.outer(self.finite.all(axis=1), other.finite.all(axis=0))
        return Scaled(self.integers.dot(other.integers), self.exponent + other.exponent, finite)

    def at(self, exponent: int) -> npt.NDArray[Any]:
        """Return the integers for an ``exponent`` that is at most that of the array."""
        moved: npt.NDArray[Any] = self.integers << (self.exponent - exponent)
        return moved


def _numbers(fmt: Format, patterns: Patterns) -> Number[Any]:
    return Number(fmt, ARRAYS.from_patterns(patterns, fmt.bits), Span.of_format(fmt))


def _in_fp32(a: Patterns, b: Patterns) -> Scaled:
    """Return the product of an fp32 GEMM."""
    first, second = a.view(np.float32), b.view(np.float32)
    total = np.zeros((len(a), b.shape[1]), dtype=np.float32)
    for k in range(a.shape[1]):
        # both operations round to nearest in fp32, and an overflow gives no reference
        with np.errstate(over="ignore", invalid="ignore"):
            total = total + first[:, k, np.newaxis] * second[np.newaxis, k, :]
    return Scaled.of_patterns(OPERANDS, total.view(np.uint32))


def _first_words(plan: Plan, side: str, patterns: Patterns) -> Scaled:
    """Return the first words of an operand. Raises NoBoundError where they are not the rounded operand."""
    if not isinstance(plan.algorithm, SplitGemm):
        raise NoBoundError(f"{plan.label} rounds no operands: choose the reference exact or fp32")
    cut = plan.algorithm.split(plan.unit, side, (0,))
    ((first,), *_) = Arithmetic(ARRAYS).split(cut, [_numbers(OPERANDS, patterns)]).words
    return Scaled.of_patterns(first.fmt, first.word.data)


def _weighted(x: Scaled, weights: Weights, n: int) -> Scaled:
    """Return the rows with each element times the exact weight of its product."""
    found = [weights.products.get(k, Fraction(0)) for k in range(n)]
    denominator = lcm(*(w.denominator for w in found))
    factors = np.array([int(w * denominator) for w in found], dtype=object)
    return Scaled(x.integers * factors, x.exponent - (denominator.bit_length() - 1), x.finite)


def point(
    plan: Plan,
    n: int,
    d: Patterns,
    target: Scaled,
    magnitudes: npt.NDArray[np.float64],
    bound: Bound | None,
    above: float = 0.0,
) -> Point:
    """Return the statistics of the errors of ``d``. ``magnitudes`` are those of ``|A||B|``; ``above`` is at least 0."""
    fmt = plan.formats[3]
    result = Scaled.of_patterns(fmt, d)
    finite = result.finite & target.finite
    exponent = min(result.exponent, target.exponent)
    unit = Fraction(2) ** exponent
    errors = [int(x) * unit for x in (result.at(exponent) - target.at(exponent))[finite]]
    rows, columns = d.shape
    nothing = int((~finite).sum())
    if not errors:
        return Point(plan, n, rows, columns, None, None, None, None, None, nothing, bound)
    exact = [int(x) * unit for x in target.at(exponent)[finite]]
    sizes = np.array([float(abs(e)) for e in errors])
    squares = sum((e * e for e in errors), Fraction(0))
    norm = sum((x * x for x in exact), Fraction(0))
    quotients = [abs(e / x) for e, x in zip(errors, exact, strict=True) if abs(x) > above]
    return Point(
        plan,
        n,
        rows,
        columns,
        max(map(abs, errors)),
        float(sum(map(abs, errors)) / len(errors)),
        float((sizes / np.maximum(magnitudes[finite], np.finfo(np.float64).tiny)).max()),
        float(np.median([float(abs(e) / ulp(x, fmt)) for e, x in zip(errors, exact, strict=True)])),
        float(sum(errors) / len(errors)),
        nothing,
        bound,
        float(squares / len(errors)),
        math.sqrt(squares / norm) if norm else None,
        float(max(quotients)) if quotients else None,
    )
