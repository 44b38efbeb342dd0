"""The steps of a design: which terms are special, and where two designs come to differ."""

import pytest
from support.pictures import AMPERE, EQUATION_10, HOPPER8, SAMPLE, TURING, VOLTA, steps

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.readings import Alignment, ChainInfinity, Overflow
from mmaproof.explain import explain
from mmaproof.smt.trace import trace


def test_infinity_of_the_step_before_may_be_a_number() -> None:
    # c overflows in step 1; in step 2 an infinite product decides, and c only where it stays an infinity
    operands = Operands((0x7F7F,) * 8 + (0x7F80,) + (0,) * 7, (0x7F7F,) * 8 + (0x3F80,) * 8, 0x7F7FFFFF)
    for reading, labels in ((ChainInfinity.INFINITE, ["p8", "c"]), (ChainInfinity.FINITE, ["p8"])):
        first, second = steps(AMPERE.change(chain_infinity=reading), operands)
        assert first.beyond and not first.decided
        assert [*map(str, second.special_terms())] == labels


def difference(a: Design, b: Design, operands: Operands) -> str:
    return explain([a, b], operands).closing[-1]


def test_first_difference_names_the_stage() -> None:
    floor = VOLTA.change(alignment=Alignment.FLOOR)
    assert difference(VOLTA, floor, EQUATION_10) == (
        "first difference: step 1, p1 is aligned to +0 in A and to -1 * 2^0 in B (p2, p3 differ too)"
    )
    assert difference(VOLTA, VOLTA.change(floor=30), EQUATION_10) == "no difference: A and B return 0x00000000 = +0"
    ones = Operands((0x3C01,), (0x3C01,), 0)
    assert difference(VOLTA, VOLTA.change(floor=10), ones) == "first difference: step 1, e_max is 0 in A and 10 in B"
    big = Operands((0x3E00,) * 4, (0x3E00,) * 4, 0)
    assert difference(VOLTA, VOLTA.change(carry_bits=0), big) == (
        "first difference: step 1, the sum is +9 * 2^0 in A and +1 * 2^0 in B"
    )
    over = Operands((0x7F7F,), (0x7F7F,), 0x7F7FFFFF)
    assert difference(AMPERE, AMPERE.change(overflow=Overflow.LARGEST_FINITE), over).endswith(
        "A returns 0x7f800000 = +infinity, B returns 0x7f7fffff = +16777215 * 2^104"
    )
    nan = Operands((0x7E00,), (0x3C00,), 0)
    quiet = find_design("volta/f32.f16.f16.f32@nan_code=quiet")
    assert "special values: A returns 0x7fffffff = NaN, B returns 0x7fc00000 = NaN" in difference(VOLTA, quiet, nan)


def test_first_difference_where_steps_add_different_products() -> None:
    operands = Operands((0x3C00,) * 8, (0x3800,) * 8, 0x4B000000)
    words = difference(VOLTA, TURING, operands)
    assert words == "first difference: step 1, A adds p0..p3 and B adds p0..p7"


def test_steps_that_add_nothing_do_not_hide_the_stage() -> None:
    # Volta takes two steps of four and Turing one of eight: only p5 is not zero
    operands = Operands((0,) * 5 + (0x38AB, 0, 0), (0,) * 5 + (0x3483, 0, 0), 0xC0000000)
    picture = explain([VOLTA, TURING], operands)
    assert [len(section) for section in picture.sections] == [1, 2]
    assert picture.closing[-1] == ("first difference: step 2 of A, 1 of B, p5 keeps bit 2^-23 in B and loses it in A")


def test_c_alone_may_differ() -> None:
    # the conversion to E8M13 cuts c; FP32 keeps it
    wide = HOPPER8.change(fraction_bits=25, rho="rz-fp32")
    words = difference(HOPPER8, wide, Operands((0,) * 32, (0,) * 32, 0x3F800001))
    assert words == "first difference: step 1, c keeps bit 2^-23 in B and loses it in A"


@pytest.mark.slow
def test_every_difference_is_explained() -> None:
    differences = 0
    for design, operands in SAMPLE:
        other = design.change(fraction_bits=design.step.kept_bits - 2)
        a, b = (trace(x, operands).d.data for x in (design, other))
        words = difference(design, other, operands)
        assert words.startswith("no difference") == (a == b)
        differences += a != b
    assert differences > 20
