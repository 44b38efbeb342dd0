"""Errors of algorithms and plans on random matrices, beside the bounds that are proved for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from mmaproof.algorithms.algorithm import Algorithm
from mmaproof.algorithms.plans.named import find_gemm
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.plans import Plan
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.tolerances.error_picture import draw_errors
from mmaproof.tolerances.measured import ProvedBounds
from mmaproof.verification.compare import DEFAULT_LIMITS
from mmaproof.verification.gemm.bounds import Reference, StepProof, prove_step, rounded_up
from mmaproof.verification.gemm.error import Point, points_of, tasks_of
from mmaproof.verification.gemm.matrices import Distribution, find_distribution
from mmaproof.verification.gemm.plan_error import measure_plans

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class MeasuredErrors:
    """Errors of algorithms on one unit, or of plans: a ``Point`` for each of them and each size.

    ``step`` says whether the bound of one step of the unit is proved; it is None for plans, whose points say it
    themselves, and where no bounds were asked for. ``undecided`` says whether a solver did not answer in time.
    """

    points: tuple[Point, ...]
    distribution: Distribution
    reference: Reference
    step: StepProof | None = None
    undecided: bool = False

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(x.algorithm.name for x in self.points))
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
            rows.append((x.algorithm.name, str(x.n), *shown, str(x.not_finite)))
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
    """Measure the errors of algorithms on a unit, or of plans, on random matrices, beside a bound that is proved.

    ``programs`` are algorithms, for which ``unit`` is needed, or plans, or names and texts of them. ``sizes`` are
    lengths of the dot products. Of random square matrices of each size ``rows`` rows of A and ``columns`` columns of B
    are drawn, and c = 0. ``distribution`` is uniform (-1..1), uniform-16, positive (0..1), normal, ootomo-yokota-1 or
    exponents=LO..HI[,LO..HI]. ``reference`` is what results are compared with: exact, fp32 (an fp32 GEMM), or rounded
    (the exact product of operands in the unit's format, and the only one of plans). ``limits``, or a number of
    seconds, are for each proof; without ``bound`` nothing is proved.

    Raises InputError for a name that is not known, for algorithms and plans together and for numbers out of range,
    DesignError for what does not fit the unit.
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
    found = [find_gemm(x, unit) for x in given]
    plans = [x for x, _ in found if isinstance(x, Plan)]
    algorithms = [x for x, _ in found if isinstance(x, Algorithm)]
    solving, allowed = Solving.of(solver), Limits.of(limits)
    if plans and algorithms:
        raise InputError("algorithms and plans are measured against different references: ask of them one by one")
    if plans:
        if target is Reference.FP32:
            raise InputError("plans are compared with the exact product of rounded operands, and with nothing else")
        return errors_of_plans(plans, lengths, drawn, (rows, columns), seed, (solving, allowed) if bound else None)
    design = found[0][1]
    step = prove_step(design, solver=solving, limits=allowed) if bound else None
    bounded = step is not None and step.proved
    tasks = tasks_of(algorithms, design, lengths, drawn, target, (rows, columns), seed, bounded)
    points = [point for task in tasks for point in points_of(task)]
    return MeasuredErrors(tuple(points), drawn, target, step, step is not None and step.undecided)


def errors_of_plans(
    plans: Sequence[Plan],
    sizes: Sequence[int],
    drawn: Distribution,
    shape: tuple[int, int],
    seed: int,
    proving: tuple[Solving, Limits] | None,
) -> MeasuredErrors:
    """Return the errors of plans at some sizes. Bounds are proved by ``proving``, and left out where it is None."""
    bounds = None if proving is None else ProvedBounds(*proving)
    rows, columns = shape
    points: list[Point] = []
    for n in sizes:
        points += measure_plans(plans, n, drawn, rows=rows, columns=columns, seed=seed, bound_of=bounds)
    undecided = bounds is not None and bounds.undecided
    return MeasuredErrors(tuple(points), drawn, Reference.ROUNDED, None, undecided)


def reference_of(text: Reference | str) -> Reference:
    """Return the reference that a text spells. Raises InputError."""
    try:
        return Reference(text)
    except ValueError:
        raise InputError(f"reference {text}: one of {', '.join(Reference)}") from None
