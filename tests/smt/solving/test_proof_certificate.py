"""What a checked proof certifies, and what ends without a certificate."""

import importlib.util
import sys
from pathlib import Path

import pytest
from pysmt.fnode import FNode
from pysmt.formula import FormulaManager
from pysmt.shortcuts import And, Not
from pysmt.typing import BVType

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.properties.library.carry import SumFits
from mmaproof.properties.library.symmetry import OrderIndependence
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.cuts import CutIsExact, cut_bounds, cut_terms
from mmaproof.smt.proving.laws import LawfulTerms, lemmas_of
from mmaproof.smt.proving.lemma import Statement
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.lrat import check, parse
from mmaproof.smt.solving.portfolio import Attempt
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import certify_by_proof, require_prover
from mmaproof.smt.solving.verdict import Outcome, ProofRejectedError, Reply, SolverNotInstalledError

VOLTA = "volta/f32.f16.f16.f32"
FP8 = "hopper/wgmma.f32.e4m3.e4m3"


@pytest.fixture
def associative(manager: FormulaManager) -> Query:
    """That a sum of three words of 5 bits depends on its order: unsatisfiable."""
    x, y, z = (manager.Symbol(name, BVType(5)) for name in "xyz")
    sums = manager.BVAdd(manager.BVAdd(x, y), z), manager.BVAdd(x, manager.BVAdd(y, z))
    return Query.of(manager.Not(manager.Equals(*sums)))


@pytest.fixture
def hard(manager: FormulaManager) -> Query:
    """The factors of a 128-bit number, which takes far longer than any limit here."""
    x, y = (manager.BVZExt(manager.Symbol(name, BVType(64)), 64) for name in "xy")
    one = manager.BV(1, 128)
    product = manager.Equals(manager.BVMul(x, y), manager.BV(0xB3406BC44DC2A627 * 0xBC38D756D0055979, 128))
    return Query.of(manager.And(product, manager.BVULT(one, x), manager.BVULT(one, y)))


def violation(statement: Statement) -> Query:
    """The query that ``prove`` asks about a statement."""
    formula = statement.formula
    return Query.of(And(*filter(None, [formula.precondition]), Not(formula.claim)))


def reason(answer: Reply) -> str:
    assert answer.outcome is Outcome.UNKNOWN
    assert answer.reason is not None
    return answer.reason


def test_a_proof_that_holds_certifies(associative: Query, limits: Limits) -> None:
    answer = certify_by_proof(associative, limits)
    assert (answer.outcome, answer.reason, answer.model) == (Outcome.UNSAT, None, None)
    assert answer.solver == require_prover()
    assert answer.solver_seconds is not None
    assert 0 < answer.solver_seconds <= answer.seconds


def test_a_query_that_is_false_by_construction_is_certified(manager: FormulaManager, limits: Limits) -> None:
    x, y = (manager.Symbol(name, BVType(12)) for name in "xy")
    exchanged = manager.Not(manager.Equals(manager.BVMul(x, y), manager.BVMul(y, x)))
    for formula in (manager.FALSE(), exchanged):
        assert certify_by_proof(Query.of(formula), limits).outcome is Outcome.UNSAT


def test_a_satisfiable_query_is_sat_with_all_values(manager: FormulaManager, limits: Limits) -> None:
    x, y, p = manager.Symbol("x", BVType(8)), manager.Symbol("y", BVType(8)), manager.Symbol("p")
    factors = manager.Equals(manager.BVMul(manager.BVZExt(x, 8), manager.BVZExt(y, 8)), manager.BV(197 * 211, 16))
    answer = certify_by_proof(Query.of(manager.And(factors, manager.BVULT(x, y), manager.Not(p))), limits)
    assert answer.outcome is Outcome.SAT
    assert answer.model == {"x": 197, "y": 211, "p": 0}


def test_limits_give_unknown(hard: Query, limits: Limits) -> None:
    assert reason(certify_by_proof(hard, Limits(1.0, 4 << 30))) == "timeout: no answer within 1 s"
    small = reason(certify_by_proof(hard, Limits(300.0, 16 << 20)))
    assert small.startswith("memory: ") or f"perhaps of the memory limit, {16 << 20} bytes" in small


def lying(said: str, tmp_path: Path) -> list[str]:
    """A command for the process with another SAT solver, which says what this Python text says."""
    script = (
        "import sys\nfrom mmaproof.smt.solving import lrat\nfrom mmaproof.smt.solving.proof_worker import main\n"
        f"lrat.proof_of = lambda clauses: {said}\nmain(sys.argv[1:])"
    )
    return [sys.executable, "-c", script, str(tmp_path / "kept")]


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("(None, [(len(clauses) + 1, (), (1,))])", "of the proof does not follow"),
        ("(None, [])", "ProofRejectedError: the proof ends before"),
        ("([], [])", "the values that cadical195+lrat gave do not sat"),
    ],
)
def test_a_solver_that_lies_is_found_out(
    associative: Query, limits: Limits, tmp_path: Path, said: str, complaint: str
) -> None:
    answer = Attempt(associative, require_prover(), limits, limits.seconds, lying(said, tmp_path)).answer()
    assert reason(answer).startswith("solver error: ")
    assert complaint in reason(answer)


def test_clauses_and_proof_are_kept_as_files(associative: Query, limits: Limits, tmp_path: Path) -> None:
    folder = tmp_path / "proofs"
    assert certify_by_proof(associative, limits, keep=folder).outcome is Outcome.UNSAT
    (dimacs,), (proof,) = folder.glob("*.cnf"), folder.glob("*.lrat")
    assert dimacs.stem == proof.stem
    header, *lines = dimacs.read_text().splitlines()
    clauses = [[int(word) for word in line.split()] for line in lines]
    assert header == f"p cnf {max(map(max, clauses))} {len(clauses)}"
    assert {clause.pop() for clause in clauses} == {0}
    steps = list(parse(proof.read_text()))
    check(clauses, steps)
    with pytest.raises(ProofRejectedError):
        check(clauses[:-1], steps)


def test_a_missing_package_is_named(associative: Query, limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SolverNotInstalledError, match=r"pip install 'mmaproof\[proofs\]'"):
        certify_by_proof(associative, limits)


def step_and_sum(name: str) -> tuple[Design, FusedSum[FNode, FNode]]:
    """The design of one step, and its sum in terms."""
    step = find_design(name).one_step()
    algebra = TermAlgebra()
    signals = dot_product_accumulate(step, algebra, SumFits(step, Scope(), 5).symbols(algebra))
    return step, signals.steps[0].sums[0]


@pytest.mark.slow
def test_the_lemmas_of_order_and_carry_bits_are_certified(limits: Limits) -> None:
    question, laws = OrderIndependence().question(find_design(FP8), Scope()), LawfulTerms()
    question.claim(laws, question.symbols(laws))
    _, total = step_and_sum(FP8)
    lemmas = [*lemmas_of(laws), *cut_bounds(total)]
    assert len(lemmas) >= 9
    for lemma in lemmas:
        answer = certify_by_proof(violation(lemma), limits)
        assert answer.outcome is Outcome.UNSAT, (lemma.name, answer.reason)


def test_a_lemma_that_claims_too_much_is_sat(limits: Limits) -> None:
    _, total = step_and_sum(VOLTA)
    shape, cut = cut_terms(total)["products"]
    right, wrong = (CutIsExact("products", shape, cut, spread) for spread in (3, 4))
    assert certify_by_proof(violation(right), limits).outcome is Outcome.UNSAT
    answer = certify_by_proof(violation(wrong), limits)
    assert answer.model is not None
    unused = {symbol.symbol_name(): 0 for symbol in wrong.formula.symbols}
    assert wrong.confirm(unused | dict(answer.model))
