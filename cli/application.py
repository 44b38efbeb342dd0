"""The commands as one application of typer: what `mmaproof COMMAND` can be."""

from __future__ import annotations

from typing import Annotated

import typer

from mmaproof.cli import (
    check,
    compare,
    completion,
    cover,
    demo,
    designs,
    disputes,
    doctor,
    evidence,
    explore,
    export,
    fingerprint,
    identify,
    matrix,
    properties,
    prove_native,
    record,
    recordings,
    replay,
    report,
    run,
    serve,
    store,
    suite,
    tolerance,
)
from mmaproof.cli.gemm import application as gemm
from mmaproof.cli.output import EXIT_INPUT, note
from mmaproof.cli.rtl import application as rtl
from mmaproof.cli.version import tool_version

app = typer.Typer(
    name="mmaproof",
    help="Formal model and test generator for the matrix-multiply-accumulate units of GPUs.",
    epilog=(
        "Exit status: 0 proved, equal, passed; 1 refuted, different, failed; 2 usage or input error; "
        "3 unknown (time, memory), vacuous or not reachable; 70 internal error; 130 interrupted."
    ),
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    demo,
    designs,
    run,
    compare,
    properties,
    check,
    fingerprint,
    replay,
    record,
    recordings,
    identify,
    export,
    matrix,
    suite,
    cover,
    disputes,
    evidence,
    gemm,
    tolerance,
    rtl,
    serve,
    prove_native,
    store,
    report,
    explore,
    doctor,
    completion,
):
    module.register(app)


def _print_version(value: bool) -> None:
    if value:
        print(f"mmaproof {tool_version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(EXIT_INPUT)
