"""`mmaproof tolerance`: what the result of a matrix product may differ from the exact one, and what tests notice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import frexp, isfinite
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from mmaproof.cli.options import (
    SOLVING,
    DistributionName,
    Json,
    LengthOfProduct,
    SolvingOptions,
    Where,
    argument,
    option,
    with_backend,
    with_options,
)
from mmaproof.cli.output import (
    Exit,
    assumed_names,
    complain,
    note,
    print_json,
    progress,
    say,
    say_assumed,
    say_table,
    say_wrapped,
)
from mmaproof.cli.showing import BundleFolder, require_bundle, say_bundle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mmaproof.explain.answers.listings import ToleranceAnswer
    from mmaproof.gemm.tolerances.assertion import Caught
    from mmaproof.gemm.tolerances.data import DataDifference, DataLimits, DataTolerance
    from mmaproof.gemm.tolerances.statistical import Quantile
    from mmaproof.gemm.tolerances.tolerance import Tolerance, TwoNumbers
    from mmaproof.properties.step_loss import StepLoss
    from mmaproof.smt.solving.limits import Limits


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
    k: LengthOfProduct,
    where: Where = None,
    quantile: Annotated[
        float | None, option("--quantile P", "Measure this quantile of errors of random operands, too.")
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
    bundle: BundleFolder = None,
    options: SolvingOptions = SOLVING,
    json: Json = False,
) -> int:
    """Show the tolerance of a matrix product: proved, in two numbers for a range, and statistical.

    The bound is for the operands of each element: `mmaproof.tolerance(PLAN, k).bound(a, b, c)` returns it as an array.
    With --where exponents=LO..HI two numbers are shown that hold for all operands of these exponents, and --bundle
    writes lemmas and the derivation of a bound for them. Exit status 3: nothing is proved about the errors of this
    plan, or no bundle can be written, and the output says why.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.gemm.tolerances.assertion import sharpness
    from mmaproof.gemm.tolerances.statistical import require_measurable
    from mmaproof.gemm.tolerances.tolerance import tolerance as tolerance_of

    require_measurable(0.5 if quantile is None else quantile, distribution, confidence, samples or 1)
    if len(plans) > 2 or (len(plans) == 2 and (data is None or where or mutants or quantile is not None)):
        raise InputError(f"{len(plans)} plans: --data says of which operands two may differ, without other questions")
    require_bundle(bundle)
    if bundle is not None and (len(plans) > 1 or not where):
        raise InputError("--bundle is of one plan, for all operands of --where exponents=LO..HI")
    found, *other = (tolerance_of(x, k, where or (), solving=options.solving, limits=options.limits) for x in plans)
    with progress(f"proving what a step of {found.unit.name} loses"):
        two = _two_numbers(found)
    drawn = quantile or 0.999, confidence, samples or 10_000, options.seed
    of_data, apart = _of_drawn(found, other, data, drawn)
    measured, caught = None, None
    if quantile is not None:
        with progress("measuring the quantile"):
            measured = found.quantile(
                quantile, distribution, confidence=confidence, samples=samples or 100_000, seed=options.seed
            )
    if mutants:
        with progress("seeding faults"):
            caught = sharpness(found, distribution, quantile=measured, seed=options.seed)
    status, written, derived = _bundled(found, bundle, options.limits)
    shown = _Found(found, other, distribution, two, measured, caught, of_data, apart, written, derived)
    if json:
        print_json(shown.answer())
    else:
        shown.print()
    return status if all(x.proved for x in (found, *other)) else Exit.UNKNOWN


def _bundled(found: Tolerance, folder: Path | None, limits: Limits) -> tuple[Exit, Any, float | None]:
    """Write the bundle of a bound, if one is wanted. Return the exit status, what the answer says, and the bound."""
    from mmaproof.explain.answers.answer import ABSENT, Bundle, NoBundle
    from mmaproof.gemm.tolerances.bundle import write_bound
    from mmaproof.gemm.tolerances.given import rounded_up
    from mmaproof.verification.bundle import NoBundleError

    if folder is None:
        return Exit.HOLDS, ABSENT, None
    if not found.proved:
        complain(f"note: {folder} is not written: a bundle is of a proved answer")
        return Exit.UNKNOWN, None, None
    try:
        with progress("writing the bundle"):
            done, derivation = write_bound(found, folder, limits)
    except NoBundleError as problem:
        note(f"no bundle is written to {folder}, though a bound is proved: {problem}")
        return Exit.UNKNOWN, NoBundle(refused=str(problem)), None
    folders = [str(x) for x in done.folders]
    written = Bundle.taken(done, folder=str(folder), folders=folders, bytes=done.size)
    return Exit.HOLDS, written, rounded_up(derivation.error)


def _two_numbers(found: Tolerance) -> TwoNumbers | str | None:
    """Return the two numbers for a range, or why there are none; None without a range or where nothing is proved."""
    from mmaproof.gemm.tolerances.tolerance import NothingProvedError

    if not (found.proved and found.where):
        return None
    try:
        return found.rtol_atol()
    except NothingProvedError as reason:
        return str(reason)


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


@dataclass(frozen=True)
class _Found:
    """What was found out about a plan, and about another one if there is one."""

    found: Tolerance
    other: Sequence[Tolerance]
    distribution: str
    two: TwoNumbers | str | None
    measured: Quantile | None
    caught: Sequence[Caught] | None
    of_data: DataTolerance | None
    apart: DataDifference | None
    bundle: Any
    derived: float | None

    def print(self) -> None:
        """Print it for a person."""
        if self.apart is not None:
            say(_differing(self.found, self.other[0], self.apart))
        if self.of_data is not None:
            say(_of_data(self.found, self.of_data))
        for x in (self.found, *self.other):
            _print_proved(x)
        if isinstance(self.two, str):
            say_wrapped(self.two, "for all such operands: ")
        elif self.two is not None:
            numbers = f"rtol = {self.two.rtol:.6g}, atol = {self.two.atol:.6g}"
            say_wrapped(f"{numbers} (proved, {', '.join(map(str, self.found.where))})", "for all such operands: ")
        if self.derived is not None:
            say(f"derived in the bundle: the error is at most {self.derived:.9g}")
            say_bundle(self.bundle)
        if self.measured is not None:
            say_wrapped(str(self.measured), "")
        if self.caught is not None:
            say("")
            say_table(_table(self.caught, self.distribution))
        say_assumed([x.unit for x in (self.found, *self.other)], indent="")
        for readings in (x.open_points for x in (self.found, *self.other)):
            if readings:
                say_wrapped(f"the bound is another if {'; '.join(x.words for x in readings)}", "rests on: ")

    def answer(self) -> ToleranceAnswer:
        """Return it as an answer."""
        from mmaproof.explain.answers import listings
        from mmaproof.explain.answers.answer import ABSENT, Reading
        from mmaproof.properties.step_loss import loss_of

        found = self.found
        has_step = found.proved and not found.unit.d_format.is_integer and not _splits(found)
        return listings.ToleranceAnswer.taken(
            found,
            plan=found.plan.name,
            where=[str(x) for x in found.where],
            reason=found.proof.reason,
            lemmas=[listings.BoundLemma.taken(x) for x in found.proof.lemmas],
            open_points=[Reading.taken(x, settings=x.texts) for x in found.open_points],
            assumed=assumed_names([found.unit]),
            step=_spelled(loss_of(found.unit)) if has_step else ABSENT,
            two_numbers=ABSENT if self.two is None else _two_answer(self.two),
            statistical=ABSENT if self.measured is None else _statistical(self.measured),
            of_data=ABSENT if self.of_data is None else _data_answer(found, self.of_data),
            difference=ABSENT if self.apart is None else _difference_answer(self.other[0], self.apart),
            mutants=ABSENT if self.caught is None else [_caught_answer(x, self.distribution) for x in self.caught],
            bundle=self.bundle,
            derived=ABSENT if self.derived is None else self.derived,
        )


def _print_proved(found: Tolerance) -> None:
    from mmaproof.properties.step_loss import loss_of

    say(f"{found.plan.name}, k = {found.k}")
    if not found.proved:
        say_wrapped(f"nothing: {found.proof.reason}", "proved: ")
    elif _splits(found):
        say_wrapped(f"the bound of the algorithm, from that of one step ({found.proof.reason})", "proved: ")
    elif found.unit.d_format.is_integer:
        say_wrapped(f"no error where the register holds the sum ({found.proof.reason})", "proved: ")
    else:
        spelled = _spelled(loss_of(found.unit))
        say_wrapped(f"{spelled} ({found.proof.reason})", "proved: ")
        if meant := [x for letter, x in _LETTERS.items() if re.search(letter, spelled)]:
            say_wrapped(f"{'; '.join(meant)}; e(x): the exponent of x", "  ")


def _of_data(found: Tolerance, x: DataTolerance) -> str:
    """Return the line that most people ask for: what is proved within which limits, what is measured, and the test."""
    from mmaproof.gemm.tolerances.data import up_to_digits

    proved, own = "nothing is proved", ""
    if x.atol is not None and x.elements is not None:
        proved = f"atol = {up_to_digits(x.atol):g} is proved for {_within([x.limits])}"
        own = f"  # allows at most {up_to_digits(x.elements):g} on such data: it knows the operands"
    return f"{proved}; {_measured('errors', x)}; test: {_assertion(found)}{own}"


def _differing(first: Tolerance, second: Tolerance, x: DataDifference) -> str:
    """Return the line that says how much two plans differ."""
    from mmaproof.gemm.tolerances.data import up_to_digits

    proved = "nothing is proved"
    if x.most is not None:
        proved = f"at most {up_to_digits(x.most):g} is proved for {_within(x.limits)}"
    names = f"{first.plan.name} and {second.plan.name} differ: {proved}"
    return f"{names}; {_measured('differences', x)}; {100 * x.equal:.3g} % are equal"


def _within(limits: Sequence[DataLimits]) -> str:
    """Return the limits of data, each once."""
    said: dict[str, None] = {}
    for x in limits:
        said |= {f"|a| <= {x.a:g}": None, f"|b| <= {x.b:g}": None}
        if x.sums is not None:
            said[f"|sums so far| <= {x.sums:g}"] = None
        if x.rests is not None:
            unit = f"2^{frexp(x.rests.unit)[1] - 1}"
            said[f"bits of products below {unit} that add up to at most {x.rests.most:g}"] = None
    return ", ".join(said)


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


_LETTERS = {
    r"\bp\b": "p: the largest exponent of a product",
    r"\bS\b": "S: no partial sum of the products exceeds it",
    r"\bG\b": "G: neither c nor the result exceeds it",
}
"""What the letters of the formula mean; ``StepLoss`` has them in full."""


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


def _two_answer(two: TwoNumbers | str) -> Any:
    from mmaproof.explain.answers import listings

    return listings.NoTwoNumbers(reason=two) if isinstance(two, str) else listings.TwoNumbers.taken(two)


def _data_answer(found: Tolerance, x: DataTolerance) -> Any:
    from mmaproof.explain.answers.listings import OfData

    numbers = {name: _finite(getattr(x, name)) for name in ("atol", "elements", "largest")}
    limits = _limits_answer([x.limits])
    return OfData.taken(x, **limits, **numbers, quantile=_statistical(x.quantile), pytest=_assertion(found))


def _difference_answer(other: Tolerance, x: DataDifference) -> Any:
    from mmaproof.explain.answers.listings import DifferenceOfData

    numbers = {name: _finite(getattr(x, name)) for name in ("most", "largest")}
    named = _limits_answer(x.limits) | numbers
    return DifferenceOfData.taken(x, plan=other.plan.name, **named, quantile=_statistical(x.quantile))


def _limits_answer(limits: Sequence[DataLimits]) -> dict[str, Any]:
    from mmaproof.explain.answers.listings import Rests

    sums = next((x.sums for x in limits if x.sums is not None), None)
    rests = {x.rests: Rests.taken(x.rests) for x in limits if x.rests is not None}
    return {"a": limits[0].a, "b": limits[0].b, "sums": sums, "rests": list(rests.values())}


def _caught_answer(x: Caught, distribution: str) -> Any:
    from mmaproof.explain.answers.listings import CaughtFault

    return CaughtFault.taken(x, strength=str(x.strength), elements=_finite(x.elements), distribution=distribution)
