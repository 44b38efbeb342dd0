"""Conversions of results whose overflow is stated, against ml_dtypes and the tables of OCP, ONNX and CUDA."""

import ml_dtypes
import numpy as np
import pytest
from reference.formats import decode

from mmaproof import matmul
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import OutOfRange
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import find_format
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.programs.spelling import spelled
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

UNIT = "cpu/vfmadd231ps"
INFINITY, NAN = 0x7F800000, 0x7FC00000
SPECIALS = [0, 0x80000000, INFINITY, INFINITY | 1 << 31, NAN, NAN | 1 << 31, 0x7F800001, 0x7F7FFFFF, 0xFF7FFFFF, 1]


def bits(*values: float) -> list[int]:
    with np.errstate(over="ignore"):  # beyond bf16 there is the infinity of fp32
        return np.float32(values).view(np.uint32).tolist()


def converted(out: str, patterns: np.ndarray) -> np.ndarray:
    """The conversion of numbers of fp32, as the c of a product of zeros."""
    plan = read_plan(f"{UNIT} | out={out}")
    c = np.asarray(patterns, dtype=np.uint32)[:, None]
    # the product of +0 and -0 is -0, so that a c of -0 stays what it is
    zeros, minus = np.zeros((len(c), 1), dtype=np.uint32), np.full((1, 1), 1 << 31, dtype=np.uint32)
    return plan_result(plan, zeros, minus, c)


def plan_result(plan: Plan, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    d = np.asarray(matmul(plan, a, b, c)).reshape(-1)
    return d.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[d.itemsize])


def operands(name: str, rows: int) -> np.ndarray:
    """Numbers of fp32 of every distribution, around the largest number and the ties beside it, and all specials."""
    fmt, rng = find_format(name), np.random.default_rng(0)
    unit = find_design(UNIT)
    drawn = [draw(x, unit, rows // len(DISTRIBUTIONS), 1, rng).c for x in DISTRIBUTIONS]
    most = float(fmt.largest)
    with np.errstate(over="ignore"):  # beyond bf16 there is the infinity of fp32
        around = np.float32(most * (1 + rng.uniform(-0.2, 0.2, rows)) * rng.choice([-1, 1], rows)).view(np.uint32)
    ulp = 2.0 ** (fmt.e_max - fmt.fraction_bits)
    ties = [s * (most + x * ulp) for s in (-1, 1) for x in (-0.5, -0.25, 0, 0.25, 0.499, 0.5, 0.501, 0.75, 1, 2)]
    return np.concatenate([*drawn, around, np.uint32(bits(*ties)), np.uint32(SPECIALS)]).astype(np.uint32)


@pytest.mark.parametrize(
    ("name", "beyond"),
    [
        ("float8_e4m3fn", "nan"),
        ("float8_e4m3fnuz", "nan"),
        ("float8_e5m2fnuz", "nan"),
        ("float8_e5m2", "infinity"),
        ("float8_e4m3", "infinity"),
        ("bfloat16", "infinity"),
        ("float16", "infinity"),
    ],
)
def test_conversions_that_do_not_saturate_are_those_of_ml_dtypes(name, beyond):
    patterns, fmt = operands(name, 50_000), find_format(name)
    assert len(patterns) > 100_000
    dtype = np.dtype(name) if name == "float16" else np.dtype(getattr(ml_dtypes, name))
    with np.errstate(all="ignore"):
        expected = patterns.view(np.float32).astype(dtype).view(np.uint8 if fmt.bits == 8 else np.uint16)
    found = converted(f"{name}:rne:{beyond}", patterns)
    nans = [np.array([fmt.is_nan(int(x)) for x in d]) for d in (expected, found)]
    assert nans[0].tolist() == nans[1].tolist()
    assert nans[0].any()
    assert np.flatnonzero((expected != found) & ~nans[0]).tolist() == []


@pytest.mark.few(2)
@pytest.mark.parametrize("rows", [2_000, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stated", ["saturate", "saturate/nan", "nan"])
@pytest.mark.parametrize("name", ["e4m3", "e4m3fnuz", "e5m2fnuz", "e5m2"])
def test_what_is_stated_is_all_that_differs(name, stated, rows):
    """Against fractions: of each number the nearest, or what is stated where that lies beyond the largest."""
    patterns, fmt = operands(name, rows), find_format(name)
    found, nan = converted(f"{name}:rne:{stated}", patterns), fmt.quiet_nan
    for pattern, d in zip(patterns.tolist(), found.tolist(), strict=True):
        x = decode(pattern, "fp32")
        largest = fmt.max_finite | x.sign << 7
        if x.kind == "nan":
            expected = nan
        elif x.kind == "inf":
            expected = largest if stated == "saturate" else nan
        elif x.magnitude < fmt.largest:
            expected = fmt.nearest(-x.magnitude if x.sign else x.magnitude)
            zero = not expected & 0x7F
            expected = expected | x.sign << 7 if not zero or "fnuz" not in name else expected
        else:
            half = fmt.largest + type(x.magnitude)(2) ** (fmt.e_max - fmt.fraction_bits) / 2
            # a tie goes to the even significand, which is the next one where that of the largest is odd
            odd = bool(fmt.max_finite & 1)
            inside = x.magnitude < half or (x.magnitude == half and not odd)
            expected = largest if inside or stated != "nan" else nan
        assert d == expected, (hex(pattern), hex(d), hex(expected))


# ONNX, Cast: saturate = 1 and 0, for 1000, 465, +inf and NaN; OCP and CUDA's __NV_SATFINITE are as saturate, and NaN
TABLE = [
    ("e4m3fn", "saturate", 0x7E, 0x7E, 0x7E, 0x7F),
    ("e4m3fn", "nan", 0x7F, 0x7F, 0x7F, 0x7F),
    ("e4m3fnuz", "saturate/nan", 0x7F, 0x7F, 0x80, 0x80),
    ("e4m3fnuz", "nan", 0x80, 0x80, 0x80, 0x80),
    ("e5m2", "saturate", 0x64, 0x5F, 0x7B, 0x7E),
    ("e5m2", "saturate/infinity", 0x64, 0x5F, 0x7C, 0x7E),
    ("e5m2", "infinity", 0x64, 0x5F, 0x7C, 0x7E),
    ("e5m2fnuz", "saturate/nan", 0x68, 0x63, 0x80, 0x80),
]


@pytest.mark.parametrize(("fmt", "stated", "thousand", "large", "infinite", "nan"), TABLE)
def test_the_tables_of_the_standards(fmt, stated, thousand, large, infinite, nan):
    found = converted(f"{fmt}:rne:{stated}", np.uint32([*bits(1000, 465), INFINITY, NAN]))
    assert found.tolist() == [thousand, large, infinite, nan]


def test_an_infinity_of_a_narrow_format_saturates_in_a_wide_one():
    """An fp16 infinity reads as 65536 where it is not looked at."""
    plan = read_plan("ampere/f16.f16.f16.f16 | out=fp32:rne:saturate")
    one = np.zeros((1, 16), dtype=np.uint16)
    assert plan_result(plan, one, one.T, np.uint16([[0x7C00]])).tolist() == [0x7F7FFFFF]


@pytest.mark.parametrize("stated", ["", ":rne:saturate"])
@pytest.mark.parametrize("name", ["binary16p4sf", "binary16p1sf", "binary12p3sf", "e4m3", "e4m3fnuz", "e2m1", "e3m2"])
def test_an_infinity_is_the_largest_number_of_formats_without_one_also_of_wider_ones(name, stated):
    """The pattern of an infinity of fp32 reads as 2**128, which formats with many exponents have."""
    most, sign = find_format(name).max_finite, 1 << find_format(name).bits - 1
    found = converted(f"{name}{stated}", np.uint32([INFINITY, INFINITY | 1 << 31]))
    assert found.tolist() == [most, most | sign]


@pytest.mark.parametrize("text", ["e4m3:rne:nan", "e5m2:rz:flush:saturate/infinity", "e4m3:rtn:saturate/nan", "bf16"])
def test_a_plan_is_spelled_as_it_is_read(text):
    plan = read_plan(f"{UNIT} | out={text}")
    assert spelled(plan).endswith(f"out={text}")
    assert read_plan(spelled(plan)) == plan


def test_what_a_format_lacks_is_said():
    with pytest.raises(DesignError, match="e4m3 has no infinity, and out states infinity: saturate, infinity, nan"):
        read_plan(f"{UNIT} | out=e4m3:rne:infinity")
    with pytest.raises(DesignError, match="e2m1 has no NaN"):
        read_plan(f"{UNIT} | out=e2m1:rne:saturate/nan")
    for wrong in ("nan/saturate", "clip", "saturate:saturate"):
        with pytest.raises(InputError, match="is not allowed: FORMAT"):
            read_plan(f"{UNIT} | out=e4m3:rne:{wrong}")


def test_other_names_of_formats():
    for name, meant in (("e4m3fn", "e4m3"), ("float8_e4m3fn", "e4m3"), ("float8_e4m3", "e4m3b7"), ("bfloat16", "bf16")):
        assert find_format(name).name == meant
    assert str(OutOfRange.parse("saturate/nan", find_format("fp16"))) == "saturate/nan"
    assert OutOfRange.parse("SatNone", find_format("fp16")) == OutOfRange.parse("OvfInf", find_format("fp16"))
