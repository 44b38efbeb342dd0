"""What is said of a bin that nothing hit: only a proof makes it unreachable, and a proof about one step not always."""

import numpy as np
import pytest
from support.native import needs_native

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.cover import coverage
from mmaproof.generators.cover.coverage import Covered, ask_solver, hits_of
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status, Verdict
from mmaproof.verification.distributions import draw

LIMITS = Limits(20, 4 << 30)
CHAIN = "ampere/m16n8k16.f32.f16.f16.f32"
ONCE = "ampere/m16n8k16.f32.f16.f16.f32@L=4,join=ieee-once,carry_bits=None,floor=None"


def verdict(status):
    reason = "timeout: made up" if status is Status.UNKNOWN else None
    return Verdict(status, 0.0, reason, {} if status is Status.REFUTED else None)


def bin_of_step(design):
    bins, _ = hits_of(design, draw("normal", design, 2, design.k, np.random.default_rng(0)))
    return next(x for x in bins if x.of_step)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (Status.PROVED, "unreachable"),
        (Status.UNKNOWN, "unknown"),
        (Status.VACUOUS, "unknown"),
        (Status.REFUTED, "unknown"),
    ],
)
def test_a_bin_is_unreachable_only_where_that_is_proved(status, word):
    wanted = bin_of_step(find_design(CHAIN))
    assert Covered(wanted, 0, 0, False, verdict(status)).status == word
    assert Covered(wanted, 0, 0, False).status == "unknown"
    assert Covered(wanted, 0, 0, True, verdict(status)).status == "reachable"


@pytest.mark.parametrize("status", [Status.PROVED, Status.UNKNOWN, Status.VACUOUS])
@pytest.mark.parametrize("any_step", [True, False])
def test_a_proof_about_one_step_is_one_where_every_step_is_such_a_one(monkeypatch, status, any_step):
    """A step that is not one on any accumulator leaves the whole instruction to be asked about."""
    design, asked = find_design(CHAIN), []

    def decide(question, *_):
        asked.append(question.k)
        return verdict(status if len(asked) == 1 else Status.UNKNOWN)

    monkeypatch.setattr(coverage, "decide", decide)
    monkeypatch.setattr(coverage, "_is_any_step", lambda design: any_step)
    found = ask_solver(design, bin_of_step(design), None, LIMITS)
    at_once = any_step or status is Status.UNKNOWN
    assert asked == ([design.step.L] if at_once else [design.step.L, design.k])
    assert found.verdict.status is (status if at_once else Status.UNKNOWN)


@pytest.mark.few(1)
@needs_native
@pytest.mark.parametrize(
    "name", ["volta/f32.f16.f16.f32", "cdna3/v_mfma_f32_16x16x32_fp8_fp8", "turing/mma.m8n8k16.s32.s8.s8.s32"]
)
def test_machine_code_finds_the_bins_that_arrays_find(monkeypatch, name):
    design = find_design(name)
    found = []
    for backend in ("arrays", "native"):
        monkeypatch.setenv("MMAPROOF_BACKEND", backend)
        rng = np.random.default_rng(0)
        found.append([hits_of(design, draw(x, design, 200, design.k, rng)) for x in ("normal", "edges", "with-zeros")])
    for (bins, arrays), (same_bins, native) in zip(*found, strict=True):
        assert bins == same_bins
        assert native.dtype == bool
        assert (arrays == native).all()


def test_rows_are_measured_in_parts(monkeypatch):
    design = find_design("turing/mma.m8n8k16.s32.s8.s8.s32")
    batch = draw("edges", design, 130, design.k, np.random.default_rng(0))
    _, whole = hits_of(design, batch)
    monkeypatch.setattr(coverage, "CHUNK_ROWS", 40)
    _, in_parts = hits_of(design, batch)
    assert whole.shape == in_parts.shape
    assert (whole == in_parts).all()
