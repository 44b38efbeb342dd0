"""Scaling by two: proved by lemmas that each have a mutant, and refuted where something stays put."""

from dataclasses import replace

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library.scaling import Scaling
from mmaproof.properties.run_question import Scope
from mmaproof.smt.algebra.protocol import ite
from mmaproof.smt.proving import scaling
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA = "volta/f32.f16.f16.f32"


def lemmas(name=VOLTA):
    return Scaling().question(find_design(name), Scope()).lemmas()


@pytest.mark.parametrize(
    "name",
    [
        VOLTA,
        pytest.param("volta/f16.f16.f16.f16", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", marks=pytest.mark.middle),
    ],
)
def test_it_holds_for_fused_sums(name):
    answer = check("scaling", find_design(name))
    assert answer.verdict == "holds"
    assert {x.status for x in answer.answers[0].lemmas} == {Status.PROVED}


@pytest.mark.parametrize(
    "name",
    ["cdna3/v_mfma_f32_32x32x8_f16", pytest.param("cdna3/v_mfma_f32_16x16x32_fp8_fp8", marks=pytest.mark.middle)],
)
def test_it_holds_where_c_joins_the_sum_of_the_products(name):
    found = [decide(x) for x in lemmas(name)]
    assert found
    assert set(found) == {Status.PROVED}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cdna3/v_mfma_f32_32x32x8_f16", {"late_rounding": "twice"}),  # rounded down at 2^e_min, which stays
        ("cdna3/v_mfma_f32_32x32x8_f16", {"product_limit": 31}),  # a product of fp16 may be an infinity
        ("cdna3/v_mfma_f32_32x32x8_f16", {"floor": 0}),
        ("cdna3/v_mfma_f32_32x32x8_bf16", {}),
        ("gaudi2/mme.m1n1k8.f32.bf16.bf16.f32", {}),
        ("rdna4/v_wmma_f32_16x16x16_bf16", {"small_c": "dropped"}),
    ],
)
def test_there_are_no_lemmas_where_something_stays_put(name, settings):
    design = find_design(name)
    assert not Scaling().question(design.change(**settings) if settings else design, Scope()).lemmas()


def test_a_c_that_is_dropped_below_a_fixed_exponent_is_noticed(monkeypatch):
    def dropped(fraction_bits, products, c):
        del fraction_bits, products
        return replace(c, significand=ite(c.exponent < 0, 0 * c.significand, c.significand))

    (far,) = (x for x in lemmas("cdna3/v_mfma_f32_16x16x32_fp8_fp8") if isinstance(x, scaling.FarMoves))
    monkeypatch.setattr(scaling, "without_far_c", dropped)
    assert decide(far) is Status.REFUTED


def test_a_floor_breaks_it():
    asked = Scaling()
    answer = check(asked, asked.mutant(find_design(asked.specimen)))
    assert answer.verdict == "violated"
    first, second = answer.finding.runs
    fmt = first.design.d_format
    assert second.d != first.d + (1 << fmt.fraction_bits)
    assert [evaluate(r.design, r.operands) for r in answer.finding.runs] == [first.d, second.d]


def test_a_sum_that_is_converted_to_zero_is_not_meant():
    # c = 2^-126, products of -2^-126, 3 * 2^-151 and 2^-252: d is zero, with a and c doubled it is 2^-149
    design = find_design("hopper/wgmma.f32.bf16.bf16")
    one, rest = 127, [0x0080] * (design.k - 2)
    a, b = (0x8000 | (one - 63) << 7, (one - 75) << 7 | 64, *rest), ((one - 63) << 7, (one - 75) << 7, *rest)
    question = Scaling().question(design, Scope())
    assert [run.d for run in question.witness_runs(Operands(a, b, 0x00800000))] == [0, 1]
    assert not question.is_meant(Operands(a, b, 0x00800000))


@pytest.mark.parametrize("change", ["floor=0", "summation=pairwise", "join=ieee", "sticky=yes"])
def test_the_lemmas_are_offered_for_fused_sums_without_a_floor(change):
    assert lemmas(f"{VOLTA}@{change}") == ()
    assert lemmas()


def test_a_cut_that_looks_at_e_max_is_found_out(monkeypatch):
    def peeking(algebra, term, e_max, cut):
        high = algebra.less(algebra.signed(0), e_max)
        return align(algebra, replace(term, negative=algebra.any_of([term.negative, high])), e_max, cut)

    monkeypatch.setattr(scaling, "align", peeking)
    assert any(decide(x) is Status.REFUTED for x in lemmas() if isinstance(x, scaling.CutMoves))


def test_a_conversion_that_looks_at_e_max_is_found_out(monkeypatch):
    def peeking(algebra, rules, total, e_max, fraction_bits, zero_negative):
        pattern, overflowed = convert(algebra, rules, total, e_max, fraction_bits, zero_negative)
        high = algebra.less(algebra.signed(0), e_max)
        lowest = algebra.concatenate(algebra.drop_low(pattern, 1), algebra.unsigned(0, 1))
        return algebra.ite(high, lowest, pattern), overflowed

    monkeypatch.setattr(scaling, "convert", peeking)
    assert any(decide(x) is Status.REFUTED for x in lemmas() if isinstance(x, scaling.ConversionMoves))


def test_doubling_is_the_same_as_adding_a_number_to_itself():
    from mmaproof.smt.algebra.integers import IntegerAlgebra

    algebra = IntegerAlgebra()
    fmt = find_design(VOLTA).a_format
    for pattern, twice in ((0x3C00, 0x4000), (0xBBFF, 0xBFFF), (0x0000, 0x0000), (0x8000, 0x8000)):
        assert scaling.doubled(algebra, fmt, algebra.unsigned(pattern, 16)).data == twice
    for pattern in (0x0000, 0x0001, 0x7BFF, 0x7C00, 0x7E00):
        assert not scaling.stays_normal(algebra, fmt, algebra.unsigned(pattern, 16)).data
