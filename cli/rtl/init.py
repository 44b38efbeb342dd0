"""`mmaproof rtl init`: a first UNIT.toml for a module, guessed from its ports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmaproof.cli.output import complain, progress


def init(
    sources: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Sources: .v, .sv, .vhd, .vhdl.", show_default=False)
    ],
    top: Annotated[str, typer.Option("--top", metavar="M", help="The top module.", show_default=False)],
    design: Annotated[
        str | None, typer.Option("--design", metavar="DESIGN", help="What it is meant to be.", show_default=False)
    ] = None,
    include: Annotated[
        list[Path] | None, typer.Option("-I", "--include", metavar="FOLDER", help="Where files are included from.")
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", "--define", metavar="NAME=VALUE", help="A macro. Repeatable.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("-G", "--parameter", metavar="NAME=VALUE", help="Of the top module. Repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="UNIT.toml", help="The file to write; default: print it.")
    ] = None,
) -> None:
    """Write a first map of a module: which ports may be operands, constants and the clock. Check every line of it."""
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import require_writable
    from mmaproof.rtl.init import checked_top, first_map

    if output is not None:
        require_writable(output)
        if output.exists():
            raise InputError(f"{output}: the file exists: it may be the work of a person; name another one")
    with progress(f"elaborating {top}"):
        text = first_map(
            sources,
            checked_top(top),
            Path("UNIT.toml") if output is None else output,
            include=include or (),
            defines=_values(define, "--define"),
            parameters=_values(parameter, "--parameter"),
            design=None if design is None else find_design(design).name,
        )
    if output is None:
        print(text, end="")
        return
    output.write_text(text, encoding="utf-8")
    complain(f"note: {output} is a first guess: check it, and then try `mmaproof show rtl:{output}`")


def _values(texts: list[str] | None, option: str) -> dict[str, str]:
    from mmaproof.designs.errors import InputError

    found = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if not name.isidentifier():
            raise InputError(f"{option} {text}: NAME=VALUE is expected")
        found[name] = value
    return found
