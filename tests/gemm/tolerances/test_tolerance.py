"""The object that `mmaproof.tolerance` returns: two numbers, quantiles, plans, and what it refuses."""

from fractions import Fraction
from itertools import permutations
from itertools import product as pairs

import numpy as np
import pytest

import mmaproof
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError, InputError, OperandError
from mmaproof.designs.operands import array_of, values_of
from mmaproof.gemm.programs import Plan, read_plan
from mmaproof.gemm.programs.evaluate import rows
from mmaproof.gemm.tolerances.assertion import Caught, sharpness
from mmaproof.gemm.tolerances.faults import Product, seeded
from mmaproof.gemm.tolerances.given import Given
from mmaproof.gemm.tolerances.statistical import draw_rows, ranks
from mmaproof.gemm.tolerances.tolerance import NothingProvedError, TwoNumbers, tolerance
from mmaproof.gemm.tolerances.walk import bound_of_schedule, exact_of_schedule
from mmaproof.verification.distributions import from_float64

FP8 = "hopper/wgmma.f32.e4m3.e4m3"
RNG = np.random.default_rng(0)


def patterns(fmt, shape, draw=RNG.standard_normal):
    return from_float64(fmt, draw(shape))


def test_the_public_function_returns_it() -> None:
    found = mmaproof.tolerance(FP8, 64)
    a, b = patterns(found.unit.a_format, (3, 64)), patterns(found.unit.b_format, (64, 2))
    bound = found.bound(array_of(a, "e4m3"), array_of(b, "e4m3"))
    assert bound.shape == (3, 2)
    assert bound.dtype == np.float64
    given = found.given(a, b)
    exact, beyond = found.exact_of(given)
    error = np.abs(values_of(found.emulate(a, b), "fp32") - exact)
    assert (error <= bound + beyond).all()
    with pytest.raises(OperandError, match="this tolerance is of k = 64"):
        found.bound(a[:, :32], b[:32])


@pytest.mark.parametrize("name", ["volta/mma.m8n8k4.f16.f16.f16.f16", FP8, "ampere/mma.m16n8k8.f32.tf32.tf32.f32"])
@pytest.mark.parametrize("positive", [True, False])
def test_two_numbers_hold_for_a_whole_range(name: str, positive: bool, monkeypatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.tolerances.tolerance.Tolerance.proved", True, raising=False)
    monkeypatch.setattr("mmaproof.gemm.tolerances.tolerance.Tolerance.require_proof", lambda _: None)
    found = tolerance(name, 32, ["exponents=-3..2", *(["positive"] if positive else [])])
    two = found.rtol_atol()
    rtol, atol = two
    assert (rtol > 0) is positive
    draw = (lambda s: RNG.uniform(0.2, 4, s)) if positive else (lambda s: RNG.uniform(-4, 4, s))
    formats = found.plan.formats
    a, b, c = (patterns(f, s, draw) for f, s in zip(formats, ((8, 32), (32, 8), (8, 8)), strict=False))
    exact, _ = found.exact_of(found.given(a, b, c))
    error = np.abs(values_of(found.emulate(a, b, c), formats[3]) - exact)
    assert (error <= atol + rtol * np.abs(exact)).all()
    assert atol < 1e3


@pytest.mark.parametrize("where", [[], ["positive"]])
def test_two_numbers_count_subnormals_that_are_read_as_zeros(where: list[str], monkeypatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.tolerances.tolerance.Tolerance.require_proof", lambda _: None)
    found = tolerance("cdna2/v_mfma_f32_32x32x8f16", 8, ["exponents=-24..2", *where])
    a, b = np.full((1, 8), 0x03FF, np.uint16), np.full((8, 1), 0x47E6, np.uint16)  # 2^-14 * 1023/1024, and 7.9
    exact, _ = found.exact_of(found.given(a, b))
    assert found.emulate(a, b) == 0
    rtol, atol = found.rtol_atol()
    assert atol + rtol * exact >= exact
    assert found.rtol_atol("normal").atol < exact
    plan = tolerance("cdna2/v_mfma_f32_32x32x8f16 | split-k=2", 16, ["exponents=-24..2", *where])
    assert plan.rtol_atol().atol >= 2 * exact
    assert plan.rtol_atol("normal").atol < exact


FLOOR = np.float32(0.999).view(np.uint32)


@pytest.mark.parametrize(
    ("name", "where", "a", "b", "c", "error"),
    [
        (
            "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3",
            "exponents=-6..8",
            [0x7E] * 42 + [0x2F] * 22,
            [0x7E] * 42 + [0x27] * 22,
            FLOOR,
            3.4,
        ),
        ("hopper/wgmma.f32.e5m2.e5m2", "exponents=-14..4", [0x4F] * 32 + [0x3D] * 32, [0x4F] * 32 + [0x3E] * 32, 0, 60),
    ],
)
def test_two_numbers_hold_where_smaller_operands_have_lower_last_bits(name, where, a, b, c, error, monkeypatch) -> None:
    """Products of the largest operands lose nothing, and beside them smaller ones do."""
    monkeypatch.setattr("mmaproof.gemm.tolerances.tolerance.Tolerance.require_proof", lambda _: None)
    found = tolerance(name, 64, where)
    operands = np.array([a], np.uint8), np.array([b], np.uint8).T.copy(), np.array([[c]], np.uint32)
    exact, _ = found.exact_of(found.given(*operands))
    lost = abs(values_of(found.emulate(*operands), "fp32") - exact)[0, 0]
    assert lost >= error
    assert lost <= found.rtol_atol().atol


@pytest.mark.parametrize("where", [[], ["positive"]])
def test_two_numbers_know_the_most_negative_integer(where: list[str], monkeypatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.tolerances.tolerance.Tolerance.require_proof", lambda _: None)
    name = "turing/mma.m8n8k16.s32.s8.s8.s32"
    with pytest.raises(NothingProvedError, match="overflow"):
        tolerance(name, 1 << 17, ["exponents=0..7", "c=0", *where]).rtol_atol()
    assert tolerance(name, 1 << 17, ["exponents=0..6", "c=0", *where]).rtol_atol() == TwoNumbers(0.0, 0.0)


@pytest.mark.slow
def test_two_numbers_need_a_range_and_a_finite_result() -> None:
    found = tolerance(FP8, 64)
    with pytest.raises(InputError, match=r"exponents=LO\.\.HI"):
        found.rtol_atol("positive")
    with pytest.raises(NothingProvedError, match="overflow"):
        tolerance("volta/mma.m8n8k4.f16.f16.f16.f16", 64).rtol_atol("exponents=0..15")


def test_a_range_with_scales_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.tolerances.tolerance.Tolerance.require_proof", lambda _: None)
    found = tolerance("blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0", 64)
    with pytest.raises(InputError, match="has scales"):
        found.rtol_atol("exponents=0..2")


@pytest.mark.parametrize(
    ("plan", "k", "where", "match"),
    [
        ("hopper/nothing", 32, (), "nothing"),
        (FP8, 33, (), "multiple of"),
        (FP8, 64, "exponent=1", "unknown precondition"),
        (f"{FP8} | nothing=1", 64, (), "nothing"),
        (f"{FP8} | split-k=4", 33, (), "k = 33"),
    ],
)
def test_bad_input_is_named(plan: str, k: int, where, match: str) -> None:
    with pytest.raises((InputError, DesignError), match=match):
        tolerance(plan, k, where)


def test_an_order_that_is_not_determined_has_a_bound_for_all_orders() -> None:
    """The sums of parts cancel in some orders and not in others."""
    found = tolerance(f"{FP8} | split-k=4:any", 128)
    signs = np.repeat([1.0, -1.0, 1.0, -1.0], 32)
    a, b = (
        patterns(found.plan.formats[0], (6, 128), lambda s: RNG.random(s) * signs),
        patterns(found.unit.b_format, (128, 6), RNG.random),
    )
    given = found.given(a, b)
    bound, (exact, beyond) = found.bound_of(given), found.exact_of(given)
    ascending = bound_of_schedule(found.schedule, given)
    assert (bound >= ascending).all()
    assert (bound > ascending).any()
    assert (bound < 3 * ascending).all()
    for order in permutations(range(4)):
        plan = read_plan(f"{FP8} | split-k=4:{'.'.join(map(str, order))}")
        d = values_of(Product(plan, a, b).d(), "fp32")
        assert (np.abs(d - exact) <= bound + beyond).all()
    with pytest.raises(DesignError, match="order"):
        found.emulate(a, b)


def test_the_bound_for_all_orders_takes_sums_to_be_as_large_as_the_whole() -> None:
    """Two large parts of opposite signs, and small ones: what is added last decides where the rounding is lost."""
    found = tolerance("volta/mma.m8n8k4.f32.f16.f16.f32 | split-k=4:any:fp16", 16)
    a = np.array([[3, 0, 0, 0, -3, 0, 0, 0, 2**-9, 0, 0, 0, 2**-9, 0, 0, 0]], dtype=np.float16) * np.float16(341)
    b = np.full((16, 1), 1.001, dtype=np.float16)
    given = found.given(a, b)
    bound, (exact, _) = found.bound_of(given), found.exact_of(given)
    errors = []
    for order in permutations(range(4)):
        plan = read_plan(f"{found.plan.unit.name} | split-k=4:{'.'.join(map(str, order))}:fp16")
        d = values_of(Product(plan, a.view(np.uint16), b.view(np.uint16)).d(), "fp16")
        errors.append(abs(d[0, 0] - exact[0, 0]))
    assert max(errors) <= bound[0, 0]
    assert max(errors) > 1.5 * min(errors)


def test_an_order_that_is_not_determined_with_constants_has_no_bound() -> None:
    found = tolerance(f"{FP8} | split-k=4:any | alpha=2 | c=none", 128)
    assert not found.proved
    assert "order of additions" in found.proof.reason


PLANS = [
    f"{FP8} | promote=64",
    f"{FP8} | split-k=4:tree:fp32 | out=bf16",
    f"{FP8} | split-k=2 | out=fp16",
    f"{FP8} | promote=64 | alpha=0.5 | beta=2 | c=last | out=bf16",
    "volta/mma.m8n8k4.f32.f16.f16.f32 | stream-k=96.160",
    f"{FP8} | promote=64:fp32:rtp | out=bf16:rtn",
    f"{FP8} | split-k=2 | out=e4m3",
]


@pytest.mark.parametrize(
    "text", [PLANS[1], *(pytest.param(x, marks=pytest.mark.middle) for x in PLANS if x != PLANS[1])]
)
def test_no_result_of_a_plan_is_outside_its_bound(text: str) -> None:
    """The errors are compared exactly, in rational arithmetic."""
    found = tolerance(text, 256)
    formats = found.plan.formats
    for draw in (RNG.standard_normal, RNG.random, lambda s: np.ldexp(RNG.random(s), RNG.integers(-12, 3, s))):
        a, b, c = (patterns(f, s, draw) for f, s in zip(formats, ((6, 256), (256, 6), (6, 6)), strict=False))
        given = Given.of(found.plan, a, b, c)
        bound = bound_of_schedule(found.schedule, given)
        exact, beyond = exact_of_schedule(found.schedule, given)
        d = values_of(found.emulate(a, b, c), formats[3])
        scale, beta = (0.5, 2) if "alpha" in text else (1, 1)
        x, y, z = (values_of(p, f) for p, f in zip((a, b, c), formats, strict=False))
        for i, j in pairs(range(6), range(6)):
            products = (Fraction(p) * Fraction(q) for p, q in zip(x[i], y[:, j], strict=True))
            truth = Fraction(scale) * sum(products) + beta * Fraction(z[i, j])
            assert abs(Fraction(exact[i, j]) - truth) <= Fraction(beyond[i, j])
            assert abs(Fraction(d[i, j]) - truth) <= Fraction(bound[i, j])
        assert np.median(bound) < 0.3 * np.abs(exact).max() + 1


def test_a_plan_whose_result_may_overflow_has_an_infinite_bound() -> None:
    found = tolerance(f"{FP8} | out=fp16", 64)
    a, b = (np.full(s, 0x7E, dtype=np.uint8) for s in ((1, 64), (64, 1)))  # 448
    assert np.isinf(bound_of_schedule(found.schedule, Given.of(found.plan, a, b))).all()


@pytest.mark.parametrize(
    ("n", "p", "expected"), [(100, 0.5, (40, 61)), (1000, 0.5, (469, 532)), (100, 0.999, (99, 101))]
)
def test_ranks_are_those_of_the_binomial_distribution(n: int, p: float, expected: tuple[int, int]) -> None:
    assert ranks(n, p, 0.95) == expected


def test_the_interval_covers_the_quantile_as_often_as_it_says() -> None:
    low, high = ranks(200, 0.9, 0.9)
    inside = 0
    for _ in range(2000):
        drawn = np.sort(RNG.random(200))
        inside += drawn[low - 1] <= 0.9 <= drawn[high - 1]
    assert 0.88 < inside / 2000 < 0.96


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("volta/f32.f16.f16.f32", "exponents=16..20"),
        (FP8, "exponents=8..12"),
        ("hopper/wgmma.f32.e5m2.e5m2", "exponents=14..17"),
    ],
)
def test_samples_that_are_no_numbers_have_infinite_errors(name: str, distribution: str) -> None:
    """Operands become infinities or NaNs where they are rounded to the format, and results with them."""
    found = tolerance(name, 32).quantile(0.5, distribution, samples=200)
    assert found.value == found.upper == np.inf
    assert found.not_finite == 200


def test_a_quantile_is_called_statistical() -> None:
    found = tolerance(FP8, 64).quantile(0.9, "positive", samples=2000)
    assert str(found).startswith("statistical: 0.9-quantile")
    assert 0 < found.lower <= found.value <= found.upper < 0.01
    assert np.allclose(found.bound(np.full((1, 2), 2.0), np.full((2, 1), -3.0), np.ones((1, 1))), 13 * found.upper)
    few = tolerance(FP8, 64).quantile(0.999, samples=100)
    assert few.upper == np.inf


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"p": 1.0}, "between 0 and 1"),
        ({"confidence": 0}, "between 0 and 1"),
        ({"samples": 0}, "samples = 0"),
        ({"distribution": "normla"}, "normal"),
    ],
)
def test_bad_quantiles_are_refused(options, match: str) -> None:
    with pytest.raises(InputError, match=match):
        tolerance(FP8, 64).quantile(**({"p": 0.5} | options))
    with pytest.raises(InputError, match="up to 24 bits"):
        tolerance("ampere/mma.m8n8k4.f64.f64.f64.f64", 64).quantile(0.5)
    with pytest.raises(InputError, match="factor"):
        tolerance(f"{FP8} | alpha=2 | c=none", 64).quantile(0.5)


def test_rows_of_a_plan_are_those_of_its_products() -> None:
    plan = tolerance(f"{FP8} | split-k=2 | out=bf16", 64).plan
    batch = draw_rows(plan, 5, 64, "normal", np.random.default_rng(1))
    whole = Product(plan, batch.a, np.ascontiguousarray(batch.b.T), None).d()
    assert rows(plan.schedule(batch.k), batch).tolist() == np.diagonal(whole).tolist()


@pytest.mark.middle
def test_every_seeded_fault_is_caught_by_bits_and_listed_for_the_bound() -> None:
    found = tolerance("blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3", 256)
    caught = {(x.fault, str(x.strength)): x for x in sharpness(found, "positive", products=1)}
    names = {x.name for x in seeded(_drawn(found))}
    assert names == {x for x, _ in caught}
    assert names == {"F = 24", "a lost product", "a lost k-block", "reversed order of k", "fp16 accumulation", "zeros"}
    for name in names - {"reversed order of k", "F = 24"}:
        assert caught[name, "bits"].chance > 0.5, name
    for name in ("zeros", "a lost k-block", "fp16 accumulation"):
        assert caught[name, "proved"].chance > 0.9, name
    assert caught["reversed order of k", "proved"].elements == np.inf


def _drawn(found):
    a, b = patterns(found.unit.a_format, (2, found.k)), patterns(found.unit.b_format, (found.k, 2))
    return Product(found.plan, a, b)


@pytest.mark.parametrize(("chance", "elements"), [(1.0, 1), (0.5, 7), (0.01, 459), (0.0, np.inf)])
def test_how_many_elements_notice_a_fault(chance: float, elements: float) -> None:
    assert Caught("x", "bits", chance).elements == elements


def test_a_unit_without_f_is_narrowed_in_its_rounding() -> None:
    unit = find_design("cpu/tdpbf16ps")
    given = Product(Plan(unit), np.zeros((1, 32), np.uint16), np.zeros((32, 1), np.uint16))
    assert "rho = rz-fp32" in {x.name for x in seeded(given)}


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((3, 64), "plan = 3"),
        ((None, 64), "plan = None"),
        ((FP8, 64.0), "k = 64.0"),
        ((FP8, True), "k = True"),
        ((FP8, "64"), "k = '64'"),
        ((FP8, 64, 5), "where = 5"),
    ],
)
def test_arguments_of_other_types_are_refused(arguments, match: str) -> None:
    with pytest.raises(InputError, match=match):
        tolerance(*arguments)


def test_a_range_of_exponents_that_is_empty_is_said(monkeypatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.tolerances.tolerance.Tolerance.require_proof", lambda _: None)
    with pytest.raises(InputError, match="no exponent in common"):
        tolerance(FP8, 64, ["exponents=0..2", "exponents=5..7"]).rtol_atol()
    with pytest.raises(InputError, match="only the zeros"):
        tolerance(FP8, 64, "exponents=500..600").rtol_atol()
