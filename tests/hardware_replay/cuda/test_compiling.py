"""NVRTC: what it rejects and what is missing is said in a way that helps."""

import sys
from types import SimpleNamespace

import pytest

from mmaproof.designs.errors import TargetUnavailable
from mmaproof.hardware_replay.cuda.device import CompilationError, compile_source, nvrtc_version

EMPTY = 'extern "C" __global__ void empty() {}'


def test_cubin_is_an_elf_file(nvrtc: None) -> None:
    assert compile_source(EMPTY, "sm_90a").startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ('extern "C" __global__ void wrong() { undeclared = 1; }', "undeclared"),
        ('extern "C" __global__ void wrong() { asm("mma.sync.nothing;"); }', "'.nothing'"),
    ],
)
def test_source_that_does_not_compile_gives_the_log(nvrtc: None, source: str, named: str) -> None:
    with pytest.raises(CompilationError, match=named):
        compile_source(source, "sm_90a")


@pytest.mark.parametrize(
    ("architecture", "install"),
    [
        ("sm_35", "pip uninstall -y nvidia-cuda-nvrtc; pip install 'cuda-bindings<13'"),
        ("sm_999a", "'mmaproof[cuda]' --upgrade"),
    ],
)
def test_unknown_architecture_names_the_version_and_what_to_install(
    nvrtc: None, architecture: str, install: str
) -> None:
    with pytest.raises(TargetUnavailable) as raised:
        compile_source(EMPTY, architecture)
    major, minor = nvrtc_version()
    assert f"NVRTC {major}.{minor} does not compile for {architecture}" in str(raised.value)
    assert install in str(raised.value)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(TargetUnavailable, match=r"'cuda-bindings' is not here: pip install 'mmaproof\[cuda\]'"):
        compile_source(EMPTY, "sm_90a")


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError('Failure finding "libnvrtc.so.13"\nlooked in many places')

    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(nvrtc=SimpleNamespace(nvrtcVersion=fail)))
    with pytest.raises(TargetUnavailable) as raised:
        compile_source(EMPTY, "sm_90a")
    assert str(raised.value).count("\n") == 0
    assert "libnvrtc.so.13" in str(raised.value)
