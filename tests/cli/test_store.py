"""Answers on the command line: raced for, certified, kept, found again, counted and removed."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from support.commands import only_json
from support.fake_solvers import says

from mmaproof.cli import main as command_line
from mmaproof.generators.disputes import Dispute
from mmaproof.smt.solving.backends import require_solver
from mmaproof.smt.solving.portfolio import COMMANDS
from mmaproof.smt.solving.solving import Certify, Solving
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import Status

VOLTA, TURING = "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"
SAME = ["compare", "cpu/vpdpbusd", "cpu/vpdpbusd@L=2", "--no-search"]
DIFFERENT = ["compare", VOLTA, TURING, "--no-picture"]
ORDER = ["check", "order-independent", f"{VOLTA}@L=2", "--no-search"]


@pytest.fixture
def path(tmp_path, monkeypatch):
    found = tmp_path / "folder" / "answers.sqlite"
    monkeypatch.setenv("MMAPROOF_STORE", str(found))
    return found


def identity(name):
    return {"name": name, "version": require_solver(name).version}


@pytest.mark.middle
def test_certified_answers_say_so(run):
    for certify in ("--certify", "--certify=solver"):
        record = only_json(run(*SAME[:1], certify, *SAME[1:], "--json")[1])
        assert (record["verdict"], record["solver"]) == ("equivalent", identity("bitwuzla"))
        assert record["certified_by"] == identity("cvc5")
        assert f", certified by {require_solver('cvc5')}" in record["origin"]
    record = only_json(run(*ORDER, "--certify", "--solver", "z3", "--json")[1])
    assert [record["certified_by"], *(x["certified_by"] for x in record["lemmas"])] == [identity("bitwuzla")] * (
        1 + len(record["lemmas"])
    )
    assert only_json(run(*SAME, "--json")[1])["certified_by"] is None


def test_a_bare_certify_takes_no_argument(monkeypatch, run):
    monkeypatch.setattr(command_line.sys, "argv", ["mmaproof", "compare", VOLTA, "--certify", "volta/x"])
    assert command_line.main() == 2
    status, _, err = run("compare", VOLTA, "--certify", "volta/x")
    assert (status, "no instruction" in err) == (2, True)


def test_a_wrong_solver_is_an_internal_error_and_its_query_is_kept(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(COMMANDS, "bitwuzla", says("unsat"))
    status, out, err = run(
        "compare", f"{VOLTA}@L=1", f"{VOLTA}@L=1,fraction_bits=22", "--k", 4, "--no-search", "--certify"
    )
    assert (status, out, len(err.splitlines())) == (70, "", 1)
    assert "SolversDisagree: cvc5" in err
    assert len(list(tmp_path.glob("mmaproof-disagreement-*.smt2"))) == 2


def test_answers_are_kept_by_default_and_found_again(run, path, monkeypatch):
    # on a busy machine a short limit may pass before the first answer, and not before the second
    monkeypatch.setattr("mmaproof.verification.strategies.AT_ONCE", 60.0)
    first = [only_json(run(*x, "--json")[1]) for x in (SAME, DIFFERENT)]
    monkeypatch.setattr("mmaproof.smt.solving.portfolio.Attempt.answer", None)
    monkeypatch.setattr("mmaproof.verification.strategies.search", None)
    same, different = (only_json(run(*x, "--json", "--jobs", 2)[1]) for x in (SAME, DIFFERENT))
    assert (same["verdict"], same["solver"]) == ("equivalent", identity("bitwuzla"))
    assert " (stored; " in same["origin"]
    assert (different["witness"], different["origin"]) == (first[1]["witness"], f"the store: {first[1]['origin']}")


@pytest.mark.middle
def test_fingerprints_are_kept_too(run, path, tmp_path):
    named = tmp_path / "named.sqlite"
    assert run("fingerprint", f"{VOLTA}@L=2", "--only", "order-independent", "--store", named)[0] == 0
    assert Store(named).contents()[0]
    assert not path.exists()


def test_disputes_are_asked_as_the_options_say(run, monkeypatch, path):
    asked = []

    def settle(design, names, point, pair, solving, limits):
        asked.append(solving)
        return Dispute(design, names, point, {}, ("one", "another"), Status.PROVED, ())

    monkeypatch.setattr("mmaproof.generators.disputes._settle", settle)
    monkeypatch.setattr("mmaproof.verification.executors.local_pool", ThreadPoolExecutor)
    assert run("disputes", "volta", "--jobs", 2, "--certify", "--solver", "z3")[0] == 0
    assert set(asked) == {Solving("z3", 1, Certify.SOLVER, path)}


def test_no_store(run, path, monkeypatch):
    assert run(*SAME, "--no-store")[0] == 0
    assert not path.parent.exists()
    monkeypatch.setenv("MMAPROOF_STORE", "")
    assert run(*SAME)[0] == 0
    status, out, err = run("store")
    assert (status, out, "--store FILE" in err) == (2, "", True)


@pytest.mark.few(1)
@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HOME"])
def test_where_the_default_is(run, monkeypatch, tmp_path, variable):
    for name in ("MMAPROOF_STORE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert run(*DIFFERENT)[0] == 1
    below = tmp_path if variable == "XDG_CACHE_HOME" else tmp_path / ".cache"
    assert Store(below / "mmaproof" / "answers.sqlite").contents()[1] == 1


def test_a_default_store_that_cannot_be_used_is_a_note(run, path):
    path.parent.write_text("a file")
    status, out, err = run(*DIFFERENT)
    assert (status, out.splitlines()[0].split(":")[0], len(err.splitlines())) == (1, "different", 1)
    assert err.startswith("note: answers are neither looked up nor kept: ")
    path.parent.unlink()
    path.parent.mkdir()
    path.write_text("no database" * 100)
    status, _, err = run(*DIFFERENT)
    assert (status, err.count("\n")) == (1, 1)
    assert "file is not a database" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([*SAME, "--store", "/nowhere/at/all.sqlite"], "unable to open database file"),
        ([*SAME, "--store", "/tmp"], "unable to open database file"),
        ([*SAME, "--store", "answers.sqlite", "--no-store"], "leave one of them out"),
        ([*SAME, "--certify=twice"], "--certify=proof are allowed"),
        ([*SAME, "--jobs", "0"], "--jobs"),
        (["store", "--store", "/nowhere/at/all.sqlite"], "does not exist"),
        (["store", "volta"], "unexpected"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(run, path, arguments, problem):
    status, out, err = run(*arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err


@pytest.mark.middle
def test_the_store_is_counted_and_cleared(run, path):
    empty = only_json(run("store", "--json")[1])
    assert empty == {"store": str(path), "answers": [], "witnesses": 0, "proofs": 0, "bytes": 0}
    assert not path.exists()
    assert run("store", "--clear")[:2] == (0, f"{path}: 0 answers, 0 witnesses, 0 proofs removed\n")
    for arguments in (SAME, DIFFERENT):
        run(*arguments)
    record = only_json(run("store", "--stats", "--json")[1])
    (answers,) = record["answers"]
    assert (answers["solver"], answers["outcome"]) == (identity("bitwuzla"), "unsat")
    count = answers["answers"]
    assert count >= 2
    assert answers["seconds"] >= 0
    assert (record["witnesses"], record["proofs"], record["bytes"]) == (1, 1, path.stat().st_size)
    status, out, _ = run("store")
    assert (status, out.splitlines()[0]) == (
        0,
        f"{path}: {path.stat().st_size} bytes, 1 witnesses and 1 proofs of questions",
    )
    assert out.splitlines()[-1].split()[:4] == ["bitwuzla", identity("bitwuzla")["version"], "unsat", str(count)]
    cleared = only_json(run("store", "--clear", "--store", path, "--json")[1])
    assert cleared == {"store": str(path), "removed": {"answers": count, "witnesses": 1, "proofs": 1}}
    assert run("store")[1].endswith("no answers of solvers\n")
