"""`mmaproof gemm error`: errors of algorithms on random matrices, and the bound that they stay within."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli import output as out
from mmaproof.cli.gemm.options import Unit
from mmaproof.cli.showing import moved
from mmaproof.designs.errors import InputError

NOT_FINITE = "they or their references are not finite"
MEANINGS = {
    "exact": "the exact product",
    "fp32": "an fp32 GEMM (product and sum rounded to nearest, k in order)",
    "rounded": "the exact product of the operands as rounded to the unit's format",
}


@opt.with_backend
@opt.with_options(without="search jobs certify seed")
def error(
    names: Annotated[
        list[str],
        opt.argument(
            "ALGORITHM|PLAN...",
            "Names that `mmaproof list algorithms` lists, with @parameter=value,... to change one; or plans.",
        ),
    ],
    k: Annotated[str, opt.option("--k N[,N...]", "Sizes of square matrices, the lengths of the dot products.")],
    unit: Unit = None,
    distribution: opt.DistributionName = "uniform",
    reference: Annotated[
        str, opt.option("--reference NAME", "What results are compared with: exact, fp32 or rounded.")
    ] = "exact",
    rows: Annotated[int, opt.option("--rows N", "Rows of A that are drawn.", min=1)] = 32,
    columns: Annotated[int, opt.option("--columns N", "Columns of B that are drawn.", min=1)] = 32,
    seed: Annotated[int, opt.option("--seed N", "Seed of the matrices.", min=0)] = 0,
    above: Annotated[
        float | None,
        opt.option(
            "--above T",
            "Show the mean squared error, the Frobenius norm of the errors relative to that of the reference, and "
            "the largest error relative to a reference above T in magnitude.",
            min=0,
        ),
    ] = None,
    bound: Annotated[
        bool, opt.option("--bound/--no-bound", "Show the proved bound of the errors: it takes a solver.")
    ] = True,
    options: opt.SolvingOptions = opt.SOLVING,
    dask: opt.Dask = None,
    figure: Annotated[
        Path | None, opt.option("--figure FILE", "Draw error against N: a .svg, .pdf or .png file.")
    ] = None,
    output: Annotated[Path | None, opt.option("-o --output", hidden=True, callback=moved("-o", "--figure"))] = None,
    as_csv: Annotated[Path | None, opt.option("--csv FILE", "Write the errors as comma-separated values.")] = None,
    as_tex: Annotated[Path | None, opt.option("--tex FILE", "Write the errors as a tabular of LaTeX.")] = None,
    json: opt.Json = False,
) -> int:
    """Measure the errors of algorithms or of plans on random matrices, and compare them with a bound that is proved.

    Rows of A and columns of B are drawn, and their elements of C = A B computed as the algorithm does on the unit. The
    bound of an algorithm, and of a plan beside one, holds for all operands of the sizes that are said. That of plans
    alone is the largest one of the elements that are computed, as `mmaproof tolerance` has it; with two plans or more,
    the output says which has the smaller one. For some units or sizes there is none: the output says why. Exit status
    3: whether one step of the unit is within its bound was not decided in time.
    """
    from mmaproof.cli.gemm.options import find_plans
    from mmaproof.cli.matrix_text import require_pictures

    sizes, drawn, target = (
        parse_sizes(k),
        lib.matrices.find_distribution(distribution),
        lib.gemm_errors.reference_of(reference),
    )
    if figure is not None:
        require_pictures(figure)
    plans = find_plans(names, unit)
    if target.value != "exact" and not any(x.algorithm for x in plans):
        raise InputError(f"--reference {reference}: plans are compared with the exact product of rounded operands")
    lib.files.make_way(figure, as_csv, as_tex)
    proving = (options.solving, options.limits) if bound else None
    with out.progress("measuring errors, and proving what steps lose"), opt.runner(dask, options.solving) as run:
        found = lib.gemm_errors.errors_of(
            plans,
            sizes,
            drawn,
            target,
            (rows, columns),
            seed,
            proving,
            above=above or 0.0,
            apart=dask is not None,
            run=lambda tasks: out.counted(run(lib.gemm_errors.ErrorTask.points, tasks), "sizes", len(tasks)),
        )
    measured = Measured(found, plans, seed, above or 0.0)
    if json:
        out.print_json(measured.answer())
    else:
        measured.print(above)
    if as_csv is not None:
        lib.files.write_atomically(as_csv, measured.csv_text())
    if as_tex is not None:
        lib.files.write_atomically(as_tex, measured.tex_text())
    if figure is not None:
        measured.write_picture(figure)
    return out.Exit.UNKNOWN if found.undecided else out.Exit.HOLDS


@dataclass(frozen=True)
class Measured:
    """The errors of plans on matrices that were drawn with a seed."""

    found: lib.gemm_errors.MeasuredErrors
    plans: Sequence[lib.plan.Plan]
    seed: int
    above: float
    """what the magnitude of a reference exceeds for ``relative_above``"""

    @property
    def units(self) -> list[lib.design.Design]:
        """The units that the plans call, each once."""
        return list(dict.fromkeys(y for x in self.plans for y in x.units))

    @property
    def name(self) -> str:
        """The unit, if all are algorithms on one; else "plans"."""
        units = self.units
        return units[0].name if len(units) == 1 and all(x.is_algorithm for x in self.plans) else "plans"

    @property
    def run(self) -> dict[str, Any]:
        """What all points have in common: unit, distribution, reference, seed, and the least reference."""
        distribution, reference = self.found.distribution.name, self.found.reference.value
        drawn = {"unit": self.name, "distribution": distribution, "reference": reference, "seed": self.seed}
        return drawn | {"above": self.above}

    def answer(self) -> lib.listings.ErrorsAnswer:
        """Return the errors as an answer."""
        step = self.found.step
        return lib.listings.ErrorsAnswer(
            **self.run,
            step=None if step is None else lib.listings.StepAnswer.taken(step),
            points=[point_of(x) for x in self.found.points],
            assumed=out.assumed_names(self.units),
        )

    def csv_text(self) -> str:
        """Return the errors as comma-separated values, with a line of names."""
        text = io.StringIO()
        writer = csv.DictWriter(text, CSV_FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({**self.run, **lib.answer.plain(point_of(x))} for x in self.found.points)
        return text.getvalue()

    def tex_text(self) -> str:
        """Return the errors as a tabular of LaTeX; comments say of which matrices, and what was left out."""
        rows = [list(TEX_HEADS.values())]
        for point in self.found.points:
            held = lib.answer.plain(point_of(point))
            name = held["algorithm"].translate(TEX_ESCAPES)
            rows.append([f"\\texttt{{{name}}}", str(held["n"]), *(tex_number(held[x]) for x in list(TEX_HEADS)[2:])])
        head, *body = (f"{' & '.join(row)} \\\\" for row in rows)
        run = ", ".join(f"{k}: {v}" for k, v in self.run.items())
        start = f"\\begin{{tabular}}{{l{'r' * (len(TEX_HEADS) - 1)}}}"
        left_out = [
            f"% {point_of(x).algorithm}, N = {x.n}: {x.not_finite} elements left out: {NOT_FINITE}"
            for x in self.found.points
            if x.not_finite
        ]
        return "\n".join([f"% {run}", *left_out, start, head, "\\hline", *body, "\\end{tabular}", ""])

    def write_picture(self, path: Path) -> None:
        """Draw error against N. Raises InputError where the file cannot be written."""
        found, of_algorithms = self.found, any(x.algorithm for x in self.plans)
        against = found.reference.value if of_algorithms else "the exact product"
        title = f"{found.distribution.what}, against {against}"
        lib.gemm_errors.write_picture(path, found.points, title if self.name == "plans" else f"{self.name}, {title}")

    def print(self, above: float | None) -> None:
        """Print the errors for a person: a table, tolerances, and further errors where ``above`` is given."""
        found = self.found
        out.say(f"{self.name}, against {MEANINGS[found.reference.value]}")
        parts = sorted({(x.n, x.rows, x.columns) for x in found.points})
        elements = ", ".join(f"{rows} x {columns} of {n} x {n}" for n, rows, columns in parts)
        out.say_wrapped(f"{found.distribution.what}, c = 0, seed {self.seed}; elements: {elements}", "  ")
        print_points(found.points)
        if found.step is not None:
            reason = f"{found.step.reason}, {found.step.seconds:.2f} s" if found.step.lemmas else found.step.reason
            out.say_wrapped(reason, "  proved: " if found.step.proved else "  ")
            for x in found.points:
                print_bound(x, found.reference)
        print_proved_bounds(found.points)
        out.say_assumed(self.units, indent="")
        if above is not None:
            print_above(found.points, above)


def parse_sizes(text: str) -> list[int]:
    """Return the sizes that ``--k`` spells, in order. Raises InputError, and DesignError for one that is too long."""
    parts = text.split(",")
    if not all(x.strip().isascii() and x.strip().isdigit() and int(x) for x in parts):
        raise InputError(f"--k {text}: sizes of matrices are needed, integers from 1 joined by commas: 256,1024,4096")
    sizes = sorted({int(x) for x in parts})
    opt.askable(sizes[-1])
    return sizes


def point_of(point: lib.gemm_errors.Point) -> lib.listings.PointAnswer:
    """Return the errors of one algorithm at one size as a part of an answer; bounds are rounded up."""

    def up(x: Fraction | None) -> float | None:
        return None if x is None else lib.given.rounded_up(x)

    bound, sizes = point.bound, None if point.bound is None else point.bound.sizes
    return lib.listings.PointAnswer.taken(
        point,
        algorithm=point.plan.label,
        unit="+".join(x.name for x in point.plan.units),
        largest=up(point.largest),
        bound=None if bound is None else up(bound.value),
        a=None if sizes is None else up(sizes.a),
        b=None if sizes is None else up(sizes.b),
        reason=None if bound is None else bound.reason,
    )


CSV_FIELDS = (
    "algorithm",
    "unit",
    "distribution",
    "reference",
    "seed",
    "above",
    "n",
    "rows",
    "columns",
    "largest",
    "mean",
    "relative",
    "ulps",
    "bias",
    "squared",
    "frobenius",
    "relative_above",
    "not_finite",
    "bound",
)


TEX_HEADS = {
    "algorithm": "program",
    "n": "$N$",
    "largest": "largest",
    "mean": "mean",
    "relative": "relative",
    "squared": "mean square",
    "frobenius": "Frobenius",
    "relative_above": "relative above",
    "bound": "bound",
}
"""The columns of a table of LaTeX."""
TEX_ESCAPES = str.maketrans({x: f"\\{x}" for x in "_&%#$"} | {"|": "\\textbar{}"})


def tex_number(x: float | None) -> str:
    """Return a number with three digits, as LaTeX has it; a dash where there is none."""
    if x is None:
        return "--"
    digits, _, exponent = f"{x:.3g}".partition("e")
    return f"${digits} \\cdot 10^{{{int(exponent)}}}$" if exponent else f"${digits}$"


def print_points(points: Sequence[lib.gemm_errors.Point]) -> None:
    """Print the errors as a table, and how many elements are left out of it."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("algorithm", "N", "largest", "mean", "relative", "ulps", "bias", "bound"):
        table.add_column(column, justify="left" if column == "algorithm" else "right", no_wrap=column != "algorithm")
    for x in points:
        bound = None if x.bound is None else x.bound.value
        numbers = [None if x.largest is None else float(x.largest), x.mean, x.relative, x.ulps, x.bias]
        cells = ["-" if v is None else f"{v:.2g}" for v in numbers]
        table.add_row(*map(Text, (x.plan.label, str(x.n), *cells, "-" if bound is None else up(bound))))
    out.say_table(table)
    out.say_wrapped(
        "largest, mean: of |d - reference|; relative: largest part of sum |a||b|; ulps: median, of the reference in "
        "the format of d; bias: mean of d - reference",
        "  ",
    )
    for x in points:
        if x.not_finite:
            left_out = f"{x.not_finite} elements left out: {NOT_FINITE}"
            out.say(f"  {x.plan.label}, N = {x.n}: {left_out}")


def print_above(points: Sequence[lib.gemm_errors.Point], above: float) -> None:
    """Print the errors that `--above` asks for."""
    for x in points:
        values = {"squared": x.squared, "Frobenius": x.frobenius, f"relative above {above:g}": x.relative_above}
        shown = ", ".join(f"{key} {'-' if value is None else f'{value:.3g}'}" for key, value in values.items())
        out.say_wrapped(f"{x.plan.label}, N = {x.n}: {shown}", "  ")


def print_bound(point: lib.gemm_errors.Point, reference: lib.gemm_errors.Reference) -> None:
    """Print the bound of an algorithm at one size as a tolerance, rounded up, or why there is none."""
    if point.bound is None or point.bound.sizes is None:
        return
    name, sizes, value = point.plan.label, point.bound.sizes, point.bound.value
    if value is None:
        out.say_wrapped(f"no bound for {name}, K = {point.n}: {point.bound.reason}", "  ")
        return
    operands = f"|a| <= {size(sizes.a)}, |b| <= {size(sizes.b)}, c = 0, K = {point.n}"
    part = up(value / (point.n * sizes.a * sizes.b))
    out.say(f"  |d - {reference.value}| <= {up(value)} for {operands}: {name} ({part} of K |a| |b| at these sizes)")


def print_proved_bounds(points: Sequence[lib.gemm_errors.Point]) -> None:
    """Print the bounds of plans as multiples of the largest errors, by what they are proved, and which are smaller."""
    bounded = [x for x in points if x.bound is not None and x.bound.sizes is None]
    for x in bounded:
        bound, name = x.bound, f"{x.plan.label}, N = {x.n}"
        if bound is None or bound.value is None:
            out.say_wrapped(f"no bound for {name}: {None if bound is None else bound.reason}", "  ")
        elif x.largest:
            times = float(bound.value / x.largest)
            out.say_wrapped(f"{name}: the bound is {times:.3g} times the largest error (proved: {bound.reason})", "  ")
        else:
            out.say_wrapped(f"{name}: no error was found (the bound is proved: {bound.reason})", "  ")
    for n in dict.fromkeys(x.n for x in bounded):
        first, *others = (x for x in bounded if x.n == n)
        for other in others:
            if first.bound is None or other.bound is None or None in (first.bound.value, other.bound.value):
                continue
            below, above, same = lib.gemm_errors.tighter(first, other)
            text = f"smaller for {below} elements, larger for {above}, the same for {same}"
            out.say_wrapped(f"N = {n}: the bound of {first.plan.label} against {other.plan.label}: {text}", "  ")


def up(x: Fraction) -> str:
    """Return a positive number in two digits, rounded up."""
    from decimal import ROUND_CEILING, Context, Decimal

    quotient = Context(prec=2, rounding=ROUND_CEILING).divide(Decimal(x.numerator), Decimal(x.denominator))
    return f"{float(quotient):.1e}"


def size(x: Fraction) -> str:
    """Return the largest magnitude of an operand, an fp32 number, so that it reads back as itself."""
    return str(int(x)) if x.denominator == 1 else repr(float(x))
