"""Questions that are decided by steps of their own: what a solver does not refute is not a proof."""

from contextlib import suppress
from dataclasses import replace

import pytest
from support.bundles import LIMITS, checked, theorem_of, written

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.gemm.answers.compare import compare_plans
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.questions import plan_equivalence
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.property import Joined
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.solving.limits import LEAST_SECONDS, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Cause, Outcome, Reply, SolverIdentity, Status
from mmaproof.verification.bundle import NoBundleError, write_bundles
from mmaproof.verification.compare import compare
from mmaproof.verification.search import Means
from mmaproof.verification.strategies import Case, own_argument

UNIT = "turing/mma.m8n8k32.s32.s4.s4.s32"
NOBODY = SolverIdentity("nobody", "1")


def question_of(length: int) -> tuple[Equivalence, Design]:
    first, second = find_design(UNIT), find_design(f"{UNIT}@L={length}")
    return Equivalence(first, second, k=8), first


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.SAT])
def test_a_leaf_without_an_answer_gives_no_proof(monkeypatch, outcome):
    question, design = question_of(4)
    asked = Solving()
    case = Case(question, design, Means(asked, LIMITS, None, 0), 0.0, LIMITS)

    def ask(formula, symbols, /, *, limits):
        reason = Cause.TIMEOUT.reason("never") if outcome is Outcome.UNKNOWN else None
        return Reply(outcome, NOBODY, 0.0, {} if outcome is Outcome.SAT else None, reason)

    monkeypatch.setattr(case, "ask", ask)
    assert own_argument(case) is None
    assert {x.status for x in case.tried} == {Status.UNKNOWN if outcome is Outcome.UNKNOWN else Status.REFUTED}


def test_steps_end_where_no_time_is_left():
    question, design = question_of(4)
    no_time = replace(LIMITS, seconds=LEAST_SECONDS)
    case = Case(question, design, Means(Solving(), no_time, None, 0), worked(), no_time)
    assert own_argument(case) is None


SAME = Equivalence(find_design(UNIT), find_design(UNIT), k=32)


@pytest.mark.parametrize("question", [pytest.param(question_of(4)[0], marks=pytest.mark.middle), SAME])
def test_the_bundle_is_of_the_theorem_that_decided(question, tmp_path):
    design = question.designs[0]
    answer = compare(*question.designs, k=question.k, limits=LIMITS, budget=None)
    assert answer.theorem is not None
    # nothing is proved again: there is no time for it
    of = [(answer.question, {"claim": "a claim"}, answer.theorem)]
    report = write_bundles(of, design, tmp_path / "bundle", Solving(), LIMITS, 0)
    assert (report.lemmas, report.steps) == (len(answer.theorem.leaves), len(answer.theorem.steps))
    assert "a0" not in (tmp_path / "bundle" / "lemmas" / "0001.smt2").read_text()  # no lemma is of the whole claim
    status, text = checked(tmp_path / "bundle")
    assert status == 0, text


@pytest.mark.middle
def test_a_theorem_of_another_question_is_not_written(tmp_path):
    answer = compare(*question_of(4)[0].designs, k=8, limits=LIMITS, budget=None)
    units = find_design("volta/mma.m8n8k4.f32.f16.f16.f32"), find_design("turing/mma.m16n8k8.f32.f16.f16.f32")
    false = Equivalence(*units, k=8)
    with pytest.raises(NoBundleError):
        write_bundles(
            [(false, {"claim": "a claim"}, answer.theorem)],
            units[0],
            tmp_path / "bundle",
            Solving(),
            LIMITS,
            0,
        )
    assert not (tmp_path / "bundle").exists()


@pytest.mark.middle
@pytest.mark.parametrize("most", [16, 32])
def test_plans_that_are_one_computation_have_a_bundle_at_any_length(monkeypatch, tmp_path, most):
    """Of long plans their operations alone decide, and the theorem is made for the bundle."""
    monkeypatch.setattr(plan_equivalence, "MOST_PRODUCTS", most)
    plans = [read_plan(f"turing/mma.m16n8k8.f32.f16.f16.f32{x}") for x in ("", " | tile=16")]
    answer = compare_plans(*plans, k=32).answer
    assert (answer.proof == Joined(), answer.theorem is None) == (most < 32, most < 32)
    written(answer.question, plans[0].unit, tmp_path / "bundle")
    assert checked(tmp_path / "bundle")[0] == 0


INT8 = "turing/mma.m8n8k16.s32.s8.s8.s32"


@pytest.mark.middle
@pytest.mark.parametrize(
    ("first", "second", "k"),
    [
        ("", " | split-k=2", 32),
        (" | c=none", " | split-k=4:tree | c=none", 64),
        (" | split-k=3:2.0.1", " | order=reversed | tile=32", 48),
        (" | c=last", " | c=first", 16),
    ],
)
def test_sums_of_integers_in_any_order_are_a_theorem(tmp_path, first, second, k):
    plans = [read_plan(f"{INT8}{x}") for x in (first, second)]
    answer = compare_plans(*plans, k=k).answer
    assert answer.theorem is not None
    of = [(answer.question, {"claim": "a claim"}, answer.theorem)]
    write_bundles(of, plans[0].unit, tmp_path / "bundle", Solving(), LIMITS, 0)
    assert checked(tmp_path / "bundle")[0] == 0


SATURATING = "turing/mma.m8n8k16.satfinite.s32.s8.s8.s32"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (INT8, f"{INT8} | c=none"),
        (SATURATING, f"{SATURATING} | split-k=2"),
        (f"{INT8} | split-k=2", f"{INT8} | split-k=2 | c=none"),
        (INT8, f"{SATURATING} | split-k=2"),
    ],
)
def test_other_sums_of_integers_are_no_theorem(monkeypatch, first, second):
    """Even if they were said to be one computation, and solvers believed every lemma."""
    monkeypatch.setattr(plan_equivalence.PlanEquivalence, "is_same_computation", lambda _: True)
    question = plan_equivalence.PlanEquivalence(read_plan(first), read_plan(second), k=32)
    kernel = Kernel(question.formula.environment, question.formula.violation, lambda *_: "nobody")
    with suppress(NotComposedError):
        question.argument()(kernel)
    with pytest.raises(NotComposedError):
        kernel.theorem()


VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"


@pytest.mark.middle
def test_sums_of_what_units_return_are_a_theorem(tmp_path):
    """Whatever a unit returns in fp32, fp64 has it, so no rounding matters there."""
    plans = [read_plan(f"{VOLTA} | c=none | out={x}") for x in ("fp64", "fp64:rz")]
    answer = compare_plans(*plans, k=8, budget=None).answer
    assert answer.theorem is not None
    # the steps hold of what the units return: a lemma knows nothing of it
    assert not any(x.startswith("a0") for leaf in answer.theorem.leaves for x in leaf.stated.query.symbols)
    of = [(answer.question, {"claim": "a claim"}, answer.theorem)]
    write_bundles(of, plans[0].unit, tmp_path / "bundle", Solving(), LIMITS, 0)
    assert checked(tmp_path / "bundle")[0] == 0


@pytest.mark.middle
@pytest.mark.parametrize("other", [f"{VOLTA}@fraction_bits=22", VOLTA])
def test_sums_of_other_numbers_are_no_theorem(monkeypatch, other):
    """Where units or roundings differ, the lemma about any results is false, whatever is said of the calls."""
    monkeypatch.setattr(plan_equivalence.PlanEquivalence, "decides_by_argument", True)
    plans = [read_plan(f"{x} | split-k=2 | c=none | out=fp16{y}") for x, y in ((VOLTA, ""), (other, ":rz"))]
    with pytest.raises(NotComposedError, match="whatever the units return"):
        theorem_of(plan_equivalence.PlanEquivalence(*plans, k=8))
