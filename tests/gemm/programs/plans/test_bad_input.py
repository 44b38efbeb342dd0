"""Operands that do not fit a plan, and plans that cannot be computed, are told apart and named."""

import numpy as np
import pytest

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError, OperandError
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan, trace

PLAN = "volta/f32.f16.f16.f32 | split-k=2"


def u16(*shape: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.zeros(shape, dtype=np.uint16)


def test_shapes_that_do_not_fit_are_refused() -> None:
    plan = read_plan(PLAN)
    with pytest.raises(OperandError, match=r"\(m, k\), \(k, n\), \(m, n\) needed"):
        multiply_plan(plan, u16(2, 8), u16(4, 2))
    with pytest.raises(OperandError, match="needed"):
        multiply_plan(plan, u16(2, 8), u16(8, 2), np.zeros((2, 3), np.uint32))


def test_types_and_patterns_that_do_not_fit_are_refused() -> None:
    plan = read_plan(PLAN)
    with pytest.raises(OperandError, match=r"a has type float32: bit patterns of fp16"):
        multiply_plan(plan, np.zeros((2, 8), np.float32), u16(8, 2))  # type: ignore[arg-type]
    with pytest.raises(OperandError, match="b holds 0x10000, too wide for fp16"):
        multiply_plan(plan, u16(2, 8), np.full((8, 2), 0x10000, np.uint32))
    with pytest.raises(OperandError, match=r"c\[0\] = 0x100000000 is too wide for fp32"):
        trace(plan, Operands((0,) * 8, (0,) * 8, 1 << 32))
    with pytest.raises(OperandError, match="a has 8 elements and b has 4"):
        trace(plan, Operands((0,) * 8, (0,) * 4, 0))


def test_k_that_does_not_fit_is_refused_with_those_that_do() -> None:
    with pytest.raises(DesignError, match="k = 10 is not a multiple of the plan's K of a tile, 4: choose 8 or 12"):
        multiply_plan(read_plan(PLAN), u16(2, 10), u16(10, 2))
    with pytest.raises(DesignError, match="2 parts of k = 4 are too many"):
        multiply_plan(read_plan(PLAN), u16(2, 4), u16(4, 2))


PHASE = "wormhole/mvmul.phase0.m8n16k16.f32.e8m7.e8m7.f32"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"{PHASE} | then=phase9", "names no instruction beside .*: one of phase1, phase2, phase3"),
        (f"{PHASE} | then=wormhole/mvmul.phase1.f32.e8m10.e8m10.f32", "other formats or another K"),
        ("ampere/m16n8k8.f32.f16.f16.f32 | then=ampere/m16n8k8.f32.f16.f16.f32", "would add all products again"),
        ("turing/mma.m8n8k16.s32.s8.s8.s32 | held=bf16", "held is of a floating-point accumulator"),
        ("ampere/m16n8k8.f32.f16.f16.f32 | held=int32", "held is of a floating-point accumulator"),
        ("ampere/m16n8k8.f32.bf16.bf16.f32 | algorithm=bf16x3 | held=bf16", "bf16x3 adds words"),
        (f"{PHASE} | held=bf16:up", "FORMAT"),
    ],
)
def test_instructions_that_do_not_share_an_accumulator_are_refused(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_plan(text)


def test_order_that_is_not_determined_has_no_result() -> None:
    with pytest.raises(DesignError, match="not determined"):
        multiply_plan(read_plan("volta/f32.f16.f16.f32 | split-k=2:any"), u16(2, 8), u16(8, 2))


def test_algorithm_of_a_plan_must_exist_and_run_on_its_unit() -> None:
    with pytest.raises(InputError, match="unknown algorithm 'markidi'"):
        trace(read_plan("volta/f32.f16.f16.f32 | algorithm=markidi"), Operands((0,) * 4, (0,) * 4, 0))
    with pytest.raises(DesignError, match="does not run on"):
        trace(read_plan("volta/f32.f16.f16.f32 | algorithm=3xtf32"), Operands((0,) * 4, (0,) * 4, 0))
    with pytest.raises(OperandError, match="not finite"):
        slices = read_plan("turing/mma.m8n8k16.s32.s8.s8.s32 | algorithm=slices")
        trace(slices, Operands((0x7F800000,) * 16, (0,) * 16, 0))
