"""The package mmasim as a target: it returns what its profile returns, on every instruction that both have.

MMAPROOF_MMASIM may name a Python that has the package, if this one has not.
"""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.vectors import rows_for
from mmaproof.hardware_replay.process import ProcessTarget
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

PYTHON = os.environ.get("MMAPROOF_MMASIM", sys.executable)
TARGET = Path(__file__).parents[2] / "docs" / "examples" / "mmasim_target.py"
ASK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('mmasim') is None)"
HELD = subprocess.run([PYTHON, "-c", ASK], check=False).returncode == 0

needs_mmasim = pytest.mark.skipif(
    not HELD, reason=f"{PYTHON} has no package mmasim: pip install mmasim==2.1.1 (5 GB with PyTorch), or name another "
    "Python in MMAPROOF_MMASIM"
)  # fmt: skip

ONE_OF_EACH_KIND = [
    "volta/mma.m8n8k4.f32.f16.f16.f16",
    *(
        pytest.param(name, marks=pytest.mark.middle)
        for name in (
            "rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3",
            "rtx-blackwell/mma.m16n8k32.f32.e2m1.e3m2.f32",
            "cdna3/v_mfma_f32_16x16x32_fp8_bf8",
            "cdna3/v_mfma_f64_16x16x4_f64",
        )
    ),
]
QUICK = 10
"""Rows of each distribution in the quick test."""


def operands(design, rows):
    """Rows of every distribution, and of zeros of both signs beside them."""
    rng = np.random.default_rng(sum(map(ord, design.name)))
    return OperandBatch.concatenate([draw(name, design, rows, design.k, rng) for name in DISTRIBUTIONS])


def differences(design, batch, d):
    """The rows on which the profile returns something else."""
    return np.flatnonzero(~equal_patterns(design.d_format, d, evaluate_batch(design, batch))).tolist()


@needs_mmasim
@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_the_target_returns_what_the_profile_returns(name):
    design = find_design(f"{name}@as=mma-sim-2")
    batch = operands(design, QUICK)
    ran = ProcessTarget(shlex.join([PYTHON, str(TARGET)]), 300.0).run(rows_for(design, batch, "drawn"))
    assert ran.problem is None
    assert not differences(design, batch, ran.d)


@needs_mmasim
@pytest.mark.middle
def test_it_says_what_it_lacks():
    design = find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32")
    ran = ProcessTarget(shlex.join([PYTHON, str(TARGET)]), 300.0).run(rows_for(design, operands(design, 1), "drawn"))
    assert ran.problem is not None
    assert f"mmasim has no operation for {design.name}" in ran.problem


@pytest.fixture(scope="module")
def package():
    """The example as a module of this process."""
    if importlib.util.find_spec("mmasim") is None:
        pytest.skip(f"{sys.executable} has no package mmasim: pip install mmasim==2.1.1 (5 GB with PyTorch)")
    spec = importlib.util.spec_from_file_location("mmasim_target", TARGET)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_instruction_that_both_have_on_2000_rows(package):
    compared = 0
    for name in load_catalogue().designs:
        operation = package.operation(name)
        if operation is None:
            continue
        design = find_design(f"{name}@as=mma-sim-2")
        batch = operands(design, 2000 // len(DISTRIBUTIONS))
        columns = {x: getattr(batch, x) for x in ("a", "b", "c", "scale_a", "scale_b") if getattr(batch, x) is not None}
        rows = [
            {x: package.integers([hex(y) for y in np.ravel(column[i]).tolist()]) for x, column in columns.items()}
            for i in range(len(batch))
        ]
        for row in rows:
            row["c"] = row["c"][0]
        d = np.array(package.answer(operation, rows), dtype=np.uint64)
        assert not differences(design, batch, d.astype(evaluate_batch(design, batch.select(slice(1))).dtype)), name
        compared += 1
    assert compared >= 316
