"""The target cuda: on a machine without a GPU, and on a stand-in for the driver whose kernels return c."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.hardware_replay.recordings import read_recording
from mmaproof.hardware_replay.targets import find_target

WGMMA = "hopper/wgmma.m64n8k16.f32.f16.f16"


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory):
    """Return the folder of a libcuda.so.1 that is not a driver."""
    pytest.importorskip("cuda.bindings", reason="the extra [cuda] is not installed")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine: the stand-in for the driver is in C")
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("fake_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source, "-ldl"], check=True)
    return folder


def mmaproof(*arguments, driver=None, trouble="", cwd=None):
    environment = {**os.environ, "MMAPROOF_FAKE_DRIVER": trouble}
    if driver is not None:
        others = os.environ.get("LD_LIBRARY_PATH", "")
        environment["LD_LIBRARY_PATH"] = f"{driver}:{others}" if others else str(driver)
    command = [sys.executable, "-m", "mmaproof.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, check=False)


@pytest.mark.middle
@pytest.mark.slow_values("40000-16", "5-16")
@pytest.mark.parametrize(("rows", "k"), [(5, 16), pytest.param(40_000, 16, marks=pytest.mark.middle), (100, 48)])
def test_rows_run_in_launches_and_chains(fake_driver, tmp_path, rows, k):
    made = mmaproof(
        *("record", "cuda", "normal", "-o", "r.npz", "--design", WGMMA, "--rows", rows, "--k", k),
        driver=fake_driver,
        cwd=tmp_path,
    )
    assert (made.returncode, made.stderr) == (0, "")
    answers = read_recording(tmp_path / "r.npz")
    assert answers.batch.a.shape == (rows, k)
    assert answers.d.tolist() == answers.batch.c.tolist()
    assert (answers.design, answers.batch.k) == (WGMMA, k)


@pytest.mark.slow
def test_replay_chooses_the_instruction_that_the_vectors_are_of(fake_driver, tmp_path):
    record = mmaproof("record", "model:" + WGMMA, "normal", "-o", tmp_path / "r.npz")
    assert record.returncode == 0
    replay = mmaproof("replay", tmp_path / "r.npz", "cuda:0", driver=fake_driver)
    assert replay.returncode == 1
    assert "1000 rows run, " in replay.stdout
    assert f"\n{WGMMA}\n" in replay.stdout


@pytest.mark.slow_values(
    "launch-cuda-cuda:0: cuLaunchKernel of the driver failed: CUDA_ERROR_LAUNCH_FAILED",
    "unknown-cuda-is Fake H100 of compute capability 99.0: the catalogue has none of that",
)
@pytest.mark.middle
@pytest.mark.parametrize(
    ("trouble", "target", "text"),
    [
        ("none", "cuda", "cuda:0 is not here: the driver reports 0 GPUs"),
        ("", "cuda:3", "cuda:3 is not here: the driver reports 1 GPUs"),
        ("old", "cuda", "the driver is for CUDA 11.8, NVRTC is "),
        ("unknown", "cuda", "is Fake H100 of compute capability 99.0: the catalogue has none of that"),
        ("launch", "cuda", "cuda:0: cuLaunchKernel of the driver failed: CUDA_ERROR_LAUNCH_FAILED"),
    ],
)
def test_a_driver_in_trouble_is_not_reachable(fake_driver, tmp_path, trouble, target, text):
    made = mmaproof(
        *("record", target, "normal", "-o", tmp_path / "r.npz", "--design", WGMMA), driver=fake_driver, trouble=trouble
    )
    assert (made.returncode, made.stdout, len(made.stderr.splitlines())) == (3, "", 1)
    assert text in made.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.middle
def test_without_a_driver_one_line_says_what_is_missing(tmp_path):
    pytest.importorskip("cuda.bindings", reason="the extra [cuda] is not installed")
    with suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("this machine has a driver of NVIDIA")
    made = mmaproof("record", "cuda", "normal", "-o", tmp_path / "r.npz", "--design", WGMMA)
    assert (made.returncode, made.stdout) == (3, "")
    assert made.stderr == (
        "error: cuda: no driver of NVIDIA on this machine (libcuda.so.1 was not found): install the driver of the GPU\n"
    )


def test_without_the_packages_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(TargetUnavailable, match=r"'cuda-bindings' is not here: pip install 'mmaproof\[cuda\]'$"):
        find_target("cuda")


@pytest.mark.slow
def test_a_standard_recording_keeps_what_it_has_when_launches_fail(fake_driver, tmp_path):
    folder = tmp_path / "made"
    made = mmaproof(
        *("record", "cuda", "--standard", "-o", folder, "--rows", 100, "--design", WGMMA),
        driver=fake_driver,
        trouble="launch",
    )
    assert made.returncode == 3
    assert "cuLaunchKernel of the driver failed" in made.stderr
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["instructions"] == []
    assert "CUDA_ERROR_LAUNCH_FAILED" in summary["problems"][0]


@pytest.mark.parametrize("name", ["cuda:", "cuda:x", "cuda:-1", "cuda:٣"])
def test_gpus_are_counted(name):
    with pytest.raises(InputError, match="counted|unknown target"):
        find_target(name)
