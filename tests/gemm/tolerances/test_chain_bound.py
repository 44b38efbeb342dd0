"""The bound of arrays is at least what the losses of the steps add up to in rationals, and hardly more."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from reference.chain_bound import Multiplied, chain_bound
from support.climbing import Range, bounds, measured, random_rows

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, values_of
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.properties.step_loss import loss_of

UNITS = {
    "products of few bits": "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3",
    "F=13": "hopper/wgmma.f32.e4m3.e4m3",
    "in fp16": "volta/mma.m8n8k4.f16.f16.f16.f16",
    "c of products": "cdna3/v_mfma_f32_16x16x8_xf32",
    "FMA": "cpu/vfmadd231ps",
    "AMX": "cpu/tdpbf16ps",
    "fp64": "cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64",
    "flushed": "cdna2/v_mfma_f32_32x32x8f16",
    "c once": "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",
}


def exponent_read(x: float, fmt: Format) -> int:
    """The exponent that a unit reads, or above it: of zeros and subnormal numbers e_min, or that of fp32."""
    least = max(fmt.e_min, -126)
    return max(int(np.frexp(x)[1]) - 1, least) if x else least


def last_bit(x: Fraction) -> Fraction | None:
    return Fraction(x.numerator & -x.numerator, x.denominator) if x else None


def of_row(design: Design, row: OperandBatch) -> Fraction | None:
    """The bound of one row, from the products themselves."""
    a, b = values_of(row.a, design.a_format)[0].tolist(), values_of(row.b, design.b_format)[0].tolist()
    read = [exponent_read(x, f) for f, xs in ((design.a_format, a), (design.b_format, b)) for x in xs]
    products = [
        Multiplied(Fraction(x) * Fraction(y), p + q, last_bit(abs(Fraction(x) * Fraction(y))))
        for x, y, p, q in zip(a, b, read[: len(a)], read[len(a) :], strict=True)
    ]
    c = abs(Fraction(float(values_of(row.c, design.c_format)[0])))
    found = chain_bound(loss_of(design), design.d_format, c, products)
    subnormals = design.step.subnormals
    a_format, b_format, _, _ = design.formats
    flushed = Fraction(2) ** a_format.e_min * subnormals.of_a, Fraction(2) ** b_format.e_min * subnormals.of_b
    left_out = sum(
        (abs(Fraction(x) * Fraction(y)) * ((0 < abs(x) < flushed[0]) + (0 < abs(y) < flushed[1])))
        for x, y in zip(a, b, strict=True)
    )
    return None if found is None else found + left_out


@pytest.mark.parametrize("kind", UNITS)
def test_the_bound_of_arrays_is_at_least_the_sum_of_losses_and_hardly_more(kind: str) -> None:
    design = find_design(UNITS[kind])
    rng = np.random.default_rng(len(kind))
    quotients = []
    for k, within in ((design.k, Range(-4, 4)), (3 * design.k, Range(-30, 20)), (3 * design.k, Range(-200, -100))):
        tolerance = Tolerance(Plan(design), k)
        batch = random_rows(tolerance.plan, k, within, rng, 24)
        for i, bound in enumerate(bounds(tolerance, batch).tolist()):
            expected = of_row(design, batch.select(slice(i, i + 1)))
            if expected is None:
                assert bound == np.inf
                continue
            assert Fraction(bound) >= expected, (k, within, i, bound, float(expected))
            quotients.append(float(Fraction(bound) / expected) if expected else 1.0)
    assert np.median(quotients) < 2
    assert min(quotients) < 1.01


def test_a_sum_that_rises_and_falls_within_a_part_is_bounded_there() -> None:
    """The sum of the first of two steps is larger than each product, and cuts those of the second one."""
    design = find_design("ampere/mma.m16n8k16.f32.bf16.bf16.f32")
    assert design.k == 2 * design.step.L
    a = np.array([[0x3FFF] * 8 + [0x3BFF] * 8], dtype=np.uint16)  # 2 - 2**-7, and 2**-8 times that
    b = np.array([[0x3F80] * 8 + [0x3FFF] * 8], dtype=np.uint16)
    row = OperandBatch(a, b, np.zeros(1, dtype=np.uint32))
    result = measured(Tolerance(Plan(design), 16), row, None)
    assert result is not None
    assert 0.05 < result.part <= 1


def test_a_rest_is_that_of_each_product() -> None:
    """The bound of data of deviation one is within 50 times of the largest error, for the accumulator of 13 bits."""
    design, rng = find_design("hopper/wgmma.f32.e4m3.e4m3"), np.random.default_rng(0)
    tolerance = Tolerance(Plan(design), 4096)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((16, 4096), (4096, 16)))
    given = tolerance.given(a, b)
    bound, (exact, _) = tolerance.bound_of(given), tolerance.exact_of(given)
    errors = np.abs(values_of(tolerance.emulate(a, b), design.d_format) - exact)
    assert (errors <= bound).all()
    assert bound.max() < 50 * errors.max()
