"""RDNA4: sums of products, then with c, each rounded down: as recorded, against the reference, and what is like it."""

import numpy as np
import pytest
from reference.designs import reference_result
from support.fingerprints import canonical, published

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

F16, BF16 = "rdna4/v_dot2_f32_f16", "rdna4/v_dot2_f32_bf16"
WMMA, WAVE64 = "rdna4/v_wmma_f32_16x16x16_f16", "rdna4/v_wmma_f32_16x16x16_f16.wave64"
WMMA_BF16 = "rdna4/v_wmma_f32_16x16x16_bf16"
PACKED, FP8 = "rdna4/v_wmma_f16_16x16x16_f16", "rdna4/v_dot4_f32_fp8.m1n1k4.e4m3.e5m2"
PACKED_BF16 = "rdna4/v_wmma_bf16_16x16x16_bf16"
DESIGNS = (F16, BF16, WMMA, WMMA_BF16, WAVE64, PACKED, PACKED_BF16, "rdna4/v_dot2_f16_f16", FP8)


@pytest.mark.parametrize(
    ("name", "wave"),
    [(F16, ""), (BF16, ""), *((x, wave) for x in (WMMA, WMMA_BF16) for wave in ("", "wave64"))],
)
def test_what_a_gfx1201_returned(name, wave):
    answers = published("-".join(filter(None, ["amd-gfx1201", name.partition("/")[2], wave])))
    design = find_design(".".join(filter(None, [name, wave])))
    for i, d in enumerate(map(canonical, answers.d.tolist())):
        operands = answers.batch.row(i)
        assert (evaluate(design, operands), reference_result(design, operands)) == (d, d), operands


@pytest.mark.few(2)
@pytest.mark.parametrize("name", DESIGNS)
def test_against_the_reference(name):
    design, rng = find_design(name), np.random.default_rng(40)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 8, design.k, rng)
        arrays, native = (evaluate_batch(design, batch, backend=x).tolist() for x in (Backend.ARRAYS, Backend.NATIVE))
        assert arrays == native == [reference_result(design, batch.row(i)) for i in range(8)], distribution


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_arrays_and_native_code_agree_on_ten_million(name):
    design, rng = find_design(name), np.random.default_rng(41)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 10_000_000 // len(DISTRIBUTIONS), design.k, rng)
        arrays, native = (evaluate_batch(design, batch, backend=x) for x in (Backend.ARRAYS, Backend.NATIVE))
        assert (arrays == native).all(), distribution


@pytest.mark.few(1)
@pytest.mark.slow_values("rdna4/v_dot2_f32_bf16-floor=none")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        (F16, "grouping=all"),
        (F16, "alignment=truncate"),
        (F16, "c_extra_bits=1"),
        (F16, "fraction_bits=23"),
        (F16, "small_c=rounded"),
        pytest.param(BF16, "floor=none", marks=pytest.mark.middle),
        (PACKED, "floor=none"),
        (WMMA, "grouping=apart"),
        pytest.param(WMMA, "grouping=even-odd", marks=pytest.mark.middle),
        pytest.param(WMMA, "k_order=consecutive", marks=pytest.mark.middle),
        (FP8, "grouping=all"),
    ],
)
def test_each_reading_can_be_seen(name, change):
    assert compare(find_design(name), find_design(f"{name}@{change}")).verdict == "different"


@pytest.mark.parametrize("settings", ["join=ieee", "join=round-down", "L=1,grouping=halves"])
def test_sums_before_c_are_of_steps_with_c_as_a_term_and_halves(settings):
    with pytest.raises(DesignError) as raised:
        find_design(f"{F16}@{settings}")
    assert raised.value.field == "grouping"
