"""Bitwuzla decides a query as it does behind pySMT, with the same values."""

import random
from collections.abc import Callable

import pytest
from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.logics import QF_BV
from support.bitwuzla_solver import BitwuzlaSolver

from mmaproof.smt.solving import backends
from mmaproof.smt.solving.backends import BitwuzlaEngine, kinds_by_name
from mmaproof.smt.solving.query import BY_NAME, Query

MakeFormula = Callable[[int, int], FNode]


def by_pysmt(query: Query) -> dict[str, int] | None:
    environment = Environment()
    manager = environment.formula_manager
    with BitwuzlaSolver(environment, QF_BV, solver_options={"bv-solver": "preprop"}) as solver:
        if not solver.is_sat(query.formula(manager)):
            return None
        return {x: int(solver.get_value(manager.get_symbol(x)).constant_value()) for x in query.symbols}


@pytest.mark.parametrize("seed", range(12))
def test_both_ways_give_the_same_values(make_formula: MakeFormula, seed: int) -> None:
    query = Query.of(make_formula(seed, random.Random(seed).randrange(5, 80)))
    found = BitwuzlaEngine().decide(query)
    assert found == by_pysmt(query)
    assert found is None or query.evaluate(found)


def test_there_is_a_kind_for_every_operator() -> None:
    assert kinds_by_name().keys() == BY_NAME.keys()


def test_a_wrong_kind_would_be_seen(make_formula: MakeFormula, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {**kinds_by_name(), "bvadd": kinds_by_name()["bvsub"], "bvult": kinds_by_name()["bvule"]}
    monkeypatch.setattr(backends, "kinds_by_name", lambda: wrong)
    queries = [Query.of(make_formula(seed, 60)) for seed in range(12)]
    assert any(BitwuzlaEngine().decide(query) != by_pysmt(query) for query in queries)
