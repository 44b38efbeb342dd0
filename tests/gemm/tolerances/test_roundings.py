"""What a rounding outside a unit moves, of every number of a format, in every rounding."""

import ml_dtypes
import numpy as np
import pytest

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import pattern_dtype, values_of
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span
from mmaproof.gemm.tolerances import walk
from mmaproof.gemm.tolerances.tolerance import tolerance
from mmaproof.gemm.tolerances.walk import Enclosed, _rounded
from mmaproof.smt.evaluate import ARRAYS

TARGETS = ("e4m3", "e5m2", "e2m1", "bf16", "fp16")


def errors_and_bounds(source: str, target: str, rounding: Rounding) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of all finite numbers of a format of 16 bits, and what bounds them."""
    given, fmt = FORMATS[source], FORMATS[target]
    patterns = np.arange(1 << 16, dtype=np.uint16)
    x = values_of(patterns, given)
    number = Number(given, ARRAYS.from_patterns(patterns, 16), Span.of_format(given))
    word = Arithmetic(ARRAYS).convert("", number, fmt, rounding).word
    rounded = values_of(np.asarray(word.data).astype(pattern_dtype(fmt)), fmt)
    finite = np.isfinite(x)
    with np.errstate(invalid="ignore"):
        errors = np.abs(rounded - x)[finite]
    return errors, _rounded(Enclosed(np.abs(x[finite]), np.zeros(1)), fmt, rounding).error


@pytest.mark.parametrize("source", ["fp16", pytest.param("bf16", marks=pytest.mark.middle)])
@pytest.mark.parametrize("target", TARGETS)
def test_no_rounding_moves_a_number_further(source: str, target: str) -> None:
    for rounding in Rounding:
        errors, bounds = errors_and_bounds(source, target, rounding)
        known = np.isfinite(bounds)
        assert (errors[known] <= bounds[known]).all()
        assert np.isfinite(errors[known]).all()
        assert known.any()


@pytest.mark.parametrize("rounding", [Rounding.RTP, Rounding.RTN, Rounding.RTO, Rounding.RNE])
def test_half_of_what_a_rounding_may_move_is_too_little(rounding: Rounding, monkeypatch: pytest.MonkeyPatch) -> None:
    true = walk.rounding_unit
    monkeypatch.setattr(walk, "rounding_unit", lambda *x: true(*x) / 2)
    errors, bounds = errors_and_bounds("fp16", "e4m3", rounding)
    known = np.isfinite(bounds)
    assert (errors[known] > bounds[known]).any()


def test_what_is_clamped_has_no_bound() -> None:
    errors, bounds = errors_and_bounds("fp16", "e4m3", Rounding.RNE)
    assert errors[np.isfinite(bounds)].max() <= 16
    assert np.isinf(bounds[errors > 16]).all()


@pytest.mark.middle
@pytest.mark.parametrize("rounding", ["rne", "rz"])
def test_what_is_flushed_is_within_the_bound(rounding: str) -> None:
    text = f"ampere/mma.m16n8k8.f32.bf16.bf16.f32 | out=bf16:{rounding}:flush"
    a = np.full((1, 8), 2.0**-64, dtype=ml_dtypes.bfloat16)
    b = np.full((8, 1), 2.0**-66, dtype=ml_dtypes.bfloat16)
    found = tolerance(text, 8)
    assert found.proved
    assert found.emulate(a, b).item() == 0
    exact = 2.0**-127
    assert exact <= found.bound(a, b).item() < 2 * 2.0**-126
    assert tolerance(text.replace(":flush", ""), 8).bound(a, b).item() < exact / 8
