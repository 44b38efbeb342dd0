"""When splits are exact, and what is lost: known windows, numbers recomputed with NumPy, and mutants."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.deciding import decide
from support.gemm_asked import asked

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.errors import InputError
from mmaproof.gemm.answers.dropped import check_dropped
from mmaproof.gemm.answers.split import (
    EXACT,
    NONE,
    check_split,
    every_precision,
    exponents_of,
    relative_bound,
    significant_bits,
)
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.questions.split import Part, PartIsBounded, SplitIsExact, Splitting, Window
from mmaproof.properties.preconditions import Exponents, Finite
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.verdict import Status

FP16 = find_design("volta/mma.m8n8k4.f32.f16.f16.f32")
BF16 = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32")
OOTOMO = find_algorithm("ootomo-yokota")
SPLIT = Splitting.of(OOTOMO, FP16, "a")


def words(pattern):
    """x and the words of Ootomo and Yokota's split, scaled back, by NumPy's conversions."""
    x = np.array([pattern], dtype=np.uint32).view(np.float32)[0]
    with np.errstate(over="ignore", invalid="ignore"):
        first = np.float16(x)
        second = np.float16((x - np.float32(first)) * np.float32(2048))
        return float(x), float(first), float(second) / 2048


def patterns_of(witness, *names):
    return [n.pattern for name in names for n in witness.numbers if n.name == name]


@pytest.mark.slow
def test_the_split_of_ootomo_and_yokota():
    """23 bits in two words of 11 bits and a sign; the residual ends at 2**-24, scaled by 2**11: at 2**-35."""
    found = check_split(OOTOMO, FP16, (), asked())
    assert found.status is Status.PROVED
    table = {x["bits"]: (x["low"], x["high"]) for x in found.values["ab"]["exact"]}
    assert table == {n: (n - 36, 14 if n > 11 else 15) for n in range(1, 24)}
    assert found.values["ab"]["relative_error"] == {"low": -13, "high": 14, "places": 23, "exact": False}
    shown = {w.shows: words(*patterns_of(w, "x")) for w in found.witnesses}
    assert [s.partition(":")[0] for s in shown] == ["not exact"] * 3 + ["2^-24 |x| is exceeded"]
    for x, first, second in shown.values():
        assert first + second != x
    exponents = [np.frexp(x)[1] - 1 for x, _, _ in shown.values()]
    assert -13 <= exponents[0] <= 14
    assert exponents[1:3] == [-14, 15]
    patterns = every_precision(1)
    inside = (exponents_of(patterns) >= -13) & (exponents_of(patterns) <= 14) & (significant_bits(patterns) <= 23)
    for x, first, second in map(words, patterns[inside][::50]):
        assert first + second == x


@pytest.mark.slow
def test_three_words_of_bf16_lose_nothing():
    splitting = Splitting.of(find_algorithm("bf16x9"), BF16, "b")
    bound, problem = relative_bound(splitting, Window(0, 1), asked())
    assert (problem, bound.places, bound.beyond) == ("", EXACT, None)
    assert decide(SplitIsExact(splitting, [Window(-111, -111)])) is Status.REFUTED


@pytest.mark.slow
def test_a_scale_of_one_place_less_shortens_the_window():
    splitting = Splitting.of(replace(OOTOMO, scale=10), FP16, "a")
    assert decide(SplitIsExact(splitting, [Window(-12, -12, 23)])) is Status.PROVED
    assert decide(SplitIsExact(splitting, [Window(-13, -13, 23)])) is Status.REFUTED
    assert decide(SplitIsExact(SPLIT, [Window(-13, -13, 23)])) is Status.PROVED


@pytest.mark.middle
@pytest.mark.slow_values("changes0-20")
@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({}, 20),
        ({"residual_rounding": Rounding.RZ}, 19),
        pytest.param({"rounding": Rounding.RZ}, 20, marks=pytest.mark.middle),
        pytest.param({"scale": 10}, 19, marks=pytest.mark.middle),
    ],
)
def test_residuals_that_are_truncated_or_scaled_less_miss_more(changes, places):
    """At 2**-16 the residual ends at 2**-35: to nearest that is half of it, 2**-20 of x; truncated the whole."""
    splitting = Splitting.of(replace(OOTOMO, **changes), FP16, "a")
    bound, problem = relative_bound(splitting, Window(-16, -15), asked())
    assert (problem, bound.places) == ("", places)


@pytest.mark.slow
def test_words_that_the_unit_flushes_count_as_zero():
    markidis, flushing = find_algorithm("markidis"), find_design("cdna2/v_mfma_f32_16x16x16f16")
    tables = {}
    for unit in (FP16, flushing):
        exact = check_split(markidis, unit, (), asked()).values["ab"]["exact"]
        tables[unit] = {x["bits"]: (x["low"], x["high"]) for x in exact}
    # the last bit of the residual, 2^-24 in fp16, is below 2^-14 where it is the residual's first one
    assert (tables[FP16][23], tables[flushing][23]) == ((-2, 14), (8, 14))
    splitting = Splitting.of(markidis, flushing, "a")
    algebra = IntegerAlgebra()
    x = algebra.unsigned(0x3E800400, 32)  # 2^-2 + 2^-15
    assert splitting.words(algebra, x)[1].word.data == 0x0200
    assert splitting.read_words(algebra, x)[1].word.data == 0


def test_a_window_where_a_word_overflows_has_no_bound():
    bound, _ = relative_bound(SPLIT, Window(-14, 15), asked())
    assert bound.places == NONE
    _, first, _ = words(bound.beyond)
    assert abs(first) == np.inf


@pytest.mark.parametrize(
    ("part", "bound"),
    [(Part(0, True), Fraction(4093, 1 << 23)), (Part(1, True), Fraction(1, 1 << 24)), (Part(1, False), Fraction(0))],
)
def test_bounds_that_are_too_small_are_refuted(part, bound):
    assert decide(PartIsBounded(SPLIT, part, bound, Window(0, 1))) is Status.REFUTED


@pytest.mark.slow
def test_the_product_left_out():
    """Two words hold a number to 2**-23, the product of the residuals is 2**-22 at most: 2**-21 in all, and no less."""
    proved = check_dropped(OOTOMO, FP16, [Exponents(0, 0)], None, asked())
    assert (proved.status, proved.values["places"]) == (Status.PROVED, 21)
    (witness,) = proved.witnesses
    a, b = (words(p) for p in patterns_of(witness, "a", "b"))
    kept = a[1] * b[1] + a[1] * b[2] + a[2] * b[1]
    error = abs(Fraction(a[0]) * Fraction(b[0]) - Fraction(kept)) / Fraction(a[0] * b[0])
    assert error == Fraction(proved.values["largest_found"])
    assert Fraction(1, 1 << 22) < error <= Fraction(proved.values["bound"]) <= Fraction(1, 1 << 21)


@pytest.mark.slow_values("20-Status.REFUTED")
@pytest.mark.middle
@pytest.mark.parametrize(("below", "status"), [(19, Status.PROVED), (20, Status.REFUTED)])
def test_a_stated_bound(below, status):
    """First words that are truncated leave twice the residual, and so four times the product of the two."""
    truncated = replace(OOTOMO, rounding=Rounding.RZ)
    found = check_dropped(truncated, FP16, [Exponents(0, 0)], below, asked())
    assert (found.status, found.values["below"]) == (status, below)
    assert len(found.witnesses) == 1


def test_one_exponent_window_is_what_may_be_stated():
    with pytest.raises(InputError, match="one --where exponents"):
        check_dropped(OOTOMO, FP16, [Finite()], None, asked())
    with pytest.raises(InputError, match="no fp32 number"):
        check_split(OOTOMO, FP16, [Exponents(130, 140)], asked())
