"""Arrays of JAX: operands of assert_gemm and of bounds, and what a kernel returns that is to be identified."""

import numpy as np
import pytest
from support.extras import JAX
from support.matrix_functions import black_box

jax = pytest.importorskip("jax", reason=JAX)

from mmaproof import assert_gemm, matmul, tolerance  # noqa: E402
from mmaproof.designs.catalogue import find_design  # noqa: E402
from mmaproof.designs.errors import OperandError  # noqa: E402
from mmaproof.designs.operands import array_dtype, as_numpy  # noqa: E402
from mmaproof.gemm.kernels.asked import Asked  # noqa: E402
from mmaproof.gemm.kernels.identify import KernelSearch  # noqa: E402
from mmaproof.hardware_replay.matrix_targets import (  # noqa: E402
    FunctionTarget,
    Product,
    find_matrix_target,
)

UNITS = (
    "hopper/wgmma.f32.e4m3.e4m3",
    "ampere/mma.m16n8k16.f32.bf16.bf16.f32",
    "volta/mma.m8n8k4.f32.f16.f16.f32",
    "ampere/mma.m16n8k32.s32.s8.s8.s32",
)


def operands(unit: str):
    rng = np.random.default_rng(0)
    design = find_design(unit)
    return [
        jax.numpy.asarray((rng.standard_normal(s) * 4).astype(array_dtype(f)))
        for f, s in zip(design.formats, ((4, 64), (64, 5)), strict=False)
    ]


@pytest.mark.parametrize("unit", UNITS)
def test_arrays_are_read_without_rounding(unit: str) -> None:
    a, b = operands(unit)
    expected = matmul(unit, np.asarray(a), np.asarray(b))
    assert (matmul(unit, a, b) == expected).all()
    d = jax.numpy.asarray(expected)
    for strength in ("bits", "proved"):
        assert_gemm(d, a, b, plan=unit, strength=strength)
    with pytest.raises(AssertionError, match="do not have the bits"):
        assert_gemm(d * 2 + 1, a, b, plan=unit, strength="bits")


def test_bounds_of_arrays() -> None:
    unit = UNITS[0]
    a, b = operands(unit)
    found = tolerance(unit, 64).bound(a, b)
    assert (found == tolerance(unit, 64).bound(np.asarray(a), np.asarray(b))).all()


def test_values_that_are_traced_are_refused() -> None:
    with pytest.raises(OperandError, match="cannot be read as an array: TracerArrayConversionError"):
        jax.jit(lambda x: as_numpy(x))(jax.numpy.ones(3))


def test_a_kernel_that_returns_arrays_of_jax_is_identified() -> None:
    fma = find_design("cpu/vfmadd231ps")

    def function(a, b):
        return jax.numpy.asarray(matmul(fma, a, b))

    asked = Asked(black_box(function), Product(4, 4, 8, *fma.formats[:2], fma.d_format))
    (finding,) = KernelSearch(asked, seconds=600, validation=100, comparing=0).search().findings
    assert finding.plan is not None and finding.plan.unit is fma


def test_a_function_of_jax_is_a_target() -> None:
    target = find_matrix_target("python:jax.numpy:matmul")
    assert isinstance(target, FunctionTarget)
    fp32 = find_design("cpu/vfmadd231ps").d_format
    ones = np.ones((2, 2), np.float32).view(np.uint32)
    assert (target.multiply(Product(2, 2, 2, fp32, fp32, fp32), ones, ones).view(np.float32) == 2).all()
