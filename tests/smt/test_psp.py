"""Sony PSP, vdot: products are cut twice, and bits of the sum are dropped; each of it on an example."""

import numpy as np
import pytest
from reference.psp import vdot
from support.variations import disagreements

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

VDOT = find_design("psp/vdot")
ONE, MINUS_ZERO = 0x3F800000, 1 << 31
# 1 + 2^-23 squared is 1 + 2^-22 + 2^-46: the last bit is jammed into 2^-25
JUST_ABOVE = 0x3F800001


def result(design, *factors):
    a, b = zip(*factors, *[(0, 0)] * (4 - len(factors)), strict=True)
    return evaluate(design, Operands(a, b, MINUS_ZERO))


CASES = [
    # the jammed bit of a product is 2^-25, and less than 2^-23 is dropped: 2^-22 is left
    ([(JUST_ABOVE, JUST_ABOVE), (0xBF800000, ONE)], 0x34800000),
    # 2^-24 + 2^-46 of three products: jammed they are 9 * 2^-25, truncated 6 * 2^-25, and 2^-22 or a tie is left
    ([(0x3F800005, 0x3F8CCCCD)] * 3 + [(0x34800000, ONE)], 0x4053333D),
    # the products of fp32 that differ by a bit which is jammed away: exactly zero, and not 2^-46
    ([(JUST_ABOVE, JUST_ABOVE), (0xBF800002, ONE)], 0x00000000),
    # -2^-24 is dropped from a magnitude, and its sign stays
    ([(0x33800000, 0xBF800000), (ONE, ONE), (0xBF800000, ONE)], MINUS_ZERO),
    # the sum carries into the next binade when it is rounded
    ([(0x3FFFFFFF, ONE), (0x3FFFFFFF, ONE), (0x34000000, ONE)], 0x40800000),
    # a subnormal result is a zero of its sign
    ([(0x80800000, 0x3F000000)], MINUS_ZERO),
    # 2^-126 less 2^-150 is a zero; with 2^-150 it is 2^-126, and with 2^-151 it is not: that bit is dropped
    ([(0x00FFFFFF, 0x3F000000)], 0x00000000),
    ([(0x00FFFFFF, 0x3F000000), (0x00800000, 0x33800000)], 0x00800000),
    ([(0x00FFFFFF, 0x3F000000), (0x00800000, 0x33000000)], 0x00000000),
    ([(0x7F000000, 0x40000000)], 0x7F800000),
]


@pytest.mark.parametrize(("factors", "expected"), CASES)
def test_examples(factors, expected):
    a, b = zip(*factors, *[(0, 0)] * (4 - len(factors)), strict=True)
    assert vdot(a, b) == expected
    assert result(VDOT, *factors) == expected


@pytest.mark.parametrize(
    "backend", [Backend.INTEGERS, Backend.ARRAYS, pytest.param(Backend.NATIVE, marks=pytest.mark.middle)]
)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_rows_are_those_of_the_reference(name, backend):
    batch = draw(name, VDOT, 200, 4, np.random.default_rng(1))
    c = np.full_like(batch.c, MINUS_ZERO)
    d = evaluate_batch(VDOT, OperandBatch(batch.a, batch.b, c), backend=backend)
    assert d.tolist() == [vdot(a, b) for a, b in zip(batch.a.tolist(), batch.b.tolist(), strict=True)]


@pytest.mark.parametrize(
    "bits",
    [
        "product_bits=all,fraction_bits=48,dropped_bits=0",
        "product_bits=23,fraction_bits=30,dropped_bits=7",
        "product_bits=40,fraction_bits=24",
        "product_bits=10,fraction_bits=20,dropped_bits=0,rho=rtp-fp32",
        "fraction_bits=25,dropped_bits=24,rho=rz-fp32",
    ],
)
def test_numbers_of_bits_are_those_of_the_reference(bits):
    design, rng = find_design(f"psp/vdot@{bits}"), np.random.default_rng(1)
    for name in DISTRIBUTIONS:
        assert disagreements(design, draw(name, design, 40, 4, rng)) == [], name


@pytest.mark.parametrize(
    "change", ["product_bits=26", "product_bits=all", "dropped_bits=1", "fraction_bits=26", "alignment=jam"]
)
def test_another_cut_is_another_unit(change):
    found = compare(VDOT, find_design(f"psp/vdot@{change}"), k=4)
    assert found.verdict == "different"


def test_a_unit_without_c_is_compared_with_the_c_that_adds_nothing():
    """A subnormal c is read otherwise by these two, and vdot has no c: -0 is none."""
    other = VDOT.change(flushed_sign="positive")
    c = 0x80200000
    assert evaluate(VDOT, Operands((0x81800000, 0, 0, 0), (0x01000000, 0, 0, 0), c)) == MINUS_ZERO
    assert evaluate(other, Operands((0x81800000, 0, 0, 0), (0x01000000, 0, 0, 0), c)) == 0
    found = compare(VDOT, other, k=4)
    assert (found.verdict, [str(x) for x in found.question.where]) == ("equivalent", ["c=0x80000000"])
    for one, two in ((VDOT, find_design("cpu/vfmadd231ps")), (find_design("cpu/vfmadd231ps"), VDOT)):
        witness = compare(one, two, k=4).witness
        assert witness is not None
        assert witness.c == MINUS_ZERO


def test_nothing_is_assumed_of_such_cuts():
    assert VDOT.step.guarantees == frozenset()
    whole = VDOT.change(product_bits="all")
    assert whole.step.guarantees == frozenset()
    assert whole.change(dropped_bits=0).step.guarantees


def test_bits_that_are_dropped_are_fewer_than_those_that_are_kept():
    with pytest.raises(DesignError, match="dropped_bits = 25 leaves none of F = 25"):
        VDOT.change(dropped_bits=25)


def test_parts_of_products_are_not_cut_by_themselves():
    with pytest.raises(DesignError, match="product_bits"):
        find_design("gaudi3/f32.f16.f16.f32@product_bits=20")
