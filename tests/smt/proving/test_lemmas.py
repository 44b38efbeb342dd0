"""Lemmas about cuts and conversions: true ones are proved, and each has a mutant that is refuted."""

from dataclasses import replace
from fractions import Fraction

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.readings import Alignment
from mmaproof.properties.library.carry import SumFits
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving import cuts
from mmaproof.smt.proving.cuts import (
    ConversionError,
    ConversionOfValue,
    CutBound,
    CutError,
    CutIsExact,
    LeadingBits,
    conversion_errors,
    cut_terms,
    leading_bits,
)
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.semantics.datapath import Addend
from mmaproof.smt.solving.verdict import Status

VOLTA = "volta/f32.f16.f16.f32"
HALF = "volta/f16.f16.f16.f16"
FP8 = "hopper/wgmma.f32.e4m3.e4m3"


def parts(name):
    """The design of one step, its sum and the shapes of its terms."""
    design = find_design(name).one_step()
    algebra = TermAlgebra()
    question = SumFits(design, Scope(), 5)
    (total,) = dot_product_accumulate(design, algebra, question.symbols(algebra)).steps[0].sums
    return design, total, {kind: shape for kind, (shape, _) in cut_terms(total).items()}


def cut_of(design):
    """How the terms of its only sum are cut."""
    return Cut(design.step.fraction_bits, design.step.alignment)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name",
    [
        VOLTA,
        f"{VOLTA}@alignment=jam",
        *(pytest.param(x, marks=pytest.mark.middle) for x in (FP8, f"{VOLTA}@alignment=floor")),
        pytest.param(f"{VOLTA}@alignment=nearest", marks=pytest.mark.middle),
    ],
)
@pytest.mark.parametrize("kind", ["products", "c"])
def test_a_cut_moves_a_term_by_less_than_one_unit(name, kind):
    design, _, shapes = parts(name)
    assert decide(CutError(kind, shapes[kind], cut_of(design))) is Status.PROVED


@pytest.mark.parametrize("kind", ["products", "c"])
def test_a_cut_that_drops_another_bit_is_found_out(monkeypatch, kind):
    design, _, shapes = parts(VOLTA)

    def coarser(algebra, term, e_max, cut):
        kept = align(algebra, term, e_max, Cut(cut.fraction_bits - 1, cut.alignment))
        return algebra.shift_left(kept, 1)

    monkeypatch.setattr(cuts, "align", coarser)
    assert decide(CutError(kind, shapes[kind], cut_of(design))) is Status.REFUTED


@pytest.mark.parametrize("alignment", ["truncate", "floor", "jam"])
def test_no_other_cut_is_within_half_a_unit(monkeypatch, alignment):
    design, _, shapes = parts(f"{VOLTA}@alignment=nearest")
    monkeypatch.setattr(
        cuts, "align", lambda a, t, e, cut: align(a, t, e, replace(cut, alignment=Alignment(alignment)))
    )
    assert decide(CutError("c", shapes["c"], cut_of(design))) is Status.REFUTED


@pytest.mark.parametrize(("name", "kind", "spread"), [(VOLTA, "products", 3), (VOLTA, "c", 0), (FP8, "products", 7)])
def test_terms_close_to_e_max_lose_nothing_and_one_further_do(name, kind, spread):
    design, _, shapes = parts(name)
    assert decide(CutIsExact(kind, shapes[kind], cut_of(design), spread)) is Status.PROVED
    assert decide(CutIsExact(kind, shapes[kind], cut_of(design), spread + 1)) is Status.REFUTED


@pytest.mark.parametrize(
    ("alignment", "kind", "slack"),
    [
        ("truncate", "products", 0),
        ("floor", "products", 1),
        ("jam", "products", 1),
        ("nearest", "products", 0),
        # 24 bits, all set, round to the next power of two
        ("nearest,fraction_bits=10", "c", 0),
        ("nearest,fraction_bits=10", "products", 0),
    ],
)
def test_the_bound_of_a_cut_term_is_attained(alignment, kind, slack):
    design, _, shapes = parts(f"{VOLTA}@alignment={alignment}")
    lemma = CutBound(kind, shapes[kind], cut_of(design))
    assert decide(lemma) is Status.PROVED
    lower = CutBound(kind, shapes[kind], cut_of(design))
    lower.bound = lemma.bound - 1 - slack
    assert decide(lower) is Status.REFUTED


@pytest.mark.parametrize("place", [0, 2])
def test_a_lemma_about_one_product_is_of_all_only_if_they_are_alike(place):
    _, total, _ = parts(VOLTA)
    assert total.labels[place] is not Addend.C
    wider = replace(total.terms[place], largest=total.terms[place].largest + 1)
    finer = replace(total.path.cuts[place], fraction_bits=total.path.cuts[place].fraction_bits + 1)
    for other in (
        replace(total, terms=(*total.terms[:place], wider, *total.terms[place + 1 :])),
        replace(total, path=replace(total.path, cuts=(*total.path.cuts[:place], finer, *total.path.cuts[place + 1 :]))),
    ):
        with pytest.raises(ValueError, match="the products of a step differ"):
            cut_terms(other)


@pytest.mark.slow_values("volta/f16.f16.f16.f16", "volta/f32.f16.f16.f32")
@pytest.mark.parametrize("name", [pytest.param(VOLTA, marks=pytest.mark.middle), HALF, FP8])
def test_rho_is_within_its_error(name):
    design, total, _ = parts(name)
    assert decide(ConversionError(design, total)) is Status.PROVED


@pytest.mark.parametrize("rounding", [Rounding.RTN, Rounding.RTP, Rounding.RZ])
def test_a_directed_rounding_is_not_within_half_an_ulp(rounding):
    design, total, _ = parts(HALF)
    lemma = ConversionError(design, total)
    lemma.rules = replace(lemma.rules, rho=replace(lemma.rules.rho, rounding=rounding))
    assert decide(lemma) is Status.REFUTED


def test_saturation_is_not_within_an_ulp():
    design, total, _ = parts("ampere/m16n8k8.f32.bf16.bf16.f32@overflow=largest-finite")
    assert decide(ConversionError(design, total)) is Status.REFUTED


E_FDPA = "cdna1/v_mfma_f32_32x32x8f16"


def test_the_error_of_a_wide_sum_is_that_of_its_leading_bits():
    design, total, _ = parts(E_FDPA)
    leading, error = conversion_errors(design, total)
    assert (type(leading), type(error)) == (LeadingBits, ConversionError)
    assert decide(leading) is Status.PROVED
    assert error.inputs[0].width == leading_bits(leading.rules) + 1
    assert len(conversion_errors(*parts(HALF)[:2])) == 1


@pytest.mark.parametrize("fewer", [1, 2])
def test_fewer_leading_bits_do_not_decide(monkeypatch, fewer):
    design, total, _ = parts(E_FDPA)
    (leading, _) = conversion_errors(design, total)
    wanted = leading_bits(leading.rules)
    monkeypatch.setattr(cuts, "leading_bits", lambda _: wanted - fewer)
    assert decide(leading) is Status.REFUTED


def test_a_jammed_number_lies_where_the_number_does():
    # the last step of the argument, which no solver is asked about: on small sums, by trying them all
    algebra, bits, fraction = IntegerAlgebra(), 4, 7
    for value in range(1, 1 << 9):
        total = algebra.signed(value, 10)
        jammed, exponent = cuts._leading(total, algebra.signed(0, 4), fraction, bits)
        exact = Fraction(value, 1 << fraction)
        near = jammed.data * Fraction(2) ** (exponent.data - (bits - 1))
        two = Fraction(2) ** (exponent.data - bits + 2)
        assert near == exact or (exact // two == near // two and exact % two and near % two)


@pytest.mark.parametrize("name", [VOLTA, HALF, FP8])
def test_rho_depends_on_the_value_alone(name):
    design, total, _ = parts(name)
    assert decide(ConversionOfValue(design, total)) is Status.PROVED


def test_a_conversion_that_looks_at_e_max_is_found_out(monkeypatch):
    design, total, _ = parts(VOLTA)

    def peeking(algebra, rules, value, e_max, fraction_bits, zero_negative):
        pattern, overflowed = convert(algebra, rules, value, e_max, fraction_bits, zero_negative)
        low = algebra.is_bit_set(algebra.extract(e_max, 0, 0), 0)
        return algebra.ite(low, pattern, algebra.unsigned(0, pattern.width)), overflowed

    monkeypatch.setattr(cuts, "convert", peeking)
    assert decide(ConversionOfValue(design, total)) is Status.REFUTED


def test_a_lemma_is_confirmed_on_integers():
    design, _, shapes = parts(VOLTA)
    lemma = CutIsExact("c", shapes["c"], cut_of(design), 1)
    lost = {"significand_24": (1 << 24) - 1, "exponent_9": 0, "e_max_9": 1, "negative_1": 0, "present_1": 1}
    assert lemma.confirm(lost)
    assert not lemma.confirm(lost | {"significand_24": (1 << 24) - 2})


class Below(Lemma):
    """A word below one bound is below another one."""

    name = "below"

    def __init__(self, assumed, claimed, *, signed=False):
        self.assumed, self.claimed, self.inputs = assumed, claimed, (Input("x", 4, signed),)

    def assumption(self, algebra, words):
        return words["x"] < self.assumed

    def claim(self, algebra, words):
        return words["x"] < self.claimed


def test_a_lemma_is_about_the_words_that_it_assumes():
    assert decide(Below(5, 5)) is Status.PROVED
    assert decide(Below(6, 5)) is Status.REFUTED
    assert decide(Below(7, 3, signed=True)) is Status.REFUTED
    assert decide(Below(-3, -3, signed=True)) is Status.PROVED
    assert [x for x in range(16) if Below(6, 3).confirm({"x_4": x})] == [3, 4, 5]
    assert [x for x in range(16) if Below(-2, -5, signed=True).confirm({"x_4": x})] == [11, 12, 13]


def test_a_lemma_about_nothing_proves_nothing():
    assert decide(Below(0, 5)) is Status.VACUOUS
    assert decide(Below(-8, -8, signed=True)) is Status.VACUOUS


def test_shifting_left_by_a_word_keeps_every_bit():
    algebra: Algebra[int, bool] = IntegerAlgebra()
    for amount in range(16):
        moved = algebra.shift_left_by(algebra.unsigned(5, 3), algebra.unsigned(amount, 4))
        assert moved.data == 5 << amount
        negative = algebra.shift_left_by(algebra.signed(-3), algebra.unsigned(amount, 4))
        assert negative.data == -3 << amount
