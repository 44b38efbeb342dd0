"""Writing files so that nothing half-written is left behind."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from mmaproof.designs.errors import InputError


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` whole or not at all. Raises InputError where that is not possible."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
