"""The tolerance of data: its bound holds for all operands within its limits, and its line says what was found."""

import numpy as np
import pytest
from support.climbing import Range, measured, random_rows

from mmaproof.designs.errors import InputError
from mmaproof.gemm.answers.matrices import find_distribution
from mmaproof.gemm.tolerances import data
from mmaproof.gemm.tolerances.data import (
    DataLimits,
    bound_within,
    data_tolerance,
    largest_sum,
    most_below,
    up_to_digits,
)
from mmaproof.gemm.tolerances.given import Rests
from mmaproof.gemm.tolerances.tolerance import tolerance

HOPPER = "hopper/wgmma.f32.e4m3.e4m3"


@pytest.fixture
def hopper():
    return tolerance(HOPPER, 256)


def parts(found, seed, unit_of=None):
    """Yield what part of the bound within its own limits the error of each row is.

    ``unit_of`` returns the unit below which bits of products are limited, of the largest sum; None: they are not.
    """
    rng = np.random.default_rng(seed)
    for within in (Range(-4, 3, no_c=True), Range(0, 1, no_c=True)):
        batch = random_rows(found.plan, found.k, within, rng, 40)
        for i in range(len(batch)):
            row = batch.select(slice(i, i + 1))
            given = found.given(row.a, np.ascontiguousarray(row.b.T))
            a, b = (float(x.magnitudes.max()) for x in (given.a, given.b))
            sums = largest_sum(given, found.unit.step.L)
            rests = None if unit_of is None else Rests(unit_of(sums), most_below(given, unit_of(sums)))
            bound = bound_within(found, DataLimits(a, b, sums, rests))
            reached = measured(found, row, None)
            assert reached is not None
            yield float(reached.error) / bound if bound else float(reached.error > 0)


@pytest.mark.middle
@pytest.mark.parametrize("seed", range(2))
def test_no_row_within_the_limits_exceeds_the_bound(hopper, seed):
    reached = list(parts(hopper, seed))
    assert max(reached) <= 1
    assert max(reached) > 0.2


@pytest.mark.middle
def test_a_limit_that_sums_exceed_gives_a_bound_that_is_exceeded(hopper, monkeypatch):
    true = bound_within
    monkeypatch.setitem(
        globals(), "bound_within", lambda found, x: true(found, DataLimits(x.a, x.b, x.sums / 64, x.rests))
    )
    assert max(parts(hopper, 0)) > 1


AMPERE = "ampere/mma.m16n8k16.f32.f16.f16.f32"
"""An instruction of two steps."""


@pytest.mark.middle
@pytest.mark.parametrize("name", [AMPERE, "cdna3/v_mfma_f32_16x16x32_fp8_fp8"])
def test_no_row_of_a_unit_of_several_steps_exceeds_the_bound(name):
    unit = tolerance(name, 128)
    assert data._adds_in_turn(unit)
    reached = [*parts(unit, 0), *parts(unit, 1, lambda sums: 2.0 ** (np.frexp(sums)[1] - 24) if sums else 1.0)]
    assert max(reached) <= 1
    assert max(reached) > 0.02


def test_steps_in_another_order_have_no_sums_of_the_first_products():
    assert not data._adds_in_turn(tolerance(f"{AMPERE}@k_order=mod2:0/1", 128))
    assert data._adds_in_turn(tolerance("ampere/mma.m16n8k8.f32.f16.f16.f32", 128))
    for other in (f"{AMPERE}@join=ieee-once", "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32"):
        assert not data._adds_in_turn(tolerance(other, 128)), "c is added once, after the last step"


def unit_of_sums(sums):
    return 2.0 ** (np.frexp(sums)[1] - 13) if sums else 1.0


@pytest.mark.middle
@pytest.mark.parametrize("seed", range(2))
def test_no_row_whose_low_bits_are_limited_exceeds_the_bound(hopper, seed):
    reached = list(parts(hopper, seed, unit_of_sums))
    assert max(reached) <= 1
    assert max(reached) > 0.4


@pytest.mark.middle
def test_a_limit_that_low_bits_exceed_gives_a_bound_that_is_exceeded(hopper, monkeypatch):
    true = most_below
    monkeypatch.setitem(globals(), "most_below", lambda *given: true(*given) / 64)
    assert max(parts(hopper, 0, unit_of_sums)) > 1


def test_low_bits_below_a_smaller_unit_limit_nothing(hopper):
    limits = DataLimits(4, 4, 64.0)
    without = bound_within(hopper, limits)
    assert bound_within(hopper, DataLimits(4, 4, 64.0, Rests(2.0**-12, 0.0))) == without
    assert bound_within(hopper, DataLimits(4, 4, 64.0, Rests(2.0**-5, 0.5))) < without / 2


def test_low_bits_of_products_are_what_is_below_the_unit(hopper):
    values = np.array([[1.5, 0.25, 3.25]])
    a, b = (np.zeros((1, 3)) + values).astype("float32"), values.T.astype("float32")
    given = tolerance("volta/f32.f16.f16.f32", 3).given(a.astype(np.float16), b.astype(np.float16))
    assert most_below(given, 1.0) == pytest.approx(0.25 + 0.0625 + 0.5625)


@pytest.mark.middle
def test_the_bound_of_normal_data_is_within_fifty_times_of_the_largest_error():
    found = data_tolerance(tolerance(HOPPER, 4096), "normal(0,1)")
    assert found.largest <= found.elements <= found.atol <= 50 * found.largest
    assert found.limits.rests is not None


def test_the_line_of_normal_data(hopper):
    found = data_tolerance(hopper, "normal(0,1)", samples=4000)
    assert found.largest <= found.elements <= found.atol
    assert found.quantile.lower <= found.quantile.value <= found.largest
    assert found.atol < tolerance(HOPPER, 256, "exponents=-9..2").bound_of_all() / 8
    twice = data_tolerance(hopper, "normal(0,2)", samples=4000)
    assert twice.largest == pytest.approx(4 * found.largest, rel=0.5)


def test_numbers_of_a_file_are_drawn(tmp_path, hopper):
    np.save(tmp_path / "x.npy", np.array([[0.5, -2.0]]))
    found = data_tolerance(hopper, str(tmp_path / "x.npy"), samples=200)
    assert (found.limits.a, found.limits.b) == (2, 2)
    assert found.largest <= found.atol


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("normal(0,-1)", "a deviation above 0"),
        ("normal(a,1)", "two numbers are needed"),
        ("uniform(2,1)", "LO < HI"),
        ("uniform(nan,1)", "LO < HI"),
        ("there-is-none.npy", "cannot be read"),
    ],
)
def test_bad_data_are_refused(text, problem):
    with pytest.raises(InputError, match=problem):
        find_distribution(text)


def test_limits_are_rounded_up():
    for x in (0.0, 1.0, 1.2345, 99.96, 1e-30, float("inf")):
        assert x <= up_to_digits(x) <= 1.01 * x
    assert up_to_digits(99.96) == 100
    assert data.DIGITS == 3
