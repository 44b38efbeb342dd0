"""The workflow of docs/examples for tolerances: its test passes what a kernel should return, and nothing else."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mmaproof import matmul

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
PLAN = "hopper/wgmma.f32.e4m3.e4m3"
RNG = np.random.default_rng(0)
A, B = (RNG.integers(0, 64, shape, dtype=np.uint8) for shape in ((4, 64), (64, 5)))
C = RNG.normal(size=(4, 5)).astype(np.float32)


def job():
    """The environment and the commands of the job that compares."""
    yaml = pytest.importorskip("yaml")
    held = yaml.safe_load((EXAMPLES / "gemm-tolerance.yml").read_text(encoding="utf-8"))["jobs"]["tolerances"]
    return held["env"], [step["run"] for step in held["steps"] if "run" in step]


def run(folder, results):
    """Run the job's test in a folder with these products; return its exit status and output."""
    environment, (_, command) = job()
    (folder / environment["GEMM_RESULTS"]).mkdir()
    for name, d in results.items():
        np.savez(folder / environment["GEMM_RESULTS"] / f"{name}.npz", a=A, b=B, c=C, d=d, plan=PLAN)
    (folder / "test_gemm_tolerance.py").write_bytes((EXAMPLES / "test_gemm_tolerance.py").read_bytes())
    words = shlex.split(command)
    assert words[0] == "pytest"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "mmaproof.gemm.tolerances.plugin", "-c", os.devnull, *words[1:]],
        cwd=folder,
        env=os.environ | environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.middle
def test_the_workflow_fails_for_a_wrong_product_and_for_none(tmp_path):
    right, lost = matmul(PLAN, A, B, C), matmul(PLAN, A[:, :32], B[:32], C)
    for name in ("both", "none"):
        (tmp_path / name).mkdir()
    status, out = run(tmp_path / "both", {"right": right, "lost": lost})
    assert status == 1, out
    assert "1 failed, 2 passed" in out
    assert "test_a_product_is_within_its_bound[lost]" in out
    assert "k-block" in out
    assert {x.name for x in (tmp_path / "both").iterdir()} >= {"tolerances.html", "tolerances.xml"}
    status, out = run(tmp_path / "none", {})
    assert status == 1, out
    assert "no .npz file in" in out


def test_every_job_states_its_rights_and_its_end():
    yaml = pytest.importorskip("yaml")
    files = sorted(EXAMPLES.glob("*.yml"))
    assert len(files) == 2
    for file in files:
        held = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert held["permissions"] == {"contents": "read"}
        assert all(x["timeout-minutes"] <= 60 for x in held["jobs"].values())
