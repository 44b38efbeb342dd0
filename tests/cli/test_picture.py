"""The picture of the bits: what is drawn is what the signals are, at every width and without colour."""

import io
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from rich.console import Console

from mmaproof.cli.picture import (
    UNICODE,
    Block,
    Fold,
    Layout,
    Mark,
    Picture,
    Row,
    RowKind,
    Step,
    block_text,
    columns,
    exact,
    explain,
    fit,
    pattern_value,
)
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import OperandError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import Operands
from mmaproof.designs.parameters import Alignment, ChainInfinity, Overflow
from mmaproof.smt.evaluate import trace

VOLTA = find_design("volta/f32.f16.f16.f32")
TURING = find_design("turing/f32.f16.f16.f32")
HOPPER8 = find_design("hopper/wgmma.f32.e4m3.e4m3")
FP64 = find_design("ampere/mma.m8n8k4.f64.f64.f64.f64")
AMPERE = find_design("ampere/mma.m16n8k16.f32.bf16.bf16.f32")
VOLTA16 = find_design("volta/mma.m8n8k4.f16.f16.f16.f16")

# Xie et al. 2026, equation 10: a = -2^13, -0.5, -0.25, -0.125; b = 2^10, 1, 1, 1; c = 2^23
EQUATION_10 = Operands((0xF000, 0xB800, 0xB400, 0xB000), (0x6400, 0x3C00, 0x3C00, 0x3C00), 0x4B000000)


def draw(picture: Picture, width: int = 80, encoding: str = "utf-8", color: bool = False) -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    console = Console(file=file, width=width, force_terminal=color, no_color=not color)
    console.print(picture)
    file.seek(0)
    return file.read().splitlines()


def text(picture: Picture, width: int = 80) -> str:
    return "\n".join(line.rstrip() for line in draw(picture, width))


def value(words: str) -> Fraction:
    """Read an exact value."""
    if words in {"+0", "-0"}:
        return Fraction(0)
    found = re.fullmatch(r"([+-])(\d*[13579]) \* 2\^(-?\d+)", words)
    assert found, f"{words!r} is no sign, odd significand and power of two"
    return Fraction(int(found[1] + found[2])) * Fraction(Fraction(2) ** int(found[3]))


def blocks(picture: Picture) -> list[Block]:
    return [block for section in picture.sections for block in section]


def steps(design: Design, operands: Operands) -> list[Step]:
    found = trace(design, operands).steps
    return [Step("", design, operands, found, i) for i in range(len(found))]


def row_value(row: Row) -> Fraction:
    return Fraction(-1 if row.sign == "-" else 1) * row.integer * Fraction(2) ** row.scale


def sample() -> Iterator[tuple[Design, Operands]]:
    """300 operands: any patterns, close exponents, many zeros, and the specials among them."""
    rng = random.Random(20260)
    designs = [VOLTA, TURING, HOPPER8, FP64, VOLTA16]
    designs += map(
        find_design,
        (
            "ada/mma.m16n8k16.f16.e5m2.e4m3.f16",
            "ampere/mma.m16n8k8.f32.tf32.tf32.f32",
            "hopper/mma.m16n8k16.f32.bf16.bf16.f32",
            "hopper/mma.m16n8k16.f32.f16.f16.f32@alignment=floor,carry_bits=0",
            "turing/f32.f16.f16.f32@zero_c=absent,zero_product=absent,floor=-20,overflow=largest-finite",
        ),
    )
    for design, mode in itertools.islice(itertools.cycle(itertools.product(designs, range(4))), 300):
        k = rng.choice([1, design.k, 2 * design.k])

        def pick(fmt_index: int, design: Design = design, mode: int = mode) -> int:
            fmt = design.formats[fmt_index]
            pattern = rng.getrandbits(fmt.bits)
            if mode == 1 or (mode == 2 and rng.random() < 0.6):
                near = rng.randint(fmt.bias - 3, fmt.bias + 1) << (fmt.fraction_bits + fmt.ignored_bits)
                pattern = pattern & (1 << fmt.sign_position | (1 << fmt.fraction_bits + fmt.ignored_bits) - 1) | near
            elif mode == 2:
                pattern = rng.choice([0, 1 << fmt.sign_position, 1, fmt.max_finite])
            elif mode == 3 and rng.random() < 0.02:
                pattern = fmt.quiet_nan if fmt.infinity is None else rng.choice([fmt.quiet_nan, fmt.infinity])
            return pattern

        yield design, Operands(tuple(pick(0) for _ in range(k)), tuple(pick(1) for _ in range(k)), pick(2))


SAMPLE = list(sample())
random.Random(1).shuffle(SAMPLE)


# --- exact values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (Fraction(0), "+0"),
        (Fraction(-12), "-3 * 2^2"),
        (Fraction(1), "+1 * 2^0"),
        (Fraction(-7, 8), "-7 * 2^-3"),
        (Fraction(5, 1 << 149), "+5 * 2^-149"),
    ],
)
def test_exact(number: Fraction, words: str) -> None:
    assert exact(number) == words
    assert value(words) == number


def test_pattern_values() -> None:
    fp16, e4m3 = FORMATS["fp16"], FORMATS["e4m3"]
    patterns = (0x0000, 0x8000, 0x0001, 0xBE00, 0x7C00, 0xFC00, 0x7E00)
    assert [pattern_value(fp16, x) for x in patterns] == [
        "+0",
        "-0",
        "+1 * 2^-24",
        "-3 * 2^-1",
        "+infinity",
        "-infinity",
        "NaN",
    ]
    assert pattern_value(e4m3, 0x7F) == "NaN"


# --- equation (10) ---------------------------------------------------------------------------------------------------


def test_equation_10_volta_against_turing() -> None:
    picture = explain([VOLTA, TURING], EQUATION_10)
    ((a, b),) = picture.sections
    assert a.heading == "e_max = 23 (p0, c), F = 23: bits below 2^0 are cut"
    assert b.heading == "e_max = 23 (p0, c), F = 24: bits below 2^-1 are cut"
    assert b.before == ("p4..p7: +0 (exponent -252; not given)",)
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


# --- what is drawn is what the signals are ---------------------------------------------------------------------------


def pieces(design: Design, operands: Operands) -> Iterator[tuple[Step, Block]]:
    """Steps with the blocks that draw them."""
    drawn = [block for block in blocks(explain([design], operands)) if block.rows]
    walk = [s for s in steps(design, operands) if not s.idle() and not s.decided and any(s.terms.values())]
    yield from zip(walk, drawn, strict=True)


def check_rows(step: Step, block: Block) -> None:
    rows = {(row.kind, row.label): row for row in block.rows}
    for label, term in step.terms.items():
        row = rows.get((RowKind.TERM, label))
        assert (row is None) == (term == 0)
        if row:
            assert row_value(row) == term == value(row.value)
    for aligned, label in ((r, block.rows[i - 1].label) for i, r in enumerate(block.rows) if r.kind is RowKind.ALIGNED):
        assert row_value(aligned) == step.aligned[label] == value(aligned.value)
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


def test_rows_hold_the_signals() -> None:
    kinds = set()
    for design, operands in SAMPLE:
        for step, block in pieces(design, operands):
            check_rows(step, block)
            kinds |= {row.kind for row in block.rows}
    assert kinds == set(RowKind)


def read_back(row: Row, line: str, layout: Layout) -> Fraction:
    """Add up the weights of the ones of a drawn line."""
    (band,) = layout.bands
    starts = itertools.accumulate((column.width for column in band), initial=layout.labels + 3)
    ones = (c.weight for c, x in zip(band, starts, strict=False) if c.mark is Mark.BITS and line[x : x + 1] == "1")
    total = sum((Fraction(2) ** w for w in ones), Fraction(0))
    return -total if line[layout.labels + 1] == "-" else total


def test_ones_of_a_line_add_up_to_its_value() -> None:
    for design, operands in SAMPLE[::3]:
        for block in blocks(explain([design], operands)):
            if block.rows:
                layout = fit([block], 6000)
                lines = [line.plain for line in block_text(block, layout, 6000, UNICODE)]
                lines = [line for line in lines if line[layout.labels + 1 : layout.labels + 2] in {"+", "-"}]
                drawn = [line for line in lines if line[: layout.labels].strip() in {r.label for r in block.rows}]
                for row, line in zip(block.rows, drawn, strict=True):
                    assert read_back(row, line, layout) == row_value(row)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_fold_hides_a_one(width: int) -> None:
    hidden = folds = bands = 0
    for design, operands in SAMPLE[:120]:
        for block in blocks(explain([design], operands)):
            if not block.rows:
                continue
            layout = fit([block], width)
            shown = {c.weight for band in layout.bands for c in band if c.mark is Mark.BITS and not c.folded}
            folds += any(c.folded for band in layout.bands for c in band)
            bands += len(layout.bands) > 1
            for row in block.rows:
                ones = {row.scale + i for i in range(row.integer.bit_length()) if row.integer >> i & 1}
                below = {w for w in ones if w < layout.lowest}
                assert ones - below <= shown
                # only bits that the cut lost are counted instead of drawn
                assert all(w < block.cut for w in below) and (not below or row.kind is RowKind.TERM)
                hidden += bool(below)
    assert hidden and folds
    assert bands or width > 60


WIDTHS = (40, 60, 80, 100, 200)


def test_every_line_fits() -> None:
    for number, (design, operands) in enumerate(SAMPLE):
        width, encoding = WIDTHS[number % 5], ("utf-8", "ascii")[number // 5 % 2]
        lines = draw(explain([design], operands), width, encoding, color=number % 3 == 0)
        plain = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in lines]
        assert max(map(len, plain)) <= width
        assert encoding != "ascii" or all(line.isascii() for line in plain)


def test_every_line_of_two_designs_fits() -> None:
    for number, (design, operands) in enumerate(SAMPLE[:120]):
        other = design.change(fraction_bits=design.parameters.fraction_bits - 1, carry_bits=None)
        width = (60, 80, 160, 200)[number % 4]
        lines = draw(explain([design, other], operands), width)
        assert max(map(len, lines)) <= width
        assert any("difference" in line for line in lines)


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


# --- folding ---------------------------------------------------------------------------------------------------------


def test_32_products_of_which_most_are_zero() -> None:
    a = [0x38] * 3 + [0x00] * 20 + [0x80] * 9
    picture = explain([HOPPER8], Operands(tuple(a), (0x38,) * 32, 0x3F800001))
    (block,) = blocks(picture)
    assert block.before == ("p3..p22: +0 (exponent -126)", "p23..p31: -0 (exponent -126)")
    assert [row.label for row in block.rows] == ["p0", "p1", "p2", "c", "sum", "d"]
    assert len(draw(picture)) < 20


def test_columns_without_ones_fold() -> None:
    # the product 2^-20 is far below c = 2^30
    operands = Operands((0x1400,), (0x1400,), 0x4E800000)
    (block,) = blocks(explain([VOLTA], operands))
    every, folded = columns([block]), columns([block], Fold.FRACTION)
    assert sum(c.folded or 1 for c in folded) == len(every)
    assert [c.folded for c in folded if c.folded] == [23, 26]


def test_fp64_fits_80_columns() -> None:
    # both exact significands are long: p0 has 106 bits, p1 is far below and jams
    operands = Operands(
        (0x3FFFFFFFFFFFFFFF, 0x0008000000000000), (0x3FF5555555555555, 0x1CA8000000000000), 0x3FF0000000000000
    )
    picture = explain([FP64], operands)
    first, second, idle = blocks(picture)
    assert len(fit([first], 80).bands) == 2
    assert [row.label for row in second.rows] == ["p1", "jam", "c", "sum", "d", "rest"]
    assert value(second.rows[0].value) == Fraction(3) / 2**1589
    assert "lost by the cut: +3 * 2^-1589 of p1" in second.after
    assert idle.heading == "steps 3..4 of 4: products are zero, d = c unchanged"
    assert max(map(len, draw(picture))) <= 80


# --- zeros and special values ----------------------------------------------------------------------------------------


def test_nothing_but_zeros() -> None:
    zeros = Operands((0,) * 4, (0x3C00,) * 4, 0)
    assert text(explain([VOLTA], zeros)) == (
        "volta/mma.m8n8k4.f32.f16.f16.f32\nproducts are zero, d = c unchanged\nd = 0x00000000 = +0"
    )
    minus = Operands((0,) * 4, (0xBC00,) * 4, 1 << 31)
    (block,) = blocks(explain([VOLTA], minus))
    assert block.heading == "every term is zero"
    assert block.before == ("p0..p3, c: -0 (exponents -126 to -126)".replace("s -126 to -126", " -126"),)
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


def test_infinity_of_the_step_before_may_be_a_number() -> None:
    # c overflows in step 1; in step 2 an infinite product decides, and c only where it stays an infinity
    operands = Operands((0x7F7F,) * 8 + (0x7F80,) + (0,) * 7, (0x7F7F,) * 8 + (0x3F80,) * 8, 0x7F7FFFFF)
    for reading, labels in ((ChainInfinity.INFINITE, ["p8", "c"]), (ChainInfinity.FINITE, ["p8"])):
        first, second = steps(AMPERE.change(chain_infinity=reading), operands)
        assert first.beyond and not first.decided
        assert [*second.special_terms()] == labels


# --- what is said ----------------------------------------------------------------------------------------------------


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


# --- the first difference --------------------------------------------------------------------------------------------


def difference(a: Design, b: Design, operands: Operands) -> str:
    return explain([a, b], operands).closing[-1]


def test_first_difference_names_the_stage() -> None:
    floor = VOLTA.change(alignment=Alignment.FLOOR)
    assert difference(VOLTA, floor, EQUATION_10) == (
        "first difference: step 1, p1 is aligned to +0 in A and to -1 * 2^0 in B (p2, p3 differ too)"
    )
    assert difference(VOLTA, VOLTA.change(floor=30), EQUATION_10) == "no difference: A and B return 0x00000000 = +0"
    ones = Operands((0x3C01,), (0x3C01,), 0)
    assert difference(VOLTA, VOLTA.change(floor=10), ones) == "first difference: step 1, e_max is 0 in A and 10 in B"
    big = Operands((0x3E00,) * 4, (0x3E00,) * 4, 0)
    assert difference(VOLTA, VOLTA.change(carry_bits=0), big) == (
        "first difference: step 1, the sum is +9 * 2^0 in A and +1 * 2^0 in B"
    )
    over = Operands((0x7F7F,), (0x7F7F,), 0x7F7FFFFF)
    assert difference(AMPERE, AMPERE.change(overflow=Overflow.LARGEST_FINITE), over).endswith(
        "A returns 0x7f800000 = +infinity, B returns 0x7f7fffff = +16777215 * 2^104"
    )
    nan = Operands((0x7E00,), (0x3C00,), 0)
    quiet = find_design("volta/f32.f16.f16.f32@nan_code=quiet")
    assert "special values: A returns 0x7fffffff = NaN, B returns 0x7fc00000 = NaN" in difference(VOLTA, quiet, nan)


def test_first_difference_where_steps_add_different_products() -> None:
    operands = Operands((0x3C00,) * 8, (0x3800,) * 8, 0x4B000000)
    words = difference(VOLTA, TURING, operands)
    assert words == "first difference: step 1, A adds p0..p3 and B adds p0..p7"


def test_steps_that_add_nothing_do_not_hide_the_stage() -> None:
    # Volta takes two steps of four and Turing one of eight: only p5 is not zero
    operands = Operands((0,) * 5 + (0x38AB, 0, 0), (0,) * 5 + (0x3483, 0, 0), 0xC0000000)
    picture = explain([VOLTA, TURING], operands)
    assert [len(section) for section in picture.sections] == [1, 2]
    assert picture.closing[-1] == ("first difference: step 2 of A, 1 of B, p5 keeps bit 2^-23 in B and loses it in A")


def test_c_alone_may_differ() -> None:
    # the conversion to E8M13 cuts c; FP32 keeps it
    wide = HOPPER8.change(fraction_bits=25, rho="rz-fp32")
    words = difference(HOPPER8, wide, Operands((0,) * 32, (0,) * 32, 0x3F800001))
    assert words == "first difference: step 1, c keeps bit 2^-23 in B and loses it in A"


def test_every_difference_is_explained() -> None:
    differences = 0
    for design, operands in SAMPLE:
        other = design.change(fraction_bits=design.parameters.fraction_bits - 2)
        a, b = (trace(x, operands).d.data for x in (design, other))
        words = difference(design, other, operands)
        assert words.startswith("no difference") == (a == b)
        differences += a != b
    assert differences > 20


def test_operands_that_do_not_fit() -> None:
    with pytest.raises(OperandError):
        explain([VOLTA], Operands((0x10000,), (0,), 0))
