"""Options that the commands of `mmaproof gemm` share."""

from __future__ import annotations

from typing import Annotated

import typer

AlgorithmName = Annotated[
    str,
    typer.Argument(
        metavar="ALGORITHM|PLAN",
        help="A name that `mmaproof gemm algorithms` lists, with @parameter=value,... to change it; or a plan: "
        "a preset of `mmaproof gemm plans`, a unit and settings ('UNIT | split-k=4'), or a TOML file.",
        show_default=False,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option("--unit", metavar="DESIGN", help="The unit that an algorithm calls.", show_default=False),
]
