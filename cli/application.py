"""The commands as one application of typer: what `mmaproof COMMAND` can be, grouped by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from mmaproof.cli.check import check
from mmaproof.cli.compare import compare
from mmaproof.cli.conform import conform
from mmaproof.cli.cover import cover
from mmaproof.cli.demo import demo
from mmaproof.cli.disputes import disputes
from mmaproof.cli.doctor import doctor
from mmaproof.cli.evidence import evidence
from mmaproof.cli.explore import explore
from mmaproof.cli.export import export
from mmaproof.cli.fingerprint import fingerprint
from mmaproof.cli.gemm.check import check as gemm_check
from mmaproof.cli.gemm.compare import compare as gemm_compare
from mmaproof.cli.gemm.error import error
from mmaproof.cli.gemm.identify import identify as gemm_identify
from mmaproof.cli.gemm.run import run as gemm_run
from mmaproof.cli.identify import identify
from mmaproof.cli.judge import judge
from mmaproof.cli.listing import listing
from mmaproof.cli.matrix import matrix
from mmaproof.cli.options import option
from mmaproof.cli.output import Exit, note, tool_version
from mmaproof.cli.record import record
from mmaproof.cli.replay import replay
from mmaproof.cli.report import report
from mmaproof.cli.rtl.init import init
from mmaproof.cli.rtl.prove import prove
from mmaproof.cli.rtl.run import run as rtl_run
from mmaproof.cli.run import run, serve
from mmaproof.cli.show import show
from mmaproof.cli.store import store
from mmaproof.cli.suite import suite
from mmaproof.cli.tolerance import tolerance

Commands = Mapping[str, Callable[..., Any]]
"""The commands of a group by name."""

GEMM: Commands = {
    "run": gemm_run,
    "compare": gemm_compare,
    "check": gemm_check,
    "error": error,
    "identify": gemm_identify,
}
RTL: Commands = {"init": init, "run": rtl_run, "prove": prove}
TASKS: Mapping[str, Mapping[str, Callable[..., Any] | tuple[str, Commands]]] = {
    "Compare and prove": {"compare": compare, "check": check, "fingerprint": fingerprint, "matrix": matrix},
    "Tolerances and matrix products": {
        "tolerance": tolerance,
        "judge": judge,
        "conform": conform,
        "gemm": ("Analyse GEMMs that are built from a unit: plans of libraries, and error-corrected algorithms.", GEMM),
    },
    "Your RTL": {
        "rtl": ("Map, run and prove user RTL (SystemVerilog or VHDL); other commands take rtl:UNIT.toml.", RTL)
    },
    "Units that can be run": {
        "identify": identify,
        "record": record,
        "replay": replay,
        "evidence": evidence,
        "disputes": disputes,
        "serve": serve,
    },
    "Test vectors and models": {"suite": suite, "cover": cover, "export": export},
    "Look up and look inside": {"list": listing, "show": show, "run": run, "explore": explore, "report": report},
    "mmaproof itself": {"demo": demo, "doctor": doctor, "store": store},
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

    parser = cached_property[Any](get_command)


SETTINGS: dict[str, Any] = {
    "cls": Grouped,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
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
for task, commands in TASKS.items():
    for name, command in commands.items():
        if not isinstance(command, tuple):
            app.command(name, rich_help_panel=task)(command)
            continue
        group = typer.Typer(**SETTINGS)
        for inner, function in command[1].items():
            group.command(inner)(function)
        app.add_typer(group, name=name, help=command[0], rich_help_panel=task)


def _print_version(value: bool) -> None:
    if value:
        print(f"mmaproof {tool_version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, option("--version", "Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(Exit.INPUT)
