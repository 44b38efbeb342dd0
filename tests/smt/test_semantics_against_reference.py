"""The integer interpretation against the exact-rational reference, which shares no code with it."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from reference.designs import reference_result
from sampling import arithmetic, basic_operands, distinct_designs, fp16_design

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.k_order import KOrder
from mmaproof.designs.parameters import DEFINITIONS, IntegerRange
from mmaproof.generators.distributions import DISTRIBUTIONS, draw
from mmaproof.smt.evaluate import evaluate, evaluate_batch


def differences(design: Design, rows: int) -> list[str]:
    """Rows on which reference, integers and arrays are not all the same."""
    found = []
    for distribution, batch in basic_operands(design, rows).items():
        arrays = evaluate_batch(design, batch).tolist()
        for i, from_arrays in enumerate(arrays):
            operands = batch.row(i)
            reference, integers = reference_result(design, operands), evaluate(design, operands)
            if not reference == integers == from_arrays:
                found.append(f"{distribution} row {i}: {reference:#x} {integers:#x} {from_arrays:#x} {operands}")
    return found


DESIGNS = distinct_designs()
ROWS = Counter((d.family, d.source) for d in DESIGNS)
"""How many designs stand for one row of a published table: rows of narrow formats have 25 combinations."""


def share_of_row(design: Design) -> int:
    """Operands of a design, so that its row of a table gets 2,000 (and each T-FDPA or FMA design of it that)."""
    if design.family in ("t-fdpa", "fma-chain") and design.a_format.bits >= 8:
        return 2_000
    return -(-2_000 // ROWS[design.family, design.source])


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_every_row_agrees_on_2000_operands(design):
    assert differences(design, share_of_row(design)) == []


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_every_design_agrees_on_100000_operands(design):
    assert differences(design, 100_000) == []


def test_the_designs_left_out_are_the_same_arithmetic():
    kept = {arithmetic(d) for d in DESIGNS}
    assert {arithmetic(d) for d in load_catalogue().designs.values()} == kept


INTEGERS = {
    "L": (1, 2, 4),
    "fraction_bits": (3, 10, 24, 40),
    "e_zero": (-133, -20),
    "floor": (None, -132, -20, 3),
    "carry_bits": (None, 0, 1, 2),
    "late_bits": (24, 26, 31),
}
BASES = {
    # designs to vary, and the parameters that their family's reference knows
    "t-fdpa": (
        ("ampere/f32.bf16.bf16.f32", "ampere/f16.f16.f16.f16", "hopper/wgmma.f32.e5m2.e5m2", "volta/f32.f16.f16.f16"),
        "L fraction_bits alignment product_exponent carry_bits zero_c zero_product e_zero floor c_subnormal overflow "
        "negative_zero chain_infinity",
    ),
    "st-fdpa": (
        ("rtx-blackwell/f32.e4m3.e2m1.f32.ue8m0", "blackwell/f32.e5m2.e3m2.ue8m0"),
        "L fraction_bits alignment zero_c zero_product e_zero floor overflow negative_zero",
    ),
    "gst-fdpa": (
        ("rtx-blackwell/block16.f32.e2m1.e2m1.f32.ue4m3", "blackwell/block16.f32.e2m1.e2m1.ue8m0"),
        "fraction_bits alignment zero_c floor overflow negative_zero zero_group",
    ),
    "tr-fdpa": (
        ("cdna3/v_mfma_f32_32x32x8_f16", "cdna3/v_mfma_f32_32x32x8_bf16", "cdna3/v_mfma_f32_16x16x8_xf32"),
        "L fraction_bits late_bits zero_c zero_product e_zero negative_zero late_rounding product_infinity",
    ),
    "gtr-fdpa": (
        ("cdna3/v_mfma_f32_16x16x32_fp8_bf8", "cdna3/v_mfma_f32_32x32x16_bf8_bf8"),
        "L fraction_bits late_bits zero_c zero_product e_zero negative_zero late_rounding",
    ),
    "ftz-addmul": (("cdna2/v_mfma_f32_32x32x8f16", "cdna2/v_mfma_f32_32x32x8bf16_1k"), "L subnormals"),
    "emulated-fp8": (
        ("hopper/mma.f32.e4m3.e4m3.f32", "hopper/mma.f16.e5m2.e4m3.f16"),
        "L fraction_bits alignment zero_c zero_product e_zero overflow negative_zero chain_infinity widening k_order",
    ),
    "bulk-normalisation": (
        ("riscv/bulk.m1n1k8.f32.f16.f16.f32", "riscv/bulk.m1n1k4.f32.bf16.f16.f32"),
        "L fraction_bits alignment zero_c zero_product e_zero negative_zero",
    ),
    "sequential": (
        ("paper/sequential.f32.f16.f16.f32",),
        "L fraction_bits product_exponent zero_c zero_product e_zero overflow negative_zero first truncates normalises",
    ),
}
ORDERS = tuple(KOrder(x) for x in ("consecutive", "reversed", "mod4:01/23", "mod2:1/0"))


def random_settings(rng: np.random.Generator, names: str) -> dict[str, object]:
    settings = {}
    for name in names.split():
        if rng.random() < 0.4:
            continue
        values = DEFINITIONS[name].values
        choices = INTEGERS[name] if isinstance(values, IntegerRange) else ORDERS if values is KOrder else list(values)
        settings[name] = choices[rng.integers(len(choices))]
    return settings


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("family", BASES)
def test_any_combination_of_parameters_agrees(family, seed):
    rng = np.random.default_rng(seed)
    names, parameters = BASES[family]
    base = find_design(names[seed % len(names)])
    assert base.family == family
    # some settings have no effect beside others, so they are put into the record without asking for one
    design = dataclasses.replace(
        base, parameters=dataclasses.replace(base.parameters, **random_settings(rng, parameters))
    )
    for name in DISTRIBUTIONS:
        batch = draw(name, design, 12, design.k * (1 + seed % 2), rng)
        arrays = evaluate_batch(design, batch).tolist()
        for i, from_arrays in enumerate(arrays):
            operands = batch.row(i)
            values = reference_result(design, operands), evaluate(design, operands), from_arrays
            assert len(set(values)) == 1, (name, [hex(v) for v in values], design.parameters, operands)


@pytest.mark.parametrize("k", [1, 3, 12, 16, 48])
def test_lengths_other_than_the_instructions(k):
    design = find_design("ampere/f32.f16.f16.f32")
    for batch in basic_operands(design, 100, k=k).values():
        for i, from_arrays in enumerate(evaluate_batch(design, batch).tolist()):
            operands = batch.row(i)
            assert reference_result(design, operands) == evaluate(design, operands) == from_arrays


@pytest.mark.parametrize("length", [4, 8, 16, 32])
def test_one_carry_bit_too_few_is_noticed_by_the_reference(length):
    from mmaproof.designs.operands import Operands
    from mmaproof.smt.semantics.widths import sum_widths

    design = fp16_design(length)
    enough = sum_widths(design).carry_bits
    # every term at its largest, all at the same exponent: the sum that carry bits are counted for
    operands = Operands((0x7BFF,) * length, (0x3BFF,) * length, 0x46FFFFFF)
    full = reference_result(design, operands)
    assert evaluate(design.change(carry_bits=enough), operands) == full
    fewer = design.change(carry_bits=enough - 1)
    assert evaluate(fewer, operands) == reference_result(fewer, operands) != full
