"""A GPU of this machine, through NVIDIA's driver: compiles and runs the kernels of its instructions."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay.cuda import mma_sync, tcgen05, wgmma
from mmaproof.hardware_replay.cuda.mma_sync import rejected
from mmaproof.hardware_replay.kernels.kernel import OPERANDS, Kernel, Words

_INSTALL = "pip install 'mmaproof[cuda]'"
CUDA_12 = "pip uninstall -y nvidia-cuda-nvrtc; pip install 'cuda-bindings<13' nvidia-cuda-nvrtc-cu12"
"""How to get the packages of CUDA 12: they do not take the place of NVRTC 13, which is found first."""


class CompilationError(RuntimeError):
    """A kernel of this package does not compile (an internal error); the text is NVRTC's."""


def compile_kernels(kernels: Sequence[Kernel]) -> bytes:
    """Return the cubin of one program with ``kernels``, which are of one architecture; see ``compile_source``.

    NVRTC compiles: no GPU, driver or toolkit is needed. A program is one translation unit. All kernels for an
    architecture in one program compile faster than one by one.
    """
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


_KINDS: dict[str, Callable[[Design], Kernel]] = {
    "mma": mma_sync.kernel,
    "wgmma": wgmma.kernel,
    "tcgen05": tcgen05.kernel,
}

ARCHITECTURES = (
    *("volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx-blackwell"),
    *("blackwell-ultra", "gb10"),
)
"""The architectures of the catalogue whose instructions are NVIDIA's and can be compiled for."""


def kernel_of(design: Design) -> Kernel:
    """Return the kernel of an instruction; InputError for a design that is none of NVIDIA's, or a changed one."""
    if design.architecture not in ARCHITECTURES:
        raise InputError(f"{design.name} is not an instruction of an NVIDIA GPU: {', '.join(ARCHITECTURES)} are")
    if design.name != design.base_name:
        raise InputError(f"{design.name} has parameters changed: a GPU runs {design.base_name}")
    return _KINDS[design.instruction.split(".")[0]](design)


_ROWS_AT_ONCE = 1 << 15
"""Dot products of one launch: what packs them stays below half a GB."""


class CudaDevice:
    """GPU ``number`` of this machine.

    ``about`` is its name, its compute capability and NVRTC, and what the driver is for; ``designs`` are the
    instructions of the catalogue that it has.
    """

    def __init__(self, number: int, driver: ModuleType) -> None:
        self.number = number
        self._driver = driver
        self._functions: dict[str, Any] = {}
        self._call("cuInit", 0)
        count = self._call("cuDeviceGetCount")
        if number >= count:
            raise TargetUnavailable(f"cuda:{number} is not here: the driver reports {count} GPUs, counted from 0")
        device = self._call("cuDeviceGet", number)
        self._call("cuCtxSetCurrent", self._call("cuDevicePrimaryCtxRetain", device))
        name = self._call("cuDeviceGetName", 256, device).split(b"\0", 1)[0].decode(errors="replace")
        attribute = driver.CUdevice_attribute
        major, minor = (
            self._call("cuDeviceGetAttribute", x, device)
            for x in (
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.about = (name, f"compute capability {major}.{minor}, {self._compiler()}", f"CUDA {self._cuda()}")
        self.designs = _designs_of(major, minor)
        if not self.designs:
            raise TargetUnavailable(
                f"cuda:{number} is {name} of compute capability {major}.{minor}: the catalogue has none of that"
            )

    def run(self, design: Design, batch: OperandBatch) -> Patterns:
        """Return d of operands whose k is a multiple of the instruction's: the d of one is the c of the next.

        Raises InputError for a chain of an instruction whose c and d differ in format.
        """
        kernel = kernel_of(design)
        parts = [batch.select(slice(x, x + _ROWS_AT_ONCE)) for x in range(0, len(batch), _ROWS_AT_ONCE)]
        nothing = np.empty(0, dtype=pattern_dtype(design.d_format))
        return np.concatenate([nothing, *(self._chain(kernel, part) for part in parts)])

    def _chain(self, kernel: Kernel, batch: OperandBatch) -> Patterns:
        steps = kernel.steps(batch)
        words = self._launch(kernel, next(steps))
        for operands in steps:
            words = self._launch(kernel, operands | {"c": words})
        return kernel.unpack(words, len(batch))

    def _launch(self, kernel: Kernel, packed: dict[str, Words]) -> Words:
        """Return the words of D, shape (tiles, words)."""
        function = self._function(kernel)
        tiles = len(packed["c"])
        d = np.zeros((tiles, kernel.fragments["d"].words), dtype=np.uint32)
        pointers: dict[str, Any] = {}
        try:
            for name, words in (packed | {"d": d}).items():
                pointers[name] = self._call("cuMemAlloc", words.nbytes)
                self._call("cuMemcpyHtoD", pointers[name], words.ctypes.data, words.nbytes)
            values = tuple(int(pointers.get(name, 0)) for name in (*OPERANDS, "d"))
            types = (ctypes.c_void_p,) * len(values)
            grid, block = (tiles, 1, 1), (kernel.threads, 1, 1)
            self._call("cuLaunchKernel", function, *grid, *block, 0, 0, (values, types), 0)
            self._call("cuMemcpyDtoH", d.ctypes.data, pointers["d"], d.nbytes)
        finally:
            for pointer in pointers.values():
                self._driver.cuMemFree(pointer)
        return d

    def _function(self, kernel: Kernel) -> Any:
        """Return the kernel, loaded on the device; it is compiled the first time."""
        if kernel.name not in self._functions:
            module = self._call("cuModuleLoadData", compile_kernels([kernel]))
            self._functions[kernel.name] = self._call("cuModuleGetFunction", module, kernel.name.encode())
        return self._functions[kernel.name]

    def _cuda(self) -> str:
        """Return the version of CUDA that the driver is for."""
        version = self._call("cuDriverGetVersion")
        return f"{version // 1000}.{version % 1000 // 10}"

    def _compiler(self) -> str:
        """Return the compiler of the kernels, which decides what fp8 of mma.sync is on sm_90.

        Raises TargetUnavailable where it is newer than the driver.
        """
        major, minor = nvrtc_version()
        if major > int(self._cuda().split(".")[0]):
            raise TargetUnavailable(
                f"cuda:{self.number}: the driver is for CUDA {self._cuda()}, NVRTC is {major}.{minor}: "
                f"update the driver, or {CUDA_12}"
            )
        return f"NVRTC {major}.{minor}"

    def _call(self, name: str, *arguments: Any) -> Any:
        """Return what a function of the driver returns besides its status. TargetUnavailable where it fails."""
        function: Callable[..., Sequence[Any]] = getattr(self._driver, name)
        status, *values = function(*arguments)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise TargetUnavailable(f"cuda:{self.number}: {name} of the driver failed: {status.name}")
        return values[0] if values else None


def _designs_of(major: int, minor: int) -> tuple[Design, ...]:
    """Return NVIDIA's designs of a compute capability; machine code for 8.0 runs on 8.6 too, which has no rows."""
    catalogue = load_catalogue()
    exact, compatible = f"sm_{major}{minor}", f"sm_{major}0"
    for target in (exact, compatible):
        names = {x.name for x in catalogue.architectures.values() if target in x.targets and x.name in ARCHITECTURES}
        found = tuple(x for x in catalogue.designs.values() if x.architecture in names and rejected(x) is None)
        if found and (target == exact or not kernel_of(found[0]).architecture.endswith("a")):
            return found
    return ()


def open_device(number: str) -> CudaDevice:
    """Return the GPU of a number ("" is 0).

    Raises InputError for what is not a number, TargetUnavailable where packages, driver or GPU are missing.
    """
    if number and not (number.isascii() and number.isdigit()):
        raise InputError(f"cuda:{number}: GPUs are counted: cuda, cuda:0, cuda:1, ...")
    try:
        from cuda.bindings import driver  # noqa: PLC0415 - in the extra [cuda]
    except ImportError:
        raise TargetUnavailable(
            "cuda: the Python package 'cuda-bindings' is not here: pip install 'mmaproof[cuda]'"
        ) from None
    try:
        driver.cuInit(0)
    except RuntimeError:  # the library is looked for at the first call
        raise TargetUnavailable(
            "cuda: no driver of NVIDIA on this machine (libcuda.so.1 was not found): install the driver of the GPU"
        ) from None
    return CudaDevice(int(number or "0"), driver)
