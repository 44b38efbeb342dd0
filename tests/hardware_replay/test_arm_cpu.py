"""Instructions of Arm CPUs as targets: layouts against a model of the vectors, and the machine code where clang is."""

import ctypes
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.hardware_replay import arm_cpu, cpu
from mmaproof.hardware_replay.arm_cpu import ARM_INSTRUCTIONS, VECTOR_BITS, find_arm_instruction, fpmr_of, source_of
from mmaproof.hardware_replay.targets import find_target
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

FORMS = [(x, form) for x in ARM_INSTRUCTIONS.values() for form in x.forms]
DESIGNS = [(x.name, d) for x in ARM_INSTRUCTIONS.values() for d in x.designs]
FP8 = {"arm-fp8dot2", "arm-fp8dot4", "arm-f8f16mm", "arm-f8f32mm"}


def test_the_instructions_are_the_targets_of_the_architecture():
    assert tuple(ARM_INSTRUCTIONS) == load_catalogue().architectures["arm"].targets
    assert set(cpu.INSTRUCTIONS).isdisjoint(ARM_INSTRUCTIONS)
    names = [d.name for _, d in DESIGNS]
    assert len(names) == len(set(names))
    assert all(any(d.instruction.startswith(f.begins) for d in x.designs) for x, f in FORMS)


def vectors_of(design: Design, matrices: bool, bottom: bool) -> Callable[..., None]:
    """What the instruction of a design does with vectors in memory, by the model: FPCR and FPMR are checked."""

    def run(at_a: int, at_b: int, at_d: int, vectors: int, fpcr: int, fpmr: int) -> None:
        assert fpcr == (arm_cpu.EBF if "-ebf" in design.instruction else 0)
        assert fpmr == fpmr_of(design)
        a, b, d = (
            np.ctypeslib.as_array((ctypes.c_uint8 * (vectors * VECTOR_BITS // 8)).from_address(at))
            .view(pattern_dtype(fmt))
            .reshape(vectors, -1)
            for at, fmt in zip((at_a, at_b, at_d), (design.a_format, design.b_format, design.d_format), strict=True)
        )
        lanes = d.shape[1]
        if matrices:  # segments of two rows of a, two of b and four elements of d
            rows = np.array([2 * (x // 4) + x % 4 // 2 for x in range(lanes)])
            columns = np.array([2 * (x // 4) + x % 2 for x in range(lanes)])
        else:
            rows = columns = np.arange(lanes)
        stride = a.shape[1] // (lanes // 2 if matrices else lanes)
        assert stride == (design.k if not bottom else stride)
        for vector in range(vectors):
            x, y = a[vector].reshape(-1, stride)[rows], b[vector].reshape(-1, stride)[columns]
            d[vector] = evaluate_batch(design, OperandBatch(x[:, : design.k], y[:, : design.k], d[vector].copy()))

    return run


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "design"), DESIGNS, ids=lambda x: x if isinstance(x, str) else x.name)
def test_rows_find_their_places_in_vectors(name, design, monkeypatch):
    instruction = ARM_INSTRUCTIONS[name]
    form = instruction.form_of(design)
    fake = vectors_of(design, form.matrices, form.bottom)
    monkeypatch.setattr(cpu, "compiled", lambda source, features, numbers: cpu.Compiled(fake, source, None))
    rng = np.random.default_rng(0)
    for distribution, rows in zip(DISTRIBUTIONS, (1, 2, 3, 5, 8, 13, 0, 1), strict=False):
        for k in (design.k, 2 * design.k):
            batch = draw(distribution, design, rows, k, rng)
            returned = instruction.run(design, batch)
            assert equal_patterns(design.d_format, returned, evaluate_batch(design, batch)).all()


def test_a_row_in_another_place_is_noticed(monkeypatch):
    design = find_design("arm/bfmmla")
    monkeypatch.setattr(cpu, "compiled", lambda source, *_: cpu.Compiled(vectors_of(design, False, True), source, None))
    batch = draw("normal", design, 6, design.k, np.random.default_rng(0))
    with pytest.raises((AssertionError, ValueError, IndexError)):
        assert (ARM_INSTRUCTIONS["arm-bf16"].run(design, batch) == evaluate_batch(design, batch)).all()


def test_a_design_that_the_target_does_not_run():
    design = find_design("arm/sdot")
    with pytest.raises(InputError, match=r"cpu:arm-bf16 does not run arm/sdot.*: it runs arm/bfdot"):
        ARM_INSTRUCTIONS["arm-bf16"].run(design, draw("normal", design, 1, 4, np.random.default_rng(0)))


def test_formats_of_fp8_are_in_fpmr():
    values = {x: fpmr_of(find_design(f"arm/fdot.f16.{x}.f16")) for x in ("e5m2.e5m2", "e4m3.e5m2", "e5m2.e4m3")}
    assert values == {"e5m2.e5m2": 0, "e4m3.e5m2": 1, "e5m2.e4m3": 8}
    assert fpmr_of(find_design("arm/bfdot")) == 0


@pytest.mark.parametrize(("instruction", "form"), FORMS, ids=lambda x: getattr(x, "begins", None))
def test_the_control_registers_are_set_and_restored(instruction, form):
    lines = source_of(form.assembly, instruction.name in FP8).splitlines()
    asm = [line.split('"')[1] for line in lines if "asm" in line]
    fpcr, fpmr = ["mrs $0, fpcr", "msr fpcr, $0"], ["mrs $0, S3_3_C4_C4_2", "msr S3_3_C4_C4_2, $0"]
    inner = [*fpmr, form.assembly, fpmr[1]] if instruction.name in FP8 else [form.assembly]
    assert asm == [*fpcr, *inner, fpcr[1]]


def cross_compiler() -> str:
    """Clang, if it makes code for AArch64."""
    clang = shutil.which("clang")
    if clang is None:
        pytest.skip("needs clang, which assembles for AArch64")
    return clang


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("instruction", "form"), [x for x in FORMS if x[0].name not in FP8], ids=lambda x: getattr(x, "begins", None)
)
def test_the_function_assembles_with_its_features_and_not_without(instruction, form, tmp_path):
    clang, source, target = cross_compiler(), tmp_path / "run.ll", tmp_path / "run.o"
    # the pointers of LLVM 14 need to be asked for
    source.write_text(source_of(form.assembly, reads_fpmr=False), encoding="utf-8")

    def assemble(features: str) -> subprocess.CompletedProcess[str]:
        flags = [x for f in features.split(",") for x in ("-Xclang", "-target-feature", "-Xclang", f)]
        pointers = ["-mllvm", "-opaque-pointers"]
        command = [clang, "--target=aarch64-linux-gnu", *flags, *pointers, "-c", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "opaque-pointers" in done.stderr:
            kept = [x for x in command if x not in pointers]
            done = subprocess.run(kept, capture_output=True, text=True, check=False)
        if "No available targets" in done.stderr:
            pytest.skip("this clang makes no code for AArch64")
        return done

    done = assemble(instruction.features)
    assert done.returncode == 0, done.stderr
    assert target.read_bytes()[:4] == b"\x7fELF"
    if instruction.flag != "asimd":
        assert "requires" in assemble("+neon").stderr


CPUINFO = "processor\t: 0\nFeatures\t: fp asimd asimddp i8mm bf16\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu, "CPUINFO", Path(tmp_path / "cpuinfo"))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(TargetUnavailable, match=r"cpu:arm-bf16 needs an Arm CPU \(aarch64\) under Linux: this is x86"):
        find_target("cpu:arm-bf16")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(TargetUnavailable, match="this is aarch64 under"):
        find_arm_instruction("arm-bf16")
    cpu.CPUINFO.write_text(CPUINFO, encoding="utf-8")
    found = find_arm_instruction("arm-bf16")
    assert (found.about.device, found.about.version) == ("an Arm CPU", "implementer 0x41, part 0xd4f")
    assert find_target("cpu:arm-bf16").designs == found.designs
    with pytest.raises(TargetUnavailable, match=r"cpu:arm-ebf16 is not on this CPU: .* lacks ebf16"):
        find_arm_instruction("arm-ebf16")
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(TargetUnavailable, match=r"pip install 'mmaproof\[cpu\]'"):
        find_arm_instruction("arm-bf16")


@pytest.mark.few(14)
@pytest.mark.parametrize(("name", "design"), DESIGNS, ids=lambda x: x if isinstance(x, str) else x.name)
def test_the_design_is_what_the_instruction_computes(name, design):
    """On an Arm CPU."""
    try:
        instruction = find_arm_instruction(name)
    except TargetUnavailable as error:
        pytest.skip(str(error))
    rng = np.random.default_rng(0)
    for distribution in DISTRIBUTIONS:
        for k in (design.k, 3 * design.k):
            batch = draw(distribution, design, 2_000, k, rng)
            returned = instruction.run(design, batch)
            assert equal_patterns(design.d_format, returned, evaluate_batch(design, batch)).all(), distribution
