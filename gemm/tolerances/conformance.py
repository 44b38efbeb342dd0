"""What standards ask of the numbers of a matrix product, and whether a plan or a kernel returns such numbers.

A standard here is a list of checks on operands that it states. The operands are the same for everyone, so a run of a
plan decides: nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, inf, sqrt

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.conversions import OutOfRange, Rounding
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, pattern_dtype, values_of
from mmaproof.designs.readings import NanCode
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.hardware_replay.matrix_targets import MatrixTarget, Product
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.ieee import convert_number
from mmaproof.smt.semantics.patterns import Unpacked
from mmaproof.verification.distributions import COLUMNS, from_float64

Floats = npt.NDArray[np.float64]
Multiply = Callable[[Product, Patterns, Patterns], Patterns]
LEAST_RESULTS = 1000
"""MIN_DOT_PRODUCTS of TOSA."""
FP64 = FORMATS["fp64"]
SETS = range(6)
NARROW = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
"""Inputs whose sums in fp32 have wider bounds (TOSA 1.1, introduction, ABS_BOUND)."""
BOUNDS: Mapping[tuple[frozenset[str], str], float] = {
    (frozenset({"e4m3"}), "fp16"): 240,
    (frozenset({"e4m3"}), "fp32"): 448,
    (frozenset({"e5m2"}), "fp16"): 224,
    (frozenset({"e5m2"}), "fp32"): 57344,
    (frozenset({"e4m3", "e5m2"}), "fp16"): 224,
    (frozenset({"e4m3", "e5m2"}), "fp32"): 448,
    (frozenset({"e4m3"}), "e4m3"): 20,
    (frozenset({"e5m2"}), "e5m2"): 224,
    (frozenset({"fp16"}), "fp16"): 255.875,
    (frozenset({"fp16"}), "fp32"): 65504,
    (frozenset({"bf16"}), "bf16"): 2.0**64 - 2.0**56,
    (frozenset({"bf16"}), "fp32"): 2.0**64 - 2.0**56,
    (frozenset({"fp32"}), "fp32"): 2.0**64 - 2.0**40,
}
"""B of TOSA 1.1, appendix A, by the formats of inputs and of the output."""


@dataclass(frozen=True)
class Check:
    """A check of a standard: what was measured, relative to what is allowed, and the element of the largest error.

    A number is None where the check does not look at it.
    """

    name: str
    passed: bool
    absolute: float | None
    squared: float | None
    bias: float | None
    wrong: int | None
    row: int
    column: int


@dataclass(frozen=True)
class Conformance:
    """What the checks of a standard found for products of one shape."""

    standard: str
    source: str
    name: str
    product: Product
    accumulator: Format
    checks: tuple[Check, ...]

    @property
    def conforms(self) -> bool:
        """Whether every check passed."""
        return all(x.passed for x in self.checks)


TOSA = "TOSA 1.1 (draft of 2026-08-07), MATMUL: dot product accuracy requirements, appendix A"


def tosa(subject: Plan | MatrixTarget, product: Product, accumulator: Format) -> Conformance:
    """Return what the test of dot products of TOSA 1.1 finds of a plan or a kernel.

    ``product`` has one matrix of A and of B (N = 1), and at least 1000 results. ``accumulator`` is acc_t. Raises
    InputError for formats that the test has no operands for, and for fewer results.
    """
    if product.m * product.n < LEAST_RESULTS:
        raise InputError(f"{product.m} x {product.n} results: the test needs at least {LEAST_RESULTS}")
    inputs, out = frozenset({product.a.name, product.b.name}), product.d
    if product.scale is not None or (inputs, out.name) not in BOUNDS:
        known = ", ".join(f"{d}.{'.'.join(sorted(x))}" for x, d in BOUNDS)
        raise InputError(f"TOSA has no operands for {product.formats}: it has them for {known} (d, then inputs)")
    checks = (_checked(subject, product, accumulator, number) for number in SETS)
    return Conformance("tosa", TOSA, subject.name, product, accumulator, tuple(checks))


def _checked(subject: Plan | MatrixTarget, product: Product, accumulator: Format, number: int) -> Check:
    """Return the check of one data set (``tosa_reference_check_dotproduct``)."""
    out = product.d
    a, b = _operands(product, number)
    found = values_of(_multiplied(subject, product, a, b), out)
    values = [values_of(x, fmt) for x, fmt in ((a, product.a), (b, product.b))]
    reference = values[0] @ values[1]
    sizes = [np.maximum(np.abs(x), 2.0**fmt.e_min) for x, fmt in zip(values, (product.a, product.b), strict=True)]
    bound = sizes[0] @ sizes[1]
    allowed, variance = bounds(product, accumulator)
    unit = 2.0 ** (-1 - out.fraction_bits)
    beyond = float(out.largest) + 2.0 ** (out.e_max - out.fraction_bits - 1)
    with np.errstate(invalid="ignore", over="ignore"):
        error = (found - reference) / np.maximum(bound * unit, 2.0**out.e_min)
        error = np.where(bound * (1 + allowed * unit) >= beyond, 0.0, error)
        error = np.where(np.isnan(error), inf, error)  # a NaN is never close to a number
        squared = float((error**2).sum()) / (variance * error.size)
        bias = abs(float(error.sum())) / sqrt(10 * variance * error.size) if number >= 3 else None
    row, column = divmod(int(np.abs(error).argmax()), error.shape[1])
    absolute = float(np.abs(error).max()) / allowed
    passed = absolute <= 1 and squared <= 1 and (bias is None or bias <= 1)
    return Check(f"set {number}", passed, absolute, squared, bias, None, row, column)


def _multiplied(subject: Plan | MatrixTarget, product: Product, a: Patterns, b: Patterns) -> Patterns:
    return multiply_plan(subject, a, b) if isinstance(subject, Plan) else subject.multiply(product, a, b)


def bounds(product: Product, accumulator: Format) -> tuple[float, float]:
    """Return ABS_BOUND and VARIANCE_ERROR_BOUND, in units of half an ulp of the sum of magnitudes."""
    steps = ceil(product.k / 2 ** ((accumulator.fraction_bits - product.d.fraction_bits) / 2))
    if product.a.name in NARROW and accumulator.name == "fp32":
        kept = min(steps, 64)
        return 2.0 * max(steps, kept << 10), 4 * 0.4 * max(steps, kept << 20)
    return (6.0 if product.a.name == "fp32" else 2.0) * steps, 4 * 0.4 * steps


def _operands(product: Product, number: int) -> tuple[Patterns, Patterns]:
    """Return a and b of a data set: ``tosa_pro_fp_data`` by the place in the tensor, rounded to nearest."""
    k, n = product.k, product.n
    rows, ks = np.indices((product.m, k))
    a = _data(product, number, 0, ks, rows * k + ks)
    ks, columns = np.indices((k, n))
    b = _data(product, number, 1, ks, ks * n + columns)
    return from_float64(product.a, a), from_float64(product.b, b)


def _data(product: Product, number: int, side: int, ks: npt.NDArray[np.intp], i: npt.NDArray[np.intp]) -> Floats:
    """Return the operands of a side of a data set (appendix A); ``i`` are places in the tensor."""
    k, most = product.k, BOUNDS[frozenset({product.a.name, product.b.name}), product.d.name]
    size = 2 * i.size
    one, both = (number * 3 + side, i), [(number * 3, i), (number * 3 + 1, i)]

    def drawn(stream: int, at: npt.NDArray[np.intp]) -> Floats:
        found: Floats = set_data(stream, size)[at]
        return found

    def signs(stream: int) -> npt.NDArray[np.bool_]:
        return drawn(stream, 2 * i) < 0

    match number:
        case 0:
            first, second = (drawn(*x) for x in both)
            return np.where((first < 0) == (side == 0), 0.0, second)
        case 1:
            value = np.where(signs(one[0]), -0.75, 0.75) + 0.25 * drawn(one[0], 2 * i + 1)
            return most / sqrt(k + 1) * value
        case 2:
            return np.where(ks == 0, 1.0, drawn(*one) / sqrt(k))
        case 3:
            value = np.exp(2 * drawn(one[0], 2 * i)) * drawn(one[0], 2 * i + 1)
            return np.where(ks == 0, np.where(signs(one[0]), -16.0, 16.0), value)
        case 4:
            first, second = (drawn(*x) for x in both)
            half = np.where((first < 0) == (side == 0), -0.5, 0.5)
            value = np.where((first < 0) == (side == 0), 0.0, most / sqrt(k) * second)
            return np.where(ks == k // 2, half, value)
        case _:
            return most / sqrt(k) * drawn(*one)


def set_data(stream: int, size: int) -> Floats:
    """Return the first numbers of a pseudo-random sequence (appendix A, ``set_data``), from -1 to 1."""
    factor = (8 * stream + 1) * 0x705A5E75 & 0xFFFFFFFF
    found, addend = np.array([factor + 1], dtype=np.uint32), 1
    while len(found) < size:  # r * factor + 1, as many times as there are numbers
        found = np.concatenate([found, found * np.uint32(factor) + np.uint32(addend)])
        addend, factor = (addend * factor + addend) & 0xFFFFFFFF, factor * factor & 0xFFFFFFFF
    found = found[:size]
    sizes = (found & np.uint32(0x7FFFFFFF)).astype(np.float32) / np.float32(0x7FFFFFFF)
    numbers: Floats = np.where(found >> np.uint32(31), -sizes, sizes).astype(np.float64)
    return numbers


P3109 = "IEEE P3109 interim report (2026), BlockDotProduct: the exact sum of exact products, projected once"
_ALGEBRA = IntegerAlgebra()


def p3109(subject: Plan | MatrixTarget, product: Product, accumulator: Format) -> Conformance:
    """Return whether each result is the projection of the exact dot product: rounded once, saturated as is stated.

    The rounding and the saturation are those of ``out=`` of a plan; without it, and of kernels, the rounding is to
    nearest, ties to even, and OvfInf. Operands are of several distributions. Zeros of either sign are the same. Raises
    InputError for integers, and for formats with numbers beyond fp64.
    """
    for fmt in (product.a, product.b, product.d):
        if fmt.is_integer or fmt.e_max > FP64.e_max or fmt.e_min - fmt.fraction_bits < FP64.e_min - FP64.fraction_bits:
            raise InputError(f"{fmt.name}: this check takes floating-point formats whose numbers fp64 has")
    checks = (_projected(subject, product, name) for name in COLUMNS)
    return Conformance("p3109", P3109, subject.name, product, accumulator, tuple(checks))


def _drawn(product: Product, name: str) -> tuple[Patterns, Patterns]:
    """Return a and b of a distribution."""
    rng = np.random.default_rng(0)
    a = COLUMNS[name](product.a, (product.m, product.k), rng)
    return a, COLUMNS[name](product.b, (product.k, product.n), rng)


def _projected(subject: Plan | MatrixTarget, product: Product, name: str) -> Check:
    a, b = _drawn(product, name)
    d = _multiplied(subject, product, a, b)
    found, expected = (values_of(x, product.d) for x in (d, _projections(_projection(subject, product), product, a, b)))
    return _counted(name, (found != expected) & ~(np.isnan(found) & np.isnan(expected)))


def _counted(name: str, wrong: npt.NDArray[np.bool_]) -> Check:
    """Return the check that no result is wrong."""
    row, column = divmod(int(wrong.argmax()), wrong.shape[1])
    return Check(name, not wrong.any(), None, None, None, int(wrong.sum()), row, column)


def _projection(subject: Plan | MatrixTarget, product: Product) -> Rules:
    """Return how the last sum of a plan, or of a unit, is converted; the mode OvfInf for a function."""
    if not isinstance(subject, Plan):
        return Rules.of_format(product.d, Rounding.RNE, OutOfRange.parse("ovfinf", product.d))
    of_unit = subject.unit.step.projection if subject.is_unit else None
    return Rules.of_format(product.d, *(of_unit or (subject.epilogue.rounding, subject.epilogue.out_of_range)))


def _projections(rules: Rules, product: Product, a: Patterns, b: Patterns) -> Patterns:
    """Return the exact dot products, each converted once."""
    x, y = values_of(a, product.a), values_of(b, product.b)
    (ones, places), (others, more) = _integers(x), _integers(y)
    totals = ones @ others
    plus, minus, zero = ([f(v) for v in (x, y)] for f in (_plus, _minus, _zero))
    far = [np.isinf(v) for v in (x, y)]
    positive = _any((plus[0] & far[0], plus[1]), (plus[0], plus[1] & far[1]), (minus[0] & far[0], minus[1]))
    positive |= _any((minus[0], minus[1] & far[1]))
    negative = _any((plus[0] & far[0], minus[1]), (plus[0], minus[1] & far[1]), (minus[0] & far[0], plus[1]))
    negative |= _any((minus[0], plus[1] & far[1]))
    nan: npt.NDArray[np.bool_] = _any((far[0], zero[1]), (zero[0], far[1])) | (positive & negative)
    rows, columns = np.asarray(np.isnan(x).any(axis=1)), np.asarray(np.isnan(y).any(axis=0))
    nan |= rows[:, None] | columns[None, :]
    found = np.empty(totals.shape, dtype=pattern_dtype(product.d))
    for at in np.ndindex(totals.shape):
        infinite = bool(positive[at] | negative[at])
        value = int(totals[at])
        below = bool(negative[at]) if infinite else value < 0
        found[at] = _converted(
            rules, product.d, 1 if infinite else abs(value), places + more, below, infinite, bool(nan[at])
        )
    return found


def _integers(values: Floats) -> tuple[npt.NDArray[np.object_], int]:
    """Return finite numbers as integers times a power of two, and its exponent; zeros for others."""
    fractions, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
    least = int(exponents.min())
    whole = (fractions * 2.0**53).astype(np.int64).astype(object)
    return whole * np.array([1 << int(e - least) for e in exponents.flat], dtype=object).reshape(
        values.shape
    ), least - 53


def _plus(values: Floats) -> npt.NDArray[np.bool_]:
    return np.greater(values, 0)


def _minus(values: Floats) -> npt.NDArray[np.bool_]:
    return np.less(values, 0)


def _zero(values: Floats) -> npt.NDArray[np.bool_]:
    return np.equal(values, 0)


def _any(*pairs: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]) -> npt.NDArray[np.bool_]:
    """Return for which elements of a product some k is in both of a pair."""
    found = np.array([a.astype(np.int64) @ b.astype(np.int64) for a, b in pairs])
    return np.asarray(found.any(axis=0))


def _converted(rules: Rules, fmt: Format, size: int, exponent: int, below: bool, infinite: bool, nan: bool) -> int:
    truth, width = _ALGEBRA.truth, max(size.bit_length(), 1)
    number = Unpacked(
        0,
        truth(below),
        _ALGEBRA.signed(exponent),
        _ALGEBRA.unsigned(size, width),
        truth(size == 0),
        truth(False),
        truth(infinite),
        truth(nan),
    )
    return convert_number(_ALGEBRA, rules, NanCode.QUIET, number).data


IME = "RISC-V Zvdota and Zvbdota (draft, riscv-isa-manual pull request 2618), RVBNA: bulk normalisation, rounded to odd"


def ime(subject: Plan | MatrixTarget, product: Product, accumulator: Format) -> Conformance:
    """Return whether each result has the bits of the draft's dot product of K elements, from c = +0.

    Operands are those of ``p3109``. Raises InputError for formats and for K that the draft's units do not have.
    """
    rows = [x for x in load_catalogue().designs.values() if x.family == "rvbna"]
    fitting = [x for x in rows if (x.a_format, x.b_format, x.d_format) == (product.a, product.b, product.d)]
    unit = next((x for x in fitting if x.k == product.k), None)
    if unit is None:
        lengths = [str(k) for k in sorted({x.k for x in fitting})]
        known = lengths or sorted({x.signature.interface for x in rows})
        raise InputError(f"the draft has no {product.formats} with K = {product.k}: {', '.join(known)}")
    meant = Plan(unit)

    def checked(name: str) -> Check:
        a, b = _drawn(product, name)
        found, expected = (_multiplied(x, product, a, b) for x in (subject, meant))
        return _counted(name, ~equal_patterns(product.d, found.ravel(), expected.ravel()).reshape(found.shape))

    return Conformance("ime", IME, subject.name, product, accumulator, tuple(map(checked, COLUMNS)))


STABLEHLO = (
    "StableHLO, DotAlgorithm without allow_imprecise_accumulation: sums that are exact in the accumulator, in any order"
)
LARGEST_FIRST, LARGEST_LAST, CANCELLING, SMALL = "largest first", "largest last", "cancelling", "small integers"


def stablehlo(subject: Plan | MatrixTarget, product: Product, accumulator: Format) -> Conformance:
    """Return whether sums of integers are exact whose partial sums the accumulator holds in every order.

    This follows from the type of the accumulator, whatever the order of k is, unless the accumulation may be imprecise.
    What else a sum returns is left open. Raises InputError for a K that no such sum has, and for scales.
    """
    if product.scale is not None or (isinstance(subject, Plan) and subject.scale_format is not None):
        raise InputError("DotAlgorithm has no scales of blocks: take a unit without scales, or conform mx")
    room = min(f.bits - 2 if f.is_integer else f.precision for f in (accumulator, product.d))
    if 2 * product.k > 1 << room:
        raise InputError(
            f"K = {product.k}: {accumulator.name} and {product.d.name} hold sums of up to {1 << room >> 1}"
        )

    def checked(name: str) -> Check:
        x, y = _whole_operands(product, name, room)
        a, b = (from_float64(f, v) for f, v in ((product.a, x), (product.b, y)))
        return _counted(name, values_of(_multiplied(subject, product, a, b), product.d) != x @ y)

    checks = tuple(map(checked, (SMALL, LARGEST_FIRST, LARGEST_LAST, CANCELLING)))
    return Conformance("stablehlo", STABLEHLO, subject.name, product, accumulator, checks)


def _whole_operands(product: Product, name: str, room: int) -> tuple[Floats, Floats]:
    """Return integers of the formats whose products add up to at most ``2**room`` in magnitude, in any order."""
    rng, k = np.random.default_rng(0), product.k
    most = 1 if name != SMALL else max(1, min(int(sqrt(2**room / k)), *map(_whole, (product.a, product.b))))
    least = -most if product.a.signed and product.b.signed else 0
    x, y = (rng.integers(least, most + 1, s).astype(np.float64) for s in ((product.m, k), (k, product.n)))
    if name == SMALL:
        return x, y
    # powers of two that both formats have, whose product leaves room for all the ones
    of_a, of_b = (min(_top(f), room) for f in (product.a, product.b))
    total = min(of_a + of_b, room - (2 if name == CANCELLING else 1))
    at = 0 if name != LARGEST_LAST else k - 1
    for place, sign in ((at, 1), (k - 1, -1))[: 2 if name == CANCELLING and k > 1 and least < 0 else 1]:
        x[:, place], y[place] = sign * 2.0 ** min(of_a, total), 2.0 ** (total - min(of_a, total))
    return x, y


def _whole(fmt: Format) -> int:
    """Return the largest N for which a format has all integers up to N."""
    return fmt.max_finite if fmt.is_integer else min(1 << fmt.precision, int(fmt.largest))


def _top(fmt: Format) -> int:
    """Return the largest power of two that a format has."""
    return fmt.max_finite.bit_length() - 1 if fmt.is_integer else fmt.e_max


MX = "OCP MX 1.0, sections 5 and 6: what NaNs among scales and elements give; the precision of sums is left open"
MX_ELEMENTS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e1m6")


def mx(subject: Plan | MatrixTarget, product: Product, accumulator: Format) -> Conformance:
    """Return whether a NaN scale makes its block NaN, and a NaN element its product, and nothing else is a NaN.

    Raises InputError for kernels, which are asked without scales, and for formats that are none of MX.
    """
    if not isinstance(subject, Plan) or subject.scale_format is None:
        raise InputError("MX is about scales of blocks: a plan whose unit has them is needed")
    scale, block = subject.scale_format, subject.block
    if scale.name != "e8m0" or block != 32 or not {product.a.name, product.b.name} <= set(MX_ELEMENTS):
        raise InputError(
            f"{product.a.name} and {product.b.name} with {scale.name} for {block} elements are not formats of MX: "
            f"{', '.join(MX_ELEMENTS)} with e8m0 for 32 elements are"
        )
    rng, blocks = np.random.default_rng(0), subject.blocks(product.k)
    sides = [rng.integers(-1, 2, s).astype(np.float64) for s in ((product.m, product.k), (product.k, product.n))]
    elements = [from_float64(f, x) for f, x in zip((product.a, product.b), sides, strict=True)]

    def checked(name: str) -> Check:
        a, b = (x.copy() for x in elements)
        scales = [np.full(s, scale.encode(1), np.uint8) for s in ((product.m, blocks), (blocks, product.n))]
        nan = np.zeros((product.m, product.n), dtype=bool)
        if name == "NaN scales":
            scales[0][0, 0] = scales[1][-1, -1] = scale.quiet_nan or 0xFF
            nan[0], nan[:, -1] = True, True
        elif name == "NaN elements":
            if product.a.quiet_nan is not None:
                a[0, -1], nan[0] = product.a.quiet_nan, True
            if product.b.quiet_nan is not None:
                b[0, -1], nan[:, -1] = product.b.quiet_nan, True
        return _counted(name, np.isnan(values_of(multiply_plan(subject, a, b, None, *scales), product.d)) != nan)

    checks = tuple(map(checked, ("no NaN", "NaN scales", "NaN elements")))
    return Conformance("mx", MX, subject.name, product, accumulator, checks)


STANDARDS: Mapping[str, Callable[[Plan | MatrixTarget, Product, Format], Conformance]] = {
    "tosa": tosa,
    "p3109": p3109,
    "ime": ime,
    "stablehlo": stablehlo,
    "mx": mx,
}
"""The standards with checks of numbers."""
