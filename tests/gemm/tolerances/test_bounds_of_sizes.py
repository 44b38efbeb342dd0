"""Bounds hold for whatever is drawn, are reached within a small factor, and tell a worse unit."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.answers.matrices import find_distribution
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic, exact_value
from mmaproof.gemm.programs.evaluate import as_number, multiply, multiply_plan
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.programs.schedule import Call, Schedule, Slices, Weigh, Words, Zero
from mmaproof.gemm.tolerances.errors import ErrorTask, Reference, Scaled, Sizes, bound_of_sizes
from mmaproof.gemm.tolerances.given import Given, rounded_up
from mmaproof.gemm.tolerances.walk import LossProof, Walk
from mmaproof.gemm.tolerances.words import (
    bounded,
    cut_side,
    least,
    rounded_magnitude,
    rounding_error,
)
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.verification.distributions import edge_patterns

FP32, INT32 = FORMATS["fp32"], FORMATS["int32"]
VOLTA, VOLTA16 = "volta/mma.m8n8k4.f32.f16.f16.f32", "volta/mma.m8n8k4.f16.f16.f16.f16"
TF32, BF16 = "ampere/mma.m16n8k8.f32.tf32.tf32.f32", "ampere/mma.m16n8k16.f32.bf16.bf16.f32"
FP8, INT8 = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3", "ampere/mma.m16n8k32.s32.s8.s8.s32"
ONE = Sizes(Fraction(1), Fraction(1))
PROVED = LossProof(True, "granted")


def error_bound(plan: Plan, k: int, sizes: Sizes, reference: Reference = Reference.EXACT) -> Fraction:
    found = bound_of_sizes(plan, k, sizes, reference)
    assert found.value is not None, found.reason
    return found.value


RUNS = [
    ("plain", VOLTA),
    ("plain", VOLTA16),
    ("plain@rounding=rtp", "turing/f32.f16.f16.f32"),
    ("markidis-a", VOLTA),
    ("markidis", VOLTA),
    ("markidis@intermediate=fp16", VOLTA),
    ("ootomo-yokota", "ampere/mma.m16n8k16.f32.f16.f16.f32"),
    ("ootomo-yokota@products=00.10.01.11,c=last", VOLTA),
    ("ootomo-yokota-tf32", TF32),
    ("3xtf32", TF32),
    ("bf16x3", BF16),
    ("bf16x9@schedule=block", BF16),
    ("promoted", FP8),
    ("promoted@products=01.10.00", "hopper/wgmma.m64n8k32.f32.e5m2.e5m2"),
    ("slices", INT8),
    ("slices@slices=3,kept=all,sums=weight,outside=fp32", INT8),
]


DRAWN = itertools.cycle(itertools.product(("positive", "normal", "exponents=-8..2,-3..3", "uniform"), Reference))


@pytest.mark.few(4)
@pytest.mark.parametrize(("name", "unit", "drawn"), [(*run, next(DRAWN)) for run in RUNS for _ in range(2)])
def test_no_error_is_above_the_bound(name: str, unit: str, drawn: tuple[str, Reference]) -> None:
    distribution, reference = drawn
    if name.startswith("slices") and reference is Reference.ROUNDED:
        reference = Reference.EXACT
    check_bound(name, unit, 32, distribution, reference)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "unit"), RUNS)
@pytest.mark.parametrize("distribution", ["uniform", "positive", "normal"])
def test_no_error_is_above_the_bound_of_longer_sums(name: str, unit: str, distribution: str) -> None:
    for k in (256, 1024):
        check_bound(name, unit, k, distribution, Reference.EXACT)


def check_bound(name: str, unit: str, k: int, distribution: str, reference: Reference) -> None:
    plan = find_gemm(name, unit)
    (point,) = ErrorTask((plan,), k, distribution, reference, (8, 8), 0, True, (PROVED,)).points()
    assert point.bound is not None
    assert point.bound.value is not None, point.bound.reason
    assert point.largest is not None
    assert 0 < point.largest <= point.bound.value


@pytest.mark.few(7)
@pytest.mark.parametrize(("name", "unit"), [RUNS[0], RUNS[4], RUNS[7], RUNS[9], RUNS[14]])
@pytest.mark.parametrize("k", [3, 32])
def test_c_takes_part(name: str, unit: str, k: int) -> None:
    """c is of the largest magnitude that the bound allows, and k may be shorter than the instruction's."""
    plan, rng = find_gemm(name, unit), np.random.default_rng(0)
    a, b = find_distribution("uniform").draw(8, k, 8, rng)
    c = rng.choice(np.array([3, -3], dtype=np.float32), (8, 8)).view(np.uint32)
    exact = Scaled.of_patterns(FP32, a).dot(Scaled.of_patterns(FP32, b))
    d, start = (Scaled.of_patterns(FP32, x) for x in (multiply_plan(plan, a, b, c), c))
    at = min(exact.exponent, d.exponent, start.exponent)
    largest = np.abs(d.at(at) - exact.at(at) - start.at(at)).max() * Fraction(2) ** at
    bound = error_bound(plan, k, replace(ONE, c=Fraction(3)))
    assert 0 < largest <= bound
    assert bound > error_bound(plan, k, ONE)


def test_one_step_is_as_its_property_says() -> None:
    # e_max = 0 at most, L = 4, F = 23; d is below 8, and rounded towards zero with 23 fraction bits
    expected = 5 * Fraction(1, 1 << 23) + Fraction(1, 1 << 21)
    found = error_bound(find_gemm("plain", VOLTA), 4, ONE, Reference.ROUNDED)
    assert expected <= found <= expected * (1 + Fraction(1, 1 << 36))
    # each operand is off by 2**-12 at most, as numbers below 1 are
    words = 4 * (2 * Fraction(1, 1 << 12) + Fraction(1, 1 << 24))
    expected += words
    assert expected <= error_bound(find_gemm("plain", VOLTA), 4, ONE) <= expected * (1 + Fraction(1, 1 << 36))


def test_products_that_are_left_out_are_part_of_the_bound() -> None:
    """The second words are 2**-12 at most, so that their product is 2**-24, of each of K products."""
    some, every = (error_bound(find_gemm(f"markidis@products={x}", VOLTA), 4, ONE) for x in ("10.01.00", "11.10.01.00"))
    assert error_bound(find_gemm("plain", VOLTA), 4, ONE) > 4 * Fraction(1, 1 << 12)
    assert some - every > 4 * Fraction(1, 1 << 24) - 2 * Fraction(1, 1 << 26)


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "k", "a", "b"), [(VOLTA, 256, 2047, 1921), (FP8, 512, 13, 11)])
def test_a_worse_unit_is_beyond_the_bound_and_the_right_one_close_to_it(name: str, k: int, a: int, b: int) -> None:
    """All products are the same, with low bits that are ones: every step loses nearly as much as it can."""
    plain, unit = find_algorithm("plain"), find_design(name)
    x, y = (Fraction(n, 1 << unit.a_format.fraction_bits) for n in (a, b))
    row, column = (np.full((1, k), FP32.encode(n), dtype=np.uint32) for n in (x, y))

    def error(design: Design) -> Fraction:
        d = multiply(plain, design, row, column.T, np.zeros((1, 1), dtype=np.uint32))
        return abs(Fraction(int(Scaled.of_patterns(FP32, d).at(-149)[0, 0]), 1 << 149) - k * x * y)

    bound = error_bound(Plan(unit, plain), k, Sizes(x, y), Reference.ROUNDED)
    mutant = unit.change(fraction_bits=unit.step.fraction_bits - 3)
    assert bound / 2 < error(unit) <= bound
    assert bound < error(mutant) <= error_bound(Plan(mutant, plain), k, Sizes(x, y), Reference.ROUNDED)


def exact(x) -> Fraction:
    value, finite = exact_value(IntegerAlgebra(), x, x.span)
    assert finite.data
    return value.data * Fraction(2) ** x.span.least


def words_of(name: str, unit: str, pattern: int) -> list[Fraction]:
    algebra = IntegerAlgebra()
    x = as_number(FP32, algebra.unsigned(pattern, 32))
    cut = find_algorithm(name).split(find_design(unit), "a", (0,))
    return [exact(word) for (word,) in Arithmetic(algebra).split(cut, [x]).words]


@pytest.mark.few(4)
@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize(
    ("name", "unit", "size"),
    [
        ("ootomo-yokota@rounding={0},residual_rounding={0}", VOLTA, 100),
        ("markidis@rounding={0},residual_rounding={0}", VOLTA, Fraction(1, 1 << 10)),
        ("ootomo-yokota-tf32@rounding={0},residual_rounding={0}", TF32, 1 << 30),
        ("bf16x6@rounding={0},residual_rounding={0}", BF16, 1),
        ("promoted@rounding={0},residual_rounding={0},products=10.00", FP8, 300),
        ("promoted@rounding={0}", FP8, Fraction(3, 1 << 11)),
    ],
)
def test_words_of_a_range_are_no_further_off_than_is_said(name, unit, size, rounding) -> None:
    """Random and edge numbers up to the size, down to the least; what words are off is one symbol."""
    name, size = name.format(rounding), Fraction(size)
    algorithm = find_algorithm(name)
    found = cut_side(bounded(1, FP32, size, 1), algorithm.split(find_design(unit), "a", (0,)))
    largest = [Fraction(float(x.magnitudes[0, 0])) for x in found.words]
    scale, off = Fraction(1, 1 << algorithm.scale), Fraction(found.left[0, 0])
    assert list(found.weights) == [scale**i for i in range(len(largest))]

    rng = np.random.default_rng(1)
    top = FP32.encode(size)
    near = [max(top - i, 0) for i in range(20)]
    patterns = {*near, *(x for x in edge_patterns(FP32) if x <= top), *rng.integers(0, top + 1, 20).tolist()}
    for pattern in patterns:
        for signed in (pattern, pattern | 1 << 31):
            x = exact(as_number(FP32, IntegerAlgebra().unsigned(signed, 32)))
            words = words_of(name, unit, signed)
            assert all(abs(w) <= e for w, e in zip(words, largest, strict=True))
            assert abs(x - sum(w * scale**i for i, w in enumerate(words))) <= off


def test_rounding_moves_a_number_by_half_an_ulp_of_the_numbers_below_the_bound() -> None:
    fp16 = FORMATS["fp16"]
    assert rounding_error(Fraction(1), fp16, Rounding.RNE) == Fraction(1, 1 << 12)
    assert rounding_error(Fraction(1) + Fraction(1, 1 << 30), fp16, Rounding.RNE) == Fraction(1, 1 << 11)
    assert rounding_error(Fraction(1), fp16, Rounding.RZ) == Fraction(1, 1 << 11)
    assert rounding_error(Fraction(1, 1 << 20), fp16, Rounding.RNA) == least(fp16) / 2
    assert rounding_error(Fraction(1, 1 << 40), fp16, Rounding.RNE) == Fraction(1, 1 << 40)
    assert rounding_error(Fraction(1, 1 << 40), fp16, Rounding.RTP) == least(fp16)
    third = Fraction(1, 3)
    assert rounded_magnitude(third, fp16, Rounding.RZ) < third < rounded_magnitude(third, fp16, Rounding.RTN)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "unit", "k", "sizes", "overflows"),
    [
        ("plain", VOLTA, 4, Sizes(Fraction(65520), Fraction(1)), True),
        ("plain", VOLTA16, 4096, Sizes(Fraction(4), Fraction(4)), True),
        ("plain", VOLTA, 4, Sizes(Fraction(1), Fraction(1), FP32.largest), True),
        ("slices", INT8, 1 << 16, ONE, False),
        ("slices@sums=weight", INT8, 1 << 16, ONE, True),
    ],
)
def test_what_may_overflow_has_no_bound(name, unit, k, sizes, overflows) -> None:
    found = bound_of_sizes(find_gemm(name, unit), k, sizes)
    assert (found.value is None) == overflows
    assert found.reason == ("a number may overflow" if overflows else None)


def test_slices_have_no_rounded_operands() -> None:
    assert "rounds no operands" in bound_of_sizes(find_gemm("slices", INT8), 32, ONE, Reference.ROUNDED).reason


@pytest.mark.parametrize(
    ("size", "places", "k", "error"),
    [
        (1, 0, 1, 0),
        (1, 0, 2048, 1),  # 2048 * 127 * 127 has one bit more than the digits
        (1, -149, 1, 0),  # the last bit is the least number
        (1, -150, 1, Fraction(1, 1 << 150)),
        (1 << 12, 90, 1, 0),  # 127 * 127 * 2**(24 + 90) is below the largest number, and twice that is not
        (1 << 12, 91, 1, None),
    ],
)
def test_an_integer_of_few_bits_is_exact_unless_bits_are_below_the_least_number_or_it_is_beyond_the_largest(
    size: int, places: int, k: int, error: Fraction | None
) -> None:
    """Slices of numbers up to 1 or 2**12: their sum is an integer, which is multiplied with a power of two."""
    ks = tuple(range(k))
    cuts = [Slices(side, ks, FORMATS["int8"], 1, 7) for side in "ab"]
    call = Call(find_design(INT8), ks, 0, Words(1, 0), Words(2, 0))
    schedule = Schedule(k, (FP32, FP32, INT32, FP32), (Zero(INT32), *cuts, call, Weigh(3, 1, 2, places, FP32)))
    given = Given(bounded(1, FP32, Fraction(size), k), bounded(0, FP32, Fraction(size), k), None)
    found = float(Walk(schedule, given, 1, cut_side).d(None, sized=True).error[0, 0])
    if error is None:
        assert found == np.inf
    else:
        assert error <= found <= error * (1 + 2.0**-38)


def test_a_bound_is_rounded_up() -> None:
    third = Fraction(1, 3)
    assert Fraction(rounded_up(third)) >= third > Fraction(np.nextafter(rounded_up(third), 0))
    assert rounded_up(Fraction(1, 4)) == 0.25
