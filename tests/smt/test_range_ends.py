"""d in formats without infinities, and in those of IEEE P3109: what takes the place of an infinity is stated."""

import dataclasses

import numpy as np
import pytest
from reference.formats import ENDLESS
from support.variations import disagreements

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding, conversions_to
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import find_format
from mmaproof.designs.readings import NanCode, RangeEnd
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

BASES = [
    find_design(x)
    for x in (
        "paper/tree.m1n1k4.f32.f16.f16.f32",
        "paper/sequential.f32.f16.f16.f32",
        "ampere/f32.bf16.bf16.f32",
        "hopper/wgmma.f32.e5m2.e5m2",
        "cdna1/v_mfma_f32_32x32x2f32",
        "cpu/tdpbf16ps",
        "cdna2/v_mfma_f32_32x32x8f16",
        "rtx-blackwell/f32.e4m3.e2m1.f32.ue8m0",
        "riscv/bulk.m1n1k8.f32.f16.f16.f32",
        "hopper/mma.f32.e4m3.e4m3.f32",
    )
]
P3109 = ("binary8p4se", "binary8p3se", "binary6p2se", "binary5p3sf")


def with_output(design: Design, name: str, end: RangeEnd, rounding: Rounding = Rounding.RNE) -> Design:
    """The design with c and d of another format."""
    fmt = find_format(name)
    step = dataclasses.replace(design.step, rho=f"{rounding}-{name}", out_of_range=end)
    return dataclasses.replace(design, signature=dataclasses.replace(design.signature, c=fmt, d=fmt), step=step)


def ends_of(name: str) -> list[RangeEnd]:
    fmt = find_format(name)
    if fmt.infinity is not None:
        return [RangeEnd.SATURATE]
    return list(RangeEnd) if fmt.quiet_nan is not None else [RangeEnd.SATURATE]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "name",
    [
        *("e4m3", "e4m3fnuz", "binary8p4se"),
        *(pytest.param(x, marks=pytest.mark.middle) for x in (*ENDLESS, *P3109) if x not in ("e4m3", "e4m3fnuz")),
    ],
)
@pytest.mark.parametrize("design", BASES, ids=lambda d: d.family)
def test_every_end_of_a_range_is_that_of_the_reference(design, name):
    rng = np.random.default_rng(11)
    for end in ends_of(name):
        for rounding in Rounding:
            other = with_output(design, name, end, rounding)
            for distribution in DISTRIBUTIONS:
                rows = draw(distribution, other, 2, other.k, rng)
                assert disagreements(other, rows) == [], (end, rounding, distribution)


FMA = find_design("cdna1/v_mfma_f32_32x32x2f32")
LARGE, MINUS_LARGE, INFINITE, MINUS_INFINITE = 0x4B800000, 0xCB800000, 0x7F800000, 0xFF800000
CASES = [
    # format, reading, and d of 2^24, -2^24, an infinity and -infinity
    ("e4m3", "saturate", 0x7E, 0xFE, 0x7E, 0xFE),
    ("e4m3", "saturate/nan", 0x7E, 0xFE, 0x7F, 0x7F),
    ("e4m3", "nan", 0x7F, 0x7F, 0x7F, 0x7F),
    ("e4m3fnuz", "saturate", 0x7F, 0xFF, 0x7F, 0xFF),
    ("e4m3fnuz", "saturate/nan", 0x7F, 0xFF, 0x80, 0x80),
    ("e5m2fnuz", "nan", 0x80, 0x80, 0x80, 0x80),
    ("binary8p4se", "saturate", 0x7F, 0xFF, 0x7F, 0xFF),
    ("e2m1", "saturate", 0x7, 0xF, 0x7, 0xF),
]


@pytest.mark.parametrize(("name", "end", "large", "minus_large", "infinite", "minus_infinite"), CASES)
def test_literals(name, end, large, minus_large, infinite, minus_infinite):
    results = {LARGE: large, MINUS_LARGE: minus_large, INFINITE: infinite, MINUS_INFINITE: minus_infinite}
    for nan_code in (NanCode.ALL_ONES, NanCode.QUIET):  # these formats have one NaN or none
        design = with_output(FMA.change(nan_code=nan_code), name, RangeEnd(end))
        for a, d in results.items():
            assert evaluate(design, Operands((a, 0), (0x3F800000, 0), 0)) == d


def test_465_is_448_or_nan():
    """464 lies in the middle between 448 and the next number, whose pattern is NaN (ml_dtypes#400)."""
    operands = Operands((0x43E88000, 0), (0x3F800000, 0), 0)
    assert [evaluate(with_output(FMA, "e4m3", x), operands) for x in RangeEnd] == [0x7E, 0x7E, 0x7F]
    assert evaluate(with_output(FMA, "e4m3", RangeEnd.NAN, Rounding.RZ), operands) == 0x7E


def test_what_the_parameter_has_no_effect_on_and_what_a_format_lacks():
    with pytest.raises(DesignError, match="out_of_range"):
        find_design("cdna1/v_mfma_f32_32x32x2f32@out_of_range=nan")
    with pytest.raises(DesignError, match="e2m1 has no NaN: set out_of_range=saturate"):
        with_output(FMA, "e2m1", RangeEnd.NAN)
    assert conversions_to(find_format("e8m0")) == conversions_to(find_format("binary8p3ue")) == ()
    assert "rne-e4m3" in conversions_to(find_format("e4m3"))
    for wrong in ("rne-e4m3fn", "rne-e8m0", "rne-binary8p3ue", "rxx-e4m3", "rne-int8", "rne-"):
        with pytest.raises(DesignError, match=r"rho"):
            FMA.change(rho=wrong)


def test_settings_name_the_end_where_there_is_one():
    settings = with_output(FMA, "e4m3", RangeEnd.NAN).settings
    assert settings["out_of_range"] is RangeEnd.NAN
    assert not {"overflow", "chain_infinity"} & settings.keys()
    assert "out_of_range" not in FMA.settings
    assert "overflow" in with_output(FMA, "binary8p4se", RangeEnd.SATURATE).settings
