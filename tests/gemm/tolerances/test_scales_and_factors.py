"""Bounds of plans whose operands have scales of blocks, and of plans whose factors are operands."""

import numpy as np
import pytest

from mmaproof.designs.errors import InputError, OperandError
from mmaproof.designs.operands import array_of, pattern_dtype, values_of
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.tolerances import walk
from mmaproof.gemm.tolerances.assertion import assert_gemm, sharpness
from mmaproof.gemm.tolerances.tolerance import Tolerance, tolerance
from mmaproof.gemm.tolerances.walk import Enclosed, LossProof
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.verification.distributions import from_float64

MX = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
NV = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
BF16 = "hopper/mma.m16n8k16.f32.bf16.bf16.f32"
PLANS = (
    f"{MX} | promote=64 | out=bf16",
    f"{MX} | sliced-k=2x32 | c=last",
    f"{NV} | split-k=2:tree | out=e4m3:rtp",
    f"{BF16} | rescale=16:operand | c=none",
    f"{BF16} | rescale=32:operand | c=none | split-k=2 | out=bf16",
)


@pytest.fixture
def granted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proofs of steps, which are tested elsewhere."""
    monkeypatch.setattr(Tolerance, "proof", LossProof(True, "granted"))


def outside(found: Tolerance, side: int, seed: int, kind: str = "normal") -> tuple[int, float]:
    """Return how many results of random operands are outside their bounds, and the largest part of a bound."""
    rng, k, plan = np.random.default_rng(seed), found.k, found.plan
    draw = {
        "normal": rng.standard_normal,
        "positive": rng.random,
        "wide": lambda s: rng.standard_normal(s) * np.exp2(rng.integers(-6, 3, s)),
        "cancelling": lambda s: np.where(np.arange(s[-1] * s[0]).reshape(s) % 2, 1.0, -1.0) * (1 + rng.random(s) / 8),
    }[kind]
    a, b, c = (
        from_float64(f, draw(s)) for f, s in zip(plan.formats, ((side, k), (k, side), (side, side)), strict=False)
    )
    others, fmt = {}, plan.scale_format
    if fmt is not None:
        shapes = (side, plan.blocks(k)), (plan.blocks(k), side)
        scales = [rng.integers(fmt.bias - 3 << fmt.fraction_bits, fmt.bias + 2 << fmt.fraction_bits, s) for s in shapes]
        others = dict(zip(("scale_a", "scale_b"), (x.astype(pattern_dtype(fmt)) for x in scales), strict=True))
    if plan.has_factors:
        others["factors"] = rng.choice([1e-3, 0.5, 1.0, 1.7], (side, found.schedule.factors)).astype(np.float32)
        others["factors"] *= rng.random(others["factors"].shape).astype(np.float32)
    given = found.given(a, b, c, **others)
    exact, beyond = found.exact_of(given)
    bound = found.bound_of(given)
    known = np.isfinite(bound)
    error = np.abs(values_of(found.emulate(a, b, c, **others), plan.formats[3]) - exact)
    assert known.any()
    return int((~(error <= bound + beyond) & known).sum()), float((error[known] / bound[known]).max())


@pytest.mark.few(1)
@pytest.mark.parametrize("text", PLANS)
def test_no_result_is_outside_its_bound(text: str) -> None:
    found = tolerance(text, 128)
    for seed, kind in enumerate(("normal", "positive", "wide", "cancelling")):
        count, largest = outside(found, 16, seed, kind)
        assert count == 0
        assert largest < 1


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANS[3:4])
def test_the_product_with_a_factor_is_proved(text: str) -> None:
    assert tolerance(text, 128).proved


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANS)
@pytest.mark.parametrize("kind", ["normal", "positive", "wide", "cancelling"])
def test_no_result_of_many_is_outside_its_bound(text: str, kind: str) -> None:
    for k in (128, 256, 1024):
        for seed in range(4):
            assert outside(tolerance(text, k), 256, seed, kind)[0] == 0


@pytest.mark.parametrize(
    ("text", "name", "mutant"),
    [
        (PLANS[3], "_times", lambda x, factor: Enclosed(x.most * factor / 2, x.error * factor / 2)),
        (PLANS[3], "chain_error", lambda *_: np.zeros(_[1].shape)),
        (PLANS[0], "chain_error", lambda *_: np.zeros(_[1].shape)),
        (PLANS[4], "rounding_unit", lambda *_: 2.0**-30),
    ],
)
def test_a_smaller_bound_is_violated(text: str, name: str, mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, name, mutant)
    if "bf16" in text and name == "chain_error":  # what the stored sums lose would hide it
        text = text.replace(" | out=bf16", "").replace(" | promote=64", " | promote=128")
    assert sum(outside(tolerance(text, 128), 16, seed, "positive")[0] for seed in range(3))


def test_bounds_are_larger_where_factors_are(granted) -> None:
    found = tolerance(f"{BF16} | rescale=16:operand | c=none", 32)
    a, b = np.full((2, 32), 0x3F80, np.uint16), np.full((32, 2), 0x3F80, np.uint16)
    small, large = (found.bound(a, b, factors=np.full((2, 1), x, np.float32)) for x in (0.5, 8.0))
    assert (small < large).all()
    special = found.bound(a, b, factors=np.array([[np.inf], [1.0]], np.float32))
    assert np.isnan(special[0]).all()
    assert np.isfinite(special[1]).all()


def test_one_scale_or_factor_that_is_no_number_leaves_a_row_without_a_bound(granted) -> None:
    found = tolerance(f"{BF16} | rescale=16:operand | c=none", 48)
    a, b = np.full((2, 48), 0x3F80, np.uint16), np.full((48, 2), 0x3F80, np.uint16)
    bound = found.bound(a, b, factors=np.array([[1.0, np.nan], [1.0, 1.0]], np.float32))
    assert np.isnan(bound).tolist() == [[True, True], [False, False]]
    scaled = tolerance(MX, 64)
    x, y = np.full((2, 64), 0x38, np.uint8), np.full((64, 2), 0x38, np.uint8)
    scale_a, scale_b = np.full((2, 2), 127, np.uint8), np.full((2, 2), 127, np.uint8)
    scale_b[1, 1] = 0xFF
    bound = scaled.bound(x, y, None, scale_a, scale_b)
    assert np.isnan(bound).tolist() == [[False, True], [False, True]]


def test_bounds_grow_with_scales_and_with_elements(granted) -> None:
    found = tolerance(MX, 64)

    def bound(element: int, scale: int) -> float:
        x, scales = np.full((1, 64), element, np.uint8), np.full((1, 2), scale, np.uint8)
        return float(found.bound(x, x.T.copy(), None, scales, scales.T.copy())[0, 0])

    one = bound(0x38, 127)
    assert bound(0x38, 130) == pytest.approx(64 * one)
    assert bound(0x50, 127) == pytest.approx(64 * one)


def test_operands_that_are_missing_are_named(granted) -> None:
    found = tolerance(f"{BF16} | rescale=16:operand | c=none", 32)
    a, b = np.full((2, 32), 0x3F80, np.uint16), np.full((32, 2), 0x3F80, np.uint16)
    with pytest.raises(OperandError, match=r"factors are missing.*\(2, 1\)"):
        found.bound(a, b)
    with pytest.raises(OperandError, match=r"\(2, 1\) needed"):
        found.bound(a, b, factors=np.ones((2, 3), np.float32))
    with pytest.raises(InputError, match="factors that are operands"):
        found.rtol_atol("exponents=-2..2")
    with pytest.raises(OperandError, match="takes no factors"):
        tolerance(BF16, 32).bound(a, b, factors=np.ones((2, 1), np.float32))
    with pytest.raises(OperandError, match="scale_a is missing"):
        tolerance(PLANS[0], 64).bound(np.zeros((1, 64), np.uint8), np.zeros((64, 1), np.uint8))


def test_parts_of_scales_go_with_their_elements() -> None:
    """Blocks that are taken in turns have scales of their own."""
    found = tolerance(f"{MX} | sliced-k=2x32 | c=none", 128)
    a = np.full((1, 128), 0x38, np.uint8)
    scale_a = np.array([[127, 120, 127, 110]], np.uint8)
    given = found.given(a, a.T.copy(), None, scale_a, np.full((4, 1), 127, np.uint8))
    turns = [given.a.selected(walk.places(x.ks)).scales.tolist() for x in found.schedule.calls]
    assert turns == [[[127, 127]], [[120, 110]]]


def test_a_quantile_of_a_plan_with_scales() -> None:
    found = tolerance(f"{MX} | split-k=2", 64).quantile(0.9, "positive", samples=500)
    assert 0 <= found.value < 1e-3


@pytest.mark.parametrize("strength", ["bits", "proved"])
def test_products_with_scales_and_factors_are_asserted(strength: str, granted) -> None:
    rng = np.random.default_rng(8)
    plan = read_plan(f"{BF16} | rescale=16:operand | c=none")
    a, b = (from_float64(f, rng.standard_normal(s)) for f, s in zip(plan.formats, ((3, 48), (48, 2)), strict=False))
    factors = rng.random((3, 2)).astype(np.float32)
    d = matmul(plan, array_of(a, "bf16"), array_of(b, "bf16"), factors=factors)
    assert_gemm(d, a, b, plan=plan, strength=strength, factors=factors)
    with pytest.raises(AssertionError):
        assert_gemm(d, a, b, plan=plan, strength=strength, factors=factors / 2)
    scaled = read_plan(f"{MX} | split-k=2")
    x, y = (from_float64(f, rng.standard_normal(s)) for f, s in zip(scaled.formats, ((3, 64), (64, 2)), strict=False))
    scales = np.full((3, 2), 127, np.uint8), np.full((2, 2), 128, np.uint8)
    d = matmul(scaled, array_of(x, "e4m3"), array_of(y, "e4m3"), None, *scales)
    assert_gemm(d, x, y, plan=scaled, strength=strength, scale_a=scales[0], scale_b=scales[1])
    with pytest.raises(AssertionError):
        assert_gemm(d, x, y, plan=scaled, strength=strength, scale_a=scales[0], scale_b=scales[1] - 1)


@pytest.mark.parametrize("k", [16, 48])
def test_scales_of_missing_blocks_are_ones_at_which_terms_are_aligned(k: int) -> None:
    found = tolerance(NV, k)
    a, b = np.zeros((1, k), np.uint8), np.zeros((k, 1), np.uint8)
    a[0, 0] = b[0, 0] = 2  # 1 * 1, with scales of 2**-9
    scales = np.ones((1, k // 16), np.uint8), np.ones((k // 16, 1), np.uint8)
    c = np.array([[1e-8]], np.float32)
    d = values_of(found.emulate(a, b, c, *scales), found.plan.formats[3])
    exact = np.float64(c) + 2.0**-18
    given = found.given(a, b, c, *scales)
    assert 0 < abs(d - exact) <= found.bound_of(given)


def test_what_draws_operands_refuses_factors() -> None:
    found = tolerance(f"{BF16} | rescale=16:operand | c=none", 32)
    with pytest.raises(InputError, match="its factors are operands, and none are drawn: state constants"):
        sharpness(found)
    with pytest.raises(InputError, match="multiply no sum with a factor"):
        found.quantile(0.9, samples=100)
