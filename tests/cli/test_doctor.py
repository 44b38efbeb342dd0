"""`mmaproof doctor`: what it says is printed as it is, and it ends with what to do."""

import json

import pytest

from mmaproof.cli import doctor
from mmaproof.smt.solving import backends, solving
from mmaproof.smt.solving.backends import Availability, available_solvers
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity


def test_brackets_are_no_markup(run, monkeypatch):
    monkeypatch.setenv("MMAPROOF_RECORDINGS", "/nowhere/[bold]")
    status, out, _ = run("doctor")
    assert status == 0
    assert "extra [notebooks]" in out
    assert "/nowhere/[bold]" in out


def test_it_ends_with_what_to_do(run, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "distributed" else "1")
    monkeypatch.setattr(doctor.shutil, "which", lambda tool: None if tool == "ghdl" else f"/usr/bin/{tool}")
    status, out, _ = run("doctor")
    assert status == 0
    *_, ready, more, dask, ghdl = out.splitlines()
    assert ready.startswith("mmaproof is ready: bitwuzla, cvc5, z3 work")
    assert more == "If you want more:"
    assert dask.startswith("  pip install 'mmaproof[dask]'")
    assert ghdl.startswith("  apt install ghdl")


@pytest.mark.parametrize("reason", ["missing", "fault"])
def test_a_solver_that_does_not_work_is_the_first_thing_to_do(run, monkeypatch, reason):
    held = available_solvers()
    if reason == "missing":
        held["cvc5"] = Availability("cvc5", None, "no Python package 'cvc5': pip install cvc5")
    monkeypatch.setattr(backends, "available_solvers", lambda: held)
    faults = {"cvc5": "x * x = 2 modulo 256 is unsat: it said sat"} if reason == "fault" else {}
    monkeypatch.setattr(solving, "self_test", faults.get)
    status, out, _ = run("doctor")
    assert status == 3
    end = out[out.index("To do:") :]
    assert ("pip install cvc5" if reason == "missing" else "it said sat") in " ".join(end.split())
    assert "is ready" not in out
    status, out, _ = run("doctor", "--json")
    assert status == 3
    assert len(json.loads(out)["needed"]) == 1


@pytest.mark.parametrize("outcome", [Outcome.SAT, Outcome.UNSAT, Outcome.UNKNOWN])
def test_a_solver_that_always_says_the_same_does_not_work(monkeypatch, outcome):
    reason, model = (
        ("timeout: a test" if outcome is Outcome.UNKNOWN else None),
        ({} if outcome is Outcome.SAT else None),
    )
    reply = Reply(outcome, SolverIdentity("cvc5", "1"), 0.0, reason=reason, model=model)
    monkeypatch.setattr(Solving, "ask", lambda *_, **__: reply)
    assert solving.self_test("cvc5") is not None


@pytest.mark.parametrize("solver", ["bitwuzla", "cvc5", "z3"])
def test_the_solvers_that_are_here_work(solver):
    assert solving.self_test(solver) is None
