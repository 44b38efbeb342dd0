"""Errors of plans on random matrices, measured on arrays against exact results, beside bounds that are proved for them.

The matrices are N x N, so N is the length of the dot products. Only some rows of A and columns of B are drawn, and the
elements of C = A B at their crossings are computed. Elements do not depend on each other, so these are the elements
that the whole matrices would give. The exact result is an integer times a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from html import escape
from math import inf, lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.gemm.answers.matrices import Distribution, find_distribution
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithm import OPERANDS, Algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span, exact_value
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.named import find_programs
from mmaproof.gemm.programs.normal_form import Weights, weights_of
from mmaproof.gemm.programs.parts import ASCENDING
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.gemm.tolerances.given import Given, rounded_up
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.walk import LossProof, bound_of_schedule
from mmaproof.gemm.tolerances.words import NoBoundError, bounded, rounded_magnitude, rounding_error
from mmaproof.smt.evaluate import ARRAYS
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.compare import DEFAULT_LIMITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FP64 = FORMATS["fp64"]


class Reference(StrEnum):
    """The value with which results are compared."""

    EXACT = "exact"
    """``c + sum a*b`` of the fp32 operands, exactly"""
    FP32 = "fp32"
    """an fp32 GEMM as Markidis et al. have it: product and sum rounded to nearest, k in order"""
    ROUNDED = "rounded"
    """the exact sum of the products of the operands rounded to the unit's format (their first words)"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bounds on magnitudes, numbers of fp32: ``|a[k]| <= a``, ``|b[k]| <= b`` and ``|c| <= c``."""

    a: Fraction
    b: Fraction
    c: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on ``|d - reference|``. It is None if there is none. ``reason`` says why, or by what it is proved.

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
    in_fp32: bool | None = None,
    above: float = 0.0,
) -> Iterator[Point]:
    """Yield the errors of each plan on the same random matrices, at most ``rows`` x ``columns`` elements of each.

    The matrices are of fp32, or of fp64 where a plan takes that, and depend only on seed, N and the distribution; c is
    0. A plan gets them rounded to its formats. ``reference`` is as ``reference_for`` has it. ``bound_of`` bounds the
    results of what a plan gets, and ``above`` is what the magnitude of a reference must exceed to be divided by. Raises
    DesignError if a plan cannot be computed for K = ``n`` or has factors that are operands, and for integers, and
    NoBoundError for a reference that has no meaning.
    """
    if in_fp32 is None:
        reference, in_fp32 = reference_for(plans, reference), any(x.algorithm is not None for x in plans)
    rows, columns = min(rows, n), min(columns, n)
    drawn = FP64 if any(f is FP64 for x in plans for f in x.operand_formats) else OPERANDS
    if drawn is FP64 and reference is Reference.FP32:
        raise InputError("plans that take fp64 are compared with the exact product: an fp32 GEMM takes fp32")
    a, b = distribution.draw(rows, n, columns, np.random.default_rng([seed, n]), drawn)
    product_in_fp32 = _in_fp32(a, b) if reference is Reference.FP32 else None
    for plan in plans:
        if any(f.is_integer for f in plan.formats):
            raise DesignError(f"{plan.name} computes with integers: errors of rounding are measured")
        if plan.has_factors:
            raise DesignError(f"{plan.name}: its factors are operands, and none are drawn: state constants")
        weights = weights_of(plan.schedule(n))
        x, y = (rounded(f, p, drawn) for f, p in zip(plan.formats, (a, b), strict=False))
        d = multiply_plan(plan, x, y, None, *ones(plan, rows, n, columns))
        given = [Scaled.of_patterns(f, p) for f, p in zip(plan.formats, (x, y), strict=False)]
        sizes = [
            np.abs(s.integers.astype(np.float64)) * 2.0**s.exponent for s in (_weighted(given[0], weights, n), given[1])
        ]
        target = product_in_fp32
        if reference is Reference.EXACT:
            given = [Scaled.of_patterns(drawn, p) for p in (a, b)]
        elif plan.algorithm is not None and reference is Reference.ROUNDED:
            given = [_first_words(plan, side, p) for side, p in (("a", x), ("b", y))]
        if target is None:
            target = _weighted(given[0], weights, n).dot(given[1])
        of_fp32 = in_fp32 and drawn is OPERANDS
        bound = None if bound_of is None else bound_of(plan, *((a, b) if of_fp32 else (x, y)))
        yield point(plan, n, d, target, sizes[0] @ sizes[1], bound, above)


def bound_of_results(tolerance: Tolerance, a: Patterns, b: Patterns) -> Bound:
    """Return the largest bound of the results of a (m, k) and b (k, n), which means nothing unless it is proved.

    Elements whose operands are not finite are left out, as their errors are.
    """
    scales = ones(tolerance.plan, len(a), tolerance.k, b.shape[1])
    bounds = tolerance.bound_of(tolerance.given(a, b, None, *scales))
    known = bounds[~np.isnan(bounds)]
    beyond = int(np.isinf(known).sum())
    if beyond or not known.size:
        return Bound(None, None, f"a number may overflow in {beyond} of {bounds.size} elements", bounds)
    return Bound(None, Fraction(float(known.max())), None, bounds)


def bound_of_sizes(plan: Plan, k: int, sizes: Sizes, reference: Reference = Reference.EXACT) -> Bound:
    """Return the bound for all operands of fp32 of some sizes, which means nothing unless it is proved.

    A plan without an algorithm gets the operands rounded. Raises DesignError if the plan does not run for N
    elements.
    """
    if plan.scale_format is not None or plan.has_factors:
        return Bound(sizes, None, "of scales and factors that are operands, no sizes are known")
    if reference is Reference.ROUNDED and plan.algorithm is not None and not isinstance(plan.algorithm, SplitGemm):
        return Bound(sizes, None, f"{plan.label} rounds no operands: choose the reference exact or fp32")
    a, b = (bounded(along, OPERANDS, x, k) for along, x in ((1, sizes.a), (0, sizes.b)))
    given = Given(a, b, np.full((1, 1), rounded_up(sizes.c)) if sizes.c else None)
    schedule, rounded = plan.with_open_orders(ASCENDING).schedule(k), reference is Reference.ROUNDED
    try:
        found = float(bound_of_schedule(schedule, given, rounded=rounded, any_order=plan.has_open_order)[0, 0])
    except NoBoundError as reason:
        return Bound(sizes, None, str(reason))
    if not found < inf:
        return Bound(sizes, None, "a number may overflow")
    return Bound(sizes, Fraction(found) + (_fp32_bound(k, sizes) if reference is Reference.FP32 else 0))


def _fp32_bound(k: int, sizes: Sizes) -> Fraction:
    """Return a bound on the error of an fp32 GEMM that rounds products and sums to nearest; c = 0."""
    exact = sizes.a * sizes.b
    of_product = rounding_error(exact, OPERANDS, Rounding.RNE)
    product, total, error = rounded_magnitude(exact, OPERANDS, Rounding.RNE), Fraction(0), Fraction(0)
    for i in range(k):
        most = total + product
        error += of_product + (rounding_error(most, OPERANDS, Rounding.RNE) if i else 0)
        total = rounded_magnitude(most, OPERANDS, Rounding.RNE)
    return error


def ones(plan: Plan, rows: int, k: int, columns: int) -> tuple[Patterns | None, Patterns | None]:
    """Return scales of one for the blocks of a (rows, k) and b (k, columns); None where a plan has no scales."""
    fmt = plan.scale_format
    if fmt is None:
        return None, None
    shapes = (rows, plan.blocks(k)), (plan.blocks(k), columns)
    of_a, of_b = (np.full(x, fmt.encode(1), dtype=pattern_dtype(fmt)) for x in shapes)
    return of_a, of_b


def rounded(fmt: Format, patterns: Patterns, of: Format = OPERANDS) -> Patterns:
    """Return patterns of fp32, or of another format, rounded to a format, to nearest."""
    word = Arithmetic(ARRAYS).convert("", _numbers(of, patterns), fmt, Rounding.RNE).word
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
        float(np.median([float(abs(e) / fmt.ulp(x)) for e, x in zip(errors, exact, strict=True)])),
        float(sum(errors) / len(errors)),
        nothing,
        bound,
        float(squares / len(errors)),
        math.sqrt(squares / norm) if norm else None,
        float(max(quotients)) if quotients else None,
    )


COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
"""Of the plans, in order; people who see no red or green tell them apart too."""


def write_picture(path: Path, points: Sequence[Point], title: str) -> None:
    """Write the picture of ``draw_errors`` as a file. Raises InputError where it cannot be written."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot()
    draw_errors(axes, points)
    axes.set_title(title, fontsize=9)
    try:
        figure.savefig(path, format=path.suffix.lower()[1:], dpi=150)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def draw_errors(axes: Axes, points: Sequence[Point]) -> None:
    """Draw the largest error against N, both logarithmic, and bounds as dashed lines.

    One line for each plan; an error of zero is left out, and so is a bound where there is none.
    """
    for i, name in enumerate(dict.fromkeys(x.plan.label for x in points)):
        colour, of_one = COLOURS[i % len(COLOURS)], [x for x in points if x.plan.label == name]
        errors = [(x.n, float(x.largest)) for x in of_one if x.largest]
        bounds = [(x.n, float(x.bound.value)) for x in of_one if x.bound is not None and x.bound.value]
        for line, style, label in ((errors, "o-", name), (bounds, "--", f"{name}, bound")):
            if line:
                axes.loglog(*zip(*line, strict=True), style, color=colour, label=label, markersize=4, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("N = K (elements of a dot product)")
    axes.set_ylabel("largest |d - reference| (in units of d)")
    axes.grid(linewidth=0.3)
    if axes.get_legend_handles_labels()[0]:
        # below the points, so that names of any length leave them their width
        axes.figure.legend(fontsize=8, loc="outside lower left")


def tighter(first: Point, second: Point) -> tuple[int, int, int]:
    """Return of how many elements the first bound is the smaller one, the second is, and both are the same.

    Raises DesignError for points that are not of the same matrices, or without bounds.
    """
    bounds = [None if x.bound is None else x.bound.elements for x in (first, second)]
    if bounds[0] is None or bounds[1] is None or bounds[0].shape != bounds[1].shape:
        raise DesignError("two bounds are compared that are proved, of results of the same matrices")
    below, above = (int(np.count_nonzero(x < y)) for x, y in ((bounds[0], bounds[1]), (bounds[1], bounds[0])))
    return below, above, bounds[0].size - below - above


@dataclass(frozen=True)
class MeasuredErrors:
    """Errors of plans, or of algorithms on a unit: a ``Point`` for each of them and each size.

    ``step`` says whether the losses that the bounds rest on are proved; it is None for plans without an algorithm,
    whose points say it themselves, and where no bounds were asked for. ``undecided`` says whether a solver did not
    answer in time.
    """

    points: tuple[Point, ...]
    distribution: Distribution
    reference: Reference
    step: LossProof | None = None
    undecided: bool = False

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(x.plan.label for x in self.points))
        sizes = ", ".join(map(str, dict.fromkeys(x.n for x in self.points)))
        return f"<errors of {names}: k = {sizes}, {self.distribution.what}, against {self.reference}>"

    def draw(self, axes: Axes) -> None:
        """Draw the largest errors against k into axes of Matplotlib, both logarithmic, and bounds as dashed lines."""
        draw_errors(axes, self.points)

    def _repr_html_(self) -> str:
        heads = ("program", "k", "largest", "mean", "relative", "ulps", "bias", "bound", "left out: not finite")
        rows: list[tuple[str, ...]] = [heads]
        for x in self.points:
            bound = None if x.bound is None or x.bound.value is None else rounded_up(x.bound.value)
            largest = None if x.largest is None else float(x.largest)
            numbers = [largest, x.mean, x.relative, x.ulps, x.bias, bound]
            shown = ("-" if v is None else f"{v:.3g}" for v in numbers)
            rows.append((x.plan.label, str(x.n), *shown, str(x.not_finite)))
        head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
        table = f"<tr>{head.replace('td>', 'th>')}</tr>" + "".join(f"<tr>{row}</tr>" for row in body)
        return f"<table><caption>{escape(repr(self)[1:-1])}</caption>{table}</table>"


def measure_errors(
    programs: Algorithm | Plan | str | Sequence[Algorithm | Plan | str],
    sizes: int | Sequence[int],
    unit: Design | str | None = None,
    *,
    distribution: str = "uniform",
    reference: Reference | str = Reference.EXACT,
    rows: int = 32,
    columns: int = 32,
    seed: int = 0,
    bound: bool = True,
    above: float = 0.0,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
) -> MeasuredErrors:
    """Measure the errors of plans, or of algorithms on a unit, on random matrices, and compare them with proved bounds.

    ``programs`` are plans, or algorithms, which run on ``unit``, or names and texts of them. ``sizes`` are
    lengths of the dot products. Of random square matrices of each size ``rows`` rows of A and ``columns`` columns of B
    are drawn, and c = 0. ``distribution`` is uniform (-1..1), uniform-16, positive (0..1), normal, ootomo-yokota-1 or
    exponents=LO..HI[,LO..HI]. ``reference`` is what results are compared with: exact, fp32 (an fp32 GEMM), or rounded
    (the exact product of operands in the unit's format, and the only one of plans without an algorithm among them).
    ``above`` is what the magnitude of a reference must exceed for ``relative_above``, the largest error relative to it.
    ``limits``, or a number of seconds, are for each proof; without ``bound`` nothing is proved.

    Raises InputError for a name that is not known and for numbers out of range, DesignError for what does not fit the
    unit.

    >>> import mmaproof
    >>> found = mmaproof.measure_errors("hopper/wgmma.f32.f16.f16 | c=none", 32, rows=2, columns=2, bound=False)
    >>> len(found.points)
    1
    """
    given = [programs] if isinstance(programs, Algorithm | Plan | str) else list(programs)
    lengths = [sizes] if isinstance(sizes, int) else list(sizes)
    asked = {"sizes": (lengths, 1), "rows": ([rows], 1), "columns": ([columns], 1), "seed": ([seed], 0)}
    for name, (values, least) in asked.items():
        if not values or any(isinstance(x, bool) or not isinstance(x, int) or x < least for x in values):
            raise InputError(f"{name} = {values}: integers from {least} on are needed")
    if not given:
        raise InputError("programs = []: at least one algorithm or plan is needed")
    drawn, target = find_distribution(distribution), reference_of(reference)
    plans = find_programs(given, unit)
    means = (Solving.of(solver), Limits.of(limits)) if bound else None
    if not above >= 0:
        raise InputError(f"above = {above}: a number from 0 on is needed")
    return errors_of(plans, lengths, drawn, target, (rows, columns), seed, means, above=above)


@dataclass(frozen=True)
class ErrorTask:
    """A measurement of plans at one size. It is plain data, so that another process can run it.

    ``proofs`` say of each plan whether what its bound rests on is proved, and by what; they are empty where no bounds
    are asked for. Beside an algorithm bounds are for the largest operands of the distribution, or of those that were
    drawn if it has no limit. Bounds of plans alone are those of the results.
    """

    plans: tuple[Plan, ...]
    n: int
    distribution: str
    reference: Reference
    shape: tuple[int, int]
    seed: int
    in_fp32: bool
    proofs: tuple[LossProof, ...] = ()
    above: float = 0.0

    def points(self) -> list[Point]:
        """Return the errors."""
        drawn, (rows, columns) = find_distribution(self.distribution), self.shape
        proofs = dict(zip(self.plans, self.proofs, strict=False))

        def bound_of(plan: Plan, a: Patterns, b: Patterns) -> Bound:
            proof = proofs[plan]
            if not proof.proved:
                return Bound(None, None, f"nothing is proved: {proof.reason}")
            if self.in_fp32:
                if FP64 in plan.operand_formats:
                    return Bound(None, None, f"{plan.label} takes fp64, of whose sizes no bound is composed")
                largest = (Fraction(float(np.abs(x.view(np.float32)).max())) for x in (a, b))
                return bound_of_sizes(plan, self.n, Sizes(*(drawn.sizes or largest)), self.reference)
            found = bound_of_results(Tolerance(plan, self.n), a, b)
            return found if found.value is None else replace(found, reason=proof.reason)

        found = measure(
            self.plans,
            self.n,
            drawn,
            reference=self.reference,
            rows=rows,
            columns=columns,
            seed=self.seed,
            bound_of=bound_of if self.proofs else None,
            in_fp32=self.in_fp32,
            above=self.above,
        )
        return list(found)


def errors_of(
    plans: Sequence[Plan],
    sizes: Sequence[int],
    drawn: Distribution,
    reference: Reference,
    shape: tuple[int, int],
    seed: int,
    proving: tuple[Solving, Limits] | None,
    *,
    above: float = 0.0,
    apart: bool = False,
    run: Callable[[list[ErrorTask]], Iterable[list[Point]]] = lambda tasks: map(ErrorTask.points, tasks),
) -> MeasuredErrors:
    """Return the errors of plans at some sizes. Bounds are proved by ``proving``, and left out where it is None.

    ``run`` runs the tasks, ``apart`` one for each plan.
    """
    for plan in plans:
        for n in sizes:
            plan.schedule(n)
    target, in_fp32 = reference_for(plans, reference), any(x.algorithm is not None for x in plans)
    tasks: list[ErrorTask] = []
    proofs: list[LossProof] = []
    for n in sizes:
        for some in [(x,) for x in plans] if apart else [tuple(plans)]:
            found = () if proving is None else tuple(Tolerance(x, n, (), *proving).proof for x in some)
            proofs += found
            tasks.append(ErrorTask(some, n, drawn.name, target, shape, seed, in_fp32, found, above))
    points = tuple(point for some in run(tasks) for point in some)
    step = joined(proofs) if proofs and in_fp32 else None
    return MeasuredErrors(points, drawn, target, step, any(x.undecided for x in proofs))


def joined(proofs: Sequence[LossProof]) -> LossProof:
    """Return whether all is proved, and by what."""
    distinct = list(dict.fromkeys(proofs))
    first = next((x for x in distinct if not x.proved), distinct[0])
    reasons = dict.fromkeys(x.reason for x in distinct)
    return replace(first, reason="; ".join(reasons), seconds=sum(x.seconds for x in distinct))


def reference_of(text: Reference | str) -> Reference:
    """Return the reference that a text spells. Raises InputError."""
    try:
        return Reference(text)
    except ValueError:
        raise InputError(f"reference {text}: one of {', '.join(Reference)}") from None
