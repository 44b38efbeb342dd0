"""The tolerance of data: its bound holds for all operands within its limits, and its line says what was found."""

import numpy as np
import pytest
from support.climbing import Range, measured, random_rows

from mmaproof.designs.errors import InputError
from mmaproof.gemm.answers.matrices import find_distribution
from mmaproof.gemm.tolerances import data
from mmaproof.gemm.tolerances.data import bound_within, data_tolerance, largest_sum, up_to_digits
from mmaproof.gemm.tolerances.tolerance import tolerance

HOPPER = "hopper/wgmma.f32.e4m3.e4m3"


@pytest.fixture
def hopper():
    return tolerance(HOPPER, 256)


def parts(found, seed):
    """Yield what part of the bound within its own limits the error of each row is."""
    rng = np.random.default_rng(seed)
    for within in (Range(-4, 3, no_c=True), Range(0, 1, no_c=True)):
        batch = random_rows(found.plan, found.k, within, rng, 40)
        for i in range(len(batch)):
            row = batch.select(slice(i, i + 1))
            given = found.given(row.a, np.ascontiguousarray(row.b.T))
            a, b = (float(x.magnitudes.max()) for x in (given.a, given.b))
            bound = bound_within(found, a, b, largest_sum(given, found.unit.step.L))
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
    monkeypatch.setitem(globals(), "bound_within", lambda found, a, b, sums: true(found, a, b, sums / 64))
    assert max(parts(hopper, 0)) > 1


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
    assert (found.a, found.b) == (2, 2)
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
