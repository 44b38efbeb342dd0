"""What the tests of all kernels share: the disassembly of kernels that NVRTC has compiled."""

import re
import subprocess
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from mmaproof.hardware_replay.cuda.device import compile_kernels
from mmaproof.hardware_replay.kernels.kernel import Kernel

Disassemble = Callable[[Sequence[Kernel]], dict[str, str]]


@pytest.fixture(scope="session")
def nvrtc() -> None:
    pytest.importorskip("cuda.bindings", reason="the package cuda-bindings is not here: nothing can be compiled")


@pytest.fixture(scope="session")
def nvdisasm() -> Path:
    try:
        files = distribution("nvidia-cuda-nvdisasm").files or []
    except PackageNotFoundError:
        pytest.skip("the package nvidia-cuda-nvdisasm is not here: the machine code cannot be read")
    return next(Path(str(x.locate())) for x in files if x.stem == "nvdisasm")


@pytest.fixture(scope="session")
def disassemble(nvrtc: None, nvdisasm: Path, tmp_path_factory: pytest.TempPathFactory) -> Disassemble:
    """The machine code of kernels of one architecture, compiled as one program, by the name of each."""

    def text_of(kernels: Sequence[Kernel]) -> dict[str, str]:
        cubin = tmp_path_factory.mktemp("cubin") / f"{kernels[0].architecture}.cubin"
        cubin.write_bytes(compile_kernels(kernels))
        ended = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, timeout=300, check=True)
        # what is before the first section, then name and text of each
        parts = re.split(r"^\s*\.section\s+\.text\.(\w+),.*$", ended.stdout, flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2], strict=True))

    return text_of
