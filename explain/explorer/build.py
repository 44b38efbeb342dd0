"""The folder of static files that is the explorer: the page, the semantics as a zip, Pyodide, and licences.

Pyodide is Python compiled for browsers. It comes from its npm package, whose contents are known by a checksum, and is
not part of the repository.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import mmaproof.explain.explorer as here
from mmaproof.designs.errors import InputError

PYODIDE = "314.0.7"
"""The version of the npm package ``pyodide``."""
INTEGRITY = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
"""The SHA-512 of its archive, as npm states it."""
RUNTIME = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
    "package.json",
)
"""The files of the package that a page needs, and the one that names its version and licence."""
PACKAGES = ("designs", "smt/algebra", "smt/semantics", "explain")
"""The sub-packages that compute and draw one dot product."""
MODULES = ("__init__.py", "late.py", "smt/__init__.py", "smt/trace.py")
PAGE = ("index.html", "explorer.js", "explorer.css")
SECONDS = 300


STAMP = "integrity.txt"
"""Written after the runtime is complete: which one it is."""


def build(folder: Path, package: Path | None = None) -> None:
    """Write the explorer into ``folder``; ``package`` is the archive of Pyodide if it is there already.

    A runtime that is in the folder stays. Raises InputError where the folder cannot be written, or Pyodide cannot be
    had or is not what it should be.
    """
    runtime = {} if has_runtime(folder) else runtime_of(archive_of_npm() if package is None else _read(package))
    try:
        for name in ("licences", "pyodide"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, content in runtime.items():
            (folder / "pyodide" / name).write_bytes(content)
        (folder / "pyodide" / STAMP).write_text(INTEGRITY, encoding="ascii")
        for name in PAGE:
            (folder / name).write_bytes((files(here) / "page" / name).read_bytes())
        for file in (files(here) / "licences").iterdir():
            (folder / "licences" / file.name).write_bytes(file.read_bytes())
        (folder / "examples.json").write_bytes((files(here) / "data" / "examples.json").read_bytes())
        (folder / "mmaproof.zip").write_bytes(sources())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error


def has_runtime(folder: Path) -> bool:
    """Return whether a folder holds this version of Pyodide whole."""
    stamp = folder / "pyodide" / STAMP
    return stamp.is_file() and stamp.read_text(encoding="ascii", errors="replace") == INTEGRITY


def is_built(folder: Path) -> bool:
    """Return whether a folder holds the explorer as these sources make it."""
    archive = folder / "mmaproof.zip"
    pages = all(
        (folder / x).is_file() and (folder / x).read_bytes() == (files(here) / "page" / x).read_bytes() for x in PAGE
    )
    return has_runtime(folder) and pages and archive.is_file() and archive.read_bytes() == sources()


def _read(package: Path) -> bytes:
    try:
        return package.read_bytes()
    except OSError as error:
        raise InputError(f"{package}: cannot be read: {error.strerror}") from error


def archive_of_npm() -> bytes:
    """Return the archive of Pyodide, which npm fetches. Raises InputError."""
    npm = shutil.which("npm")
    what = f"the package pyodide {PYODIDE}"
    if npm is None:
        raise InputError(
            f"npm is not installed, which fetches {what}: install Node.js, or name the archive with --pyodide"
        )
    with tempfile.TemporaryDirectory() as scratch:
        command = [npm, "pack", f"pyodide@{PYODIDE}", "--silent", "--ignore-scripts", "--pack-destination", scratch]
        try:
            ended = subprocess.run(
                command,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"npm did not fetch {what}: {error}") from error
        found = list(Path(scratch).glob("pyodide-*.tgz"))
        if ended.returncode or len(found) != 1:
            reason = (ended.stderr.strip().splitlines() or [f"exit status {ended.returncode}"])[-1]
            raise InputError(f"npm did not fetch {what}: {reason}")
        return found[0].read_bytes()


def runtime_of(data: bytes) -> dict[str, bytes]:
    """Return the files of the runtime by name. Raises InputError if the archive is not the one that is known."""
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != INTEGRITY:
        raise InputError(f"the archive of pyodide is not version {PYODIDE}: its SHA-512 is another one")
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for name in RUNTIME:
            member = archive.extractfile(f"package/{name}")
            if member is None:
                raise InputError(f"the archive of pyodide lacks {name}")
            found[name] = member.read()
    return found


def sources() -> bytes:
    """Return the modules and data that compute and draw one dot product as a zip; the same each time."""
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _members():
            archive.writestr(zipfile.ZipInfo(f"mmaproof/{name}"), content, zipfile.ZIP_DEFLATED)
    return result.getvalue()


def _members() -> Iterator[tuple[str, bytes]]:
    root = Path(str(files("mmaproof")))
    for name in MODULES:
        yield name, (root / name).read_bytes()
    for package in PACKAGES:
        top = Path(str(files(f"mmaproof.{package.replace('/', '.')}")))
        for path in sorted(top.rglob("*")):
            name = f"{package}/{path.relative_to(top).as_posix()}"
            wanted = path.suffix == ".py" or (path.suffix == ".toml" and package == "designs")
            if wanted and path.is_file() and not name.startswith("explain/pages/"):
                yield name, path.read_bytes()
