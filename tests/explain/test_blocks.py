"""What there is to draw of a step: the rows are the signals, and the words say what happened to them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from support.pictures import (
    AMPERE,
    EQUATION_10,
    HOPPER8,
    SAMPLE,
    VOLTA,
    VOLTA16,
    blocks,
    draw,
    row_value,
    steps,
    text,
    value,
)

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.readings import Alignment, Overflow
from mmaproof.explain import explain
from mmaproof.explain.blocks import Block, RowKind
from mmaproof.explain.steps import Step


def pieces(design: Design, operands: Operands) -> Iterator[tuple[Step, Block]]:
    """Steps with the blocks that draw them."""
    drawn = [block for block in blocks(explain([design], operands)) if block.rows]
    walk = [s for s in steps(design, operands) if not s.idle() and not s.decided and any(s.terms.values())]
    yield from zip(walk, drawn, strict=True)


def check_rows(step: Step, block: Block) -> None:
    rows = {(row.kind, row.label): row for row in block.rows}
    for label, term in step.terms.items():
        row = rows.get((RowKind.TERM, str(label)))
        assert (row is None) == (term == 0)
        if row:
            assert row_value(row) == term == value(row.value)
    held = {str(label): x for label, x in step.aligned.items()}
    for aligned, name in ((r, block.rows[i - 1].label) for i, r in enumerate(block.rows) if r.kind is RowKind.ALIGNED):
        assert row_value(aligned) == held[name] == value(aligned.value)
    total = rows[RowKind.SUM, "sum"]
    assert row_value(total) == step.total == value(total.value)
    result, rest = rows.get((RowKind.RESULT, "d")), rows.get((RowKind.DROPPED, "rest"))
    assert (result is None) == step.beyond
    if result:
        kept = row_value(result)
        assert kept == step.d
        assert block.after[-1] == f"d = {step.result}"
        assert value(step.result.split(" = ")[1]) == kept
        dropped = row_value(rest) if rest else Fraction(0)
        unit = Fraction(2) ** step.rounded
        assert step.total - dropped in {kept, kept - unit, kept + unit}
        assert any("exact" in words for words in block.after) == (kept == step.total)


@pytest.mark.middle
def test_rows_hold_the_signals() -> None:
    kinds = set()
    for design, operands in SAMPLE:
        for step, block in pieces(design, operands):
            check_rows(step, block)
            kinds |= {row.kind for row in block.rows}
    assert kinds == set(RowKind)


def test_nothing_but_zeros() -> None:
    zeros = Operands((0,) * 4, (0x3C00,) * 4, 0)
    assert text(explain([VOLTA], zeros)) == (
        "volta/mma.m8n8k4.f32.f16.f16.f32\nproducts are zero, d = c unchanged\nd = 0x00000000 = +0"
    )
    minus = Operands((0,) * 4, (0xBC00,) * 4, 1 << 31)
    (block,) = blocks(explain([VOLTA], minus))
    assert block.heading == "every term is zero"
    assert block.before == ("p0..p3, c: -0 (exponent -131)",)
    assert block.after == ("d = 0x00000000 = +0",)


@pytest.mark.parametrize(
    ("a0", "b0", "c", "lines"),
    [
        (
            0x7C00,
            0x0000,
            0x3F800000,
            ["a NaN decides, there is no sum", "p0 = 0x7c00 (+infinity) * 0x0000 (+0) is NaN", "d = 0x7fffffff = NaN"],
        ),
        (
            0x7E01,
            0x3C00,
            0x7F800000,
            ["a NaN decides, there is no sum", "p0 = 0x7e01 (NaN) * 0x3c00 (+1 * 2^0) is NaN", "d = 0x7fffffff = NaN"],
        ),
        (
            0xFC00,
            0x3C00,
            0x3F800000,
            [
                "an infinity decides, there is no sum",
                "p0 = 0xfc00 (-infinity) * 0x3c00 (+1 * 2^0) is -infinity",
                "d = 0xff800000 = -infinity",
            ],
        ),
        (
            0xFC00,
            0xBC00,
            0xFF800000,
            [
                "infinities of both signs make a NaN, there is no sum",
                "p0 = 0xfc00 (-infinity) * 0xbc00 (-1 * 2^0) is +infinity",
                "c = 0xff800000 is -infinity",
                "d = 0x7fffffff = NaN",
            ],
        ),
    ],
)
def test_special_values_name_their_operands(a0: int, b0: int, c: int, lines: list[str]) -> None:
    picture = explain([VOLTA], Operands((a0, 0x3C00), (b0, 0x3C00), c))
    assert draw(picture)[1:] == lines


def test_many_special_operands_are_folded() -> None:
    lines = draw(explain([HOPPER8], Operands((0x7F,) * 32, (0x38,) * 32, 0)))
    assert lines[-2] == "and p4..p31"
    assert len(lines) == 8


def test_special_in_a_chain_is_passed_on() -> None:
    operands = Operands((0x7C00,) + (0x3C00,) * 11, (0x3C00,) * 12, 0)
    _, rest = blocks(explain([VOLTA], operands))
    assert rest.heading == "steps 2..3 of 3: c is +infinity, d = c unchanged"


def said(design: Design, operands: Operands) -> Sequence[str]:
    return [words for block in blocks(explain([design], operands)) for words in block.after]


@pytest.mark.parametrize(
    ("c", "product", "words"),
    [
        (0x3C00, 0x1000, "bits below 2^-10 are dropped, a tie, rounded down in magnitude to even"),
        (0x3C01, 0x1000, "bits below 2^-10 are dropped, a tie, rounded up in magnitude to even"),
        (0x3C00, 0x1001, "bits below 2^-10 are dropped, rounded up in magnitude"),
        (0x3C00, 0x0C00, "bits below 2^-10 are dropped, rounded down in magnitude"),
        (0x3C00, 0x1400, "exact"),
        (0x0001, 0x0001, "exact"),
        (0x7BFF, 0x7BFF, "the sum is beyond the largest finite number, 0x7bff"),
    ],
)
def test_rounding_of_the_conversion(c: int, product: int, words: str) -> None:
    assert f"conversion rne-fp16: {words}" in said(VOLTA16, Operands((product,), (0x3C00,), c))


def test_saturation_is_said() -> None:
    design = AMPERE.change(overflow=Overflow.LARGEST_FINITE)
    words = said(design, Operands((0x7F7F,), (0x7F7F,), 0x7F7FFFFF))[:-1]
    assert words[-2:] == [
        "conversion rz-fp32: the sum is beyond the largest finite number, 0x7f7fffff",
        "d = 0x7f7fffff = +16777215 * 2^104",
    ]


def test_wrapped_register_is_said() -> None:
    operands = Operands((0x3E00,) * 4, (0x3E00,) * 4, 0)
    assert not [w for w in said(VOLTA, operands) if "wrapped" in w]
    words = said(VOLTA.change(carry_bits=0), operands)
    assert "the register of 26 bits wrapped: the aligned terms make +9 * 2^0" in words
    assert words[-1].endswith("= +1 * 2^0")


def test_floor_has_a_row_of_its_own() -> None:
    design = VOLTA.change(alignment=Alignment.FLOOR)
    (block,) = blocks(explain([design], EQUATION_10))
    assert [row.label for row in block.rows][:4] == ["p0", "p1", "floor", "p2"]
    assert value(block.rows[2].value) == -1
    assert any(words.startswith("floor: ") for words in block.after)


def test_a_term_rounded_up_has_a_row_of_its_own() -> None:
    # c = 1 and products of 1, 3, -3 and 2 quarters of a unit of F = 23
    design = VOLTA.change(alignment=Alignment.NEAREST)
    operands = Operands((0x1400, 0x1A00, 0x9A00, 0x1800), (0x0200,) * 4, 0x3F800000)
    (block,) = blocks(explain([design], operands))
    assert block.heading == "e_max = 0 (c), F = 23: all are rounded to multiples of 2^-23"
    assert [row.label for row in block.rows][:6] == ["p0", "p1", "nearest", "p2", "nearest", "p3"]
    assert [value(block.rows[i].value) * 2**23 for i in (2, 4)] == [1, -1]
    assert "rounded to nearest, ties to even: p1, p2 up and p0, p3 down in magnitude" in block.after
