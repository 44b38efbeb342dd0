"""The commands of `mmaproof gemm` as one application of typer."""

from __future__ import annotations

import typer

from mmaproof.cli.gemm import algorithms, check, compare, error, identify, plans, run

commands = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
for module in (algorithms, plans, run, compare, check, error, identify):
    module.register(commands)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(
        commands,
        name="gemm",
        help="Analyse GEMMs that are built from a unit: plans of libraries, and error-corrected algorithms.",
    )
