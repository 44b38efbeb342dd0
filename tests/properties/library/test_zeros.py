"""Zeros: neutral where the exponent of a zero stays below the others, and shown where it does not."""

import pytest
from pysmt.shortcuts import And

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library import find_property, zeros
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, BF16 = "volta/f32.f16.f16.f32", "ampere/m16n8k8.f32.bf16.bf16.f32"
FP8, FP4 = "hopper/wgmma.f32.e4m3.e4m3", "blackwell/tcgen05.mma.m64n8k32.f32.e2m1.e2m1"
CDNA3, CDNA2 = "cdna3/v_mfma_f32_32x32x8_f16", "cdna2/v_mfma_f32_32x32x8f16"
# points 1 and 2 at reading A: a zero reads the exponent -126
READING_A = "zero_c=A,zero_product=A"
ST, GST = "blackwell/block32.f32.e4m3.e5m2.ue8m0", "blackwell/block16.f32.e2m1.e2m1.ue4m3"


@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "specimen", "mutant"),
    [
        ("appended-zeros", "holds", "violated"),
        ("padded-k", "holds", "violated"),
        ("zero-times-nonzero", "holds", "violated"),
    ],
)
def test_mutants_come_out_the_other_way(name, specimen, mutant):
    asked = find_property(name)
    design = find_design(asked.specimen)
    answers = [check(name, d) for d in (design, asked.mutant(design))]
    assert [x.verdict for x in answers] == [specimen, mutant]
    violated = next(x for x in answers if x.verdict == "violated")
    assert len({run.d for run in violated.finding.runs}) == 2
    for run in violated.finding.runs:
        assert run.whole and evaluate(run.design, run.operands) == run.d


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "design", "verdict"),
    [
        pytest.param("appended-zeros", FP8, "holds", marks=pytest.mark.middle),
        ("appended-zeros", f"{BF16}@{READING_A}", "holds"),
        pytest.param("appended-zeros", BF16, "holds", marks=pytest.mark.slow),
        pytest.param("appended-zeros", CDNA3, "holds", marks=pytest.mark.middle),
        ("appended-zeros", "cdna1/v_mfma_f32_32x32x8f16", "holds"),
        # a zero product, or a zero group (reading A of open point 15), has the exponents of its scales
        ("appended-zeros", f"{ST}@{READING_A}", "violated"),
        pytest.param("appended-zeros", f"{GST}@zero_group=A", "violated", marks=pytest.mark.middle),
        pytest.param("padded-k", FP8, "holds", marks=pytest.mark.middle),
        pytest.param("padded-k", CDNA2, "holds", marks=pytest.mark.middle),
        pytest.param("padded-k", "hopper/m16n8k32.f32.e4m3.e4m3.f32", "holds", marks=pytest.mark.middle),
        ("padded-k", "ampere/m8n8k4.f64.f64.f64.f64@subnormals=accumulator", "violated"),
        # reading A of open point 2: the operand -126 of a zero is added to the other's exponent
        ("zero-times-nonzero", f"{FP8}@{READING_A}", "violated"),
        ("zero-times-nonzero", f"turing/f32.f16.f16.f32@{READING_A}", "violated"),
        ("zero-times-nonzero", f"{BF16}@as=mma-sim", "violated"),
        ("zero-times-nonzero", f"{BF16}@zero_product=absent", "holds"),
        pytest.param("zero-times-nonzero", f"{BF16}@zero_product=e-zero", "holds", marks=pytest.mark.middle),
        # an fp16 accumulator lies above whatever a zero of fp16 reads
        ("zero-times-nonzero", "volta/f16.f16.f16.f16", "holds"),
        # above the smallest c, but by so little that it hides no bit of it
        ("zero-times-nonzero", f"{FP4}@{READING_A}", "holds"),
    ],
)
def test_designs(name, design, verdict):
    assert check(name, find_design(design)).verdict == verdict


def test_the_input_of_open_point_2_is_a_witness():
    # 0 * 2^127 + 1 * 2^-30 gives 0 under reading A
    design = find_design(f"{BF16}@{READING_A}")
    rest = (0,) * (design.k - 2)
    operands = Operands((0, 0x3F80, *rest), (0x7F00, 0x3080, *rest), 0)
    question = find_property("zero-times-nonzero").question(design, Scope())
    assert question.is_refuted_by(operands)
    assert [run.d for run in question.witness_runs(operands)] == [0, 0x30800000]


def test_a_special_case_is_part_of_the_question():
    question = find_property("zero-times-nonzero").question(find_design(f"{VOLTA}@{READING_A}"), Scope())
    case = question.special_case().question
    witness = Operands((0x3C00,) * 4, (0x6400, 0x3C00, 0x3C00, 0x3C00), 0x00000200)
    assert case.is_refuted_by(witness) and not question.is_refuted_by(witness)
    shown = case.witness_runs(witness)[0].operands
    assert shown == Operands((0, 0, 0, 0), (0x6400, 0, 0, 0), 0x00000200)
    assert question.is_refuted_by(shown)


def test_a_conversion_that_uses_all_bits_is_found_out(monkeypatch):
    monkeypatch.setattr(zeros, "unused_bits", lambda _: 10)
    for rho, is_proved in (("rz-e8m13", True), ("rz-fp32", False)):
        question = find_property("padded-k").question(find_design(f"{FP8}@L=16,rho={rho}"), Scope(k=16))
        kernel = Kernel(question.formula.environment, question.formula.violation, refute)
        if is_proved:
            question.argument()(kernel)
        else:
            with pytest.raises(NotComposedError, match="rho leaves the bits zero"):
                question.argument()(kernel)


def refute(stated, _):
    """Refutes a leaf by the default solver."""
    whole = And(stated.all)
    reply = Solving().ask(whole, sorted(whole.get_free_variables(), key=str), limits=Limits(60, 4 << 30))
    if reply.outcome is not Outcome.UNSAT:
        raise NotRefutedError("something satisfies it")
    return str(reply.solver)


def test_units_without_alignment_are_refused():
    with pytest.raises(DesignError, match="rounded one by one"):
        check("appended-zeros", find_design(CDNA2))


@pytest.mark.parametrize(
    ("name", "design", "reason"),
    [
        ("zero-times-nonzero", GST, "no exponents"),
        ("zero-times-nonzero", "volta/f16.f16.f16.f16", "below every other term"),
        ("padded-k", "riscv/bulk.m1n1k4.f32.f16.f16.f32", "loses nothing"),
    ],
)
def test_where_there_is_no_mutant_it_says_why(name, design, reason):
    with pytest.raises(DesignError, match=reason):
        find_property(name).mutant(find_design(design))


@pytest.mark.parametrize("where", ["a!=0", "normal"])
def test_a_case_without_operands_says_nothing_about_the_question(where):
    # the case is about a step of zeros, which these preconditions rule out
    found = check("appended-zeros", find_design(f"{VOLTA}@L=2"), where=where)
    assert found.verdict == "holds"


def test_no_bit_is_unused_where_c_is_added_after_the_conversion():
    late = find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32@rho=rz-e8m13")
    assert late.adds_c_last
    assert zeros.unused_bits(late) == 0


@pytest.mark.parametrize("missing", [Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_PRODUCTS, Guarantee.OWN_CUTS])
def test_zeros_are_argued_about_where_no_guarantee_is_missing(monkeypatch, missing):
    question = find_property("appended-zeros").question(find_design(VOLTA), Scope())
    assert question.argument() is not None
    held = type(question.design).guarantees
    monkeypatch.setattr(type(question.design), "guarantees", lambda x, *of: missing not in of and held(x, *of))
    assert question.argument() is None
