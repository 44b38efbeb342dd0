"""Formulas are kept in the environment that is given, or in the default one of the thread; nothing fetches another."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pysmt.environment import Environment, get_env
from support.in_this_process import InThisProcess

import mmaproof
from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library.symmetry import OrderIndependence
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.terms import TermAlgebra, default_environment
from mmaproof.smt.proving.laws import LawfulTerms
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.proving.staged import prove_by_stages
from mmaproof.smt.proving.staged_lemmas import Samples
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.query import Query, width_of
from mmaproof.verification.stages import by_stages

LIMITS = Limits(3600, 2 << 30)
DESIGN = find_design("volta/f32.f16.f16.f32@L=2")


def kept(environment):
    return len(environment.formula_manager.formulae)


def test_terms_are_kept_in_the_environment_that_is_given():
    given, before = Environment(), kept(get_env())
    for algebra in (TermAlgebra(given), LawfulTerms(given)):
        x = algebra.symbol("environment_x", 8)
        assert ((x + 3) * x < x).data in given.formula_manager
        assert Query.of((x < 3).data).symbols == {"environment_x": 8}
    assert kept(get_env()) == before


def test_a_staged_proof_stays_in_the_environment_of_its_question():
    given, before = Environment(), kept(get_env())
    algebra = TermAlgebra(given)
    x = algebra.symbol("environment_x", 6)
    question = Formula((x.data,), (x < 16).data, algebra.truth(True).data, given)

    def claim(terms):
        word = terms.symbol("environment_x", 6)
        low, high = (terms.signal("moved", terms.signal("kept", word + n)) for n in (1, 2))
        return low < high

    samples = Samples([{"environment_x": n} for n in range(16)])
    assert prove_by_stages(question, claim, samples, in_environment(given), LIMITS).proved
    assert kept(get_env()) == before


def in_environment(given):
    def ask(formula, symbols, /, *, limits):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("support.in_this_process.default_environment", lambda: given)
            return InThisProcess().ask(formula, symbols, limits=limits)

    return ask


def test_every_thread_has_an_environment_of_its_own():
    with ThreadPoolExecutor(2) as pool:
        others = list(pool.map(lambda _: (default_environment(), default_environment()), range(2)))
    assert default_environment() is get_env()
    for first, second in others:
        assert first is second
        assert first is not get_env()


def test_threads_prove_at_the_same_time_without_a_lock(monkeypatch):
    """Eight staged proofs in four threads, which share no term: every one succeeds as it does alone."""
    # threads that wait for each other, or for a busy machine, are not to run out of time
    monkeypatch.setattr("support.in_this_process.MOST_SECONDS", 3600.0)

    def proved(_):
        question = OrderIndependence().question(DESIGN, Scope())
        proof = by_stages(question, DESIGN, InThisProcess().ask, LIMITS, seed=0)
        return proof.proved, [(x.stage, x.relation, x.status, x.uses) for x in proof.lemmas]

    alone, before = proved(None), kept(get_env())
    assert alone[0]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(proved, range(8))) == [alone] * 8
    assert kept(get_env()) == before


def test_the_violation_of_a_formula_is_its_precondition_and_not_its_claim():
    algebra = TermAlgebra(Environment())
    x, m = algebra.symbol("environment_x", 8), algebra.environment.formula_manager
    pre, claim = (x < 9).data, (x < 10).data
    assert Formula((x.data,), pre, claim, algebra.environment).violation is m.And(pre, m.Not(claim))
    assert Formula((x.data,), None, claim, algebra.environment).violation is m.Not(claim)


def test_the_width_of_a_term_needs_no_environment():
    algebra = TermAlgebra(Environment())
    x, y = algebra.symbol("environment_x", 8), algebra.symbol("environment_y", 8)
    chosen = algebra.ite(x < y, algebra.ite(x.bit(0), x, y), x)
    words = (x, x + y, -x, x * y, x << 3, x.extract(3, 1), x.extend(11), chosen, algebra.unsigned(5, 4))
    assert [width_of(w.data) for w in words] == [w.width for w in words]
    truths = (x < y, x == y, ~x.bit(0), (x < y) & x.bit(1), algebra.truth(True))
    assert {width_of(t.data) for t in truths} == {0}


def test_one_place_fetches_the_environment_of_pysmt():
    root, fetches = Path(mmaproof.__file__).parent, re.compile(r"\bget_env\b|pysmt\.shortcuts")
    methods = re.compile(r"\.(get_free_variables|get_type|get_atoms|simplify|substitute|serialize)\(")
    found = set()
    for folder in sorted(x for x in root.iterdir() if x.is_dir()):
        for path in folder.resolve().rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if fetches.search(text) or methods.search(re.sub(r"environment\.\w+\.\w+\(", "", text)):
                found.add(f"{folder.name}/{path.relative_to(folder.resolve()).as_posix()}")
    assert found == {"smt/algebra/terms.py"}
