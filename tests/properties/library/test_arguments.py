"""Properties that are decided by steps of their own: what holds has a theorem, and what a fault breaks has none."""

import pytest
from support.bundles import LIMITS, checked
from support.waiting import LONG

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library import find_property
from mmaproof.properties.library.carry import SumFits
from mmaproof.properties.question import Question, Scope
from mmaproof.smt.proving.kernel import is_theorem
from mmaproof.smt.semantics.datapath import sum_widths
from mmaproof.smt.solving.limits import worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification import strategies
from mmaproof.verification.bundle import write_bundles
from mmaproof.verification.search import Means

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
FP8 = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3@L=16"
CDNA3, PAIRS = "cdna3/v_mfma_f32_32x32x8_f16", "cdna3/v_mfma_f32_32x32x16_bf8_bf8"
LATE = "hopper/mma.m16n8k32.f32.e4m3.e5m2.f32"
HOLD = [
    ("carry-bits", VOLTA),
    ("carry-bits", f"{VOLTA}@adder=carry-save"),
    ("carry-bits", f"{VOLTA}@floor=0,comparator=chain"),
    ("padded-k", VOLTA),
    ("padded-k", FP8),
    ("padded-k", f"{VOLTA}@subnormals=results"),
    ("padded-k", "volta/mma.m8n8k4.f32.f16.f16.f16"),
    ("padded-k", LATE),
    ("appended-zeros", VOLTA),
    ("appended-zeros", FP8),
    ("appended-zeros", f"{VOLTA}@adder=carry-save,floor=-40"),
    ("appended-zeros", PAIRS),
    ("appended-zeros", "arm/fdot.m1n1k4.f32.e4m3.e4m3.f32"),
    ("zero-times-nonzero", VOLTA),
    ("zero-times-nonzero", CDNA3),
    ("zero-times-nonzero", PAIRS),
    # a zero lies above the smallest products, and reads the same exponent whatever it is multiplied by
    ("zero-times-nonzero", "volta/mma.m8n8k4.f16.f16.f16.f16"),
    # or above c, of which it hides no bit
    ("zero-times-nonzero", "blackwell/tcgen05.mma.m64n8k32.f32.e2m1.e2m1@zero_c=A,zero_product=A,L=4"),
]
BROKEN = [
    ("carry-bits", VOLTA),
    ("padded-k", f"{FP8},fraction_bits=10"),
    ("padded-k", f"{VOLTA}@zero_product=e-zero,e_zero=30"),
    ("appended-zeros", f"{VOLTA}@zero_product=e-zero,e_zero=0"),
    ("zero-times-nonzero", f"{VOLTA}@zero_c=A,zero_product=A"),
    ("zero-times-nonzero", f"{VOLTA}@zero_product=natural"),
    # all bits of products are kept, and not those of c
    ("zero-times-nonzero", "blackwell/tcgen05.mma.m64n8k32.f32.e2m1.e2m1@zero_c=A,zero_product=A,L=4,fraction_bits=24"),
    ("zero-times-nonzero", "ampere/mma.m16n8k8.f32.bf16.bf16.f32@zero_c=A,zero_product=A,fraction_bits=200"),
]


def question_of(name: str, design: str, fewer: int = 0) -> Question:
    """The question of a property; that of carry bits is about N fewer than suffice."""
    unit = find_design(design)
    if name == "carry-bits":
        return SumFits(unit, Scope(), sum_widths(unit).sufficient_carry_bits - fewer)
    return find_property(name).question(unit, Scope())


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "design"), HOLD)
def test_what_holds_has_a_theorem_of_its_steps(monkeypatch, name, design):
    monkeypatch.setattr(strategies, "LEMMAS_ALONE", LONG)  # the whole question, asked in parallel, may be quicker
    question, means = question_of(name, design), Means(Solving(), LIMITS, None)
    found = strategies.own_argument(strategies.Case(question, find_design(design), means, worked(), LIMITS))
    assert found is not None
    assert found.status is Status.PROVED
    assert is_theorem(found.theorem)
    assert found.lemmas


@pytest.mark.slow_values("appended-zeros-volta/mma.m8n8k4.f32.f16.f16.f32@L=2")
@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "design"),
    [(name, f"{VOLTA}@L=2") for name in ("carry-bits", "padded-k", "appended-zeros", "zero-times-nonzero")],
)
def test_its_bundle_is_accepted(monkeypatch, name, design, tmp_path):
    monkeypatch.setattr(strategies, "LEMMAS_ALONE", LONG)
    question, means = question_of(name, design), Means(Solving(), LIMITS, None)
    found = strategies.own_argument(strategies.Case(question, find_design(design), means, worked(), LIMITS))
    assert found is not None
    assert found.theorem is not None
    of = [(question, {"claim": "a claim"}, found.theorem)]
    report = write_bundles(of, find_design(design), tmp_path / "bundle", Solving(), LIMITS, 0)
    assert (report.lemmas, report.steps) == (len(found.theorem.leaves), len(found.theorem.steps))
    status, text = checked(tmp_path / "bundle")
    assert status == 0, text


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "design"), BROKEN)
def test_what_a_fault_breaks_has_none(monkeypatch, name, design):
    monkeypatch.setattr(strategies, "LEMMAS_ALONE", LONG)
    question, means = question_of(name, design, fewer=1), Means(Solving(), LIMITS, None)
    theorem, _ = strategies.Case(question, find_design(design), means, worked(), LIMITS).joined(question.argument())
    assert theorem is None
