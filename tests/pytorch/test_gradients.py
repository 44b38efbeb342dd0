"""The products of a backward pass run on the design too, wherever backward() is called."""

from contextlib import nullcontext
from typing import Any

import pytest
from support.extras import PYTORCH

torch = pytest.importorskip("torch", reason=PYTORCH)

from support.tensors import HOPPER, HOPPER_FP8, VOLTA, bits, drawn, expected  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from mmaproof.torch import EmulationError, emulating, matmul  # noqa: E402


def leaves(*shapes: tuple[int, ...], dtype: Any = torch.float16) -> list[Any]:
    return [drawn(*shape, dtype=dtype, seed=i).requires_grad_() for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("where", ["inside", "outside", "in another context"])
def test_gradients_are_products_on_the_design(where: str) -> None:
    a, b = leaves((8, 32), (32, 12))
    g = drawn(8, 12, seed=5)
    with emulating(VOLTA):
        d = a @ b
        if where == "inside":
            d.backward(g)
    if where == "outside":
        d.backward(g)
    if where == "in another context":
        with emulating(HOPPER):
            d.backward(g)
    assert bits(a.grad) == bits(expected(VOLTA, g, b.T))
    assert bits(b.grad) == bits(expected(VOLTA, a.T, g))
    assert bits(a.grad) != bits(g @ b.detach().T)
    assert bits(b.grad) != bits(a.detach().T @ g)


def test_gradients_of_a_linear_layer() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(32, 12).half()
    (x,) = leaves((8, 32))
    g = drawn(8, 12, seed=5)
    with emulating(VOLTA):
        layer(x).backward(g)
    assert bits(x.grad) == bits(expected(VOLTA, g, layer.weight))
    assert bits(layer.weight.grad) == bits(expected(VOLTA, x.T, g).T)
    assert bits(layer.bias.grad) == bits(g.sum(0))


def test_gradients_of_einsum_and_of_batches() -> None:
    a, b = leaves((3, 8, 32), (3, 32, 12))
    g = drawn(3, 8, 12, seed=5)
    with emulating(VOLTA):
        torch.einsum("bik,bkj->bij", a, b).backward(g)
    assert bits(a.grad) == bits(torch.stack([expected(VOLTA, x, y.T) for x, y in zip(g, b, strict=True)]))
    assert bits(b.grad) == bits(torch.stack([expected(VOLTA, x.T, y) for x, y in zip(a, g, strict=True)]))


def test_a_graph_of_pytorch_runs_its_products_where_backward_is_called() -> None:
    a, b = leaves((8, 32), (32, 12))
    g = drawn(8, 12, seed=5)
    d = a @ b
    with emulating(VOLTA):
        d.backward(g)
    assert bits(a.grad) == bits(expected(VOLTA, g, b.T))


def test_a_gradient_is_rounded_to_the_format_of_the_design() -> None:
    a, b = leaves((8, 32), (32, 16))
    g = drawn(8, 16, dtype=torch.float32, seed=5)
    matmul(HOPPER, a, b).backward(g)
    assert bits(a.grad) == bits(expected(HOPPER, g.half(), b.T).half())
    assert bits(b.grad) == bits(expected(HOPPER, torch.nn.functional.pad(a.T, (0, 8)), pad_rows(g.half(), 8)).half())


def pad_rows(x: Any, count: int) -> Any:
    return torch.nn.functional.pad(x, (0, 0, 0, count))


def test_scaled_gradients() -> None:
    a, b = leaves((32, 32), (32, 32), dtype=torch.float32)
    g = drawn(32, 32, dtype=torch.float32, seed=5, size=1e-6)
    matmul(HOPPER_FP8, a, b, cast="scaled", promote_every=32).backward(g)
    wanted = matmul(HOPPER_FP8, g, b.detach().T, cast="scaled", promote_every=32)
    assert bits(a.grad) == bits(wanted)
    assert wanted.abs().max() > 0


def test_another_design_for_gradients() -> None:
    backward = "hopper/wgmma.f32.e5m2.e4m3"
    a, b = leaves((32, 64), (64, 32), dtype=torch.float32)
    g = drawn(32, 32, dtype=torch.float32, seed=5)
    with emulating(HOPPER_FP8, cast="nearest", backward=backward):
        d = a @ b
        d.backward(g)
    e5m2, e4m3 = torch.float8_e5m2, torch.float8_e4m3fn
    assert bits(d) == bits(expected(HOPPER_FP8, a.to(e4m3), b.to(e4m3)))
    assert bits(a.grad) == bits(expected(backward, g.to(e5m2), b.to(e4m3).T))
    assert bits(b.grad) == bits(expected(backward, g.to(e5m2).T, a.to(e4m3)).T)


def test_gradient_of_c() -> None:
    a, b, c = leaves((8, 32), (32, 12), (12,))
    g = drawn(8, 12, seed=5)
    matmul(VOLTA, a, b, c).backward(g)
    assert bits(c.grad) == bits(g.sum(0))


def test_gradients_of_operands_that_were_broadcast() -> None:
    a, b = leaves((3, 8, 32), (32, 12))
    g = drawn(3, 8, 12, seed=5)
    matmul(VOLTA, a, b).backward(g)
    assert a.grad.shape == a.shape
    assert bits(b.grad) == bits(expected(VOLTA, a.reshape(24, 32).T, g.reshape(24, 12)))
    of_c = drawn(1, 12).requires_grad_()
    matmul(VOLTA, a, b, of_c).backward(g)
    assert of_c.grad.shape == (1, 12)


def test_only_what_is_asked_for_gets_a_gradient() -> None:
    a, b = leaves((8, 32), (32, 12))
    b.requires_grad_(False)
    with emulating(VOLTA):
        (a @ b).sum().backward()
        with torch.no_grad():
            assert (a @ b).grad_fn is None
        assert (a.detach() @ b).grad_fn is None
    assert b.grad is None
    assert a.grad is not None


def test_second_derivatives_run_on_the_design() -> None:
    a, b = leaves((8, 32), (32, 12))
    g = drawn(8, 12, seed=5).requires_grad_()
    with emulating(VOLTA):
        (of_a,) = torch.autograd.grad(a @ b, a, g, create_graph=True)
    h = drawn(8, 32, seed=6)
    (of_g,) = torch.autograd.grad(of_a, g, h)
    assert bits(of_g) == bits(expected(VOLTA, h, b))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints(reentrant: bool) -> None:
    a, b = leaves((8, 32), (32, 12))
    g = drawn(8, 12, seed=5)
    with emulating(VOLTA):
        checkpoint(torch.matmul, a, b, use_reentrant=reentrant).backward(g)
    assert bits(a.grad) == bits(expected(VOLTA, g, b.T))


@pytest.mark.parametrize(("reentrant", "debug"), [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize("where", ["outside", "in another context"])
def test_checkpoints_are_computed_again_in_their_context(reentrant: bool, debug: bool, where: str) -> None:
    a, b, c = leaves((8, 32), (32, 12), (12, 4))
    g = drawn(8, 4, seed=5)
    with emulating(VOLTA):
        d = checkpoint(lambda x, y, z: (x @ y) @ z, a, b, c, use_reentrant=reentrant, debug=debug)
    with nullcontext() if where == "outside" else emulating(HOPPER):
        d.backward(g)
    hidden = expected(VOLTA, a, b)
    assert bits(d) == bits(expected(VOLTA, hidden, c))
    assert bits(c.grad) == bits(expected(VOLTA, hidden.T, g))
    of_hidden = expected(VOLTA, g, c.T)
    assert bits(a.grad) == bits(expected(VOLTA, of_hidden, b.T))
    assert is_native()


def is_native() -> bool:
    (a,) = leaves((8, 32))
    d = checkpoint(lambda x: Doubled.apply(x, x.T), a, use_reentrant=False)
    d.backward(torch.ones_like(d))
    twice = 2 * (torch.ones(8, 8).half() @ a.detach())
    return bits(d) == bits(2 * (a.detach() @ a.detach().T)) and torch.equal(a.grad, twice + twice)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return 2 * (a @ b)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return 2 * (g @ b.T), 2 * (a.T @ g)


class DoubledInTwoSteps(torch.autograd.Function):
    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return 2 * (a @ b)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def vjp(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return 2 * (g @ b.T), 2 * (a.T @ g)


class DoubledFromAList(Doubled):
    boxed_grads_call = True

    @staticmethod
    def backward(ctx: Any, gradients: Any) -> Any:
        return Doubled.backward(ctx, gradients.pop())


KEPT = Doubled.apply


@pytest.mark.parametrize("apply", [KEPT, lambda *x: DoubledInTwoSteps.apply(*x), DoubledFromAList.apply])
@pytest.mark.parametrize("where", ["inside", "outside", "in another context"])
def test_a_function_of_the_user_computes_its_gradient_in_its_context(apply: Any, where: str) -> None:
    a, b = leaves((8, 32), (32, 12))
    g = drawn(8, 12, seed=5)
    with emulating(VOLTA):
        d = apply(a, b)
        if where == "inside":
            d.backward(g)
    if where == "outside":
        d.backward(g)
    if where == "in another context":
        with emulating(HOPPER):
            d.backward(g)
    assert bits(d) == bits(2 * expected(VOLTA, a, b))
    assert bits(a.grad) == bits(2 * expected(VOLTA, g, b.T))
    assert bits(b.grad) == bits(2 * expected(VOLTA, a.T, g))
    assert is_native()


def test_second_gradients_of_a_function_run_in_its_context() -> None:
    a, b = leaves((8, 32), (32, 12))
    g = drawn(8, 12, seed=5).requires_grad_()
    with emulating(VOLTA):
        d = Doubled.apply(a, b)
    (of_a,) = torch.autograd.grad(d, a, g, create_graph=True)
    v = drawn(8, 32, seed=6)
    (of_g,) = torch.autograd.grad(of_a, g, v)
    assert bits(of_g) == bits(expected(VOLTA, 2 * v, b))


def test_functions_are_those_of_pytorch_again_after_the_last_context() -> None:
    from torch.autograd.function import BackwardCFunction

    before = vars(torch.utils.checkpoint).copy()
    with emulating(VOLTA), emulating(HOPPER):
        assert "__init__" in vars(BackwardCFunction)
    assert "__init__" not in vars(BackwardCFunction)
    assert vars(torch.utils.checkpoint) == before


def test_a_training_step_in_half_precision_differs_from_that_of_pytorch() -> None:
    def step(context: Any) -> Any:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).half()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        with context:
            for i in range(2):
                optimizer.zero_grad()
                (model(drawn(8, 32, seed=i, size=1.0)) ** 2).float().mean().backward()
                optimizer.step()
        return bits(model[0].weight)

    assert step(emulating(VOLTA)) == step(emulating(VOLTA)) != step(torch.enable_grad())


def test_no_gradient_where_it_is_not_known() -> None:
    import numpy as np

    design = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
    a = torch.from_numpy(np.zeros((4, 64), np.uint8))
    ones = torch.full((4, 4), 0x38, dtype=torch.uint8).view(torch.float8_e4m3fn)
    c = torch.zeros(4, 4, requires_grad=True)
    d = matmul(design, a, a.T, c, ones, ones)
    with pytest.raises(EmulationError, match="a product with scales has no gradient"):
        d.sum().backward()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*is deprecated:FutureWarning")
@pytest.mark.parametrize("explicit", [True, False])
def test_no_forward_derivatives(explicit: bool) -> None:
    a, b = drawn(8, 32), drawn(32, 12)
    with emulating(VOLTA), pytest.raises(EmulationError, match="not differentiated forwards"):
        torch.func.jvp(lambda x: matmul(VOLTA, x, b) if explicit else x @ b, (a,), (a,))


def test_derivatives_of_functions_raise() -> None:
    a, b = drawn(8, 32), drawn(32, 12)
    with emulating(VOLTA), pytest.raises(EmulationError, match="by torch.func"):
        torch.func.grad(lambda x: (x @ b).sum())(a)
