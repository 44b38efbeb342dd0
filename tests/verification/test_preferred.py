"""Which witness `compare` shows: one that holds under every reading, and whose products are not all zero."""

import pytest

from mmaproof import Operands, compare, find_design
from mmaproof.designs.open_points import open_readings
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import Readings, fixed_parameters, has_products

HOPPER = "hopper/wgmma.f32.bf16.bf16"
FP8 = "hopper/wgmma.f32.e4m3.e4m3", "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"
CHANGED = HOPPER, f"{HOPPER}@zero_c=absent"


@pytest.mark.middle
def test_products_are_preferred_to_none():
    plain, found = compare(*FP8, preferring=0), compare(*FP8)
    assert (plain.verdict, found.verdict) == ("different", "different")
    assert not plain.multiplies
    assert found.multiplies
    assert found.witness.c == 0
    assert len({*found.outputs.values()}) == 2
    assert "operands of use" in found.origin


def test_the_witness_holds_for_every_pair_of_readings():
    found = compare("hopper/wgmma.f32.bf16.bf16", "ampere/f32.bf16.bf16.f32")
    assert found.holds_under_every_reading
    ways = []
    for design in found.question.designs:
        every = [design, *(x.design for x in open_readings(design))]
        ways.append({evaluate(x, found.witness) for x in every})
    assert not ways[0] & ways[1]


def test_readings_of_one_unit_are_no_open_points_of_a_question_about_them():
    asked = Equivalence(find_design(HOPPER), find_design(f"{HOPPER}@as=khattak-mikaitis"))
    assert fixed_parameters(asked) is None
    found = compare(*asked.designs)
    assert (found.holds_under_every_reading, found.open_points) == (None, {})
    assert fixed_parameters(Equivalence(*(find_design(x) for x in CHANGED))) == {"zero_c"}


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(0x38, 0x38, True), (0x00, 0x38, False), (0x38, 0x80, False), (0x80, 0x80, False)]
)
def test_a_product_with_a_zero_is_none(a, b, expected):
    asked = Equivalence(*(find_design(x) for x in FP8), k=1)
    batch = OperandBatch.of_rows(asked.designs[0].formats, [Operands((a,), (b,), 0x3F800000)])
    assert has_products(asked, batch).tolist() == [expected]


def test_of_two_units_all_pairs_of_readings_count_and_of_one_the_same():
    asked = Equivalence(find_design(HOPPER), find_design("ampere/f32.bf16.bf16.f32"))
    counts = [1 + len(open_readings(x)) for x in asked.designs]
    assert len(Readings.of(asked).pairs) == counts[0] * counts[1]
    one = Equivalence(*(find_design(x) for x in (HOPPER, f"{HOPPER}@fraction_bits=24")))
    assert len(Readings.of(one).pairs) == 1 + len(open_readings(find_design(HOPPER), ("fraction_bits",)))
    assert all(x.step.zero_c is y.step.zero_c for x, y in Readings.of(one).pairs)


@pytest.mark.middle
def test_told_apart_means_under_every_pair():
    """Zeros of exponent -126 and zeros without one: c = 0 shows the difference, and a reading of both takes it away."""
    first, second = (find_design(x) for x in CHANGED)
    asked = Equivalence(first, second)
    tiny = Operands((0x1080, *(0,) * 15), (0x2080, *(0,) * 15), 0)
    readings = Readings(asked, ((first, second), (second, second)))
    assert not readings.told_apart_by(tiny)
    witness = compare(first, second).witness
    assert Readings(asked, ((first, second),)).told_apart_by(witness)
    assert not readings.told_apart_by(witness)
