"""The commands of `mmaproof gemm` as one application of typer."""

from __future__ import annotations

import typer

from mmaproof.cli.gemm import algorithms, check, compare, error, run

commands = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
for module in (algorithms, run, compare, check, error):
    module.register(commands)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(commands, name="gemm", help="Analyse error-corrected GEMM algorithms on a unit.")
