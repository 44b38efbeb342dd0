"""What is argued of steps that are filled up with zeros, and of products that lie above c."""

from dataclasses import replace

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.proving.monotone import (
    LargeStep,
    ProductsLieAbove,
    ZerosAlike,
    least_exponent,
    lemmas_for_c,
)
from mmaproof.smt.proving.monotone_in_a import lemmas_for_a
from mmaproof.smt.semantics.datapath import Addend, Group, Partial, Product, datapath
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status

VOLTA, AMPERE = "volta/f32.f16.f16.f32", "ampere/mma.m16n8k16.f32.f16.f16.f32"
SCALED = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
GROUPS = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
INTEGERS = IntegerAlgebra()


def status(lemma):
    return decide(lemma, Solving().ask, Limits(60, 4 << 30)).status


def lost(lemmas):
    return [x.lost >> (x.finest - x.cut.fraction_bits) for x in lemmas if isinstance(x, LargeStep)]


@pytest.mark.parametrize(
    ("name", "k", "in_c", "in_a"),
    [
        (VOLTA, 1, [1], [1]),
        (VOLTA, 2, [2], [2]),
        (VOLTA, 3, [3], [3]),
        (VOLTA, 4, [4], [4]),
        (AMPERE, 3, [3, 0], [3, 0]),  # the second step is padding
        (AMPERE, 11, [8, 3], [8, 3]),
        (f"{AMPERE}@k_order=reversed", 3, [0, 3], []),  # a[0] is not the first element of a step
    ],
)
def test_as_many_products_lose_something_as_are_given(name, k, in_c, in_a):
    unit = find_design(name)
    assert lost(lemmas_for_c(unit, k)) == in_c
    assert lost(lemmas_for_a(unit, k)) == in_a


def test_a_term_holds_the_elements_that_enter_it():
    (path,) = datapath(find_design("cdna3/v_mfma_f32_32x32x8_f16@grouping=even-odd").one_step(), 8)
    assert path.holds(Product(1), {1})
    assert not path.holds(Product(1), {0, 2})
    assert path.holds(Addend.C, ())
    assert path.holds(Partial.EVEN, {2})
    assert not path.holds(Partial.ODD, {0, 2})
    assert not path.holds(Partial.PRODUCTS, ())
    grouped = find_design(GROUPS).one_step()
    (path,) = datapath(grouped, grouped.k)
    group = path.terms[0]
    assert isinstance(group, Group)
    assert path.holds(group, {group.ks[-1]})
    assert not path.holds(group, {group.ks[-1] + 1})


@pytest.mark.parametrize("name", [VOLTA, "hopper/wgmma.f32.e4m3.e4m3", SCALED])
def test_the_least_exponent_is_the_least(name):
    unit = find_design(name)
    least = least_exponent(unit)
    assert status(ProductsLieAbove(unit, least)) is Status.PROVED
    assert status(ProductsLieAbove(unit, least + 1)) is Status.REFUTED


def test_there_is_a_least_exponent_of_products_beside_c_only():
    assert least_exponent(find_design("cdna3/v_mfma_f32_32x32x8_f16")) is None
    assert least_exponent(find_design(f"{VOLTA}@product_exponent=normalised")) is None
    assert least_exponent(find_design(f"{VOLTA}@subnormals=operands")) is None
    assert least_exponent(find_design(VOLTA)) == -28


@pytest.mark.parametrize("name", [VOLTA, f"{VOLTA}@join=ieee", f"{VOLTA}@zero_c=absent", "cdna2/v_mfma_f32_32x32x8f16"])
def test_zeros_are_alike(name):
    assert status(ZerosAlike(find_design(name).one_step())) is Status.PROVED


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        ({}, True),
        ({"exponent": INTEGERS.signed(3, 4)}, False),
        ({"present": INTEGERS.truth(False)}, False),
        ({"significand": INTEGERS.unsigned(1, 3)}, False),
    ],
)
def test_zeros_that_differ_are_found_out(change, alike):
    lemma = ZerosAlike(find_design(VOLTA).one_step())
    terms = lemma.changed.terms

    class Changed:
        def terms(self, algebra, words, above):
            x, y = terms(algebra, words, above)
            return x, replace(y, **change)

    lemma.changed = Changed()
    assert lemma.claim(INTEGERS, {"sign": INTEGERS.unsigned(1, 1)}).data is alike
