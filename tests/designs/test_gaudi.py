"""Intel Gaudi 2 and 3: examples for each detail that their rows state, and random settings against the reference."""

from fractions import Fraction

import numpy as np
import pytest
from reference.gaudi import Cut, gaudi2, gaudi3
from support.variations import with_parameters

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import find_format
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

GAUDI2 = find_design("gaudi2/f32.bf16.bf16.f32")
GAUDI3 = find_design("gaudi3/f32.bf16.bf16.f32")
PARTS = find_design("gaudi3/f32.f16.f16.f32")
THREE_PARTS = find_design("gaudi3/f32.f32.f32.f32")
HALVES = find_design("gaudi2/m1n1k2.f32.f32.f32.f32")
NAN = 0x7FFFFFFF


def bf16(*factors, c=0, design=GAUDI2):
    a, b = zip(*factors, strict=True)
    rest = (0,) * (design.k - len(a))
    return evaluate(design, Operands((*a, *rest), (*b, *rest), c))


@pytest.mark.parametrize(("small", "expected"), [(0x1C80, 0x3F800001), (0x1C00, 0x3F800000)])
def test_products_are_cut_without_c_and_added_to_it_exactly(small, expected):
    # 1 + 2^-24 is a tie; 2^-70 is the last bit that a product keeps beside 2^-24, and 2^-71 lies below it
    assert bf16((0x3380, 0x3F80), (small, 0x3F80), c=0x3F800000) == expected


def test_subnormals_of_gaudi_2_are_zeros_of_their_sign():
    minus, one = 0x8000, 0x3F80
    assert bf16(*[(minus, one)] * 8, c=0x80000001) == 0x80000000
    assert bf16((0x8001, one), *[(minus, one)] * 7, c=0x80000000) == 0x80000000
    assert bf16((0x0080, 0x3F00), c=0x80000000) == 0  # 2^-127
    assert bf16((0x8080, 0x3F00)) == 0x80000000


def test_two_ways_to_multiply():
    # the first products cancel: of a normalised product of [2, 4) one bit less is kept beside them
    factors = [(0x5760, 0x80FE), (0xD760, 0x80FE), (0x4240, 0x8090)]
    assert bf16(*factors) == 0x83580000
    assert bf16(*factors, design=GAUDI2.change(product_exponent="normalised")) == 0x83500000


@pytest.mark.parametrize(
    ("negative", "c", "ieee", "majority"), [(5, 0, 0, 1), (8, 1, 1, 1), (4, 1, 0, 0), (3, 1, 0, 0)]
)
def test_the_sign_of_a_sum_of_zeros(negative, c, ieee, majority):
    factors = [(0x8000, 0x3F80)] * negative + [(0, 0x3F80)] * (8 - negative)
    assert bf16(*factors, c=c << 31) == ieee << 31
    assert bf16(*factors, c=c << 31, design=GAUDI2.change(zero_sum="majority")) == majority << 31
    tf32 = find_design("gaudi2/f32.tf32.tf32.f32")
    assert evaluate(tf32, Operands((0x80000000,) * 4, (0x3F800000,) * 4, 0x80000000)) == 0


def test_products_that_cancel_give_no_majority():
    factors = [(0x3F80, 0x3F80), (0xBF80, 0x3F80), *[(0x8000, 0x3F80)] * 6]
    assert bf16(*factors, design=GAUDI2.change(zero_sum="majority")) == 0


def test_nothing_is_kept_below_the_floor_of_gaudi_3():
    # 255 * 2^-157 + 2^-157 is 2^-149, the smallest fp32 number; at an e_max of -132 the last bit is 2^-156
    factors = [(0x1A70, 0x1A08), (0x1880, 0x1800)]
    assert bf16(*factors, design=GAUDI3) == 0
    assert bf16(*factors, design=GAUDI3.change(floor="none")) == 1


def test_each_part_of_a_product_is_cut_by_itself():
    # (1 + 255/1024)^2 beside 2^20, whose last bit is 2^-4: 16 + 3 + 3 + 0 units, of 24.96 in one piece
    operands = Operands((0x3CFF, 0), (0x3CFF, 0), 0x49800000)
    assert evaluate(PARTS, operands) == 0x4980000B
    assert evaluate(PARTS.change(low_bits="none"), operands) == 0x4980000C
    assert PARTS.step.cut_terms == 4 * PARTS.step.L


def test_fp32_of_gaudi_3_cuts_each_of_nine_products():
    # (1 + 383 * 2^-15 + 255 * 2^-23)^2: five of the products have bits below 2^-24, which are lost one by one
    assert evaluate(THREE_PARTS, Operands((0x3F817FFF,), (0x3F817FFF,), 0)) == 0x3F83047C
    assert evaluate(THREE_PARTS.change(middle_bits="none"), Operands((0x3F817FFF,), (0x3F817FFF,), 0)) == 0x3F83047D
    assert [THREE_PARTS.step.cut_terms, HALVES.step.cut_terms] == [9, 8]


def test_the_lowest_product_of_gaudi_3_does_not_matter():
    # the model leaves it out; the reference agrees either way
    rng = np.random.default_rng(5)
    settings = {"a_format": "fp32", "b_format": "fp32", "L": 1, "fraction_bits": 24, "via": None, "floor": -132}
    for name in DISTRIBUTIONS:
        batch = draw(name, THREE_PARTS, 100, 1, rng)
        for x in map(batch.row, range(len(batch))):
            for left_out in (False, True):
                cut = Cut((8, 8), without_lowest=left_out)
                assert evaluate(THREE_PARTS, x) == gaudi3(x.a, x.b, x.c, nan_code=NAN, cut=cut, **settings)


def test_fp32_of_gaudi_2_cuts_each_of_four_products():
    # (1 + 2^-23)^2 beside 2^24, whose last bit is 2^-22: both 2^-23 are lost, and 2^-22 of the whole product is not
    a, b = (0x3F800001, 0x4B800000), (0x3F800001, 0x3F800000)
    assert evaluate(HALVES, Operands(a, b, 0xCB800000)) == 0x3F800000
    assert evaluate(HALVES.change(low_bits="none"), Operands(a, b, 0xCB800000)) == 0x3F800002


@pytest.mark.parametrize(("name", "top"), [("e4m3f", 0x43F00000), ("e5m2f", 0x47E00000), ("e4m3b15f", 0x3FF00000)])
def test_every_pattern_of_fp8_is_a_number_where_gaudi_3_is_told_so(name, top):
    design = find_design(f"gaudi3/f32.{name}.{name}")
    one = find_format(name).encode(Fraction(1, 2)) if name != "e4m3b15f" else 0x70
    halved = top - 0x00800000
    assert evaluate(design, Operands((0x7F,), (one,), 0)) == halved
    assert evaluate(design, Operands((0xFF,), (one,), 0)) == halved | 1 << 31


@pytest.mark.parametrize("name", ["e5m2fn", "e4m3b3fn", "e4m3b11fn", "e4m3b15fn"])
def test_one_nan_and_no_infinity_where_gaudi_3_is_told_so(name):
    design, zero = find_design(f"gaudi3/f32.{name}.{name}"), Operands((0x7F,), (0,), 0)
    assert evaluate(design, zero) == NAN
    assert evaluate(design, Operands((0x7E,), (0,), 0)) == 0


def test_a_bias_moves_every_number():
    for bias, one in ((3, 0x18), (7, 0x38), (11, 0x58)):
        design = find_design(f"gaudi3/f32.e4m3b{bias}.e4m3b{bias}.f32")
        assert evaluate(design, Operands((one, 0x01), (one, one), 0)) == 0x3F800000 + (1 << (21 - bias))
    assert evaluate(find_design("gaudi2/e4m3b15.e4m3b15"), Operands((0x78,), (0x70,), 0)) == 0x7F800000


def test_subnormal_fp8_is_normal_in_fp32():
    design = find_design("gaudi3/f32.e5m2.e5m2.f32")
    # 2^-16 * 2^-16 and c = 2^-55: at the exponent -32 the last bit is 2^-56, at -28 it is 2^-52
    operands = Operands((0x01,), (0x01,), 0x24000000)
    assert evaluate(design, operands) == 0x2F800001
    assert evaluate(design.change(widening="none"), operands) == 0x2F800000


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("gaudi3/f32.f16.f16.f32", "low_bits", "none"),
        ("gaudi3/f32.tf32.tf32.f32", "low_bits", "7"),
        ("gaudi3/f32.f32.f32.f32", "middle_bits", "none"),
        ("gaudi2/m1n1k2.f32.f32.f32.f32", "low_bits", "none"),
        ("gaudi3/f32.f16.f16.f32", "widening", "none"),
        ("gaudi3/f32.bf16.bf16.f32", "floor", "none"),
        ("gaudi2/f32.bf16.bf16.f32", "zero_sum", "majority"),
        ("gaudi2/f32.bf16.bf16.f32", "fraction_bits", "45"),
        ("gaudi2/f32.e5m2.e5m2.f32", "widening", "fp32"),
    ],
)
def test_another_reading_is_refuted(name, setting, value):
    design = find_design(name)
    found = compare(design, design.change(**{setting: value}))
    assert found.status is Status.REFUTED


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_any_number_of_low_bits_agrees_with_the_reference(seed):
    rng = np.random.default_rng(seed)
    low, bits = (int(rng.integers(1, high)) for high in (11, 40))
    floor = (None, -132, -20, 3)[seed]
    design = with_parameters(PARTS, low_bits=low, fraction_bits=bits, floor=floor, L=(1, 2)[seed % 2])
    settings = {"L": design.step.L, "fraction_bits": bits, "via": "fp32", "cut": Cut((low,)), "floor": floor}
    for name in DISTRIBUTIONS:
        batch = draw(name, design, 25, design.k, rng)
        for i, d in enumerate(evaluate_batch(design, batch, backend=Backend.ARRAYS).tolist()):
            x = batch.row(i)
            expected = gaudi3(x.a, x.b, x.c, a_format="fp16", b_format="fp16", nan_code=NAN, **settings)
            assert d == expected == evaluate(design, x), (name, x)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_any_three_parts_agree_with_the_reference(seed):
    rng = np.random.default_rng(seed)
    low, middle, bits = (int(rng.integers(1, high)) for high in (12, 12, 40))
    design = with_parameters(THREE_PARTS, low_bits=low, middle_bits=middle, fraction_bits=bits)
    settings = {"L": 1, "fraction_bits": bits, "via": None, "floor": -132}
    cut = Cut((low, middle))
    for name in DISTRIBUTIONS:
        batch = draw(name, design, 25, design.k, rng)
        for i, d in enumerate(evaluate_batch(design, batch, backend=Backend.ARRAYS).tolist()):
            x = batch.row(i)
            expected = gaudi3(x.a, x.b, x.c, a_format="fp32", b_format="fp32", nan_code=NAN, cut=cut, **settings)
            assert d == expected == evaluate(design, x), (name, x)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_other_settings_of_gaudi_2_agree_with_the_reference(seed):
    rng = np.random.default_rng(seed)
    exponent, zero_sum = ("summed", "normalised")[seed % 2], ("positive", "ieee", "majority", "majority")[seed]
    bits = int(rng.integers(1, 60))
    design = GAUDI2.change(fraction_bits=str(bits), product_exponent=exponent, zero_sum=zero_sum, L=(2, 8)[seed % 2])
    settings = {"L": design.step.L, "fraction_bits": bits, "via": None, "product_exponent": exponent}
    for name in DISTRIBUTIONS:
        batch = draw(name, design, 25, design.k, rng)
        for i, d in enumerate(evaluate_batch(design, batch, backend=Backend.ARRAYS).tolist()):
            x = batch.row(i)
            more = {"zero_sum": zero_sum, "flushes_operands": True, "nan_code": NAN}
            expected = gaudi2(x.a, x.b, x.c, a_format="bf16", b_format="bf16", **settings, **more)
            assert d == expected == evaluate(design, x), (name, x)


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        ("gaudi3/f32.bf16.bf16.f32", {"low_bits": "8"}, "low_bits = 8 leaves nothing of the 8 bits of a"),
        ("gaudi3/f32.f32.f32.f32", {"middle_bits": "16"}, "middle_bits = 16 leaves nothing of the 24 bits of a above"),
        ("gaudi3/f32.f16.f16.f32", {"product_exponent": "normalised"}, "the parts of a product have the sum"),
        ("gaudi2/f32.bf16.bf16.f32", {"widening": "fp16"}, "a is bf16, which cannot be widened to fp16"),
    ],
)
def test_what_does_not_fit(name, settings, problem):
    design = find_design(name)
    with pytest.raises(DesignError, match=problem):
        design.change(**settings)


def test_what_is_stated_of_parts():
    assert PARTS.guarantees(Guarantee.SINGLE_SUM, Guarantee.ALIGNED_SUMS, Guarantee.TRUNCATED_TERMS)
    assert not PARTS.guarantees(Guarantee.SINGLE_PRODUCTS)
