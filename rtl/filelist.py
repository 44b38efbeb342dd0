"""File lists as simulators read them with -f: sources, folders of included files, macros, and further lists."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import why_unreadable

_COMMENT = re.compile(r"/\*.*?\*/|(?:^|(?<=\s))(?://|#)[^\n]*", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(?P<braces>\w+)\}|\((?P<round>\w+)\)|(?P<bare>\w+))")
_NESTED = ("-f", "-F", "-file")
_WITHOUT_EFFECT = ("-sv", "-sverilog", "-g2012", "-g2009", "+systemverilogext+.sv", "-timescale=1ns/1ps")


@dataclass
class FileList:
    """What file lists name, in order. Paths are relative to one folder, or absolute."""

    sources: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)
    defines: dict[str, str] = field(default_factory=dict)


def read_file_list(path: Path, folder: Path, found: FileList) -> None:
    """Add to ``found`` what a file list names, with the lists in it. Paths in a list are relative to its own folder.

    Those of ``found`` are relative to ``folder``. Raises InputError for an argument that is not covered, for a variable
    of the environment that is not set, and for a list that names itself.
    """
    _read(path, folder, found, ())


def _read(path: Path, folder: Path, found: FileList, outer: tuple[Path, ...]) -> None:
    if path.resolve() in outer:
        raise InputError(f"{path}: this file list names itself")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = why_unreadable(problem) if isinstance(problem, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: {why}") from problem

    def relative(name: str) -> str:
        place = path.parent / name
        return name if Path(name).is_absolute() else Path(os.path.relpath(place, folder)).as_posix()

    arguments = _arguments(path, text)
    for argument in arguments:
        if argument in _NESTED:
            _read(path.parent / _next(path, argument, arguments), folder, found, (*outer, path.resolve()))
        elif argument.startswith("+incdir+"):
            found.include += [relative(x) for x in argument.removeprefix("+incdir+").split("+") if x]
        elif argument.startswith("+define+"):
            _define(found, argument.removeprefix("+define+").split("+"))
        elif argument.startswith("-I"):
            found.include.append(relative(argument[2:] or _next(path, argument, arguments)))
        elif argument.startswith("-D"):
            _define(found, [argument[2:] or _next(path, argument, arguments)])
        elif argument == "-v":
            found.sources.append(relative(_next(path, argument, arguments)))
        elif argument in _WITHOUT_EFFECT:
            continue
        elif argument.startswith(("-", "+")):
            raise InputError(f"{path}: {argument} is not covered: sources, +incdir+, +define+, -I, -D, -v and -f are")
        else:
            found.sources.append(relative(argument))


def _arguments(path: Path, text: str) -> Iterator[str]:
    def value(variable: re.Match[str]) -> str:
        name = variable["braces"] or variable["round"] or variable["bare"]
        if name not in os.environ:
            raise InputError(f"{path}: the environment variable {name} is not set")
        return os.environ[name]

    try:
        words = shlex.split(_COMMENT.sub(" ", text), posix=True)
    except ValueError as problem:
        raise InputError(f"{path}: {problem}") from problem
    return (_VARIABLE.sub(value, word) for word in words)


def _next(path: Path, argument: str, arguments: Iterator[str]) -> str:
    found = next(arguments, None)
    if found is None:
        raise InputError(f"{path}: something is expected after {argument}")
    return found


def _define(found: FileList, macros: list[str]) -> None:
    for macro in macros:
        name, _, value = macro.partition("=")
        if name:
            found.defines[name] = value
