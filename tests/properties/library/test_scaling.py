"""Scaling by two: proved by lemmas that each have a mutant, and refuted where something stays put."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library.scaling import Scaling
from mmaproof.properties.run_question import Scope
from mmaproof.smt.algebra.protocol import ite
from mmaproof.smt.proving import scaling, scaling_of_results
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check
from mmaproof.verification.search import Means
from mmaproof.verification.strategies import Case, own_argument

VOLTA = "volta/f32.f16.f16.f32"
LIMITS = Limits(120, 4 << 30)
NORMALISES = "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32"


def lemmas(name=NORMALISES):
    return Scaling().question(find_design(name), Scope()).lemmas()


@pytest.mark.slow_values("hopper/wgmma.f32.e4m3.e4m3")
@pytest.mark.parametrize(
    "name",
    [
        VOLTA,
        pytest.param("volta/f16.f16.f16.f16", marks=pytest.mark.middle),
        pytest.param("hopper/wgmma.f32.e4m3.e4m3", marks=pytest.mark.middle),
        "cdna3/v_mfma_f32_32x32x8_f16",
        "gaudi3/mme.m1n1k2.f32.f16.f16.f32",  # products in parts
        pytest.param("rdna3/v_wmma_f32_16x16x16_bf16", marks=pytest.mark.middle),  # inverts terms, and flushes results
    ],
)
def test_it_holds_for_fused_sums(name):
    answer = check("scaling", find_design(name))
    assert answer.verdict == "holds"
    assert {x.status for x in answer.answers[0].lemmas} == {Status.PROVED}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("cdna3/v_mfma_f32_16x16x32_fp8_fp8", marks=pytest.mark.middle),
        "rdna4/v_wmma_f32_16x16x16_bf16",  # with a floor that no normal c reaches, and a c that may be dropped
        "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32",  # normalises the sum before c joins
        "cdna2/v_mfma_f32_32x32x8f16",  # a tree of rounded operations
        "arm/fdot.m1n1k2.f32.f16.f16.f32",  # a rounded sum of products
        pytest.param("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", marks=pytest.mark.middle),  # with a +0 in that sum
    ],
)
def test_it_holds_where_every_stage_moves(name):
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
        ("rdna4/v_wmma_f32_16x16x16_bf16", {"floor": -127}),  # above the exponent of the smallest normal c
        ("rdna4/v_wmma_f32_16x16x16_bf16", {"sticky": "yes"}),
        ("gaudi2/mme.m1n1k8.f32.bf16.bf16.f32", {"sticky": "yes"}),
        ("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", {"floor": -20}),  # c is added later, so the floor is above products
        ("cdna2/v_mfma_f32_32x32x8bf16_1k", {}),  # products of bf16 may be subnormal, and are flushed then
        ("arm/bfdot-ebf.m1n1k2.f32.bf16.bf16.f32", {}),
        ("hopper/mma.m16n8k32.f16.e4m3.e4m3.f16", {}),
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


def of_kind(kind, name):
    return [x for x in lemmas(name) if isinstance(x, kind)]


def test_a_floor_above_a_normal_c_is_noticed():
    (normal,) = of_kind(scaling.NormalC, "rdna4/v_wmma_f32_16x16x16_bf16")
    assert decide(normal) is Status.PROVED
    assert decide(scaling.NormalC(normal.design, normal.least + 1)) is Status.REFUTED


def test_a_small_c_that_is_not_normal_may_be_kept_or_dropped():
    (small,) = of_kind(scaling.SmallMoves, "rdna4/v_wmma_f32_16x16x16_bf16")
    lower = scaling.SmallMoves(small.shape, small.cut, small.e_min, small.least - 3)
    assert [decide(x) for x in (small, lower)] == [Status.PROVED, Status.REFUTED]


@pytest.mark.parametrize("name", ["cdna2/v_mfma_f32_32x32x8f16", "arm/fdot.m1n1k2.f32.f16.f16.f32"])
def test_results_in_between_must_be_normal(name):
    for lemma in of_kind(scaling_of_results.ResultMoves, name):
        low, high = lemma.of_e_max
        total = SimpleNamespace(fraction_bits=lemma.fraction_bits, largest=lemma.largest)
        total.total, total.e_max = (SimpleNamespace(width=x.width) for x in lemma.inputs[:2])
        for wider in ((low - 127, high), (low, high + 127)):
            assert decide(scaling_of_results.ResultMoves(lemma.rules, total, wider)) is Status.REFUTED


def test_a_product_that_is_not_doubled_is_noticed(monkeypatch):
    def peeking(algebra, rules, x):
        high = x.a.exponent > 0
        return product(algebra, rules, replace(x, b=replace(x.b, negative=x.b.negative ^ high)))

    (lemma,) = of_kind(scaling_of_results.ProductMoves, "cdna2/v_mfma_f32_32x32x8f16")
    product = scaling_of_results.ieee.finite_product
    monkeypatch.setattr(scaling_of_results.ieee, "finite_product", peeking)
    assert decide(lemma) is Status.REFUTED


def test_a_zero_that_is_aligned_above_the_products_is_noticed():
    name = "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32"
    (exponents,) = of_kind(scaling_of_results.ProductExponents, name)
    assert decide(exponents) is Status.PROVED
    (exponents,) = of_kind(scaling_of_results.ProductExponents, f"{name}@zero_c=e-zero,e_zero=0")
    assert decide(exponents) is Status.REFUTED


@pytest.mark.slow
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


@pytest.mark.parametrize("change", ["floor=0", "summation=interleaved", "rho=rne-fp32,sticky=yes"])
def test_one_argument_is_offered_for_fused_sums_and_fails_where_something_stays_put(change):
    question = Scaling().question(find_design(VOLTA), Scope())
    assert (question.lemmas(), question.decides_by_argument) == ((), True)
    changed = find_design(f"{VOLTA}@{change}")
    other = Scaling().question(changed, Scope())
    case = Case(other, changed, Means(Solving(), LIMITS, None), worked(), LIMITS)
    assert other.lemmas() == ()
    assert own_argument(case) is None


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
