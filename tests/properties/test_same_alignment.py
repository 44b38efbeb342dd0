"""The lemmas about alignment: they never prove equal what is not, and say so where they do not apply."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.properties.equivalence import EqualWithoutProducts, Equivalence, SameAlignment, alignment_lemmas
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

PAIRS = [
    # a design, its other reading, and what the operands drawn here show: a lemma refuted, the results different
    ("ampere/m16n8k8.f32.bf16.bf16.f32", "zero_c=B", True, False),
    ("ampere/m16n8k8.f32.bf16.bf16.f32", "zero_product=B", True, True),
    ("ampere/m16n8k8.f16.f16.f16.f16", "floor=-20", True, True),
    ("cdna3/v_mfma_f32_32x32x8_f16", "zero_product=A", False, False),
    ("cdna3/v_mfma_f32_32x32x16_bf8_fp8", "zero_product=A", True, False),
    ("cdna3/v_mfma_f32_32x32x16_bf8_fp8", "zero_c=B", False, False),
    ("blackwell/block16.f32.e2m1.e2m1.ue4m3", "zero_group=B", True, True),
    ("volta/f32.f16.f16.f32", "zero_c=B", False, False),
    ("volta/f16.f16.f16.f16", "c_subnormal=B", True, True),
    ("volta/f16.f16.f16.f16", "zero_c=natural", True, True),
    ("ampere/m16n8k8.f16.f16.f16.f16", "c_subnormal=B,zero_c=B", True, True),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "settings", "refuted", "different"), PAIRS)
def test_wherever_the_lemma_holds_the_results_are_equal(name, settings, refuted, different):
    first, second = find_design(name), find_design(f"{name}@{settings}")
    lemmas, whole = [x(first, second) for x in (SameAlignment, EqualWithoutProducts)], Equivalence(first, second)
    rng = np.random.default_rng(0)
    seen = np.zeros(2, dtype=bool)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, first, 2000, first.k, rng)
        fails = lemmas[0].examine(batch)[1] | lemmas[1].examine(batch)[1]
        _, differs = whole.examine(batch)
        assert not (differs & ~fails).any()
        # A lemma that fails everywhere would prove nothing of anything.
        assert not fails.all()
        seen |= [fails.any(), differs.any()]
    assert seen.tolist() == [refuted, different]


def test_a_far_c_that_only_one_design_drops():
    """The lemma must look at the terms of both: in one of them c is dropped and nothing but zeros is left."""
    name = "cdna3/v_mfma_f32_32x32x16_bf8_fp8"
    first, second = find_design(name), find_design(f"{name}@zero_product=A")
    batch = draw("normal", first, 1, first.k, np.random.default_rng(0))
    batch.a[:], batch.b[:], batch.c[:] = 0, 0, 0x00800001
    batch.a[0, 3] = 0x7F
    different, unaligned, unequal = (
        x(first, second).examine(batch)[1][0] for x in (Equivalence, SameAlignment, EqualWithoutProducts)
    )
    assert different
    assert unaligned or unequal


@pytest.mark.parametrize("settings", ["fraction_bits=25", "overflow=B", "negative_zero=B"])
def test_designs_that_differ_in_more_are_refused(settings):
    name = "ampere/m16n8k8.f32.bf16.bf16.f32"
    with pytest.raises(DesignError, match="more than the alignment"):
        SameAlignment(find_design(name), find_design(f"{name}@{settings}"))


def test_a_chain_is_refused():
    name = "ampere/m16n8k16.f32.bf16.bf16.f32"
    with pytest.raises(DesignError):
        SameAlignment(find_design(name), find_design(f"{name}@zero_c=B"))


@pytest.mark.parametrize(
    ("name", "length", "problem"),
    [
        # one step takes c as it is given; the steps of a chain take the d of the step before
        ("volta/mma.m8n8k4.f32.f16.f16.f16", 4, None),
        ("volta/mma.m8n8k4.f32.f16.f16.f16", 8, "read their c alike"),
        ("volta/f32.f16.f16.f32", 8, None),
        ("volta/f32.f16.f16.f32@chain_infinity=finite", 4, None),
        ("volta/f32.f16.f16.f32@chain_infinity=finite", 8, "read their c alike"),
        ("ampere/m16n8k16.f32.bf16.bf16.f32", 16, None),
        ("ampere/m16n8k16.f32.bf16.bf16.f32@chain_infinity=finite", 16, "read their c alike"),
    ],
)
def test_a_lemma_about_one_step_is_of_chains_of_that_step_only(name, length, problem):
    first = find_design(name)
    second = first.change(zero_c="absent")
    if problem is None:
        assert len(alignment_lemmas(first, second, length)) == 2
        return
    with pytest.raises(DesignError, match=problem):
        alignment_lemmas(first, second, length)


def test_steps_without_aligned_sums_are_asked_about_as_a_whole():
    """Their first lemma is empty, so the second one must not leave out what has products."""
    first = find_design("paper/sequential.m1n1k4.f32.f16.f16.f32")
    same, whole = alignment_lemmas(first, first.change(zero_c="absent"), 4)
    assert not same.aligns
    assert not whole.aligns


def test_a_c_that_one_design_drops_because_of_its_exponent_is_not_the_same():
    """Every e_max agrees, and the product is not zero: only the aligned c, a unit rounded down or dropped, differs."""
    first = find_design("cdna3/v_mfma_f32_16x16x16_bf16@far_c=dropped").one_step()
    second = first.change(c_subnormal="normalised")
    zeros = (0,) * (first.k - 1)
    operands = Operands((0x2400, *zeros), (0x2400, *zeros), 0x80000001)
    assert Equivalence(first, second).is_refuted_by(operands)
    assert SameAlignment(first, second).is_refuted_by(operands)
    assert not EqualWithoutProducts(first, second).is_refuted_by(operands)
