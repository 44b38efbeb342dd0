"""Kernels of Triton's interpreter in the context: bits of units and plans, and refusals of everything else."""

import numpy as np
import pytest
from support.extras import PYTORCH

torch = pytest.importorskip("torch", reason=PYTORCH)
triton = pytest.importorskip("triton", reason="Triton is not installed: make test-torch installs it with PyTorch")

import triton.language as tl  # noqa: E402

import mmaproof  # noqa: E402
from mmaproof.designs.errors import EmulationError, InputError  # noqa: E402
from mmaproof.torch.triton import emulating  # noqa: E402

HOPPER, AMPERE = "hopper/wgmma.f32.f16.f16", "ampere/mma.m16n8k16.f32.f16.f16.f32"
FP8 = "hopper/wgmma.f32.e4m3.e4m3"
TF32, BF16 = "ampere/mma.m16n8k8.f32.tf32.tf32.f32", "ampere/mma.m16n8k16.f32.bf16.bf16.f32"
SCALED = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
FP4 = "blackwell/tcgen05.mma.m128n8k64.block32.f32.e2m1.e2m1.ue8m0"
RNG = np.random.default_rng(3)
M, N, K = 32, 16, 128


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k_all,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    rows: tl.constexpr,
    columns: tl.constexpr,
    some_k: tl.constexpr,
    group: tl.constexpr,
):
    """Multiply as the tutorial does: blocks of d in groups, the accumulator handed from one tl.dot to the next."""
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(m, rows)
    num_pid_n = tl.cdiv(n, columns)
    num_pid_in_group = group * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * group
    group_size_m = min(num_pid_m - first_pid_m, group)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * rows + tl.arange(0, rows)) % m
    offs_bn = (pid_n * columns + tl.arange(0, columns)) % n
    offs_k = tl.arange(0, some_k)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((rows, columns), dtype=tl.float32)
    for k in range(0, tl.cdiv(k_all, some_k)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < k_all - k * some_k, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < k_all - k * some_k, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += some_k * stride_ak
        b_ptrs += some_k * stride_bk
    c = accumulator.to(tl.float16)
    offs_cm = pid_m * rows + tl.arange(0, rows)
    offs_cn = pid_n * columns + tl.arange(0, columns)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < m) & (offs_cn[None, :] < n))


@triton.jit
def _at(pointer, rows: tl.constexpr, columns: tl.constexpr):
    return pointer + tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]


@triton.jit
def dot(a, b, c, d, m: tl.constexpr, n: tl.constexpr, k_all: tl.constexpr, precision: tl.constexpr, most: tl.constexpr):
    """Multiply matrices with one tl.dot."""
    start = tl.load(_at(c, m, n))
    found = tl.dot(
        tl.load(_at(a, m, k_all)),
        tl.load(_at(b, k_all, n)),
        start,
        input_precision=precision,
        max_num_imprecise_acc=most,
        out_dtype=start.dtype,
    )
    tl.store(_at(d, m, n), found)


@triton.jit
def dot_scaled(
    a,
    of_a,
    b,
    of_b,
    d,
    m: tl.constexpr,
    n: tl.constexpr,
    k_all: tl.constexpr,
    fmt: tl.constexpr,
    packed: tl.constexpr,
    both: tl.constexpr,
):
    """Multiply matrices of blocks with scales; b has scales of one where not both have them."""
    left, right = tl.load(_at(a, m, k_all // packed)), tl.load(_at(b, k_all // packed, n))
    scales = tl.load(_at(of_a, m, k_all // 32))
    if both:
        found = tl.dot_scaled(left, scales, fmt, right, tl.load(_at(of_b, n, k_all // 32)), fmt)
    else:
        found = tl.dot_scaled(left, scales, fmt, right, None, fmt)
    tl.store(_at(d, m, n), found)


def drawn(*shape, dtype=torch.float16):
    return torch.from_numpy(RNG.standard_normal(shape).astype(np.float32)).to(dtype)


def returned(a, b, c=None, kernel=dot, **settings):
    """Return what a kernel makes of ``a @ b + c`` with one tl.dot."""
    m, k = a.shape
    n = b.shape[1]
    of_d = torch.int32 if a.dtype == torch.int8 else torch.float32
    d = torch.empty((m, n), dtype=settings.pop("returns", of_d))
    c = torch.zeros_like(d) if c is None else c
    kernel[(1,)](a, b, c, d, m, n, k, settings.get("precision"), settings.get("most"))
    return d.numpy()


def numbers(x):
    """Return a tensor as an array that mmaproof takes."""
    if x.element_size() == 1 and x.dtype != torch.int8:
        return x.view(torch.uint8).numpy()
    return x.view(torch.uint16).numpy() if x.dtype == torch.bfloat16 else x.numpy()


def same(found, plan, a, b, c=None):
    expected = mmaproof.matmul(plan, numbers(a), numbers(b), None if c is None else numbers(c))
    return found.tobytes() == expected.tobytes()


def test_the_tutorial_has_the_bits_of_its_plan():
    a, b = drawn(96, 160), drawn(160, 80)
    for unit in (HOPPER, AMPERE, "volta/mma.m8n8k4.f32.f16.f16.f32"):
        c = torch.empty((96, 80), dtype=torch.float16)
        grid = (triton.cdiv(96, 32) * triton.cdiv(80, 16),)
        strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
        with emulating(unit):
            matmul_kernel[grid](a, b, c, 96, 80, 160, *strides, 32, 16, 32, 8)
        assert same(c.numpy(), f"{unit} | out=fp16", a, b)
    assert not same(c.numpy(), f"{HOPPER} | out=fp16", a, b), "units differ, so this shows something"


@pytest.mark.parametrize(
    ("unit", "dtype"),
    [
        (HOPPER, torch.float16),
        (BF16, torch.bfloat16),
        (FP8, torch.float8_e4m3fn),
        ("hopper/wgmma.f32.e5m2.e5m2", torch.float8_e5m2),
        ("cdna3/v_mfma_f32_32x32x16_fp8_fp8", torch.float8_e4m3fnuz),
        (TF32, torch.float32),
    ],
)
def test_one_dot_is_one_chain_of_the_unit(unit, dtype):
    a, b, c = drawn(M, K, dtype=dtype), drawn(K, N, dtype=dtype), drawn(M, N, dtype=torch.float32)
    with emulating(unit):
        assert same(returned(a, b, c), unit, a, b, c)
    with emulating(f"{unit} | split-k=2"):
        assert same(returned(a, b, c), f"{unit} | split-k=2", a, b, c)
    assert not same(returned(a, b, c), unit, a, b, c), "outside of the context the interpreter has other bits"


def test_integers_and_accumulators_of_fp16():
    a, b = (torch.from_numpy(RNG.integers(-128, 128, x).astype(np.int8)) for x in ((M, K), (K, N)))
    unit = "ampere/mma.m16n8k32.s32.s8.s8.s32"
    with emulating(unit):
        assert same(returned(a, b), unit, a, b)
    a, b, c = drawn(M, K), drawn(K, N), drawn(M, N)
    half = "hopper/wgmma.f16.f16.f16"
    with emulating(half):
        assert same(returned(a, b, c, returns=torch.float16), half, a, b, c)
        with pytest.raises(Exception, match="not emulated by hopper/wgmma"):
            returned(a, b)
    with emulating(half, HOPPER):  # the accumulator says which
        assert same(returned(a, b, c, returns=torch.float16), half, a, b, c)
        assert same(returned(a, b), HOPPER, a, b)


@pytest.mark.parametrize(("most", "plan"), [(None, ""), (64, "promote=64"), (33, "promote=64"), (0, "promote=32")])
def test_fp8_sums_leave_the_unit_as_often_as_the_kernel_says(most, plan):
    a, b, c = (
        drawn(*x, dtype=y)
        for x, y in (((M, K), torch.float8_e4m3fn), ((K, N), torch.float8_e4m3fn), ((M, N), torch.float32))
    )
    wanted = f"{FP8} | {plan}" if plan else FP8
    with emulating(FP8):
        found = returned(a, b, c, most=most)
        assert same(found, wanted, a, b, c)
        assert not plan or not same(found, FP8, a, b, c)
    # only wgmma has it
    other = "ada/mma.m16n8k32.f32.e4m3.e4m3.f32"
    with emulating(other):
        assert same(returned(a, b, c, most=most), other, a, b, c)
    if most is not None:
        with emulating(f"{FP8} | split-k=2"), pytest.raises(Exception, match="a plan of its own"):
            returned(a, b, c, most=most)


def words(x, fmt):
    """Return two words of fp32 numbers, as F32DotTC.cpp has them: without mmaproof's own splitting."""
    if fmt == "bf16":
        first = torch.from_numpy(x).to(torch.bfloat16).float().numpy()
        return first, torch.from_numpy(x - first).to(torch.bfloat16).float().numpy()
    pattern = x.view(np.uint32)
    first = ((pattern + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)  # cvt.rna
    return first, ((x - first).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize(("precision", "unit"), [("tf32x3", TF32), ("bf16x3", BF16)])
def test_fp32_operands_are_split_as_triton_splits_them(precision, unit):
    a, b, c = (drawn(*x, dtype=torch.float32) for x in ((M, K), (K, N), (M, N)))

    def product(x, y, z):
        if unit == BF16:
            x, y = (torch.from_numpy(v).to(torch.bfloat16).view(torch.uint16).numpy() for v in (x, y))
        return mmaproof.matmul(unit, x, y, z)

    (big_a, small_a), (big_b, small_b) = (words(x.numpy(), unit.split(".")[3]) for x in (a, b))
    sums = product(small_a, big_b, np.zeros((M, N), np.float32))
    expected = product(big_a, big_b, product(big_a, small_b, sums)) + c.numpy()
    with emulating(unit):
        assert returned(a, b, c, precision=precision).tobytes() == expected.tobytes()
        a[0, 0] = torch.inf
        with pytest.raises(Exception, match="NaNs of the small products"):
            returned(a, b, c, precision=precision)


def test_ieee_is_a_unit_of_fp32():
    a, b = (drawn(*x, dtype=torch.float32) for x in ((M, K), (K, N)))
    fma = "cpu/vfmadd231ps"
    with emulating(fma, TF32, BF16):
        assert same(returned(a, b, precision="ieee"), fma, a, b)
        assert same(returned(a, b, precision="tf32"), TF32, a, b)
        assert same(returned(a, b), TF32, a, b), "tf32 is the default"
    with emulating(TF32), pytest.raises(Exception, match="fp32 by fp32 with an accumulator of fp32 is not emulated"):
        returned(a, b, precision="ieee")


@pytest.mark.parametrize("with_scales", [True, False])
def test_blocks_have_scales(with_scales):
    a, b = (drawn(*x, dtype=torch.float8_e4m3fn) for x in ((M, K), (K, N)))
    of_a, of_b = (torch.from_numpy(RNG.integers(120, 134, (x, K // 32)).astype(np.uint8)) for x in (M, N))
    d = torch.empty((M, N))
    with emulating(SCALED):
        dot_scaled[(1,)](a.view(torch.uint8), of_a, b.view(torch.uint8), of_b, d, M, N, K, "e4m3", 1, with_scales)
    right = of_b.numpy().T if with_scales else np.full((K // 32, N), 127, np.uint8)
    expected = mmaproof.matmul(SCALED, numbers(a), numbers(b), None, of_a.numpy(), np.ascontiguousarray(right))
    assert d.numpy().tobytes() == expected.tobytes()


def test_numbers_of_four_bits_are_two_in_a_byte():
    a, b = (RNG.integers(0, 16, x).astype(np.uint8) for x in ((M, K), (K, N)))
    of_a, of_b = (RNG.integers(120, 134, (x, K // 32)).astype(np.uint8) for x in (M, N))
    packed = [torch.from_numpy(np.ascontiguousarray(x)) for x in (a[:, ::2] | a[:, 1::2] << 4, b[::2] | b[1::2] << 4)]
    d = torch.empty((M, N))
    with emulating(FP4):
        dot_scaled[(1,)](
            packed[0], torch.from_numpy(of_a), packed[1], torch.from_numpy(of_b), d, M, N, K, "e2m1", 2, True
        )
    expected = mmaproof.matmul(FP4, a, b, None, of_a, np.ascontiguousarray(of_b.T))
    assert d.numpy().tobytes() == expected.tobytes()


def test_what_is_not_emulated_raises():
    a, b = drawn(M, K), drawn(K, N)
    with emulating(FP8), pytest.raises(Exception, match="fp16 by fp16 with an accumulator of fp32 is not emulated"):
        returned(a, b)
    with emulating("hopper/wgmma.f32.f16.f16 | tile=256"), pytest.raises(Exception, match="multiples of 256"):
        returned(a, b)
    for units, text in (
        ((), "needs a unit"),
        ((HOPPER, AMPERE), "which should run"),
        ((f"{TF32} | algorithm=3xtf32",), "splits its operands"),
    ):
        with pytest.raises(EmulationError, match=text), emulating(*units):
            pass
    with pytest.raises(InputError), emulating("nothing"):
        pass


def test_contexts_nest_and_end():
    a, b = drawn(M, K), drawn(K, N)
    before = returned(a, b)
    with emulating(HOPPER):
        with emulating(AMPERE):
            assert same(returned(a, b), AMPERE, a, b)
        assert same(returned(a, b), HOPPER, a, b)
    assert returned(a, b).tobytes() == before.tobytes()


def test_kernels_that_are_compiled_are_refused(monkeypatch):
    monkeypatch.setattr("triton.knobs.runtime.interpret", False)
    with pytest.raises(EmulationError, match="TRITON_INTERPRET=1"), emulating(HOPPER):
        pass


def test_blocks_of_three_dimensions_are_several_products():
    from types import SimpleNamespace

    from mmaproof.torch.triton.context import _checked, _Dots

    a, b = RNG.standard_normal((3, M, K)).astype(np.float16), RNG.standard_normal((3, K, N)).astype(np.float16)
    held = [
        SimpleNamespace(data=x, dtype=y)
        for x, y in ((a, tl.float16), (b, tl.float16), (np.zeros((3, M, N), np.float32), tl.float32))
    ]
    found = _Dots(_checked([HOPPER])).dot(*held, SimpleNamespace(name="IEEE"), 0).data
    assert found.tobytes() == np.stack([mmaproof.matmul(HOPPER, *x) for x in zip(a, b, strict=True)]).tobytes()
