"""What is drawn of terms that are added as their inverted bits, because their sign is not that of c."""

from support.pictures import text

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.explain import explain

F16, BF16 = find_design("rdna3.5/v_dot2_f32_f16"), find_design("rdna3.5/v_dot2_f32_bf16")


def test_inverted_products_as_drawn() -> None:
    """3*8 + 8*4 - 1, of ROCm/rocm-systems issue 12056."""
    assert text(explain([F16], Operands((0x4200, 0x4800), (0x4800, 0x4400), 0xBF800000))) == "\n".join(
        [
            "rdna3.5/v_dot2_f32_f16.m1n1k2",
            "e_max = 5 (p1), F = 24: bits below 2^-19 are cut",
            "c keeps 2 bits more than F: it is aligned with an exponent 2 lower",
            "          carry int F = 24 fraction bits        ┆",
            "               2^5                         2^-19┆",
            "p0         + ·· ·0.1100 0000 0000 0000 0000 0···┆  +3 * 2^3",
            "complement + ·· ··.1100 0000 0000 0000 0000 0001┆  +12582913 * 2^-19",
            "p1         + ·· 01.0000 0000 0000 0000 0000 ····┆  +1 * 2^5",
            "complement + ·· ·1.0000 0000 0000 0000 0000 0001┆  +16777217 * 2^-19",
            "c          - ·· ··.···· 1000 0000 0000 0000 0000┆  -1 * 2^0",
            "             ────────────────────────────────────",
            "sum        + 00 01.1011 1000 0000 0000 0000 0010┆  +14417921 * 2^-18",
            "d          + ·· ·1.1011 1000 0000 0000 0000 001·┆  0x425c0001",
            "lost by the cut: nothing",
            "complement: inverted, not negated, p0, p1 are each 2^-19 further from c",
            "conversion rne-fp32: exact",
            "d = 0x425c0001 = +14417921 * 2^-18",
            "",
            "0 and 1 are bits of a significand, · is outside it; right of ┆ is what is lost",
        ]
    )


def test_a_zero_of_the_other_sign_is_drawn() -> None:
    drawn = text(explain([F16], Operands((0xBC00, 0x3C00), (0x0000, 0x3C00), 0))).splitlines()
    assert "complement - ·· ··.···· ···· ···· ···· ···· ···1┆  -1 * 2^-24" in drawn
    assert "complement: inverted, not negated, p0 is 2^-24 further from c" in drawn
    assert not any(line.startswith("c keeps") for line in drawn), "c is zero"


def test_nothing_is_inverted_if_every_term_is_zero() -> None:
    drawn = text(explain([F16], Operands((0x8000, 0), (0x3C00, 0), 0)))
    assert "products are zero, d = c unchanged" in drawn
    assert "complement" not in drawn


def test_a_flushed_result_is_drawn_as_the_zero_that_it_becomes() -> None:
    drawn = text(explain([BF16], Operands((0x0080, 0), (0xBF00, 0), 0)))
    assert "conversion rne-fp32: below the smallest normal number, flushed to zero" in drawn
    assert "d = 0x00000000 = +0" in drawn


def test_a_c_below_one_unit_is_said_to_be_dropped() -> None:
    design = find_design("rdna4/v_dot2_f32_f16")
    drawn = text(explain([design], Operands((0x3C00, 0), (0x3C00, 0), 0xA3800001)))
    assert "products are rounded down to multiples of 2^-24 (F = 24), c to" in drawn.replace("\n  ", " ")
    assert "c = 0xa3800001 = -8388609 * 2^-79 is dropped: it is below 2^-24" in drawn
    assert "is dropped" not in text(explain([design], Operands((0x3C00, 0), (0x3C00, 0), 0xBF800001)))
    assert all(len(line) <= 80 for line in drawn.splitlines())
