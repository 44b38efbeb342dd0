"""Formats against ml_dtypes and NumPy, pattern by pattern."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, find_format
from mmaproof.designs.operands import pattern_dtype
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.verification.distributions import from_float64

ALGEBRA = IntegerAlgebra()
NARROW = [f for f in FORMATS.values() if f.bits <= 16 and f.ml_dtypes_name is not None]


def value(fmt, pattern):
    if fmt.is_integer:
        return pattern - (pattern >> fmt.sign_position << fmt.bits if fmt.signed else 0)
    u = unpack(ALGEBRA, fmt, ALGEBRA.unsigned(pattern, fmt.bits))
    if u.nan.data:
        return math.nan
    if u.infinite.data:
        return -math.inf if u.negative.data else math.inf
    magnitude = math.ldexp(u.significand.data, u.exponent.data - u.fraction_bits)
    return -magnitude if u.negative.data else magnitude


@pytest.mark.few(2)
@pytest.mark.parametrize("fmt", NARROW, ids=lambda f: f.name)
def test_every_pattern_means_what_ml_dtypes_says(fmt):
    patterns = np.arange(1 << fmt.bits, dtype=pattern_dtype(fmt))
    if fmt.ignored_sign:
        patterns &= (1 << fmt.sign_position) - 1
    dtype = np.dtype(getattr(ml_dtypes, fmt.ml_dtypes_name, fmt.ml_dtypes_name))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        expected = patterns.view(dtype).astype(np.float64)
    for pattern, wanted in zip(patterns.tolist(), expected.tolist(), strict=True):
        got = value(fmt, pattern)
        assert (math.isnan(got) and math.isnan(wanted)) or (
            got == wanted and math.copysign(1, got) == math.copysign(1, wanted)
        ), hex(pattern)


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "ieee"), [("e8m7", "bf16"), ("e5m10", "fp16"), ("e8m10", "tf32")])
def test_formats_without_infinities_differ_in_the_largest_exponent_only(name, ieee):
    fmt, like = find_format(name), find_format(ieee)
    low = fmt.fraction_bits + fmt.ignored_bits
    for pattern in range(0, 1 << fmt.bits, 41 << fmt.ignored_bits):
        field = pattern >> low & (1 << fmt.exponent_bits) - 1
        if field != (1 << fmt.exponent_bits) - 1:
            assert value(fmt, pattern) == value(like, pattern)
        else:
            assert value(fmt, pattern) == 2 * value(fmt, pattern - (1 << low))
    assert (fmt.infinity, fmt.quiet_nan, fmt.e_max) == (None, None, like.e_max + 1)


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


def exact_values(fmt):
    """Every pattern of a narrow format that is a number, and its value."""
    for pattern in range(1 << fmt.bits):
        number = value(fmt, pattern)
        if math.isfinite(number):
            yield pattern, number


@pytest.mark.middle
@pytest.mark.parametrize(
    "fmt", [pytest.param(f, id=f.name, marks=pytest.mark.middle if f.name == "bf16" else ()) for f in NARROW]
)
def test_every_number_is_encoded(fmt):
    for pattern, number in exact_values(fmt):
        canonical = pattern & 0x7F if fmt.ignored_sign else pattern
        assert fmt.encode(number) == canonical, number
        if number:  # only a float knows a negative zero
            assert fmt.encode(Fraction(number)) == canonical, number


@pytest.mark.parametrize("fmt", [f for f in NARROW if f.bits <= 8], ids=lambda f: f.name)
def test_numbers_between_two_are_refused_with_both(fmt):
    positive = {Fraction(x) for _, x in exact_values(fmt) if x >= 0}
    numbers = sorted((fmt.encode(x), x) for x in positive)
    for (pattern, below), (next_pattern, above) in pairwise(numbers):
        for x in ((below + above) / 2, above - (above - below) / 1000):
            with pytest.raises(InputError) as caught:
                fmt.encode(x)
            neighbours = str(caught.value).partition("its neighbours are ")[2].split(" and ")
            spelled = [x.split(" = ") for x in neighbours]
            assert [(x, float(y)) for x, y in spelled] == [(fmt.hex(pattern), below), (fmt.hex(next_pattern), above)]
    largest = fmt.hex(fmt.max_finite)
    with pytest.raises(InputError, match=rf"in {fmt.name}: its largest number is {largest} = "):
        fmt.encode(2 * numbers[-1][1])


@pytest.mark.parametrize("name", ["fp64", "fp32", "tf32", "int32"])
def test_wide_formats_encode(name):
    fmt = find_format(name)
    numbers = [0, 1, -1, 1.5 if not fmt.is_integer else 3, -(2**20), 1000]
    numbers += [] if fmt.is_integer else [-0.0, 2.0**-126, 2.0**-133, -(2.0**127), math.inf, -math.inf]
    dtype = {"fp64": ">f8", "int32": ">i4"}.get(name, ">f4")
    for number in numbers:
        assert fmt.encode(number) == int(np.array(number, dtype).tobytes().hex(), 16), number


def test_special_values_are_encoded():
    e4m3, e5m2, fp16, fnuz, e8m0 = (find_format(x) for x in ("e4m3", "e5m2", "fp16", "e4m3fnuz", "e8m0"))
    assert (e5m2.encode(math.inf), e5m2.encode(-math.inf), fp16.encode(-math.inf)) == (0x7C, 0xFC, 0xFC00)
    assert [f.encode(math.nan) for f in (e4m3, e5m2, fp16, fnuz, e8m0)] == [0x7F, 0x7E, 0x7E00, 0x80, 0xFF]
    assert (fp16.encode(-0.0), fp16.encode(0.0), fp16.encode(0), fp16.encode(-5e-324 * 0)) == (0x8000, 0, 0, 0x8000)
    assert e8m0.encode(Fraction(1, 2**127)) == 0
    assert find_format("int8").encode(-128) == 0x80


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("name", "number", "problem"),
    [
        ("e4m3", math.inf, r"e4m3 has no infinity: 0x7e is its largest number and 0x7f is NaN.* e5m2, "),
        ("e2m1", -math.inf, r"e2m1 has no infinity: 0x7 is its largest number; formats with infinities are fp64,"),
        ("e2m1", math.nan, r"e2m1 has no NaN"),
        ("int8", math.nan, r"int8 has no NaN"),
        ("e4m3fnuz", -0.0, r"no negative zero"),
        ("int8", -0.0, r"no negative zero"),
        ("ue4m3", -0.0, r"no negative zero"),
        ("ue4m3", -1, r"-1 is not representable in ue4m3: it has no negative numbers"),
        ("uint8", -1, r"no negative numbers"),
        ("e8m0", 0, r"0 is not representable in e8m0: its smallest number is 0x00 = 2\*\*-127"),
        ("e8m0", Fraction(1, 2**128), r"smallest number"),
        ("e8m0", 3, r"its neighbours are 0x80 = 2 and 0x81 = 4$"),
        (
            "fp16",
            0.1,
            r"^0.1 is not .* in fp16: its neighbours are 0x2e66 = 0.0999755859375 and 0x2e67 = 0.10003662109375$",
        ),
        ("fp16", -0.1, r"-0.1 .* 0xae66 = -0.0999755859375 and 0xae67 = -0.10003662109375$"),
        ("fp16", -70000, r"-70000 .*: its least number is 0xfbff = -65504$"),
        ("fp16", 2.0**-30, r"0x0000 = 0 and 0x0001 = 5.960464477539063e-08$"),
        ("e4m3fnuz", -(2.0**-30), r"0x00 = 0 and 0x81 = -"),
        ("int8", 128, r"largest number is 0x7f = 127$"),
        ("int8", -129, r"least number is 0x80 = -128$"),
        ("int8", -1.5, r"0xff = -1 and 0xfe = -2$"),
        ("tf32", 1 + 2.0**-11, r"0x3f800000 = 1 and 0x3f802000 = 1.0009765625$"),
    ],
)
def test_what_a_format_does_not_have(name, number, problem):
    with pytest.raises(InputError, match=problem):
        find_format(name).encode(number)


def test_huge_numbers_are_named_in_short():
    fp32 = find_format("fp32")
    with pytest.raises(
        InputError,
        match=r"^2\*\*16609 \(about\) is not representable in fp32: .* 0x7f7fffff = 3.4028234663852886e\+38$",
    ):
        fp32.encode(10**5000)
    with pytest.raises(
        InputError, match=r"^-2\*\*-16610 \(about\) is not .* 0x80000000 = -0 and 0x80000001 = -1.401298464324817e-45$"
    ):
        fp32.encode(Fraction(-1, 10**5000))


def test_e1m6_has_the_numbers_of_a_byte_with_six_bits_below_the_point_and_not_minus_two():
    fmt = find_format("e1m6")
    found = sorted(value(fmt, pattern) for pattern in range(256))
    assert found == sorted([*(x / 64 for x in range(-127, 128)), -0.0])
    assert fmt.largest == Fraction(127, 64)
    with pytest.raises(InputError, match="its least number is 0xff = -1.984375"):
        fmt.encode(-2)


WITH_A_BIAS = [f for f in FORMATS.values() if f.chosen_bias is not None and f.name.startswith("e4m3")]


@pytest.mark.parametrize("fmt", WITH_A_BIAS, ids=lambda f: f.name)
def test_a_chosen_bias_scales_every_number(fmt):
    plain = find_format({"": "e4m3b7", "f": "e4m3f", "fn": "e4m3"}[fmt.name.lstrip("em0123456789b")])
    for pattern in range(256):
        expected = value(plain, pattern)
        scaled = expected if math.isnan(expected) else math.ldexp(expected, plain.bias - fmt.bias)
        assert value(fmt, pattern) == scaled or (math.isnan(scaled) and fmt.is_nan(pattern)), hex(pattern)
    assert fmt.encode(0.75) == (fmt.bias - 1) << 3 | 4


def test_numbers_with_a_chosen_bias_are_drawn_as_of_the_format():
    fmt, numbers = find_format("e4m3b11"), [1, -0.3125, 2.0**-13]
    assert [value(fmt, x) for x in from_float64(fmt, np.array(numbers)).tolist()] == numbers


def test_one_is_the_largest_power_of_two_where_there_is_no_one():
    for fmt in FORMATS.values():
        if fmt.name in ("e4m3b15", "e4m3b15f", "e4m3b15fn"):
            assert fmt.hex(fmt.one) == ("0x70" if fmt.name == "e4m3b15" else "0x78")
        else:
            assert fmt.one == fmt.encode(1)


@pytest.mark.parametrize("name", ["e8m13", "e6m9", "e2m2", "e11m52"])
def test_a_format_of_other_sizes_is_laid_out_as_those_of_ieee(name):
    """Its patterns mean what the exact definition says; those of e11m52 are fp64's."""
    fmt = find_format(name)
    x, y = map(int, name[1:].split("m"))
    assert (fmt.bits, fmt.bias, fmt.e_max) == (1 + x + y, (1 << (x - 1)) - 1, (1 << (x - 1)) - 1)
    assert fmt.is_nan(fmt.infinity + 1) and fmt.encode(1) == fmt.bias << y
    assert fmt.encode(Fraction(2) ** (2 - (1 << (x - 1)) - y)) == 1
    assert fmt is find_format(name) and pickle.loads(pickle.dumps(fmt)) is fmt


@pytest.mark.parametrize("name", ["e1m3", "e12m3", "e8m53", "e08m13", "e8m", "e8m0x"])
def test_other_sizes_are_no_format(name):
    with pytest.raises(InputError, match="eXmY"):
        find_format(name)


def test_a_listed_name_means_what_the_list_says():
    assert find_format("e4m3").infinity is None and find_format("e8m7").infinity is None


@pytest.mark.parametrize("name", ["e8m13", "e6m9", "e9m30"])
def test_numbers_are_drawn_of_a_format_of_other_sizes(name):
    fmt = find_format(name)
    rng = np.random.default_rng(2)
    values = np.concatenate(
        [np.ldexp(rng.standard_normal(500), rng.integers(-60, 40, 500)), [0.0, -0.0, np.inf, -np.inf, np.nan]]
    )
    for value, pattern in zip(values, from_float64(fmt, values).tolist(), strict=True):
        finite = np.isfinite(value)
        wanted = fmt.nearest(Fraction(value)) if finite and value else fmt.encode(float(value))
        assert pattern == wanted, value
