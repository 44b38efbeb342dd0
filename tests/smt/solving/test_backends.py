"""All back ends give every operator the meaning that pySMT's simplifier gives it."""

import importlib.metadata
import importlib.util
import inspect
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import BVType
from support.fake_solvers import solve

from mmaproof.smt.solving import backends
from mmaproof.smt.solving.backends import BACKENDS, DEFAULT_SOLVER, available_solvers, require_solver
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Outcome, SolverIdentity, SolverNotInstalledError, UnknownSolverError

WIDTH = 3

Operations = dict[str, Callable[[FNode, FNode], FNode]]


def _pairs(m: FormulaManager) -> Iterator[tuple[FNode, FNode]]:
    values = [m.BV(value, WIDTH) for value in range(1 << WIDTH)]
    yield from itertools.product(values, repeat=2)


def _differences(m: FormulaManager, operations: Operations, x: FNode, y: FNode) -> dict[str, FNode]:
    """Say of every operator that it differs from its table, which the simplifier fills for all operands."""
    differences = {}
    for name, operation in operations.items():
        rows = [(a, b, operation(a, b).simplify()) for a, b in _pairs(m)]
        table = rows[0][2]
        for a, b, result in rows[1:]:
            table = m.Ite(m.And(m.Equals(x, a), m.Equals(y, b)), result, table)
        differences[name] = m.NotEquals(operation(x, y), table)
    return differences


@pytest.mark.few(1)
@pytest.mark.slow_values("cvc5")
@pytest.mark.parametrize("solver", BACKENDS)
def test_every_operator_has_its_table(
    manager: FormulaManager, make_operations: Callable[[int], Operations], limits: Limits, solver: str
) -> None:
    x, y = manager.Symbol("x", BVType(WIDTH)), manager.Symbol("y", BVType(WIDTH))
    operations = make_operations(WIDTH)
    differences = _differences(manager, operations, x, y)
    answer = solve(manager.Or(differences.values()), [x, y], solver=solver, limits=limits)
    assert answer.outcome is Outcome.UNSAT, [
        name
        for name, difference in differences.items()
        if solve(difference, [], solver=solver, limits=limits).outcome is not Outcome.UNSAT
    ]


@pytest.mark.parametrize("solver", BACKENDS)
def test_models_of_every_operator_hold_in_the_simplifier(
    manager: FormulaManager, make_operations: Callable[[int], Operations], limits: Limits, solver: str
) -> None:
    symbols: list[FNode] = []
    parts = []
    for number, operation in enumerate(make_operations(WIDTH).values()):
        x, y = (manager.Symbol(f"{letter}{number}", BVType(WIDTH)) for letter in "xy")
        result = operation(x, y)
        r = manager.Symbol(f"r{number}", BVType(result.bv_width()))
        # Neither operand is zero, so that the model says something.
        zero = manager.BV(0, WIDTH)
        parts += [manager.Equals(r, result), manager.NotEquals(x, zero), manager.NotEquals(y, zero)]
        symbols += [x, y, r]
    formula = manager.And(parts)
    answer = solve(formula, symbols, solver=solver, limits=limits)
    assert answer.outcome is Outcome.SAT
    assert answer.model is not None
    model = answer.model
    values = {symbol: manager.BV(model[symbol.symbol_name()], symbol.bv_width()) for symbol in symbols}
    assert formula.substitute(values).simplify().is_true()


@pytest.mark.parametrize("seed", range(3))
def test_the_back_ends_agree_on_random_formulas(
    manager: FormulaManager, make_formula: Callable[[int, int], FNode], limits: Limits, seed: int
) -> None:
    formula = make_formula(2000 + seed, 80)
    outcomes = {solve(formula, [], solver=solver, limits=limits).outcome for solver in BACKENDS}
    assert len(outcomes) == 1
    assert Outcome.UNKNOWN not in outcomes


def test_the_installed_solvers_are_found_without_importing_them() -> None:
    script = (
        "import sys; from mmaproof.smt.solving.backends import available_solvers\n"
        "print(all(a.version for a in available_solvers().values()),"
        " sorted({'bitwuzla', 'cvc5', 'z3', 'pysmt'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout
    assert output == "True []\n"
    assert list(available_solvers()) == ["bitwuzla", "cvc5", "z3"]
    assert require_solver(DEFAULT_SOLVER) == SolverIdentity("bitwuzla", importlib.metadata.version("bitwuzla"))


def test_an_unknown_solver_is_refused_with_the_list() -> None:
    with pytest.raises(UnknownSolverError, match=r"'yices': allowed are bitwuzla, cvc5, z3; installed: bitwuzla \d"):
        require_solver("yices")


def test_a_missing_solver_is_refused_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "z3" else find_spec(name))
    assert available_solvers()["z3"].version is None
    assert "pip install z3-solver" in str(available_solvers()["z3"].missing)
    with pytest.raises(SolverNotInstalledError, match=r"'z3' is not available.*pip install z3-solver.*installed: bit"):
        require_solver("z3")
    assert require_solver("cvc5").name == "cvc5"


def test_a_solver_without_package_metadata_is_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    # It remembers what it found before.
    monkeypatch.setattr(backends, "_version", inspect.unwrap(backends._version))
    assert require_solver("z3") == SolverIdentity("z3", "of unknown version")
