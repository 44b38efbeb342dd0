"""A proof net by net is one only if the result is proved to be as claimed, and the laws that were used are proved."""

from dataclasses import replace

import pytest
from pysmt.environment import Environment
from support.in_this_process import InAnyEnvironment, unanswered

from mmaproof.designs.formats import FORMATS
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.proving.netlists import prove_netlist
from mmaproof.smt.solving.limits import Limits

LIMITS = Limits(60, 4 << 30)
WIDTH = 6
ASK = InAnyEnvironment().ask


def proof(netlist, ask=ASK, rows=40):
    """The proof that a netlist of three words is their sum; the netlist is a function of the manager and the words."""
    environment = Environment()
    algebra, m = TermAlgebra(environment), environment.formula_manager
    words = [algebra.symbol(f"a{i}", WIDTH) for i in range(3)]
    symbols = tuple(w.data for w in words)
    samples = [{"a0": 7 * i % 64, "a1": 11 * i % 64, "a2": 5 * i % 64} for i in range(rows)]

    def claim(model, begin):
        total = model.signal(
            Signal(SignalKind.SUM), model.modular_sum([model.twos_complement(w) for w in words], WIDTH)
        )
        begin()
        found = model.on_net("net", Word(netlist(m, *symbols), WIDTH, False, model))
        return Truth(m.Equals(found.data, total.data), model)

    question = Formula(symbols, None, m.TRUE(), environment)
    return prove_netlist(question, claim, {}, FORMATS["int32"], samples, ask, LIMITS)


def another_order(m, x, y, z):
    return m.BVAdd(m.BVAdd(z, x), y)


def without_one(m, x, y, z):
    return m.BVAdd(z, x)


def nearly(m, x, y, z):
    """Another sum for one assignment, which is not a sample."""
    here = m.And([m.Equals(w, m.BV(63, WIDTH)) for w in (x, y, z)])
    return m.Ite(here, x, another_order(m, x, y, z))


def without_laws(formula, symbols, /, *, limits):
    """Answer what is not a law, whose words are x, y and z."""
    environment = Environment()
    names = {x.symbol_name() for x in environment.fvo.get_free_variables(formula)}
    return unanswered() if any(n.startswith("x_") for n in names) else ASK(formula, symbols, limits=limits)


def test_a_sum_in_another_order_is_proved():
    found = proof(another_order)
    assert found.proved and any(x.stage == "laws" for x in found.lemmas)


@pytest.mark.parametrize("netlist", [without_one, nearly])
def test_another_result_is_not_proved(netlist):
    assert not proof(netlist).proved


def test_nothing_is_proved_without_its_laws():
    assert not proof(another_order, without_laws).proved


def test_nothing_is_proved_in_no_time():
    def late(formula, symbols, /, *, limits):
        return replace(unanswered(), reason="timeout: late")

    assert not proof(another_order, late).proved


def test_where_no_sample_meets_the_precondition_no_netlist_is_proved():
    proof = prove_netlist(None, None, {}, None, [], None, Limits(1, 1 << 30))
    assert not proof.proved
    assert "no sample meets the precondition" in proof.reason
