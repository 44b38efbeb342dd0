"""The operator ``mmaproof::product`` with its gradients, and ``matmul``, which calls it.

The gradients of a product are products, and they run on a design too. A gradient is rounded to the format of that
design, because nobody else could: it is made between two of the operator's own calls.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C._functorch import TransformType, get_interpreter_stack
from torch.autograd import forward_ad

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, EmulationError
from mmaproof.gemm.programs import Plan
from mmaproof.torch.dtypes import Cast, check_tensor, dtype_of
from mmaproof.torch.product import Recipe, product, result_shape
from mmaproof.torch.settings import Multiplier, cast_of, find, flag, named, promotion_of

_SCHEMA = (
    "(Tensor a, Tensor b, Tensor? c, Tensor? scale_a, Tensor? scale_b, str design, str gradient_design, str cast, "
    "int promote_every, bool c_outside) -> Tensor"
)


@torch.library.custom_op("mmaproof::product", mutates_args=(), schema=_SCHEMA)
def _product(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    design: str,
    gradient_design: str,
    cast: str,
    promote_every: int,
    c_outside: bool,
) -> torch.Tensor:
    return product(Recipe(find(design), Cast(cast), promote_every, c_outside), a, b, c, scale_a, scale_b)


@_product.register_fake
def _shape_of_product(
    a: torch.Tensor, b: torch.Tensor, c: Any, scale_a: Any, scale_b: Any, design: str, *settings: Any
) -> torch.Tensor:
    return a.new_empty(result_shape(a, b), dtype=dtype_of(find(design).d_format))


def _save(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    a, b, c, scale_a, _, *settings = inputs
    ctx.save_for_backward(a, b)
    ctx.of_c = None if c is None else (c.shape, c.dtype)
    ctx.has_scales = scale_a is not None
    ctx.settings = settings


def _gradients(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    if ctx.has_scales:
        raise EmulationError(
            "a product with scales has no gradient here: what the gradient of a scale should be is for you to say. "
            "Detach the operands, or write a torch.autograd.Function that calls mmaproof.torch.matmul"
        )
    a, b = ctx.saved_tensors
    design, backward, cast, promote_every, _ = ctx.settings
    settings = (backward, backward, Cast.NEAREST if cast == Cast.NEVER else cast, promote_every, False)
    of_a = of_b = of_c = None
    if ctx.needs_input_grad[0]:
        of_a = _product(gradient, b.mT, None, None, None, *settings).to(a.dtype).sum_to_size(a.shape)
    if ctx.needs_input_grad[1]:
        if backward == design:
            of_b = _product(a.mT, gradient, None, None, None, *settings)
        else:
            of_b = _product(gradient.mT, a, None, None, None, *settings).mT
        of_b = of_b.to(b.dtype).sum_to_size(b.shape)
    if ctx.of_c is not None and ctx.needs_input_grad[2]:
        shape, dtype = ctx.of_c
        of_c = gradient.to(dtype).sum_to_size(shape)
    return of_a, of_b, of_c, *[None] * 7


_product.register_autograd(_gradients, setup_context=_save)


def run(
    recipe: Recipe,
    backward: Multiplier,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None = None,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return ``product(recipe, ...)`` with gradients that run on ``backward``."""
    tensors = (a, b, c, scale_a, scale_b)
    for name, tensor in zip(("a", "b", "c", "scale_a", "scale_b"), tensors, strict=True):
        if tensor is not None:
            check_tensor(name, tensor)
    if forward_ad._current_level >= 0 and any(
        x is not None and forward_ad.unpack_dual(x).tangent is not None for x in tensors
    ):
        raise EmulationError("products are not differentiated forwards (jvp, jacfwd): use backward()")
    if any(x.key() is not TransformType.Vmap for x in get_interpreter_stack() or ()):
        raise EmulationError(
            "products are not differentiated by torch.func (grad, vjp, jacrev, hessian, jvp, jacfwd): use backward()"
        )
    settings = (recipe.cast.value, recipe.promote_every, recipe.c_outside)
    d: torch.Tensor = _product(*tensors, recipe.design.name, backward.name, *settings)
    return d


@torch.compiler.disable
def matmul(
    design: Design | Plan | str,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None = None,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    *,
    cast: str | None = None,
    promote_every: int | None = None,
    c_outside: bool = False,
    backward: Design | Plan | str | None = None,
) -> torch.Tensor:
    """Return ``c + a @ b`` as ``design`` (or the design of that name, or a plan) computes each of its elements.

    ``a`` has shape (..., M, K) and ``b`` (..., K, N); ``c`` broadcasts to (..., M, N), None meaning +0. The scales of a
    design that has them have shapes (..., M, blocks) and (..., blocks, N). Leading dimensions broadcast. The result
    has the type of d's format. Tensors are on the CPU and of the design's types (``torch.float16`` for fp16 and so on;
    ``torch.uint8`` with one pattern a byte for formats of 4 and 6 bits). A K above the instruction's is a chain of
    instructions, padded with +0 to whole ones.

    * ``cast``: "nearest" rounds operands of other types to the design's, "scaled" first multiplies each matrix by a
      power of two that uses the format's range; None raises instead.
    * ``promote_every``: after N elements of k the sum leaves the unit and is added in fp32 (or fp64) outside
      it. None: never.
    * ``c_outside``: c is added outside the unit, rounded to nearest in d's format. With ``promote_every`` and with
      ``cast="scaled"`` it always is.
    * ``backward``: the design of the products in the backward pass, ``grad @ b.mT`` and ``(grad.mT @ a).mT``, in which
      the gradient is the first operand. None: the same design, for ``grad @ b.mT`` and ``a.mT @ grad``. A gradient is
      rounded to that design's format, with ``cast="scaled"`` after scaling.

    Raises EmulationError or OperandError where tensors do not fit, DesignError for an unknown design or one that does
    not allow the request.
    """
    found = named(design)
    recipe = Recipe(found, cast_of(cast), promotion_of(promote_every), flag("c_outside", c_outside))
    of_gradients = found if backward is None else named(backward)
    if of_gradients.scale_format is not None and of_gradients is not found:
        raise DesignError(f"{of_gradients.name} takes scales, which gradients do not have: name another design")
    Recipe(of_gradients, recipe.cast, recipe.promote_every)
    for name, tensor in (("a", a), ("b", b), ("c", c), ("scale_a", scale_a), ("scale_b", scale_b)):
        if name in "ab" or tensor is not None:
            check_tensor(name, tensor)
    if a.ndim > 2 and b.ndim == 2 and c is None and scale_a is None and scale_b is None:
        # one long matrix, so that the gradient of b is one product and no sum of products
        flat = run(recipe, of_gradients, a.reshape(-1, a.shape[-1]), b)
        return flat.reshape(*a.shape[:-1], b.shape[-1])
    return run(recipe, of_gradients, a, b, c, scale_a, scale_b)
