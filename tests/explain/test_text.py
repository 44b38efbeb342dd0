"""The drawn picture: it shows what the signals are, at every width and without colour."""

import itertools
import re
from fractions import Fraction

import pytest
from support.pictures import EQUATION_10, SAMPLE, TURING, VOLTA, blocks, draw, row_value, text

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import OperandError
from mmaproof.explain import explain
from mmaproof.explain.blocks import Row, RowKind
from mmaproof.explain.lines import UNICODE, Layout, Mark, block_lines, fit, plain


def test_equation_10_volta_against_turing() -> None:
    picture = explain([VOLTA, TURING], EQUATION_10)
    ((a, b),) = picture.sections
    assert a.heading == "e_max = 23 (p0, c), F = 23: bits below 2^0 are cut"
    assert b.heading == "e_max = 23 (p0, c), F = 24: bits below 2^-1 are cut"
    assert b.before == ("p4..p7: +0 (exponent -132; not given)",)
    assert "lost by the cut: -7 * 2^-3 of p1..p3" in a.after
    assert "lost by the cut: -3 * 2^-3 of p2, p3" in b.after
    assert [row.value for row in a.rows if row.kind is RowKind.SUM] == ["+0"]
    assert [row.value for row in b.rows if row.kind is RowKind.SUM] == ["-1 * 2^-1"]
    assert picture.closing == (
        "A: d = 0x00000000 = +0",
        "B: d = 0xbf000000 = -1 * 2^-1",
        "first difference: step 1, p1 keeps bit 2^-1 in B and loses it in A",
    )


def test_equation_10_as_drawn() -> None:
    assert text(explain([VOLTA], EQUATION_10)) == "\n".join(
        [
            "volta/mma.m8n8k4.f32.f16.f16.f32",
            "e_max = 23 (p0, c), F = 23: bits below 2^0 are cut",
            "    carry int F = 23 fraction bits       ┆lost",
            "        2^23                          2^0┆",
            "p0  - ··· 01.0000 0000 0000 0000 0000 ···┆···  -1 * 2^23   0xf000 * 0x6400",
            "p1  - ··· ··.···· ···· ···· ···· ···· ··0┆100  -1 * 2^-1   0xb800 * 0x3c00",
            "p2  - ··· ··.···· ···· ···· ···· ···· ···┆010  -1 * 2^-2   0xb400 * 0x3c00",
            "p3  - ··· ··.···· ···· ···· ···· ···· ···┆·01  -1 * 2^-3   0xb000 * 0x3c00",
            "c   + ··· ·1.0000 0000 0000 0000 0000 000┆···  +1 * 2^23   0x4b000000",
            "      ───────────────────────────────────────",
            "sum + 000 00.0000 0000 0000 0000 0000 000┆     +0",
            "d   + ··· ··.···· ···· ···· ···· ···· ···┆     0x00000000",
            "lost by the cut: -7 * 2^-3 of p1..p3",
            "conversion rz-fp32: exact",
            "d = 0x00000000 = +0",
            "",
            "0 and 1 are bits of a significand, · is outside it; right of ┆ is what is lost",
        ]
    )


def test_ascii_needs_no_other_character() -> None:
    lines = draw(explain([VOLTA], EQUATION_10), encoding="ascii")
    assert lines[5].startswith("p1  - ___ __.____ ____ ____ ____ ____ __0|100")


def test_stacked_designs_share_columns() -> None:
    lines = draw(explain([VOLTA, TURING], EQUATION_10))
    a, b = ([line for line in lines if line.startswith("c ")][i] for i in (0, 1))
    assert a.index(".") == b.index(".")
    assert b.index("┆") == a.index("┆") + 2  # one bit more, and the place of the other's cut


def test_wide_console_puts_designs_side_by_side() -> None:
    lines = draw(explain([VOLTA, TURING], EQUATION_10), 160)
    assert "volta/" in lines[0] and "turing/" in lines[0]
    assert sum(line.count("p1  -") for line in lines) == 2
    assert max(line.count("p1  -") for line in lines) == 2


def test_style_is_not_needed() -> None:
    picture = explain([VOLTA], EQUATION_10)
    plain = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in draw(picture, color=True)]
    assert draw(picture, color=True) != plain
    assert plain == draw(picture)


def read_back(row: Row, line: str, layout: Layout) -> Fraction:
    """Add up the weights of the ones of a drawn line."""
    (band,) = layout.bands
    starts = itertools.accumulate((column.width for column in band), initial=layout.labels + 3)
    ones = (c.weight for c, x in zip(band, starts, strict=False) if c.mark is Mark.BITS and line[x : x + 1] == "1")
    total = sum((Fraction(2) ** w for w in ones), Fraction(0))
    return -total if line[layout.labels + 1] == "-" else total


@pytest.mark.middle
def test_ones_of_a_line_add_up_to_its_value() -> None:
    for design, operands in SAMPLE[::3]:
        for block in blocks(explain([design], operands)):
            if block.rows:
                layout = fit([block], 6000)
                lines = [plain(line) for line in block_lines(block, layout, 6000, UNICODE)]
                lines = [line for line in lines if line[layout.labels + 1 : layout.labels + 2] in {"+", "-"}]
                drawn = [line for line in lines if line[: layout.labels].strip() in {r.label for r in block.rows}]
                for row, line in zip(block.rows, drawn, strict=True):
                    assert read_back(row, line, layout) == row_value(row)


WIDTHS = (40, 60, 80, 100, 200)


@pytest.mark.slow
def test_every_line_fits() -> None:
    for number, (design, operands) in enumerate(SAMPLE):
        width, encoding = WIDTHS[number % 5], ("utf-8", "ascii")[number // 5 % 2]
        lines = draw(explain([design], operands), width, encoding, color=number % 3 == 0)
        plain = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in lines]
        assert max(map(len, plain)) <= width
        assert encoding != "ascii" or all(line.isascii() for line in plain)


@pytest.mark.slow
def test_every_line_of_two_designs_fits() -> None:
    for number, (design, operands) in enumerate(SAMPLE[:120]):
        other = design.change(fraction_bits=design.step.kept_bits - 1, carry_bits=None)
        width = (60, 80, 160, 200)[number % 4]
        lines = draw(explain([design, other], operands), width)
        assert max(map(len, lines)) <= width
        assert any("difference" in line for line in lines)


@pytest.mark.middle
def test_no_rounded_decimals() -> None:
    for design, operands in SAMPLE:
        picture = explain([design, design.change(fraction_bits=9)], operands)
        for block in blocks(picture):
            words = [block.title, block.heading, *block.before, *block.after]
            words += [x for row in block.rows for x in (row.label, row.value, row.operands)]
            assert not [
                w
                for w in (*words, *picture.closing)
                if re.search(r"\d\.\d|\de[+-]?\d|\dp[+-]?\d", re.sub("0x[0-9a-f]+", "", w))
            ]


def test_operands_that_do_not_fit() -> None:
    with pytest.raises(OperandError):
        explain([VOLTA], Operands((0x10000,), (0,), 0))
