import itertools
import random
from collections.abc import Callable

import pytest
from pysmt.environment import Environment
from pysmt.exceptions import (
    ConvertExpressionError,
    NoSolverAvailableError,
    PysmtTypeError,
    PysmtValueError,
    SolverReturnedUnknownResultError,
    SolverStatusError,
)
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.logics import QF_BV, QF_LRA
from pysmt.typing import INT, REAL, ArrayType, BVType, FunctionType
from support.bitwuzla_solver import BitwuzlaSolver, register

from mmaproof.smt.solving.query import Query

MakeFormula = Callable[[int, int], FNode]


@pytest.fixture
def solver(environment: Environment) -> BitwuzlaSolver:
    return BitwuzlaSolver(environment, QF_BV)


def _assignment(manager: FormulaManager, formula: FNode, rng: random.Random) -> dict[FNode, FNode]:
    return {
        manager.get_symbol(name): manager.BV(rng.getrandbits(width), width)
        if width
        else manager.Bool(rng.random() < 0.5)
        for name, width in Query.of(formula).symbols.items()
    }


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(30))
def test_values_of_terms_agree_with_the_simplifier_of_pysmt(
    manager: FormulaManager, solver: BitwuzlaSolver, make_formula: MakeFormula, seed: int
) -> None:
    formula = make_formula(seed, 100)
    values = _assignment(manager, formula, random.Random(seed))
    for symbol, value in values.items():
        solver.add_assertion(manager.EqualsOrIff(symbol, value))
    assert solver.solve()
    # Every node of the formula, so that a wrong operator cannot hide behind what is above it.
    pending, seen = [formula], set()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending.extend(node.args())
            assert solver.get_value(node) is node.substitute(values).simplify()


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(30))
def test_models_satisfy_the_formula(
    manager: FormulaManager, solver: BitwuzlaSolver, make_formula: MakeFormula, seed: int
) -> None:
    formula = make_formula(1000 + seed, 60)
    solver.add_assertion(formula)
    if solver.solve():
        values = {symbol: solver.get_value(symbol) for symbol in formula.get_free_variables()}
        assert formula.substitute(values).simplify().is_true()
        assert solver.get_model().get_value(formula).is_true()
    else:
        rng = random.Random(seed)
        for _ in range(100):
            assert formula.substitute(_assignment(manager, formula, rng)).simplify().is_false()


def test_the_factory_knows_the_solver_only_after_registration(environment: Environment) -> None:
    with pytest.raises(NoSolverAvailableError):
        environment.factory.Solver(name="bitwuzla", logic=QF_BV)
    others = Environment().factory.solver_preference_list
    register(environment)
    register(environment)
    assert environment.factory.solver_preference_list == [*others, "bitwuzla"]
    assert Environment().factory.solver_preference_list == others
    manager = environment.formula_manager
    a = manager.Symbol("a", BVType(8))
    with environment.factory.Solver(name="bitwuzla", logic=QF_BV) as solver:
        assert isinstance(solver, BitwuzlaSolver)
        solver.add_assertion(manager.Equals(manager.BVMul(a, a), manager.BV(49, 8)))
        assert solver.solve()
        value = solver.get_py_value(a)
        assert value * value % 256 == 49
    assert environment.factory.is_sat(manager.BVULT(a, manager.BV(1, 8)), solver_name="bitwuzla", logic=QF_BV)
    with pytest.raises(NoSolverAvailableError):
        environment.factory.Solver(name="bitwuzla", logic=QF_LRA)


def test_assertions_are_pushed_popped_and_reset(manager: FormulaManager, solver: BitwuzlaSolver) -> None:
    a = manager.Symbol("a", BVType(8))
    small, large = manager.BVULT(a, manager.BV(10, 8)), manager.BVULT(manager.BV(20, 8), a)
    solver.add_assertion(small)
    solver.push()
    solver.push(2)
    solver.add_assertion(large)
    assert not solver.solve()
    solver.pop(3)
    assert solver.solve()
    assert solver.get_py_value(a) < 10
    assert not solver.solve([large])
    assert not solver.is_sat(large)
    assert solver.is_sat(manager.Equals(a, manager.BV(3, 8)))
    assert solver.get_py_value(a) == 3
    assert solver.assertions == [small]
    solver.reset_assertions()
    solver.add_assertion(large)
    assert solver.solve()
    assert solver.get_py_value(a) > 20
    solver.exit()


def test_there_is_no_model_without_a_satisfiable_answer(manager: FormulaManager, solver: BitwuzlaSolver) -> None:
    a = manager.Symbol("a", BVType(8))
    with pytest.raises(SolverStatusError, match="no model"):
        solver.get_value(a)
    solver.add_assertion(manager.BVULT(a, a))
    assert not solver.solve()
    with pytest.raises(SolverStatusError, match="no model"):
        solver.get_model()
    solver.reset_assertions()
    assert solver.solve()
    solver.add_assertion(manager.Equals(a, manager.BV(1, 8)))
    with pytest.raises(SolverStatusError, match="no model"):
        solver.get_value(a)


def test_declared_symbols_are_in_the_model(
    manager: FormulaManager, solver: BitwuzlaSolver, capsys: pytest.CaptureFixture[str]
) -> None:
    a, p = manager.Symbol("a", BVType(8)), manager.Symbol("p")
    solver.declare_variable(a)
    solver.declare_variable(p)
    solver.add_assertion(p)
    assert solver.solve()
    assert {symbol for symbol, _ in solver.get_model()} == {a, p}
    solver.print_model(lambda symbol: symbol is p)
    assert capsys.readouterr().out == "p = True\n"


def test_formulas_outside_the_logic_are_refused(manager: FormulaManager, solver: BitwuzlaSolver) -> None:
    x = manager.Symbol("x", BVType(8))
    function = manager.Symbol("f", FunctionType(BVType(8), [BVType(8)]))
    array = manager.Symbol("m", ArrayType(BVType(8), BVType(8)))
    outside = [
        manager.LT(manager.Symbol("r", REAL), manager.Real(1)),
        manager.Equals(manager.Symbol("i", INT), manager.Int(1)),
        manager.Equals(manager.Select(array, x), x),
        manager.Equals(manager.Function(function, [x]), x),
        manager.ForAll([x], manager.Equals(x, manager.BV(1, 8))),
    ]
    for formula in outside:
        with pytest.raises(ConvertExpressionError):
            solver.add_assertion(manager.And(manager.BVULT(x, manager.BV(3, 8)), formula))
        # What was refused leaves nothing behind.
        solver.add_assertion(manager.BVULT(manager.BV(5, 8), x))
        assert solver.solve()
    with pytest.raises(PysmtTypeError):
        solver.add_assertion(x)


@pytest.mark.middle
def test_deep_formulas_are_converted(manager: FormulaManager, solver: BitwuzlaSolver) -> None:
    x, y = manager.Symbol("x", BVType(2)), manager.Symbol("y", BVType(2))
    term = x
    for _ in range(20_000):
        term = manager.BVAdd(manager.BVNot(term), y)
    solver.add_assertion(manager.Equals(term, manager.BV(2, 2)))
    assert solver.solve()
    # Two steps are the identity.
    assert solver.get_py_value(x) == 2


@pytest.mark.parametrize("width", [1, 64, 200, 20_000])
def test_wide_values_come_back(manager: FormulaManager, solver: BitwuzlaSolver, width: int) -> None:
    x = manager.Symbol("x", BVType(width))
    value = random.Random(width).getrandbits(width)
    solver.add_assertion(manager.Equals(manager.BVNot(x), manager.BV(value, width)))
    assert solver.solve()
    assert solver.get_py_value(x) == value ^ ((1 << width) - 1)


def test_options_reach_bitwuzla(environment: Environment, manager: FormulaManager) -> None:
    impatient = BitwuzlaSolver(environment, QF_BV, random_seed=7, solver_options={"time-limit-per": 1})
    x, y = (manager.BVZExt(manager.Symbol(name, BVType(48)), 48) for name in "xy")
    one = manager.BV(1, 96)
    semiprime = manager.BV(0xD48AB43D4319 * 0xC63DBB3A6A07, 96)
    impatient.add_assertion(
        manager.And(manager.Equals(manager.BVMul(x, y), semiprime), manager.BVULT(one, x), manager.BVULT(one, y))
    )
    with pytest.raises(SolverReturnedUnknownResultError):
        impatient.solve()
    assert impatient.last_result == "unknown"
    with pytest.raises(PysmtValueError, match="no-such-option"):
        BitwuzlaSolver(environment, QF_BV, solver_options={"no-such-option": 1})
    with pytest.raises(PysmtValueError, match="unsat_cores_mode"):
        BitwuzlaSolver(environment, QF_BV, unsat_cores_mode="all")


def test_truth_values_of_connectives(manager: FormulaManager, solver: BitwuzlaSolver) -> None:
    p, q = manager.Symbol("p"), manager.Symbol("q")
    solver.add_assertion(manager.Or(p, manager.Not(p), q))
    formulas = [manager.And(p, q), manager.Or(p, q), manager.Implies(p, q), manager.Iff(p, q), manager.Xor(p, q)]
    for values in itertools.product((False, True), repeat=2):
        assumed = [symbol if value else manager.Not(symbol) for symbol, value in zip((p, q), values, strict=True)]
        assert solver.solve(assumed)
        a, b = values
        results = [solver.get_py_value(formula) for formula in formulas]
        assert results == [a and b, a or b, not a or b, a == b, a != b]
