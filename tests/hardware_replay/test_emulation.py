"""Arrays in, arrays out: ``dot`` and ``matmul`` return what ``evaluate_batch`` returns, bit for bit."""

import time
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import mmaproof
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import DesignError, OperandError
from mmaproof.designs.operands import OperandBatch, array_of, patterns_of, unpack_fp4
from mmaproof.hardware_replay import emulation
from mmaproof.hardware_replay.emulation import dot, matmul
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw

HOPPER = "hopper/wgmma.f32.f16.f16"
GST = "rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3"
FINITE = "@chain_infinity=finite"

# one design of each family, and what a chain of instructions must get right besides: a permutation of k within
# each instruction, c of another format than d, one late addition an instruction, and where an infinity came from
DESIGNS = [
    *sorted({d.family: d.name for d in load_catalogue().designs.values() if not d.is_assumed}.values()),
    GST,
    f"cdna3/v_mfma_f32_32x32x8_bf16{FINITE}",
    f"hopper/wgmma.f32.bf16.bf16{FINITE}",
    "volta/mma.m8n8k4.f32.f16.f16.f16",
    "volta/f16.f16.f16.f16",
    "hopper/mma.m16n8k32.f32.e4m3.e5m2.f32",
    "hopper/mma.m16n8k32.f16.e5m2.e5m2.f16",
    "ampere/mma.m16n8k8.f32.tf32.tf32.f32",
    "rtx-blackwell/mma.m16n8k32.block32.f32.e4m3.e2m1.f32.ue8m0",
    "cdna1/v_mfma_f32_32x32x8f16",
    "cdna2/v_mfma_f32_32x32x8f16",
    "cdna2/v_mfma_f64_16x16x4f64",
    "cdna3/v_mfma_f32_16x16x32_fp8_bf8",
    "turing/mma.m8n8k32.satfinite.s32.s4.s4.s32",
    "turing/mma.m8n8k16.s32.s8.u8.s32",
    f"{HOPPER}@join=ieee-once",
    f"{HOPPER}@carry_bits=1,k_order=reversed",
]


def columns_of(design, batch):
    """The operands as arrays of numbers, scales only where there are any."""
    columns = [array_of(x, fmt) for x, fmt in zip((batch.a, batch.b, batch.c), design.formats[:3], strict=True)]
    scales = [array_of(s, design.scale_format) for s in (batch.scale_a, batch.scale_b) if s is not None]
    return [*columns, *scales]


def rows_of_product(a, b, c, scale_a, scale_b):
    """The rows that a product of pattern matrices consists of."""
    m, n = c.shape
    row, column = np.divmod(np.arange(m * n), n)
    scales = () if scale_a is None else (scale_a[row], scale_b.T[column])
    return OperandBatch(a[row], b.T[column], c.reshape(-1), *scales)


def matrices(design, m, n, k, seed=0, distribution="normal"):
    """Patterns of a (m, k), b (k, n), c (m, n) and scales, all as ``draw`` has them."""
    rng = np.random.default_rng(seed)
    left, right, sums = (draw(distribution, design, rows, k, rng) for rows in (m, n, m * n))
    scale_b = None if right.scale_b is None else right.scale_b.T
    return left.a, right.b.T, sums.c.reshape(m, n), left.scale_a, scale_b


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "1-vortex/tfr.wmma.m16n16k64.f32.e5m2.e5m2.f32",
    "3-riscv/vfqwbdota.alt.vv.m1n8k64.f32.e5m2.e5m2.f32",
    "3-vortex/bhf.wmma.m16n16k32.f32.bf16.bf16.f32",
    "3-vortex/tfr.wmma.m16n16k64.f32.e5m2.e5m2.f32",
)
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("instructions", [*(pytest.param(x, marks=pytest.mark.middle) for x in (0.5, 1)), 3])
def test_dot_is_evaluate_batch(name, instructions, monkeypatch):
    monkeypatch.setattr(emulation, "CHUNK_ROWS", 50)
    design = find_design(name)
    k = int(design.k * instructions)
    if instructions < 1 and (not k or (design.block is not None and k % design.block)):
        pytest.skip("shorter than one element, or than a block")
    rng = np.random.default_rng(1)
    for distribution in ("normal", "uniform-bits", "edges", "cancelling"):
        batch = draw(distribution, design, 60, k, rng)
        expected = evaluate_batch(design, batch)
        returned = dot(name, *columns_of(design, batch))
        assert returned.dtype == array_of(expected, design.d_format).dtype
        assert patterns_of(returned, design.d_format).tolist() == expected.tolist(), distribution


@pytest.mark.middle
@pytest.mark.slow_values(
    "rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3",
    "rtx-blackwell/mma.m16n8k64.block32.f32.e2m1.e2m1.f32.ue4m3",
)
@pytest.mark.parametrize("name", DESIGNS)
def test_matmul_is_evaluate_batch(name, monkeypatch):
    monkeypatch.setattr(emulation, "CHUNK_ROWS", 20)
    monkeypatch.setattr(emulation, "_SHORTEST_SIDE", 3)
    design = find_design(name)
    for distribution in ("normal", "edges"):
        a, b, c, *scales = matrices(design, 7, 11, 2 * design.k, distribution=distribution)
        expected = evaluate_batch(design, rows_of_product(a, b, c, *scales)).reshape(7, 11)
        numbers = [array_of(x, fmt) for x, fmt in zip((a, b, c), design.formats[:3], strict=True)]
        numbers += [array_of(s, design.scale_format) for s in scales if s is not None]
        assert patterns_of(matmul(design, *numbers), design.d_format).tolist() == expected.tolist(), distribution


@pytest.mark.slow_values("hopper/wgmma.f32.bf16.bf16-9.223372036854776e+18")
@pytest.mark.parametrize(
    ("name", "times"), [("hopper/mma.m16n8k8.f16.f16.f16.f16", 160), ("hopper/wgmma.f32.bf16.bf16", 2.0**63)]
)
def test_an_infinity_produced_inside_a_chain_is_remembered(name, times):
    """Read back as the next c, it would be one that was handed in: the design with finite ones tells them apart."""
    designs = find_design(f"{name}{FINITE}"), find_design(name)
    a, b, c, *_ = matrices(designs[0], 16, 16, 6 * designs[0].k)
    numbers = [array_of(x, fmt) for x, fmt in zip((a, b, c), designs[0].formats[:3], strict=True)]
    numbers = [numbers[0] * numbers[0].dtype.type(times), numbers[1] * numbers[1].dtype.type(times), numbers[2]]
    rows = rows_of_product(*map(patterns_of, numbers, designs[0].formats[:3]), None, None)
    returned = [patterns_of(matmul(x, *numbers), x.d_format).reshape(-1) for x in designs]
    for design, d in zip(designs, returned, strict=True):
        assert d.tolist() == evaluate_batch(design, rows).tolist()
    assert (returned[0] != returned[1]).any()


def test_without_c_and_shorter_than_an_instruction():
    a, b = np.full((2, 3), 2, np.float16), np.full((3, 4), 3, np.float16)
    assert matmul(HOPPER, a, b).tolist() == [[18.0] * 4] * 2
    assert matmul(HOPPER, a, b, np.full((2, 4), 0.5, np.float32)).tolist() == [[18.5] * 4] * 2
    ones = np.full((2, 16), 1, np.int8)
    assert matmul("turing/mma.m8n8k16.s32.s8.s8.s32", ones, ones.T).tolist() == [[16, 16]] * 2


def test_leading_dimensions_broadcast():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 1, 32)).astype(np.float16), rng.standard_normal((1, 6, 32)).astype(np.float16)
    outer = dot(HOPPER, a, b, np.float32(0))
    assert outer.shape == (5, 6)
    assert outer.tolist() == matmul(HOPPER, a[:, 0], b[0].T).tolist()
    single = dot(HOPPER, a[0, 0], b[0, 0], np.float32(0))
    assert single.shape == ()
    assert single == outer[0, 0]
    assert dot(HOPPER, a[0, 0], b[0, 0], np.zeros((2, 3), np.float32)).tolist() == [[outer[0, 0]] * 3] * 2
    assert dot(HOPPER, a[:0], b, np.float32(0)).shape == (0, 6)
    assert matmul(HOPPER, a[:0, 0], b[0].T).shape == (0, 6)


def test_packed_fp4_with_scales():
    packed = np.full((2, 32), 0x42, np.uint8)  # 1 at even k, 2 at odd k
    a, ones = unpack_fp4(packed), np.ones((64, 3), ml_dtypes.float4_e2m1fn)
    scales = np.full((2, 4), 2, ml_dtypes.float8_e4m3fn), np.full((4, 3), 0.5, ml_dtypes.float8_e4m3fn)
    assert matmul(GST, a, ones, None, *scales).tolist() == [[96.0] * 3] * 2


HALF = np.zeros((4, 16), np.float16)
FP4 = np.zeros((2, 64), ml_dtypes.float4_e2m1fn)
SCALES = np.ones((2, 4), ml_dtypes.float8_e4m3fn)


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ((HOPPER, HALF.astype(np.float32), HALF.T), OperandError, r"^a: an array of float32 .* float16"),
        ((HOPPER, HALF, HALF.T, np.zeros((4, 4))), OperandError, r"^c: an array of float64 .* float32"),
        ((HOPPER, HALF, HALF), OperandError, r"shapes a \(4, 16\), b \(4, 16\), c \(4, 16\): \(M, K\)"),
        ((HOPPER, HALF[0], HALF.T), OperandError, r"shapes a \(16,\)"),
        ((HOPPER, HALF, HALF.T, np.float32(0)), OperandError, r"c \(\): "),
        ((HOPPER, HALF[:, :0], HALF.T[:0]), DesignError, r"k = 0"),
        ((HOPPER, np.zeros((2, 40), np.float16), np.zeros((40, 2), np.float16)), DesignError, r"choose 32 or 48"),
        (("hopper/wgmma.f99", HALF, HALF.T), DesignError, r"no instruction"),
        ((HOPPER, HALF, HALF.T, None, SCALES), OperandError, r"scale_a: hopper/.* has no scales"),
        ((GST, FP4, FP4.T), OperandError, r"scale_a is missing: .* a scale for each 16 elements"),
        ((GST, FP4, FP4.T, None, SCALES), OperandError, r"scale_b is missing"),
        ((GST, FP4, FP4.T, None, SCALES, SCALES), OperandError, r"scale_b has shape \(2, 4\): \(blocks, 2\) needed"),
        ((GST, FP4, FP4.T, None, SCALES[:, :3], SCALES.T), OperandError, r"scale_a has 3 scales .* takes 4 for k = 64"),
        ((GST, FP4, FP4.T, None, SCALES, SCALES.T[:1]), OperandError, r"scale_b has 1 scales"),
        ((GST, FP4, FP4.T, None, SCALES[0], SCALES.T), OperandError, r"scale_a has shape \(4,\): \(2, blocks\)"),
        ((GST, FP4, FP4.T, None, HALF, SCALES.T), OperandError, r"^scale_a: an array of float16 .* float8_e4m3fn"),
        ((GST, FP4[:, :40], FP4.T[:40], None, SCALES, SCALES.T), DesignError, r"k = 40 is not a multiple of the 16"),
        ((GST, np.zeros((2, 32), np.uint8) + 0x42, FP4.T, None, SCALES, SCALES.T), OperandError, r"^a: .*unpack_fp4"),
    ],
)
def test_what_matmul_refuses(arguments, error, problem):
    with pytest.raises(error, match=problem) as caught:
        matmul(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ((HOPPER, HALF, HALF[:, :8], np.float32(0)), OperandError, r"a has 16 elements along k and b has 8"),
        ((HOPPER, HALF, HALF[:3], np.float32(0)), OperandError, r"\(4,\), \(3,\), \(\) do not broadcast"),
        ((HOPPER, np.float16(0), HALF, np.float32(0)), OperandError, r"shape \(\.\.\., k\)"),
        ((HOPPER, HALF, HALF, 0.0), OperandError, r"^c: an array of float64"),
        ((GST, FP4, FP4, np.float32(0), SCALES, SCALES[:, :2]), OperandError, r"scale_b has 2 scales"),
        ((GST, FP4, FP4, np.float32(0)), OperandError, r"scale_a is missing"),
    ],
)
def test_what_dot_refuses(arguments, error, problem):
    with pytest.raises(error, match=problem):
        dot(*arguments)


@pytest.mark.slow_values("hopper/wgmma.f32.f16.f16@chain_infinity=finite-32-2048-1-2048")
@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "rows", "k", "value", "expected"),
    [
        (HOPPER, 32, 2048, 1, 2048),
        (f"{HOPPER}{FINITE}", 32, 2048, 1, 2048),
        (f"hopper/wgmma.f16.f16.f16{FINITE}", 16, 512, 256, np.inf),  # every element is computed twice
    ],
)
def test_memory_does_not_grow_with_k(name, rows, k, value, expected):
    a, b = np.full((rows, k), value, np.float16), np.full((k, 16), value, np.float16)
    tracemalloc.start()
    try:
        assert (matmul(name, a, b) == expected).all()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20, f"{peak >> 20} MiB"


def test_the_functions_are_public():
    assert mmaproof.dot is dot
    assert mmaproof.matmul is matmul


@pytest.mark.slow
def test_a_product_of_512_cubed_takes_less_than_two_minutes():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 512, 512)).astype(np.float16)
    started = time.perf_counter()
    d = matmul(HOPPER, a, b)
    seconds = time.perf_counter() - started
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(d - exact).max() < 1e-3
    assert np.abs(d - exact).max() > 0  # it truncates
    print(f"512 x 512 x 512: {seconds:.1f} s")
    assert seconds < 120


def test_plan_may_stand_for_a_design():
    plan = mmaproof.read_plan("volta/f32.f16.f16.f32 | split-k=2 | c=last:fp16 | out=fp16")
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(s).astype(np.float16) for s in ((3, 16), (16, 2), (3, 2)))
    d = mmaproof.matmul(plan, a, b, c)
    assert d.dtype == np.float16
    parts = [mmaproof.matmul(plan.unit, a[:, ks], b[ks]) for ks in (slice(0, 8), slice(8, 16))]
    assert np.array_equal(d, (parts[0] + parts[1] + c.astype(np.float32)).astype(np.float16))
    assert np.array_equal(d, mmaproof.matmul(plan.name, a, b, c))
    with pytest.raises(OperandError, match="has no scales"):
        mmaproof.matmul(plan, a, b, scale_a=np.ones((3, 1), np.uint8))
    with pytest.raises(OperandError, match="a: an array of float32 is not of the format fp16"):
        mmaproof.matmul(plan, a.astype(np.float32), b)
