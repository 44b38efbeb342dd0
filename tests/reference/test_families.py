"""The families besides T-FDPA and FMA chains against published literals, numpy and the algorithms in Fractions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.published import EQUATION_10, TABLE_8

from reference.accumulators import integer_dot, late_ieee, sequential
from reference.exact import FLUSHED, dot
from reference.families import e_fdpa, ftz_addmul, gst_fdpa, gtr_fdpa, st_fdpa, tr_fdpa
from reference.formats import FORMATS, convert, decode, decode_integer
from reference.patterns import DTYPES, NAN, UINTS, bits

pytestmark = pytest.mark.middle

CDNA_NAN = 0x7FC00000
FP32 = {"c_format": "fp32", "d_format": "fp32"}


def operands(format: str, *vectors: Sequence[float], length: int = 1) -> list[list[int]]:
    """Patterns of vectors of values, padded with +0 to whole steps."""
    return [[bits(x, format) for x in [*vector, *[0.0] * (-len(vector) % length)]] for vector in vectors]


def value(pattern: int, format: str) -> Fraction:
    """The value of a finite pattern, as numpy and ml_dtypes read it."""
    dtype = DTYPES[format]
    return Fraction(float(np.array(pattern, dtype=UINTS[np.dtype(dtype).itemsize]).view(dtype)))


def exponent(x: Fraction, format: str) -> int:
    """Exp(x) of a number that is not zero."""
    return max(math.frexp(abs(float(x)))[1] - 1, FORMATS[format].e_min)


def random_patterns(source: random.Random, format: str, count: int, kinds: Sequence[str] = ("finite",)) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        pattern = source.getrandbits(FORMATS[format].width)
        if decode(pattern, format).kind in kinds:
            found.append(pattern)
    return found


def ftz(format: str, a: Sequence[float], b: Sequence[float], c: float, P: int, **changes: Any) -> int:  # noqa: N803
    x, y = operands(format, a, b, length=P)
    return ftz_addmul(x, y, bits(c, "fp32"), a_format=format, b_format=format, P=P, nan_code=CDNA_NAN, **changes)


def exact(format: str, a: Sequence[float], b: Sequence[float], c: float, L: int, **changes: Any) -> int:  # noqa: N803
    x, y = operands(format, a, b, length=L)
    return e_fdpa(x, y, bits(c, "fp32"), a_format=format, b_format=format, L=L, nan_code=CDNA_NAN, **changes)


def rounded(function: Any, format: str, a: Sequence[float], b: Sequence[float], c: float, **changes: Any) -> int:
    length = {"tf32": 4, "bf16": 8, "fp16": 8}.get(format, 16)  # Xie et al., table 7
    x, y = operands(format, a, b, length=length)
    chosen = {"a_format": format, "b_format": format, "L": length, "nan_code": CDNA_NAN} | changes
    return function(x, y, bits(c, "fp32"), **chosen)


# --- formats; those of FORMATS are compared pattern by pattern in test_exact.py


def test_decode_scales() -> None:
    every = np.arange(256, dtype=np.uint8)
    for format, dtype in (("e8m0", ml_dtypes.float8_e8m0fnu), ("ue4m3", ml_dtypes.float8_e4m3fn)):
        for pattern, x in enumerate(every.view(dtype).astype(np.float64).tolist()):
            number = decode(pattern, format)
            if math.isnan(x):
                assert number.kind == "nan"
                continue
            assert (number.sign, number.magnitude) == (0, abs(Fraction(x)))
            smallest = -127 if format == "e8m0" else -6
            assert number.exponent == (max(math.frexp(x)[1] - 1, smallest) if x else -6)
    assert decode(0xFF, "e8m0").kind == decode(0x7F, "ue4m3").kind == decode(0xFF, "ue4m3").kind == "nan"
    assert (decode(0x00, "e8m0").magnitude, decode(0x7F, "e8m0").magnitude) == (Fraction(1, 2**127), 1)
    for format in ("e8m0", "ue4m3"):
        with pytest.raises(ValueError, match="does not fit"):
            decode(0x100, format)


def test_decode_literals() -> None:
    assert [float(decode(x, "e2m1").magnitude) for x in range(8)] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert decode(0x1F, "e2m3").magnitude == 7.5
    assert decode(0x1F, "e3m2").magnitude == 28
    assert decode(0x80, "e4m3fnuz").kind == decode(0x80, "e5m2fnuz").kind == "nan"
    assert (decode(0x7F, "e4m3fnuz").magnitude, decode(0x7F, "e5m2fnuz").magnitude) == (240, 57344)
    assert decode(0x08, "e4m3fnuz").exponent == -7  # as written, a bias one larger


def test_decode_integers() -> None:
    every = np.arange(256, dtype=np.uint8)
    assert [decode_integer(x, "int8") for x in range(256)] == every.view(np.int8).tolist()
    assert [decode_integer(x, "uint8") for x in range(256)] == every.tolist()
    nibbles = (every & 0xF).view(ml_dtypes.int4).astype(np.int64).tolist()
    assert [decode_integer(x, "int4") for x in range(256)] == nibbles
    assert decode_integer(0x80000000, "int32") == -(2**31)
    with pytest.raises(ValueError, match="does not fit"):
        decode_integer(256, "uint8")


# --- Xie et al., equation (10) and table 8

A10, B10, C10 = EQUATION_10
CDNA1, CDNA2, CDNA3 = ({k: bits(x, "fp32") for k, x in TABLE_8[f"cdna{n}"].items()} for n in (1, 2, 3))


def test_equation_10_cdna1() -> None:
    assert exact("bf16", A10, B10, C10, L=2) == CDNA1["bf16"]
    assert exact("fp16", A10, B10, C10, L=4) == CDNA1["fp16"]


@pytest.mark.parametrize("subnormals", FLUSHED)
def test_equation_10_cdna2_and_point_10(subnormals: str) -> None:
    assert ftz("fp16", A10, B10, C10, P=4, subnormals=subnormals) == CDNA2["fp16"]
    assert ftz("bf16", A10, B10, C10, P=4, subnormals=subnormals) == CDNA2["bf16_1k"]
    assert ftz("bf16", A10, B10, C10, P=2, subnormals=subnormals) == CDNA2["bf16"]


@pytest.mark.parametrize("final_rounding", ["A", "B"])
def test_equation_10_cdna3(final_rounding: str) -> None:
    for format in ("tf32", "bf16", "fp16"):
        assert rounded(tr_fdpa, format, A10, B10, C10, final_rounding=final_rounding) == CDNA3[format]
    assert rounded(gtr_fdpa, "e5m2fnuz", A10, B10, C10, final_rounding=final_rounding) == CDNA3["fp8"]


# --- FTZ-AddMul


def test_point_9_cdna1() -> None:
    a, b, c = [1.0, 2.0**-12], [1.0, 2.0**-12], 2.0**-24
    assert exact("fp16", a, b, c, L=4) == 0x3F800001
    assert ftz("fp16", a, b, c, P=4, subnormals="kept") == 0x3F800000


def test_input_subnormals_become_plus_zero() -> None:
    tiny = 2.0**-24  # in fp16; 2^-14 is the smallest normal number
    assert ftz("fp16", [tiny], [1.0], 0.0, P=4) == 0x00000000
    assert ftz("fp16", [1.0], [-tiny], -0.0, P=4) == 0x00000000
    assert ftz("fp16", [tiny], [1.0], 0.0, P=4, subnormals="kept") == bits(tiny, "fp32")
    assert ftz("fp16", [2.0**-14], [1.0], 0.0, P=4) == bits(2.0**-14, "fp32")
    assert ftz("fp16", [0.0] * 4, [-1.0] * 4, -(2.0**-130), P=4) == 0x00000000  # c becomes +0, the products are -0
    assert ftz("fp16", [0.0] * 4, [-1.0] * 4, -0.0, P=4) == 0x80000000
    assert ftz("fp16", [math.inf], [tiny], 0.0, P=4) == CDNA_NAN  # Inf * 0
    assert ftz("fp16", [math.inf], [tiny], 0.0, P=4, subnormals="kept") == 0x7F800000


def test_output_subnormals_become_zero_with_their_sign() -> None:
    assert ftz("bf16", [2.0**-64] * 4, [-(2.0**-64)] * 4, -0.0, P=4) == 0x80000000
    assert ftz("bf16", [2.0**-64] * 4, [-(2.0**-64)] * 4, -0.0, P=4, subnormals="kept") == 0x80800000  # 4 * 2^-128
    assert ftz("bf16", [2.0**-63, 0.0], [-(2.0**-63), 0.0], -0.0, P=2) == 0x80800000
    assert ftz("bf16", [-0.0] * 4, [1.0] * 4, 2.0**-126, P=4) == 0x00800000
    # 2^-126 - 1.5 * 2^-126 is subnormal: -0, which +0 would turn into +0
    assert ftz("bf16", [2.0**-63, -1.5 * 2.0**-63], [2.0**-63] * 2, -0.0, P=2) == 0x80000000
    # (1 - 2^-24) 2^-126 rounds to 2^-126, which is not flushed; the next smaller number is subnormal
    assert ftz("fp32", [(1 - 2.0**-24) * 2.0**-63, 0.0], [2.0**-63, 0.0], 0.0, P=2) == 0x00800000
    assert ftz("fp32", [(1 - 2.0**-23) * 2.0**-63, 0.0], [2.0**-63, 0.0], 0.0, P=2) == 0x00000000
    assert ftz("fp32", [(1 - 2.0**-23) * 2.0**-63, 0.0], [2.0**-63, 0.0], 0.0, P=2, subnormals="kept") == 0x007FFFFF


@pytest.mark.middle
@pytest.mark.parametrize("subnormals", FLUSHED)
@pytest.mark.parametrize(("format", "length"), [("bf16", 1), ("bf16", 2), ("bf16", 4), ("fp16", 4), ("fp32", 8)])
def test_ftz_addmul_against_numpy(format: str, length: int, subnormals: str) -> None:
    """float32 arithmetic of numpy, flushed before and after each operation."""
    flush = FLUSHED[subnormals]

    def flushed(z: np.float32) -> np.float32:
        return np.copysign(np.float32(0), z) if "d" in flush and abs(z) < 2.0**-126 else z

    def read(z: np.float32, of: str, name: str) -> np.float32:
        return np.float32(0) if name in flush and 0 < abs(z) < 2.0 ** FORMATS[of].e_min else z

    def tree(products: list[np.float32]) -> np.float32:
        if len(products) == 1:
            return products[0]
        half = len(products) // 2
        return flushed(tree(products[:half]) + tree(products[half:]))

    def value_of(pattern: int, of: str) -> np.float32:
        return np.array(pattern, dtype=UINTS[FORMATS[of].width // 8]).view(DTYPES[of]).astype(np.float32)[()]

    source, finite = random.Random(11), 0
    for index in range(400):
        vectors = [random_patterns(source, format, 2 * length, ("zero", "finite", "inf", "nan")) for _ in range(2)]
        if index % 2 and format != "fp16":  # products and sums about 2^-126
            mantissa = FORMATS[format].fraction_bits
            for vector in vectors:
                vector[:] = [source.getrandbits(1 + mantissa) | 63 << mantissa for _ in vector]
                vector[:] = [x ^ source.getrandbits(1) << FORMATS[format].width - 1 for x in vector]
        c = source.getrandbits(32) if index % 3 else source.getrandbits(1) << 31
        settings: dict[str, Any] = {"P": length, "subnormals": subnormals, "nan_code": CDNA_NAN}
        result = ftz_addmul(*vectors, c, a_format=format, b_format=format, **settings)
        with np.errstate(all="ignore"):
            x, y = (
                [read(value_of(pattern, format), format, name) for pattern in vector]
                for name, vector in zip("ab", vectors, strict=True)
            )
            d = value_of(c, "fp32")
            products = [flushed(p * q) for p, q in zip(x, y, strict=True)]
            for start in (0, length):
                d = flushed(read(d, "fp32", "c") + tree(products[start : start + length]))
        finite += bool(np.isfinite(d))
        assert result == (CDNA_NAN if np.isnan(d) else int(d.view(np.uint32)))
    assert finite > 100


# --- E-FDPA


@pytest.mark.parametrize(("format", "length"), [("bf16", 2), ("fp16", 4), ("e5m2", 4)])
def test_e_fdpa_is_t_fdpa_with_everything_kept(format: str, length: int) -> None:
    source = random.Random(12)
    for index in range(500):
        a, b = (random_patterns(source, format, 2 * length, ("finite", "zero", "inf")) for _ in range(2))
        c = source.getrandbits(32) if index % 2 else 0
        if index % 3 == 0:  # cancellation
            a[1], b[1] = a[0] ^ 1 << FORMATS[format].width - 1, b[0]
        formats = {"a_format": format, "b_format": format, "L": length, "nan_code": CDNA_NAN}
        kept = {"fraction_bits": 1000, "rho": "rne-fp32", "zero_c": "B", "zero_product": "B"}
        for reading in "AB":
            expected = dot(a, b, c, **formats, **FP32, **kept, negative_zero=reading)
            assert e_fdpa(a, b, c, **formats, negative_zero=reading) == expected


def test_e_fdpa_zeros() -> None:
    assert exact("bf16", [1.0, -1.0], [1.0, 1.0], -0.0, L=2) == 0x00000000
    assert exact("bf16", [-0.0], [1.0], -0.0, L=2, negative_zero="B") == 0x00000000  # an exact zero
    assert exact("bf16", [-(2.0**-75)], [2.0**-76], 0.0, L=2) == 0x00000000
    assert exact("bf16", [-(2.0**-75)], [2.0**-76], 0.0, L=2, negative_zero="B") == 0x80000000


# --- ST-FDPA

ST = {"L": 32, "fraction_bits": 25, "rho": "rz-fp32", "nan_code": NAN["fp32"]}  # table 4, MXFP8/6/4


@pytest.mark.parametrize("format", ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def test_st_fdpa_is_t_fdpa_of_scaled_operands(format: str) -> None:
    """A normal operand times its scale is a number of a wider format with the sum of their exponents."""
    source = random.Random(13)
    layout = FORMATS[format]
    for index in range(60):
        a, b = (
            [x if decode(x, format).magnitude >= 2.0**layout.e_min else 0 for x in random_patterns(source, format, 64)]
            for _ in range(2)
        )
        scale_a, scale_b = ([source.randint(100, 150) for _ in range(2)] for _ in range(2))
        c = bits(float(np.float32(source.uniform(-1, 1))) * 2.0 ** source.randint(-30, 30), "fp32")
        expected_operands = [
            [bits(float(value(x, format)) * 2.0 ** (scale[k // 32] - 127), "fp32") for k, x in enumerate(vector)]
            for vector, scale in ((a, scale_a), (b, scale_b))
        ]
        readings = {"zero_product": "C" if index % 2 else "B", "e_zero": -133, "zero_c": "B"}
        result = st_fdpa(
            a, b, c, scale_a=scale_a, scale_b=scale_b, block=32, a_format=format, b_format=format, **ST, **readings
        )
        assert result == dot(*expected_operands, c, a_format="fp32", b_format="fp32", **FP32, **ST, **readings)


def st(a: Sequence[float], b: Sequence[float], c: float, scale_a: int, scale_b: int, **changes: Any) -> int:
    x, y = operands("e4m3", a, b, length=32)
    chosen: dict[str, Any] = {"a_format": "e4m3", "b_format": "e4m3", "block": 32, **ST} | changes
    return st_fdpa(x, y, bits(c, "fp32"), scale_a=[scale_a], scale_b=[scale_b], **chosen)


def test_st_fdpa_literals() -> None:
    assert st([1.5], [2.0], 0.25, 127, 127) == bits(3.25, "fp32")
    assert st([1.5], [2.0], 0.25, 130, 125) == bits(6.25, "fp32")
    assert st([1.5], [2.0], 0.25, 0xFF, 127) == st([0.0], [0.0], 0.0, 127, 0xFF) == NAN["fp32"]
    assert st([math.nan], [0.0], 0.0, 127, 127) == NAN["fp32"]
    assert st([256.0], [256.0], 0.0, 254, 200) == 0x7F800000
    assert st([256.0], [256.0], 0.0, 254, 200, overflow="B") == 0x7F7FFFFF
    assert st([-1.0], [1.0], 0.0, 40, 40) == 0x00000000
    nothing_else = {"zero_c": "B", "zero_product": "B"}
    assert st([-1.0], [1.0], 0.0, 40, 40, **nothing_else) == 0x00000000
    assert st([-1.0], [1.0], 0.0, 40, 40, **nothing_else, negative_zero="B") == 0x80000000
    with pytest.raises(ValueError, match="scales"):
        st([1.0] * 64, [1.0] * 64, 0.0, 127, 127)


def test_st_fdpa_zero_operand() -> None:
    """0 * 2^8 at two scales of 2^127: under A it reads -126 + 8 + 254 = 136 and c = 2^110 is lost below 2^111."""
    assert st([0.0], [256.0], 2.0**110, 254, 254) == 0x00000000
    assert st([0.0], [256.0], 2.0**111, 254, 254) == bits(2.0**111, "fp32")
    assert st([0.0], [256.0], 2.0**110, 254, 254, zero_product="B") == bits(2.0**110, "fp32")
    # under C it reads e_zero whatever the scales are: c = 2^-10 is lost below 2^(16 - 25) = 2^-9
    assert st([0.0], [256.0], 2.0**-10, 254, 254, zero_product="C", e_zero=16) == 0x00000000
    assert st([0.0], [256.0], 2.0**-9, 0, 0, zero_product="C", e_zero=16) == bits(2.0**-9, "fp32")


# --- GST-FDPA

GST: dict[str, Any] = {"a_format": "e2m1", "b_format": "e2m1", "G": 16, "L": 64, "fraction_bits": 35}  # table 5
GST |= {"rho": "rz-fp32", "nan_code": NAN["fp32"]}


def gst(groups: Sequence[Sequence[float]], scales_of_a: Sequence[int], c: float, **changes: Any) -> int:
    """Groups of products with 1, at scales of a in ue4m3 and scales of 1 of b."""
    a = [x for group in groups for x in [*group, *[0.0] * (16 - len(group))]]
    x, y = operands("e2m1", [*a, *[0.0] * (64 - len(a))], [1.0] * 64)
    scales = {"scale_a": [*scales_of_a, *[0x38] * (4 - len(scales_of_a))], "scale_b": [0x38] * 4}
    chosen = {"scale_format": "ue4m3", "block": 16, **GST} | scales | changes
    return gst_fdpa(x, y, bits(c, "fp32"), **chosen)


def test_gst_fdpa_literals() -> None:
    assert gst([[1.0, 6.0], [0.5]], [0x38, 0x38], 0.25) == bits(7.75, "fp32")
    assert gst([[1.0, 6.0], [0.5]], [0x3C, 0x48], 0.25) == bits(7 * 1.5 + 0.5 * 4 + 0.25, "fp32")
    assert gst([[1.0]], [0xBC], 0.0) == bits(1.5, "fp32")  # the sign bit of a scale is ignored
    assert gst([[1.0]], [0x01], 0.0) == bits(2.0**-9, "fp32")
    assert gst([[]], [0x38, 0x7F], 0.0) == gst([[]], [0xFF], 0.0) == gst([[]], [0x38], math.nan) == NAN["fp32"]
    assert gst([[1.0]], [0x38], -math.inf) == 0xFF800000
    mx = {"scale_format": "e8m0", "scale_a": [130, 127], "scale_b": [127, 127], "block": 32}
    assert gst([[1.0], [2.0], [0.5]], [], 0.25, **mx) == bits(3 * 8 + 0.5 + 0.25, "fp32")
    assert gst([[1.0]], [], 0.0, **mx | {"scale_b": [127, 255]}) == NAN["fp32"]
    # the exponent is that of the scales: 6 * 6 at 2^0 and c = 2^-35 and 2^-36
    assert gst([[6.0, -6.0]], [0x38], 2.0**-35) == bits(2.0**-35, "fp32")
    assert gst([[6.0, -6.0]], [0x38], 2.0**-36) == 0x00000000
    for changes, message in (
        ({"group_zero": "E"}, "group_zero"),
        ({"group_zero": "C"}, "e_zero"),
        ({"carry_bits": 8}, "carry_bits"),
        ({"block": 8}, "groups of 16"),
        ({"scale_a": [0x38]}, "scales"),
        ({"a_format": "e4m3"}, "without infinity"),
    ):
        with pytest.raises(ValueError, match=message):
            gst([[1.0]], [0x38], 0.0, **changes)


def test_point_15_group_that_is_zero() -> None:
    """At scales of 448 a group reads 2^16: c = 2^-20 is lost below 2^(16 - 35), unless the group is left out.

    The other groups are all zero at scales of 2^-9, so that they do not hide the first.
    """
    scales = ([0x7E, 0x01, 0x01, 0x01], {"scale_b": [0x7E, 0x01, 0x01, 0x01]})
    kept = bits(2.0**-20, "fp32")
    for reading, all_zero, cancelling in (("A", 0, 0), ("B", kept, kept), ("C", kept, 0)):
        readings = {"group_zero": reading, "e_zero": -139, **scales[1]}
        assert gst([[]], scales[0], 2.0**-20, **readings) == all_zero
        assert gst([[3.0, -3.0]], scales[0], 2.0**-20, **readings) == cancelling


def test_point_15_scale_that_is_zero() -> None:
    """A zero scale reads 2^-6, beside 2^8: c = 2^-34 is lost below 2^(2 - 35) = 2^-33."""
    others = {"scale_b": [0x7E, 0x01, 0x01, 0x01]}
    kept = bits(2.0**-34, "fp32")
    for reading, expected in (("A", 0x00000000), ("B", kept), ("C", kept)):
        readings = {"group_zero": reading, "e_zero": -139}
        assert gst([[3.0]], [0x00, 0x01, 0x01, 0x01], 2.0**-34, **others, **readings) == expected


@pytest.mark.parametrize(("scale_format", "block"), [("ue4m3", 16), ("e8m0", 32), ("e8m0", 16)])
def test_gst_fdpa_against_algorithm_9_in_fractions(scale_format: str, block: int) -> None:
    source = random.Random(15)
    scale_dtype = {"ue4m3": ml_dtypes.float8_e4m3fn, "e8m0": ml_dtypes.float8_e8m0fnu}[scale_format]
    for _ in range(150):
        a, b = (random_patterns(source, "e2m1", 128, ("finite", "zero")) for _ in range(2))
        low, high = (0, 0x7E) if scale_format == "ue4m3" else (110, 144)
        scales = [[source.randint(low, high) for _ in range(128 // block)] for _ in range(2)]
        c = bits(float(np.float32(source.uniform(-1, 1))) * 2.0 ** source.randint(-30, 30), "fp32")
        result = gst_fdpa(a, b, c, scale_format=scale_format, scale_a=scales[0], scale_b=scales[1], block=block, **GST)
        x, y = ([value(pattern, "e2m1") for pattern in vector] for vector in (a, b))
        alpha, beta = ([Fraction(float(s)) for s in np.array(v, dtype=np.uint8).view(scale_dtype)] for v in scales)
        least = -6 if scale_format == "ue4m3" else -127
        d = value(c, "fp32")
        for start in (0, 64):
            terms, exponents = [d], [exponent(d, "fp32") if d else -126]
            for k in range(start, start + 64, 16):
                group = sum((x[i] * y[i] for i in range(k, k + 16)), Fraction(0))
                p, q = alpha[k // block], beta[k // block]
                terms.append(group * p * q)
                exponents.append(sum(max(math.frexp(s)[1] - 1, least) if s else least for s in (p, q)))
            d = truncated_to_24_bits(truncated_sum(terms, exponents, 35))
        assert result == bits(float(d), "fp32")


def truncated_sum(terms: Sequence[Fraction], exponents: Sequence[int], fraction_bits: int) -> Fraction:
    unit = Fraction(2) ** (max(exponents) - fraction_bits)
    return sum(int(term / unit) for term in terms) * unit


def truncated_to_24_bits(total: Fraction) -> Fraction:
    if total == 0:
        return total
    unit = Fraction(2) ** (math.frexp(float(total))[1] - 24)
    return int(total / unit) * unit


# --- TR-FDPA and GTR-FDPA


def test_cdna3_is_asymmetric() -> None:
    """Table 10: with c of the other sign and far smaller, rounding down moves 1 and not -1."""
    for function, format in ((tr_fdpa, "fp16"), (gtr_fdpa, "e4m3fnuz")):
        assert rounded(function, format, [1.0], [1.0], -(2.0**-25)) == 0x3F7FFFFF
        assert rounded(function, format, [-1.0], [1.0], 2.0**-25) == 0xBF800000


def test_special_truncation() -> None:
    """Algorithm 11, line 24: c below 2^(E - F - 1) is dropped by GTR-FDPA and rounded down by TR-FDPA."""
    assert rounded(tr_fdpa, "fp16", [1.0], [1.0], -(2.0**-26)) == 0x3F7FFFFF
    assert rounded(gtr_fdpa, "e4m3fnuz", [1.0], [1.0], -(2.0**-26)) == 0x3F800000
    assert rounded(gtr_fdpa, "e4m3fnuz", [1.0], [1.0], -1.5 * 2.0**-26) == 0x3F800000
    assert rounded(gtr_fdpa, "e4m3fnuz", [1.0], [1.0], -(2.0**-25)) == 0x3F7FFFFF


def test_point_11_final_rounding() -> None:
    """2^8 + (1 - 1 - 3 * 2^-17 + 2^-24): E = 8, and 2^-24 is one bit below 2^(E - 31).

    A: -3 * 2^-17 is left, halfway between two results of which 2^8 - 2^-15 is the even one. B: 2^-24 is kept,
    also by the second rounding since the sum is below 2^8, and the result is 2^8 - 2^-16.
    """
    a, b = [1.0, -1.0, -3 * 2.0**-8, 2.0**-12], [1.0, 1.0, 2.0**-9, 2.0**-12]
    assert rounded(tr_fdpa, "fp16", a, b, 2.0**8, final_rounding="A") == 0x437FFFFE
    assert rounded(tr_fdpa, "fp16", a, b, 2.0**8, final_rounding="B") == 0x437FFFFF


def test_point_12_product_overflow() -> None:
    inf = math.inf
    product = ([2.0**127], [2.0])
    assert rounded(tr_fdpa, "bf16", *product, -inf) == CDNA_NAN
    assert rounded(tr_fdpa, "bf16", *product, -inf, product_overflow="B") == 0xFF800000
    for reading in "AB":
        assert rounded(tr_fdpa, "bf16", *product, inf, product_overflow=reading) == 0x7F800000
        assert rounded(tr_fdpa, "bf16", *product, -(2.0**127), product_overflow=reading) == 0x7F800000
        assert rounded(tr_fdpa, "bf16", [-(2.0**127)], [2.0], 0.0, product_overflow=reading) == 0xFF800000
        both = ([2.0**127, -(2.0**127)], [2.0, 2.0])
        assert rounded(tr_fdpa, "bf16", *both, 0.0, product_overflow=reading) == CDNA_NAN
        almost = ([2.0**127, -(2.0**127)], [2 - 2.0**-7, 1.0])  # below 2^128 nothing overflows
        assert rounded(tr_fdpa, "bf16", *almost, 0.0, product_overflow=reading) == bits(
            2.0**127 * (1 - 2.0**-7), "fp32"
        )
    # an infinite operand decides under B, before the products that overflow are looked at
    mixed = ([2.0**127, inf], [2.0, -1.0])
    assert rounded(tr_fdpa, "bf16", *mixed, 0.0) == CDNA_NAN
    assert rounded(tr_fdpa, "bf16", *mixed, 0.0, product_overflow="B") == 0xFF800000


def test_sums_overflow_in_the_conversion_only() -> None:
    a, b = [2.0**127, 2.0**127, -(2.0**127)], [1.0, 1.0, 1.0]
    assert rounded(tr_fdpa, "bf16", a, b, 0.0) == bits(2.0**127, "fp32")
    assert rounded(tr_fdpa, "bf16", a, b, 2.0**127) == 0x7F800000
    assert rounded(tr_fdpa, "bf16", [*a, 2.0**127], [*b, 1.0], 0.0) == 0x7F800000


def test_special_values_of_the_rounded_families() -> None:
    assert rounded(gtr_fdpa, "e4m3fnuz", [math.nan], [1.0], 0.0) == CDNA_NAN
    for function, format in ((tr_fdpa, "fp16"), (gtr_fdpa, "e5m2")):
        assert rounded(function, format, [math.inf], [-1.0], 0.0) == 0xFF800000
        assert rounded(function, format, [math.inf, 1.0], [1.0, 1.0], -math.inf) == CDNA_NAN
        assert rounded(function, format, [1.0], [1.0], -math.inf) == 0xFF800000
        assert rounded(function, format, [0.0], [math.inf], 0.0) == CDNA_NAN
        assert rounded(function, format, [1.0], [1.0], math.nan) == CDNA_NAN


def test_rounded_families_where_little_takes_part() -> None:
    for function, format in ((tr_fdpa, "fp16"), (gtr_fdpa, "e4m3fnuz")):
        readings = {"zero_c": "B", "zero_product": "B"}
        assert rounded(function, format, [0.0], [1.0], -0.0, **readings) == 0x00000000
        assert rounded(function, format, [0.0], [1.0], -(2.0**-149), **readings) == 0x80000001
        assert rounded(function, format, [1.0], [1.0], 0.0, **readings) == 0x3F800000
        assert rounded(function, format, [0.0, 1.0], [1.0, 1.0], 0.0, **readings) == 0x3F800000
    # 0 * 2^7 lifts e_max to -119 and the floor of c = -1.75 * 2^-144 is -2^-143 and not -1.75 * 2^-144
    lifted = ([0.0], [128.0], -7 * 2.0**-146)
    assert rounded(tr_fdpa, "fp16", *lifted) == bits(-(2.0**-143), "fp32")
    assert rounded(tr_fdpa, "fp16", *lifted, zero_product="B") == bits(-7 * 2.0**-146, "fp32")
    assert rounded(tr_fdpa, "fp16", *lifted, zero_product="C", e_zero=-119) == bits(-(2.0**-143), "fp32")


def test_point_7_of_tr_fdpa() -> None:
    tiny = ([-(2.0**-76)], [2.0**-75])
    readings = {"zero_c": "B", "zero_product": "B"}
    assert rounded(tr_fdpa, "bf16", *tiny, 0.0, **readings) == 0x00000000
    assert rounded(tr_fdpa, "bf16", *tiny, 0.0, **readings, negative_zero="B") == 0x80000000


def nearest_fp32(x: Fraction) -> int:
    """RNE of a value that float64 holds."""
    assert Fraction(float(x)) == x
    return int(np.float32(float(x)).view(np.uint32)) if x else 0


@pytest.mark.parametrize("final_rounding", ["A", "B"])
@pytest.mark.parametrize("format", ["fp16", "bf16", "e4m3fnuz", "e5m2fnuz"])
def test_against_algorithms_10_and_11_in_fractions(format: str, final_rounding: str) -> None:
    """Operands and c are not zero; two steps, so that the second has a c of the first."""
    source = random.Random(16)
    grouped = format.endswith("fnuz")
    length = 16 if grouped else 8

    def floored(x: Fraction, e: int, fraction_bits: int) -> Fraction:
        unit = Fraction(2) ** (e - fraction_bits)
        return math.floor(x / unit) * unit

    for _ in range(300):
        if format == "bf16":  # within the range of the other formats
            a, b = (
                [source.getrandbits(8) | source.randint(110, 140) << 7 | source.getrandbits(1) << 15 for _ in range(16)]
                for _ in range(2)
            )
        else:
            a, b = (random_patterns(source, format, 16) for _ in range(2))
        c = bits(
            float(np.float32(source.choice([-1, 1]) * source.uniform(1, 2) * 2.0 ** source.randint(-25, 25))), "fp32"
        )
        d = value(c, "fp32")
        if d == 0:
            continue
        for start in range(0, 16, length):
            pairs = [(value(x, format), value(y, format)) for x, y in zip(a, b, strict=True)][start : start + length]
            products = [x * y for x, y in pairs]
            exponents = [exponent(x, format) + exponent(y, format) for x, y in pairs]
            e_products, e_c = max(exponents), exponent(d, "fp32") if d else -126
            if grouped:
                halves = [truncated_sum(products[i::2], exponents[i::2], 24) for i in range(2)]
                total = sum((floored(half, e_products, 24) for half in halves), Fraction(0))
            else:
                total = truncated_sum(products, exponents, 24)
            e = max(e_products, e_c)
            kept_c = Fraction(0) if grouped and e_c < e - 25 else floored(d, e, 24)
            if final_rounding == "A":
                total = floored(total, e, 31) + kept_c
            else:
                total = floored(total, e, 32) + kept_c
                total = floored(total, math.frexp(float(total))[1] - 1, 31) if total else total
            result = nearest_fp32(total)
            d = value(result, "fp32")
        function = gtr_fdpa if grouped else tr_fdpa
        chosen = {"a_format": format, "b_format": format, "L": length, "nan_code": CDNA_NAN}
        assert function(a, b, c, **chosen, final_rounding=final_rounding) == result


# --- c added by itself, afterwards

# FP8 emulated by two fp16 steps: first the products with k mod 4 in {0, 1}
EMULATED_ORDER = [k for k in range(32) if k % 4 < 2] + [k for k in range(32) if k % 4 >= 2]
EMULATED: dict[str, Any] = {"widen": "fp16", "order": EMULATED_ORDER, "L": 16, "fraction_bits": 25, "each_step": False}
RISC_V: dict[str, Any] = {"order": [0, 1], "L": 2, "fraction_bits": 23, "each_step": True, "alignment": "jam"}


def late(base: dict[str, Any], format: str, a: Sequence[float], b: Sequence[float], c: float, **changes: Any) -> int:
    x, y = operands(format, a, b, length=len(base["order"]))
    chosen = {"a_format": format, "b_format": format, "d_format": "fp32", "rho": "rz-fp32", **base} | changes
    output = chosen["d_format"]
    return late_ieee(x, y, bits(c, output), nan_code=NAN[output], **chosen)


def test_late_addition_rounds_to_nearest() -> None:
    a, b = [0.0625, 0.0625], [2.0**-9, 2.0**-9 * 3]  # 2^-13 + 3 * 2^-13 = 2^-11
    assert late(EMULATED, "e4m3", a, b, 1.0) == bits(1 + 2.0**-11, "fp32")
    # c = 2^12 and 3 * 2^-13: the ulp is 2^-11, and 3/4 of it rounds up
    assert late(EMULATED, "e4m3", [0.0625], [2.0**-9 * 3], 2.0**12) == 0x45800001
    assert late(EMULATED, "e4m3", [0.0625], [2.0**-9 * 2], 2.0**12) == 0x45800000  # a tie
    assert late(EMULATED, "e4m3", [0.0625], [-(2.0**-9) * 3], 2.0**12) == 0x457FFFFE  # a tie of ulps of 2^-12
    fp16 = {"d_format": "fp16", "rho": "rne-fp16"}
    assert late(EMULATED, "e4m3", [1.0], [0.0625 * 12], 2048.0, **fp16) == bits(2048.0, "fp16")
    assert late(EMULATED, "e4m3", [1.0], [1.125], 2048.0, **fp16) == bits(2050.0, "fp16")


def test_late_order() -> None:
    """2^16 and -2^16 at k = 0 and 1, 2^-10 at k = 3: apart from them it is kept, beside them lost below 2^-9."""
    a, b = [256.0, 256.0, 0.0, 2.0**-5], [256.0, -256.0, 0.0, 2.0**-5]
    assert late(EMULATED, "e4m3", a, b, 0.0) == bits(2.0**-10, "fp32")
    assert late(EMULATED, "e4m3", a, b, 0.0, order=list(range(32))) == 0x00000000
    a, b = [256.0, 0.0, 256.0, 2.0**-5], [256.0, 0.0, -256.0, 2.0**-5]
    assert late(EMULATED, "e4m3", a, b, 0.0) == 0x00000000  # the chain enters the second step
    assert late(EMULATED, "e4m3", a, b, 0.0, each_step=True) == 0x00000000
    a, b = [256.0, *[0.0] * 31, -256.0], [256.0, *[0.0] * 31, 256.0]
    assert late(EMULATED, "e4m3", a, b, 2.0**-10) == 0x00000000  # c is added to the first of two instructions
    assert late(EMULATED, "e4m3", a, b, 2.0**-10, order=list(range(64))) == bits(2.0**-10, "fp32")
    assert late(EMULATED, "e4m3", [1.0] * 64, [1.0] * 64, 0.5) == bits(64.5, "fp32")


def test_late_widening_makes_subnormal_operands_normal() -> None:
    """2^-9 in e4m3 reads 2^-6: beside it, 2^-18 is lost below 2^(-6 - 10)."""
    a, b = [2.0**-9, 2.0**-9], [1.0, 2.0**-9]
    few = {"fraction_bits": 10}
    assert late(EMULATED, "e4m3", a, b, 0.0, **few) == bits(2.0**-9 + 2.0**-18, "fp32")
    assert late(EMULATED, "e4m3", a, b, 0.0, **few, widen=None) == bits(2.0**-9, "fp32")
    with pytest.raises(ValueError, match="is not a number of fp16"):
        late(EMULATED, "bf16", [2.0**-30], [1.0], 0.0)


def test_late_specials_and_zeros() -> None:
    inf = math.inf
    assert late(EMULATED, "e5m2", [inf], [1.0], -inf) == NAN["fp32"]
    assert late(EMULATED, "e5m2", [inf], [1.0], 1.0) == 0x7F800000
    assert late(EMULATED, "e5m2", [inf], [0.0], 1.0) == late(EMULATED, "e5m2", [1.0], [1.0], math.nan) == NAN["fp32"]
    assert late(EMULATED, "e5m2", [0.0], [0.0], -0.0) == 0x00000000
    assert late(EMULATED, "e5m2", [-1.0], [2.0**-9], 2.0**-9) == 0x00000000
    fp16 = {"d_format": "fp16", "rho": "rne-fp16"}
    assert late(EMULATED, "e4m3", [256.0], [256.0], -math.inf, **fp16) == NAN["fp16"]  # the step overflows
    assert late(EMULATED, "e4m3", [256.0], [256.0], 0.0, **fp16) == 0x7C00


def test_late_zero_accumulator_of_a_step() -> None:
    """The +0 that a step starts with reads -126 under 1A: 2^-76 * 2^-76 is lost below 2^-151."""
    a, b = [2.0**-76], [2.0**-75]
    base = EMULATED | {"widen": None, "order": list(range(16)), "zero_product": "B"}
    assert late(base, "bf16", a, b, 0.0) == 0x00000000
    assert late(base, "bf16", [3 * x for x in a], [2 * x for x in b], 0.0, zero_c="B") == 0x00000001  # 1.5 * 2^-149
    assert late(base, "bf16", [2.0**-76] * 8, [2.0**-76] * 8, 0.0) == 0x00000000
    assert late(base, "bf16", [2.0**-76] * 8, [2.0**-76] * 8, 0.0, zero_c="B") == 0x00000001


def test_late_jamming() -> None:
    """1 + 2^-30 at F = 23: jammed 1 + 2^-23, truncated 1; each step by itself is added to the running d."""
    a, b = [1.0, 2.0**-15], [1.0, 2.0**-15]
    assert late(RISC_V, "bf16", a, b, 0.0) == 0x3F800001
    assert late(RISC_V, "bf16", a, b, 0.0, alignment="truncate") == 0x3F800000
    assert late(RISC_V, "bf16", a, b, 2.0**-24) == 0x3F800002  # 1 + 1.5 * 2^-23: the tie goes to the even one
    assert late(RISC_V, "bf16", [*a, *a], [*b, *b], 0.0) == bits(2 + 2.0**-22, "fp32")
    assert late(RISC_V, "bf16", [1.0, 0.0, -1.0, 2.0**-15], [1.0, 0.0, 1.0, 2.0**-15], 2.0**-24) == bits(
        2.0**-23, "fp32"
    )


def test_late_refused_calls() -> None:
    for changes, message in (
        ({"order": [0, 0]}, "permutation"),
        ({"order": [0, 1, 2]}, "instructions"),
        ({"c_format": "fp16"}, "cannot be fp16"),
        ({"rho": "rne-fp16"}, "store"),
    ):
        with pytest.raises(ValueError, match=message):
            late(RISC_V, "bf16", [1.0] * 4, [1.0] * 4, 0.0, **{"L": 2, **changes})


# --- integers


def test_integer_literals() -> None:
    def run(format: str, a: Sequence[int], b: Sequence[int], c: int, *, saturate: bool, length: int = 2) -> int:
        mask = 0xF if format == "int4" else 0xFF
        x, y = ([n & mask for n in vector] for vector in (a, b))
        return integer_dot(x, y, c % 2**32, a_format=format, b_format=format, L=length, saturate=saturate)

    top = 2**31 - 1
    for saturate in (False, True):
        assert run("int8", [-128, 127], [-128, -128], 5, saturate=saturate) == 16384 - 16256 + 5
        assert run("uint8", [255, 255], [255, 255], -1, saturate=saturate) == 130049
        assert run("int4", [-8, 7], [-8, -8], 0, saturate=saturate) == 8
        assert run("int8", [-1, 0], [1, 0], 0, saturate=saturate) == 0xFFFFFFFF
        # a step is summed exactly: only its total counts
        assert run("int8", [1, -1], [1, 1], top, saturate=saturate) == top
    assert run("int8", [1, 0], [1, 0], top, saturate=False) == 0x80000000
    assert run("int8", [1, 0], [1, 0], top, saturate=True) == 0x7FFFFFFF
    assert run("int8", [-1, 0], [1, 0], -(2**31), saturate=False) == 0x7FFFFFFF
    assert run("int8", [-1, 0], [1, 0], -(2**31), saturate=True) == 0x80000000
    # chained steps saturate one by one
    assert run("int8", [1, -1], [1, 1], top, saturate=True, length=1) == top - 1
    assert run("int8", [1, -1], [1, 1], top, saturate=False, length=1) == top


def test_integers_against_numpy() -> None:
    source = np.random.default_rng(17)
    for _ in range(50):
        a = source.integers(-128, 128, 32, dtype=np.int8)
        b = source.integers(0, 256, 32, dtype=np.uint8)
        c = int(source.integers(0, 2**32, dtype=np.uint64))
        with np.errstate(over="ignore"):
            expected = np.dot(a.astype(np.int32), b.astype(np.int32)) + np.uint32(c).view(np.int32)
        patterns = a.view(np.uint8).tolist(), b.tolist()
        result = integer_dot(*patterns, c, a_format="int8", b_format="uint8", L=8, saturate=False)
        assert result == int(np.int32(expected).view(np.uint32))


# --- one term at a time

VOLTA: dict[str, Any] = {"L": 4, "fraction_bits": 23, "rho": "rz-fp32", "nan_code": NAN["fp32"], **FP32}


def one_by_one(a: Sequence[float], b: Sequence[float], c: float, format: str = "fp16", **changes: Any) -> int:
    x, y = operands(format, a, b, length=changes.get("L", 4))
    base = {"first": "none", "truncates": "addend", "normalises": False, "zero_product": "B", "zero_c": "B"}
    return sequential(x, y, bits(c, "fp32"), **{"a_format": format, "b_format": format, **VOLTA, **base, **changes})


@pytest.mark.parametrize("readings", [{}, {"zero_c": "B", "zero_product": "B"}, {"product_exponent": "normalised"}])
@pytest.mark.parametrize(("format", "length"), [("fp16", 4), ("bf16", 8), ("e5m2", 16)])
def test_largest_exponent_first_is_t_fdpa(format: str, length: int, readings: dict[str, Any]) -> None:
    source = random.Random(18)
    readings = {"overflow": "B", "negative_zero": "B", "floor": -133, **readings}
    for index in range(200):
        a, b = (random_patterns(source, format, 2 * length, ("finite", "zero")) for _ in range(2))
        if index % 4 == 0:
            a[source.randrange(length)] = 0
        c = random_patterns(source, "fp32", 1, ("finite", "inf"))[0] if index % 2 else index % 3 << 31 & 0xFFFFFFFF
        common = {**VOLTA, "L": length, "a_format": format, "b_format": format, **readings}
        one = sequential(a, b, c, first="exponent", truncates="addend", normalises=False, **common)
        assert one == dot(a, b, c, **common)


def test_which_term_is_first() -> None:
    """Four products of 2^-24 and c = 1 at F = 23: with c first they are lost, with c last they are kept."""
    small = ([2.0**-12] * 4, [2.0**-12] * 4, 1.0)
    for truncates in ("addend", "partial-sum"):
        for normalises in (False, True):
            rest = {"truncates": truncates, "normalises": normalises}
            assert one_by_one(*small, **rest, first="exponent") == 0x3F800000
            assert one_by_one(*small, **rest, first="magnitude") == 0x3F800000
            assert one_by_one(*small, **rest, first="none") == 0x3F800002
    # 1.5 * 1.5 = 2.25 at exponent 0 and 2 * 1 at exponent 1: as exponents 2 is the larger, as magnitudes 2.25.
    # Then 2^-23 is added to what is kept down to 2^-22 or 2^-23.
    a, b = [1.5, 2.0, 2.0**-12], [1.5, -1.0, 2.0**-11]
    assert one_by_one(a, b, 0.0, first="exponent") == bits(0.25, "fp32")
    assert one_by_one(a, b, 0.0, first="magnitude") == bits(0.25 + 2.0**-23, "fp32")
    # of equal magnitudes the lowest index: 1.5 * 1.5 at exponent 0 or 2.25 * 1 at exponent 1
    a, b = [1.5, 2.25, 2.0**-12], [1.5, -1.0, 2.0**-11]
    assert one_by_one(a, b, 0.0, first="magnitude") == bits(2.0**-23, "fp32")
    assert one_by_one([a[1], a[0], a[2]], [b[1], b[0], b[2]], 0.0, first="magnitude") == 0x00000000


def test_what_is_truncated() -> None:
    """1 - 2^-25 at F = 23: the addend is cut to 0, the sum to 1 - 2^-23, normalised 1 - 2^-23 too."""
    a, b = [1.0, -(2.0**-12)], [1.0, 2.0**-13]
    assert one_by_one(a, b, 0.0) == 0x3F800000
    assert one_by_one(a, b, 0.0, truncates="partial-sum") == 0x3F7FFFFE
    assert one_by_one(a, b, 0.0, truncates="partial-sum", normalises=True) == 0x3F7FFFFE
    # the signs the other way round: the magnitude is what is truncated
    a = [-1.0, 2.0**-12]
    assert one_by_one(a, b, 0.0) == 0xBF800000
    assert one_by_one(a, b, 0.0, truncates="partial-sum") == 0xBF7FFFFE
    # each partial sum loses its part: 1 + 2 * 2^-24 by halves
    a, b = [1.0, 2.0**-12, 2.0**-12], [1.0, 2.0**-12, 2.0**-12]
    assert one_by_one(a, b, 0.0, truncates="partial-sum") == 0x3F800000


def test_normalising() -> None:
    """2^-23 added to 1.75 + 1.75 is kept at the exponent 0 of the first and lost at 1, normalised."""
    a, b = [1.75, 1.75, 2.0**-12, -3.5], [1.0, 1.0, 2.0**-11, 1.0]
    for truncates in ("addend", "partial-sum"):
        assert one_by_one(a, b, 0.0, truncates=truncates) == bits(2.0**-23, "fp32")
        assert one_by_one(a, b, 0.0, truncates=truncates, normalises=True) == 0x00000000
    # after 1 - 1 + 2^-10 the normalised accumulator keeps 2^-33, the other none below 2^-23
    a, b = [1.0, -1.0 + 2.0**-10, 2.0**-16], [1.0, 1.0, 2.0**-17]
    assert one_by_one(a, b, 0.0) == bits(2.0**-10, "fp32")
    assert one_by_one(a, b, 0.0, normalises=True) == bits(2.0**-10 + 2.0**-33, "fp32")
    # after 1 - 1 the normalised accumulator starts anew
    a, b = [1.0, -1.0, 2.0**-16, 2.0**-24], [1.0, 1.0, 2.0**-17, 2.0**-24]
    assert one_by_one(a, b, 0.0) == 0x00000000
    assert one_by_one(a, b, 0.0, normalises=True) == bits(2.0**-33 + 2.0**-48, "fp32")
    assert one_by_one([1.0, -1.0], [1.0, 1.0], 0.0, normalises=True) == 0x00000000
    # an accumulator that a larger term follows is cut as well, or added exactly before the sum is cut
    a, b = [2.0**-12, -1.0], [2.0**-13, 1.0]
    assert one_by_one(a, b, 0.0, normalises=True) == 0xBF800000
    assert one_by_one(a, b, 0.0, normalises=True, truncates="partial-sum") == 0xBF7FFFFE
    assert one_by_one(a, b, 0.0, normalises=False) == 0xBF7FFFFF  # more integer bits: exact


def test_zero_terms_one_by_one() -> None:
    """0 * 2^15 reads -126 + 15 = -111 under 2A: as the first term it is not passed over."""
    a, b = [0.0, 2.0**-14], [2.0**15, 2.0**-14]
    for first in ("none", "magnitude", "exponent"):
        assert one_by_one(a, b, 0.0, first=first, zero_product="A") == bits(2.0**-28, "fp32")
    assert one_by_one([0.0], [1.0], 2.0**-135, first="exponent", zero_product="A", zero_c="A") == bits(
        2.0**-135, "fp32"
    )
    assert one_by_one([0.0], [2.0**15], 2.0**-135, first="exponent", zero_product="A") == 0x00000000
    assert one_by_one([0.0], [2.0**15], -(2.0**-135), first="exponent", zero_product="B") == bits(-(2.0**-135), "fp32")
    assert one_by_one([0.0], [1.0], -0.0, zero_product="B", zero_c="B") == 0x00000000


@pytest.mark.parametrize("first", ["none", "exponent", "magnitude"])
@pytest.mark.parametrize("truncates", ["addend", "partial-sum"])
@pytest.mark.parametrize("normalises", [False, True])
def test_sequential_against_fractions(first: str, truncates: str, normalises: bool) -> None:
    source = random.Random(19)

    def cut(x: Fraction, e: int) -> Fraction:
        unit = Fraction(2) ** (e - 13)
        return int(x / unit) * unit

    for _ in range(300):
        a, b = (random_patterns(source, "e4m3", 8) for _ in range(2))
        if source.random() < 0.5:
            a[3], b[3] = a[0] ^ 0x80, b[0]
        c = bits(
            float(np.float32(source.choice([-1, 1]) * source.uniform(1, 2) * 2.0 ** source.randint(-9, 9))), "fp32"
        )
        values = [(value(x, "e4m3"), value(y, "e4m3")) for x, y in zip(a, b, strict=True)]
        terms = [(x * y, exponent(x, "e4m3") + exponent(y, "e4m3")) for x, y in values]
        terms.append((value(c, "fp32"), exponent(value(c, "fp32"), "fp32")))
        if first != "none":
            largest = max(e if first == "exponent" else abs(x) for x, e in terms)
            start = [e if first == "exponent" else abs(x) for x, e in terms].index(largest)
            terms.insert(0, terms.pop(start))
        (total, e), *others = terms
        total = cut(total, e)
        for x, e_x in others:
            if normalises and total == 0:
                total, e = cut(x, e_x), e_x
                continue
            e = max(e, e_x) if normalises else e
            total = cut(total, e) + cut(x, e) if truncates == "addend" else cut(total + x, e)
            if normalises and total:
                e = math.frexp(float(total))[1] - 1
                total = cut(total, e)
        scale = total.denominator.bit_length() - 1
        result = sequential(
            a,
            b,
            c,
            first=first,
            truncates=truncates,
            normalises=normalises,
            a_format="e4m3",
            b_format="e4m3",
            **VOLTA | {"L": 8, "fraction_bits": 13},
        )
        assert result == convert(total.numerator, -scale, "rz-fp32")


def test_sequential_refused_calls() -> None:
    for changes in ({"first": "last"}, {"truncates": "sum"}, {"alignment": "floor"}, {"carry_bits": 3}):
        with pytest.raises(ValueError, match=next(iter(changes))):
            one_by_one([1.0], [1.0], 0.0, **changes)
