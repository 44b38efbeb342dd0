"""How far apart terms may lie: a number with a witness one further, or any spread where none reaches further."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.properties.library.exactness import WithinSpread
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.check import check


@pytest.mark.slow_values(
    "blackwell/tcgen05.mma.m64n8k32.f16.e3m2.e3m2-any", "blackwell/tcgen05.mma.m64n8k32.f16.e3m2.e4m3-20"
)
@pytest.mark.parametrize(
    ("design", "value"),
    [
        # the products of two fp6 lie at most 19 below the largest fp16 accumulator: nothing is ever lost
        pytest.param("blackwell/tcgen05.mma.m64n8k32.f16.e3m2.e3m2", "any", marks=pytest.mark.middle),
        # c above every product, and a product below the cut that decides a tie
        pytest.param("blackwell/tcgen05.mma.m64n8k32.f16.e3m2.e4m3", 20, marks=pytest.mark.middle),
        ("volta/mma.m8n8k4.f32.f16.f16.f32", 3),
    ],
)
def test_products(design, value):
    answer = check("exactness-of-products", find_design(design))
    assert (answer.verdict, answer.finding.value) == ("holds", value)
    assert bool(answer.finding.runs) == (value != "any")


@pytest.mark.slow_values("blackwell/tcgen05.mma.m64n8k32.f16.e2m3.e4m3-15")
@pytest.mark.parametrize(
    ("design", "value"),
    [
        # c alone below the cut, where it decides a tie
        pytest.param("blackwell/tcgen05.mma.m64n8k32.f16.e2m3.e4m3", 15, marks=pytest.mark.middle),
        ("volta/mma.m8n8k4.f32.f16.f16.f32", 0),
    ],
)
def test_c(design, value):
    answer = check("exactness-of-c", find_design(design))
    assert (answer.verdict, answer.finding.value) == ("holds", value)
    assert answer.finding.runs


@pytest.mark.parametrize("change", ["subnormals=results", "product_limit=128", "carry_bits=2", "join=round-down"])
def test_lemmas_are_offered_where_the_sum_is_what_is_returned(change):
    name = "volta/mma.m8n8k4.f32.f16.f16.f32"
    assert WithinSpread(find_design(name), Scope(), 0, 0).lemmas()
    assert not WithinSpread(find_design(f"{name}@{change}"), Scope(), 0, 0).lemmas()


@pytest.mark.middle
@pytest.mark.parametrize(("products", "c", "proved"), [(22, 2, True), (23, 2, False), (22, 3, False)])
def test_units_with_scales_have_a_theorem_and_none_for_one_place_more(products, c, proved):
    """Zeros have the exponents of their scales, so e_max may lie any number of places above that of the exact sum."""
    design = find_design("blackwell/tcgen05.mma.m128n8k32.block32.f32.e2m1.e3m2.ue8m0@L=4")
    question = WithinSpread(design, Scope(), products, c)
    assert question.decides_by_argument
    whole = question.formula
    asked = Lemmas(Solving().ask, Limits(120, 4 << 30), worked(), whole.environment)
    assert (asked.joined(whole.violation, question.argument()) is not None) is proved


def test_the_exact_design_keeps_every_bit_beside_a_product_that_is_not_normalised():
    # the product of the smallest subnormals has the exponent -28 as a sum, -48 normalised: c lies at it, or 20 below
    design = find_design("ampere/f32.f16.f16.f32@product_exponent=normalised")
    operands = Operands((1,), (1,), (127 - 48) << 23 | 1)
    question = WithinSpread(design, Scope(1), 20, 0)
    assert question.is_meant(operands)
    assert len({run.d for run in question.witness_runs(operands)}) == 1


def test_the_exact_design_keeps_every_bit_beside_elements_that_are_widened():
    """A subnormal of e4m3 has a lower exponent in fp16: e_max lies below that of a design that does not widen."""
    design = find_design("ada/f32.e4m3.e4m3.f32@fraction_bits=40,widening=fp16,L=1")
    for a, b, c in ((0x81, 0x01, (127 - 30) << 23 | 1), (0x82, 0xF8, 0xBF800001)):
        question = WithinSpread(design, Scope(), 24, 17)
        assert not question.is_refuted_by(Operands((a,), (b,), c))
    found = check("exactness-of-c", find_design("ada/f32.e4m3.e4m3.f32@fraction_bits=23,widening=fp16,L=1"))
    assert (found.verdict, found.finding.value) == ("holds", 0)
