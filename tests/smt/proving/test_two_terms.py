"""Lemmas about the sum of two terms: proved with the bits that they need, refuted with fewer, at full width."""

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import FORMATS
from mmaproof.properties.library import find_property
from mmaproof.properties.question import Scope
from mmaproof.properties.step_loss import lemmas_of_operation
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving import two_terms
from mmaproof.smt.proving.cuts import CutIsExact, TermShape
from mmaproof.smt.proving.two_terms import JammedAddition, JammedConversion, JammedCut, WidenedConversion
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.solving.verdict import Status

FMA, TREE = "cdna1/v_mfma_f32_32x32x2f32", "paper/tree.m1n1k4.f32.f16.f16.f32"
NARROW = "hopper/mma.m16n8k32.f16.e4m3.e4m3.f16"
NUMBER, PRODUCT = TermShape(11, (1 << 11) - 1, 10, 7, 7), TermShape(8, 15 * 15, 6, 7, 7)


def lemmas_of(name):
    return find_property("sticky-bit").question(find_design(name), Scope()).lemmas()


def of_kind(name, kind):
    return next(lemma for lemma in lemmas_of(name) if isinstance(lemma, kind))


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


def test_a_jammed_term_adds_up_to_the_jammed_sum():
    assert decide(of_kind(NARROW, JammedAddition)) is Status.PROVED


@pytest.mark.parametrize("what", ["x even", "x large", "kept odd", "kept near", "y small"])
def test_a_jammed_sum_needs_all_that_is_assumed_of_its_terms(monkeypatch, what):
    lemma = of_kind(NARROW, JammedAddition)
    places, half = lemma.exact_bits - lemma.bits, 1 << (lemma.exact_bits - 1)
    meant = {
        "x even": lambda x, y, kept: ~x.bit(0),
        "x large": lambda x, y, kept: x.magnitude() >= x.algebra.unsigned(1 << lemma.bits, x.width),
        "kept odd": lambda x, y, kept: kept.bit(0) | ((kept << places) == y),
        "kept near": lambda x, y, kept: (
            ((kept << places) - y).magnitude() < x.algebra.unsigned(1 << places, places + 1)
        ),
        "y small": lambda x, y, kept: ((kept << places) == y) | (y.magnitude() <= x.algebra.unsigned(half, y.width)),
    }
    words = ("x", "y", "kept")

    def assuming(names):
        return lambda algebra, given: algebra.all_of([meant[name](*(given[w] for w in words)) for name in names])

    monkeypatch.setattr(lemma, "assumption", assuming(meant))
    assert decide(lemma) is Status.PROVED
    weaker = of_kind(NARROW, JammedAddition)
    monkeypatch.setattr(weaker, "assumption", assuming(set(meant) - {what}))
    assert decide(weaker) is Status.REFUTED


@pytest.mark.few(1)
@pytest.mark.parametrize(("bits", "status"), [(24, Status.PROVED), (13, Status.PROVED), (12, Status.REFUTED)])
def test_a_jammed_sum_converts_as_the_exact_one_with_enough_bits_only(bits, status):
    # the sum is at least half of 2^e_max: the last bit of the precision of fp16 is 2^-11 of that, half of it 2^-12
    lemma = of_kind(NARROW, JammedConversion)
    assert lemma.bits == 13
    lemma.bits = bits
    assert decide(lemma) is status


def test_the_two_terms_are_a_product_and_c():
    product, c = (x.shape for x in lemmas_of(NARROW) if isinstance(x, CutIsExact))
    assert (product.largest, c.largest) == ((1 << 8) - 1, (1 << 11) - 1)


def test_appended_zeros_convert_to_the_same():
    assert decide(of_kind(NARROW, WidenedConversion)) is Status.PROVED


def test_lemmas_of_one_proof_have_different_names():
    for name, count in ((FMA, 9), (TREE, 10)):
        found = lemmas_of(name)
        assert len({lemma.name for lemma in found}) == len(found) == count


@pytest.mark.parametrize("name", ["volta/f32.f16.f16.f32", "cdna3/v_mfma_f32_32x32x8_f16"])
def test_designs_that_lose_bits_without_a_trace_have_none(name):
    assert list(lemmas_of(name)) == []


def test_terms_of_the_exact_sum_lose_nothing():
    held = [x for x in lemmas_of(NARROW) if isinstance(x, CutIsExact)]
    assert [decide(x) for x in held] == [Status.PROVED] * 2


def test_a_jammed_sum_of_a_small_term_is_assumed_of_some_words():
    lemma, algebra = of_kind(NARROW, JammedAddition), IntegerAlgebra()
    widths = {x.name: x.width for x in lemma.inputs}
    given = {"x": 1 << lemma.bits, "y": 1, "kept": 1}  # a large term, and one that leaves the jammed bit alone
    words = {name: algebra.signed(value, widths[name]) for name, value in given.items()}
    assert lemma.assumption(algebra, words).data
    assert lemma.claim(algebra, words).data


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
