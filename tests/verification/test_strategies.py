"""When a strategy applies: where it does not, nothing is asked and nothing is concluded."""

import time

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status, Verdict
from mmaproof.verification import strategies
from mmaproof.verification.means import Means
from mmaproof.verification.strategies import Case, alignment, identical_arithmetic, one_moment, one_piece, own_lemmas

VOLTA = "volta/f32.f16.f16.f32"
EIGHT, SIXTEEN = "ampere/m16n8k8.f32.f16.f16.f32", "ampere/m16n8k16.f32.f16.f16.f32"
LIMITS = Limits(20, 4 << 30)


class Scripted(Case):
    """A question of whose statements a list says what is known; the last is said of all others too."""

    def __init__(self, question, *statuses, met=False):
        super().__init__(question, question.designs[0], Means(Solving(), LIMITS, None), time.monotonic(), LIMITS, met)
        self.statuses, self.asked = list(statuses), []

    def decide(self, statement, limits, *, met=False):
        if not self.statuses:
            pytest.fail("a solver was asked")
        self.asked.append((statement, met))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return Verdict(status, 0.0, "timeout: made up" if status is Status.UNKNOWN else None)


def between(first, second, **options):
    return Equivalence(find_design(first), find_design(second), **options)


class OtherClaim(Equivalence):
    """A question that is no equivalence, although it is written as one."""


@pytest.mark.parametrize(
    "question",
    [
        between(VOLTA, f"{VOLTA}@zero_c=absent", nan_codes=True),
        between(VOLTA, f"{VOLTA}@zero_c=absent,fraction_bits=22"),
        between(VOLTA, f"{VOLTA}@negative_zero=negative"),
        between(VOLTA, f"{VOLTA}@carry_bits=3"),
        between(EIGHT, f"{SIXTEEN}@zero_c=absent", k=8),
        between(f"{EIGHT}@join=ieee-once", f"{SIXTEEN}@zero_c=absent,join=ieee-once"),
        between(f"{VOLTA}@chain_infinity=finite", f"{VOLTA}@chain_infinity=finite,zero_c=absent", k=8),
        OtherClaim(find_design(VOLTA), find_design(f"{VOLTA}@zero_c=absent")),
    ],
)
def test_lemmas_about_alignment_are_of_designs_that_differ_in_nothing_else(question):
    assert alignment(Scripted(question)) is None


@pytest.mark.parametrize(
    "question",
    [
        between(VOLTA, f"{VOLTA}@zero_c=absent"),
        between(EIGHT, SIXTEEN, k=8),
        between(EIGHT, f"{EIGHT}@k_order=reversed"),
        OtherClaim(find_design(VOLTA), find_design(VOLTA)),
    ],
)
def test_what_is_not_the_same_computation_is_not_identical(question):
    assert identical_arithmetic(Scripted(question)) is None


def test_the_same_computation_is_equal_where_something_meets_the_precondition():
    assert identical_arithmetic(Scripted(between(VOLTA, VOLTA))).status is Status.PROVED
    narrow = between(VOLTA, VOLTA, where=[parse_precondition("normal")])
    for status in (Status.PROVED, Status.UNKNOWN, Status.VACUOUS):
        case = Scripted(narrow, status)
        assert identical_arithmetic(case).status is status
        ((implied, met),) = case.asked
        assert (implied.formula.precondition, met) == (narrow.formula.precondition, False)


@pytest.mark.parametrize("status", [Status.UNKNOWN, Status.VACUOUS])
@pytest.mark.parametrize("strategy", [alignment, own_lemmas])
def test_every_lemma_must_be_proved(strategy, status):
    second = f"{VOLTA}@zero_c=absent" if strategy is alignment else f"{VOLTA}@summation=sequential"
    question = between(VOLTA, second)
    assert strategy(Scripted(question, Status.PROVED)).status is Status.PROVED
    for statuses in ([status], [Status.PROVED, status]):
        case = Scripted(question, *statuses)
        found = strategy(case)
        # one lemma, and then whether something meets the precondition
        assert found is None or (found.status, len(found.lemmas)) == (status, 1)
        assert found is not None or [x.status for x in case.tried] == statuses


@pytest.mark.parametrize("met", [True, False])
@pytest.mark.parametrize("strategy", [one_moment, one_piece])
def test_what_is_met_is_what_a_search_met(strategy, met):
    case = Scripted(between(VOLTA, f"{VOLTA}@fraction_bits=22"), Status.PROVED, met=met)
    assert strategy(case).status is Status.PROVED
    assert [asked for _, asked in case.asked] == [met]


def test_a_moment_without_an_answer_ends_nothing():
    assert one_moment(Scripted(between(VOLTA, f"{VOLTA}@fraction_bits=22"), Status.UNKNOWN)) is None


def test_the_order_of_the_strategies_ends_with_the_one_that_always_answers():
    assert strategies.STRATEGIES[-1] is one_piece
    assert strategies.STRATEGIES[0] is identical_arithmetic
