"""A graph with one operation changed is refuted with operands, or it still computes the design: none survives.

That it still does is decided by another query than those of the proof: both graphs as a whole, without cuts.
"""

import random

import pytest
from pysmt.environment import Environment
from support.graph_mutants import mutate, mutations
from support.in_this_process import InAnyEnvironment

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.algebra.nodes import SHIFTS, Op, UndefinedOperationError, run
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.native.terms import GraphTerms, record
from mmaproof.smt.proving.native import precondition
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Outcome, Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.native import DEFAULT_BUDGET, decide_graph
from mmaproof.verification.search import Means

LIMITS = Limits(60, 4 << 30)
VOLTA = "volta/f32.f16.f16.f32"
JAMMED = "cdna2/v_mfma_f32_16x16x16f16"

middle, slow = pytest.mark.middle, pytest.mark.slow
CHOSEN = [
    (Op.MAXIMUM_SIGNED, "taken for maximum"),
    (Op.SHIFT_OUT, "taken for shift-right"),
    (Op.MAXIMUM_SIGNED, "left out, operand 0 in its place"),
    (Op.MULTIPLY, "a lane of 12 bits fewer"),
    (Op.SELECT, "exchanged"),
    pytest.param(Op.ADD, "taken for subtract", marks=middle),
    pytest.param(Op.AND, "a lane of 12 bits fewer", marks=middle),
    pytest.param(Op.CONSTANT, "+1", marks=middle),
    pytest.param(Op.LEADING_ZEROS, "taken for magnitude", marks=middle),
    pytest.param(Op.LESS_SIGNED, "taken for less", marks=middle),
    pytest.param(Op.MAGNITUDE, "left out, operand 0 in its place", marks=middle),
    pytest.param(Op.OR, "left out, operand 1 in its place", marks=middle),
    pytest.param(Op.SHIFT_RIGHT, "taken for shift-left", marks=middle),
]


def mutant(name, k, mutation, *, finite=False):
    recorded = record(find_design(name), k, finite=finite)
    mutate(recorded, mutation)
    return recorded


def decided(recorded, budget=None):
    """Decide about a graph, and replay the witness."""
    verdict = decide_graph(recorded, Means(InAnyEnvironment(), LIMITS, budget))
    if verdict.status is Status.REFUTED:
        x = verdict.witness
        names = [name for column in recorded.lowered.columns for name in column.inputs]
        row = dict(zip(names, [*x.a, *x.b, x.c, *x.scale_a, *x.scale_b], strict=True))
        assert evaluate(recorded.lowered.design, x) == verdict.of_design
        if verdict.undefined is None:
            assert run([recorded.lowered.d], row) == [verdict.of_graph] != [verdict.of_design]
        else:
            with pytest.raises(UndefinedOperationError):
                run([recorded.lowered.d], row)
    return verdict


def still_computes_it(whole, changed):
    """Whether a changed graph has a meaning for all operands, and the d of the whole graph."""
    environment = Environment()
    terms, one, other = environment.formula_manager, GraphTerms(environment), GraphTerms(environment)
    different = terms.Not(terms.Equals(one.of(whole.lowered.d), other.of(changed.lowered.d)))
    undefined = [terms.Not(demand) for _, demand in other.demands]
    assumed = precondition(whole, TermAlgebra(environment))
    question = terms.And(*assumed, terms.Or(different, *undefined))
    return InAnyEnvironment().ask(question, (), limits=LIMITS).outcome is Outcome.UNSAT


def one_of_each_kind(name, k, finite, seed):
    kinds = {}
    for mutation in mutations(record(find_design(name), k, finite=finite)):
        kinds.setdefault((mutation.op, mutation.what), []).append(mutation)
    rng = random.Random(seed)
    return [rng.choice(found) for found in kinds.values()]


@pytest.mark.few(2)
@pytest.mark.parametrize(("op", "what"), CHOSEN, ids=lambda x: str(x))
def test_the_proof_alone_refutes_it(op, what):
    """The last operation of this kind in a graph of one product and c. There is no search before."""
    found = [x for x in mutations(record(find_design(VOLTA), 1)) if (x.op, x.what) == (op, what)]
    for mutation in reversed(found):
        changed = mutant(VOLTA, 1, mutation)
        if decided(changed).status is Status.REFUTED:
            return
        assert still_computes_it(record(find_design(VOLTA), 1), changed), mutation
    pytest.fail(f"every one of {len(found)} mutants computes the design")


def feeding(recorded, of, op):
    """The mutations of operations of a kind that a clamp or a guard would have, just before operations ``of``."""
    nodes = recorded.lowered.nodes
    feeds = {x for node in nodes if node.op in of for x in node.operands if x.op is op}
    return [x for x in mutations(recorded) if nodes[x.position] in feeds and "left out" in x.what]


@pytest.mark.slow_values("clamp", "guard")
@pytest.mark.parametrize(("of", "op"), [(SHIFTS, Op.MINIMUM), ({Op.LEADING_ZEROS}, Op.OR)], ids=["clamp", "guard"])
def test_an_operation_without_meaning_is_found(of, op):
    """A shift amount that is not clamped, and the leading zeros of zero: d may be the same, and is not defined."""
    whole = record(find_design(JAMMED), 1)
    found = feeding(whole, of, op)
    assert found
    verdicts = [decided(mutant(JAMMED, 1, x)) for x in found]
    assert {x.status for x in verdicts} == {Status.REFUTED}
    assert any(x.undefined is not None for x in verdicts)


@pytest.mark.slow_values("cpu/vpdpbusds-2-False-proof")
@pytest.mark.parametrize("budget", [None, pytest.param(DEFAULT_BUDGET, marks=slow)], ids=["proof", "search"])
@pytest.mark.parametrize(
    ("name", "k", "finite"),
    [
        pytest.param(VOLTA, 1, False, marks=slow),
        pytest.param(VOLTA, 1, True, marks=slow),
        pytest.param("cdna2/v_mfma_f32_16x16x16f16", 1, False, marks=slow),
        pytest.param("cdna3/v_mfma_f32_16x16x16_f16", 1, False, marks=slow),
        pytest.param("cpu/vpdpbusds", 2, False, marks=middle),
    ],
)
def test_no_mutant_survives(name, k, finite, budget):
    whole, survivors = record(find_design(name), k, finite=finite), []
    for mutation in one_of_each_kind(name, k, finite, seed=0):
        changed = mutant(name, k, mutation, finite=finite)
        verdict = decided(changed, budget)
        if verdict.status is not Status.REFUTED and not still_computes_it(whole, changed):
            survivors.append(f"{mutation}: {verdict.status}")
    assert not survivors
