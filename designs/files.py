"""Files are written atomically, and those of users read with one set of messages."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from mmaproof.designs.errors import InputError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write ``content`` (text in UTF-8) to ``path`` whole or not at all. A link is followed to its file.

    An existing file keeps its permissions, and a new file gets those that the umask leaves. A pipe, a terminal or
    another device cannot be replaced, so it is written to directly. Raises InputError if writing is not possible.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    if not _can_be_replaced(path):
        try:
            path.write_bytes(data)
        except OSError as error:
            raise _failure(path, error) from error
        return
    target = Path(os.path.realpath(path))
    handle, temporary = _temporary(path, target)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError as error:
        raise _failure(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Return the folder in which this program keeps what it can compute again; it may not exist yet.

    Raises InputError if the user has no home.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not caches.is_absolute():
        # a relative one is to be ignored (XDG Base Directory Specification)
        home = os.environ.get("HOME")
        caches = (Path.home() if home is None else Path(home)) / ".cache"
        if not (home != "" and caches.is_absolute() and caches.parent.is_dir()):
            raise InputError(f"no place for a cache: the home folder {caches.parent} is none")
    return caches / "mmaproof"


@cache
def digest_of_sources(*folders: str) -> str:
    """Return the SHA-256 of all sources of this program in some of its folders, such as ``smt/semantics``.

    What was computed and kept is used again only by the same sources.
    """
    root, digest = Path(__file__).resolve().parents[1], hashlib.sha256()
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(str(file.relative_to(root)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def make_way(*paths: Path | None, read: Sequence[Path] = ()) -> None:
    """Remove the files that an earlier run left at ``paths``, before the work whose result is to be written there.

    So a file that is there afterwards is of this run, however it ended. Nothing is removed if one of the files could
    not be written, or is also ``read`` by the work: that raises InputError. A device stays.
    """
    asked = [path for path in paths if path is not None]
    for path in asked:
        require_writable(path)
        for source in read:
            if path.exists() and source.exists() and path.samefile(source):
                raise InputError(f"{path}: this file is read: name another one to be written")
    for path in asked:
        if path.exists() and _can_be_replaced(path):
            try:
                Path(os.path.realpath(path)).unlink()
            except OSError as error:
                raise _failure(path, error) from error


def require_writable(path: Path) -> None:
    """Raise InputError if ``write_atomically`` would. It is called before the work whose result is to be written."""
    if _can_be_replaced(path):
        handle, temporary = _temporary(path, Path(os.path.realpath(path)))
        os.close(handle)
        temporary.unlink()


def _can_be_replaced(path: Path) -> bool:
    """Return whether a file may take the place of what ``path`` names. It may name nothing."""
    try:
        # the path is asked, not the target of its links: /dev/stdout may lead to a pipe, which has no path of its own
        mode = path.stat().st_mode
    except FileNotFoundError:
        return True
    except OSError as error:
        raise _failure(path, error) from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: cannot be written: it is a directory; name a file in it")
    return stat.S_ISREG(mode)


def _temporary(path: Path, target: Path) -> tuple[int, Path]:
    """Return a new open file beside ``target``, with the permissions that any new file would have."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), temporary
    except OSError as error:
        raise _failure(path, error) from error


def require_new_folder(folder: Path) -> None:
    """Raise InputError unless files can be written there: the folder is empty, or none is there and can be made."""
    try:
        if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
            raise InputError(f"{folder} is there already: name a new folder, or an empty one")
        missing = [x for x in (folder, *folder.parents) if not x.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        finally:
            for made in missing:
                with suppress(OSError):
                    made.rmdir()
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}; name another folder") from error


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by name into a folder that is empty or does not exist, all of them or none. Raises InputError.

    They are written beside it first. A name may have folders in it.
    """
    path = folder.absolute()
    beside = path.with_name(f".{secrets.token_hex(8)}")
    try:
        for name, data in files.items():
            file = beside / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        beside.replace(path)  # which takes the place of an empty folder, and of no other
    except OSError as error:
        raise _failure(folder, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def why_unreadable(error: OSError) -> str:
    """Return the message about a file that could not be read."""
    return "it is a folder; name a file in it" if isinstance(error, IsADirectoryError) else error.strerror or str(error)


LARGEST_TEXT = 256 << 20
"""Bytes of the largest file of text that is read"""
LARGEST_DATA = 1 << 31
"""Bytes of the largest file of numbers that is read, packed or not"""
_OPEN_PIPES = (Path("/dev"), Path("/proc"))
"""The folders of pipes that are open already, such as the standard input and ``<(...)`` of a shell"""


def require_file(path: Path) -> None:
    """Raise OSError unless ``path`` is a file, or a pipe that is open already.

    A device or a named pipe may never end. ``why_unreadable`` returns the message.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    is_open_pipe = stat.S_ISFIFO(mode) and any(path.absolute().is_relative_to(x) for x in _OPEN_PIPES)
    if not (stat.S_ISREG(mode) or is_open_pipe):
        kind = "named pipe" if stat.S_ISFIFO(mode) else "device"
        raise OSError(errno.EINVAL, f"it is a {kind}, which may never end; name a file")


def read_file(path: Path, most: int = LARGEST_TEXT) -> bytes:
    """Return the content of a file. Raises OSError as ``require_file`` does, and for more than ``most`` bytes."""
    require_file(path)
    with path.open("rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it takes more than {most} bytes; at most these are read")
    return data


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8. Raises OSError as ``read_file`` does, and UnicodeDecodeError."""
    return read_file(path).decode("utf-8").replace("\r\n", "\n")


def read_toml(path: Path, kind: type[InputError] = InputError, absent: str = "") -> dict[str, Any]:
    """Return the content of a TOML file. Raises ``kind`` where it cannot be read, with a hint where it is absent."""
    try:
        return tomllib.loads(read_text(path))
    except OSError as problem:
        hint = "" if path.exists() else absent
        raise kind(f"{path}: cannot be read: {why_unreadable(problem)}{hint}") from problem
    except UnicodeDecodeError as problem:
        raise kind(f"{path}: not UTF-8 text") from problem
    except (ValueError, RecursionError) as problem:
        raise kind(f"{path}: not TOML: {problem}") from problem


def _failure(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written: {error.strerror}")
