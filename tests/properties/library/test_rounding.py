"""How sums are rounded: the mode of the conversion, and truncation of terms against rounding of the exact sum."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library import find_property
from mmaproof.properties.library.rounding import MODES
from mmaproof.properties.question import Scope
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, HALF = "volta/mma.m8n8k4.f32.f16.f16.f32", "volta/mma.m8n8k4.f16.f16.f16.f16"
BF16, FMA = "ampere/m16n8k16.f32.bf16.bf16.f32", "cdna1/v_mfma_f32_32x32x2f32"
CDNA1, CDNA2 = "cdna1/v_mfma_f32_32x32x8f16", "cdna2/v_mfma_f32_32x32x8f16"


def pattern(x):
    return find_design(VOLTA).d_format.encode(x)


@pytest.mark.slow
def test_the_mutant_rounds_otherwise():
    asked = find_property("conversion-rounding")
    specimen = find_design(asked.specimen)
    answers = [check("conversion-rounding", d) for d in (specimen, asked.mutant(specimen))]
    assert [(x.verdict, x.finding.value) for x in answers] == [("holds", "RNE"), ("holds", "truncation")]


@pytest.mark.slow_values(
    "ampere/m16n8k16.f32.bf16.bf16.f32-truncation",
    "ampere/m16n8k16.f32.bf16.bf16.f32@overflow=largest-finite-RTZ",
    "cdna2/v_mfma_f32_32x32x8f16-RNE",
    "cdna3/v_mfma_f32_32x32x8_f16-RNE",
    "hopper/mma.m16n8k32.f16.e4m3.e4m3.f16@rho=rz-fp16-RNE",
    "hopper/wgmma.f32.e4m3.e4m3@L=1-RTZ, truncation",
    "volta/mma.m8n8k4.f16.f16.f16.f16@L=1-RNE",
    "volta/mma.m8n8k4.f16.f16.f16.f16@rho=rna-fp16-RNA",
    "volta/mma.m8n8k4.f16.f16.f16.f16@rho=rtn-fp16-RTN",
    "volta/mma.m8n8k4.f16.f16.f16.f16@rho=rtp-fp16-RTP",
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        # no sum of fp16 products and c overflows without losing bits
        pytest.param(VOLTA, "RTZ, truncation", marks=pytest.mark.middle),
        pytest.param(BF16, "truncation", marks=pytest.mark.middle),
        pytest.param(f"{BF16}@overflow=largest-finite", "RTZ", marks=pytest.mark.middle),
        pytest.param(f"{HALF}@rho=rna-fp16", "RNA", marks=pytest.mark.middle),
        pytest.param(f"{HALF}@rho=rtn-fp16", "RTN", marks=pytest.mark.middle),
        pytest.param(f"{HALF}@rho=rtp-fp16", "RTP", marks=pytest.mark.middle),
        pytest.param(CDNA2, "RNE", marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_32x32x8_f16", "RNE", marks=pytest.mark.middle),
        (f"{HALF}@L=1", "RNE"),
        ("hopper/wgmma.f32.e4m3.e4m3@L=1", "RTZ, truncation"),
        # products have more bits than results, so not every sum is of a product
        pytest.param(f"{HALF}@summation=interleaved,L=1", "RNE", marks=pytest.mark.middle),
        # rho truncates the sum of the products; c is added to it in IEEE 754
        pytest.param("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16@rho=rz-fp16", "RNE", marks=pytest.mark.middle),
    ],
)
def test_modes(name, value):
    answer = check("conversion-rounding", find_design(name))
    assert (answer.verdict, answer.finding.value) == ("holds", value)
    others = len(MODES) - len(value.split(", "))
    assert len(answer.finding.runs) == others
    assert all(evaluate(run.design, run.operands) == run.d for run in answer.finding.runs)


@pytest.mark.slow
def test_a_sum_rounded_down_twice_has_no_mode():
    # reading B of open point 11: what the first rounding loses is seen by the second one
    answer = check("conversion-rounding", find_design("cdna3/v_mfma_f32_32x32x8_f16@late_rounding=twice,late_bits=23"))
    assert answer.finding.value != "RNE"


@pytest.mark.slow_values(
    "cdna1/v_mfma_f32_32x32x2f32-cdna1/v_mfma_f32_32x32x2f32@fraction_bits=22",
    "cdna1/v_mfma_f32_32x32x8f16@L=2-cdna1/v_mfma_f32_32x32x8f16@L=2,fraction_bits=22",
    "volta/mma.m8n8k4.f32.f16.f16.f32-volta/mma.m8n8k4.f32.f16.f16.f32@fraction_bits=276,zero_c=absent,zero_product=absent",
)
@pytest.mark.parametrize(
    ("specimen", "mutant"),
    [
        (f"{CDNA1}@L=2", f"{CDNA1}@L=2,fraction_bits=22"),
        pytest.param(VOLTA, f"{VOLTA}@fraction_bits=276,zero_c=absent,zero_product=absent", marks=pytest.mark.middle),
        pytest.param(FMA, f"{FMA}@fraction_bits=22", marks=pytest.mark.middle),
    ],
)
def test_exact_sums_are_rounded_correctly_and_cut_ones_are_not(specimen, mutant):
    asked, design = find_property("correctly-rounded"), find_design(specimen)
    assert asked.mutant(design).name == mutant
    answers = {name: check("correctly-rounded", find_design(name)) for name in (specimen, mutant)}
    exact = mutant if specimen == VOLTA else specimen
    assert {name: x.verdict for name, x in answers.items() if name == exact} == {exact: "holds"}
    (violated,) = (x for name, x in answers.items() if name != exact)
    assert violated.verdict == "violated"
    cut, right = violated.finding.runs
    assert cut.d != right.d
    assert all(evaluate(run.design, run.operands) == run.d for run in (cut, right))


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3-violated",
    "cdna1/v_mfma_f32_32x32x8f16-holds",
    "cdna2/v_mfma_f32_32x32x8f16-violated",
    "cdna3/v_mfma_f32_32x32x8_f16-violated",
    "hopper/wgmma.f32.e4m3.e4m3-violated",
)
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        pytest.param(CDNA1, "holds", marks=pytest.mark.middle),
        pytest.param(CDNA2, "violated", marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_32x32x8_f16", "violated", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", "violated", marks=pytest.mark.middle),
        (HALF, "violated"),
        ("riscv/bulk.m1n1k4.f32.bf16.bf16.f32", "violated"),
        pytest.param(
            "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3", "violated", marks=pytest.mark.middle
        ),
    ],
)
def test_correctly_rounded(name, verdict):
    assert check("correctly-rounded", find_design(name)).verdict == verdict


def test_the_input_of_valpeys_table_3_is_a_witness():
    # 2 - 2^-40 towards zero is 2 - 2^-23; truncated terms give 2
    volta = find_design(VOLTA)
    operands = Operands((0x4000, 0, 0, 0), (0x3C00, 0, 0, 0), pattern(-(2.0**-40)))
    question = find_property("correctly-rounded").question(volta, Scope())
    assert question.is_refuted_by(operands)
    assert [run.d for run in question.witness_runs(operands)] == [pattern(2), pattern(2 - 2.0**-23)]


def test_the_rounding_to_fp16_of_fasi_is_no_truncation():
    # 2^-25 + 2^-26, three quarters of the smallest subnormal
    half = find_design(HALF)
    tiny, (b, d) = half.a_format.encode(2.0**-24), (half.b_format.encode(x) for x in (0.5, 0.25))
    operands = Operands((tiny, tiny, 0, 0), (b, d, 0, 0), 0)
    assert evaluate(half, operands) == 1
    assert evaluate(find_property("conversion-rounding").mutant(half), operands) == 0
