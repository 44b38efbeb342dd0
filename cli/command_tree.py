"""The command line as data: commands with options and arguments, for completions, the manual and pages of the site."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

FILES = "files"
"""What a word may be beside those that are listed: a file or a folder."""
_OF_FILES = ("FILE", "FILE.npz", "FILE.toml", "UNIT.toml", "DIR", "FOLDER", "FOLDER_OR_FILES", "SOURCE", "TARGET")


@dataclass(frozen=True)
class Parameter:
    """An option, or an argument, which has no ``names``. ``metavar`` is None for an option without a value.

    ``default`` is the text of the value that is taken without it; empty if there is none, or if it is off.
    """

    names: tuple[str, ...]
    metavar: str | None
    help: str
    default: str = ""

    @property
    def wanted(self) -> str:
        """What its value is: the metavar without signs of how often."""
        return (self.metavar or "").removesuffix("...").strip("[]").removesuffix("...")

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that the metavar lists, if it does: ``jsonl|npz``."""
        return tuple(self.wanted.split("|")) if re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", self.wanted) else ()


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
    import typer

    from mmaproof.cli.application import app

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


@dataclass(frozen=True)
class Words:
    """What the words of a command line may be: a list for each kind of value."""

    of_kinds: Mapping[str, Sequence[str]]
    """the kind of value -> its words; kinds are what metavars say, and names of options whose metavar is NAME"""

    def kind(self, parameter: Parameter) -> str | None:
        """Return the kind of a parameter's value: one of the lists, files, or None if nothing is known of it."""
        option = parameter.names[-1].lstrip("-") if parameter.names else ""
        for kind in (parameter.wanted, option):
            if kind in self.of_kinds:
                return kind
        return FILES if parameter.wanted in _OF_FILES else None


def known_words() -> Words:
    """Return the words that the catalogue, the properties, the algorithms and the solvers give."""
    from mmaproof.designs.catalogue import load_catalogue
    from mmaproof.gemm.programs.algorithms import ALGORITHMS
    from mmaproof.gemm.programs.presets import load_presets
    from mmaproof.properties.library import PROPERTIES
    from mmaproof.smt.backends import Backend
    from mmaproof.smt.solving.backends import BACKENDS

    catalogue = load_catalogue()
    plans = [*ALGORITHMS, *load_presets(), *catalogue.designs]
    return Words(
        {
            "DESIGN": list(catalogue.designs),
            "ARCHITECTURE": list(catalogue.architectures),
            "PROPERTY": list(PROPERTIES),
            "ALGORITHM": list(ALGORITHMS),
            "ALGORITHM|PLAN": plans,
            "PLAN": plans,
            "solver": list(BACKENDS),
            "backend": [x.value for x in Backend],
        }
    )
