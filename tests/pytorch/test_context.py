"""Inside mmaproof.torch.emulating, every way to a matrix product leads to the design."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from support.extras import PYTORCH

from mmaproof import find_design
from mmaproof.designs.errors import DesignError

torch = pytest.importorskip("torch", reason=PYTORCH)

from support.tensors import HOPPER, HOPPER_FP8, VOLTA, bits, drawn, expected  # noqa: E402

from mmaproof.torch import EmulationError, emulating, matmul  # noqa: E402

F = torch.nn.functional
A, B, C = drawn(5, 30), drawn(30, 7), drawn(5, 7, size=100)
BATCH_A, BATCH_B = drawn(3, 5, 30), drawn(3, 30, 7)
U, V = drawn(30), drawn(30, seed=1)


def on_volta(a: Any, b: Any, c: Any = None) -> Any:
    """Return the product of batches of matrices by mmaproof.matmul, k padded by hand."""
    missing = -a.shape[-1] % 4
    a, b = F.pad(a, (0, missing)), F.pad(b, (0, 0, 0, missing))
    if a.ndim == 2 and b.ndim == 2:
        return expected(VOLTA, a, b, c)
    batch = max(a.ndim, b.ndim) - 2 and (a if a.ndim > 2 else b).shape[0]
    of_a, of_b = a.expand(batch, *a.shape[-2:]), b.expand(batch, *b.shape[-2:])
    of_c = [None] * batch if c is None else c.expand(batch, *c.shape[-2:])
    return torch.stack([expected(VOLTA, *x) for x in zip(of_a, of_b, of_c, strict=True)])


def column(v: Any) -> Any:
    return v.unsqueeze(-1)


def row(v: Any) -> Any:
    return v.unsqueeze(0)


ENTRIES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "matmul": (lambda: torch.matmul(A, B), lambda: on_volta(A, B)),
    "@": (lambda: A @ B, lambda: on_volta(A, B)),
    "Tensor.mm": (lambda: A.mm(B), lambda: on_volta(A, B)),
    "mm": (lambda: torch.mm(A, B), lambda: on_volta(A, B)),
    "linalg.matmul": (lambda: torch.linalg.matmul(A, B), lambda: on_volta(A, B)),
    "bmm": (lambda: torch.bmm(BATCH_A, BATCH_B), lambda: on_volta(BATCH_A, BATCH_B)),
    "matmul of batches": (lambda: BATCH_A @ BATCH_B, lambda: on_volta(BATCH_A, BATCH_B)),
    "matmul, b shared": (lambda: BATCH_A @ B, lambda: on_volta(BATCH_A, B)),
    "matmul, a shared": (lambda: A @ BATCH_B, lambda: on_volta(A, BATCH_B)),
    "matmul with a vector": (lambda: A @ U, lambda: on_volta(A, column(U)).squeeze(-1)),
    "vector by matrix": (lambda: U @ B, lambda: on_volta(row(U), B).squeeze(0)),
    "mv": (lambda: torch.mv(A, U), lambda: on_volta(A, column(U)).squeeze(-1)),
    "dot": (lambda: torch.dot(U, V), lambda: on_volta(row(U), column(V)).reshape(())),
    "vdot": (lambda: torch.vdot(U, V), lambda: on_volta(row(U), column(V)).reshape(())),
    "inner": (lambda: torch.inner(A, A), lambda: on_volta(A, A.T)),
    "addmm": (lambda: torch.addmm(C, A, B), lambda: on_volta(A, B, C)),
    "addmm, c shared": (lambda: torch.addmm(C[0], A, B), lambda: on_volta(A, B, C[0].expand(5, 7))),
    "addmm, beta 0": (lambda: torch.addmm(C * torch.nan, A, B, beta=0), lambda: on_volta(A, B)),
    "addmm, beta 2": (lambda: torch.addmm(C, A, B, beta=2), lambda: on_volta(A, B, C * 2)),
    "addmm, alpha": (
        lambda: torch.addmm(C, A, B, alpha=0.5, beta=2),
        lambda: on_volta(A, B) * 0.5 + C * 2,
    ),
    "addmv": (
        lambda: torch.addmv(C[:, 0], A, U),
        lambda: on_volta(A, column(U), C[:, :1]).squeeze(-1),
    ),
    "addr": (lambda: torch.addr(C, A[:, 0], B[0]), lambda: on_volta(A[:, :1], B[:1], C)),
    "baddbmm": (lambda: torch.baddbmm(C, BATCH_A, BATCH_B), lambda: on_volta(BATCH_A, BATCH_B, C)),
    "addbmm": (
        lambda: torch.addbmm(C, BATCH_A, BATCH_B),
        lambda: on_volta(torch.cat(list(BATCH_A), 1), torch.cat(list(BATCH_B), 0), C),
    ),
    "linear": (lambda: F.linear(A, B.T), lambda: on_volta(A, B)),
    "linear with bias": (lambda: F.linear(A, B.T, C[0]), lambda: on_volta(A, B, C[0].expand(5, 7))),
    "linear of batches": (
        lambda: F.linear(BATCH_A, B.T, C[0]),
        lambda: on_volta(BATCH_A.reshape(15, 30), B, C[0].expand(15, 7)).reshape(3, 5, 7),
    ),
    "einsum": (lambda: torch.einsum("ik,kj->ij", A, B), lambda: on_volta(A, B)),
    "einsum of batches": (lambda: torch.einsum("bik,bkj->bij", BATCH_A, BATCH_B), lambda: on_volta(BATCH_A, BATCH_B)),
    "tensordot": (lambda: torch.tensordot(A, B, 1), lambda: on_volta(A, B)),
    "multi_dot": (lambda: torch.linalg.multi_dot([A, B]), lambda: on_volta(A, B)),
    "mm, wider result": (lambda: torch.mm(A, B, out_dtype=torch.float32), lambda: on_volta(A, B).float()),
    "in float16, from float64": (lambda: A.double().half() @ B, lambda: on_volta(A, B)),
    "transposed": (lambda: (B.T @ A.T).T, lambda: on_volta(B.T, A.T).T),
    "strided": (lambda: drawn(5, 60)[:, ::2] @ B, lambda: on_volta(drawn(5, 60)[:, ::2], B)),
    "vmap": (lambda: torch.vmap(lambda x: x @ B)(BATCH_A), lambda: on_volta(BATCH_A, B)),
}


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("guard", ["grad", "no_grad", "inference_mode"])
def test_every_entry_runs_on_the_design(name: str, guard: str) -> None:
    call, wanted = ENTRIES[name]
    around = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference_mode": torch.inference_mode}[guard]
    with around(), emulating(VOLTA):
        found = call()
    assert bits(found) == bits(wanted())


def test_pytorch_itself_returns_something_else() -> None:
    # an entry that silently ran in PyTorch would be noticed above
    here = {name: pair for name, pair in ENTRIES.items() if name != "mm, wider result"}  # which its CPU does not have
    same = {name for name, (call, wanted) in here.items() if bits(call()) == bits(wanted())}
    assert same <= {"addr"}


def test_every_emulated_operator_has_an_entry() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    from mmaproof.torch.aten import EMULATED

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.add(func)
            return func(*args, **(kwargs or {}))

    seen: set[Any] = set()
    with Seen():
        for call, _ in ENTRIES.values():
            try:
                call()
            except NotImplementedError:
                continue
    left = {str(x) for x in EMULATED.keys() - seen}
    # those that return a wider type are one function with the others, and PyTorch's CPU has most of them not at all
    assert left <= {
        "aten._int_mm.default",
        "aten.addmm.dtype",
        "aten.baddbmm.dtype",
        "aten.bmm.dtype",
    }


def test_modules_run_on_the_design() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(30, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).half()
    with emulating(VOLTA), torch.no_grad():
        found = model(A)
    first, second = model[0], model[2]
    hidden = torch.relu(on_volta(A, first.weight.T, first.bias.expand(5, 8)))
    assert bits(found) == bits(on_volta(hidden, second.weight.T, second.bias.expand(5, 3)))


def test_attention_of_matrix_products() -> None:
    q, k, v = (drawn(1, 2, 6, 8, seed=s, size=1.0) for s in range(3))
    with emulating(VOLTA):
        weights = torch.softmax(q @ k.mT, -1)
        found = weights @ v
    of_k, of_v = (x.reshape(2, 6, 8) for x in (k, v))
    wanted = on_volta(torch.softmax(on_volta(q.reshape(2, 6, 8), of_k.mT), -1), of_v)
    assert bits(found) == bits(wanted.reshape(1, 2, 6, 8))


def test_integers() -> None:
    a = torch.arange(-32, 32, dtype=torch.int8).reshape(2, 32)
    wanted = a.int() @ a.T.int()
    with emulating("cdna3/v_mfma_i32_16x16x32_i8"):
        assert torch.equal(torch._int_mm(a, a.T), wanted)
        assert torch.equal(a @ a.T, wanted.to(torch.int8))


def test_products_inside_the_kernels_of_other_operators() -> None:
    a = drawn(40, 4, dtype=torch.float32)
    fp32 = "cdna3/v_mfma_f32_32x32x2_f32"
    with emulating(VOLTA), pytest.raises(EmulationError, match="torch.float32 and torch.float32"):
        torch.cdist(a, a)
    with emulating(VOLTA), torch.inference_mode(), pytest.raises(EmulationError):
        torch.cdist(a, a)
    with emulating(fp32):
        found = torch.cdist(a, a)
    norms, ones = (a * a).sum(-1, keepdim=True), torch.ones(40, 1)
    first, second = torch.cat([-2 * a, norms, ones], -1), torch.cat([a, ones, norms], -1)
    assert bits(found) == bits(expected(fp32, first, second.T).clamp_min(0).sqrt())
    with emulating(VOLTA, native=[torch.float32]):
        torch.cdist(a, a)


def test_the_types_of_operands_choose_the_design() -> None:
    bf16 = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"
    a, b = drawn(5, 32, dtype=torch.bfloat16), drawn(32, 7, dtype=torch.bfloat16)
    with emulating(VOLTA, bf16):
        assert bits(A @ B) == bits(on_volta(A, B))
        assert bits(a @ b) == bits(expected(bf16, a, b).bfloat16())


def test_d_is_rounded_to_the_type_of_the_operands_unless_another_is_named() -> None:
    a, b = drawn(5, 32), drawn(32, 7)
    d = expected(HOPPER, a, b)
    with emulating(HOPPER):
        assert bits(a @ b) == bits(d.half())
    with emulating(HOPPER, result=torch.float32):
        assert bits(a @ b) == bits(d)


def test_operands_of_8_bits_give_the_type_of_d() -> None:
    a, b = drawn(5, 32, dtype=torch.float8_e4m3fn), drawn(32, 7, dtype=torch.float8_e4m3fn)
    with emulating(HOPPER_FP8):
        assert bits(a @ b) == bits(expected(HOPPER_FP8, a, b))


@pytest.mark.parametrize("cast", ["nearest", "scaled"])
def test_operands_are_cast_where_the_user_says_so(cast: str) -> None:
    a, b, c = (drawn(*x, dtype=torch.float32) for x in ((5, 32), (32, 7), (5, 7)))
    with emulating(HOPPER_FP8, cast=cast):
        assert bits(torch.addmm(c, a, b)) == bits(matmul(HOPPER_FP8, a, b, c, cast=cast))


def test_sums_are_promoted() -> None:
    a, b = drawn(5, 256, dtype=torch.float8_e4m3fn), drawn(256, 7, dtype=torch.float8_e4m3fn)
    with emulating(HOPPER_FP8, promote_every=64):
        found = a @ b
    parts = [expected(HOPPER_FP8, a[:, k : k + 64], b[k : k + 64]) for k in range(0, 256, 64)]
    assert bits(found) == bits(((parts[0] + parts[1]) + parts[2]) + parts[3])


def test_bias_may_be_added_outside() -> None:
    a, b, c = drawn(5, 32), drawn(32, 7), drawn(5, 7, size=1e4)
    with emulating(HOPPER, c_outside=True, result=torch.float32):
        found = torch.addmm(c, a, b)
    assert bits(found) == bits(expected(HOPPER, a, b) + c.float())


def test_types_that_are_left_to_pytorch() -> None:
    a, b = drawn(5, 30, dtype=torch.float64), drawn(30, 7, dtype=torch.float64)
    wanted = a @ b
    image = drawn(1, 2, 6, 6, dtype=torch.float64)
    with emulating(VOLTA, native=[torch.float64]):
        assert bits(a @ b) == bits(wanted)
        torch.linalg.inv(a @ a.T)
        F.conv2d(image, image)
        with torch.inference_mode():
            assert bits(a @ b) == bits(wanted)
        x = a.clone().requires_grad_()
        (x @ b).sum().backward()
        assert bits(A @ B) == bits(on_volta(A, B))
        with pytest.raises(EmulationError):
            a.float() @ b.float()
        with pytest.raises(EmulationError, match=r"torch.float64 and torch.float16"):
            torch.mm(a, B)
    assert bits(x.grad) == bits(torch.ones(5, 7, dtype=torch.float64) @ b.T)


def test_autocast_picks_the_type_first() -> None:
    bf16 = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"
    a, b = drawn(5, 32, dtype=torch.float32), drawn(32, 7, dtype=torch.float32)
    with emulating(bf16), torch.autocast("cpu", dtype=torch.bfloat16):
        found = a @ b
    assert bits(found) == bits(expected(bf16, a.bfloat16(), b.bfloat16()).bfloat16())


def test_the_innermost_context_decides() -> None:
    a, b = drawn(5, 32), drawn(32, 7)
    with emulating(HOPPER):
        with emulating(VOLTA):
            assert bits(a @ b) == bits(on_volta(a, b))
        assert bits(a @ b) == bits(expected(HOPPER, a, b).half())


def test_a_context_may_be_entered_again_and_be_a_decorator() -> None:
    context = emulating(VOLTA)
    with context, context:
        assert bits(A @ B) == bits(on_volta(A, B))
    with context:
        assert bits(A @ B) == bits(on_volta(A, B))

    @emulating(VOLTA)
    def product(x: Any, y: Any) -> Any:
        """Return a product."""
        return x @ y

    assert product.__name__ == "product"
    assert bits(product(A, B)) == bits(on_volta(A, B))
    assert is_native()


def test_each_step_of_a_decorated_generator_runs_in_the_context() -> None:
    closed = []

    @emulating(VOLTA)
    def products(a: Any, b: Any) -> Any:
        try:
            sent = yield a @ b
            try:
                yield a @ sent
            except ZeroDivisionError:
                yield b.T @ a.T
            return "the end"
        finally:
            closed.append(bits(a @ b))

    steps = products(A, B)
    assert bits(next(steps)) == bits(on_volta(A, B))
    assert is_native()
    assert bits(steps.send(B * 2)) == bits(on_volta(A, B * 2))
    assert bits(steps.throw(ZeroDivisionError())) == bits(on_volta(B.T, A.T))
    with pytest.raises(StopIteration, match="the end"):
        next(steps)
    assert is_native()
    early = products(A, B)
    next(early)
    early.close()
    assert closed == [bits(on_volta(A, B))] * 2
    assert is_native()


def test_what_does_not_run_when_it_is_called_is_not_decorated() -> None:
    async def coroutine() -> Any:
        return A @ B

    async def generator() -> Any:
        yield A @ B

    class Layer(torch.nn.Module):
        pass

    for function in (coroutine, generator):
        with pytest.raises(EmulationError, match="asynchronous functions"):
            emulating(VOLTA)(function)
    with pytest.raises(EmulationError, match="Layer is a class: decorate its methods"):
        emulating(VOLTA)(Layer)
    with pytest.raises(EmulationError, match="decorates functions"):
        emulating(VOLTA)(3)
    with pytest.raises(EmulationError, match="returned a generator"):
        emulating(VOLTA)(lambda: (A @ B for _ in range(2)))()


def is_native() -> bool:
    return bits(A @ B) != bits(on_volta(A, B)) and "Mm" in type((A.clone().requires_grad_() @ B).grad_fn).__name__


def test_an_error_inside_ends_the_context() -> None:
    with pytest.raises(EmulationError), emulating(VOLTA):
        A.float() @ B.float()
    with pytest.raises(ZeroDivisionError), emulating(VOLTA), emulating(HOPPER):
        _ = 1 // 0
    assert is_native()


def test_a_context_holds_for_its_own_thread() -> None:
    found: dict[str, bool] = {}
    entered, leave = threading.Event(), threading.Event()

    def holds_a_context() -> None:
        with emulating(HOPPER):
            entered.set()
            leave.wait(60)

    holder = threading.Thread(target=holds_a_context)
    holder.start()
    assert entered.wait(60)
    found["another thread has one"] = is_native()
    with emulating(VOLTA):
        inside = A @ B
        other = threading.Thread(target=lambda: found.update({"a new thread has none": is_native()}))
        other.start()
        other.join()
        leave.set()
        holder.join()
        again = A @ B
    assert found == {"another thread has one": True, "a new thread has none": True}
    assert bits(inside) == bits(again) == bits(on_volta(A, B))
    assert is_native()


def test_many_threads_at_once() -> None:
    designs = [VOLTA, HOPPER] * 3
    found: list[Any] = [None] * len(designs)

    def work(i: int) -> None:
        for _ in range(5):
            with emulating(designs[i]):
                found[i] = drawn(5, 32) @ drawn(32, 7)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(designs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = {x: bits(expected(x, drawn(5, 32), drawn(32, 7)).half()) for x in (VOLTA, HOPPER)}
    assert [bits(x) for x in found] == [wanted[x] for x in designs]
    assert is_native()


def test_compiled_functions_run_uncompiled_inside() -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x, y: (x @ y) * 2, backend="eager")
    native = compiled(A, B)
    with emulating(VOLTA):
        inside = compiled(A, B)
    assert bits(inside) == bits(on_volta(A, B) * 2)
    assert bits(compiled(A, B)) == bits(native) == bits((A @ B) * 2)


def test_a_compiled_function_may_hold_a_context() -> None:
    @torch.compile(backend="eager")
    def product(x: Any, y: Any) -> Any:
        with emulating(VOLTA):
            return x @ y

    assert bits(product(A, B)) == bits(on_volta(A, B))
    assert is_native()


def test_what_has_no_products_runs_as_ever() -> None:
    x = drawn(4, 8, dtype=torch.float32)
    wanted = F.layer_norm(torch.softmax(x, -1).cumsum(0), [8]), torch.fft.rfft(x).abs(), x.sort().values
    with emulating(VOLTA):
        found = F.layer_norm(torch.softmax(x, -1).cumsum(0), [8]), torch.fft.rfft(x).abs(), x.sort().values
    assert all(torch.equal(f, w) for f, w in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    ("designs", "options", "text"),
    [
        ((), {}, "needs the name of a design"),
        (("volta/nothing",), {}, "no instruction"),
        ((VOLTA, HOPPER), {}, "take the same types: which should run"),
        (("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",), {}, "takes scales"),
        (("blackwell/tcgen05.mma.m64n8k32.f32.e2m1.e4m3",), {}, "multiplies e2m1, which PyTorch has no type for"),
        ((HOPPER,), {"promote_every": 24}, "not a multiple of the K = 16"),
        ((VOLTA,), {"promote_every": 8}, "needs sums of fp32"),
        ((VOLTA,), {"backward": "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"}, "takes scales"),
        (("volta/f32.f16.f16.f32",), {"promote_every": 8, "backward": HOPPER}, "not a multiple of the K = 16"),
    ],
)
def test_designs_that_do_not_fit_are_refused(designs: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(DesignError, match=text):
        emulating(*designs, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cast": "near"}, "cast is 'near': None, 'nearest', 'scaled'"),
        ({"cast": 1}, "cast is 1: None"),
        ({"promote_every": 0}, "promote_every is 0: None for"),
        ({"promote_every": -16}, "promote_every is -16: None for"),
        ({"promote_every": "16"}, "promote_every is '16': None for"),
        ({"promote_every": True}, "promote_every is True: None for"),
        ({"c_outside": "yes"}, "c_outside is 'yes': True or False"),
        ({"result": "float32"}, "result is 'float32', .* returns torch.float32: None, torch.float16, torch.bfloat16"),
        ({"result": torch.int8}, "result is torch.int8, .* torch.float64$"),
        ({"native": torch.float64}, r"native is torch.float64: .*native=\[torch.float64\]"),
        ({"native": "float64"}, "native is 'float64': a list"),
        ({"native": ["float64"]}, r"native is \['float64'\]: a list"),
        ({"native": None}, "native is None: a list"),
        ({"native": [torch.float64, torch.float16]}, "native leaves products of torch.float16 to PyTorch, and hopper"),
    ],
)
def test_settings_are_checked_before_anything_runs(options: dict[str, Any], text: str) -> None:
    with pytest.raises(EmulationError, match=text):
        emulating(HOPPER, **options)
    if options.keys() <= {"cast", "promote_every", "c_outside"}:
        with pytest.raises(EmulationError, match=text):
            matmul(HOPPER, A, B, **options)


def test_the_other_type_of_a_product_may_be_native() -> None:
    with emulating("hopper/wgmma.f32.e4m3.e5m2", native=[torch.float8_e5m2]):
        pass


@pytest.mark.parametrize("design", [None, 3, [HOPPER]])
def test_what_is_no_design_is_refused(design: Any) -> None:
    for call in (lambda: emulating(design), lambda: emulating(HOPPER, design), lambda: matmul(design, A, B)):
        with pytest.raises(DesignError, match="is not a design: give the name of one"):
            call()


def test_a_design_must_be_found_by_its_name() -> None:
    from dataclasses import replace

    other = replace(find_design(VOLTA), k=8)
    with pytest.raises(DesignError, match="is the name of another design"):
        emulating(other)
