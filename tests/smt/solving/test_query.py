import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable

import pytest
from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import INT, REAL, ArrayType, BVType

from mmaproof.smt.solving.query import FORM, OPERATORS, Query
from mmaproof.smt.solving.verdict import MalformedQueryError, UnsupportedFormulaError

MakeFormula = Callable[[int, int], FNode]


def _constants(manager: FormulaManager, query: Query, model: dict[str, int]) -> dict[FNode, FNode]:
    return {
        manager.get_symbol(name): manager.BV(model[name], width) if width else manager.Bool(bool(model[name]))
        for name, width in query.symbols.items()
    }


def _random_model(query: Query, rng: random.Random) -> dict[str, int]:
    # Extreme values are where signed division and shifts go wrong.
    return {
        name: rng.choice((0, 1, 1 << max(0, width - 1), (1 << max(1, width)) - 1, rng.getrandbits(max(1, width))))
        & ((1 << max(1, width)) - 1)
        for name, width in query.symbols.items()
    }


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(20))
def test_a_formula_survives_the_text_into_another_environment(make_formula: MakeFormula, seed: int) -> None:
    query = Query.of(make_formula(seed, 100))
    elsewhere = Environment().formula_manager
    elsewhere.Symbol("something_else", BVType(7))
    read = Query.parse(query.text)
    assert read == query
    assert Query.of(read.formula(elsewhere)).text == query.text


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(20))
def test_reading_in_the_same_environment_gives_the_same_formula(
    manager: FormulaManager, make_formula: MakeFormula, seed: int
) -> None:
    formula = make_formula(seed, 100)
    assert Query.parse(Query.of(formula).text).formula(manager) is formula


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(20))
def test_evaluation_agrees_with_the_simplifier_of_pysmt(
    manager: FormulaManager, make_formula: MakeFormula, seed: int
) -> None:
    formula = make_formula(seed, 100)
    query = Query.of(formula)
    rng = random.Random(seed)
    for _ in range(10):
        model = _random_model(query, rng)
        expected = formula.substitute(_constants(manager, query, model)).simplify()
        assert query.evaluate(model) is expected.constant_value()


@pytest.mark.parametrize("width", [2, 3])
def test_every_operator_evaluates_to_the_table_of_the_simplifier(
    manager: FormulaManager, make_operations: Callable[[int], dict[str, Callable[[FNode, FNode], FNode]]], width: int
) -> None:
    symbols = manager.Symbol("x", BVType(width)), manager.Symbol("y", BVType(width))
    for name, operation in make_operations(width).items():
        symbolic = operation(*symbols)
        result = manager.Symbol(f"r{symbolic.bv_width()}", BVType(symbolic.bv_width()))
        query = Query.of(manager.And(manager.Equals(symbolic, result), *map(manager.Equals, symbols, symbols)))
        for x, y in itertools.product(range(1 << width), repeat=2):
            expected = operation(manager.BV(x, width), manager.BV(y, width)).simplify().constant_value()
            for value in range(1 << symbolic.bv_width()):
                model = {"x": x, "y": y, result.symbol_name(): value}
                assert query.evaluate(model) is (value == expected), (name, model)


def test_the_random_formulas_use_every_operator(make_formula: MakeFormula) -> None:
    seen = {node.operator for seed in range(20) for node in Query.of(make_formula(seed, 100)).nodes}
    assert seen == {"symbol", "const"} | {operator.name for operator in OPERATORS}


def test_the_text_does_not_depend_on_the_order_of_construction(manager: FormulaManager) -> None:
    def formula(names: str) -> FNode:
        fresh = Environment().formula_manager
        for name in names:
            fresh.BVNeg(fresh.Symbol(name, BVType(8)))
        a, b = fresh.Symbol("a", BVType(8)), fresh.Symbol("b", BVType(8))
        return fresh.Equals(fresh.BVAdd(fresh.BVNeg(a), b), fresh.BVSub(b, a))

    assert Query.of(formula("ab")).text == Query.of(formula("zba")).text


def test_the_text_is_the_documented_one(manager: FormulaManager) -> None:
    a = manager.Symbol("a", BVType(10))
    truth = manager.Symbol("p")
    formula = manager.Or(truth, manager.Equals(manager.BVExtract(manager.BVAdd(a, a), 2, 8), manager.BV(5, 7)))
    assert json.loads(Query.of(formula).text) == [
        FORM,
        ["symbol", 0, "p"],
        ["symbol", 10, "a"],
        ["bvadd", 1, 1],
        ["extract", 8, 2, 2],
        ["const", 7, "0x05"],
        ["=", 3, 4],
        ["or", 0, 5],
    ]


def test_the_text_is_the_same_in_every_process() -> None:
    script = (
        "from pysmt.shortcuts import *; from mmaproof.smt.solving.query import Query\n"
        "xs = [Symbol(f'x{n}', BVType(4)) for n in range(20)]\n"
        "print(Query.of(And([Equals(BVNot(x), BV(3, 4)) for x in xs])).text)"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_near_collisions_have_different_texts() -> None:
    def text(build: Callable[[FormulaManager], FNode]) -> str:
        return Query.of(build(Environment().formula_manager)).text

    def equal(width: int, value: int, name: str = "a") -> Callable[[FormulaManager], FNode]:
        return lambda m: m.Equals(m.Symbol(name, BVType(width)), m.BV(value, width))

    def narrowed(low: int, high: int) -> Callable[[FormulaManager], FNode]:
        return lambda m: m.Equals(m.BVExtract(m.Symbol("a", BVType(9)), low, high), m.BV(1, high - low + 1))

    def ordered(swap: bool, signed: bool) -> Callable[[FormulaManager], FNode]:
        def build(m: FormulaManager) -> FNode:
            pair = m.Symbol("a", BVType(4)), m.Symbol("b", BVType(4))
            return (m.BVSLT if signed else m.BVULT)(*(reversed(pair) if swap else pair))

        return build

    texts = [text(equal(width, value, name)) for width in (7, 8) for value in (1, 2) for name in ("a", "b")]
    texts += [text(narrowed(low, high)) for low, high in ((0, 3), (1, 4), (0, 4), (1, 3))]
    texts += [text(ordered(swap, signed)) for swap in (False, True) for signed in (False, True)]
    # One bit and a truth value are two things.
    texts += [text(equal(1, 1)), text(lambda m: m.Iff(m.Symbol("a"), m.TRUE()))]
    # The same nodes, another one asked about.
    texts += [text(lambda m: m.And(m.Symbol("a"), m.Symbol("b"))), text(lambda m: m.Symbol("a"))]
    assert len(set(texts)) == len(texts)


@pytest.mark.middle
def test_depth_is_no_limit(manager: FormulaManager) -> None:
    x, y = manager.Symbol("x", BVType(8)), manager.Symbol("y", BVType(8))
    term = x
    for _ in range(20_000):
        term = manager.BVAdd(manager.BVNot(term), y)
    query = Query.of(manager.Equals(term, x))
    assert Query.parse(query.text) == query
    # Two steps are not(not x + y) + y = x - y + y = x.
    assert query.evaluate({"x": 77, "y": 201})


def test_shared_nodes_are_one_row(manager: FormulaManager) -> None:
    term = manager.Symbol("x", BVType(8))
    for _ in range(64):
        term = manager.BVAdd(term, term)
    assert len(Query.of(manager.Equals(term, manager.BV(0, 8))).nodes) == 1 + 64 + 2


def test_formulas_outside_the_logic_are_refused(manager: FormulaManager) -> None:
    x = manager.Symbol("x", BVType(8))
    real, integer = manager.Symbol("r", REAL), manager.Symbol("i", INT)
    array = manager.Symbol("m", ArrayType(BVType(8), BVType(8)))
    outside = [
        manager.LT(real, manager.Real(1)),
        manager.Equals(manager.Plus(integer, manager.Int(1)), integer),
        manager.Equals(manager.Select(array, x), x),
        manager.ForAll([x], manager.Equals(x, manager.BV(1, 8))),
        manager.Equals(manager.BVToNatural(x), manager.Int(3)),
    ]
    for formula in outside:
        with pytest.raises(UnsupportedFormulaError, match="QF_BV"):
            Query.of(formula)
    with pytest.raises(UnsupportedFormulaError, match="bit-vector of 8 bits"):
        Query.of(manager.BVNot(x))


@pytest.mark.few(14)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        "{}",
        '{"mmaproof-query-1": 1}',
        "[" * 100_000,
        f'["{FORM}"]',
        '["mmaproof-query-0",["const",0,"0x1"]]',
        f'["{FORM}",["const",0,"0x2"]]',
        f'["{FORM}",["const",0,"0x01"]]',
        f'["{FORM}",["const",0,1]]',
        f'["{FORM}",["const",8,"0x01"]]',
        f'["{FORM}",["const",1000000000000000,"0x01"],["=",0,0]]',
        f'["{FORM}",["const",9,"0x200"],["=",0,0]]',
        f'["{FORM}",["const",8,"0xAB"],["=",0,0]]',
        f'["{FORM}",["symbol",8],["=",0,0]]',
        f'["{FORM}",["symbol",-1,"a"]]',
        f'["{FORM}",["symbol",0,""]]',
        f'["{FORM}",["symbol",0,7]]',
        f'["{FORM}",["symbol",0,"a"],["symbol",0,"a"],["and",0,1]]',
        f'["{FORM}",["symbol",0,"a"],["not",1]]',
        f'["{FORM}",["symbol",0,"a"],["not",-1]]',
        f'["{FORM}",["symbol",0,"a"],["not",false]]',
        f'["{FORM}",["symbol",0,"a"],["not",0,0]]',
        f'["{FORM}",["symbol",0,"a"],["and",0]]',
        f'["{FORM}",["symbol",0,"a"],["nand",0,0]]',
        f'["{FORM}",["symbol",0,"a"],[["and"],0,0]]',
        f'["{FORM}",["symbol",0,"a"],["bvadd",0,0]]',
        f'["{FORM}",["symbol",4,"a"],["and",0,0]]',
        f'["{FORM}",["symbol",4,"a"],["symbol",5,"b"],["=",0,1]]',
        f'["{FORM}",["symbol",4,"a"],["extract",4,1,0],["=",1,1]]',
        f'["{FORM}",["symbol",4,"a"],["extract",1,2,0],["=",1,1]]',
        f'["{FORM}",["symbol",4,"a"],["extract",1],["=",1,1]]',
        f'["{FORM}",["symbol",4,"a"],["rotate_left",5,0],["=",1,1]]',
        f'["{FORM}",["symbol",4,"a"],["ite",0,0,0],["=",1,1]]',
        f'["{FORM}",["symbol",0,"a"],["zero_extend",3,0],["=",1,1]]',
    ],
)
def test_malformed_texts_are_refused(text: str) -> None:
    with pytest.raises(MalformedQueryError):
        Query.parse(text)


def test_a_malformed_row_is_named() -> None:
    with pytest.raises(MalformedQueryError, match=r"row 1 of the query, \['nand', 0, 0\]: unknown operator 'nand'"):
        Query.parse(f'["{FORM}",["symbol",0,"a"],["nand",0,0]]')
