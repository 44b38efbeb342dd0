"""Compilation of kernels to machine code, with NVRTC: no GPU, driver or toolkit is needed.

A program is one translation unit. All kernels for an architecture in one program compile faster than one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mmaproof.designs.errors import TargetUnavailable
from mmaproof.hardware_replay.kernels.kernel import Kernel

_INSTALL = "pip install 'mmaproof[cuda]'"
CUDA_12 = "pip uninstall -y nvidia-cuda-nvrtc; pip install 'cuda-bindings<13' nvidia-cuda-nvrtc-cu12"
"""How to get the packages of CUDA 12: they do not take the place of NVRTC 13, which is found first."""


class CompilationError(RuntimeError):
    """A kernel of this package does not compile (an internal error); the text is NVRTC's."""


def compile_kernels(kernels: Sequence[Kernel]) -> bytes:
    """Return the cubin of one program with ``kernels``, which are of one architecture; see ``compile_source``."""
    (architecture,) = {kernel.architecture for kernel in kernels}
    return compile_source("\n".join(kernel.source for kernel in kernels), architecture)


def compile_source(source: str, architecture: str, *, device_int128: bool = False) -> bytes:
    """Return the cubin of CUDA C++ for ``architecture`` (``sm_90a``), with integers of 128 bits where asked.

    Raises TargetUnavailable where NVRTC is missing or does not know the architecture, CompilationError for a source
    that it rejects.
    """
    nvrtc = _load()
    _check_architecture(nvrtc, architecture)
    program = _succeed(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], []))
    try:
        options = [f"--gpu-architecture={architecture}".encode(), *([b"--device-int128"] if device_int128 else [])]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = bytes(_succeed(nvrtc, nvrtc.nvrtcGetProgramLogSize(program)))
            _succeed(nvrtc, nvrtc.nvrtcGetProgramLog(program, log))
            text = log.decode(errors="replace").rstrip("\0")
            raise CompilationError(f"NVRTC rejects a kernel for {architecture} ({status.name}):\n{text}")
        cubin = bytes(_succeed(nvrtc, nvrtc.nvrtcGetCUBINSize(program)))
        _succeed(nvrtc, nvrtc.nvrtcGetCUBIN(program, cubin))
        return cubin
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def nvrtc_version() -> tuple[int, int]:
    """Return the version of NVRTC. Raises TargetUnavailable where it is missing."""
    return _version(_load())


def _load() -> Any:
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415 - in the extra [cuda]
    except ImportError:
        raise TargetUnavailable(f"the Python package 'cuda-bindings' is not here: {_INSTALL}") from None
    try:
        _version(nvrtc)
    except RuntimeError as error:  # a subclass that some versions of the package do not have
        first_line = str(error).split("\n", 1)[0]
        raise TargetUnavailable(f"the library NVRTC is not here ({first_line}): {_INSTALL}") from None
    return nvrtc


def _version(nvrtc: Any) -> tuple[int, int]:
    _, major, minor = nvrtc.nvrtcVersion()
    return major, minor


def _succeed(nvrtc: Any, returned: tuple[Any, ...]) -> Any:
    """Return what a function of NVRTC returned besides its status, which must be success."""
    status, *values = returned
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC: {status.name}")
    return values[0] if values else None


def _check_architecture(nvrtc: Any, architecture: str) -> None:
    """Raise TargetUnavailable for an architecture that this NVRTC does not compile for."""
    known = _succeed(nvrtc, nvrtc.nvrtcGetSupportedArchs())
    found = re.fullmatch(r"sm_(\d+)[af]?", architecture)
    if found is None:
        raise ValueError(f"{architecture!r} is not an architecture: sm_75, sm_90a, ...")
    number = int(found[1])
    if number in known:
        return
    version = ".".join(map(str, _version(nvrtc)))
    install = CUDA_12 if number < min(known) else f"{_INSTALL} --upgrade"
    raise TargetUnavailable(
        f"NVRTC {version} does not compile for {architecture}: it knows sm_{min(known)} to sm_{max(known)}; {install}"
    )
