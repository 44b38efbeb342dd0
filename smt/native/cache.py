"""Compiled code kept in a folder, one file for each design, CPU and version of the code that made it.

A file that is damaged, or of another design or version, counts as absent. What is read is run on rows whose results
are known before it is used (``checked``).
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.files import cache_folder, digest_of_sources, write_atomically
from mmaproof.designs.parameters import complete_settings, format_parameter
from mmaproof.smt.backends import note_once
from mmaproof.smt.native.compiler import processor

CACHE_VARIABLE = "MMAPROOF_CACHE"
"""Names the folder. If it is empty, nothing is kept."""

MOST_FILES = 4096
"""More files than this are not kept: the older half is removed."""

_MAGIC = b"mmaproof native code 1\n"
_ROOTS = ("designs", "smt/algebra", "smt/semantics", "smt/native")
"""The folders whose sources decide what is compiled."""


@dataclass(frozen=True)
class Entry:
    """An object file, the sizes that its caller has to know, and the d of the rows that it is checked on."""

    compiled: bytes
    sizes: Mapping[str, int]
    checked: tuple[int, ...]


def identity(design: Design, **what: Any) -> str:
    """Return the text that says which code is meant: the arithmetic of a design, what is computed, CPU and sources."""
    signature = design.signature
    settings = complete_settings(design.chain, design.step) if design.step.is_parametric else design.settings
    record = {
        "formats": [f.name for f in signature.formats],
        "scale": None if signature.scale is None else [signature.scale.name, signature.block],
        "k": [design.k, design.k_multiple],
        "settings": {n: format_parameter(n, v) for n, v in settings.items()},
        "content": design.step.content,
        "cpu": list(_processor_key()),
        "sources": digest_of_sources(*_ROOTS),
        **what,
    }
    return json.dumps(record, sort_keys=True)


def find(key: str) -> Entry | None:
    """Return what is kept under a key; None where there is nothing, or nothing whole."""
    file = _file(key)
    if file is None:
        return None
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, text = content[len(_MAGIC) : len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
    if not content.startswith(_MAGIC) or hashlib.sha256(text).digest() != digest:
        return None
    head, _, compiled = text.partition(b"\n")
    try:
        record = json.loads(head)
        entry = Entry(
            compiled, {str(n): int(x) for n, x in record["sizes"].items()}, tuple(map(int, record["checked"]))
        )
        return entry if record["key"] == key else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def has(key: str) -> bool:
    """Return whether a file is kept under a key, whole or not."""
    file = _file(key)
    return file is not None and file.is_file()


def keep(key: str, entry: Entry) -> None:
    """Keep an entry. Where that is not possible, a note says so once."""
    file = _file(key)
    if file is None:
        return
    head = json.dumps({"key": key, "sizes": dict(entry.sizes), "checked": list(entry.checked)}).encode()
    text = head + b"\n" + entry.compiled
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_room(file.parent)
        write_atomically(file, _MAGIC + hashlib.sha256(text).digest() + text)
    except InputError as problem:
        _not_kept(str(problem))
    except OSError as problem:
        _not_kept(f"{file.parent}: {problem.strerror}")


def _not_kept(why: str) -> None:
    note_once("cache", f"native code is not kept, and is compiled anew in each process: {why}")


def folder() -> Path | None:
    """Return the folder of compiled code, which may not exist yet; None where nothing is kept."""
    named = os.environ.get(CACHE_VARIABLE)
    if named == "":
        return None
    try:
        place = cache_folder() / "native" if named is None else Path(named).expanduser()
    except (InputError, RuntimeError) as problem:
        _not_kept(f"{problem}; let {CACHE_VARIABLE} name a folder")
        return None
    if (problem_of := _unsafe(place)) is not None:
        _not_kept(problem_of)
        return None
    return place


def _unsafe(place: Path) -> str | None:
    """Return why no code is taken from a folder; None where only this user can have put it there."""
    try:
        found = place.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return f"{place} is not a folder"
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return f"{place} is not this user's alone: code in it would be run (chmod 700, or another {CACHE_VARIABLE})"
    return None


def _file(key: str) -> Path | None:
    place = folder()
    return None if place is None else place / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"


def _make_room(place: Path) -> None:
    files = [x for x in place.iterdir() if x.suffix == ".o"]
    if len(files) >= MOST_FILES:
        for file in sorted(files, key=lambda x: x.stat().st_mtime)[: MOST_FILES // 2]:
            file.unlink(missing_ok=True)


def _processor_key() -> tuple[str, ...]:
    cpu = processor()
    return cpu.triple, cpu.name, cpu.features, cpu.llvmlite
