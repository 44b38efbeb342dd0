"""The reference against published literals, numpy, Python's exact arithmetic and recorded GPU outputs."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.published import EQUATION_10, TABLE_4, TABLE_8

from reference.exact import dot, fma_chain, wrap
from reference.formats import DIRECTIONS, FORMATS, convert, decode
from reference.patterns import DTYPES, NAN, UINTS, bits

pytestmark = pytest.mark.middle

INF = {"fp32": 0x7F800000, "fp16": 0x7C00}


def table_4(architecture: str, format: str) -> tuple[int, int, str]:
    """L_max, F and rho of a unit with fp32 outputs, by the architecture as indexes of recordings name it."""
    return TABLE_4[architecture.split(maxsplit=1)[0].lower(), format, "fp32"]


def parameters(architecture: str, format: str, output: str = "fp32") -> dict[str, Any]:
    length, fraction_bits, fp32_rho = table_4(architecture, format)
    rho = "rne-fp16" if output == "fp16" else fp32_rho
    formats = {"a_format": format, "b_format": format, "c_format": output, "d_format": output}
    return {"L": length, "fraction_bits": fraction_bits, "rho": rho, "nan_code": NAN[output], **formats}


def run(
    architecture: str,
    format: str,
    a: Sequence[float],
    b: Sequence[float],
    c: float = 0.0,
    *,
    output: str = "fp32",
    **changes: Any,
) -> int:
    """Values instead of patterns; operands that are not named are +0."""
    chosen = parameters(architecture, format, output) | changes
    padding = [0.0] * (-len(a) % chosen["L"])
    x, y = ([bits(value, format) for value in [*values, *padding]] for values in (a, b))
    return dot(x, y, bits(c, chosen["c_format"]), **chosen)


# --- decode


@pytest.mark.parametrize("format", [name for name, x in FORMATS.items() if x.width <= 16 and name in DTYPES])
def test_decode_every_pattern(format: str) -> None:
    width = FORMATS[format].width
    patterns = np.arange(1 << width, dtype=UINTS[2 if width == 16 else 1])
    with np.errstate(all="ignore"):
        values = patterns.view(DTYPES[format]).astype(np.float64).tolist()
    smallest_normal = float(ml_dtypes.finfo(DTYPES[format]).smallest_normal)
    for pattern, value in enumerate(values):
        number = decode(pattern, format)
        if math.isnan(value):
            assert number.kind == "nan"
            continue
        assert number.sign == (math.copysign(1, value) < 0)
        if math.isinf(value):
            assert number.kind == "inf"
            continue
        assert number.kind == ("finite" if value else "zero")
        assert number.magnitude == abs(Fraction(value))
        assert number.exponent == math.frexp(max(abs(value), smallest_normal))[1] - 1


@pytest.mark.parametrize("format", ["fp32", "fp64"])
def test_decode_random_patterns(format: str) -> None:
    width, source = FORMATS[format].width, random.Random(1)
    for pattern in [source.getrandbits(width) for _ in range(2000)]:
        value = float(np.array(pattern, dtype=UINTS[width // 8]).view(DTYPES[format]))
        number = decode(pattern, format)
        if math.isfinite(value):
            assert (-number.magnitude if number.sign else number.magnitude) == Fraction(value)
        else:
            assert number.kind == ("nan" if math.isnan(value) else "inf")


def test_decode_literals() -> None:
    assert decode(0x7F, "e4m3").kind == decode(0xFF, "e4m3").kind == "nan"
    assert decode(0x7E, "e4m3").magnitude == 448
    assert decode(0x7C, "e5m2").kind == "inf"
    assert decode(0x7D, "e5m2").kind == "nan"
    assert (decode(0x0001, "fp16").magnitude, decode(0x0001, "fp16").exponent) == (Fraction(1, 2**24), -14)
    assert decode(0x3F801FFF, "tf32") == decode(0x3F800000, "tf32")
    assert decode(0xFF801FFF, "tf32").kind == "inf"
    assert decode(0xFF802000, "tf32").kind == "nan"
    assert decode(0x00001FFF, "tf32").kind == "zero"
    assert decode(0x00002000, "tf32").magnitude == Fraction(1, 2**136)
    with pytest.raises(ValueError, match="does not fit"):
        decode(0x10000, "fp16")


# --- open points 1 to 8, with the inputs of the table; operands that are not named are +0

TINY_PRODUCTS = ("Ampere", "bf16", [2.0**-76] * 8, [2.0**-76] * 8)
LIFTED = ("Ampere", "bf16", [0.0, 1.0], [2.0**127, 2.0**-30])
FLOORED = ("Ampere", "bf16", [15 * 2.0**-78, 2.0**-78], [17 * 2.0**-79, 2.0**-79])


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ({"zero_c": "A"}, 0x00000000),
        ({"zero_c": "B"}, 0x00000001),  # 2^-149
        ({"zero_c": "C", "e_zero": -132}, 0x00000001),
        ({"zero_c": "C", "e_zero": -129}, 0x00000001),  # eight times 2^-152 is just kept
        ({"zero_c": "C", "e_zero": -127}, 0x00000000),
        ({"zero_c": "D"}, 0x00000000),  # e_min of fp32
    ],
)
def test_point_1_zero_c(readings: dict[str, Any], expected: int) -> None:
    assert run(*TINY_PRODUCTS, **readings) == expected


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ({"zero_product": "A"}, 0x00000000),
        ({"zero_product": "B"}, 0x30800000),  # 2^-30
        ({"zero_product": "B", "e_zero": 0}, 0x30800000),  # e_zero belongs to C
        ({"zero_product": "C", "e_zero": -132}, 0x30800000),
        ({"zero_product": "C", "e_zero": 0}, 0x00000000),
        ({"zero_product": "D"}, 0x00000000),
        ({"zero_product": "A", "product_exponent": "normalised"}, 0x00000000),
        ({"zero_product": "B", "product_exponent": "normalised"}, 0x30800000),
    ],
)
def test_point_2_zero_product(readings: dict[str, Any], expected: int) -> None:
    assert run(*LIFTED, **readings) == expected


def test_point_2_a_zero_of_any_format_reads_minus_126() -> None:
    """As an fp16 subnormal number the zero would lift e_max to 1, and 2^-30 would be lost."""
    assert run("Ampere", "fp16", [0.0, 2.0**-15], [2.0**15, 2.0**-15]) == 0x30800000
    assert run("Ampere", "fp16", [2.0**15, 2.0**-15], [-0.0, 2.0**-15]) == 0x30800000
    assert run("Ampere", "fp16", [2.0**15, 2.0**-15], [-0.0, 2.0**-15], zero_product="D") == 0
    assert run("Ampere", "fp16", [2.0**10, 2.0**-14], [-0.0, 2.0**-14], zero_product="D") == 0x31800000


def test_points_1_and_2_nothing_takes_part() -> None:
    assert run("Ampere", "fp16", [0.0], [1.0], zero_c="B", zero_product="B") == 0
    assert run("Ampere", "fp16", [-0.0] * 8, [1.0] * 8, -0.0, zero_c="B", zero_product="B", floor=-132) == 0
    assert run("Ampere", "fp16", [-0.0] * 8, [1.0] * 8, -0.0, negative_zero="B") == 0  # an exact zero is +0


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ({"zero_c": "B", "zero_product": "B"}, 0x00000001),  # 255 * 2^-157 + 2^-157
        ({"zero_c": "B", "zero_product": "B", "floor": -132}, 0x00000000),
        ({"zero_c": "B", "zero_product": "B", "floor": -133}, 0x00000001),  # 2^-157 is the lowest kept bit
        ({"zero_c": "B", "zero_product": "B", "floor": -151}, 0x00000001),  # below e_max: no effect
        ({"zero_c": "C", "zero_product": "B", "e_zero": -132}, 0x00000000),
        ({"zero_c": "B", "zero_product": "C", "e_zero": -132}, 0x00000000),
        ({"zero_c": "A", "zero_product": "B"}, 0x00000000),
    ],
)
def test_point_3_floor(readings: dict[str, Any], expected: int) -> None:
    assert run(*FLOORED, **readings) == expected


@pytest.mark.parametrize(("architecture", "floor"), [("Volta", -19), ("Ampere", -20), ("Hopper", -21)])
def test_point_4_floor(architecture: str, floor: int) -> None:
    operands = [2.0**-11, 2.0**-24], [2.0**-14, 2.0**-24]
    assert run(architecture, "fp16", *operands, output="fp16") == 0x0001
    assert run(architecture, "fp16", *operands, output="fp16", floor=floor) == 0x0000
    e_zero = floor - 1
    assert run(architecture, "fp16", *operands, output="fp16", zero_c="C", e_zero=e_zero) == 0x0000


def test_point_5_subnormal_c() -> None:
    operands = [2.0**-11, 2.0**-20], [2.0**-14, 2.0**-20], 2.0**-23
    assert run("Ampere", "fp16", *operands, output="fp16") == 0x0002
    assert run("Ampere", "fp16", *operands, output="fp16", c_subnormal="B") == 0x0003
    normal = [2.0**-11], [2.0**-14], 1.5
    assert run("Ampere", "fp16", *normal, output="fp16", c_subnormal="B") == bits(1.5, "fp16")


def test_point_6_overflow() -> None:
    operands = ("Ampere", "bf16", [2.0**127] * 2, [1.0] * 2)
    assert run(*operands) == 0x7F800000
    assert run(*operands, overflow="B") == 0x7F7FFFFF
    assert run(*operands, rho="rz-e8m13") == 0x7F800000
    assert run(*operands, rho="rz-e8m13", overflow="B") == 0x7F7FFC00
    assert run(*operands, rho="rne-fp32", overflow="B") == 0x7F7FFFFF  # it saturates: FPMR.OSM of Arm
    assert run(*operands, rho="rna-fp32", overflow="B") == 0x7F800000
    opposite = ("Ampere", "bf16", [-(2.0**127)] * 2, [1.0] * 2)
    assert run(*opposite) == 0xFF800000
    assert run(*opposite, overflow="B") == 0xFF7FFFFF
    assert run("Ampere", "fp16", [256.0], [256.0], output="fp16", overflow="B") == 0x7BFF


def test_point_7_negative_zero() -> None:
    operands = ("Ampere", "bf16", [-(2.0**-75)], [2.0**-75])
    assert run(*operands) == 0x00000000
    assert run(*operands, negative_zero="B") == 0x80000000
    # with F = 23 the product is cut to nothing before the sum, which is an exact zero
    assert run(*operands, negative_zero="B", fraction_bits=23) == 0x00000000
    halves = ("Ampere", "fp16", [-(2.0**-12)], [2.0**-14])
    assert run(*halves, output="fp16") == 0x0000
    assert run(*halves, output="fp16", negative_zero="B") == 0x8000


def test_point_8_infinity_inside_a_chain() -> None:
    up, down, idle = [2.0] + [0.0] * 7, [-2.0] + [0.0] * 7, [0.0] * 8
    large = [2.0**127] + [0.0] * 7
    b = large * 2
    assert run("Ampere", "bf16", up + down, b) == 0x7F800000
    assert run("Ampere", "bf16", up + down, b, chain_infinity="B") == 0x00000000
    assert run("Ampere", "bf16", up + idle, b, chain_infinity="B") == 0x7F800000
    # 2^128 + 2^128 is infinite again, and again 2^128 in the next step
    assert run("Ampere", "bf16", up + up + down, large * 3) == 0x7F800000
    assert run("Ampere", "bf16", up + up + down, large * 3, chain_infinity="B") == 0x00000000
    # an infinite operand or c stays infinite
    infinite = [math.inf] + [0.0] * 7
    assert run("Ampere", "bf16", infinite + down, b, chain_infinity="B") == 0x7F800000
    assert run("Ampere", "bf16", idle + down, b, math.inf, chain_infinity="B") == 0x7F800000
    # against a produced infinity an infinite operand wins, against an infinity it is NaN
    assert run("Ampere", "bf16", up + infinite, large + [-1.0] + [0.0] * 7, chain_infinity="B") == 0xFF800000
    assert run("Ampere", "bf16", up + infinite, large + [-1.0] + [0.0] * 7) == 0x7FFFFFFF
    # at e_max = 128 the lowest kept bit is 2^104
    tail = large + [1.0] + [0.0] * 7
    for last, expected in ((-(2.0**104), 0x7F7FFFFF), (-(2.0**103), 0x7F800000)):
        assert run("Ampere", "bf16", up + [last] + [0.0] * 7, tail, chain_infinity="B") == expected
    # with 6B no infinity is produced: (2 - 2^-23) * 2^127 - 2^128
    assert run("Ampere", "bf16", up + down, b, overflow="B") == bits(-(2.0**104), "fp32")
    # fp16: 2^16 - 2^15
    a, b = [256.0] + [0.0] * 7 + [-128.0] + [0.0] * 7, [256.0] * 16
    assert run("Ampere", "fp16", a, b, output="fp16") == 0x7C00
    assert run("Ampere", "fp16", a, b, output="fp16", chain_infinity="B") == bits(2.0**15, "fp16")


def test_point_14_turing() -> None:
    operands = [2.0**-12] * 2, [2.0**-12] * 2, 1.0
    assert run("Turing", "fp16", *operands) == 0x3F800001
    assert run("Volta", "fp16", *operands) == 0x3F800000


# --- published results


@pytest.mark.parametrize(
    ("architecture", "format"),
    [
        (architecture, "e5m2" if kind == "fp8" else kind)
        for architecture in ("volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx-blackwell")
        for kind in TABLE_8[architecture]
    ],
)
def test_equation_10(architecture: str, format: str) -> None:
    """Xie et al., equation (10) and table 8."""
    a, b, c = EQUATION_10
    expected = bits(TABLE_8[architecture]["fp8" if format == "e5m2" else format], "fp32")
    rho = "rz-fp32" if format == "e5m2" else parameters(architecture, format)["rho"]
    assert run(architecture, format, a, b, c, rho=rho) == expected
    assert run(architecture, format, a, b, c) == expected
    assert run(architecture, format, a, b, c, floor=-132) == expected  # a floor below e_max does nothing


def test_c_format_of_later_steps() -> None:
    a, b = [1.0] * 16, [0.25] * 16
    assert run("Ampere", "fp16", a, b, 0.5, c_format="fp16") == bits(4.5, "fp32")
    assert run("Ampere", "fp16", a, b, 0.5, output="fp16", c_format="fp32") == bits(4.5, "fp16")


def test_equation_10_fma() -> None:
    a, b, c = EQUATION_10
    for format in ("fp32", "fp64"):
        x, y = ([bits(value, format) for value in values] for values in (a, b))
        assert fma_chain(x, y, bits(c, format), format, NAN[format]) == bits(-0.875, format)


def test_two_steps_of_8_are_not_one_of_16() -> None:
    a = [2.0**12, -0.5, -0.25, -0.125, 0.0, 0.0, 0.0, 0.0, -(2.0**12)]
    b = [2.0**11, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0**11]
    assert run("Hopper", "fp16", a, b, L=8) == bits(-1.0, "fp32")
    assert run("Hopper", "fp16", a, b) == bits(-0.75, "fp32")


def test_non_monotonicity() -> None:
    """Fasi et al.: a larger c gives a smaller sum."""
    for architecture, count, addend in (("Volta", 4, 2.0**-24), ("Ampere", 8, 2.0**-25)):
        operands = [addend * 2.0**12] * count, [2.0**-12] * count
        assert run(architecture, "fp16", *operands, 1 - 2.0**-24) == bits(1 + 2.0**-23, "fp32")
        assert run(architecture, "fp16", *operands, 1.0) == bits(1.0, "fp32")


def test_product_exponent() -> None:
    a, b = [1.5, 2.0**-12, 2.0**-12, 0.0], [1.5, 2.0**-11, 2.0**-11, 0.0]
    assert run("Volta", "fp16", a, b, product_exponent="normalised") == 0x40100000
    assert run("Volta", "fp16", a, b) == 0x40100001


def test_single_rounding_of_fp16_output() -> None:
    a, b, c = [1.75, 1.75, 0.5, 2.0**-5], [1.0, 1.0, 1.0, 2.0**-4], 2.0**-23
    assert run("Volta", "fp16", a, b, c, output="fp16") == 0x4401 == bits(4.00390625, "fp16")
    assert run("Volta", "fp16", a, b, c, output="fp16", c_format="fp32") == 0x4401


@pytest.mark.parametrize(
    ("format", "products", "sufficient"),
    [
        ("fp16", 4, 3),
        ("fp16", 8, 4),
        ("fp16", 16, 5),
        ("fp16", 32, 6),
        ("e4m3", 16, 4),
        ("e4m3", 32, 5),
        ("e5m2", 16, 4),
        ("e5m2", 32, 5),
    ],
)
def test_carry_bits(format: str, products: int, sufficient: int) -> None:
    """The least number of carry bits, above the two of an un-normalised product, that never wraps."""
    fraction_bits = FORMATS[format].fraction_bits
    largest, c = 2 - 2.0**-fraction_bits, 2 - 2.0**-23
    for sign in (1, -1):
        operands = ("Hopper", format, [sign * largest] * products, [largest] * products, sign * c)
        exact = run(*operands, L=products, rho="rz-fp32")
        assert run(*operands, L=products, rho="rz-fp32", carry_bits=sufficient) == exact
        wrapped = run(*operands, L=products, rho="rz-fp32", carry_bits=sufficient - 1)
        assert wrapped != exact
        assert wrapped >> 31 != exact >> 31  # one bit fewer: the sum lands on the other side of zero


def test_carry_bits_of_normalised_products() -> None:
    """p0 = p1 = 1 and c = 0 sum to 2, F = 23: one integer bit wraps, one carry bit more holds it."""
    operands = ("Volta", "fp16", [1.0, 1.0], [1.0, 1.0])
    assert run(*operands, product_exponent="normalised", carry_bits=0) == bits(-2.0, "fp32")
    assert run(*operands, product_exponent="normalised", carry_bits=1) == bits(2.0, "fp32")
    assert run(*operands, carry_bits=0) == bits(2.0, "fp32")


def test_wrap() -> None:
    assert [wrap(n, 3) for n in range(-5, 6)] == [3, -4, -3, -2, -1, 0, 1, 2, 3, -4, -3]


@pytest.mark.parametrize(
    ("alignment", "c", "product", "expected"),
    [
        ("truncate", 1.0, 2.0**-24, 0x3F800000),
        ("floor", 1.0, 2.0**-24, 0x3F800000),
        ("jam", 1.0, 2.0**-24, 0x3F800001),
        ("truncate", 1.0, -(2.0**-24), 0x3F800000),
        ("floor", 1.0, -(2.0**-24), 0x3F7FFFFE),  # 1 - 2^-23
        ("jam", 1.0, -(2.0**-24), 0x3F7FFFFE),
        ("floor", 1.0, -3 * 2.0**-24, 0x3F7FFFFC),  # 1 - 2 * 2^-23
        ("jam", 1.0, -3 * 2.0**-24, 0x3F7FFFFE),  # the lowest kept bit is set already
        ("jam", 1.0, 5 * 2.0**-24, 0x3F800003),
        ("jam", 1.0, 2.0**-22, 0x3F800002),  # nothing lost
        ("floor", 1.0, -(2.0**-22), 0x3F7FFFFC),
        ("nearest", 1.0, 2.0**-24, 0x3F800000),  # a tie: 0 is even
        ("nearest", 1.0, 3 * 2.0**-24, 0x3F800002),  # a tie: 2 is even
        ("nearest", 1.0, 3 * 2.0**-25, 0x3F800001),
        ("nearest", 1.0, 2.0**-25, 0x3F800000),
        ("nearest", 1.0, -(2.0**-24), 0x3F800000),
        ("nearest", 1.0, -3 * 2.0**-24, 0x3F7FFFFC),  # 1 - 2 * 2^-23
        ("nearest", 1.0, -3 * 2.0**-25, 0x3F7FFFFE),
        ("nearest", 1.0, -5 * 2.0**-24, 0x3F7FFFFC),
    ],
)
def test_alignment(alignment: str, c: float, product: float, expected: int) -> None:
    assert run("Volta", "fp16", [product * 2**12], [2.0**-12], c, alignment=alignment) == expected


@pytest.mark.parametrize(
    ("subnormals", "of_a", "of_b", "of_c", "result"),
    [
        ("kept", 0x30800000, 0x30800000, 0x00000300, 0x80000200),
        ("flushed", 0, 0, 0, 0x80000000),
        ("operands", 0, 0, 0x00000300, 0x80000200),
        ("operands-of-a", 0, 0x30800000, 0x00000300, 0x80000200),
        ("accumulator", 0x30800000, 0x30800000, 0x00000200, 0x80000200),
        ("results", 0x30800000, 0x30800000, 0, 0x80000000),
    ],
)
def test_flushing(subnormals: str, of_a: int, of_b: int, of_c: int, result: int) -> None:
    """2^-130 * 2^100 either way; a c of 2^-141 and then 2^-140; -2^-140 as the sum of a step."""

    def flushed(a: Sequence[float], b: Sequence[float], c: float) -> int:
        return run("Ampere", "bf16", a, b, c, subnormals=subnormals, zero_c="B", zero_product="B")

    assert flushed([2.0**-130], [2.0**100], 0.0) == of_a
    assert flushed([2.0**100], [2.0**-130], 0.0) == of_b
    assert flushed([0.0] * 8 + [2.0**-70], [1.0] * 8 + [2.0**-70], 2.0**-141) == of_c
    assert flushed([2.0**-70], [-(2.0**-70)], 0.0) == result


# --- special values (Xie et al., section 4.2)


@pytest.mark.parametrize(("output", "sign_bit"), [("fp32", 31), ("fp16", 15)])
def test_special_values(output: str, sign_bit: int) -> None:
    def result(a: Sequence[float], b: Sequence[float], c: float = 0.0) -> int:
        return run("Ampere", "fp16", a, b, c, output=output)

    inf, nan, infinity = math.inf, math.nan, INF[output]
    assert result([nan], [1.0]) == NAN[output]
    assert result([inf, 1.0], [1.0, nan]) == NAN[output]
    assert result([1.0], [1.0], nan) == NAN[output]
    assert result([inf], [0.0]) == NAN[output]
    assert result([-0.0], [inf]) == NAN[output]
    assert result([inf, inf], [1.0, -1.0]) == NAN[output]
    assert result([inf], [1.0], -inf) == NAN[output]
    assert result([inf], [-1.0], -inf) == infinity | 1 << sign_bit
    assert result([-inf], [-inf], inf) == infinity
    assert result([1.0], [1.0], -inf) == infinity | 1 << sign_bit
    assert result([nan] + [0.0] * 8, [1.0] * 9) == NAN[output]  # through the chain


def test_refused_calls() -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"zero_c": "a"}, "zero_c"),
        ({"zero_c": "C"}, "e_zero"),
        ({"rho": "rne-fp16"}, "store"),
        ({"nan_code": 0x7FFF}, "NaN"),
        ({"subnormals": "flush"}, "subnormals"),
    ]
    for changes, message in refused:
        with pytest.raises(ValueError, match=message):
            run("Ampere", "fp16", [1.0], [1.0], **changes)
    for a, b in ([[0] * 7, [0] * 7], [[0] * 8, [0] * 16], [[], []]):
        with pytest.raises(ValueError, match="steps of 8"):
            dot(a, b, 0, **parameters("Ampere", "fp16"))


# --- Fractions written out once more


def algorithm_7(a: list[float], b: list[float], c: float, fraction_bits: int) -> float:
    """Xie et al., algorithm 7 with RZ-FP32, for fp16 operands and a non-zero normal c, in Fractions."""

    def exponent(x: float, e_min: int) -> int:
        return e_min if abs(x) < 2.0**e_min else math.frexp(x)[1] - 1

    pairs = list(zip(a, b, strict=True))
    terms = [Fraction(x) * Fraction(y) for x, y in pairs] + [Fraction(c)]
    e_max = max([exponent(x, -14) + exponent(y, -14) for x, y in pairs] + [exponent(c, -126)])
    unit = Fraction(2) ** (e_max - fraction_bits)
    total = sum(int(term / unit) for term in terms) * unit  # int() truncates
    if total == 0:
        return 0.0
    ulp = Fraction(2) ** (math.frexp(float(total))[1] - 24)  # 53 bits hold the sum of 25-bit terms
    return float(int(total / ulp) * ulp)


@pytest.mark.parametrize("architecture", ["Volta", "Ampere", "Hopper"])
def test_against_algorithm_7_in_fractions(architecture: str) -> None:
    source = random.Random(7)
    length, fraction_bits, _ = table_4(architecture, "fp16")

    def operand() -> float:
        while True:
            number = decode(source.getrandbits(16), "fp16")
            if number.kind == "finite":
                return float(-number.magnitude if number.sign else number.magnitude)

    for _ in range(300):
        a, b = ([operand() for _ in range(length)] for _ in range(2))
        c = float(np.float32(source.choice([-1, 1]) * (1 + source.random()) * 2.0 ** source.randint(-40, 30)))
        expected = algorithm_7(a, b, c, fraction_bits)
        assert run(architecture, "fp16", a, b, c) == bits(expected, "fp32")


# --- conversions and FMA against arithmetic that rounds correctly


def nearest_even(value: Fraction, format: str) -> int:
    """RNE of a value, not zero and no overflow: the nearest of three neighbours, the even one on a tie."""
    dtype, uint = DTYPES[format], UINTS[FORMATS[format].width // 8]
    guess = np.array(float(value), dtype=dtype)
    neighbours = [guess, np.nextafter(guess, dtype(-np.inf)), np.nextafter(guess, dtype(np.inf))]
    finite = [x for x in neighbours if np.isfinite(x)]
    best = min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(uint)) & 1))
    return int(np.copysign(best, dtype(-1 if value < 0 else 1)).view(uint))


@pytest.mark.parametrize(("format", "least"), [("fp32", -175), ("fp16", -50)])
def test_rne_conversion(format: str, least: int) -> None:
    source = random.Random(3)
    for _ in range(2000):
        total = source.choice([-1, 1]) * (source.getrandbits(source.randint(1, 40)) | 1)
        scale = source.randint(least, -25)
        expected = nearest_even(Fraction(total) * Fraction(2) ** scale, format)
        assert convert(total, scale, f"rne-{format}", negative_zero="B") == expected


def directed(value: Fraction, format: str, direction: str) -> int:
    """A value, not zero and no overflow, rounded as IEEE 754-2019, clause 4.3 says: one of numpy's neighbours."""
    dtype, uint = DTYPES[format], UINTS[FORMATS[format].width // 8]
    guess = np.array(float(value), dtype=dtype)
    near = [guess, np.nextafter(guess, dtype(-np.inf)), np.nextafter(guess, dtype(np.inf))]
    below = max((x for x in near if Fraction(float(x)) <= value), key=float)
    above = min((x for x in near if Fraction(float(x)) >= value), key=float)
    if direction == "rna":
        chosen = min((below, above), key=lambda x: (abs(Fraction(float(x)) - value), -abs(float(x))))
    else:
        chosen = {"rtn": below, "rtp": above, "rz": below if value > 0 else above}[direction]
    return int(np.copysign(chosen, dtype(-1 if value < 0 else 1)).view(uint))


@pytest.mark.parametrize("direction", ["rz", "rna", "rtn", "rtp"])
@pytest.mark.parametrize(("format", "least"), [("fp32", -175), ("fp16", -50)])
def test_other_conversions(format: str, least: int, direction: str) -> None:
    source, ties = random.Random(8), 0
    for _ in range(2000):
        width = source.choice([FORMATS[format].fraction_bits + 2, source.randint(1, 40)])  # the first are often ties
        total = source.choice([-1, 1]) * (source.getrandbits(width) | 1)
        scale = source.randint(least, -25)
        value = Fraction(total) * Fraction(2) ** scale
        expected = directed(value, format, direction)
        assert convert(total, scale, f"{direction}-{format}", negative_zero="B") == expected
        ties += directed(value, format, "rna") != nearest_even(value, format)
    assert ties > 30


def test_overflow_literals() -> None:
    """IEEE 754-2019, clause 7.4, beyond (2 - 2^-23) 2^127; RZ, RNE and the rounding to odd are point 6."""
    positive = {"rz": 0x7F800000, "rne": 0x7F800000, "rna": 0x7F800000, "rtn": 0x7F7FFFFF, "rtp": 0x7F800000}
    positive["rto"] = 0x7F800000
    negative = {"rz": 0xFF800000, "rne": 0xFF800000, "rna": 0xFF800000, "rtn": 0xFF800000, "rtp": 0xFF7FFFFF}
    negative["rto"] = 0xFF800000
    for direction in DIRECTIONS:
        assert convert(1, 128, f"{direction}-fp32") == positive[direction]
        assert convert(-1, 128, f"{direction}-fp32") == negative[direction]
        saturated = 0x7F7FFFFF if direction in ("rz", "rto", "rne") else positive[direction]
        assert convert(1, 999, f"{direction}-fp32", overflow="B") == saturated
    # a quarter above the largest finite number: rounded before it is an overflow
    total = 4 * (2**24 - 1) + 1
    for direction, pattern in (("rz", 0x7F7FFFFF), ("rne", 0x7F7FFFFF), ("rna", 0x7F7FFFFF), ("rtn", 0x7F7FFFFF)):
        assert convert(total, 102, f"{direction}-fp32") == pattern
    assert convert(total, 102, "rtp-fp32") == 0x7F800000
    assert convert(-total, 102, "rtp-fp32") == 0xFF7FFFFF
    assert convert(-total, 102, "rtn-fp32") == 0xFF800000
    assert convert(total + 1, 102, "rne-fp32") == convert(total + 1, 102, "rna-fp32") == 0x7F800000  # half
    assert convert(-1, 999, "rz-e8m13", overflow="B") == 0xFF7FFC00


def test_underflow_literals() -> None:
    for sign, negative in ((0, 1), (1, -1)):
        up = "rtn" if sign else "rtp"
        for reading, zero in (("A", 0), ("B", sign << 31)):
            rounded = {x: convert(negative, -160, f"{x}-fp32", negative_zero=reading) for x in DIRECTIONS}
            assert rounded == dict.fromkeys(DIRECTIONS, zero) | {up: 1 | sign << 31, "rto": 1 | sign << 31}
    assert convert(1, -150, "rna-fp32") == 1  # half of the smallest: a tie, away from zero
    assert convert(1, -150, "rne-fp32") == 0
    # flushed: what is subnormal after it was rounded, with its sign whatever the reading of a negative zero
    assert convert(2**24 - 1, -150, "rne-fp32", flush=True) == 0x00800000
    assert convert(2**24 - 1, -150, "rz-fp32", flush=True) == 0
    assert convert(-1, -140, "rz-fp32", flush=True) == 0x80000000
    assert convert(-1, -160, "rz-fp32", flush=True) == 0
    assert convert(-1, -160, "rz-fp32", flush=True, negative_zero="B") == 0x80000000
    assert convert(-1, -160, "rtn-fp32", flush=True) == 0x80000000


def test_odd_literals() -> None:
    """FPRounding_ODD of Arm's pseudo-code: truncated, and where that is inexact, the last bit is set."""
    assert convert(2**24 + 1, -24, "rto-fp32") == 0x3F800001  # just above 1
    assert convert(2**24 + 3, -24, "rto-fp32") == 0x3F800001  # above 1 + 2^-23, whose last bit is set
    assert convert(2**23 + 2, -23, "rto-fp32") == 0x3F800002  # exact
    assert convert(-(2**24) - 1, -24, "rto-fp32") == 0xBF800001
    assert convert(2**25 - 1, -25, "rto-fp32") == 0x3F7FFFFF  # never up to the next power of two


def test_conversion_literals() -> None:
    assert convert(2**12 - 1, 4, "rne-fp16") == 0x7C00  # 65520, the overflow threshold
    assert convert(65519, 0, "rne-fp16") == 0x7BFF
    assert convert(2**54 - 1, 970, "rne-fp64") == 0x7FF0000000000000
    assert convert(2**25 - 1, 103, "rz-fp32") == 0x7F7FFFFF
    assert convert(2**25 - 1, 103, "rne-fp32") == 0x7F800000
    assert convert(2**24 - 1, -24, "rz-e8m13") == 0x3F7FFC00
    assert convert(-(2**10 + 1), -149, "rz-e8m13") == 0x80000400
    assert convert(2**10 - 1, -149, "rz-e8m13") == 0x00000000
    assert convert(2**24 - 1, -150, "rz-fp32") == 0x007FFFFF
    assert convert(2**24 - 1, -150, "rne-fp32") == 0x00800000


def test_fma_fp64_against_fractions() -> None:
    source = random.Random(5)
    for index in range(3000):
        a, b, c = (source.uniform(-2, 2) * 2.0 ** source.randint(-60, 60) for _ in range(3))
        if index % 3 == 0:  # cancellation
            c = -a * b
        elif index % 3 == 1:  # underflow
            a, c = a * 2.0**-900, c * 2.0**-1010
            b *= 2.0**-120
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        expected = float(exact) if exact >= 0 else -float(-exact)
        x, y, z = (bits(value, "fp64") for value in (a, b, c))
        assert fma_chain([x], [y], z, "fp64", NAN["fp64"]) == bits(expected, "fp64")


def test_fma_fp32_against_fractions() -> None:
    source, checked = random.Random(6), 0
    for index in range(6000):
        patterns = [source.getrandbits(32) for _ in range(3)]
        a, b, c = (float(np.array(x, dtype=np.uint32).view(np.float32)) for x in patterns)
        if index % 2 and math.isfinite(a) and math.isfinite(b) and abs(a * b) < 2.0**127:
            with np.errstate(under="ignore"):
                near = -np.float32(a * b)
            c, patterns[2] = float(near), int(near.view(np.uint32))
        if not all(map(math.isfinite, (a, b, c))):
            continue
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0 or abs(exact) >= 2**127:
            continue
        checked += 1
        x, y, z = patterns
        assert fma_chain([x], [y], z, "fp32", NAN["fp32"]) == nearest_even(exact, "fp32")
    assert checked > 3000


def test_fma_ieee_corners() -> None:
    def fma(a: float, b: float, c: float) -> int:
        return fma_chain([bits(a, "fp32")], [bits(b, "fp32")], bits(c, "fp32"), "fp32", 0x7FFFFFFF)

    zero, minus_zero, inf, nan = 0x00000000, 0x80000000, math.inf, math.nan
    assert fma(0.0, 1.0, -0.0) == zero
    assert fma(-0.0, 1.0, 0.0) == zero
    assert fma(-0.0, 1.0, -0.0) == minus_zero
    assert fma(-0.0, -1.0, -0.0) == zero
    assert fma(1.5, 1.5, -2.25) == zero
    assert fma(-1.5, 1.5, 2.25) == zero
    assert fma(-(2.0**-75), 2.0**-75, 0.0) == minus_zero  # a tie to even, its sign kept
    assert fma(2.0**-75, 2.0**-75, -0.0) == zero
    assert fma(-(2.0**-75), 1.5 * 2.0**-75, 0.0) == 0x80000001
    assert fma(2.0**127, 2.0, 0.0) == 0x7F800000
    assert fma(2.0**127, 2.0, -(2.0**103)) == 0x7F800000  # halfway to 2^128, away from the odd significand
    assert fma(2.0**127, 2.0, -(2.0**103) * (1 + 2.0**-23)) == 0x7F7FFFFF
    assert fma(inf, 0.0, 1.0) == fma(inf, 1.0, -inf) == fma(1.0, 1.0, nan) == fma(inf, 0.0, nan) == 0x7FFFFFFF
    assert fma(-inf, 2.0, 1.0) == fma(1.0, 1.0, -inf) == 0xFF800000
    # IEEE 754-2019, clause 6.3: the sign of an exact zero depends on the direction
    ones = [bits(x, "fp32") for x in (1.0, -1.0)]
    for direction in DIRECTIONS:
        down = minus_zero if direction == "rtn" else zero
        chosen = {"rho": f"{direction}-fp32"}
        assert fma_chain(ones[:1], ones[:1], ones[1], "fp32", 0x7FFFFFFF, **chosen) == down
        assert fma_chain([zero], ones[:1], minus_zero, "fp32", 0x7FFFFFFF, **chosen) == down
        assert fma_chain([zero], ones[:1], zero, "fp32", 0x7FFFFFFF, **chosen) == zero
    one, tiny = bits(1.0, "fp32"), bits(2.0**-24, "fp32")
    assert fma_chain([one, one], [tiny, tiny], one, "fp32", 0x7FFFFFFF) == one  # each addition rounds
    assert fma_chain([one, one], [one, tiny], tiny, "fp32", 0x7FFFFFFF) == one


# --- recorded GPU outputs

RECORDINGS = os.environ.get("MMAPROOF_RECORDINGS")


def recordings() -> list[Any]:
    if not RECORDINGS:
        reason = "MMAPROOF_RECORDINGS does not name the folder of recorded GPU outputs"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="unset")]
    index = json.loads((Path(RECORDINGS) / "index.json").read_text(encoding="utf-8"))
    return [pytest.param(entry, id=entry["file"].removesuffix(".npz")) for entry in index["recordings"]]


@pytest.mark.parametrize("entry", recordings())
def test_recording(entry: dict[str, Any]) -> None:
    chosen = parameters(entry["architecture"], entry["a_format"], entry["d_format"])
    chosen |= {name: entry[name] for name in ("a_format", "b_format", "c_format", "d_format")}
    padding = [0] * (-entry["k"] % chosen["L"])
    with np.load(Path(RECORDINGS or "") / entry["file"]) as data:
        rows = zip(*(data[name][:200].tolist() for name in "abcd"), strict=True)
    wrong = [row for row, (a, b, c, d) in enumerate(rows) if dot(a + padding, b + padding, c, **chosen) != d]
    assert wrong == []
