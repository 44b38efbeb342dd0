"""Conformance to standards: operands and checks against the text of the standards, written again number by number."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from reference.formats import decode
from reference.p3109 import Parameters, project
from reference.p3109 import decode as decode_p3109

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import find_format
from mmaproof.designs.operands import pattern_dtype, values_of
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.tolerances import conformance
from mmaproof.gemm.tolerances.conformance import (
    BOUNDS,
    STANDARDS,
    _operands,
    _whole_operands,
    bounds,
    ime,
    mx,
    p3109,
    set_data,
    stablehlo,
    tosa,
)
from mmaproof.hardware_replay.matrix_targets import Product

FP32 = find_format("fp32")


class Kernel:
    """A kernel whose result is a function of the exact product."""

    def __init__(self, function):
        self.name, self._function = "kernel", function

    def multiply(self, product, a, b):
        exact = values_of(a, product.a) @ values_of(b, product.b)
        with np.errstate(all="ignore"):
            return self._function(exact).astype(np.float32).view(np.uint32)


def product(k, a="fp16", d="fp32", m=32, n=32):
    return Product(m, n, k, find_format(a), find_format(a), find_format(d))


def one(stream, index):
    """``set_data`` of appendix A, word by word."""
    m = ((8 * stream + 1) * 0x705A5E75) % (1 << 32)
    r = (m + 1) % (1 << 32)
    for _ in range(index):
        r = (r * m + 1) % (1 << 32)
    single = struct.unpack("<f", struct.pack("<f", float(r & 0x7FFFFFFF)))[0]
    return (1 if r >> 31 == 0 else -1) * float(np.float32(single) / np.float32(0x7FFFFFFF))


@pytest.mark.parametrize("stream", [0, 1, 7, 16])
def test_the_sequence_of_the_standard(stream):
    assert set_data(stream, 77).tolist() == [one(stream, i) for i in range(77)]


def data(s, ks, p, k, i, b):  # noqa: PLR0911
    """``tosa_pro_fp_data`` of appendix A."""
    if s == 0:
        zero = one(0, i) < 0
        return (0.0 if zero else one(1, i)) if p == 0 else (one(1, i) if zero else 0.0)
    if s == 1:
        return b / math.sqrt(ks + 1) * ((-0.75 if one(3 + p, 2 * i) < 0 else 0.75) + 0.25 * one(3 + p, 2 * i + 1))
    if s == 2:
        return 1.0 if k == 0 else one(6 + p, i) / math.sqrt(ks)
    if s == 3:
        if k == 0:
            return -16.0 if one(9 + p, 2 * i) < 0 else 16.0
        return math.exp(2 * one(9 + p, 2 * i)) * one(9 + p, 2 * i + 1)
    if s == 4:
        negative = one(12, i) < 0
        if k == ks // 2:
            return (-0.5 if negative else 0.5) if p == 0 else (0.5 if negative else -0.5)
        value = b / math.sqrt(ks) * one(13, i)
        return (0.0 if negative else value) if p == 0 else (value if negative else 0.0)
    return b / math.sqrt(ks) * one(15 + p, i)


@pytest.mark.parametrize("s", range(6))
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32", "e4m3"])
def test_operands_of_the_data_sets(s, fmt):
    asked = product(5, fmt, m=3, n=4)
    b = BOUNDS[frozenset({fmt}), "fp32"]
    found = [values_of(x, find_format(fmt)) for x in _operands(asked, s)]
    ulp = 2.0 ** -find_format(fmt).fraction_bits
    for y, k in np.ndindex(3, 5):
        assert found[0][y, k] == pytest.approx(data(s, 5, 0, k, y * 5 + k, b), rel=ulp, abs=ulp / 64)
    for k, x in np.ndindex(5, 4):
        assert found[1][k, x] == pytest.approx(data(s, 5, 1, k, k * 4 + x, b), rel=ulp, abs=ulp / 64)


# Squared errors of data set 2 over what is allowed, at K. The lengths are those of public reports.
@pytest.mark.parametrize(
    ("plan", "k", "squared", "conforms"),
    [
        ("ampere/f32.f16.f16.f32", 512, 0.61, True),
        ("ampere/f32.f16.f16.f32", 1024, 1.13, False),
        ("ampere/f32.f16.f16.f32", 4096, 4.18, False),
        ("hopper/wgmma.f32.bf16.bf16", 1024, 0.56, True),
        ("hopper/wgmma.f32.bf16.bf16", 2048, 1.13, False),
        ("hopper/wgmma.f32.e4m3.e4m3", 512, 1.81, False),
        ("hopper/wgmma.f32.e4m3.e4m3 | promote=128", 512, 0.50, True),
        ("hopper/wgmma.f32.bf16.bf16 | split-k=4", 4096, 0.15, True),
        ("volta/f32.f16.f16.f32", 4096, 0.37, True),
    ],
)
@pytest.mark.few(1)
def test_plans_that_conform_to_tosa_and_that_do_not(plan, k, squared, conforms):
    read = read_plan(plan)
    found = tosa(read, product(k, read.unit.a_format.name), read.unit.d_format)
    assert found.conforms is conforms
    assert found.checks[2].squared == pytest.approx(squared, abs=0.01)
    assert [x.name for x in found.checks if not x.passed] == ([] if conforms else ["set 2"])


def test_what_is_allowed():
    """The tables of the introduction of TOSA 1.1."""
    assert bounds(product(100), FP32) == (200, 160)
    assert bounds(product(100, "fp32"), FP32) == (600, 160)
    assert bounds(product(100, "e4m3"), FP32) == (2 * 65536, 1.6 * 64 * 2**20)
    assert bounds(product(100, "fp16", "fp16"), FP32) == (2 * math.ceil(100 / 2**6.5), 1.6 * math.ceil(100 / 2**6.5))


@pytest.mark.parametrize(
    ("function", "failing"),
    [
        (lambda x: x, set()),
        (lambda x: np.full_like(x, np.nan), set(range(6))),
        (lambda x: np.where(np.indices(x.shape).sum(axis=0) == 5, np.inf, x), set(range(6))),
        (lambda x: np.where(x == 0, 1e-30, x), set()),  # the bound has the smallest normal number for a zero
        (lambda x: x * (1 + 2.0**-12), set(range(6))),
    ],
    ids=["exact", "nan", "one infinity", "not zero", "relative"],
)
def test_kernels_with_a_fault_do_not_conform(function, failing):
    found = tosa(Kernel(function), product(64), FP32)
    assert {i for i, x in enumerate(found.checks) if not x.passed} == failing


def test_the_checks_of_a_set_are_those_of_the_standard():
    """Errors, sums of squares and bias of data set 3 in fractions, of a kernel that loses a little of each result."""
    asked = product(7)
    kernel = Kernel(lambda x: x * (1 - 2.0**-20) + 2.0**-18)
    found = tosa(kernel, asked, FP32).checks[3]
    a, b = _operands(asked, 3)
    d = kernel.multiply(asked, a, b)
    errors = []
    for y, x in np.ndindex(32, 32):
        pairs = [(decode(int(a[y, k]), "fp16"), decode(int(b[k, x]), "fp16")) for k in range(7)]
        exact = sum((p.signed * q.signed * Fraction(2) ** (p.scale + q.scale) for p, q in pairs), Fraction(0))
        least = Fraction(2) ** -14
        bound = sum((max(p.magnitude, least) * max(q.magnitude, least) for p, q in pairs), Fraction(0))
        r = decode(int(d[y, x]), "fp32")
        unit = max(bound / 2**24, Fraction(2) ** -126)
        errors.append(((-1) ** r.sign * r.magnitude - exact) / unit)
    assert found.absolute == pytest.approx(float(max(map(abs, errors))) / 14)
    assert found.squared == pytest.approx(float(sum(x * x for x in errors)) / (1.6 * 7 * 1024))
    assert found.bias == pytest.approx(abs(float(sum(errors))) / math.sqrt(10 * 1.6 * 7 * 1024))


def test_what_the_test_of_tosa_needs():
    plan = read_plan("hopper/wgmma.f32.f16.f16")
    with pytest.raises(InputError, match=r"31 x 32 results: the test needs at least 1000"):
        tosa(plan, product(16, m=31), FP32)
    with pytest.raises(InputError, match=r"TOSA has no operands for f32\.tf32\.tf32"):
        tosa(plan, product(16, "tf32"), FP32)


@pytest.mark.parametrize(("rounding", "mode"), [("rne", "OvfInf"), ("rz", "SatFinite"), ("rtn", "SatPropagate")])
def test_projections_of_exact_dot_products(rounding, mode):
    fmt = find_format("binary8p3se")
    plan = read_plan(f"cpu/vfmadd231pd | out=binary8p3se:{rounding}:{mode}")
    asked = Product(6, 40, 5, find_format("binary8p4se"), fmt, fmt)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 256, x, dtype=np.uint8) for x in ((6, 5), (5, 40)))
    b[:, :20] = np.where(b[:, :20] % 128 >= 127, 1, b[:, :20])  # without infinities
    a[:3] = np.where(a[:3] % 128 >= 127, 0, a[:3])
    found = conformance._projections(conformance._projection(plan, asked), asked, a, b)
    parameters = Parameters(8, 3, True, True)
    for y, x in np.ndindex(found.shape):
        factors = [
            (decode_p3109(Parameters(8, 4, True, True), int(a[y, k])), decode_p3109(parameters, int(b[k, x])))
            for k in range(5)
        ]
        assert found[y, x] == project(parameters, rounding, mode, dot(factors)), (y, x)


def dot(factors):
    """The dot product of extended real numbers; inf * 0 and inf - inf are NaN."""
    total, infinities = Fraction(0), set()
    for pair in factors:
        if "nan" in pair or (0 in pair and {"inf", "-inf"} & set(pair)):
            return "nan"
        signs = [x == "-inf" or (isinstance(x, Fraction) and x < 0) for x in pair]
        if {"inf", "-inf"} & set(pair):
            infinities.add("-inf" if signs[0] != signs[1] else "inf")
        else:
            total += pair[0] * pair[1]
    return "nan" if len(infinities) > 1 else infinities.pop() if infinities else total


@pytest.mark.middle
def test_plans_that_round_once_conform_to_p3109_and_others_do_not():
    fused = read_plan("cpu/vfmadd231ps")
    assert p3109(fused, product(1, "fp32"), FP32).conforms
    twice = read_plan("cpu/vfmadd231ps | out=bf16")
    found = p3109(twice, Product(64, 64, 1, FP32, FP32, find_format("bf16")), FP32)
    assert found.checks[0].wrong == 0
    exact = read_plan("cdna1/v_mfma_f32_32x32x4bf16")
    assert p3109(exact, product(2, "bf16"), FP32).conforms
    assert not p3109(read_plan("hopper/wgmma.f32.e4m3.e4m3"), product(32, "e4m3"), FP32).conforms


@pytest.mark.parametrize("settings", ["", "@overflow=infinity", "@rho=rtp-binary8p4se", "@rho=rz-binary8p4se"])
def test_a_unit_conforms_to_the_projection_that_it_states(settings):
    fmt = find_format("binary8p4se")
    assert p3109(read_plan(f"paper/fma-p3109{settings}"), Product(64, 64, 1, fmt, fmt, fmt), fmt).conforms


@pytest.mark.parametrize("out", ["e4m3", "e4m3:rna:saturate"])
def test_infinities_conform_to_what_the_plan_makes_of_them(out):
    """Operands at edges have infinities, and none whose product is rounded twice to another number."""
    plan, asked = (
        read_plan(f"cpu/vfmadd231ps | out={out}"),
        Product(32, 32, 1, FP32, FP32, find_format(out.split(":")[0])),
    )
    assert np.isinf(values_of(conformance._drawn(asked, "edges")[0], FP32)).any()
    assert wrong(p3109(plan, asked, FP32))["edges"] == 0


@pytest.mark.parametrize(
    ("plan", "formats"),
    [
        ("cpu/vpdpbusd", "uint8 int8 int32"),
        ("cpu/vfmadd231ps | out=binary16p4sf", "fp32 fp32 binary16p4sf"),
        ("cpu/vfmadd231ps | out=binary13p1se", "fp32 fp32 binary13p1se"),
    ],
)
def test_p3109_takes_formats_whose_numbers_fp64_has(plan, formats):
    asked = Product(8, 8, 4, *map(find_format, formats.split()))
    with pytest.raises(InputError, match=r"(uint8|binary1\dp\ds[ef]): this check takes floating-point formats whose"):
        p3109(read_plan(plan), asked, asked.d)


@pytest.mark.parametrize("name", ["paper/fma-fp8", "paper/fma-fp8-satfinite"])
def test_a_unit_without_infinities_conforms_to_what_it_makes_of_them(name):
    assert p3109(read_plan(name), Product(64, 64, 1, FP32, FP32, find_format("e4m3")), FP32).conforms
    assert pattern_dtype(FP32) == np.uint32


def test_units_of_the_draft_conform_to_it_and_others_do_not():
    asked = product(8, "bf16")
    draft = ime(read_plan("riscv/vfwbdota.vv.m1n8k8.f32.bf16.bf16.f32"), asked, FP32)
    assert draft.conforms
    assert {x.wrong for x in draft.checks} == {0}
    # fewer fraction bits below the largest exponent, c as a term, and truncation are other units
    for other in ("riscv/vfwbdota.vv.m1n8k8.f32.bf16.bf16.f32@fraction_bits=25", "cdna1/v_mfma_f32_32x32x4bf16"):
        assert not ime(read_plan(other), asked, FP32).conforms, other
    with pytest.raises(InputError, match=r"the draft has no f32\.bf16\.bf16 with K = 7: 4, 8"):
        ime(read_plan("cdna1/v_mfma_f32_32x32x4bf16"), product(7, "bf16"), FP32)
    with pytest.raises(InputError, match=r"the draft has no f32\.f16\.f16 with K = 8: f32\."):
        ime(read_plan("hopper/wgmma.f32.f16.f16"), product(8), FP32)


def wrong(found):
    return {x.name: x.wrong for x in found.checks}


@pytest.mark.parametrize("name", ["small integers", "largest first", "largest last", "cancelling"])
@pytest.mark.parametrize(("a", "k"), [("e4m3", 64), ("bf16", 300), ("fp16", 16), ("e2m1", 1024), ("int8", 32)])
def test_sums_of_these_integers_are_exact_in_every_order(a, k, name):
    """Partial sums of any of the products are numbers of 24 bits, and elements are numbers of their format."""
    asked = product(k, a=a, d="int32" if a == "int8" else "fp32", m=4, n=4)
    x, y = _whole_operands(asked, name, 24)
    assert (np.abs(x) @ np.abs(y)).max() <= 2**24
    for side, fmt in ((x, asked.a), (y, asked.b)):
        assert (values_of(conformance.from_float64(fmt, side), fmt) == side).all()
    if name != "small integers":
        assert (np.abs(x[:, :, None] * y[None]).max(axis=1) > 1).all()


def test_accumulators_of_the_stated_type_add_exactly():
    good = read_plan("ampere/mma.m16n8k16.f32.f16.f16.f32")
    assert stablehlo(good, product(64), FP32).conforms
    narrow = stablehlo(read_plan("hopper/wgmma.f32.e4m3.e4m3"), product(64, a="e4m3"), FP32)
    assert not narrow.conforms
    assert wrong(narrow)["small integers"] == 0 < wrong(narrow)["largest first"]
    assert stablehlo(read_plan("blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"), product(64, a="e4m3"), FP32).conforms
    integers = Product(8, 8, 64, *map(find_format, ("int8", "int8", "int32")))
    assert stablehlo(read_plan("turing/mma.m8n8k16.s32.s8.s8.s32"), integers, find_format("int32")).conforms


def test_a_kernel_that_loses_a_bit_does_not_conform():
    assert stablehlo(Kernel(lambda x: x), product(64), FP32).conforms
    off = stablehlo(Kernel(lambda x: np.trunc(x / 2) * 2), product(64), FP32)
    assert all(wrong(off).values())


def test_what_stablehlo_and_mx_cannot_be_asked_of():
    scaled = read_plan("cublas/mxfp8 | out=fp32")
    with pytest.raises(InputError, match="no scales of blocks"):
        stablehlo(scaled, product(64, a="e4m3"), FP32)
    with pytest.raises(InputError, match="fp16 and fp16 hold sums of up to 1024"):
        stablehlo(read_plan("volta/f16.f16.f16.f16"), product(2048, d="fp16"), find_format("fp16"))
    with pytest.raises(InputError, match="a plan whose unit has them"):
        mx(read_plan("hopper/wgmma.f32.e4m3.e4m3"), product(64, a="e4m3"), FP32)
    with pytest.raises(InputError, match="ue4m3 for 16 elements are not formats of MX"):
        mx(read_plan("cublas/nvfp4 | out=fp32"), product(64, a="e2m1"), FP32)
    assert set(STANDARDS) == {"tosa", "p3109", "ime", "stablehlo", "mx"}


@pytest.mark.parametrize("scales", [True, False])
def test_nans_of_mx(monkeypatch, scales):
    """A unit conforms; one that reads the NaN scale, or the NaN element, as a number does not."""
    plan, asked = read_plan("cublas/mxfp8 | out=fp32"), product(64, a="e4m3", m=4, n=4)
    assert mx(plan, asked, FP32).conforms
    multiply = conformance.multiply_plan

    def broken(p, a, b, c, scale_a, scale_b):
        if scales:
            scale_a, scale_b = (np.where(x == 0xFF, 0x7F, x).astype(np.uint8) for x in (scale_a, scale_b))
        else:
            a, b = (np.where(x & 0x7F == 0x7F, 0, x).astype(np.uint8) for x in (a, b))
        return multiply(p, a, b, c, scale_a, scale_b)

    monkeypatch.setattr(conformance, "multiply_plan", broken)
    found = mx(plan, asked, FP32)
    assert {n for n, x in wrong(found).items() if x} == {"NaN scales" if scales else "NaN elements"}
