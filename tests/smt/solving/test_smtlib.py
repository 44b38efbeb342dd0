import io
from collections.abc import Callable

import pytest
from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.smtlib.parser import SmtLibParser
from pysmt.typing import BVType

from mmaproof.smt.solving.query import Query, to_smtlib

MakeFormula = Callable[[int, int], FNode]


def _read_back(script: str) -> FNode:
    (formula,) = [
        command.args[0]
        for command in SmtLibParser(Environment()).get_script(io.StringIO(script))
        if command.name == "assert"
    ]
    return formula


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(20))
def test_the_script_reads_back_as_the_query(make_formula: MakeFormula, seed: int) -> None:
    query = Query.of(make_formula(seed, 60))
    assert Query.of(_read_back(to_smtlib(query))).text == query.text


def test_the_script_is_the_expected_one(manager: FormulaManager) -> None:
    a, t1 = manager.Symbol("a b", BVType(8)), manager.Symbol("t1", BVType(8))
    total = manager.BVAdd(a, t1)
    formula = manager.And(manager.Equals(total, manager.BV(255, 8)), manager.BVULT(total, manager.BVRol(a, 3)))
    assert to_smtlib(Query.of(formula), comments=["two lines\nof comment"]).splitlines() == [
        "; two lines",
        "; of comment",
        "(set-logic QF_BV)",
        "(declare-const |a b| (_ BitVec 8))",
        "(declare-const t1 (_ BitVec 8))",
        "(define-fun t_2 () (_ BitVec 8) (bvadd |a b| t1))",
        "(assert (and (= t_2 #xff) (bvult t_2 ((_ rotate_left 3) |a b|))))",
        "(check-sat)",
        "(get-value (t1 |a b|))",
    ]


def test_constants_are_hexadecimal_where_the_width_allows(manager: FormulaManager) -> None:
    formula = manager.And(manager.Equals(manager.Symbol("x", BVType(7)), manager.BV(5, 7)), manager.TRUE())
    script = to_smtlib(Query.of(formula))
    assert "(= x #b0000101)" in script
    assert "true" in script


def test_long_chains_are_cut_into_definitions(manager: FormulaManager) -> None:
    x, y = manager.Symbol("x", BVType(8)), manager.Symbol("y", BVType(8))
    term = x
    for _ in range(10_000):
        term = manager.BVXor(manager.BVNot(term), y)
    script = to_smtlib(Query.of(manager.Equals(term, x)))
    assert max(map(len, script.splitlines())) < 200


@pytest.mark.parametrize("name", ["let", "bv5", "0", "a,b", "assert"])
def test_names_that_are_not_plain_are_quoted(manager: FormulaManager, name: str) -> None:
    query = Query.of(manager.Not(manager.Symbol(name)))
    assert f"(declare-const |{name}| Bool)" in to_smtlib(query)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a|b", "a%7Cb"),
        ("a\\b", "a%5Cb"),
        ("@a@", "%40a@"),
        (".a.", "%2Ea."),
        ("a%b", "a%25b"),
        ("a\nb", "a%0Ab"),
        ("é", "%C3%A9"),
        ("a\tb", "a%09b"),
    ],
)
def test_characters_that_smtlib_cannot_write_are_encoded(manager: FormulaManager, name: str, written: str) -> None:
    assert f"(declare-const {written} Bool)" in to_smtlib(Query.of(manager.Symbol(name)))


def test_comments_are_printable_ascii(manager: FormulaManager) -> None:
    script = to_smtlib(Query.of(manager.Symbol("x")), comments=["d \u2265 c,\tand\rfalse"])
    assert script.startswith("; d \\u2265 c,\\tand\n; false\n(set-logic")
