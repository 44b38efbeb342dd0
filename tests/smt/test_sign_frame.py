"""RDNA3 and RDNA3.5: terms in the sign frame of c, as recorded, against the reference, and against what is like it."""

from fractions import Fraction

import numpy as np
import pytest
from reference.designs import reference_result
from support.fingerprints import canonical, published

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch
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

WMMA_OF_INTEGERS = """
    bfffffc0 c277fffe c1a00002 c2c20000 c217ffff 42f60000 c2f80000 42580000 42340000 c2a60000 42aa0000 c2bc0000
    c2ce0000 41bffffd c2100000 42940001 41efffff 42a20000 42800001 42c40000 c3160000 c23fffff 42d20000 c3380000
    42140001 419fffff c3160000 433e0000 403ffff8 c2400000 c0dffffc c2960000 41900004 c0dffffa 4197fffe c1b7fffe
    428e0000 c2920000 40800008 43590000 c3620000 c1effffe 414ffff9 c3360000 43050000 40bffffc c28c0000 42960000
    42040000 42ee0000 c22bffff 41cfffff c267ffff 41e00000 c2920001 c217ffff 43270000 c2d00000 42480000 42aa0000
    c3440000 429a0001 c2680000 c2b5ffff 40800000 415ffffe 41c00000 4187ffff 43120000 c1600006 c1f80000 c2900000
    c2e20000 42ec0000 c2ba0000 c16fffff 42380000 c2380000 43170000 42280000 c2fe0000 c0bffffc c25bffff 42440000
    36400000 428c0000 407ffff8 42940000 c1d00006 41d7ffff 42ae0001 c3370000 c12ffff6 40fffffc c30f0000 43140000
    40dffffc c2480000 43030000 42640000 c11ffffb 3f800018 42380000 c2780000 42880000 c2640000 c2380000 434b0000
    c2b80001 42180000 c13fffff c33c0000 42c20000 c20fffff c2ca0001 42180001 41c00000 429c0000 423c0001 43180000
    c2ba0000 c09ffffc c28bffff c2860000 430c0000 c2be0000 41d7ffff 427fffff c2960000 427c0000 c2740000 c2c80000
    c03ffff8 c0fffff6 42900000 bf7fffe0 42e20000 41b80000 428a0000 c2e80000 c2ae0000 429c0001 c3140000 b6000000
    c0000000 c2c80000 42d80000 c0dffffc 415ffffa c29a0000 c2920000 42860000 c2820000 42680004 41dfffff 41700001
    c2000000 42640000 43230000 c3370000 c1f7ffff c18fffff c31e0000 42fe0000 c1f00000 c24c0000 42800000 41d00000
    42f80000 c2700000 41a80003 c24bffff 41500006 c297fffe c1e80002 431a0000 c2a80000 421fffff 43020000 c3350000
    42780000 c18fffff c2a1ffff c1000008 41f80003 42ae0000 c1200001 43140000 42080000 c2920000 c2aa0000 c2a00000
    42d80000 c3050000 b6000000 41f80002 c2b60000 43210000 41b00001 c2dbffff c1e00002 c2400000 42880002 c1a00002
    429e0001 41c7ffff 42600000 c16ffff4 42180000 42880000 c3130000 c0a00004 c17ffffb c2e00000 43150000 c2000000
    c1100006 42a40000 41a00003 42040001 c2380001 4130000a c187fffe 41b7fffe c297ffff 40dffff8 42f80000 c2c60000
    42ce0000 c29e0000 c3370000 430a0000 c2aa0000 c28bffff 42a20000 c1b7fffe 42de0000 42b80000 42d60000 c2680000
    c03ffff8 c2c40000 c21fffff 43090000 c3000000 42440000 42600000 c2b40000 434e0000 c2ac0000 c2e20000 414ffffe
    c1f7fffe 42740003 41880000 42b80000
"""
"""ROCm/rocm-systems, emulation/rocjitsu/tests/fixtures/float_dot/gfx1100_cases.h: D of a WMMA of small integers on a
Radeon Pro W7900, row by row. Which of fp16 and bf16 it was is not said; AMD's test expects it of both."""


def rows(table: str) -> list[tuple[Operands, int]]:
    found = []
    for line in filter(None, map(str.strip, table.splitlines())):
        a, b, c, d = (int(x, 16) for x in line.split())
        found.append((Operands((a & 0xFFFF, a >> 16), (b & 0xFFFF, b >> 16), c), d))
    return found


@pytest.mark.parametrize("architecture", ["rdna3", "rdna3.5"])
@pytest.mark.parametrize(("name", "table"), RECORDED.items())
def test_what_was_recorded(architecture, name, table):
    design = find_design(name.replace("rdna3.5", architecture))
    for operands, d in rows(table):
        assert (evaluate(design, operands), reference_result(design, operands)) == (d, d), operands


@pytest.mark.parametrize("architecture", ["rdna3", "rdna3.5"])
@pytest.mark.parametrize("name", [F16, BF16])
def test_what_a_gfx1100_returned(architecture, name):
    answers = published(f"amd-gfx1100-{name.partition('/')[2]}")
    design = find_design(name.replace("rdna3.5", architecture))
    for i, d in enumerate(map(canonical, answers.d.tolist())):
        operands = answers.batch.row(i)
        assert (evaluate(design, operands), reference_result(design, operands)) == (d, d), operands


@pytest.mark.parametrize("architecture", ["rdna3", "rdna3.5"])
@pytest.mark.parametrize("fmt", ["f16", "bf16"])
def test_a_wmma_of_integers(architecture, fmt):
    design = find_design(f"{architecture}/v_wmma_f32_16x16x16_{fmt}")
    a = np.arange(256).reshape(16, 16) * 7 % 17 - 8
    b = np.arange(256).reshape(16, 16) * 11 % 17 - 8
    c = np.arange(256).reshape(16, 16) * 13 % 129 - 64
    patterns = {x: design.a_format.encode(Fraction(x)) for x in range(-8, 9)}
    encoded = np.vectorize(patterns.get, otypes=[np.uint16])
    batch = OperandBatch(
        np.repeat(encoded(a), 16, axis=0), np.tile(encoded(b.T), (16, 1)), c.astype(np.float32).view(np.uint32).ravel()
    )
    d = [int(x, 16) for x in WMMA_OF_INTEGERS.split()]
    assert len(d) == len(batch) == 256
    assert evaluate_batch(design, batch).tolist() == d
    assert [reference_result(design, batch.row(i)) for i in range(0, 256, 16)] == d[::16]


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


@pytest.mark.few(3)
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


@pytest.mark.few(6)
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
