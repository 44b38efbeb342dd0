"""The ten bits that E8M13 leaves zero: in one step, in a chain, and not where something is added afterwards."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import find_property
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

NAME = "low-bits-zero"


@pytest.mark.slow
def test_the_mutant_comes_out_the_other_way():
    asked = find_property(NAME)
    specimen = find_design(asked.specimen)
    assert check(NAME, specimen).verdict == "holds"
    answer = check(NAME, asked.mutant(specimen))
    assert answer.verdict == "violated"
    (run,) = answer.finding.runs
    assert run.whole and evaluate(run.design, run.operands) == run.d
    assert run.d & 0x3FF


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("design", "verdict"),
    [
        ("ada/m16n8k32.f32.e4m3.e5m2.f32", "holds"),
        pytest.param("hopper/wgmma.f32.e5m2.e5m2", "holds", marks=pytest.mark.middle),
        # not on Blackwell, and not on Hopper's emulation of mma.sync: RZ-FP32, and a separate addition of c
        ("blackwell/m64n8k32.f32.e4m3.e4m3", "violated"),
        ("hopper/m16n8k32.f32.e4m3.e4m3.f32", "violated"),
        ("hopper/m16n8k32.f32.e4m3.e4m3.f32@rho=rz-e8m13", "violated"),
        ("hopper/wgmma.f32.f16.f16", "violated"),
        ("cdna3/v_mfma_f32_32x32x8_f16", "violated"),
    ],
)
def test_designs(design, verdict):
    assert check(NAME, find_design(design)).verdict == verdict


@pytest.mark.slow
def test_a_chain_of_two_instructions():
    design = find_design("hopper/wgmma.f32.e4m3.e4m3@L=4")
    assert check(NAME, design, k=2 * design.k).verdict == "holds"


@pytest.mark.parametrize(
    ("design", "reason"),
    [("hopper/wgmma.f16.e4m3.e4m3", "fp16, not fp32"), ("turing/mma.m8n8k16.s32.s8.s8.s32", "integer")],
)
def test_other_outputs_are_refused(design, reason):
    with pytest.raises(DesignError, match=reason):
        check(NAME, find_design(design))


def test_a_last_addition_has_no_mutant():
    with pytest.raises(DesignError, match="all bits of fp32"):
        find_property(NAME).mutant(find_design("hopper/m16n8k32.f32.e4m3.e4m3.f32"))


UNDER_A_PRECONDITION = find_design("hopper/wgmma.f32.e4m3.e4m3@rho=rz-fp32,fraction_bits=12,L=1")


def test_a_step_under_a_precondition():
    # one step from c = 0 leaves the bits zero, and a chain of such steps does not
    assert check(NAME, UNDER_A_PRECONDITION, where="c=0").verdict == "holds"


@pytest.mark.slow
def test_under_preconditions_a_chain_violates_what_a_step_does_not():
    assert check(NAME, UNDER_A_PRECONDITION, where="c=0", k=32).verdict == "violated"
