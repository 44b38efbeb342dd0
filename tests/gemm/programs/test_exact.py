"""Exact values over the algebra against fractions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.algorithms import power, value
from support.fp32_operands import FINITE, numbers, random_operands

from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import (
    Number,
    Span,
    dot_product_span,
    exact_dot_product,
    exact_product,
    exact_value,
)
from mmaproof.gemm.programs.evaluate import as_number
from mmaproof.smt.algebra.integers import IntegerAlgebra

INTEGERS = IntegerAlgebra()
PATTERNS = st.integers(0, (1 << 32) - 1)


def number(pattern: int, fmt: str = "fp32") -> Number[int]:
    return Number(FORMATS[fmt], INTEGERS.unsigned(pattern, FORMATS[fmt].bits), Span.of_format(FORMATS[fmt]))


def is_finite(pattern: int) -> bool:
    return pattern & 0x7F800000 != 0x7F800000


@pytest.mark.parametrize("fmt", ["e4m3", "e4m3fnuz", "e5m2", "e2m1"])
def test_every_number_of_a_narrow_format_has_its_value(fmt):
    span = Span.of_format(FORMATS[fmt])
    for pattern in range(1 << FORMATS[fmt].bits):
        word, finite = exact_value(INTEGERS, number(pattern, fmt), span)
        if finite.data:
            assert word.data * power(span.least) == value(pattern, fmt)
            assert abs(value(pattern, fmt)) <= power(span.most)
        else:
            assert word.data == 0


@pytest.mark.middle
@given(PATTERNS, PATTERNS, PATTERNS)
def test_values_products_and_sums_are_exact(x, y, z):
    numbers = [number(p if is_finite(p) else 0x80000000) for p in (x, y, z)]
    values = [value(n.word.data, "fp32") for n in numbers]
    span = dot_product_span(numbers[:1], numbers[1:2], numbers[2])
    unit = power(span.least)
    assert exact_value(INTEGERS, numbers[0], span)[0].data * unit == values[0]
    assert exact_product(INTEGERS, *numbers[:2], span).data * unit == values[0] * values[1]
    total = exact_dot_product(INTEGERS, numbers[:1], numbers[1:2], numbers[2], span)
    assert total.data * unit == values[0] * values[1] + values[2]


@pytest.mark.parametrize("pattern", [0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001])
def test_what_is_not_finite_is_said_so_and_counts_as_zero(pattern):
    word, finite = exact_value(INTEGERS, number(pattern), Span(-10, 10))
    assert (word.data, finite.data) == (0, False)


@pytest.mark.parametrize("kind", FINITE)
def test_sums_of_products_are_exact(kind):
    for k in (1, 2, 7):
        operands = random_operands(kind, k, k)
        a, b, (c,) = ([number(x) for x in xs] for xs in (operands.a, operands.b, (operands.c,)))
        span = dot_product_span(a, b, c)
        exact = exact_dot_product(INTEGERS, a, b, c, span)
        products = [value(x, "fp32") * value(y, "fp32") for x, y in zip(operands.a, operands.b, strict=True)]
        assert exact.data * power(span.least) == sum(products, value(operands.c, "fp32"))


@pytest.mark.parametrize("pattern", [0, 0x80000000, 1, 0x80000020, 0x1FF])
def test_subnormals_below_every_exponent_of_the_format_are_exact(pattern):
    """They read the exponent e_min, which lies above a span that says how small they are."""
    x = Number(OPERANDS, INTEGERS.unsigned(pattern, 32), Span(-149, -140))
    one = as_number(OPERANDS, INTEGERS.unsigned(0x3F800000, 32))
    assert exact_value(INTEGERS, x, x.span)[0].data * power(-149) == value(pattern, "fp32")
    for y, factor in ((x, value(pattern, "fp32")), (one, Fraction(1))):
        span = x.span.times(y.span)
        assert exact_product(INTEGERS, x, y, span).data * power(span.least) == value(pattern, "fp32") * factor


def test_a_span_of_a_few_exponents_makes_narrow_words():
    import numpy as np

    patterns = numbers(np.random.default_rng(0), -3, 3, (20,)).tolist()
    span = Span(-26, 4)
    for pattern in patterns:
        x = Number(OPERANDS, INTEGERS.unsigned(pattern, 32), span)
        word, _ = exact_value(INTEGERS, x, span)
        assert word.data * power(span.least) == value(pattern, "fp32")
        assert word.width <= 33
