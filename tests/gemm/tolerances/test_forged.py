"""Results that were made to pass, and honest ones: each element is called what it is, by arithmetic of its own."""

import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import mmaproof
from mmaproof.gemm.tolerances.judge import judge
from mmaproof.gemm.tolerances.tolerance import tolerance

PLAN = "hopper/wgmma.f32.bf16.bf16"
SPLIT = f"{PLAN} | split-k=2"
K, SIDE = 64, 128
EIGHTH = 2.0**-3


def drawn(seed):
    """Return operands that are small integers of 1/8, so that int64 has the exact result in units of 1/64."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-255, 256, x) for x in ((SIDE, K), (K, SIDE)))
    c = rng.integers(-(2**18), 2**18, (SIDE, SIDE))
    exact = a @ b + c
    arrays = (a * EIGHTH).astype(ml_dtypes.bfloat16), (b * EIGHTH).astype(ml_dtypes.bfloat16)
    start = (c / 64).astype(np.float32)
    assert all((x.astype(float) == y * EIGHTH).all() for x, y in zip(arrays, (a, b), strict=True))
    return rng, (*arrays, start), exact


def bits(x):
    return np.ascontiguousarray(x, np.float32).view(np.uint32)


def numbers(x):
    return np.asarray(x, np.uint32).view(np.float32)


def beside(x, steps):
    """Return the numbers some steps along the number line, as patterns."""
    signed = np.where(x >> 31, -(x & 0x7FFFFFFF).astype(np.int64), x.astype(np.int64)) + steps
    return np.where(signed < 0, 0x80000000 | -signed, signed).astype(np.uint32)


def forged(rng, d, exact, bound):
    """Return patterns that were made to pass, of as many kinds as there are rows in turn."""
    own, shape = bits(d), d.shape
    with np.errstate(over="ignore"):
        at = exact / 64
        kinds = [
            beside(own, rng.choice([-1, 1], shape)),
            bits(at + bound * rng.uniform(-1, 1, shape)),
            beside(bits(at + bound * rng.choice([-1, 1], shape)), rng.integers(-1, 2, shape)),
            np.full(shape, 0x80000000, np.uint32),
            rng.integers(0, 1 << 23, shape) | rng.integers(0, 2, shape) << 31,
            np.full(shape, 0x7F800000) | rng.integers(0, 2, shape) << 31,
            0x7F800000 | rng.integers(1, 1 << 23, shape) | rng.integers(0, 2, shape) << 31,
            own ^ (1 << rng.integers(0, 32, shape)).astype(np.uint32),
            rng.integers(0, 1 << 32, shape, dtype=np.uint64),
            np.zeros(shape, np.uint32),
        ]
    return np.choose(rng.integers(0, len(kinds), shape), [x.astype(np.uint32) for x in kinds])


def classes(patterns, own, exact, bound):
    """Return 0 for the bits of the unit, 1 for other bits inside the bound, 2 for what is beyond it, exactly."""
    with np.errstate(invalid="ignore", over="ignore"):
        values = numbers(patterns).astype(np.float64)
        finite = np.isfinite(values)
        error = np.abs(values - exact / 64)
        near = finite & (np.abs(error - bound) <= 2.0**-30 * (bound + np.abs(values)))
        inside = finite & (error <= bound)
    for i, j in np.argwhere(near):
        off = abs(Fraction(float(values[i, j])) - Fraction(int(exact[i, j]), 64))
        inside[i, j] = off <= Fraction(float(bound[i, j]))
    return np.where(patterns == own, 0, np.where(inside, 1, 2))


def called(patterns, given):
    """Return what the judge says of a result, and of how many of its elements."""
    found = judge(numbers(patterns), *given, plans=PLAN, explain=False)
    count = re.search(r"(\d+) elements? (beyond|have other bits)", found.rests_on)
    return str(found.verdict), int(count[1]) if count else 0


def check_forged(seeds):
    """Judge forged results: what is of one class alone, and everything together; return how many were judged."""
    judged = 0
    for seed in seeds:
        rng, given, exact = drawn(seed)
        d = mmaproof.matmul(PLAN, *given)
        own, bound = bits(d), tolerance(PLAN, K).bound(*given)
        made = forged(rng, d, exact, bound)
        kinds = classes(made, own, exact, bound)
        inside, outside = kinds == 1, kinds == 2
        assert inside.any() and outside.any()
        # each class alone, with the unit's own bits elsewhere: as many are counted as there are, so each is one of them
        assert called(np.where(inside, made, own), given) == ("within", int(inside.sum()))
        assert called(np.where(outside, made, own), given) == ("outside", int(outside.sum()))
        assert called(made, given) == ("outside", int(outside.sum()))
        judged += int((kinds > 0).sum())
    return judged


def check_honest(seeds):
    """Judge honest results by their own bits, and by bounds alone; return how many were judged."""
    judged, turns = 0, (PLAN, SPLIT)
    for seed in seeds:
        _, given, _ = drawn(seed)
        for plan in turns:
            d = mmaproof.matmul(mmaproof.read_plan(plan), *given)
            assert judge(d, *given, plans=turns, explain=False).verdict == "exact"
            judged += d.size
        # of an order that is not determined nothing is emulated: the bounds decide
        found = judge(d, *given, plans=f"{PLAN} | split-k=2:any", explain=False)
        assert found.verdict == "indeterminate" and found.rests_on.startswith("inside the bounds")
        judged += d.size
    return judged


def test_forged_results_are_called_what_they_are():
    assert check_forged(range(1)) > 15_000


def test_honest_results_are_never_outside():
    assert check_honest(range(1)) == 3 * SIDE * SIDE


@pytest.mark.slow
def test_a_million_forged_results_are_called_what_they_are():
    assert check_forged(range(100, 165)) > 1_000_000


@pytest.mark.slow
def test_of_ten_million_honest_results_none_is_outside():
    assert check_honest(range(1000, 1204)) > 10_000_000
