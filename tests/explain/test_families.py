"""What is drawn of each family of designs beyond one fused sum: its sums, lists and remarks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from support.pictures import EQUATION_10, VOLTA, blocks, draw, steps, text

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.readings import Alignment, FarC, IntegerOverflow, Join, LateRounding, Subnormals
from mmaproof.designs.steps import RoundedStep
from mmaproof.explain import explain
from mmaproof.explain.blocks import Block, RowKind
from mmaproof.explain.sections import step_block
from mmaproof.smt.semantics.datapath import Addend

TR = find_design("cdna3/v_mfma_f32_32x32x8_f16")
GTR = find_design("cdna3/v_mfma_f32_16x16x32_fp8_fp8")
GST = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
ST = find_design("blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0")
EMULATED = find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32")
BULK = find_design("riscv/bulk.m1n1k4.f32.f16.f16.f32")
EXACT = find_design("cdna1/v_mfma_f32_32x32x8f16")
TREE = find_design("paper/tree.m1n1k4.f32.f16.f16.f32")
FLUSHING = find_design("cdna2/v_mfma_f32_32x32x8bf16_1k")
SEQUENTIAL = find_design("paper/sequential.m1n1k4.f32.f16.f16.f32")
INTEGER = find_design("turing/mma.m8n8k16.s32.s8.s8.s32")
AMX = find_design("cpu/tdpbf16ps")


def parts(design: Design, operands: Operands) -> list[Block]:
    return [part for block in blocks(explain([design], operands)) for part in block.parts]


def said(design: Design, operands: Operands) -> Sequence[str]:
    return [words for part in parts(design, operands) for words in (part.heading, *part.before, *part.after)]


def difference(a: Design, b: Design, operands: Operands) -> str:
    return explain([a, b], operands).closing[-1].removeprefix("first difference: step 1, ")


# c is negative and has bits below its own cut, which lies left of that of the products
ROUNDED_DOWN = Operands((0x3C01, 0xAC00), (0xBC03, 0x1001), 0xB4000001)


def test_products_then_c_rounded_down_as_drawn() -> None:
    assert text(explain([TR], EQUATION_10)) == "\n".join(
        [
            "cdna3/v_mfma_f32_32x32x8_f16",
            "products: e_max = 23 (p0), F = 24: bits below 2^-1 are cut",
            "p4..p7: +0 (no exponent; not given)",
            "         carry int F = 24 fraction bits        ┆lost",
            "             2^23                          2^-1┆    2^-8",
            "p0       - ··· 01.0000 0000 0000 0000 0000 ····┆···· ···   -1 * 2^23",
            "p1       - ··· ··.···· ···· ···· ···· ···· ··01┆0000 000   -1 * 2^-1",
            "p2       - ··· ··.···· ···· ···· ···· ···· ···0┆1000 000   -1 * 2^-2",
            "p3       - ··· ··.···· ···· ···· ···· ···· ····┆0100 000   -1 * 2^-3",
            "           ──────────────────────────────────────────────",
            "products - 000 01.0000 0000 0000 0000 0000 0001┆           -16777217 * 2^-1",
            "lost by the cut: -3 * 2^-3 of p2, p3",
            "",
            "products and c: e_max = 23 (products, c): products are rounded down to multiples",
            "  of 2^-8 (F2 = 31), c to multiples of 2^-1 (F = 24)",
            "                int F2 = 31 fraction bits               ┆",
            "             2^23                                   2^-8┆",
            "products - 000 01.0000 0000 0000 0000 0000 0001 ···· ···┆  -16777217 * 2^-1",
            "c        +      1.0000 0000 0000 0000 0000 000·┆···· ···   +1 * 2^23",
            "           ──────────────────────────────────────────────",
            "sum      -      0.0000 0000 0000 0000 0000 0001 0000 000┆  -1 * 2^-1",
            "d        -      ·.···· ···· ···· ···· ···· ···1 0000 000┆  0xbf000000",
            "rounded down: nothing is lost",
            "conversion rne-fp32: exact",
            "d = 0xbf000000 = -1 * 2^-1",
            "",
            "0 and 1 are bits of a significand, · is outside it; right of ┆ is what is lost",
        ]
    )


def test_terms_of_one_sum_have_cuts_of_their_own() -> None:
    _, join = parts(TR, ROUNDED_DOWN)
    assert [(row.label, row.cut) for row in join.rows[:3]] == [("products", -31), ("c", -24), ("floor", -24)]
    assert join.rows[2].value == "-3 * 2^-24"
    assert join.after[0] == "rounded down: c by 4194303 * 2^-46"
    lines = draw(explain([TR], ROUNDED_DOWN), 100)
    products, c = (next(x for x in reversed(lines) if x.startswith(label)) for label in ("products ", "c "))
    assert c.index("┆") < products.index("┆")


def test_rounding_twice_is_said() -> None:
    words = said(TR.change(late_rounding=LateRounding.TWICE), ROUNDED_DOWN)
    assert any("(F2 + 1 = 32), c to multiples of 2^-24 (F = 24)" in x for x in words)
    assert "first the sum is rounded down to 31 bits below its own highest bit" in words


def test_a_second_rounding_that_the_model_does_not_do_is_not_drawn() -> None:
    """The reading of fpy rounds twice; that has an effect where the sum of the products is rounded down only."""
    design = find_design("cdna3/v_mfma_f32_32x32x8_f16@as=fpy,late_alignment=truncate")
    _, join = parts(design, ROUNDED_DOWN)
    words = "e_max = 0 (products): products are cut to multiples of 2^-31 (F2 = 31), c to multiples of 2^-24 (F = 24)"
    assert join.heading == f"products and c: {words}"
    assert join.fraction == "F2 = 31"
    assert [(row.label, row.cut) for row in join.rows[:2]] == [("products", -31), ("c", -24)]
    assert not [x for x in said(design, ROUNDED_DOWN) if "F2 + 1" in x or x.startswith("first the sum")]
    assert join.after[0] == "lost by the cut: -1 * 2^-46 of c"
    once = TR.change(late_alignment="truncate", zero_product="operand-minus-126")
    assert said(design, ROUNDED_DOWN) == said(once, ROUNDED_DOWN)


# 2^24, and of odd k 1; a product that is not a tie; a subnormal operand; a product of 2^-127
CHAINS = Operands((0x4B80, 0x3F80, 0x3F81, 0x0001, 0x0080), (0x3F80, 0x3F80, 0x3F81, 0x3F80, 0x3F00), 0x3F800000)


def test_two_chains_of_fused_multiply_adds_as_drawn() -> None:
    assert text(explain([AMX], CHAINS)) == "\n".join(
        [
            "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32",
            "even and odd products in two chains from +0, each fused multiply-add is rounded",
            "  by rne-fp32; both sums are added, then c; subnormals are flushed to zero",
            "subnormal operands that read a zero of their sign: a[3] = 0x0001",
            "p3, p5: zero, which leaves its chain unchanged",
            "even + p0   0x4b800000  +1 * 2^24       0x4b80 * 0x3f80",
            "even + p2   0x4b800001  +8388609 * 2^1",
            "            0x3f81 * 0x3f81, rounded from +274877923585 * 2^-14",
            "even + p4   0x4b800001  +8388609 * 2^1  0x0080 * 0x3f00, rounded by 2^-127",
            "odd + p1    0x3f800000  +1 * 2^0        0x3f80 * 0x3f80",
            "even + odd  0x4b800002  +4194305 * 2^2  rounded from +16777219 * 2^0",
            "c           0x3f800000  +1 * 2^0",
            "d           0x4b800002  +4194305 * 2^2  rounded from +16777221 * 2^0",
            "d = 0x4b800002 = +4194305 * 2^2",
        ]
    )


def test_special_values_of_two_chains_are_said() -> None:
    infinities = said(AMX, Operands((0x7F80, 0x7F80, 0x3F80), (0x3F80, 0xBF80, 0x3F80), 0))
    assert "p3: zero, which leaves its chain unchanged" in infinities
    drawn = text(explain([AMX], Operands((0x7F80, 0x7F80), (0x3F80, 0xBF80), 0)))
    assert "even + odd  0x7fc00000  NaN        infinities of both signs" in drawn
    overflow = text(explain([AMX], Operands((0x7F00, 0, 0x7F00), (0x7F00, 0, 0xFF00), 0)))
    assert "0x7f00 * 0x7f00, beyond the largest finite number" in overflow
    flushed = text(explain([AMX], Operands((0x0080,), (0x3F00,), 0)))
    assert "0x0080 * 0x3f00, flushed to zero from +1 * 2^-127" in flushed
    one = find_design("cpu/tdpbf16ps@L=1").one_step()
    assert "odd" in text(explain([one], Operands((0x3F80,), (0x3F80,), 0)))
    rest = (0,) * (32 - len(CHAINS.a))
    whole = Operands(CHAINS.a + rest, CHAINS.b + rest, CHAINS.c)  # the order is that of K = 32
    assert difference(AMX, AMX.change(k_order="mod4:02/13"), whole)


@dataclass(frozen=True)
class UnknownStep(RoundedStep):
    """A kind of step that pictures have not been taught."""


@pytest.mark.parametrize("design", [VOLTA, TREE, SEQUENTIAL, BULK], ids=lambda d: d.family)
def test_a_kind_of_step_that_is_not_known_is_not_drawn(design: Design) -> None:
    (step,) = steps(design, EQUATION_10)
    step.design = replace(design, step=UnknownStep(L=design.step.L, rho=design.step.rho))
    block = step_block(step)
    assert block.heading.startswith("a step of this kind is not drawn bit by bit")
    assert not block.rows
    results = [str(label) for label in step.results]
    assert [x.label for x in block.entries] == [*results, str(step.accumulator_name)]
    assert block.parts[0].after[-1] == step.returned
    assert [part.heading for part in block.below] == ["late addition: c + sum = d"] * step.late


def test_a_sum_whose_terms_are_cut_in_several_ways_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = steps(TR, ROUNDED_DOWN)
    _, join = step.sums
    nearest = replace(join.path_cuts[Addend.C], alignment=Alignment.NEAREST)
    monkeypatch.setitem(join.path_cuts, Addend.C, nearest)
    assert not join.is_cut_in_one_way
    assert "not drawn bit by bit" in step_block(step).heading


def test_even_and_odd_products_are_added_apart() -> None:
    operands = Operands((0x41, 0xC1, 0x0A, 0x83), (0x43, 0x39, 0x8B, 0x0B), 0xB3C00001)
    even, odd, products, join, idle = parts(GTR, operands)
    assert [part.heading.partition(": e_max")[0] for part in (even, odd, products, join)] == [
        "step 1 of 2: even products",
        "odd products",
        "even and odd",
        "products and c",
    ]
    labels = [[row.label for row in part.rows] for part in (even, odd, products, join)]
    assert labels == [
        ["p0", "p2", "even"],
        ["p1", "p3", "odd"],
        ["even", "odd", "products"],
        ["products", "c", "floor", "sum", "d"],
    ]
    assert (even.e_max, odd.e_max, products.e_max, join.e_max) == (0, -1, 0, 0)
    assert all(part.inner for part in (even, odd, products))
    assert idle.heading == "step 2 of 2: products are zero, d = c unchanged"


def test_a_far_c_may_be_dropped() -> None:
    operands = Operands((0x41,), (0x43,), 0x80000001)
    words = [x for x in said(GTR, operands) if "dropped" in x]
    assert words == [
        "c = 0x80000001 = -1 * 2^-149 is dropped: its exponent is more than F + 1 = 25 below that of the products"
    ]
    assert not [x for x in said(GTR.change(far_c=FarC.ROUNDED), operands) if "dropped:" in x]


def test_an_infinite_c_may_be_dropped() -> None:
    design = find_design("cdna3/v_mfma_f32_16x16x32_bf8_bf8@far_c=specials-dropped")
    operands = Operands((0x7F,), (0x7F,), 0x7F800000)
    (words,) = (x for x in said(design, operands) if "dropped" in x)
    assert words == (
        "c = 0x7f800000 = +infinity is dropped: its exponent reads -1, more than F + 1 = 25 below that of the products"
    )
    assert "step 1 of 2: an infinity decides, there is no sum" in said(design.change(far_c=FarC.DROPPED), operands)


def test_operands_of_minus_zero_that_read_plus_zero() -> None:
    design = find_design("cdna2/v_mfma_f32_32x32x4bf16@minus_zero=positive")
    operands = Operands((0x8000, 0x3F80, 0x8000, 0x3F80), (0xBF80, 0x8000, 0xBF80, 0x3F80), 0x80000000)
    assert [x for x in said(design, operands) if "-0" in x] == [
        "operands of -0 that read +0: a[0], b[1], c",
        "operands of -0 that read +0: a[2]",
    ]
    assert not [x for x in said(find_design("cdna2/v_mfma_f32_32x32x4bf16"), operands) if "read +0" in x]


def test_products_that_are_added_to_plus_zero() -> None:
    (step,) = steps(TREE.change(zero_product_sign="plus-zero"), Operands((0x8000,), (0x3C00,), 0))
    block = step_block(step)
    assert block.heading.startswith("adder tree: each product, added to +0, and each sum of two is rounded by rne-fp32")
    assert [(x.label, x.value) for x in block.entries if x.label == "p0"] == [("p0", "+0")]


def test_even_and_odd_sums_with_c_in_one_sum() -> None:
    design = GTR.change(join=Join.FUSED, alignment=Alignment.FLOOR)
    *_, last, _ = parts(design, Operands((0x41, 0x42), (0x43, 0x44), 0x3F800000))
    assert last.heading.startswith("even, odd and c: e_max = ")
    assert [row.label for row in last.rows] == ["even", "odd", "c", "sum", "d"]


def test_products_beyond_the_limit_are_infinite() -> None:
    design = find_design("cdna3/v_mfma_f32_32x32x8_bf16")
    words = said(design, Operands((0x7F00,), (0x7F00,), 0))
    assert "an infinity decides, there is no sum" in words
    assert "p0 = 0x7f00 (+1 * 2^127) * 0x7f00 (+1 * 2^127) is +infinity, for its magnitude is 2^128 or more" in words


def test_groups_show_their_exact_sums_and_scales() -> None:
    operands = Operands((1, 2, 3, 4) * 8, (2, 3, 13, 5) * 8, 0x41C80001, (0x39, 0x38), (0x38, 1))
    (block,) = parts(GST, operands)
    assert block.before == (
        "p0..p15: exact sum +7 * 2^1; scales a 0x39 (9 * 2^-3) and b 0x38 (2^0)",
        "p16..p31: exact sum +7 * 2^1; scales a 0x38 (2^0) and b 0x01 (2^-9)",
        "p32..p47, p48..p63: +0 (exponent -139; not given)",
    )
    rows = [(row.label, row.value, row.operands) for row in block.rows if row.kind is RowKind.TERM]
    assert rows[:2] == [("p0..p15", "+63 * 2^-2", "0x39 * 0x38"), ("p16..p31", "+7 * 2^-8", "0x38 * 0x01")]
    assert draw(explain([GST], operands))[7] == "p0..p15  + 00.1111 1100 0000 ···· ···· ···· ···· ···· ···┆  +63 * 2^-2"


def test_scales_of_products() -> None:
    operands = Operands((0x38,) * 32, (0x3C,) + (0,) * 31, 0, (0x81,), (0x7D,))
    (block,) = parts(ST, operands)
    assert block.before[0] == "scales of every product: a 0x81 (2^2) and b 0x7d (2^-2)"
    assert (block.rows[0].value, block.rows[0].operands) == ("+3 * 2^-1", "0x38 * 0x3c")
    words = said(ST, Operands((0x38,) * 32, (0x38,) * 32, 0, (0xFF,), (0x7F,)))
    assert words[:2] == [
        "a NaN decides, there is no sum",
        "p0 = 0x38 (+1 * 2^0) * 0x38 (+1 * 2^0) * 0xff (NaN) * 0x7f (+1 * 2^0) is NaN",
    ]


def test_permuted_products_and_late_addition() -> None:
    # b[4] is the smallest subnormal of e4m3; c and the sum have 25 bits together
    operands = Operands((0x38,) * 8, (0x38, 0, 0x3C, 0, 1, 0, 0, 0), 0x4B7FFFFF)
    one, two, late = parts(EMULATED, operands)
    assert [row.label for row in one.rows] == ["p0", "p4", "total", "acc"]
    assert [row.label for row in two.rows] == ["p2", "acc", "total", "sum"]
    assert one.before[0] == "widened to fp16, where these subnormals of e4m3 are normal: b[4] = 0x01 = +1 * 2^-9"
    assert one.after[-2:] == (
        "acc goes into the next step; c is added after the last one",
        "acc = 0x3f804000 = +513 * 2^-9",
    )
    assert late.heading == "late addition: c + sum = d"
    assert [(row.label, row.value) for row in late.rows] == [
        ("c", "+16777215 * 2^0"),
        ("sum", "+1281 * 2^-9"),
        ("c+sum", "+8589935361 * 2^-9"),
        ("d", "0x4b800001"),
        ("rest", "+769 * 2^-9"),
    ]
    assert late.after == (
        "rounding to nearest in fp32: bits below 2^1 are dropped, rounded up in magnitude",
        "d = 0x4b800001 = +8388609 * 2^1",
    )
    assert not [x for x in said(EMULATED, Operands((0x38,), (0x38,), 0)) if "widened" in x]


def test_late_addition_of_numbers_far_apart_is_listed() -> None:
    *_, late = parts(BULK, Operands((0x3C00,), (0x3C00,), 0x80000001))
    assert [(x.label, x.value) for x in late.entries] == [
        ("c", "-1 * 2^-149"),
        ("sum", "+1 * 2^0"),
        ("d", "+1 * 2^0"),
    ]
    assert late.after[0] == "c + sum is 2^-149 below d"
    *_, late = parts(BULK, Operands((0x7C00,), (0x3C00,), 0x3F800000))
    assert [x.value for x in late.entries] == ["+1 * 2^0", "+infinity", "+infinity"]


def test_nothing_but_c_is_left_out() -> None:
    zeros = Operands((0,) * 64, (0x38,) * 64, 0x4B7FFFFF)
    (block,) = parts(EMULATED, zeros)
    assert block.heading == "steps 1..4 of 4: products are zero, d = c unchanged"


def test_hundreds_of_fraction_bits_are_folded() -> None:
    lines = draw(explain([EXACT], Operands((0x3C01,), (0x3C01,), 0x3F800001)))
    assert "F = 276" in lines[1]
    assert max(map(len, lines)) <= 80
    assert next(x for x in lines if x.startswith("p0")).endswith("+1050625 * 2^-20")


def test_a_tree_marks_what_rounding_changed() -> None:
    operands = Operands((0x3C00, 0x0001, 0x3C00), (0x3C00, 0x1001, 0x3800), 0x4B800000)
    (block,) = parts(TREE, operands)
    entries = {x.label: (x.value, x.note) for x in block.entries}
    assert entries == {
        "p0": ("+1 * 2^0", "0x3c00 * 0x3c00"),
        "p1": ("+1025 * 2^-45", "0x0001 * 0x1001"),
        "p2": ("+1 * 2^-1", "0x3c00 * 0x3800"),
        "p3": ("+0", "0x0000 * 0x0000"),
        "p0+p1": ("+1 * 2^0", "rounded from +35184372089857 * 2^-45"),
        "p2+p3": ("+1 * 2^-1", ""),
        "p0+p1+p2+p3": ("+3 * 2^-1", ""),
        "c": ("+1 * 2^24", ""),
        "d": ("+8388609 * 2^1", "rounded from +33554435 * 2^-1"),
    }
    assert {x.label: x.patterns for x in block.entries}["p0+p1+p2+p3"] == "0x3fc00000"
    assert block.after == ("d = 0x4b800001 = +8388609 * 2^1",)


def test_a_tree_marks_what_flushing_changed() -> None:
    operands = Operands((0x0100, 0x0001, 0x0100), (0x3F01, 0x3F80, 0x8100), 0x00000001)
    first, _ = parts(FLUSHING, operands)
    assert first.heading.endswith("c is added last; subnormals are flushed to zero")
    assert first.before == ("subnormal operands that read +0: a[1] = 0x0001, c = 0x00000001",)
    notes = {x.label: x.note for x in first.entries}
    assert notes["p2"] == "0x0100 * 0x8100, flushed to zero from -1 * 2^-250"
    assert notes["d"] == ""
    kept = parts(FLUSHING.change(subnormals=Subnormals.KEPT), operands)[0]
    assert {x.label: x.note for x in kept.entries}["p2"] == "0x0100 * 0x8100, rounded from -1 * 2^-250"


def test_a_tree_overflows() -> None:
    operands = Operands((0x7F00, 0x7F00, 0xFF00), (0x7F00, 0x3F80, 0x7F00), 0)
    notes = {x.label: (x.value, x.note) for x in parts(FLUSHING, operands)[0].entries}
    assert notes["p0"] == ("+infinity", "0x7f00 * 0x7f00, beyond the largest finite number")
    assert notes["p0+p1+p2+p3"] == ("NaN", "infinities of both signs")


def test_a_sequential_sum_lists_its_terms() -> None:
    (block,) = parts(SEQUENTIAL, EQUATION_10)
    assert [(x.label, x.value) for x in block.entries] == [
        ("p0", "-1 * 2^23"),
        ("p1", "-1 * 2^-1"),
        ("p2", "-1 * 2^-2"),
        ("p3", "-1 * 2^-3"),
        ("c", "+1 * 2^23"),
    ]
    assert block.heading.endswith("starting with the largest exponent; each addend is cut to F = 23 fraction bits")
    assert block.after == (
        "partial sums are not drawn",
        "the exact sum is -7 * 2^-3; d is above it by 7 * 2^-3",
        "d = 0x00000000 = +0",
    )


@pytest.mark.parametrize(
    ("overflow", "words", "d"),
    [
        (IntegerOverflow.WRAP, "sum = +2147741711, wrapped to 32 bits", "d = 0x8003f00f = -2147225585"),
        (
            IntegerOverflow.SATURATE,
            "sum = +2147741711, limited to what fits in 32 bits",
            "d = 0x7fffffff = +2147483647",
        ),
    ],
)
def test_integers(overflow: IntegerOverflow, words: str, d: str) -> None:
    design = INTEGER.change(integer_overflow=overflow)
    operands = Operands((0x7F,) * 16, (0x7F,) * 16, 0x7FFFFFFF)
    (block,) = parts(design, operands)
    assert [(x.label, x.patterns, x.value) for x in block.entries[-2:]] == [
        ("p15", "0x7f * 0x7f", "+16129"),
        ("c", "0x7fffffff", "+2147483647"),
    ]
    assert block.after == (words, d)


def test_many_integers_stand_in_columns() -> None:
    operands = Operands((0x80, 0, 0xFF, 2) * 2, (0x7F, 3, 0xFF, 2) * 2, 5)
    lines = draw(explain([INTEGER], operands))
    assert lines[1:] == [
        "integer products and c, added exactly",
        "p1, p5, p8..p15: 0",
        "p0  0x80 * 0x7f  -16256   p4  0x80 * 0x7f  -16256   c   0x00000005   +5",
        "p2  0xff * 0xff  +1       p6  0xff * 0xff  +1",
        "p3  0x02 * 0x02  +4       p7  0x02 * 0x02  +4",
        "sum = -32497, fits in 32 bits",
        "d = 0xffff810f = -32497",
    ]


def test_first_difference_between_families() -> None:
    ampere = find_design("ampere/mma.m16n8k8.f32.f16.f16.f32")
    # late, c is rounded down on its own: the products' sum stays the same
    low = Operands((0x3C01, 0xAC00), (0xBC03, 0x1001), 0xB4000001)
    assert difference(TR, ampere, low) == "c is aligned to -3 * 2^-24 in A and to -1 * 2^-23 in B"
    assert difference(TR, TR.change(fraction_bits=12), low).startswith("p0 keeps bits ")
    assert difference(TR, TR.change(late_bits=10), ROUNDED_DOWN).startswith("products is aligned to ")
    wide = find_design("hopper/wgmma.m64n8k32.f32.e4m3.e4m3@fraction_bits=25,rho=rz-fp32")
    assert difference(EMULATED, wide, Operands((0x38,), (0x38,), 0x3FFFFFFF)).endswith(
        " in A and is a term of the sum in B"
    )
    tie = Operands((0x3C00, 0x0001), (0x3C00, 0x3E00), 0)
    assert difference(TREE, VOLTA, tie) == (
        "A is an adder tree and B is a fused sum: A returns 0x3f800001 = +8388609 * 2^-23, "
        "B returns 0x3f800000 = +1 * 2^0"
    )
    flushed = TREE.change(subnormals=Subnormals.FLUSHED)
    assert difference(TREE, flushed, tie) == "A adds p0, p1 and B adds p0"
    cancelling = Operands((0x3C00, 0xBC00), (0x3C00, 0x3C00), 0x00000001)
    assert difference(TREE, flushed, cancelling) == ("A returns 0x00000001 = +1 * 2^-149, B returns 0x00000000 = +0")


def test_first_difference_of_sums_and_integers() -> None:
    operands = Operands((0x7F,) * 16, (0x7F,) * 16, 0x7FFFFFFF)
    saturating = INTEGER.change(integer_overflow=IntegerOverflow.SATURATE)
    assert difference(INTEGER, saturating, operands) == (
        "A returns 0x8003f00f = -2147225585, B returns 0x7fffffff = +2147483647"
    )
    wrapping = GTR.change(carry_bits=0)
    big = Operands((0x47, 0) * 8, (0x47, 0) * 8, 0)
    assert difference(GTR, wrapping, big).startswith("the sum of the even products is ")


def test_exact_sum_of_a_group_times_its_scales_is_the_term() -> None:
    operands = Operands((7,) * 64, (6,) * 64, 0, (0x7F, 0x81), (0x7E, 0x80))
    design = find_design("rtx-blackwell/mma.m16n8k64.block32.f32.e2m1.e2m1.f32.ue8m0")
    (step,) = steps(design, operands)
    assert [*step.terms.values()][:4] == [Fraction(16 * 24, 2)] * 2 + [Fraction(16 * 24 * 8)] * 2
