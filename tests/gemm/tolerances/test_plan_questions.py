"""Questions about algorithms that are asked of plans, and the bounds beside measured errors."""

from dataclasses import replace

import numpy as np
import pytest

from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import values_of
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.tolerances.check import check_algorithm
from mmaproof.gemm.tolerances.errors import bound_of_results, measure_errors, tighter
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.walk import LossProof
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.search import Means

FP8, FP16 = "hopper/wgmma.f32.e4m3.e4m3", "ampere/mma.m16n8k16.f16.f16.f16.f16"
MEANS = Means(Solving(), Limits(seconds=20, memory_bytes=2 << 30), None)


def asked(question: str, plan: str, *where: str, k: int | None = None):
    given = [parse_precondition(x) for x in where]
    return check_algorithm(question, plan, solver=MEANS.solving, limits=MEANS.limits, k=k, where=given, budget=None)


@pytest.fixture
def granted(monkeypatch):
    """The proofs of steps, which are tested elsewhere."""
    monkeypatch.setattr(Tolerance, "proof", LossProof(True, "granted"))


@pytest.mark.parametrize("order", ["ascending", "any"])
@pytest.mark.parametrize(("top", "status"), [(3, Status.PROVED), (7, Status.REFUTED)])
def test_an_overflow_is_proved_absent_or_shown(order: str, top: int, status: Status, granted) -> None:
    done = asked("overflow", f"{FP16} | split-k=2:{order}", f"exponents=-4..{top}")
    assert done.finding.status is status
    for witness in done.finding.witnesses:
        a, b, c, d = witness.numbers
        assert (a.name, b.name, c.name) == ("a[0..31]", "b[0..31]", "c")
        assert (a.pattern, b.pattern, d.pattern) == (0x5BFF, 0x5BFF, 0x7C00)


def test_no_operands_of_the_range_overflow(granted) -> None:
    """The largest operands decide it for all others."""
    found = Tolerance(read_plan(f"{FP16} | split-k=2"), 32)
    top = max(e for e in range(8) if found.bound_of_all(f"exponents=-14..{e}") < np.inf)
    assert top == 4
    rng = np.random.default_rng(0)
    a, b = (((rng.integers(1, top + 16, s) << 10) | 0x3FF).astype(np.uint16) for s in ((64, 32), (32, 64)))
    assert np.isfinite(values_of(multiply_plan(read_plan(found.plan.name), a, b), "fp32")).all()


def test_what_is_not_proved_is_not_settled(monkeypatch) -> None:
    monkeypatch.setattr(Tolerance, "proof", LossProof(False, "no solver"))
    done = asked("overflow", f"{FP16} | split-k=2", "exponents=-4..0")
    assert (done.finding.status, done.finding.reason) == (
        Status.UNKNOWN,
        "nothing is proved about the error: no solver",
    )


def test_an_overflow_beyond_the_lengths_that_are_tried_is_not_settled(granted) -> None:
    done = asked("overflow", f"{FP16} | split-k=2", "exponents=-4..7", k=1024)
    assert done.finding.status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("question", "plan", "where", "error", "text"),
    [
        ("overflow", FP8, (), InputError, "exponents=LO..HI"),
        ("overflow", FP8, ("exponents=0..2", "a=nan"), InputError, "exponents=LO..HI"),
        ("overflow", FP8, ("exponents=0..2", "exponents=5..7"), InputError, "no exponent in common"),
        ("split", FP8, (), DesignError, "nothing is split"),
        ("dropped", f"{FP8} | promote=128", (), DesignError, "nothing is split"),
        ("slices", f"{FP8} | promote=128", (), DesignError, "check slices hopper"),
        ("slices", FP8, ("finite",), InputError, "means nothing"),
        ("exact-operands", "volta/f32.f16.f16.f32 | algorithm=markidis | split-k=2", (), DesignError, "identity"),
    ],
)
def test_what_has_no_meaning_is_refused(question: str, plan: str, where: tuple[str, ...], error, text: str) -> None:
    with pytest.raises(error, match=text):
        asked(question, plan, *where)


@pytest.mark.middle
def test_words_are_those_of_the_algorithm() -> None:
    done = asked("dropped", "volta/f32.f16.f16.f32 | algorithm=markidis | split-k=2")
    assert done.finding.status is Status.PROVED
    assert "split-k" in done.plan.name


def test_bounds_stand_beside_errors(granted) -> None:
    plans = [read_plan(x) for x in (FP8, f"{FP8} | promote=128", f"{FP8} | promote=128")]
    points = measure_errors(plans, 512, distribution="positive", rows=8, columns=8).points
    for x in points:
        assert x.largest <= x.bound.value
        assert x.bound.elements.shape == (8, 8)
        assert (x.bound.sizes, x.bound.reason) == (None, "granted")
    assert tighter(points[0], points[1]) == (0, 64, 0)
    assert tighter(points[1], points[0]) == (64, 0, 0)
    assert tighter(points[1], points[2]) == (0, 0, 64)
    with pytest.raises(DesignError, match="proved"):
        tighter(points[0], replace(points[1], bound=None))


def test_a_plan_without_a_proof_has_no_bound(monkeypatch) -> None:
    monkeypatch.setattr(Tolerance, "proof", LossProof(False, "no solver", undecided=True))
    found = measure_errors(FP8, 64, distribution="positive", rows=2, columns=2)
    (point,) = found.points
    assert (point.bound.value, point.bound.reason) == (None, "nothing is proved: no solver")
    assert found.undecided


def test_a_bound_that_overflows_is_none() -> None:
    big = np.full((2, 64), 0x5C00, dtype=np.uint16)
    found = bound_of_results(Tolerance(read_plan(FP16), 64), big, big.T.copy())
    assert found.value is None
    assert "may overflow in 4 of 4" in found.reason
