"""`mmaproof export`: operands as a program for a machine without Python."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.options import Json, Length, Seed
from mmaproof.cli.output import EXIT_HOLDS, print_json, say
from mmaproof.cli.version import tool_version

if TYPE_CHECKING:
    from mmaproof.designs.design import Design


class ExportFormat(StrEnum):
    """What `export` writes."""

    CUDA = "cuda"
    HIP = "hip"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("export")(export)


def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A vector file (.jsonl), a recording (.npz), or a distribution of random operands.",
            show_default=False,
        ),
    ],
    form: Annotated[ExportFormat, typer.Option("--format", help="The language of the program.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The program.", show_default=False)],
    design: Annotated[
        str | None,
        typer.Option(
            "--design",
            metavar="DESIGN",
            help="The instruction to run; default those whose outputs the vectors hold.",
            show_default=False,
        ),
    ] = None,
    k: Length = None,
    rows: Annotated[
        int | None, typer.Option("--rows", metavar="N", min=1, help="Random operand sets (default 1000).")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Write a self-contained CUDA or HIP program that runs the operands of SOURCE.

    The program reads nothing and prints vector lines with what the GPU returned, for `mmaproof replay`.
    """
    from mmaproof.designs.catalogue import find_design, load_catalogue
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import require_writable, write_atomically
    from mmaproof.generators.programs import CUDA, HIP, program
    from mmaproof.generators.sources import read_rows
    from mmaproof.hardware_replay.cuda import instructions
    from mmaproof.hardware_replay.hip import mfma

    require_writable(output)
    architectures, kernel_of, dialect = {
        ExportFormat.CUDA: (instructions.ARCHITECTURES, instructions.kernel_of, CUDA),
        ExportFormat.HIP: (mfma.ARCHITECTURES, mfma.kernel, HIP),
    }[form]
    known = [x for x in load_catalogue().designs.values() if x.architecture in architectures]
    chosen = known if design is None else [find_design(design)]
    groups = []
    for held in read_rows(source, chosen, k=k, rows=rows, seed=seed):
        of: Design = chosen[0] if design is not None else find_design(held.design or "")
        if of.architecture not in architectures:
            raise InputError(f"{of.name} is no instruction that --format {form} runs: {', '.join(architectures)} have")
        held.check_formats(of)
        groups.append((held, kernel_of(of)))
    text = program(groups, dialect, file=output.name, version=tool_version())
    write_atomically(output, text)
    names = list(dict.fromkeys(kernel.design.name for _, kernel in groups))
    count = sum(len(held.batch) for held, _ in groups)
    if json:
        print_json({"file": str(output), "format": form.value, "rows": count, "designs": names})
    else:
        say(f"{output}: {count} operand sets for {', '.join(names)}")
    return EXIT_HOLDS
