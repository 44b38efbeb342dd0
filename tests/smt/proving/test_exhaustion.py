"""Trying all values decides as a solver does, for every operator and in any number of blocks."""

import itertools
from dataclasses import replace

import pytest
from pysmt.environment import Environment
from pysmt.typing import BVType
from support.in_this_process import InAnyEnvironment
from support.random_queries import multipliers, random_query

from mmaproof.smt.proving import exhaustion
from mmaproof.smt.proving.exhaustion import (
    Cone,
    CountedGates,
    decide_by_exhaustion,
    satisfying,
    small_ones_first,
    try_all_values,
)
from mmaproof.smt.solving.cnf import circuit_of
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.query import BY_NAME, SYMBOL, TRUTH, Node, Query, Typing
from mmaproof.smt.solving.solving import Certify
from mmaproof.smt.solving.verdict import (
    Outcome,
    Reply,
    SolverIdentity,
    SolversDisagree,
    UnsupportedFormulaError,
    WitnessDoesNotReplay,
)

LIMITS = Limits(60, 2 << 30)


def models(query):
    """The values that satisfy a query, as the circuit has it. Bits that do not matter take every value."""
    gates = CountedGates(10**6)
    root, symbols = circuit_of(query, gates)
    cone = Cone.of(root, gates)
    others = sorted({x for word in symbols.values() for x in word} - set(cone.inputs))
    found = []
    for values in satisfying(cone):
        for rest in itertools.product((False, True), repeat=len(others)):
            true = {**values, **dict(zip(others, rest, strict=True))}
            found.append(tuple(sum(true[x] << i for i, x in enumerate(word)) for word in symbols.values()))
    assert len(found) == len(set(found))
    return set(found)


def require_all_models(query):
    """Compare with the evaluation on integers, for all values."""
    spans = [range(1 << max(1, width)) for width in query.symbols.values()]
    expected = {
        values for values in itertools.product(*spans) if query.evaluate(dict(zip(query.symbols, values, strict=True)))
    }
    wrong = models(query) ^ expected
    # not a comparison of sets: pytest would look for the difference of their texts, which takes an hour where CI is set
    assert not wrong


@pytest.fixture
def in_blocks(monkeypatch):
    """Two words at a time: 128 assignments."""
    monkeypatch.setattr(exhaustion, "_words_of_block", lambda words, places: min(words, 2))


SHAPES = {
    Typing.CONNECTIVE: ((0, 0, 0), ()),
    Typing.CONCAT: ((1, 3), ()),
    Typing.EXTRACT: ((5,), (3, 1)),
    Typing.ROTATE: ((4,), (3,)),
    Typing.EXTEND: ((3,), (2,)),
    Typing.CHOOSE: ((0, 3, 3), ()),
}


@pytest.mark.few(14)
@pytest.mark.parametrize("name", BY_NAME)
def test_every_operator_has_its_models(name, in_blocks):
    operator = BY_NAME[name]
    widths, indices = SHAPES.get(operator.typing, ((3, 3), ()))
    widths = widths[: operator.arity]
    nodes = [Node(SYMBOL, width, name=f"x{n}") for n, width in enumerate(widths)]
    width = operator.result_width(widths, indices)
    nodes += [Node(name, width, indices, tuple(range(len(widths)))), Node(SYMBOL, width, name="r")]
    same = "iff" if width == TRUTH else "="
    require_all_models(Query((*nodes, Node(same, TRUTH, (), (len(nodes) - 2, len(nodes) - 1)))))


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(20))
def test_random_formulas_have_their_models(seed, in_blocks):
    require_all_models(random_query(seed))
    require_all_models(random_query(seed, (1, 2), 12))


def _lose_negations(monkeypatch):
    monkeypatch.setattr(exhaustion._Steps, "_at", lambda self, literal: self._stored[abs(literal)])


def _release_at_once(monkeypatch):
    def release(self, variable):
        self._free.append(self._stored[variable].place)

    monkeypatch.setattr(exhaustion._Steps, "_release", release)


def _leave_a_pattern_out(monkeypatch):
    monkeypatch.setattr(exhaustion, "_PATTERNS", (*exhaustion._PATTERNS[:5], 0))


def _forget_the_block(monkeypatch):
    right = exhaustion._Program.satisfying
    monkeypatch.setattr(exhaustion._Program, "satisfying", lambda self, block: right(self, 0))


def _leave_the_last_block_out(monkeypatch):
    right = exhaustion._Program.__init__

    def init(self, cone):
        right(self, cone)
        self.blocks = max(1, self.blocks - 1)

    monkeypatch.setattr(exhaustion._Program, "__init__", init)


def _drop_an_operand(monkeypatch):
    right = exhaustion._Steps._conjunction
    monkeypatch.setattr(exhaustion._Steps, "_conjunction", lambda self, x: right(self, x[:2]))


def _swap_a_choice(monkeypatch):
    right = exhaustion._Steps._choice
    monkeypatch.setattr(exhaustion._Steps, "_choice", lambda self, c, x, y: right(self, c, y, x))


def _choose_as_if_stored_alike(monkeypatch):
    right = exhaustion._Steps._choice
    monkeypatch.setattr(
        exhaustion._Steps, "_choice", lambda self, c, x, y: right(self, c, x, replace(y, negated=x.negated))
    )


def _call_a_disjunction_a_conjunction(monkeypatch):
    right = exhaustion._Steps._conjunction
    monkeypatch.setattr(exhaustion._Steps, "_conjunction", lambda self, x: replace(right(self, x), negated=False))


@pytest.mark.parametrize(
    "mutant",
    [
        _lose_negations,
        _release_at_once,
        _leave_a_pattern_out,
        _forget_the_block,
        _leave_the_last_block_out,
        _drop_an_operand,
        _swap_a_choice,
        _choose_as_if_stored_alike,
        _call_a_disjunction_a_conjunction,
    ],
)
def test_a_wrong_evaluator_is_found_out(mutant, monkeypatch, in_blocks):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        for seed in range(20):
            require_all_models(random_query(seed))


def test_a_multiplier_of_eleven_by_eleven_bits_is_proved_and_one_without_a_carry_is_refuted():
    environment, claim = multipliers(11)
    reply = decide_by_exhaustion(claim, environment=environment)
    assert reply is not None
    assert (reply.outcome, reply.solver.name) == (Outcome.UNSAT, "exhaustion")
    environment, claim = multipliers(11, wrong=7)
    reply = decide_by_exhaustion(claim, environment=environment)
    assert reply is not None
    assert reply.outcome is Outcome.SAT
    assert Query.of(environment.formula_manager.Not(claim)).evaluate(reply.model)


def test_an_assumption_is_used():
    environment = Environment()
    m = environment.formula_manager
    x = m.Symbol("x", BVType(8))
    below, sum_below = m.BVULT(x, m.BV(100, 8)), m.BVULT(m.BVAdd(x, x), m.BV(200, 8))
    assert decide_by_exhaustion(sum_below, below, environment=environment).outcome is Outcome.UNSAT
    assert decide_by_exhaustion(sum_below, environment=environment).model == {"x": 100}
    assert decide_by_exhaustion(m.TRUE(), environment=environment).outcome is Outcome.UNSAT
    assert decide_by_exhaustion(m.FALSE(), environment=environment).model == {}
    p = m.Symbol("p")
    assert decide_by_exhaustion(p, environment=environment).model == {"p": 0}
    with pytest.raises(UnsupportedFormulaError):
        decide_by_exhaustion(m.LT(m.Int(1), m.Symbol("n", environment.type_manager.INT())), environment=environment)


def test_only_bits_that_matter_are_counted():
    environment = Environment()
    m = environment.formula_manager
    x, y = (m.Symbol(name, BVType(100)) for name in "xy")
    low = m.Equals(m.BVExtract(x, 3, 9), m.BVExtract(y, 40, 46))
    assert decide_by_exhaustion(low, most_bits=14, environment=environment).model == {"x": 8, "y": 0}
    assert decide_by_exhaustion(low, most_bits=13, environment=environment) is None
    assert decide_by_exhaustion(m.Equals(x, y), environment=environment) is None
    environment, claim = multipliers(8)
    assert decide_by_exhaustion(claim, most_work=1 << 10, environment=environment) is None


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(30))
def test_it_agrees_with_a_solver(seed):
    query = random_query(seed, (5, 6, 4, 2, TRUTH), 40)
    environment = Environment()
    formula = query.formula(environment.formula_manager)
    tried = try_all_values(query)
    assert tried is not None
    assert tried.outcome is InAnyEnvironment().ask(formula, (), limits=LIMITS).outcome
    assert tried.model is None or query.evaluate(tried.model)


def test_a_model_that_does_not_replay_is_an_internal_error(monkeypatch):
    monkeypatch.setattr(exhaustion, "satisfying", lambda cone: iter([{}]))
    environment = Environment()
    with pytest.raises(WitnessDoesNotReplay):
        decide_by_exhaustion(*multipliers(3)[1:], environment=environment)


class _Recording:
    """A solver that says one thing, and what it was asked."""

    def __init__(self, outcome, certify=None):
        reason = "timeout: late" if outcome is Outcome.UNKNOWN else None
        model = {} if outcome is Outcome.SAT else None
        self.reply = Reply(outcome, SolverIdentity("other", "1"), 0.0, model, reason)
        self.certify, self.asked = certify, 0

    def ask(self, formula, symbols, /, *, limits):
        self.asked += 1
        return self.reply


def test_a_solver_is_asked_what_is_too_large_and_what_is_to_be_certified(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    environment = Environment()
    m = environment.formula_manager
    x, wide = m.Symbol("x", BVType(4)), m.Symbol("wide", BVType(40))
    never, large = m.BVULT(x, x), m.BVULT(wide, m.BVAdd(wide, wide))
    for formula, certify, asked, name in (
        (never, None, 0, "exhaustion"),
        (never, Certify.PROOF, 1, "other"),
        (large, None, 1, "other"),
        (m.BVULT(x, m.BV(1, 4)), Certify.SOLVER, 0, "exhaustion"),
    ):
        solver = _Recording(Outcome.UNSAT, certify)
        reply = small_ones_first(solver)(formula, (x, wide), limits=LIMITS)
        assert (solver.asked, reply.solver.name) == (asked, name)
        assert reply.model in (None, {"x": 0, "wide": 0})
    with pytest.raises(SolversDisagree):
        small_ones_first(_Recording(Outcome.SAT, Certify.PROOF))(never, (), limits=LIMITS)


def test_what_is_not_cheap_is_tried_after_a_solver_gave_up():
    environment, claim = multipliers(8)
    violation = environment.formula_manager.Not(claim)
    for outcome, name in ((Outcome.UNSAT, "other"), (Outcome.UNKNOWN, "exhaustion")):
        solver = _Recording(outcome)
        assert try_all_values(Query.of(violation), most_work=exhaustion.CHEAP_WORK >> 8) is None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exhaustion, "CHEAP_WORK", exhaustion.CHEAP_WORK >> 8)
            reply = small_ones_first(solver)(violation, (), limits=LIMITS)
        assert (solver.asked, reply.solver.name, reply.outcome) == (1, name, Outcome.UNSAT)


def test_the_arrays_are_as_long_as_the_cache_allows():
    assert exhaustion._words_of_block(1, 5) == 1
    assert exhaustion._words_of_block(1 << 18, 10) == 4096
    assert exhaustion._words_of_block(1 << 18, 10**6) == 1024
