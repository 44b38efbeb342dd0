"""Tensors of safetensors and .pt files. Of a .pt file only tensors are loaded, never other objects."""

from __future__ import annotations

import io
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np

from mmaproof.designs.arrays import as_numpy
from mmaproof.designs.errors import InputError, OperandError
from mmaproof.hardware_replay.tables.table import Column, Table

_TYPES = {
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    **{f"F{8 * n}": f"<f{n}" for n in (2, 4, 8)},
    **{f"{kind}{8 * n}": f"<{kind.lower()}{n}" for kind in "IU" for n in (1, 2, 4, 8)},
}
"""The types of safetensors, as NumPy and ml_dtypes have them"""


def read_safetensors(data: bytes, whence: str) -> Table:
    """Return the tensors of a safetensors file.

    Raises InputError where it is damaged, a type is unknown, or the library is missing.
    """
    if find_spec("safetensors") is None:
        raise InputError(f"{whence}: safetensors are read with an extra: pip install 'mmaproof[files]'")
    library: Any = import_module("safetensors")
    try:
        held = library.deserialize(data)
    except library.SafetensorError as error:
        raise InputError(f"{whence}: a damaged safetensors file: {error}") from error
    found: dict[str, Column] = {}
    for name, tensor in held:
        if tensor["dtype"] not in _TYPES:
            raise InputError(f"{whence}: {name} has the type {tensor['dtype']}: one of {', '.join(_TYPES)}")
        dtype = np.dtype(_TYPES[tensor["dtype"]])
        found[name] = np.frombuffer(bytes(tensor["data"]), dtype).reshape(tensor["shape"])
    return Table(whence, dict(sorted(found.items())))


def read_torch(data: bytes, whence: str) -> Table:
    """Return the tensors of a .pt file that holds a dictionary, a list or a tuple of them, or a single one.

    Raises InputError where it holds anything else, and where PyTorch is missing.
    """
    if find_spec("torch") is None:
        raise InputError(
            f"{whence}: a file of PyTorch, which is not installed here: save the arrays as .npz or safetensors"
        )
    torch: Any = import_module("torch")
    try:
        held = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling has many errors of its own
        raise InputError(f"{whence}: no file of tensors alone: {' '.join(str(error).split())[:200]}") from error
    if torch.is_tensor(held):
        held = {"": held}
    elif isinstance(held, list | tuple):
        held = dict(zip(_names(len(held)), held, strict=False))
    if not isinstance(held, dict) or not held or not all(torch.is_tensor(x) for x in held.values()):
        raise InputError(f"{whence}: holds no dictionary of tensors: save {{'a': a, 'b': b, 'c': c, 'd': d}}")
    try:
        return Table(whence, {str(name): _typed(x) for name, x in held.items()})
    except OperandError as error:
        raise InputError(f"{whence}: {error}") from error


def _names(count: int) -> tuple[str, ...]:
    return {3: ("a", "b", "d"), 4: ("a", "b", "c", "d")}.get(count, tuple(f"tensor {i}" for i in range(count)))


def _typed(tensor: Any) -> Column:
    """Return a tensor as an array; narrow types are those of ml_dtypes of the same name, if there is one."""
    found = as_numpy(tensor)
    name = str(tensor.dtype).removeprefix("torch.")
    return found.view(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) and found.dtype.kind == "u" else found
