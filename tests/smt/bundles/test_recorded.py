"""What a journal of a proof notes is proved and refuted: a lemma that is not is unknown, and no part of the proof."""

import pytest
from pysmt.environment import Environment
from support.in_this_process import InAnyEnvironment, unanswered

from mmaproof.smt.bundles.writing import TRIED, Refutations
from mmaproof.smt.proving.journal import Proved, Related
from mmaproof.smt.proving.kernel import Stated
from mmaproof.smt.proving.kernel import asserted as of_lemma
from mmaproof.smt.proving.lemma import Formula, Lemmas
from mmaproof.smt.proving.staged import StagedTerms
from mmaproof.smt.proving.staged_lemmas import MAGNITUDE, Samples
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.bundle import _refuted

LIMITS = Limits(100, 4 << 30)


class Never:
    """A SAT solver that refutes nothing in its time."""

    def refute(self, clauses, limits):
        raise NotRefutedError("made up")


def test_trying_all_values_refutes_what_nothing_satisfies_alone():
    _, m, x, y = journal()
    refutations = Refutations(Never(), LIMITS)
    never = m.Not(m.Equals(m.BVSub(x, x), m.BV(0, 4)))
    sometimes = m.Not(m.Equals(m.BVSub(x, y), m.BV(0, 4)))
    assert refutations.of(Query.all_of([never]))[1] is TRIED
    for asserted in ([sometimes], [m.BVULE(x, y), m.BVULE(y, x)]):
        with pytest.raises(NotRefutedError):
            refutations.of(Query.all_of(asserted))
    asked = m.Not(m.Equals(m.BVSub(y, y), m.BV(0, 4)))
    assert refutations.of(Query.all_of([asked]))[1] is TRIED


class Refuted:
    """Refutes everything, or nothing."""

    def __init__(self, refutes):
        self.refutes, self.asked = refutes, []

    def of(self, query, seconds):
        self.asked.append(query)
        if not self.refutes:
            raise NotRefutedError("made up")


def journal(ask=None):
    environment = Environment()
    lemmas = Lemmas(InAnyEnvironment().ask if ask is None else ask, LIMITS, worked(), environment)
    m = environment.formula_manager
    x, y = (m.Symbol(n, environment.type_manager.BVType(4)) for n in "xy")
    return lemmas, m, x, y


def said(lemmas, claim, assumption=None):
    return lemmas.ask("stage", "relation", claim, assumption, seconds=50.0)


def test_what_is_proved_is_noted():
    lemmas, m, x, y = journal()
    claim = m.Equals(m.BVAdd(x, y), m.BVAdd(y, x))
    assert said(lemmas, claim) is Status.PROVED
    assert lemmas.entries == [Proved("stage: relation", claim, None)]


def test_a_leaf_of_a_proof_is_what_was_asked_before():
    asked = []

    def ask(formula, symbols, /, *, limits):
        asked.append(formula)
        return InAnyEnvironment().ask(formula, symbols, limits=limits)

    lemmas, m, x, y = journal(ask)
    claim = m.BVULE(x, y)
    assert said(lemmas, claim, m.BVULT(x, y)) is Status.PROVED
    leaf = Stated.of(of_lemma(claim, [m.BVULT(x, y)], lemmas._environment), "a leaf")
    assert lemmas.refute(leaf, None)
    assert len(asked) == 1
    with pytest.raises(NotRefutedError):
        lemmas.refute(Stated.of((m.BVULE(x, y),), "another leaf"), None)
    assert len(asked) == 2


@pytest.mark.parametrize("by_laws", [False, True])
def test_what_has_no_refutation_is_unknown(by_laws):
    """An equation may follow by laws, which whoever composes the proof has to find; nothing else may."""
    for refutes in (True, False):
        lemmas, m, x, y = journal(_refuted(InAnyEnvironment().ask, Refuted(refutes), by_laws=by_laws))
        known = Status.PROVED if refutes else Status.UNKNOWN
        assert said(lemmas, m.BVULE(m.BVAnd(x, y), x)) is known
        equation = m.Equals(m.BVAdd(x, y), m.BVAdd(y, x))
        assert said(lemmas, equation) is (Status.PROVED if by_laws else known)
        assert said(lemmas, m.BVULE(x, y)) is Status.REFUTED


def test_what_is_not_proved_is_not_noted():
    lemmas, m, x, y = journal()
    assert said(lemmas, m.BVULE(x, y)) is Status.REFUTED
    assert said(lemmas, m.BVULE(x, y), m.BVULT(x, y)) is Status.PROVED
    refutations = Refuted(True)
    unknown, m, x, y = journal(_refuted(lambda *_, limits: unanswered(), refutations))
    assert said(unknown, m.Equals(x, m.BVXor(x, m.BVXor(y, y)))) is Status.UNKNOWN
    assert (len(lemmas.entries), unknown.entries, refutations.asked) == (1, [], [])


def test_a_relation_that_is_not_proved_is_no_fact():
    lemmas, m, x, y = journal()
    samples = Samples([{"x": 1, "y": 2}])
    terms = StagedTerms(lemmas, samples, Formula((x, y), None, m.TRUE(), lemmas._environment))
    for claim, holds in ((m.BVULE(x, y), False), (m.BVULE(m.BVAnd(x, y), x), True)):
        assert terms._is_fact(MAGNITUDE, "made up", x, m.BVULE(x, y), claim) == holds
        assert [e for e in lemmas.entries if isinstance(e, Related)] == [Related(m.BVULE(x, y), claim)] * holds
