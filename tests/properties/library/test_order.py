"""Order of the addends: proved by laws where it does not matter, shown by a witness where it does."""

import itertools

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library.symmetry import generators
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check


def closure(start, permutations):
    """Every order that a chain of permutations leads to."""
    seen, todo = {start}, [start]
    while todo:
        now = todo.pop()
        for p in permutations:
            after = tuple(now[i] for i in p)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return seen


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_two_permutations_generate_all(count):
    order = tuple(range(count))
    assert closure(order, generators(count, 1)) == set(itertools.permutations(order))


def test_products_that_share_a_scale_stay_together():
    found = closure(tuple(range(6)), generators(6, 3))
    within = list(itertools.permutations(range(3)))
    other = [tuple(i + 3 for i in p) for p in within]
    # those of the first run are permuted, the runs change places: every order of each run, first or second
    assert found == {x + y for x in within for y in other} | {y + x for x in within for y in other}


@pytest.mark.slow_values("paper/tree.m1n1k8.f32.f16.f16.f32-violated")
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        pytest.param("volta/f32.f16.f16.f32", "holds", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.f16.f16", "holds", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", "holds", marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_32x32x8_f16", "holds", marks=pytest.mark.middle),
        pytest.param("cdna1/v_mfma_f32_32x32x8f16", "holds", marks=pytest.mark.middle),
        pytest.param("rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3", "holds", marks=pytest.mark.middle),
        ("cdna2/v_mfma_f32_32x32x8f16", "violated"),
        pytest.param("cdna3/v_mfma_f32_32x32x16_fp8_fp8", "violated", marks=pytest.mark.middle),
        pytest.param("paper/tree.m1n1k8.f32.f16.f16.f32", "violated", marks=pytest.mark.middle),
    ],
)
def test_order_within_a_step(name, verdict):
    answer = check("order-independent", find_design(name))
    assert answer.verdict == verdict
    if verdict == "violated":
        runs = answer.finding.runs
        assert len({run.d for run in runs}) > 1
        assert all(evaluate(run.design, run.operands) == run.d for run in runs)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        pytest.param("ampere/m16n8k16.f32.f16.f16.f32", "violated", marks=pytest.mark.middle),
        pytest.param("ampere/m16n8k8.f32.f16.f16.f32", "holds", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.f16.f16", "holds", marks=pytest.mark.middle),
    ],
)
def test_order_along_k(name, verdict):
    answer = check("chain-order-independent", find_design(name))
    assert answer.verdict == verdict
