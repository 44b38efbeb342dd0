"""The manual page, as roff: every command with its options, from the command line's own data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmaproof.cli.command_tree import Command, Parameter

_STATUSES = (
    ("0", "proved, equal, all passed"),
    ("1", "refuted, different, a vector failed"),
    ("2", "usage or input error"),
    ("3", "unknown: time or memory ran out, the precondition has no model, the target cannot be reached"),
    ("70", "an internal error: a defect of mmaproof, and no result"),
    ("130", "interrupted"),
)


def manual_page(tree: Command, version: str) -> str:
    """Return the manual page of the whole command line."""
    lines = [
        f'.TH MMAPROOF 1 "" "mmaproof {version}" "User Commands"',
        ".SH NAME",
        rf"mmaproof \- {_text(tree.summary[:1].lower() + tree.summary[1:])}",
        ".SH SYNOPSIS",
        r".B mmaproof",
        r"\fICOMMAND\fR [\fIOPTION\fR...] [\fIARGUMENT\fR...]",
        ".SH DESCRIPTION",
        "mmaproof says how matrix-multiply-accumulate units round.",
        "It proves that two units return the same bits for all operands, or finds operands on which they differ.",
        "The documentation explains names, preconditions and formats.",
        ".SH COMMANDS",
    ]
    for command in tree.walk():
        if command.path and not command.commands:
            lines += _command(command)
    lines += [".SH EXIT STATUS"]
    for status, meaning in _STATUSES:
        lines += [".TP", rf"\fB{status}\fR", _text(meaning)]
    return "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    usage = " ".join(rf"\fI{_text(x.metavar or '')}\fR" for x in command.arguments)
    yield f'.SS "{" ".join(command.path)}"'
    yield rf"\fBmmaproof {_text(' '.join(command.path))}\fR {usage}".rstrip()
    for paragraph in command.help.split("\n\n"):
        yield ".PP"
        yield _text(" ".join(paragraph.split()))
    for parameter in (*command.arguments, *command.options):
        yield ".TP"
        yield _heading(parameter)
        yield _text(parameter.help) or r"\&"


def _heading(parameter: Parameter) -> str:
    """Return an option with its value, or an argument."""
    names = ", ".join(rf"\fB{_text(x)}\fR" for x in parameter.names)
    value = "" if parameter.metavar is None else rf"\fI{_text(parameter.metavar)}\fR"
    return " ".join(x for x in (names, value) if x)


def _text(text: str) -> str:
    """Return a text of one line as roff: hyphens and backslashes are themselves, and no line is a request."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("\N{MULTIPLICATION SIGN}", r"\(mu")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)
