"""Errors on random matrices: the statistics against rationals, and what published figures show."""

import statistics
from fractions import Fraction

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.gemm.answers.matrices import DISTRIBUTIONS, find_distribution
from mmaproof.gemm.programs.evaluate import trace
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.tolerances.errors import ErrorTask, Point, Reference, measure
from mmaproof.gemm.tolerances.walk import LossProof
from mmaproof.gemm.tolerances.words import NoBoundError

VOLTA, FP8 = find_design("volta/mma.m8n8k4.f32.f16.f16.f32"), find_design("hopper/wgmma.m64n8k32.f32.e4m3.e4m3")
UNIFORM = find_distribution("uniform")


def points(names, unit, n, distribution="uniform", **settings) -> list[Point]:
    found = [find_gemm(x, unit) for x in names]
    return list(measure(found, n, find_distribution(distribution), **settings))


def value(pattern) -> Fraction:
    return Fraction(float(np.uint32(pattern).view(np.float32)))


def ulp(x: Fraction) -> float:
    """From NumPy's spacing; exact results here are neither subnormal nor just below a power of two."""
    return float(np.spacing(np.float32(abs(float(x)))))


def single_precision(row, column) -> Fraction:
    total = np.float32(0)
    for x, y in zip(row, column, strict=True):
        total = np.float32(total + np.float32(x.view(np.float32) * y.view(np.float32)))
    return Fraction(float(total))


@pytest.mark.parametrize("name", ["uniform-16", "exponents=-30..-10,0..12"])
@pytest.mark.parametrize("reference", [Reference.EXACT, Reference.FP32])
def test_statistics_are_those_of_each_element(name: str, reference: Reference) -> None:
    n, rows, columns, seed = 8, 3, 2, 5
    (found,) = points(["markidis-a"], VOLTA, n, name, rows=rows, columns=columns, seed=seed, reference=reference)
    a, b = find_distribution(name).draw(rows, n, columns, np.random.default_rng([seed, n]))
    errors, relative, ulps, targets = [], [], [], []
    for row in a:
        for column in b.T:
            d = trace(find_gemm("markidis-a", VOLTA), Operands(tuple(row.tolist()), tuple(column.tolist()), 0)).d
            products = [value(x) * value(y) for x, y in zip(row, column, strict=True)]
            target = sum(products) if reference is Reference.EXACT else single_precision(row, column)
            errors.append(value(d) - target)
            targets.append(target)
            relative.append(abs(errors[-1]) / sum(map(abs, products)))
            ulps.append(float(abs(errors[-1])) / ulp(target))
    assert found.largest == max(map(abs, errors)) > 0
    assert found.mean == float(sum(map(abs, errors)) / len(errors))
    assert found.bias == float(sum(errors) / len(errors))
    assert found.relative == pytest.approx(float(max(relative)), rel=1e-12)
    assert found.ulps == pytest.approx(statistics.median(ulps), rel=1e-12)
    squares = [sum(x * x for x in of) for of in (errors, targets)]
    assert found.squared == pytest.approx(float(squares[0] / len(errors)), rel=1e-12)
    assert found.frobenius == pytest.approx(float(squares[0] / squares[1]) ** 0.5, rel=1e-12)
    assert found.relative_above == pytest.approx(float(max(abs(e / x) for e, x in zip(errors, targets, strict=True))))
    assert (found.n, found.rows, found.columns, found.not_finite) == (n, rows, columns, 0)


def test_a_relative_error_is_of_references_above_a_number() -> None:
    each = [points(["markidis"], VOLTA, 16, rows=6, columns=6, above=t)[0] for t in (0.0, 1.0, 1e9)]
    assert each[0].relative_above > each[1].relative_above > 0  # where terms cancel, the quotient is larger
    assert each[2].relative_above is None
    assert len({(x.squared, x.frobenius) for x in each}) == 1


def test_against_rounded_operands_only_the_accumulator_loses() -> None:
    """One step of e4m3 products, multiples of 2**-6 up to 4: the sum needs 13 fraction bits, and has them."""
    algorithm, names = ["promoted"], "exponents=0..0"
    (exact,) = points(algorithm, FP8, 32, names)
    (rounded,) = points(algorithm, FP8, 32, names, reference=Reference.ROUNDED)
    assert exact.largest > 0.1
    assert rounded.largest == 0
    with pytest.raises(NoBoundError, match="rounds no operands"):
        points(["slices"], find_design("ampere/mma.m16n8k32.s32.s8.s8.s32"), 32, reference=Reference.ROUNDED)


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    """Sums of type 1 exceed fp16, the format of the intermediate results."""
    plans = tuple(find_gemm(x, VOLTA) for x in ("markidis", "markidis@intermediate=fp16"))
    task = ErrorTask(
        plans, 64, "ootomo-yokota-1", Reference.EXACT, (32, 32), 0, True, (LossProof(True, "granted"),) * 2
    )
    both = task.points()
    assert both[0].not_finite == 0
    assert 0 < both[1].not_finite < 1024
    assert both[1].largest is not None
    assert both[1].bound.value is None
    assert "may overflow" in both[1].bound.reason
    (all_of_it,) = points(["markidis@intermediate=fp16"], VOLTA, 4, "exponents=15..15", rows=2, columns=2)
    assert (all_of_it.not_finite, all_of_it.largest, all_of_it.mean) == (4, None, None)


def test_a_reference_that_overflows_is_left_out() -> None:
    unit = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32")
    drawn = find_distribution("exponents=63..63")
    (point,) = measure([find_gemm("bf16x9", unit)], 8, drawn, reference=Reference.FP32, rows=8, columns=8)
    assert 0 < point.not_finite < 64
    # of the others fp32 holds the result: nothing is off by as much as an operand of the sum
    assert point.largest is not None
    assert point.largest < 2**124


def test_matrices_depend_on_the_seed_and_n_alone() -> None:
    alone = points(["plain"], VOLTA, 16, seed=3)[0]
    assert points(["markidis", "plain"], VOLTA, 16, seed=3)[1] == alone
    assert points(["plain"], VOLTA, 16, seed=4)[0].largest != alone.largest
    assert (alone.rows, alone.columns) == (16, 16)


@pytest.mark.parametrize("name", [*DISTRIBUTIONS, "exponents=-126..-120,3..127"])
def test_distributions_keep_their_sizes(name: str) -> None:
    drawn = find_distribution(name)
    found = [x.view(np.float32).astype(np.float64) for x in drawn.draw(50, 40, 30, np.random.default_rng(0))]
    assert [x.shape for x in found] == [(50, 40), (40, 30)]
    for x, size in zip(found, drawn.sizes or (), strict=bool(drawn.sizes)):
        assert float(size) / 2 < np.abs(x).max() <= float(size)
    if name != "positive":
        assert all((x < 0).any() for x in found)
    if "exponents" in name:
        exponents = [np.unique(np.frexp(x)[1] - 1) for x in found]
        assert [(x.min(), x.max(), len(x)) for x in exponents] == [(-126, -120, 7), (3, 127, 125)]


@pytest.mark.parametrize("wrong", ["gauss", "exponents=1", "exponents=3..2", "exponents=-127..0", "exponents=0..128"])
def test_a_distribution_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="exponents"):
        find_distribution(wrong)


def test_sizes_must_fit_the_unit() -> None:
    with pytest.raises(DesignError, match="not a multiple of it"):
        points(["plain"], VOLTA, 6)
    with pytest.raises(DesignError, match="does not run on"):
        points(["residues"], VOLTA, 8)


def markidis_figure_8(n: int, reference: Reference) -> None:
    names = ["plain", "markidis-a", "markidis"]
    plain, refined_a, refined = (x.largest for x in points(names, VOLTA, n, reference=reference))
    assert 0.55 * plain < refined_a < 0.85 * plain
    assert 10 * refined < plain


def test_refining_a_is_about_a_third_better_and_refining_both_ten_times() -> None:
    """Markidis et al. 2018, figure 8, on smaller matrices than theirs."""
    markidis_figure_8(128, Reference.EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("reference", [Reference.EXACT, Reference.FP32])
@pytest.mark.parametrize("n", [512, 4096])
def test_figure_8(n: int, reference: Reference) -> None:
    markidis_figure_8(n, reference)


def test_promotion_stops_the_growth_of_the_error_on_fp8() -> None:
    """Errors as parts of sum |a||b|: without promotion they grow with K, with it they do not."""
    short, long = (
        points(["plain", "promoted"], FP8, n, "positive", rows=16, columns=16, reference=Reference.ROUNDED)
        for n in (128, 512)
    )
    assert short[0].largest == short[1].largest
    assert long[0].relative > 3 * short[0].relative
    assert long[1].relative < 1.2 * short[1].relative
    # the sum is cut, never rounded up
    assert long[0].bias < 0


def test_plans_of_fp64_get_numbers_of_fp64():
    """fp32 beside them is what rounds; their own errors are of fp64, and no bound is composed of them."""
    unit = "turing/mma.m8n8k16.s32.s8.s8.s32"
    wide, narrow = (find_gemm(f"slices@slices=9,operands={x}", unit) for x in ("fp64", "fp32"))
    found = list(measure([wide, narrow], 16, UNIFORM, rows=4, columns=4, bound_of=lambda *_: None))
    assert found[0].relative < 2.0**-50 < 2.0**-28 < found[1].relative
    a, b = UNIFORM.draw(4, 16, 4, np.random.default_rng(0), wide.formats[0])
    assert a.dtype == b.dtype == np.uint64
    assert (a & np.uint64((1 << 29) - 1)).any()
    with pytest.raises(InputError, match="plans that take fp64 are compared with the exact product"):
        list(measure([wide], 16, UNIFORM, reference=Reference.FP32))
    task = ErrorTask((wide,), 16, "uniform", Reference.EXACT, (2, 2), 0, True, (LossProof(True, "by nobody"),))
    (point,) = task.points()
    assert point.bound is not None and point.bound.value is None
    assert "takes fp64" in point.bound.reason
