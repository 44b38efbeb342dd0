"""mmaproof.torch.matmul returns, bit for bit, what mmaproof.matmul returns for the same numbers."""

from typing import Any

import numpy as np
import pytest
from support.extras import PYTORCH

from mmaproof import find_algorithm, find_design, multiply, patterns_of
from mmaproof.designs.errors import DesignError, OperandError
from mmaproof.designs.operands import array_dtype
from mmaproof.hardware_replay import emulation

torch = pytest.importorskip("torch", reason=PYTORCH)

from support.tensors import HOPPER, HOPPER_FP8, VOLTA, bits, drawn, expected  # noqa: E402

from mmaproof.torch import EmulationError, matmul  # noqa: E402

FP8 = torch.float8_e4m3fn


@pytest.mark.parametrize(
    ("design", "of_a", "of_b"),
    [
        (VOLTA, torch.float16, torch.float16),
        (HOPPER, torch.float16, torch.float16),
        ("ampere/mma.m16n8k8.f32.tf32.tf32.f32", torch.float32, torch.float32),
        ("ampere/mma.m16n8k16.f32.bf16.bf16.f32", torch.bfloat16, torch.bfloat16),
        ("ampere/mma.m8n8k4.f64.f64.f64.f64", torch.float64, torch.float64),
        ("hopper/wgmma.f32.e4m3.e5m2", FP8, torch.float8_e5m2),
        ("cdna2/v_mfma_f32_32x32x8f16", torch.float16, torch.float16),
        ("cdna3/v_mfma_f32_16x16x32_fp8_bf8", torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
    ],
)
def test_equals_matmul_of_arrays(design: str, of_a: Any, of_b: Any) -> None:
    a, b = drawn(5, 64, dtype=of_a), drawn(64, 3, dtype=of_b)
    d = matmul(design, a, b)
    assert bits(d) == bits(expected(design, a, b))


def test_results_differ_from_those_of_pytorch() -> None:
    # else the other tests would not notice that PyTorch computes
    a, b = drawn(5, 64), drawn(64, 3)
    assert bits(matmul(VOLTA, a, b)) != bits(a @ b)


def test_integers() -> None:
    a = torch.arange(-32, 32, dtype=torch.int8).reshape(2, 32)
    d = matmul("cdna3/v_mfma_i32_16x16x32_i8", a, a.T.contiguous())
    assert d.dtype == torch.int32
    assert torch.equal(d, (a.int() @ a.T.int()))


def test_every_pattern_of_the_operands_arrives() -> None:
    # NaNs with payloads, infinities, both zeros, subnormals
    raw = torch.arange(0, 1 << 16, 97, dtype=torch.int32).to(torch.int16)[:672].reshape(42, 16)
    a, b = raw.view(torch.float16), raw.view(torch.float16).T
    fmt = find_design(HOPPER).d_format
    d = emulation.matmul(HOPPER, raw.numpy().view(np.uint16), raw.numpy().view(np.uint16).T)
    assert np.array_equal(matmul(HOPPER, a, b).view(torch.int32).numpy().view(np.uint32), patterns_of(d, fmt))


def test_c_enters_the_unit() -> None:
    a, b, c = drawn(5, 8), drawn(8, 3), drawn(5, 3, size=100)
    assert bits(matmul(VOLTA, a, b, c)) == bits(expected(VOLTA, a, b, c))


def test_c_widens_and_broadcasts() -> None:
    a, b, c = drawn(5, 16), drawn(16, 3), drawn(3, size=100)
    assert bits(matmul(HOPPER, a, b, c)) == bits(expected(HOPPER, a, b, c.expand(5, 3)))


def test_c_outside_is_added_to_d() -> None:
    a, b, c = drawn(5, 16), drawn(16, 3), drawn(5, 3, dtype=torch.float32, size=1e6)
    d = matmul(HOPPER, a, b, c, c_outside=True)
    assert bits(d) == bits(expected(HOPPER, a, b) + c)
    assert bits(d) != bits(matmul(HOPPER, a, b, c))


@pytest.mark.parametrize("k", [1, 3, 4, 5, 7, 8, 30])
def test_k_is_padded_with_zeros_to_whole_instructions(k: int) -> None:
    a, b = drawn(3, k), drawn(k, 2)
    missing = -k % 4
    wide = torch.nn.functional.pad(a, (0, missing)), torch.nn.functional.pad(b, (0, 0, 0, missing))
    assert bits(matmul(VOLTA, a, b)) == bits(expected(VOLTA, *wide))


def test_padding_adds_nothing_to_an_exact_zero() -> None:
    zero = torch.zeros(1, 17).half()
    assert bits(matmul(HOPPER, zero, zero.T)) == [[0]]


@pytest.mark.parametrize("of_a", [(2, 1), (3,), (2, 3), ()])
@pytest.mark.parametrize("of_b", [(3,), (1, 3), ()])
def test_leading_dimensions_broadcast(of_a: tuple[int, ...], of_b: tuple[int, ...]) -> None:
    a, b = drawn(*of_a, 2, 5), drawn(*of_b, 5, 4)
    d = matmul(VOLTA, a, b)
    assert d.shape == (a.float() @ b.float()).shape
    batch = d.shape[:-2]
    spread = a.expand(*batch, 2, 5).reshape(-1, 2, 5), b.expand(*batch, 5, 4).reshape(-1, 5, 4)
    for x, y, of_d in zip(*spread, d.reshape(-1, 2, 4), strict=True):
        assert bits(of_d) == bits(matmul(VOLTA, x, y))


@pytest.mark.parametrize(("m", "k", "n"), [(0, 4, 3), (3, 4, 0), (0, 0, 0)])
def test_empty_results(m: int, k: int, n: int) -> None:
    assert matmul(VOLTA, drawn(m, k), drawn(k, n)).shape == (m, n)


def test_an_empty_sum_is_c() -> None:
    a, b, c = drawn(2, 0), drawn(0, 3), drawn(2, 3)
    assert bits(matmul(HOPPER, a, b, c)) == bits(c.float())
    assert bits(matmul(HOPPER, a, b)) == bits(torch.zeros(2, 3))
    assert matmul(VOLTA, drawn(0, 2, 4), drawn(0, 4, 3)).shape == (0, 2, 3)


def test_strides_do_not_matter() -> None:
    a, b = drawn(16, 5), drawn(3, 32)[:, ::2]
    assert bits(matmul(VOLTA, a.T, b.T)) == bits(matmul(VOLTA, a.T.contiguous(), b.T.contiguous()))


def test_operands_keep_their_numbers_and_results_are_not_shared() -> None:
    a, b, c = drawn(4, 0), drawn(0, 4), drawn(4, 4)
    d = matmul(VOLTA, a, b, c)
    d += 1
    assert bits(c) == bits(drawn(4, 4))


def test_scales() -> None:
    design = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 16, x, dtype=np.uint8) for x in ((5, 128), (128, 3)))
    of_a, of_b = (random.integers(0x30, 0x40, x, dtype=np.uint8) for x in ((5, 8), (8, 3)))
    scales = [torch.from_numpy(x).view(FP8) for x in (of_a, of_b)]
    d = matmul(design, torch.from_numpy(a), torch.from_numpy(b), None, *scales)
    wanted = emulation.matmul(design, a, b, None, of_a, of_b)
    assert bits(d) == bits(torch.from_numpy(patterns_of(wanted, "fp32")).view(torch.float32))
    with pytest.raises(OperandError, match="scale_b is missing"):
        matmul(design, torch.from_numpy(a), torch.from_numpy(b), None, scales[0])
    with pytest.raises(EmulationError, match="scale_a is torch.float32, and the design takes torch.float8_e4m3fn"):
        matmul(design, torch.from_numpy(a), torch.from_numpy(b), None, scales[0].float(), scales[1])
    with pytest.raises(EmulationError, match="promote_every and the scales"):
        matmul(design, torch.from_numpy(a), torch.from_numpy(b), None, *scales, promote_every=64)


def test_cast_to_nearest_is_that_of_pytorch_and_of_ml_dtypes() -> None:
    a, b = drawn(5, 64, dtype=torch.float32), drawn(64, 3, dtype=torch.bfloat16)
    d = matmul(HOPPER_FP8, a, b, cast="nearest")
    assert bits(d) == bits(matmul(HOPPER_FP8, a.to(FP8), b.to(FP8)))
    assert bits(a.to(FP8)) == a.numpy().astype(array_dtype("e4m3")).view(np.uint8).tolist()


def test_what_is_too_large_is_cast_as_pytorch_casts_it() -> None:
    a, b = torch.tensor([[1e6, -torch.inf], [torch.nan, 1.0]]), torch.eye(2)
    found = matmul(HOPPER_FP8, a, b, cast="nearest")
    assert found[0].tolist() == [448.0, -448.0]
    assert found[1, 0].isnan()
    assert matmul("hopper/wgmma.f32.e5m2.e4m3", a[:1, :1], b[:1, :1], cast="nearest").item() == torch.inf


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_scaled_operands_use_the_range_of_the_format(size: float) -> None:
    a, b = drawn(5, 64, dtype=torch.float32, size=size), drawn(64, 3, dtype=torch.float32)
    d = matmul(HOPPER_FP8, a, b, cast="scaled")
    powers = [2.0 ** np.floor(np.log2(448 / x.abs().max().item())) for x in (a, b)]
    scaled = [(x.double() * p).float().to(FP8) for x, p in zip((a, b), powers, strict=True)]
    assert all(224 <= x.float().abs().max() <= 448 for x in scaled)
    assert bits(d) == bits((matmul(HOPPER_FP8, *scaled).double() / powers[0] / powers[1]).float())


def test_the_whole_range_of_the_format_is_used() -> None:
    # 1.0 becomes 2**8, and the other number 2**-9, the smallest of e4m3; a smaller power would lose it
    a, b = torch.tensor([[1.0, 2.0**-17]]), torch.tensor([[0.0], [1.0]])
    assert matmul(HOPPER_FP8, a, b, cast="scaled").item() == 2.0**-17
    # 448 * 2**-8 stays below the largest number, and 449 * 2**-8 would not
    a = torch.tensor([[449 * 2.0**-8, 2.0**-17]])
    assert matmul(HOPPER_FP8, a, b, cast="scaled").item() == 0.0


def test_c_is_added_to_the_sum_of_scaled_operands_outside() -> None:
    a, b, c = (drawn(*x, dtype=torch.float32) for x in ((5, 64), (64, 3), (5, 3)))
    assert bits(matmul(HOPPER_FP8, a, b, c, cast="scaled")) == bits(matmul(HOPPER_FP8, a, b, cast="scaled") + c)


def test_scaling_leaves_zeros_and_specials_alone() -> None:
    zero = torch.zeros(2, 32)
    assert bits(matmul(HOPPER_FP8, zero, zero.T, cast="scaled")) == bits(torch.zeros(2, 2))
    mixed = torch.tensor([[torch.inf, 0.0], [300.0, 1.0]])
    d = matmul(HOPPER_FP8, mixed, torch.eye(2), cast="scaled")
    assert d[0].isnan().all()  # e4m3 has no infinity
    assert bits(d[1:]) == bits(matmul(HOPPER_FP8, mixed[1:], torch.eye(2), cast="scaled"))
    special = torch.full((1, 32), 3.0)
    special[0, 0] = torch.nan
    assert matmul(HOPPER_FP8, special, special.T, cast="scaled").isnan().all()


def test_promotion_is_that_of_the_algorithm() -> None:
    a, b = drawn(5, 300, dtype=torch.float32, size=1.0).abs(), drawn(300, 3, dtype=torch.float32, size=1.0).abs()
    pad = 320
    wide = np.zeros((5, pad), np.float32), np.zeros((pad, 3), np.float32)
    wide[0][:, :300], wide[1][:300] = a.numpy(), b.numpy()
    wanted = multiply(
        find_algorithm("promoted@interval=64"),
        find_design(HOPPER_FP8),
        *(x.view(np.uint32) for x in wide),
        np.zeros((5, 3), np.uint32),
    )
    d = matmul(HOPPER_FP8, a, b, cast="nearest", promote_every=64)
    assert bits(d) == wanted.view(np.int32).tolist()
    assert bits(d) != bits(matmul(HOPPER_FP8, a, b, cast="nearest"))


def test_designs_with_changed_parameters() -> None:
    changed = find_design(HOPPER).change(fraction_bits=12)
    a, b = drawn(5, 16), drawn(16, 3)
    assert bits(matmul(changed, a, b)) == bits(expected(changed.name, a, b)) != bits(matmul(HOPPER, a, b))


def test_compiled_code_may_call_it() -> None:
    a, b = drawn(5, 16), drawn(16, 3)
    compiled = torch.compile(lambda x, y: matmul(HOPPER, x, y) * 2, backend="eager")
    assert bits(compiled(a, b)) == bits(matmul(HOPPER, a, b) * 2)


def test_the_operator_is_registered_as_pytorch_wants_it() -> None:
    a, b = drawn(5, 16).requires_grad_(), drawn(16, 3).requires_grad_()
    settings = (HOPPER, HOPPER, "never", 0, False)
    torch.library.opcheck(
        torch.ops.mmaproof.product,
        (a, b, None, None, None, *settings),
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
    )


F16, F32 = torch.float16, torch.float32


@pytest.mark.parametrize(
    ("design", "shapes", "dtypes", "options", "text"),
    [
        (HOPPER, ((2, 16), (8, 3)), (F16, F16), {}, r"shapes a \(2, 16\), b \(8, 3\): \(..., M, K\) and \(..., K, N\)"),
        (HOPPER, ((16,), (16, 3)), (F16, F16), {}, "shapes a"),
        (HOPPER, ((2, 2, 16), (3, 16, 3)), (F16, F16), {}, "do not broadcast"),
        (HOPPER, ((2, 16), (16, 3), (4, 3)), (F16, F16, F16), {}, r"c has shape \(4, 3\)"),
        (HOPPER, ((2, 16), (16, 3), (2, 2, 3)), (F16, F16, F16), {}, r"c has shape \(2, 2, 3\)"),
        (HOPPER, ((2, 16), (16, 3)), (F32, F16), {}, "a is torch.float32, and the design takes torch.float16"),
        (HOPPER, ((2, 16), (16, 3)), (F16, torch.bfloat16), {}, "b is torch.bfloat16"),
        (
            VOLTA,
            ((2, 16), (16, 3), (2, 3)),
            (F16, F16, F32),
            {},
            "c is torch.float32, and the design takes torch.float16",
        ),
        (
            HOPPER_FP8,
            ((2, 32), (32, 3)),
            (torch.float64, F32),
            {"cast": "nearest"},
            "a is torch.float64, which is not cast",
        ),
        (HOPPER_FP8, ((2, 32), (32, 3)), (torch.int8, F32), {"cast": "nearest"}, "a is torch.int8, which is not cast"),
        (HOPPER, ((2, 16), (16, 3)), (F16, F16), {"cast": "up"}, "cast is 'up': None, 'nearest', 'scaled'"),
        (HOPPER, ((2, 16), (16, 3)), (torch.complex64, F16), {}, "complex64: no unit multiplies complex numbers"),
    ],
)
def test_what_does_not_fit_is_said(design: str, shapes: Any, dtypes: Any, options: dict[str, Any], text: str) -> None:
    operands = [torch.zeros(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    with pytest.raises(EmulationError, match=text):
        matmul(design, *operands, **options)


def test_tensors_that_hold_no_plain_numbers() -> None:
    b = drawn(4, 4)
    with pytest.raises(EmulationError, match="a is a torch.sparse_coo tensor"):
        matmul(VOLTA, b.to_sparse(), b)


def test_settings_that_a_design_does_not_allow() -> None:
    a, b = drawn(2, 4), drawn(4, 2)
    with pytest.raises(DesignError, match="promote_every = 6 is not a multiple of the K = 4"):
        matmul("volta/f32.f16.f16.f32", a, b, promote_every=6)
    with pytest.raises(DesignError, match="promote_every needs sums of fp32 or fp64"):
        matmul(VOLTA, a, b, promote_every=8)
    with pytest.raises(DesignError, match="not a multiple of the K = 16"):
        matmul("volta/f32.f16.f16.f32", a, b, promote_every=8, backward=HOPPER)
    with pytest.raises(DesignError, match="takes scales, which gradients do not have"):
        matmul(VOLTA, a, b, backward="blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
    with pytest.raises(DesignError, match="no instruction"):
        matmul("volta/nothing", a, b)


def test_what_is_no_tensor_is_refused() -> None:
    a, b = drawn(4, 16), drawn(16, 4)
    for operands, text in (
        ((a.numpy(), b), "a is a numpy.ndarray, and no tensor of PyTorch: torch.from_numpy"),
        ((a, b.tolist()), "b is a list, and no tensor of PyTorch: torch.tensor"),
        ((a, None), "b is a NoneType"),
        ((a, b, 1.0), "c is a float"),
    ):
        with pytest.raises(EmulationError, match=text):
            matmul(VOLTA, *operands)
