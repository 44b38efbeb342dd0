"""`mmaproof tolerance`: what the result of a matrix product may differ from the exact one, and what tests notice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import frexp, isfinite
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from mmaproof.cli import lib
from mmaproof.cli import options as opt
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
from mmaproof.designs.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@opt.with_backend
@opt.with_options(without="search jobs certify", timeout="120s")
def tolerance(
    plans: Annotated[
        list[str],
        opt.argument(
            "PLAN",
            "A design, or a plan such as 'hopper/wgmma.f32.e4m3.e4m3 | promote=128 | out=bf16'. Of two, with --data: "
            "how much their results differ.",
        ),
    ],
    k: opt.LengthOfProduct,
    where: opt.Where = None,
    quantile: Annotated[
        float | None, opt.option("--quantile P", "Measure this quantile of errors of random operands, too.")
    ] = None,
    confidence: Annotated[float, opt.option("--confidence P", "Confidence of the interval of the quantile.")] = 0.95,
    samples: Annotated[
        int | None,
        opt.option("--samples N", "Dot products that are measured: by default 100,000, for --data 10,000.", min=1),
    ] = None,
    data: Annotated[
        str | None,
        opt.option(
            "--data DATA",
            "Your data: normal(MEAN,DEVIATION), uniform(LO,HI), FILE.npy, or a distribution. Prints one line first.",
        ),
    ] = None,
    mutants: Annotated[bool, opt.option("--mutants", "Show with what probability tests notice seeded faults.")] = False,
    distribution: opt.DistributionName = "normal",
    bundle: BundleFolder = None,
    options: opt.SolvingOptions = opt.SOLVING,
    json: opt.Json = False,
) -> int:
    """Show the tolerance of a matrix product: proved, in two numbers for a range, and statistical.

    The bound is for the operands of each element: `mmaproof.tolerance(PLAN, k).bound(a, b, c)` returns it as an array.
    With --where exponents=LO..HI two numbers are shown that hold for all operands of these exponents, and --bundle
    writes lemmas and the derivation of a bound for them. Exit status 3: nothing is proved about the errors of this
    plan, or no bundle can be written, and the output says why.
    """
    lib.statistical.require_measurable(0.5 if quantile is None else quantile, distribution, confidence, samples or 1)
    if len(plans) > 2 or (len(plans) == 2 and (data is None or where or mutants or quantile is not None)):
        raise InputError(f"{len(plans)} plans: --data says of which operands two may differ, without other questions")
    require_bundle(bundle)
    if bundle is not None and (len(plans) > 1 or not where):
        raise InputError("--bundle is of one plan, for all operands of --where exponents=LO..HI")
    found, *other = (
        lib.tolerance.tolerance(x, k, where or (), solving=options.solving, limits=options.limits) for x in plans
    )
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
            caught = lib.assertion.sharpness(found, distribution, quantile=measured, seed=options.seed)
    status, written, derived = _bundled(found, bundle, options.limits)
    shown = _Found(found, other, distribution, two, measured, caught, of_data, apart, written, derived)
    if json:
        print_json(shown.answer())
    else:
        shown.print()
    return status if all(x.proved for x in (found, *other)) else Exit.UNKNOWN


def _bundled(
    found: lib.tolerance.Tolerance, folder: Path | None, limits: lib.limits.Limits
) -> tuple[Exit, Any, float | None]:
    """Write the bundle of a bound, if one is wanted. Return the exit status, what the answer says, and the bound."""
    if folder is None:
        return Exit.HOLDS, lib.answer.ABSENT, None
    if not found.proved:
        complain(f"note: {folder} is not written: a bundle is of a proved answer")
        return Exit.UNKNOWN, None, None
    try:
        with progress("writing the bundle"):
            done, derivation = lib.bound_bundle.write_bound(found, folder, limits)
    except lib.bundle.NoBundleError as problem:
        note(f"no bundle is written to {folder}, though a bound is proved: {problem}")
        return Exit.UNKNOWN, lib.answer.NoBundle(refused=str(problem)), None
    folders = [str(x) for x in done.folders]
    written = lib.answer.Bundle.taken(done, folder=str(folder), folders=folders, bytes=done.size)
    return Exit.HOLDS, written, lib.given.rounded_up(derivation.error)


def _two_numbers(found: lib.tolerance.Tolerance) -> lib.tolerance.TwoNumbers | str | None:
    """Return the two numbers for a range, or why there are none; None without a range or where nothing is proved."""
    if not (found.proved and found.where):
        return None
    try:
        return found.rtol_atol()
    except lib.tolerance.NothingProvedError as reason:
        return str(reason)


def _of_drawn(
    found: lib.tolerance.Tolerance,
    other: Sequence[lib.tolerance.Tolerance],
    data: str | None,
    drawn: tuple[float, float, int, int],
) -> tuple[lib.data.DataTolerance | None, lib.data.DataDifference | None]:
    """Return what is measured of data: of one plan its tolerance, of two how much they differ."""
    if data is None:
        return None, None
    p, confidence, samples, seed = drawn
    with progress(f"measuring {'differences' if other else 'errors'} of {data}"):
        if other:
            return None, lib.data.data_difference(
                found, other[0], data, p=p, confidence=confidence, samples=samples, seed=seed
            )
        return lib.data.data_tolerance(found, data, p=p, confidence=confidence, samples=samples, seed=seed), None


@dataclass(frozen=True)
class _Found:
    """What was found out about a plan, and about another one if there is one."""

    found: lib.tolerance.Tolerance
    other: Sequence[lib.tolerance.Tolerance]
    distribution: str
    two: lib.tolerance.TwoNumbers | str | None
    measured: lib.statistical.Quantile | None
    caught: Sequence[lib.assertion.Caught] | None
    of_data: lib.data.DataTolerance | None
    apart: lib.data.DataDifference | None
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

    def answer(self) -> lib.listings.ToleranceAnswer:
        """Return it as an answer."""
        found = self.found
        has_step = found.proved and not found.unit.d_format.is_integer and not _splits(found)
        return lib.listings.ToleranceAnswer.taken(
            found,
            plan=found.plan.name,
            where=[str(x) for x in found.where],
            reason=found.proof.reason,
            lemmas=[lib.listings.BoundLemma.taken(x) for x in found.proof.lemmas],
            open_points=[lib.answer.Reading.taken(x, settings=x.texts) for x in found.open_points],
            assumed=assumed_names([found.unit]),
            step=_spelled(lib.step_loss.loss_of(found.unit)) if has_step else lib.answer.ABSENT,
            two_numbers=lib.answer.ABSENT if self.two is None else _two_answer(self.two),
            statistical=lib.answer.ABSENT if self.measured is None else _statistical(self.measured),
            of_data=lib.answer.ABSENT if self.of_data is None else _data_answer(found, self.of_data),
            difference=lib.answer.ABSENT if self.apart is None else _difference_answer(self.other[0], self.apart),
            mutants=lib.answer.ABSENT
            if self.caught is None
            else [
                lib.listings.CaughtFault.taken(
                    x, strength=str(x.strength), elements=_finite(x.elements), distribution=self.distribution
                )
                for x in self.caught
            ],
            bundle=self.bundle,
            derived=lib.answer.ABSENT if self.derived is None else self.derived,
        )


def _print_proved(found: lib.tolerance.Tolerance) -> None:
    say(f"{found.plan.name}, k = {found.k}")
    if not found.proved:
        say_wrapped(f"nothing: {found.proof.reason}", "proved: ")
    elif _splits(found):
        say_wrapped(f"the bound of the algorithm, from that of one step ({found.proof.reason})", "proved: ")
    elif found.unit.d_format.is_integer:
        say_wrapped(f"no error where the register holds the sum ({found.proof.reason})", "proved: ")
    else:
        spelled = _spelled(lib.step_loss.loss_of(found.unit))
        say_wrapped(f"{spelled} ({found.proof.reason})", "proved: ")
        if meant := [x for letter, x in _LETTERS.items() if re.search(letter, spelled)]:
            say_wrapped(f"{'; '.join(meant)}; e(x): the exponent of x", "  ")


def _of_data(found: lib.tolerance.Tolerance, x: lib.data.DataTolerance) -> str:
    """Return the line that most people ask for: what is proved within which limits, what is measured, and the test."""
    proved, own = "nothing is proved", ""
    if x.atol is not None and x.elements is not None:
        proved = f"atol = {lib.data.up_to_digits(x.atol):g} is proved for {_within([x.limits])}"
        own = f"  # allows at most {lib.data.up_to_digits(x.elements):g} on such data: it knows the operands"
    return f"{proved}; {_measured('errors', x)}; test: {_assertion(found)}{own}"


def _differing(first: lib.tolerance.Tolerance, second: lib.tolerance.Tolerance, x: lib.data.DataDifference) -> str:
    """Return the line that says how much two plans differ."""
    proved = "nothing is proved"
    if x.most is not None:
        proved = f"at most {lib.data.up_to_digits(x.most):g} is proved for {_within(x.limits)}"
    names = f"{first.plan.name} and {second.plan.name} differ: {proved}"
    return f"{names}; {_measured('differences', x)}; {100 * x.equal:.3g} % are equal"


def _within(limits: Sequence[lib.data.DataLimits]) -> str:
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


def _measured(what: str, x: lib.data.DataTolerance | lib.data.DataDifference) -> str:
    q = x.quantile
    upper = (
        f"below {q.upper:.3g} ({100 * q.confidence:g} % confidence)"
        if isfinite(q.upper)
        else "not known: more --samples"
    )
    return f"{100 * q.p:g} % of the {what} of {q.samples} samples of {x.data}: {upper}; largest: {x.largest:.3g}"


def _assertion(found: lib.tolerance.Tolerance) -> str:
    """Return the line for pytest."""
    return f'assert_gemm(d, a, b, plan="{found.plan.name}", strength="{"proved" if found.proved else "statistical"}")'


def _statistical(measured: lib.statistical.Quantile) -> Any:
    return lib.listings.Statistical.taken(measured, upper=_finite(measured.upper))


def _finite(x: float | None) -> float | None:
    return x if x is not None and isfinite(x) else None


def _splits(found: lib.tolerance.Tolerance) -> bool:
    """Return whether an algorithm of the plan calls the unit, with a bound of its own."""
    return found.plan.algorithm is not None


_LETTERS = {
    r"\bp\b": "p: the largest exponent of a product",
    r"\bS\b": "S: no partial sum of the products exceeds it",
    r"\bG\b": "G: neither c nor the result exceeds it",
}
"""What the letters of the formula mean; ``StepLoss`` has them in full."""


def _spelled(loss: lib.step_loss.StepLoss) -> str:
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


def _table(caught: Sequence[lib.assertion.Caught], distribution: str) -> Table:
    table = Table(title=f"tests against seeded faults, operands {distribution}", title_justify="left", box=None)
    for name in ("fault", "strength", "noticed by", "elements for 99 %"):
        table.add_column(name, no_wrap=True)
    for x in caught:
        elements = f"{x.elements:,.0f}" if isfinite(x.elements) else "not noticed"
        table.add_row(x.fault, str(x.strength), f"{x.chance:.4g}", elements)
    return table


def _two_answer(two: lib.tolerance.TwoNumbers | str) -> Any:
    return lib.listings.NoTwoNumbers(reason=two) if isinstance(two, str) else lib.listings.TwoNumbers.taken(two)


def _data_answer(found: lib.tolerance.Tolerance, x: lib.data.DataTolerance) -> Any:
    numbers = {name: _finite(getattr(x, name)) for name in ("atol", "elements", "largest")}
    limits = _limits_answer([x.limits])
    return lib.listings.OfData.taken(
        x, **limits, **numbers, quantile=_statistical(x.quantile), pytest=_assertion(found)
    )


def _difference_answer(other: lib.tolerance.Tolerance, x: lib.data.DataDifference) -> Any:
    numbers = {name: _finite(getattr(x, name)) for name in ("most", "largest")}
    named = _limits_answer(x.limits) | numbers
    return lib.listings.DifferenceOfData.taken(x, plan=other.plan.name, **named, quantile=_statistical(x.quantile))


def _limits_answer(limits: Sequence[lib.data.DataLimits]) -> dict[str, Any]:
    sums = next((x.sums for x in limits if x.sums is not None), None)
    rests = {x.rests: lib.listings.Rests.taken(x.rests) for x in limits if x.rests is not None}
    return {"a": limits[0].a, "b": limits[0].b, "sums": sums, "rests": list(rests.values())}
