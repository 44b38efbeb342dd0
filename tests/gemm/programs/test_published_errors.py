"""Errors that libraries' users and authors publish, on data that are drawn as theirs were."""

from math import log2, prod

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.slice_gemm import MODULI

Array = npt.NDArray[np.float64]
BF16, E2M1, UE4M3, E4M3 = (
    np.dtype(getattr(ml_dtypes, x)) for x in ("bfloat16", "float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fn")
)


def rounded(x: Array, to: np.dtype) -> Array:
    return x.astype(np.float32).astype(to).astype(np.float64)


def normal_bf16(shape: tuple[int, int], seed: int) -> Array:
    return rounded(np.random.default_rng(seed).standard_normal(shape), BF16)


def sqnr(reference: Array, found: Array) -> float:
    """Signal to quantisation noise in dB."""
    return float(20 * np.log10(np.linalg.norm(reference) / np.linalg.norm(reference - found)))


def from_bf16(patterns: npt.NDArray[np.uint16]) -> Array:
    return patterns.view(BF16).astype(np.float64)


@pytest.mark.slow
def test_split_k_in_the_format_of_the_output():
    """modular/modular#7165, 64 x 4096 x 14336, uniform in -1..1: 0.38 of outputs above 1, one rounding 0.0039."""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, x).astype(BF16) for x in ((64, 14336), (14336, 4096)))
    exact, found = a.astype(np.float64) @ b.astype(np.float64), {}
    for workspace in ("bf16", "fp32"):
        plan = read_plan(f"modular/split-k | split-k=4:ascending:{workspace}")
        d = from_bf16(multiply_plan(plan, a.view(np.uint16), b.view(np.uint16)))
        found[workspace] = float(np.abs((d - exact) / exact)[np.abs(exact) > 1].max())
    assert found["bf16"] == pytest.approx(0.38, rel=0.1)
    assert found["fp32"] == pytest.approx(0.0039, abs=0.00005)


def test_split_k_in_the_format_of_the_output_is_worse_on_a_small_matrix_too():
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, x).astype(BF16) for x in ((32, 3584), (3584, 32)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    errors = []
    for workspace in ("bf16", "fp32"):
        d = from_bf16(multiply_plan(read_plan(f"modular/split-k | split-k=4:ascending:{workspace}"), *words(a, b)))
        errors.append(float(np.abs((d - exact) / exact)[np.abs(exact) > 1].max()))
    assert errors[0] > 10 * errors[1]
    assert errors[1] <= 2**-8


def words(a: npt.NDArray, b: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray]:
    return a.view(np.uint16), b.view(np.uint16)


@pytest.mark.middle
def test_promotion_with_scales_of_blocks():
    """deepseek-ai/DeepGEMM#4: calc_diff is about 0.0007 against bf16. It is what rounding to e4m3 loses, not the sums.

    Scales are those of 1 x 128 elements of a and of 128 x 128 of b; each sum of 128 products is scaled and added in
    fp32, by a fused multiply-add, which the test does because plans have no scales of parts.
    """
    k, size = 7168, 128
    a, b = normal_bf16((32, k), 0), normal_bf16((size, k), 1)
    (of_a, scale_a), (of_b, scale_b) = scaled_blocks(a, 1), scaled_blocks(b, size)
    plan, total = read_plan("deepgemm/fp8 | out=fp32"), np.zeros((32, size), np.float32)
    for i in range(k // size):
        part = slice(i * size, (i + 1) * size)
        d = multiply_plan(plan, np.ascontiguousarray(of_a[:, part]), np.ascontiguousarray(of_b[:, part].T))
        scale = (scale_a[:, i, None] * scale_b[None, :, i]).astype(np.float64)
        total = (d.view(np.float32) * scale + total).astype(np.float32)
    x, y = rounded(total.astype(np.float64), BF16), rounded(a @ b.T, BF16)
    assert 1 - 2 * (x * y).sum() / (x * x + y * y).sum() == pytest.approx(0.0007, abs=0.00005)


def scaled_blocks(x: Array, rows: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Patterns of e4m3 whose blocks of ``rows`` x 128 reach 448, and the scale of each row and block."""
    blocks = x.reshape(len(x) // rows, rows, -1, 128)
    scale = (np.abs(blocks).max(axis=(1, 3)) / 448).astype(np.float32)
    narrow = (blocks / scale[:, None, :, None]).astype(np.float32).astype(E4M3)
    return narrow.reshape(x.shape).view(np.uint8), np.repeat(scale, rows, axis=0)


def test_two_levels_of_scales():
    """PyTorch's test of NVFP4 with a scale for the tensor asks for 15.8 dB, one of MXFP8 (pytorch/ao#2627) for 27.

    MX4 on the same instruction, with powers of two as scales, has 16.094 dB (pytorch/FBGEMM#4970).
    """
    a, b = normal_bf16((128, 1024), 0), normal_bf16((128, 1024), 1)
    exact = rounded(a @ b.T, BF16)
    nvfp4 = [two_levels(1000 * x) for x in (a, b)]
    assert 15.8 < sqnr(exact * 1e6, product("cublas/nvfp4", nvfp4, *(x[2] for x in nvfp4))) < 18
    assert sqnr(
        exact, product("cublas/nvfp4", [powers_of_two(x, 16, 4.0, 1.75, E2M1) for x in (a, b)])
    ) == pytest.approx(16.094, abs=0.2)
    assert 27 < sqnr(exact, product("cublas/mxfp8", [powers_of_two(x, 32, 256.0, 2.0, E4M3) for x in (a, b)])) < 33


def product(preset: str, sides: list[tuple], *scales_of_tensors: float) -> Array:
    alpha = np.float32(1 / prod(scales_of_tensors)).view(np.uint32) if scales_of_tensors else 0x3F800000
    (a, scale_a, *_), (b, scale_b, *_) = sides
    plan = read_plan(f"{preset} | alpha=0x{alpha:08x}")
    return from_bf16(multiply_plan(plan, a, np.ascontiguousarray(b.T), None, scale_a, np.ascontiguousarray(scale_b.T)))


def two_levels(x: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], float]:
    """Patterns of NVFP4, of the scales of 16 elements, and the scale of the tensor."""
    of_tensor = 448 * 6 / np.abs(x).max()
    blocks = x.reshape(len(x), -1, 16)
    scales = (np.abs(blocks).max(axis=2) / 6 * of_tensor).astype(UE4M3)
    narrow = np.clip(blocks * of_tensor / scales.astype(np.float64)[:, :, None], -6, 6).astype(E2M1)
    return narrow.reshape(x.shape).view(np.uint8), scales.view(np.uint8), of_tensor


def powers_of_two(x: Array, block: int, top: float, up_from: float, to: np.dtype) -> tuple:
    """Patterns whose blocks are scaled by powers of two: largest elements next to ``top``, from ``up_from`` on up."""
    blocks = x.reshape(len(x), -1, block)
    exponent = np.floor(np.log2(np.abs(blocks).max(axis=2) * 2 / up_from)) - log2(top)
    largest = float(ml_dtypes.finfo(to).max)
    narrow = np.clip(blocks / 2.0 ** exponent[:, :, None], -largest, largest).astype(to)
    scale = (exponent + 127).astype(np.uint8) if block == 32 else (2.0**exponent).astype(UE4M3).view(np.uint8)
    return narrow.reshape(x.shape).view(np.uint8), scale


TOLERANCES_OF_XLA = {
    ("triton/bf16x3", 32): 1e-5,
    ("triton/bf16x3", 2048): 1e-4,
    ("triton/bf16x6", 32): 1e-6,
    ("triton/bf16x6", 2048): 1e-5,
}
"""What XLA's tests of Triton's kernels grant, of which each element has to meet one, absolute or relative, on operands
uniform in -0.1..0.2 (openxla/xla, xla/backends/gpu/codegen/triton/dot_algorithms_test.cc: Emit3xBF16GemmEndToEnd,
Triton3xBF16GemmWorksForLongContractingDimension, and the same of 6xBF16)."""


@pytest.mark.parametrize(("plan", "k"), TOLERANCES_OF_XLA)
def test_words_of_bf16_meet_the_tolerances_of_xla(plan, k):
    """XLA truncated words when it stated them; Triton rounds them. One word of bf16 meets none of the four."""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-0.1, 0.2, x).astype(np.float32) for x in ((5, k), (k, 33)))
    exact, tolerance = a.astype(np.float64) @ b.astype(np.float64), TOLERANCES_OF_XLA[plan, k]

    def error(spelled: str) -> float:
        d = multiply_plan(read_plan(spelled), a.view(np.uint32), b.view(np.uint32)).view(np.float32)
        absolute = np.abs(d - exact)
        return float(np.minimum(absolute, absolute / np.abs(exact)).max())

    assert error(plan) < tolerance
    assert error(f"{plan} | algorithm=plain") > tolerance
    words = f"{plan.removeprefix('triton/')}@rounding=rz,residual_rounding=rz,schedule=block,outside=joint,interval=32"
    assert error(f"{plan} | algorithm={words}") < tolerance


ULPS_OF_AMD = {"bf16x6": (56.11, 37.68, 5.36, 0.83, 0.02), "bf16x9": (99.11, 0.89, 5.8e-4, 0.0, 0.0)}
"""Which share of fp32 products is off by 0, 1, 2, 3, 4 units in the last place, in per cent: AIE-ML with float accuracy
`fast`, which multiplies six pairs of words, and `safe`, nine (AMD UG1603, floating-point accuracy)."""


@pytest.mark.parametrize("algorithm", ULPS_OF_AMD)
def test_products_of_words_on_xdna_are_off_by_as_much_as_amd_states(algorithm):
    """Within five points of a hundred. Words that are rounded, and sums that are truncated, are further off."""
    rng = np.random.default_rng(0)
    a, b = (np.ldexp(rng.uniform(1, 2, 200), rng.integers(-20, 20, 200)).astype(np.float32) for _ in range(2))

    def farthest(unit: str = "", rounding: str = "rz") -> float:
        words = f"{algorithm}@rounding={rounding},residual_rounding={rounding}"
        plan = read_plan(f"xdna1/vmac.m4n4k8.f32.bf16.bf16.f32{unit} | algorithm={words} | c=none")
        d = multiply_plan(plan, a[:, None].view(np.uint32), b[None].view(np.uint32))
        off = np.abs(d.astype(np.int64) - np.outer(a, b).view(np.uint32))
        return max(abs(100 * float((off == n).mean()) - x) for n, x in enumerate(ULPS_OF_AMD[algorithm]))

    assert farthest() < 5
    assert farthest(unit="@rho=rz-fp32") > 20
    if algorithm == "bf16x6":  # the nine products of rounded words and of truncated ones are both all there is
        assert farthest(rounding="rne") > 20


EFFECTIVE_BITS = (8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 47, 51, 55, 59, 63, 66, 70, 74, 78)
"""Of 2 to 20 moduli on int8 (GEMMul8, README.md, commit 08e83eb)."""


def test_moduli_have_the_published_bits():
    assert tuple(round(log2(prod(MODULI[:n])) / 2) for n in range(2, 21)) == EFFECTIVE_BITS
    assert all(np.gcd(x, y) == 1 for i, x in enumerate(MODULI) for y in MODULI[:i])


def test_products_of_slices_are_as_many_as_published():
    """Ootomo, Ozaki and Yokota 2024: s (s + 1) / 2 products of int8 for s slices; they publish errors as figures."""
    assert len(list(read_plan("ozimmu/fp64-int8-9").schedule(64).calls)) == 9 * 10 // 2
    assert len(list(read_plan("gemmul8/int8-14").schedule(64).calls)) == 14


PUBLISHED_OF_CUBLAS = {6: 1.302740e-09, 7: 4.558425e-13}
"""Largest relative errors by slices, of 128 x 128 elements of K = 1024, uniform in -0.5..0.5: cuBLAS of CUDA 13.1 on
B200 and on RTX 5080 (UCHINO-Yuki/GEMMul8_numerical_results, results_07, phi = 0)."""
PUBLISHED_OF_GEMMUL8 = 4.160460e-11
"""The same of 14 moduli, accurate mode."""


def largest_relative_error(plan: str, size: int, phi: int = 0) -> float:
    rng = np.random.default_rng(0)
    a, b = (rng.random(x) - 0.5 for x in ((128, 1024), (1024, 128)))
    a, b = (x * np.exp(phi * rng.standard_normal(x.shape)) for x in (a, b))
    a, b = a[:size], np.ascontiguousarray(b[:, :size])
    d = multiply_plan(read_plan(plan), a.view(np.uint64), b.view(np.uint64)).view(np.float64)
    x, y = (np.vectorize(lambda v: int(v * 2.0**150), otypes=[object])(v) for v in (a, b))
    exact = x.dot(y)
    found = np.vectorize(lambda v: int(v * 2.0**200), otypes=[object])(d) << 100
    return max(abs(p - q) / abs(q) for p, q in zip(found.ravel(), exact.ravel(), strict=True))


def slices_of_cublas(slices: int, kept: str) -> str:
    """Of the readings of which products are kept; of the other order 4e-10 is left at phi = 4, however many slices."""
    algorithm = f"slices@operands=fp64,slices={slices},bits=8,sign=first,order=descending,kept={kept}"
    return f"cublas/fp64-int8-7 | algorithm={algorithm}"


@pytest.mark.slow
@pytest.mark.parametrize("slices", PUBLISHED_OF_CUBLAS)
def test_errors_of_cublas_lie_between_those_of_its_readings(slices):
    """Which products of slices cuBLAS keeps is not published: all have smaller errors, a triangle larger ones."""
    errors = [largest_relative_error(slices_of_cublas(slices, kept), 128) for kept in ("all", "triangle")]
    assert errors[0] < PUBLISHED_OF_CUBLAS[slices] < errors[1]


SLICES_THAT_DATA_NEED = {0: (7, 5.459901e-13), 1: (8, 2.017683e-12), 2: (9, 5.787256e-13), 4: (9, 2.649977e-12)}
"""By phi, elements (u - 0.5) exp(phi n), u uniform in 0..1 and n normal: from how many slices on cuBLAS is about as
exact as with eleven, and how exact that is. Of the same files and sizes. Slices that the data choose are as many."""


@pytest.mark.middle
@pytest.mark.parametrize("phi", SLICES_THAT_DATA_NEED)
def test_wider_data_need_as_many_slices_as_cublas_does(phi):
    """As many are enough where all products are kept; one fewer is not where a triangle is."""
    slices, limit = SLICES_THAT_DATA_NEED[phi]
    assert largest_relative_error(slices_of_cublas(slices, "all"), 32, phi) < limit
    assert largest_relative_error(slices_of_cublas(slices - 1, "triangle"), 32, phi) > limit


@pytest.mark.slow
def test_errors_of_residues_are_as_published():
    """The largest of 16,384 relative errors depends on the smallest results: a factor of ten counts as the same."""
    found = largest_relative_error("gemmul8/int8-14 | algorithm=residues@operands=fp64,moduli=14,bits=49", 64)
    assert PUBLISHED_OF_GEMMUL8 / 10 < found < PUBLISHED_OF_GEMMUL8 * 10


OF_AN_M1 = {1024: 16, 3000: 16, 4090: 16, 4096: 4, 8000: 4, 16000: 4, 30000: 4}
"""The sum of sixteen times B, -B and 1 by B, in either order of -B and 1 (sbryngelson/ane-guide, chapter 3)."""


def sum_on(plan: str, elements: list[float]) -> float:
    padded = np.array([*elements, *[0.0] * (-len(elements) % 4)], np.float16)
    ones = np.ones((len(padded), 1), np.float16)
    d = multiply_plan(read_plan(plan), padded[None].view(np.uint16), ones.view(np.uint16))
    return float(d.view(np.float16)[0, 0])


READINGS = ["", *(pytest.param(x, marks=pytest.mark.middle) for x in ("@as=ane-nearest", "@alignment=floor"))]


@pytest.mark.parametrize("reading", READINGS)
def test_sums_of_an_m1_are_as_published(reading):
    plan = f"ane/matmul | unit=ane/tile{reading}"
    assert sum_on(plan, [4096.0, *[1.0] * 1024]) == 5116
    assert sum_on(plan, [1.0] * 2304) == 2304  # published of 16,000 ones; fp16 stays at 2048
    for size, left in OF_AN_M1.items():
        assert sum_on(plan, [size, -size, 1.0] * 16) == left
        assert sum_on(plan, [size, 1.0, -size] * 16) == left


@pytest.mark.parametrize("other", ["fraction_bits=10", "fraction_bits=12", "L=2", "L=4", "alignment=jam"])
def test_other_sums_of_four_elements_are_not_those_of_an_m1(other):
    plan = f"ane/matmul | unit=ane/tile@{other}"
    found = {size: sum_on(plan, [size, -size, 1.0] * 16) for size in OF_AN_M1}
    assert found != OF_AN_M1 or sum_on(plan, [4096.0, *[1.0] * 1024]) != 5116
