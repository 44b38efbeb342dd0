"""Subnormal numbers: the three questions of Fasi et al. 2021, and the flushing of CDNA2."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import find_property
from mmaproof.properties.library.special_case import smallest_product
from mmaproof.properties.question import Scope
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, BF16 = "volta/f32.f16.f16.f32", "ampere/m16n8k8.f32.bf16.bf16.f32"
CDNA2, CDNA2_BF16 = "cdna2/v_mfma_f32_32x32x8f16", "cdna2/v_mfma_f32_32x32x8bf16_1k"
NAMES = ("subnormal-operands", "subnormal-accumulator", "subnormal-results")


@pytest.mark.middle
@pytest.mark.parametrize("name", NAMES)
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    assert check(name, specimen).verdict == "holds"
    answer = check(name, asked.mutant(specimen))
    assert answer.verdict == "violated"
    for run in answer.finding.runs:
        design = run.design if run.whole else run.design.one_step()
        assert evaluate(design, run.operands) == run.d
    # the flushed number is a zero
    assert not answer.finding.runs[0].d & (1 << specimen.d_format.sign_position) - 1


@pytest.mark.slow_values("subnormal-results")
@pytest.mark.middle
@pytest.mark.parametrize("name", NAMES)
def test_a_flushing_unit_has_the_opposite_mutant(name):
    asked, design = find_property(name), find_design(CDNA2_BF16)
    assert check(name, design).verdict == "violated"
    assert check(name, asked.mutant(design)).verdict == "holds"


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "subnormal-accumulator-ampere/m8n8k4.f64.f64.f64.f64-holds",
    "subnormal-accumulator-hopper/wgmma.f32.e4m3.e4m3-holds",
    "subnormal-operands-blackwell/block16.f32.e2m1.e2m1.ue4m3-holds",
    "subnormal-results-ampere/m8n8k4.f64.f64.f64.f64-holds",
    "subnormal-results-cdna3/v_mfma_f32_32x32x8_bf16-holds",
)
@pytest.mark.parametrize(
    ("name", "design", "verdict"),
    [
        ("subnormal-operands", "turing/f32.f16.f16.f32", "holds"),
        ("subnormal-operands", BF16, "holds"),
        pytest.param("subnormal-operands", "hopper/wgmma.f32.e4m3.e4m3", "holds", marks=pytest.mark.middle),
        pytest.param("subnormal-operands", "hopper/m16n8k32.f32.e4m3.e4m3.f32", "holds", marks=pytest.mark.middle),
        ("subnormal-operands", "volta/f16.f16.f16.f16", "holds"),
        pytest.param("subnormal-operands", "blackwell/block16.f32.e2m1.e2m1.ue4m3", "holds", marks=pytest.mark.middle),
        pytest.param("subnormal-operands", "cdna3/v_mfma_f32_32x32x8_bf16", "holds", marks=pytest.mark.middle),
        # Xie et al., table 10: input FTZ
        ("subnormal-operands", CDNA2, "violated"),
        pytest.param("subnormal-accumulator", "hopper/wgmma.f32.e4m3.e4m3", "holds", marks=pytest.mark.middle),
        pytest.param("subnormal-accumulator", "ampere/m8n8k4.f64.f64.f64.f64", "holds", marks=pytest.mark.middle),
        ("subnormal-accumulator", CDNA2, "violated"),
        # a floor of e_max cuts it off
        ("subnormal-accumulator", f"{VOLTA}@floor=-20", "violated"),
        ("subnormal-results", "volta/f16.f16.f16.f16", "holds"),
        pytest.param("subnormal-results", "cdna3/v_mfma_f32_32x32x8_bf16", "holds", marks=pytest.mark.middle),
        pytest.param("subnormal-results", "ampere/m8n8k4.f64.f64.f64.f64", "holds", marks=pytest.mark.middle),
    ],
)
def test_designs(name, design, verdict):
    assert check(name, find_design(design)).verdict == verdict


@pytest.mark.parametrize(
    ("name", "design", "a", "b"),
    [
        # 2^-24 * 4 = 2^-22, and 2^-126 * 2^-1 = 2^-127 in bf16
        ("subnormal-operands", VOLTA, 0x0001, 0x4400),
        ("subnormal-results", BF16, 0x0080, 0x3F00),
    ],
)
def test_the_inputs_of_the_paper_are_meant(name, design, a, b):
    unit = find_design(design)
    rest = (0,) * (unit.step.L - 1)
    operands = Operands((a, *rest), (b, *rest), 0)
    question = find_property(name).question(unit, Scope())
    assert question.is_meant(operands) and not question.is_refuted_by(operands)
    mutant = find_property(name).mutant(unit)
    assert find_property(name).question(mutant, Scope()).is_refuted_by(operands)


def test_fp16_has_no_product_that_is_a_subnormal_of_fp32():
    with pytest.raises(DesignError, match="below 2\\^-126, the smallest normal number of fp32"):
        check("subnormal-results", find_design(VOLTA))


def test_products_of_formats():
    assert smallest_product(find_design(VOLTA)) == 2**-48
    assert smallest_product(find_design(VOLTA), normal=True) == 2**-28
    scaled = find_design("blackwell/block16.f32.e2m1.e2m1.ue4m3")
    assert smallest_product(scaled) == (0.5 * 2**-9) ** 2
