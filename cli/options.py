"""Options that several commands share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def askable(k: int | None) -> int | None:
    """Return a length as it was given; DesignError where it is too long for any question."""
    from mmaproof.designs.design import check_askable

    if k is not None:
        check_askable(k)
    return k


DesignName = Annotated[
    str,
    typer.Argument(
        metavar="DESIGN",
        help="ARCHITECTURE/INSTRUCTION, may be shortened to whole parts, with @parameter=value,... to change it.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")]
Length = Annotated[
    int | None,
    typer.Option(
        "--k", metavar="N", min=1, callback=askable, help="Length of the dot product; default the instruction's K."
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="PRECONDITION",
        help="Restrict a, b and c: finite, positive, normal, c=0, exponents=LO..HI. Repeatable.",
    ),
]
Solver = Annotated[str, typer.Option("--solver", metavar="NAME", help="bitwuzla, cvc5 or z3.")]
Timeout = Annotated[str, typer.Option("--timeout", metavar="TIME", help="Limit for the whole answer: 30s, 2m, 1h.")]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="Limit for the solver's memory: 512M, 4G.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the search.", min=0)]
Search = Annotated[
    bool, typer.Option("--search/--no-search", help="Look for a witness among random operands before solving.")
]
NanCodes = Annotated[bool, typer.Option("--nan-codes", help="Two NaNs are equal only if their bits are.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write what was found as a vector file.")
]
