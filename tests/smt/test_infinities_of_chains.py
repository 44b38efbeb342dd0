"""An infinity that an earlier step produced may be a number in the next one. One that an operand brought never is."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.smt.trace import evaluate

HALF = "volta/f16.f16.f16.f16"
ONE, TWO, LARGEST, INFINITY, SIGN = 0x3C00, 0x4000, 0x7BFF, 0x7C00, 0x8000


def chained(reading, first, second):
    """d of a chain of two steps with one product each, in fp16; zeros are added to them."""
    design = find_design(f"{HALF}@chain_infinity={reading}")
    rest = (0,) * (design.step.L - 1)
    a, b = ((first[i], *rest, second[i], *rest) for i in (0, 1))
    return evaluate(design, Operands(a, b, 0))


@pytest.mark.parametrize(("reading", "expected"), [("infinite", INFINITY), ("finite", 0xFBFE)])
def test_an_overflow_is_a_number_where_that_is_the_reading(reading, expected):
    """65504 * 2 overflows to 65536, and 65536 - 65504 * 2 = -65472."""
    assert chained(reading, (LARGEST, TWO), (LARGEST | SIGN, TWO)) == expected


@pytest.mark.parametrize("reading", ["infinite", "finite"])
@pytest.mark.parametrize("other", [ONE, TWO, LARGEST])
def test_an_infinite_operand_stays_one(reading, other):
    """What stands for it in the sum overflows as well, which is not why the result is infinite."""
    assert chained(reading, (INFINITY, other), (LARGEST | SIGN, TWO)) == INFINITY
    assert chained(reading, (INFINITY | SIGN, other), (LARGEST, TWO)) == INFINITY | SIGN
