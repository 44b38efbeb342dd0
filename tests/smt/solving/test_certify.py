"""Unsat counts only after another solver confirmed it. A solver that gives no confirmation is named."""

import pytest
from support.fake_solvers import CRASHES, HANGS, says

from mmaproof.smt.solving import backends
from mmaproof.smt.solving import solving as answering
from mmaproof.smt.solving.backends import BACKENDS, Availability, require_solver
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS
from mmaproof.smt.solving.refuting import require_prover
from mmaproof.smt.solving.solving import Certify, Solving, prove
from mmaproof.smt.solving.verdict import (
    Outcome,
    Reply,
    SolverIdentity,
    SolverNotInstalledError,
    SolversDisagree,
    Status,
)

SECOND = {"bitwuzla": "cvc5", "cvc5": "bitwuzla", "z3": "bitwuzla"}
PRODUCER = SolverIdentity("prover+checker", "1 / 2")


@pytest.fixture
def never(manager, a, five):
    return manager.And(five, manager.BVULT(manager.BV(5, 8), a))


@pytest.mark.parametrize("solver", BACKENDS)
def test_a_second_solver_confirms_what_is_unsatisfiable(a, five, never, limits, solver):
    solving = Solving(solver, certify=Certify.SOLVER)
    answer = solving.ask(never, [a], limits=limits)
    assert (answer.outcome, answer.solver.name) == (Outcome.UNSAT, solver)
    assert answer.certified_by == require_solver(SECOND[solver])
    assert Solving(solver).ask(never, [a], limits=limits).certified_by is None
    answer = solving.ask(five, [a], limits=limits)
    assert (answer.outcome, answer.model, answer.certified_by) == (Outcome.SAT, {"a": 5}, None)


def test_the_winner_of_a_race_is_confirmed_by_another(monkeypatch, never, limits):
    monkeypatch.setitem(COMMANDS, "bitwuzla", CRASHES)
    answer = Solving(jobs=2, certify=Certify.SOLVER).ask(never, [], limits=limits)
    assert (answer.outcome, answer.solver.name) == (Outcome.UNKNOWN, "cvc5")
    assert answer.reason.startswith(f"solver error: not certified by {require_solver('bitwuzla')}: the solver process")


def test_a_wrong_proof_is_no_answer_and_kept(monkeypatch, tmp_path, five, limits):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(COMMANDS, "bitwuzla", says("unsat"))
    assert Solving().ask(five, [], limits=limits).outcome is Outcome.UNSAT, "nobody notices"
    with pytest.raises(
        SolversDisagree, match=r"^cvc5 .* said sat and bitwuzla .* said unsat to the same query"
    ) as caught:
        Solving(certify=Certify.SOLVER).ask(five, [], limits=limits)
    assert sorted(caught.value.files) == sorted(x.name for x in tmp_path.iterdir())
    assert len(caught.value.files) == 2


def test_a_contradiction_that_cannot_be_written_is_one(monkeypatch, tmp_path, five, limits):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setitem(COMMANDS, "bitwuzla", says("unsat"))
    monkeypatch.setitem(COMMANDS, "cvc5", says("sat", a="0x05"))
    with pytest.raises(SolversDisagree, match="the query is lost: ") as caught:
        Solving(certify=Certify.SOLVER).ask(five, [], limits=limits)
    assert caught.value.files == ()


@pytest.mark.slow
def test_what_nobody_confirms_in_time_is_unknown(monkeypatch, never):
    monkeypatch.setitem(COMMANDS, "bitwuzla", says("unsat"))
    monkeypatch.setitem(COMMANDS, "cvc5", HANGS)
    answer = Solving(certify=Certify.SOLVER).ask(never, [], limits=Limits(3.0, 2 << 30))
    assert (answer.outcome, answer.certified_by) == (Outcome.UNKNOWN, None)
    cvc5 = require_solver("cvc5")
    assert answer.reason.startswith(f"timeout: not certified by {cvc5}: no answer within 3 s, of which ")
    assert answer.reason.endswith(" s went into the first solver")


def test_proofs_carry_who_confirmed_them(manager, a, five, never, limits):
    ask = Solving(certify=Certify.SOLVER).ask

    def verdict(claim, precondition):
        return prove(claim, precondition=precondition, symbols=[a], confirm=lambda model: True, ask=ask, limits=limits)

    below_six = manager.BVULT(a, manager.BV(6, 8))
    for precondition, status in ((five, Status.PROVED), (None, Status.REFUTED), (never, Status.VACUOUS)):
        found = verdict(below_six, precondition)
        certified = None if status is Status.REFUTED else require_solver("cvc5")
        assert (found.status, found.solver, found.certified_by) == (status, require_solver("bitwuzla"), certified)


@pytest.mark.parametrize(
    ("said", "outcome", "certified_by", "reason"),
    [
        (Reply(Outcome.UNSAT, PRODUCER, 0.1, certificate="5a" * 32), Outcome.UNSAT, PRODUCER, None),
        (Reply(Outcome.UNSAT, PRODUCER, 0.1), Outcome.UNSAT, PRODUCER, None),
        (
            Reply(Outcome.UNKNOWN, PRODUCER, 0.1, reason="memory: full"),
            Outcome.UNKNOWN,
            None,
            "memory: not certified by prover+checker 1 / 2: full",
        ),
    ],
)
def test_a_proof_in_the_place_of_a_second_solver(
    monkeypatch, tmp_path, never, limits, said, outcome, certified_by, reason
):
    asked = []

    def certify_by_proof(query, limits):
        asked.append((query.symbols, limits))
        return said

    monkeypatch.setattr(answering, "certify_by_proof", certify_by_proof)
    monkeypatch.setattr(answering, "require_prover", lambda: PRODUCER)
    solving = Solving(certify=Certify.PROOF, store=tmp_path / "store")
    for _ in range(2):
        answer = solving.ask(never, [], limits=limits)
        assert (answer.outcome, answer.certified_by, answer.reason) == (outcome, certified_by, reason)
    ((symbols, left), *again) = asked
    assert (symbols, left.seconds < limits.seconds) == ({"a": 8}, True)
    assert len(again) == (said.certificate is None), "a proof that was accepted is kept, with its hash"


def test_without_a_second_solver_nothing_is_certified(monkeypatch):
    def alone(backend):
        return Availability(backend.name, "1" if backend.name == "z3" else None, "not here")

    monkeypatch.setattr(backends, "_availability", alone)
    with pytest.raises(SolverNotInstalledError, match="no solver besides z3"):
        Solving.of(Solving("z3", certify=Certify.SOLVER))
    assert Solving.of(Solving("z3")) == Solving("z3")


def test_a_real_proof_is_a_certificate(tmp_path, never, limits):
    pytest.importorskip("pysat")
    solving = Solving.of(Solving(certify=Certify.PROOF, store=tmp_path / "store"))
    for stored in (False, True):
        answer = solving.ask(never, [], limits=limits)
        assert (answer.outcome, answer.certified_by) == (Outcome.UNSAT, require_prover())
        assert (answer.stored is not None) is stored


def test_without_a_prover_nothing_is_certified(monkeypatch):
    def missing():
        raise SolverNotInstalledError("pip install it")

    monkeypatch.setattr(answering, "require_prover", missing)
    with pytest.raises(SolverNotInstalledError):
        Solving.of(Solving(certify=Certify.PROOF))
