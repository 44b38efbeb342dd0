"""Who does not have PyTorch is told what to install, and who has it does not load it by accident."""

import subprocess
import sys

import pytest

MISSING = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "{name}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import mmaproof.torch
"""


def run(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


def test_the_error_says_what_to_install() -> None:
    ended = run(MISSING.format(name="torch"))
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last == (
        "ModuleNotFoundError: mmaproof.torch needs PyTorch, which is not installed: pip install 'mmaproof[torch]'"
    )


def test_another_missing_module_is_not_blamed_on_pytorch() -> None:
    pytest.importorskip("torch", reason="without PyTorch nothing below it is missing")
    last = run(MISSING.format(name="torch._C")).stderr.splitlines()[-1]
    assert "mmaproof[torch]" not in last


def test_the_package_itself_does_not_load_pytorch() -> None:
    ended = run("import sys, mmaproof\nmmaproof.find_design('volta/f32.f16.f16.f32')\nsys.exit('torch' in sys.modules)")
    assert ended.returncode == 0, ended.stderr
