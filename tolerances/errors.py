"""Errors of plans on random matrices, beside the bounds that are proved for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from mmaproof.algorithms.named import find_programs
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import Patterns
from mmaproof.designs.plans import Plan
from mmaproof.designs.plans.algorithm import Algorithm
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.tolerances.error_picture import draw_errors
from mmaproof.tolerances.measured import ProvedBounds
from mmaproof.verification.compare import DEFAULT_LIMITS
from mmaproof.verification.gemm.bounds import Reference, Sizes, StepProof, error_bound, joined, prove_step, rounded_up
from mmaproof.verification.gemm.enclosure import NoBoundError
from mmaproof.verification.gemm.error import Bound, Point, measure, reference_for
from mmaproof.verification.gemm.matrices import Distribution, find_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
) -> MeasuredErrors:
    """Measure the errors of plans, or of algorithms on a unit, on random matrices, beside a bound that is proved.

    ``programs`` are plans, or algorithms, which run on ``unit``, or names and texts of them. ``sizes`` are
    lengths of the dot products. Of random square matrices of each size ``rows`` rows of A and ``columns`` columns of B
    are drawn, and c = 0. ``distribution`` is uniform (-1..1), uniform-16, positive (0..1), normal, ootomo-yokota-1 or
    exponents=LO..HI[,LO..HI]. ``reference`` is what results are compared with: exact, fp32 (an fp32 GEMM), or rounded
    (the exact product of operands in the unit's format, and the only one of plans without an algorithm among them).
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
    return errors_of(plans, lengths, drawn, target, (rows, columns), seed, means)


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
            for point in measure(plans, n, drawn, rows=shape[0], columns=shape[1], seed=seed, bound_of=bounds)
        ]
        return MeasuredErrors(tuple(found), drawn, target, None, bounds is not None and bounds.undecided)
    units = {} if proving is None else {x.unit: x for x in plans}
    steps = {x: prove_step(x, solver=proving[0], limits=proving[1]) for x in units} if proving is not None else {}
    bounded = frozenset(x for x in plans if x.unit in steps and steps[x.unit].proved)
    together = [(x,) for x in plans] if apart else [tuple(plans)]
    tasks = [ErrorTask(some, n, drawn.name, target, shape, seed, bounded) for n in sizes for some in together]
    points = tuple(point for some in run(tasks) for point in some)
    step = joined(list(steps.values())) if steps else None
    return MeasuredErrors(points, drawn, target, step, step is not None and step.undecided)


def reference_of(text: Reference | str) -> Reference:
    """Return the reference that a text spells. Raises InputError."""
    try:
        return Reference(text)
    except ValueError:
        raise InputError(f"reference {text}: one of {', '.join(Reference)}") from None
