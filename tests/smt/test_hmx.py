"""Qualcomm HMX, fp16: a wide register, a bias and one conversion; each of it on an example."""

import numpy as np
import pytest
from reference.hmx import dot
from support.pictures import text

from mmaproof import compare, find_design, matmul, picture
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch
from mmaproof.gemm.programs import read_plan
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

HMX = find_design("hexagon/hmx")
ONE, TWO, HALF = 0x3C00, 0x4000, 0x3800
LARGEST, LEAST = 0x7BFF, 0x0001
BIAS_ONE, MINUS = 15 << 15, 1 << 15

# products, bias, d
CASES = [
    ([(ONE, ONE)], BIAS_ONE, 0x4000),
    # 1 + 2^-11 is a tie, and the bias has a last bit that decides it: 2^-15
    ([(ONE, ONE), (0x1000, ONE)], 0, 0x3C00),
    ([(ONE, ONE), (0x1000, ONE)], 0x00001, 0x3C01),
    # the last product is 2^-48, which is lost at 46 places; 2^-47 is a tie, and 3 * 2^-47 rounds up to 2^-45
    ([(ONE, ONE), (0x1000, ONE), (LEAST, LEAST)], 0, 0x3C00),
    ([(ONE, ONE), (0x1000, ONE), (LEAST, 2 * LEAST)], 0, 0x3C00),
    ([(ONE, ONE), (0x1000, ONE), (LEAST, 3 * LEAST)], 0, 0x3C01),
    # 65504 * 1 + 16 - 1 rounds to 65504; with 16 it is an infinity
    ([(LARGEST, ONE), (0x4B80, ONE)], 0, 0x7BFF),
    ([(LARGEST, ONE), (0x4C00, ONE)], 0, 0x7C00),
    # 256 * 512 is 2^17, which the register does not hold; -2^17 it does
    ([(0x5C00, 0x6000), (LARGEST, 0xC000)], 0, 0x7C00),
    ([(0xDC00, 0x6000), (LARGEST, TWO)], 0, 0xD400),
    ([(0xDC00, 0x6000), (0x5C00, 0x6000)], 0, 0x7C00),
    ([(0xDC00, 0x6001), (0x5C00, 0x6001)], 0, 0x7FFF),
    # 3 * 65504 wraps: 196512 - 2^18 = -65632, and 2 * 65504 is in range
    ([(LARGEST, ONE)] * 3, 0, 0xFC00),
    ([(LARGEST, ONE)] * 4, 0, 0xD800),
    ([(LARGEST, ONE)] * 2, 0, 0x7C00),
    # subnormal results, and the sign of one that rounds to zero
    ([(LEAST, ONE)], 0, LEAST),
    ([(LEAST, 0xB800)], 0, 0x8000),
    ([(0, 0x8000)], 1 << 20, 0),
    # infinities and NaN, of the bias too
    ([(0x7C00, ONE)], 0, 0x7C00),
    ([(0x7C00, 0)], 0, 0x7FFF),
    ([(0x7C00, ONE)], 0x1F8000, 0x7FFF),
    ([(ONE, ONE)], 0x1F8000, 0xFC00),
    ([(ONE, ONE)], 0x0F8001, 0x7FFF),
]


@pytest.mark.parametrize("limit", [8, 9, 128, 4096])
def test_a_product_limit_that_no_product_reaches_has_no_effect(limit):
    """Products of binary8p4se are below 2^16, and their exponents have few bits, which 128 does not fit."""
    plain = find_design("paper/fma-p3109")
    for a, b in ((0x40, 0x40), (0xC0, 0x40), (0x47, 0xC7), (0x80, 1)):
        operands = Operands((a,), (b,), 0)
        limited = plain.change(product_limit=limit, product_range="twos-complement")
        assert evaluate(limited, operands) == evaluate(plain, operands)


def padded(factors):
    return zip(*factors, *[(0, 0)] * (32 - len(factors)), strict=True)


@pytest.mark.parametrize(("factors", "bias", "expected"), CASES)
def test_examples(factors, bias, expected):
    a, b = padded(factors)
    assert dot(a, b, bias) == expected
    assert evaluate(HMX, Operands(a, b, bias)) == expected


def large(count, rng):
    """Products about 2^17, of powers of two and the largest significands: sums wrap, and some products do not fit."""
    k = 4
    exponents = rng.integers(22, 31, (count, k))
    others = np.clip(rng.integers(28, 33, (count, k)) + 15 - exponents, 0, 30)
    a, b = (
        (rng.integers(0, 2, (count, k)) << 15 | e << 10 | rng.choice([0, 0, 0, 0x3FF], (count, k))).astype(np.uint16)
        for e in (exponents, others)
    )
    c = rng.integers(0, 2, count) << 20 | rng.integers(25, 31, count) << 15 | rng.choice([0, 1, 0x7FFF], count)
    return OperandBatch(a, b, c.astype(np.uint32))


@pytest.mark.parametrize(
    "backend", [Backend.INTEGERS, Backend.ARRAYS, pytest.param(Backend.NATIVE, marks=pytest.mark.middle)]
)
@pytest.mark.parametrize("name", [*DISTRIBUTIONS, "large"])
@pytest.mark.parametrize("change", ["", "@fraction_bits=78,carry_bits=sufficient"])
@pytest.mark.few(12)
def test_rows_are_those_of_the_reference(change, name, backend):
    design, rng = find_design(f"hexagon/hmx{change}"), np.random.default_rng(1)
    batch = large(200, rng) if name == "large" else draw(name, design, 100, 4, rng)
    d = evaluate_batch(design, batch, backend=backend)
    ways = {"places": 48, "wraps": False} if change else {}
    rows = zip(batch.a.tolist(), batch.b.tolist(), batch.c.tolist(), strict=True)
    assert d.tolist() == [dot([*a, *[0] * 28], [*b, *[0] * 28], c, **ways) for a, b, c in rows]


@pytest.mark.parametrize(
    "change",
    [
        "fraction_bits=78",
        "carry_bits=sufficient",
        "product_range=magnitude",
        "product_limit=none",
        "alignment=truncate",
    ],
)
def test_another_reading_is_another_unit(change):
    assert compare(HMX, find_design(f"hexagon/hmx@{change}"), k=4).verdict == "different"


def test_a_longer_sum_is_refused():
    ones = np.full((1, 64), ONE, dtype=np.uint16)
    for asked in (lambda: matmul(HMX, ones, ones.T), lambda: read_plan("hexagon/hmx").schedule(64)):
        with pytest.raises(DesignError, match="converts a sum of at most 32 products"):
            asked()
    found = matmul("hexagon/hmx | split-k=2", ones, ones.T)
    assert np.asarray(found).tolist() == [[64.0]]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ampere/f32.f16.f16.f32@carry_bits=-24", "carry_bits = -24 leaves no bit of F = 24"),
        ("vortex/tfr.wmma.m8n4k8.f32.bf16.bf16.f32@carry_bits=-1", "does not hold a lane"),
    ],
)
def test_registers_that_hold_nothing(name, message):
    with pytest.raises(DesignError, match=message):
        find_design(name)


@pytest.mark.parametrize(("sign", "says"), [(0xDC00, False), (0x5C00, True)])
def test_the_picture_says_which_product_is_an_infinity(sign, says):
    a, b = padded([(sign, 0x6000)])
    assert ("2^17 or more" in text(picture(HMX, Operands(a, b, 0)))) is says


def test_which_products_are_infinities_is_not_stated():
    assert HMX.step.infinite_from is None
    assert HMX.change(product_range="magnitude").step.infinite_from == 17
