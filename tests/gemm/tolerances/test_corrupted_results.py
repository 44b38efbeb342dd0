"""Corrupted results at every strength of assert_gemm: none passes that is outside, and what is inside passes.

What is outside is decided here on rational numbers, from the operands and the bound alone.
"""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from mmaproof.designs.errors import OperandError
from mmaproof.designs.operands import array_of, patterns_of, values_of
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.named import find_plan
from mmaproof.gemm.tolerances import assertion, diagnosis
from mmaproof.gemm.tolerances.assertion import assert_gemm
from mmaproof.gemm.tolerances.tolerance import errors_of, is_within, tolerance, within
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.verification.distributions import from_float64

M, K, N = 6, 64, 6
PLANS = {
    "fp32 results": "hopper/wgmma.f32.f16.f16",
    "fp16 results": "ampere/mma.m16n8k16.f16.f16.f16.f16",
    "a plan": "hopper/wgmma.f32.e4m3.e4m3 | split-k=2",
    "a plan with factors": "hopper/wgmma.f32.f16.f16 | c=last | alpha=0.5 | beta=2",
    "integers": "ampere/mma.m16n8k32.s32.s8.s8.s32",
    "fp64 results": pytest.param("hopper/mma.m8n8k4.f64.f64.f64.f64", marks=pytest.mark.slow),
}


class Case:
    """Operands of a plan, what it returns, the bound of that, and the exact product on rational numbers."""

    def __init__(self, text):
        self.plan = find_plan(text)
        rng = np.random.default_rng(4)
        shapes = ((M, K), (K, N), (M, N))
        scale = 20.0 if self.plan.formats[0].is_integer else 1.0
        drawn = [
            from_float64(f, np.round(scale * rng.standard_normal(s), 2))
            for f, s in zip(self.plan.formats, shapes, strict=False)
        ]
        drawn[0][1] = 0  # an element of exact zeros: a row of a, and c
        drawn[2][1] = 0
        self.a, self.b, self.c = (array_of(x, f) for x, f in zip(drawn, self.plan.formats, strict=False))
        self.fmt = self.plan.formats[3]
        self.d = multiply_plan(self.plan, *drawn) if "|" in text else tolerance(text, K).emulate(self.a, self.b, self.c)
        self.tolerance = tolerance(text, K)
        self.given = self.tolerance.given(self.a, self.b, self.c)
        self.bound = self.tolerance.bound_of(self.given)
        self.factors = (Fraction(1, 2), Fraction(2)) if "alpha" in text else (Fraction(1), Fraction(1))

    @property
    def exact(self):
        a, b, c = (
            values_of(patterns_of(x, f), f) for x, f in zip((self.a, self.b, self.c), self.plan.formats, strict=False)
        )
        alpha, beta = self.factors
        return [
            [
                beta * Fraction(c[i, j]) + alpha * sum(Fraction(a[i, k]) * Fraction(b[k, j]) for k in range(K))
                for j in range(N)
            ]
            for i in range(M)
        ]

    def outside(self, patterns):
        """Which elements are outside the bound."""
        values, exact = values_of(patterns, self.fmt), self.exact
        return np.array(
            [
                [
                    not math.isfinite(values[i, j])
                    or abs(Fraction(values[i, j]) - exact[i][j]) > Fraction(self.bound[i, j])
                    for j in range(N)
                ]
                for i in range(M)
            ]
        )

    def pattern(self, value):
        return from_float64(self.fmt, np.array([value]))[0]

    def off(self, factor, above):
        """The result with the first element off by ``factor`` times its bound: the number below, or just above that."""
        d, exact = self.d.copy(), self.exact[0][0]
        target = exact + Fraction(factor) * Fraction(self.bound[0, 0])
        unit = 1 if self.fmt.is_integer else Fraction(2) ** (self.fmt.e_min - self.fmt.fraction_bits)
        if not self.fmt.is_integer and abs(target) >= Fraction(2) ** self.fmt.e_min:
            unit = Fraction(2) ** (math.frexp(float(target))[1] - 1 - self.fmt.fraction_bits)
        found = Fraction(math.floor(target / unit)) * unit
        if above:
            found += unit
        d[0, 0] = self.fmt.encode(found)
        return d


def with_one(value, *at):
    def changed(case):
        d = case.d.copy()
        d[at or ...] = case.pattern(value)
        return d

    return changed


def swapped(case):
    d = case.d.copy()
    d[[2, 3]] = d[[3, 2]]
    return d


def stale(case):
    """The last rows are those of a product of other operands."""
    d = case.d.copy()
    d[4:, 3:] = case.d[2:4, :3]
    return d


def negative_zeros(case):
    d = case.d.copy()
    d[1] |= np.array(1 << (case.fmt.bits - 1), dtype=d.dtype)
    return d


SPECIAL = {
    f"{name} {where}": with_one(value, *at)
    for name, value in (("+inf", np.inf), ("-inf", -np.inf), ("NaN", np.nan))
    for where, at in (("everywhere", ()), ("in the first element", (0, 0)), ("in the last element", (M - 1, N - 1)))
}
FINITE = {
    "right": lambda case: case.d,
    "zeros": with_one(0.0),
    "a zero": with_one(0.0, 0, 0),
    "negative zeros in the place of zeros": negative_zeros,
    "two rows swapped": swapped,
    "a stale tile": stale,
    "transposed": lambda case: np.ascontiguousarray(case.d.T),
    "another sign": lambda case: case.d ^ np.array(1 << (case.fmt.bits - 1), dtype=case.d.dtype),
    "off by the bound": lambda case: case.off(1, above=False),
    "off by just more than the bound": lambda case: case.off(1, above=True),
    "off by minus the bound": lambda case: case.off(-1, above=True),
    "off by just more than minus the bound": lambda case: case.off(-1, above=False),
    "off by twice the bound": lambda case: case.off(2, above=True),
    "off by a thousand bounds": lambda case: case.off(1000, above=True),
}


@pytest.fixture(autouse=True)
def without_explanations(monkeypatch):
    """What would fit is looked for elsewhere, and takes longer."""
    monkeypatch.setattr(assertion, "diagnose", lambda *_: [])


@pytest.fixture(scope="module", params=PLANS.values(), ids=PLANS)
def case(request):
    return Case(request.param)


def corrupted(case):
    """Each corruption that the format of d can have, and the result."""
    changes = FINITE if case.fmt.is_integer else SPECIAL | FINITE
    if case.fmt.is_integer:
        changes = {name: of for name, of in changes.items() if "negative" not in name and "sign" not in name}
    return [(name, of(case)) for name, of in changes.items()]


def passes(case, patterns, strength, **options):
    try:
        assert_gemm(array_of(patterns, case.fmt), case.a, case.b, case.c, plan=case.plan, strength=strength, **options)
    except AssertionError as problem:
        assert not str(problem).startswith("0 of")
        return False
    return True


@pytest.mark.few(1)
@pytest.mark.slow_values("a plan with factors")
def test_nothing_outside_a_proved_bound_passes(case, monkeypatch):
    outcomes, seen = [], set()
    monkeypatch.setattr(assertion, "observers", [outcomes.append])
    for name, d in corrupted(case):
        outside = case.outside(d)
        assert passes(case, d, "proved") == (not outside.any()), name
        assert outcomes[-1].count == outside.sum(), name
        assert passes(case, d, "proved", unchecked="allow") == (not outside.any()), name
        seen.add((name, bool(outside.any())))
    wanted = {("right", False), ("off by the bound", False)}
    wanted |= {(x, True) for x in ("zeros", "two rows swapped", "a stale tile", "transposed", "off by twice the bound")}
    wanted |= {("off by just more than the bound", True)}
    if not case.fmt.is_integer:
        wanted |= {("off by minus the bound", False), ("off by just more than minus the bound", True)}
        wanted |= {("negative zeros in the place of zeros", False), *((x, True) for x in SPECIAL)}
    assert wanted <= seen


@pytest.mark.few(1)
@pytest.mark.slow_values("a plan with factors")
def test_nothing_of_other_bits_passes(case):
    """All but NaNs of the emulation, of which there are none here."""
    for name, d in corrupted(case):
        same = equal_patterns(case.fmt, d.ravel(), case.d.ravel()).all()
        assert passes(case, d, "bits") == same == (d == case.d).all(), name
        assert same == (name == "right" or (d == case.d).all())


def test_a_statistical_test_passes_no_result_of_garbage(case, monkeypatch):
    if case.fmt.is_integer or case.fmt.name == "fp64" or case.factors[0] != 1:
        pytest.skip("no statistical tolerance")
    monkeypatch.setattr(assertion, "SAMPLES", 4000)
    assertion._measured.cache_clear()
    a, b = (np.abs(values_of(patterns_of(x, f), f)) for x, f in zip((case.a, case.b), case.plan.formats, strict=False))
    garbage = SPECIAL | {
        x: FINITE[x] for x in ("zeros", "two rows swapped", "a stale tile", "transposed", "another sign")
    }
    garbage["more than all magnitudes"] = with_one(4.0 * float((a @ b).max()) + 100, 0, 0)
    for name, of in garbage.items():
        assert not passes(case, of(case), "statistical"), name
        assert not passes(case, of(case), "statistical", unchecked="allow"), name
    assert passes(case, case.d, "statistical")
    assertion._measured.cache_clear()


@pytest.mark.parametrize("strength", ["bits", "proved", "statistical"])
def test_an_array_of_another_type_or_shape_is_no_result(case, strength):
    d = array_of(case.d, case.fmt)
    for wrong in (d.astype(np.complex64), d[:-1], d[:, :-1], d.ravel(), d[None], d.astype(np.int16), d.astype(bool)):
        with pytest.raises(OperandError, match=r"^actual"):
            assert_gemm(wrong, case.a, case.b, case.c, plan=case.plan, strength=strength)


@pytest.mark.slow_values("a plan with factors")
@pytest.mark.middle
def test_where_nothing_is_proved_of_one_element_the_others_are_compared(case):
    if case.fmt.is_integer:
        pytest.skip("integers have no infinities")
    other = Case.__new__(Case)
    other.__dict__.update(case.__dict__)
    other.c = case.c.copy()
    other.c[2, 2] = np.inf
    for value in (np.inf, -np.inf, np.nan):
        assert not passes(other, with_one(value, 0, 0)(case), "proved", unchecked="allow")
        assert passes(other, with_one(value, 2, 2)(case), "proved", unchecked="allow")
        assert not passes(other, with_one(value, 2, 2)(case), "proved")


@pytest.mark.parametrize("sign", [1, -1])
def test_ones_are_sixteen_and_no_infinity(sign):
    """All elements are infinities where the exact product is 16: the allowance for float64 once let these pass."""
    a, b = np.ones((3, 16), np.float16), np.ones((16, 3), np.float16)
    d = np.full((3, 3), sign * np.inf, np.float32)
    with pytest.raises(AssertionError, match="9 of 9 elements are outside the proved bound"):
        assert_gemm(d, a, b, plan="hopper/wgmma.f32.f16.f16", strength="proved")


def test_bounds_below_what_float64_loses_are_decided_on_fractions():
    """The bound of a unit of fp64 is a tenth of what float64 loses of a sum, so float64 tells nothing between them."""
    case = Case("hopper/mma.m8n8k4.f64.f64.f64.f64")
    exact, beyond = case.tolerance.exact_of(case.given)
    assert (beyond > 2 * case.bound).any()
    for d in (case.d, *(case.off(x, above=y) for x in (1, -1, 2, -2) for y in (True, False))):
        values = values_of(d, case.fmt)
        _, unsure = within(values, exact, beyond, case.bound)
        assert unsure[0, 0]
        assert (is_within(case.tolerance, case.given, values, case.bound) == ~case.outside(d)).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_an_error_of_its_bound_is_within(sign):
    """The difference is far below what float64 is taken to lose of the sum of 64 ones."""
    found, ones = tolerance("hopper/mma.m8n8k4.f64.f64.f64.f64", 64), np.ones((1, 64))
    given, error = found.given(ones, ones.T, np.zeros((1, 1))), 2.0**-46
    values = np.array([[64 + sign * error]])
    for bound, expected in ((error, True), (np.nextafter(error, 0), False), (np.nextafter(error, 1), True)):
        assert is_within(found, given, values, np.array([[bound]]))[0, 0] == expected


def test_a_large_c_has_errors_of_its_size(monkeypatch):
    """In a statistical test, what a unit returns for small products and a large c is not garbage."""
    monkeypatch.setattr(assertion, "SAMPLES", 4000)
    assertion._measured.cache_clear()
    unit = "hopper/wgmma.f32.f16.f16"
    a, b = np.full((8, 64), 2.0**-14, np.float16), np.full((64, 8), 2.0**-14, np.float16)
    c = np.random.default_rng(1).uniform(900, 1000, (8, 8)).astype(np.float32)
    d = array_of(tolerance(unit, 64).emulate(a, b, c), find_plan(unit).formats[3])
    assert_gemm(d, a, b, c, plan=unit, strength="statistical")
    assertion._measured.cache_clear()


def test_no_change_of_operands_explains_an_infinity():
    unit = find_plan("hopper/wgmma.f32.f16.f16")
    looked = SimpleNamespace(
        actual=patterns_of(np.array([[np.inf, 1.0]], np.float32), unit.formats[3]),
        product=SimpleNamespace(plan=unit),
    )
    for bound in (np.inf, 1e300):
        assert not diagnosis._is_within(np.array([[1.0, 1.0]]), np.array([[bound, 1.0]]), looked)
    looked.actual = patterns_of(np.array([[1.5, 1.0]], np.float32), unit.formats[3])
    assert diagnosis._is_within(np.array([[1.0, 1.0]]), np.array([[0.5, 0.0]]), looked)
    assert not diagnosis._is_within(np.array([[1.0, 1.0]]), np.array([[np.inf, 0.0]]), looked)


def test_one_element_outside_is_no_rounding():
    """Of the elements that fail, one is outside its bound, and the others are within: this is not called rounding."""
    found = tolerance("hopper/wgmma.f32.f16.f16", 16)
    a, b = np.ones((2, 16), np.float16), np.ones((16, 2), np.float16)
    given, failing = found.given(a, b), np.ones((2, 2), dtype=bool)
    for wrong, expected in ((16.0, "within the proved bound"), (17.0, "outside every bound: not rounding")):
        d = np.full((2, 2), 16.0, np.float32)
        d[1, 1] = wrong
        actual, product = patterns_of(d, found.plan.formats[3]), SimpleNamespace(plan=found.plan)
        looked = SimpleNamespace(actual=actual, given=given, failing=failing, product=product)
        assert diagnosis._by_bound(found, looked).startswith(expected)


def test_a_number_is_within_no_bound_that_is_none():
    values, exact = np.array([[1.0, np.inf, np.nan, 1.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 1.0, 1.0, np.nan, np.inf]])
    bounds = np.array([[np.inf, 1.0, 1.0, np.nan, 1.0, 1.0]])
    inside, unsure = within(values, exact, np.zeros_like(values), bounds)
    assert not inside.any()
    assert unsure.tolist() == [[False, False, False, False, True, True]]
    assert errors_of(values, exact).tolist() == [[0.0, np.inf, np.inf, 0.0, np.inf, np.inf]]
