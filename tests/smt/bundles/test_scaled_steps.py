"""A step of doubled operands returns twice as much: decided in steps, and written as a bundle."""

import pytest
from support.bundles import checked, written

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library import find_property
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.kernel import is_theorem
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import BY_KERNEL, Status
from mmaproof.verification.check import check

LIMITS = Limits(100, 4 << 30)
SCALING = find_property("scaling")
UNITS = (
    "volta/mma.m8n8k4.f32.f16.f16.f32",
    "rdna3/v_wmma_f16_16x16x16_f16",
    "cdna3/v_mfma_f32_32x32x8_f16",
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0",
    "rdna4/v_wmma_f32_16x16x16_f16",  # a floor that no normal c reaches, and a c that may be dropped
    "cdna3/v_mfma_f32_16x16x32_fp8_fp8",  # a c that may be dropped far below the products
    "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32",  # normalises the sum before c joins
    "cdna2/v_mfma_f32_32x32x8f16",  # a tree of rounded operations
    "arm/fdot.m1n1k2.f32.f16.f16.f32",  # a rounded sum of products
    "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",  # with a +0 in that sum
)


@pytest.mark.middle
@pytest.mark.parametrize("unit", UNITS)
def test_it_is_decided_by_its_argument(unit):
    done = check(SCALING, unit, limits=LIMITS, budget=None)
    assert done.verdict == "holds"
    (answer,) = done.answers
    assert is_theorem(answer.theorem)
    assert answer.theorem.root is answer.question.formula.violation
    assert answer.joined == BY_KERNEL


@pytest.mark.middle
@pytest.mark.few(1)
@pytest.mark.parametrize("unit", ["volta/mma.m8n8k4.f32.f16.f16.f32@L=2", UNITS[-2]])
def test_its_bundle_is_accepted(unit, tmp_path):
    design = find_design(unit)
    report = written(SCALING.question(design, Scope()), design, tmp_path / "bundle")
    assert report.steps > report.lemmas > 1
    status, text = checked(tmp_path / "bundle")
    assert status == 0, text


@pytest.mark.middle
@pytest.mark.parametrize("changed", ["floor=0", "floor=-13"])
def test_a_floor_above_a_normal_c_is_no_theorem(changed):
    """A floor of e_max does not move with the exponents."""
    done = check(SCALING, f"{UNITS[0]}@L=2,{changed}", limits=LIMITS)
    (answer,) = done.answers
    assert (done.finding.status, answer.theorem) == (Status.REFUTED, None)
