"""Designs with parameters drawn at random, as far as the reference knows them, and how they are compared with it."""

import dataclasses
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from reference.designs import reference_result

from mmaproof.designs import conversions
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.formats import find_format
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.parameters import DEFINITIONS, complete_settings, compose
from mmaproof.designs.readings import Alignment, KOrder
from mmaproof.designs.steps.step import IntegerRange
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate

INTEGERS = {
    "L": (1, 2, 4),
    "fraction_bits": (3, 10, 24, 40),
    "e_zero": (-133, -20),
    "floor": (None, -132, -20, 3),
    "carry_bits": (None, 0, 1, 2),
    "c_extra_bits": (0, 1, 2, 9),
    "late_bits": (24, 26, 31),
    "product_shift": (-130, -3, 0, 5),
    "intermediate_bits": (None, 9, 16, 17, 40),
}
ORDERS = tuple(KOrder(x) for x in ("consecutive", "reversed", "mod4:01/23", "mod2:1/0"))

COMMON = "rho overflow subnormals "
VARIED = {
    # designs to vary, and the parameters that their family's reference knows
    "t-fdpa": (
        ("ampere/f32.bf16.bf16.f32", "ampere/f16.f16.f16.f16", "hopper/wgmma.f32.e5m2.e5m2", "volta/f32.f16.f16.f16"),
        "L fraction_bits alignment product_exponent carry_bits zero_c zero_product e_zero floor c_subnormal "
        "negative_zero chain_infinity sticky product_shift",
    ),
    "fma-chain": (
        ("cdna3/v_mfma_f32_32x32x2_f32", "ampere/mma.m8n8k4.f64.f64.f64.f64", "cpu/vdpbf16ps.m1n1k2.f32.bf16.bf16.f32"),
        "flushed_sign tininess k_order",
    ),
    "st-fdpa": (
        ("rtx-blackwell/f32.e4m3.e2m1.f32.ue8m0", "blackwell/f32.e5m2.e3m2.ue8m0"),
        "L fraction_bits alignment zero_c zero_product e_zero floor negative_zero",
    ),
    "gst-fdpa": (
        ("rtx-blackwell/block16.f32.e2m1.e2m1.f32.ue4m3", "blackwell/block16.f32.e2m1.e2m1.ue8m0"),
        "fraction_bits alignment zero_c floor negative_zero zero_group",
    ),
    "e-fdpa": (("cdna1/v_mfma_f32_32x32x8f16", "cdna1/v_mfma_f32_32x32x4bf16"), "L negative_zero"),
    "tr-fdpa": (
        ("cdna3/v_mfma_f32_32x32x8_f16", "cdna3/v_mfma_f32_32x32x8_bf16", "cdna3/v_mfma_f32_16x16x8_xf32"),
        "L fraction_bits late_bits late_alignment zero_c zero_product e_zero negative_zero late_rounding "
        "product_infinity",
    ),
    "gtr-fdpa": (
        ("cdna3/v_mfma_f32_16x16x32_fp8_bf8", "cdna3/v_mfma_f32_32x32x16_bf8_bf8"),
        "L fraction_bits late_bits late_alignment zero_c zero_product e_zero negative_zero late_rounding far_c",
    ),
    "ftz-addmul": (
        ("cdna2/v_mfma_f32_32x32x8f16", "cdna2/v_mfma_f32_32x32x8bf16_1k"),
        "L zero_product_sign minus_zero",
    ),
    "emulated-fp8": (
        ("hopper/mma.f32.e4m3.e4m3.f32", "hopper/mma.f16.e5m2.e4m3.f16"),
        "L fraction_bits alignment zero_c zero_product e_zero negative_zero chain_infinity widening k_order",
    ),
    "bulk-normalisation": (
        ("riscv/bulk.m1n1k8.f32.f16.f16.f32", "riscv/bulk.m1n1k4.f32.bf16.f16.f32"),
        "L fraction_bits alignment zero_c zero_product e_zero negative_zero join_rounding sticky product_shift",
    ),
    "sign-frame": (
        (
            "rdna3.5/v_wmma_f32_16x16x16_f16",
            "rdna3.5/v_wmma_f32_16x16x16_bf16",
            "rdna3.5/v_wmma_f16_16x16x16_f16",
        ),
        "L fraction_bits c_extra_bits floor c_subnormal negative_zero chain_infinity flushed_sign flushed_result "
        "tininess",
    ),
    "sums-rounded-down": (
        (
            "rdna4/v_wmma_f32_16x16x16_f16.wave64",
            "rdna4/v_wmma_f32_16x16x16_bf16.wave64",
            "rdna4/v_wmma_f16_16x16x16_f16",
            "rdna4/v_dot4_f32_fp8.m1n1k4.e4m3.e5m2",
        ),
        "fraction_bits c_extra_bits floor negative_zero chain_infinity small_c",
    ),
    "integer": (
        ("cpu/vpdpbusd", "cpu/vpdpwuuds", "cpu/vpmaddubsw-vpaddw", "turing/mma.m8n8k128.s32.b1.b1.s32.xor.popc"),
        "integer_overflow intermediate_bits element_product k_order",
    ),
    "sequential": (
        ("paper/sequential.f32.f16.f16.f32",),
        "L fraction_bits product_exponent zero_c zero_product e_zero negative_zero first truncates normalises",
    ),
}


def conversions_to(fmt: str) -> list[str]:
    return list(conversions.conversions_to(find_format(fmt)))


def varied_base(family: str, seed: int) -> Design:
    """A design of the catalogue whose family the reference knows."""
    names, _ = VARIED[family]
    base = find_design(names[seed % len(names)])
    assert base.family == family
    return base


def random_design(family: str, seed: int, **settings: Any) -> Design:
    """A design of the family with ``settings`` and other parameters drawn at random."""
    rng = np.random.default_rng(seed)
    base = varied_base(family, seed)
    drawn: dict[str, Any] = {}
    for name in (COMMON + VARIED[family][1]).split():
        if rng.random() >= 0.4:
            values = _values(base, name)
            drawn[name] = values[int(rng.integers(len(values)))]
    return with_parameters(base, **drawn | settings)


def with_parameters(design: Design, **settings: Any) -> Design:
    """The design with parameters changed, without asking whether they have an effect besides the others."""
    chain, step = compose(complete_settings(design.chain, design.step) | settings)
    return dataclasses.replace(design, chain=chain, step=step)


def _values(base: Design, name: str) -> Sequence[Any]:
    if name == "rho":
        return conversions_to(base.d_format.name)
    match DEFINITIONS[name].values:
        case IntegerRange():
            return INTEGERS[name]
        case tuple() as words:
            return words
        case readings if issubclass(readings, StrEnum):
            # terms are inverted in the family sign-frame alone, whose reference knows the signs of zeros
            return [x for x in readings if x is not Alignment.COMPLEMENT]
        case _:
            return ORDERS


def disagreements(design: Design, batch: OperandBatch, *, integers_of: int | None = None) -> list[str]:
    """Rows on which reference, integers and arrays are not all the same; integers of the first rows, or of all."""
    found = []
    for i, from_arrays in enumerate(evaluate_batch(design, batch, backend=Backend.ARRAYS).tolist()):
        operands = batch.row(i)
        reference = reference_result(design, operands)
        integers = reference if integers_of is not None and i >= integers_of else evaluate(design, operands)
        if not reference == integers == from_arrays:
            found.append(
                f"row {i}: {reference:#x} {integers:#x} {from_arrays:#x} {operands} {design.chain} {design.step}"
            )
    return found
