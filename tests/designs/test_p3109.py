"""Formats of IEEE P3109 against its definitions, and some rows of its own value tables."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from reference.formats import decode as decode_number
from reference.p3109 import Parameters, decode, formats, project

from mmaproof import matmul
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format, Specials, find_format, p3109
from mmaproof.designs.operands import array_of, pattern_dtype, values_of
from mmaproof.designs.signature import Signature
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.spelling import spelled
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.native import matrices
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.verification.distributions import from_float64

ALGEBRA = IntegerAlgebra()
# P3109/Public, Value Tables/Hexadecimal/K4, K8: code point, value
TABLES = {
    "binary4p2se": (
        "0",
        "0.25",
        "0.5",
        "0.75",
        "1",
        "1.5",
        "2",
        "inf",
        "nan",
        "-0.25",
        "-0.5",
        "-0.75",
        "-1",
        "-1.5",
        "-2",
        "-inf",
    ),
    "binary3p1sf": ("0", "0.5", "1", "2", "nan", "-0.5", "-1", "-2"),
    "binary3p1ue": ("0", "0.125", "0.25", "0.5", "1", "2", "inf", "nan"),
    "binary3p3uf": ("0", "0.25", "0.5", "0.75", "1", "1.25", "1.5", "nan"),
}


def number(value):
    return Fraction(value) if value not in ("nan", "inf", "-inf") else value


def ours(fmt: Format, pattern: int):
    x = unpack(ALGEBRA, fmt, ALGEBRA.unsigned(pattern, fmt.bits))
    assert x.valid(fmt).data
    if x.nan.data:
        return "nan"
    if x.infinite.data:
        return "-inf" if x.negative.data else "inf"
    value = Fraction(x.significand.data) * Fraction(2) ** (x.exponent.data - x.fraction_bits)
    return -value if x.negative.data else value


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_the_specification_s_tables(name):
    assert [ours(find_format(name), x) for x in range(len(TABLES[name]))] == [number(x) for x in TABLES[name]]


@pytest.mark.parametrize("f", formats(range(3, 9)), ids=lambda f: f.name)
@pytest.mark.few(16)
def test_every_pattern_of_every_format_up_to_8_bits(f):
    fmt = find_format(f.name)
    patterns = np.arange(1 << f.k, dtype=pattern_dtype(fmt))
    expected = [decode(f, x) for x in patterns.tolist()]
    assert [ours(fmt, x) for x in patterns.tolist()] == expected
    with np.errstate(over="ignore"):
        floats = values_of(patterns, fmt)
    for pattern, value, got in zip(patterns.tolist(), expected, floats.tolist(), strict=True):
        assert math.isnan(got) if value == "nan" else got == float(value), hex(pattern)
        assert fmt.is_nan(pattern) is (value == "nan")
        assert (pattern == fmt.infinity) is (value == "inf")
        if isinstance(value, Fraction):
            assert fmt.encode(value) == pattern
            assert fmt.largest >= value
    numbers = [x for x in expected if isinstance(x, Fraction)]
    assert fmt.largest == max(numbers)
    assert expected[fmt.max_finite] == fmt.largest
    assert np.array_equal(np.isfinite(floats), ~matrices.is_special(fmt, patterns))
    finite = patterns[np.isfinite(floats)]
    assert np.array_equal(from_float64(fmt, values_of(finite, fmt)), finite)


def test_a_format_has_one_object_and_other_spellings():
    fmt = find_format("p3109(8,4,signed,extended)")
    assert fmt is find_format("binary8p4se") is p3109(8, 4, True, True)
    assert fmt.specials is Specials.EXTENDED
    assert Signature.parse("f32.binary8p4se.binary8p3se").a is fmt
    assert array_of(np.uint8([1]), fmt).tolist() == [1]
    for patterns in range(256):
        assert decode(Parameters(8, 4, True, False), patterns) == ours(find_format("e4m3fnuz"), patterns)
    for wrong in ("binary8p8se", "binary2p1se", "binary17p3sf", "binary8p9uf", "p3109(8,4,maybe,extended)"):
        with pytest.raises(InputError, match="K is 3 to 16 bits|unknown format"):
            find_format(wrong)


SPECIALS = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF]


PROJECTIONS = [
    (r, m) for r in ("rne", "rna", "rz", "rtn", "rtp", "rto") for m in ("SatFinite", "SatPropagate", "OvfInf")
]


def between(f: Parameters) -> list[float]:
    """Numbers of a format, and quarters of the way to the next one: all up to 6 bits, of wider formats every sixth."""
    numbers = sorted(x for x in (decode(f, i) for i in range(1 << f.k)) if isinstance(x, Fraction) and x >= 0)
    step = numbers[-1] - numbers[-2]
    steps = [*pairwise(numbers)][:: 1 if f.k <= 6 else 6]
    beyond = [numbers[-1] + step * Fraction(n, 8) for n in range(17)]
    return [float(x + (y - x) * Fraction(n, 4)) for x, y in steps for n in range(4)] + [float(x) for x in beyond]


@pytest.mark.parametrize(
    "f",
    [x for x in formats(range(3, 9)) if x.signed and (x.k, x.p) in ((3, 1), (3, 2), (6, 3), (8, 1), (8, 3), (8, 4))],
    ids=lambda f: f.name,
)
def test_projections_of_single_precision(f):
    """Numbers of fp32 of the size of the format's, what lies between them, and specials, in all 18 projections."""
    fmt, rng = find_format(f.name), np.random.default_rng(0)
    spread = 2.0 ** rng.uniform(fmt.e_min - f.p - 3, fmt.e_max + 3, 40)
    sizes = np.concatenate([spread, between(f)]).astype(np.float32)
    c = np.concatenate([sizes.view(np.uint32), (-sizes).view(np.uint32), np.uint32(SPECIALS)])
    zeros, minus = np.zeros((len(c), 1), dtype=np.uint32), np.full((1, 1), 1 << 31, dtype=np.uint32)
    values = []
    for pattern in c.tolist():
        x = decode_number(pattern, "fp32")
        kinds = {"nan": "nan", "inf": "-inf" if x.sign else "inf"}
        values.append(kinds.get(x.kind, -x.magnitude if x.sign else x.magnitude))
    for rounding, mode in PROJECTIONS:
        plan = read_plan(f"cpu/vfmadd231ps | out={f.name}:{rounding}:{mode}")
        assert read_plan(spelled(plan)) == plan
        found = np.asarray(matmul(plan, zeros, minus, c[:, None])).reshape(-1).tolist()
        assert found == [project(f, rounding, mode, x) for x in values], (rounding, mode)
