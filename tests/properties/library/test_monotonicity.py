"""Monotonicity: Fasi et al.'s counterexample, generalised, and the units that lemmas prove monotone."""

import itertools
import random
from dataclasses import replace

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.readings import Alignment
from mmaproof.properties.library import find_property
from mmaproof.properties.run_question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import ite
from mmaproof.smt.proving import dropped_c, monotone
from mmaproof.smt.proving.cuts import CutError, CutLemma
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.patterns import last_before_power, order_key, successor
from mmaproof.smt.semantics.unpack import unpack
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import check

VOLTA, FP8 = "volta/f32.f16.f16.f32", "hopper/wgmma.f32.e4m3.e4m3"
CDNA3 = "cdna3/v_mfma_f32_32x32x8_f16"
ALGEBRA = IntegerAlgebra()


def one(kind, found):
    return next(x for x in found if isinstance(x, kind))


@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "specimen", "mutant"), [("monotone-in-c", "violated", "holds"), ("monotone-in-a", "holds", "violated")]
)
def test_mutants_come_out_the_other_way(name, specimen, mutant):
    asked = find_property(name)
    design = find_design(asked.specimen)
    answers = [check(name, d) for d in (design, asked.mutant(design))]
    assert [x.verdict for x in answers] == [specimen, mutant]
    (violated,) = (x for x in answers if x.verdict == "violated")
    first, second = violated.finding.runs
    assert [evaluate(run.design, run.operands) for run in (first, second)] == [first.d, second.d]
    low, high = (order_key(ALGEBRA, FORMATS["fp32"], ALGEBRA.unsigned(run.d, 32)).data for run in (first, second))
    assert high < low


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        # Fasi et al.: Volta, Turing and Ampere; the others after Xie et al.'s algorithms
        ("turing/f32.f16.f16.f32", "violated"),
        ("ampere/m16n8k16.f32.bf16.bf16.f32", "violated"),
        pytest.param("hopper/wgmma.f32.f16.f16", "violated", marks=pytest.mark.middle),
        (FP8, "violated"),
        ("paper/sequential.m1n1k4.f32.f16.f16.f32", "violated"),
        # so few bits of c that all products together lose less than its step; two rounded sums
        pytest.param("volta/f16.f16.f16.f16", "holds", marks=pytest.mark.middle),
        pytest.param(CDNA3, "holds", marks=pytest.mark.middle),
        (f"{CDNA3}@L=2", "holds"),
    ],
)
def test_c_rises(name, verdict):
    assert check("monotone-in-c", find_design(name)).verdict == verdict


RDNA4, CDNA3_FP8 = "rdna4/v_wmma_f32_16x16x16_bf16", "cdna3/v_mfma_f32_16x16x32_fp8_fp8"


@pytest.mark.parametrize(
    "name",
    [
        RDNA4,  # drops a c below one unit
        CDNA3_FP8,  # drops a c far below the products
        "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32",  # adds c to the normalised sum, and flushes
        pytest.param("arm/fdot.m1n1k4.f32.e5m2.e5m2.f32", marks=pytest.mark.middle),
    ],
)
def test_c_rises_where_it_joins_sums(name):
    found = [decide(x) for x in monotone.lemmas_for_c(find_design(name))]
    assert found
    assert set(found) == {Status.PROVED}


def test_inverted_terms_have_no_lemmas_because_c_turns_them():
    assert monotone.lemmas_for_c(find_design("rdna3/v_wmma_f32_16x16x16_f16")) == ()


def test_a_c_that_is_dropped_out_of_order_is_found_out(monkeypatch):
    def where_even(fraction_bits, products, c):
        del fraction_bits, products
        return replace(c, significand=ite(c.exponent.extract(0, 0).is_value(0), 0 * c.significand, c.significand))

    def always(algebra, c, e_max, fraction_bits, e_min):
        del e_max, fraction_bits, e_min
        return replace(c, significand=algebra.unsigned(0, c.significand.width))

    far, small = (monotone.lemmas_for_c(find_design(n)) for n in (CDNA3_FP8, RDNA4))
    monkeypatch.setattr(dropped_c, "without_far_c", where_even)
    assert decide(one(dropped_c.KeptInOrder, far)) is Status.REFUTED
    monkeypatch.setattr(dropped_c, "without_small_c", always)
    assert decide(one(dropped_c.KeptAtTop, small)) is Status.REFUTED


def test_the_term_of_c_is_the_one_before_it_is_dropped():
    # beside products that read a high exponent, every c would be dropped
    design = find_design(f"{CDNA3_FP8}@zero_product=e-zero,e_zero=300")
    changed = one(monotone.TermRises, monotone.lemmas_for_c(design)).changed
    first, _ = changed.terms(ALGEBRA, {"x": ALGEBRA.unsigned(0x3F800000, 32)}, ALGEBRA.unsigned(0x3F800001, 32))
    assert first.significand.data


@pytest.mark.middle
@pytest.mark.parametrize("name", [FP8])
def test_a_rises(name):
    assert check("monotone-in-a", find_design(name)).verdict == "holds"


def test_the_inputs_of_the_paper_are_a_witness():
    # four addends of 2^-24: c = 1 - 2^-24 gives 1 + 2^-23, c = 1 gives 1; on Ampere eight addends of 2^-25 do the same
    for name, addend in ((VOLTA, 0x0001), ("ampere/m16n8k8.f32.bf16.bf16.f32", 0x3300)):
        design = find_design(name)
        unit = design.a_format.encode(1)
        count = design.step.L
        operands = Operands((addend,) * count, (unit,) * count, 0x3F7FFFFF)
        question = find_property("monotone-in-c").question(design, Scope())
        assert question.is_refuted_by(operands)
        assert [run.d for run in question.witness_runs(operands)] == [0x3F800001, 0x3F800000]


@pytest.mark.parametrize("change", ["carry_bits=0", "summation=sequential"])
def test_lemmas_are_offered_where_the_argument_holds(change):
    assert monotone.lemmas_for_c(find_design(VOLTA))
    assert monotone.lemmas_for_a(find_design(VOLTA))
    assert monotone.lemmas_for_c(find_design(f"{VOLTA}@{change}")) == ()
    assert monotone.lemmas_for_a(find_design(f"{VOLTA}@{change}")) == ()


@pytest.mark.middle
@pytest.mark.parametrize("name", [f"{CDNA3}@late_alignment=nearest", "volta/f16.f16.f16.f16@alignment=nearest"])
def test_terms_rounded_to_nearest_move_little_enough(name):
    found = monotone.lemmas_for_c(find_design(name))
    assert {x.cut.alignment for x in found if isinstance(x, CutLemma)} == {Alignment.NEAREST}
    assert {monotone.CutAgain, CutError} <= {type(x) for x in found}
    answer = check("monotone-in-c", find_design(name))
    assert answer.verdict == "holds"
    assert {x.name for x in answer.answers[-1].lemmas} == {x.name for x in found}


def test_too_few_bits_are_found_out():
    assert decide(one(monotone.LargeStep, monotone.lemmas_for_c(find_design(VOLTA)))) is Status.REFUTED
    coarse = find_property("monotone-in-a").mutant(find_design(VOLTA))
    assert decide(one(monotone.LargeStep, monotone.lemmas_for_a(coarse))) is Status.REFUTED


def test_a_term_that_falls_is_found_out(monkeypatch):
    found = monotone.lemmas_for_c(find_design(VOLTA))
    lemma = one(monotone.TermRises, found)
    terms = lemma.changed.terms
    monkeypatch.setattr(lemma.changed, "terms", lambda *given: terms(*given)[::-1])
    assert decide(lemma) is Status.REFUTED


@pytest.mark.parametrize("name", [VOLTA, f"{VOLTA}@alignment=nearest"])
def test_a_cut_that_turns_around_is_found_out(monkeypatch, name):
    def turned(algebra, term, e_max, cut):
        high = algebra.less(algebra.signed(0), e_max)
        return align(algebra, replace(term, negative=algebra.exclusive_or(term.negative, high)), e_max, cut)

    def lossy(algebra, term, e_max, cut):
        kept = align(algebra, term, e_max, cut)
        return algebra.ite(algebra.is_bit_set(kept, 1), algebra.signed(0), kept)

    found = monotone.lemmas_for_c(find_design(name))
    monkeypatch.setattr(monotone, "align", turned)
    assert decide(one(monotone.CutOfDoubled, found)) is Status.REFUTED
    assert decide(one(monotone.CutAgain, found)) is Status.REFUTED
    monkeypatch.setattr(monotone, "align", lossy)
    assert decide(one(monotone.CutOrdered, found)) is Status.REFUTED


def test_a_conversion_out_of_order_is_found_out(monkeypatch):
    def wrapped(algebra, rules, total, e_max, fraction_bits, zero_negative):
        pattern, overflowed = convert(algebra, rules, total, e_max, fraction_bits, zero_negative)
        lowest = algebra.is_bit_set(pattern, 0)
        return algebra.ite(lowest, algebra.unsigned(0, pattern.width), pattern), overflowed

    convert = monotone.convert
    monkeypatch.setattr(monotone, "convert", wrapped)
    assert decide(one(monotone.OrderedConversion, monotone.lemmas_for_c(find_design(VOLTA)))) is Status.REFUTED


@pytest.mark.middle
def test_what_is_assumed_of_products_is_true_of_them():
    for name in (VOLTA, FP8):
        design = find_design(name)
        (lemma, *_) = monotone.lemmas_for_a(design)
        a, b = design.a_format, design.b_format
        edges = [0, 1, a.max_finite - 1, *(n << a.fraction_bits for n in (1, 2, 3))]
        edges += [x - 1 for x in edges if x] + [random.Random(0).randrange(a.max_finite) for _ in range(20)]
        signed = [x | s << a.sign_position for x in edges for s in (0, 1)]
        for x, y in itertools.product(signed, [1, 3, (1 << b.fraction_bits) - 1, b.encode(1), b.max_finite]):
            pattern, other = ALGEBRA.unsigned(x, a.bits), ALGEBRA.unsigned(y, b.bits)
            above = successor(ALGEBRA, a, pattern)
            s, t, n = (unpack(ALGEBRA, f, p).significand.data for f, p in ((a, pattern), (a, above), (b, other)))
            width = lemma.inputs[-1].width
            products = {"product": s * n, "product_above": t * n, "n": n}
            words = {"x": pattern, "b": other, **{k: ALGEBRA.unsigned(v, width) for k, v in products.items()}}
            assert lemma.assumption(ALGEBRA, words).data
            assert lemma.claim(ALGEBRA, words).data


@pytest.mark.parametrize("fmt", [FORMATS[n] for n in ("fp16", "e4m3", "e4m3fnuz", "e5m2")], ids=lambda f: f.name)
def test_successors_are_in_order_and_leave_none_out(fmt):
    finite = [
        p for p in range(1 << fmt.bits) if not fmt.is_nan(p) and (p & ~(1 << fmt.sign_position)) <= fmt.max_finite
    ]
    order = sorted(finite, key=lambda p: (_key(fmt, p), -(p >> fmt.sign_position)))
    for x, y in itertools.pairwise(order):
        assert successor(ALGEBRA, fmt, ALGEBRA.unsigned(x, fmt.bits)).data == y
        assert _key(fmt, x) < _key(fmt, y) or not (x | y) & ((1 << fmt.sign_position) - 1)


def _key(fmt, pattern):
    return order_key(ALGEBRA, fmt, ALGEBRA.unsigned(pattern, fmt.bits)).data


def test_ignored_bits_are_stepped_over():
    tf32 = FORMATS["tf32"]
    assert successor(ALGEBRA, tf32, ALGEBRA.unsigned(0x3F801FFF, 32)).data == 0x3F802000


def test_ends_of_binades():
    fp32 = FORMATS["fp32"]
    for given, expected in (
        (0x3F812345, 0x3FFFFFFF),
        (0xBF812345, 0xBF800000),
        (0x00000005, 0x007FFFFF),
        (0x80000005, 0x80000001),
        (0x00000000, 0x00000000),
        (0x80000000, 0x80000000),
    ):
        assert last_before_power(ALGEBRA, fp32, ALGEBRA.unsigned(given, 32)).data == expected


def test_one_product_has_no_mutant():
    with pytest.raises(DesignError, match="one product and c rise"):
        find_property("monotone-in-c").mutant(find_design("ampere/m8n8k4.f64.f64.f64.f64"))
