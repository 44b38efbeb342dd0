"""Symmetries: proved by lemmas that each have a mutant, and refuted where a unit rounds down."""

from dataclasses import replace

import pytest
from deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.readings import Alignment
from mmaproof.generators.check import check
from mmaproof.properties.library import find_property
from mmaproof.smt.algebra.integers import IntegerAlgebra, WidthClaimError
from mmaproof.smt.evaluate import evaluate
from mmaproof.smt.proving import negation
from mmaproof.smt.proving.negation import negation_lemmas, opposite
from mmaproof.smt.semantics import fused_step, terms
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.patterns import negated
from mmaproof.smt.solving.verdict import Status

VOLTA, FP8 = "volta/f32.f16.f16.f32", "hopper/wgmma.f32.e4m3.e4m3"
CDNA2, CDNA3 = "cdna2/v_mfma_f32_32x32x8f16", "cdna3/v_mfma_f32_32x32x8_f16"
EMULATED = "hopper/m16n8k32.f32.e4m3.e4m3.f32"


def lemmas(kind, name=VOLTA):
    found = [x for x in negation_lemmas(find_design(name)) if isinstance(x, kind)]
    assert found
    return found


@pytest.mark.parametrize("name", ["negation-symmetric", "exchange-symmetric"])
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    assert check(name, specimen).verdict == "holds"
    answer = check(name, asked.mutant(specimen))
    assert answer.verdict == "violated"
    first, second = answer.finding.runs
    assert [evaluate(run.design, run.operands) for run in (first, second)] == [first.d, second.d]
    assert first.d ^ 0x80000000 != second.d if name == "negation-symmetric" else first.d != second.d


@pytest.mark.parametrize("name", ["hopper/wgmma.f32.f16.f16", FP8, CDNA2])
def test_negation_is_proved_by_lemmas(name):
    answer = check("negation-symmetric", find_design(name))
    assert answer.verdict == "holds"
    assert {x.status for x in answer.answers[0].lemmas} == {Status.PROVED}


@pytest.mark.parametrize("name", [CDNA3, "cdna3/v_mfma_f32_32x32x16_bf8_fp8", "cdna3/v_mfma_f32_32x32x4_xf32"])
def test_cdna3_is_not_symmetric(name):
    # Xie et al., table 10
    assert check("negation-symmetric", find_design(name)).verdict == "violated"


@pytest.mark.parametrize(
    "change",
    ["alignment=floor", "rho=rtn-fp32", "carry_bits=0", "join=round-down", "summation=sequential", "grouping=even-odd"],
)
def test_lemmas_are_offered_where_the_argument_holds(change):
    assert negation_lemmas(find_design(VOLTA))
    assert negation_lemmas(find_design(f"{VOLTA}@{change}")) == ()


def test_lemmas_have_different_names():
    for name in (VOLTA, FP8, EMULATED, CDNA2, "riscv/bulk.m1n1k4.f32.f16.f16.f32"):
        names = [x.name for x in negation_lemmas(find_design(name))]
        assert len(set(names)) == len(names)


def test_a_product_whose_sign_is_that_of_b_is_found_out(monkeypatch):
    monkeypatch.setattr(terms, "product_sign", lambda algebra, x: x.b.negative)
    assert decide(*lemmas(negation.NegatedProduct)) is Status.REFUTED


def test_an_accumulator_that_moves_where_it_is_negative_is_found_out(monkeypatch):
    def moved(algebra, parameters, c):
        term = terms.accumulator_term(algebra, parameters, c)
        exponent = algebra.ite(c.negative, algebra.signed(0), term.exponent)
        return replace(term, exponent=exponent)

    monkeypatch.setattr(fused_step, "accumulator_term", moved)
    assert decide(*lemmas(negation.NegatedAccumulator)) is Status.REFUTED


def test_rounding_down_is_found_out():
    for lemma in lemmas(negation.NegatedCut):
        mutant = negation.NegatedCut("floored", lemma.shape, Cut(lemma.cut.fraction_bits, Alignment.FLOOR))
        assert decide(mutant) is Status.REFUTED
    (conversion,) = lemmas(negation.NegatedConversion)
    conversion.rules = replace(conversion.rules, rho=find_design(f"{VOLTA}@rho=rtn-fp32").parameters.conversion)
    assert decide(conversion) is Status.REFUTED


def test_a_rounded_product_that_is_rounded_down_is_found_out():
    design = find_design("paper/tree.m1n1k4.f32.bf16.bf16.f32@rho=rtn-fp32")
    assert decide(negation.NegatedMultiplication(design)) is Status.REFUTED


def test_the_word_that_has_no_opposite_is_excluded(monkeypatch):
    word = negation.NegatedWord(8, "a word")
    assert decide(word) is Status.PROVED
    bare = negation.NegatedWord(8, "a word")
    monkeypatch.setattr(bare, "assumption", lambda algebra, words: algebra.truth(True))
    with pytest.raises(WidthClaimError, match="128 does not fit 8 signed bits"):
        decide(bare)


def test_a_sum_with_a_carry_in_is_found_out(monkeypatch):
    law = negation.NegatedSum(8, "of words")
    assert decide(law) is Status.PROVED
    mutant = negation.NegatedSum(8, "of words")
    monkeypatch.setattr(mutant, "claim", _carried)
    assert decide(mutant) is Status.REFUTED


def _carried(algebra, words):
    one = algebra.signed(1)
    total = algebra.modular_sum([words["x"], words["y"], one], 8)
    negatives = [algebra.negate(words["x"]), algebra.negate(words["y"]), one]
    return algebra.equal(algebra.modular_sum([algebra.negate(total)], 8), algebra.modular_sum(negatives, 8))


def test_specials_that_ignore_signs_are_found_out(monkeypatch):
    def positive(algebra, products, addends, parameters=None):
        return replace(specials(algebra, products, addends, parameters), negative=algebra.truth(False))

    specials = fused_step.special_result
    monkeypatch.setattr(fused_step, "special_result", positive)
    assert decide(*lemmas(negation.NegatedSpecials)) is Status.REFUTED
    monkeypatch.setattr(negation, "special_result", positive)
    assert decide(*lemmas(negation.NegatedSpecialSum, CDNA2)) is Status.REFUTED


def test_a_choice_that_ignores_signs_is_found_out(monkeypatch):
    def positive(algebra, fmt, nan_code, special, finite):
        return choose(algebra, fmt, nan_code, replace(special, negative=algebra.truth(False)), finite)

    choose = negation.choose_special
    monkeypatch.setattr(negation, "choose_special", positive)
    assert decide(*lemmas(negation.NegatedChoice)) is Status.REFUTED


def test_an_addend_that_forgets_its_sign_is_found_out(monkeypatch):
    def unsigned(algebra, fmt, pattern, *, flushes=False):
        return replace(read(algebra, fmt, pattern, flushes=flushes), negative=algebra.truth(False))

    read = negation.ieee.read
    monkeypatch.setattr(negation.ieee, "read", unsigned)
    assert decide(lemmas(negation.NegatedAddend, CDNA2)[0]) is Status.REFUTED


def test_opposites():
    algebra = IntegerAlgebra()
    fp32 = find_design(VOLTA).d_format
    fnuz = find_design("cdna3/v_mfma_f32_32x32x16_fp8_fp8").a_format

    def flip(fmt, pattern):
        return negated(algebra, fmt, algebra.unsigned(pattern, fmt.bits)).data

    assert [flip(fp32, x) for x in (0, 0x3F800000, 0xFF800000)] == [0x80000000, 0xBF800000, 0x7F800000]
    # no negative zero, and one NaN in its place
    assert [flip(fnuz, x) for x in (0x00, 0x80, 0x01, 0x81)] == [0x00, 0x80, 0x81, 0x01]
    for x, y, expected in (
        (0x3F800000, 0xBF800000, True),
        (0x00000000, 0x00000000, True),
        (0x7FC00000, 0x7FFFFFFF, True),
        (0x3F800000, 0x3F800000, False),
        (0x7F800000, 0xFF7FFFFF, False),
    ):
        assert opposite(algebra, fp32, *(algebra.unsigned(p, 32) for p in (x, y))).data is expected


@pytest.mark.parametrize("name", [FP8, CDNA2])
def test_exchange_holds_for_other_families(name):
    assert check("exchange-symmetric", find_design(name)).verdict == "holds"


def test_exchange_is_not_asked_of_two_formats():
    with pytest.raises(DesignError, match="different formats: e4m3 and e5m2"):
        check("exchange-symmetric", find_design("hopper/wgmma.f32.e4m3.e5m2"))
