"""Profiles return what the programs return that they name: rows on which these differ, with what they returned.

The values of ``mma-sim`` were returned by github.com/microsoft/MMA-Sim, commit c785138, under ``python -O``; those of
``mma-sim-2`` by mmasim 2.1.1 from PyPI.
"""

import dataclasses

import numpy as np
import pytest
from reference.designs import reference_result

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.profiles import load_disputes
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.trace import evaluate

BF16_1 = "cdna2/v_mfma_f32_32x32x2bf16"
CDNA3 = "cdna3/v_mfma_f32_32x32x4_2b_bf16"
FP8 = "cdna3/v_mfma_f32_16x16x32_bf8_bf8"
NVFP4 = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
NVFP4_32 = "rtx-blackwell/mma.m16n8k64.block32.f32.e2m1.e2m1.f32.ue4m3"

ROWS = [
    # design, a, b, c and scales (the rest is +0); by default, mma-sim, mma-sim-2 (None: it has no such instruction)
    pytest.param(CDNA3, "8080", "3380", "0", "", 0x80000000, 0x80000000, 0x80000000, id="point 7, CDNA3"),
    pytest.param("cdna1/v_mfma_f32_4x4x2bf16", "8080", "3380", "0", "", 0x80000000, 0, 0x80000000, id="points 7 and 9"),
    pytest.param(
        *(
            "cdna3/v_mfma_f32_32x32x4_xf32",
            "11800000 00000000 1a000000 34000000",
            "a2800000 bd080000 0d800000 00002000",
        ),
        *("0", "", 0x80000000, 0x80000000, 0x80000000),
        id="point 7, xf32",
    ),
    pytest.param("ampere/m16n8k8.f16.f16.f16.f16", "8001", "0001", "0", "", 0, 0, 0, id="point 7, fp16 output"),
    pytest.param("ampere/m16n8k8.f32.bf16.bf16.f32", "8001", "0001", "0", "", 0, 0, 0, id="point 7, truncated"),
    pytest.param(
        *("volta/m8n8k4.f32.f16.f16.f16", "0400", "0001", "0001", ""),
        *(0x33800000, 0x33800200, 0x33800000),
        id="point 5, c widened first",
    ),
    pytest.param(
        *("turing/m8n8k4.f32.f16.f16.f16", "0400", "0001", "0001", ""),
        *(0x33800000, 0x33800200, 0x33800000),
        id="point 5, Turing",
    ),
    pytest.param(
        *(NVFP4, "0", "0", "26800000", "00 00 00 00/38 38 38 38", 0x26800000, 0x26800000, 0x26800000),
        id="point 15, zero scale",
    ),
    pytest.param(
        *(NVFP4_32, "0", "0", "26800000", "00 00/38 38", 0x26800000, 0x26800000, None),
        id="point 15, blocks of 32 ue4m3",
    ),
    pytest.param(BF16_1, "8000 8000", "3f80 3f80", "80000000", "", 0x80000000, 0, 0, id="point 16"),
    pytest.param(BF16_1, "0000 0000", "bf80 bf80", "80000000", "", 0x80000000, 0, 0, id="point 16, -0 products"),
    pytest.param(
        *("cdna1/v_mfma_f32_32x32x4f16", "8000 8000 8000 8000", "3c00 3c00 3c00 3c00", "80000000", "", 0, 0, 0),
        id="point 9, product added to +0",
    ),
    pytest.param(
        *("turing/m8n8k4.f32.f16.f16.f32", "3c00 3c00", "0001 0001", "3f800000", ""),
        *(0x3F800000, 0x3F800001, 0x3F800000),
        id="point 14, m8n8k4",
    ),
    pytest.param(
        *("turing/m16n8k8.f32.f16.f16.f32", "3c00 3c00", "0001 0001", "3f800000", ""),
        *(0x3F800001, 0x3F800001, 0x3F800001),
        id="point 14, m16n8k8",
    ),
    pytest.param(
        "volta/m8n8k4.f16.f16.f16.f16", "1000 0001", "0400 0001", "0", "", 0, 1, 0, id="points 1 and 2, Volta"
    ),
    pytest.param(
        "turing/m8n8k4.f16.f16.f16.f16", "1000 0001", "0400 0001", "0", "", 0, 1, 0, id="points 1 and 2, Turing"
    ),
    pytest.param("hopper/wgmma.f16.f16.f16", "1000 0001", "0400 0001", "0", "", 0, 1, 0, id="points 1 and 2, wgmma"),
    pytest.param(
        *("ampere/m16n8k8.f32.bf16.bf16.f32", "0000 3f80", "7f00 3080", "0", "", 0x30800000, 0, 0x30800000),
        id="point 2, 0 times a large number",
    ),
    pytest.param(CDNA3, "7f00", "4000", "ff800000", "", 0x7FC00000, 0xFF800000, 0x7FC00000, id="point 12"),
    pytest.param(
        *(CDNA3, "0000 2200 1580 0000", "a780 0e00 1e80 81a0", "00013e46", "", 0x13E46, 0x13E46, 0x13E46),
        id="point 11, a subnormal sum",
    ),
    pytest.param(FP8, "7f", "7f", "7f800000", "", 0x7F800000, 0x7F800000, 0x4F440000, id="point 18, infinity"),
    pytest.param(FP8, "7f", "7f", "7fc00000", "", 0x7FC00000, 0x7FC00000, 0x4F440000, id="point 18, NaN"),
    pytest.param(FP8, "7f", "40", "7f800000", "", 0x7F800000, 0x7F800000, 0x7F800000, id="point 18, not far"),
]


def patterns(text, count):
    given = tuple(int(x, 16) for x in text.split())
    return given + (0,) * (count - len(given))


@pytest.mark.few(14)
@pytest.mark.parametrize(("name", "a", "b", "c", "scales", "default", "early", "newer"), ROWS)
def test_a_profile_returns_what_its_program_returned(name, a, b, c, scales, default, early, newer):
    design = find_design(name)
    of_blocks = [patterns(x, design.blocks(design.k)) for x in scales.split("/")] if scales else []
    operands = Operands(patterns(a, design.k), patterns(b, design.k), int(c, 16), *of_blocks)
    for profile, expected in (("", default), ("@as=mma-sim", early), ("@as=mma-sim-2", newer)):
        if expected is not None:
            found = find_design(f"{design.base_name}{profile}")
            assert evaluate(found, operands) == expected, profile
            assert reference_result(found, operands) == expected, profile


@pytest.mark.parametrize("profile", ["mma-sim", "mma-sim-2"])
def test_emulated_fp8_is_one_step_of_32_in_both_programs(profile):
    for name in ("hopper/mma.f32.e4m3.e4m3.f32", "blackwell/mma.f16.e5m2.e4m3.f16"):
        step = find_design(f"{name}@as={profile}").settings
        assert {str(step[x]) for x in ("widening", "k_order", "join")} == {"none", "consecutive", "fused"}
        assert (step["L"], step["fraction_bits"]) == (32, 25)


ZEROS = [
    ("volta/m8n8k4.f32.f16.f16.f32", -131),
    ("turing/m8n8k4.f32.f16.f16.f32", -131),
    ("turing/m16n8k8.f32.f16.f16.f32", -132),
    ("ada/m16n8k32.f32.e4m3.e4m3.f32", -132),
    ("hopper/wgmma.f32.e4m3.e4m3", -133),
    ("rtx-blackwell/mma.m16n8k32.block32.f32.e4m3.e4m3.f32.ue8m0", -133),
    ("rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue8m0", -139),
    ("volta/m8n8k4.f16.f16.f16.f16", -19),
    ("turing/m8n8k4.f16.f16.f16.f16", -19),
    ("turing/m16n8k8.f16.f16.f16.f16", -20),
    ("hopper/mma.m16n8k16.f16.f16.f16.f16", -21),
    ("hopper/wgmma.f16.f16.f16", -21),
    ("blackwell/tcgen05.mma.f16.e4m3.e4m3", -21),
]


@pytest.mark.parametrize(("name", "e_zero"), ZEROS)
def test_zeros_of_mma_sim_2_read_e_zero(name, e_zero):
    settings = find_design(f"{name}@as=mma-sim-2").settings
    assert (settings["zero_c"], settings["e_zero"]) == ("e-zero", e_zero)
    if settings.get("group_size") is None:
        assert settings["zero_product"] == "e-zero"
    else:
        assert (settings["zero_group"], settings["group_e_zero"]) == ("e-zero", e_zero)


@pytest.mark.middle
def test_every_profile_is_valid_for_every_design():
    disputes = load_disputes()
    for design in load_catalogue().designs.values():
        for profile in disputes.profiles:
            found = disputes.apply(design, profile)
            assert dataclasses.replace(found) == found


def test_of_several_values_each_is_of_its_architecture():
    readings = [x for x in load_disputes().readings if x.profile == "fpy" and "e_zero" in x.settings]
    assert {x.settings["e_zero"] for x in readings if x.architectures == ("hopper",)} == {"-133", "-22"}
    assert all(x.settings["e_zero"].lstrip("-").isdecimal() for x in readings)


def test_two_sources_differ_on_tiny_products_in_the_sign_of_zero_alone():
    name, rng = "hopper/wgmma.f32.bf16.bf16", np.random.default_rng(0)
    drawn = rng.normal(0, 1e-22, (2, 4000, 16)).astype(np.float32)
    a, b = (drawn.view(np.uint32) >> 16).astype(np.uint16)
    batch = OperandBatch(a, b, np.zeros(len(a), np.uint32))
    newest, models = (evaluate_batch(find_design(f"{name}@as={x}"), batch) for x in ("mma-sim-2", "khattak-mikaitis"))
    apart = newest != models
    assert apart.any()
    assert set(newest[apart].tolist()) == {0}
    assert set(models[apart].tolist()) == {0x80000000}
    alike = evaluate_batch(find_design(f"{name}@as=mma-sim-2,negative_zero=negative"), batch)
    assert alike.tolist() == models.tolist()
