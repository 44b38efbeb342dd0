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
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import ite
from mmaproof.smt.proving import cuts, monotone, monotone_in_a
from mmaproof.smt.proving.cuts import CutError, CutLemma, TermShape
from mmaproof.smt.proving.rising_terms import beside_zeros, last_sum
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.datapath import Addend
from mmaproof.smt.semantics.patterns import is_largest, last_before_power, order_key, successor
from mmaproof.smt.semantics.unit import factors
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


@pytest.mark.few(1)
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
SCALED = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"


@pytest.mark.middle
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


GAUDI3 = "gaudi3/mme.m1n1k8.f32.e4m3b7.e4m3b7.f32"
CHAINS = "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"
LATE = (CDNA3, CDNA3_FP8, RDNA4)
IN_A = (
    *LATE,  # sums of sums, with a c that may be dropped
    "cdna2/v_mfma_f32_32x32x8f16",  # rounded products and additions
    CHAINS,  # rounded multiply-adds
    "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32",  # an exact join
    "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",  # a rounded sum of products
    GAUDI3,  # elements that are widened
    "cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32",  # products that are normalised
)


@pytest.mark.middle
@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=() if i in (1, 2, 3) else pytest.mark.middle) for i, x in enumerate(IN_A)]
)
def test_a_rises_through_every_stage(name):
    lemmas = monotone_in_a.lemmas_for_a(find_design(name))
    assert len({x.name for x in lemmas}) == len(lemmas)
    assert {decide(x) for x in lemmas} == {Status.PROVED}


@pytest.mark.parametrize(
    "change",
    [
        f"{RDNA4}@sticky=yes",
        f"{CDNA3}@late_rounding=twice",
        f"{CDNA3}@late_bits=20",  # the sum of the products loses bits at its own exponent
        f"{CDNA3}@late_alignment=jam",
        f"{RDNA4}@grouping=all",
        "rdna3/v_wmma_f32_16x16x16_f16",  # inverts terms
        "cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32@zero_product=natural",  # a zero that takes part in e_max
        # no lemma is about the scales of a product that is normalised
        f"{SCALED}@product_exponent=normalised,zero_product=absent,zero_c=absent",
    ],
)
def test_there_are_no_lemmas_about_a_where_the_argument_fails(change):
    assert monotone_in_a.lemmas_for_a(find_design(change)) == ()


@pytest.mark.parametrize("name", [f"{CDNA3}@fraction_bits=5", f"{RDNA4}@fraction_bits=5"])
def test_too_few_bits_of_a_sum_of_sums_are_found_out(name):
    assert decide(one(monotone.LargeStep, monotone_in_a.lemmas_for_a(find_design(name)))) is Status.REFUTED
    assert check("monotone-in-a", find_design(name)).verdict == "violated"


@pytest.mark.parametrize(("name", "others"), [(CDNA3, 7 + 2), (RDNA4, 1 + 4), (CDNA3_FP8, 7 + 2 + 3)])
def test_every_term_of_every_sum_is_made_up_for(name, others):
    # those beside the product; then every term of each later sum, a c that may be dropped twice
    assert one(monotone.LargeStep, monotone_in_a.lemmas_for_a(find_design(name))).lost >= others


def test_the_largest_number_has_none_above_it():
    # of a format without infinities it would be followed by the pattern of a zero
    design = find_design(CDNA3_FP8)
    step = design.step.L
    question = find_property("monotone-in-a").question(design, Scope())
    for first, meant in ((design.a_format.max_finite, False), (design.a_format.max_finite - 1, True)):
        operands = Operands((first, *(0,) * (step - 1)), (0x40, *(0,) * (step - 1)), 0)
        assert question.is_meant(operands) == meant


@pytest.mark.middle
@pytest.mark.parametrize("name", ["e4m3fnuz", "e2m1", "e4m3", "fp16", "tf32"])
def test_one_number_is_the_largest(name):
    fmt = FORMATS[name]
    low = 1 << fmt.ignored_bits
    found = [p for p in range(0, 1 << fmt.bits, low) if is_largest(ALGEBRA, fmt, ALGEBRA.unsigned(p, fmt.bits)).data]
    assert [p >> fmt.ignored_bits for p in found] == [fmt.max_finite >> fmt.ignored_bits]


def test_a_cut_that_is_not_the_whole_part_is_found_out(monkeypatch):
    def one_less(algebra, term, e_max, cut):
        kept = align(algebra, term, e_max, cut)
        return algebra.ite(e_max > 0, (kept - 1).narrow(kept.width), kept)

    lemma = one(cuts.CutOfValue, monotone_in_a.lemmas_for_a(find_design(CDNA3)))
    monkeypatch.setattr(cuts, "align", one_less)
    assert decide(lemma) is Status.REFUTED
    truncated = cuts.CutOfValue("terms", lemma.shape, replace(lemma.cut, alignment=Alignment.TRUNCATE))
    monkeypatch.setattr(cuts, "align", align)
    assert decide(truncated) is Status.PROVED
    with pytest.raises(ValueError, match="whole part"):
        cuts.CutOfValue("terms", lemma.shape, replace(lemma.cut, alignment=Alignment.JAM))


def test_a_c_that_comes_back_is_found_out(monkeypatch):
    def where_even(algebra, c, e_max, fraction_bits, e_min):
        del fraction_bits, e_min
        nothing = algebra.unsigned(0, c.significand.width)
        return replace(c, significand=ite(e_max.extract(0, 0).is_value(0), nothing, c.significand))

    lemma = one(monotone_in_a.KeptAgain, monotone_in_a.lemmas_for_a(find_design(RDNA4)))
    monkeypatch.setattr(cuts, "without_small_c", where_even)
    assert decide(lemma) is Status.REFUTED


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
    monkeypatch.setattr(cuts, "without_far_c", where_even)
    assert decide(one(cuts.KeptInOrder, far)) is Status.REFUTED
    monkeypatch.setattr(cuts, "without_small_c", always)
    assert decide(one(cuts.KeptAtTop, small)) is Status.REFUTED


def test_the_term_of_c_is_the_one_before_it_is_dropped():
    # beside products that read a high exponent, every c would be dropped
    design = find_design(f"{CDNA3_FP8}@zero_product=e-zero,e_zero=300")
    changed = one(monotone.TermRises, monotone.lemmas_for_c(design)).changed
    first, _ = changed.terms(ALGEBRA, {"x": ALGEBRA.unsigned(0x3F800000, 32)}, ALGEBRA.unsigned(0x3F800001, 32))
    assert first.significand.data


@pytest.mark.slow_values("hopper/wgmma.f32.e4m3.e4m3")
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
    assert monotone_in_a.lemmas_for_a(find_design(VOLTA))
    assert monotone.lemmas_for_c(find_design(f"{VOLTA}@{change}")) == ()
    assert monotone_in_a.lemmas_for_a(find_design(f"{VOLTA}@{change}")) == ()


@pytest.mark.middle
@pytest.mark.parametrize("name", [f"{CDNA3}@late_alignment=nearest", "volta/f16.f16.f16.f16@alignment=nearest"])
def test_terms_rounded_to_nearest_move_little_enough(name):
    found = monotone.lemmas_for_c(find_design(name))
    assert {x.cut.alignment for x in found if isinstance(x, CutLemma)} == {Alignment.NEAREST}
    assert {monotone.CutAgain, CutError} <= {type(x) for x in found}
    answer = check("monotone-in-c", find_design(name))
    assert answer.verdict == "holds"
    assert {x.name for x in answer.answers[-1].lemmas} == {x.name for x in found}


def test_the_cuts_of_all_other_terms_are_argued_about():
    """Those of the products and of c have other widths, so a lemma about one of them says nothing of the other."""
    total = last_sum(find_design(VOLTA))
    place = total.labels.index(Addend.C)
    shapes = [TermShape.of(x, total.e_max) for x in total.terms]
    assert len(set(shapes)) == 2
    assert {x.shape for x in monotone.lemmas_of_others(total, (place,), "others")} == {shapes[0]}
    assert {x.shape for x in monotone.lemmas_of_others(total, (0,), "others")} == set(shapes)
    products = [i for i in range(len(shapes)) if i != place]
    assert {x.shape for x in monotone.lemmas_of_others(total, products, "others")} == {shapes[place]}


@pytest.mark.parametrize("name", ["monotone-in-a", "monotone-in-c"])
def test_one_operand_rises_and_the_others_stay(name):
    """The number above a negative one has a smaller pattern. Here a, b and c are of different formats."""
    design = find_design("blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e3m2.ue8m0")
    question = find_property(name).question(design, Scope())
    a, b = (3 | 1 << (fmt.bits - 1) for fmt in design.formats[:2])
    columns = [tuple(x + i % 3 for i in range(question.k)) for x in (a, b)]
    scales = (127,) * design.blocks(question.k)
    given = question.integer_words(Operands(*columns, 1 << 31 | 19, scales, scales))
    found = question.larger(ALGEBRA, given)
    words = [[x.data for x in (*y.a, *y.b, y.c, *y.scale_a, *y.scale_b)] for y in (given, found)]
    place = 0 if name == "monotone-in-a" else 2 * question.k
    assert [(i, y - x) for i, (x, y) in enumerate(zip(*words, strict=True)) if x != y] == [(place, -1)]


def test_too_few_bits_are_found_out():
    assert decide(one(monotone.LargeStep, monotone.lemmas_for_c(find_design(VOLTA)))) is Status.REFUTED
    coarse = find_property("monotone-in-a").mutant(find_design(VOLTA))
    assert decide(one(monotone.LargeStep, monotone_in_a.lemmas_for_a(coarse))) is Status.REFUTED


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


@pytest.mark.slow
def test_what_is_assumed_of_products_is_true_of_them():
    for name in (VOLTA, FP8, GAUDI3, CHAINS, "cdna2/v_mfma_f32_32x32x8f16"):
        design = find_design(name).one_step()
        (lemma, *_) = monotone_in_a.lemmas_for_a(design)
        a, b = design.a_format, design.b_format
        edges = [0, 1, a.max_finite - 1, *(n << a.fraction_bits for n in (1, 2, 3))]
        edges += [x - 1 for x in edges if x] + [random.Random(0).randrange(a.max_finite) for _ in range(20)]
        signed = [x | s << a.sign_position for x in edges for s in (0, 1)]
        for x, y in itertools.product(signed, [1, 3, (1 << b.fraction_bits) - 1, b.encode(1), b.max_finite]):
            pattern, other = ALGEBRA.unsigned(x, a.bits), ALGEBRA.unsigned(y, b.bits)
            above = successor(ALGEBRA, a, pattern)
            read = [
                factors(design, ALGEBRA, beside_zeros(ALGEBRA, design, {"a": p, "b": other}), 0)
                for p in (pattern, above)
            ]
            s, t, n = (w.significand.data for w in (read[0].a, read[1].a, read[0].b))
            width = lemma.inputs[-1].width
            products = {"product": s * n, "product_above": t * n, "n": n}
            words = {"x": pattern, "b": other, **{k: ALGEBRA.unsigned(v, width) for k, v in products.items()}}
            assert lemma.assumption(ALGEBRA, words).data
            assert lemma.claim(ALGEBRA, words).data


@pytest.mark.few(1)
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
