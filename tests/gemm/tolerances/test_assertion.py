"""assert_gemm passes what a unit computes, fails what it does not, and says what would fit."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError, InputError, OperandError
from mmaproof.designs.operands import array_of, as_numpy, patterns_of
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.tolerances import assertion
from mmaproof.gemm.tolerances.assertion import assert_gemm
from mmaproof.gemm.tolerances.tolerance import NothingProvedError
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.verification.distributions import from_float64

FP8 = "hopper/wgmma.f32.e4m3.e4m3"
PLAN = f"{FP8} | split-k=4"
RNG = np.random.default_rng(0)


def operands(plan=None, m: int = 12, k: int = 256, n: int = 10, positive: bool = False):
    formats = (find_design(FP8) if plan is None else plan).formats
    draw = RNG.random if positive else RNG.standard_normal
    return [array_of(from_float64(f, draw(s)), f) for f, s in zip(formats, ((m, k), (k, n), (m, n)), strict=False)]


@pytest.fixture(scope="module")
def given():
    a, b, c = operands()
    return a, b, c, matmul(FP8, a, b, c)


def text_of(actual, a, b, c=None, **options) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_gemm(actual, a, b, c, **({"plan": FP8, "strength": "bits"} | options))
    return str(caught.value)


@pytest.mark.middle
@pytest.mark.parametrize("strength", ["bits", "proved"])
def test_what_the_unit_computes_passes(given, strength: str) -> None:
    a, b, c, d = given
    assert_gemm(d, a, b, c, plan=FP8, strength=strength)


@pytest.mark.middle
def test_arrays_may_be_files(given, tmp_path) -> None:
    held = dict(zip("abcd", given, strict=True))
    for name, x in held.items():
        np.save(tmp_path / f"{name}.npy", x)  # NumPy keeps the bytes of FP8 alone
    a, b, c, d = (tmp_path / f"{x}.npy" for x in "abcd")
    assert_gemm(d, a, b, c, plan=FP8, strength="bits")
    wrong = np.array(held["d"])
    wrong[3, 4] = np.nextafter(wrong[3, 4], np.float32(np.inf))
    np.save(d, wrong)
    assert text_of(d, a, b, c).startswith("1 of 120 elements")
    with pytest.raises(OperandError, match=r"^b: .*nowhere.npy"):
        assert_gemm(d, a, tmp_path / "nowhere.npy", c, plan=FP8)
    np.savez(tmp_path / "both.npz", a=held["a"], b=held["b"])
    with pytest.raises(OperandError, match="^a: .*a file of one array is needed"):
        assert_gemm(d, tmp_path / "both.npz", b, c, plan=FP8)


@pytest.mark.middle
@pytest.mark.slow_values("bits")
@pytest.mark.parametrize("strength", [pytest.param("bits", marks=pytest.mark.middle), "proved"])
def test_what_a_plan_computes_passes(strength: str) -> None:
    plan = read_plan(PLAN)
    a, b, c = operands(plan)
    d = multiply_plan(plan, *(patterns_of(x, f) for x, f in zip((a, b, c), plan.formats, strict=False)))
    assert_gemm(array_of(d, plan.formats[3]), a, b, c, plan=PLAN, strength=strength)
    if strength == "bits":
        held = [patterns_of(x, f) for x, f in zip((a, b, c), plan.formats, strict=False)]
        other = multiply_plan(read_plan(f"{FP8} | split-k=4:descending"), *held)
        assert "order of split-k parts reversed" in text_of(other, a, b, c, plan=PLAN)
        chain = matmul(FP8, a, b)
        assert "no parts of k are summed apart" in text_of(chain, a, b, plan=PLAN)


def test_a_file_of_a_plan_is_read_each_time(tmp_path) -> None:
    file = tmp_path / "plan.toml"
    ones = np.full((1, 32), 0x3C00, np.uint16), np.full((32, 1), 0x3C00, np.uint16)
    for factor in (1, 2):
        file.write_text(f'unit = "volta/f32.f16.f16.f32"\nc = "none"\nalpha = {factor}\n')
        d = np.full((1, 1), 32.0 * factor, np.float32)
        assert_gemm(d, *ones, plan=str(file), strength="bits")


@pytest.mark.slow
def test_integers_are_off_by_nothing_however_long_the_sum_is(monkeypatch) -> None:
    monkeypatch.setattr("mmaproof.gemm.tolerances.diagnosis.MOST_SECONDS", 0.0)
    a, b = np.full((1, 1 << 20), 36, np.int8), np.full((1 << 20, 1), 37, np.int8)
    d = np.full((1, 1), 36 * 37 << 20, np.int32)
    unit = "turing/mma.m8n8k16.s32.s8.s8.s32"
    assert_gemm(d, a, b, plan=unit)
    with pytest.raises(AssertionError):
        assert_gemm(d + 1, a, b, plan=unit)


def test_a_statistical_test_lets_no_garbage_pass(given, monkeypatch) -> None:
    monkeypatch.setattr(assertion, "SAMPLES", 500)
    assertion._measured.cache_clear()
    a, b, c, right = given
    assert_gemm(right, a, b, c, plan=FP8, strength="statistical")
    for wrong in (np.nan, 1e30, -np.inf):
        d = right.copy()
        d[0, 0] = wrong
        assert "sum of all magnitudes" in text_of(d, a, b, c, strength="statistical")
    assertion._measured.cache_clear()


def test_masked_arrays_are_refused(given) -> None:
    a, b, c, d = given
    with pytest.raises(OperandError, match="masked"):
        assert_gemm(np.ma.masked_array(d), a, b, c, plan=FP8, strength="bits")


@pytest.mark.middle
def test_a_unit_with_one_bit_more_is_recognised(given) -> None:
    a, b, c, _ = given
    assert "bits of F = 14, this unit has 13" in text_of(matmul(f"{FP8}@fraction_bits=14", a, b, c), a, b, c)


@pytest.mark.middle
@pytest.mark.parametrize("strength", [pytest.param("bits", marks=pytest.mark.middle), "proved"])
def test_a_lost_block_is_named(strength: str) -> None:
    unit = "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"
    a, b, _ = operands(find_design(unit), positive=True)
    cut = a.copy()
    cut[:, 7 * 32 :] = 0
    text = text_of(matmul(unit, cut, b), a, b, plan=unit, strength=strength)
    assert "k-block 7 missing (k = 224..255)" in text
    assert "120 of 120 elements" in text


@pytest.mark.slow
def test_a_lost_block_of_another_unit_is_named_within_the_bound() -> None:
    """The bits are of no neighbour, so only the size of the error tells."""
    unit = "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"
    a, b, _ = operands(find_design(unit), positive=True)
    cut = a.copy()
    cut[:, 96:128] = 0
    exact = (cut.astype(np.float64) @ b.astype(np.float64)).astype(np.float32) * np.float32(1 + 2**-22)
    assert "as if k-block 3 (k = 96..127) were missing" in text_of(exact, a, b, plan=unit, strength="proved")
    twice = (a.astype(np.float64) @ b.astype(np.float64)) * 2 - cut.astype(np.float64) @ b.astype(np.float64)
    text = text_of(twice.astype(np.float32), a, b, plan=unit, strength="proved")
    assert "as if k-block 3 (k = 96..127) were added twice" in text


@pytest.mark.middle
def test_other_faults_are_named(given) -> None:
    a, b, c, d = given
    assert "as if c were added twice, the second time at the end" in text_of(d + c, a, b, c)
    assert "as if c were not added" in text_of(matmul(FP8, a, b), a, b, c)
    assert ": zeros; all 120 elements that were looked at have these bits" in text_of(np.zeros_like(d), a, b, c)
    cut = a.copy()
    cut[:, 5] = 0
    assert "the product at k = 5 missing" in text_of(matmul(FP8, cut, b, c), a, b, c)
    reverse = matmul(FP8, np.ascontiguousarray(a[:, ::-1]), np.ascontiguousarray(b[::-1]), c)
    assert "from the last to the first" in text_of(reverse, a, b, c)


def test_what_is_no_rounding_is_called_so(given, monkeypatch) -> None:
    a, b, c, d = given
    monkeypatch.setattr("mmaproof.gemm.tolerances.diagnosis.MOST_SECONDS", 0.0)
    noise = d + (1000 * np.arange(1, d.size + 1).reshape(d.shape) ** 1.5).astype(np.float32)
    assert "outside every bound: not rounding" in text_of(noise, a, b, c, strength="proved")
    single = d.copy()
    single[3, 5] += 1e4
    text = text_of(single, a, b, c, strength="proved")
    assert "row 3: outside every bound" in text
    assert "all other elements (119) are as asserted" in text


def test_what_is_within_the_bound_and_not_the_bits_is_called_so(given, monkeypatch) -> None:
    a, b, c, d = given
    monkeypatch.setattr("mmaproof.gemm.tolerances.diagnosis.MOST_SECONDS", 0.0)
    other = np.nextafter(d, np.float32(np.inf))
    assert "within the proved bound, but not the bits" in text_of(other, a, b, c)
    assert_gemm(other, a, b, c, plan=FP8, strength="proved")


@pytest.mark.middle
def test_nan_and_infinities_are_not_checked_silently(given) -> None:
    a, b, c, d = (x.copy() for x in given)
    c[2, 3] = np.inf
    d = matmul(FP8, a, b, c)
    assert_gemm(d, a, b, c, plan=FP8, strength="bits")
    assert "nothing is proved about them" in text_of(d, a, b, c, strength="proved")
    assert_gemm(d, a, b, c, plan=FP8, strength="proved", unchecked="allow")
    d[0, 0] = np.nan
    assert "1 of 120" in text_of(d, a, b, c, strength="proved", unchecked="allow")


@pytest.mark.slow
def test_a_statistical_test_knows_the_usual_errors(monkeypatch) -> None:
    monkeypatch.setattr(assertion, "SAMPLES", 4000)
    assertion._measured.cache_clear()
    a, b, _ = operands(k=64, m=24, n=24)
    d = matmul(FP8, a, b)
    assert_gemm(d, a, b, plan=FP8, strength="statistical")
    text = text_of(matmul(f"{FP8}@fraction_bits=7", a, b), a, b, strength="statistical")
    assert "above the statistical tolerance" in text
    assert "4000 samples of normal" in text
    assertion._measured.cache_clear()


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"actual": np.zeros((3, 3), np.float32)}, OperandError, r"actual has the shape \(3, 3\)"),
        ({"actual": np.zeros((12, 10))}, OperandError, "actual: an array of float64 is not of the format fp32"),
        ({"a": np.zeros((12, 256), np.float32)}, OperandError, "a: an array of float32"),
        ({"a": np.zeros(256, np.uint8)}, OperandError, r"a has the shape \(256,\)"),
        ({"b": np.zeros((255, 10), np.uint8)}, OperandError, "shapes a"),
        ({"c": np.zeros((1, 10), np.float32)}, OperandError, "c has the shape"),
        ({"scale_a": np.zeros((12, 8), np.uint8)}, OperandError, "has no scales"),
        ({"a": "text"}, OperandError, "no array of numbers"),
        ({"strength": "proven"}, InputError, "bits, proved, statistical.*did you mean.*proved"),
        ({"unchecked": "perhaps"}, InputError, "fail and allow"),
        ({"plan": "hoper/wgmma"}, DesignError, "hoper"),
        ({"plan": "| split-k=2"}, InputError, "not a design name"),
        ({"plan": "rdna3/v_wmma_f32_16x16x16_f16"}, OperandError, "fp16"),
        ({"k": 250}, DesignError, "multiple of"),
    ],
)
def test_bad_input_is_named(given, change, error, match: str) -> None:
    a, b, c, d = given
    options = {"actual": d, "a": a, "b": b, "c": c, "plan": FP8, "strength": "proved"} | change
    k = options.pop("k", None)
    if k is not None:
        options |= {"a": a[:, :k], "b": b[:k]}
    actual, *rest = (options.pop(x) for x in ("actual", "a", "b", "c"))
    with pytest.raises(error, match=match):
        assert_gemm(actual, *rest, **options)


def test_where_nothing_is_proved_a_proved_test_is_an_error_and_no_failure() -> None:
    unit = "vortex/tfr.wmma.m8n4k8.f32.f16.f16.f32"
    a, b = np.ones((2, 8), np.float16), np.ones((8, 2), np.float16)
    with pytest.raises(NothingProvedError, match="does not state"):
        assert_gemm(matmul(unit, a, b), a, b, plan=unit, strength="proved")
    assert_gemm(matmul(unit, a, b), a, b, plan=unit, strength="bits")


class Exchanged:
    """An array that only speaks DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **given):
        return self._array.__dlpack__(**given)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Silent:
    def __dlpack__(self, **_):
        raise BufferError("this device is far away")

    def __dlpack_device__(self):
        return (1, 0)


def test_arrays_come_through_dlpack(given) -> None:
    a, b, c, d = given
    assert_gemm(Exchanged(d), a.view(np.uint8), Exchanged(b.view(np.uint8)), Exchanged(c), plan=FP8, strength="bits")
    with pytest.raises(OperandError, match="far away"):
        as_numpy(Silent())


@pytest.mark.slow
def test_scales_take_part() -> None:
    unit = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
    design = find_design(unit)
    a, b, c = operands(design, m=4, k=64, n=6)
    scale_a = np.full((4, 2), 127 + 2, np.uint8)
    scale_b = np.full((2, 6), 127 - 1, np.uint8)
    d = matmul(unit, a, b, c, scale_a, scale_b)
    for strength in ("bits", "proved"):
        assert_gemm(d, a, b, c, plan=unit, strength=strength, scale_a=scale_a, scale_b=scale_b)
    wrong = matmul(unit, a, b, c, scale_a, scale_b + np.uint8(1))
    text = text_of(wrong, a, b, c, plan=unit, strength="proved", scale_a=scale_a, scale_b=scale_b)
    assert "not rounding" in text


@pytest.mark.parametrize("strength", ["bits", "proved", "statistical"])
@pytest.mark.parametrize(("m", "n"), [(0, 3), (3, 0), (0, 0)])
def test_a_product_without_elements_is_right(strength: str, m: int, n: int) -> None:
    a, b, _ = operands(m=m, n=n)
    assert_gemm(np.zeros((m, n), dtype=np.float32), a, b, plan=FP8, strength=strength)
    with pytest.raises(OperandError, match="shapes"):
        assert_gemm(np.zeros((m + 1, n), dtype=np.float32), a, b, plan=FP8, strength=strength)
    with pytest.raises(OperandError, match="actual"):
        assert_gemm(np.zeros((m, n), dtype=np.float64), a, b, plan=FP8, strength=strength)


@pytest.mark.parametrize(
    ("plan", "why"), [(3, "a design, a plan"), (None, "one of them is needed"), (["hopper"], "a design, a plan")]
)
def test_what_is_no_plan_is_refused(plan, why, given) -> None:
    a, b, c, d = given
    with pytest.raises(InputError, match=why):
        assert_gemm(d, a, b, c, plan=plan)


def test_a_failure_ends_at_the_line_of_the_test() -> None:
    a, b = np.ones((2, 32), np.float16), np.ones((32, 2), np.float16)
    with pytest.raises(AssertionError) as caught:
        assert_gemm(np.zeros((2, 2), np.float32), a, b, plan="hopper/wgmma.f32.f16.f16", strength="bits")
    frame = caught.traceback[1].frame
    assert frame.code.name == "assert_gemm" and frame.f_locals["__tracebackhide__"], "pytest leaves it out"
