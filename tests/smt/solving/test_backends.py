"""All back ends give every operator the meaning that pySMT's simplifier gives it."""

import importlib.metadata
import importlib.util
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.typing import BVType

from mmaproof.smt.solving.backends import BACKENDS, DEFAULT_SOLVER, available_solvers, require_solver
from mmaproof.smt.solving.errors import SolverNotInstalledError, UnknownSolverError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solve import solve
from mmaproof.smt.solving.verdict import Outcome, SolverIdentity

WIDTH = 3

Operation = Callable[[FNode, FNode], FNode]


def _operations(m: FormulaManager) -> dict[str, Operation]:
    """Every operator of QF_BV on two bit-vectors of WIDTH bits; truth values become bits by ite."""

    def bit(relation: Operation) -> Operation:
        return lambda x, y: m.Ite(relation(x, y), m.BV(1, 1), m.BV(0, 1))

    def top(x: FNode) -> FNode:
        return m.Equals(m.BVExtract(x, WIDTH - 1, WIDTH - 1), m.BV(1, 1))

    return {
        **{f: getattr(m, f) for f in ("BVAnd", "BVOr", "BVXor", "BVAdd", "BVSub", "BVMul", "BVConcat", "BVComp")},
        **{f: getattr(m, f) for f in ("BVUDiv", "BVURem", "BVSDiv", "BVSRem", "BVLShl", "BVLShr", "BVAShr")},
        **{f: bit(getattr(m, f)) for f in ("BVULT", "BVULE", "BVSLT", "BVSLE", "Equals")},
        "And": bit(lambda x, y: m.And(top(x), top(y))),
        "Or": bit(lambda x, y: m.Or(top(x), top(y))),
        "Not": bit(lambda x, y: m.Not(top(x))),
        "Implies": bit(lambda x, y: m.Implies(top(x), top(y))),
        "Iff": bit(lambda x, y: m.Iff(top(x), top(y))),
        "BVNot": lambda x, y: m.BVNot(x),
        "BVNeg": lambda x, y: m.BVNeg(x),
        **{f"BVRol {n}": (lambda x, y, n=n: m.BVRol(x, n)) for n in range(WIDTH + 1)},
        **{f"BVRor {n}": (lambda x, y, n=n: m.BVRor(x, n)) for n in range(WIDTH + 1)},
        **{f"BVZExt {n}": (lambda x, y, n=n: m.BVZExt(x, n)) for n in range(2)},
        **{f"BVSExt {n}": (lambda x, y, n=n: m.BVSExt(x, n)) for n in range(3)},
        "BVExtract 0 1": lambda x, y: m.BVExtract(x, 0, 1),
        "BVExtract 1 2": lambda x, y: m.BVExtract(x, 1, 2),
        "Ite": lambda x, y: m.Ite(m.BVULT(x, y), x, m.BVNot(y)),
    }


def _pairs(m: FormulaManager) -> Iterator[tuple[FNode, FNode]]:
    values = [m.BV(value, WIDTH) for value in range(1 << WIDTH)]
    yield from itertools.product(values, repeat=2)


def _differences(m: FormulaManager, x: FNode, y: FNode) -> dict[str, FNode]:
    """Say of every operator that it differs from its table, which the simplifier fills for all operands."""
    differences = {}
    for name, operation in _operations(m).items():
        rows = [(a, b, operation(a, b).simplify()) for a, b in _pairs(m)]
        table = rows[0][2]
        for a, b, result in rows[1:]:
            table = m.Ite(m.And(m.Equals(x, a), m.Equals(y, b)), result, table)
        differences[name] = m.NotEquals(operation(x, y), table)
    return differences


@pytest.mark.parametrize("solver", BACKENDS)
def test_every_operator_has_its_table(manager: FormulaManager, limits: Limits, solver: str) -> None:
    x, y = manager.Symbol("x", BVType(WIDTH)), manager.Symbol("y", BVType(WIDTH))
    differences = _differences(manager, x, y)
    answer = solve(manager.Or(differences.values()), [x, y], solver=solver, limits=limits)
    assert answer.outcome is Outcome.UNSAT, [
        name
        for name, difference in differences.items()
        if solve(difference, [], solver=solver, limits=limits).outcome is not Outcome.UNSAT
    ]


@pytest.mark.parametrize("solver", BACKENDS)
def test_models_of_every_operator_hold_in_the_simplifier(manager: FormulaManager, limits: Limits, solver: str) -> None:
    symbols: list[FNode] = []
    parts = []
    for number, (name, operation) in enumerate(_operations(manager).items()):
        x, y = (manager.Symbol(f"{letter}{number}", BVType(WIDTH)) for letter in "xy")
        result = operation(x, y)
        r = manager.Symbol(f"r{number}", BVType(result.bv_width()))
        # Neither operand is zero, so that the model says something.
        zero = manager.BV(0, WIDTH)
        parts += [manager.Equals(r, result), manager.NotEquals(x, zero), manager.NotEquals(y, zero)]
        symbols += [x, y, r]
        assert name
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
    assert require_solver("z3") == SolverIdentity("z3", "of unknown version")
