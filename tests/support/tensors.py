"""Tensors for the tests of mmaproof.torch, and what mmaproof.matmul makes of the same numbers on NumPy's arrays."""

from typing import Any

import torch

from mmaproof import array_of, find_design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import array_dtype, patterns_of
from mmaproof.hardware_replay.emulation import matmul

VOLTA = "volta/mma.m8n8k4.f16.f16.f16.f16"
"""Rounds to fp16 after every four products, so that nothing else computes what it does."""
HOPPER = "hopper/wgmma.f32.f16.f16"
HOPPER_FP8 = "hopper/wgmma.f32.e4m3.e4m3"


def drawn(*shape: int, dtype: torch.dtype = torch.float16, seed: int = 0, size: float = 8.0) -> torch.Tensor:
    """Return normal random numbers times ``size``, rounded to ``dtype``."""
    generator = torch.Generator().manual_seed(seed + sum(31**i * n for i, n in enumerate(shape)))
    return (torch.randn(*shape, generator=generator) * size).to(dtype)


def bits(tensor: torch.Tensor) -> Any:
    """Return the patterns of a tensor as nested lists, so that the zeros and NaNs of two results are compared too."""
    sized = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.detach().contiguous().view(sized[tensor.dtype.itemsize]).tolist()


def numbers(tensor: torch.Tensor, fmt: Format) -> Any:
    """Return the numbers of a tensor as an array of the format's type, by value."""
    held = tensor.detach().double().numpy()
    return held.astype(array_dtype(fmt))


def expected(design: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None = None) -> torch.Tensor:
    """Return what mmaproof.matmul returns for two matrices of the design's types, as a tensor of d's type."""
    found = find_design(design)
    of_c = None if c is None else numbers(c, found.c_format)
    d = matmul(found, numbers(a, found.a_format), numbers(b, found.b_format), of_c)
    held = array_of(patterns_of(d, found.d_format), found.d_format)
    exact: torch.Tensor = torch.tensor(held.astype("float64"))
    return exact.to({16: torch.float16, 32: torch.float32, 64: torch.float64}[found.d_format.bits])
