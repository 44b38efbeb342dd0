"""`mmaproof rtl init`: a first UNIT.toml for a module, guessed from its ports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mmaproof.cli.output import complain, progress


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("init")(init)


def init(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Sources: .v, .sv, .vhd, .vhdl.", show_default=False),
    ] = None,
    *,
    top: Annotated[str, typer.Option("--top", metavar="M", help="The top module.", show_default=False)],
    filelist: Annotated[
        list[Path] | None,
        typer.Option("-f", "--filelist", metavar="FILE", help="A list of sources, as simulators read it. Repeatable."),
    ] = None,
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
    from mmaproof.rtl.filelist import FileList, read_file_list
    from mmaproof.rtl.init import checked_top, first_map

    if output is not None:
        require_writable(output)
        if output.exists():
            raise InputError(f"{output}: the file exists: it may be the work of a person; name another one")
    listed = FileList()
    for path in filelist or ():
        read_file_list(path, Path(), listed)
    files = [*map(Path, listed.sources), *(sources or ())]
    if not files:
        raise InputError("rtl init: no sources: name files, or a list of them with -f")
    with progress(f"elaborating {top}"):
        text = first_map(
            files,
            checked_top(top),
            Path("UNIT.toml") if output is None else output,
            include=[*map(Path, listed.include), *(include or ())],
            defines=listed.defines | _values(define, "--define"),
            parameters=_values(parameter, "--parameter"),
            design=None if design is None else find_design(design).name,
        )
    if output is None:
        print(text, end="")
        return
    output.write_text(text, encoding="utf-8")
    complain(f"note: {output} is a first guess: check it, and then try `mmaproof rtl show {output}`")


def _values(texts: list[str] | None, option: str) -> dict[str, str]:
    from mmaproof.designs.errors import InputError

    found = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if not name.isidentifier():
            raise InputError(f"{option} {text}: NAME=VALUE is expected")
        found[name] = value
    return found
