"""Pictures of Arm's instructions: rounded trees, a c that is added exactly, and shifted products."""

import pytest
from support.pictures import draw

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.explain import explain

FP8 = ((0x7E, 0xFE, 0x01, 0x38), (0x7E, 0x7E, 0x01, 0x38), 0x3DC22488)
PAIR = ((0x3F80, 0x3380), (0x3F80, 0x3F80), 0x40400001)

SAID = [
    ("bfdot", PAIR, "each product and each sum of two is rounded by rto-fp32, c is added last"),
    ("bfdot", PAIR, "p0+p1  0x3f800001  +8388609 * 2^-23   rounded from +16777217 * 2^-24"),
    ("bfdot-ebf@rho=rtp-fp32", PAIR, "rounding rtp in fp32: bits below 2^-21 are dropped, rounded up"),
    ("fdot.f32.e4m3.e4m3.f32", FP8, "products and c: e_max = 0 (products): products are cut"),
    ("fdot.f32.e4m3.e4m3.f32@product_shift=-4", FP8, "each product is multiplied with 2^-4 before it is aligned"),
    (
        "fdot.f16.e5m2.e5m2.f16@overflow=largest-finite",
        ((0x7B, 0), (0x7B, 0), 0),
        "conversion rne-fp16: the sum is beyond the largest finite number, 0x7bff",
    ),
    (
        "bfdot-ebf@subnormals=flushed,flushed_sign=kept,tininess=exact",
        ((0x0080, 0x9180), (0x3F80, 0x2180), 0),
        "conversion rne-fp32: below the smallest normal number, flushed to zero",
    ),
]


@pytest.mark.parametrize(("name", "operands", "words"), SAID)
def test_what_the_picture_says_in_80_columns(name, operands, words):
    lines = draw(explain([find_design(f"arm/{name}")], Operands(*operands)))
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert " ".join(words.split()) in text
