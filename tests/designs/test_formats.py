"""Formats against ml_dtypes and NumPy, pattern by pattern."""

import math

import ml_dtypes
import numpy as np
import pytest

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, find_format
from mmaproof.designs.operands import pattern_dtype
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics.unpack import unpack

ALGEBRA = IntegerAlgebra()
NARROW = [f for f in FORMATS.values() if f.bits <= 16]


def value(fmt, pattern):
    u = unpack(ALGEBRA, fmt, ALGEBRA.unsigned(pattern, fmt.bits))
    if u.nan.data:
        return math.nan
    if u.infinite.data:
        return -math.inf if u.negative.data else math.inf
    magnitude = math.ldexp(u.significand.data, u.exponent.data - u.fraction_bits)
    return -magnitude if u.negative.data else magnitude


@pytest.mark.parametrize("fmt", NARROW, ids=lambda f: f.name)
def test_every_pattern_means_what_ml_dtypes_says(fmt):
    patterns = np.arange(1 << fmt.bits, dtype=pattern_dtype(fmt))
    dtype = np.dtype(getattr(ml_dtypes, fmt.ml_dtypes_name, fmt.ml_dtypes_name))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        expected = patterns.view(dtype).astype(np.float64)
    for pattern, wanted in zip(patterns.tolist(), expected.tolist(), strict=True):
        got = value(fmt, pattern)
        assert (math.isnan(got) and math.isnan(wanted)) or (
            got == wanted and math.copysign(1, got) == math.copysign(1, wanted)
        ), hex(pattern)


@pytest.mark.parametrize("name", ["fp32", "fp64"])
def test_edges_and_random_patterns_of_wide_formats(name):
    fmt = find_format(name)
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, (1 << fmt.bits) - 1, 2000, dtype=pattern_dtype(fmt), endpoint=True)
    patterns[:6] = [0, 1, fmt.max_finite, fmt.infinity, fmt.quiet_nan, 1 << fmt.sign_position]
    for pattern, wanted in zip(patterns.tolist(), patterns.view(name.replace("fp", "float")).tolist(), strict=True):
        got = value(fmt, pattern)
        assert (math.isnan(got) and math.isnan(wanted)) or got == wanted


def test_tf32_ignores_its_low_13_bits():
    fmt = find_format("tf32")
    assert fmt.bits == 32
    assert fmt.hex_digits == 8
    assert value(fmt, 0x3F800000) == value(fmt, 0x3F801FFF) == 1.0
    assert value(fmt, 0x3F802000) == 1 + 2**-10
    assert value(fmt, 0x7F801FFF) == math.inf


def test_constants_of_the_formats():
    e4m3, e5m2, fp32 = (find_format(x) for x in ("e4m3", "e5m2", "fp32"))
    assert (e4m3.infinity, e4m3.quiet_nan, e4m3.max_finite, e4m3.e_max) == (None, 0x7F, 0x7E, 8)
    assert (e5m2.infinity, e5m2.max_finite, e5m2.e_max) == (0x7C, 0x7B, 15)
    assert (fp32.infinity, fp32.quiet_nan, fp32.max_finite, fp32.e_min) == (0x7F800000, 0x7FC00000, 0x7F7FFFFF, -126)


@pytest.mark.parametrize("text", ["3c00", "0x", "0x12345", "1.0", "0xg", "-0x1", "", "0x1_0"])
def test_bad_patterns_are_refused(text):
    with pytest.raises(InputError):
        find_format("fp16").parse(text)


def test_patterns_are_written_with_fixed_width():
    assert find_format("fp16").hex(find_format("fp16").parse("0x3C")) == "0x003c"
    assert find_format("e4m3").hex(7) == "0x07"


def test_an_unknown_format_lists_the_known_ones():
    with pytest.raises(InputError, match=r"fp17.*fp16"):
        find_format("fp17")
