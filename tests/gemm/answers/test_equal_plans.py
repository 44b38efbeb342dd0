"""Two plans are proved to return the same bits, or operands show that they do not."""

import pytest

from mmaproof.designs.errors import DesignError
from mmaproof.gemm.answers import compare
from mmaproof.gemm.answers.compare import PlanCheck, PlanComparison, check_plans, compare_plans
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import trace
from mmaproof.gemm.programs.normal_form import shortest_k, telling_k
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.search import Budget, Means

V, H = "volta/f32.f16.f16.f32", "hopper/mma.m16n8k16.f32.f16.f16.f32"


def compared(first: str, second: str, k: int | None = None, seconds: float = 120) -> PlanComparison:
    limits = Limits(seconds, 4 << 30)
    return compare_plans(read_plan(first), read_plan(second), k=k, limits=limits, solver=Solving())


def asked(question: str, *plans: str, k: int | None = None) -> PlanCheck:
    means = Means(Solving(), Limits(120, 4 << 30), Budget())
    return check_plans(question, [read_plan(x) for x in plans], means, k=k)


def assert_replays(found: PlanComparison) -> None:
    """The witness shows what is claimed where each plan is computed by itself."""
    assert found.answer.witness is not None
    returned = [trace(plan, found.answer.witness).d for plan in found.question.plans]
    assert returned == [d for _, d in found.outputs]
    assert returned[0] != returned[1]


def test_tiles_of_another_size_are_the_same_chain() -> None:
    found = compared(f"{H} | tile=32", f"{H} | tile=64")
    assert (found.verdict, found.question.k) == ("equivalent", 64)
    assert "identity" in found.answer.origin


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (V, f"{V} | split-k=2"),
        (f"{V} | split-k=2", f"{V} | split-k=2:descending"),
        (f"{V} | promote=4 | out=bf16", f"{V} | out=bf16"),
        pytest.param(f"{V} | algorithm=markidis", f"{V} | algorithm=markidis | split-k=2", marks=pytest.mark.middle),
    ],
)
def test_split_is_told_apart_by_operands(first: str, second: str) -> None:
    found = compared(first, second)
    assert found.verdict == "different"
    assert_replays(found)


@pytest.mark.middle
def test_order_within_a_step_is_proved_not_to_matter() -> None:
    found = compared(V, f"{V} | order=reversed")
    assert found.verdict == "equivalent"
    assert [x.status for x in found.answer.lemmas] == [Status.PROVED]


def test_order_within_a_step_matters_where_terms_are_added_in_turn() -> None:
    unit = f"{V}@summation=sequential,first=index,truncates=partial-sum"
    found = compared(unit, f"{unit} | order=reversed")
    assert found.verdict == "different"
    assert_replays(found)


def test_order_across_steps_matters() -> None:
    found = compared(f"{V}@L=2", f"{V}@L=2 | order=mod4:20/13")
    assert found.verdict == "different"


def test_plans_of_other_formats_cannot_be_compared() -> None:
    with pytest.raises(DesignError, match="d is fp32 in one, fp16 in the other"):
        compared(V, f"{V} | out=fp16")


def test_shortest_k_has_all_parts() -> None:
    assert shortest_k([read_plan(f"{V} | promote=16 | split-k=2")]) == 36
    assert shortest_k([read_plan(f"{V} | split-k=4:any")], 3) == 16
    assert shortest_k([read_plan(f"{V} | stream-k=8.24")]) == 32
    assert shortest_k([read_plan(f"{V} | tile=8"), read_plan(f"{V} | tile=12")]) == 24
    with pytest.raises(DesignError, match="no K was found"):
        shortest_k([read_plan(f"{V} | stream-k=8.8"), read_plan(f"{V} | stream-k=8.4")])


@pytest.mark.parametrize(
    ("first", "second", "k"),
    [
        (f"{V} | rescale=16:1,2", f"{V} | rescale=16:1", 36),
        (f"{V} | sliced-k=2x16", f"{V} | split-k=2", 20),
        ("cpu/vfmadd231ps | blocks=8x1", "cpu/vfmadd231ps | blocks=8x4", 10),
        (f"{V} | tile=8", f"{V} | tile=16", 16),
    ],
)
def test_plans_are_compared_where_their_operations_differ(first: str, second: str, k: int) -> None:
    assert telling_k([read_plan(first), read_plan(second)]) == k


def test_atomic_additions_of_two_parts_onto_zero_are_independent_of_their_order() -> None:
    found = asked("order", f"{V} | split-k=2:any | c=none")
    assert (found.status, found.conclusion) == (Status.PROVED, "all orders of 2 parts give the same bits")


@pytest.mark.parametrize("plan", [f"{V} | split-k=3:any | c=none", f"{V} | split-k=2:any"])
def test_atomic_additions_of_three_numbers_depend_on_their_order(plan: str) -> None:
    found = asked("order", plan)
    assert found.status is Status.REFUTED
    assert found.comparison is not None
    assert_replays(found.comparison)
    orders = {x.name for x in found.comparison.question.plans}
    assert len(orders) == 2


def test_sums_of_integers_are_independent_of_their_order() -> None:
    found = asked("order", "turing/mma.m8n8k16.s32.s8.s8.s32 | split-k=8:any")
    assert found.status is Status.PROVED


def test_orders_of_many_parts_are_not_proved_by_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    # were all compared orders found to be equal, it would still not be all orders
    def equal(*_: object, **__: object) -> tuple[Status, tuple[PlanComparison, ...]]:
        return Status.PROVED, (compared(V, V),)

    monkeypatch.setattr(compare, "_all_equal", equal)
    assert asked("order", f"{V} | split-k=5:any").status is Status.UNKNOWN
    assert asked("order", f"{V} | split-k=4:any").status is Status.PROVED


def test_batch_invariance() -> None:
    found = asked("batch-invariance", f"{H} | tile=32 | c=none", f"{H} | tile=64 | c=none", f"{H} | c=none")
    assert found.status is Status.PROVED
    assert len(found.comparisons) == 2
    found = asked("batch-invariance", f"{V} | c=none", f"{V} | split-k=2 | c=none")
    assert found.status is Status.REFUTED
    assert found.comparison is not None
    assert_replays(found.comparison)


def test_questions_that_mean_nothing_are_refused() -> None:
    with pytest.raises(DesignError, match="every order of additions is determined"):
        asked("order", V)
    with pytest.raises(DesignError, match="makes 1 parts"):
        asked("order", f"{V} | split-k=1:any", k=8)
    with pytest.raises(DesignError, match="more than one level"):
        asked("order", f"{V} | split-k=2:any | stream-k=8.8:any")
    with pytest.raises(DesignError, match="an order of additions is open"):
        asked("batch-invariance", V, f"{V} | split-k=2:any")
