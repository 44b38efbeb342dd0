"""Properties checked from Python: defaults, limits for all questions together, and runs that show what was found."""

import time
from dataclasses import replace

import pytest
from support.fake_properties import BF16, HALF_STEP, Assuming, Never, Undecided, Valued

import mmaproof
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import PropertyVerdict
from mmaproof.properties.question import Scope
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status, UnknownSolverError
from mmaproof.smt.trace import evaluate
from mmaproof.verification import check as checking
from mmaproof.verification.check import Check, check, check_within, shown_by
from mmaproof.verification.search import Budget, Means

TINY = find_design("volta/f32.f16.f16.f32@L=2")
CHAIN = find_design("ampere/m16n8k16.f32.f16.f16.f32")
MEANS = Means(Solving(), Limits(60, 4 << 30), Budget(20_000, 5))


def confirm(runs):
    for run in runs:
        design = run.design if run.whole else run.design.one_step()
        assert evaluate(design, run.operands) == run.d


@pytest.mark.slow
def test_by_name_or_by_itself():
    assert mmaproof.check is check
    by_name = mmaproof.check("order-independent", TINY)
    by_itself = mmaproof.check(mmaproof.find_property("order-independent"), TINY)
    for done in (by_name, by_itself):
        assert isinstance(done, mmaproof.Check)
        assert (done.verdict, done.k, done.solver.name) == ("holds", 2, "bitwuzla")
        assert done.design is TINY
    with pytest.raises(InputError, match="did you mean order-independent"):
        check("order-dependent", TINY)


def test_violated_by_search_and_by_solver():
    for budget in (Budget(), None):
        done = check("chain-order-independent", find_design("volta/f32.f16.f16.f32@L=2"), budget=budget)
        assert (done.verdict, done.k) == ("violated", 4)
        assert (done.solver is None) is (budget is not None)
        confirm(done.finding.runs)
        assert len({run.d for run in done.finding.runs}) == 2


@pytest.mark.slow
def test_where_k_and_seed():
    small = [parse_precondition("exponents=-1..1")]
    found = [check("chain-order-independent", TINY, where=small, k=8, seed=seed) for seed in (1, 1, 2)]
    for done in found:
        assert (done.verdict, done.k, done.scope.where) == ("violated", 8, tuple(small))
        for run in done.finding.runs:
            for pattern in (*run.operands.a, *run.operands.b):
                assert pattern & 0x7FFF == 0 or 14 <= pattern >> 10 & 31 <= 16
    runs = [done.finding.runs for done in found]
    assert runs[0] == runs[1] != runs[2]


def test_a_step_of_fewer_products_than_share_a_scale():
    """The step has one scale, and so have the operands that are drawn for it."""
    design = find_design("cdna4/v_mfma_scale_f32_32x32x64_f8f6f4_e2m1_e2m1@L=4")
    assert check("nan-propagates", design, budget=MEANS.budget).verdict == "holds"
    violated = check("negation-symmetric", design, budget=MEANS.budget)
    assert violated.verdict == "violated"
    confirm(violated.finding.runs)


def test_vacuous_and_unknown():
    assert check(Assuming(), TINY).verdict == "vacuous"
    assert check(Undecided(), TINY).verdict == "unknown"
    done = check("chain-order-independent", CHAIN, budget=None, limits=Limits(0.05, 1 << 30))
    assert (done.verdict, done.finding.reason.split(":")[0]) == ("unknown", "timeout")


def test_what_cannot_be_asked():
    with pytest.raises(DesignError, match=r"cannot be asked of volta/.*: its d is not fp32"):
        check(Never(), find_design("volta/f16.f16.f16.f16"))
    with pytest.raises(UnknownSolverError):
        check("order-independent", TINY, solver="yices")
    with pytest.raises(UnknownSolverError):
        check(Undecided(), TINY, solver="yices")


class _Repeats(Never):
    """Asks a hard question again and again."""

    def settle(self, design, scope, ask):
        hard = mmaproof.find_property("chain-order-independent").question(CHAIN, scope)
        answers = {f"question {i}": ask(hard, "") for i in range(4)}
        return PropertyVerdict(Status.UNKNOWN, reason="timeout: all of them", answers=answers)


@pytest.mark.middle
def test_the_limit_is_for_all_questions_together():
    started = time.monotonic()
    done = check(_Repeats(), CHAIN, budget=None, limits=Limits(2, 1 << 30), solver="z3")
    assert [a.status for a in done.answers] == [Status.UNKNOWN] * 4
    assert done.seconds <= time.monotonic() - started < 30


@pytest.mark.middle
def test_shown_by_the_witness_or_against_the_mutant():
    violated = check("chain-order-independent", TINY)
    assert shown_by(violated, MEANS) == violated.finding.runs
    held = check_within(Never(), find_design(f"{BF16}@L=2"), Scope(), MEANS)
    runs = shown_by(held, MEANS)
    assert (held.verdict, held.finding.runs) == ("holds", ())
    assert {run.d for run in runs} == {0x80000000}
    assert all("negative_zero=negative" in run.design.name for run in runs)
    confirm(runs)
    beyond = check(Valued(), find_design(BF16))
    assert (beyond.verdict, beyond.finding.value, shown_by(beyond, MEANS)) == ("holds", 8, beyond.finding.runs)
    assert shown_by(check(Undecided(), TINY), MEANS) == ()


class _WithoutMutant(Never):
    def mutant(self, design):
        raise DesignError("there is none")


@pytest.mark.parametrize("status", [Status.UNKNOWN, Status.VACUOUS])
def test_only_what_holds_is_shown_against_the_mutant(status):
    found = PropertyVerdict(status, reason="timeout: made up" if status is Status.UNKNOWN else None)
    nothing = Check(Never(), find_design(f"{BF16}@L=2"), Scope(), found, 0.0)
    assert shown_by(nothing, MEANS) == ()
    assert shown_by(replace(nothing, finding=PropertyVerdict(Status.PROVED)), MEANS)


def test_nothing_is_shown_where_there_is_no_mutant():
    held = check(_WithoutMutant(), TINY)
    assert (held.verdict, shown_by(held, MEANS)) == ("holds", ())


def test_steps_that_no_instruction_returns():
    done = check(Never(), find_design(HALF_STEP))
    assert done.verdict == "violated"
    assert {run.whole for run in done.finding.runs} == {False}
    confirm(done.finding.runs)


def test_what_was_found_is_the_answer_when_the_time_is_over(monkeypatch):
    """The first question refutes, and the clock ends before the next ones are asked: none of them begins."""
    asked, answer = [], checking.answer

    def answered(question, design, means):
        asked.append(question)
        found = answer(question, design, means)
        monkeypatch.setattr(Limits, "has_ended", True)
        return found

    monkeypatch.setattr(checking, "answer", answered)
    found = check("fraction-bits-sufficient", "volta/mma.m8n8k4.f32.f16.f16.f32", limits=600)
    assert found.finding.status is Status.REFUTED
    assert found.finding.value is None
    assert len(asked) == 1
