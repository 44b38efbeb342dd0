"""Solvers race: a solver that fails gives no answer, the losers have ended, and contradictions are kept."""

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import as_completed, wait
from pathlib import Path

import pytest
from support.fake_solvers import CRASHES, EATS_MEMORY, HANGS, TALKS, fake, running_children, runs, says
from support.waiting import wait_until

from mmaproof.smt.solving import portfolio
from mmaproof.smt.solving.backends import require_solver
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS, racers
from mmaproof.smt.solving.solving import Certify, Solving
from mmaproof.smt.solving.verdict import Outcome, SolversDisagree, SolvingError, UnknownSolverError

PARENT = """
from pysmt.shortcuts import *
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
x, y = (BVZExt(Symbol(name, BVType(64)), 64) for name in "xy")
product = Equals(BVMul(x, y), BV(0xB3406BC44DC2A627 * 0xBC38D756D0055979, 128))
hard = And(product, BVULT(BV(1, 128), x), BVULT(BV(1, 128), y))
print(Solving(jobs=3).ask(hard, [], limits=Limits(600.0, 4 << 30)))
"""


@pytest.fixture
def all_arrive(monkeypatch):
    """Let every racer end before the winner is taken."""
    monkeypatch.setattr(portfolio, "as_completed", lambda asked: as_completed(wait(asked).done))


def test_the_named_solver_races_first_and_others_follow():
    assert [x.name for x in racers("z3", 1)] == ["z3"]
    assert [x.name for x in racers("z3", 2)] == ["z3", "bitwuzla"]
    assert [x.name for x in racers("cvc5", 9)] == ["cvc5", "bitwuzla", "z3"]
    with pytest.raises(UnknownSolverError):
        racers("yices", 2)
    with pytest.raises(ValueError, match="jobs = 0"):
        Solving(jobs=0)


def test_a_way_to_answer_is_plain_data():
    solving = Solving("z3", 3, Certify.SOLVER, Path("answers.sqlite"))
    assert pickle.loads(pickle.dumps(solving)) == solving


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (CRASHES, "solver error: the solver process was ended by SIGSEGV"),
        (HANGS, "timeout: no answer within 1 s"),
        (EATS_MEMORY, "memory: the solver process ended with exit status 1"),
        (TALKS, "solver error: the solver process wrote no answer but 'sat, I think"),
        (["/nonexistent"], "solver error: the solver process does not start"),
        (says("sat", a="0x06"), "solver error: the values that bitwuzla gave do not satisfy the query"),
    ],
)
def test_a_solver_that_fails_leaves_the_answer_to_another(monkeypatch, a, five, broken, reason):
    monkeypatch.setitem(COMMANDS, "bitwuzla", broken)
    alone = Solving().ask(five, [a], limits=Limits(1.0 if broken is HANGS else 60.0, 2 << 30))
    assert alone.outcome is Outcome.UNKNOWN
    assert alone.reason.startswith(reason)
    answer = Solving(jobs=2).ask(five, [a], limits=Limits(60.0, 2 << 30))
    assert (answer.outcome, answer.solver.name, answer.model) == (Outcome.SAT, "cvc5", {"a": 5})
    assert not running_children(os.getpid())


def test_losers_are_ended(monkeypatch, a, five):
    for name in ("bitwuzla", "z3"):
        monkeypatch.setitem(COMMANDS, name, HANGS)
    answer = Solving(jobs=3).ask(five, [a], limits=Limits(300.0, 2 << 30))
    assert (answer.outcome, answer.solver.name) == (Outcome.SAT, "cvc5")
    assert not running_children(os.getpid())


def test_where_nobody_answers_every_reason_is_given(monkeypatch, five):
    monkeypatch.setitem(COMMANDS, "bitwuzla", HANGS)
    monkeypatch.setitem(COMMANDS, "cvc5", fake("sys.exit(3)"))
    answer = Solving(jobs=2).ask(five, [], limits=Limits(1.5, 2 << 30))
    assert (answer.outcome, answer.solver.name) == (Outcome.UNKNOWN, "bitwuzla")
    assert answer.reason == (
        "timeout: no answer within 1.5 s (bitwuzla); "
        "solver error: the solver process ended with exit status 3 without an answer (cvc5)"
    )


def test_answers_that_contradict_each_other_are_kept(monkeypatch, tmp_path, five, limits, all_arrive):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(COMMANDS, "bitwuzla", says("unsat"))
    monkeypatch.setitem(COMMANDS, "cvc5", says("sat", a="0x05"))
    with pytest.raises(SolversDisagree) as caught:
        Solving(jobs=2).ask(five, [], limits=limits)
    assert isinstance(caught.value, SolvingError)
    files = sorted(tmp_path.iterdir())
    said = [f"{require_solver('bitwuzla')} said unsat", f"{require_solver('cvc5')} said sat"]
    assert sorted(caught.value.answers) == said
    assert [x.name.rpartition("-")[2] for x in files] == ["bitwuzla.smt2", "cvc5.smt2"]
    for file, words in zip(files, said, strict=True):
        assert file.name in str(caught.value)
        text = file.read_text()
        assert text.startswith(f"; {words}\n; ")
        assert "(assert (= a #x05))\n(check-sat)" in text


def test_a_lying_model_contradicts_nothing(monkeypatch, five, limits, all_arrive, manager, a):
    monkeypatch.setitem(COMMANDS, "bitwuzla", says("sat", a="0x07"))
    false = manager.And(five, manager.Equals(a, manager.BV(6, 8)))
    answer = Solving(jobs=2).ask(false, [], limits=limits)
    assert (answer.outcome, answer.solver.name) == (Outcome.UNSAT, "cvc5")


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.middle), signal.SIGKILL])
def test_no_racer_survives_its_parent(number):
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        while len(workers := running_children(parent.pid)) < 3:
            assert parent.poll() is None
        # Python may drop an interrupt that comes while it starts a thread
        while parent.poll() is None:
            parent.send_signal(number)
            time.sleep(0.5)
        output, errors = parent.communicate()
    assert output == b""
    assert (b"KeyboardInterrupt" in errors) == (number is signal.SIGINT)
    wait_until(lambda: not any(map(runs, workers)))
