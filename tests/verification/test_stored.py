"""Witnesses and proofs in a store: found for the same question, and believed only where that is right."""

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from support.deciding import proof_if

from mmaproof.designs.catalogue import find_design
from mmaproof.gemm.answers.compare import compare_plans
from mmaproof.gemm.programs import read_plan
from mmaproof.properties import equivalence
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.property import Joined, LemmaVerdict, QuestionVerdict, Recalled
from mmaproof.smt.proving.exhaustion import exhaustion
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Certify, Solving
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import SolverIdentity, Status
from mmaproof.verification import search as searching
from mmaproof.verification import strategies
from mmaproof.verification.compare import compare
from mmaproof.verification.search import SOURCES, Budget, Means
from mmaproof.verification.strategies import answer

ROOT = Path(__file__).parents[2]
VOLTA, TURING = find_design("volta/f32.f16.f16.f32"), find_design("turing/f32.f16.f16.f32")
SCALED = find_design("blackwell/block16.f32.e2m1.e2m1.ue4m3@L=16")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.sqlite"


@pytest.fixture
def no_search(monkeypatch):
    def search(*_, **__):
        raise AssertionError("there is nothing to search for")

    monkeypatch.setattr(strategies, "search", search)


@pytest.mark.parametrize(
    "pair",
    [(VOLTA, TURING), pytest.param((SCALED, SCALED.change(fraction_bits=20)), marks=pytest.mark.middle)],
    ids=["plain", "with scales"],
)
def test_a_witness_is_found_again(path, pair, monkeypatch):
    enough = {"simplifying": 100, "preferring": 100}  # so that no clock ends it
    first = compare(*pair, solver=Solving(store=path), seed=3, limits=300, **enough)
    assert (first.status, first.origin.split()[0]) == (Status.REFUTED, "search")
    monkeypatch.setattr(strategies, "search", None)
    again = compare(*pair, solver=Solving(store=path), limits=300, **enough)
    assert (again.status, again.witness, again.outputs) == (first.status, first.witness, first.outputs)
    assert again.origin == f"the store: {first.origin}"


def test_the_witness_of_a_solver_is_found_again(path, no_search):
    first = compare(VOLTA, TURING, solver=Solving(store=path), budget=None)
    assert first.origin.startswith("bitwuzla ")
    again = compare(VOLTA, TURING, solver=Solving(store=path))
    assert (again.witness, again.origin) == (first.witness, f"the store: {first.origin}")


@pytest.mark.middle
@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"k": 16}, marks=pytest.mark.middle),
        pytest.param({"nan_codes": True}, marks=pytest.mark.middle),
        {"first": VOLTA.change(fraction_bits=22)},
        pytest.param({"second": TURING.change(fraction_bits=25)}, marks=pytest.mark.middle),
    ],
)
def test_another_question_is_another_question(path, other):
    def asked(first=VOLTA, second=TURING, **options):
        return compare(first, second, solver=Solving(store=path), **options)

    asked()
    assert asked(**other).origin.startswith("search ")


EIGHT = '["0x0000","0x0000","0x0000","0x0000","0x0000","0x0000","0x0000","0x0000"]'


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text",
    [
        f'{{"a": {EIGHT}, "b": {EIGHT}, "c": ["0x00000000"]}}',
        pytest.param(f'{{"a": {EIGHT}, "b": {EIGHT}, "c": []}}', marks=pytest.mark.middle),
        pytest.param(f'{{"a": {EIGHT}, "b": {EIGHT}}}', marks=pytest.mark.middle),
        pytest.param(f'{{"a": {EIGHT}, "b": ["0x0000"], "c": ["0x00000000"]}}', marks=pytest.mark.middle),
        pytest.param(f'{{"a": {EIGHT}, "b": {EIGHT}, "c": ["0x100000000"]}}', marks=pytest.mark.middle),
        pytest.param(f'{{"a": {EIGHT}, "b": {EIGHT}, "c": 7}}', marks=pytest.mark.middle),
        pytest.param("[]", marks=pytest.mark.middle),
        "not JSON",
    ],
)
def test_stored_operands_that_refute_nothing_are_replaced(path, text):
    first = compare(VOLTA, TURING, solver=Solving(store=path))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE witnesses SET operands = ?", (text,))
    connection.close()
    again = compare(VOLTA, TURING, solver=Solving(store=path))
    assert (again.status, again.witness, again.origin.split()[0]) == (Status.REFUTED, first.witness, "search")
    assert compare(VOLTA, TURING, solver=Solving(store=path)).origin.startswith("the store: ")


def test_a_question_without_a_key_is_answered_and_not_stored(path):
    class Odd(Equivalence):
        key = None

    question = Odd(VOLTA, TURING)
    means = Means(Solving(store=path), Limits(60.0, 4 << 30), Budget())
    assert answer(question, VOLTA, means).status is Status.REFUTED
    assert Store(path).contents() == ([], 0, 0)


EQUAL = (VOLTA, VOLTA.change(adder="carry-save"))


def test_a_proof_is_found_again_before_a_search(path, monkeypatch):
    first = compare(*EQUAL, solver=Solving(store=path))
    assert first.status is Status.PROVED
    assert "stored" not in first.origin
    assert first.lemmas
    monkeypatch.setattr(strategies, "search", None)
    monkeypatch.setattr(strategies.Case, "decide", None)
    again = compare(*EQUAL, solver=Solving(store=path))
    assert again.status is Status.PROVED
    assert (again.solver, again.stored) == (first.solver, first.seconds)
    assert [(x.name, x.stage) for x in again.lemmas] == [(x.name, x.stage) for x in first.lemmas]
    assert again.origin == f"{first.solver} (stored; {first.seconds:.2f} s then), {len(first.lemmas)} lemmas"


def test_that_two_units_are_one_computation_is_proved_once(path, monkeypatch):
    same = VOLTA, replace(VOLTA, architecture="another")
    first = compare(*same, solver=Solving(store=path))
    assert (first.origin, first.solver, first.theorem is None) == (strategies.BY_IDENTITY, None, False)
    monkeypatch.setattr(strategies.Case, "joined", None)
    again = compare(*same, solver=Solving(store=path))
    assert (again.origin, again.solver, again.proof) == (strategies.BY_IDENTITY, None, Recalled())
    assert (again.status, again.stored) == (Status.PROVED, first.seconds)
    monkeypatch.undo()
    # what must be certified has its theorem
    certified = compare(*same, solver=Solving(certify=Certify.SOLVER, store=path))
    assert certified.theorem is not None


def test_a_theorem_whose_leaves_a_solver_refuted_is_not_one_without_a_solver(path):
    plans = (read_plan(x) for x in ("cpu/vpdpbusd", "cpu/vpdpbusd | split-k=2"))
    found = compare_plans(*plans, k=16, limits=Limits(60, 4 << 30), solver=Solving(store=path)).answer
    assert {x.refuted_by for x in found.theorem.leaves} > {str(exhaustion())}
    assert found.solver is None
    assert Store(path).contents()[2] == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("why", ["other sources", "another solver", "certified"])
def test_a_proof_that_does_not_count_is_made_again(path, monkeypatch, why):
    compare(*EQUAL, solver=Solving(store=path))
    if why == "other sources":
        monkeypatch.setattr(searching, "digest_of_sources", lambda *_: "others")
    solver, certify = (
        ("cvc5" if why == "another solver" else "bitwuzla"),
        Certify.SOLVER if why == "certified" else None,
    )
    means = Solving(solver, certify=certify, store=path)
    assert searching.stored_proof(means, Equivalence(*EQUAL)) is None
    assert searching.stored_proof(Solving(store=path), Equivalence(*EQUAL, k=8)) is None
    monkeypatch.undo()
    assert searching.stored_proof(Solving(store=path), Equivalence(*EQUAL)) is not None


@pytest.mark.parametrize("status", [Status.UNKNOWN, Status.VACUOUS])
def test_only_proofs_are_kept(path, status):
    question, reason = Equivalence(*EQUAL), "timeout" if status is Status.UNKNOWN else None
    solver = SolverIdentity("bitwuzla", "1")
    searching.store_proof(
        path, QuestionVerdict(status, 1.0, reason, solver=solver, question=question, proof=proof_if(status))
    )
    searching.store_proof(
        path, QuestionVerdict(Status.PROVED, 1.0, question=question, proof=Joined())
    )  # by no solver: it is found at once
    assert Store(path).contents() == ([], 0, 0)


def test_a_lemma_that_failed_is_no_part_of_a_proof(path):
    solver = SolverIdentity("bitwuzla", "1")
    lemmas = tuple(
        LemmaVerdict(x, 1.0, None if x is Status.PROVED else "timeout", solver=solver, name=x.name)
        for x in (Status.PROVED, Status.UNKNOWN)
    )
    question = Equivalence(*EQUAL)
    searching.store_proof(
        path, QuestionVerdict(Status.PROVED, 1.0, solver=solver, question=question, lemmas=lemmas, proof=Joined())
    )
    (kept,) = Store(path).proofs(question.own_key, searching.digest_of_sources(*searching.SOURCES))
    assert kept.lemmas == ()
    other = replace(lemmas[0], solver=SolverIdentity("z3", "1"))
    mixed = Equivalence(*EQUAL, nan_codes=True)
    searching.store_proof(
        path, QuestionVerdict(Status.PROVED, 1.0, solver=solver, question=mixed, lemmas=(other,), proof=Joined())
    )
    assert Store(path).contents()[2] == 1


def test_a_proof_says_that_it_was_stored(path, monkeypatch):
    # on a busy machine a short limit may pass before the first answer, and not before the second
    monkeypatch.setattr(strategies, "AT_ONCE", 60.0)
    designs = [find_design(x) for x in ("cpu/vpdpbusd", "cpu/vpdpbusd@L=2")]

    def asked():
        found = compare(*designs, solver=Solving(store=path), budget=Budget(rows=64))
        assert found.status is Status.PROVED
        return found.origin

    assert "stored" not in asked()
    assert " (stored; " in asked()


def test_a_stored_proof_is_of_all_sources_that_decide():
    """What the room that decides imports, and what that imports in turn; pictures and their text decide nothing."""
    folders, pending = set(), ["verification"]
    while pending:
        folder = pending.pop()
        if folder in folders or folder == "explain":
            continue
        folders.add(folder)
        for path in (ROOT / folder).rglob("*.py"):
            pending += re.findall(r"^ *from mmaproof\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert folders <= set(SOURCES)
    assert {"designs", "smt", "properties"} <= folders


def test_a_stored_witness_is_evaluated_once(monkeypatch, tmp_path):
    """Both designs compute d when it is confirmed, and not again when it is shown; other operands are computed anew."""
    solving = Solving(store=tmp_path / "s.sqlite")
    first, second = (find_design(x) for x in ("volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"))
    found = compare(first, second, solver=solving)
    results, count = found.computed(), []
    evaluated = equivalence.dot_product_accumulate
    monkeypatch.setattr(equivalence, "dot_product_accumulate", lambda *x: count.append(x) or evaluated(*x))
    again = compare(first, second, solver=solving, preferring=0)
    assert (again.computed(), len(count)) == (results, 2)
    question, zeros = again.question, replace(again.witness, a=(0,) * len(again.witness.a), c=0)
    assert not question.is_refuted_by(zeros)
    assert question.is_refuted_by(again.witness)
    assert len(count) == 6
