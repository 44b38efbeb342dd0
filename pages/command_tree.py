"""The command line as data: commands with options and arguments, for the pages of the site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import typer

from mmaproof.cli.application import app


@dataclass(frozen=True)
class Parameter:
    """An option, or an argument, which has no ``names``. ``metavar`` is None for an option without a value.

    ``default`` is the text of the value that is taken without it; empty if there is none, or if it is off.
    """

    names: tuple[str, ...]
    metavar: str | None
    help: str
    default: str = ""


@dataclass(frozen=True)
class Command:
    """A command. ``path`` are its words after ``mmaproof``; a group has commands below it."""

    path: tuple[str, ...]
    help: str
    parameters: tuple[Parameter, ...]
    commands: tuple[Command, ...] = field(default=())

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The options."""
        return tuple(x for x in self.parameters if x.names)

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The arguments, in their order."""
        return tuple(x for x in self.parameters if not x.names)

    @property
    def summary(self) -> str:
        """The first sentence of the help."""
        first = " ".join(self.help.split("\n\n")[0].split())
        return first.partition(". ")[0].removesuffix(".").removesuffix(":")

    def walk(self) -> Iterator[Command]:
        """Give this command and all below it."""
        yield self
        for command in self.commands:
            yield from command.walk()


def command_tree() -> Command:
    """Return the whole command line."""
    return _command((), typer.main.get_command(app), None)


def _command(path: tuple[str, ...], found: Any, parent: Any) -> Command:
    """Return a command of the parser as data."""
    context = found.context_class(
        found, info_name=path[-1] if path else "mmaproof", parent=parent, **found.context_settings
    )
    parameters = [_parameter(x) for x in found.get_params(context) if not getattr(x, "hidden", False)]
    below = [_command((*path, name), x, context) for name, x in getattr(found, "commands", {}).items() if not x.hidden]
    return Command(path, (found.help or "").strip(), tuple(parameters), tuple(below))


def _parameter(found: Any) -> Parameter:
    text = " ".join((getattr(found, "help", None) or "").split())
    if found.param_type_name == "argument":
        return Parameter((), found.metavar or _choices(found), text)
    metavar = None if found.is_flag else found.metavar or _choices(found)
    value = found.default
    default = "" if value is None or value is False or callable(value) or value == () else str(value)
    return Parameter((*found.opts, *found.secondary_opts), metavar, text, "on" if value is True else default)


def _choices(found: Any) -> str:
    """Return what stands for the value of a parameter without a metavar: the values of its enumeration, or its name."""
    kind = getattr(getattr(found, "type_descriptor", None), "annotation", None)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return "|".join(x.value for x in kind)
    choices = getattr(getattr(found, "type", None), "choices", ())  # of typer before 0.20
    return "|".join(str(x) for x in choices) or str(found.name).upper()
