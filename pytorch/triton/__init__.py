"""Kernels of Triton on a design or a plan: ``mmaproof.torch.triton.emulating`` (docs/triton.md).

Needs Triton and its interpreter: set ``TRITON_INTERPRET=1`` before Triton and PyTorch are imported.
"""

from __future__ import annotations

try:
    import triton as _triton
except ModuleNotFoundError as error:
    if error.name != "triton":
        raise
    raise ModuleNotFoundError(
        "mmaproof.torch.triton needs Triton, which is not installed: pip install triton torch", name="triton"
    ) from error

from mmaproof.designs.errors import EmulationError
from mmaproof.torch.triton.context import emulating

__all__ = ["EmulationError", "emulating"]

del _triton
