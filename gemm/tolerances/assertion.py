"""``assert_gemm``: a matrix product is what its plan computes, bit for bit, within a proved bound, or statistically.

How sharp a test is: with what probability it notices a seeded fault, for operands of a distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import ceil, inf, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, OperandError, did_you_mean
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import Patterns, as_numpy, values_of
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.named import find_plan
from mmaproof.gemm.tolerances.diagnosis import diagnose
from mmaproof.gemm.tolerances.errors import ones
from mmaproof.gemm.tolerances.faults import Product, seeded
from mmaproof.gemm.tolerances.given import Floats, Given, read_patterns
from mmaproof.gemm.tolerances.statistical import Quantile, draw_operand
from mmaproof.gemm.tolerances.tolerance import Tolerance, Truths, errors_of, is_within, tolerance
from mmaproof.hardware_replay.tables.recognise import read_array
from mmaproof.smt.evaluate import equal_patterns


class Strength(StrEnum):
    """What a result is compared with."""

    BITS = "bits"
    """equal to the emulation of the plan"""
    PROVED = "proved"
    """within the proved bound"""
    STATISTICAL = "statistical"
    """errors as large as those of random operands, measured on the emulated unit; nothing is proved"""


@dataclass(frozen=True)
class Outcome:
    """What an assertion found, for reports: errors and bounds of some elements, and the text of a failure."""

    plan: str
    k: int
    shape: tuple[int, int]
    strength: Strength
    errors: Floats
    bounds: Floats
    failing: Truths
    """of the same elements"""
    count: int
    """failing elements of all"""
    unchecked: int
    """elements that have no bound and were left out"""
    text: str
    judged: str = ""
    """the verdict on a result that may be of several plans, and whose bits it has"""


class GemmMismatchError(AssertionError):
    """A matrix product is not as asserted."""


observers: list[Callable[[Outcome], None]] = []
"""What is called with the outcome of each assertion: the report of the pytest plugin is."""

MOST_DRAWN = 400
"""Elements of each assertion that a report draws."""
QUANTILE, SAMPLES = 0.999, 20_000
"""The quantile and the samples of statistical assertions."""


def assert_gemm(
    actual: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    plan: Design | Plan | str | None = None,
    plans: Sequence[Design | Plan | str] = (),
    strength: Strength | str = Strength.PROVED,
    scale_a: Any = None,
    scale_b: Any = None,
    factors: Any = None,
    distribution: str = "normal",
    unchecked: str = "fail",
) -> None:
    """Raise AssertionError unless ``actual`` is ``c + a @ b`` as ``plan``, or one of ``plans``, computes it.

    Arrays are of NumPy, ml_dtypes, PyTorch or JAX: ``actual`` (M, N) in the plan's format of d, ``a`` (M, K), ``b``
    (K, N) and ``c`` (M, N) in its formats of operands, c None for zeros. Scales of blocks have the shapes (M, blocks)
    and (blocks, N), and ``factors``, of a plan whose factors are operands, (M, count) in fp32.
    Each may be a ``Path``, too, of a file that holds this array. ``strength`` says what is compared:

    * ``bits``: the bits of the emulated plan; NaNs are equal to each other;
    * ``proved``: ``|actual - exact|`` against the proved bound, on fractions where float64 does not tell; infinities
      and NaNs are outside. Elements for which nothing is proved (operands that are infinities or NaNs, numbers that
      may overflow) fail, unless ``unchecked`` is ``"allow"``;
    * ``statistical``: errors against their 0.999-quantile for random operands of ``distribution``. It fails where
      clearly more elements are above it than one in a thousand, and for each error above ``|c| + sum |a||b|``.

    With ``plans`` in the place of ``plan``, ``judge`` decides: with ``bits`` the result must have the bits of one of
    them, with ``proved`` it must be exact, mixed or within; what is indeterminate fails.

    A failure says what would fit. Raises OperandError for arrays that do not fit, InputError for other arguments, and
    NothingProvedError where no bound of the plan is proved.

    >>> import numpy as np, mmaproof
    >>> a, b = np.full((2, 16), 1.5, np.float16), np.full((16, 3), 2.0, np.float16)
    >>> d = mmaproof.matmul("hopper/wgmma.f32.f16.f16", a, b)
    >>> mmaproof.assert_gemm(d, a, b, plan="hopper/wgmma.f32.f16.f16", strength="bits")
    """
    __tracebackhide__ = True  # what pytest prints ends at the line of the test
    chosen = _strength(strength)
    if unchecked not in ("fail", "allow"):
        raise InputError(f"unchecked = {unchecked!r}: fail and allow are allowed")
    if (plan is None) is not bool(plans):
        raise InputError("plan or plans: one of them is needed, and not both")
    if plan is None:
        if chosen is Strength.STATISTICAL or factors is not None or unchecked == "allow":
            raise InputError("plans: of bits and proved, without factors and unchecked='allow'")
        _assert_one_of(plans, chosen, (actual, a, b, c), {"scale_a": scale_a, "scale_b": scale_b})
        return
    left = read_operand("a", a)
    if left.ndim != 2:
        raise OperandError(f"a has the shape {left.shape}: (M, K) is needed")
    found = tolerance_of(plan, int(left.shape[1]))
    if _is_empty(found, left, read_operand("b", b), read_operand("actual", actual)):
        return
    product = product_of(found, left, b, c, scale_a, scale_b)
    if factors is not None:
        product = replace(product, factors=read_patterns("factors", read_operand("factors", factors), FORMATS["fp32"]))
    result = result_of(found, product, actual)
    given = found.given(product.a, product.b, product.c, *product.scales, product.factors)
    values, (exact, _) = values_of(result, found.plan.formats[3]), found.exact_of(given)
    errors = errors_of(values, exact)
    match chosen:
        case Strength.BITS:
            expected = product.d()
            fmt = found.plan.formats[3]
            same = equal_patterns(fmt, result.ravel(), expected.ravel()).reshape(result.shape)
            failing, bounds = ~same, np.zeros(result.shape)
            what = "do not have the bits of the emulation"
        case Strength.PROVED:
            found.require_proof()
            bounds = found.bound_of(given)
            failing, what = _outside(is_within(found, given, values, bounds), bounds, unchecked)
        case _:
            quantile = _measured(found.plan, found.k, distribution)
            sizes = _sizes(given)
            with np.errstate(invalid="ignore"):
                bounds = np.where(sizes > 0, quantile.upper * sizes, sizes)
            fmt = found.plan.formats[3]
            least = 2.0 ** (fmt.e_min - fmt.fraction_bits)
            failing, what = _above(errors, bounds, sizes, least, quantile, unchecked)
    text = ""
    if failing.any():
        text = _described(found, product, result, errors, bounds, failing, what)
    _observe(found, chosen, errors, bounds, failing, text)
    if text:
        raise GemmMismatchError(text)


def _assert_one_of(
    plans: Sequence[Design | Plan | str], strength: Strength, given: tuple[Any, ...], scales: dict[str, Any]
) -> None:
    """Raise GemmMismatchError unless a result is that of one of several plans."""
    from mmaproof.gemm.tolerances.judge import Verdict, judge  # noqa: PLC0415  (the judge reads operands as we do)

    found = judge(*given, plans=plans, explain=False, **scales)
    accepted = {Verdict.EXACT} if strength is Strength.BITS else {Verdict.EXACT, Verdict.MIXED, Verdict.WITHIN}
    failed = found.verdict not in accepted
    if failed:
        found = judge(*given, plans=plans, **scales)
    says = f"{found.verdict}: {', '.join(found.exact) or found.rests_on}"
    whose = "; ".join(f"{x.where}: {x.plan}" for x in found.parts)
    text = "\n".join([says, *([whose] if whose else []), *(f"what fits: {x}" for x in found.fits)])
    nothing = np.zeros(0)
    for observer in observers:
        counts = found.shape[0] * found.shape[1] * failed, 0
        observer(
            Outcome(
                ", ".join(found.exact or found.plans),
                found.k,
                found.shape,
                strength,
                nothing,
                nothing,
                nothing.astype(np.bool_),
                *counts,
                text if failed else "",
                f"{says}; {whose}" if whose else says,
            )
        )
    if failed:
        raise GemmMismatchError(text)


def _is_empty(found: Tolerance, a: npt.NDArray[Any], b: npt.NDArray[Any], actual: npt.NDArray[Any]) -> bool:
    """Return whether the product has no elements, so that any result of its shape is right.

    Raises OperandError where the shapes of an empty product do not fit.
    """
    if b.ndim != 2 or (a.shape[0] and b.shape[1]):
        return False
    shape = a.shape[0], b.shape[1]
    if a.shape[1] != b.shape[0] or actual.shape != shape:
        raise OperandError(f"shapes a {a.shape}, b {b.shape}, actual {actual.shape}: (M, K), (K, N), (M, N) needed")
    for name, array, fmt in zip(
        ("a", "b", "actual"), (a, b, actual), (*found.plan.formats[:2], found.plan.formats[3]), strict=True
    ):
        read_patterns(name, array, fmt)
    return True


def _strength(text: Strength | str) -> Strength:
    if text not in list(Strength):
        names = [str(x) for x in Strength]
        raise InputError(f"strength = {text!r}: one of {', '.join(names)}{did_you_mean(str(text), names)}")
    return Strength(text)


def tolerance_of(plan: Design | Plan | str, k: int) -> Tolerance:
    """Return the tolerance of a plan. A name is read each time: it may be that of a file, which may change."""
    return _of_plan(find_plan(plan), k)


@lru_cache(maxsize=64)
def _of_plan(plan: Plan, k: int) -> Tolerance:
    return tolerance(plan, k)


@lru_cache(maxsize=64)
def _measured(plan: Plan, k: int, distribution: str) -> Quantile:
    return tolerance(plan, k).quantile(QUANTILE, distribution, samples=SAMPLES)


def read_operand(name: str, array: Any) -> npt.NDArray[Any]:
    """Return an array of any library, or that of a file, as one of NumPy; OperandError names it."""
    try:
        return read_array(str(array)) if isinstance(array, Path) else as_numpy(array)
    except InputError as problem:
        raise OperandError(f"{name}: {problem}") from problem


def product_of(found: Tolerance, a: npt.NDArray[Any], b: Any, c: Any, scale_a: Any, scale_b: Any) -> Product:
    """Return the operands as patterns. Raises OperandError where types or shapes do not fit."""
    formats = found.plan.formats
    right = read_operand("b", b)
    if right.ndim != 2:
        raise OperandError(f"b has the shape {right.shape}: (K, N) is needed")
    named = {"a": a, "b": right} | ({} if c is None else {"c": read_operand("c", c)})
    patterns = {}
    for (name, array), fmt in zip(named.items(), formats, strict=False):
        patterns[name] = read_patterns(name, array, fmt)
    scales = tuple(None if x is None else read_operand(n, x) for n, x in (("scale_a", scale_a), ("scale_b", scale_b)))
    scale = found.unit.scale_format
    if scale is not None:
        scales = tuple(
            None if x is None else read_patterns(n, x, scale)
            for n, x in zip(("scale_a", "scale_b"), scales, strict=True)
        )
    return Product(found.plan, patterns["a"], patterns["b"], patterns.get("c"), (scales[0], scales[1]))


def result_of(found: Tolerance, product: Product, actual: Any) -> Patterns:
    """Return a result as patterns. Raises OperandError where its type or shape is not that of the product."""
    array = read_operand("actual", actual)
    shape = product.a.shape[0], product.b.shape[1]
    if array.shape != shape:
        raise OperandError(f"actual has the shape {array.shape}, and a @ b has {shape}")
    return patterns_of_result(found, array)


def patterns_of_result(found: Tolerance, array: npt.NDArray[Any]) -> Patterns:
    """Return a result of any shape as patterns. Raises OperandError where its type is not that of the plan."""
    return read_patterns("actual", array, found.plan.formats[3])


def _outside(inside: Truths, bounds: Floats, unchecked: str) -> tuple[Truths, str]:
    """Return the elements that are outside the bound or have none, and what they are."""
    nothing = ~np.isfinite(bounds)
    if nothing.any() and unchecked == "fail":
        return ~inside, (
            f"are outside the proved bound, or ({int(nothing.sum())} of them) nothing is proved about them: operands "
            "that are infinities or NaNs, or numbers that may overflow; unchecked='allow' leaves these out"
        )
    return ~inside & ~nothing, "are outside the proved bound"


def _sizes(given: Given) -> Floats:
    """Return ``|c| + sum |a||b|``."""
    with np.errstate(invalid="ignore", over="ignore"):
        size: Floats = np.abs(given.a.values) @ np.abs(given.b.values)
        return size if given.c is None else size + np.abs(given.c)


def _above(
    errors: Floats, bounds: Floats, sizes: Floats, least: float, quantile: Quantile, unchecked: str
) -> tuple[Truths, str]:
    """Return the elements above the quantile where they are too many, or those that have nothing of the result.

    An error above the sum of all magnitudes and the ``least`` number, or one that is not a number, is not a rounding.
    With operands that are not numbers nothing is known about an element, so it fails unless ``unchecked`` is "allow".
    """
    nothing = ~np.isfinite(sizes)
    with np.errstate(invalid="ignore"):
        above, lost = ~nothing & ~(errors <= bounds), ~nothing & ~(errors <= sizes + least)
    if nothing.any() and unchecked == "fail":
        return lost | nothing, (
            f"are off by more than the sum of all magnitudes, or ({int(nothing.sum())} of them) have an infinity or a "
            "NaN among their operands; unchecked='allow' leaves these out"
        )
    if lost.any():
        return lost, "are off by more than the sum of all magnitudes"
    expected = (1 - quantile.p) * above.size
    most = ceil(expected + 5 * sqrt(expected) + 1)
    what = f"are above the statistical tolerance, and at most {most} are expected to be ({quantile})"
    return above if above.sum() > most else np.zeros_like(above), what


def _described(
    found: Tolerance,
    product: Product,
    result: Patterns,
    errors: Floats,
    bounds: Floats,
    failing: Truths,
    what: str,
) -> str:
    """Return the text of a failure: how many elements, the worst one, and what would fit."""
    fmt = found.plan.formats[3]
    with np.errstate(invalid="ignore", divide="ignore"):
        worst = np.where(failing, np.where(bounds > 0, errors / bounds, errors), -1.0)
    worst[np.isnan(worst) & failing] = np.inf
    at = np.unravel_index(int(np.argmax(worst)), failing.shape)
    value = float(values_of(result[at], fmt))
    bound = "" if not bounds[at] > 0 else f", the bound is {bounds[at]:.6g}"
    lines = [
        f"{int(failing.sum())} of {failing.size} elements {what}.",
        f"plan: {found.plan.name}, k = {found.k}",
        f"worst: [{int(at[0])}, {int(at[1])}] is {value:.9g} = {fmt.hex(int(result[at]))}, "
        f"off by {errors[at]:.6g}{bound}",
    ]
    # elements about which nothing is proved need no explanation
    explained = failing & ~(np.isnan(bounds) | np.isinf(bounds))
    if product.factors is None:  # variants of a plan have other factors
        lines += [f"what fits: {x}" for x in diagnose(found, product, result, explained)]
    return "\n".join(lines)


def _observe(
    found: Tolerance,
    strength: Strength,
    errors: Floats,
    bounds: Floats,
    failing: Truths,
    text: str,
) -> None:
    """Tell observers about an assertion: its failing elements, and others in equal distances."""
    if not observers:
        return
    flat = np.concatenate(
        [np.flatnonzero(failing)[:MOST_DRAWN], np.arange(errors.size)[:: max(errors.size // MOST_DRAWN, 1)]]
    )
    drawn = [x.ravel()[flat] for x in (errors, bounds, failing)]
    shape = (int(errors.shape[0]), int(errors.shape[1]))
    counts = int(failing.sum()), int((~np.isfinite(bounds) & ~failing).sum())
    outcome = Outcome(found.plan.name, found.k, shape, strength, drawn[0], drawn[1], drawn[2], *counts, text)
    for observer in observers:
        observer(outcome)


SIDE = 48
"""Rows and columns of a product that is drawn."""
SURE = 0.99


@dataclass(frozen=True, slots=True)
class Caught:
    """How often a test notices a fault.

    ``chance`` is the part of the elements of random products that the test notices by themselves; ``elements`` how many
    independent elements notice the fault with a probability of 0.99, infinite where none did.
    """

    fault: str
    strength: Strength
    chance: float

    @property
    def elements(self) -> float:
        """The independent elements that are needed."""
        if self.chance >= 1:
            return 1
        return inf if self.chance <= 0 else ceil(log(1 - SURE) / log(1 - self.chance))


def sharpness(
    tolerance: Tolerance,
    distribution: str = "normal",
    *,
    products: int = 2,
    quantile: Quantile | None = None,
    seed: int = 0,
) -> list[Caught]:
    """Return for each seeded fault and each strength how often a test of this tolerance notices it.

    ``products`` random products of 48 x 48 elements are drawn from ``distribution``, with c = 0. Tests of the strength
    ``proved`` are left out where nothing is proved, statistical ones where there is no ``quantile``. Raises InputError
    for an unknown distribution, and for a plan whose factors are operands: no distribution of them is known, and a
    fault that loses elements of k needs fewer of them.

    >>> import mmaproof
    >>> found = mmaproof.sharpness(mmaproof.tolerance("hopper/wgmma.f32.f16.f16", 32))
    >>> found[0].fault
    'F = 24'
    """
    if tolerance.plan.has_factors:
        raise InputError(
            f"{tolerance.plan.name}: its factors are operands, and none are drawn: state constants, such as "
            "rescale=64:0.5"
        )
    rng = np.random.default_rng([seed, tolerance.k])
    drawn = [_drawn(tolerance, distribution, rng) for _ in range(products)]
    strengths = [
        Strength.BITS,
        *([Strength.PROVED] if tolerance.proved else []),
        *([Strength.STATISTICAL] if quantile else []),
    ]
    counts: dict[tuple[str, Strength], list[float]] = {}
    for product in drawn:
        given = tolerance.given(product.a, product.b, product.c, *product.scales)
        exact, _ = tolerance.exact_of(given)
        right, fmt = product.d(), tolerance.plan.formats[3]
        bound = tolerance.bound_of(given) if tolerance.proved else None
        size = np.abs(given.a.values) @ np.abs(given.b.values)
        for fault in seeded(product):
            d = fault.run(product)
            error = errors_of(values_of(d, fmt), exact)
            for strength in strengths:
                if strength is Strength.BITS:
                    seen = ~equal_patterns(fmt, d.ravel(), right.ravel()).reshape(d.shape)
                elif strength is Strength.PROVED and bound is not None:
                    seen = ~is_within(tolerance, given, values_of(d, fmt), bound) & np.isfinite(bound)
                else:
                    seen = ~(error <= (inf if quantile is None else quantile.upper) * size)
                counts.setdefault((fault.name, strength), []).append(float(seen.mean()))
    return [Caught(name, strength, float(np.mean(chances))) for (name, strength), chances in counts.items()]


def _drawn(tolerance: Tolerance, distribution: str, rng: np.random.Generator) -> Product:
    plan, k = tolerance.plan, tolerance.k
    a, _ = draw_operand(plan, "a", (SIDE, k), distribution, rng)
    b, _ = draw_operand(plan, "b", (k, SIDE), distribution, rng)
    return Product(plan, a, b, None, ones(plan, SIDE, k, SIDE))
