"""Machine code that was checked before its first use: loaded from the cache, or compiled and kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.native import cache
from mmaproof.smt.native.compiler import MachineCode, compile_object
from mmaproof.smt.native.lowering import InputColumn

MOST_LOADED = 1024
"""Kernels of a kind that this process holds; then the oldest one goes."""

CHECKED_ROWS = 128
"""Rows on which code is run before it is used, compiled or read from the cache."""

Kernel = TypeVar("Kernel")
Key = TypeVar("Key")


_locks = [threading.RLock()]
if hasattr(os, "register_at_fork"):
    # a child has the locks as they were, and not the threads that would release them
    os.register_at_fork(after_in_child=lambda: _locks.__setitem__(0, threading.RLock()))


class MiscompiledError(Exception):
    """Compiled code returned another d than arrays do (an internal error)."""


@dataclass(frozen=True)
class Source:
    """Functions in LLVM IR with the intrinsics that they call, and the sizes that their caller has to know.

    ``optimised`` says whether they are worth the time of LLVM's optimiser.
    """

    texts: Sequence[str]
    declarations: Iterable[str]
    sizes: Mapping[str, int]
    optimised: bool


@dataclass(frozen=True)
class Recipe(Generic[Kernel]):
    """How a kernel comes about, and how it is checked.

    ``key`` is what it is kept under, None for nothing; ``functions`` are the names of its functions. ``made`` gives the
    kernel of machine code and sizes, ``results`` runs it on the rows of a check, and ``expected`` computes the same on
    arrays.
    """

    what: str
    key: str | None
    functions: Sequence[str]
    source: Callable[[], Source]
    made: Callable[[MachineCode, Mapping[str, int]], Kernel]
    results: Callable[[Kernel], npt.NDArray[Any]]
    expected: Callable[[], npt.NDArray[Any]]


def checked(recipe: Recipe[Kernel]) -> Kernel:
    """Return a kernel whose results were compared with those of arrays: now, or when it was compiled and kept.

    Raises MiscompiledError where what was compiled just now is wrong, and whatever ``source`` raises.
    """
    entry = None if recipe.key is None else cache.find(recipe.key)
    if entry is not None:
        kernel = recipe.made(MachineCode(entry.compiled, recipe.functions), entry.sizes)
        if recipe.results(kernel).tolist() == list(entry.checked):
            return kernel
    source = recipe.source()
    compiled = compile_object(source.texts, source.declarations, optimised=source.optimised)
    kernel = recipe.made(MachineCode(compiled, recipe.functions), source.sizes)
    results, expected = recipe.results(kernel), recipe.expected()
    if not np.array_equal(results, expected):
        wrong = int((results != expected).sum())
        raise MiscompiledError(
            f"native code of {recipe.what} differs from arrays in {wrong} of {len(expected)} results: "
            "use --backend arrays, and report this"
        )
    if recipe.key is not None:
        cache.keep(recipe.key, cache.Entry(compiled, source.sizes, tuple(expected.tolist())))
    return kernel


def once(loaded: dict[Key, Kernel], key: Key, recipe: Callable[[], Recipe[Kernel]]) -> Kernel:
    """Return a checked kernel of ``loaded``, made where it is not there. Only one thread compiles at a time."""
    if (found := loaded.get(key)) is not None:
        return found
    with _locks[0]:
        found = loaded.get(key) or checked(recipe())
        if len(loaded) >= MOST_LOADED:
            del loaded[next(iter(loaded))]
        loaded[key] = found
    return found


@lru_cache(maxsize=8)
def sample(columns: tuple[InputColumn, ...]) -> OperandBatch:
    """Return the rows that code is checked on: numbers near one, and anything."""
    rng = np.random.default_rng(0)
    drawn = {x.name: _patterns(rng, x.format, (CHECKED_ROWS, len(x.inputs))) for x in columns}
    return OperandBatch(drawn["a"], drawn["b"], drawn["c"][:, 0], drawn.get("sa"), drawn.get("sb"))


def _patterns(rng: np.random.Generator, fmt: Format, shape: tuple[int, int]) -> Patterns:
    """Return random patterns: in three of four rows, numbers whose exponents are near that of one."""
    dtype = pattern_dtype(fmt)
    bits: Patterns = rng.integers(0, (1 << fmt.bits) - 1, shape, dtype=np.uint64, endpoint=True).astype(dtype)
    if fmt.is_integer:
        return bits
    low, field = fmt.fraction_bits + fmt.ignored_bits, (1 << fmt.exponent_bits) - 1
    spread = min(8, field // 4)
    near = rng.integers(fmt.bias - spread, fmt.bias + spread, shape, endpoint=True).clip(0, field).astype(np.uint64)
    numbers = (bits & dtype.type(~(field << low) & ((1 << fmt.bits) - 1))) | (near << np.uint64(low)).astype(dtype)
    chosen: Patterns = np.where((np.arange(shape[0]) % 4 != 0)[:, np.newaxis], numbers, bits)
    return chosen
