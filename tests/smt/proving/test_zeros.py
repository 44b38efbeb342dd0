"""What the lemmas about zeros are about: which designs, and which partners of them."""

from types import SimpleNamespace

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving.zeros import ZeroIsLowest, unused_bits, zeros_can_be_lowest

INTEGERS = IntegerAlgebra()
VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"


def is_meant(lemma, **values):
    words = {x.name: INTEGERS.unsigned(values.get(x.name, 0), x.width) for x in lemma.inputs}
    return bool(lemma.assumption(INTEGERS, words).data)


@pytest.mark.parametrize("missing", [Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_PRODUCTS, Guarantee.OWN_CUTS])
def test_the_argument_is_made_where_nothing_is_missing(missing):
    held = find_design(VOLTA)
    lacking = SimpleNamespace(guarantees=lambda *asked: missing not in asked and held.guarantees(*asked))
    assert [zeros_can_be_lowest(x) for x in (held, lacking)] == [True, False]


def test_a_partner_is_any_finite_number_and_without_one_nothing_is_assumed():
    without, with_one = (ZeroIsLowest(find_design(VOLTA), partner=x) for x in (False, True))
    assert is_meant(without)
    assert [is_meant(with_one, partner=x) for x in (0, 0x7BFF, 0x7C00, 0x7E00)] == [True, True, False, False]


def test_no_bit_is_unused_where_c_is_added_after_the_conversion():
    late = find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32@rho=rz-e8m13")
    assert late.adds_c_last
    assert unused_bits(late) == 0
