"""Plans in the place of designs: the context and the operator compute what the plan says, with gradients."""

import pytest
from support.extras import PYTORCH

from mmaproof.designs.errors import DesignError
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan

torch = pytest.importorskip("torch", reason=PYTORCH)

from support.tensors import HOPPER_FP8, VOLTA, bits, drawn  # noqa: E402

from mmaproof.torch import emulating, matmul  # noqa: E402
from mmaproof.torch.dtypes import patterns_in, tensor_of  # noqa: E402

SPLIT = f"{VOLTA} | split-k=2:descending | out=fp16"
A, B = drawn(5, 32), drawn(32, 7)


def computed(text, a, b, c=None):
    """Return what a plan makes of tensors."""
    plan = read_plan(text)
    return tensor_of(multiply_plan(plan, *(None if x is None else patterns_in(x) for x in (a, b, c))), plan.formats[3])


@pytest.mark.parametrize("plan", [SPLIT, read_plan(SPLIT)])
def test_a_product_in_the_context_runs_on_the_plan(plan):
    with emulating(plan):
        d = A @ B
    assert d.dtype == torch.float16
    assert bits(d) == bits(computed(SPLIT, A, B))


def test_another_plan_is_another_result():
    a, b = drawn(64, 256), drawn(256, 64)
    results = [bits(matmul(f"{VOLTA} | {x}", a, b)) for x in ("split-k=2", "promote=4")]
    assert results[0] != results[1]


def test_a_plan_without_settings_is_its_unit():
    assert bits(matmul(read_plan(VOLTA), A, B)) == bits(matmul(VOLTA, A, B))


def test_c_joins_where_the_plan_says():
    c = torch.randn(5, 7)
    text = f"{VOLTA} | split-k=2"
    assert bits(matmul(text, A, B, c)) == bits(computed(text, A, B, c))
    unread = f"{text} | c=none"
    assert bits(matmul(unread, A, B, c)) == bits(computed(unread, A, B) + c)


def test_k_is_filled_up_to_whole_tiles():
    text = f"{VOLTA} | tile=16 | promote=16"
    a, b = drawn(5, 40), drawn(40, 7)
    wider = torch.nn.functional.pad(a, (0, 8)), torch.nn.functional.pad(b, (0, 0, 0, 8))
    assert bits(matmul(text, a, b)) == bits(computed(text, *wider))


def test_gradients_run_on_the_plan():
    text = f"{VOLTA} | promote=8"
    a, b = (x.clone().requires_grad_() for x in (A, B))
    d = matmul(text, a, b)
    gradient = torch.randn_like(d)
    d.backward(gradient)
    expected = matmul(text, gradient.to(torch.float16), B.mT).to(torch.float16)
    assert bits(a.grad) == bits(expected)


def test_a_plan_that_does_not_fit_says_so():
    with pytest.raises(DesignError, match="does not fit k = 32"):
        matmul(f"{VOLTA} | stream-k=8.8", A, B)
    with pytest.raises(DesignError, match="a plan says where sums leave the unit"):
        matmul(SPLIT, A, B, promote_every=8)
    with pytest.raises(DesignError, match="take the same types"):
        emulating(VOLTA, SPLIT)
    assert emulating(SPLIT, f"{HOPPER_FP8} | promote=128") is not None
