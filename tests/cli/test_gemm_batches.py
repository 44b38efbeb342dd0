"""`gemm check batch-invariance` of a kernel: what a person and a program read."""

from support.commands import only_json

KERNEL = """
import numpy as np

def matmul(a, b, parts=None):
    x, y = a.astype(np.float32), b.astype(np.float32)
    parts = parts or (2 if len(a) >= 100 else 1)
    total = np.zeros((len(a), b.shape[1]), dtype=np.float32)
    for first in range(parts):
        part = np.zeros_like(total)
        for i in range(first, a.shape[1], parts):
            part = part + x[:, i, None] * y[i]
        total = total + part
    return total

def fixed(a, b):
    return matmul(a, b, 1)
"""


def test_the_rows_at_which_a_kernel_changes_its_plan(run, tmp_path, monkeypatch):
    (tmp_path / "batch_kernels.py").write_text(KERNEL, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    options = ("--unit", "hopper/wgmma.f32.bf16.bf16", "--k", 16)
    status, out, err = run("gemm", "check", "batch-invariance", "python:batch_kernels:matmul", *options)
    assert (status, err) == (1, "")
    assert out.startswith("violated: batch-invariance of python:batch_kernels:matmul")
    assert "the bits of a row change at M = 100" in out
    status, out, _ = run("gemm", "check", "batch-invariance", "python:batch_kernels:fixed", *options, "--json")
    record = only_json(out)
    assert status == 0
    assert record["invariant"] is record["deterministic"] is True
    assert record["changes"] == []
    assert record["witness"] is None


def test_a_kernel_needs_formats(run):
    status, _, err = run("gemm", "check", "batch-invariance", "python:batch_kernels:matmul")
    assert status == 2
    assert "--unit DESIGN" in err
