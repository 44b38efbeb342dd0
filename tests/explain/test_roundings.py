"""What is said of conversions in every direction, and of subnormal numbers that become zero."""

import numpy as np
import pytest
from support.pictures import blocks, draw
from support.variations import VARIED, random_design

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.readings import FlushedSign, Subnormals
from mmaproof.explain import explain
from mmaproof.explain.blocks import Block, RowKind
from mmaproof.smt.trace import trace
from mmaproof.verification.distributions import DISTRIBUTIONS
from mmaproof.verification.distributions import draw as draw_operands

FUSED = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32@zero_c=absent,zero_product=absent,fraction_bits=40")
TREE = find_design("cdna2/v_mfma_f32_32x32x8bf16_1k")
BULK = find_design("riscv/bulk.m1n1k4.f32.bf16.f16.f32")
SEQUENTIAL = find_design("paper/sequential.m1n1k4.f32.f16.f16.f32")


def operands(design: Design, a: float, b: float, c: float) -> Operands:
    return Operands((design.a_format.encode(a),), (design.b_format.encode(b),), design.c_format.encode(c))


def parts(design: Design, x: Operands) -> list[Block]:
    return [part for block in blocks(explain([design], x)) for part in block.parts]


def said(design: Design, x: Operands) -> list[str]:
    return [words for part in parts(design, x) for words in (part.heading, *part.before, *part.after)]


@pytest.mark.parametrize(
    ("direction", "half", "quarter"),
    [
        ("rz", "rounded down in magnitude", "rounded down in magnitude"),
        ("rne", "a tie, rounded down in magnitude to even", "rounded down in magnitude"),
        ("rna", "a tie, rounded up in magnitude, away from zero", "rounded down in magnitude"),
        ("rtn", "rounded up in magnitude", "rounded up in magnitude"),
        ("rtp", "rounded down in magnitude", "rounded down in magnitude"),
    ],
)
def test_how_a_negative_sum_is_rounded(direction: str, half: str, quarter: str) -> None:
    design = FUSED.change(rho=f"{direction}-fp32")
    for rest, words in ((2.0**-24, half), (2.0**-25, quarter)):
        start = f"conversion {direction}-fp32: bits below 2^-23 are dropped, "
        assert start + words in said(design, operands(design, -rest, 1.0, -1.0))


@pytest.mark.parametrize(("direction", "beyond"), [("rtn", "0x7f7fffff"), ("rtp", "0x7f800000"), ("rz", "0x7f800000")])
def test_an_overflow_is_said_whatever_it_gives(direction: str, beyond: str) -> None:
    design = FUSED.change(rho=f"{direction}-fp32")
    (block,) = parts(design, operands(design, 2.0**127, 2.0, 0.0))
    words = f"conversion {direction}-fp32: the sum is beyond the largest finite number, 0x7f7fffff"
    assert words in block.after
    assert block.after[-1].startswith(f"d = {beyond} = ")
    assert not [row for row in block.rows if row.kind is RowKind.RESULT]


def test_a_flushed_result_is_said() -> None:
    below = "below the smallest normal number, flushed to zero"
    fused, x = FUSED.change(subnormals=Subnormals.RESULTS), operands(FUSED, -(2.0**-70), 2.0**-70, 0.0)
    (block,) = parts(fused, x)
    assert block.after[-2:] == (f"conversion rz-fp32: {below}", "d = 0x80000000 = -0")
    assert not [row for row in block.rows if row.kind is RowKind.RESULT]
    assert not [words for words in said(FUSED, x) if below in words]
    late = BULK.change(subnormals=Subnormals.RESULTS)
    *_, last = parts(late, operands(late, 2.0**-112, 2.0**-14, -1.5 * 2.0**-126))
    assert last.after == (f"rounding to nearest in fp32: {below}", "d = 0x80000000 = -0")


def test_operands_that_read_zero_are_named_by_column() -> None:
    x = Operands((0x0001, 0x3F80, 0x3F80), (0x3F80, 0x0002, 0x3F80), 0x00000003)
    named = {"a": "a[0] = 0x0001", "b": "b[1] = 0x0002", "c": "c = 0x00000003"}
    for reading in Subnormals:
        read = [named[n] for n, zero in zip("abc", (reading.of_a, reading.of_b, reading.of_c), strict=True) if zero]
        expected = [f"subnormal operands that read +0: {', '.join(read)}"] if read else []
        for design in (FUSED, TREE):
            found = said(design.change(subnormals=reading), x)
            assert [words for words in found if "read +0" in words] == expected
    signed = said(FUSED.change(subnormals=Subnormals.ACCUMULATOR, flushed_sign=FlushedSign.KEPT), x)
    assert "subnormal operands that read a zero of their sign: c = 0x00000003" in signed


def test_a_late_c_that_reads_zero() -> None:
    for reading in Subnormals:
        *_, late = parts(BULK.change(subnormals=reading), Operands((0x3F80,), (0x3C00,), 0x00000003))
        words = ("subnormal operands that read +0: c = 0x00000003",)
        assert late.before == (words if reading.of_c else ())


@pytest.mark.parametrize(
    ("reading", "which"),
    [
        (Subnormals.KEPT, ""),
        (Subnormals.FLUSHED, "; subnormals are flushed to zero"),
        (Subnormals.OPERANDS, "; subnormals of a, b are flushed to zero"),
        (Subnormals.OPERANDS_A, "; subnormals of a are flushed to zero"),
        (Subnormals.ACCUMULATOR, "; subnormals of c are flushed to zero"),
        (Subnormals.RESULTS, "; subnormals of results are flushed to zero"),
    ],
)
def test_headings_of_lists_say_what_is_flushed_and_how_is_rounded(reading: Subnormals, which: str) -> None:
    tree = TREE.change(subnormals=reading, rho="rna-fp32")
    heading = f"each product and each sum of two is rounded by rna-fp32, c is added last{which}"
    assert parts(tree, operands(TREE, 1.0, 1.0, 1.0))[0].heading.endswith(heading)
    sequential = SEQUENTIAL.change(subnormals=reading)
    assert parts(sequential, operands(SEQUENTIAL, 1.0, 1.0, 1.0))[0].heading.endswith(f"fraction bits{which}")


def test_a_tree_notes_what_flushing_of_results_changed() -> None:
    small = operands(TREE, 2.0**-70, 2.0**-60, 0.0)
    for reading in Subnormals:
        notes = {e.label: e.note for e in parts(TREE.change(subnormals=reading), small)[0].entries}
        assert notes["p0"].endswith("flushed to zero from +1 * 2^-130") is reading.of_results


def test_widened_operands_that_read_zero_are_not_said_to_be_normal() -> None:
    design = find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32")
    x = Operands((0x01, 0x38), (0x38, 0x02), 0)
    for reading in Subnormals:
        found = [words for words in said(design.change(subnormals=reading), x) if "widened" in words]
        assert any("a[0]" in words for words in found) is not reading.of_a
        assert any("b[1]" in words for words in found) is not reading.of_b


@pytest.mark.middle
@pytest.mark.parametrize("family", VARIED)
def test_designs_with_any_parameters_are_drawn(family: str) -> None:
    for seed, reading in enumerate(Subnormals):
        design, rng = random_design(family, seed, subnormals=reading), np.random.default_rng(seed)
        for name in [*DISTRIBUTIONS][seed % 3 :: 3]:
            x = draw_operands(name, design, 1, design.k, rng).row(0)
            lines, d = draw(explain([design], x), 80), trace(design, x).d.data
            assert max(map(len, lines)) <= 80
            assert any(line.startswith(f"d = {design.d_format.hex(d)} = ") for line in lines)


def test_a_sticky_bit_is_said_and_rounds() -> None:
    # 1 + 2^-24 and a c whose last bit is cut off: a tie without it
    fused = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32@rho=rne-fp32,L=8")
    x = operands(fused, 1.0, 1.0, 2.0**-24 + 2.0**-47)
    d = {}
    for reading in ("no", "yes"):
        design = fused.change(sticky=reading)
        d[reading] = trace(design, x).d.data
        lines = " ".join(x.strip() for x in draw(explain([design], x), 80))
        assert ("sticky: bits were cut off, so the sum is rounded as though a bit were set at 2^-25" in lines) is (
            reading == "yes"
        )
        assert ("a tie" in lines) is (reading == "no")
    assert d == {"no": 0x3F800000, "yes": 0x3F800001}
