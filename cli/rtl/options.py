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
