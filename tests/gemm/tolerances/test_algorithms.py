"""Bounds of plans whose algorithm splits fp32 operands: composed of the proved bound of one step of the unit."""

from fractions import Fraction

import numpy as np
import pytest

from mmaproof.designs.operands import values_of
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.tolerances import tolerance
from mmaproof.gemm.tolerances.errors import Sizes, bound_of_sizes
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.walk import bound_of_schedule

V = "volta/f32.f16.f16.f32"
PLANS = (
    f"{V} | algorithm=markidis | split-k=2",
    f"{V} | algorithm=ootomo-yokota | out=bf16",
    "ampere/mma.m16n8k8.f32.tf32.tf32.f32 | algorithm=3xtf32 | c=last | alpha=0.1",
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | algorithm=bf16x6 | promote=32",
    f"{V} | algorithm=plain | split-k=2:tree",
)


def drawn(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return patterns of fp32: of moderate numbers, of both signs, over many powers, or that lose what is split off."""
    values = {
        "normal": lambda: rng.standard_normal(shape),
        "positive": lambda: rng.random(shape),
        "wide": lambda: rng.standard_normal(shape) * np.exp2(rng.integers(-8, 6, shape)),
        "constant": lambda: np.full(shape, 1 + 2.0**-11 + 2.0**-22),
        "cancelling": lambda: np.where(np.indices(shape).sum(axis=0) % 2, 1.0, -1.0) * (1 + rng.random(shape) / 64),
    }[kind]()
    return values.astype(np.float32).view(np.uint32)


def outside(found: Tolerance, side: int, kind: str, seed: int) -> tuple[int, float]:
    """Return how many results are outside their bounds, and the largest part of a bound."""
    rng, k = np.random.default_rng(seed), found.k
    a, b, c = (drawn(kind, s, rng) for s in ((side, k), (k, side), (side, side)))
    given = found.given(a, b, c)
    exact, beyond = found.exact_of(given)
    bound = found.bound_of(given)
    known = np.isfinite(bound)
    assert known.all()
    error = np.abs(values_of(found.emulate(a, b, c), found.plan.formats[3]) - exact)
    return int((~(error <= bound + beyond)).sum()), float((error / np.maximum(bound, 1e-300)).max())


KINDS = ("normal", "positive", "wide", "constant", "cancelling")


@pytest.mark.middle
@pytest.mark.parametrize("text", [PLANS[0], *(pytest.param(x, marks=pytest.mark.middle) for x in PLANS[1:])])
def test_no_result_is_outside_its_bound(text: str) -> None:
    found = Tolerance(read_plan(text), 64)
    for seed, kind in enumerate(KINDS):
        assert outside(found, 6, kind, seed)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_result_of_many_is_outside_its_bound(text: str, kind: str) -> None:
    for k in (32, 64, 256):
        assert outside(Tolerance(read_plan(text), k), 128, kind, k)[0] == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("part", [0, 1 / 64])
def test_a_smaller_bound_is_violated(part: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Tolerance(read_plan(f"{V} | algorithm=markidis"), 64)
    assert outside(found, 6, "constant", 0)[1] > 1 / 64
    monkeypatch.setattr(tolerance, "bound_of_schedule", lambda *x, **y: bound_of_schedule(*x, **y) * part)
    assert outside(found, 6, "constant", 0)[0]


@pytest.mark.parametrize("text", PLANS)
def test_the_bound_of_operands_is_below_that_of_all_of_their_size(text: str) -> None:
    plan, rng = read_plan(text), np.random.default_rng(5)
    a, b = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((8, 32), (32, 8)))
    found = Tolerance(plan, 32)
    bound = found.bound_of(found.given(a.view(np.uint32), b.view(np.uint32)))
    largest = (Fraction(float(np.abs(x).max())) for x in (a, b))
    of_all = bound_of_sizes(plan, 32, Sizes(*largest))
    assert (bound <= float(of_all.value)).all()
    assert bound.max() > float(of_all.value) / 32


def test_what_may_overflow_has_no_bound() -> None:
    found = Tolerance(read_plan(f"{V} | algorithm=markidis"), 8)
    big = np.full((1, 8), 7e4, np.float32).view(np.uint32)
    assert np.isinf(found.bound_of(found.given(big, big.T.copy()))).all()


def test_an_algorithm_without_a_composed_bound_says_so() -> None:
    found = Tolerance(read_plan("turing/mma.m8n8k16.s32.s8.s8.s32 | algorithm=residues"), 64)
    assert not found.proved
    assert "residues" in found.proof.reason


@pytest.mark.middle
def test_the_bound_of_one_step_is_proved() -> None:
    found = Tolerance(read_plan(PLANS[0]), 64)
    assert found.proved
    assert found.proof.lemmas
