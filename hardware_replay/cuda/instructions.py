"""Every instruction of NVIDIA's architectures as a kernel."""

from __future__ import annotations

from collections.abc import Callable

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.cuda import mma_sync, tcgen05, wgmma
from mmaproof.hardware_replay.kernels.kernel import Kernel

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
