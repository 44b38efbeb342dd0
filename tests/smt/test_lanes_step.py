"""Lanes of a narrow register: what the RTL of Vortex does where it departs from a fused sum, on small examples.

The examples were run on the RTL (verilator); the reference was written from it.
"""

import numpy as np
import pytest
from reference.vortex import carry_width, least_exponent, tfr
from support.pictures import draw

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import LanesStep
from mmaproof.explain import explain
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.semantics.datapath import sum_widths
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.trace import evaluate, trace
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS
from mmaproof.verification.distributions import draw as draw_operands

ROWS = [d for d in load_catalogue().designs.values() if d.family == "vortex-tfr"]
CHAIN = find_design("vortex/tfr.wmma.m8n4k8.f32.f16.f16.f32")
FP8 = find_design("vortex/tfr.wmma.m8n4k16.f32.e4m3.e4m3.f32")
PATIENT = Limits(120.0, 4 << 30)
ONE, HALF_ULP = 0x3C00, 0x33800000
NEARLY_TWO = 0x3FFF


def step(a: tuple[int, ...], b: tuple[int, ...], c: int, design: Design = CHAIN) -> int:
    """What the first step returns, and the reference with it."""
    d = trace(design, Operands(a, b, c)).steps[0].d.data
    assert d == tfr(a, b, c, a_format=design.a_format.name, b_format=design.b_format.name, L=design.step.L)
    return d


def test_rows_follow_from_the_number_of_lanes():
    for design in ROWS:
        bits = design.a_format.bits
        lanes = design.step.L * bits // 16 if bits <= 16 else 2 * design.step.L
        assert isinstance(design.step, LanesStep)
        assert design.step.carry_bits == carry_width(lanes) - 1, design.name
        assert design.step.e_zero == least_exponent(lanes), design.name


def test_a_zero_operand_sets_the_sticky_bit():
    tie = (ONE, 0, 0, 0)
    assert step(tie, tie, HALF_ULP) == 0x3F800001  # 1 + 2^-24, to nearest even 1
    # three products that cancel in place of the zeros: nothing is lost
    a, b = (ONE, ONE, 0x3800, 0x3800), (ONE, 0xBC00, ONE, ONE)
    assert step(a, b, HALF_ULP) == 0x3F800000
    # c = 0 alone does it as well: 1 + 2^-24 in the products, beside the least c that is not zero
    a, b = (ONE, 0x0C00, ONE, ONE), (ONE, 0x0C00, ONE, 0xBC00)
    assert step(a, b, 0) == 0x3F800001


def test_the_sticky_bit_makes_no_tie():
    # 1 - 1 + 2^-24 and a bit below: after cancellation the round bit is not the place below the sum
    a, b = (ONE, ONE, 0x0001, 0), (ONE, 0xBC00, 0x0001, 0)
    assert step(a, b, 0x33800001) == 0x33800000


def test_the_register_wraps():
    operands = ((NEARLY_TWO,) * 4, (NEARLY_TWO,) * 4)
    assert step(*operands, 0x3F800000) == 0xC1703FFC  # 4 * 1.999^2 + 1 is about 17
    assert step(*operands, 0x3C7FEFFF) == 0x41800000  # just below 16
    assert step(*operands, 0x3C7FF000) == 0x80000000  # 16 exactly: the most negative number has no magnitude


@pytest.mark.parametrize(("c", "d"), [(0x00400000, 0x80000000), (0x80400000, 0x80000000), (0x80000000, 0x80000000)])
def test_the_sign_of_a_zero_result_is_that_of_the_ones(c, d):
    """Of zero operands: their significands are 1, and c has its own, at a far larger exponent unless it is zero."""
    minus = (0xBC00,) * 4
    expected = d if c == 0x80000000 else c & 0x80000000
    assert step((0,) * 4, minus, c) == expected


def test_a_subnormal_c_has_an_implicit_one():
    bf16 = find_design("vortex/tfr.wmma.m8n4k8.f32.bf16.bf16.f32")
    # 2^-126 + (1 + 2^-1) * 2^-127, of which the c is written 2^-127
    assert step((0x0080, 0, 0, 0), (0x3F80, 0, 0, 0), 0x00400000, bf16) == 0x00E00000


def test_pairs_of_fp8():
    # 448 * 2^-9 beside 2^-9 * 448: both exponents; the second zero product is not asked for its exponent
    first, second = (0x7E, 0x00), (0x00, 0x7E)
    rest = (0,) * 6
    one = 0x38
    assert step((*first, *rest), (one, 0x7E, *rest), 0, FP8) == 0x43E00000
    assert step((*second, *rest), (0x7E, one, *rest), 0, FP8) == 0x43E00000
    # a zero beside 2^-18 keeps its bit; as the first of two it reads exponent -7 + 8, so that c loses its last bit
    c = 0x3A000001
    lost = step((0x00, 0x01, *rest), (0x7E, 0x01, *rest), c, FP8)
    kept = step((0x01, 0x00, *rest), (0x01, 0x7E, *rest), c, FP8)
    assert (lost, kept) == (0x3A010000, 0x3A010001)
    # two products that cancel are a zero lane: c keeps its last bit
    assert step((0x7E, 0x7E, *rest), (one, 0x80 | one, *rest), c, FP8) == c


QUICK = ("sticky=no",)
MIDDLE = ("implicit_ones=normal", "implicit_ones=accumulator", "fraction_bits=25", "e_zero=-20")
SLOW = ("carry_bits=3", "subnormals=kept", "tininess=rounded")
MUTANTS = (
    *QUICK,
    *(pytest.param(x, marks=pytest.mark.middle) for x in MIDDLE),
    *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW),
)


@pytest.mark.parametrize("change", MUTANTS)
def test_every_reading_has_a_mutant_that_is_refuted(change):
    mutant = find_design(f"{CHAIN.name}@{change}")
    found = compare(CHAIN, mutant, limits=PATIENT)
    assert found.verdict == "different"


@pytest.mark.few(1)
@pytest.mark.parametrize("change", ["pair_bits=21", "pair_bits=none"])
def test_a_pair_of_other_bits_is_refuted(change):
    mutant = find_design(f"{FP8.name}@{change}")
    rng = np.random.default_rng(1)
    batches = (draw_operands(name, FP8, 20_000, FP8.k, rng) for name in ("normal", "uniform-bits", "subnormal"))
    assert any((evaluate_batch(FP8, x) != evaluate_batch(mutant, x)).any() for x in batches)


@pytest.mark.parametrize("design", [CHAIN, FP8], ids=lambda d: d.name)
def test_native_code_agrees(design):
    rng = np.random.default_rng(2)
    for name in DISTRIBUTIONS:
        batch = draw_operands(name, design, 200, design.k * 2, rng)
        native = evaluate_batch(design, batch, backend=Backend.NATIVE)
        assert (native == evaluate_batch(design, batch, backend=Backend.ARRAYS)).all(), name


def test_what_does_not_fit_is_refused():
    with pytest.raises(DesignError, match="L = 1 is odd"):
        FP8.change(L=1)
    with pytest.raises(DesignError, match="pair_bits = 4 does not hold"):
        FP8.change(pair_bits=4)


def test_a_picture_says_what_ones_and_the_register_do():
    lines = "\n".join(draw(explain([CHAIN], Operands((ONE, 0, 0, 0), (ONE, 0, 0, 0), HALF_ULP)), 80))
    assert "zeros whose significand keeps its implicit one: p1, p2, p3" in lines
    assert "sticky: bits were cut off" in lines
    wrapped = "\n".join(draw(explain([CHAIN], Operands((NEARLY_TWO,) * 4, (NEARLY_TWO,) * 4, 0x3F800000)), 80))
    assert "the register of 29 bits wrapped" in wrapped


def test_the_show_of_a_register_that_may_wrap():
    for design in ROWS:
        widths = sum_widths(design)
        assert widths.register == design.step.register
        if design.a_format.bits <= 16:
            assert widths.sufficient_carry_bits == widths.carry_bits + 1 or design.a_format.bits == 8
    wrapping = Operands((NEARLY_TWO,) * 4, (NEARLY_TWO,) * 4, 0x3F800000)
    assert evaluate(CHAIN.change(carry_bits=3), wrapping) == 0x4187E002
