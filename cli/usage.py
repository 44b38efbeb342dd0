"""What is said about a command line that the parser refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def usage_message(error: Any, command: Any, given: Sequence[str]) -> str:
    """Return one line for a person about a usage error of the parser, and where to read on.

    ``command`` is the whole application and ``given`` its arguments: some errors do not know where they came up.
    """
    text = error.format_message()
    faults = getattr(error.__cause__, "errors", None)
    if faults is not None and getattr(error, "param", None) is not None:
        names = max(error.param.opts, key=len)
        where = names if names.startswith("-") else (error.param.metavar or error.param.name).strip("[]")
        text = f"{where}: {_fault(faults()[0])}"
    path = _path(command, given) if error.ctx is None else error.ctx.command_path
    return f"{text} (see: {path} --help)"


def _path(command: Any, given: Sequence[str]) -> str:
    """Return the command that the first arguments name, with all that it is part of."""
    path = ["mmaproof"]
    for word in given:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        path.append(word)
    return " ".join(path)


def _fault(fault: dict[str, Any]) -> str:
    """Return what is wrong with a value, in the words of this program and not in those of the library that checks."""
    given, limits = fault["input"], fault.get("ctx", {})
    match fault["type"]:
        case "int_parsing" | "int_type" | "int_from_float" | "int_parsing_size":
            return f"{given!r} is not an integer"
        case "float_parsing" | "float_type":
            return f"{given!r} is not a number"
        case "greater_than_equal":
            return f"{given!r} is too small: {limits['ge']} or more is allowed"
        case "less_than_equal":
            return f"{given!r} is too large: {limits['le']} or less is allowed"
        case _:
            return str(fault["msg"]).removeprefix("Value error, ").removesuffix(".")
