"""When a strategy applies: where it does not, nothing is asked and nothing is concluded."""

import contextlib
import os
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from pysmt.shortcuts import BV, BVULT, FALSE, And, BVMul, BVType, BVZExt, Equals, Symbol
from support.deciding import proof_if
from support.fake_solvers import HANGS, running_children
from support.waiting import LONG

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import Joined, LemmaVerdict, QuestionVerdict
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, worked
from mmaproof.smt.solving.portfolio import COMMANDS, Overtaken
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Cause, Outcome, Reply, SolverIdentity, Status, Verdict
from mmaproof.verification import netlists, strategies
from mmaproof.verification.distributions import draw
from mmaproof.verification.search import Budget, Means
from mmaproof.verification.strategies import (
    Case,
    alignment,
    first_verdict,
    identical_arithmetic,
    one_moment,
    one_piece,
    own_lemmas,
)

VOLTA = "volta/f32.f16.f16.f32"
EIGHT, SIXTEEN = "ampere/m16n8k8.f32.f16.f16.f32", "ampere/m16n8k16.f32.f16.f16.f32"
LIMITS = Limits(20, 4 << 30)


class Scripted(Case):
    """A question with a list of what is known of its statements; the last entry holds for all others too."""

    def __init__(self, question, *statuses, met=False):
        super().__init__(question, question.designs[0], Means(Solving(), LIMITS, None), worked(), LIMITS, met)
        self.statuses, self.asked = list(statuses), []

    def decide(self, statement, limits, *, met=False):
        if not self.statuses:
            pytest.fail("a solver was asked")
        self.asked.append((statement, met))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return Verdict(status, 0.0, "timeout: made up" if status is Status.UNKNOWN else None)

    def decide_whole(self):
        return self.decide(self.question, self.limits, met=self.met)

    def begin(self):
        return SimpleNamespace(wait=lambda seconds: self.statuses[0] is not Status.UNKNOWN)


def between(first, second, **options):
    return Equivalence(find_design(first), find_design(second), **options)


class OtherClaim(Equivalence):
    """A question that is not an equivalence, although it is written as one."""


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


def test_a_search_that_met_no_precondition_says_so(monkeypatch):
    case = Scripted(between(VOLTA, f"{VOLTA}@fraction_bits=22"), Status.UNKNOWN)
    case.means = replace(case.means, budget=Budget(10, 1.0))
    nothing = SimpleNamespace(witnesses=(), precondition_met=False, seconds=0.0)
    monkeypatch.setattr(strategies, "search", lambda *_, **__: nothing)
    assert strategies.random_search(case) is None
    assert not case.met


def test_extreme_operands_that_are_only_meant_refute_nothing(monkeypatch):
    question = between(VOLTA, f"{VOLTA}@fraction_bits=22")
    batch = draw("normal", question.designs[0], 4, question.k, np.random.default_rng(0))
    monkeypatch.setattr(strategies, "netlist_and_model", lambda _: question.designs)
    monkeypatch.setattr(strategies, "extreme_operands", lambda _: batch)
    monkeypatch.setattr(question, "examine", lambda _: (np.ones(4, bool), np.zeros(4, bool)))
    assert strategies.extremes(Scripted(question, Status.UNKNOWN)) is None


@pytest.mark.parametrize("status", [Status.PROVED, Status.UNKNOWN, Status.VACUOUS])
@pytest.mark.parametrize("strategy", [strategies.first_cubes, strategies.cubes])
def test_a_cube_without_a_witness_says_nothing_about_the_question(monkeypatch, strategy, status):
    question = between(VOLTA, f"{VOLTA}@fraction_bits=22")
    monkeypatch.setattr(strategies, "netlist_and_model", lambda _: question.designs)
    case = Scripted(question, status)
    assert strategy(case) is None
    assert len(case.asked) > 1


@pytest.mark.parametrize("proved", [True, False])
def test_nets_prove_what_was_proved_net_by_net(monkeypatch, proved):
    question = between(VOLTA, f"{VOLTA}@fraction_bits=22")
    lemma = SimpleNamespace(status=Status.PROVED)
    found = LemmaVerdict(Status.PROVED, 0.0, name="a lemma")
    proof = SimpleNamespace(proved=proved, lemmas=[lemma], seconds=0.0, lead=None, theorem=None)
    monkeypatch.setattr(strategies, "netlist_and_model", lambda _: question.designs)
    monkeypatch.setattr(netlists, "by_nets", lambda *_: proof)
    monkeypatch.setattr(strategies, "lemma_verdict", lambda _: found)
    monkeypatch.setattr(strategies, "proved_of", lambda _: (found,))
    answer = strategies.nets(Scripted(question, Status.PROVED))
    assert answer.status is Status.PROVED if proved else answer is None


@pytest.mark.parametrize("status", [Status.PROVED, Status.UNKNOWN, Status.VACUOUS])
def test_other_questions_prove_one_only_if_they_are_proved(monkeypatch, status):
    question = between(VOLTA, f"{VOLTA}@fraction_bits=22")
    other = SimpleNamespace(question=question, design=question.designs[0], name="another")
    monkeypatch.setattr(question, "other_questions", lambda: [other])
    reason = "timeout: made up" if status is Status.UNKNOWN else None
    found = QuestionVerdict(status, 0.0, reason, question=question, proof=proof_if(status))
    monkeypatch.setattr(strategies, "first_verdict", lambda _: found)
    answer = strategies.other_questions(Scripted(question, Status.PROVED))
    assert (answer is not None) == (status is Status.PROVED)


def test_a_moment_without_an_answer_ends_nothing():
    assert one_moment(Scripted(between(VOLTA, f"{VOLTA}@fraction_bits=22"), Status.UNKNOWN)) is None


def test_the_order_of_the_strategies_ends_with_the_one_that_always_answers():
    assert strategies.STRATEGIES[-1] is one_piece
    assert strategies.STRATEGIES[0] is identical_arithmetic


def hard_part(case):
    """Ask something that takes a solver far longer than any test, as a lemma would be asked."""
    x, y = (BVZExt(Symbol(f"hard_{name}", BVType(64)), 64) for name in "xy")
    product = Equals(BVMul(x, y), BV(0xB3406BC44DC2A627 * 0xBC38D756D0055979, 128))
    case.ask(And(product, BVULT(BV(1, 128), x), BVULT(BV(1, 128), y)), (), limits=Limits(LONG, 4 << 30))
    pytest.fail("a part was asked to its end, though the whole question has an answer")


def quick_part(case):
    """A proof that is there at once."""
    return QuestionVerdict(Status.PROVED, 0.0, question=case.question, origin="a made-up proof", proof=Joined())


S8 = "ampere/mma.m16n8k32.s32.s8.s8.s32"
WHOLE = {
    "different": (Status.REFUTED, between(f"{VOLTA}@L=1", f"{VOLTA}@L=1,fraction_bits=22", k=1)),
    "equal": (Status.PROVED, between(f"{S8}@L=4", f"{S8}@L=2", k=4)),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("which", WHOLE)
@pytest.mark.parametrize("first", [[], [one_moment]])
def test_the_whole_question_is_answered_beside_a_part_that_takes_long(monkeypatch, first, which, nested):
    expected, question = WHOLE[which]
    monkeypatch.setattr(strategies, "LEMMAS_ALONE", 0.0)
    monkeypatch.setattr(strategies, "AT_ONCE", LEAST_SECONDS)
    case = Case(question, question.designs[0], Means(Solving(), Limits(LONG, 4 << 30), None), worked(), LIMITS)

    def part(asking):
        # queries about another question are interrupted by the one that they serve
        return hard_part(replace(asking, outer=asking, rival=None, began=worked() + LONG) if nested else asking)

    monkeypatch.setattr(strategies, "STRATEGIES", (*first, part, one_piece))
    found = first_verdict(case)
    assert found.status is expected
    assert (found.witness is not None) == (expected is Status.REFUTED)
    assert running_children(os.getpid()) == set()


def test_an_answer_of_the_part_ends_the_whole_question(monkeypatch):
    monkeypatch.setattr(strategies, "STRATEGIES", (lambda case: case.begin() and quick_part(case), one_piece))
    with patch.dict(COMMANDS, {"bitwuzla": HANGS}):
        question = WHOLE["different"][1]
        case = Case(question, question.designs[0], Means(Solving(), LIMITS, None), worked(), LIMITS)
        assert first_verdict(case).origin == "a made-up proof"
    assert running_children(os.getpid()) == set()


def test_what_another_question_was_overtaken_by_is_for_whoever_asked_it(monkeypatch):
    question = between(VOLTA, f"{VOLTA}@fraction_bits=22")
    case = Case(question, question.designs[0], Means(Solving(), LIMITS, None), worked(), LIMITS)

    def overtaken(asking):
        raise Overtaken(SimpleNamespace())

    monkeypatch.setattr(strategies, "STRATEGIES", (overtaken, one_piece))
    with pytest.raises(Overtaken):
        first_verdict(case)


@pytest.mark.parametrize(("seconds", "k", "begins"), [(0.0, 4, False), (1.01, 4, True), (1.01, 1024, False)])
def test_a_quick_part_is_asked_alone(seconds, k, begins):
    question = between(f"{VOLTA}@L=4", f"{VOLTA}@fraction_bits=22", k=k)
    case = Case(question, question.designs[0], Means(Solving(), LIMITS, None), worked(), LIMITS)
    case.began = worked() - seconds * strategies.LEMMAS_ALONE
    with contextlib.suppress(Overtaken):
        assert case.ask(FALSE(), (), limits=LIMITS).outcome is Outcome.UNSAT
    assert (case.rival is not None) == begins
    case.end()


@pytest.mark.parametrize(
    ("detail", "times"), [("no answer within {}", 2), ("CPU time beyond {}", 2), ("of its own", 1)]
)
def test_a_part_that_its_slice_ended_is_asked_again_even_if_less_work_was_counted(detail, times):
    question = between(VOLTA, f"{VOLTA}@fraction_bits=22")
    asked = []

    class Ended(Solving):
        def ask(self, formula, symbols, /, *, limits, rivals=(), begun=None):
            asked.append(limits.seconds)
            reason = Cause.TIMEOUT.reason(detail.format(limits))
            return Reply(Outcome.UNKNOWN, SolverIdentity("nobody", "0"), 0.0, reason=reason)

    case = Case(question, question.designs[0], Means(Ended(), LIMITS, None), worked(), LIMITS)
    case.ask(FALSE(), (), limits=LIMITS)
    assert len(asked) == times
    assert asked[0] < LIMITS.seconds
    case.end()
