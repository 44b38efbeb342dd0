"""Special values: what the papers state, and designs on which it is otherwise."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import find_property
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA = "volta/f32.f16.f16.f32"
BF16 = "ampere/m16n8k8.f32.bf16.bf16.f32"
NAMES = (
    "nan-propagates",
    "invalid-products",
    "opposite-infinities",
    "finite-operands-give-numbers",
    "nan-code",
    "overflow-to-infinity",
    "zero-sum-positive",
    "underflow-sign",
)


@pytest.mark.middle
@pytest.mark.parametrize("name", NAMES)
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    answers = [check(name, d) for d in (specimen, asked.mutant(specimen))]
    assert {x.verdict for x in answers} == {"holds", "violated"}
    violated = next(x for x in answers if x.verdict == "violated")
    for run in violated.finding.runs:
        design = run.design if run.whole else run.design.one_step()
        assert evaluate(design, run.operands) == run.d


@pytest.mark.few(1)
@pytest.mark.slow_values("nan-propagates-hopper/wgmma.f32.e4m3.e4m3-holds")
@pytest.mark.parametrize(
    ("name", "design", "verdict"),
    [
        pytest.param("nan-propagates", "hopper/wgmma.f32.e4m3.e4m3", "holds", marks=pytest.mark.middle),
        pytest.param("nan-propagates", "cdna2/v_mfma_f32_32x32x8f16", "holds", marks=pytest.mark.middle),
        ("invalid-products", "cdna3/v_mfma_f32_32x32x8_f16", "holds"),
        ("finite-operands-give-numbers", VOLTA, "holds"),
        # bf16 2^127*2 beside c = -inf is not finite; two products of 2^128 with different signs are (point 12)
        ("finite-operands-give-numbers", "cdna3/v_mfma_f32_32x32x4_2b_bf16", "violated"),
        ("overflow-to-infinity", "volta/f16.f16.f16.f16", "holds"),
        ("overflow-to-infinity", VOLTA, "vacuous"),
        ("zero-sum-positive", "ampere/m8n8k4.f64.f64.f64.f64", "violated"),
        ("underflow-sign", "ampere/m16n8k8.f32.bf16.bf16.f32@as=khattak-mikaitis", "violated"),
    ],
)
def test_designs(name, design, verdict):
    assert check(name, find_design(design)).verdict == verdict


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("design", "code"),
    [(VOLTA, "0x7fffffff"), ("volta/f16.f16.f16.f16", "0x7fff"), (f"{VOLTA}@nan_code=quiet", "0x7fc00000")],
)
def test_the_value_is_the_code(design, code):
    assert check("nan-code", find_design(design)).finding.value == code


def test_formats_without_infinities_are_refused_with_the_reason():
    with pytest.raises(DesignError, match="e4m3 and e4m3 have no infinity"):
        check("opposite-infinities", find_design("hopper/wgmma.f32.e4m3.e4m3"))


def test_adder_trees_convert_no_sum():
    with pytest.raises(DesignError, match="each of its operations rounds"):
        check("zero-sum-positive", find_design("cdna2/v_mfma_f32_32x32x8f16"))
