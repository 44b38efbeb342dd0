"""Designs that are written differently and return the same, proved stage by stage; and when they differ."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.stages import by_stages, sample_models

LIMITS = Limits(120, 4 << 30)
VOLTA, AMPERE = "volta/f32.f16.f16.f32", "ampere/mma.m16n8k8.f32.f16.f16.f32"
TURING_INT8 = "turing/mma.m8n8k16.satfinite.s32.u8.u8.s32"
NO_SUM_FALLS = "ampere/mma.m16n8k32.satfinite.s32.u8.u8.s32"


def decide(first, second, **asked):
    return compare(find_design(first), find_design(second), limits=LIMITS, budget=None, **asked)


@pytest.mark.slow_values("turing/mma.m8n8k16.satfinite.s32.u8.u8.s32-ampere/mma.m16n8k32.satfinite.s32.u8.u8.s32")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (VOLTA, f"{VOLTA}@adder=carry-save"),
        pytest.param(f"{VOLTA}@carry_bits=0", f"{VOLTA}@carry_bits=0,adder=carry-save", marks=pytest.mark.middle),
        pytest.param(
            "hopper/wgmma.f32.e4m3.e4m3",
            "hopper/wgmma.f32.e4m3.e4m3@adder=carry-save,comparator=chain",
            marks=pytest.mark.middle,
        ),
        pytest.param(TURING_INT8, NO_SUM_FALLS, marks=pytest.mark.middle),
    ],
)
def test_equal_for_all_operands(first, second):
    answer = decide(first, second)
    assert answer.verdict == "equivalent"
    assert answer.lemmas
    assert {x.status for x in answer.lemmas} == {Status.PROVED}


def test_saturating_steps_of_signed_integers_differ():
    answer = compare(*(find_design(x.replace("u8.u8", "s8.s8")) for x in (TURING_INT8, NO_SUM_FALLS)))
    assert answer.verdict == "different"


@pytest.mark.slow
def test_k_padded_with_zeros():
    names = [f"hopper/mma.m16n8k{k}.f32.f16.f16.f32" for k in (8, 16)]
    assert decide(*names, k=8).verdict == "equivalent"
    assert compare(*map(find_design, names)).verdict == "different"


@pytest.mark.slow_values("ieee", "ieee-once")
@pytest.mark.middle
@pytest.mark.parametrize("join", ["ieee", "ieee-once"])
def test_a_zero_c_added_early_and_late(join):
    where = [parse_precondition("c=0")]
    late = f"{AMPERE}@join={join}"
    assert decide(AMPERE, late, where=where, zero_signs=False).verdict == "equivalent"
    assert compare(find_design(AMPERE), find_design(late)).verdict == "different"


def test_the_sign_of_a_zero_is_the_only_difference():
    """A unit whose exact zeros are positive, and one whose zeros have the sign that IEEE 754 gives them."""
    first, second = AMPERE, f"{AMPERE}@zero_sum=ieee"
    assert decide(first, second, zero_signs=False).verdict == "equivalent"
    answer = compare(find_design(first), find_design(second))
    assert answer.verdict == "different"
    assert sorted(answer.outputs.values()) == [0, 1 << 31]


@pytest.mark.parametrize("name", [VOLTA, f"{VOLTA}@carry_bits=0", "cdna3/v_mfma_f32_32x32x16_fp8_fp8"])
def test_the_circuits_compute_what_they_should_on_numbers(name):
    design = find_design(name)
    other = find_design(f"{name}{',' if '@' in name else '@'}adder=carry-save,comparator=chain")
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 200, design.k, np.random.default_rng(1))
        assert (evaluate_batch(design, batch) == evaluate_batch(other, batch)).all()
        assert evaluate(design, batch.row(7)) == evaluate(other, batch.row(7))


@pytest.mark.slow
def test_what_few_or_no_samples_meet_is_proved_for_all_operands():
    """No sample meets the first precondition; those of the second have exponents that say nothing."""
    question = Equivalence(
        *map(find_design, (VOLTA, f"{VOLTA}@adder=carry-save")), where=[parse_precondition("exponents=100..110")]
    )
    assert sample_models(question, question.designs[0], 0) == []
    for always in (False, True):
        staged = by_stages(question, question.designs[0], Solving().ask, LIMITS, 0, unconditionally=always)
        assert staged.proved is always
    where = [parse_precondition(x) for x in ("exponents=-14..-14", "normal")]
    assert decide(VOLTA, f"{VOLTA}@adder=carry-save", where=where).verdict == "equivalent"


def test_samples_meet_the_preconditions():
    """Nothing steers random operands away from zeros."""
    question = Equivalence(*map(find_design, (VOLTA, f"{VOLTA}@adder=carry-save")), where=[parse_precondition("a!=0")])
    count = sum(n for _, _, n in question.columns())
    names = [x.symbol_name() for x in question.formula.symbols[:count]]
    meant = sample_models(question, question.designs[0], 0)
    assert 0 < len(meant) < len(sample_models(question, question.designs[0], 0, unconditionally=True))
    assert all(question.is_meant(question.operands(x)) and list(x) == names for x in meant)


def test_the_search_reaches_the_top_binade():
    question = Equivalence(
        *map(find_design, (VOLTA, f"{VOLTA}@overflow=largest-finite")), where=[parse_precondition("exponents=15..15")]
    )
    assert len(sample_models(question, question.designs[0], 0)) > 10
