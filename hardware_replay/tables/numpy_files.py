"""Arrays of .npy and .npz files. Nothing is unpickled."""

from __future__ import annotations

from io import BytesIO

from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.npz import open_npz, read_npy
from mmaproof.hardware_replay.tables.table import Table


def read_npy_table(data: bytes, whence: str) -> Table:
    """Return the single array of a .npy file, without a name; InputError where it is damaged or holds objects."""
    return Table(whence, {"": read_npy(BytesIO(data), len(data), whence)})


def read_npz_table(data: bytes, whence: str) -> Table:
    """Return the arrays of an .npz file by their names; InputError where it is damaged or one holds objects."""
    with open_npz(whence, BytesIO(data)) as file:
        names = [x for x in file.names if x != "about"]
        if not names:
            raise InputError(f"{whence}: holds no array")
        return Table(whence, {name: file.read(name) for name in names})
