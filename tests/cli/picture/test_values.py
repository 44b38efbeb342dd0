"""Exact values: what is written is the value, with an odd significand."""

from fractions import Fraction

import pytest
from pictures import value

from mmaproof.cli.picture.values import exact, pattern_value
from mmaproof.designs.formats import FORMATS


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
