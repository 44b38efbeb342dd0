"""Arrays of .npz and .npy files that may be damaged or made to do harm.

Nothing is unpickled, and nothing is unpacked before its size is known and bounded.
"""

from __future__ import annotations

import ast
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import LARGEST_DATA, require_file, why_unreadable

LARGEST = LARGEST_DATA
"""Bytes that the arrays of one file may take, all of them together."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MAGIC = b"\x93NUMPY"
_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
"""How the length of a header is written, by the first number of the version (numpy.lib.format)"""
_LONGEST_HEADER = 10_000
_TYPE = re.compile(r"[<>|=][uifUV]\d{1,9}")
"""Numbers, text, and bytes without a type: NumPy stores so what it does not know itself"""
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    EOFError,
    RuntimeError,
    SyntaxError,
    TypeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class ArrayHeader:
    """What a file says of one of its arrays; ``order`` is C or F, and ``start`` is where its bytes begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    start: int


@dataclass(frozen=True)
class NpzFile:
    """An open .npz file. Every method raises InputError where it is damaged."""

    path: Path | str
    archive: zipfile.ZipFile

    @property
    def names(self) -> list[str]:
        """The names of its arrays."""
        return [x.removesuffix(".npy") for x in self.archive.NameToInfo]

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self.archive.NameToInfo

    def header(self, name: str) -> ArrayHeader:
        """Return what the file says of an array, after a check that the file holds all of its bytes.

        Raises InputError if there is no such array, or if it holds anything but numbers and text.
        """
        if name not in self:
            raise InputError(f"{self.path}: has no array {name!r}; a recording holds a, b, c and d")
        member = self.archive.getinfo(f"{name}.npy")
        with _refused(self.path, name), self.archive.open(member) as stream:
            return _read_header(stream, member.file_size, f"{self.path}: {name}")

    def read(self, name: str) -> npt.NDArray[Any]:
        """Return an array. Raises InputError as ``header`` does."""
        header = self.header(name)
        with _refused(self.path, name), self.archive.open(f"{name}.npy") as stream:
            data = stream.read()[header.start :]
            return np.frombuffer(data, header.dtype).reshape(header.shape, order=header.order)


def read_npy(stream: BinaryIO, size: int, whence: str) -> npt.NDArray[Any]:
    """Return the array of an open .npy file of ``size`` bytes; InputError where it is damaged or holds objects."""
    with _refused(whence):
        header = _read_header(stream, size, whence)
        return np.frombuffer(stream.read(), header.dtype).reshape(header.shape, order=header.order)


def _read_header(stream: IO[bytes], size: int, whence: str) -> ArrayHeader:
    """Return what an array of ``size`` bytes in all says of itself, after a check that all of its bytes are there."""
    start = stream.read(8)
    if start[:6] != MAGIC or start[6] not in _LENGTHS:
        raise InputError(f"{whence} is not an array in the format of NumPy")
    form = _LENGTHS[start[6]]
    (length,) = struct.unpack(form, stream.read(struct.calcsize(form)))
    if length > _LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes")
    header = _parse_header(stream.read(length).decode("latin-1"), stream.tell())
    stated, there = math.prod(header.shape) * header.dtype.itemsize, size - header.start
    if stated != there:
        raise ValueError(f"shape {header.shape} takes {stated} bytes, and {there} are there")
    return header


def _parse_header(text: str, start: int) -> ArrayHeader:
    """Return what the header of an array (numpy.lib.format) says: a Python literal, of which little is trusted."""
    try:
        said = ast.literal_eval(text.strip())
    except MemoryError as error:  # the parser raises it when the nesting is too deep
        raise ValueError("its header is nested too deeply") from error
    descr, fortran, shape = said["descr"], said["fortran_order"], said["shape"]
    if not (isinstance(descr, str) and _TYPE.fullmatch(descr)):
        raise ValueError(f"holds {descr!r}, neither numbers nor text; other objects are never loaded")
    if not (isinstance(shape, tuple) and all(type(x) is int and x >= 0 for x in shape)):
        raise ValueError(f"has a shape {shape!r}")
    # ml_dtypes calls one of its types so, and NumPy does not know it by that name
    dtype = np.dtype(ml_dtypes.float8_e5m2) if descr[1:] == "f1" else np.dtype(descr)
    return ArrayHeader(dtype, shape, "F" if fortran else "C", start)


@contextmanager
def open_npz(path: Path | str, stream: BinaryIO | None = None) -> Iterator[NpzFile]:
    """Open ``path`` for reading, or what ``stream`` holds of it.

    Raises InputError where it is missing, no .npz file, damaged, or above LARGEST.
    """
    if stream is None:
        file = Path(path)
        if not file.exists():
            raise InputError(f"{path}: no such file")
        try:
            require_file(file)
        except OSError as error:
            raise InputError(f"{path}: {why_unreadable(error)}") from error
        with _refused(path), file.open("rb") as beginning:
            single = beginning.read(6) == MAGIC
        if single:
            raise InputError(f"{path}: a single array, no .npz file: a recording holds a, b, c and d")
    with _refused(path):
        archive = zipfile.ZipFile(path if stream is None else stream)
    with archive:
        members = archive.infolist()
        size = sum(x.file_size for x in members)
        if size > LARGEST:
            raise InputError(f"{path}: unpacks to {size} bytes; a recording takes at most {LARGEST}")
        for x in members:
            if x.compress_type not in _METHODS:
                raise InputError(f"{path}: {x.filename} is compressed in an unknown way; write it stored or deflated")
        yield NpzFile(path, archive)


@contextmanager
def _refused(path: Path | str, array: str | None = None) -> Iterator[None]:
    """Turn what Python's libraries raise on a damaged file, or on one array of it, into InputError."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGE as error:
        whole = "" if array is None else f"{array}: "
        raise InputError(f"{path}: damaged or no .npz file: {whole}{error}") from error
