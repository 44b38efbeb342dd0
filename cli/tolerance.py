"""`mmaproof tolerance`: what the result of a matrix product may differ from the exact one, and what tests notice."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from mmaproof.cli.options import (
    SOLVING,
    DistributionName,
    Json,
    SolvingOptions,
    Where,
    argument,
    option,
    with_backend,
    with_options,
)
from mmaproof.cli.output import Exit, assumed_names, print_json, progress, say, say_assumed, say_table, say_wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mmaproof.explain.answers.listings import ToleranceAnswer
    from mmaproof.gemm.tolerances.data import DataDifference, DataTolerance
    from mmaproof.gemm.tolerances.sharpness import Caught
    from mmaproof.gemm.tolerances.statistical import Quantile
    from mmaproof.gemm.tolerances.tolerance import Tolerance, TwoNumbers
    from mmaproof.properties.step_loss import StepLoss


@with_backend
@with_options(without="search jobs certify", timeout="120s")
def tolerance(
    plans: Annotated[
        list[str],
        argument(
            "PLAN",
            "A design, or a plan such as 'hopper/wgmma.f32.e4m3.e4m3 | promote=128 | out=bf16'. Of two, with --data: "
            "how much their results differ.",
        ),
    ],
    k: Annotated[int, option("--k K", "Length of the dot products.", min=1)],
    where: Where = None,
    quantile: Annotated[
        float | None,
        option("--quantile P", "Measure this quantile of errors of random operands, too."),
    ] = None,
    confidence: Annotated[float, option("--confidence P", "Confidence of the interval of the quantile.")] = 0.95,
    samples: Annotated[
        int | None,
        option("--samples N", "Dot products that are measured: by default 100,000, for --data 10,000.", min=1),
    ] = None,
    data: Annotated[
        str | None,
        option(
            "--data DATA",
            "Your data: normal(MEAN,DEVIATION), uniform(LO,HI), FILE.npy, or a distribution. Prints one line first.",
        ),
    ] = None,
    mutants: Annotated[bool, option("--mutants", "Show with what probability tests notice seeded faults.")] = False,
    distribution: DistributionName = "normal",
    options: SolvingOptions = SOLVING,
    json: Json = False,
) -> int:
    """Show the tolerance of a matrix product: proved, in two numbers for a range, and statistical.

    The bound is for the operands of each element: `mmaproof.tolerance(PLAN, k).bound(a, b, c)` returns it as an array.
    With --where exponents=LO..HI two numbers are shown that hold for all operands of these exponents. Exit status 3:
    nothing is proved about the errors of this plan, and the output says why.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.gemm.tolerances.sharpness import sharpness
    from mmaproof.gemm.tolerances.statistical import require_measurable
    from mmaproof.gemm.tolerances.tolerance import NothingProvedError
    from mmaproof.gemm.tolerances.tolerance import tolerance as tolerance_of

    require_measurable(0.5 if quantile is None else quantile, distribution, confidence, samples or 1)
    if len(plans) > 2 or (len(plans) == 2 and (data is None or where or mutants or quantile is not None)):
        raise InputError(f"{len(plans)} plans: --data says of which operands two may differ, without other questions")
    found, *other = (tolerance_of(x, k, where or (), solving=options.solving, limits=options.limits) for x in plans)
    with progress(f"proving what a step of {found.unit.name} loses"):
        proof = found.proof
    two: TwoNumbers | str | None = None
    if proof.proved and where:
        try:
            two = found.rtol_atol()
        except NothingProvedError as reason:
            two = str(reason)
    measured, caught = None, None
    of_data, apart = _of_drawn(found, other, data, (quantile or 0.999, confidence, samples or 10_000, options.seed))
    if quantile is not None:
        with progress("measuring the quantile"):
            measured = found.quantile(
                quantile, distribution, confidence=confidence, samples=samples or 100_000, seed=options.seed
            )
    if mutants:
        with progress("seeding faults"):
            caught = sharpness(found, distribution, quantile=measured, seed=options.seed)
    if json:
        print_json(_answer(found, two, measured, caught, distribution, of_data, (other[0], apart) if apart else None))
    else:
        if apart is not None:
            say(_differing(found, other[0], apart))
        if of_data is not None:
            say(_of_data(found, of_data))
        for x in (found, *other):
            _print(x, two, measured, caught, distribution)
        _say_open([found, *other])
    return Exit.HOLDS if all(x.proved for x in (found, *other)) else Exit.UNKNOWN


def _of_drawn(
    found: Tolerance, other: Sequence[Tolerance], data: str | None, drawn: tuple[float, float, int, int]
) -> tuple[DataTolerance | None, DataDifference | None]:
    """Return what is measured of data: of one plan its tolerance, of two how much they differ."""
    from mmaproof.gemm.tolerances.data import data_difference, data_tolerance

    if data is None:
        return None, None
    p, confidence, samples, seed = drawn
    with progress(f"measuring {'differences' if other else 'errors'} of {data}"):
        if other:
            return None, data_difference(found, other[0], data, p=p, confidence=confidence, samples=samples, seed=seed)
        return data_tolerance(found, data, p=p, confidence=confidence, samples=samples, seed=seed), None


def _say_open(found: Sequence[Tolerance]) -> None:
    say_assumed([x.unit for x in found], indent="")
    for readings in (x.open_points for x in found):
        if readings:
            say_wrapped(f"the bound is another if {'; '.join(x.words for x in readings)}", "rests on: ")


def _print(
    found: Tolerance,
    two: TwoNumbers | str | None,
    measured: Quantile | None,
    caught: Sequence[Caught] | None,
    distribution: str,
) -> None:
    from mmaproof.properties.step_loss import loss_of

    say(f"{found.plan.name}, k = {found.k}")
    if not found.proved:
        say_wrapped(f"nothing: {found.proof.reason}", "proved: ")
    elif _splits(found):
        say_wrapped(f"the bound of the algorithm, from that of one step ({found.proof.reason})", "proved: ")
    elif found.unit.d_format.is_integer:
        say_wrapped(f"no error where the register holds the sum ({found.proof.reason})", "proved: ")
    else:
        say_wrapped(f"{_spelled(loss_of(found.unit))} ({found.proof.reason})", "proved: ")
    if isinstance(two, str):
        say_wrapped(two, "for all such operands: ")
    elif two is not None:
        conditions = ", ".join(map(str, found.where))
        say_wrapped(f"rtol = {two.rtol:.6g}, atol = {two.atol:.6g} (proved, {conditions})", "for all such operands: ")
    if measured is not None:
        say_wrapped(str(measured), "")
    if caught is not None:
        say("")
        say_table(_table(caught, distribution))


def _of_data(found: Tolerance, x: DataTolerance) -> str:
    """Return the line that most people ask for: what is proved within which limits, what is measured, and the test."""
    from mmaproof.gemm.tolerances.data import up_to_digits

    proved, own = "nothing is proved", ""
    if x.atol is not None and x.elements is not None:
        proved = f"atol = {up_to_digits(x.atol):g} is proved for {_limits(x)}"
        own = f"  # allows at most {up_to_digits(x.elements):g} on such data: it knows the operands"
    return f"{proved}; {_measured('errors', x)}; test: {_assertion(found)}{own}"


def _differing(first: Tolerance, second: Tolerance, x: DataDifference) -> str:
    """Return the line that says how much two plans differ."""
    from mmaproof.gemm.tolerances.data import up_to_digits

    proved = "nothing is proved"
    if x.most is not None:
        proved = f"at most {up_to_digits(x.most):g} is proved for {_limits(x)}"
    names = f"{first.plan.name} and {second.plan.name} differ: {proved}"
    return f"{names}; {_measured('differences', x)}; {100 * x.equal:.3g} % are equal"


def _limits(x: DataTolerance | DataDifference) -> str:
    limits = [f"|a| <= {x.a:g}", f"|b| <= {x.b:g}", *([] if x.sums is None else [f"|sums so far| <= {x.sums:g}"])]
    return ", ".join(limits)


def _measured(what: str, x: DataTolerance | DataDifference) -> str:
    q = x.quantile
    upper = (
        f"below {q.upper:.3g} ({100 * q.confidence:g} % confidence)"
        if isfinite(q.upper)
        else "not known: more --samples"
    )
    return f"{100 * q.p:g} % of the {what} of {q.samples} samples of {x.data}: {upper}; largest: {x.largest:.3g}"


def _assertion(found: Tolerance) -> str:
    """Return the line for pytest."""
    return f'assert_gemm(d, a, b, plan="{found.plan.name}", strength="{"proved" if found.proved else "statistical"}")'


def _statistical(measured: Quantile) -> Any:
    from mmaproof.explain.answers import listings

    return listings.Statistical.taken(measured, upper=_finite(measured.upper))


def _finite(x: float | None) -> float | None:
    return x if x is not None and isfinite(x) else None


def _splits(found: Tolerance) -> bool:
    """Return whether an algorithm of the plan calls the unit, with a bound of its own."""
    return found.plan.algorithm is not None


def _spelled(loss: StepLoss) -> str:
    """Return what a step loses as a formula; p, S and G are as ``StepLoss`` says."""
    terms = {
        "2^p": loss.of_products,
        "2^max(p, e(S))": loss.of_sums,
        "2^max(p, e(G))": loss.of_c,
        "2^e(S)": loss.rounded_sums,
        "2^e(G)": loss.rounded_c,
    }
    spelled = [f"{_number(x)} {power}" for power, x in terms.items() if x]
    if loss.flushed:
        spelled.append(f"{float(loss.flushed):.4g}")
    return f"{loss.products} products lose less than {' + '.join(spelled)}"


def _number(x: Any) -> str:
    """Return a rational as ``n * 2^-m``."""
    places = x.denominator.bit_length() - 1
    return f"{x.numerator} * 2^-{places}" if places else str(x.numerator)


def _table(caught: Sequence[Caught], distribution: str) -> Table:
    table = Table(title=f"tests against seeded faults, operands {distribution}", title_justify="left", box=None)
    for name in ("fault", "strength", "noticed by", "elements for 99 %"):
        table.add_column(name, no_wrap=True)
    for x in caught:
        elements = f"{x.elements:,.0f}" if isfinite(x.elements) else "not noticed"
        table.add_row(x.fault, str(x.strength), f"{x.chance:.4g}", elements)
    return table


def _answer(
    found: Tolerance,
    two: TwoNumbers | str | None,
    measured: Quantile | None,
    caught: Sequence[Caught] | None,
    distribution: str,
    of_data: DataTolerance | None,
    apart: tuple[Tolerance, DataDifference] | None,
) -> ToleranceAnswer:
    from mmaproof.explain.answers import listings
    from mmaproof.explain.answers.answer import ABSENT
    from mmaproof.explain.answers.parts import Reading
    from mmaproof.properties.step_loss import loss_of

    given: dict[str, Any] = {}
    if found.proved and not found.unit.d_format.is_integer and not _splits(found):
        given["step"] = _spelled(loss_of(found.unit))
    if two is not None:
        reason = listings.NoTwoNumbers(reason=two) if isinstance(two, str) else None
        given["two_numbers"] = reason or listings.TwoNumbers.taken(two)
    if measured is not None:
        given["statistical"] = _statistical(measured)
    if of_data is not None:
        given["of_data"] = listings.OfData.taken(
            of_data,
            **{x: _finite(getattr(of_data, x)) for x in ("atol", "elements", "largest")},
            quantile=_statistical(of_data.quantile),
            pytest=_assertion(found),
        )
    if apart is not None:
        held = apart[1]
        given["difference"] = listings.DifferenceOfData.taken(
            held,
            plan=apart[0].plan.name,
            **{x: _finite(getattr(held, x)) for x in ("most", "largest")},
            quantile=_statistical(held.quantile),
        )
    if caught is not None:
        given["mutants"] = [
            listings.CaughtFault.taken(
                x,
                strength=str(x.strength),
                elements=x.elements if isfinite(x.elements) else None,
                distribution=distribution,
            )
            for x in caught
        ]
    return listings.ToleranceAnswer.taken(
        found,
        plan=found.plan.name,
        where=[str(x) for x in found.where],
        reason=found.proof.reason,
        lemmas=[listings.BoundLemma.taken(x) for x in found.proof.lemmas],
        open_points=[Reading.taken(x, settings=x.texts) for x in found.open_points],
        assumed=assumed_names([found.unit]),
        **{
            name: given.get(name, ABSENT)
            for name in ("step", "two_numbers", "statistical", "of_data", "difference", "mutants")
        },
    )
