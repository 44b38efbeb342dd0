"""Bits below the largest exponent: their number, and whether they guard differences and say that bits were lost."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library import find_property
from mmaproof.properties.library.padding import _SameWith
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.kernel import is_theorem
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, TURING = "volta/mma.m8n8k4.f32.f16.f16.f32", "turing/mma.m16n8k8.f32.f16.f16.f32"
CDNA1, CDNA2 = "cdna1/v_mfma_f32_32x32x8f16", "cdna2/v_mfma_f32_32x32x8f16"
FMA, FP64 = "cdna1/v_mfma_f32_32x32x2f32", "arm/fmla.m1n1k1.f64.f64.f64.f64"
GAUDI = "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32"
PATIENT = Limits(120.0, 4 << 30)


def pattern(x):
    return find_design(VOLTA).d_format.encode(x)


@pytest.mark.slow_values("guard-bit", "sticky-bit")
@pytest.mark.middle
@pytest.mark.parametrize("name", ["guard-bit", "sticky-bit"])
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    holds, violated = (check(name, d, limits=PATIENT) for d in (specimen, asked.mutant(specimen)))
    assert (holds.verdict, violated.verdict) == ("holds", "violated")
    first, second = violated.finding.runs
    assert first.d != second.d
    assert all(evaluate(run.design, run.operands) == run.d for run in (first, second))


@pytest.mark.middle
def test_more_bits_than_exact_sums_need_cannot_be_seen():
    asked = find_property("fraction-bits")
    specimen = find_design(asked.specimen)
    seen, unseen = (check("fraction-bits", d) for d in (specimen, asked.mutant(specimen)))
    assert (seen.verdict, seen.finding.value) == ("holds", 23)
    assert (unseen.verdict, unseen.finding.value) == ("violated", 276)
    (answer,) = unseen.answers
    assert {x.status for x in answer.lemmas} == {Status.PROVED}
    assert is_theorem(answer.proof)


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "cdna1/v_mfma_f32_32x32x8f16-violated-276",
    "cdna3/v_mfma_f32_32x32x8_f16-holds-24",
    "hopper/wgmma.f32.e4m3.e4m3-holds-13",
    "hopper/wgmma.f32.f16.f16-holds-25",
)
@pytest.mark.parametrize(
    ("name", "verdict", "value"),
    [
        (VOLTA, "holds", 23),
        pytest.param(TURING, "holds", 24, marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.f16.f16", "holds", 25, marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", "holds", 13, marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_32x32x8_f16", "holds", 24, marks=pytest.mark.middle),
        ("riscv/bulk.m1n1k4.f32.bf16.bf16.f32", "holds", 26),
        pytest.param(CDNA1, "violated", 276, marks=pytest.mark.middle),
    ],
)
def test_fraction_bits(name, verdict, value):
    answer = check("fraction-bits", find_design(name))
    assert (answer.verdict, answer.finding.value) == (verdict, value)
    if verdict == "holds":
        # the design and the one with a bit more, then the design and the one with a bit fewer
        given, more, again, fewer = answer.finding.runs
        assert [r.design.step.fraction_bits for r in (given, more, again, fewer)] == [
            value,
            value + 1,
            value,
            value - 1,
        ]
        assert given.d != more.d
        assert again.d != fewer.d
        assert all(evaluate(run.design, run.operands) == run.d for run in answer.finding.runs)


def test_fraction_bits_of_an_adder_tree_are_not_asked_about():
    assert find_property("fraction-bits").why_not(find_design(CDNA2)) is not None


@pytest.mark.few(2)
@pytest.mark.slow_values("hopper/wgmma.f16.e5m2.e5m2-holds", "hopper/wgmma.f32.e4m3.e4m3-violated")
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        (VOLTA, "violated"),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", "violated", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f16.e5m2.e5m2", "holds", marks=pytest.mark.middle),
        (f"{FMA}@fraction_bits=23", "violated"),
        ("paper/sequential.m1n1k4.f32.f16.f16.f32", "violated"),
    ],
)
def test_guard_bit(name, verdict):
    assert check("guard-bit", find_design(name), limits=PATIENT).verdict == verdict


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3-violated",
    "cdna1/v_mfma_f32_32x32x8f16-holds",
    "hopper/mma.m16n8k32.f16.e4m3.e4m3.f16-holds",
)
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        (VOLTA, "violated"),
        (TURING, "violated"),
        (CDNA1, "holds"),
        ("cdna3/v_mfma_f32_32x32x8_f16", "violated"),
        (f"{FP64}@fraction_bits=50", "violated"),
        (f"{GAUDI}@fraction_bits=13", "violated"),
        pytest.param("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16", "holds", marks=pytest.mark.middle),
        pytest.param(
            "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3", "violated", marks=pytest.mark.middle
        ),
    ],
)
def test_sticky_bit(name, verdict):
    assert check("sticky-bit", find_design(name), limits=PATIENT).verdict == verdict


@pytest.mark.slow
def test_an_fma_of_fp64_keeps_a_sticky_bit():
    assert check("sticky-bit", find_design(FP64), limits=PATIENT).verdict == "holds"


@pytest.mark.slow
def test_c_that_joins_a_normalised_sum_keeps_a_sticky_bit():
    assert check("sticky-bit", find_design(GAUDI), limits=PATIENT).verdict == "holds"


def test_fasi_finds_no_guard_digit_on_volta():
    # 1 - (1 - 2^-24)
    operands = Operands((0x3C00, 0, 0, 0), (0x3C00, 0, 0, 0), pattern(-1 + 2.0**-24))
    question = find_property("guard-bit").question(find_design(VOLTA), Scope())
    assert question.is_refuted_by(operands)
    assert [run.d for run in question.witness_runs(operands)] == [pattern(2.0**-23), pattern(2.0**-24)]
    other = find_property("guard-bit").question(find_design(f"{VOLTA}@fraction_bits=24"), Scope())
    assert other.is_meant(operands)
    assert not other.is_refuted_by(operands)


@pytest.mark.parametrize(
    ("c", "meant"), [(-1.0, True), (-0.5, True), (-2.0, True), (-0.49, False), (-2.01, False), (1.0, False)]
)
def test_close_numbers_of_opposite_signs(c, meant):
    volta = find_design(VOLTA)
    rounded = float(__import__("numpy").float32(c))
    operands = Operands((0x3C00, 0, 0, 0), (0x3C00, 0, 0, 0), volta.c_format.encode(rounded))
    assert find_property("guard-bit").question(volta, Scope()).is_meant(operands) is meant


def test_valpeys_input_shows_that_no_bit_sticks():
    operands = Operands((0x4000, 0, 0, 0), (0x3C00, 0, 0, 0), pattern(-(2.0**-40)))
    question = find_property("sticky-bit").question(find_design(VOLTA), Scope())
    assert question.is_refuted_by(operands)


@pytest.mark.parametrize("bits", [22, 23])
def test_there_is_no_argument_where_a_difference_of_close_numbers_is_cut(bits):
    design = find_design(f"cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32@fraction_bits={bits}")
    assert not find_property("guard-bit").question(design, Scope()).decides_by_argument


@pytest.mark.slow
def test_chains_of_double_precision_have_a_guard_bit():
    name = "ampere/mma.m8n8k4.f64.f64.f64.f64"
    assert check("guard-bit", find_design(name), limits=PATIENT).verdict == "holds"


JAMMED = (
    f"{VOLTA}@L=1,alignment=jam,product_exponent=normalised,c_subnormal=normalised,zero_c=absent,zero_product=absent"
)


def joined(rho):
    """Whether a kernel takes the steps: that a unit and one with a bit more and another conversion return the same."""
    question = _SameWith(find_design(f"{JAMMED},fraction_bits=52"), Scope(), 53)
    question.other = question.other.change(rho=rho)
    whole = question.formula
    asked = Lemmas(Solving().ask, PATIENT, worked(), whole.environment)
    assert question.decides_by_argument
    return asked.joined(whole.violation, question.argument()) is not None


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "proved"), [("rz-fp32", True), ("rne-fp32", False)])
def test_both_round_the_exact_sum_once_in_one_theorem(rho, proved):
    assert joined(rho) is proved
