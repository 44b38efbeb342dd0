"""RDNA4: sums of products, then with c, each rounded down: as recorded, against the reference, and what is like it."""

import numpy as np
import pytest
from reference.designs import reference_result

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

F16, BF16 = "rdna4/v_dot2_f32_f16", "rdna4/v_dot2_f32_bf16"
WMMA, WAVE64 = "rdna4/v_wmma_f32_16x16x16_f16", "rdna4/v_wmma_f32_16x16x16_f16.wave64"
PACKED, FP8 = "rdna4/v_wmma_f16_16x16x16_f16", "rdna4/v_dot4_f32_fp8.m1n1k4.e4m3.e5m2"
PACKED_BF16 = "rdna4/v_wmma_bf16_16x16x16_bf16"
DESIGNS = (F16, BF16, WMMA, "rdna4/v_wmma_f32_16x16x16_bf16", WAVE64, PACKED, PACKED_BF16, "rdna4/v_dot2_f16_f16", FP8)

GFX1201 = {
    # ROCm/rocm-systems, emulation/rocjitsu/tests/fixtures/float_dot/gfx1201_cases.h: results of a Radeon AI Pro R9700
    F16: """
        48004200 44004800 bf800000 425c0000
        3c003c00 3c003c00 c0000000 00000000
        4800c800 48004800 3f800000 3f800000
        00000001 3c008001 00000000 a7800000
        058ef3f3 2b241c4a b8eed486 c2886106
        cd6c4d6c 78af78af 00000000 00000000
        7c000401 80000401 ff9a5ce2 ffc00000
    """,
    BF16: """
        00800000 3f808000 00000001 00800001
        00000001 3f804980 00000000 07000000
        c395629b d9633359 dc60025c 5d504184
        ff7f7f7f 7f7f7f7f 00000000 00000000
        2061bc39 96b40093 0056dd77 00553463
        81ff0e0d 12cc2d3b 007a3a08 007a6d87
        37d6ba90 8901852c 80800007 81674c04
        08e7393d b7d307aa 80800005 8006c205
        0364bc8c 3c468385 807ffffe 0069a402
        993b1798 263ca825 00800000 8026a200
        afebac5f 8fe594b6 80800002 0198d0e0
        0d040199 b3fb3e6b 807ffff8 817c9e7c
        98ea1190 2720af4c 80800004 81b75001
        2dd81116 924aaedf 807ffffa 81568cfd
    """,
}
"""Pairs of elements of a and of b (the first in the low half), c and d."""

WMMAS = [
    # the same file: a row of A, a column of B, c, and what wave32 and wave64 returned
    (
        "bd53 36b8 2ae6 b1d2 c7a4 52af d233 4594 2905 47cd b74f 56cc 35d2 3da7 ac54 ab6a",
        "c142 4be3 d466 4f40 af92 c2ba 5479 414f 3144 a72e c63b 337d 4661 26c6 5512 b324",
        0x3F4725A9,
        (0xC56665FB, 0xC56665FB),
    ),
    (
        "c6e1 b1ea d31d 2d4f 4a45 d1f1 3362 c244 4a75 443e 5623 4ec3 57c7 b82e cf34 3660",
        "d36c c886 2f3d 30a3 d070 b2cb 4759 cf27 4ed4 3c97 ae37 b63f 35f0 3a25 b0d8 405a",
        0xBF6BA3B9,
        (0x43DFC44B, 0x43DFC44A),
    ),
    (
        "9844 3f7a 606f c18c be5b 891f bbfb 93b8 c3c6 32f2 f44e 15cf 5eeb 2b55 8bef a075",
        "8e88 ec18 d3c2 f6ae 0cdb 87c5 4587 5825 6e7d 8ab5 8773 4108 91c2 3987 62ab fbad",
        0x48E26837,
        (0x48E6175E, 0x48E6175F),
    ),
]


@pytest.mark.parametrize(("name", "table"), GFX1201.items())
def test_what_was_recorded(name, table):
    design = find_design(name)
    for line in filter(None, map(str.strip, table.splitlines())):
        a, b, c, recorded = (int(x, 16) for x in line.split())
        operands = Operands((a & 0xFFFF, a >> 16), (b & 0xFFFF, b >> 16), c)
        d = 0x7FC00000 if recorded & 0x7FFFFFFF > 0x7F800000 else recorded
        assert (evaluate(design, operands), reference_result(design, operands)) == (d, d), line


@pytest.mark.parametrize(("a", "b", "c", "recorded"), WMMAS)
def test_what_a_wmma_returned_in_either_width_of_a_wave(a, b, c, recorded):
    operands = Operands(*(tuple(int(x, 16) for x in column.split()) for column in (a, b)), c)
    assert tuple(evaluate(find_design(name), operands) for name in (WMMA, WAVE64)) == recorded
    assert tuple(reference_result(find_design(name), operands) for name in (WMMA, WAVE64)) == recorded


@pytest.mark.parametrize("name", DESIGNS)
def test_against_the_reference(name):
    design, rng = find_design(name), np.random.default_rng(40)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 8, design.k, rng)
        arrays, native = (evaluate_batch(design, batch, backend=x).tolist() for x in (Backend.ARRAYS, Backend.NATIVE))
        assert arrays == native == [reference_result(design, batch.row(i)) for i in range(8)], distribution


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_arrays_and_native_code_agree_on_ten_million(name):
    design, rng = find_design(name), np.random.default_rng(41)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 10_000_000 // len(DISTRIBUTIONS), design.k, rng)
        arrays, native = (evaluate_batch(design, batch, backend=x) for x in (Backend.ARRAYS, Backend.NATIVE))
        assert (arrays == native).all(), distribution


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (F16, "grouping=all"),
        (F16, "alignment=truncate"),
        (F16, "c_extra_bits=1"),
        (F16, "fraction_bits=23"),
        (F16, "small_c=rounded"),
        pytest.param(BF16, "floor=none", marks=pytest.mark.middle),
        (PACKED, "floor=none"),
        (WMMA, "grouping=apart"),
        pytest.param(WMMA, "grouping=even-odd", marks=pytest.mark.middle),
        pytest.param(WMMA, "k_order=consecutive", marks=pytest.mark.middle),
        (FP8, "grouping=all"),
    ],
)
def test_each_reading_can_be_seen(name, change):
    assert compare(find_design(name), find_design(f"{name}@{change}")).verdict == "different"


@pytest.mark.parametrize("settings", ["join=ieee", "join=round-down", "L=1,grouping=halves"])
def test_sums_before_c_are_of_steps_with_c_as_a_term_and_halves(settings):
    with pytest.raises(DesignError) as raised:
        find_design(f"{F16}@{settings}")
    assert raised.value.field == "grouping"
