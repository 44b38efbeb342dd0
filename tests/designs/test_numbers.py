"""Operands as a person types them: each way to write a number, rounding to the nearest, and what is refused."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmaproof.designs.element import decimal_of, digits_of, pattern_of, split
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS

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


@pytest.mark.parametrize("fmt", [x for x in FORMATS.values() if x.bits < 16], ids=str)
def test_a_decimal_is_read_as_the_number_that_it_was_written_for(fmt) -> None:
    read_what_was_written(fmt, range(1 << fmt.bits))


@pytest.mark.middle
@pytest.mark.parametrize("fmt", [x for x in FORMATS.values() if x.bits == 16], ids=str)
def test_a_decimal_of_16_bits_is_read_as_the_number_that_it_was_written_for(fmt) -> None:
    read_what_was_written(fmt, range(1 << fmt.bits))


def read_what_was_written(fmt, patterns) -> None:
    for pattern in patterns:
        text = decimal_of(pattern, fmt)
        read, exact = pattern_of(text, fmt)
        if fmt.is_nan(pattern):
            assert text == "nan" and fmt.is_nan(read)
        else:
            same = pattern if fmt.signed or fmt.is_integer else pattern & fmt.quiet_nan
            assert read == same & -1 << fmt.ignored_bits, text
            assert exact or digits_of(fmt) < 17


@given(st.integers(0, (1 << 32) - 1))
def test_a_decimal_of_fp32_is_exact_or_has_nine_digits(pattern: int) -> None:
    text = decimal_of(pattern, FP32)
    value = np.array(pattern, np.uint32).view(np.float32)[()]
    if np.isnan(value):
        assert text == "nan"
    else:
        assert np.float32(text).view(np.uint32) == pattern
        short = np.isfinite(value) and Fraction(text) != Fraction(float(value))
        assert not short or len(text.lstrip("-").partition("e")[0].replace(".", "").strip("0")) <= digits_of(FP32) == 9


def test_decimals_of_fp64_have_seventeen_digits_where_that_is_not_exact() -> None:
    fp64 = FORMATS["fp64"]
    assert decimal_of(fp64.encode(0.5), fp64) == "0.5"
    tenth = int(np.array(0.1).view(np.uint64))
    assert decimal_of(tenth, fp64) == "0.10000000000000001"
    assert pattern_of(decimal_of(tenth, fp64), fp64)[0] == tenth
    assert [decimal_of(x, FP32) for x in (0x80000000, 0xFF800000, 0x7F800000, 0xFFC00000)] == [
        "-0.0",
        "-inf",
        "inf",
        "nan",
    ]
    assert [decimal_of(x, INT8) for x in (0x80, 0xFF, 0x7F)] == ["-128", "-1", "127"]
