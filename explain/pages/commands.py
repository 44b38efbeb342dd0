"""The command line as pages: every command with its arguments, options, exit statuses and JSON object."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from mmaproof.cli import output
from mmaproof.cli.application import application
from mmaproof.explain.answers.answer import schema_of
from mmaproof.explain.answers.commands import ANSWERS
from mmaproof.explain.pages.markdown import Page, code, escaped, fenced, slug, table


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
    commands: tuple[Command, ...] = dataclasses.field(default=())

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


STATUSES = {
    output.Exit.HOLDS: "proved, equal, all passed",
    output.Exit.REFUTED: "refuted, different, a vector failed",
    output.Exit.INPUT: "usage or input error",
    output.Exit.UNKNOWN: "unknown: time or memory ran out, the precondition has no model, the target is not there",
    output.Exit.INTERNAL: "an internal error: a defect of mmaproof, and no result",
    output.Exit.INTERRUPTED: "interrupted (Ctrl-C, SIGTERM)",
}


@dataclass(frozen=True)
class Described:
    """A command, and its words: ``gemm run``."""

    command: Command

    @property
    def words(self) -> str:
        """The words after ``mmaproof``."""
        return " ".join(self.command.path)

    @property
    def path(self) -> str:
        """The page of the command."""
        return f"reference/commands/{slug(self.words)}.md"

    @property
    def has_json(self) -> bool:
        """Whether the command can print one JSON object."""
        return any("--json" in p.names for p in self.command.options)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the JSON object; None if there is none."""
        return schema_of(ANSWERS[self.words], f"mmaproof {self.words} --json") if self.has_json else None

    @property
    def example(self) -> dict[str, Any]:
        """A recorded answer, and the calls with which a test holds the command to its schema; the first one gave it."""
        return recorded_answers()[self.words]


@cache
def recorded_answers() -> dict[str, dict[str, Any]]:
    """Return what is recorded of each command: ``calls`` (``slow: `` stands before long ones), and an ``answer``."""
    text = (files("mmaproof.explain.pages") / "data" / "answers.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def commands() -> list[Described]:
    """Return every command that is not a group, in the order of `mmaproof --help`."""
    return [Described(x) for x in _command((), application().parser, None).walk() if x.path and not x.commands]


def pages() -> Iterator[Page]:
    """Give a page for each command, and one that lists them."""
    found = commands()
    rows = [(f"[`{x.words}`]({x.path.rpartition('/')[2]})", escaped(x.command.summary + ".")) for x in found]
    yield Page(
        "reference/commands/index.md",
        "Commands",
        "Every command, from the program itself. `mmaproof COMMAND --help` prints the same.\n\n"
        + table(("command", "what it does"), rows)
        + "\n[Exit statuses](../exit-statuses.md), [names of designs](../../command-line.md#names-of-designs) and"
        " [preconditions](../../command-line.md#preconditions) are common to all commands.",
    )
    yield from map(_page, found)
    yield Page("reference/exit-statuses.md", "Exit statuses", _statuses(found))


def _paragraphs(command: Described) -> list[str]:
    """Return the paragraphs of the help. One that begins with the mark of the parser keeps its lines."""
    found = command.command.help.split("\n\n")
    return [x.strip("\n") if x.startswith("\b") else " ".join(x.split()) for x in found]


def _page(command: Described) -> Page:
    arguments, options = command.command.arguments, command.command.options
    usage = ["mmaproof", command.words, "[OPTIONS]", *(x.metavar or "" for x in arguments)]
    parts = [fenced(" ".join(usage), "text")]
    for x in _paragraphs(command):
        parts.append(fenced(x.removeprefix("\b\n"), "text") if x.startswith("\b") else escaped(x) + "\n")
    described = [(code(x.metavar or ""), escaped(x.help)) for x in arguments]
    if any(text for _, text in described):
        parts += ["## Arguments\n", table(("argument", "meaning"), described)]
    rows = [(_spelled(x), escaped(x.help), code(x.default)) for x in options]
    parts += ["## Options\n", table(("option", "meaning", "default"), rows)]
    schema = command.schema
    if schema is not None:
        kinds, definitions = alternatives(schema, schema.get("$defs", {})), schema.get("$defs", {})
        parts += [
            "## The JSON object\n",
            f"What `{command.words} --json` prints. [The schema]({slug(command.words)}.json) is JSON Schema"
            " (2020-12), and a test holds the program to it.\n",
        ]
        for kind in kinds:
            parts += [f"{escaped(kind['description'])}\n"] if len(kinds) > 1 else []
            parts.append(table(("field", "type", "meaning"), schema_rows(kind, definitions)))
        call = " ".join(["mmaproof", command.example["calls"][0].removeprefix("slow: "), "--json"])
        parts += [
            f"\nAn example, shortened where `...` stands: `{escaped(call)}`\n",
            fenced(json.dumps(shortened(command.example["answer"]), indent=2, ensure_ascii=False), "json"),
        ]
    return Page(command.path, command.words, "\n".join(parts))


def shortened(value: Any, most: int = 3, depth: int = 0) -> Any:
    """Return a JSON value for a reader: of long lists and texts the beginning."""
    if isinstance(value, list):
        kept = [shortened(x, most, depth + 1) for x in value[:most]]
        return [*kept, "..."] if len(value) > most else kept
    if isinstance(value, dict):
        held = list(value.items())
        kept_items = held if depth == 0 or len(held) <= 12 else held[:most]
        rest = {"...": "..."} if len(kept_items) < len(held) else {}
        return {n: shortened(x, most, depth + 1) for n, x in kept_items} | rest
    return value


def _spelled(option: Parameter) -> str:
    names = ", ".join(map(code, option.names))
    return f"{names} {code(option.metavar)}" if option.metavar else names


def _statuses(found: list[Described]) -> str:
    said = []
    for x in found:
        text = " ".join(_paragraphs(x))
        place = text.find("Exit status")
        if place >= 0:
            said.append((f"[`{x.words}`](commands/{slug(x.words)}.md)", escaped(text[place:])))
    return "\n".join(
        [
            table(("status", "meaning"), ((str(n), escaped(x)) for n, x in STATUSES.items())),
            "A time-out never gives 0 or 1. A command that asks one question says its answer by 0 or 1. A command that"
            " makes a table of many answers gives 0 if every answer is known, whatever it is.\n",
            "## What single commands say\n",
            table(("command", "statuses"), said),
        ]
    )


Schema = Mapping[str, Any]


def schema_rows(schema: Schema, definitions: Schema, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Give a row for each field: its place (``lemmas[].name``), its type, and its meaning. Absent ones are marked."""
    needed = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        here = f"{place}.{name}" if place else name
        may_lack = "" if name in needed else ", not always there"
        yield code(here), escaped(type_text(field, definitions)) + may_lack, escaped(field.get("description", ""))
        yield from _inner(field, definitions, here)


def _inner(field: Schema, definitions: Schema, here: str) -> Iterator[tuple[str, str, str]]:
    for kind in alternatives(field, definitions):
        yield from schema_rows(kind, definitions, here)
        if "items" in kind:
            yield from _inner(kind["items"], definitions, f"{here}[]")
        if isinstance(kind.get("additionalProperties"), Mapping):
            yield from _inner(kind["additionalProperties"], definitions, f"{here}.NAME")


def alternatives(field: Schema, definitions: Schema) -> list[Schema]:
    """Return what a value may be, with what is referred to in its place."""
    found = field.get("anyOf", [field])
    return [definitions[x["$ref"].rpartition("/")[2]] if "$ref" in x else x for x in found]


def type_text(field: Schema, definitions: Schema) -> str:
    """Return the type of a field in words."""
    found = []
    for kind in alternatives(field, definitions):
        if "enum" in kind or "const" in kind:
            found += [f"`{x}`" for x in kind.get("enum", [kind.get("const")])]
        else:
            found.append(kind.get("type", "any value"))
    return " or ".join(found)
