"""Operands of other types, rounded to the formats of a design where the user has asked for it."""

from __future__ import annotations

import math
from enum import StrEnum

import torch

from mmaproof.designs.formats import Format
from mmaproof.torch.dtypes import HELD_AS_PATTERNS, describe, dtype_of
from mmaproof.torch.errors import EmulationError

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
