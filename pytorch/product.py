"""The numbers of a product: tensors in, one tensor of d's type out. All arithmetic of the unit is mmaproof.matmul's."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, EmulationError
from mmaproof.designs.operands import Patterns
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.torch import dtypes
from mmaproof.torch.settings import Multiplier, Planned


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a product runs on a design. Raises DesignError if the design does not allow it."""

    design: Multiplier
    cast: dtypes.Cast = dtypes.Cast.NEVER
    promote_every: int = 0
    """elements of k after which the sum leaves the unit and is added in d's format outside it; 0 for never"""
    c_outside: bool = False
    """whether c is added outside the unit, in d's format and rounded to nearest"""

    def __post_init__(self) -> None:
        if self.promote_every and isinstance(self.design, Planned):
            raise DesignError(f"promote_every and the plan {self.design.name}: a plan says where sums leave the unit")
        if self.promote_every < 0 or self.promote_every % self.design.k:
            raise DesignError(
                f"promote_every = {self.promote_every} is not a multiple of the K = {self.design.k} of "
                f"{self.design.base_name}: a sum leaves the unit between two instructions"
            )
        if self.promote_every and self.design.d_format.name not in {"fp32", "fp64"}:
            raise DesignError(
                f"promote_every needs sums of fp32 or fp64, and {self.design.base_name} returns "
                f"{self.design.d_format.name}"
            )

    @property
    def adds_c_outside(self) -> bool:
        """Whether c never enters the unit. A sum of scaled operands has another scale than c."""
        no_place = isinstance(self.design, Planned) and not self.design.reads_c
        return self.c_outside or self.cast is dtypes.Cast.SCALED or no_place


def result_shape(a: torch.Tensor, b: torch.Tensor) -> tuple[int, ...]:
    """Return the shape (..., M, N) of a product. EmulationError says which shapes are needed."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise EmulationError(f"shapes a {tuple(a.shape)}, b {tuple(b.shape)}: (..., M, K) and (..., K, N) needed")
    try:
        batch = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    except ValueError:
        raise EmulationError(
            f"leading dimensions of a {tuple(a.shape)} and b {tuple(b.shape)} do not broadcast"
        ) from None
    return (*batch, a.shape[-2], b.shape[-1])


def _check_c(c: torch.Tensor, shape: tuple[int, ...]) -> None:
    try:
        fits = np.broadcast_shapes(tuple(c.shape), shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise EmulationError(f"c has shape {tuple(c.shape)}, which does not broadcast to that of the result, {shape}")


def product(
    recipe: Recipe,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None = None,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return ``c + a @ b`` of shape (..., M, N) as the recipe's design computes it, in the type of d.

    ``a`` is (..., M, K), ``b`` (..., K, N), and ``c`` broadcasts to (..., M, N); None means +0. The scales of a design
    that has them are (..., M, blocks) and (..., blocks, N). A K above the instruction's that is not a multiple of it is
    padded with +0. As many threads compute as PyTorch uses. Raises EmulationError and what mmaproof.matmul raises.
    """
    for name, tensor in (("a", a), ("b", b), ("c", c), ("scale_a", scale_a), ("scale_b", scale_b)):
        if tensor is not None:
            dtypes.check_tensor(name, tensor)
    design, shape = recipe.design, result_shape(a, b)
    if c is not None:
        _check_c(c, shape)
    a, exponent_a = dtypes.cast_operand("a", a, design.a_format, recipe.cast)
    b, exponent_b = dtypes.cast_operand("b", b, design.b_format, recipe.cast)
    _check_scales(design, scale_a, scale_b)
    outside = recipe.adds_c_outside or bool(recipe.promote_every)
    inside = None if c is None or outside else _as_c(recipe, c).expand(shape)
    if not a.shape[-1]:
        start = torch.zeros(shape, dtype=dtypes.dtype_of(design.d_format)) if inside is None else inside
        d = start.to(dtypes.dtype_of(design.d_format), copy=True)
    else:
        d = _batches(recipe, shape, a, b, (inside, scale_a, scale_b))
    d = dtypes.scale_back(d, exponent_a + exponent_b)
    return (d + c).to(d.dtype) if c is not None and outside else d


def _batches(
    recipe: Recipe, shape: tuple[int, ...], a: torch.Tensor, b: torch.Tensor, others: tuple[torch.Tensor | None, ...]
) -> torch.Tensor:
    """Return d of shape ``shape``, one matrix product after the other."""
    batch = shape[:-2]
    a, b = (x.expand(*batch, *x.shape[-2:]) for x in (a, b))
    spread = [None if x is None else x.expand(*batch, *x.shape[-2:]) for x in others]
    d = torch.empty(shape, dtype=dtypes.dtype_of(recipe.design.d_format))
    if d.numel():
        for at in itertools.product(*map(range, batch)):
            rest = (None if x is None else dtypes.patterns_in(x[at]) for x in spread)
            d[at] = _matrix(recipe, dtypes.patterns_in(a[at]), dtypes.patterns_in(b[at]), *rest)
    return d


def _matrix(
    recipe: Recipe,
    a: Patterns,
    b: Patterns,
    c: Patterns | None,
    scale_a: Patterns | None,
    scale_b: Patterns | None,
) -> torch.Tensor:
    """Return d of two matrices of patterns."""
    design = recipe.design
    if isinstance(design, Planned):
        return dtypes.tensor_of(design.multiply(a, b, c, torch.get_num_threads()), design.d_format)
    a, b, jobs = _pad(design, a, axis=1), _pad(design, b, axis=0), torch.get_num_threads()
    if not recipe.promote_every:
        return dtypes.tensor_of(matmul(design, a, b, c, scale_a, scale_b, jobs=jobs), design.d_format)
    if scale_a is not None:
        raise EmulationError(
            f"promote_every and the scales of {design.base_name}: add the products of parts of K yourself"
        )
    total = torch.zeros((a.shape[0], b.shape[1]), dtype=dtypes.dtype_of(design.d_format))
    for first in range(0, a.shape[1], recipe.promote_every):
        part = slice(first, first + recipe.promote_every)
        total += dtypes.tensor_of(matmul(design, a[:, part], b[part], jobs=jobs), design.d_format)
    return total


def _pad(design: Design, operand: Patterns, axis: int) -> Patterns:
    """Return ``operand`` with +0 appended along k up to whole instructions. Below one, mmaproof.matmul pads."""
    k = operand.shape[axis]
    missing = -k % design.k
    if not missing or k < design.k or design.scale_format is not None:
        return operand
    zeros = np.zeros([missing if i == axis else n for i, n in enumerate(operand.shape)], dtype=operand.dtype)
    padded: Patterns = np.concatenate([operand, zeros], axis=axis)
    return padded


def _as_c(recipe: Recipe, c: torch.Tensor) -> torch.Tensor:
    """Return c in the format of the unit's c. It is rounded only where operands may be cast."""
    fmt = recipe.design.c_format
    wanted = dtypes.dtype_of(fmt)
    if c.dtype == wanted or (c.dtype, wanted) in _EXACT:
        return c.to(wanted)
    return dtypes.cast_operand("c", c, fmt, recipe.cast)[0]


_EXACT = {
    (torch.float16, torch.float32),
    (torch.bfloat16, torch.float32),
    (torch.float16, torch.float64),
    (torch.bfloat16, torch.float64),
    (torch.float32, torch.float64),
    (torch.int8, torch.int32),
    (torch.uint8, torch.int32),
}
"""Conversions of c that lose nothing."""


def _check_scales(design: Multiplier, scale_a: torch.Tensor | None, scale_b: torch.Tensor | None) -> None:
    """Raise EmulationError for scales of a wrong type; mmaproof.matmul says which are missing or have a wrong shape."""
    for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)):
        if (
            scale is not None
            and design.scale_format is not None
            and scale.dtype != dtypes.dtype_of(design.scale_format)
        ):
            raise EmulationError(
                f"{name} is {scale.dtype}, and the design takes {dtypes.describe(design.scale_format)}"
            )
