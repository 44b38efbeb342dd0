"""Options that the commands of `mmaproof rtl` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

UnitPath = Annotated[
    Path,
    typer.Argument(
        metavar="UNIT.toml",
        help="The map of a unit: sources, top module, and which ports are operands. `mmaproof rtl init` writes one.",
        show_default=False,
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the verdict as a test case of JUnit.", show_default=False),
]
