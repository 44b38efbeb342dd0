"""AMD XDNA: blocks that share an exponent, on literals in the vendor's encoding, and open point 65."""

import pytest
from reference.aie import dot, element, mantissa

from mmaproof import find_design
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.open_points import open_readings
from mmaproof.designs.profiles import load_disputes
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare

BLOCKS, BF16 = find_design("xdna2/vmac"), find_design("xdna1/vmac.f32.bf16.bf16.f32")
ONE = 127
E1M6 = FORMATS["e1m6"]

# bytes of a and b in two's complement, their exponents, c, d
CASES = [
    # 64 is 1, 1 is 2^-6
    ([64], [64], ONE, ONE, 0, 0x3F800000),
    ([1], [1], ONE, ONE, 0, 0x39800000),
    ([127], [129], ONE, ONE, 0, 0xC07C0400),
    ([64, 192], [64, 64], ONE, ONE, 0, 0),
    # 24 bits of a block are added to c at once: 1 + 2^-24 is a tie, which 2^-12 more of the block decides
    ([64], [64], ONE - 12, ONE - 12, 0x3F800000, 0x3F800000),
    ([64, 1], [64, 1], ONE - 12, ONE - 12, 0x3F800000, 0x3F800001),
    # all products of a block have the exponent of the block: 2^-6 * 2^-6 beside 127/64 * 127/64 seven times
    ([127] * 7 + [1], [127] * 7 + [1], ONE, ONE, 0, 0x41DC8400),
    # subnormal accumulators and results are zeros; the exponents of a block may be small
    ([64], [64], 1, ONE, 0, 0x00800000),
    ([64], [64], 0, ONE, 0, 0),
    ([192], [64], 0, ONE, 0, 0x80000000),
    ([0], [0], ONE, ONE, 0x00400000, 0),
    ([64], [64], 254, ONE, 0, 0x7F000000),
    ([64], [64], 254, ONE + 1, 0, 0x7F800000),
    ([0], [0], 254, 254, 0x7F800000, 0x7F800000),
    ([64], [64], 255, ONE, 0, 0x7FC00000),
]


def patterns(column):
    padded = [*column, *[0] * (8 - len(column))]
    return tuple(E1M6.encode(element(x)) for x in padded), padded


@pytest.mark.parametrize(("a", "b", "exponent_a", "exponent_b", "c", "expected"), CASES)
def test_blocks(a, b, exponent_a, exponent_b, c, expected):
    (of_a, a), (of_b, b) = patterns(a), patterns(b)
    assert dot(a, b, c, (exponent_a,), (exponent_b,)) == expected
    assert evaluate(BLOCKS, Operands(of_a, of_b, c, (exponent_a,), (exponent_b,))) == expected


def test_every_byte_but_one_has_a_pattern():
    """-128 is -2, which a conversion that rounds down makes of numbers next to it, and which e1m6 lacks."""
    assert all(mantissa(element(x)) == x for x in range(256))
    assert len({E1M6.encode(element(x)) for x in range(256) if x != 128}) == 255
    assert element(128) == -2


def test_two_blocks_are_two_steps():
    """2^24 loses a one of each block, and keeps two ones of a block."""
    (one, of_one), (two, of_two), scales = patterns([64]), patterns([64, 64]), (ONE, ONE)
    for block, of_block, expected in ((one, of_one, 0x4B800000), (two, of_two, 0x4B800002)):
        assert evaluate(BLOCKS, Operands(block * 2, block * 2, 0x4B800000, scales, scales)) == expected
        assert dot(of_block * 2, of_block * 2, 0x4B800000, scales, scales) == expected


def test_every_row_is_assumed():
    rows = [x for x in load_catalogue().designs.values() if x.architecture.startswith("xdna")]
    assert [x.k for x in rows] == [8, 8, 8, 4]
    assert all(x.evidence.is_assumed for x in rows)


@pytest.mark.parametrize("design", [BLOCKS, BF16], ids=lambda x: x.name)
def test_terms_that_are_shifted_down_may_lose_bits(design):
    (reading,) = [x for x in open_readings(design) if x.points == (65,)]
    other = load_disputes().apply(design, "aie-cut")
    assert reading.settings["rho"] == "rz-fp32"
    found = compare(design, other)
    assert found.verdict == "different"
    assert evaluate(design, found.witness) != evaluate(other, found.witness)


def test_products_and_accumulator_of_bf16_are_added_at_once():
    """2^24 + 1 + 1 keeps both ones of a step; subnormal elements, accumulators and results are zeros."""
    bf16 = FORMATS["bf16"]
    one, zeros = bf16.encode(1), (0,) * 6
    assert evaluate(BF16, Operands((one, one, *zeros), (one, one, *zeros), 0x4B800000)) == 0x4B800001
    least, huge = 0x0001, bf16.encode(2.0**127)
    assert evaluate(BF16, Operands((least, 0, *zeros), (huge, 0, *zeros), 0)) == 0
    assert evaluate(BF16, Operands((0x0080, 0, *zeros), (bf16.encode(0.5), 0, *zeros), 0)) == 0
    assert evaluate(BF16, Operands((0, 0, *zeros), (0, 0, *zeros), 0x00400000)) == 0
