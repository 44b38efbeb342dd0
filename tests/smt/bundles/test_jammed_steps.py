"""The steps for a sum that jams what it loses refute the counterexamples where it is rounded as the exact one, only."""

import pytest
from support.bundles import checked, small_design, written
from support.in_this_process import InThisProcess
from support.small_designs import use_small_formats

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library import find_property
from mmaproof.properties.library.against_exact import AgainstExact
from mmaproof.properties.question import Scope
from mmaproof.smt.bundles import jammed_steps
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.verification import bundle

LIMITS = Limits(100, 4 << 30)
VOLTA, DOT = "volta/mma.m8n8k4.f32.f16.f16.f32", "cdna4/v_dot2_f32_f16.m1n1k2"
NARROW = "hopper/mma.m16n8k32.f16.e4m3.e4m3.f16@L=1"


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr("support.in_this_process.MOST_SECONDS", 60)


def asked(name, design, k=None):
    return find_property(name).question(find_design(design), Scope(k=k))


def composed(question):
    """Whether the steps add up to the claim; else why not."""
    whole = question.formula
    refute = Lemmas(InThisProcess().ask, LIMITS, worked(), whole.environment).refute
    kernel = Kernel(whole.environment, whole.violation, refute)
    try:
        question.add_steps(kernel)
    except NotComposedError as problem:
        return str(problem)
    return kernel.complete


@pytest.mark.parametrize("name", ["sticky-bit", "guard-bit"])
def test_they_refute_the_counterexamples(name):
    question = asked(name, NARROW)
    assert question.decides_by_argument
    assert composed(question) is True


@pytest.mark.parametrize("rho", ["rz-fp16"])
def test_they_are_refused_of_another_rounding(rho):
    question = asked("sticky-bit", NARROW)
    question.twin = question.twin.change(rho=rho)
    assert "d is its sum with c as IEEE 754 adds: something satisfies it" in composed(question)


@pytest.mark.parametrize(
    ("name", "bits", "why"),
    [
        ("sticky-bit", 3, "a jammed term is odd where it loses bits: something satisfies it"),
        ("guard-bit", 4, "a large sum converts as it does jammed: something satisfies it"),
        ("correctly-rounded", 3, "is held in the exact sum: something satisfies it"),
    ],
)
def test_they_are_refused_where_too_few_bits_are_kept(monkeypatch, name, bits, why):
    use_small_formats(monkeypatch)
    design = small_design(1, alignment="jam", fraction_bits=bits)
    assert why in composed(find_property(name).question(design, Scope()))


def test_units_that_lose_bits_without_a_trace_have_no_argument():
    assert not asked("sticky-bit", VOLTA).decides_by_argument
    question = asked("sticky-bit", f"{DOT}@alignment=truncate,rho=rz-fp32")
    assert not question.decides_by_argument
    assert question.argument() is None
    assert "something satisfies it" in composed(question)


def test_a_given_length_may_not_be_a_step_and_has_no_argument():
    assert asked("sticky-bit", NARROW).decides_by_argument
    assert not asked("sticky-bit", NARROW, k=1).decides_by_argument


@pytest.mark.parametrize(
    ("step", "instead"),
    [
        ("prove_bounds", lambda laws, algebra, total: [1 << 60] * len(total.terms)),
        ("prove_largest_exponent", lambda laws, algebra, total: None),
    ],
)
def test_what_is_not_proved_is_not_used(monkeypatch, step, instead):
    monkeypatch.setattr(jammed_steps, step, instead)
    assert "an assumption is not known to hold" in composed(asked("sticky-bit", NARROW))


@pytest.mark.middle
@pytest.mark.parametrize("name", ["cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32", "arm/fdot.m1n1k2.f32.f16.f16.f32"])
def test_close_terms_keep_their_bits_in_a_narrow_sum_and_others_do_not(monkeypatch, name):
    assert composed(asked("guard-bit", name)) is True
    question = asked("guard-bit", name)
    monkeypatch.setattr(type(question), "assumption", lambda self, *given: self.terms(*given))
    assert "is held in the exact sum: something satisfies it" in composed(question)


@pytest.mark.slow
def test_the_checker_accepts_the_bundle(monkeypatch, tmp_path):
    monkeypatch.setattr(bundle, "AT_ONCE", 1e-6)
    question = asked("sticky-bit", NARROW)
    report = written(question, question.design, tmp_path / "proof")
    assert report.steps > 40
    found, said = checked(tmp_path / "proof")
    assert found == 0, said


def test_by_default_no_question_is_about_a_jammed_sum():
    assert AgainstExact(find_design(NARROW), Scope()).rounds_as_jammed is False
