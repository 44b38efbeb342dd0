"""Tensors of PyTorch in assert_gemm: narrow types as their bits, wide ones through NumPy."""

import numpy as np
import pytest
from support.extras import PYTORCH

torch = pytest.importorskip("torch", reason=PYTORCH)

from mmaproof.designs.errors import OperandError  # noqa: E402
from mmaproof.designs.operands import as_numpy  # noqa: E402
from mmaproof.gemm.tolerances.assertion import assert_gemm  # noqa: E402
from mmaproof.hardware_replay.emulation import matmul  # noqa: E402

UNITS = {
    "hopper/wgmma.f32.e4m3.e4m3": "float8_e4m3fn",
    "ampere/mma.m16n8k16.f32.bf16.bf16.f32": "bfloat16",
    "volta/mma.m8n8k4.f32.f16.f16.f32": "float16",
    "ampere/mma.m16n8k32.s32.s8.s8.s32": "int8",
}


@pytest.mark.parametrize("unit", UNITS)
def test_tensors_are_read_without_rounding(unit: str) -> None:
    kind = getattr(torch, UNITS[unit])
    torch.manual_seed(0)
    a, b = ((torch.randn(s) * 4).to(kind) for s in ((4, 64), (64, 5)))
    d = torch.from_numpy(np.asarray(matmul(unit, as_numpy(a), as_numpy(b))))
    assert_gemm(d, a, b, plan=unit, strength="bits")
    with pytest.raises(AssertionError, match="do not have the bits"):
        assert_gemm(d * 2 + 1, a, b, plan=unit, strength="bits")


def test_a_tensor_that_needs_gradients_is_read() -> None:
    a = torch.ones(2, 2, dtype=torch.float32, requires_grad=True)
    assert as_numpy(a).tolist() == [[1, 1], [1, 1]]


def test_what_is_of_pytorch_and_no_tensor_is_refused() -> None:
    with pytest.raises(OperandError, match="a device, and no tensor"):
        as_numpy(torch.device("cpu"))
