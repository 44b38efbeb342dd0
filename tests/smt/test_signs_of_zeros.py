"""Readings of the sign of zeros, by hand: the majority of zero products, and -0 that becomes +0 on its way in."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.smt.trace import evaluate

ONE, MINUS_ONE, MINUS_ZERO = 0x3C00, 0xBC00, 0x8000
NEGATIVE = 1 << 31


@pytest.mark.parametrize(
    ("a", "c", "d"),
    [
        ((MINUS_ZERO, MINUS_ZERO, MINUS_ZERO, 0), 0, NEGATIVE),
        ((MINUS_ZERO, 0, 0, 0), 0, 0),
        # as many of either sign; c has no say
        ((MINUS_ZERO, MINUS_ZERO, 0, 0), NEGATIVE, 0),
        # not every product is zero
        ((ONE, MINUS_ONE, MINUS_ZERO, MINUS_ZERO), 0, 0),
        ((MINUS_ONE, MINUS_ZERO, MINUS_ZERO, MINUS_ZERO), 0x3F800000, 0),
    ],
)
def test_the_majority_of_zero_products_decides(a, c, d):
    design = find_design("volta/mma.m8n8k4.f32.f16.f16.f32@zero_sum=majority,negative_zero=negative")
    assert evaluate(design, Operands(a, (ONE,) * 4, c)) == d


@pytest.mark.parametrize(("steps", "d"), [(2, NEGATIVE), (4, 0)])
def test_a_minus_zero_becomes_plus_zero_where_it_enters_an_instruction(steps, d):
    """Rounded down, 1 - 1 is -0, which the second step of the same instruction takes as it is."""
    design = find_design("paper/tree.m1n1k4.f32.f16.f16.f32@minus_zero=positive,rho=rtn-fp32,L=2")
    products = (ONE, MINUS_ONE) + (0, 0) * (steps - 1)
    assert evaluate(design, Operands(products, (ONE,) * len(products), 0)) == d
