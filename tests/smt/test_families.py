"""What the papers and the reference page state about the families beyond T-FDPA, computed from the catalogue."""

import numpy as np
import pytest
from reference.designs import reference_result
from support.published import EQUATION_10, TABLE_8, kind_of_operands

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw


def encode(design: Design, a, b, c) -> Operands:
    return Operands(
        tuple(design.a_format.encode(x) for x in a),
        tuple(design.b_format.encode(x) for x in b),
        design.c_format.encode(c),
    )


def rows_of_table_8():
    for design in load_catalogue().designs.values():
        native = design.family not in ("emulated-fp8", "integer", "st-fdpa", "gst-fdpa", "fma-chain")
        same = design.a_format is design.b_format and kind_of_operands(design) in TABLE_8.get(design.architecture, {})
        # e4m3 holds neither 2^13 nor what remains of 2^23
        held = not design.a_format.name.startswith("e4m3")
        # table 8 is of the instructions of tables 3 to 7: Turing's is m16n8k8
        held = held and design.base_name != "turing/mma.m8n8k4.f32.f16.f16.f32"
        held = held and not design.is_assumed
        if native and same and held and design.c_format.name == design.d_format.name == "fp32":
            yield design


@pytest.mark.few(14)
@pytest.mark.parametrize("design", list(rows_of_table_8()), ids=lambda d: d.name)
def test_equation_10_gives_table_8(design):
    first = {"e5m2fnuz": 2.0**12}.get(design.a_format.name, 2.0**13)
    operands = encode(design, (-first, -0.5, -0.25, -0.125), (2.0**23 / first, 1.0, 1.0, 1.0), 2.0**23)
    length = max(4, design.k)
    padding = (0,) * (length - 4)
    operands = Operands(operands.a + padding, operands.b + padding, operands.c)
    assert evaluate(design, operands) == design.d_format.encode(TABLE_8[design.architecture][kind_of_operands(design)])


def test_table_8_is_complete_and_has_its_six_values():
    seen = {(d.architecture, kind_of_operands(d)) for d in rows_of_table_8()}
    assert seen == {(arch, kind) for arch, kinds in TABLE_8.items() for kind in kinds}
    assert {v for kinds in TABLE_8.values() for v in kinds.values()} == {0.0, -0.375, -0.5, -0.75, -0.875, -1.0}


def fma_designs():
    designs = load_catalogue().designs.values()
    return [d for d in designs if d.family == "fma-chain" and not d.is_assumed and not d.adds_c_last]


@pytest.mark.few(14)
@pytest.mark.parametrize("design", fma_designs(), ids=lambda d: d.name)
def test_every_fp64_and_fp32_instruction_gives_the_exact_result(design):
    operands = encode(design, *EQUATION_10)
    padding = (0,) * (design.padded_length(4) - 4)
    operands = Operands(operands.a + padding, operands.b + padding, operands.c)
    assert evaluate(design, operands) == design.d_format.encode(-0.875)


@pytest.mark.parametrize(
    ("settings", "expected"), [("summation=fused", 0x3F800001), ("summation=pairwise", 0x3F800000)]
)
def test_point_9_cdna1_exact_or_pairwise(settings, expected):
    base = "cdna1/v_mfma_f32_4x4x4f16"
    design = find_design(base) if settings == "summation=fused" else find_design(f"{base}@as=mma-sim")
    assert str(design.settings["summation"]) == settings.partition("=")[2]
    operands = encode(design, (1.0, 2.0**-12, 0.0, 0.0), (1.0, 2.0**-12, 0.0, 0.0), 2.0**-24)
    assert evaluate(design, operands) == expected


@pytest.mark.parametrize(("settings", "expected"), [("L=2", -0.375), ("L=4", 0.0)])
def test_point_10_cdna2_two_or_four(settings, expected):
    design = find_design(f"cdna2/v_mfma_f32_32x32x4bf16@{settings}")
    operands = encode(design, *EQUATION_10)
    assert evaluate(design, operands) == design.d_format.encode(expected)


@pytest.mark.parametrize(("reading", "expected"), [("A", 0x437FFFFE), ("B", 0x437FFFFF)])
def test_point_11_final_rounding(reading, expected):
    design = find_design(f"cdna3/v_mfma_f32_4x4x4_16b_f16@late_rounding={reading}")
    operands = encode(design, (1.0, -1.0, -3 * 2.0**-8, 2.0**-12), (1.0, 1.0, 2.0**-9, 2.0**-12), 2.0**8)
    assert evaluate(design, operands) == expected


@pytest.mark.parametrize(("reading", "expected"), [("A", 0x7FC00000), ("B", 0xFF800000)])
def test_point_12_product_beyond_against_infinite_c(reading, expected):
    design = find_design(f"cdna3/v_mfma_f32_4x4x4_16b_bf16@product_infinity={reading}")
    operands = encode(design, (2.0**127, 0.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0), float("-inf"))
    assert evaluate(design, operands) == expected


GROUP = (3.0, 3.0, *(0.0,) * 14)
POINT_15 = [
    # elements of the first group of a and b, its scales, c, and whether A, B, C, D keep c
    ((*(0.0,) * 16,), (1.0,) * 16, (448.0, 448.0), 2.0**-20, (0, 1, 1, 0)),
    (GROUP, (1.0, -1.0, *(0.0,) * 14), (448.0, 448.0), 2.0**-20, (0, 1, 0, 0)),
    ((3.0, *(0.0,) * 15), (1.0, *(0.0,) * 15), (0.0, 448.0), 2.0**-34, (0, 1, 1, 1)),
]


@pytest.mark.parametrize(("a", "b", "scales", "c", "kept"), POINT_15)
def test_point_15_a_group_that_is_zero(a, b, scales, c, kept):
    small = 2.0**-9
    for reading, expected in zip("ABCD", kept, strict=True):
        design = find_design(f"blackwell/block16.f32.e2m1.e2m1.ue4m3@zero_c=B,zero_group={reading}")
        operands = encode(design, (*a, *(0.0,) * 48), (*b, *(0.0,) * 48), c)
        scale_a, scale_b = (tuple(design.scale_format.encode(x) for x in (s, small, small, small)) for s in scales)
        operands = Operands(operands.a, operands.b, operands.c, scale_a, scale_b)
        assert evaluate(design, operands) == reference_result(design, operands)
        assert evaluate(design, operands) == (operands.c if expected else 0)


def negated(design: Design, batch: OperandBatch) -> OperandBatch:
    return OperandBatch(
        batch.a ^ batch.a.dtype.type(1 << design.a_format.sign_position),
        batch.b,
        batch.c ^ batch.c.dtype.type(1 << design.c_format.sign_position),
        batch.scale_a,
        batch.scale_b,
    )


def asymmetric_rows(design: Design, rows: int) -> int:
    """Rows with f(-A, B, -C) != -f(A, B, C), apart from NaN and the sign of an exact zero."""
    sign = 1 << design.d_format.sign_position
    found = 0
    rng = np.random.default_rng(0)
    for name in DISTRIBUTIONS:
        batch = draw(name, design, rows, design.k, rng)
        if design.a_format.name.endswith("fnuz"):
            # the pattern of a negated zero is this format's NaN
            batch = batch.select(((batch.a & 0x7F) != 0).all(axis=1))
        d, mirrored = (evaluate_batch(design, x) for x in (batch, negated(design, batch)))
        nan = (d & (sign - 1)) > (design.d_format.infinity or 0)
        zero = (d & (sign - 1)) == 0
        found += int(((d ^ mirrored != sign) & ~nan & ~(zero & ((mirrored & (sign - 1)) == 0))).sum())
    return found


@pytest.mark.parametrize("name", ["cdna3/v_mfma_f32_32x32x8_f16", "cdna3/v_mfma_f32_16x16x32_bf8_bf8"])
def test_cdna3_is_not_symmetric(name):
    design = find_design(name)
    assert asymmetric_rows(design, 500) > 0
    one, far = design.a_format.encode(1.0), -(2.0**-25)
    rest = (0,) * (design.k - 1)
    for sign, expected in ((1.0, 0x3F7FFFFF), (-1.0, 0xBF800000)):
        operands = Operands((design.a_format.encode(sign), *rest), (one, *rest), design.c_format.encode(sign * far))
        assert evaluate(design, operands) == expected


@pytest.mark.parametrize(
    "name", ["volta/f32.f16.f16.f32", "hopper/wgmma.f16.e4m3.e5m2", "blackwell/f32.e2m1.e2m1.ue8m0"]
)
def test_t_fdpa_is_symmetric_on_the_vectors_tried(name):
    found = [d for d in load_catalogue().designs.values() if d.name.startswith(name.split("/")[0])]
    design = find_design(name) if name.count("ue8m0") == 0 else next(d for d in found if d.family == "st-fdpa")
    assert asymmetric_rows(design, 1000) == 0


def test_special_truncation_tells_gtr_from_tr():
    gtr = find_design("cdna3/v_mfma_f32_32x32x16_bf8_bf8")
    operands = encode(gtr, (1.0, *(0.0,) * 15), (1.0, *(0.0,) * 15), -(2.0**-26))
    assert evaluate(gtr, operands) == 0x3F800000
    rounded = find_design("cdna3/v_mfma_f32_32x32x16_bf8_bf8@far_c=rounded")
    assert evaluate(rounded, operands) == 0x3F7FFFFF


def test_integers_wrap_or_saturate():
    wraps = find_design("ampere/mma.m16n8k32.s32.s8.s8.s32")
    saturates = find_design("ampere/mma.m16n8k32.satfinite.s32.s8.s8.s32")
    operands = Operands((0x7F,) * 32, (0x7F,) * 32, 0x7FFFFFFF)
    assert evaluate(wraps, operands) == (0x7FFFFFFF + 32 * 127 * 127) % 2**32
    assert evaluate(saturates, operands) == 0x7FFFFFFF
    assert evaluate(saturates, Operands((0x80,) * 32, (0x7F,) * 32, 0x80000000)) == 0x80000000
