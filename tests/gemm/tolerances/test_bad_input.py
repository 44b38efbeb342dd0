"""Every wrong argument of the public functions is named, with what is allowed; no error of a library is left."""

from pathlib import Path

import numpy as np
import pytest

import mmaproof
from mmaproof.designs.errors import InputError, MmaproofError
from mmaproof.gemm.tolerances.tolerance import Tolerance

UNIT = "volta/mma.m8n8k4.f32.f16.f16.f32"
SCALED = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
A, B, C = np.ones((4, 8), np.float16), np.ones((8, 3), np.float16), np.zeros((4, 3), np.float32)
D = mmaproof.matmul(UNIT, A, B, C)
CODES = {"plan": SCALED, "a": np.zeros((4, 32), np.uint8), "b": np.zeros((32, 3), np.uint8)}
SCALE_A, SCALE_B = np.full((4, 1), 127, np.uint8), np.full((1, 3), 127, np.uint8)
NAN = np.where(np.arange(32).reshape(4, 8) == 0, np.float16(np.nan), A)


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plan": None}, "plan = None: a design, a plan, or the text"),
        ({"plan": [UNIT]}, "a design, a plan, or the text"),
        ({"plan": ""}, "is not a design name"),
        ({"plan": "/nowhere.toml"}, "/nowhere.toml: cannot be read"),
        ({"plan": f"{UNIT} | parts=2"}, "unknown key 'parts'"),
        ({"plan": f"{UNIT} | split-k=9"}, "a part would be empty"),
        ({"plan": f"{UNIT} | split-k=2:any"}, "has no single result: state an order"),
        ({"strength": None}, "one of bits, proved, statistical"),
        ({"unchecked": None}, "fail and allow are allowed"),
        ({"strength": "statistical", "distribution": None}, "distribution = None: the name of one"),
        ({"strength": "statistical", "distribution": "none"}, "unknown distribution 'none'"),
        ({"actual": None}, "actual: a NoneType, and no array of numbers"),
        ({"actual": 3.0}, r"actual has the shape \(\)"),
        ({"actual": D.astype(complex)}, "actual: an array of complex128 is not of the format fp32"),
        ({"actual": D.astype(object)}, "actual: an array of object"),
        ({"actual": D[None]}, r"actual has the shape \(1, 4, 3\), and a @ b has \(4, 3\)"),
        ({"a": A[None]}, r"a has the shape \(1, 4, 8\): \(M, K\) is needed"),
        ({"a": [[1, 2], [3]]}, "a: a list cannot be read as an array: ValueError"),
        ({"a": A.astype(np.float64)}, "a: an array of float64 is not of the format fp16"),
        ({"a": np.ma.masked_array(A)}, "a: a masked array, and units have no masks: fill it first"),
        ({"b": B[:, 0]}, r"b has the shape \(8,\): \(K, N\) is needed"),
        ({"b": B[:7]}, r"shapes a \(4, 8\), b \(7, 3\)"),
        ({"c": C[:3]}, r"c has the shape \(3, 3\), and a @ b has \(4, 3\)"),
        ({"c": "zeros"}, "c: a str, and no array of numbers"),
        ({"a": A[:, :6], "b": B[:6]}, "k = 6 is above the K = 4 of .* choose 4 or 8"),
        ({"a": A[:, :0], "b": B[:0]}, "a dot product has at least one element"),
        ({"scale_a": SCALE_A}, "scale_a: .* has no scales"),
        (CODES, "scale_a is missing"),
        (CODES | {"scale_a": SCALE_A, "scale_b": SCALE_B.T}, r"scale_b has the shape \(3, 1\): \(1, 3\) needed"),
        (CODES | {"scale_a": SCALE_A.astype(float), "scale_b": SCALE_B}, "scale_a: an array of float64"),
        (CODES | {"scale_a": "x", "scale_b": SCALE_B}, "scale_a: a str, and no array"),
    ],
)
def test_arguments_of_assert_gemm(change, message: str) -> None:
    options = {"actual": D, "a": A, "b": B, "c": C, "plan": UNIT, "strength": "bits"} | change
    with pytest.raises(MmaproofError, match=message):
        mmaproof.assert_gemm(**options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "at least one element"),
        ({"k": 8.0}, "k = 8.0: the length of the dot products is an integer"),
        ({"k": 10**10}, "a plan is computed for K from 1 to 1048576"),
        ({"k": 6}, "not a multiple of it: choose 4 or 8"),
        ({"plan": f"{UNIT} | split-k=2", "k": 6}, "k = 6 is not a multiple of the plan's K of a tile"),
        ({"plan": 3}, "plan = 3: a design"),
        ({"where": "nothing"}, "unknown precondition 'nothing'"),
        ({"where": 3}, "where = 3: conditions such as"),
        ({"where": [3]}, "where = .3.: conditions such as"),
    ],
)
def test_arguments_of_tolerance(change, message: str) -> None:
    with pytest.raises(MmaproofError, match=message):
        mmaproof.tolerance(**({"plan": UNIT, "k": 8} | change))


@pytest.fixture(scope="module")
def tolerance() -> Tolerance:
    return mmaproof.tolerance(UNIT, 8)


@pytest.mark.middle
@pytest.mark.parametrize(
    ("method", "arguments", "options", "message"),
    [
        ("bound", (None, B), {}, "a: a NoneType"),
        ("bound", (A[:, :4], B[:4]), {}, "a has 4 elements along k, and this tolerance is of k = 8"),
        ("bound", (A, B), {"jobs": 0}, "jobs = 0: a number of threads"),
        ("bound", (A, B), {"jobs": "all"}, "jobs = 'all': a number of threads"),
        ("bound", (A, B, None, SCALE_A, SCALE_B), {}, "scale_a: .* has no scales"),
        ("emulate", (A, B, None, SCALE_A), {}, "scale_a: .* has no scales"),
        ("emulate", (A[0], B), {}, r"\(m, k\), \(k, n\), \(m, n\) needed"),
        ("rtol_atol", (), {}, "a range of exponents is needed"),
        ("rtol_atol", ("exponents=5..1",), {}, "the range is empty"),
        ("quantile", ("half",), {}, "p = 'half' .* numbers between 0 and 1"),
        ("quantile", (0.5,), {"confidence": None}, "confidence = None: numbers between 0 and 1"),
        ("quantile", (0.5,), {"samples": 1.5}, "samples = 1.5: 1 to"),
        ("quantile", (0.5,), {"seed": -1}, "seed = -1: an integer from 0 on"),
    ],
)
def test_arguments_of_a_tolerance(tolerance: Tolerance, method: str, arguments, options, message: str) -> None:
    with pytest.raises(MmaproofError, match=message):
        getattr(tolerance, method)(*arguments, **options)


def test_a_unit_is_named() -> None:
    with pytest.raises(InputError, match="plan = None"):
        mmaproof.matmul(None, A, B)
    with pytest.raises(InputError, match="plan = 3"):
        mmaproof.read_plan(3)
    with pytest.raises(MmaproofError, match="a: a list cannot be read"):
        mmaproof.matmul(UNIT, [[1, 2], [3]], B)


@pytest.mark.parametrize("strength", ["bits", "proved"])
def test_memory_may_be_in_any_order(strength: str) -> None:
    a, b, c, d = (np.asfortranarray(x) for x in (A, B, C, D))
    mmaproof.assert_gemm(d, a, b, c, plan=UNIT, strength=strength)
    twice = np.repeat(A, 2, axis=1)[:, ::2], np.repeat(B, 3, axis=0)[::3]
    mmaproof.assert_gemm(D[::-1][::-1], *twice, np.broadcast_to(C[:1], C.shape), plan=UNIT, strength=strength)
    mmaproof.assert_gemm(D, A.astype(">f2"), B, C, plan=UNIT, strength=strength)


def test_nan_and_infinity() -> None:
    d = mmaproof.matmul(UNIT, NAN, B, C)
    mmaproof.assert_gemm(d, NAN, B, C, plan=UNIT, strength="bits")
    mmaproof.assert_gemm(d, NAN, B, C, plan=UNIT, strength="proved", unchecked="allow")
    with pytest.raises(AssertionError, match="nothing is proved about them"):
        mmaproof.assert_gemm(d, NAN, B, C, plan=UNIT, strength="proved")
    bound = mmaproof.tolerance(UNIT, 8).bound(NAN, B, C)
    assert np.isnan(bound[0]).all() and np.isfinite(bound[1:]).all()
    infinite = np.where(np.isnan(NAN), np.float16(np.inf), NAN)
    with pytest.raises(AssertionError, match="an infinity or a NaN among their operands"):
        mmaproof.assert_gemm(D, infinite, B, C, plan=UNIT, strength="statistical")
    mmaproof.assert_gemm(D, infinite, B, C, plan=UNIT, strength="statistical", unchecked="allow")


def test_a_report_that_cannot_be_written_is_refused_before_the_tests_run(pytester_options, tmp_path: Path) -> None:
    for name, message in (("nowhere/report.html", "a folder that is there"), ("report.pdf", "ends in .html")):
        with pytest.raises(pytest.UsageError, match=message):
            pytester_options(tmp_path / name)


@pytest.fixture
def pytester_options():
    """Return what pytest does with the option of the plugin."""
    from mmaproof.gemm.tolerances.plugin import pytest_configure

    class Config:
        def __init__(self, named: Path) -> None:
            self.named = named

        def getoption(self, _: str) -> str:
            return str(self.named)

    return lambda named: pytest_configure(Config(named))
