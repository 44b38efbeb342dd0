"""Operands as a person types them: each way to write a number, rounding to the nearest, and what is refused."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.numbers import pattern_of, split

FP16, FP32, E4M3, INT8 = (FORMATS[x] for x in ("fp16", "fp32", "e4m3", "int8"))


def test_elements_are_apart_by_commas_blanks_and_lines() -> None:
    assert split(" 1, 2\n3  4,\t-1 * 2^3 ,5,") == ["1", "2", "3", "4", "-1*2^3", "5"]
    assert split("  ") == []


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("-0.5", 0xB800),
        ("+.5", 0x3800),
        ("1e0", 0x3C00),
        ("3/8", 0x3600),
        ("-2^13", 0xF000),
        ("-3*2^-2", 0xBA00),
        ("0x3C00", 0x3C00),
        ("-0", 0x8000),
        ("0", 0),
        ("inf", 0x7C00),
        ("-Infinity", 0xFC00),
        ("nan", 0x7E00),
    ],
)
def test_ways_to_write_a_number_of_fp16(text: str, pattern: int) -> None:
    assert pattern_of(text, FP16) == (pattern, True)


@pytest.mark.parametrize(
    "text", ["", "x", "1,5", "0x", "0x10000", "--1", "1/0", "2^99999", "1e9999", "9" * 200, "- inf", "+-nan", "1e", "٣"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        pattern_of(text, FP16)


def test_what_a_format_lacks_is_refused() -> None:
    for text, fmt in (("inf", E4M3), ("1000", E4M3), ("1.5", INT8), ("128", INT8), ("-1", FORMATS["e8m0"])):
        with pytest.raises(InputError):
            pattern_of(text, fmt)
    assert pattern_of("-128", INT8) == (0x80, True)


ROUNDED = {
    "fp16": np.float16,
    "fp32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
}


@pytest.mark.parametrize("name", ROUNDED)
@given(st.floats(-70000, 70000, allow_subnormal=True) | st.floats(-8, 8) | st.floats(-1e-6, 1e-6))
def test_numbers_are_rounded_as_others_round_them(name: str, value: float) -> None:
    fmt, dtype = FORMATS[name], ROUNDED[name]
    if abs(value) > fmt.largest and fmt.infinity is None:
        return
    with np.errstate(all="ignore"):
        wanted = np.array([value]).astype(dtype)
    pattern = int(wanted.view(np.uint8 if wanted.itemsize == 1 else f"u{wanted.itemsize}")[0])
    found = fmt.nearest(Fraction(value))
    # a zero that was a negative number keeps its sign, and Fraction(-0.0) has none
    assert found == pattern or (not value and not found)


def test_ties_go_to_even_and_to_infinity_beyond_half_a_place() -> None:
    assert [FP16.nearest(Fraction(x)) for x in (2049, 2051)] == [0x6800, 0x6802]
    assert FP16.nearest(Fraction(65519)) == 0x7BFF
    assert FP16.nearest(Fraction(-65520)) == 0xFC00
    assert FP16.nearest(Fraction(1, 1 << 30)) == 0
    assert FP16.nearest(Fraction(-1, 1 << 30)) == 0x8000
    assert E4M3.nearest(Fraction(450)) == 0x7E
    with pytest.raises(InputError):
        E4M3.nearest(Fraction(480))


def test_tf32_has_bits_that_are_not_read() -> None:
    assert FORMATS["tf32"].nearest(1 + Fraction(3, 1 << 11)) == 0x3F804000
