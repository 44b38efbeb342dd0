"""The project's own RTL is proved equal to its designs, and its mutants are refuted; so are printed units."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from support.own_rtl import OWN_UNITS, OwnUnit, Tier
from support.rtl_mutants import MUTANTS, Different

from mmaproof.cli.main import main
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.rtl import read_unit
from mmaproof.rtl.meant import in_one_pass
from mmaproof.smt.proving.exhaustion import small_ones_first
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Certify, Solving
from mmaproof.verification.compare import Comparison, compare
from mmaproof.verification.netlists import by_nets

LIMITS = Limits(seconds=240, memory_bytes=4 << 30)
LONG_LIMITS = Limits(seconds=600, memory_bytes=4 << 30)
"""for fused multiply-adds to fp32: cases get half of the time"""
DESIGNS = {u.path: u for u in OWN_UNITS}
NOT_PROVED = {"two_path/bf16_l8.toml": "no net is proved to carry the largest exponent within four minutes"}
"""own units for which no proof is known, and why"""
NOT_TRIED = {
    "fmul/fp32_single.toml": "factors that are normalised first make another product than that of the design",
}
"""own units that agree with their design on random operands; no test spends minutes on not proving them"""
IN_ONE_PIECE = {f"fadd/{x}_{style}.toml" for x in ("fp16", "fp32") for style in ("single", "two_path")}
"""own units of which a solver may decide the whole question sooner than its cases"""
QUICK = {"integer/s8_wrap.toml"}
MIDDLE = {
    "carry_save/fp16_l16.toml",
    "tree/fp16_l16.toml",
    "tree/e4m3_l32.toml",
    "tree/fp16_l4.toml",
    "tree/pipe3_fp16_l4.toml",
    "tree/pipe7_fp16_l8.toml",
    "tree/x_fp16_l4.toml",
    "sorted/fp16_l4.toml",
    "two_path/fp16_l4.toml",
    "two_step/fp16_l4.toml",
    "late_join/fp16_l4.toml",
    "scaled/counted_e4m3_l32.toml",
    "chain/fp16_k16.toml",
    "vhdl/fp16_l4.toml",
    "integer/s8_saturate.toml",
    "integer/s8_passes.toml",
    "accumulator/pe_int8.toml",
    "accumulator/mac_int8.toml",
    "accumulator/acc_fp16.toml",
    "accumulator/acc_e8m13.toml",
    "accumulator/signed_magnitude.toml",
    "streaming/elastic_int8.toml",
    "small/acc_int3.toml",
    "small/pair_int3.toml",
    "small/column_int3.toml",
    "accumulator/pair_int8.toml",
    "accumulator/drained_int8.toml",
    "streaming/stream_int8.toml",
    "streaming/held_int8.toml",
    "streaming/kept_int8.toml",
}
FAMILIES = {
    "t-fdpa": "volta/mma.m8n8k4.f32.f16.f16.f32",
    "fma-chain": "arm/fmlal.m1n1k1.f32.f16.f16.f32",
    "integer": "cpu/vpdpwssd.m1n1k2.s32.s16.s16.s32",
    "tr-fdpa": "cdna3/v_mfma_f32_32x32x4_2b_bf16",
    "gtr-fdpa": "cdna3/v_mfma_f32_32x32x16_fp8_fp8",
    "sign-frame": "rdna3/v_dot2_f32_f16.m1n1k2",
    "sums-rounded-down": "rdna4/v_dot2_f32_f16.m1n1k2",
    "st-fdpa": "blackwell/tcgen05.mma.m128n8k32.block32.f32.e2m1.e4m3.ue8m0",
    "emulated-fp8": "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",
    "fp8-dot": "arm/fmlalb.m1n1k1.f16.e5m2.e5m2.f16",
    "sequential": "paper/sequential.m1n1k4.f32.f16.f16.f32",
    "vortex-tfr": "vortex/tfr.wmma.m8n4k4.f32.tf32.tf32.f32",
    "gst-fdpa": "blackwell/tcgen05.mma.m128n8k64.block32.f32.e2m1.e2m1.ue8m0",
    "rounded-pairs": "arm/fmmla.m2n2k2.f32.f32.f32.f32",
    "ftz-addmul": "cdna2/v_mfma_f32_32x32x2bf16",
    "fused-pairs": "arm/bfdot-ebf.m1n1k2.f32.bf16.bf16.f32",
    "bf16-to-odd": "arm/bfdot.m1n1k2.f32.bf16.bf16.f32",
    "adder-tree": "paper/tree.m1n1k4.f32.f16.f16.f32",
    "bulk-normalisation": "riscv/bulk.m1n1k4.f32.f16.f16.f32",
    "rvbna": "riscv/vfwdota.vv.m1n1k4.f32.bf16.bf16.f32",
    "gaudi2": "gaudi2/mme.m1n1k4.f32.tf32.tf32.f32",
    "gaudi3": "gaudi3/mme.m1n1k2.f32.f16.f16.f32",
    "interleaved-fma": "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32",
    "tensix": "wormhole/mvmul.phase0.m8n16k16.f32.e8m7.e8m7.f32",
    "vfpu": "psp/vdot.m1n1k4.f32.f32.f32.f32",
    "e-fdpa": "cdna1/v_mfma_f32_32x32x2bf16",
    "hmx": "hexagon/hmx.m32n32k32.f16.f16.f16.e5m15@L=2",
    "aie-blocks": "xdna2/vmac.m8n8k8.block8.f32.e1m6.e1m6.f32.ue8m0",
}
"""A design of each family whose printed unit is proved."""
LONG_FAMILIES = {
    "adder-tree",
    "bulk-normalisation",
    "e-fdpa",
    "emulated-fp8",
    "fp8-dot",
    "gaudi2",
    "gst-fdpa",
    "hmx",
    "interleaved-fma",
    "rounded-pairs",
    "st-fdpa",
    "tensix",
    "vfpu",
}
"""families whose proofs take too long for CI"""


def marks(path: str) -> tuple[pytest.MarkDecorator, ...]:
    if path in QUICK:
        return ()
    return (pytest.mark.middle,) if path in MIDDLE else (pytest.mark.slow,)


def compared(path: Path, design: Design) -> Comparison:
    unit = read_unit(path, signature=design.signature)
    limits = LONG_LIMITS if path.parent.name == "fma" else LIMITS
    return compare(unit.design, in_one_pass(unit.design, design), where=unit.where, limits=limits, k=unit.design.k)


def is_proved(path: Path, design: Design) -> None:
    """Prove a unit net by net. The search, the moment and the cubes before it cost seconds and cannot prove."""
    unit = read_unit(path, signature=design.signature)
    question = Equivalence(unit.design, design, k=unit.design.k)
    proof = by_nets(question, unit.design, design, small_ones_first(Solving()), LIMITS, 0)
    assert proof.proved, proof.lead
    assert proof.lemmas


@pytest.mark.middle
@pytest.mark.slow_values(
    "carry_save/fp16_l16.toml",
    "chain/fp16_k16.toml",
    "scaled/counted_e4m3_l32.toml",
    "tree/pipe3_fp16_l4.toml",
    "tree/x_fp16_l4.toml",
)
@pytest.mark.parametrize("own", [pytest.param(u, id=u.path, marks=marks(u.path)) for u in OWN_UNITS])
def test_own_unit_is_equal_to_its_design(own: OwnUnit) -> None:
    if own.needs_ghdl and shutil.which("ghdl") is None:
        pytest.skip("GHDL is not installed")
    design = find_design(own.design)
    if own.path in NOT_TRIED:
        pytest.skip(NOT_TRIED[own.path])
    if own.path in MIDDLE:
        is_proved(own.file, design)
        return
    found = compared(own.file, design)
    if own.path in NOT_PROVED:
        assert found.verdict == "unknown", NOT_PROVED[own.path]
        assert "no net is proved to carry" in (found.reason or "")
    else:
        assert found.verdict == "equivalent", found.reason
        assert found.lemmas or own.path in IN_ONE_PIECE


@pytest.mark.slow
def test_a_unit_with_booth_multipliers_is_certified() -> None:
    own = DESIGNS["carry_save/fp16_l4.toml"]
    design = find_design(own.design)
    unit = read_unit(own.file, signature=design.signature)
    found = compare(unit.design, design, solver=Solving(certify=Certify.SOLVER), limits=LIMITS, k=4)
    assert found.verdict == "equivalent", found.reason
    by = Counter(x.certified_by.name for x in found.lemmas if x.certified_by is not None)
    assert by.total() == len(found.lemmas) and set(by) == {"cvc5", "word-enumeration"}
    assert {x.solver.name for x in found.lemmas if x.solver is not None} == {"bitwuzla", "exhaustion"}


def of_mutant(number: int, mutant: Different) -> pytest.param:
    """In CI are those that random rows miss, and every third other one; test_own_units.py evaluates all of them."""
    is_slow = DESIGNS[mutant.unit].tier is Tier.SLOW or not (mutant.rare or number % 3 == 0)
    return pytest.param(mutant, id=mutant.name, marks=pytest.mark.slow if is_slow else pytest.mark.middle)


@pytest.mark.slow_values("one-product")
@pytest.mark.parametrize("mutant", [of_mutant(i, m) for i, m in enumerate(MUTANTS)])
def test_mutant_is_refuted(mutant: Different, tmp_path: Path) -> None:
    unit = DESIGNS[mutant.unit]
    if unit.needs_ghdl and shutil.which("ghdl") is None:
        pytest.skip("GHDL is not installed")
    found = compared(mutant.write(tmp_path), find_design(unit.design))
    assert found.verdict == "different", found.reason


def test_families_are_of_the_catalogue() -> None:
    assert all(find_design(name).family == family for family, name in FAMILIES.items())
    of_catalogue = {x.family for x in load_catalogue().designs.values()}
    assert FAMILIES.keys() == of_catalogue


def of_family(family: str) -> pytest.param:
    return pytest.param(family, marks=pytest.mark.slow if family in LONG_FAMILIES else pytest.mark.middle)


@pytest.mark.slow_values("bf16-to-odd", "fma-chain", "ftz-addmul", "fused-pairs", "gtr-fdpa", "rvbna", "vortex-tfr")
@pytest.mark.parametrize("family", [of_family(f) for f in FAMILIES])
def test_printed_unit_is_equal_to_its_design(family: str, tmp_path: Path) -> None:
    design = find_design(FAMILIES[family])
    assert main(["export", design.name, "--format", "sv-model", "-o", str(tmp_path)]) == 0
    # what a testbench needs, and the step after the first one where that is another one
    others = ("testbench", "dpi_testbench", "vectors_pkg", "_next")
    (module,) = [x for x in tmp_path.glob("*.sv") if not x.stem.endswith(others)]
    file = tmp_path / "UNIT.toml"
    ports = ["a", "b", "c", "d", *(["scale_a", "scale_b"] if design.scale_format is not None else [])]
    lines = [f'sources = ["{module.name}"]', f'top = "{module.stem}"', "[ports]", *(f'{x} = "{x}"' for x in ports)]
    file.write_text("\n".join(lines) + "\n")
    is_proved(file, design)
