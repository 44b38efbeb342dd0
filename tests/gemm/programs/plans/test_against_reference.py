"""Plans computed from their schedules return what the step-by-step references return."""

import numpy as np
import pytest
from reference.plans import PLANS, same
from support.plan_operands import element, matrices

import mmaproof
from mmaproof.designs.element import Operands
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan, trace
from mmaproof.gemm.programs.normal_form import weights_of


@pytest.mark.few(9)
@pytest.mark.parametrize("text", PLANS)
def test_one_element_is_that_of_the_reference(text: str) -> None:
    plan, (k, expected) = read_plan(text), PLANS[text]
    a, b, c = matrices(plan, k, (6, 2), seed=1)
    d_format = plan.formats[3].name
    for i in range(5):
        operands = element(a, b, c, i, i % 2)
        d = trace(plan, operands).d
        assert same(d_format, d, expected(operands.a, operands.b, operands.c)), operands


@pytest.mark.few(5)
@pytest.mark.parametrize("text", PLANS)
@pytest.mark.parametrize("backend", ["arrays", pytest.param("native", marks=pytest.mark.middle)])
def test_matrix_is_made_of_these_elements(text: str, backend: str | None) -> None:
    plan, (k, _) = read_plan(text), PLANS[text]
    a, b, c = matrices(plan, k, (5, 2), seed=2)
    d = multiply_plan(plan, a, b, c, backend=backend)
    expected = [[trace(plan, element(a, b, c, i, j)).d for j in range(2)] for i in range(5)]
    assert d.tolist() == expected


@pytest.mark.parametrize("backend", ["integers", "arrays", None])
def test_negative_factor_makes_minus_zero_of_zero(backend: str | None) -> None:
    plan = read_plan("volta/f32.f16.f16.f32 | c=none | alpha=-2")
    zeros = np.zeros((4, 4), np.uint16)
    assert trace(plan, Operands((0,) * 4, (0,) * 4, 0)).d == 1 << 31
    assert (multiply_plan(plan, zeros, zeros, backend=backend) == 1 << 31).all()


@pytest.mark.parametrize("backend", ["arrays", pytest.param("native", marks=pytest.mark.middle)])
def test_subnormal_sums_of_parts_are_added_as_zeros(backend: str) -> None:
    text = "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | promote=8:fp32:rne:flush"
    plan, kept, (k, expected) = read_plan(text), read_plan(text.removesuffix(":fp32:rne:flush")), PLANS[text]
    assert (plan.name, kept.levels[0].flushes) == (text, False)
    tiny, one = 0x0040, 0x3F80  # 2**-127 and 1 of bf16
    a, b = np.zeros((1, k), np.uint16), np.full((k, 1), one, np.uint16)
    a[0, 0], a[0, 8:10], a[0, 16] = tiny, tiny, tiny | 0x8000  # sums of parts: 2**-127, 2**-126, -2**-127
    c = np.zeros((1, 1), np.uint32)
    operands = element(a, b, c, 0, 0)
    assert trace(plan, operands).d == 0x00800000 == expected(operands.a, operands.b, operands.c)
    assert multiply_plan(plan, a, b, c, backend=backend) == 0x00800000
    assert trace(kept, operands).d == 0x00800000  # all parts: the tiny ones cancel
    a[0, 16] = 0
    operands = element(a, b, c, 0, 0)
    assert trace(plan, operands).d == multiply_plan(plan, a, b, c, backend=backend)[0, 0] == 0x00800000
    assert trace(kept, operands).d == multiply_plan(kept, a, b, c, backend=backend)[0, 0] == 0x00C00000


@pytest.mark.parametrize("backend", ["arrays", pytest.param("native", marks=pytest.mark.middle)])
def test_subnormal_sums_are_flushed_before_they_are_converted(backend: str) -> None:
    text = "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | out=bf16:rne:flush"
    plan, kept, (k, expected) = read_plan(text), read_plan(text.removesuffix(":rne:flush")), PLANS[text]
    zeros = np.zeros((1, k), np.uint16)
    # the largest subnormal number is rounded to the smallest normal one where it is not flushed
    for start, flushed, rounded in (
        (0x007FFFFF, 0, 0x0080),
        (0x807FFFFF, 0x8000, 0x8080),
        (0x00010000, 0, 0x0001),
        (0x80000001, 0x8000, 0x8000),
        (0x00800000, 0x0080, 0x0080),
        (0x807F0000, 0x8000, 0x807F),
    ):
        c = np.full((1, 1), start, np.uint32)
        operands = element(zeros, zeros.T, c, 0, 0)
        assert trace(plan, operands).d == flushed == expected(operands.a, operands.b, operands.c)
        assert multiply_plan(plan, zeros, zeros.T, c, backend=backend) == flushed
        assert multiply_plan(kept, zeros, zeros.T, c, backend=backend) == trace(kept, operands).d == rounded


def test_phases_on_a_dst_of_bf16_return_what_the_thread_reports() -> None:
    """tenstorrent/tt-metal, issues 12453 and 12923: 7.96875 * 1.3125 in HiFi2 is 10.4375, in HiFi4 10.5."""
    operands = Operands((0x40FF, *[0] * 31), (0x3FA8, *[0] * 31), 0)
    assert trace(read_plan("tt-metal/hifi2"), operands).d == 0x4127
    assert trace(read_plan("tt-metal/hifi4"), operands).d == 0x4128
    wide = read_plan("tt-metal/hifi4 | held=fp32")
    assert trace(wide, operands).d == 0x4127  # 10.458984375 is rounded once
    assert wide.with_unit(wide.unit.change(L=16)).then[2].step.L == 16


def test_a_second_pass_adds_no_product_to_what_is_exact() -> None:
    plan = read_plan("tt-metal/hifi4")
    assert weights_of(plan.schedule(32)).products == dict.fromkeys(range(32), 1)


@pytest.mark.parametrize("backend", ["integers", "arrays", "native"])
def test_a_chain_whose_c_and_d_have_different_formats_has_one_answer(backend: str) -> None:
    """Each instruction after the first takes c in the format of d, as ``mma`` with c of that type does."""
    unit, following = (f"volta/mma.m8n8k4.f32.f16.f16.{x}" for x in ("f16", "f32"))
    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal(x).astype(np.float16) for x in ((8, 12), (12, 8), (8, 8)))
    chain = mmaproof.matmul(unit, a, b, c, backend=backend).tobytes()
    plan = read_plan(unit)
    on_plan = multiply_plan(plan, *(x.view(np.uint16) for x in (a, b, c)), backend=backend)
    d = mmaproof.matmul(unit, a[:, :4], b[:4], c)
    for at in (4, 8):
        d = mmaproof.matmul(following, a[:, at : at + 4], b[at : at + 4], d)
    assert chain == on_plan.tobytes() == d.tobytes()
    held = mmaproof.matmul(read_plan(f"{unit} | held=fp16"), a, b, c, backend=backend)
    assert held.tobytes() != chain, "a conversion between instructions is a plan that says so"
