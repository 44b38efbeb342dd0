"""Values that papers and reference pages state, computed from the catalogue."""

import math

import numpy as np
import pytest
from support.published import EQUATION_10, TABLE_8, kind_of_operands
from support.sampling import fp16_design

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.smt.semantics.datapath import sum_widths
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import from_float64


def pattern(fmt, value: float) -> int:
    return int(from_float64(fmt, np.array([value]))[0])


def operands_for(design, a, b, c) -> Operands:
    return Operands(
        tuple(pattern(design.a_format, x) for x in a),
        tuple(pattern(design.b_format, x) for x in b),
        pattern(design.c_format, c),
    )


def exact(fmt, value: float) -> bool:
    return fmt.e_min <= math.log2(abs(value)) <= fmt.e_max


A, B, C = EQUATION_10


def equation_10(design) -> Operands | None:
    """The operands of equation (10), with -2^23 split so that e4m3 holds it; None where c cannot be held."""
    if not exact(design.c_format, C):
        return None
    for first in (13, 12, 11, 10, 9, 8):
        if all(exact(f, 2.0**x) for f, x in ((design.a_format, first), (design.b_format, 23 - first))):
            a, b = (-(2.0**first), *A[1:]), (2.0 ** (23 - first), *B[1:])
            return operands_for(design, a, b, C)
    return None


def rows_of_table_8() -> list[Design]:
    """T-FDPA and FMA designs with operands of 8 bits or more; test_families has the other families."""
    return [
        d
        for d in load_catalogue().designs.values()
        if not d.is_assumed
        and not d.adds_c_last
        and d.family in ("t-fdpa", "fma-chain")
        and min(d.a_format.bits, d.b_format.bits) >= 8
    ]


@pytest.mark.few(14)
@pytest.mark.parametrize("design", rows_of_table_8(), ids=lambda d: d.name)
def test_equation_10_gives_table_8(design):
    operands = equation_10(design)
    if operands is None:
        # fp16 accumulators and e4m3 pairs cannot hold 2^23; the same shape, scaled down, can: see below
        assert design.c_format.name == "fp16" or "e4m3" in (design.a_format.name, design.b_format.name)
        return
    # Turing's m8n8k4 is Volta's step
    listed = "volta" if design.instruction.startswith("mma.m8n8k4.f32") else design.architecture
    expected = -0.875 if design.family == "fma-chain" else TABLE_8[listed][kind_of_operands(design)]
    assert evaluate(design, operands) == pattern(design.d_format, expected)


READINGS = [
    # open point, design, a, b, c, reading -> pattern (reference readings; inputs are exact)
    (1, "ampere/f32.bf16.bf16.f32", (2.0**-76,) * 8, (2.0**-76,) * 8, 0.0, {"zero_c=A": 0, "zero_c=B": 1}),
    (
        2,
        "ampere/f32.bf16.bf16.f32",
        (0.0, 1.0),
        (2.0**127, 2.0**-30),
        0.0,
        {"zero_product=A": 0, "zero_product=B": 0x30800000, "zero_product=natural": 0},
    ),
    # of fp16 a zero reads -14 by its encoding: c = 0 cuts 2^-48 off, and a zero times 2^15 cuts 2^-30 off
    (
        1,
        "volta/f16.f16.f16.f16",
        (2.0**-11, 2.0**-24),
        (2.0**-14, 2.0**-24),
        0.0,
        {
            "zero_c=A,zero_product=A": 1,
            "zero_c=natural,zero_product=A": 0,
            "zero_c=natural,zero_product=A,c_subnormal=B": 0,
            "zero_c=e-zero,zero_product=e-zero": 0,
        },
    ),
    (
        2,
        "ampere/f32.f16.f16.f32",
        (0.0, 2.0**-15),
        (2.0**15, 2.0**-15),
        0.0,
        {"zero_product=A": 0x30800000, "zero_product=natural": 0},
    ),
    (
        4,
        "ampere/f16.f16.f16.f16",
        (2.0**-11, 2.0**-24),
        (2.0**-14, 2.0**-24),
        0.0,
        {
            "zero_c=B,zero_product=B,floor=none": 0x0001,
            "zero_c=B,zero_product=B,floor=-20": 0x0000,
            "floor=none": 0x0000,
        },
    ),
    (
        5,
        "ampere/f16.f16.f16.f16",
        (2.0**-11, 2.0**-20),
        (2.0**-14, 2.0**-20),
        2.0**-23,
        {"c_subnormal=A": 0x0002, "c_subnormal=B": 0x0003},
    ),
    (
        6,
        "ampere/f32.bf16.bf16.f32",
        (2.0**127, 2.0**127),
        (1.0, 1.0),
        0.0,
        {"overflow=A": 0x7F800000, "overflow=B": 0x7F7FFFFF},
    ),
    (
        7,
        "ampere/m16n8k8.f32.bf16.bf16.f32",
        (-(2.0**-75),),
        (2.0**-75,),
        0.0,
        {"negative_zero=A": 0x00000000, "negative_zero=B": 0x80000000},
    ),
    (
        8,
        "ampere/f32.bf16.bf16.f32",
        (2.0**127, 2.0**127, *(0.0,) * 6, -(2.0**127), -(2.0**127)),
        (1.0, 1.0, *(0.0,) * 6, 1.0, 1.0),
        0.0,
        {"chain_infinity=A": 0x7F800000, "chain_infinity=B": 0x00000000},
    ),
    (
        14,
        "turing/f32.f16.f16.f32",
        (2.0**-12, 2.0**-12),
        (2.0**-12, 2.0**-12),
        1.0,
        {"L=8": 0x3F800001, "L=4,fraction_bits=23": 0x3F800000},
    ),
]


@pytest.mark.parametrize(
    ("point", "name", "a", "b", "c", "expected"), READINGS, ids=[f"point-{r[0]}" for r in READINGS]
)
def test_the_readings_of_each_open_point(point, name, a, b, c, expected):
    for settings, wanted in expected.items():
        design = find_design(f"{name}@{settings}")
        operands = operands_for(design, a, b, c)
        padding = (0,) * (design.k - len(operands))
        assert evaluate(design, Operands(operands.a + padding, operands.b + padding, operands.c)) == wanted, settings


def test_point_3_under_readings_1b_and_2b():
    name = "ampere/f32.bf16.bf16.f32@zero_c=B,zero_product=B"
    a, b = (15 * 2.0**-78, 2.0**-78), (17 * 2.0**-79, 2.0**-79)
    without, with_floor = (find_design(f"{name},floor={x}") for x in ("none", "-132"))
    results = {evaluate(d, operands_for(d, a, b, 0.0)) for d in (without, with_floor)}
    assert len(results) == 2


@pytest.mark.parametrize(("length", "carry_bits"), [(4, 3), (8, 4), (16, 5), (32, 6)])
def test_sufficient_carry_bits_of_fp16(length, carry_bits):
    from mmaproof.designs.readings import ProductExponent

    assert sum_widths(fp16_design(length)).sufficient_carry_bits == carry_bits
    normalised = fp16_design(length, product_exponent=ProductExponent.NORMALISED)
    assert sum_widths(normalised).sufficient_carry_bits == carry_bits


@pytest.mark.parametrize(("name", "carry_bits"), [("ada/f32.e4m3.e4m3.f32", 4), ("hopper/wgmma.f32.e5m2.e4m3", 5)])
def test_sufficient_carry_bits_of_fp8(name, carry_bits):
    assert sum_widths(find_design(name)).sufficient_carry_bits == carry_bits


def test_normalised_products_are_another_design():
    """With F = 23, T-FDPA keeps 2^-22 of this sum; aligned at the product's own exponent 1, it is cut off."""
    a, b = (1.5, 2.0**-12, 2.0**-12), (1.5, 2.0**-11, 2.0**-11)
    summed = find_design("volta/f32.f16.f16.f32")
    normalised = find_design("volta/f32.f16.f16.f32@product_exponent=normalised")
    assert evaluate(summed, operands_for(summed, (*a, 0.0), (*b, 0.0), 0.0)) == 0x40100001
    assert evaluate(normalised, operands_for(normalised, (*a, 0.0), (*b, 0.0), 0.0)) == 0x40100000


def test_fp16_output_is_rounded_once():
    design = find_design("volta/mma.m8n8k4.f16.f16.f16.f16")
    operands = operands_for(design, (1.75, 1.75, 0.5, 2.0**-5), (1.0, 1.0, 1.0, 2.0**-4), 2.0**-23)
    assert evaluate(design, operands) == pattern(design.d_format, 4.00390625)


def test_two_steps_of_eight_are_not_one_step_of_sixteen():
    a = (2.0**12, -0.5, -0.25, -0.125, 0, 0, 0, 0, -(2.0**12), *(0.0,) * 7)
    b = (2.0**11, 1.0, 1.0, 1.0, 0, 0, 0, 0, 2.0**11, *(0.0,) * 7)
    fused = find_design("hopper/m16n8k16.f32.f16.f16.f32")
    chained = find_design("hopper/m16n8k8.f32.f16.f16.f32")
    assert evaluate(fused, operands_for(fused, a, b, 0.0)) == pattern(fused.d_format, -0.75)
    assert evaluate(chained, operands_for(chained, a, b, 0.0)) == pattern(chained.d_format, -1.0)


@pytest.mark.parametrize(
    ("name", "a", "b", "c"),
    [
        ("volta/f32.f16.f16.f32", 0x7C00, 0x0000, 0),  # Inf * 0
        ("volta/f32.f16.f16.f32", 0x7E00, 0x3C00, 0),  # NaN operand
        ("volta/f32.f16.f16.f32", 0x7C00, 0x3C00, 0xFF800000),  # Inf - Inf
        ("hopper/wgmma.f32.e4m3.e4m3", 0x7F, 0x38, 0),
        ("hopper/wgmma.f32.e4m3.e4m3", 0xFF, 0x00, 0),
    ],
)
def test_nan_is_nvidias_code(name, a, b, c):
    design = find_design(name)
    rest = (0,) * (design.k - 1)
    assert evaluate(design, Operands((a, *rest), (b, *rest), c)) == 0x7FFFFFFF


def test_exact_cancellation_is_positive_zero():
    design = find_design("volta/f32.f16.f16.f32")
    assert evaluate(design, Operands((0x3C00, 0xBC00, 0x8000, 0x8000), (0x3C00,) * 4, 0x80000000)) == 0
    fma = find_design("ampere/f64.f64.f64.f64")
    assert evaluate(fma, Operands((1 << 63,) * 4, (0,) * 4, 1 << 63)) == 1 << 63
