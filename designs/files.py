"""Files are written atomically, and those of users read with one set of messages."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from mmaproof.designs.errors import InputError, did_you_mean
from mmaproof.designs.formats import Format, find_format


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
    not be written, is named twice, or is also ``read`` by the work: that raises InputError. A device stays.
    """
    asked = [path for path in paths if path is not None]
    written = [os.path.realpath(path) for path in asked if _can_be_replaced(path)]
    for path in asked:
        if written.count(os.path.realpath(path)) > 1:
            raise InputError(f"{path}: two results are to be written there: name another file for one of them")
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


def parse_object(text: str | bytes, **options: Any) -> dict[str, Any]:
    """Return the JSON object that ``text`` is. ``options`` are those of ``json.loads``. Raises InputError."""
    try:
        held = json.loads(text, **options)
    except (ValueError, RecursionError) as error:  # ValueError: also of numbers too long to read
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(held, dict):
        raise InputError("not a JSON object")
    return held


class Fields:
    """The fields of one table or object of a file.

    ``where`` is what messages begin with, up to the name of a field. Every method raises ``ERROR`` for a value of
    another kind than the one that it returns.
    """

    ERROR: ClassVar[type[InputError]] = InputError
    KIND: ClassVar[str] = "a table"
    """what the format of the file calls it"""

    def __init__(self, where: str, held: Any) -> None:
        self.where = where
        if not isinstance(held, dict):
            raise self.ERROR(f"{where.rstrip('.: ') or 'the file'}: {self.KIND} is expected, not {shown(held)}")
        self.held: Mapping[str, Any] = held

    def wrong(self, name: str, problem: str) -> InputError:
        """Return the error about a field."""
        return self.ERROR(f"{self.where}{name}: {problem}")

    def expected(self, name: str, what: str) -> InputError:
        """Return the error about a field whose value is not ``what``."""
        return self.wrong(name, f"{what} is expected, not {shown(self.held.get(name))}")

    def only(self, known: Sequence[str], needed: Sequence[str] = (), why: str = "unknown field") -> None:
        """Raise the error about the first field that is not ``known``, or that is ``needed`` and missing."""
        for name in self.held:
            if name not in known:
                raise self.wrong(name, f"{why}{did_you_mean(name, known)}; known are {', '.join(known)}")
        missing = [name for name in needed if name not in self.held]
        if missing:
            others = f", and so are {', '.join(missing[1:])}" if len(missing) > 1 else ""
            raise self.wrong(missing[0], f"is missing{others}; what is not stated is not assumed")

    def text(self, name: str) -> str:
        """Return a text that is not blank."""
        held = self.held.get(name)
        if not isinstance(held, str) or not held.strip():
            raise self.expected(name, "a text")
        return held

    def text_or_none(self, name: str) -> str | None:
        """Return a text that is not blank, and None where the field is left out."""
        return self.text(name) if name in self.held else None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts that are not blank, which is empty where the field is left out."""
        held = self.held.get(name, [])
        if not isinstance(held, list) or not all(isinstance(x, str) and x.strip() for x in held):
            raise self.expected(name, "a list of texts")
        return tuple(held)

    def number(self, name: str, least: int = 1) -> int:
        """Return an integer from ``least`` on."""
        held = self.held.get(name)
        if type(held) is not int or held < least:
            raise self.expected(name, f"an integer from {least} on")
        return held

    def number_or_none(self, name: str, least: int = 1) -> int | None:
        """Return an integer from ``least`` on, and None where the field is left out."""
        return self.number(name, least) if name in self.held else None

    def truth(self, name: str, *, default: bool) -> bool:
        """Return a field that is true or false, and ``default`` where it is left out."""
        held = self.held.get(name, default)
        if type(held) is not bool:
            raise self.expected(name, "true or false")
        return held

    def formats(self, name: str) -> list[Format]:
        """Return the formats that a field lists, at least one, or the one that it names."""
        names = self.texts(name) if isinstance(self.held.get(name), list) else (self.text(name),)
        if not names:
            raise self.wrong(name, "no format is given: one at least")
        try:
            return [find_format(x) for x in names]
        except InputError as problem:
            raise self.wrong(name, str(problem)) from problem

    def format(self, name: str) -> Format:
        """Return the one format that a field has."""
        found = self.formats(name)
        if len(found) > 1:
            raise self.wrong(name, f"{len(found)} formats are given: exactly one is needed")
        return found[0]


def shown(held: object) -> str:
    """Return a value as a message repeats it: cut where it is long."""
    text = repr(held)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _failure(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written: {error.strerror}")
