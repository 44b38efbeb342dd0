"""Options that the commands of `mmaproof rtl` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mmaproof.cli.options import argument

UnitPath = Annotated[
    Path,
    argument(
        "UNIT.toml",
        "The map of a unit: sources, top module, and which ports are operands. `mmaproof rtl init` writes one.",
    ),
]
