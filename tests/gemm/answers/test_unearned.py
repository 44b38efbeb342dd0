"""Lemmas about algorithms of which nothing is known, or whose assumptions nothing meets, prove nothing."""

import pytest
from support.deciding import proof_if

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.gemm.answers import dropped, exact_operands, slices, split, verdict
from mmaproof.gemm.answers.exact_operands import ComesDownTo
from mmaproof.gemm.answers.split import Precisions
from mmaproof.gemm.answers.verdict import Asked
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.questions.finite_operands import NoOverflow
from mmaproof.gemm.questions.split import Part, SplitIsExact, Splitting, Window
from mmaproof.gemm.tolerances import check
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import QuestionVerdict
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status, Verdict
from mmaproof.verification.search import Means

REASON = "timeout: made up"
MEANS = Means(Solving(), Limits(20, 4 << 30), None)
UNIT = find_design("volta/f32.f16.f16.f32@L=2")
INTEGERS = find_design("ampere/mma.m16n8k32.s32.s8.s8.s32")
SPLIT, SLICES = find_algorithm("markidis"), find_algorithm("slices@sums=weight")
PLAN = Plan(UNIT, SPLIT)
SPLITTING = Splitting.of(SPLIT, UNIT, "a")
NARROW = NoOverflow(PLAN, where=[parse_precondition("exponents=-1..1")])
WINDOW = Window(0, 1)
NOTHING_KNOWN = (Status.UNKNOWN, Status.VACUOUS)


class Answers(Asked):
    """Lemmas with verdicts from a list, the last of which is that of all others."""

    def __init__(self, *statuses):
        super().__init__(MEANS)
        self.statuses = list(statuses)

    def prove(self, lemma):
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return Verdict(status, 0.0, REASON if status is Status.UNKNOWN else None)


@pytest.fixture
def composed():
    """What an algorithm is said to come down to; nobody computes it here."""
    return ComesDownTo(PLAN, lambda *_: None, [WINDOW], k=2, negative_zero=True, up_to_zero_sign=False)


@pytest.fixture
def answered(monkeypatch):
    """Set the status of every question that the modules of ``verification.gemm`` ask."""

    def set_to(module, status, witness=None):
        def answer(question, *_):
            reason = REASON if status is Status.UNKNOWN else None
            return QuestionVerdict(
                status, 0.0, reason, witness, question=question, origin="nobody", proof=proof_if(status)
            )

        monkeypatch.setattr(module, "answer", answer)

    return set_to


@pytest.mark.parametrize("status", NOTHING_KNOWN)
def test_a_bound_that_is_not_proved_is_none(status):
    asked = Answers(status)
    assert Precisions().prove(asked, lambda windows: SplitIsExact(SPLITTING, windows))[0] == []
    assert split.relative_bound(SPLITTING, WINDOW, asked)[0] is None
    assert dropped._part_bound(SPLITTING, Part(1, False), WINDOW, asked)[0] is None
    assert check._word_bounds(SPLITTING, NARROW, asked) is None


def test_a_bound_that_is_proved_is_one():
    asked = Answers(Status.PROVED)
    assert Precisions().prove(asked, lambda windows: SplitIsExact(SPLITTING, windows))[0]
    assert split.relative_bound(SPLITTING, WINDOW, asked)[0] is not None
    assert dropped._part_bound(SPLITTING, Part(1, False), WINDOW, asked)[0] is not None
    assert check._word_bounds(SPLITTING, NARROW, asked) is not None


@pytest.mark.parametrize("status", NOTHING_KNOWN)
@pytest.mark.parametrize("proved", [0, 1, 2])
def test_slices_whose_magnitudes_are_not_proved(status, proved):
    found = slices.check_slices(SLICES, INTEGERS, Answers(*[Status.PROVED] * proved, status, Status.PROVED))
    assert (found.status, "largest_k" in found.values) == (Status.UNKNOWN, False)


@pytest.mark.parametrize("status", NOTHING_KNOWN)
@pytest.mark.parametrize("zero", [0, exact_operands.NEGATIVE_ZERO])
def test_a_zero_stays_only_where_both_lemmas_are_proved(status, zero):
    for statuses in ([status], [status, Status.PROVED], [Status.PROVED, status]):
        assert not exact_operands._stays(UNIT, zero, Answers(*statuses))
    assert exact_operands._stays(UNIT, zero, Answers(Status.PROVED))


@pytest.mark.parametrize("status", NOTHING_KNOWN)
def test_residuals_and_zeros_outside_the_unit_are_asked_of(monkeypatch, status):
    monkeypatch.setattr(exact_operands, "_unchanged", lambda unit, asked: ([WINDOW], None, ""))
    monkeypatch.setattr(exact_operands, "_test", lambda *_: "not tested")

    def found(*statuses):
        return exact_operands.check_exact_operands(PLAN, SPLIT, None, Answers(*statuses)).status

    proved = [Status.PROVED] * 8
    assert found(*proved) is Status.PROVED
    assert [found(*proved[:n], status, *proved) for n in (0, 1)] == [Status.UNKNOWN] * 2
    assert found(*proved[:6], status) is Status.UNKNOWN


@pytest.mark.parametrize(
    ("status", "text"),
    [(Status.PROVED, "proved by nobody"), (Status.UNKNOWN, "not refuted"), (Status.VACUOUS, "not refuted")],
)
def test_what_a_test_of_the_composition_says(answered, composed, status, text):
    answered(exact_operands, status)
    assert exact_operands._test(composed, UNIT, Answers(Status.PROVED)).startswith(text)


def test_a_composition_that_is_refuted_is_an_internal_error(answered, composed):
    answered(exact_operands, Status.REFUTED, Operands((0, 0), (0, 0), 0))
    with pytest.raises(exact_operands.CompositionRefutedError):
        exact_operands._test(composed, UNIT, Answers(Status.PROVED))


@pytest.mark.parametrize(
    ("status", "conclusion"),
    [
        (Status.PROVED, "nothing overflows for k = 2"),
        (Status.UNKNOWN, "not settled"),
        (Status.VACUOUS, "no operands satisfy the preconditions"),
    ],
)
def test_whether_something_overflows_is_what_is_answered(monkeypatch, answered, status, conclusion):
    monkeypatch.setattr(check, "_by_bounds", lambda *_: None)
    answered(check, status)
    found = check.check_overflow(PLAN, 2, (), Answers(Status.PROVED))
    assert (found.status, found.conclusion) == (status, conclusion)


@pytest.mark.parametrize("status", Status)
def test_lemmas_are_kept_but_for_guesses_and_asked_again_unless_proved(monkeypatch, status):
    reason = REASON if status is Status.UNKNOWN else None
    witness = {} if status is Status.REFUTED else None
    asked, number = Asked(MEANS), []

    def decide(lemma, *_, **__):
        number.append(lemma)
        return Verdict(status, 0.0, reason, witness)

    monkeypatch.setattr(verdict, "decide", decide)
    lemma = SplitIsExact(SPLITTING, [WINDOW])
    assert [asked.prove(lemma).status for _ in range(2)] == [status] * 2
    assert len(number) == (1 if status is Status.PROVED else 2)
    assert {x.status for x in asked.lemmas} == (set() if status is Status.REFUTED else {status})
    unsettled = asked.verdict(Status.UNKNOWN, "not settled")
    assert (unsettled.status, unsettled.reason) == (Status.UNKNOWN, reason)
