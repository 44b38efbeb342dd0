"""Trying all values word by word decides as integers do, and confirms or contradicts what is tried bit by bit."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pysmt.environment import Environment
from pysmt.typing import BVType
from support.random_queries import multipliers, random_query

from mmaproof.smt.proving import columns, exhaustion, word_enumeration
from mmaproof.smt.proving.columns import FAST
from mmaproof.smt.proving.exhaustion import small_ones_first, try_all_values
from mmaproof.smt.proving.word_enumeration import _Inputs, _satisfying, enumerate_words
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.query import BY_NAME, SYMBOL, TRUTH, Node, Query, Typing
from mmaproof.smt.solving.solving import Certify, Solving
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity, SolversDisagree, WitnessDoesNotReplay

LIMITS = Limits(60, 2 << 30)
COVERED = tuple(BY_NAME[name] for name in FAST)
SHAPES = {
    Typing.CONNECTIVE: ((0, 0, 0), ()),
    Typing.CONCAT: ((1, 3), ()),
    Typing.EXTRACT: ((5,), (3, 1)),
    Typing.EXTEND: ((3,), (2,)),
    Typing.CHOOSE: ((0, 3, 3), ()),
}


def require_all_models(query):
    """Compare the assignments that satisfy a query with the evaluation on integers, for all values of all symbols."""
    inputs = _Inputs.of(query)
    found = [tuple(inputs.model(number).values()) for number in _satisfying(query, inputs)]
    assert len(set(found)) == len(found)
    known = set(found)
    read = [sum(1 << i for i in inputs.positions[p]) for p in inputs.names]
    spans = [range(1 << max(1, width)) for width in query.symbols.values()]
    for values in itertools.product(*spans):
        is_found = tuple(x & bits for x, bits in zip(values, read, strict=True)) in known
        assert query.evaluate(dict(zip(query.symbols, values, strict=True))) is is_found


def of_operator(name, bits=3):
    """The query whether a result of an operator is that of a symbol."""
    operator = BY_NAME[name]
    widths, indices = SHAPES.get(operator.typing, ((bits, bits), ()))
    widths = widths[: operator.arity]
    nodes = [Node(SYMBOL, width, name=f"x{n}") for n, width in enumerate(widths)]
    width = operator.result_width(widths, indices)
    nodes += [Node(name, width, indices, tuple(range(len(widths)))), Node(SYMBOL, width, name="r")]
    same = "iff" if width == TRUTH else "="
    return Query((*nodes, Node(same, TRUTH, (), (len(nodes) - 2, len(nodes) - 1))))


@pytest.fixture
def in_blocks(monkeypatch):
    """Eight assignments at a time."""
    monkeypatch.setattr(word_enumeration, "BLOCK_BITS", 3)


@pytest.mark.few(14)
@pytest.mark.parametrize("name", FAST)
def test_every_operator_has_its_models(name, in_blocks):
    require_all_models(of_operator(name))


@pytest.mark.parametrize("name", [n for n in FAST if BY_NAME[n].typing in (Typing.SAME, Typing.RELATION)])
def test_every_operator_is_right_in_words_of_64_bits(name):
    operator, ends = BY_NAME[name], (0, 1, 2, 63, 64, 65, 1 << 63, (1 << 63) - 1, (1 << 64) - 2, (1 << 64) - 1)
    rows = list(itertools.product(ends, repeat=operator.arity))
    columns = [np.array(x, dtype=np.uint64) for x in zip(*rows, strict=True)]
    widths = [64] * operator.arity
    kept = (1 << (64 if operator.typing is Typing.SAME else 1)) - 1
    wanted = [operator.evaluate(row, widths, ()) & kept for row in rows]
    assert (FAST[name](columns, widths, ()) & np.uint64(kept)).tolist() == wanted


def examine(seed):
    require_all_models(random_query(seed, operators=COVERED))
    require_all_models(random_query(seed, (1, 2), 12, COVERED))


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(20))
def test_random_formulas_have_their_models(seed, in_blocks):
    examine(seed)


def _forget_the_block(monkeypatch):
    right = word_enumeration._compute

    def compute(steps, columns, low, base=None, last=None):
        right(steps, columns, low, None if base is None else base * np.uint64(0), last)

    monkeypatch.setattr(word_enumeration, "_compute", compute)


def _compute_all_once(monkeypatch):
    right = word_enumeration._steps

    def steps(query, inputs, within):
        once, for_each = right(query, inputs, within)
        return sorted([*once, *for_each], key=lambda x: x.node), []

    monkeypatch.setattr(word_enumeration, "_steps", steps)


def _leave_the_last_block_out(monkeypatch):
    right = _Inputs.of
    monkeypatch.setattr(_Inputs, "of", lambda query: replace(right(query), count=max(0, right(query).count - 1)))


def _read_one_place_up(monkeypatch):
    right = _Inputs.span
    monkeypatch.setattr(_Inputs, "span", lambda self, *x: (right(self, *x)[0] + 1, right(self, *x)[1]))


def _read_a_bit_less(monkeypatch):
    right = _Inputs.span
    monkeypatch.setattr(_Inputs, "span", lambda self, *x: (right(self, *x)[0], max(1, right(self, *x)[1] - 1)))


def _keep_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(word_enumeration, "mask", lambda width: np.uint64((1 << 64) - 1))


def _signed_as_unsigned(monkeypatch):
    monkeypatch.setattr(columns, "signed", lambda values, width: values.view(np.int64))


def _add_without_carries(monkeypatch):
    monkeypatch.setitem(FAST, "bvadd", lambda v, w, i: v[0] | v[1])


@pytest.mark.parametrize(
    "mutant",
    [
        _forget_the_block,
        _compute_all_once,
        _leave_the_last_block_out,
        _read_one_place_up,
        _read_a_bit_less,
        _keep_what_does_not_fit,
        _signed_as_unsigned,
        _add_without_carries,
    ],
)
def test_a_wrong_enumeration_is_found_out(mutant, monkeypatch, in_blocks):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, IndexError, ValueError)):
        for seed in range(20):
            examine(seed)


def test_a_multiplier_is_proved_and_one_without_a_carry_is_refuted():
    environment, claim = multipliers(8)
    reply = enumerate_words(Query.of(environment.formula_manager.Not(claim)))
    assert (reply.outcome, reply.solver.name) == (Outcome.UNSAT, "word-enumeration")
    environment, claim = multipliers(8, wrong=5)
    violation = Query.of(environment.formula_manager.Not(claim))
    reply = enumerate_words(violation)
    assert reply.outcome is Outcome.SAT and violation.evaluate(reply.model)


def test_what_is_not_covered_is_not_answered():
    environment = Environment()
    m = environment.formula_manager
    x, y, wide, q = (m.Symbol(f"x{n}", BVType(n)) for n in (3, 4, 65, 25))
    for formula in (
        m.Equals(m.BVUDiv(x, x), x),
        m.Equals(wide, wide),
        m.Equals(m.BVConcat(x, m.BV(0, 62)), m.BVZExt(x, 62)),
        m.Equals(q, q),
    ):
        assert enumerate_words(Query.of(formula)) is None
    query = Query.of(m.Equals(m.BVExtract(wide, 61, 64), y))
    assert enumerate_words(query, most_values=1 << 8) is None
    assert enumerate_words(query).model == {"x65": 0, "x4": 0}
    found = {tuple(_Inputs.of(query).model(n).values()) for n in _satisfying(query, _Inputs.of(query))}
    assert found == {(high << 61, high) for high in range(16)}
    assert enumerate_words(Query.of(m.Symbol("p"))).model == {"p": 1}
    assert enumerate_words(Query.of(m.FALSE())).outcome is Outcome.UNSAT


def test_it_has_nothing_of_what_it_confirms():
    for module in (word_enumeration, columns):
        text = Path(module.__file__).read_text(encoding="utf-8")
        assert not [x for x in ("cnf", "exhaustion") if f".{x} import" in text]


def test_values_that_are_not_so_on_integers_are_an_internal_error(monkeypatch):
    monkeypatch.setattr(word_enumeration, "_satisfying", lambda query, inputs: iter([0]))
    environment, claim = multipliers(3)
    with pytest.raises(WitnessDoesNotReplay):
        enumerate_words(Query.of(environment.formula_manager.Not(claim)))


class _GaveUp(Solving):
    """A solver that is late, as solvers are with multipliers of 11 by 11 bits."""

    def ask(self, formula, symbols, /, *, limits, rivals=(), begun=None):
        return Reply(Outcome.UNKNOWN, SolverIdentity("other", "1"), 0.0, reason="timeout: late")


def certified(violation, how=Certify.SOLVER):
    return small_ones_first(_GaveUp(certify=how))(violation, (), limits=LIMITS)


@pytest.mark.middle
def test_what_no_solver_decides_in_time_is_certified_by_the_second_enumeration():
    environment, claim = multipliers(11)
    violation = environment.formula_manager.Not(claim)
    reply = certified(violation)
    assert reply.outcome is Outcome.UNSAT
    assert (reply.solver.name, reply.certified_by.name) == ("exhaustion", "word-enumeration")
    assert certified(violation, None).certified_by is None
    assert certified(violation, Certify.PROOF).outcome is Outcome.UNKNOWN


def test_an_error_of_either_enumeration_is_noticed_where_it_is_to_be_certified(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    environment, claim = multipliers(6, wrong=2)
    violation = environment.formula_manager.Not(claim)
    with monkeypatch.context() as patch:
        patch.setattr(exhaustion, "satisfying", lambda cone: iter([]))
        assert try_all_values(Query.of(violation)).outcome is Outcome.UNSAT
        with pytest.raises(SolversDisagree):
            certified(violation)
    environment, claim = multipliers(6)
    monkeypatch.setitem(FAST, "bvmul", lambda v, w, i: v[0] * v[1] + np.uint64(1))
    with pytest.raises(WitnessDoesNotReplay):
        certified(environment.formula_manager.Not(claim))


def test_what_the_second_enumeration_does_not_cover_goes_to_the_solver():
    environment = Environment()
    m = environment.formula_manager
    x = m.Symbol("x", BVType(4))
    remainder = m.BVULT(x, m.BVURem(x, x))
    assert try_all_values(Query.of(remainder)).outcome is Outcome.UNSAT
    assert certified(remainder).outcome is Outcome.UNKNOWN
