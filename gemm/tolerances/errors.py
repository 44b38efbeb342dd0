"""Errors of plans on random matrices, beside the bounds that are proved for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.answers.bounds import Reference, Sizes, StepProof, error_bound, joined, prove_step, rounded_up
from mmaproof.gemm.answers.enclosure import NoBoundError
from mmaproof.gemm.answers.error import Bound, Point, measure, ones, reference_for
from mmaproof.gemm.answers.matrices import Distribution, find_distribution
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.named import find_programs
from mmaproof.gemm.tolerances.proof import LIMITS
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.compare import DEFAULT_LIMITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    axes.set_xlabel("N = K")
    axes.set_ylabel("largest error")
    axes.grid(linewidth=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))  # beside the points, not on them


@dataclass
class ProvedBounds:
    """Bounds the results of plans. ``tolerances`` are those of the plans so far, by plan and K."""

    solving: Solving | None = None
    limits: Limits = LIMITS
    tolerances: dict[tuple[Plan, int], Tolerance] = field(default_factory=dict)

    def __call__(self, plan: Plan, a: Patterns, b: Patterns) -> Bound:
        """Return the largest bound of the results of a (m, k) and b (k, n); its reason says by what it is proved.

        Elements whose operands are not finite are left out, as their errors are.
        """
        k = int(a.shape[1])
        found = self.tolerances.setdefault((plan, k), Tolerance(plan, k, (), self.solving, self.limits))
        if not found.proved:
            return Bound(None, None, f"nothing is proved: {found.proof.reason}")
        bounds = found.bound_of(found.given(a, b, None, *ones(plan, len(a), k, b.shape[1])))
        known = bounds[~np.isnan(bounds)]
        beyond = int(np.isinf(known).sum())
        if beyond or not known.size:
            return Bound(None, None, f"a number may overflow in {beyond} of {bounds.size} elements", bounds)
        return Bound(None, Fraction(float(known.max())), found.proof.reason, bounds)

    @property
    def undecided(self) -> bool:
        """Whether a solver did not answer in time for some plan."""
        return any(x.proof.undecided for x in self.tolerances.values())


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

    ``step`` says whether the bound of one step of each unit is proved; it is None for plans without an algorithm, whose
    points say it themselves, and where no bounds were asked for. ``undecided`` says whether a solver did not answer in
    time.
    """

    points: tuple[Point, ...]
    distribution: Distribution
    reference: Reference
    step: StepProof | None = None
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
    """Measure the errors of plans, or of algorithms on a unit, on random matrices, beside a bound that is proved.

    ``programs`` are plans, or algorithms, which run on ``unit``, or names and texts of them. ``sizes`` are
    lengths of the dot products. Of random square matrices of each size ``rows`` rows of A and ``columns`` columns of B
    are drawn, and c = 0. ``distribution`` is uniform (-1..1), uniform-16, positive (0..1), normal, ootomo-yokota-1 or
    exponents=LO..HI[,LO..HI]. ``reference`` is what results are compared with: exact, fp32 (an fp32 GEMM), or rounded
    (the exact product of operands in the unit's format, and the only one of plans without an algorithm among them).
    ``above`` is what the magnitude of a reference must exceed for ``relative_above``, the largest error relative to it.
    ``limits``, or a number of seconds, are for each proof; without ``bound`` nothing is proved.

    Raises InputError for a name that is not known and for numbers out of range, DesignError for what does not fit the
    unit.
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

    ``bounded`` are the plans whose bound is composed, for the largest operands of the distribution, or of those that
    were drawn if it has no limit.
    """

    plans: tuple[Plan, ...]
    n: int
    distribution: str
    reference: Reference
    shape: tuple[int, int]
    seed: int
    bounded: frozenset[Plan]
    above: float = 0.0

    def points(self) -> list[Point]:
        """Return the errors."""
        drawn = find_distribution(self.distribution)

        def bound_of(plan: Plan, a: Patterns, b: Patterns) -> Bound | None:
            if plan not in self.bounded:
                return None
            largest = (Fraction(float(np.abs(x.view(np.float32)).max())) for x in (a, b))
            sizes = Sizes(*(drawn.sizes or largest))
            try:
                return Bound(sizes, error_bound(plan, self.n, sizes, self.reference))
            except NoBoundError as reason:
                return Bound(sizes, None, str(reason))

        rows, columns = self.shape
        found = measure(
            self.plans,
            self.n,
            drawn,
            reference=self.reference,
            rows=rows,
            columns=columns,
            seed=self.seed,
            bound_of=bound_of,
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

    ``run`` runs the tasks of plans among which is an algorithm, ``apart`` one for each plan. The bounds of other plans
    are those of their results on the matrices that were drawn.
    """
    for plan in plans:
        for n in sizes:
            plan.schedule(n)
    target = reference_for(plans, reference)
    if not any(x.algorithm for x in plans):
        bounds = None if proving is None else ProvedBounds(*proving)
        found = [
            point
            for n in sizes
            for point in measure(
                plans, n, drawn, rows=shape[0], columns=shape[1], seed=seed, bound_of=bounds, above=above
            )
        ]
        return MeasuredErrors(tuple(found), drawn, target, None, bounds is not None and bounds.undecided)
    units = {} if proving is None else {x.unit: x for x in plans}
    steps = {x: prove_step(x, solver=proving[0], limits=proving[1]) for x in units} if proving is not None else {}
    bounded = frozenset(x for x in plans if x.unit in steps and steps[x.unit].proved)
    together = [(x,) for x in plans] if apart else [tuple(plans)]
    tasks = [ErrorTask(some, n, drawn.name, target, shape, seed, bounded, above) for n in sizes for some in together]
    points = tuple(point for some in run(tasks) for point in some)
    step = joined(list(steps.values())) if steps else None
    return MeasuredErrors(points, drawn, target, step, step is not None and step.undecided)


def reference_of(text: Reference | str) -> Reference:
    """Return the reference that a text spells. Raises InputError."""
    try:
        return Reference(text)
    except ValueError:
        raise InputError(f"reference {text}: one of {', '.join(Reference)}") from None
