"""What is not emulated raises, and never runs in PyTorch instead."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from support.extras import PYTORCH

torch = pytest.importorskip("torch", reason=PYTORCH)

from support.tensors import VOLTA, bits, drawn, expected  # noqa: E402

from mmaproof.torch import EmulationError, emulating  # noqa: E402
from mmaproof.torch.aten import COMPOSED, EMULATED, HARMLESS, base_name, contains_products, is_made_of_others, refusal  # noqa: E402

F = torch.nn.functional
A, B = drawn(8, 32), drawn(32, 8)
SQUARE = drawn(8, 8, dtype=torch.float32)
QUERY = drawn(1, 2, 4, 8)
IMAGE = drawn(1, 2, 8, 8)
SEQUENCE = drawn(5, 2, 8, dtype=torch.float32)


def _packed_int8() -> Any:
    weight, offsets, scale, zero_point = torch.fbgemm_linear_quantize_weight(SQUARE)
    return weight, torch.fbgemm_pack_quantized_matrix(weight), offsets, scale, zero_point


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    PACKED_FP16, PACKED_INT8 = torch.fbgemm_pack_gemm_matrix_fp16(SQUARE), _packed_int8()
    QUANTIZED_LINEAR = torch.ao.nn.quantized.dynamic.Linear(8, 8)
    QUANTIZED_LSTM = torch.ao.nn.quantized.dynamic.LSTM(8, 4)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "conv1d": (lambda: F.conv1d(drawn(1, 2, 8), drawn(3, 2, 3)), "aten.convolution.*unfold"),
    "conv2d": (lambda: F.conv2d(IMAGE, drawn(3, 2, 3, 3)), "aten.convolution.*unfold"),
    "conv_transpose2d": (lambda: F.conv_transpose2d(IMAGE, drawn(2, 3, 3, 3)), "aten.convolution"),
    "fused attention": (lambda: F.scaled_dot_product_attention(QUERY, QUERY, QUERY), "SDPBackend.MATH"),
    "lstm": (lambda: torch.nn.LSTM(8, 4)(SEQUENCE), "mkldnn_rnn_layer.*LSTMCell"),
    "gru": (lambda: torch.nn.GRU(8, 4)(SEQUENCE), "matches no design"),
    "bilinear": (lambda: F.bilinear(A, A, drawn(3, 32, 32)), "_trilinear.*einsum"),
    "inverse": (lambda: torch.linalg.inv(SQUARE), "linalg_inv_ex"),
    "solve": (lambda: torch.linalg.solve(SQUARE, SQUARE), "_linalg_solve_ex"),
    "determinant": (lambda: torch.linalg.det(SQUARE), "_linalg_det"),
    "svd": (lambda: torch.linalg.svd(SQUARE), "_linalg_svd"),
    "qr": (lambda: torch.linalg.qr(SQUARE), "linalg_qr"),
    "cholesky": (lambda: torch.linalg.cholesky(torch.eye(3)), "linalg_cholesky_ex"),
    "matrix_exp": (lambda: torch.matrix_exp(SQUARE), "linalg_matrix_exp"),
    "triangular solve": (lambda: torch.linalg.solve_triangular(SQUARE, SQUARE, upper=True), "linalg_solve_triangular"),
    "out=": (lambda: torch.mm(A, B, out=torch.empty(8, 8).half()), "without out= and not in place"),
    "addmm_": (lambda: torch.zeros(8, 8).half().addmm_(A, B), "without out= and not in place"),
    "baddbmm_": (lambda: torch.zeros(1, 8, 8).half().baddbmm_(A[None], B[None]), "without out= and not in place"),
    "sparse": (lambda: torch.sparse.mm(SQUARE.to_sparse(), SQUARE), "_sparse_addmm"),
    "sparse half": (lambda: A.to_sparse() @ B, "is a torch.sparse_coo tensor"),
    "nested": (
        lambda: torch.bmm(torch.nested.nested_tensor([A, A]), torch.nested.nested_tensor([B, B])),
        "is a nested tensor: multiply the tensors that it holds",
    ),
    "linear of nested": (lambda: F.linear(torch.nested.nested_tensor([A, A[:4]]), B.T), "is a nested tensor"),
    "matmul of nested": (lambda: torch.nested.nested_tensor([A, A[:4]]) @ B, "is a nested tensor"),
    "linear of jagged": (
        lambda: F.linear(torch.nested.nested_tensor([A, A[:4]], layout=torch.jagged), B.T),
        "is a nested tensor",
    ),
    "matmul of jagged": (
        lambda: torch.nested.nested_tensor([A, A[:4]], layout=torch.jagged) @ B,
        "is a nested tensor",
    ),
    "func.grad": (lambda: torch.func.grad(lambda x: (x @ B).sum())(A), r"by torch.func .*use backward\(\)"),
    "func.vjp": (lambda: torch.func.vjp(lambda x: (x @ B).sum(), A), "by torch.func"),
    "func.jacrev": (lambda: torch.func.jacrev(lambda x: (x @ B).sum())(A), "by torch.func"),
    "func.grad under vmap": (
        lambda: torch.vmap(torch.func.grad(lambda x: (x @ B).sum()))(A[None]),
        "by torch.func",
    ),
    "complex": (lambda: A.to(torch.complex64) @ B.to(torch.complex64), "complex64.*matches no design"),
    "float32": (
        lambda: A.float() @ B.float(),
        "torch.float32 and torch.float32 matches no design of the context: it has",
    ),
    "integers": (lambda: torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64), "int64"),
    "two types": (lambda: torch.mm(A, B.bfloat16()), "torch.float16 and torch.bfloat16"),
    "scaled": (
        lambda: torch._scaled_mm(
            drawn(16, 16).to(torch.float8_e4m3fn),
            drawn(16, 16).to(torch.float8_e4m3fn).T.contiguous().T,
            torch.tensor(1.0),
            torch.tensor(1.0),
        ),
        "_scaled_mm.*apply the scales yourself",
    ),
    "int8 weights": (
        lambda: torch._weight_int8pack_mm(A.bfloat16(), torch.ones(8, 32, dtype=torch.int8), torch.ones(8).bfloat16()),
        "_weight_int8pack_mm",
    ),
    "fbgemm fp16": (
        lambda: torch.fbgemm_linear_fp16_weight(SQUARE, PACKED_FP16, torch.zeros(8)),
        "fbgemm_linear_fp16_weight.*dense tensors",
    ),
    "fbgemm int8": (
        lambda: torch.fbgemm_linear_int8_weight_fp32_activation(SQUARE, *PACKED_INT8, torch.zeros(8)),
        "fbgemm_linear_int8_weight_fp32_activation",
    ),
    "quantized linear": (lambda: QUANTIZED_LINEAR(SQUARE), "quantized"),
    "quantized lstm": (lambda: QUANTIZED_LSTM(SEQUENCE), "quantized"),
    "mkldnn": (lambda: F.linear(SQUARE.to_mkldnn(), SQUARE.to_mkldnn()), "mkldnn"),
    "vecdot": (lambda: torch.linalg.vecdot(A, A), r"linalg_vecdot.*unsqueeze\(-1\)"),
    "vecdot of float32": (lambda: torch.linalg.vecdot(SQUARE, SQUARE), "linalg_vecdot"),
    "vecdot under vmap": (lambda: torch.vmap(torch.linalg.vecdot)(A, A), "linalg_vecdot"),
    "encoder": (
        lambda: torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()(SEQUENCE),
        "matches no design|attention|transformer",
    ),
}


@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning")
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("guard", ["grad", "no_grad", "inference_mode"])
def test_it_raises_and_says_what_to_do(name: str, guard: str) -> None:
    call, text = REFUSED[name]
    around = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference_mode": torch.inference_mode}[guard]
    with around(), emulating(VOLTA), pytest.raises(EmulationError) as raised:
        call()
    assert re.search(text, str(raised.value), re.DOTALL)


def test_backward_of_what_is_not_emulated_raises() -> None:
    image = IMAGE.float().requires_grad_()
    y = F.conv2d(image, drawn(3, 2, 3, 3, dtype=torch.float32)).sum()
    with emulating(VOLTA), pytest.raises(EmulationError, match="convolution_backward"):
        y.backward()


def test_matmul_into_a_tensor_never_runs_in_pytorch() -> None:
    # PyTorch writes it in one of two ways, and torch.compile decides for good which
    out = torch.zeros(8, 8).half()
    with emulating(VOLTA):
        try:
            torch.matmul(A, B, out=out)
        except EmulationError as error:
            assert "without out=" in str(error)
            return
    assert bits(out) == bits(expected(VOLTA, A, B))


def test_attention_under_its_own_mathematics() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    try:
        with emulating(VOLTA), sdpa_kernel(SDPBackend.MATH):
            found = F.scaled_dot_product_attention(QUERY, QUERY, QUERY, scale=1.0)
    finally:
        torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
    q = QUERY[0]
    weights = torch.softmax(torch.stack([expected(VOLTA, x, x.T) for x in q]), -1)
    assert bits(found[0]) == bits(torch.stack([expected(VOLTA, x, y) for x, y in zip(weights, q, strict=True)]))


def test_operators_of_other_libraries_are_refused() -> None:
    with torch.library._scoped_library("mmaproof_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x @ x, "CompositeExplicitAutograd")
        with emulating(VOLTA), pytest.raises(EmulationError, match="is of the library mmaproof_test"):
            torch.ops.mmaproof_test.twice(drawn(4, 4))


def every_name() -> set[str]:
    names = torch._C._dispatch_get_all_op_names()
    return {x.partition("::")[2].partition(".")[0] for x in names if x.startswith("aten::")}


def test_every_operator_that_speaks_of_products_is_known() -> None:
    # wider than the pattern of the module: what is in here and is not refused, a person has looked at
    wide = re.compile(
        "mm|matmul|conv|linear|attention|rnn|lstm|gru|dot|mv|linalg|(?<!re)solve|cholesky|gemm|ormqr|geqrf|transformer|quantized"
    )
    no_products = re.compile(
        "gamma|dummy|tensordot|cumm|comm|hamming|convert|bilinear|linear1d|trilinear3d|symmetric|summary|affine_quantized|relu|silu|_tensor$"
    )
    passed = {
        x for x in every_name() if wide.search(x) and not no_products.search(x) and not contains_products(x)
    } - HARMLESS
    assert passed == set()


WRITTEN_WITH_OTHERS = """
    _convolution _convolution_double_backward _convolution_mode _scaled_dot_product_attention_math _sparse_mm
    _thnn_differentiable_gru_cell_backward _thnn_differentiable_lstm_cell_backward
    _thnn_fused_lstm_cell_backward _wrapped_linear_prepack bilinear chain_matmul conv1d conv2d conv3d
    conv_tbc_backward conv_transpose1d conv_transpose2d conv_transpose3d fbgemm_linear_quantize_weight
    fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix gru gru_cell linalg_cholesky linalg_cond
    linalg_det linalg_diagonal linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv linalg_ldl_factor
    linalg_lu_factor linalg_matmul linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_multi_dot
    linalg_norm linalg_pinv linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals
    linalg_tensorinv linalg_tensorsolve linalg_vander linear lstm lstm_cell lu_solve matmul rnn_relu
    rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention slow_conv3d smm sspaddmm thnn_conv2d
"""
"""Operators that show all their products, or have none. A new name is to be looked at."""


def test_every_operator_that_is_written_with_others_is_known() -> None:
    found = set()
    for full in torch._C._dispatch_get_all_op_names():
        library, _, rest = full.partition("::")
        name, _, overload = rest.partition(".")
        if library == "aten" and (contains_products(name) or "fbgemm" in name):
            op = getattr(getattr(torch.ops.aten, name), overload or "default")
            found |= {name} if is_made_of_others(op) else set()
    assert found == set(WRITTEN_WITH_OTHERS.split())


def test_harmless_names_are_those_of_operators() -> None:
    assert every_name() >= HARMLESS | COMPOSED
    assert {base_name(x) for x in EMULATED} <= every_name()


@pytest.mark.parametrize(
    ("name", "contains"),
    [
        ("_some_new_mm_v3", True),
        ("fancy_conv4d", True),
        ("flash_attention_next", True),
        ("lgamma", False),
        ("convert_something", False),
        ("upsample_bilinear2d", False),
        ("add", False),
        ("softmax", False),
    ],
)
def test_names_of_later_releases(name: str, contains: bool) -> None:
    assert contains_products(name) is contains


def test_emulated_operators_are_not_refused_by_another_overload() -> None:
    assert refusal(torch.ops.aten.add.Tensor) is None
    assert "without out=" in str(refusal(torch.ops.aten.bmm.out))
