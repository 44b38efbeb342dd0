"""Products of PyTorch tensors as a design computes them: ``mmaproof.torch.matmul`` and ``mmaproof.torch.emulating``.

Needs PyTorch, which is the extra ``[torch]``. docs/pytorch.md says what is emulated, what is refused, and how types
meet.
"""

from __future__ import annotations

try:
    import torch as _torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "mmaproof.torch needs PyTorch, which is not installed: pip install 'mmaproof[torch]'", name="torch"
    ) from error

from mmaproof.designs.errors import EmulationError
from mmaproof.torch.context import emulating
from mmaproof.torch.operators import matmul

__all__ = ["EmulationError", "emulating", "matmul"]

del _torch
