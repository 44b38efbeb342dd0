"""Errors of two algorithms without a search: one product is asked about first, where the preconditions allow it."""

import pytest

from mmaproof.gemm.answers.compare import compare_errors
from mmaproof.properties.preconditions import parse_precondition

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
ABOUT_ONE = "asked about one product"


@pytest.mark.middle
@pytest.mark.parametrize("unit", [VOLTA, pytest.param("ampere/mma.m16n8k16.f32.f16.f16.f32", marks=pytest.mark.middle)])
def test_one_product_tells_two_algorithms_apart(unit, monkeypatch):
    monkeypatch.setattr("mmaproof.verification.strategies.CUBE_SECONDS", 40.0)  # a busy machine takes longer
    found = compare_errors(
        "ootomo-yokota", "markidis", unit, where=[parse_precondition("exponents=-15..14")], budget=None
    )
    assert found.verdict == "larger"
    assert found.answer.origin.endswith(ABOUT_ONE)
    witness = found.answer.witness
    assert sum(x != 0 for x in witness.a) == sum(x != 0 for x in witness.b) == 1
    assert not witness.c
    first, second = found.outcomes
    assert abs(first.error) > abs(second.error)


@pytest.mark.parametrize(
    ("first", "second", "where", "verdict"),
    [
        ("markidis", "markidis", "exponents=-2..2", "never larger"),
        ("plain", "markidis", "exponents=3..3", "larger"),
    ],
)
def test_where_one_product_tells_nothing_the_whole_question_is_asked(first, second, where, verdict):
    found = compare_errors(first, second, VOLTA, k=1, where=[parse_precondition(where)], budget=None)
    assert found.verdict == verdict
    assert ABOUT_ONE not in (found.answer.origin or "")
