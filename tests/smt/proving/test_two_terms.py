"""Lemmas about the sum of two terms: proved with the bits that they need, refuted with fewer, at full width."""

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library import find_property
from mmaproof.properties.run_question import Scope
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.proving.two_terms import JammedConversion, JammedSum, WidenedConversion
from mmaproof.smt.solving.verdict import Status

FMA, TREE = "cdna1/v_mfma_f32_32x32x2f32", "paper/tree.m1n1k4.f32.f16.f16.f32"


def lemmas_of(name):
    return find_property("sticky-bit").question(find_design(name), Scope()).lemmas()


def of_kind(name, kind):
    return next(lemma for lemma in lemmas_of(name) if isinstance(lemma, kind))


@pytest.mark.parametrize(("bits", "status"), [(24, Status.PROVED), (10, Status.REFUTED)])
def test_a_jammed_sum_needs_a_bit_below_its_terms(bits, status):
    shape = TermShape(11, (1 << 11) - 1, 10, 7, 7)
    assert decide(JammedSum((shape, shape), 60, bits)) is status


@pytest.mark.parametrize(("bits", "status"), [(24, Status.PROVED), (13, Status.PROVED), (12, Status.REFUTED)])
def test_a_jammed_sum_converts_as_the_exact_one_with_enough_bits_only(bits, status):
    # the sum is at least half of 2^e_max: the last bit of the precision of fp16 is 2^-11 of that, half of it 2^-12
    lemma = of_kind("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16", JammedConversion)
    assert lemma.bits == 13
    lemma.bits = bits
    assert decide(lemma) is status


def test_the_two_terms_are_a_product_and_c():
    product, c = of_kind("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16", JammedSum).shapes
    assert (product.largest, c.largest) == ((1 << 8) - 1, (1 << 11) - 1)


def test_appended_zeros_convert_to_the_same():
    assert decide(of_kind("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16", WidenedConversion)) is Status.PROVED


def test_lemmas_of_one_proof_have_different_names():
    for name, count in ((FMA, 5), (TREE, 6)):
        found = lemmas_of(name)
        assert len({lemma.name for lemma in found}) == len(found) == count


@pytest.mark.parametrize("name", ["volta/f32.f16.f16.f32", "cdna3/v_mfma_f32_32x32x8_f16"])
def test_designs_that_lose_bits_without_a_trace_have_none(name):
    assert list(lemmas_of(name)) == []
