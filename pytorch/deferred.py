"""What PyTorch runs in ``backward()`` and was met in a context: it runs in that context again.

The recorded product of a context remembers its design by itself. Two other things compute products later: the
``backward`` of a ``torch.autograd.Function``, and a checkpoint, which computes its forward pass again. While any
thread is in a context, ``Deferring`` watches where PyTorch begins either.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

import torch.utils.checkpoint
from torch.autograd.function import BackwardCFunction

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
