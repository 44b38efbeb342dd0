import sys
from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import BVType
from support.fake_solvers import solve

from mmaproof.smt.solving.backends import BACKENDS
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving, prove
from mmaproof.smt.solving.verdict import (
    Cause,
    Outcome,
    Reply,
    SolverIdentity,
    SolvingError,
    Status,
    WitnessDoesNotReplay,
)

SOLVER = SolverIdentity("bitwuzla", "0")


@pytest.fixture
def b(manager: FormulaManager) -> FNode:
    return manager.Symbol("b", BVType(8))


class Script:
    """Answers queries in turn and notes what was asked."""

    def __init__(self, *answers: Reply) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[FNode, Limits]] = []

    def __call__(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        self.asked.append((formula, limits))
        return self.answers.pop(0)


def _never(model: Mapping[str, int]) -> bool:
    raise AssertionError("there is no witness to confirm")


@pytest.mark.parametrize("solver", BACKENDS)
def test_a_true_claim_is_proved(manager: FormulaManager, a: FNode, b: FNode, limits: Limits, solver: str) -> None:
    claim = manager.Equals(manager.BVAdd(a, b), manager.BVAdd(b, a))
    verdict = prove(claim, precondition=None, symbols=[a, b], confirm=_never, ask=Solving(solver).ask, limits=limits)
    assert verdict.status is Status.PROVED
    assert (verdict.reason, verdict.witness) == (None, None)
    assert verdict.solver is not None
    assert verdict.solver.name == solver


@pytest.mark.parametrize("solver", BACKENDS)
def test_a_false_claim_is_refuted_with_a_confirmed_witness(
    manager: FormulaManager, a: FNode, b: FNode, limits: Limits, solver: str
) -> None:
    claim = manager.BVULE(a, manager.BVAdd(a, b))
    precondition = manager.BVULT(b, manager.BV(16, 8))
    seen: list[Mapping[str, int]] = []

    def confirm(model: Mapping[str, int]) -> bool:
        seen.append(model)
        return (model["a"] + model["b"]) % 256 < model["a"] and model["b"] < 16

    verdict = prove(
        claim, precondition=precondition, symbols=[a, b], confirm=confirm, ask=Solving(solver).ask, limits=limits
    )
    assert verdict.status is Status.REFUTED
    assert [verdict.witness] == seen


def test_a_claim_that_needs_its_precondition(manager: FormulaManager, a: FNode, b: FNode, limits: Limits) -> None:
    claim = manager.BVULE(a, manager.BVAdd(a, b))
    half = manager.BV(128, 8)
    precondition = manager.And(manager.BVULT(a, half), manager.BVULT(b, half))
    verdict = prove(
        claim, precondition=precondition, symbols=[a, b], confirm=_never, ask=Solving("bitwuzla").ask, limits=limits
    )
    assert verdict.status is Status.PROVED


@pytest.mark.parametrize("solver", BACKENDS)
def test_a_precondition_that_nothing_meets_is_vacuous(
    manager: FormulaManager, a: FNode, limits: Limits, solver: str
) -> None:
    nothing = manager.BVULT(manager.BVMul(a, a), manager.BV(0, 8))
    for claim in (manager.Equals(a, a), manager.NotEquals(a, a)):
        verdict = prove(
            claim, precondition=nothing, symbols=[a], confirm=_never, ask=Solving(solver).ask, limits=limits
        )
        assert verdict.status is Status.VACUOUS
        assert verdict.solver is not None


def test_a_witnessed_precondition_is_not_asked_about(manager: FormulaManager, a: FNode, limits: Limits) -> None:
    precondition, claim = manager.BVULT(a, manager.BV(5, 8)), manager.BVULT(a, manager.BV(6, 8))
    ask = Script(Reply(Outcome.UNSAT, SOLVER, 1.0))
    verdict = prove(
        claim,
        precondition=precondition,
        symbols=[a],
        confirm=_never,
        ask=ask,
        limits=limits,
        precondition_witnessed=True,
    )
    assert verdict.status is Status.PROVED
    assert ask.asked == [(manager.And(precondition, manager.Not(claim)), limits)]


def test_an_unknown_precondition_is_unknown(manager: FormulaManager, a: FNode, limits: Limits) -> None:
    precondition, claim = manager.BVULT(a, manager.BV(5, 8)), manager.BVULT(a, manager.BV(6, 8))
    unknown = Reply(Outcome.UNKNOWN, SOLVER, 1.0, reason=Cause.MEMORY.reason("full"))
    ask = Script(Reply(Outcome.UNSAT, SOLVER, 1.0), unknown)
    verdict = prove(claim, precondition=precondition, symbols=[a], confirm=_never, ask=ask, limits=limits)
    assert verdict.status is Status.UNKNOWN
    assert verdict.reason == "memory: full (is the precondition satisfiable?)"
    assert ask.asked[1][0] == precondition


def test_the_time_limit_is_for_both_queries(manager: FormulaManager, a: FNode, limits: Limits) -> None:
    precondition, claim = manager.BVULT(a, manager.BV(5, 8)), manager.BVULT(a, manager.BV(6, 8))
    unsatisfiable = Reply(Outcome.UNSAT, SOLVER, 1.0)
    ask = Script(unsatisfiable, Reply(Outcome.SAT, SOLVER, 1.0, model={}))
    prove(claim, precondition=precondition, symbols=[a], confirm=_never, ask=ask, limits=limits)
    (_, first), (_, second) = ask.asked
    assert first == limits
    assert second.seconds < limits.seconds
    assert second.memory_bytes == limits.memory_bytes
    assert str(second).startswith(str(limits))
    # The first query took all of it.
    exhausted = Script(unsatisfiable)
    tiny = Limits(1e-9, 1 << 30)
    verdict = prove(claim, precondition=precondition, symbols=[a], confirm=_never, ask=exhausted, limits=tiny)
    assert verdict.status is Status.UNKNOWN
    assert verdict.reason == "timeout: no answer within 1e-09 s"


def test_a_witness_that_does_not_replay_raises(manager: FormulaManager, a: FNode, limits: Limits) -> None:
    claim = manager.NotEquals(a, manager.BV(200, 8))
    with pytest.raises(WitnessDoesNotReplay, match="a=0xc8") as caught:
        prove(
            claim, precondition=None, symbols=[a], confirm=lambda m: False, ask=Solving("bitwuzla").ask, limits=limits
        )
    assert caught.value.model == {"a": 200}
    assert "(= a #xc8)" in caught.value.query
    assert "(check-sat)" in caught.value.query
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, SolvingError)


def test_what_a_solver_process_invents_is_no_witness(manager: FormulaManager, a: FNode, limits: Limits) -> None:
    script = """import sys; sys.stdin.read(); print('{"status": "sat", "seconds": 0.1, "model": {"a": "0x07"}}')"""
    ask = partial(solve, solver="z3", command=[sys.executable, "-c", script])
    verdict = prove(
        manager.NotEquals(a, manager.BV(200, 8)),
        precondition=None,
        symbols=[a],
        confirm=_never,
        ask=ask,
        limits=limits,
    )
    assert verdict.status is Status.UNKNOWN
    assert verdict.reason == "solver error: the values that z3 gave do not satisfy the query"


def test_an_unknown_claim_is_unknown(manager: FormulaManager, a: FNode) -> None:
    verdict = prove(
        manager.Equals(a, a),
        precondition=None,
        symbols=[a],
        confirm=_never,
        ask=Solving("cvc5").ask,
        limits=Limits(1e-6, 1 << 30),
    )
    assert verdict.status is Status.UNKNOWN
    assert verdict.reason == "timeout: no answer within 1e-06 s"


@pytest.mark.parametrize("place", [0, 1])
def test_an_outcome_that_is_none_of_the_known_decides_nothing(
    manager: FormulaManager, a: FNode, limits: Limits, place: int
) -> None:
    answers = [Reply(Outcome.UNSAT, SOLVER, 0.1), Reply(Outcome.SAT, SOLVER, 0.1, {})]
    object.__setattr__(answers[place], "outcome", "maybe")
    claim, precondition = manager.BVULE(a, a), manager.BVULE(a, manager.BV(9, 8))
    with pytest.raises(AssertionError, match="maybe"):
        prove(claim, precondition=precondition, symbols=[a], confirm=_never, ask=Script(*answers), limits=limits)
