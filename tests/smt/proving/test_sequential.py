"""Fasi's sequential accumulator against T-FDPA: equal under the stated conditions, different in every other reading."""

from dataclasses import replace

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.proving import two_terms
from mmaproof.smt.proving.two_terms import AddsAligned, StartIsUnique, StartsAligned, ZeroConverts
from mmaproof.smt.semantics import sequential_step
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import compare

VOLTA, FP8 = "volta/f32.f16.f16.f32", "hopper/wgmma.f32.e4m3.e4m3"


def lemmas(kind, name=VOLTA):
    question = Equivalence(find_design(name), find_design(name).change(summation="sequential"))
    found = [x for x in question.lemmas() if isinstance(x, kind)]
    assert found
    return found


@pytest.mark.middle
@pytest.mark.parametrize(
    "name",
    [
        VOLTA,
        pytest.param(FP8, marks=pytest.mark.middle),
        pytest.param(f"{VOLTA}@zero_c=absent,zero_product=absent", marks=pytest.mark.middle),
    ],
)
def test_the_sorted_accumulator_that_truncates_addends_is_a_t_fdpa(name):
    fused = find_design(name)
    answer = compare(fused, fused.change(summation="sequential"), budget=None, limits=Limits(120, 4 << 30))
    assert answer.verdict == "equivalent"
    assert {x.status for x in answer.lemmas} == {Status.PROVED}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "reading",
    [
        "first=magnitude",
        "first=index",
        "truncates=partial-sum",
        "normalises=yes",
        "product_exponent=normalised",
    ],
)
def test_every_other_reading_is_another_design(reading):
    fused, other = find_design(VOLTA), find_design(f"{VOLTA}@summation=sequential,{reading}")
    assert Equivalence(fused, other).lemmas() == ()
    assert compare(fused, other).verdict == "different"


@pytest.mark.parametrize("change", ["floor=0", "carry_bits=0", "alignment=floor", "chain_infinity=finite"])
def test_lemmas_are_offered_where_the_argument_holds(change):
    fused = find_design(f"{VOLTA}@{change}")
    assert Equivalence(fused, fused.change(summation="sequential")).lemmas() == ()


def test_a_start_that_is_not_unique_is_found_out(monkeypatch):
    (lemma,) = lemmas(StartIsUnique)
    assert decide(lemma) is Status.PROVED
    monkeypatch.setattr(sequential_step, "first_of", lambda algebra, candidates: list(candidates))
    assert decide(*lemmas(StartIsUnique)) is Status.REFUTED


def test_a_start_that_is_not_cut_is_found_out(monkeypatch):
    assert {decide(x) for x in lemmas(StartsAligned, f"{VOLTA}@fraction_bits=9")} == {Status.PROVED}
    monkeypatch.setattr(two_terms, "cut_at", lambda step, state, fraction: state)
    assert Status.REFUTED in {decide(x) for x in lemmas(StartsAligned, f"{VOLTA}@fraction_bits=9")}


@pytest.mark.slow
def test_an_addition_that_cuts_the_sum_is_found_out():
    for lemma in lemmas(AddsAligned):
        assert decide(lemma) is Status.PROVED
        lemma.step = find_design(f"{VOLTA}@summation=sequential,truncates=partial-sum").step
        del lemma.formula
        assert decide(lemma) is Status.REFUTED


def test_a_zero_that_keeps_its_exponent_is_found_out(monkeypatch):
    (lemma,) = lemmas(ZeroConverts)
    assert decide(lemma) is Status.PROVED
    right = two_terms.convert

    def leaky(algebra, rules, total, e_max, fraction_bits, zero_negative):
        bits, overflowed = right(algebra, rules, total, e_max, fraction_bits, zero_negative)
        lowest = algebra.ite(algebra.is_bit_set(e_max, 0), algebra.unsigned(1, 32), bits)
        return lowest, overflowed

    monkeypatch.setattr(two_terms, "convert", leaky)
    assert decide(*lemmas(ZeroConverts)) is Status.REFUTED


def test_the_same_register_is_asked_for():
    fused = find_design(VOLTA)
    wider = replace(fused.change(summation="sequential"), k=8)
    assert Equivalence(fused, wider).lemmas() == ()


def test_a_chain_whose_steps_read_another_c_is_not_meant():
    half = find_design("volta/mma.m8n8k4.f32.f16.f16.f16")
    assert half.c_format is not half.d_format
    sequential_half = half.change(summation="sequential")
    assert Equivalence(half, sequential_half).lemmas()
    assert Equivalence(half, sequential_half, k=8).lemmas() == ()
