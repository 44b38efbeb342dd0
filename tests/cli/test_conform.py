"""`mmaproof conform`: what a person reads, what programs read, and what is refused."""

import json


def test_the_command(run):
    status, out, _ = run("conform", "tosa", "ampere/f32.f16.f16.f32", "--k", 512, "--up-to", 2047)
    assert status == 1
    assert "K = 512, 32 x 32 results: conforms" in out
    assert "K = 1024, 32 x 32 results: does not conform" in out
    assert "fails, element [" in out
    status, out, _ = run("conform", "tosa", "volta/f32.f16.f16.f32", "--k", 16, "--json")
    answer = json.loads(out)
    assert (status, answer["lengths"][0]["conforms"], answer["accumulator"]) == (0, True, "fp32")
    for arguments, message in (
        (["iec"], "unknown standard 'iec': one of tosa, p3109, ime, stablehlo, mx"),
        (["mx"], "MX is about scales of blocks: a plan whose unit has them is needed"),
        (["tosa", "--interface", "f32.f16.f16"], "--interface is of kernels"),
    ):
        status, _, err = run("conform", arguments[0], "volta/f32.f16.f16.f32", "--k", 16, *arguments[1:])
        assert status == 2
        assert message in err


def test_a_kernel_of_a_user(run, tmp_path, monkeypatch):
    (tmp_path / "of_a_user.py").write_text(
        "import numpy as np\n"
        "def wide(a, b):\n    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)\n"
        "def narrow(a, b):\n    return (a @ b).astype(np.float16).astype(np.float32)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    kernel, options = "python:of_a_user", ["--k", 64, "--interface", "f32.f16.f16"]
    assert run("conform", "tosa", f"{kernel}:wide", *options)[0] == 0
    assert run("conform", "tosa", f"{kernel}:narrow", *options)[0] == 1
    assert "--interface is required" in run("conform", "tosa", f"{kernel}:wide", "--k", 64)[2]
