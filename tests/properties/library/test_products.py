"""Products: exact one at a time, and added before they are rounded to fp16."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import find_property
from mmaproof.properties.library.against_exact import AgainstExact, rounded_once
from mmaproof.properties.question import Scope
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, HALF = "volta/mma.m8n8k4.f32.f16.f16.f32", "volta/mma.m8n8k4.f16.f16.f16.f16"
NVFP4 = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"


def run(design, a, b, c=0.0):
    """d of the instruction, as a pattern; elements that are not named are +0."""
    formats = design.formats
    columns = [[f.encode(x) for x in xs] + [0] * (design.k - len(xs)) for f, xs in zip(formats, (a, b), strict=False)]
    return evaluate(design, Operands(tuple(columns[0]), tuple(columns[1]), formats[2].encode(c)))


@pytest.mark.slow_values("accumulation-precision-volta/mma.m8n8k4.f16.f16.f16.f16-summation=pairwise")
@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "specimen", "mutant"),
    [("products-exact", VOLTA, "fraction_bits=19"), ("accumulation-precision", HALF, "summation=pairwise")],
)
def test_mutants_come_out_the_other_way(name, specimen, mutant):
    asked = find_property(name)
    assert asked.specimen == specimen
    design = find_design(specimen)
    assert check(name, design).verdict == "holds"
    assert asked.mutant(design).name == f"{specimen}@{mutant}"
    violated = check(name, asked.mutant(design))
    assert violated.verdict == "violated"
    cut, exact = violated.finding.runs
    assert cut.d != exact.d
    assert all(evaluate(run.design, run.operands) == run.d for run in (cut, exact))


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",
    "cdna2/v_mfma_f32_32x32x8bf16_1k",
    "cdna3/v_mfma_f32_32x32x8_f16",
    "hopper/wgmma.f32.e4m3.e4m3",
    "riscv/bulk.m1n1k4.f32.bf16.bf16.f32",
    "turing/f32.f16.f16.f32",
)
@pytest.mark.parametrize(
    "name",
    [
        HALF,
        pytest.param("turing/f32.f16.f16.f32", marks=pytest.mark.middle),
        pytest.param("ampere/m16n8k16.f32.bf16.bf16.f32", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", marks=pytest.mark.middle),
        "cdna1/v_mfma_f32_32x32x2f32",
        pytest.param("cdna2/v_mfma_f32_32x32x8bf16_1k", marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_32x32x8_f16", marks=pytest.mark.middle),
        pytest.param("riscv/bulk.m1n1k4.f32.bf16.bf16.f32", marks=pytest.mark.middle),
        pytest.param(NVFP4, marks=pytest.mark.middle),
    ],
)
def test_products_are_exact(name):
    design = find_design(name)
    assert check("products-exact", design).verdict == "holds"
    assert check("products-exact", find_property("products-exact").mutant(design)).verdict == "violated"


def test_exact_products_of_the_papers():
    # Fasi et al.: four times (1 - 2^-11)^2; Valpey et al., table 1, with the subnormal a of the reference
    volta = find_design(VOLTA)
    one_less = 1 - 2.0**-11
    assert run(volta, [one_less] * 4, [one_less] * 4) == volta.d_format.encode(4 * one_less**2)
    a, b = 0.2587890625 * 2.0**-14, 1.3681640625 * 2.0**-1
    assert run(volta, [a], [b]) == volta.d_format.encode(a * b)


@pytest.mark.middle
@pytest.mark.slow_values("ampere/m16n8k8.f16.f16.f16.f16-holds", "hopper/wgmma.f16.e5m2.e5m2-holds")
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        pytest.param("ampere/m16n8k8.f16.f16.f16.f16", "holds", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f16.e5m2.e5m2", "holds", marks=pytest.mark.middle),
        ("hopper/wgmma.f16.e5m2.e5m2@L=2", "holds"),
        (f"{HALF}@fraction_bits=11", "violated"),
    ],
)
def test_precision_of_the_accumulation(name, verdict):
    assert check("accumulation-precision", find_design(name)).verdict == verdict


def test_two_products_of_the_paper_add_exactly():
    # Fasi et al.: the first product is not a binary16 number, the sum is one
    half = find_design(HALF)
    asked, f = find_property("accumulation-precision"), half.a_format
    a, b = (1 - 2.0**-11, 1 - 2.0**-11), (1 - 2.0**-11, 2.0**-11)
    operands = Operands(tuple(map(f.encode, (*a, 0, 0))), tuple(map(f.encode, (*b, 0, 0))), 0)
    assert asked.question(half, Scope()).is_meant(operands)
    assert evaluate(half, operands) == f.encode(1 - 2.0**-10 + 2.0**-11)
    # it tells a binary16 accumulator that truncates, but not one that rounds to nearest
    nearest, truncating = asked.mutant(half), asked.mutant(half).change(rho="rz-fp16")
    assert not asked.question(nearest, Scope()).is_refuted_by(operands)
    assert asked.question(truncating, Scope()).is_refuted_by(operands)


@pytest.mark.parametrize(
    ("name", "design", "reason"),
    [
        ("products-exact", "turing/mma.m8n8k16.s32.s8.s8.s32", "integer"),
        ("accumulation-precision", VOLTA, "fp32, not fp16"),
        ("accumulation-precision", "rtx-blackwell/m16n8k32.f16.e2m1.e2m1.f16", "every product"),
    ],
)
def test_where_they_make_no_sense(name, design, reason):
    assert reason in find_property(name).why_not(find_design(design))
    with pytest.raises(DesignError, match=reason):
        check(name, find_design(design))


def test_lengths_that_are_no_step_are_refused():
    with pytest.raises(DesignError, match="one step"):
        check("products-exact", find_design(VOLTA), k=8)
    with pytest.raises(DesignError, match="2 products"):
        check("accumulation-precision", find_design(HALF), k=1)


def test_what_joins_in_ieee_754_is_rounded_to_nearest():
    # rho of the emulated FP8 instructions truncates, the addition of c after it does not
    assert rounded_once(find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32")).step.rho == "rne-fp32"
    assert rounded_once(find_design(VOLTA)).step.rho == "rz-fp32"


def test_the_other_blocks_have_the_scales_of_the_first():
    question = AgainstExact(find_design(NVFP4), Scope())
    (run, _) = question.witness_runs(Operands((2,) * 64, (2,) * 64, 0x3F800000, (0x30, 1, 2, 3), (0x38, 4, 5, 6)))
    assert run.operands.scale_a == (0x30,) * 4
    assert run.operands.scale_b == (0x38,) * 4
    assert run.operands.a == (2,) + (0,) * 63
