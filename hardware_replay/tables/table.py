"""What a file holds before its meaning is known: arrays, some with names.

Tensors of safetensors and .pt files. Of a .pt file only tensors are read, never other objects.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import zipfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.npz import LARGEST

Column = npt.NDArray[Any]
"""Numbers of any type of NumPy or ml_dtypes, bytes without a type (kind V), or numbers as texts (kind U)."""

ROLES = ("a", "b", "c", "d", "scale_a", "scale_b")
_ALIASES = {
    "a": ("lhs",),
    "b": ("rhs",),
    "c": ("acc", "accumulator"),
    "d": ("out", "output", "result", "returned"),
    "scale_a": ("sa", "a_scale", "a_scales", "scales_a", "scale-a"),
    "scale_b": ("sb", "b_scale", "b_scales", "scales_b", "scale-b"),
}
_ROLE_OF = {name: role for role in ROLES for name in (role, *_ALIASES[role])}
_PLACED = re.compile(r"(.*?)[\[_. ]?(\d+)\]?")
"""The name of an array and the number of its element: a0, a_0, a[0]"""
_IN_ORDER = {
    3: ("a", "b", "d"),
    4: ("a", "b", "c", "d"),
    5: ("a", "b", "d", "scale_a", "scale_b"),
    6: ("a", "b", "c", "d", "scale_a", "scale_b"),
}
"""What arrays without names are, by their number."""


@dataclass(frozen=True)
class Table:
    """The arrays of one file or of several, by their names; a single array without a name is called ''."""

    whence: str
    columns: Mapping[str, Column]

    def roles(self) -> dict[str, Column]:
        """Return the arrays by what they are: a, b, c, d, scale_a, scale_b; other arrays are left out.

        A single array without a name has the key ''. Raises InputError where two arrays are the same thing, and where
        a, b or d is missing.
        """
        if set(self.columns) == {""}:
            return dict(self.columns)
        found: dict[str, tuple[str, Column]] = {}
        for name, column in self.columns.items():
            role = role_of(name)
            if role is None:
                continue
            if role in found:
                raise InputError(f"{self.whence}: {found[role][0]} and {name} are both {role}: leave one of them out")
            found[role] = (name, column)
        missing = [x for x in ("a", "b", "d") if x not in found]
        if missing:
            raise InputError(
                f"{self.whence}: no array {' or '.join(missing)}: a, b and d are needed, and c where it is not zero; "
                f"{self.found}"
            )
        return {role: found[role][1] for role in ROLES if role in found}

    def operands(self) -> dict[str, Column]:
        """Return the arrays by what they are, where there need not be results."""
        return {role: x for name, x in self.columns.items() if (role := role_of(name)) is not None}

    @property
    def found(self) -> str:
        """The types and shapes of the arrays, for a person."""
        return f"found {described(self.columns)}" if self.columns else "found no array"


def described(columns: Mapping[str, Column]) -> str:
    """Return types, names and shapes: ``uint16 arrays a (200, 16), b (200, 16), d (200,)``."""
    kinds: dict[str, list[str]] = {}
    for name, x in columns.items():
        kinds.setdefault(kind_of(x), []).append(f"{name} {x.shape}".strip())
    texts = [f"{kind} {'arrays' if len(x) > 1 else 'array'} {', '.join(x)}" for kind, x in kinds.items()]
    return " and ".join(texts)


def kind_of(column: Column) -> str:
    """Return the type of an array for a person."""
    if column.dtype.kind == "U":
        return "text"
    if is_raw(column):
        return f"untyped {column.dtype.itemsize}-byte"
    return column.dtype.name


def is_raw(column: Column) -> bool:
    """Return whether elements are bytes of unknown meaning: so NumPy stores types that it does not know itself."""
    return column.dtype.kind == "V" and column.dtype.type is np.void


def role_of(name: str) -> str | None:
    """Return what an array of this name is, in upper or lower case; None where the name does not say it."""
    return _ROLE_OF.get(name.strip().lower())


def merged(tables: Sequence[tuple[str, Table]]) -> Table:
    """Return the arrays of several files as one table; each comes with the name of its file without its ending.

    The single array of a file is named by its file. If some name does not say what an array is, the order of the files
    does: a, b, d; a, b, c, d; and scales after these. Raises InputError where that is not possible.
    """
    whence = ", ".join(table.whence for _, table in tables)
    named: dict[str, Column] = {}
    for stem, table in tables:
        for name, column in table.columns.items():
            key = name or stem
            if key in named:
                raise InputError(f"{whence}: two arrays are called {key!r}: rename one of them")
            named[key] = column
    single = [set(table.columns) == {""} for _, table in tables]
    if all(single) and not all(role_of(x) for x in named):
        if len(named) not in _IN_ORDER:
            raise InputError(
                f"{whence}: {len(named)} files, and their names do not say what they hold: call them a, b, c and d, "
                "or give three (a, b, d), four (a, b, c, d), or two of scales more"
            )
        named = dict(zip(_IN_ORDER[len(named)], named.values(), strict=True))
    return Table(whence, named)


def gathered(names: Sequence[str], rows: Sequence[Sequence[str]], whence: str) -> dict[str, Column]:
    """Return columns of text by their names; those called a0, a1, ... (a[0], a_0) become one array a of their rows.

    Raises InputError where the numbers of such columns are not 0, 1, ... or 1, 2, ....
    """
    held = np.array([list(x) for x in rows], dtype=np.str_).reshape(len(rows), len(names))
    groups: dict[str, dict[int, int]] = {}
    for place, name in enumerate(names):
        match = _PLACED.fullmatch(name.strip())
        base, number = (match[1], int(match[2])) if match and role_of(match[1]) else (name.strip(), -1)
        if number in groups.setdefault(base, {}):
            raise InputError(f"{whence}: two columns are called {name!r}")
        groups[base][number] = place
    found = {}
    for base, places in groups.items():
        if set(places) == {-1}:
            found[base] = held[:, places[-1]]
            continue
        numbers = sorted(places)
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))) or numbers[0] not in (0, 1):
            given = ", ".join(str(x) for x in numbers if x >= 0)
            raise InputError(f"{whence}: columns of {base} have the numbers {given}: 0, 1, 2, ... are needed")
        found[base] = held[:, [places[x] for x in numbers]]
    return found


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
