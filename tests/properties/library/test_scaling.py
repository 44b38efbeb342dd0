"""Scaling by two: proved by steps of a kernel, and refuted where something stays put."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library.scaling import Scaling
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.bundles import scaled_steps
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check
from mmaproof.verification.search import Means
from mmaproof.verification.strategies import Case, own_argument

VOLTA = "volta/f32.f16.f16.f32"
LIMITS = Limits(120, 4 << 30)
INTEGERS = IntegerAlgebra()


def proved(design):
    """Return what the argument of the question proves, None where it proves nothing."""
    question = Scaling().question(design, Scope())
    return own_argument(Case(question, design, Means(Solving(), LIMITS, None), worked(), LIMITS))


@pytest.mark.slow_values("hopper/wgmma.f32.e4m3.e4m3")
@pytest.mark.parametrize(
    "name",
    [
        VOLTA,
        pytest.param("volta/f16.f16.f16.f16", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", marks=pytest.mark.middle),
        "cdna3/v_mfma_f32_32x32x8_f16",
        "gaudi3/mme.m1n1k2.f32.f16.f16.f32",  # products in parts
        pytest.param("rdna3/v_wmma_f32_16x16x16_bf16", marks=pytest.mark.middle),  # inverts terms, and flushes results
    ],
)
def test_it_holds_for_fused_sums(name):
    answer = check("scaling", find_design(name))
    assert answer.verdict == "holds"
    assert {x.status for x in answer.answers[0].lemmas} == {Status.PROVED}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("cdna3/v_mfma_f32_16x16x32_fp8_fp8", marks=pytest.mark.middle),
        "rdna4/v_wmma_f32_16x16x16_bf16",  # with a floor that no normal c reaches, and a c that may be dropped
        "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32",  # normalises the sum before c joins
        "cdna2/v_mfma_f32_32x32x8f16",  # a tree of rounded operations
        "arm/fdot.m1n1k2.f32.f16.f16.f32",  # a rounded sum of products
        pytest.param("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", marks=pytest.mark.middle),  # with a +0 in that sum
    ],
)
def test_it_holds_where_every_stage_moves(name):
    assert proved(find_design(name)).status is Status.PROVED


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cdna3/v_mfma_f32_32x32x8_f16", {"late_rounding": "twice"}),  # rounded down at 2^e_min, which stays
        ("cdna3/v_mfma_f32_32x32x8_f16", {"product_limit": 31}),  # a product of fp16 may be an infinity
        ("cdna3/v_mfma_f32_32x32x8_f16", {"floor": 0}),
        ("cdna3/v_mfma_f32_32x32x8_bf16", {}),
        ("rdna4/v_wmma_f32_16x16x16_bf16", {"floor": -127}),  # above the exponent of the smallest normal c
        ("rdna4/v_wmma_f32_16x16x16_bf16", {"sticky": "yes"}),
        ("gaudi2/mme.m1n1k8.f32.bf16.bf16.f32", {"sticky": "yes"}),
        ("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", {"floor": -11}),  # above the least product; c is added later
        ("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", {"zero_c": "e-zero", "e_zero": 0}),  # a +0 above the products
        ("cdna2/v_mfma_f32_32x32x8bf16_1k", {}),  # products of bf16 may be subnormal, and are flushed then
        ("arm/bfdot-ebf.m1n1k2.f32.bf16.bf16.f32", {}),
        ("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16", {}),
    ],
)
def test_there_is_no_theorem_where_something_stays_put(name, settings):
    design = find_design(name)
    assert proved(design.change(**settings) if settings else design) is None


@pytest.mark.slow
def test_a_floor_breaks_it():
    asked = Scaling()
    answer = check(asked, asked.mutant(find_design(asked.specimen)))
    assert answer.verdict == "violated"
    first, second = answer.finding.runs
    fmt = first.design.d_format
    assert second.d != first.d + (1 << fmt.fraction_bits)
    assert [evaluate(r.design, r.operands) for r in answer.finding.runs] == [first.d, second.d]


def test_a_sum_that_is_converted_to_zero_is_not_meant():
    # c = 2^-126, products of -2^-126, 3 * 2^-151 and 2^-252: d is zero, with a and c doubled it is 2^-149
    design = find_design("hopper/wgmma.f32.bf16.bf16")
    one, rest = 127, [0x0080] * (design.k - 2)
    a, b = (0x8000 | (one - 63) << 7, (one - 75) << 7 | 64, *rest), ((one - 63) << 7, (one - 75) << 7, *rest)
    question = Scaling().question(design, Scope())
    assert [run.d for run in question.witness_runs(Operands(a, b, 0x00800000))] == [0, 1]
    assert not question.is_meant(Operands(a, b, 0x00800000))


@pytest.mark.parametrize("change", ["floor=0", "summation=interleaved", "rho=rne-fp32,sticky=yes"])
def test_the_argument_fails_where_something_stays_put(change):
    assert proved(find_design(f"{VOLTA}@{change}")) is None


def fp16(pattern):
    return INTEGERS.unsigned(pattern, 16)


def test_doubling_is_the_same_as_adding_a_number_to_itself():
    fmt = find_design(VOLTA).a_format
    for pattern, twice in ((0x3C00, 0x4000), (0xBBFF, 0xBFFF), (0x0000, 0x0000), (0x8000, 0x8000)):
        assert scaled_steps.doubled(INTEGERS, fmt, fp16(pattern)).data == twice
    for pattern in (0x0000, 0x0001, 0x7BFF, 0x7C00, 0x7E00):
        assert not scaled_steps.stays_normal(INTEGERS, fmt, fp16(pattern)).data


ONE, TWICE = 0x3C00, 0x0400
"""of fp16: the number, and what doubles a normal one if it is added to its pattern"""


@pytest.mark.parametrize("sign", [0, 0x8000])
def test_a_result_in_between_moves_within_its_range(sign):
    fmt = find_design(VOLTA).a_format

    def moves(d, moved, within):
        return scaled_steps.is_doubled(INTEGERS, fmt, fp16(d), fp16(moved), within).data

    for exponent in range(-14, 15):
        d = sign | (ONE + exponent * TWICE + 7)
        assert moves(d, d + TWICE, (-4, 3)) == (-4 <= exponent < 3)
        assert not moves(d, d + TWICE + 1, (-4, 3))
    assert moves(sign, sign, (-4, 3))
    for special in (1, 0x3FF, 0x7800, 0x7C00):  # subnormal numbers, the top binade and infinity
        assert not moves(sign | special, sign | ((special + TWICE) & 0x7FFF), (-20, 20))


@pytest.mark.parametrize("sign", [0, 0x8000])
def test_a_result_is_meant_inside_the_normal_range(sign):
    """The least normal numbers may have been rounded up to, and the double of a result of the top binade is none."""
    fmt = find_design(VOLTA).a_format
    for exponent in range(-14, 16):
        pattern = fp16(sign | (ONE + exponent * TWICE + 7))
        assert scaled_steps.is_inside(INTEGERS, fmt, pattern).data == (-14 < exponent < 15)
