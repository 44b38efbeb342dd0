"""Tensors of safetensors and .pt files. Of a .pt file only tensors are read, never other objects."""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.npz import LARGEST
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

    PyTorch is not needed, and no code of the file runs. Raises InputError where it is damaged or holds anything else.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            held = _Tensors(archive).load()
    except Exception as error:  # a file of others may go wrong in any way
        raise InputError(f"{whence}: not a file of tensors alone: {' '.join(str(error).split())[:200]}") from error
    if isinstance(held, np.ndarray):
        held = {"": held}
    elif isinstance(held, list | tuple):
        held = dict(zip(_names(len(held)), held, strict=False))
    if not isinstance(held, dict) or not held or not all(isinstance(x, np.ndarray) for x in held.values()):
        raise InputError(f"{whence}: holds no dictionary of tensors: save {{'a': a, 'b': b, 'c': c, 'd': d}}")
    return Table(whence, {str(name): x for name, x in held.items()})


class _Tensors(pickle.Unpickler):
    """Reads tensors as arrays. Of all names that a file may call, only those of tensors and dictionaries are known."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        (index,) = (x for x in archive.infolist() if x.filename.endswith("/data.pkl"))
        self._archive, self._folder = archive, index.filename.removesuffix("data.pkl")
        super().__init__(io.BytesIO(self._read("data.pkl")))

    def _read(self, name: str) -> bytes:
        info = self._archive.getinfo(self._folder + name)
        if info.file_size > LARGEST:
            raise ValueError(f"{name} takes {info.file_size} bytes; at most {LARGEST} are read")
        return self._archive.read(info)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch._utils" and name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3"):
            return _tensor
        if module == "torch" and name.endswith("Storage"):
            return _STORAGES[name.removesuffix("Storage")]
        if (module, name) == ("torch.storage", "UntypedStorage"):
            return "u1"
        if module == "torch":
            return np.dtype(getattr(ml_dtypes, name, name))
        raise ValueError(f"{module}.{name} is not a tensor")

    def persistent_load(self, pid: Any) -> tuple[bytes, Any]:
        _, dtype, key, *_ = pid
        return self._read(f"data/{key}"), np.dtype(dtype)


_STORAGES = {
    "BFloat16": ml_dtypes.bfloat16,
    **{"Half": "<f2", "Float": "<f4", "Double": "<f8"},
    **{"Char": "<i1", "Byte": "<u1", "Short": "<i2", "Int": "<i4", "Long": "<i8"},
}
"""The types of PyTorch that have storages of their own; others are named by the tensor"""


def _tensor(
    storage: tuple[bytes, Any], offset: int, size: tuple[int, ...], stride: tuple[int, ...], *rest: Any
) -> Column:
    """Return a tensor as an array: part of a storage. The type of a third version comes after two other arguments."""
    held, dtype = storage[0], rest[2] if len(rest) > 2 else storage[1]
    if math.prod(size) * dtype.itemsize > LARGEST:
        raise ValueError(f"a tensor of the shape {size} is larger than {LARGEST} bytes")
    steps = [x * dtype.itemsize for x in stride]
    return np.ndarray(size, dtype, held, offset * dtype.itemsize, steps).copy()


def _names(count: int) -> tuple[str, ...]:
    return {3: ("a", "b", "d"), 4: ("a", "b", "c", "d")}.get(count, tuple(f"tensor {i}" for i in range(count)))
