"""What the lemmas about zeros are about: which designs, which results of them, and every bit that is not used."""

from types import SimpleNamespace

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library import find_property
from mmaproof.properties.run_question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving.zeros import NeutralStep, ZeroIsLowest, unused_bits, zeros_can_be_lowest
from mmaproof.smt.solving.verdict import Status

INTEGERS = IntegerAlgebra()
FP8 = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"
VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
ONE, NAN, TINY = 0x3F800000, 0x7FC00000, 0x00000400


def is_meant(lemma, **values):
    words = {x.name: INTEGERS.unsigned(values.get(x.name, 0), x.width) for x in lemma.inputs}
    return bool(lemma.assumption(INTEGERS, words).data)


@pytest.mark.parametrize("missing", [Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_PRODUCTS, Guarantee.OWN_CUTS])
def test_the_argument_is_made_where_nothing_is_missing(missing):
    held = find_design(VOLTA)
    lacking = SimpleNamespace(guarantees=lambda *asked: missing not in asked and held.guarantees(*asked))
    assert [zeros_can_be_lowest(x) for x in (held, lacking)] == [True, False]


def test_every_result_is_a_c_of_the_next_step():
    lemma, low = NeutralStep(find_design(FP8)), unused_bits(find_design(FP8))
    assert low == 10
    for c in (ONE, NAN, NAN | 1, ONE | 1 << low, TINY):
        assert is_meant(lemma, c=c), hex(c)
    for bit in range(low):
        assert not is_meant(lemma, c=ONE | 1 << bit)


def test_a_subnormal_is_no_result_where_results_are_flushed():
    kept, flushed = (find_design(f"{VOLTA}@subnormals={x}") for x in ("kept", "results"))
    assert [is_meant(NeutralStep(x), c=TINY) for x in (kept, flushed)] == [True, False]
    assert is_meant(NeutralStep(flushed), c=ONE)


def test_the_c_of_a_further_step_has_the_format_of_results():
    design = find_design("volta/mma.m8n8k4.f32.f16.f16.f16")
    assert design.c_format is not design.d_format
    assert NeutralStep(design).step.c_format is design.d_format


def test_a_partner_is_any_finite_number_and_without_one_nothing_is_assumed():
    without, with_one = (ZeroIsLowest(find_design(VOLTA), partner=x) for x in (False, True))
    assert is_meant(without)
    assert [is_meant(with_one, partner=x) for x in (0, 0x7BFF, 0x7C00, 0x7E00)] == [True, True, False, False]


@pytest.mark.parametrize(("more", "status"), [(0, Status.PROVED), (1, Status.REFUTED)])
def test_each_unused_bit_is_claimed(more, status):
    _, unused = find_property("padded-k").question(find_design(FP8), Scope()).lemmas()
    unused.unused += more
    assert decide(unused) is status


def test_no_bit_is_unused_where_c_is_added_after_the_conversion():
    late = find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32@rho=rz-e8m13")
    assert late.adds_c_last
    assert unused_bits(late) == 0
