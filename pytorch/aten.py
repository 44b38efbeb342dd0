"""PyTorch's operators that contain products: which run on a design, and which are refused.

Every operation of PyTorch comes down to operators of the library ``aten``. Those in ``EMULATED`` are matrix products
and run on a design. An operator whose name speaks of a product, and which is not among them, is refused, because what
it sums in which order is not known (``refusal``). So a product that a later release of PyTorch adds is refused until
someone has looked at it. Everything else passes: it has no sums of products, or none that a matrix unit is used for
(elementwise operations, reductions, normalisations, embeddings, Fourier transforms).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import torch

from mmaproof.designs.errors import EmulationError

aten = torch.ops.aten

Number = int | float | bool


class Runs(Protocol):
    """What runs a product: the innermost context."""

    def multiply(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        c: torch.Tensor | None = None,
        *,
        alpha: Number = 1,
        beta: Number = 1,
        result: torch.dtype | None = None,
    ) -> torch.Tensor:
        """Return ``beta*c + alpha*(a @ b)``."""
        ...


def _mm(on: Runs, a: torch.Tensor, b: torch.Tensor, out_dtype: torch.dtype | None = None) -> torch.Tensor:
    return on.multiply(a, b, result=out_dtype)


def _addmm(
    on: Runs,
    c: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    out_dtype: torch.dtype | None = None,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> torch.Tensor:
    return on.multiply(a, b, c, alpha=alpha, beta=beta, result=out_dtype)


def _addbmm(
    on: Runs, c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Number = 1, alpha: Number = 1
) -> torch.Tensor:
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0]:
        raise EmulationError(
            f"addbmm of shapes {tuple(a.shape)}, {tuple(b.shape)}: (batch, M, K), (batch, K, N) needed"
        )
    # the sum over the batch is a longer sum over k
    wide = a.transpose(0, 1).reshape(a.shape[1], -1)
    return on.multiply(wide, b.reshape(-1, b.shape[2]), c, alpha=alpha, beta=beta)


def _mv(on: Runs, a: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return on.multiply(a, v.unsqueeze(-1)).squeeze(-1)


def _addmv(
    on: Runs, c: torch.Tensor, a: torch.Tensor, v: torch.Tensor, *, beta: Number = 1, alpha: Number = 1
) -> torch.Tensor:
    return on.multiply(a, v.unsqueeze(-1), c.unsqueeze(-1), alpha=alpha, beta=beta).squeeze(-1)


def _addr(
    on: Runs, c: torch.Tensor, u: torch.Tensor, v: torch.Tensor, *, beta: Number = 1, alpha: Number = 1
) -> torch.Tensor:
    return on.multiply(u.unsqueeze(-1), v.unsqueeze(0), c, alpha=alpha, beta=beta)


def _dot(on: Runs, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return on.multiply(u.unsqueeze(0), v.unsqueeze(-1)).reshape(())


def _int_mm(on: Runs, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return on.multiply(a, b, result=torch.int32)


EMULATED: dict[Any, Callable[..., torch.Tensor]] = {
    aten.mm.default: _mm,
    aten.mm.dtype: _mm,
    aten.bmm.default: _mm,
    aten.bmm.dtype: _mm,
    aten.addmm.default: _addmm,
    aten.addmm.dtype: _addmm,
    aten.baddbmm.default: _addmm,
    aten.baddbmm.dtype: _addmm,
    aten.addbmm.default: _addbmm,
    aten.mv.default: _mv,
    aten.addmv.default: _addmv,
    aten.addr.default: _addr,
    aten.dot.default: _dot,
    aten.vdot.default: _dot,
    aten._int_mm.default: _int_mm,
}
"""The operators that are matrix products, and how each is written as one."""

_WORDS = re.compile(
    r"(?:.*mm|b?addbmm|(?:add)?mv|v?dot|addr|matmul|gemm|conv(?!ert).*|convolution|attention|linear|.*linear$|rnn|lstm"
    r"|gru|transformer|linalg|cholesky|ormqr|geqrf|spsolve|solve|quantized)"
)
"""Words that say that an operator contains products (``triangular_solve``, ``mkldnn_rnn_layer``, ``slow_conv3d``)."""

HARMLESS = frozenset(
    {
        "_convert_weight_to_int4pack",
        "_linalg_check_errors",
        "_make_per_channel_quantized_tensor",
        "_make_per_tensor_quantized_tensor",
        "_empty_affine_quantized",
        "_empty_per_channel_affine_quantized",
        "empty_quantized",
        "linalg_cross",
        "linalg_vector_norm",
        "linalg__powsum",
        "quantized_batch_norm",
        "quantized_max_pool1d",
        "quantized_max_pool2d",
        "quantized_max_pool3d",
        "_saturate_weight_to_fp16",
        "_cudnn_rnn_flatten_weight",
        "_use_cudnn_rnn_flatten_weight",
    }
)
"""Operators whose names have such a word, and which sum no products."""

COMPOSED = frozenset(
    {
        "fbgemm_linear_fp16_weight",
        "fbgemm_linear_fp16_weight_fp32_activation",
        "fbgemm_linear_int8_weight",
        "fbgemm_linear_int8_weight_fp32_activation",
        "quantized_gru_cell",
        "quantized_lstm_cell",
        "quantized_rnn_relu_cell",
        "quantized_rnn_tanh_cell",
        "_wrapped_quantized_linear_prepacked",
        "linalg_vecdot",
    }
)
"""Operators that PyTorch writes with others, and whose products no other operator shows.

FBGEMM multiplies between operators that only allocate and add. ``linalg_vecdot`` multiplies elements and adds them up.
"""

_KNOWN_LIBRARIES = frozenset({"aten", "prim", "prims", "profiler", "rngprims", "debugprims", "mmaproof"})

_REMEDIES = (
    ("scaled_dot_product", "call it under torch.nn.attention.sdpa_kernel(SDPBackend.MATH), which multiplies matrices"),
    ("scaled", "multiply with mmaproof.torch.matmul, and apply the scales yourself"),
    ("conv", "write it as torch.nn.functional.unfold and a matrix product"),
    ("rnn", "build it of torch.nn.LSTMCell, GRUCell or RNNCell, whose products are matrix products"),
    ("lstm", "build it of torch.nn.LSTMCell, whose products are matrix products"),
    ("attention", "multiply queries, keys and values with torch.matmul"),
    ("transformer", "switch the fast path off: torch.backends.mha.set_fastpath_enabled(False)"),
    ("trilinear", "write it with torch.einsum"),
    ("vecdot", "write it as x.unsqueeze(-2) @ y.unsqueeze(-1)"),
    ("fbgemm", "multiply dense tensors with torch.nn.functional.linear"),
    ("quantized", "multiply dense tensors"),
)


def base_name(op: Any) -> str:
    """Return the name of an operator without its library, its overload, and the underscore of one in place."""
    name: str = op._schema.name.partition("::")[2]
    return name


def contains_products(name: str) -> bool:
    """Return whether the operator of this name in aten contains sums of products, as far as its name tells."""
    if name in HARMLESS:
        return False
    return any(_WORDS.fullmatch(word) for word in re.split("_+", name))


@cache
def is_product(op: Any) -> bool:
    """Return whether an operator of aten is a product, or contains some as far as its name tells."""
    return op in EMULATED or (op.namespace == "aten" and contains_products(base_name(op)))


@cache
def is_made_of_others(op: Any) -> bool:
    """Return whether PyTorch writes an operator of aten with others, which show all its products."""
    if base_name(op) in COMPOSED:
        return False
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return op.namespace == "aten" and (key in op.py_kernels or op.has_kernel_for_dispatch_key(key))


@cache
def refused_operators() -> Sequence[Any]:
    """Return the operators of aten that ``refusal`` has a reason for, without those that are made of others."""
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        library, _, rest = full.partition("::")
        name, _, overload = rest.partition(".")
        if library == "aten" and contains_products(name):
            op = getattr(getattr(aten, name), overload or "default")
            if op not in EMULATED and not is_made_of_others(op):
                found.append(op)
    return found


@cache
def refusal(op: Any) -> str | None:
    """Return why an operator that is not a matrix product of ``EMULATED`` does not run, or None if it may."""
    library = op.namespace
    if library not in _KNOWN_LIBRARIES:
        return (
            f"{op} is of the library {library}, and what it multiplies is not known: call it outside of "
            "mmaproof.torch.emulating"
        )
    name = base_name(op)
    if library == "mmaproof" or not contains_products(name):
        return None
    emulated = {base_name(x) for x in EMULATED}
    if name.rstrip("_") in emulated:
        return f"{op}: write the product without out= and not in place; those forms are not emulated"
    remedy = next(
        (text for part, text in _REMEDIES if part in name), "it is not emulated: call it outside of the context"
    )
    return f"{op} contains products in an order that is not known: {remedy}"
