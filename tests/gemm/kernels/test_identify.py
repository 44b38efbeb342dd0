"""The plan of a black box: found where it is one, and never reported where the black box only resembles one."""

import re

import numpy as np
import pytest
from support.matrix_functions import Function, Matrix, ascending, black_box, descending, in_parts, product, terms

from mmaproof.designs.operands import array_of, patterns_of
from mmaproof.gemm.kernels.asked import KINDS, Asked, draw_product
from mmaproof.gemm.kernels.fit import Answer, is_flushed
from mmaproof.gemm.kernels.identify import DOUBTED, KernelSearch, search_recorded
from mmaproof.gemm.kernels.outcome import Outcome
from mmaproof.gemm.kernels.tree import are_same
from mmaproof.gemm.programs import Plan, read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.hardware_replay.matrix_targets import Product

FMA = "cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32"
VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"


def of_plan(text: str, m: int = 8, n: int = 8, k: int = 32) -> tuple[Function, Product]:
    """Return a plan as a function of arrays."""
    plan = read_plan(text)
    a, b, _, d = plan.formats
    return lambda x, y: array_of(multiply_plan(plan, patterns_of(x, a), patterns_of(y, b)), d), Product(
        m, n, k, a, b, d
    )


def search(function: Function, of: Product, validation: int = 2000, seconds: float = 600) -> Outcome:
    asked = Asked(black_box(function), of)
    return KernelSearch(asked, seconds=seconds, validation=validation, comparing=0).search()


@pytest.mark.middle
@pytest.mark.slow_values(
    "volta/mma.m8n8k4.f32.f16.f16.f32 | promote=8 | out=fp16",
    "volta/mma.m8n8k4.f32.f16.f16.f32 | split-k=2:ascending:fp16>fp32",
)
@pytest.mark.parametrize(
    "text",
    [
        FMA,
        pytest.param(f"{FMA} | promote=8", marks=pytest.mark.middle),
        pytest.param(f"{FMA} | blocks=14x2", marks=pytest.mark.middle),
        f"{FMA} | split-k=2:onward",
        f"{FMA} | promote=32",
        pytest.param(f"{FMA} | stream-k=12.12.8:onward", marks=pytest.mark.middle),
        f"{FMA} | split-k=4:tree",
        pytest.param(f"{FMA} | split-k=4:descending", marks=pytest.mark.middle),
        pytest.param(f"{FMA} | stream-k=5.7.20:2.0.1", marks=pytest.mark.middle),
        pytest.param(f"{FMA} | sliced-k=4x1", marks=pytest.mark.middle),
        pytest.param(f"{FMA} | tile=4 | order=reversed", marks=pytest.mark.middle),
        pytest.param(f"{FMA} | promote=4 | split-k=2", marks=pytest.mark.middle),
        pytest.param(f"{FMA} | split-k=2 | out=bf16", marks=pytest.mark.middle),
        pytest.param(f"{VOLTA} | promote=8 | out=fp16", marks=pytest.mark.middle),
        pytest.param(f"{VOLTA} | split-k=2:ascending:fp16>fp32", marks=pytest.mark.middle),
    ],
)
def test_a_plan_is_found(text: str) -> None:
    outcome = search(*of_plan(text))
    assert outcome.found
    (finding,) = outcome.findings
    assert finding.plan is not None
    assert are_same(finding.plan, read_plan(text), 32), finding.plan.name
    assert finding.validated >= 2000


def one_k_swapped(a: Matrix, b: Matrix) -> Matrix:
    order = [0, 1, 2, 3, 5, 4, *range(6, a.shape[1])]
    return of_plan(FMA)[0](a[:, order], b[order])


def one_part_from_minus_zero(a: Matrix, b: Matrix) -> Matrix:
    """Return the sum of two parts, where the sum of zeros of the second may be -0."""
    plan, half = of_plan(FMA)[0], a.shape[1] // 2
    return plan(a[:, :half], b[:half]) + in_parts(half)(a[:, half:], b[half:])


def from_the_first_product(a: Matrix, b: Matrix) -> Matrix:
    return ascending(a, b)  # every product is rounded


def rounded_twice(a: Matrix, b: Matrix) -> Matrix:
    d = of_plan(FMA)[0](a, b)
    high = (d.view(np.uint32) + np.uint32(1)) & np.uint32(0xFFFFFFFE)
    return np.where(np.isfinite(d), high.view(np.float32), d)


def wrong_in_one_element(a: Matrix, b: Matrix) -> Matrix:
    d = of_plan(FMA)[0](a, b)
    d[7, 3] = terms(a, b).sum(axis=0)[7, 3]
    return d


def saturated(a: Matrix, b: Matrix) -> Matrix:
    d = of_plan(FMA)[0](a, b)
    return np.where(np.isposinf(d), np.finfo(np.float32).max, d).astype(np.float32)


@pytest.mark.middle
@pytest.mark.parametrize(
    "function",
    [
        one_k_swapped,
        one_part_from_minus_zero,
        from_the_first_product,
        rounded_twice,
        wrong_in_one_element,
        saturated,
    ],
)
def test_what_is_nearly_a_plan_is_not_reported_as_one(function: Function) -> None:
    outcome = search(function, product(8, 8, 32))
    if function is one_k_swapped:  # in the space: k in another order
        (finding,) = outcome.findings
        assert finding.plan is None or not are_same(finding.plan, read_plan(FMA), 32)
        return
    assert not outcome.found
    assert outcome.findings[0].difference is not None


@pytest.mark.middle
def test_elements_with_trees_of_their_own_are_told_apart() -> None:
    def edges(a: Matrix, b: Matrix) -> Matrix:
        d = of_plan(FMA)[0](a, b)
        d[:, 6:] = of_plan(f"{FMA} | promote=16")[0](a, b)[:, 6:]
        return d

    outcome = search(edges, product(8, 8, 32))
    assert outcome.found
    plans = {f.plan.name: int(f.where.sum()) for f in outcome.findings if f.plan is not None and f.where is not None}
    assert plans == {FMA: 48, f"{FMA} | promote=16": 16}


@pytest.mark.middle
def test_sums_that_are_flushed_are_part_of_the_plan() -> None:
    def flushed(a: Matrix, b: Matrix) -> Matrix:
        d = of_plan(f"{FMA} | split-k=2")[0](a, b)
        return np.where(np.abs(d) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), d), d)

    (finding,) = search(flushed, product(12, 12, 32)).findings
    assert finding.plan is not None and not finding.flushes
    assert are_same(finding.plan, read_plan(f"{FMA} | split-k=2 | out=fp32:rne:flush"), 32)


def test_results_that_are_flushed_after_their_conversion_are_said_to_be() -> None:
    plan = read_plan(f"{FMA} | out=fp16")
    a = np.full((2, 4), 2.0**-9, np.float32).view(np.uint32)
    b = np.array([[2.0**-9, -(2.0**-9), 1.0]] * 4, np.float32).view(np.uint32)
    d = multiply_plan(plan, a, b)
    assert d.tolist() == [[0x0100, 0x8100, 0x2000]] * 2
    assert is_flushed(plan, Answer("small", a, b, d & np.uint16(0xE000)))
    assert not is_flushed(plan, Answer("small", a, b, d & np.uint16(0x6000)))  # a zero of the other sign
    assert not is_flushed(plan, Answer("small", a, b, d & np.uint16(0x8000)))  # a normal number, too
    (other,) = search(saturated, product(8, 8, 32)).findings
    assert other.plan is None and not other.flushes


def test_integers_have_no_order() -> None:
    outcome = search(lambda a, b: a.astype(np.int32) @ b.astype(np.int32), product(4, 4, 8, "int8", "int32"), 100)
    (finding,) = outcome.findings
    assert finding.no_tree is not None and "integers are exact" in finding.no_tree
    assert finding.plan is not None and finding.plan.unit.d_format.is_integer


def test_a_target_that_contradicts_itself_has_no_plan() -> None:
    count = iter(range(1000))
    outcome = search(lambda a, b: (ascending if next(count) % 2 else of_plan(FMA)[0])(a, b), product(8, 8, 32))
    assert outcome.problem is not None and not outcome.findings


@pytest.mark.parametrize("other", [ascending, descending])
def test_a_target_that_differs_now_and_then_is_not_taken_for_one_without_a_tree_or_plan(other: Function) -> None:
    """``ascending`` has the tree of the plan, and other bits; ``descending`` has another tree."""
    count = iter(range(1, 10000))
    outcome = search(lambda a, b: (of_plan(FMA)[0] if next(count) % 7 else other)(a, b), product(8, 8, 32))
    assert outcome.problem is not None and not outcome.findings
    assert re.search(r"d\[\d+, \d+\] is 0x\w+, and 0x\w+ when it is asked again", outcome.problem)
    assert re.search(r"[1-9]\d* of \d+ more answers", outcome.problem)


def test_a_target_without_a_tree_is_asked_again_and_not_called_different() -> None:
    def combined(a: Matrix, b: Matrix) -> Matrix:
        half = a.shape[1] // 2
        return ascending(a[:, :half] + a[:, half:], b[:half]) + ascending(a[:, half:], b[half:] - b[:half])

    outcome = search(combined, product(4, 4, 8), 100, seconds=1)
    assert outcome.problem is None
    assert outcome.findings[0].no_tree is not None
    assert outcome.calls > DOUBTED


def recorded(text: str, given: tuple[Plan, ...] = (), k: int = 64) -> Outcome:
    function, of = of_plan(text, 16, 16, k)
    a, b = draw_product("normal", of, np.random.default_rng(0))
    d = patterns_of(function(array_of(a, of.a), array_of(b, of.b)), of.d)
    return search_recorded(Answer("recorded", a, b, d), of, "files:test", seconds=5, given=given)


@pytest.mark.slow
def test_a_recorded_product() -> None:
    outcome = recorded(f"{FMA} | split-k=2:ascending")
    assert outcome.recorded and outcome.findings[0].plan is not None
    assert are_same(outcome.findings[0].plan, read_plan(f"{FMA} | promote=32"), 64)


@pytest.mark.slow
def test_a_recorded_product_of_a_plan_that_is_given() -> None:
    text = f"{FMA} | stream-k=5.27.32"
    assert recorded(text, (read_plan(text),)).findings[0].plan == read_plan(text)


MX, NV = "blackwell/tcgen05.mma.block32.f32.e4m3.e4m3.ue8m0", "blackwell/tcgen05.mma.block16.f32.e2m1.e2m1.ue4m3"


def recorded_with_scales(text: str, given: tuple[Plan, ...], changed: int = 0, k: int = 128) -> Outcome:
    """Look for a plan of a recorded product; one of the scales is ``changed`` N powers of two afterwards."""
    plan, rng = read_plan(text), np.random.default_rng(0)
    (a_format, b_format, _, d_format), scale = plan.formats, plan.scale_format
    assert scale is not None
    of = Product(16, 16, k, a_format, b_format, d_format, scale, plan.block)
    a, b = draw_product("spread", of, rng)
    shapes = (16, plan.blocks(k)), (plan.blocks(k), 16)
    most = min(12, scale.bias - 1)
    of_a, of_b = (
        ((rng.integers(-most, most + 1, s) + scale.bias) << scale.fraction_bits).astype(np.uint8) for s in shapes
    )
    d = multiply_plan(plan, a, b, scale_a=of_a, scale_b=of_b)
    of_a[3, 1] += changed << scale.fraction_bits
    return search_recorded(Answer("recorded", a, b, d, (of_a, of_b)), of, "files:test", seconds=600, given=given)


@pytest.mark.middle
@pytest.mark.parametrize("text", [f"{MX} | split-k=2", f"{NV} | promote=64"])
def test_a_recorded_product_with_scales(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.kernels.identify.COMPARING", 0)
    (finding,) = recorded_with_scales(text, ()).findings
    assert finding.plan is not None
    assert are_same(finding.plan, read_plan(text), 128), finding.plan.name


@pytest.mark.middle
def test_scales_are_a_part_of_what_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.kernels.fit.listed_plans", lambda product: iter(()))
    monkeypatch.setattr("mmaproof.gemm.kernels.fit.with_formats", lambda plan, product: iter(()))
    plan, other = read_plan(f"{MX} | split-k=2"), read_plan(f"{NV} | promote=64")
    assert recorded_with_scales(plan.name, (other, plan)).findings[0].plan == plan
    (finding,) = recorded_with_scales(plan.name, (plan,), changed=1).findings
    assert finding.plan is None
    assert finding.difference is not None and finding.difference.row == 3 and finding.difference.count <= 16


def test_each_kind_of_operands_is_drawn() -> None:
    of = product(8, 8, 16)
    for kind in KINDS:
        a, b = draw_product(kind, of, np.random.default_rng(0))
        assert (a.shape, b.shape) == ((8, 16), (16, 8))


def test_the_validation_ends_with_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    function, of = of_plan(f"{FMA} | promote=32")
    calls = search(function, of).calls
    monkeypatch.setattr(KernelSearch, "is_late", property(lambda x: x.asked.calls > calls))
    outcome = search(function, of, validation=1_000_000_000)
    (finding,) = outcome.findings
    assert outcome.found and outcome.late
    assert 2000 <= finding.validated < 1_000_000_000
