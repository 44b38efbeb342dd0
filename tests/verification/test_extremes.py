"""Small products tell readings of alignment apart that random operands do not."""

from collections import Counter
from fractions import Fraction

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.search import products_at_half, small_products

BF16 = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"


@pytest.mark.middle
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("zero_c=e-zero,zero_product=e-zero,e_zero=-132", "zero_c=e-zero,zero_product=absent,e_zero=-133"),
        ("zero_c=e-zero,zero_product=e-zero,e_zero=-132", "zero_c=absent,zero_product=e-zero"),
    ],
)
def test_a_bit_below_the_least_result_tells_readings_apart(first, second):
    found = compare(f"{BF16}@{first}", f"{BF16}@{second}")
    assert found.status is Status.REFUTED
    assert found.origin.startswith("extreme operands (")


@pytest.mark.middle
def test_readings_that_cannot_be_told_apart_are_proved_as_before():
    assert compare(BF16, f"{BF16}@floor=-132").status is Status.PROVED


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (BF16, True),
        ("hopper/wgmma.m64n8k32.f32.e4m3.e4m3", False),  # no product of theirs is as small as the least result
        ("ampere/mma.m16n8k32.s32.s8.s8.s32", False),
        ("rubin/tcgen05.mma.m128n8k64.block32.f32.e2m1.e2m1.ue8m0", False),
    ],
)
def test_rows_are_of_powers_of_two_beside_no_c(name, expected):
    design = find_design(name)
    d = design.d_format
    rows = small_products(Equivalence(design, design), d.e_min - d.fraction_bits)
    assert (rows is not None) is expected
    if rows is not None:
        assert not rows.c.any()
        assert ((rows.a != 0).sum(axis=1) >= 2).all()


def test_products_are_next_to_half_of_the_least_result():
    """A product that is more than half of the least result by its lowest bits alone is rounded up."""
    design = find_design("cpu/vfmadd231ps")
    d = design.d_format
    rows = products_at_half(Equivalence(design, design), d.e_min - d.fraction_bits)
    assert rows is not None
    half, results = Fraction(2) ** (d.e_min - d.fraction_bits - 1), Counter()
    for row in (rows.row(i) for i in range(len(rows))):
        exact = Fraction(design.a_format.magnitude_of(row.a[0])) * Fraction(design.b_format.magnitude_of(row.b[0]))
        assert exact != half
        assert abs(exact / half - 1) < Fraction(1, 1 << design.b_format.fraction_bits)
        d_value = evaluate(design, row)
        assert d_value == (exact > half)
        results[d_value] += 1
    assert min(results[0], results[1]) > 10


@pytest.mark.parametrize("name", ["ampere/mma.m16n8k16.s32.s8.s8.s32", "volta/mma.m8n8k4.f32.f16.f16.f32"])
def test_there_are_none_of_integers_and_of_sums(name):
    design = find_design(name)
    assert products_at_half(Equivalence(design, design), -149) is None
