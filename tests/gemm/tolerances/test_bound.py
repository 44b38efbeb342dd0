"""No result of a unit is outside its bound, in exact arithmetic; the bound is near what is reached, and no smaller."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.adversarial import constant, exact_sums, losing

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, values_of
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.tolerances import bound as bounds
from mmaproof.gemm.tolerances.given import Given, Side
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.properties.step_loss import loss_of, why_no_loss
from mmaproof.smt.evaluate import evaluate_on_arrays
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

UNITS = {
    "T-FDPA": "volta/mma.m8n8k4.f32.f16.f16.f32",
    "T-FDPA F=13": "hopper/wgmma.f32.e4m3.e4m3",
    "T-FDPA in fp16": "volta/mma.m8n8k4.f16.f16.f16.f16",
    "c in fp16, d in fp32": "volta/mma.m8n8k4.f32.f16.f16.f16",
    "ST-FDPA": "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0",
    "GST-FDPA": "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",
    "TR-FDPA": "cdna3/v_mfma_f32_16x16x8_xf32",
    "GTR-FDPA": "cdna3/v_mfma_f32_16x16x32_fp8_fp8",
    "FMA": "cpu/vfmadd231ps",
    "AMX": "cpu/tdpbf16ps",
    "pairs, flushed": "cdna2/v_mfma_f32_32x32x4bf16",
    "c once": "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",
    "c in IEEE 754": "arm/bfdot-ebf",
    "flushed FMA": "cpu/vdpbf16ps",
    "parts of products": "gaudi3/mme.m1n1k2.f32.f16.f16.f32",
}


def bound_of(design: Design, given: Given) -> np.ndarray:
    """Return the bounds of the results of a unit, whether its losses are proved or not."""
    return Tolerance(Plan(design), given.k).bound_of(given, 1)


def rows_bound(design: Design, batch: OperandBatch) -> np.ndarray:
    """Return the bounds of independent rows: the diagonal of a product of all rows with all columns."""
    scales = [None if x is None else x for x in (batch.scale_a, batch.scale_b)]
    given = Given.of(
        Plan(design),
        batch.a,
        np.ascontiguousarray(batch.b.T),
        np.broadcast_to(batch.c[:, None], (len(batch), len(batch))),
        scales[0],
        None if scales[1] is None else np.ascontiguousarray(scales[1].T),
    )
    return np.diagonal(bound_of(design, given))


def largest_part(design: Design, batch: OperandBatch, bound: np.ndarray) -> Fraction:
    """Return the largest error as a part of its bound. Where there is a bound, d is a number."""
    d = values_of(evaluate_on_arrays(design, batch), design.d_format)
    largest = Fraction(0)
    for value, exact, limit in zip(d, exact_sums(design, batch), bound, strict=True):
        assert np.isnan(limit) == (exact is None)
        if exact is None or np.isinf(limit):
            continue
        assert np.isfinite(value)
        error = abs(Fraction(value) - exact)
        assert error <= Fraction(limit), (design.name, float(error), limit)
        if limit:
            largest = max(largest, error / Fraction(limit))
    return largest


QUICK = {"T-FDPA", "TR-FDPA", "FMA", "pairs, flushed", "c in IEEE 754"}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [x if x in QUICK else pytest.param(x, marks=pytest.mark.middle) for x in UNITS])
def test_no_result_is_outside_its_bound(kind: str) -> None:
    design = find_design(UNITS[kind])
    assert why_no_loss(design) is None
    rng = np.random.default_rng(0)
    for k in (design.k, 4 * design.k):
        for name in ("normal", "edges", "subnormal", "cancelling", "ties"):
            batch = draw(name, design, 16, k, rng)
            largest_part(design, batch, rows_bound(design, batch))
    one, found = step_of(design), Fraction(0)
    for batch in (losing(one, 48, one.k, rng), *(constant(one, 96, one.k, rng) for _ in range(3))):
        found = max(found, largest_part(one, batch, rows_bound(one, batch)))
    assert found > Fraction(1, 4), f"the bound is {float(1 / found):.3g} times what is reached in one step"


def step_of(design: Design) -> Design:
    """Return one step of a design, or one instruction where c is added once."""
    return design if design.chain.adds_c_once else design.one_step()


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("seed", range(4))
def test_no_result_of_many_is_outside_its_bound(kind: str, seed: int) -> None:
    design = find_design(UNITS[kind])
    rng = np.random.default_rng(seed)
    for k in (1, design.k, 3 * design.k, 16 * design.k):
        for name in (*DISTRIBUTIONS, "losing"):
            for _ in range(8):
                drawn = losing(design, 64, k, rng) if name == "losing" else None
                if drawn is None and design.scale_format is not None and k == 1:
                    continue
                batch = drawn if drawn is not None else draw(name, design, 64, k, rng)
                largest_part(design, batch, rows_bound(design, batch))


SHARP = "volta/f32.f16.f16.f32@fraction_bits=14,rho=rz-e8m13"
"""c and each product can lose nearly a unit at once, and so can the conversion."""


def sharp_rows() -> OperandBatch:
    """c is 1.0111... and each product is just below two units, 2**-13: six units are lost."""
    c = np.array([0x3FBFFFFF], dtype=np.uint32)
    a = np.full((1, 4), 0x3FFF, dtype=np.uint16)  # 1.1111111111
    b = np.full((1, 4), 0x03FF, dtype=np.uint16)  # subnormal: 0.1111111111 * 2**-14
    return OperandBatch(a, b, c)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("no ulp", lambda x: replace(x, rounded_c=Fraction(0))),
        ("two units less", lambda x: replace(x, of_c=x.of_c * 3 / 5)),
        ("F + 1", lambda x: replace(x, of_c=x.of_c / 2)),
        ("F + 1 and half an ulp", lambda x: replace(x, of_c=x.of_c / 2, rounded_c=x.rounded_c / 2)),
    ],
)
def test_a_smaller_bound_is_violated(name: str, changed, monkeypatch) -> None:
    design = find_design(SHARP)
    rng = np.random.default_rng(1)
    batches = [sharp_rows(), *(losing(design, 64, 4, rng) for _ in range(6))]
    for batch in batches:
        largest_part(design, batch, rows_bound(design, batch))
    monkeypatch.setattr(bounds, "loss_of", lambda x: changed(loss_of(x)))
    with pytest.raises(AssertionError, match="volta"):
        for batch in batches:
            largest_part(design, batch, rows_bound(design, batch))


NARROW = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("no product is cut", lambda given: given * 2.0**-30),
        ("last bits of twice the weight", lambda given: given / 8),
    ],
)
def test_fewer_cut_products_are_too_few(name: str, mutant, monkeypatch) -> None:
    """Products of e4m3 lose something only where their last bits are below the cut; here one by one, all of them."""
    monkeypatch.setattr(bounds, "_CUT_ONE_BY_ONE", 0)
    design = find_design(NARROW).one_step()
    rng = np.random.default_rng(2)
    batches = [edge_of_the_cut(rng) for _ in range(4)]
    for batch in batches:
        assert largest_part(design, batch, rows_bound(design, batch)) > Fraction(1, 4)
    true = Side.reciprocal_last_bits.func
    monkeypatch.setattr(Side, "reciprocal_last_bits", property(lambda side: mutant(true(side))))
    with pytest.raises(AssertionError, match="blackwell"):
        for batch in batches:
            largest_part(design, batch, rows_bound(design, batch))


def edge_of_the_cut(rng: np.random.Generator) -> OperandBatch:
    """Products 1 + 1/8 times a power of two, whose last bits lie one to three places below the cut of a c of ones."""
    places = rng.integers(1, 4, (16, 1))
    a = np.full((16, 32), 0x39, dtype=np.uint8)  # 1 + 1/8: its last bit is 2**-3
    b = np.full((16, 32), 0x38, dtype=np.uint8)
    c = np.full(16, 0x3FFFFFFF, dtype=np.uint32)  # just below 2
    scale_a = (127 - 22 - places).astype(np.uint8)  # of 2**-25
    return OperandBatch(a, b, c, scale_a, np.full((16, 1), 127, dtype=np.uint8))


@pytest.mark.few(14)
@pytest.mark.parametrize("kind", ["TR-FDPA", "AMX", "c once", "pairs, flushed"])
@pytest.mark.parametrize("lost", ["rounded_c", "rounded_sums", "of_products", "of_sums", "flushed"])
def test_each_part_of_a_loss_that_matters_is_needed(kind: str, lost: str) -> None:
    """What a step loses has no part that is zero for a unit that has this kind of loss."""
    found = loss_of(find_design(UNITS[kind]))
    has = {
        "TR-FDPA": {"rounded_c", "of_products"},
        "AMX": {"rounded_c", "rounded_sums", "flushed"},
        "c once": {"rounded_c", "rounded_sums", "of_sums"},
        "pairs, flushed": {"rounded_c", "rounded_sums", "flushed"},
    }
    assert bool(getattr(found, lost)) is (lost in has[kind])


def test_a_product_that_may_overflow_has_no_bound() -> None:
    design = find_design(UNITS["T-FDPA in fp16"])
    big = np.full((1, 64), 0x5C00, dtype=np.uint16)  # 256
    given = Given.of(Plan(design), big, big.T.copy())
    assert np.isinf(bound_of(design, given)).all()
    small = np.full((1, 64), 0x3C00, dtype=np.uint16)
    assert np.isfinite(bound_of(design, Given.of(Plan(design), small, small.T.copy()))).all()


def test_a_product_that_is_an_infinity_for_its_size_has_no_bound_whatever_its_scale() -> None:
    design = find_design("blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0@product_limit=3")
    two, small = np.full((1, 32), 0x40, np.uint8), np.full((1, 1), 100, np.uint8)
    for a, infinite in ((two * 0 + 0x48, True), (two, False)):  # 4 * 2 is 2**3
        bound = bound_of(design, Given.of(Plan(design), a, two.T.copy(), None, small, small))
        assert np.isinf(bound).all() == infinite


def test_numbers_out_of_the_range_of_float32_make_no_warning() -> None:
    design = find_design("cpu/vfmadd231ps")
    a, b = (np.full(s, 0x7F000000, dtype=np.uint32) for s in ((1, 4), (4, 1)))
    assert np.isinf(bound_of(design, Given.of(Plan(design), a, b))).all()
    nan = np.full((1, 1), 0x7F800001, dtype=np.uint32)
    assert np.isnan(bound_of(design, Given.of(Plan(design), nan, nan, nan))).all()


def test_operands_that_are_no_numbers_have_a_bound_of_nan() -> None:
    design = find_design(UNITS["T-FDPA"])
    a, b = np.full((3, 8), 0x3C00, dtype=np.uint16), np.full((8, 2), 0x3C00, dtype=np.uint16)
    c = np.zeros((3, 2), dtype=np.uint32)
    a[0, 3], b[2, 1], c[2, 0] = 0x7C00, 0x7E00, 0x7F800000
    bound = bound_of(design, Given.of(Plan(design), a, b, c))
    assert np.isnan(bound).tolist() == [[True, True], [False, True], [True, True]]
    assert bound[1, 0] > 0


@pytest.mark.parametrize("c", [None, 5])
def test_integers_have_no_error_where_the_register_holds_them(c: int | None) -> None:
    design = find_design("ampere/mma.m16n8k32.s32.s8.s8.s32")
    a, b = np.full((2, 64), 0x80, dtype=np.uint8), np.full((64, 2), 0x7F, dtype=np.uint8)
    start = None if c is None else np.full((2, 2), c, dtype=np.uint32)
    assert not bound_of(design, Given.of(Plan(design), a, b, start)).any()
    full = np.full((2, 2), (1 << 31) - 1, dtype=np.uint32)
    assert np.isinf(bound_of(design, Given.of(Plan(design), a, b, full))).all()


def test_single_and_double_precision_agree(monkeypatch) -> None:
    """The bound that is computed in float32 is hardly above the one in float64."""
    design = find_design(UNITS["TR-FDPA"])
    rng = np.random.default_rng(3)
    batch = draw("normal", design, 40, 256, rng)
    batch = replace(batch, a=np.where(batch.a == 0, np.uint32(0x3F800000), batch.a))
    single = rows_bound(design, batch)
    monkeypatch.setattr(bounds, "_dtype", lambda *_: np.dtype(np.float64))
    double = rows_bound(design, batch)
    assert (single >= double * (1 - 1e-9)).all()
    assert (single <= double * 2.1).all()
    assert np.median(single / double) < 1.01


@pytest.mark.parametrize("exponent", [-120, -40, 0, 40, 100])
def test_magnitudes_far_from_one_change_nothing_but_the_exponent(exponent: int) -> None:
    design = find_design("ampere/mma.m16n8k8.f32.tf32.tf32.f32")
    rng = np.random.default_rng(4)
    values = rng.uniform(1, 2, (4, 64)).astype(np.float32)
    moved = np.ldexp(values, exponent).astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    plain = values.view(np.uint32) & np.uint32(0xFFFFE000)
    other = np.ldexp(values.T, -exponent).astype(np.float32).copy().view(np.uint32) & np.uint32(0xFFFFE000)
    first = bound_of(design, Given.of(Plan(design), plain, np.ascontiguousarray(plain.T)))
    second = bound_of(design, Given.of(Plan(design), moved, np.ascontiguousarray(other)))
    assert np.allclose(first, second, rtol=1e-3)


@pytest.mark.parametrize("name", [n for n, x in load_catalogue().designs.items() if x.d_format.name == "fp64"])
def test_no_bound_of_fp64_is_so_small_that_float64_loses_it(name: str) -> None:
    """A half unit of its least number is not a float64, but terms and zeros are aligned at 2**-252 at least."""
    design = find_design(name)
    k = design.padded_length(1)
    given = Given.of(Plan(design), np.full((1, k), 2.0**-538), np.full((k, 1), 2.0**-537), np.zeros((1, 1)))
    assert bound_of(design, given)[0, 0] > 2.0**-900
