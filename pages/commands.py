"""The command line as pages: every command with its arguments, options, exit statuses and JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from typing import Any

import typer

from mmaproof.cli import output
from mmaproof.cli.application import app
from mmaproof.pages.markdown import Page, code, escaped, fenced, slug, table
from mmaproof.pages.schemas import schema_rows

STATUSES = {
    output.EXIT_HOLDS: "proved, equal, all passed",
    output.EXIT_REFUTED: "refuted, different, a vector failed",
    output.EXIT_INPUT: "usage or input error",
    output.EXIT_UNKNOWN: "unknown: time or memory ran out, the precondition has no model, the target is not there",
    output.EXIT_INTERNAL: "an internal error: a defect of mmaproof, and no result",
    output.EXIT_INTERRUPTED: "interrupted (Ctrl-C, SIGTERM)",
}


SAME_OBJECT = {"rtl identify": "identify"}
"""Commands that print the object of another one."""


@dataclass(frozen=True)
class Command:
    """A command of the application, and its words: ``gemm run``."""

    words: str
    command: Any
    context: Any

    @property
    def path(self) -> str:
        """The page of the command."""
        return f"reference/commands/{slug(self.words)}.md"

    @property
    def has_json(self) -> bool:
        """Whether the command can print one JSON object."""
        return any("--json" in p.opts for p in self.command.params)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the JSON object; None if there is none."""
        found = files("mmaproof.cli") / "schemas" / f"{slug(SAME_OBJECT.get(self.words, self.words))}.json"
        return json.loads(found.read_text(encoding="utf-8")) if self.has_json else None


def commands() -> list[Command]:
    """Return every command that is not hidden, in the order of `mmaproof --help`."""
    root: Any = typer.main.get_command(app)
    return list(_walk(root, root.make_context("mmaproof", [], resilient_parsing=True), ()))


def _walk(group: Any, context: Any, words: tuple[str, ...]) -> Iterator[Command]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = type(context)(command, parent=context, info_name=name)
        if hasattr(command, "list_commands"):
            yield from _walk(command, inner, (*words, name))
        elif not command.hidden:
            yield Command(" ".join((*words, name)), command, inner)


def pages() -> Iterator[Page]:
    """Give a page for each command, and one that lists them."""
    found = commands()
    rows = [(f"[`{x.words}`]({x.path.rpartition('/')[2]})", escaped(_first_sentence(x))) for x in found]
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


def _paragraphs(command: Command) -> list[str]:
    """Return the paragraphs of the help. One that begins with the mark of the parser keeps its lines."""
    found = (command.command.help or "").split("\n\n")
    return [x.strip("\n") if x.startswith("\b") else " ".join(x.split()) for x in found]


def _first_sentence(command: Command) -> str:
    return _paragraphs(command)[0].partition(". ")[0].rstrip(".") + "."


def _page(command: Command) -> Page:
    arguments = [p for p in command.command.params if p.param_type_name == "argument"]
    options = [p for p in command.command.params if p.param_type_name == "option" and not p.hidden]
    usage = [command.context.command_path, *(_metavar(p) for p in arguments)]
    parts = [fenced(" ".join([usage[0], "[OPTIONS]", *usage[1:]]), "text")]
    for x in _paragraphs(command):
        parts.append(fenced(x.removeprefix("\b\n"), "text") if x.startswith("\b") else escaped(x) + "\n")
    described = [(code(_metavar(p)), escaped(getattr(p, "help", "") or "")) for p in arguments]
    if any(text for _, text in described):
        parts += ["## Arguments\n", table(("argument", "meaning"), described)]
    rows = [(_spelled(p), escaped(p.help or ""), _default(p, command)) for p in options]
    parts += ["## Options\n", table(("option", "meaning", "default"), rows)]
    schema = command.schema
    if schema is not None:
        (example,) = schema["examples"]
        call = " ".join(["mmaproof", schema["x-commands"][0]["line"], "--json"])
        parts += [
            "## The JSON object\n",
            f"What `{command.words} --json` prints. [The schema]({slug(command.words)}.json) is JSON Schema"
            " (2020-12), and a test holds the program to it.\n",
            table(("field", "type", "meaning"), schema_rows(schema)),
            f"\nAn example, shortened where `...` stands: `{escaped(call)}`\n",
            fenced(json.dumps(shortened(example), indent=2, ensure_ascii=False), "json"),
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


def _spelled(option: Any) -> str:
    metavar = "" if option.is_flag else _metavar(option)
    names = ", ".join(code(x) for x in (*option.opts, *option.secondary_opts))
    return names + (f" {code(metavar)}" if metavar else "")


def _metavar(parameter: Any) -> str:
    """Return what stands for the value of an argument or an option."""
    if parameter.metavar:
        return str(parameter.metavar)
    annotation = parameter.type_descriptor.annotation
    is_choice = isinstance(annotation, type) and issubclass(annotation, Enum)
    return "|".join(x.value for x in annotation) if is_choice else parameter.name.upper()


def _default(option: Any, command: Command) -> str:
    value = option.get_default(command.context, call=False)
    if value is None or value is False or callable(value) or value == ():
        return ""
    return "on" if value is True else code(str(value))


def _statuses(found: list[Command]) -> str:
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
