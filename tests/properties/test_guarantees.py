"""What a step does not state is not assumed: without a guarantee, no question and no lemma that needs it is used."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import STEPS
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.property import UNSTATED, QuestionVerdict
from mmaproof.properties.question import Scope
from mmaproof.properties.settings import exact_twin
from mmaproof.smt.solving.verdict import Status

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
DESIGNS = (
    VOLTA,
    "cdna1/v_mfma_f32_32x32x8f16",
    "cdna3/v_mfma_f32_16x16x8_xf32",
    "ampere/mma.m8n8k4.f64.f64.f64.f64",
    "ampere/mma.m16n8k16.s32.s8.s8.s32",
    "paper/sequential.m1n1k4.f32.f16.f16.f32",
    "paper/tree.m1n1k4.f32.f16.f16.f32",
)


class Recording:
    """Answers that nothing is known, and keeps the questions."""

    def __init__(self):
        self.questions = []

    def __call__(self, question, what, /):
        self.questions.append(question)
        return QuestionVerdict(Status.UNKNOWN, 0.0, "not asked", question=question)


@pytest.fixture
def silent(monkeypatch):
    """Steps that state nothing, as a new kind of step does."""
    for kind in STEPS:
        monkeypatch.setattr(kind, "guarantees", property(lambda _: frozenset()))


@pytest.mark.few(14)
@pytest.mark.parametrize("asked", PROPERTIES.values(), ids=PROPERTIES)
def test_a_step_that_states_nothing_is_not_asked_about_or_has_no_lemmas(silent, asked):
    for design in map(find_design, DESIGNS):
        if asked.why_not(design) is None:
            ask = Recording()
            asked.settle(design, Scope(), ask)
            assert ask.questions, design.name
            assert not [lemma for question in ask.questions for lemma in question.lemmas()], design.name
        try:
            asked.mutant(design)
        except DesignError as error:
            assert str(error)


def test_what_rho_is_asked_of_states_that_it_converts_by_it(silent):
    unstated = {name for name, asked in PROPERTIES.items() if asked.why_not(find_design(VOLTA)) == UNSTATED}
    assert unstated >= {"products-exact", "correctly-rounded", "conversion-rounding", "sticky-bit", "guard-bit"}
    with pytest.raises(DesignError, match="does not state"):
        exact_twin(find_design(VOLTA))


@pytest.mark.parametrize("settings", [f"{VOLTA}@summation=sequential", "ampere/mma.m16n8k16.s32.s8.s8.s32@L=8"])
def test_designs_that_state_nothing_are_not_equal_by_lemmas(monkeypatch, settings):
    second = find_design(settings)
    first = find_design(second.base_name)
    question = Equivalence(first, second)
    assert question.lemmas() or question.decides_by_argument
    for kind in STEPS:
        monkeypatch.setattr(kind, "guarantees", property(lambda _: frozenset()))
    question = Equivalence(first, second)
    assert (question.lemmas(), question.decides_by_argument) == ((), False)


@pytest.mark.parametrize(
    ("asked", "name", "k"),
    [
        # the elements that fill up a step are zeros, whose exponents do not move
        ("scaling", f"{VOLTA}@zero_product=e-zero,e_zero=10", 2),
        # the second step takes the d of the first for c
        ("exactness-of-products", "ampere/mma.m16n8k16.f32.f16.f16.f32", 16),
    ],
)
def test_lemmas_about_one_whole_step_are_not_said_of_another_length(asked, name, k):
    ask = Recording()
    try:
        PROPERTIES[asked].settle(find_design(name), Scope(k), ask)
    except DesignError:
        return
    assert ask.questions and not [lemma for question in ask.questions for lemma in question.lemmas()]


@pytest.mark.parametrize("asked", ["monotone-in-a", "monotone-in-c"])
def test_monotonicity_has_lemmas_about_each_step_of_a_chain(asked):
    """The second step takes the d of the first for c, and products that fill it up."""
    question = PROPERTIES[asked].question(find_design("ampere/mma.m16n8k16.f32.f16.f16.f32"), Scope(4))
    later = [x.name for x in question.lemmas() if "a step of 0 products, c fp32" in x.name]
    assert any(x.startswith("the conversion keeps the order") for x in later)
    assert any(x.startswith("c of +0") for x in later)
    finite = find_design("ampere/mma.m16n8k16.f32.f16.f16.f32@chain_infinity=finite")
    assert not PROPERTIES[asked].question(finite, Scope(4)).lemmas()
    code = find_design("ampere/mma.m16n8k16.f32.f16.f16.f32@nan_code=largest-finite")
    assert not PROPERTIES[asked].question(code, Scope(4)).lemmas()
