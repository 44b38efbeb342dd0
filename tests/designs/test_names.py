"""What people call designs: one is meant, or a list says what tells its members apart."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("HOPPER/WGMMA.F32.F16.F16", "hopper/wgmma.m64n8k16.f32.f16.f16"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "hopper/wgmma.m64n8k16.f32.f16.f16"),
        (
            "volta/mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
            "volta/mma.m8n8k4.f32.f16.f16.f32",
        ),
        ("MI300X/V_MFMA_F32_32X32X8_F16", "cdna3/v_mfma_f32_32x32x8_f16"),
        ("b200/nvfp4", "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"),
        ("h100/CUBLAS_COMPUTE_64F", "hopper/mma.m16n8k16.f64.f64.f64.f64"),
        ("mi300x/HIPBLAS_COMPUTE_32F_FAST_TF32", "cdna3/v_mfma_f32_16x16x8_xf32"),
        ("mi300x/HIPBLAS_COMPUTE_32I_PEDANTIC", "cdna3/v_mfma_i32_16x16x32_i8"),
        ("mi300x/HIPBLASLT_COMPUTE_F32_FAST_XF32", "cdna3/v_mfma_f32_16x16x8_xf32"),
        ("HIPBLAS_COMPUTE_32F_FAST_TF32", "cdna3/v_mfma_f32_16x16x8_xf32"),
        ("V100/F32.F16.F16.F32@fraction_bits=22", "volta/mma.m8n8k4.f32.f16.f16.f32@fraction_bits=22"),
    ],
)
def test_one_design_is_meant(said: str, meant: str) -> None:
    assert find_design(said).name == meant


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ("h100", ["has units for", "e4m3", "mmaproof list hopper"]),
        ("h100/fp8", ["(wgmma, e4m3 x e4m3 to f32, plain)", "(mma.sync, e5m2 x e5m2 to f16, plain)"]),
        ("e4m3 on hopper", ["hopper/wgmma.m64n8k32.f32.e4m3.e4m3 (wgmma", "mma.sync, e4m3 x e4m3"]),
        ("b200 mxfp8", ["blocks of 32 scaled by e8m0", "e5m2 x e5m2"]),
        ("b200/e4m3", ["plain", "blocks of 32 scaled by e8m0"]),
        ("h100/CUBLAS_COMPUTE_32F_FAST_TF32", ["(wgmma, tf32 x tf32 to f32, plain)", "(mma.sync, tf32 x tf32"]),
        ("h100/cublas_compute_16f", ["(wgmma, f16 x f16 to f16, plain)", "(mma.sync, f16 x f16 to f16, plain)"]),
        ("mi300x/HIPBLAS_COMPUTE_32F", ["f32 x f32 to f32", "f16 x f16 to f32", "fp8 x fp8 to f32"]),
        ("v_mfma_f32_32x32x8_f16", ["cdna3/v_mfma_f32_32x32x8_f16", "cdna4/"]),
        ("CUBLAS_COMPUTE_32F", ["say of which architecture", "volta", "hopper, "]),
    ],
)
def test_a_list_says_what_tells_its_members_apart(said: str, listed: list[str]) -> None:
    with pytest.raises(DesignError) as raised:
        find_design(said)
    assert not [x for x in listed if x not in str(raised.value)]


def test_a_compute_type_is_of_its_maker() -> None:
    with pytest.raises(DesignError) as raised:
        find_design("CUBLAS_COMPUTE_32F")
    assert "cdna" not in str(raised.value) and "riscv" not in str(raised.value)
    with pytest.raises(DesignError, match="has no instruction"):
        find_design("h100/HIPBLAS_COMPUTE_32F")


def test_a_product_is_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    find_design("H100/WGMMA.F32.F16.F16")
    assert len({x.getMessage() for x in caplog.records}) == 1


@pytest.mark.parametrize(
    "said", ["", "hopper/", "/", "foo on bar", "nonsense", "fp8 on", "hopper/nope", "rtl:x/y", "h100/CUBLAS_COMPUTE_99"]
)
def test_what_nobody_calls_a_design_is_an_error(said: str) -> None:
    with pytest.raises(DesignError):
        find_design(said)
