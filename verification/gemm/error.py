"""Errors of algorithms on random matrices, measured on arrays against exact results and compared with bounds.

The matrices are N x N, so N is the length of the dot products. Only some rows of A and columns of B are drawn, and the
elements of C = A B at their crossings are computed. Elements do not depend on each other, so these are the elements
that the whole matrices would give. The exact result is an integer times a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.algorithms.algorithm import OPERANDS, Algorithm
from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.evaluate import as_number, multiply
from mmaproof.algorithms.exact import exact_value
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.designs.plans.plan import Plan
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.verification.gemm.bounds import Reference, Sizes, error_bound, first_word
from mmaproof.verification.gemm.compare import ulp
from mmaproof.verification.gemm.enclosure import NoBoundError
from mmaproof.verification.gemm.matrices import Distribution, find_distribution

_ARRAYS = ArrayAlgebra()


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
    """Errors ``d - reference`` of an algorithm or a plan over the computed elements of an N x N product.

    ``relative`` is the largest error relative to ``sum |a||b|``. ``ulps`` is the median error in units in the last
    place of the reference in the format of d. ``bias`` is the mean of the signed errors. Elements whose d or reference
    is not finite are counted and left out of these three. All three are None if no element is finite.
    """

    algorithm: Algorithm | Plan
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


def measure(
    algorithms: Sequence[Algorithm],
    unit: Design,
    n: int,
    distribution: Distribution,
    *,
    reference: Reference = Reference.EXACT,
    rows: int = 32,
    columns: int = 32,
    seed: int = 0,
    bounded: bool = False,
) -> Iterator[Point]:
    """Yield the errors of each algorithm on the same random matrices, at most ``rows`` x ``columns`` elements of each.

    The matrices depend only on seed, N and the distribution; c is 0. ``bounded`` composes bounds too. They are for the
    largest operands of the distribution, or for the largest that were drawn if the distribution has no limit.
    Raises DesignError if an algorithm does not run on ``unit`` or N does not fit, and NoBoundError for a reference that
    has no meaning.
    """
    for algorithm in algorithms:
        algorithm.require(unit)
    unit.padded_length(n)
    rows, columns = min(rows, n), min(columns, n)
    a, b = distribution.draw(rows, n, columns, np.random.default_rng([seed, n]))
    first, second = (x.view(np.float32).astype(np.float64) for x in (a, b))
    magnitudes = np.abs(first) @ np.abs(second)
    sizes = Sizes(*(distribution.sizes or (Fraction(float(np.abs(x).max())) for x in (first, second))))
    common = None if reference is Reference.ROUNDED else _reference(reference, a, b)
    for algorithm in algorithms:
        target = common or _rounded(algorithm, unit, a, b)
        d = multiply(algorithm, unit, a, b, np.zeros((rows, columns), dtype=np.uint32))
        bound = _bound(algorithm, unit, n, sizes, reference) if bounded else None
        yield point(algorithm, n, d, target, magnitudes, bound)


@dataclass(frozen=True)
class Task:
    """A measurement of algorithms at one size. It is plain data, so that another process can run it."""

    algorithms: tuple[Algorithm, ...]
    unit: Design
    n: int
    distribution: str
    reference: Reference
    rows: int
    columns: int
    seed: int
    bounded: bool


def tasks_of(
    algorithms: Sequence[Algorithm],
    unit: Design,
    sizes: Sequence[int],
    distribution: Distribution,
    reference: Reference,
    shape: tuple[int, int],
    seed: int,
    bounded: bool,
    *,
    apart: bool = False,
) -> list[Task]:
    """Return a task for each size, or ``apart`` one for each size and algorithm. ``shape`` is of the drawn elements.

    Algorithms of one task share the matrices and their exact product.
    """
    together = [(x,) for x in algorithms] if apart else [tuple(algorithms)]
    return [
        Task(some, unit, n, distribution.name, reference, *shape, seed, bounded) for n in sizes for some in together
    ]


def points_of(task: Task) -> list[Point]:
    """Return the errors that ``task`` describes."""
    found = measure(
        task.algorithms,
        task.unit,
        task.n,
        find_distribution(task.distribution),
        reference=task.reference,
        rows=task.rows,
        columns=task.columns,
        seed=task.seed,
        bounded=task.bounded,
    )
    return list(found)


@dataclass(frozen=True, slots=True)
class Scaled:
    """An array of numbers: integers (dtype object) times ``2**exponent``. Those that are not ``finite`` count as 0."""

    integers: npt.NDArray[Any]
    exponent: int
    finite: npt.NDArray[np.bool_]

    @classmethod
    def of_patterns(cls, fmt: Format, patterns: Patterns) -> Scaled:
        """Return the values of patterns."""
        x = Number(fmt, _ARRAYS.from_patterns(patterns, fmt.bits), Span.of_format(fmt))
        word, finite = exact_value(_ARRAYS, x, x.span)
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


def _reference(reference: Reference, a: Patterns, b: Patterns) -> Scaled:
    """Return the exact product of fp32 matrices, or the product of an fp32 GEMM."""
    if reference is Reference.FP32:
        first, second = a.view(np.float32), b.view(np.float32)
        total = np.zeros((len(a), b.shape[1]), dtype=np.float32)
        for k in range(a.shape[1]):
            # both operations round to nearest in fp32, and an overflow gives no reference
            with np.errstate(over="ignore", invalid="ignore"):
                total = total + first[:, k, np.newaxis] * second[np.newaxis, k, :]
        return Scaled.of_patterns(OPERANDS, total.view(np.uint32))
    return Scaled.of_patterns(OPERANDS, a).dot(Scaled.of_patterns(OPERANDS, b))


def _rounded(algorithm: Algorithm, unit: Design, a: Patterns, b: Patterns) -> Scaled:
    """Return the exact product of the matrices of the algorithm's first words."""
    rounded = []
    for operand, fmt, patterns in (("a", unit.a_format, a), ("b", unit.b_format, b)):
        x = as_number(_ARRAYS.from_patterns(patterns, OPERANDS.bits))
        (word,) = first_word(algorithm, algorithm.words(Arithmetic(_ARRAYS), unit, operand, [x]))
        rounded.append(Scaled.of_patterns(fmt, word.word.data))
    return rounded[0].dot(rounded[1])


def _bound(algorithm: Algorithm, unit: Design, n: int, sizes: Sizes, reference: Reference) -> Bound:
    try:
        return Bound(sizes, error_bound(algorithm, unit, n, sizes, reference))
    except NoBoundError as reason:
        return Bound(sizes, None, str(reason))


def point(
    program: Algorithm | Plan,
    n: int,
    d: Patterns,
    target: Scaled,
    magnitudes: npt.NDArray[np.float64],
    bound: Bound | None,
    fmt: Format = OPERANDS,
) -> Point:
    """Return the statistics of the errors of ``d``, patterns of ``fmt``. ``magnitudes`` are those of ``|A||B|``."""
    result = Scaled.of_patterns(fmt, d)
    finite = result.finite & target.finite
    exponent = min(result.exponent, target.exponent)
    unit = Fraction(2) ** exponent
    errors = [int(x) * unit for x in (result.at(exponent) - target.at(exponent))[finite]]
    rows, columns = d.shape
    nothing = int((~finite).sum())
    if not errors:
        return Point(program, n, rows, columns, None, None, None, None, None, nothing, bound)
    exact = [int(x) * unit for x in target.at(exponent)[finite]]
    sizes = np.array([float(abs(e)) for e in errors])
    return Point(
        program,
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
    )
