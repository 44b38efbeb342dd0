"""`mmaproof gemm algorithms`: what algorithms there are, and what can be changed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.options import Json
from mmaproof.cli.output import print_json, say, say_table, say_wrapped

if TYPE_CHECKING:
    from mmaproof.gemm.programs.algorithm import Algorithm


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("algorithms")(algorithms)


def algorithms(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[ALGORITHM]", help="Show one, with its parameters.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """List the algorithms, or show the parameters of one."""
    from mmaproof.gemm.programs.algorithms import ALGORITHMS, find_algorithm

    found = list(ALGORITHMS.values()) if name is None else [find_algorithm(name)]
    if json:
        from mmaproof.explain.answers.listings import AlgorithmAnswer, Algorithms

        print_json(Algorithms(algorithms=[AlgorithmAnswer.taken(x, parameters=x.parameters()) for x in found]))
    elif name is None:
        _print_table(found)
    else:
        _print_algorithm(found[0])


def _print_table(found: list[Algorithm]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("algorithm", "what it is", "source"):
        table.add_column(column, no_wrap=column == "algorithm")
    for x in found:
        table.add_row(*map(Text, (x.name, x.what, x.source)))
    say_table(table)


def _print_algorithm(algorithm: Algorithm) -> None:
    say(f"{algorithm.name}: {algorithm.what}")
    say(f"  {algorithm.source}")
    values = algorithm.parameters()
    for name, choice in algorithm.choices().items():
        say_wrapped(f"{choice.meaning} ({choice.allowed()})", f"  {name} = {values[name]}  ")
