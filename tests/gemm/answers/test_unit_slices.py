"""For integers of s bits, the largest K whose sums are exact: proved, and refuted one further."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from reference.algorithms import rounded, value
from reference.designs import reference_result
from support.gemm_asked import asked

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.answers.unit_slices import _lemmas, _symbolic, check_unit_slices
from mmaproof.gemm.programs.slice_gemm import widest_slice
from mmaproof.smt.solving.verdict import Status

MX = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
NV = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
WGMMA, ADA = "hopper/wgmma.f32.e4m3.e4m3", "ada/mma.m16n8k16.f32.e4m3.e4m3.f32"


@pytest.mark.middle
@pytest.mark.slow_values("volta/f32.f16.f16.f32-16777216-11-4")
@pytest.mark.parametrize(
    ("unit", "most", "bits", "longest"),
    [
        # F = 13, and rho keeps 14 bits: not the 24 that FP8 schemes assume
        (WGMMA, 2**14, 4, 72),
        (ADA, 2**14, 4, 72),
        ("hopper/wgmma.f16.e5m2.e5m2", 2**11, 3, 41),
        ("turing/mma.m8n8k16.s32.s8.s8.s32", 2**31 - 1, 7, 133144),
        ("cpu/tdpbf16ps", 2**24, 8, 258),
        pytest.param("blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3", 2**24, 4, 74565, marks=pytest.mark.middle),
        pytest.param(MX, 2**24, 4, 74565, marks=pytest.mark.middle),
        (NV, 2**24, 2, 1864135),
        pytest.param("ampere/mma.m8n8k4.f64.f64.f64.f64", 2**53, 26, 2, marks=pytest.mark.middle),
        pytest.param("volta/f32.f16.f16.f32", 2**24, 11, 4, marks=pytest.mark.middle),
        pytest.param("cdna3/v_mfma_f32_32x32x8_f16", 2**24, 11, 4, marks=pytest.mark.middle),
    ],
)
def test_largest_sums_are_found_and_the_next_one_is_inexact(unit, most, bits, longest):
    found = check_unit_slices(find_design(unit), asked())
    assert found.status is Status.PROVED
    assert (found.values["most"], found.values["bits"]) == (most, bits)
    assert found.values["longest"][str(bits)] == longest
    assert found.values["longest"][str(bits)] < found.values["inexact_at"][str(bits)] <= longest + 3
    assert all(x.status is Status.PROVED for x in found.lemmas)


def test_witness_is_inexact_in_the_reference():
    found = check_unit_slices(find_design(WGMMA), asked())
    (witness,) = found.witnesses
    numbers = {n.name: n.pattern for n in witness.numbers}
    unit, fifteen = find_design(WGMMA), FORMATS["e4m3"].encode(15)
    assert numbers["a[0..31]"] == fifteen
    c = numbers["c, the sum so far"]
    assert value(c, "fp32") == 41 * 225
    d = reference_result(unit, Operands((fifteen,) * 32, (fifteen,) * 32, c))
    assert d == numbers["d"]
    assert value(d, "fp32") != 73 * 225


def test_every_sum_at_the_limit_is_exact_in_the_reference():
    """Sums of slices of two bits up to the limit of Hopper's FP8, in one instruction."""
    unit = find_design(WGMMA)
    e4m3 = FORMATS["e4m3"]
    for start, signs in itertools.product((2**14 - 288, 2**13, 1, 0, -(2**14) + 288), ((1, 1), (1, -1), (-1, -1))):
        pairs = [(3 * signs[i % 2], 1 + i % 3) for i in range(32)]
        if abs(start + sum(x * y for x, y in pairs)) > 2**14:
            continue
        columns = tuple(e4m3.encode(x) for x, _ in pairs), tuple(e4m3.encode(y) for _, y in pairs)
        d = reference_result(unit, Operands(*columns, rounded(Fraction(start), False, "fp32", "rz")))
        assert value(d, "fp32") == start + sum(x * y for x, y in pairs)


@pytest.mark.few(1)
@pytest.mark.parametrize(("top", "most"), [(14, 2**14), (13, 2**14 + 1)])
def test_lemmas_of_one_bit_more_are_refuted(top, most):
    """Neither a term one place above F, nor a sum of one more than the significand holds, is kept."""
    step = find_design(WGMMA).one_step()
    verdicts = [asked().prove(x).status for x in _lemmas(step, _symbolic(step), top, most)]
    assert Status.REFUTED in verdicts
    assert all(asked().prove(x).status is Status.PROVED for x in _lemmas(step, _symbolic(step), 13, 2**14))


def test_unit_that_keeps_fewer_bits_is_not_said_to_keep_them():
    found = check_unit_slices(find_design(f"{WGMMA}@fraction_bits=12"), asked())
    assert found.status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ("vortex/tfr.wmma.m8n4k8.f32.f16.f16.f32", "does not guarantee"),
        ("volta/f32.f16.f16.f16", "does not hold every d of a chain"),
        ("rdna3/v_wmma_f32_16x16x16_f16", ""),
    ],
)
def test_what_is_not_settled_is_said(unit, reason):
    found = check_unit_slices(find_design(unit), asked())
    if found.status is not Status.PROVED:
        assert reason in (found.reason or "")
    else:
        assert not reason


@pytest.mark.few(14)
@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.fraction_bits])
def test_widest_slice_is_what_the_format_holds(name):
    fmt = FORMATS[name]
    bits = widest_slice(fmt)
    assert all(fmt.encode(n) is not None for n in {2**bits - 1, 2 ** (bits - 1) if bits else 0, (2**bits - 1) // 3})
    if bits < 12:
        for n in range(2**bits):
            fmt.encode(n)
        with pytest.raises(ValueError, match="not representable"):
            for n in range(2 ** (bits + 1)):
                fmt.encode(n)
    assert math.log2(fmt.largest + 1) >= bits


@pytest.mark.parametrize(("name", "side"), [(MX, 15), (NV, 3)])
def test_sums_with_scales_of_one_are_exact_up_to_the_limit(name: str, side: int) -> None:
    unit, rng = find_design(name), np.random.default_rng(3)
    a, b, c, d = unit.formats
    ones = (unit.scale_format.encode(1),) * unit.blocks(unit.k)
    for start in (0, 1, 2**23 + 1, 2**24 - unit.k * side * side):
        for _ in range(4):
            x, y = (rng.integers(0, side + 1, unit.k).tolist() for _ in range(2))
            x, y = ([v if v in held(a, side) else 1 for v in z] for z in (x, y))
            operands = Operands(tuple(map(a.encode, x)), tuple(map(b.encode, y)), c.encode(start), ones, ones)
            exact = start + sum(p * q for p, q in zip(x, y, strict=True))
            assert value(reference_result(unit, operands), d.name) == exact


def held(fmt, side: int) -> set[int]:
    """Return the integers up to ``side`` that a format has."""
    return {v for v in range(side + 1) if v.bit_length() <= fmt.precision}
