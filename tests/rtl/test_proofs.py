"""The project's own RTL is proved equal to its designs, and its mutants are refuted; so are printed units."""

import shutil
from pathlib import Path

import pytest
from support.own_rtl import OWN_UNITS, OwnUnit, Tier
from support.rtl_mutants import MUTANTS, Different

from mmaproof.cli.main import main
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.rtl import read_unit
from mmaproof.smt.solving.limits import Limits
from mmaproof.verification.compare import Comparison, compare

LIMITS = Limits(seconds=240, memory_bytes=4 << 30)
DESIGNS = {u.path: u for u in OWN_UNITS}
NOT_PROVED = {
    "sorted/fp16_l4.toml": "whole terms go through a sorting network, so that no net carries one of the design's terms",
    "sorted/fp16_l8.toml": "as with four products",
    "scaled/e4m3_l32.toml": "it normalises by a loop over single places with a limit",
}
"""own units for which no proof is known, and why"""
QUICK = {"tree/fp16_l4.toml"}
MIDDLE = {
    "carry_save/fp16_l4.toml",
    "carry_save/fp16_l16.toml",
    "tree/fp16_l16.toml",
    "tree/e4m3_l16.toml",
    "tree/e4m3_l32.toml",
    "tree/pipe3_fp16_l4.toml",
    "tree/pipe7_fp16_l8.toml",
    "tree/x_fp16_l4.toml",
    "two_path/fp16_l4.toml",
    "two_path/fp16_l8.toml",
    "two_step/fp16_l4.toml",
    "late_join/fp16_l4.toml",
    "scaled/counted_e4m3_l32.toml",
    "chain/fp16_k16.toml",
    "vhdl/fp16_l4.toml",
    "integer/s8_wrap.toml",
    "integer/s8_saturate.toml",
    "integer/s8_passes.toml",
}
FAMILIES = {
    "t-fdpa": "volta/mma.m8n8k4.f32.f16.f16.f32",
    "fma-chain": "arm/fmlal.m1n1k1.f32.f16.f16.f32",
    "integer": "cpu/vpdpwssd.m1n1k2.s32.s16.s16.s32",
    "tr-fdpa": "cdna3/v_mfma_f32_32x32x4_2b_bf16",
    "gtr-fdpa": "cdna3/v_mfma_f32_32x32x16_fp8_fp8",
    "sign-frame": "rdna3/v_dot2_f32_f16.m1n1k2",
    "sums-rounded-down": "rdna4/v_dot2_f32_f16.m1n1k2",
    "sequential": "paper/sequential.m1n1k4.f32.f16.f16.f32",
    "vortex-tfr": "vortex/tfr.wmma.m8n4k4.f32.tf32.tf32.f32",
}
"""A design of each family whose printed unit is proved; docs/rtl.md lists the families for which no proof is known."""


def marks(path: str) -> tuple[pytest.MarkDecorator, ...]:
    if path in QUICK:
        return ()
    return (pytest.mark.middle,) if path in MIDDLE else (pytest.mark.slow,)


def compared(path: Path, design: Design) -> Comparison:
    unit = read_unit(path, signature=design.signature)
    return compare(unit.design, design, limits=LIMITS, k=unit.design.k)


@pytest.mark.parametrize("own", [pytest.param(u, id=u.path, marks=marks(u.path)) for u in OWN_UNITS])
def test_own_unit_is_equal_to_its_design(own: OwnUnit) -> None:
    if own.needs_ghdl and shutil.which("ghdl") is None:
        pytest.skip("GHDL is not installed")
    found = compared(own.file, find_design(own.design))
    if own.path in NOT_PROVED:
        assert found.verdict == "unknown", NOT_PROVED[own.path]
        assert "no net is proved to carry" in (found.reason or "")
    else:
        assert found.verdict == "equivalent", found.reason
        assert found.lemmas


def of_mutant(mutant: Different) -> pytest.param:
    unit = DESIGNS[mutant.unit]
    return pytest.param(
        mutant, id=mutant.name, marks=pytest.mark.slow if unit.tier is Tier.SLOW else pytest.mark.middle
    )


@pytest.mark.parametrize("mutant", [of_mutant(m) for m in MUTANTS])
def test_mutant_is_refuted(mutant: Different, tmp_path: Path) -> None:
    unit = DESIGNS[mutant.unit]
    if unit.needs_ghdl and shutil.which("ghdl") is None:
        pytest.skip("GHDL is not installed")
    found = compared(mutant.write(tmp_path), find_design(unit.design))
    assert found.verdict == "different", found.reason


def test_families_are_of_the_catalogue() -> None:
    assert all(find_design(name).family == family for family, name in FAMILIES.items())


@pytest.mark.middle
@pytest.mark.parametrize("family", FAMILIES)
def test_printed_unit_is_equal_to_its_design(family: str, tmp_path: Path) -> None:
    design = find_design(FAMILIES[family])
    assert main(["export", design.name, "--format", "sv-model", "-o", str(tmp_path)]) == 0
    (module,) = [x for x in tmp_path.glob("*.sv") if x.stem not in ("testbench", "dpi_testbench", "vectors_pkg")]
    file = tmp_path / "UNIT.toml"
    file.write_text(
        f'sources = ["{module.name}"]\ntop = "{module.stem}"\n[ports]\na = "a"\nb = "b"\nc = "c"\nd = "d"\n'
    )
    assert compared(file, design).verdict == "equivalent"
