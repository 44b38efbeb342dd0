"""Carry bits, exactness and the error bound: proved at any L, refuted on their mutants, and checked by hand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.formats import decode
from support.sampling import distinct_designs

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library import find_property
from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.library.exactness import WithinSpread
from mmaproof.properties.property import has_single_sum
from mmaproof.properties.question import Scope
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.trace import evaluate, trace
from mmaproof.verification.check import check
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import Budget

VOLTA = "volta/f32.f16.f16.f32"
FP8 = "hopper/wgmma.f32.e4m3.e4m3"
HOPPER = "hopper/wgmma.f32.f16.f16"
NORMALISED = f"{VOLTA}@product_exponent=normalised"


def ask(name, design, seconds=60):
    found = find_design(design) if isinstance(design, str) else design
    return check(name, found, limits=Limits(seconds, 4 << 30), budget=Budget(20_000, 2.0))


def of_length(name, products):
    """The design with K = L = products, a unit that only exists here."""
    design = find_design(name)
    return replace(design, k=products, step=replace(design.step, L=products), changed=("L", *design.changed))


def value(fmt, pattern):
    """What a pattern is worth, by the independent reference."""
    x = decode(pattern, fmt.name)
    return -x.magnitude if x.sign else x.magnitude


@pytest.mark.parametrize(
    ("products", "bits"),
    [
        (4, 3),
        pytest.param(8, 4, marks=pytest.mark.middle),
        pytest.param(16, 5, marks=pytest.mark.middle),
        pytest.param(32, 6, marks=pytest.mark.middle),
        pytest.param(64, 7, marks=pytest.mark.middle),
    ],
)
@pytest.mark.parametrize("name", [VOLTA, pytest.param(NORMALISED, marks=pytest.mark.middle)])
def test_carry_bits_of_fp16(name, products, bits):
    # reference.md, section 1, for 5, 9, 17 and 33 terms; Valpey et al. 2025 answered the first of these only
    answer = ask("carry-bits", of_length(name, products))
    assert (answer.verdict, answer.finding.value) == ("holds", bits)
    proof, needed = answer.answers[0], answer.answers[-1]
    assert proof.theorem is not None
    fewer, enough = answer.finding.runs
    assert fewer.design.step.carry_bits == bits - 1 and enough.design.step.carry_bits == bits
    assert fewer.d != enough.d
    wider = enough.design.change(carry_bits=bits + 1)
    assert evaluate(wider, enough.operands) == enough.d
    assert needed.witness is not None


@pytest.mark.middle
@pytest.mark.parametrize(("name", "bits"), [("rtx-blackwell/m16n8k16.f32.e4m3.e4m3.f32", 4), (FP8, 5)])
def test_carry_bits_of_fp8(name, bits):
    answer = ask("carry-bits", name)
    assert (answer.verdict, answer.finding.value) == ("holds", bits)


def test_a_register_that_wraps_violates_carry_bits():
    answer = ask("carry-bits", f"{VOLTA}@carry_bits=2")
    assert (answer.verdict, answer.finding.value) == ("violated", 3)
    assert {run.design.step.carry_bits for run in answer.finding.runs} == {2, 3}
    assert ask("carry-bits", f"{VOLTA}@carry_bits=4").verdict == "holds"


@pytest.mark.slow_values("blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3-19-2")
@pytest.mark.parametrize(
    ("name", "products", "c"),
    [
        pytest.param(VOLTA, 3, 0, marks=pytest.mark.middle),
        pytest.param("turing/f32.f16.f16.f32", 4, 1, marks=pytest.mark.middle),
        pytest.param(HOPPER, 5, 2, marks=pytest.mark.middle),
        pytest.param(FP8, 7, "none", marks=pytest.mark.middle),
        pytest.param("blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3", 19, 2, marks=pytest.mark.middle),
        pytest.param("ampere/m16n8k16.f32.bf16.bf16.f32", 10, 1, marks=pytest.mark.middle),
        pytest.param("volta/f16.f16.f16.f16", 3, 13, marks=pytest.mark.slow),
        pytest.param("cdna1/v_mfma_f32_32x32x8f16", "any", "any", marks=pytest.mark.middle),
    ],
)
def test_exactness(name, products, c):
    for kind, expected in (("products", products), ("c", c)):
        answer = ask(f"exactness-of-{kind}", name)
        assert (answer.verdict, answer.finding.value) == ("violated" if expected == "none" else "holds", expected)


@pytest.mark.middle
def test_what_lies_one_beyond_is_not_exact():
    answer = ask("exactness-of-products", VOLTA)
    run, exact = answer.finding.runs
    a, b, c, d = run.design.formats
    products = [value(a, x) * value(b, y) for x, y in zip(run.operands.a, run.operands.b, strict=True)]
    total = sum(products) + value(c, run.operands.c)
    assert value(d, exact.d) != value(d, run.d)
    assert abs(value(d, exact.d) - total) < abs(value(d, run.d) - total)


def test_the_spread_is_of_the_exponents_that_the_design_adds():
    design = find_design(VOLTA)
    question = WithinSpread(design, Scope(), 3, 0)
    # 1.5 * 1.5 lies at exponent 0 although it is 2.25; c = 1.0 beside it
    near = Operands((0x3E00, 0, 0, 0), (0x3E00, 0, 0, 0), 0x3F800000)
    assert question.is_meant(near)
    assert not question.is_meant(replace(near, c=0x3F000000)), "c one below e_max"
    assert question.is_meant(replace(near, c=0)), "zeros lie anywhere"
    assert not question.is_meant(replace(near, c=0x7F800000)), "finite operands only"


@pytest.mark.middle
@pytest.mark.slow_values("ampere/m16n8k8.f32.tf32.tf32.f32", "hopper/wgmma.f32.f16.f16")
@pytest.mark.parametrize(
    "name",
    [
        VOLTA,
        pytest.param("volta/f16.f16.f16.f16", marks=pytest.mark.middle),
        pytest.param(HOPPER, marks=pytest.mark.middle),
        pytest.param(FP8, marks=pytest.mark.middle),
        pytest.param("ane/tile", marks=pytest.mark.middle),  # whose unit in the last place is below what it keeps
        pytest.param("ampere/m16n8k16.f32.bf16.bf16.f32", marks=pytest.mark.middle),
        pytest.param("ampere/m16n8k8.f32.tf32.tf32.f32", marks=pytest.mark.middle),
    ],
)
def test_the_error_bound_is_proved_and_nearly_reached(name):
    answer = ask("error-bound", name)
    assert answer.verdict == "holds"
    assert all(lemma.status.value == "proved" for lemma in answer.answers[0].lemmas) and answer.answers[0].lemmas
    assert 0.5 < answer.finding.value < 1
    (run,) = answer.finding.runs
    assert answer.finding.value <= error_over_bound(run.design.one_step(), run.operands) < 1


def error_over_bound(design, operands):
    """Error over bound by the independent reference, except for e_max, which is the design's own."""
    a, b, c, d = design.formats
    p, rho = design.step, design.step.conversion
    products = [value(a, x) * value(b, y) for x, y in zip(operands.a, operands.b, strict=True)]
    (step,) = trace(design, operands).steps
    returned = value(d, step.d.data)
    error = abs(returned - sum(products) - value(c, operands.c))
    exponent = d.e_min
    while returned and Fraction(2) ** (exponent + 1) <= abs(returned):
        exponent += 1
    ulp = Fraction(2) ** (exponent - rho.fraction_bits - (rho.rounding.value == "rne"))
    return error / ((p.L + 1) * Fraction(2) ** (step.e_max.data - p.fraction_bits) + ulp)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [VOLTA, "volta/f16.f16.f16.f16", FP8])
def test_tightness_on_arrays_is_that_of_the_reference(name):
    design = find_design(name)
    question = WithinBound(design, Scope())
    rng = np.random.default_rng(1)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 20, question.k, rng)
        ratios = question.tightness(batch)
        for i, ratio in enumerate(ratios):
            if ratio:
                assert ratio == pytest.approx(float(error_over_bound(design.one_step(), batch.row(i))))


def single_sums():
    """One design of each arithmetic for which the claim can be stated."""
    return [
        d
        for d in distinct_designs()
        if has_single_sum(d) and d.guarantees(Guarantee.CONVERTED_BY_RHO) and not d.d_format.is_integer
    ]


def extremes(design, k):
    """The largest c beside the smallest products, and the smallest one beside the largest; small and large scales."""
    a, b, c, _ = design.formats
    blocks, scale = design.blocks(k), design.scale_format
    values = [((0,), (0,))] if scale is None else [((1,) * blocks,) * 2, ((scale.max_finite,) * blocks,) * 2]
    return [
        Operands((x,) * k, (y,) * k, z, *(scales if scale is not None else ()))
        for x, y in ((1, 1), (a.max_finite, b.max_finite), (1, b.max_finite), (0, b.max_finite))
        for z in (0, 1, c.max_finite)
        for scales in values
    ]


@pytest.mark.parametrize("setting", ["zero_c=e-zero,e_zero={}", "floor={}"])
def test_the_words_of_the_bound_reach_what_zeros_read(setting):
    def places(exponent):
        return WithinBound(find_design(f"{VOLTA}@{setting.format(exponent)}"), Scope()).step_error(()).places

    assert places(-400) - places(-300) == 100
    assert places(400) - places(300) == 100


@pytest.mark.few(8)
@pytest.mark.parametrize("design", single_sums(), ids=lambda d: d.name)
def test_the_words_of_the_bound_lose_nothing(design):
    question = WithinBound(design, Scope())
    step, k = design.one_step(), question.k
    scale = design.scale_format
    of_products = design.a_format.e_min + design.b_format.e_min + (2 * scale.e_min if scale else 0)
    least = min(design.d_format.e_min, of_products)
    rng = np.random.default_rng(3)
    rows = extremes(step, k)
    for distribution in sorted(DISTRIBUTIONS):
        batch = draw(distribution, step, 4, k, rng)
        rows += [batch.row(i) for i in range(len(batch))]
    for operands in rows:
        (signals,) = trace(step, operands).steps
        if signals.special.nan.data or signals.special.infinite.data:
            continue
        sides = question.step_error(signals.terms)
        algebra, e_max = signals.d.algebra, signals.e_max
        e = sides.exponent(algebra, e_max)
        assert e.data == max(e_max.data, least)
        unit = Fraction(2) ** (e.data - sides.places)
        exact = sides.total(algebra, [sides.exact(algebra, t, e) for t in signals.terms])
        wanted = [
            (-1) ** t.negative.data * t.significand.data * Fraction(2) ** (t.exponent.data - t.fraction_bits)
            for t in signals.terms
        ]
        assert exact.data * unit == sum(wanted)
        bound = sides.bound_of_terms(algebra, e_max, e).data * unit
        if any(t.present.data for t in signals.terms):  # else every term is zero
            assert bound == (step.step.cut_terms + 1) * Fraction(2) ** (e_max.data - step.step.kept_bits)
        d = unpack(algebra, design.d_format, signals.d)
        returned = sides.returned(algebra, d, e)
        if not (d.nan.data or d.infinite.data):
            assert returned.fits.data
            assert returned.value.data * unit == value(design.d_format, signals.d.data)
            rho = step.step.conversion
            half = rho.rounding.value in ("rne", "rna")
            assert returned.ulp.data * unit == Fraction(2) ** (d.exponent.data - rho.fraction_bits - half)


@pytest.mark.parametrize("change", ["carry_bits=0", "overflow=largest-finite"])
def test_the_error_bound_is_violated_by_mutants(change):
    answer = ask("error-bound", f"ampere/m16n8k8.f32.bf16.bf16.f32@{change}")
    assert answer.verdict == "violated"
    (run,) = answer.finding.runs
    assert error_over_bound(run.design.one_step(), run.operands) >= 1


@pytest.mark.slow_values("error-bound")
@pytest.mark.middle
@pytest.mark.parametrize("name", ["carry-bits", "error-bound", "exactness-of-products", "exactness-of-c"])
def test_each_comes_out_the_other_way_on_its_mutant(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    assert ask(name, specimen).verdict == "holds"
    assert ask(name, asked.mutant(specimen)).verdict == "violated"


@pytest.mark.parametrize("name", ["carry-bits", "error-bound"])
def test_they_are_about_one_step(name):
    with pytest.raises(DesignError, match="one step"):
        check(name, find_design(VOLTA), k=8)


def test_units_without_one_sum_are_refused_with_the_reason():
    with pytest.raises(DesignError, match="one fused sum"):
        check("error-bound", find_design("cdna2/v_mfma_f32_32x32x8f16"))


@pytest.mark.parametrize("name", ["error-bound", "exactness-of-c", "exactness-of-products"])
def test_nothing_is_asked_of_products_that_are_shifted(name):
    assert find_property(name).why_not(find_design(VOLTA)) is None
    assert find_property(name).why_not(find_design(f"{VOLTA}@product_shift=3")) is not None
