"""RDNA3 and RDNA3.5: terms in the sign frame of c, as recorded, against the reference, and against what is like it."""

from fractions import Fraction

import numpy as np
import pytest
from reference.designs import reference_result

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.explain.values import pattern_number
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

F16, BF16 = "rdna3.5/v_dot2_f32_f16", "rdna3.5/v_dot2_f32_bf16"
WMMA = "rdna3.5/v_wmma_f32_16x16x16_f16"
TO_FP16, TO_BF16 = "rdna3.5/v_wmma_f16_16x16x16_f16", "rdna3.5/v_wmma_bf16_16x16x16_bf16"
DESIGNS = (F16, BF16, WMMA, "rdna3.5/v_wmma_f32_16x16x16_bf16", TO_FP16, TO_BF16)

RECORDED = {
    # ROCm/rocm-systems issue 12056, of a gfx1151: 1 + 3*8 + 8*4, the same with c = -1, and two factors of one product
    F16: """
        42004800 48004400 3f800000 42640000
        48004200 44004800 bf800000 425c0001
    """,
    BF16: """
        40404100 41004080 3f800000 42640000
        00000001 3f804980 00000000 00000000
        00000700 3f803f80 00000000 07000000
    """,
}
"""Pairs of elements of a and of b (the first in the low half), c and d."""

GFX1100 = {
    # ROCm/rocm-systems, emulation/rocjitsu/tests/fixtures/float_dot/gfx1100_cases.h: results of a Radeon Pro W7900
    F16: """
        48004200 44004800 bf800000 425c0001
        c800c200 44004800 3f800000 c25c0001
        3c00bc00 3c003c00 3f800000 3f7fffff
        3c003c00 3c003c00 c0000000 34000000
        3c004000 3c003c00 c0000000 3f800002
        4800c800 48004800 3f800000 3f7fffc0
        3c00bc00 3c000000 00000000 3f7fffff
        3c003c00 3c000000 80000000 3f800001
        80008000 3c003c00 00800000 00800000
        00000001 3c003c00 00000000 33800000
        00000001 3c008001 00000000 a7880000
        058ef3f3 2b241c4a b8eed486 c2886106
        cd6c4d6c 78af78af 00000000 bd000000
        84950495 3d283d28 80000000 2c800000
        c3c843c8 33fa33fa 00000000 b2800000
        7c000401 80000401 ff9a5ce2 ffc00000
        8000fc00 04013c00 00800000 ff800000
    """,
    BF16: """
        41004040 40804100 bf800000 425c0001
        3f80bf80 3f800000 00000000 3f7fffff
        00800000 3f808000 00000000 00000000
        00800000 3f808000 00000001 00000000
        00800080 3f003f00 00000000 00800000
        ff7f7f7f 7f7f7f7f 00000000 ff800000
        f9e2d6b1 e2adf60c eddb846f 7f800000
        49b3fce2 573a122b 246a3c33 61820e00
        058ef3f3 2b241c4a b8eed486 d0bfbe00
        c395629b d9633359 dc60025c 5d504185
        ce354e35 7bfd7bfd 00000000 fe000000
        811e011e 3cfd3cfd 80000000 00000000
        a3202320 de25de25 80000000 35800000
        c4014401 33463346 00000000 ab800000
    """,
}


def rows(table: str) -> list[tuple[Operands, int]]:
    found = []
    for line in filter(None, map(str.strip, table.splitlines())):
        a, b, c, d = (int(x, 16) for x in line.split())
        found.append((Operands((a & 0xFFFF, a >> 16), (b & 0xFFFF, b >> 16), c), d))
    return found


@pytest.mark.parametrize("architecture", ["rdna3", "rdna3.5"])
@pytest.mark.parametrize(("name", "table"), [*RECORDED.items(), *GFX1100.items()])
def test_what_was_recorded(architecture, name, table):
    design = find_design(name.replace("rdna3.5", architecture))
    for operands, recorded in rows(table):
        is_nan = recorded & 0x7FFFFFFF > 0x7F800000
        d = 0x7FC00000 if is_nan else recorded
        assert (evaluate(design, operands), reference_result(design, operands)) == (d, d), operands


@pytest.mark.parametrize(
    ("products", "d"),
    [
        # one WMMA of a gfx1151 with c = +0, as CarouselAether/rocm_exl3 reports it in section 8 of its document on WMMA
        ([9, -9], -Fraction(1, 2**22)),
        ([1, -1], -Fraction(1, 2**24)),
        ([1024, -1024], -Fraction(1, 2**14)),
        ([4, -1], 3 - Fraction(1, 2**22)),
        ([8, -1], 7 - Fraction(1, 2**21)),
        ([9, -9, 9, -9], 0),
        ([-1, -1], -2),
        ([1024, Fraction(1, 2**13)], 1024 + Fraction(1, 2**13)),
        ([1024, *[Fraction(1, 2**16)] * 8], 1024),
        ([1024, *[Fraction(1, 2**14)] * 14], 1024 + Fraction(6, 2**13)),
        ([1024, *[Fraction(1, 2**12)] * 15], 1024 + Fraction(15, 2**12)),
        ([-1024, *[Fraction(1, 2**16)] * 8], -1024 + Fraction(1, 2**12)),
        ([1, *[Fraction(1, 2**24)] * 14], 1 + Fraction(6, 2**23)),
    ],
)
def test_what_a_wmma_returned(products, d):
    factors = {9: (3, 3), 1024: (32, 32), 4: (2, 2), 8: (2, 4)}
    pairs = [factors.get(abs(x), (1, abs(x))) for x in products] + [(0, 0)] * (16 - len(products))
    fmt = find_design(WMMA).a_format
    signed = [-x if p < 0 else x for (x, _), p in zip(pairs, [*products, *[0] * 16], strict=False)]
    operands = Operands(tuple(map(fmt.encode, signed)), tuple(fmt.encode(y) for _, y in pairs), 0)
    design = find_design(WMMA)
    assert pattern_number(design.d_format, evaluate(design, operands)) == d


@pytest.mark.parametrize("name", DESIGNS)
def test_against_the_reference(name):
    design, rng = find_design(name), np.random.default_rng(30)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 8, design.k, rng)
        arrays, native = (evaluate_batch(design, batch, backend=x).tolist() for x in (Backend.ARRAYS, Backend.NATIVE))
        assert arrays == native == [reference_result(design, batch.row(i)) for i in range(8)], distribution


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_arrays_and_native_code_agree_on_ten_million(name):
    design, rng = find_design(name), np.random.default_rng(31)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 10_000_000 // len(DISTRIBUTIONS), design.k, rng)
        arrays, native = (evaluate_batch(design, batch, backend=x) for x in (Backend.ARRAYS, Backend.NATIVE))
        assert (arrays == native).all(), distribution


CHANGES = (
    "alignment=truncate",
    "alignment=floor",
    "c_extra_bits=0",
    "c_extra_bits=1",
    "c_extra_bits=3",
    "fraction_bits=23",
    "fraction_bits=25",
    "subnormals=kept",
    "rho=rz-fp32",
    "L=1",
)


@pytest.mark.parametrize("change", CHANGES)
def test_each_reading_can_be_seen(change):
    assert compare(find_design(F16), find_design(f"{F16}@{change}")).verdict == "different"


SMALL = (
    *("flushed_sign=positive", "flushed_result=kept", "tininess=rounded", "product_exponent=normalised"),
    *("subnormals=accumulator-and-results", "subnormals=operands"),
)


@pytest.mark.parametrize("change", SMALL)
def test_each_reading_of_small_numbers_can_be_seen(change):
    assert compare(find_design(BF16), find_design(f"{BF16}@{change}")).verdict == "different"


def test_the_floor_of_fp16_can_be_seen():
    assert compare(find_design(TO_FP16), find_design(f"{TO_FP16}@floor=none"), k=16).verdict == "different"


def test_bf16_results_are_the_leading_half_of_fp32_results():
    """1 + 3 * 2**-9 lies nearer to 3f81 than to 3f80."""
    padding = (0,) * 14
    assert evaluate(find_design(TO_BF16), Operands((0x3F80, 0x3BC0, *padding), (0x3F80, 0x3F80, *padding), 0)) == 0x3F80


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ("join=ieee", "alignment"),
        ("join=round-down", "alignment"),
        ("grouping=even-odd", "grouping"),
        ("sticky=yes", "sticky"),
        ("alignment=truncate,join=round-down,late_alignment=complement", "late_alignment"),
    ],
)
def test_terms_are_inverted_against_a_c_that_is_added_with_them(settings, field):
    with pytest.raises(DesignError) as raised:
        find_design(f"{F16}@{settings}")
    assert raised.value.field == field


def test_c_has_as_many_bits_as_it_keeps_more():
    with pytest.raises(DesignError, match="exceeds the fraction bits of fp16"):
        find_design("rdna3.5/v_wmma_f16_16x16x16_f16@c_extra_bits=11")
