"""What is known of a number's size without looking at data holds for every number on the way of an algorithm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.algorithms import power, value
from reference.formats import decode, decode_integer
from support.fp32_operands import numbers

from mmaproof.designs.catalogue import find_design
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.algorithms import ALGORITHMS, find_algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span
from mmaproof.gemm.programs.program import Elements, run
from mmaproof.smt.algebra.integers import IntegerAlgebra

INTEGERS = IntegerAlgebra()
VOLTA, BF16 = "volta/mma.m8n8k4.f32.f16.f16.f32", "cdna3/v_mfma_f32_16x16x16_bf16"
AMX = "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"
TF32, INT8 = "ampere/mma.m16n8k4.f32.tf32.tf32.f32", "turing/mma.m8n8k16.s32.s8.s8.s32"
UNITS = {
    **dict.fromkeys(("plain", "markidis-a", "markidis", "ootomo-yokota", "promoted"), VOLTA),
    **dict.fromkeys(("3xtf32", "3xtf32-staged", "ootomo-yokota-tf32"), TF32),
    **dict.fromkeys(("bf16x3", "bf16x6", "bf16x9", "ootomo-yokota-bf16"), BF16),
    "slices": INT8,
    "slices@slices=9,kept=all,outside=fp32": INT8,
    "residues": INT8,
    "slices-fp8": "ada/mma.m16n8k16.f32.e4m3.e4m3.f32",
    "plain@rounding=rtp": VOLTA,
    "plain@rounding=rna": VOLTA,
    "markidis@rounding=rz,residual_rounding=rtn": VOLTA,
    "markidis@intermediate=fp16": VOLTA,
    "bf16x6@rounding=rtp,residual_rounding=rtp": "riscv/bulk.m1n1k4.f32.bf16.bf16.f32",
    "ootomo-yokota@scale=24,outside=all,c=last": "cdna1/v_mfma_f32_32x32x8f16",
    "ootomo-yokota-bf16@c=last": AMX,
    "promoted@interval=32": "cdna3/v_mfma_f32_16x16x32_fp8_fp8",
}


def random_numbers(rng: np.random.Generator, low: int, high: int, count: int) -> list[Number[int]]:
    """Numbers with exponents ``low`` to ``high``, and zeros; those below 2**-126 as subnormals."""
    span = Span(max(low - OPERANDS.fraction_bits, -149), high + 1)
    patterns = numbers(rng, low, high, (count,))
    if high < OPERANDS.e_min:
        fractions = rng.integers(1 << (low + 149), 1 << (high + 150), count)
        patterns = (patterns & 0x80000000) | fractions.astype(np.uint32)
    patterns = np.where(rng.random(count) < 0.2, patterns & 0x80000000, patterns)
    return [Number(OPERANDS, INTEGERS.unsigned(int(x), 32), span) for x in patterns]


def breaches(name: str, low: int, high: int, seed: int) -> list[str]:
    algorithm, unit, rng = find_algorithm(name), find_design(UNITS[name]), np.random.default_rng(seed)
    arithmetic, k = Arithmetic(INTEGERS, record=True), (1 + seed % 2) * unit.k
    a, b, (c,) = (random_numbers(rng, low, high, count) for count in (k, k, 1))
    d = run(arithmetic, Plan(unit, algorithm).schedule(k), Elements(a, b, c))
    found = []
    for label, x in [("d", d)] + [(s.label, s.result) for s in arithmetic.steps]:
        if x.fmt.is_integer:
            exact = power(0) * decode_integer(x.word.data, x.fmt.name)
        elif decode(x.word.data, x.fmt.name).kind in ("nan", "inf"):
            continue
        else:
            exact = value(x.word.data, x.fmt.name)
        if (exact / power(x.span.least)).denominator != 1 or abs(exact) > power(x.span.most):
            found.append(f"{label}: {exact} of {x.fmt.name} is not in {x.span}")
    return found


RANGES = [(-149, -140), (-110, -100), (-60, -50), (-40, -30), (-26, -25), (-20, 20), (0, 0), (12, 17), (60, 70)]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", UNITS)
def test_every_number_lies_in_its_span(name):
    for seed, (low, high) in enumerate(RANGES):
        assert breaches(name, low, high, seed) == [], (low, high, seed)


@pytest.mark.middle
@settings(max_examples=25)
@given(st.sampled_from(sorted(UNITS)), st.integers(-126, 127), st.integers(0, 40), st.integers(0, 1000))
def test_numbers_of_any_exponents_lie_in_their_spans(name, low, count, seed):
    assert breaches(name, low, min(low + count, 127), seed) == []


def test_every_algorithm_is_tried():
    assert {name.partition("@")[0] for name in UNITS} == set(ALGORITHMS)


def test_nothing_is_known_of_a_unit_that_states_no_bound_of_its_sums():
    span, k = Span(-3, 2), 32
    for name, known in ((AMX, True), (f"{AMX}@rho=rtp-fp32", False), (BF16, False), ("ampere/bf16", True)):
        unit, arithmetic = find_design(name), Arithmetic(INTEGERS)
        x = Number(unit.a_format, INTEGERS.unsigned(0, unit.a_format.bits), span)
        d = arithmetic.call("d", unit, [x] * k, [x] * k, Number(OPERANDS, INTEGERS.unsigned(0, 32), span))
        assert (d.span != Span.of_format(unit.d_format)) is known
