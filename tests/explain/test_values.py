"""Exact values: what is written is the value, with an odd significand."""

from fractions import Fraction

import pytest
from support.pictures import value

from mmaproof.designs.formats import FORMATS
from mmaproof.explain.steps import Running
from mmaproof.explain.values import exact, listed, magnitude, names, pattern_value, top_weight
from mmaproof.smt.semantics.datapath import Addend, Group, Partial, Product


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (Fraction(0), "+0"),
        (Fraction(-12), "-3 * 2^2"),
        (Fraction(1), "+1 * 2^0"),
        (Fraction(-7, 8), "-7 * 2^-3"),
        (Fraction(5, 1 << 149), "+5 * 2^-149"),
    ],
)
def test_exact(number: Fraction, words: str) -> None:
    assert exact(number) == words
    assert value(words) == number


def test_pattern_values() -> None:
    fp16, e4m3 = FORMATS["fp16"], FORMATS["e4m3"]
    patterns = (0x0000, 0x8000, 0x0001, 0xBE00, 0x7C00, 0xFC00, 0x7E00)
    assert [pattern_value(fp16, x) for x in patterns] == [
        "+0",
        "-0",
        "+1 * 2^-24",
        "-3 * 2^-1",
        "+infinity",
        "-infinity",
        "NaN",
    ]
    assert pattern_value(e4m3, 0x7F) == "NaN"


def test_patterns_of_integers_and_scales() -> None:
    formats = (("int8", 0x80), ("uint8", 0x80), ("int4", 0xF), ("int32", 0), ("e8m0", 0x81), ("e8m0", 0xFF))
    words = [pattern_value(FORMATS[name], x) for name, x in formats]
    assert words == ["-128", "+128", "-1", "+0", "+1 * 2^2", "NaN"]
    # the sign of a scale is not read
    assert [pattern_value(FORMATS["ue4m3"], x) for x in (0x39, 0xB9, 0x00)] == ["+9 * 2^-3", "+9 * 2^-3", "+0"]


def test_magnitudes_need_no_sign() -> None:
    assert [magnitude(Fraction(x)) for x in (-12, "1/4", 1, 0)] == ["3 * 2^2", "2^-2", "2^0", "0"]


@pytest.mark.parametrize(("number", "weight"), [(1, 0), (-3, 1), (Fraction(3, 8), -2), (Fraction(-1, 4), -2), (16, 4)])
def test_top_weight(number: Fraction, weight: int) -> None:
    assert top_weight(Fraction(number)) == weight


def test_names_join_neighbouring_products_only() -> None:
    products = [Product(k) for k in range(10)]
    groups = [Group(tuple(range(k, k + 16))) for k in (0, 16, 32)]
    assert names([*products[:3], products[8], Addend.C]) == "p0..p2, p8, c"
    assert names([*products[:2], *products[4:6], Running.ACC]) == "p0, p1, p4, p5, acc"
    assert names(groups) == "p0..p15, p16..p31, p32..p47"
    assert names([Partial.EVEN, Partial.ODD, Partial.PRODUCTS]) == "even, odd, products"
    assert listed([*"abcdef"]) == "a, b, c, d, and 2 more"
