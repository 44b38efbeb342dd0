"""The recordings that are part of the project: what they hold, what replays them, and what they decide."""

import json
from pathlib import Path

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.hardware_replay.decided import decide, recordings_of_the_project
from mmaproof.hardware_replay.recordings import read_provenance, read_recording
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch

RECORDINGS = recordings_of_the_project()
PUBLISHED = [x for x in RECORDINGS if read_provenance(x).target == "published"]
OF_AMD = {
    "amd-gfx1100-v_dot2_f32_f16": 50,
    "amd-gfx1100-v_dot2_f32_bf16": 53,
    "amd-gfx1201-v_dot2_f32_f16": 50,
    "amd-gfx1201-v_dot2_f32_bf16": 71,
    "amd-gfx1201-v_wmma_f32_16x16x16_f16": 12,
    "amd-gfx1201-v_wmma_f32_16x16x16_f16-wave64": 12,
    "amd-gfx1201-v_wmma_f32_16x16x16_bf16": 12,
    "amd-gfx1201-v_wmma_f32_16x16x16_bf16-wave64": 12,
}
"""Rows of ROCm/rocm-systems, emulation/rocjitsu/tests/fixtures/float_dot, by recording."""
each_recording = pytest.mark.parametrize("path", RECORDINGS, ids=lambda x: x.stem)


def test_they_are_small_and_of_these_instructions():
    assert sum(x.stat().st_size for x in RECORDINGS) < 1 << 20
    instructions = {(read_recording(x).design or "").partition("/")[2].partition(".")[0] for x in RECORDINGS}
    tiles = {"tdpbf16ps", "tdpfp16ps", "tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud"}
    vectors = {
        "vdpbf16ps",
        "vpdpbusd",
        "vpdpbusds",
        "vpdpwssd",
        "vpdpwssds",
        "vfmadd231ps",
        "vfmadd231pd",
        "vfmadd231ph",
    }
    assert tiles | vectors <= instructions


@each_recording
def test_the_model_returns_what_was_recorded(path):
    answers = read_recording(path)
    design = find_design(answers.design or "")
    assert len(answers.batch) >= (1 if path in PUBLISHED else 150)
    assert equal_patterns(design.d_format, answers.d, evaluate_batch(design, answers.batch)).all()


@each_recording
def test_a_recording_says_what_ran_and_names_nobody(path):
    about = read_provenance(path)
    assert about.device
    if path in PUBLISHED:
        assert about.operands["source"]
        assert about.further["not_known"]
    else:
        assert about.device_version
        assert about.target.startswith(("cpu:", "cuda"))
    assert not any(x in json.dumps(about.record()) for x in ("/home", "/tmp", "/work", str(Path.home())))


def test_the_public_row_of_an_h100_refutes_that_zeros_read_minus_126():
    """north-numerical-computing/MATLAB-tensor-core, issue 7; the exact sum is 10.99888 * 2**-149."""
    (path,) = (x for x in PUBLISHED if x.stem == "nvidia-h100-bf16-tiny")
    answers = read_recording(path)
    for name in ("mma.m16n8k16.f32.bf16.bf16.f32", "wgmma.m64n8k16.f32.bf16.bf16"):
        for profile, expected in (("", 11), ("@as=mma-sim", 10), ("@as=mma-sim-2", 11), ("@as=fpy", 11)):
            assert evaluate_batch(find_design(f"hopper/{name}{profile}"), answers.batch).tolist() == [expected]
        for settings, expected in (("", 11), (",floor=none", 10), (",floor=-132", 10)):
            design = find_design(f"hopper/{name}@as=khattak-mikaitis{settings}")
            assert evaluate_batch(design, answers.batch).tolist() == [expected]
    (found,) = decide([path]).values()
    assert not found.wrong
    assert found.decided["zero_c"] == 1


def test_the_results_that_amd_published_are_all_there_and_named_with_their_licence():
    assert {x.stem: len(read_recording(x).batch) for x in PUBLISHED if x.stem.startswith("amd-")} == OF_AMD
    for path in PUBLISHED:
        if path.stem in OF_AMD:
            licence = read_provenance(path).further["licence"]
            text = (path.parent / licence.rpartition(" ")[2]).read_text()
            assert "Permission is hereby granted" in text
            assert licence.partition(": ")[0].removeprefix("MIT, ") in text


@pytest.mark.parametrize(
    ("stem", "decided"),
    [
        ("amd-gfx1100-v_dot2_f32_f16", "alignment fraction_bits join product_exponent rho summation"),
        ("amd-gfx1100-v_dot2_f32_bf16", "alignment fraction_bits join overflow tininess"),
        ("amd-gfx1201-v_dot2_f32_bf16", "L join overflow rho subnormals summation"),
        ("amd-gfx1201-v_wmma_f32_16x16x16_f16", "alignment c_extra_bits grouping k_order rho"),
    ],
)
def test_what_the_results_of_amd_decide(stem, decided):
    (path,) = (x for x in PUBLISHED if x.stem == stem)
    (found,) = decide([path]).values()
    assert not found.wrong
    assert set(decided.split()) <= set(found.decided)


@pytest.mark.slow_values("tdpbf16ps-L rho k_order summation flushed_sign tininess", "tdpfp16ps-L rho k_order summation")
@pytest.mark.parametrize(
    ("instruction", "decided"),
    [
        ("tdpbf16ps", "L rho k_order summation flushed_sign tininess"),
        pytest.param("tdpfp16ps", "L rho k_order summation", marks=pytest.mark.middle),
        ("tdpbssd", "integer_overflow"),
        ("vpdpwssds", "integer_overflow L"),
        pytest.param("vdpbf16ps", "L rho subnormals flushed_sign tininess", marks=pytest.mark.middle),
    ],
)
def test_what_a_recording_decides(instruction, decided):
    (path,) = (x for x in RECORDINGS if x.stem.endswith(f"-{instruction}"))
    (found,) = decide([path]).values()
    assert not found.wrong
    assert set(decided.split()) <= set(found.decided)
