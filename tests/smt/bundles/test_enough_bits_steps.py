"""The steps for enough fraction bits refute their counterexamples, and are refused where a bit may be lost."""

import pytest
from support.bundles import LIMITS, checked

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library.enough_bits import SameWithBits
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.question import Scope
from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.solving.refuting import Refuter
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification import bundle
from mmaproof.verification.bundle import write_bundles

FP8 = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3@L=2"
HALF = "hopper/wgmma.m64n8k32.f16.e4m3.e4m3@L=2"
NO_C = (parse_precondition("c=0"),)
ENOUGH = 34
"""Of products of e4m3, of which the largest is below 2^18, and the lowest bit of one 2^-18: as DeepSeek-V3 says."""


def theorem_of(question):
    with Refuter(LIMITS.memory_bytes) as refuter:
        kernel = Kernel(question.formula.environment, question.formula.violation, Refutations(refuter, LIMITS).refute)
        question.argument()(kernel)
        return kernel.theorem()


def question_of(bits, **settings):
    design = find_design(FP8)
    return SameWithBits(design.change(**settings) if settings else design, Scope(where=NO_C), bits)


@pytest.mark.slow_values("{'floor': 0, 'comparator': 'chain'}")
@pytest.mark.middle
@pytest.mark.parametrize("settings", [{}, {"floor": 0, "comparator": "chain"}, {"adder": "carry-save"}], ids=str)
def test_enough_bits_have_a_theorem(settings):
    assert theorem_of(question_of(ENOUGH, **settings)).leaves


@pytest.mark.parametrize(
    ("bits", "settings", "why"),
    [
        (ENOUGH - 1, {}, "no term loses a bit"),
        (ENOUGH, {"floor": 20}, "no term loses a bit"),
        (ENOUGH, {"zero_c": "e-zero", "e_zero": 20}, "a bound of exponents"),
    ],
)
def test_they_are_refused_where_the_argument_does_not_hold(bits, settings, why):
    with pytest.raises(NotComposedError, match=why):
        theorem_of(question_of(bits, **settings))


@pytest.mark.middle
@pytest.mark.parametrize("k", [2, 4])
def test_c_may_be_any_number_and_there_may_be_more_steps(k):
    """Of products of e4m3 the largest is below 2^18, and the lowest bit of c, and of a result of fp16, is 2^-24."""
    pair = [find_design(HALF).change(fraction_bits=x) for x in (40, 44)]
    assert theorem_of(Equivalence(*pair, k=k)).leaves
    with pytest.raises(NotComposedError, match="no term loses a bit"):
        theorem_of(Equivalence(pair[0].change(fraction_bits=39), pair[1], k=k))


@pytest.mark.slow
def test_its_bundle_is_accepted(monkeypatch, tmp_path):
    monkeypatch.setattr(bundle, "AT_ONCE", 1e-3)
    question = question_of(ENOUGH)
    report = write_bundles(
        [(question, {"claim": "a claim"}, None)], find_design(FP8), tmp_path / "proof", Solving(), LIMITS, 0
    )
    assert report.lemmas > 1
    status, text = checked(tmp_path / "proof")
    assert status == 0, text
