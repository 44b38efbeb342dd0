"""Bounds that are derived from lemmas: they hold, they are the bounds of arrays, and their bundles are accepted."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from support.bounds import ELEMENT, KINDS, SHORTER, TARGET, checker_of_small_formats, use_small_unit
from support.bundles import LIMITS, checked

import mmaproof
from mmaproof.designs.design import Design
from mmaproof.designs.files import write_folder
from mmaproof.designs.operands import Patterns, values_of
from mmaproof.gemm.programs.schedule import Add, Call, Convert, Operand, Schedule, Zero
from mmaproof.gemm.tolerances.bundle import files_of_derivation
from mmaproof.gemm.tolerances.derivation import Derivation, Maximum, NotDerivedError, derive
from mmaproof.gemm.tolerances.tolerance import tolerance

A = Maximum(ELEMENT, ELEMENT.encode(Fraction(3, 2)), -1)
C = Maximum(TARGET, TARGET.encode(Fraction(5, 2)), TARGET.e_min - 3)
ROWS = 120


def chain(unit: Design) -> Schedule:
    """Three steps, of which the last one takes one product."""
    return Schedule(4, unit.formats, (Operand(TARGET), Call(unit, (0, 1, 2, 3), 0)))


def parts(unit: Design) -> Schedule:
    """Two chains, their sum, and its conversion."""
    operations = (
        *(Operand(TARGET), Call(unit, (0, 1), 0), Zero(TARGET), Call(unit, (2, 3), 2)),
        *(Add(1, 3, TARGET), Convert(4, SHORTER)),
    )
    return Schedule(4, (*unit.formats[:3], SHORTER), operations)


def computed(unit: Design, shape: str, a: Patterns, b: Patterns, c: Patterns) -> npt.NDArray[np.float64]:
    """What a schedule makes of arrays: calls by the emulation, what lies outside by numbers of the formats."""
    if shape == "chain":
        return values_of(np.asarray(mmaproof.matmul(unit, a, b, c)), TARGET)
    x, y = (
        values_of(np.asarray(mmaproof.matmul(unit, a[:, at], b[at], z)), TARGET)
        for at, z in ((slice(0, 2), c), (slice(2, 4), np.zeros_like(c)))
    )
    result = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        total = values_of(
            np.array(TARGET.nearest(Fraction(float(x[i])) + Fraction(float(y[i]))), dtype=np.uint8), TARGET
        )
        result[i] = values_of(np.array(SHORTER.nearest(Fraction(float(total))), dtype=np.uint8), SHORTER)
    return result


SHAPES = {"chain": chain, "parts": parts}


@pytest.fixture(params=product(KINDS, SHAPES), ids=" ".join)
def small(request: pytest.FixtureRequest) -> Iterator[tuple[Design, str, Derivation]]:
    kind, shape = request.param
    with pytest.MonkeyPatch.context() as patch:
        unit = use_small_unit(patch, kind)
        yield unit, shape, derive(SHAPES[shape](unit), A, A, C)


@pytest.mark.few(3)
def test_a_bundle_is_accepted(small: tuple[Design, str, Derivation], tmp_path: Path) -> None:
    _, _, found = small
    write_folder(tmp_path / "bundle", files_of_derivation(found, {}, LIMITS))
    status, said = checked(tmp_path / "bundle", checker=checker_of_small_formats())
    assert status == 0, said
    assert f"accepted: the error is at most {float(found.error)} " in said


@pytest.mark.few(3)
def test_no_error_is_above_the_bound_and_some_are_near(small: tuple[Design, str, Derivation]) -> None:
    unit, shape, found = small
    rng = np.random.default_rng(7)
    signs = ELEMENT.sign_position, TARGET.sign_position
    a, b = (rng.choice(np.array([0, 1, 2, 3, 3], dtype=np.uint8), s) for s in ((ROWS, 4), (4, ROWS)))
    c = rng.integers(0, C.pattern + 1, (ROWS, ROWS), dtype=np.uint8)
    half = np.s_[: ROWS // 2]  # the others have one sign
    a[half] |= rng.integers(0, 2, a[half].shape, dtype=np.uint8) << signs[0]
    b[:, half] |= rng.integers(0, 2, b[:, half].shape, dtype=np.uint8) << signs[0]
    c[half] |= rng.integers(0, 2, c[half].shape, dtype=np.uint8) << signs[1]
    exact = values_of(a, ELEMENT) @ values_of(b, ELEMENT) + values_of(c, TARGET)
    largest = np.abs(computed(unit, shape, a, b, c) - exact).max()
    assert largest <= found.error
    assert largest >= found.error / 4


CHAINS = (
    *("volta/mma.m8n8k4.f32.f16.f16.f32", "volta/mma.m8n8k4.f16.f16.f16.f16", "ampere/mma.m16n8k8.f32.tf32.tf32.f32"),
    *("ada/mma.m16n8k16.f32.f16.f16.f32", "hopper/wgmma.f16.e4m3.e4m3", "hopper/wgmma.f32.e4m3.e4m3"),
    *("blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3", "hopper/wgmma.f32.f16.f16 | tile=32"),
)


@pytest.mark.few(6)
@pytest.mark.parametrize("where", ["exponents=-8..2", "exponents=-3..-2", "exponents=0..0"])
@pytest.mark.parametrize("plan", CHAINS)
def test_of_a_chain_it_is_the_bound_of_arrays_or_smaller(plan: str, where: str) -> None:
    found = tolerance(plan, 128, [where])
    part = float(found.derivation().error) / found.bound_of_all()
    assert 0.5 <= part <= 1


PLANS = ("ampere/mma.m16n8k16.f32.f16.f16.f32 | promote=64", "hopper/wgmma.f32.e4m3.e4m3 | promote=64 | out=bf16")


@pytest.mark.parametrize("plan", PLANS)
def test_a_sum_outside_is_counted_with_a_little_more(plan: str) -> None:
    found = tolerance(plan, 256, ["exponents=-8..2"])
    assert 0.5 <= float(found.derivation().error) / found.bound_of_all() <= 1.05


REFUSED = {
    "cdna3/v_mfma_f32_32x32x8_f16": "a step is not one sum of its products and c",
    "cpu/vfmadd231ps": "its terms have other bits than their factors",
    "volta/mma.m8n8k4.f32.f16.f16.f32 | split-k=2:any": "its order of additions is not determined",
    "hopper/wgmma.f32.e4m3.e4m3 | c=last | alpha=0.5": "no rule is about v",
    "ampere/mma.m16n8k32.s32.s8.s8.s32": "its sums are exact integers",
}


@pytest.mark.parametrize("plan", REFUSED)
def test_what_no_rule_is_about_is_not_derived(plan: str) -> None:
    with pytest.raises(NotDerivedError, match=REFUSED[plan]):
        tolerance(plan, 64, ["exponents=-2..0"]).derivation()


def test_a_number_that_may_overflow_is_not_derived() -> None:
    with pytest.raises(NotDerivedError, match="a number may overflow"):
        tolerance("volta/mma.m8n8k4.f16.f16.f16.f16", 64, ["exponents=0..6"]).derivation()
