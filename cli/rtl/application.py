"""The commands of `mmaproof rtl` as one application of typer."""

from __future__ import annotations

import typer

from mmaproof.cli.rtl import check, identify, init, prove, run, show

commands = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
for module in (init, show, run, prove, check, identify):
    module.register(commands)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(commands, name="rtl", help="Run, check and prove somebody's RTL: SystemVerilog or VHDL.")
