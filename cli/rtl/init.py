"""`mmaproof rtl init`: a first UNIT.toml for a module, guessed from its ports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import complain, progress
from mmaproof.designs.errors import InputError


def init(
    sources: Annotated[list[Path] | None, opt.argument("FILE...", "Sources: .v, .sv, .vhd, .vhdl.")] = None,
    *,
    top: Annotated[
        str | None, opt.option("--top M", "The top module. Default: the only one that no other has inside.")
    ] = None,
    filelist: Annotated[
        list[Path] | None, opt.option("-f --filelist FILE", "A list of sources, as simulators read it. Repeatable.")
    ] = None,
    design: Annotated[str | None, opt.option("--design DESIGN", "What it is meant to be.")] = None,
    include: Annotated[list[Path] | None, opt.option("-I --include FOLDER", "Where files are included from.")] = None,
    define: Annotated[list[str] | None, opt.option("-D --define NAME=VALUE", "A macro. Repeatable.")] = None,
    parameter: Annotated[
        list[str] | None, opt.option("-G --parameter NAME=VALUE", "Of the top module. Repeatable.")
    ] = None,
    output: Annotated[Path | None, opt.option("-o --output UNIT.toml", "The file to write; default: print it.")] = None,
    identify: Annotated[
        bool, opt.option("--identify", "Find out which design it is, and prove it: `mmaproof identify rtl:UNIT.toml`.")
    ] = False,
) -> int:
    """Write a first map of a module: which ports may be operands, constants and the clock. Check every line of it."""
    if output is not None:
        lib.files.require_writable(output)
        if output.exists():
            raise InputError(f"{output}: the file exists: it may be the work of a person; name another one")
    listed = lib.unit_file.FileList()
    for path in filelist or ():
        lib.unit_file.read_file_list(path, Path(), listed)
    files = [*map(Path, listed.sources), *(sources or ())]
    if identify and output is None:
        raise InputError("--identify asks about the file that is written: name it with -o UNIT.toml")
    if not files:
        raise InputError("rtl init: no sources: name files, or a list of them with -f")
    with progress(f"elaborating {top or 'the sources'}"):
        text = lib.rtl_init.first_map(
            files,
            None if top is None else lib.rtl_init.checked_top(top),
            Path("UNIT.toml") if output is None else output,
            include=[*map(Path, listed.include), *(include or ())],
            defines=listed.defines | _values(define, "--define"),
            parameters=_values(parameter, "--parameter"),
            design=None if design is None else lib.catalogue.find_design(design).name,
        )
    if output is None:
        print(text, end="")
        return 0
    output.write_text(text, encoding="utf-8")
    complain(f"note: {output} is a first guess: check it, and then try `mmaproof show rtl:{output}`")
    if identify:
        from mmaproof.cli.main import main

        return main(["identify", f"rtl:{output}"])
    return 0


def _values(texts: list[str] | None, option: str) -> dict[str, str]:
    found = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if not name.isidentifier():
            raise InputError(f"{option} {text}: NAME=VALUE is expected")
        found[name] = value
    return found
