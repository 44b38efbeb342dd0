"""Zeros: neutral where the exponent of a zero stays below the others, and shown where it does not."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import Operands
from mmaproof.generators.check import check
from mmaproof.properties.library import find_property
from mmaproof.properties.library.zeros import AppendedZeros
from mmaproof.properties.run_question import Scope
from mmaproof.smt.evaluate import evaluate

VOLTA, BF16 = "volta/f32.f16.f16.f32", "ampere/m16n8k8.f32.bf16.bf16.f32"
FP8 = "hopper/wgmma.f32.e4m3.e4m3"
CDNA3, CDNA2 = "cdna3/v_mfma_f32_32x32x8_f16", "cdna2/v_mfma_f32_32x32x8f16"


@pytest.mark.parametrize("name", ["appended-zeros", "padded-k", "zero-times-nonzero"])
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    answers = [check(name, d) for d in (specimen, asked.mutant(specimen))]
    assert {x.verdict for x in answers} == {"holds", "violated"}
    violated = next(x for x in answers if x.verdict == "violated")
    assert len({run.d for run in violated.finding.runs}) == 2
    for run in violated.finding.runs:
        assert run.whole and evaluate(run.design, run.operands) == run.d


@pytest.mark.parametrize(
    ("name", "design", "verdict"),
    [
        ("appended-zeros", VOLTA, "holds"),
        ("appended-zeros", FP8, "holds"),
        ("appended-zeros", BF16, "holds"),
        ("appended-zeros", CDNA3, "holds"),
        ("padded-k", VOLTA, "holds"),
        ("padded-k", FP8, "holds"),
        # its output flushes subnormal results, so that a subnormal c changes on its way
        ("padded-k", CDNA2, "violated"),
        # reading A of open point 2: the operand -126 of a zero is added to the other's exponent
        ("zero-times-nonzero", VOLTA, "violated"),
        ("zero-times-nonzero", FP8, "violated"),
        ("zero-times-nonzero", f"{BF16}@as=mma-sim", "violated"),
        ("zero-times-nonzero", f"{BF16}@zero_product=absent", "holds"),
    ],
)
def test_designs(name, design, verdict):
    assert check(name, find_design(design)).verdict == verdict


def test_the_input_of_open_point_2_is_a_witness():
    # 0 * 2^127 + 1 * 2^-30 gives 0 under reading A
    question = find_property("zero-times-nonzero")
    design = find_design(BF16)
    from mmaproof.properties.library.zeros import _ZeroTimes

    rest = (0,) * (design.k - 2)
    operands = Operands((0, 0x3F80, *rest), (0x7F00, 0x3080, *rest), 0)
    asked = _ZeroTimes(design, Scope())
    assert asked.is_refuted_by(operands)
    assert [run.d for run in asked.witness_runs(operands)] == [0, 0x30800000]
    assert question.why_not(design) is None


def test_lemmas_are_offered_where_one_alignment_has_all_products():
    assert AppendedZeros().question(find_design(VOLTA), Scope()).lemmas()
    assert not AppendedZeros().question(find_design("cdna3/v_mfma_f32_32x32x16_fp8_fp8"), Scope()).lemmas()
    assert not AppendedZeros().question(find_design("rtx-blackwell/block16.f32.e2m1.e2m1.ue4m3"), Scope()).lemmas()


def test_units_without_alignment_are_refused():
    with pytest.raises(DesignError, match="not aligned"):
        check("appended-zeros", find_design(CDNA2))
