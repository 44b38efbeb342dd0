"""Normalisation of partial sums: tensor cores do not normalise them, and the experiments of Fasi et al. show it."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library import find_property
from mmaproof.properties.library.normalisation import _Positive, _Shrinking, normalising_twin
from mmaproof.properties.question import Scope
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, TURING = "volta/mma.m8n8k4.f32.f16.f16.f32", "turing/mma.m16n8k8.f32.f16.f16.f32"
BOTH = ("normalised-in-addition", "normalised-in-subtraction")


def sums_of(design, terms, c):
    """Operands whose products are the terms, each doubled and halved."""
    rest = [0] * (design.step.L - len(terms))
    half = design.b_format.encode(0.5)
    a = [design.a_format.encode(2 * x) for x in terms]
    return Operands((*a, *rest), (*[half] * len(a), *rest), design.c_format.encode(c))


@pytest.mark.middle
@pytest.mark.parametrize("name", BOTH)
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    violated, holds = (check(name, d) for d in (specimen, asked.mutant(specimen)))
    assert (violated.verdict, holds.verdict) == ("violated", "holds")
    unit, twin = violated.finding.runs
    assert unit.design == specimen
    assert twin.design == asked.mutant(specimen)
    assert unit.d != twin.d
    assert all(evaluate(run.design, run.operands) == run.d for run in (unit, twin))
    # and back
    assert asked.mutant(asked.mutant(specimen)).step.normalises == "no"


@pytest.mark.few(1)
@pytest.mark.slow_values("cdna3/v_mfma_f32_32x32x8_f16-normalised-in-addition")
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    "design",
    [
        TURING,
        pytest.param("ampere/m16n8k16.f32.bf16.bf16.f32", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.f16.f16", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_32x32x8_f16", marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_16x16x32_fp8_fp8", marks=pytest.mark.middle),
        pytest.param("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", marks=pytest.mark.middle),
        "paper/sequential.m1n1k4.f32.f16.f16.f32",
    ],
)
def test_tensor_cores_do_not_normalise(name, design):
    answer = check(name, find_design(design))
    assert answer.verdict == "violated"
    first, second = answer.finding.runs
    assert first.d != second.d


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        ("cdna1/v_mfma_f32_32x32x8f16", "exact"),
        ("cdna1/v_mfma_f32_32x32x2f32", "one product"),
        ("cdna2/v_mfma_f32_32x32x8f16", "output format"),
        ("riscv/bulk.m1n1k4.f32.bf16.bf16.f32", "truncate"),
        ("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3", "groups"),
        ("turing/mma.m8n8k16.s32.s8.s8.s32", "integer"),
    ],
)
def test_where_normalisation_cannot_be_asked_about(design, reason):
    assert all(reason in find_property(name).why_not(find_design(design)) for name in BOTH)


@pytest.mark.parametrize(("name", "small", "count"), [(VOLTA, 2.0**-24, 4), (TURING, 2.0**-25, 8)])
def test_the_addition_of_fasi_is_a_witness(name, small, count):
    design = find_design(name)
    operands = sums_of(design, [small] * count, 1 - 2.0**-24)
    question = _Positive(design, Scope())
    assert question.is_refuted_by(operands)
    # normalised after the first carry, the other terms are below the last bit
    found = [run.d for run in question.witness_runs(operands)]
    assert found == [design.d_format.encode(x) for x in (1 + 2.0**-23, 1)]


def test_the_subtraction_of_fasi_is_a_witness_where_c_comes_before_the_last_term():
    # 1 + c, c = -1 + 2^-24, leaves 2^-23, of which a normalising unit takes 2^-24. The twin takes c last, where, as the
    # paper says, normalisation has no effect any more; one product a step, it takes c first.
    design = find_design(VOLTA)
    operands = sums_of(design, [1, -(2.0**-24)], -1 + 2.0**-24)
    assert evaluate(design, operands) == design.d_format.encode(2.0**-23)
    assert evaluate(normalising_twin(design), operands) == design.d_format.encode(2.0**-23)
    assert evaluate(design.change(L=1), operands) == design.d_format.encode(2.0**-24)
    # the same with a product in the place of c: -(1 - 2^-11)^2, then -2^-24
    f = design.a_format
    almost, one = f.encode(1 - 2.0**-11), f.encode(1)
    minus = 1 << f.sign_position
    operands = Operands((one, almost | minus, f.encode(-(2.0**-24)), 0), (one, almost, one, 0), 0)
    question = _Shrinking(design, Scope())
    assert question.is_refuted_by(operands)
    left = 1 - (1 - 2.0**-11) ** 2
    found = [run.d for run in question.witness_runs(operands)]
    assert found == [design.d_format.encode(x) for x in (left, left - 2.0**-24)]


def test_signs_are_set_and_zeros_keep_none():
    design = find_design("cdna3/v_mfma_f32_16x16x32_fp8_fp8")
    question = _Shrinking(design, Scope())
    # 0x80 is NaN in this format; the odd products are added apart, c joins late
    operands = Operands((0xB8,) * 16, (0xB8, *[0] * 15), 0xBF800000)
    unit, twin = question.witness_runs(operands)
    assert unit.operands.a[:16] == (0x38, 0, *[0xB8, 0] * 7)
    assert unit.operands.b[:16] == (0x38, *[0] * 15)
    assert unit.operands.c == 0
    assert twin.operands == unit.operands
