"""What is said about a wrong result is so, for all elements that were looked at; what only resembles it is not said."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import array_of
from mmaproof.gemm.tolerances import diagnosis
from mmaproof.gemm.tolerances.assertion import assert_gemm
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.verification.distributions import from_float64


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """On a busy machine some explanations would not be tried."""
    monkeypatch.setattr(diagnosis, "MOST_SECONDS", 3600.0)


UNIT = "volta/mma.m8n8k4.f32.f16.f16.f32"
RNG = np.random.default_rng(0)
SIDE = 16


def operands(m: int = SIDE, k: int = SIDE, n: int = SIDE, unit: str = UNIT):
    formats = find_design(unit).formats
    return [
        array_of(from_float64(f, RNG.standard_normal(s)), f)
        for f, s in zip(formats, ((m, k), (k, n), (m, n)), strict=False)
    ]


A, B, C = operands()
D = matmul(UNIT, A, B, C)


def text_of(actual, a=A, b=B, c=C, strength: str = "bits", plan: str = UNIT) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_gemm(actual, a, b, c, plan=plan, strength=strength)
    return str(caught.value)


WRONG = {
    "the transpose of the result": D.T,
    "as if a were transposed": matmul(UNIT, np.ascontiguousarray(A.T), B, C),
    "as if b were transposed": matmul(UNIT, A, np.ascontiguousarray(B.T), C),
    "as if a and b were transposed": matmul(UNIT, np.ascontiguousarray(A.T), np.ascontiguousarray(B.T), C),
    "as if c were transposed": matmul(UNIT, A, B, np.ascontiguousarray(C.T)),
    "twice the result": D * 2,
    "minus the result": -D,
    "as if c were not added": matmul(UNIT, A, B),
    "as if c were subtracted": matmul(UNIT, A, B, -C),
    "as if c were added twice, at the start": matmul(UNIT, A, B, 2 * C),
    "as if c were added twice, the second time at the end": D + C,
    "rows shifted: row i is row i + 3 (modulo 16)": np.roll(D, -3, axis=0),
    "columns shifted: column i is column i + 15 (modulo 16)": np.roll(D, 1, axis=1),
    "rows exchanged: row 2 is row 9": D[[0, 1, 9, *range(3, 9), 2, *range(10, SIDE)]],
    "columns exchanged: column 0 is column 5": D[:, [5, 1, 2, 3, 4, 0, *range(6, SIDE)]],
    "as if a[:, k] met b[k + 1]": matmul(UNIT, A, np.roll(B, -1, axis=0), C),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("text", WRONG)
def test_results_at_other_places_are_named(text: str) -> None:
    said = text_of(WRONG[text])
    assert text in said
    assert "have these bits" in said
    assert said.count("what fits") == 1


@pytest.mark.middle
@pytest.mark.parametrize("text", ["the transpose of the result", "twice the result", "rows shifted", "as if a were"])
def test_within_the_bound_they_are_named_without_the_bits(text: str) -> None:
    wrong = next(d for x, d in WRONG.items() if x.startswith(text))
    said = text_of(np.nextafter(wrong, np.float32(np.inf)), strength="proved")
    assert f"within the bound of {text}" in said
    assert "have these bits" not in said


def test_operands_that_are_no_squares_are_read_in_the_other_order_of_memory() -> None:
    a, b, c = operands(8, 16, 12)
    wrong = matmul(UNIT, np.ascontiguousarray(a.reshape(16, 8).T), b, c)
    assert "as if a were transposed (rows and columns exchanged in memory)" in text_of(wrong, a, b, c)


def test_another_unit_of_the_catalogue_is_named() -> None:
    other = "turing/mma.m16n8k8.f32.f16.f16.f32"
    a, b, c = operands(k=64)
    said = text_of(matmul(other, a, b, c), a, b, c)
    assert f"bits of {other}, this plan says {UNIT}" in said


@pytest.mark.slow
def test_a_unit_of_one_row_is_named_for_that_row_alone() -> None:
    a, b, c = operands(k=64)
    d = matmul(UNIT, a, b, c)
    d[3] = matmul(f"{UNIT}@fraction_bits=15", a, b, c)[3]
    wrong = text_of(d, a, b, c)
    assert "row 3: " in wrong
    assert "have these bits" not in wrong
    d[3] = matmul(f"{UNIT}@fraction_bits=22", a, b, c)[3]
    assert "row 3: bits of F = 22, this unit has 23" in text_of(d, a, b, c)


@pytest.mark.middle
def test_other_orders_of_k_are_named() -> None:
    a, b, c = operands(k=64)
    for text, ks in (
        ("from the last to the first", np.arange(64)[::-1]),
        ("in the order 0, 32, 1, 33, ...", np.arange(64).reshape(2, -1).T.ravel()),
    ):
        assert f"k taken {text}" in text_of(matmul(UNIT, a[:, ks], b[ks], c), a, b, c)


@pytest.mark.middle
def test_what_one_element_resembles_is_not_said() -> None:
    """One element has the bits of another unit, by chance as far as anybody can tell."""
    a, b, c = operands(k=64)
    d, other = matmul(UNIT, a, b, c), matmul(f"{UNIT}@fraction_bits=22", a, b, c)
    row, column = np.argwhere(d != other)[0]
    d[row, column] = other[row, column]
    said = text_of(d, a, b, c)
    assert "F = 22" not in said
    assert "within the proved bound, but not the bits" in said


def test_an_explanation_that_misses_one_element_is_not_said() -> None:
    wrong = np.ascontiguousarray(D.T)
    wrong[7, 7] = np.nextafter(wrong[7, 7], np.float32(np.inf))
    assert "have these bits" not in text_of(wrong)
