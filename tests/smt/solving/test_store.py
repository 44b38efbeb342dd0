"""What is kept is found for the same query and solver only; a file that lies, breaks or fills up costs nothing."""

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest
from pysmt.typing import BVType
from support.fake_solvers import CRASHES, HANGS, says

from mmaproof.smt.solving import solving as solving_module
from mmaproof.smt.solving import store as store_module
from mmaproof.smt.solving.backends import UNKNOWN_VERSION, require_solver
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.solving import Certify, Solving
from mmaproof.smt.solving.store import SCHEMA, KeptProof, Store
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity, SolversDisagree, SolvingError, StoreError

WRITER = """
import sys
from pathlib import Path
from pysmt.shortcuts import BV, Equals, Symbol
from pysmt.typing import BVType
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import Reply, Outcome, SolverIdentity
path, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
query = Query.of(Equals(Symbol("a", BVType(8)), BV(5, 8)))
for n in range(count):
    answer = Reply(Outcome.SAT, SolverIdentity(who, str(n)), 0.1, {"a": 5}, solver_seconds=0.1)
    Store(path).keep(query, answer)
    Store(path).keep_witness(f"{who} {n}", "{}", "made up")
    print(n, flush=True)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.sqlite"


@pytest.fixture
def easy(manager, a):
    """Satisfiable by a = 5 only, whatever p."""
    return manager.And(manager.Equals(a, manager.BV(5, 8)), manager.Or(manager.Symbol("p"), manager.TRUE()))


@pytest.fixture
def never(manager, a, easy):
    return manager.And(easy, manager.BVULT(a, manager.BV(2, 8)))


@pytest.fixture
def nobody_answers(monkeypatch):
    for name in COMMANDS:
        monkeypatch.setitem(COMMANDS, name, CRASHES)


@pytest.fixture(autouse=True)
def warned_of_nothing():
    store_module._warn_once.cache_clear()


def execute(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        found = connection.execute(statement, values).fetchall()
    connection.close()
    return found


def test_an_answer_is_found_again(monkeypatch, path, a, easy, never, limits):
    solving = Solving(store=path)
    answers = [solving.ask(x, [a], limits=limits) for x in (easy, never)]
    assert [x.stored for x in answers] == [None, None]
    monkeypatch.setitem(COMMANDS, "bitwuzla", CRASHES)
    for formula, first in zip((easy, never), answers, strict=True):
        again = solving.ask(formula, [a], limits=limits)
        assert (again.outcome, again.model, again.solver) == (first.outcome, first.model, first.solver)
        assert again.stored == first.solver_seconds
        assert again.seconds > 0
    assert solving.ask(easy, [], limits=limits).model == {}, "other symbols may be wanted"


def test_unknown_is_not_kept(monkeypatch, path, easy):
    monkeypatch.setitem(COMMANDS, "bitwuzla", HANGS)
    assert Solving(store=path).ask(easy, [], limits=Limits(0.5, 2 << 30)).outcome is Outcome.UNKNOWN
    assert Store(path).contents() == ([], 0, 0)
    Store(path).keep(Query.of(easy), Reply(Outcome.UNKNOWN, SolverIdentity("z3", "1"), 0.1, reason="timeout: 1 s"))
    assert Store(path).contents() == ([], 0, 0)


def test_only_the_same_query_is_found(manager, path, limits, environment):
    def formula(name, width, value):
        return Query.of(manager.Equals(manager.Symbol(name, BVType(width)), manager.BV(value, width)))

    query = formula("a", 8, 5)
    Store(path).keep(query, Reply(Outcome.SAT, SolverIdentity("z3", "1"), 0.1, {"a": 5}))
    assert [x.model for x in Store(path).answers(query)] == [{"a": 5}]
    for other in (formula("a", 8, 6), formula("b", 8, 5), formula("b8", 9, 5)):
        assert Store(path).answers(other) == []
    wider = query.text.replace('"symbol",8', '"symbol",9').replace('"const",8,"0x05"', '"const",9,"0x005"')
    assert Store(path).answers(Query.parse(wider)) == []


def test_only_the_same_solver_is_found(path, a, easy, limits, nobody_answers):
    mine, older = require_solver("bitwuzla"), SolverIdentity("bitwuzla", "0.0.1")
    query, cvc5 = Query.of(easy), require_solver("cvc5")
    for solver in (older, cvc5):
        Store(path).keep(query, Reply(Outcome.SAT, solver, 0.1, {"a": 5, "p": 0}))
    assert Solving(store=path).ask(easy, [], limits=limits).outcome is Outcome.UNKNOWN
    assert Solving(store=path, jobs=2).ask(easy, [], limits=limits).solver == cvc5, "it would race"
    Store(path).keep(query, Reply(Outcome.SAT, mine, 0.1, {"a": 5, "p": 1}))
    assert Solving(store=path).ask(easy, [a], limits=limits).solver == mine


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("model", '{"a": "0x06", "p": "0x0"}'),
        ("model", '{"a": "0x05"}'),
        ("model", '{"a": "0x105", "p": "0x0"}'),
        ("model", '{"a": 5, "p": 0}'),
        ("model", "[" * 100_000),
        ("model", None),
        ("model", b"\xff"),
        ("outcome", "unsat"),
        ("seconds", "soon"),
        ("seconds", -1.0),
    ],
)
def test_a_stored_lie_is_not_believed_and_replaced(path, a, easy, limits, column, value):
    solving = Solving(store=path)
    solving.ask(easy, [], limits=limits)
    execute(path, f"UPDATE answers SET {column} = ?", value)
    answer = solving.ask(easy, [a], limits=limits)
    assert (answer.outcome, answer.model, answer.stored) == (Outcome.SAT, {"a": 5}, None)
    answer = solving.ask(easy, [a], limits=limits)
    assert (answer.model, answer.stored is not None) == ({"a": 5}, True)


def test_what_two_solvers_proved_is_certified(path, never, limits, nobody_answers):
    query = Query.of(never)
    for name in ("bitwuzla", "cvc5"):
        assert Solving(store=path, certify=Certify.SOLVER).ask(never, [], limits=limits).outcome is Outcome.UNKNOWN
        Store(path).keep(query, Reply(Outcome.UNSAT, require_solver(name), 0.1))
    answer = Solving(store=path, certify=Certify.SOLVER).ask(never, [], limits=limits)
    assert (answer.solver, answer.certified_by) == (require_solver("bitwuzla"), require_solver("cvc5"))
    assert Solving(store=path).ask(never, [], limits=limits).certified_by is None


def test_what_certifies_is_kept_too(monkeypatch, path, never, limits):
    assert Solving(store=path, certify=Certify.SOLVER).ask(never, [], limits=limits).certified_by is not None
    assert [x.solver.name for x in Store(path).contents()[0]] == ["bitwuzla", "cvc5"]


@pytest.mark.parametrize("asked", [{"jobs": 2}, {"certify": Certify.SOLVER}])
def test_stored_answers_that_contradict_each_other(monkeypatch, tmp_path, path, easy, limits, asked):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(COMMANDS, "bitwuzla", says("unsat"))
    for solver in ("bitwuzla", "cvc5"):
        Solving(solver, store=path).ask(easy, [], limits=limits)
    with pytest.raises(SolversDisagree, match=r"said sat \(stored\) and bitwuzla .* said unsat \(stored\)"):
        Solving(store=path, **asked).ask(easy, [], limits=limits)
    assert len(list(tmp_path.glob("mmaproof-disagreement-*.smt2"))) == 2


def _text(path):
    path.write_text("answers, and many of them\n" * 100)


def _database_of_something_else(path):
    execute(path, "CREATE TABLE answers (query TEXT)")


def _newer(path):
    Store(path).check()
    execute(path, f"PRAGMA user_version = {SCHEMA + 1}")


def _folder(path):
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_text, "cannot be used: file is not a database"),
        (_database_of_something_else, "is a database of something else"),
        (_newer, f"is of version {SCHEMA + 1}, and this mmaproof reads version {SCHEMA}"),
        (_folder, "cannot be used: unable to open database file"),
    ],
)
def test_a_file_that_is_no_store_is_left_alone(path, easy, limits, caplog, make, why):
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=why) as caught:
        Solving.of(Solving(store=path))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, SolvingError)
    assert "--no-store" in str(caught.value)
    assert Solving(store=path).ask(easy, [], limits=limits).outcome is Outcome.SAT
    assert [x.message for x in caplog.records] == [f"note: {caught.value}"]
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="unable to open"):
        Store(tmp_path / "nowhere" / "answers.sqlite").check()


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    Store(path).check()
    assert Store(path).contents() == ([], 0, 0)


def _full(path):
    fails = "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
    for event in ("INSERT", "UPDATE"):
        execute(path, f"CREATE TRIGGER full_{event} BEFORE {event} ON answers {fails}")


def _locked(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


@pytest.mark.parametrize(("hinder", "why"), [(_full, "database or disk is full"), (_locked, "database is locked")])
def test_an_answer_that_cannot_be_kept_is_one(monkeypatch, path, easy, never, limits, caplog, hinder, why):
    monkeypatch.setattr(store_module, "_BUSY_SECONDS", 0.01)
    Store(path).check()
    holder = hinder(path)
    with caplog.at_level(logging.WARNING, "mmaproof"):
        outcomes = [Solving(store=path).ask(x, [], limits=limits).outcome for x in (easy, never)]
    if holder is not None:
        holder.close()
    assert outcomes == [Outcome.SAT, Outcome.UNSAT]
    (record,) = caplog.records
    assert why in record.message
    assert Store(path).contents() == ([], 0, 0)


def _start(path, who, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), who, str(count)], stdout=subprocess.PIPE, text=True
    )


def test_many_processes_that_write_lose_nothing(path):
    writers = [_start(path, f"writer{n}", 25) for n in range(4)]
    assert [len(x.communicate()[0].split()) for x in writers] == [25] * 4
    kept, witnesses, _ = Store(path).contents()
    assert (sum(x.answers for x in kept), witnesses) == (100, 100)
    assert len(kept) == 100


def test_a_writer_that_is_killed_loses_only_what_it_was_writing(manager, path, a):
    query = Query.of(manager.Equals(a, manager.BV(5, 8)))
    for who in ("first", "second", "third"):
        with _start(path, who, 100_000) as writer:
            done = [int(writer.stdout.readline()) for _ in range(10)]
            writer.send_signal(signal.SIGKILL)
            done += map(int, writer.stdout.read().split())
        versions = {x.solver.version for x in Store(path).answers(query) if x.solver.name == who}
        assert versions >= set(map(str, done))
        assert all(Store(path).witness(f"{who} {n}") == ("{}", "made up") for n in done)
    assert execute(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_store_that_was_removed_is_made_anew(path):
    Store(path).keep_witness("a question", "{}", "made up")
    path.unlink()
    assert Store(path).witness("a question") is None
    Store(path).keep_witness("another", "{}", "made up")
    assert execute(path, "SELECT COUNT(*) FROM witnesses") == [(1,)]


def test_a_forked_process_opens_a_connection_of_its_own(path):
    Store(path).keep_witness("a question", "{}", "made up")
    child = os.fork()
    if not child:
        Store(path).keep_witness("of the child", "{}", "made up")
        os._exit(0 if not store_module._OPEN.files[path].process - os.getpid() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert Store(path).witness("of the child") is not None


def test_contents_and_clearing(manager, path, easy, never):
    store = Store(path)
    for formula, outcome, model in ((easy, Outcome.SAT, {"a": 5, "p": 1}), (never, Outcome.UNSAT, None)):
        store.keep(Query.of(formula), Reply(outcome, SolverIdentity("z3", "1"), 9.0, model, solver_seconds=2.5))
    store.keep(Query.of(manager.Not(easy)), Reply(Outcome.UNSAT, SolverIdentity("z3", "1"), 0.5))
    store.keep_witness("question", json.dumps([1]), "search")
    kept, witnesses, proofs = store.contents()
    assert [(str(x.solver), x.outcome, x.answers, x.seconds) for x in kept] == [
        ("z3 1", Outcome.SAT, 1, 2.5),
        ("z3 1", Outcome.UNSAT, 2, 3.0),
    ]
    assert witnesses == 1
    assert proofs == 0
    assert store.clear() == (3, 1, 0)
    assert store.contents() == ([], 0, 0)


def test_an_older_store_is_brought_up_to_date(path):
    """Its answers have no certificates. So a proof that it knows is made once more."""
    Store(path).check()
    now = execute(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name")
    execute(path, "DROP TABLE proofs")
    execute(path, "PRAGMA user_version = 2")
    Store(path).check()
    assert execute(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name") == now
    execute(path, "DROP TABLE proofs")
    execute(path, "ALTER TABLE answers DROP COLUMN certificate")
    execute(path, "PRAGMA user_version = 1")
    Store(path).check()
    assert "certificate" in [row[1] for row in execute(path, "PRAGMA table_info(answers)")]
    assert execute(path, "PRAGMA user_version") == [(SCHEMA,)]
    assert Store(path).contents() == ([], 0, 0)


def test_proofs_of_questions_are_of_some_sources(path):
    store, proof = Store(path), KeptProof(SolverIdentity("z3", "1"), (("sums agree", "accumulate"),), 1.5)
    store.keep_proof("a question", "these sources", proof)
    assert store.proofs("a question", "these sources") == [proof]
    assert store.proofs("a question", "other sources") == store.proofs("another", "these sources") == []
    store.keep_proof("a question", "these sources", replace(proof, solver=SolverIdentity("z3", UNKNOWN_VERSION)))
    assert store.contents()[2] == 1
    execute(path, "UPDATE proofs SET lemmas = '[1]'")
    assert store.proofs("a question", "these sources") == []


def test_a_proof_without_its_hash_is_made_again(monkeypatch, path, a, never, limits):
    asked, original = [], solving_module.confirmation

    def counted(*arguments):
        asked.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(solving_module, "confirmation", counted)
    solving = Solving(certify=Certify.PROOF, store=path)
    first = solving.ask(never, [a], limits=limits)
    assert first.outcome is Outcome.UNSAT
    assert len(first.certificate or "") == 64
    again = solving.ask(never, [a], limits=limits)
    assert len(asked) == 1
    assert again.certificate == first.certificate
    execute(path, "UPDATE answers SET certificate = NULL")
    assert solving.ask(never, [a], limits=limits).certificate == first.certificate
    assert len(asked) == 2
    execute(path, "UPDATE answers SET certificate = 'nonsense' WHERE certificate IS NOT NULL")
    assert solving.ask(never, [a], limits=limits).certificate == first.certificate
    assert len(asked) == 3
