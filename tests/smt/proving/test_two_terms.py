"""Lemmas about a jammed term and sum: proved with the bits that they need, refuted with fewer, at full width."""

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import FORMATS
from mmaproof.properties.step_loss import lemmas_of_operation
from mmaproof.smt.proving import two_terms
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.proving.rising_terms import last_sum
from mmaproof.smt.proving.two_terms import JammedCut, WidenedConversion
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.solving.verdict import Status

NARROW = "hopper/mma.m16n8k32.f16.e4m3.e4m3.f16"
NUMBER, PRODUCT = TermShape(11, (1 << 11) - 1, 10, 7, 7), TermShape(8, 15 * 15, 6, 7, 7)


@pytest.mark.parametrize(
    ("shape", "bits", "status"),
    [
        (NUMBER, 11, Status.PROVED),
        (NUMBER, 10, Status.REFUTED),  # the last bit of the larger term is the last one that is kept: it may be odd
        (PRODUCT, 8, Status.PROVED),
        (PRODUCT, 7, Status.REFUTED),  # a product from 2 to below 4 loses a bit where it is more than half of 2^e_max
    ],
)
def test_a_jammed_cut_needs_a_bit_below_its_terms(shape, bits, status):
    assert decide(JammedCut("terms", shape, bits)) is status


def test_a_cut_that_does_not_jam_is_not_odd():
    lemma = JammedCut("terms", NUMBER, 24)
    lemma.cut = Cut(24)
    assert decide(lemma) is Status.REFUTED


def test_a_jammed_cut_is_of_normalised_terms(monkeypatch):
    monkeypatch.setattr(two_terms, "is_zero_or_normalised", lambda algebra, term: algebra.truth(True))
    assert decide(JammedCut("terms", NUMBER, 24)) is Status.REFUTED


def test_appended_zeros_convert_to_the_same():
    design = find_design(NARROW)
    lemma = WidenedConversion(Rules.of(design.step), 30, last_sum(design))
    assert decide(lemma) is Status.PROVED


def rounded_sum(rounding=Rounding.RNE):
    return lemmas_of_operation("addition", FORMATS["fp16"], FORMATS["fp16"], rounding)[-1]


@pytest.mark.few(2)
@pytest.mark.parametrize("rounding", Rounding)
def test_what_lies_beside_a_jammed_sum_is_moved_as_little(rounding):
    assert decide(rounded_sum(rounding)) is Status.PROVED


@pytest.mark.parametrize("without", ["odd", "even", "large", "small"])
def test_a_jammed_sum_needs_all_that_is_assumed_of_it(monkeypatch, without):
    lemma = rounded_sum()
    bits = lemma.fraction_bits
    meant = {
        "odd": lambda largest, kept: kept.bit(0),
        "even": lambda largest, kept: ~largest.bit(0),
        "large": lambda largest, kept: largest.magnitude() >= kept.algebra.unsigned(1 << bits, bits + 1),
        "small": lambda largest, kept: kept.magnitude() <= kept.algebra.unsigned(1 << (bits - 1), bits),
    }

    def assuming(names):
        def assumption(algebra, words):
            largest = words["total"] - words["kept"]
            return algebra.all_of([meant[name](largest, words["kept"]) for name in names])

        return assumption

    monkeypatch.setattr(lemma, "assumption", assuming(meant))
    assert decide(lemma) is Status.PROVED
    weaker = rounded_sum()
    monkeypatch.setattr(weaker, "assumption", assuming(set(meant) - {without}))
    assert decide(weaker) is Status.REFUTED
