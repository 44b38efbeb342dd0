"""Rows by native code are what arrays compute, bit for bit, in every arithmetic of the catalogue and in what-ifs."""

import ctypes
import dataclasses
import platform
import sys

import numpy as np
import pytest
from support.native import native_disagreements, needs_native
from support.sampling import distinct_designs, others_are_slow
from support.variations import VARIED, random_design

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.native import kernels
from mmaproof.smt.native.compiler import MiscompiledError
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import BASIC, DISTRIBUTIONS, draw

pytestmark = needs_native
DESIGNS = distinct_designs()
HOPPER = "hopper/wgmma.f32.f16.f16"
SEEDS = [pytest.param(x, marks=pytest.mark.middle if x < 2 else pytest.mark.slow) for x in range(1, 30)]


@pytest.mark.few(1)
@pytest.mark.parametrize("design", others_are_slow(DESIGNS))
def test_every_arithmetic_on_4096_rows_of_each_distribution(design):
    rng = np.random.default_rng(3)
    for name in BASIC:
        assert native_disagreements(design, draw(name, design, 4096, design.k, rng)) == [], name


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_every_arithmetic_on_a_million_rows(design):
    rng = np.random.default_rng(4)
    for name in DISTRIBUTIONS:
        for _ in range(10):
            assert native_disagreements(design, draw(name, design, 100_000 // len(DISTRIBUTIONS), design.k, rng)) == []


@pytest.mark.middle
@pytest.mark.parametrize("seed", [0, *SEEDS])
@pytest.mark.parametrize("family", VARIED)
def test_any_combination_of_parameters(family, seed):
    rng, design = np.random.default_rng(seed), random_design(family, seed)
    for name in DISTRIBUTIONS:
        for instructions in (1, 2):
            batch = draw(name, design, 200, design.k * instructions, rng)
            assert native_disagreements(design, batch) == [], name


@pytest.mark.middle
def test_native_rows_are_what_integers_compute():
    design = find_design(HOPPER)
    batch = draw("with-zeros", design, 300, design.k, np.random.default_rng(1))
    native = evaluate_batch(design, batch, backend=Backend.NATIVE).tolist()
    assert native == [evaluate(design, batch.row(i)) for i in range(300)]
    assert native == evaluate_batch(design, batch, backend=Backend.INTEGERS).tolist()


@pytest.mark.parametrize("count", [0, 1, 7, 15, 16, 17, 33])
def test_any_number_of_rows(count):
    design = find_design(HOPPER)
    batch = draw("normal", design, count, design.k, np.random.default_rng(2))
    assert native_disagreements(design, batch) == []
    assert len(evaluate_batch(design, batch, backend=Backend.NATIVE)) == count


@pytest.mark.few(2)
@pytest.mark.parametrize("k", [1, 3, 5, 12, 48, 160])
def test_lengths_other_than_the_instructions(k):
    for name in ("ampere/f32.f16.f16.f32", "hopper/mma.m16n8k16.f64.f64.f64.f64", "ampere/mma.m16n8k16.s32.s8.s8.s32"):
        design = find_design(name)
        batch = draw("normal", design, 100, k, np.random.default_rng(k))
        assert native_disagreements(design, batch) == []


def test_an_infinity_that_the_next_instruction_hides():
    design = find_design("ampere/f16.f16.f16.f16@chain_infinity=finite")
    a, b = np.zeros((2, 3 * design.k), np.uint16), np.full((2, 3 * design.k), 0x3C00, np.uint16)
    a[:, : design.k] = 0x7800  # overflows
    a[1, design.k] = 0xFC00
    batch = OperandBatch(a, b, np.zeros(2, np.uint16))
    assert native_disagreements(design, batch) == []
    assert evaluate_batch(design, batch, backend=Backend.NATIVE).tolist() == [0x7C00, 0xFC00]


@pytest.mark.few(1)
@pytest.mark.parametrize("k", [3, 6, 96])
def test_rows_whose_words_are_no_power_of_two_are_loaded_one_by_one(k):
    base = find_design("ampere/f32.f16.f16.f32")
    design = dataclasses.replace(base, k=k, step=dataclasses.replace(base.step, L=k))
    for name in BASIC:
        assert native_disagreements(design, draw(name, design, 100, k, np.random.default_rng(k))) == []


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("cpu", "features", "vector_bits"), [("x86-64", "", 128), ("haswell", "+avx2,+fma,+lzcnt", 256)]
)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="older CPUs of this kind are x86-64")
@pytest.mark.parametrize("name", [HOPPER, "hopper/mma.m16n8k16.f64.f64.f64.f64", "ampere/mma.m16n8k16.s32.s8.s8.s32"])
def test_older_cpus_have_narrower_vectors_and_the_same_results(monkeypatch, name, cpu, features, vector_bits):
    from mmaproof.smt.native import compiler, kernels

    narrow = dataclasses.replace(compiler.processor(), name=cpu, features=features)
    assert narrow.vector_bits == vector_bits
    monkeypatch.setattr(compiler, "processor", lambda: narrow)
    monkeypatch.setattr(kernels, "processor", lambda: narrow)
    monkeypatch.setenv("MMAPROOF_CACHE", "")
    monkeypatch.setattr(kernels, "_loaded", {})
    design = find_design(name)
    for distribution in BASIC:
        batch = draw(distribution, design, 100, design.k, np.random.default_rng(0))
        assert native_disagreements(design, batch) == []


def test_operands_may_lie_anywhere_in_memory():
    design = find_design(HOPPER)
    batch = draw("normal", design, 64, design.k, np.random.default_rng(5))
    scattered = OperandBatch(
        np.asfortranarray(batch.a),
        batch.b[::-1][::-1],
        np.repeat(batch.c, 2)[::2].astype(pattern_dtype(design.c_format)),
    )
    d = evaluate_batch(design, batch, backend=Backend.NATIVE)
    assert (evaluate_batch(design, scattered, backend=Backend.NATIVE) == d).all()
    wide = OperandBatch(batch.a.astype(np.uint64), batch.b, batch.c)
    assert (evaluate_batch(design, wide, backend=Backend.NATIVE) == d).all()


def test_code_that_is_wrong_is_found_before_it_is_used(monkeypatch):
    from mmaproof.smt.native import kernels, lowering

    monkeypatch.setitem(lowering._INTRINSICS, lowering.Op.MAXIMUM_SIGNED, "smin")
    monkeypatch.setattr(kernels, "_loaded", {})
    monkeypatch.setenv("MMAPROOF_CACHE", "")
    design = find_design(HOPPER)
    batch = draw("normal", design, 10, design.k, np.random.default_rng(5))
    with pytest.raises(MiscompiledError, match="differs from arrays.*--backend arrays"):
        evaluate_batch(design, batch, backend=Backend.NATIVE)


UPWARD = 0x800
"""FE_UPWARD of x86-64."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the control register is that of x86-64")
@pytest.mark.skipif(sys.platform != "linux", reason="the rounding is set by glibc")
def test_the_control_register_is_that_of_ieee_754_during_a_multiply_add_and_restored_after_it():
    from mmaproof.smt.native.kernels import rows_kernel

    libm = ctypes.CDLL("libm.so.6")
    for name in ("cpu/vfmadd231pd", "cpu/vfmadd231ps"):
        design = find_design(name)
        batch = draw("uniform-bits", design, 500, design.k, np.random.default_rng(0))
        expected = evaluate_batch(design, batch, backend=Backend.ARRAYS)
        kernel = rows_kernel(design, design.k)
        before = libm.fegetround()
        libm.fesetround(UPWARD)
        try:
            (d,) = kernel.run(batch)
            after = libm.fegetround()
        finally:
            libm.fesetround(before)
        assert (d == expected).all()
        assert after == UPWARD


def test_the_control_register_is_left_alone_without_a_multiply_add():
    from mmaproof.smt.native.lowering import lower

    lowered = lower(find_design(HOPPER))
    assert "mxcsr" not in kernels.rows_function(lowered.columns, [(lowered.d, 4)], 512).text


def test_only_what_is_the_instruction_is_computed_by_it():
    from mmaproof.smt.native.lowering import is_chain_of_instructions

    fused = find_design("hopper/mma.m16n8k16.f64.f64.f64.f64")
    assert is_chain_of_instructions(fused)
    assert is_chain_of_instructions(fused.change(nan_code="all-ones"))
    assert is_chain_of_instructions(fused.change(k_order="reversed"))
    for name in ("nan_code=largest-finite", "subnormals=flushed", "fraction_bits=60", "L=2"):
        assert not is_chain_of_instructions(find_design(f"{fused.base_name}@{name}")), name
    for design in DESIGNS:
        if is_chain_of_instructions(design):
            assert design.family == "fma-chain"
