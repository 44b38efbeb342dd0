"""The columns of a picture: what does not fit is folded, counted or broken into bands, and no set bit is folded."""

from fractions import Fraction

import pytest
from support.pictures import FP64, HOPPER8, SAMPLE, VOLTA, blocks, draw, value

from mmaproof.designs.element import Operands
from mmaproof.explain import explain
from mmaproof.explain.blocks import RowKind
from mmaproof.explain.lines import Fold, Mark, columns, fit


@pytest.mark.middle
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


def test_32_products_of_which_most_are_zero() -> None:
    a = [0x38] * 3 + [0x00] * 20 + [0x80] * 9
    picture = explain([HOPPER8], Operands(tuple(a), (0x38,) * 32, 0x3F800001))
    (block,) = blocks(picture)
    assert block.before == ("p3..p22: +0 (exponent -133)", "p23..p31: -0 (exponent -133)")
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
