"""How far apart terms may lie: a number with a witness one further, or any spread where none reaches further."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.check import check


@pytest.mark.parametrize(
    ("design", "value"),
    [
        # the products of two fp6 lie at most 19 below the largest fp16 accumulator: nothing is ever lost
        ("blackwell/tcgen05.mma.m64n8k32.f16.e3m2.e3m2", "any"),
        # c above every product, and a product below the cut that decides a tie
        ("blackwell/tcgen05.mma.m64n8k32.f16.e3m2.e4m3", 20),
        ("volta/mma.m8n8k4.f32.f16.f16.f32", 3),
    ],
)
def test_products(design, value):
    answer = check("exactness-of-products", find_design(design))
    assert (answer.verdict, answer.finding.value) == ("holds", value)
    assert bool(answer.finding.runs) == (value != "any")


@pytest.mark.parametrize(
    ("design", "value"),
    [
        # c alone below the cut, where it decides a tie
        ("blackwell/tcgen05.mma.m64n8k32.f16.e2m3.e4m3", 15),
        ("volta/mma.m8n8k4.f32.f16.f16.f32", 0),
    ],
)
def test_c(design, value):
    answer = check("exactness-of-c", find_design(design))
    assert (answer.verdict, answer.finding.value) == ("holds", value)
    assert answer.finding.runs
