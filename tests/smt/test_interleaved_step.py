"""The interleaved FMA chains of Intel AMX: by hand, against the reference, and against what is like it."""

import itertools

import numpy as np
import pytest
from reference.designs import reference_result
from support.variations import disagreements

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.programs.named import find_plan
from mmaproof.properties.library import PROPERTIES
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import Budget

AMX = "cpu/tdpbf16ps"
ONE, MINUS_ONE, TWO_24, TWO_12 = 0x3F80, 0xBF80, 0x4B80, 0x4580
VARIANTS = [
    "",
    "@L=8",
    "@L=1",
    "@subnormals=kept",
    "@subnormals=results,tininess=rounded",
    "@rho=rz-fp32,overflow=largest-finite",
    "@rho=rtn-fp32",
    "@flushed_sign=positive,nan_code=all-ones",
]


def result(products: dict[int, tuple[int, int]], c: int = 0, name: str = AMX) -> int:
    """d where the products are those of ``products``, at their k, and +0 elsewhere."""
    design = find_design(name)
    a, b = ([products.get(k, (0, 0))[i] for k in range(design.k)] for i in (0, 1))
    return evaluate(design, Operands(tuple(a), tuple(b), c))


@pytest.mark.parametrize(
    ("products", "c", "d"),
    [
        # two ones of odd k meet before they meet 2**24; of even k each is lost by itself (a tie to even)
        ({0: (TWO_24, ONE), 1: (ONE, ONE), 3: (ONE, ONE)}, 0, 0x4B800001),
        ({0: (TWO_24, ONE), 2: (ONE, ONE), 4: (ONE, ONE)}, 0, 0x4B800000),
        # c comes last: it is lost beside the sum of all products
        ({0: (TWO_24, ONE)}, 0x3F800000, 0x4B800000),
        # one rounding for a product and the sum before it: 2**24 + (1 + 2**-7)**2 lies above the tie
        ({0: (TWO_24, ONE), 2: (0x3F81, 0x3F81)}, 0, 0x4B800001),
        # subnormal operands are zeros, and a result below the smallest normal number is one
        ({0: (0x0001, TWO_24)}, 0, 0),
        ({0: (0x0080, 0x3F00)}, 0, 0),
        ({}, 0x00000001, 0),
        # an infinity of each chain
        ({0: (0x7F80, ONE), 1: (0x7F80, MINUS_ONE)}, 0, 0x7FC00000),
        ({0: (0x7F80, ONE), 1: (0x7F80, ONE)}, 0, 0x7F800000),
    ],
)
def test_by_hand(products, c, d):
    assert f"{result(products, c):#010x}" == f"{d:#010x}"


@pytest.mark.few(1)
@pytest.mark.parametrize("variant", VARIANTS)
def test_against_the_reference(variant):
    design = find_design(AMX + variant)
    rng = np.random.default_rng(20)
    for distribution, k in zip(itertools.cycle(DISTRIBUTIONS), (32, 32, 64, 5, 32, 32, 64), strict=False):
        batch = draw(distribution, design, 12, k, rng)
        assert evaluate_batch(design, batch).tolist() == [reference_result(design, batch.row(i)) for i in range(12)]


CHANGES = ("subnormals=kept", "flushed_sign=positive", "summation=pairwise", "k_order=mod4:02/13", "L=16")


@pytest.mark.few(1)
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_like_it_returns_something_else(change):
    design, other, rng = find_design(AMX), find_design(f"{AMX}@{change}"), np.random.default_rng(21)
    batches = [draw(distribution, design, 200, 32, rng) for distribution in DISTRIBUTIONS]
    assert any((evaluate_batch(design, x) != evaluate_batch(other, x)).any() for x in batches)


@pytest.mark.middle
@pytest.mark.slow_values("summation=pairwise")
@pytest.mark.parametrize(
    "change",
    [
        *CHANGES[:2],
        pytest.param(CHANGES[2], marks=pytest.mark.middle),
        *(pytest.param(x, marks=pytest.mark.slow) for x in CHANGES[3:]),
    ],
)
def test_what_is_like_it_differs(change):
    found = compare(find_design(AMX), find_design(f"{AMX}@{change}"), budget=Budget(seconds=20))
    assert found.verdict == "different"


def test_it_guarantees_what_operations_of_ieee_754_do():
    design = find_design(AMX)
    assert {x.name for x in design.step.guarantees} == {
        *("ROUNDED_OPERATIONS", "ROUNDED_LAST_SUM", "CONVERTED_BY_RHO", "BOUNDED_SUM"),
        *("FINITE_PRODUCTS", "SINGLE_PRODUCTS"),
    }
    assert Guarantee.UNCHANGED_OPERANDS in design.change(subnormals="kept").step.guarantees
    assert Guarantee.BOUNDED_SUM not in design.change(rho="rtp-fp32").step.guarantees
    assert PROPERTIES["monotone-in-c"].why_not(design) is None
    assert PROPERTIES["error-bound"].why_not(design) is not None
    assert PROPERTIES["carry-bits"].why_not(design) is not None


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["cpu/tdpbf16ps@L=4", "cpu/tdpfp16ps@L=4", "cpu/tmmultf32ps", "cpu/vdpphps"])
def test_every_interpretation_returns_the_same(name):
    """Integers, arrays and compiled code; terms of constants are those of test_terms."""
    design, rng = find_design(name).one_step(), np.random.default_rng(22)
    for distribution in ("subnormal", "ties", "edges"):
        batch = draw(distribution, design, 6, design.k, rng)
        held = [evaluate(design, batch.row(i)) for i in range(6)]
        assert evaluate_batch(design, batch, backend="arrays").tolist() == held
        assert evaluate_batch(design, batch, backend="native").tolist() == held


@pytest.mark.few(1)
@pytest.mark.slow_values("cpu/tmmultf32ps-join=fused")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cpu/tdpfp16ps", "subnormals=flushed"),  # fp16 elements too
        ("cpu/tmmultf32ps", "subnormals=results"),  # open point 61
        pytest.param("cpu/tmmultf32ps", "join=fused", marks=pytest.mark.middle),  # c first
        ("cpu/vdpphps", "k_order=consecutive"),
        ("cpu/vdpphps", "subnormals=flushed"),
        ("cpu/vpdpbuuds", "integer_overflow=wrap"),
        ("cpu/vpdpwssds", "L=1"),
    ],
)
def test_another_reading_of_what_is_beside_it_differs(name, change):
    found = compare(find_design(name), find_design(f"{name}@{change}"))
    assert found.verdict == "different"


def test_a_subnormal_c_beside_products_of_fp16():
    """Subnormal elements are used, and a subnormal c is a zero."""
    assert result({}, 0x00000001, "cpu/tdpfp16ps") == 0
    assert result({}, 0x00000001, "cpu/tdpfp16ps@subnormals=kept") == 1
    assert result({0: (0x0001, 0x0001)}, 0x00000001, "cpu/tdpfp16ps") == 0x27800000


@pytest.mark.middle
def test_words_and_bytes_of_tiles_are_those_of_vectors():
    for tile, vector in (("tdpbssd", "vpdpbssd"), ("tdpbuud", "vpdpbuud")):
        assert compare(find_design(f"cpu/{tile}"), find_design(f"cpu/{vector}"), k=64).verdict == "equivalent"


FP8 = "cpu/tdpbf8ps"


def of_fp8(products: dict[int, tuple[float, float]], name: str = FP8) -> float:
    """d for products of e5m2 numbers at their k, with c = 0."""
    design = find_design(name)
    a, b = (tuple(design.a_format.encode(products.get(k, (0, 0))[i]) for k in range(design.k)) for i in (0, 1))
    return float(np.uint32(evaluate(design, Operands(a, b, 0))).view(np.float32))


def test_pairs_of_products_are_added_before_they_join_a_chain():
    """2^24 + (1 + 1) keeps the pair, and one product after the other is lost: each is a tie that goes to even."""
    large, ones = {0: (4096, 4096)}, {4: (1, 1), 5: (1, 1)}
    assert of_fp8(large | ones) == 2.0**24 + 2
    assert of_fp8(large | ones, f"{FP8}@chain_terms=1") == 2.0**24  # 4 joins the even chain, 5 the odd one: +1, a tie
    # bytes 2 and 3 of a word are of the other chain, and both sums are added last
    assert of_fp8(large | {2: (1, 1), 7: (1, 1)}) == 2.0**24 + 2


def test_chains_of_pairs_agree_with_the_reference():
    rng = np.random.default_rng(0)
    for name in (f"{FP8}@L=8", "cpu/tdphbf8ps@L=4", f"{AMX}@chain_terms=2,L=4"):
        design = find_design(name)
        for distribution in DISTRIBUTIONS:
            batch = draw(distribution, design, 2, design.k, rng)
            assert disagreements(design, batch) == [], (name, distribution)


def of_complex(part: str, a: list[tuple[float, float]], b: list[tuple[float, float]]) -> float:
    """d for complex numbers of fp16, with c = 0."""
    design = find_design(f"cpu/tcmm{part}fp16ps")
    columns = [tuple(design.a_format.encode(x) for z in column for x in z) for column in (a, b)]
    return float(np.uint32(evaluate(design, Operands(*columns, 0))).view(np.float32))


def test_products_of_complex_numbers():
    """(1 + 2i) (3 + 5i) = -7 + 11i, and (2 - i) (4 + i) = 9 - 2i."""
    a, b = [(1, 2), (2, -1)], [(3, 5), (4, 1)]
    assert of_complex("rl", a[:1], b[:1]) == -7
    assert of_complex("im", a[:1], b[:1]) == 11
    assert of_complex("rl", a, b) == 2
    assert of_complex("im", a, b) == 9


@pytest.mark.parametrize("name", ["cpu/tcmmrlfp16ps@L=8", "cpu/tcmmimfp16ps@L=8", "cpu/tcmmimfp16ps@chain_terms=2,L=4"])
def test_parts_of_complex_products_agree_with_the_reference(name):
    design, rng = find_design(name), np.random.default_rng(4)
    for distribution in DISTRIBUTIONS:
        assert disagreements(design, draw(distribution, design, 4, design.k, rng)) == [], distribution


def test_a_complex_product_is_that_of_two_instructions_on_real_numbers():
    """By a solver, on one step of four: the real part is that of a with every second sign changed."""
    first, second = find_design("cpu/tcmmrlfp16ps@L=2"), find_design("cpu/tdpfp16ps@L=2")
    assert compare(first, second, k=2).verdict == "different"
    assert compare(first, find_design("cpu/tcmmimfp16ps@L=2"), k=2).verdict == "different"


def test_nothing_is_stated_of_complex_products_and_no_plan_is_made_of_them():
    design = find_design("cpu/tcmmrlfp16ps")
    assert design.step.guarantees == frozenset()
    assert design.step.operations is None
    for name in ("cpu/tcmmrlfp16ps", "turing/mma.m8n8k128.s32.b1.b1.s32.xor.popc"):
        with pytest.raises(DesignError, match="its elements are bits or complex numbers"):
            find_plan(name).require()
    with pytest.raises(DesignError, match="L = 1 is odd, and two elements are a complex number"):
        find_design("cpu/tcmmrlfp16ps@L=1")


def test_a_bound_is_stated_of_chains_of_fused_multiply_adds_alone():
    assert not find_design(FP8).guarantees(Guarantee.BOUNDED_SUM)
    with pytest.raises(DesignError, match="L = 1 is odd"):
        find_design(f"{FP8}@L=1")
