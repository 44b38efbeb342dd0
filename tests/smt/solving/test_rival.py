"""A query in parallel with others: its answer interrupts them, it answers no other query, and nothing of it is left."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import as_completed, wait
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from pysmt.fnode import FNode
from pysmt.shortcuts import BV, BVULT, And, BVMul, BVType, Equals, Symbol
from support.fake_solvers import CRASHES, HANGS, fake, running_children, says
from support.waiting import LONG, wait_until

from mmaproof.smt.solving import portfolio
from mmaproof.smt.solving.backends import require_solver
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS, Overtaken, Rival
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import Outcome, Reply, SolversDisagree

LIMITS = Limits(LONG, 4 << 30)
X = Symbol("rival_x", BVType(8))
WHOLE, PART = Equals(X, BV(5, 8)), BVULT(X, BV(3, 8))


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    before = set(running_children(os.getpid()))
    yield
    wait_until(lambda: set(running_children(os.getpid())) <= before)


def begun(whole: list[str], formula: FNode = WHOLE) -> Rival:
    """A rival that this command answers."""
    with patch.dict(COMMANDS, {"bitwuzla": whole}):
        return Solving("bitwuzla").beside(formula, LIMITS)


def ask(part: list[str], *rivals: Rival) -> Outcome:
    with patch.dict(COMMANDS, {"z3": part}):
        return Solving("z3").ask(PART, (), limits=LIMITS, rivals=rivals).outcome


@pytest.mark.parametrize("outcome", ["sat", "unsat"])
def test_an_answer_interrupts_the_query_that_is_asked_meanwhile(tmp_path: Path, outcome: str) -> None:
    asked = tmp_path / "asked"
    reply = {"status": outcome, "seconds": 0.5, **({"model": {"rival_x": "0x05"}} if outcome == "sat" else {})}
    waits = f"""while not os.path.exists({str(asked)!r}):
    time.sleep(0.01)
print({json.dumps(reply)!r})"""
    rival = begun(fake(waits))
    with pytest.raises(Overtaken) as overtaken:
        ask(fake(f"open({str(asked)!r}, 'w').close()\ntime.sleep(600)"), rival)
    assert overtaken.value.rival is rival
    assert rival.ask(WHOLE, [X], limits=LIMITS).outcome.name.lower() == outcome
    rival.end()


def test_nothing_is_asked_after_an_answer() -> None:
    rival = begun(says("unsat"))
    assert rival.wait(LONG)
    with pytest.raises(Overtaken):
        ask(HANGS, rival)
    rival.end()


@pytest.mark.parametrize("version", [None, "0.0"])
def test_only_what_a_solver_that_is_asked_has_said_is_known(tmp_path: Path, version: str | None) -> None:
    """The same answer of another version of it is none: the query is begun, and answered otherwise."""
    asked = require_solver("bitwuzla")
    said = Reply(Outcome.UNSAT, asked if version is None else replace(asked, version=version), 0.1)
    Store(tmp_path / "store").keep(Query.of(WHOLE), said)
    with patch.dict(COMMANDS, {"bitwuzla": says("sat", rival_x="0x05")}):
        rival = Solving("bitwuzla", store=tmp_path / "store").beside(WHOLE, LIMITS)
        assert rival.wait(LONG)
    assert rival.reply().outcome is (Outcome.UNSAT if version is None else Outcome.SAT)
    rival.end()


def test_an_answer_that_came_as_well_counts() -> None:
    rival = begun(HANGS)
    assert ask(says("unsat"), rival) is Outcome.UNSAT
    assert not rival.has_answer
    rival.end()
    assert not rival.has_answer
    assert rival.reply().outcome is Outcome.UNKNOWN


def test_a_rival_without_an_answer_interrupts_nothing() -> None:
    rival = begun(CRASHES)
    assert not rival.wait(LONG)
    assert ask(says("unsat"), rival) is Outcome.UNSAT
    assert ask(CRASHES, rival) is Outcome.UNKNOWN
    rival.end()


def test_the_first_of_several_that_has_an_answer_is_named() -> None:
    silent, answered = begun(HANGS), begun(says("unsat"))
    assert answered.wait(LONG)
    with pytest.raises(Overtaken) as overtaken:
        ask(HANGS, silent, answered)
    assert overtaken.value.rival is answered
    silent.end()
    answered.end()


def test_it_is_no_answer_to_another_query() -> None:
    rival = begun(says("unsat"))
    assert rival.wait(LONG)
    assert rival.ask(PART, [X], limits=LIMITS).outcome is Outcome.SAT
    assert rival.ask(And(WHOLE, PART), [X], limits=LIMITS).outcome is Outcome.UNSAT
    assert rival.ask(WHOLE, [X], limits=LIMITS).outcome is Outcome.UNSAT  # as the script says: a solver knows better
    rival.end()


def test_a_model_that_is_none_is_no_answer() -> None:
    rival = begun(says("sat", rival_x="0x06"))
    assert not rival.wait(LONG)
    assert rival.ask(WHOLE, [X], limits=LIMITS).outcome is Outcome.UNKNOWN
    rival.end()


def test_a_disagreement_of_its_solvers_is_raised_where_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(portfolio, "as_completed", lambda asked: as_completed(wait(asked).done))
    both = {"bitwuzla": says("unsat"), "cvc5": says("sat", rival_x="0x05"), "z3": says("sat", rival_x="0x05")}
    with patch.dict(COMMANDS, both):
        rival = Solving("bitwuzla", jobs=2).beside(WHOLE, LIMITS)
    assert rival.wait(LONG)
    with pytest.raises(Overtaken):
        ask(HANGS, rival)
    with pytest.raises(SolversDisagree):
        rival.ask(WHOLE, [X], limits=LIMITS)
    rival.end()


def test_what_is_stored_is_not_asked(tmp_path: Path) -> None:
    solving = Solving("bitwuzla", store=tmp_path / "answers.sqlite")
    rival = solving.beside(WHOLE, LIMITS)
    assert rival.ask(WHOLE, [X], limits=LIMITS).model == {"rival_x": 5}
    rival.end()
    with patch.dict(COMMANDS, {"bitwuzla": HANGS}):
        again = solving.beside(WHOLE, LIMITS)
        assert again.has_answer
        reply = again.ask(WHOLE, [X], limits=LIMITS)
    assert (reply.outcome, reply.model, reply.stored is not None) == (Outcome.SAT, {"rival_x": 5}, True)
    again.end()


def test_a_real_solver_is_ended() -> None:
    wide = [Symbol(f"rival_{name}", BVType(128)) for name in "xy"]
    primes = BV(0xB3406BC44DC2A627 * 0xBC38D756D0055979, 128)
    bounded = [BVULT(x, BV(1 << 64, 128)) for x in wide] + [BVULT(BV(1, 128), x) for x in wide]
    rival = Solving("bitwuzla").beside(And(Equals(BVMul(*wide), primes), *bounded), LIMITS)
    assert not rival.wait(0.3)
    rival.end()
    assert rival.reply().outcome is Outcome.UNKNOWN
