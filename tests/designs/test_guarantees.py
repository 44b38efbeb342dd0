"""What each value of a parameter takes from the guarantees of a step, and what it adds to them."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.steps import Guarantee
from mmaproof.explain.values import is_finite, pattern_number
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

FUSED = "volta/mma.m8n8k4.f32.f16.f16.f32"
SEQUENTIAL = "paper/sequential.m1n1k4.f32.f16.f16.f32"
TREE, CHAINS = "paper/tree.m1n1k4.f32.f16.f16.f32", "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"
MXFP4 = "blackwell/block16.f32.e2m1.e2m1.ue4m3"
INTEGERS = "ampere/mma.m16n8k16.s32.s8.s8.s32"


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("name", "settings", "lost", "gained"),
    [
        # c is rounded with the sum of the products, or added to their converted sum
        (FUSED, "join=round-down", "SINGLE_SUM C_AS_TERM BOUNDED_SUM", ""),
        (FUSED, "join=round-down,late_alignment=truncate", "SINGLE_SUM C_AS_TERM", ""),
        (FUSED, "join=round-down,zero_product=absent,zero_c=absent", "SINGLE_SUM C_AS_TERM", "ABSENT_ZEROS"),
        (FUSED, "join=ieee", "SINGLE_SUM C_AS_TERM", "ROUNDED_LAST_SUM"),
        (FUSED, "join=ieee-once", "", ""),
        (FUSED, "grouping=even-odd", "SINGLE_SUM", ""),
        (FUSED, "grouping=even-odd,join=ieee", "SINGLE_SUM C_AS_TERM", "ROUNDED_LAST_SUM"),
        (FUSED, "alignment=floor", "TRUNCATED_TERMS TRUNCATES BOUNDED_SUM", ""),
        (FUSED, "alignment=floor,zero_product=absent,zero_c=absent", "TRUNCATED_TERMS TRUNCATES", "ABSENT_ZEROS"),
        (FUSED, "alignment=nearest", "TRUNCATED_TERMS TRUNCATES", ""),
        (FUSED, "alignment=jam", "TRUNCATED_TERMS TRUNCATES BOUNDED_SUM", "JAMMED_TERMS"),
        # what is cut of a term depends on the sign of c; c is aligned with an exponent that it has not
        (FUSED, "alignment=complement", "TRUNCATED_TERMS TRUNCATES BOUNDED_SUM OWN_CUTS C_AS_TERM", ""),
        (FUSED, "c_extra_bits=2", "C_AS_TERM", ""),
        (FUSED, "grouping=apart", "SINGLE_SUM", ""),
        (FUSED, "grouping=halves", "SINGLE_SUM", ""),
        # a c that is dropped is none of the terms
        (FUSED, "alignment=floor,small_c=dropped", "TRUNCATED_TERMS TRUNCATES BOUNDED_SUM OWN_CUTS C_AS_TERM", ""),
        # a direction away from zero makes the smallest number of anything
        (FUSED, "rho=rtp-fp32", "BOUNDED_SUM", ""),
        (SEQUENTIAL, "rho=rtn-fp32", "BOUNDED_SUM", ""),
        ("cdna2/v_mfma_f32_32x32x8f16", "rho=rtp-fp32", "BOUNDED_SUM", ""),
        # at an e_max that is the exponent of no term, little is rounded to much
        (FUSED, "alignment=floor,floor=100", "TRUNCATED_TERMS TRUNCATES NO_FLOOR BOUNDED_SUM", ""),
        (FUSED, "alignment=jam,floor=100", "TRUNCATED_TERMS TRUNCATES NO_FLOOR BOUNDED_SUM", "JAMMED_TERMS"),
        (FUSED, "alignment=floor,zero_c=e-zero,e_zero=100", "TRUNCATED_TERMS TRUNCATES BOUNDED_SUM", ""),
        (FUSED, "join=round-down,zero_product=e-zero", "SINGLE_SUM C_AS_TERM BOUNDED_SUM", ""),
        (FUSED, "join=round-down,late_alignment=truncate,floor=100", "SINGLE_SUM C_AS_TERM NO_FLOOR", ""),
        (FUSED, "carry_bits=3", "EXACT_SUM", ""),
        (FUSED, "floor=-100", "NO_FLOOR", ""),
        (FUSED, "product_exponent=normalised", "SUMMED_EXPONENTS", ""),
        (FUSED, "product_limit=128", "FINITE_PRODUCTS", ""),
        (FUSED, "zero_sum=ieee", "POSITIVE_ZERO_SUM", ""),
        (FUSED, "zero_sum=majority", "POSITIVE_ZERO_SUM", ""),
        (FUSED, "low_bits=8", "SINGLE_PRODUCTS", ""),
        # of terms that are zero, both kinds must be absent
        (FUSED, "zero_product=absent,zero_c=e-zero", "", ""),
        (FUSED, "zero_product=e-zero,zero_c=absent", "", ""),
        (FUSED, "zero_product=absent,zero_c=absent", "", "ABSENT_ZEROS"),
        (FUSED, "zero_product=absent,zero_c=natural", "", ""),
        (FUSED, "zero_product=natural,zero_c=absent", "", ""),
        (MXFP4, "zero_group=absent,zero_c=absent", "", "ABSENT_ZEROS"),
        (FUSED, "widening=fp16", "UNCHANGED_OPERANDS", ""),
        (FUSED, "widening=fp32", "UNCHANGED_OPERANDS", ""),
        (FUSED, "subnormals=results", "SUBNORMAL_RESULTS", ""),
        (FUSED, "subnormals=operands", "SUBNORMAL_OPERANDS UNCHANGED_OPERANDS", ""),
        (FUSED, "subnormals=operands-of-a", "SUBNORMAL_OPERANDS UNCHANGED_OPERANDS", ""),
        (FUSED, "subnormals=accumulator", "SUBNORMAL_OPERANDS UNCHANGED_OPERANDS", ""),
        (FUSED, "subnormals=flushed", "SUBNORMAL_OPERANDS UNCHANGED_OPERANDS SUBNORMAL_RESULTS", ""),
        # what is cut off the terms enters the rounding; c is added exactly to a sum of cut terms
        (FUSED, "sticky=yes", "SINGLE_SUM CONVERTED_SUM CONVERTED_VALUE TRUNCATED_TERMS TRUNCATES", ""),
        (FUSED, "join=exact", "SINGLE_SUM CONVERTED_SUM C_AS_TERM TRUNCATED_TERMS TRUNCATES", ""),
        ("gaudi2/mme.m1n1k8.f32.bf16.bf16.f32", "sticky=yes", "CONVERTED_VALUE", ""),
        (
            FUSED,
            "join=round-down,late_rounding=twice",
            "SINGLE_SUM CONVERTED_SUM CONVERTED_VALUE C_AS_TERM TRUNCATED_TERMS TRUNCATES BOUNDED_SUM",
            "",
        ),
        # the terms are not the products
        (FUSED, "product_shift=1", "BOUNDED_SUM CONVERTED_BY_RHO SINGLE_PRODUCTS SUMMED_EXPONENTS", ""),
        (SEQUENTIAL, "product_shift=1", "BOUNDED_SUM CONVERTED_BY_RHO SINGLE_PRODUCTS SUMMED_EXPONENTS", ""),
        (
            FUSED,
            "alignment=floor,zero_product=absent,zero_c=absent,c_extra_bits=2",
            "TRUNCATED_TERMS TRUNCATES C_AS_TERM BOUNDED_SUM",
            "ABSENT_ZEROS",
        ),
        (TREE, "minus_zero=positive", "UNCHANGED_OPERANDS", ""),
        (FUSED, "rho=rto-fp32", "BOUNDED_SUM", ""),
        (CHAINS, "rho=rtp-fp32", "BOUNDED_SUM", ""),
        (SEQUENTIAL, "first=magnitude", "SUM_IN_TURN", ""),
        (SEQUENTIAL, "first=index", "SUM_IN_TURN", ""),
        (SEQUENTIAL, "truncates=partial-sum", "SUM_IN_TURN", ""),
        (SEQUENTIAL, "normalises=yes", "SUM_IN_TURN", ""),
        (INTEGERS, "integer_overflow=saturate", "WRAPS_MODULO", ""),
    ],
)
def test_a_value_takes_what_it_makes_untrue(name, settings, lost, gained):
    before = find_design(name).step.guarantees
    after = find_design(f"{name}@{settings}").step.guarantees
    assert {x.name for x in before - after} == set(lost.split())
    assert {x.name for x in after - before} == set(gained.split())


@pytest.mark.parametrize("name", [f"{FUSED}@fidelity_phase=0", "vortex/tfr.wmma.m8n4k8.f32.f16.f16.f32"])
def test_nothing_is_stated_of_parts_of_significands_and_of_lanes(name):
    assert find_design(name).step.guarantees == frozenset()


@pytest.mark.parametrize(
    ("settings", "excess"),
    [
        ("product_exponent=summed", 0),
        ("product_exponent=normalised", 1),
        ("product_shift=-3", -3),
        ("product_exponent=normalised,product_shift=3", 4),
    ],
)
def test_how_far_the_exponent_of_a_product_exceeds_those_of_its_factors(settings, excess):
    assert find_design(f"{FUSED}@{settings}").step.product_excess == excess


@pytest.mark.parametrize(
    ("name", "not_stated"),
    [
        (FUSED, "JAMMED_TERMS ABSENT_ZEROS ROUNDED_OPERATIONS ROUNDED_LAST_SUM ADDER_TREE SUM_IN_TURN"),
        (MXFP4, "SINGLE_PRODUCTS ABSENT_ZEROS"),
        (SEQUENTIAL, "SINGLE_SUM ALIGNED_SUMS EXACT_SUM NO_FLOOR TRUNCATED_TERMS JAMMED_TERMS ROUNDED_LAST_SUM"),
        (TREE, "ALIGNED_TERMS ALIGNED_SUMS SINGLE_SUM EXACT_SUM POSITIVE_ZERO_SUM"),
        (INTEGERS, "ALIGNED_TERMS CONVERTED_BY_RHO FINITE_PRODUCTS"),
    ],
)
def test_a_kind_of_step_states_nothing_of_another_kind(name, not_stated):
    stated = {x.name for x in find_design(name).step.guarantees}
    assert not stated & set(not_stated.split())
    assert set(not_stated.split()) <= set(Guarantee.__members__)


def test_a_sum_that_is_far_above_its_terms_is_not_said_to_be_bounded():
    """The product is -2**-28, and e_max is 100: rounded down to 23 bits below it, the sum is -2**77."""
    operands = Operands((0x8400, 0, 0, 0), (0x0400, 0, 0, 0), 0)
    for settings in ("alignment=floor,floor=100", "alignment=jam,floor=100"):
        design = find_design(f"{FUSED}@{settings}")
        assert evaluate(design, operands) == 0x80000000 | (77 + 127) << 23
        assert not design.guarantees(Guarantee.BOUNDED_SUM)


@pytest.mark.parametrize(
    ("settings", "others"),
    [
        ("zero_c=absent,zero_product=absent", set()),
        ("zero_c=natural,zero_product=absent", {-14, -126}),
        ("zero_c=e-zero,zero_product=absent,e_zero=7", {7}),
        ("zero_c=absent,zero_product=e-zero,e_zero=8", {8}),
        ("zero_c=natural,zero_product=natural,floor=9", {-14, -126, 9}),
    ],
)
def test_e_max_that_is_no_exponent_of_a_number(settings, others):
    """With c in fp16 and d in fp32, a zero c reads e_min of either in a chain."""
    step = find_design(f"volta/f32.f16.f16.f16@{settings}").step
    assert set(step.other_exponents(*(FORMATS[x] for x in ("fp16", "fp32")))) == others


def test_no_exponents_are_stated_of_a_c_that_keeps_extra_bits():
    assert find_design(f"{FUSED}@c_extra_bits=2").step.other_exponents(FORMATS["fp32"]) is None


WHAT_IFS = [
    *("", "alignment=jam", "alignment=jam,floor=100", "alignment=floor", "alignment=nearest,floor=60", "floor=100"),
    *("join=round-down", "join=round-down,late_alignment=truncate", "join=ieee", "grouping=even-odd", "carry_bits=0"),
    *("alignment=complement", "alignment=complement,zero_product=absent,zero_c=absent", "c_extra_bits=3"),
    *(
        "zero_c=e-zero,e_zero=100",
        "alignment=jam,zero_c=natural",
        "alignment=jam,zero_product=absent,zero_c=absent",
        "rho=rtp-fp32",
        "rho=rna-fp32",
    ),
    *("summation=sequential", "summation=sequential,first=index,normalises=yes", "summation=pairwise", "L=1"),
    *("summation=pairwise,rho=rtn-fp32", "summation=sequential,rho=rtp-fp32", "summation=interleaved"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("settings", WHAT_IFS)
def test_what_states_a_bounded_sum_makes_little_of_little(settings):
    """The value of d is at most four times the sum of the magnitudes of the terms, in one step, where it is finite."""
    design = find_design(f"ampere/m16n8k8.f32.bf16.bf16.f32@{settings}" if settings else "ampere/bf16").one_step()
    if not design.guarantees(Guarantee.BOUNDED_SUM):
        return
    rng = np.random.default_rng(5)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 150, design.k, rng)
        d = evaluate_batch(design, batch)
        for row, result in enumerate(d.tolist()):
            operands = batch.row(row)
            patterns = [(f, x) for f, xs in zip(design.formats, (operands.a, operands.b), strict=False) for x in xs]
            patterns += [(design.c_format, operands.c), (design.d_format, result)]
            if all(is_finite(f, x) for f, x in patterns):
                numbers = [pattern_number(f, x) for f, x in patterns]
                a, b, c, found = numbers[: design.k], numbers[design.k : -2], numbers[-2], numbers[-1]
                terms = sum((abs(x * y) for x, y in zip(a, b, strict=True)), start=abs(c))
                assert abs(found) <= 4 * terms, (settings, operands, design.d_format.hex(result))
