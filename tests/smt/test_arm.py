"""Arm's instructions: what FPCR and FPMR change against the reference, literals worked by hand, and mutants."""

import numpy as np
import pytest
from support.sampling import basic_operands, distinct_designs
from support.variations import disagreements

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

DIRECTIONS = ("rho=rtp-fp32", "rho=rtn-fp32", "rho=rz-fp32,overflow=largest-finite")
FLUSHES = (
    "subnormals=flushed,flushed_sign=kept,tininess=exact",  # FZ
    "subnormals=flushed,flushed_sign=kept,tininess=unbounded",  # AH, FZ and FIZ
    "subnormals=results,tininess=unbounded",  # AH and FZ
)
FPCR = (*DIRECTIONS, *FLUSHES, *(f"{x},{y}" for x in DIRECTIONS[:2] for y in FLUSHES))
FPMR = ("product_shift=-1", "product_shift=-7", "product_shift=-15", "overflow=largest-finite")
SETTINGS = {
    "arm/bfdot-ebf": FPCR,
    "arm/bfmmla-ebf": FPCR,
    # FZ is about single precision: fp16 operands are flushed by FZ16
    "arm/fdot.f32.f16.f16.f32": tuple(
        y for x in FPCR for y in (x, x.replace("=flushed", "=accumulator-and-results")) if "tininess" in y or y == x
    ),
    "arm/fmmla.m2n2k2.f32": FPCR,
    **{
        f"arm/{x}.{a}.{b}.{d}": FPMR
        for x, d in (("fdot.f16", "f16"), ("fmmla.f16", "f16"), ("fdot.f32", "f32"), ("fmmla.f32", "f32"))
        for a, b in (("e5m2", "e5m2"), ("e5m2", "e4m3"), ("e4m3", "e4m3"))
    },
    "arm/fdot.f32.e4m3.e5m2.f32": ("product_shift=-127", "product_shift=-40"),
}
CASES = [(name, settings) for name, of in SETTINGS.items() for settings in dict.fromkeys(of)]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "settings"),
    [pytest.param(*x, marks=() if i % 5 == 0 else pytest.mark.middle) for i, x in enumerate(CASES)],
)
def test_control_registers_agree_with_the_pseudo_code(name, settings):
    design = find_design(f"{name}@{settings}")
    rng = np.random.default_rng(len(settings))
    for distribution in DISTRIBUTIONS:
        for k in (design.k, 3 * design.k):
            assert disagreements(design, draw(distribution, design, 4, k, rng)) == [], distribution


NEW = [d for d in distinct_designs() if d.architecture == "arm" and d.family not in ("fma-chain", "integer")]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(d.name for d in NEW), *(f"{name}@{settings}" for name, settings in CASES)])
def test_every_setting_agrees_on_100000_operands(name):
    design = find_design(name)
    for batch in basic_operands(design, 100_000, seed=7).values():
        assert disagreements(design, batch) == []


@pytest.mark.few(4)
@pytest.mark.parametrize("design", [d for d in NEW if "e5m2" not in d.name], ids=lambda d: d.name)
def test_native_code_agrees(design):
    for batch in basic_operands(design, 500, k=2 * design.k).values():
        d = [evaluate_batch(design, batch, backend=x) for x in (Backend.NATIVE, Backend.ARRAYS)]
        assert equal_patterns(design.d_format, *d).all()


# --- literals

ONE, TINY = 0x3F80, 0x3380
"""bf16: 1 and 2^-24."""
MINUS_ZERO = 0x80000000

LITERALS = [
    # 1 + 2^-24, exactly between two numbers, and 3 + 2^-22 + that
    ("bfdot", "", (ONE, TINY), (ONE, ONE), 0, 0x3F800001),
    ("bfdot-ebf", "", (ONE, TINY), (ONE, ONE), 0, 0x3F800000),
    ("bfdot-ebf", "rho=rtp-fp32", (ONE, TINY), (ONE, ONE), 0, 0x3F800001),
    ("bfdot", "", (ONE, TINY), (ONE, ONE), 0x40400001, 0x40800001),
    ("bfdot-ebf", "", (ONE, TINY), (ONE, ONE), 0x40400001, 0x40800000),
    # 2^127 * 2: infinity, and the largest finite number where the direction is towards zero
    ("bfdot", "", (0x7F00, 0), (0x4000, 0), 0, 0x7F800000),
    ("bfdot", "", (0x7F00, 0x7F00), (0x4000, 0xC000), 0, 0x7FC00000),
    ("bfdot-ebf", "", (0x7F00, 0x7F00), (0x4000, 0xC000), 0, 0),
    ("bfdot-ebf", "rho=rz-fp32,overflow=largest-finite", (0x7F00, 0), (0x4000, 0), 0, 0x7F7FFFFF),
    # -s * 1 + -0 * 1 + -s, where s is subnormal: zeros of their signs; and with +0 in place of -0
    ("bfdot", "", (0x8001, 0x8000), (ONE, ONE), 0x80000001, MINUS_ZERO),
    ("bfdot", "", (0x8001, 0x0000), (ONE, ONE), 0x80000001, 0),
    # -2^-126 * 2^-1: a subnormal result
    ("bfdot", "", (0x8080, 0x8000), (0x3F00, ONE), MINUS_ZERO, MINUS_ZERO),
    ("bfdot-ebf", "", (0x8080, 0x8000), (0x3F00, ONE), MINUS_ZERO, 0x80400000),
    # -0 * 1 + -0 * 1 + -0; 1 - 1 + 0
    ("bfdot-ebf", "", (0x8000, 0x8000), (ONE, ONE), MINUS_ZERO, MINUS_ZERO),
    ("bfdot-ebf", "", (0x8000, 0x0000), (ONE, ONE), MINUS_ZERO, 0),
    ("bfdot-ebf", "rho=rtn-fp32", (ONE, 0xBF80), (ONE, ONE), 0, MINUS_ZERO),
    ("bfdot-ebf", "rho=rtn-fp32", (0, 0), (ONE, ONE), 0, 0),
    # 2^-126 - 2^-152: below the smallest normal number before it is rounded, and not after
    ("bfdot-ebf", FLUSHES[0], (0x0080, 0x9180), (ONE, 0x2180), 0, 0),
    ("bfdot-ebf", FLUSHES[1], (0x0080, 0x9180), (ONE, 0x2180), 0, 0x00800000),
    # the first pair, and that sum the c of the second
    ("bfmmla", "", (ONE, TINY, TINY, 0), (ONE,) * 4, 0, 0x3F800001),
    ("bfmmla-ebf", "rho=rtp-fp32", (ONE, TINY, TINY, 0), (ONE,) * 4, 0, 0x3F800002),
    # 448^2 - 448^2 + 2^-9 * 2^-9: nothing is lost; divided by 2^4; with c = 1
    ("fdot.f32.e4m3.e4m3.f32", "", (0x7E, 0xFE, 1, 0), (0x7E, 0x7E, 1, 0), 0, 0x36800000),
    ("fdot.f32.e4m3.e4m3.f32", "product_shift=-4", (0x7E, 0xFE, 1, 0), (0x7E, 0x7E, 1, 0), 0, 0x34800000),
    ("fdot.f32.e4m3.e4m3.f32", "", (0x7E, 0xFE, 1, 0), (0x7E, 0x7E, 1, 0), 0x3F800000, 0x3F800020),
    # 2^-14 * 2^-8 is four of fp16's smallest numbers; an eighth of that is half of one, a tie
    ("fdot.f16.e5m2.e5m2.f16", "", (0x04, 0), (0x1C, 0), 0, 0x0004),
    ("fdot.f16.e5m2.e5m2.f16", "product_shift=-3", (0x04, 0), (0x1C, 0), 0x0001, 0x0002),
    ("fdot.f16.e5m2.e5m2.f16", "product_shift=-4", (0x04, 0), (0x1C, 0), 0x0001, 0x0001),
    # 57344^2 to fp16: infinity, or saturated; an infinite operand is never saturated
    ("fdot.f16.e5m2.e5m2.f16", "", (0x7B, 0), (0xFB, 0), 0, 0xFC00),
    ("fdot.f16.e5m2.e5m2.f16", "overflow=largest-finite", (0x7B, 0), (0xFB, 0), 0, 0xFBFF),
    ("fdot.f16.e5m2.e5m2.f16", "overflow=largest-finite", (0x7C, 0), (0xFB, 0), 0, 0xFC00),
    ("fdot.f16.e5m2.e5m2.f16", "", (0x80, 0x80), (0x3C, 0x3C), 0x8000, 0x8000),
]


@pytest.mark.few(14)
@pytest.mark.parametrize(("name", "settings", "a", "b", "c", "d"), LITERALS)
def test_literals(name, settings, a, b, c, d):
    design = find_design(f"arm/{name}" + (f"@{settings}" if settings else ""))
    assert evaluate(design, Operands(a, b, c)) == d


def test_settings_have_an_effect_only_where_the_manual_gives_them_one():
    for name, settings in (
        ("bfdot", "tininess=exact"),  # what is rounded to odd is as small as before
        ("bfdot-ebf@rho=rtp-fp32", "overflow=largest-finite"),
        ("bfdot-ebf", "tininess=exact"),
        ("bfdot", "product_shift=-1"),
    ):
        with pytest.raises(DesignError, match="no effect"):
            find_design(f"arm/{name}{',' if '@' in name else '@'}{settings}")


# --- mutants

MUTANTS = [
    ("bfdot", "rho=rne-fp32"),
    ("bfdot", "rho=rz-fp32"),
    ("bfdot", "overflow=largest-finite"),
    ("bfdot", "subnormals=kept"),
    ("bfdot", "subnormals=results"),
    ("bfdot", "flushed_sign=positive"),
    ("bfmmla", "L=4"),  # the sum of four products, then c
    ("bfdot-ebf", "join_rounding=nearest,rho=rtp-fp32"),
    ("bfdot-ebf", "join=fused"),  # c in the fused sum
    ("bfdot-ebf", "join=exact"),
    ("bfdot-ebf", "summation=pairwise"),  # products are exact, unless they underflow or overflow
    ("bfdot-ebf", "zero_sum=positive"),
    ("bfdot-ebf", FLUSHES[0]),
    ("fdot.f32.e4m3.e4m3.f32", "join=ieee"),  # the sum of the products rounded before c is added
    ("fdot.f32.e4m3.e4m3.f32", "product_shift=-1"),
    ("fdot.f16.e5m2.e5m2.f16", "overflow=largest-finite"),
    ("fdot.f16.e5m2.e4m3.f16", "L=1"),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "settings"),
    [x if i % 4 == 0 else pytest.param(*x, marks=pytest.mark.middle) for i, x in enumerate(MUTANTS)],
)
def test_a_mutant_is_refuted(name, settings):
    base, mutant = f"arm/{name}", f"arm/{name}@{settings}"
    if settings.startswith("join_rounding"):
        base += "@rho=rtp-fp32"
    assert compare(find_design(base), find_design(mutant)).status is Status.REFUTED


def test_tininess_before_and_after_rounding_differ():
    before, after = (find_design(f"arm/bfdot-ebf@{x}") for x in FLUSHES[:2])
    assert compare(before, after).status is Status.REFUTED
