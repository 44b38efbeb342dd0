"""Arrays of other libraries as NumPy arrays, without rounding: PyTorch, JAX, and whatever speaks DLPack."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.errors import OperandError


def is_array(given: Any) -> bool:
    """Return whether something is an array of NumPy or of another library, and no list or number."""
    return isinstance(given, np.ndarray) or hasattr(given, "__array__") or hasattr(given, "__dlpack__")


def as_numpy(array: Any) -> npt.NDArray[Any]:
    """Return an array of NumPy, ml_dtypes, PyTorch or JAX as a NumPy array.

    Tensors of narrow types of PyTorch become their bit patterns, because DLPack has no such types for NumPy. Raises
    OperandError for anything that is not an array, and for one that cannot be read here.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise OperandError("a masked array, and units have no masks: fill it first")
    if isinstance(array, np.ndarray):
        return array
    kind = f"{type(array).__module__}.{type(array).__qualname__}".removeprefix("builtins.")
    try:
        if type(array).__module__.partition(".")[0] == "torch":
            return _of_torch(array)
        if hasattr(array, "__array__") or not hasattr(array, "__dlpack__"):
            return _checked(np.asarray(array), kind)
        return np.from_dlpack(array)
    except OperandError:
        raise
    except Exception as problem:  # each library has errors of its own, for devices, layouts and traced values
        raise OperandError(
            f"a {kind} cannot be read as an array: {type(problem).__name__}: {_line(problem)}; copy it to a NumPy array"
        ) from problem


def _checked(found: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Return what NumPy made of something; OperandError for objects and texts."""
    if found.dtype.kind in "OSUMm":
        raise OperandError(f"a {kind}, and no array of numbers")
    return found


def _of_torch(tensor: Any) -> npt.NDArray[Any]:
    torch: Any = sys.modules["torch"]
    if not isinstance(tensor, torch.Tensor):
        raise OperandError(f"a {type(tensor).__name__}, and no tensor")
    held = tensor.detach().cpu()
    if held.dtype.is_floating_point and held.dtype not in (torch.float16, torch.float32, torch.float64):
        held = held.contiguous().view(torch.uint8 if held.dtype.itemsize == 1 else torch.uint16)
    found: npt.NDArray[Any] = held.numpy()
    return found


def _line(problem: Exception) -> str:
    """Return the first line of an error's text."""
    return next(iter(str(problem).strip().splitlines()), "no reason given")
