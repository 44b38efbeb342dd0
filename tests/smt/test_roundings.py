"""Every conversion rho, by itself and in designs, against the reference written from IEEE 754."""

import dataclasses
import itertools
import random

import numpy as np
import pytest
from pysmt.environment import get_env
from reference.formats import convert as reference_convert
from support.variations import VARIED, conversions_to, disagreements, varied_base, with_parameters

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.conversions import RHO, Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import find_format
from mmaproof.designs.readings import NegativeZero, Overflow, Tininess
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.trace import evaluate, trace
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

INTEGERS, ARRAYS = IntegerAlgebra(), ArrayAlgebra()
FLOAT_RHO = [name for name, rho in RHO.items() if not rho.target.is_integer]
FLUSHES = [(False, Tininess.ROUNDED), *((True, x) for x in Tininess)]
ALL_RULES = list(itertools.product(FLOAT_RHO, Overflow, NegativeZero, FLUSHES))

FRACTION_BITS, TOTAL_BITS, EXPONENT_BITS = 20, 62, 13


def rules(name: str, overflow: Overflow, negative_zero: NegativeZero, flushes: tuple[bool, Tininess]) -> Rules:
    return Rules(RHO[name], overflow, negative_zero, *flushes)


def sums(name: str, count: int) -> list[tuple[int, int]]:
    """Totals and exponents: numbers of the format, its ties, and those next to both, from underflow to overflow."""
    rho, source, found = RHO[name], random.Random(name), [(0, 0), (0, -500)]
    lowest, highest = rho.target.e_min - rho.fraction_bits - 4, rho.target.e_max + 2
    for _ in range(count):
        bits = source.randint(1, TOTAL_BITS - 2)
        precision = rho.fraction_bits + source.choice([1, 1, 2, 3])
        total = source.getrandbits(min(bits, precision)) | 1 << (min(bits, precision) - 1)
        if source.random() < 0.3:
            total |= total - 1  # all ones: rounding up carries
        total <<= bits - total.bit_length()
        total = max(total + source.choice([-1, 0, 0, 0, 1]), 1)
        ends = [(lowest, rho.target.e_min + 2), (highest - 3, highest), (lowest, highest)]
        exponent = source.randint(*source.choice(ends)) - (total.bit_length() - 1)
        found.append((source.choice([-1, 1]) * total, exponent + FRACTION_BITS))
    return found


def expected(
    name: str, overflow: Overflow, negative_zero: NegativeZero, flushes: tuple[bool, Tininess], x: tuple[int, int]
) -> int:
    total, e_max = x
    readings = {
        "flush": flushes[0],
        "tininess": flushes[1].value,
        "overflow": "A" if overflow is Overflow.INFINITY else "B",
        "negative_zero": "A" if negative_zero is NegativeZero.POSITIVE else "B",
    }
    return reference_convert(total, e_max - FRACTION_BITS, name, **readings)


@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "count"),
    [
        *((x, 500) for x in FLOAT_RHO),
        *(pytest.param(x, 1500, marks=pytest.mark.slow) for x in FLOAT_RHO),
    ],
)
def test_every_conversion_agrees_with_the_reference(name, count):
    values = sums(name, count)
    for settings in (s for s in ALL_RULES if s[0] == name):
        patterns = [expected(*settings, x) for x in values]
        infinity = RHO[name].target.infinity
        overflowed = [p & ~(1 << RHO[name].target.sign_position) == infinity for p in patterns]
        no = INTEGERS.truth(False)
        for (total, e_max), pattern, infinite in zip(values, patterns, overflowed, strict=True):
            words = INTEGERS.signed(total, TOTAL_BITS), INTEGERS.signed(e_max, EXPONENT_BITS)
            d, beyond = convert(INTEGERS, rules(*settings), *words, FRACTION_BITS, no)
            assert (d.data, d.width) == (pattern, RHO[name].target.bits), (settings, total, e_max)
            assert beyond.data is infinite
        columns = zip(*values, strict=True)
        arrays = [Word(np.array(x, dtype=np.int64), w, True, ARRAYS) for x, w in zip(columns, (62, 13), strict=True)]
        d, beyond = convert(ARRAYS, rules(*settings), *arrays, FRACTION_BITS, ARRAYS.truth(False))
        assert d.data.tolist() == patterns
        assert (np.zeros(len(values), dtype=bool) | beyond.data).tolist() == overflowed
        assert any(overflowed) or RHO[name].rounding.leaves_overflow_open


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FLOAT_RHO)
def test_every_conversion_of_constants_is_what_integers_give(name):
    algebra, terms = TermAlgebra(), get_env().formula_manager
    total, e_max = (
        algebra.twos_complement(algebra.symbol(f"{x}_{name}", w))
        for x, w in (("total", TOTAL_BITS), ("e_max", EXPONENT_BITS))
    )
    for settings in (s for s in ALL_RULES if s[0] == name):
        result, _ = convert(algebra, rules(*settings), total, e_max, FRACTION_BITS, algebra.truth(False))
        for x in sums(name, 10):
            pairs = zip((total, e_max), x, strict=True)
            constants = {w.data: terms.BV(value % (1 << w.width), w.width) for w, value in pairs}
            assert result.data.substitute(constants).simplify().constant_value() == expected(*settings, x)


def with_output(design: Design, c: str, d: str, rounding: str = "rne") -> Design:
    """The design with c and d of other formats."""
    signature, rho = dataclasses.replace(design.signature, c=find_format(c), d=find_format(d)), f"{rounding}-{d}"
    return dataclasses.replace(design, signature=signature, step=dataclasses.replace(design.step, rho=rho))


TREE = find_design("paper/tree.m1n1k4.f32.f16.f16.f32")
DESIGNS = [
    find_design("ampere/f32.bf16.bf16.f32"),
    find_design("ampere/f16.f16.f16.f16"),
    find_design("cdna1/v_mfma_f32_32x32x2f32"),
    TREE,
    with_output(TREE, "fp16", "fp16"),
    with_output(TREE, "fp32", "fp16"),
    with_output(TREE, "fp16", "fp32"),
    find_design("cdna3/v_mfma_f32_32x32x8_bf16"),
    find_design("paper/sequential.f32.f16.f16.f32"),
    find_design("hopper/mma.f16.e5m2.e4m3.f16"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("design", "rho"),
    [
        pytest.param(d, rho, marks=() if rho.startswith("rne") else pytest.mark.middle)
        for d in DESIGNS
        for rho in conversions_to(d.d_format.name)
    ],
    ids=lambda x: x if isinstance(x, str) else f"{x.family}-{x.c_format.name}-{x.d_format.name}",
)
def test_designs_with_every_conversion_agree_with_the_reference(design, rho):
    rng = np.random.default_rng(3)
    for overflow in Overflow if RHO[rho].rounding.leaves_overflow_open else [Overflow.INFINITY]:
        changed = with_parameters(design, rho=rho, overflow=overflow)
        for name in DISTRIBUTIONS:
            assert disagreements(changed, draw(name, changed, 15, changed.k, rng)) == [], name


@pytest.mark.few(4)
@pytest.mark.parametrize("family", VARIED)
def test_the_direction_is_seen_in_every_family(family):
    rng, base, found = np.random.default_rng(5), varied_base(family, 0), set()
    directions = ("rtn", "rtp")
    designs = [with_parameters(base, rho=f"{x}-{base.d_format.name}") for x in directions]
    for name in DISTRIBUTIONS:
        batch = draw(name, base, 40, base.k, rng)
        found |= set(zip(*(evaluate_batch(d, batch).tolist() for d in designs), strict=True))
    assert any(x != y for x, y in found)


BASES = [
    *(TREE, find_design("paper/sequential.f32.f16.f16.f32"), find_design("ampere/f32.bf16.bf16.f32")),
    *(
        find_design("cdna1/v_mfma_f32_32x32x2f32@fraction_bits=120"),
        find_design("cpu/tdpbf16ps"),
        find_design("cdna2/v_mfma_f32_32x32x8f16"),
    ),
    *(find_design("rtx-blackwell/f32.e4m3.e2m1.f32.ue8m0"), find_design("riscv/bulk.m1n1k8.f32.f16.f16.f32")),
    *map(find_design, ("cdna1/v_mfma_f32_32x32x8f16@fraction_bits=1200", "cdna3/v_mfma_f32_32x32x8_bf16")),
    *map(find_design, ("cdna3/v_mfma_f32_32x32x16_bf8_bf8", "rtx-blackwell/block16.f32.e2m1.e2m1.f32.ue4m3")),
    *map(find_design, ("rdna3/v_dot2_f32_bf16", "rdna4/v_dot2_f32_bf16", "hopper/mma.f32.e4m3.e4m3.f32")),
    *map(find_design, ("gaudi2/f32.bf16.bf16.f32", "gaudi3/f32.bf16.bf16.f32", "hexagon/hmx", "psp/vdot")),
    *map(find_design, ("arm/fdot.m1n1k2.f32.f16.f16.f32", "arm/fdot.m1n1k2.f16.e5m2.e5m2.f16")),
]
ARM = {"fused-pairs": ("rne", "rtp", "rtn"), "fp8-dot": ("rne",)}
"""Roundings that the control register chooses, of families whose reference is the pseudo-code of Arm."""
OUTPUTS = ("bf16", "fp16", "e5m2", "fp64", "tf32", "e4m3b7", "e4m3b15", "e4m3", "e4m3fnuz", "e5m2fn", "binary8p4se")
OF_ARM = OUTPUTS[:3]
"""The formats of Arm's pseudo-code whose sums of two products the row's bits hold."""


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("design", "fmt"),
    [(d, x) for d in BASES for x in (OF_ARM if d.family in ARM else OUTPUTS)],
    ids=lambda x: x if isinstance(x, str) else x.family,
)
def test_a_sum_is_rounded_once_to_another_format_of_c_and_d(design, fmt):
    """Of d alone, where no next step takes it for c."""
    rng = np.random.default_rng(7)
    for rounding in ARM.get(design.family, ("rne", "rz", "rtn", "rto")):
        other = with_output(design, fmt if design.hands_on else design.c_format.name, fmt, rounding)
        for name in DISTRIBUTIONS:
            assert disagreements(other, draw(name, other, 5, other.k, rng)) == [], (rounding, name)


UNCOVERED = {
    "integer": "its sums are integers",
    "rounded-pairs": "the products are exact in the pseudo-code's fp32; adder-tree has its step",
    "rvbna": "the draft's fp32, rounded to odd; bulk-normalisation has its step",
    "bf16-to-odd": "the pseudo-code's fp32, rounded to odd; fused-pairs and adder-tree have its step",
    "vortex-tfr": "the RTL's fp32",
    "aie-blocks": "its reference is in the vendor's encoding, with fp32 alone; scaled groups have its step",
    "tensix": "the documentation's fp32; sequential and fma-chain have its additions",
}


def test_every_family_has_another_format_of_d():
    assert {d.family for d in BASES} | set(UNCOVERED) == {d.family for d in load_catalogue().designs.values()}


def test_one_rounding_to_bf16_is_not_two():
    """2^-40 beside 1 + 2^-8, a tie of bf16: the fp32 multiply-add loses it, and the tie goes to even."""
    operands = Operands((0x35800000,), (0x35800000,), 0x3F808000)
    assert evaluate(find_design("paper/fma"), operands) == 0x3F81
    assert evaluate(find_design("cpu/vfmadd231ps"), operands) == 0x3F808000


# --- literals

ONE = 0x3C00
ROW = "volta/f32.f16.f16.f32"


@pytest.mark.parametrize(
    ("rho", "up", "down", "tie"),
    [
        ("rz-fp32", 0x3F800001, 0xBF800001, 0x3F800001),
        ("rne-fp32", 0x3F800002, 0xBF800001, 0x3F800002),
        ("rna-fp32", 0x3F800002, 0xBF800001, 0x3F800002),
        ("rtn-fp32", 0x3F800001, 0xBF800002, 0x3F800001),
        ("rtp-fp32", 0x3F800002, 0xBF800001, 0x3F800002),
    ],
)
def test_directions(rho, up, down, tie):
    """1 + 2^-23 and three, one and two quarters of 2^-23."""
    design = find_design(f"{ROW}@fraction_bits=40,rho={rho}")
    for c, rest, expected_d in ((1, 0.75, up), (-1, 0.25, down), (1, 0.5, tie)):
        operands = Operands(
            (design.a_format.encode(c * rest * 2.0**-11), 0, 0, 0),
            (design.b_format.encode(2.0**-12), 0, 0, 0),
            design.c_format.encode(c * (1 + 2.0**-23)),
        )
        assert evaluate(design, operands) == expected_d


def test_ties_away_from_zero_differ_from_ties_to_even():
    small = find_format("fp16").encode(2.0**-12)
    operands = Operands((small, 0, 0, 0), (small, 0, 0, 0), 0x3F800000)
    for rho, d in (("rne-fp32", 0x3F800000), ("rna-fp32", 0x3F800001)):
        assert evaluate(find_design(f"{ROW}@fraction_bits=40,rho={rho}"), operands) == d


OVERFLOWS = [
    # rho, overflow, patterns of the overflow of a positive and a negative sum
    ("rz-fp32", "infinity", 0x7F800000, 0xFF800000),
    ("rz-fp32", "largest-finite", 0x7F7FFFFF, 0xFF7FFFFF),
    ("rz-e8m13", "largest-finite", 0x7F7FFC00, 0xFF7FFC00),
    ("rne-fp32", "infinity", 0x7F800000, 0xFF800000),
    ("rne-fp32", "largest-finite", 0x7F7FFFFF, 0xFF7FFFFF),
    ("rna-fp32", "infinity", 0x7F800000, 0xFF800000),
    ("rtn-fp32", "infinity", 0x7F7FFFFF, 0xFF800000),
    ("rtp-fp32", "infinity", 0x7F800000, 0xFF7FFFFF),
]


@pytest.mark.parametrize(("rho", "overflow", "positive", "negative"), OVERFLOWS)
def test_overflow_is_that_of_ieee_754(rho, overflow, positive, negative):
    design = with_parameters(find_design("ampere/f32.bf16.bf16.f32"), rho=rho, overflow=Overflow(overflow))
    rest = (0,) * (design.k - 1)
    for sign, pattern in ((0, positive), (1, negative)):
        operands = Operands((0x7F00 | sign << 15, *rest), (0x4000, *rest), 0)
        dot = trace(design, operands)
        assert dot.d.data == pattern
        # the truth of an infinity, not of an overflow
        assert dot.steps[0].overflowed.data is (pattern & 0x7FFFFFFF == 0x7F800000)


def test_overflow_applies_where_the_conversion_truncates_or_rounds_to_nearest_even():
    for rho, conversion in RHO.items():
        step = dataclasses.replace(TREE.step, rho=rho)
        assert ("overflow" in step.settings()) is (conversion.rounding in (Rounding.RZ, Rounding.RTO, Rounding.RNE))
    with pytest.raises(DesignError, match="no effect"):
        find_design(f"{ROW}@rho=rtn-fp32,overflow=largest-finite")


def test_exact_zeros_of_ieee_sums_have_the_sign_of_the_direction():
    """IEEE 754, clause 6.3: x - x is +0, but -0 rounded towards minus infinity; +0 + +0 is +0."""
    fma, minus_one = find_design("cdna1/v_mfma_f32_32x32x2f32"), 0xBF800000
    for x in ("rz", "rne", "rna", "rtn", "rtp"):
        for design in (fma.change(rho=f"{x}-fp32"), TREE.change(rho=f"{x}-fp32")):
            ones = (design.a_format.encode(1.0),) + (0,) * (design.k - 1)
            zero = evaluate(design, Operands(ones, ones, minus_one))
            assert zero == (0x80000000 if x == "rtn" else 0), design.name
            assert evaluate(design, Operands((0,) * design.k, ones, 0)) == 0
    assert evaluate(find_design(f"{ROW}@rho=rtn-fp32"), Operands((ONE, 0, 0, 0), (ONE, 0, 0, 0), minus_one)) == 0
