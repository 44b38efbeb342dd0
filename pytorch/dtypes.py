"""Number formats as PyTorch has them, and tensors as bit patterns. Both share memory; nothing is rounded.

Operands of other types are rounded to the formats of a design only where the user has asked for it.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
import torch

from mmaproof.designs.errors import EmulationError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns, patterns_of

_NAMED = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "e5m2": torch.float8_e5m2,
    "e4m3": torch.float8_e4m3fn,
    "e5m2fnuz": torch.float8_e5m2fnuz,
    "e4m3fnuz": torch.float8_e4m3fnuz,
    "e8m0": torch.float8_e8m0fnu,
    "ue4m3": torch.float8_e4m3fn,
    "int32": torch.int32,
    "int8": torch.int8,
    "uint8": torch.uint8,
}

DTYPES = {name: _NAMED.get(name, torch.uint8) for name in FORMATS}
"""The type of a tensor that holds numbers of a format. Formats that PyTorch lacks are held as patterns in uint8."""

HELD_AS_PATTERNS = frozenset(FORMATS) - frozenset(_NAMED)
"""Formats of 4 and 6 bits: a tensor of uint8 holds the pattern of one number in each byte."""

_UNSIGNED = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}


def dtype_of(fmt: Format) -> torch.dtype:
    """Return the type of a tensor that holds numbers of ``fmt``."""
    return DTYPES[fmt.name]


def describe(fmt: Format) -> str:
    """Return what a tensor of ``fmt`` is, for a message."""
    if fmt.name in HELD_AS_PATTERNS:
        return f"torch.uint8 with the pattern of one {fmt.name} number in each byte"
    return str(dtype_of(fmt))


def patterns_in(tensor: torch.Tensor) -> Patterns:
    """Return the bit patterns of a CPU tensor as an array of unsigned integers that shares its memory."""
    patterns: Patterns = tensor.detach().view(_UNSIGNED[tensor.dtype.itemsize]).numpy()
    return patterns


def tensor_of(numbers: np.ndarray, fmt: Format) -> torch.Tensor:
    """Return numbers of ``fmt`` (an array of their type, or patterns) as a tensor that shares their memory."""
    return torch.from_numpy(np.ascontiguousarray(patterns_of(numbers, fmt))).view(dtype_of(fmt))


def check_tensor(name: str, tensor: object) -> None:
    """Raise EmulationError for a tensor whose numbers are not plain numbers in this machine's memory."""
    if not isinstance(tensor, torch.Tensor):
        kind = f"{type(tensor).__module__}.{type(tensor).__qualname__}".removeprefix("builtins.")
        remedy = (
            "torch.from_numpy makes one of an array" if isinstance(tensor, np.ndarray) else "torch.tensor makes one"
        )
        raise EmulationError(f"{name} is a {kind}, and no tensor of PyTorch: {remedy}")
    if tensor.device.type != "cpu":
        raise EmulationError(f"{name} is on {tensor.device}: products are emulated on the CPU; move it with .cpu()")
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized:
        kind = "nested" if tensor.is_nested else "quantized" if tensor.is_quantized else str(tensor.layout)
        raise EmulationError(f"{name} is a {kind} tensor: only dense tensors are emulated; convert it yourself")
    if tensor.dtype.is_complex:
        raise EmulationError(
            f"{name} is {tensor.dtype}: no unit multiplies complex numbers; "
            "multiply real and imaginary parts (torch.view_as_real) as four products"
        )


_FROM = (torch.float32, torch.bfloat16, torch.float16)
"""Types that are cast. PyTorch rounds float64 to a narrow type by way of float32, that is, twice."""


class Cast(StrEnum):
    """How an operand that is not of the design's format becomes one."""

    NEVER = "never"
    """it raises"""
    NEAREST = "nearest"
    """it is rounded as ``Tensor.to`` rounds: to nearest, ties to even, and too large for e4m3 becomes its largest"""
    SCALED = "scaled"
    """each matrix is first multiplied by the largest power of two with which all its finite numbers fit, and d is
    divided again; an infinity becomes NaN in a format that has none"""


def cast_operand(name: str, tensor: torch.Tensor, fmt: Format, cast: Cast) -> tuple[torch.Tensor, int]:
    """Return ``tensor`` in ``fmt``, and the exponent of the power of two that it was multiplied by.

    A tensor that is of the format already is returned as it is. Raises EmulationError for what is not cast.
    """
    wanted = dtype_of(fmt)
    if tensor.dtype == wanted:
        return tensor, 0
    if cast is Cast.NEVER:
        raise EmulationError(
            f"{name} is {tensor.dtype}, and the design takes {describe(fmt)}: convert it yourself, or let "
            'cast="nearest" or cast="scaled" round it'
        )
    if tensor.dtype not in _FROM or not wanted.is_floating_point or fmt.name in HELD_AS_PATTERNS:
        raise EmulationError(
            f"{name} is {tensor.dtype}, which is not cast to {describe(fmt)}: "
            "float32, bfloat16 and float16 are cast to floating-point formats of 8 bits or more"
        )
    if cast is Cast.NEAREST:
        return tensor.to(wanted), 0
    exponent = _fitting_exponent(tensor, fmt)
    # exact in float64, and again in float32 but for numbers far below the smallest of the format
    scaled = (tensor.double() * math.ldexp(1.0, exponent)).float()
    if fmt.infinity is None:
        scaled[scaled.isinf()] = torch.nan  # PyTorch would make it the largest number
    return scaled.to(wanted), exponent


def scale_back(d: torch.Tensor, exponent: int) -> torch.Tensor:
    """Return ``d * 2**-exponent``, rounded once to d's type where the result is subnormal."""
    return (d.double() * math.ldexp(1.0, -exponent)).to(d.dtype) if exponent else d


def _fitting_exponent(tensor: torch.Tensor, fmt: Format) -> int:
    """Return the largest exponent with which every finite number of ``tensor`` stays within ``fmt``."""
    magnitudes = tensor.detach().double().abs()
    largest = float(magnitudes[magnitudes.isfinite()].amax()) if bool(magnitudes.isfinite().any()) else 0.0
    if not largest:
        return 0
    fraction, exponent = math.frexp(largest)
    limit_fraction, limit_exponent = math.frexp(float(fmt.largest))
    return limit_exponent - exponent - (fraction > limit_fraction)
