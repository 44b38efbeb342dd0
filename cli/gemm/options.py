"""Options that the commands of `mmaproof gemm` share."""

from __future__ import annotations

from typing import Annotated

import typer

AlgorithmName = Annotated[
    str,
    typer.Argument(
        metavar="ALGORITHM",
        help="A name that `mmaproof gemm algorithms` lists, with @parameter=value,... to change it.",
        show_default=False,
    ),
]
Unit = Annotated[
    str, typer.Option("--unit", metavar="DESIGN", help="The unit that the algorithm calls.", show_default=False)
]
