"""Limits, crashes and nonsense: each is an unknown with its reason, and never an answer."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import REAL, BVType
from support.fake_solvers import running_children, runs, solve
from support.waiting import wait_until

from mmaproof.smt.solving.backends import BACKENDS
from mmaproof.smt.solving.kept import Kept, end_idle_processes
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import WORKER
from mmaproof.smt.solving.verdict import Outcome, Reply, UnknownSolverError, UnsupportedFormulaError


@pytest.fixture
def hard(manager: FormulaManager) -> FNode:
    """A question that takes every solver far longer than any limit here: the factors of a 128-bit number."""
    x, y = (manager.BVZExt(manager.Symbol(name, BVType(64)), 64) for name in "xy")
    one = manager.BV(1, 128)
    product = manager.Equals(manager.BVMul(x, y), manager.BV(0xB3406BC44DC2A627 * 0xBC38D756D0055979, 128))
    return manager.And(product, manager.BVULT(one, x), manager.BVULT(one, y))


def _fake(script: str) -> list[str]:
    return [sys.executable, "-c", f"import json, os, signal, subprocess, sys, time\nsys.stdin.read()\n{script}"]


def _reason(answer: Reply) -> str:
    assert answer.outcome is Outcome.UNKNOWN
    assert answer.reason is not None
    assert not running_children(os.getpid())
    return answer.reason


@pytest.mark.parametrize("solver", BACKENDS)
def test_answers_carry_the_wanted_values(manager: FormulaManager, five: FNode, limits: Limits, solver: str) -> None:
    a, absent, p = manager.Symbol("a", BVType(8)), manager.Symbol("absent", BVType(4)), manager.Symbol("p")
    formula = manager.And(five, p, manager.Or(manager.Symbol("q"), manager.Symbol("r")))
    answer = solve(formula, [p, absent, a], solver=solver, limits=limits)
    assert answer.outcome is Outcome.SAT
    assert list((answer.model or {}).items()) == [("p", 1), ("absent", 0), ("a", 5)]
    assert answer.solver.name == solver
    assert answer.solver_seconds is not None
    assert answer.seconds >= answer.solver_seconds
    answer = solve(manager.And(formula, manager.Not(p)), [a], solver=solver, limits=limits)
    assert (answer.outcome, answer.model, answer.reason) == (Outcome.UNSAT, None, None)


@pytest.mark.parametrize("solver", BACKENDS)
def test_symbols_may_have_any_name(manager: FormulaManager, limits: Limits, solver: str) -> None:
    names = ["@a", ".b", "|c|", "é", "d e", "let", "bv5", "f\ng", '"h"', "0", "i\\j", "-1", "true"]
    symbols = [manager.Symbol(name, BVType(8)) for name in names]
    formula = manager.And([manager.Equals(x, manager.BV(3 * n, 8)) for n, x in enumerate(symbols)])
    answer = solve(formula, symbols, solver=solver, limits=limits)
    assert answer.model == {name: 3 * n for n, name in enumerate(names)}


@pytest.mark.slow_values("bitwuzla", "cvc5")
@pytest.mark.middle
@pytest.mark.parametrize(
    "solver", [x if x == "bitwuzla" else pytest.param(x, marks=pytest.mark.middle) for x in BACKENDS]
)
def test_wide_and_deep_questions_are_answered(manager: FormulaManager, limits: Limits, solver: str) -> None:
    wide, x, y = (manager.Symbol(name, BVType(width)) for name, width in (("wide", 20_000), ("x", 2), ("y", 2)))
    value = (1 << 19_999) + 1
    deep = x
    # Deep enough for a recursion to overflow the usual stack of 8 MiB.
    for _ in range(20_000):
        deep = manager.BVXor(manager.BVAnd(deep, y), x)
    formula = manager.And(manager.Equals(wide, manager.BV(value, 20_000)), manager.Equals(deep, manager.BV(2, 2)))
    answer = solve(formula, [wide], solver=solver, limits=limits)
    assert answer.reason is None
    assert answer.model == {"wide": value}


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", BACKENDS)
@pytest.mark.parametrize("seconds", [0.01, 0.5])
def test_the_time_limit_gives_unknown(hard: FNode, solver: str, seconds: float) -> None:
    began = time.monotonic()
    answer = solve(hard, [], solver=solver, limits=Limits(seconds, 4 << 30))
    assert _reason(answer) == f"timeout: no answer within {seconds} s"
    assert time.monotonic() - began >= seconds
    assert answer.solver.name == solver


def test_a_time_limit_that_passes_before_the_start_gives_unknown(five: FNode) -> None:
    answer = solve(five, [], solver="z3", limits=Limits(1e-9, 4 << 30), command=["/nonexistent"])
    assert _reason(answer).startswith("timeout: ")


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", BACKENDS)
def test_the_memory_limit_gives_unknown(hard: FNode, solver: str) -> None:
    reason = _reason(solve(hard, [], solver=solver, limits=Limits(300.0, 16 << 20)))
    # A library that dies of it without a word leaves only the guess.
    assert reason.startswith("memory: ") or f"perhaps of the memory limit, {16 << 20} bytes" in reason


def test_memory_that_runs_out_in_python_gives_unknown(manager: FormulaManager) -> None:
    # Megabytes of text, more than an interpreter has at hand.
    formula = manager.And([manager.Symbol(f"{'x' * 1000}{n}") for n in range(5000)])
    assert _reason(solve(formula, [], solver="z3", limits=Limits(300.0, 1))).startswith("memory: ")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("print('Segmentation fault')", "solver error: the solver process wrote no answer but 'Segmentation fault"),
        ("", "solver error: the solver process wrote no answer but ''"),
        ("sys.exit(3)", "solver error: the solver process ended with exit status 3 without an answer"),
        ("sys.exit('broken pipe')", "solver error: the solver process ended with exit status 1 without an answer: br"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "interrupted: the solver process was ended by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "interrupted: the solver process was ended by SIGTERM"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "solver error: the solver process was ended by SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", "timeout: the solver process was ended by SIGXCPU"),
        ("os.kill(os.getpid(), 40)", "solver error: the solver process was ended by signal 40"),
        ("sys.stderr.write('std::bad_alloc'); sys.stderr.flush(); os.abort()", "memory: the solver process was ended"),
        ("raise MemoryError", "memory: the solver process ended with exit status 1"),
        ("os.write(1, bytes(range(256)))", "solver error: the solver process wrote no answer"),
        ("print('[' * 100000)", "solver error: the solver process wrote no answer"),
    ],
)
def test_a_process_that_fails_gives_unknown(five: FNode, limits: Limits, script: str, reason: str) -> None:
    answer = solve(five, [], solver="z3", limits=limits, command=_fake(script))
    assert _reason(answer).startswith(reason)
    assert "\n" not in _reason(answer)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "reply",
    [
        None,
        [],
        "sat",
        {},
        {"status": "sat"},
        {"status": "maybe", "seconds": 1.0},
        {"status": "unsat"},
        {"status": "unsat", "seconds": 1},
        {"status": "unsat", "seconds": "1.0"},
        {"status": "unsat", "seconds": -1.0},
        {"status": "unsat", "seconds": float("nan")},
        {"status": "unsat", "seconds": 1.0, "model": {}},
        {"status": "unsat", "seconds": 1.0, "reason": "timeout: none"},
        {"status": "unknown", "reason": "tired"},
        {"status": "unknown", "reason": None},
        {"status": "sat", "seconds": 1.0, "model": None},
        {"status": "sat", "seconds": 1.0, "model": {}},
        {"status": "sat", "seconds": 1.0, "model": {"b": "0x05"}},
        {"status": "sat", "seconds": 1.0, "model": {"a": "0x05", "b": "0x05"}},
        {"status": "sat", "seconds": 1.0, "model": {"a": 5}},
        {"status": "sat", "seconds": 1.0, "model": {"a": "5"}},
        {"status": "sat", "seconds": 1.0, "model": {"a": "0x5"}},
        {"status": "sat", "seconds": 1.0, "model": {"a": "0x105"}},
        {"status": "sat", "seconds": 1.0, "model": ["a"]},
    ],
)
def test_a_reply_of_unexpected_form_gives_unknown(five: FNode, limits: Limits, reply: object) -> None:
    command = _fake(f"print({json.dumps(reply)!r})")
    answer = solve(five, [], solver="z3", limits=limits, command=command)
    assert _reason(answer).startswith("solver error: the solver process wrote no answer but ")


def test_only_one_line_and_exit_status_zero_are_believed(five: FNode, limits: Limits) -> None:
    unsat = json.dumps({"status": "unsat", "seconds": 0.5})
    for script in (
        f"print({unsat!r}); print({unsat!r})",
        f"print({unsat!r}, end='')",
        f"print(); print({unsat!r})",
        f"print(); print({unsat!r}, end='')",
        f"print({unsat!r}, flush=True); sys.exit(1)",
        f"print({unsat!r}, flush=True); os.abort()",
    ):
        answer = solve(five, [], solver="z3", limits=limits, command=_fake(script))
        assert _reason(answer).startswith("solver error: ")
    answer = solve(five, [], solver="z3", limits=limits, command=_fake(f"print({unsat!r})"))
    assert answer.outcome is Outcome.UNSAT


@pytest.mark.parametrize(
    "reply",
    [
        '{"status": "sat", "status": "unsat", "seconds": 0.5}',
        '{"status": "unsat", "seconds": 0.5, "seconds": 0.5}',
        '{"status": "sat", "seconds": 0.5, "model": {"a": "0x06", "a": "0x05"}}',
        '{"status": "unsat", "seconds": 0.5}\n{"status": "sat", "seconds": 0.5, "model": {"a": "0x05"}}',
    ],
)
def test_who_answers_twice_is_not_believed(five: FNode, limits: Limits, reply: str) -> None:
    answer = solve(five, [], solver="z3", limits=limits, command=_fake(f"print({reply!r})"))
    assert _reason(answer).startswith("solver error: the solver process wrote no answer but ")


def test_who_answers_late_is_not_believed(five: FNode) -> None:
    """The answer is written in time, and the process does not end in time; then nothing is written in time."""
    unsat = json.dumps({"status": "unsat", "seconds": 0.5})
    for script in (f"print({unsat!r}, flush=True); time.sleep(1.2)", f"time.sleep(1.2); print({unsat!r})"):
        answer = solve(five, [], solver="z3", limits=Limits(0.4, 1 << 30), command=_fake(script))
        assert _reason(answer).startswith("timeout: no answer within 0.4 s")


def test_a_model_that_does_not_satisfy_the_query_is_not_believed(five: FNode, limits: Limits) -> None:
    reply = {"status": "sat", "seconds": 0.5, "model": {"a": "0x06"}}
    answer = solve(five, [], solver="z3", limits=limits, command=_fake(f"print({json.dumps(reply)!r})"))
    assert _reason(answer) == "solver error: the values that z3 gave do not satisfy the query"


def test_a_process_that_hangs_is_killed_with_its_children(five: FNode, tmp_path: Path) -> None:
    noted = tmp_path / "child"
    # A link has its whole text as soon as it is there.
    script = f"child = subprocess.Popen(['sleep', '600']); os.symlink(str(child.pid), {str(noted)!r}); child.wait()"
    for seconds in (1, 4, 16, 64):
        answer = solve(five, [], solver="z3", limits=Limits(float(seconds), 4 << 30), command=_fake(script))
        assert _reason(answer) == f"timeout: no answer within {seconds} s"
        if noted.is_symlink():  # otherwise the machine was too busy to start the child in time
            break
    child = int(noted.readlink().name)
    # Killed with the group, which takes effect a little later; it is for init to reap it.
    wait_until(lambda: not runs(child))


def test_a_process_that_does_not_read_is_killed(manager: FormulaManager) -> None:
    # More than a pipe holds.
    symbols = [manager.Symbol(f"{'x' * 1000}{n}") for n in range(1000)]
    command = [sys.executable, "-c", "import time; time.sleep(1000)"]
    answer = solve(manager.And(symbols), [], solver="z3", limits=Limits(1.0, 4 << 30), command=command)
    assert _reason(answer).startswith("timeout: ")
    answer = solve(manager.And(symbols), [], solver="z3", limits=Limits(60.0, 4 << 30), command=["true"])
    assert _reason(answer).startswith("solver error: ")


def test_a_command_that_does_not_start_gives_unknown(five: FNode, limits: Limits) -> None:
    answer = solve(five, [], solver="z3", limits=limits, command=["/nonexistent/solver"])
    assert _reason(answer).startswith("solver error: the solver process does not start: ")


def test_a_worker_killed_from_outside_gives_unknown(hard: FNode) -> None:
    end_idle_processes()
    answers: list[Reply] = []
    asking = threading.Thread(
        target=lambda: answers.append(solve(hard, [], solver="bitwuzla", limits=Limits(600.0, 4 << 30)))
    )
    asking.start()
    for worker in wait_until(lambda: running_children(os.getpid())):
        os.kill(worker, signal.SIGKILL)
    asking.join()
    assert _reason(answers[0]).startswith("interrupted: the solver process was ended by SIGKILL")


def test_files_in_the_current_directory_are_not_imported(
    five: FNode, limits: Limits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("bitwuzla", "json", "pysmt", "mmaproof"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert solve(five, [], solver="bitwuzla", limits=limits).outcome is Outcome.SAT


def test_a_worker_whose_parent_is_gone_answers_nothing() -> None:
    somebody_else = 1
    arguments = ["z3", str(somebody_else)]
    ended = subprocess.run([*WORKER.arguments, *arguments], input=b"", capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, b"")


def test_what_a_library_prints_does_not_reach_the_answer(five: FNode, limits: Limits) -> None:
    noisy = (
        "import sys\n"
        "from mmaproof.smt.solving.backends import BitwuzlaEngine as b\n"
        "decide = b.decide\n"
        "b.decide = lambda self, query: (print('noise', flush=True), decide(self, query))[1]\n"
        "from mmaproof.smt.solving.kept_worker import main; main(sys.argv[1:])"
    )
    answer = solve(five, [], solver="bitwuzla", limits=limits, command=Kept((sys.executable, "-c", noisy)))
    assert answer.outcome is Outcome.SAT


def test_questions_that_cannot_be_asked_raise(manager: FormulaManager, five: FNode, limits: Limits) -> None:
    with pytest.raises(UnknownSolverError):
        solve(five, [], solver="yices", limits=limits)
    with pytest.raises(UnsupportedFormulaError):
        solve(manager.LT(manager.Symbol("r", REAL), manager.Real(1)), [], solver="z3", limits=limits)
    for wanted in (manager.Symbol("r", REAL), manager.BVNot(manager.Symbol("a", BVType(8)))):
        with pytest.raises(UnsupportedFormulaError, match="no value to ask for"):
            solve(five, [wanted], solver="z3", limits=limits)
