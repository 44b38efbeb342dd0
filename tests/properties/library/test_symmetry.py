"""Symmetries: proved stage by stage, refuted where a unit rounds down, and not proved of stages that lose a sign."""

from dataclasses import replace

import pytest
from support.proving import staged

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import find_property
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics import fused_step, ieee, terms
from mmaproof.smt.semantics.patterns import negated, same_number
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, FP8 = "volta/f32.f16.f16.f32", "hopper/wgmma.f32.e4m3.e4m3"
CDNA1 = "cdna1/v_mfma_f32_32x32x8f16"
CDNA2, CDNA3 = "cdna2/v_mfma_f32_32x32x8f16", "cdna3/v_mfma_f32_32x32x8_f16"


@pytest.mark.slow_values("negation-symmetric")
@pytest.mark.parametrize("name", [pytest.param("negation-symmetric", marks=pytest.mark.middle), "exchange-symmetric"])
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    assert check(name, specimen).verdict == "holds"
    answer = check(name, asked.mutant(specimen))
    assert answer.verdict == "violated"
    first, second = answer.finding.runs
    assert [evaluate(run.design, run.operands) for run in (first, second)] == [first.d, second.d]
    assert first.d ^ 0x80000000 != second.d if name == "negation-symmetric" else first.d != second.d


@pytest.mark.slow_values("cdna2/v_mfma_f32_32x32x8f16", "hopper/wgmma.f32.e4m3.e4m3", "hopper/wgmma.f32.f16.f16")
@pytest.mark.middle
@pytest.mark.parametrize("name", ["hopper/wgmma.f32.f16.f16", FP8, CDNA2])
def test_negation_is_proved_by_stages(name):
    answer = check("negation-symmetric", find_design(name), limits=Limits(300, 4 << 30))
    assert answer.verdict == "holds"
    lemmas = answer.answers[0].lemmas
    assert {x.status for x in lemmas} == {Status.PROVED}
    assert any(x.name.startswith("negated") for x in lemmas)


@pytest.mark.middle
def test_negation_is_proved_of_sums_of_some_hundred_bits():
    answer = check("negation-symmetric", find_design(CDNA1), limits=Limits(300, 4 << 30))
    assert answer.verdict == "holds"
    assert any(x.name.startswith("extended before it is negated") for x in answer.answers[0].lemmas)


def test_a_wide_sum_of_terms_that_are_rounded_down_is_not_symmetric():
    mutant = find_design(f"{CDNA1}@alignment=floor,fraction_bits=24")
    assert check("negation-symmetric", mutant).verdict == "violated"


@pytest.mark.slow_values("cdna3/v_mfma_f32_32x32x16_bf8_fp8", "cdna3/v_mfma_f32_32x32x8_f16")
@pytest.mark.parametrize(
    "name",
    [
        CDNA3,
        pytest.param("cdna3/v_mfma_f32_32x32x16_bf8_fp8", marks=pytest.mark.middle),
        "cdna3/v_mfma_f32_32x32x4_xf32",
    ],
)
def test_cdna3_is_not_symmetric(name):
    # Xie et al., table 10
    assert check("negation-symmetric", find_design(name)).verdict == "violated"


@pytest.mark.slow_values("nearest", "truncate")
@pytest.mark.middle
@pytest.mark.parametrize("alignment", ["truncate", "nearest"])
def test_mutants_of_units_that_join_c_otherwise_round_down(alignment):
    mutant = find_property("negation-symmetric").mutant(find_design(f"{CDNA3}@late_alignment={alignment}"))
    assert check("negation-symmetric", mutant).verdict == "violated"


def _positive_infinities(algebra, products, addends, parameters=None):
    result = terms_of_specials(algebra, products, addends, parameters)
    return replace(result, negative=algebra.truth(False))


terms_of_specials = fused_step.special_result


def _moved_where_negative(algebra, parameters, c):
    term = terms.accumulator_term(algebra, parameters, c)
    return replace(term, exponent=algebra.ite(c.negative, algebra.signed(0), term.exponent))


def _without_sign(algebra, fmt, pattern, **flushing):
    return replace(read(algebra, fmt, pattern, **flushing), negative=algebra.truth(False))


read = ieee.read


@pytest.mark.slow_values(
    "cdna2/v_mfma_f32_32x32x8f16-mmaproof.smt.semantics.ieee-read-_without_sign",
    "volta/f32.f16.f16.f32-mmaproof.smt.semantics.fused_step-accumulator_term-_moved_where_negative",
    "volta/f32.f16.f16.f32-mmaproof.smt.semantics.fused_step-special_result-_positive_infinities",
    "volta/f32.f16.f16.f32-mmaproof.smt.semantics.terms-product_sign-<lambda>",
)
@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "module", "stage", "broken"),
    [
        (VOLTA, terms, "product_sign", lambda x: x.b.negative),
        (VOLTA, fused_step, "accumulator_term", _moved_where_negative),
        (VOLTA, fused_step, "special_result", _positive_infinities),
        (CDNA2, ieee, "read", _without_sign),
    ],
)
def test_a_stage_that_loses_a_sign_is_found_out(monkeypatch, name, module, stage, broken):
    assert staged(find_property("negation-symmetric"), find_design(name)).proved
    monkeypatch.setattr(module, stage, broken)
    assert not staged(find_property("negation-symmetric"), find_design(name)).proved
    assert check("negation-symmetric", find_design(name)).verdict == "violated"


@pytest.mark.slow_values("alignment=floor")
@pytest.mark.middle
@pytest.mark.parametrize("change", ["alignment=floor", "rho=rtn-fp32", "carry_bits=0", "join=round-down"])
def test_what_rounds_down_or_wraps_is_not_proved(change):
    changed = find_design(f"{VOLTA}@{change}")
    assert not staged(find_property("negation-symmetric"), changed).proved


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
        words = [algebra.unsigned(p, 32) for p in (flip(fp32, x), y)]
        assert same_number(algebra, fp32, *words).data is expected


@pytest.mark.slow_values("hopper/wgmma.f32.e4m3.e4m3")
@pytest.mark.parametrize("name", [FP8, pytest.param(CDNA2, marks=pytest.mark.slow)])
def test_exchange_holds_for_other_families(name):
    assert check("exchange-symmetric", find_design(name)).verdict == "holds"


def test_exchange_is_not_asked_of_two_formats():
    with pytest.raises(DesignError, match="different formats: e4m3 and e5m2"):
        check("exchange-symmetric", find_design("hopper/wgmma.f32.e4m3.e5m2"))
