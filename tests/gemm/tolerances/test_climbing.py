"""A search that climbs does not exceed a proved bound, and finds a bound that is too small."""

import numpy as np
import pytest
from support.climbing import Range, climb, ranges
from support.sampling import distinct_designs

from mmaproof.designs.design import Design
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.tolerances import bound, tolerance
from mmaproof.gemm.tolerances.tolerance import NothingProvedError, Tolerance
from mmaproof.properties.step_loss import why_no_loss

BLACKWELL = "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"
HOPPER = "hopper/wgmma.f32.e4m3.e4m3"
FLUSHES = "cdna2/v_mfma_f32_32x32x8f16"
FINE = "volta/mma.m8n8k4.f32.f16.f16.f16"

SAMPLE = [
    BLACKWELL,
    "hopper/wgmma.f32.e5m2.e5m2",
    "cpu/tdpbf16ps",
    "cdna3/v_mfma_f32_16x16x32_fp8_fp8",
    "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",
    FLUSHES,
    f"{HOPPER} | promote=64 | alpha=0.5 | beta=2 | c=last | out=bf16",
    f"{BLACKWELL} | split-k=2 | out=e4m3",
]
PLANS = [
    *SAMPLE[-2:],
    f"{HOPPER} | promote=64",
    f"{HOPPER} | split-k=4:tree:fp32 | out=bf16",
    f"{HOPPER} | promote=64:fp32:rtp | out=bf16:rtn",
    f"{FLUSHES} | split-k=4 | alpha=0.75 | beta=-1.5 | c=last",
    f"{FLUSHES} | split-k=2 | rescale=64:0.3",
    f"{FINE} | split-k=4:ascending:fp16",
    f"{FINE} | split-k=2 | alpha=3 | beta=0.1 | c=last | out=fp16",
    f"{BLACKWELL} | stream-k=96.32",
]


@pytest.fixture(autouse=True)
def _proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lemmas have tests of their own."""
    monkeypatch.setattr(Tolerance, "require_proof", lambda _: None)


def climbed(found: Tolerance, generations: int, seed: int = 0) -> float:
    """Climb for the two numbers of each range and for the bounds of rows; return the largest part that is reached."""
    rng, most = np.random.default_rng([seed, found.k]), 0.0
    for within in ranges(found, rng):
        for of_range in (True, False):
            try:
                reached = climb(found, within, rng, generations, of_range=of_range)
            except NothingProvedError:  # a number may overflow
                continue
            if reached is not None:
                assert reached.part <= 1, (found, within, of_range, reached)
                most = max(most, reached.part)
    print(f"{found.plan.name}, k = {found.k}: {most:.4f} of its bound is reached")
    return most


@pytest.mark.middle
@pytest.mark.parametrize("name", SAMPLE)
def test_no_bound_is_exceeded(name: str) -> None:
    found = tolerance.tolerance(name, 128 if "|" in name else 64)
    assert climbed(found, 12) > 0.3


@pytest.mark.parametrize(("name", "within"), [(BLACKWELL, Range(-6, 8)), ("hopper/wgmma.f32.e5m2.e5m2", Range(-14, 4))])
def test_a_bound_at_the_largest_operands_alone_is_exceeded(name: str, within: Range, monkeypatch) -> None:
    found, rng = tolerance.tolerance(name, 64), np.random.default_rng(0)
    reached = climb(found, within, rng, 20, of_range=True)
    assert reached is not None
    assert reached.part <= 1
    monkeypatch.setattr(tolerance, "_box", lambda *_: None)
    worse = climb(found, within, rng, 20, of_range=True)
    assert worse is not None
    assert worse.part > 1


def test_a_bound_of_rows_that_is_too_small_is_exceeded(monkeypatch) -> None:
    found, rng = tolerance.tolerance(BLACKWELL, 32), np.random.default_rng(0)
    monkeypatch.setattr(bound, "_OUTWARDS", dict.fromkeys(bound._OUTWARDS, 0.99))
    reached = climb(found, Range(-6, 8), rng, 30, of_range=False)
    assert reached is not None
    assert reached.part > 1


BOUNDED = [x for x in distinct_designs() if why_no_loss(x) is None and not x.d_format.is_integer]


@pytest.mark.slow
@pytest.mark.parametrize("design", BOUNDED, ids=lambda x: x.name)
def test_no_bound_of_a_unit_is_exceeded(design: Design) -> None:
    for k in (design.k, 3 * design.k):
        climbed(Tolerance(Plan(design), k), 60)


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANS)
@pytest.mark.parametrize("seed", range(3))
def test_no_bound_of_a_plan_is_exceeded(text: str, seed: int) -> None:
    climbed(tolerance.tolerance(text, 128), 100, seed)
