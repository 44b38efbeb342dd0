"""Operands and results as text."""

from fractions import Fraction

import pytest

from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.verdicts import difference
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import find_format

FP16, FP32, INT32 = map(find_format, ("fp16", "fp32", "int32"))


def lines(a, b, **options):
    return operand_lines(operands_record((FP16, FP16, FP32), Operands(a, b, 1)), **options)


def test_of_long_operands_what_is_not_zero_is_shown():
    a, b = (0,) * 18 + (0x3C00, 0x3C00, 0, 0), (0,) * 18 + (0x4000, 0x4000, 0x8000, 0)
    assert lines(a, b) == [
        "p18..p19 = 0x3c00*0x4000",
        "p20 = 0x0000*0x8000",
        "all other elements are 0",
        "c = 0x00000001",
    ]
    assert lines(a, b, whole=True)[0] == "a = " + ",".join(f"0x{x:04x}" for x in a)


def test_up_to_sixteen_elements_are_shown_whole():
    assert lines((0,) * 16, (0,) * 16)[0].count("0x0000") == 16
    assert lines((0,) * 17, (0,) * 17) == ["all other elements are 0", "c = 0x00000001"]


def test_of_many_products_some_are_shown():
    shown = lines(tuple(range(1, 41)), (1,) * 40)
    assert (len(shown), shown[-2]) == (18, "and 24 more products; --json shows all")


def test_long_scales_are_shown_in_runs():
    record = operands_record(
        (FP16, FP16, FP32), Operands((0,) * 34, (0,) * 34, 0, (1,) * 17, (2,) * 17), find_format("e8m0")
    )
    assert operand_lines(record)[2:] == ["scale_a = 0x01 (0..16)", "scale_b = 0x02 (0..16)"]


@pytest.mark.parametrize(
    ("fmt", "results", "absolute", "ulps"),
    [
        (FP32, (0x3F800000, 0x3F800003), Fraction(3, 1 << 23), 3),
        (FP32, (0x3F800000, 0x3F7FFFFF), Fraction(1, 1 << 24), Fraction(1, 2)),
        (FP32, (0, 0x80000000), 0, 0),
        (FP32, (0, 1), Fraction(1, 1 << 149), 1),
        (INT32, (5, 0xFFFFFFFF), 6, None),
    ],
)
def test_how_far_results_are_apart(fmt, results, absolute, ulps):
    found = difference(fmt, results)
    assert (Fraction(found.absolute), found.ulps) == (absolute, ulps)


@pytest.mark.parametrize("results", [(0x7F800000, 0), (0, 0x7FC00000), (0,)])
def test_nothing_is_said_of_infinities_and_nans(results):
    assert difference(FP32, results) is None


def test_the_difference_is_said(run):
    status, out, _ = run("compare", "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32", "--no-picture", "--k", "24")
    assert status == 1
    assert "ulp\n" in out
    assert "they differ by" in out


def test_the_error_bound_of_long_sums_is_somewhere_else(run):
    status, _, err = run("check", "error-bound", "volta/f32.f16.f16.f32", "--k", "4096")
    assert status == 2
    assert "mmaproof tolerance 'volta/mma.m8n8k4.f32.f16.f16.f32' --k 4096" in err
