"""The context in which PyTorch's own products run on designs.

Two mechanisms work together, both for the current thread only. PyTorch's Python dispatcher replaces the step of a
matrix product that would record its gradient, so that the recorded gradient runs on the design too, wherever
``backward()`` is called. A dispatch mode sees every operator that is about to run. It computes the products that the
first mechanism does not meet (nothing is recorded in ``torch.inference_mode()``), and it refuses what is not
emulated.

What PyTorch runs in ``backward()`` and was met in a context: it runs in that context again.

The recorded product of a context remembers its design by itself. Two other things compute products later: the
``backward`` of a ``torch.autograd.Function``, and a checkpoint, which computes its forward pass again. While any
thread is in a context, ``Deferring`` watches where PyTorch begins either.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache, wraps
from types import TracebackType
from typing import Any

import torch
import torch.utils.checkpoint
from torch._C import DispatchKey
from torch._dispatch.python import enable_python_dispatcher, no_python_dispatcher
from torch.autograd.function import BackwardCFunction
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, EmulationError
from mmaproof.gemm.programs import Plan
from mmaproof.torch import aten, settings
from mmaproof.torch.dtypes import Cast, dtype_of
from mmaproof.torch.operators import run
from mmaproof.torch.product import Recipe

Current = Callable[[], AbstractContextManager[Any] | None]
"""Returns the context of the current thread, to be entered again, or None outside of one."""

_CHECKPOINT = "_checkpoint_without_reentrant_generator_impl"
_SUBCLASS = "_mmaproof_subclass"
_OPERATORS = "torch._library.autograd"
"""The module of functions that belong to operators. Those of mmaproof remember their design; others are refused."""


class Deferring:
    """Lets functions and checkpoints remember the context that they were called in."""

    def __init__(self, current: Current) -> None:
        self._current = current
        self._checkpoint: Any = None

    def start(self) -> None:
        """Replace what PyTorch calls. It must not have been replaced already."""
        # each application of a function makes one such object; how a user calls apply, PyTorch alone knows
        setattr(BackwardCFunction, "__init__", self._init())  # noqa: B010
        self._checkpoint = getattr(torch.utils.checkpoint, _CHECKPOINT)
        setattr(torch.utils.checkpoint, _CHECKPOINT, self._kept(self._checkpoint))

    def stop(self) -> None:
        """Undo ``start``."""
        delattr(BackwardCFunction, "__init__")
        setattr(torch.utils.checkpoint, _CHECKPOINT, self._checkpoint)

    def _init(self) -> Callable[[Any], None]:
        def init(ctx: Any) -> None:
            context = self._current()
            if context is not None and ctx._forward_cls.__module__ != _OPERATORS:
                ctx.__class__ = _remembering(type(ctx))
                ctx._mmaproof_context = context

        return init

    def _kept(self, checkpoint: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(checkpoint)
        def kept(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            # fn is what is computed again; PyTorch calls the first time itself
            context = self._current()
            return checkpoint(fn if context is None else _within(context, fn), *args, **kwargs)

        return kept


def _remembering(node: Any) -> Any:
    """Return the subclass of a node's class that computes gradients in the context the node was made in."""
    if _SUBCLASS not in vars(node):

        def user_function(self: Any) -> Callable[..., Any]:
            return _within(self._mmaproof_context, node._get_user_fn(self))

        own = {"__module__": node.__module__, "_get_user_fn": user_function}
        setattr(node, _SUBCLASS, type(node)(node.__name__, (node,), own))
    return getattr(node, _SUBCLASS)


def _within(context: AbstractContextManager[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with context:
            return function(*args, **kwargs)

    return inside


@dataclass(frozen=True, slots=True)
class Emulation:
    """What a context does with products: the designs by the types of a and b, and the rest of its settings."""

    recipes: Sequence[Recipe]
    backward: settings.Multiplier | None
    result: torch.dtype | None
    native: frozenset[torch.dtype]

    def is_native(self, operands: Iterable[Any]) -> bool:
        """Return whether the tensors among ``operands`` are all of types whose products the user leaves to PyTorch."""
        if not self.native:
            return False
        types = {x.dtype for x in tree_leaves(list(operands)) if isinstance(x, torch.Tensor)}
        return bool(types) and types <= self.native

    def multiply(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        c: torch.Tensor | None = None,
        *,
        alpha: aten.Number = 1,
        beta: aten.Number = 1,
        result: torch.dtype | None = None,
    ) -> torch.Tensor:
        """Return ``beta*c + alpha*(a @ b)``, rounded to the type that PyTorch, or the user, wants.

        If ``alpha`` is 1, ``beta*c`` enters the unit as its c (or is added outside, as the recipe says). Otherwise the
        unit returns ``a @ b``, and the rest is done in the type of d. A ``beta`` of 0 means that there is no c.
        """
        recipe = self._recipe(a, b)
        c = None if c is None or not beta else c.expand(*a.shape[:-1], b.shape[-1])
        outer = alpha != 1
        if c is not None and beta != 1:
            c = c.to(torch.promote_types(c.dtype, dtype_of(recipe.design.c_format))) * beta
        d = run(recipe, self.backward or recipe.design, a, b, None if outer else c)
        if outer:
            d = d * alpha
            d = d if c is None else (d + c).to(d.dtype)
        wanted = result or self.result or _dtype_in_torch(a, b)
        return d if wanted is None else d.to(wanted)

    def _recipe(self, a: torch.Tensor, b: torch.Tensor) -> Recipe:
        """Return the recipe for operands of these types. EmulationError lists the types that there are designs for."""
        for recipe in self.recipes:
            if (a.dtype, b.dtype) == settings.dtypes_of(recipe.design):
                return recipe
        if self.recipes[0].cast is not Cast.NEVER:
            return self.recipes[0]
        known = ", ".join(
            f"{first} x {second} ({recipe.design.name})"
            for recipe in self.recipes
            for first, second in (settings.dtypes_of(recipe.design),)
        )
        raise EmulationError(
            f"a product of {a.dtype} and {b.dtype} matches no design of the context: it has {known}. Convert the "
            'operands, add a design, let cast="nearest" or cast="scaled" round them, or name the type in native='
        )


class emulating:  # noqa: N801 - read as a word in a with statement, like torch.no_grad
    """A context in which matrix products of CPU tensors run on designs, forwards and backwards.

    ``with emulating("hopper/wgmma.f32.f16.f16"):`` runs torch.matmul, ``@``, mm, bmm, mv, dot, addmm, baddbmm, addbmm,
    addmv, linear, einsum, and everything that PyTorch makes of them, on the design. With several designs, the types of
    the operands choose. A plan (``read_plan``, or its text: ``"cpu/vfmadd231ps | promote=256"``) may stand for a
    design; then k is divided and sums are added as it says. The gradients of such products run on the design too, also
    where ``backward()`` is called later, and so do those of a ``torch.autograd.Function``, and products of checkpoints.
    A product that is not emulated raises EmulationError: convolutions, fused attention, fused recurrent layers,
    solvers, sparse, quantized, nested and complex tensors, other devices than the CPU, products in place and with
    ``out=``. Operations without products run as ever. Like ``torch.no_grad``, the context holds for its thread only,
    may be nested (the innermost decides), entered again, and written as a decorator of a function or a generator
    function.

    * ``cast``: None raises for operands of other types than the designs'; "nearest" rounds them to the formats of the
      first design; "scaled" first multiplies each matrix by a power of two that uses the format's range.
    * ``promote_every``: after N elements of k the sum leaves the unit and is added in fp32 (or fp64) outside
      it. None: never.
    * ``c_outside``: bias and c are added outside the unit, in d's format, as the epilogue of a GEMM library does. By
      default they enter the unit as c.
    * ``result``: the type of results. None: PyTorch's rule, which is the operands' type, to which d is rounded to
      nearest; for operands of 8-bit floating point, which PyTorch does not multiply on a CPU, the type of d.
    * ``backward``: the design of gradients' products, see ``mmaproof.torch.matmul``.
    * ``native``: types whose products PyTorch computes itself, for example ``[torch.float64]``.

    Raises DesignError for an unknown design, for two designs of the same types, and for settings that a design
    does not allow, and EmulationError for settings that are none, or that contradict each other.
    """

    @torch.compiler.disable
    def __init__(
        self,
        *designs: Design | Plan | str,
        cast: str | None = None,
        promote_every: int | None = None,
        c_outside: bool = False,
        result: torch.dtype | None = None,
        backward: Design | Plan | str | None = None,
        native: Iterable[torch.dtype] = (),
    ) -> None:
        if not designs:
            raise DesignError("emulating() needs the name of a design: mmaproof list designs lists them")
        found = [settings.named(x) for x in designs]
        settings.check_designs(found)
        of_gradients = [] if backward is None else [settings.named(backward)]
        settings.check_designs(of_gradients)
        chosen = settings.cast_of(cast), settings.promotion_of(promote_every), settings.flag("c_outside", c_outside)
        recipes = [Recipe(x, *chosen) for x in (*found, *of_gradients)]
        self._emulation = Emulation(
            recipes[: len(found)],
            of_gradients[0] if of_gradients else None,
            settings.result_of(result, found),
            settings.native_of(native, found),
        )

    @torch.compiler.disable
    def __enter__(self) -> emulating:
        with ExitStack() as stack:
            _ACTIVE.contexts.append((self._emulation, stack))
            stack.callback(_ACTIVE.contexts.pop)
            stack.enter_context(_REPLACEMENT)
            stack.enter_context(enable_python_dispatcher())
            stack.enter_context(_Mode())
            kept = stack.pop_all()
        _ACTIVE.contexts[-1] = (self._emulation, kept)
        return self

    @torch.compiler.disable
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _, stack = _ACTIVE.contexts[-1]
        stack.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function`` as one that runs in this context.

        The context surrounds each step of a generator, and what its caller does between the steps is outside. A
        coroutine's steps are not in one's hands in this way, and a class is not run at all: both raise EmulationError.
        """
        _check_decorated(function)
        if inspect.isgeneratorfunction(function):
            return _steps_inside(self, function)

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                found = function(*args, **kwargs)
            if inspect.isgenerator(found) or inspect.iscoroutine(found) or inspect.isasyncgen(found):
                raise EmulationError(
                    f"{function!r} returned a {type(found).__name__}, whose products would run outside: write "
                    "`with emulating(...):` inside it"
                )
            return found

        return inside


def _check_decorated(function: Callable[..., Any]) -> None:
    """Raise EmulationError for what returns before its products have run, and thus would run them outside."""
    if isinstance(function, type):
        raise EmulationError(
            f"emulating() decorates functions, and {function.__name__} is a class: decorate its methods "
            "(forward of a module), or write `with emulating(...):` where they are called"
        )
    if not callable(function):
        raise EmulationError(f"emulating() decorates functions, and {function!r} is none")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise EmulationError(
            f"emulating() does not decorate asynchronous functions, and {function.__name__} is one: write "
            "`with emulating(...):` inside it, around products and not around await"
        )


def _steps_inside(context: emulating, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a generator function each of whose steps runs in the context."""

    @wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with context:
            generator = function(*args, **kwargs)
        step: Callable[..., Any] = generator.send
        given: tuple[Any, ...] = (None,)
        try:
            while True:
                with context:
                    try:
                        found = step(*given)
                    except StopIteration as end:
                        return end.value
                try:
                    step, given = generator.send, ((yield found),)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step, given = generator.throw, (error,)
        finally:
            with context:
                generator.close()

    return inside


class _Active(threading.local):
    """The contexts of this thread, the innermost last, each with what undoes it."""

    def __init__(self) -> None:
        self.contexts: list[tuple[Emulation, ExitStack]] = []

    @property
    def innermost(self) -> Emulation | None:
        return self.contexts[-1][0] if self.contexts else None


_ACTIVE = _Active()


class _Mode(TorchDispatchMode):
    """Sees every operator that is about to run, below the recording of gradients."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        emulation = _ACTIVE.innermost
        if emulation is None or emulation.is_native((*args, *kwargs.values())):
            return func(*args, **kwargs)
        if aten.is_product(func):
            _check_operands(func, (*args, *kwargs.values()))
        if func in aten.EMULATED:
            return aten.EMULATED[func](emulation, *args, **kwargs)
        if aten.is_made_of_others(func):  # linear and matmul come here whole in torch.inference_mode()
            with self:
                return func.decompose(*args, **kwargs)
        reason = aten.refusal(func)
        if reason is not None:
            raise EmulationError(reason)
        return func(*args, **kwargs)


def _check_operands(op: Any, operands: Iterable[Any]) -> None:
    """Raise EmulationError for nested tensors, which have no shape and may be written with themselves."""
    if any(isinstance(x, torch.Tensor) and x.is_nested for x in tree_leaves(list(operands))):
        raise EmulationError(f"an operand of {op} is a nested tensor: multiply the tensors that it holds, one by one")


class _Replacement:
    """While a thread is in a context, the products of such threads are replaced in PyTorch's Python dispatcher.

    They are replaced at two keys. At AutogradCPU a product would record its gradient. At CPU arrive the products that
    the kernel of another operator calls (``cdist`` of many rows), which no dispatch mode sees.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                try:
                    for op, key, replaced in _replacements():
                        op.py_impl(key)(replaced)
                    _DEFERRING.start()
                except BaseException:
                    _restore()
                    raise
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                _DEFERRING.stop()
                _restore()


def _restore() -> None:
    """Undo every replacement that was made."""
    for op, key, replaced in _replacements():
        if op.py_kernels.get(key) is replaced:
            del op.py_kernels[key]
            op._dispatch_cache.clear()


_REPLACEMENT = _Replacement()


def _current() -> emulating | None:
    """Return a context like the innermost of this thread."""
    emulation = _ACTIVE.innermost
    if emulation is None:
        return None
    context: emulating = emulating.__new__(emulating)
    context._emulation = emulation
    return context


_DEFERRING = Deferring(_current)


@cache
def _replacements() -> Sequence[tuple[Any, DispatchKey, Callable[..., Any]]]:
    """Return operators, the keys that they are replaced at, and by what."""
    emulated = [(op, key, _replaced(op, function)) for op, function in aten.EMULATED.items() for key in _KEYS]
    return [
        *emulated,
        *((op, key, _replaced(op, _refused(op))) for op in aten.refused_operators() for key in _keys_of_refusal(op)),
    ]


_KEYS = (DispatchKey.AutogradCPU, DispatchKey.CPU)


def _keys_of_refusal(op: Any) -> Sequence[DispatchKey]:
    """Return where an operator is refused. One that is written with others would be so at the first of the keys."""
    return (*_KEYS, DispatchKey.FuncTorchBatched) if aten.base_name(op) in aten.COMPOSED else (DispatchKey.CPU,)


def _refused(op: Any) -> Callable[..., Any]:
    def refused(*_: Any, **__: Any) -> Any:
        raise EmulationError(str(aten.refusal(op)))

    return refused


def _replaced(op: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def replaced(*args: Any, **kwargs: Any) -> Any:
        emulation = _ACTIVE.innermost
        if emulation is None or emulation.is_native((*args, *kwargs.values())):
            with no_python_dispatcher():
                return op(*args, **kwargs)
        return function(emulation, *args, **kwargs)

    return replaced


def _dtype_in_torch(a: torch.Tensor, b: torch.Tensor) -> torch.dtype | None:
    """Return the type of a product of these in PyTorch; None for 8-bit floating point, which it does not multiply."""
    if any(x.dtype.is_floating_point and x.dtype.itemsize == 1 for x in (a, b)):
        return None
    return torch.promote_types(a.dtype, b.dtype)
