"""The commands as one application of typer: what `mmaproof COMMAND` can be, grouped by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, note, tool_version

ROOM = "mmaproof.cli"
Commands = Mapping[str, str]
"""The commands of a group by name: the module of each in this room, and its function."""

GEMM: Commands = {
    "run": "gemm.run:run",
    "compare": "gemm.compare:compare",
    "check": "gemm.check:check",
    "error": "gemm.error:error",
    "identify": "gemm.identify:identify",
}
RTL: Commands = {"init": "rtl.init:init", "run": "rtl.run:run", "prove": "rtl.prove:prove"}
TASKS: Mapping[str, Mapping[str, str | tuple[str, Commands]]] = {
    "Compare and prove": {
        "compare": "compare:compare",
        "check": "check:check",
        "fingerprint": "fingerprint:fingerprint",
        "matrix": "matrix:matrix",
    },
    "Tolerances and matrix products": {
        "tolerance": "tolerance:tolerance",
        "judge": "judge:judge",
        "conform": "conform:conform",
        "gemm": ("Analyse GEMMs that are built from a unit: plans of libraries, and error-corrected algorithms.", GEMM),
    },
    "Your RTL": {
        "rtl": ("Map, run and prove user RTL (SystemVerilog or VHDL); other commands take rtl:UNIT.toml.", RTL)
    },
    "Units that can be run": {
        "identify": "identify:identify",
        "record": "record:record",
        "replay": "replay:replay",
        "evidence": "evidence:evidence",
        "disputes": "disputes:disputes",
        "serve": "run:serve",
    },
    "Test vectors and models": {"suite": "suite:suite", "cover": "cover:cover", "export": "export:export"},
    "Look up and look inside": {
        "list": "listing:listing",
        "show": "show:show",
        "run": "run:run",
        "explore": "explore:explore",
        "report": "report:report",
    },
    "mmaproof itself": {"demo": "demo:demo", "doctor": "doctor:doctor", "store": "store:store"},
}
"""Task -> its commands; a group of commands has a help and its own commands."""


WHOLE = 1000
"""More characters than a first sentence has."""


class Grouped(TyperGroup):
    """A group whose help lists its commands by task."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with the first sentence of their help, those of a task together."""
        tasks: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands))
        for name, command in self.commands.items():
            task = getattr(command, "rich_help_panel", None)
            row = name.ljust(width), command.get_short_help_str(WHOLE)
            tasks.setdefault(task if isinstance(task, str) else "Commands", []).append(row)
        for task in sorted(tasks, key=[*TASKS, "Commands"].index):
            with formatter.section(task):
                formatter.write_dl(tasks[task])


class Application(typer.Typer):
    """Commands whose parser a process makes once: that takes longer than most commands that it reads."""

    @cached_property
    def parser(self) -> Any:
        """The parser of the commands."""
        command = get_command(self)
        _read_late(command)
        return command


def _read_late(command: Any, outer: typer.Context | None = None) -> None:
    """Let the parameters of a command and of its commands be read as ``_Late`` says."""
    context = typer.Context(command, parent=outer, **command.context_settings)
    for parameter in command.get_params(context):
        parameter.get_runtime_param = partial(_Late, parameter, parameter.get_runtime_param)
    for inner in getattr(command, "commands", {}).values():
        _read_late(inner, context)


@dataclass(frozen=True)
class _Late:
    """How the value of a parameter is read: in typer's own way, which imports pydantic, where it has to be read at all.

    A text stays as it is where a text is wanted, and so do numbers that are defaults. What is not given is nothing.
    """

    parameter: Any
    typers: Callable[[], Any]

    def coerce(self, value: Any, **where: Any) -> Any:
        """Return the value that a command gets. Raises as typer's own way does."""
        x = self.parameter
        several = x.multiple or x.nargs != 1
        if value is None:
            return () if several else None
        is_text = x.type_descriptor.annotation is str and type(value) is str
        if not several and (is_text or (type(value) is int and value is x.default)):
            return value
        return self.typers().coerce(value, **where)


SETTINGS: dict[str, Any] = {
    "cls": Grouped,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def _print_version(value: bool) -> None:
    if value:
        print(f"mmaproof {tool_version()}")
        raise typer.Exit


def _options(
    context: typer.Context,
    version: Annotated[
        bool, opt.option("--version", "Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(Exit.INPUT)


@cache
def application(named: str | None = None) -> Application:
    """Return the application with the one command or group that ``named`` is, with all where it is none of them.

    To import all commands takes longer than most commands take.
    """
    app = Application(
        name="mmaproof",
        help="Formal model and test generator for the matrix-multiply-accumulate units of GPUs.",
        epilog=(
            "Exit status: 0 proved, equal, passed; 1 refuted, different, failed; 2 usage or input error; "
            "3 unknown (time, memory), vacuous or not reachable; 70 internal error; 130 interrupted."
        ),
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        **SETTINGS,
    )
    app.callback(invoke_without_command=True)(_options)
    whole = not any(named in commands for commands in TASKS.values())
    for task, commands in TASKS.items():
        for name, command in commands.items():
            if not whole and name != named:
                continue
            if isinstance(command, str):
                app.command(name, rich_help_panel=task)(resolve_name(f"{ROOM}.{command}"))
                continue
            group = typer.Typer(**SETTINGS)
            for inner, place in command[1].items():
                group.command(inner)(resolve_name(f"{ROOM}.{place}"))
            app.add_typer(group, name=name, help=command[0], rich_help_panel=task)
    return app
