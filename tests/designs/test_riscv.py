"""RISC-V dot products: what the rows of the catalogue say of the drafts, and the examples that tell readings apart."""

import pytest
from reference.riscv import bulk_dot, overflow_bits

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.smt.trace import evaluate

ROWS = [d for d in load_catalogue().designs.values() if d.family == "rvbna"]
FOUR = find_design("riscv/vfwbdota.vv.m1n8k4.f32.bf16.bf16.f32")


def test_guard_bits_follow_from_the_number_of_products():
    assert ROWS
    assert {d.step.kept_bits for d in ROWS if d.k != d.step.L} == set()
    assert [d.name for d in ROWS if d.step.kept_bits != 23 + overflow_bits(d.step.L)] == []


def test_what_is_lost_sets_the_last_bit():
    # 1 + 2^-24: to nearest it is a tie, which gives 1
    operands = Operands((0x3F80, 0x3380, 0, 0), (0x3F80, 0x3F80, 0, 0), 0)
    assert evaluate(FOUR, operands) == 0x3F800001
    assert evaluate(FOUR.change(rho="rne-fp32"), operands) == 0x3F800000


@pytest.mark.parametrize(("c", "nearest", "odd"), [(0x33800000, 0x3F800000, 0x3F800001), (0x73800000,) * 3])
def test_c_is_added_rounded_to_odd(c, nearest, odd):
    # 1 + c: 2^-24 is half of the last place of 1
    operands = Operands((0x3F80, 0, 0, 0), (0x3F80, 0, 0, 0), c)
    if c == nearest:
        nearest, odd = c, c + 1
    assert evaluate(FOUR, operands) == odd
    assert evaluate(FOUR.change(join_rounding="nearest"), operands) == nearest


def test_an_overflow_is_an_infinity():
    # Spike adds one to the largest finite number that a rounding to odd returns
    largest, one = 0x7F7F, 0x3F80
    assert evaluate(FOUR, Operands((largest, largest, 0, 0), (one, one, 0, 0), 0)) == 0x7F800000
    finite = FOUR.change(overflow="largest-finite")
    assert evaluate(finite, Operands((largest, largest, 0, 0), (one, one, 0, 0), 0)) == 0x7F7FFFFF
    assert evaluate(FOUR, Operands((0xFF7F, 0, 0, 0), (one, 0, 0, 0), 0xFF7FFFFF)) == 0xFF800000


def test_zeros_and_subnormals():
    nothing = (0x8000, 0, 0, 0)
    assert evaluate(FOUR, Operands(nothing, nothing, 0x80000000)) == 0  # the sum of the products is +0
    # 2^-133 * 2^-126 lies below every fp32 number: to odd it is the smallest one
    assert evaluate(FOUR, Operands((0x0001, 0, 0, 0), (0x0080, 0, 0, 0), 0x80000000)) == 1


def test_products_in_several_sets():
    """The draft permits them: two sets of 4 have 2 guard bits each, one set of 8 has 3."""
    eight = find_design("riscv/vfwbdota.vv.m1n8k8.f32.bf16.bf16.f32")
    sets = eight.change(L=4, fraction_bits=25)
    ones = (0x3F80,) * 8
    operands = Operands((0x4B80, 0x3F80, 0, 0, 0xCB80, 0x3E80, 0, 0), ones, 0)
    found = {d.step.L: evaluate(d, operands) for d in (eight, sets)}
    assert found == {
        n: bulk_dot(operands.a, operands.b, operands.c, a_format="bf16", b_format="bf16", n=n) for n in found
    }
    assert len(set(found.values())) == 2
